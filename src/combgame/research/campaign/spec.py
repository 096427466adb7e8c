"""What a campaign is: problems x rules x thresholds, deltas, runs, one seed. A run's identity is a
hash of what determines it.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..._fingerprint import others
from ..._validation import items_of
from ..._version import __version__
from ...errors import InputError, TieError, must_be, plain_text, real, said_by, unboxed
from ...io import alike, identity, to_data
from ...problem import Problem
from ...rules import RuleBase
from ...rules.base import describe
from ...simulation.runner import Runner, RunSpec, check_level_sd
from ...stopping.base import StoppingBase


@dataclass(frozen=True)
class Instance:
    """A problem with means: what a run is played on. x: where it stands in a plot, such as its
    number of arms. level_sd: as in `simulate`, where every play has a level of its own.
    """

    name: str
    problem: Problem
    means: tuple[float, ...]
    x: float | None = None
    level_sd: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        plain_text("name", self.name, "a text: what the instance is called", of="Instance")
        object.__setattr__(self, "x", unboxed(self.x))
        if self.x is not None and not (real(self.x) and math.isfinite(self.x)):
            raise must_be(
                "x", self.x, "a number: where the problem stands in a plot", of="Instance"
            )
        if not isinstance(self.problem, Problem):
            wrong = must_be("problem", self.problem, "a Problem")
            raise said_by(InputError, wrong.sentence.within(instance=self.name))
        object.__setattr__(self, "means", tuple(float(m) for m in self.problem.means(self.means)))
        try:
            levels = check_level_sd(self.problem.maximised, self.level_sd)
        except InputError as error:
            raise said_by(InputError, error.sentence.within(instance=self.name)) from None
        object.__setattr__(self, "level_sd", levels)


@dataclass(frozen=True)
class Configuration:
    """One rule on one instance with one threshold. `key` and a run's number determine the run,
    wherever it is made.
    """

    instance: Instance
    label: str
    rule: RuleBase
    threshold: str | StoppingBase
    deltas: tuple[float, ...]
    max_rounds: int
    seed: int
    runs: int
    relabel: bool = False  # the arms are relabelled in every run

    @cached_property
    def description(self) -> dict[str, Any]:
        """Everything that determines its runs, as plain data. Names do not; how many runs there are
        does not.
        """
        runner = self.runner()
        determines = {
            "problem": self.instance.problem.unnamed(),
            "means": self.instance.means,
            "rule": runner.rule,  # with the delta that it plays by
            "threshold": runner.stopping.name,
            "deltas": self.deltas,
            "max_rounds": self.max_rounds,
            "seed": self.seed,
            "relabel": self.relabel,
            "version": __version__,
        }
        if self.instance.level_sd:
            determines["level_sd"] = self.instance.level_sd
        if isinstance(self.threshold, StoppingBase):  # whose name may be cut
            determines["stopping"] = self.threshold
        i = self.instance.problem
        made_by = others(runner.rule, self.threshold, i.actions, i.answers, i.rewards)
        if made_by is not None:  # of an edited part there are no runs yet
            determines["parts"] = made_by
        data: dict[str, Any] = alike(to_data(determines))
        return data

    def __hash__(self) -> int:
        return hash(self.key)  # the options of a user's rule may have none, such as a list

    @cached_property
    def key(self) -> str:
        return identity(self.description)

    def runner(self, engine: str = "auto") -> Runner:
        i = self.instance
        try:
            return Runner(
                RunSpec(
                    i.problem,
                    i.means,
                    self.rule,
                    self.deltas,
                    self.threshold,
                    self.seed,
                    self.max_rounds,
                    engine,
                    relabel=self.relabel,
                    level_sd=i.level_sd,
                )
            )
        except TieError as error:
            raise said_by(TieError, error.sentence.within(instance=i.name)) from None


def label_of(rule: str | RuleBase) -> str:
    return rule if isinstance(rule, str) else describe(rule)


@dataclass(frozen=True)
class Specification:
    """A named list of configurations, no two of them the same."""

    name: str
    configurations: tuple[Configuration, ...]

    def __post_init__(self) -> None:
        plain_text("name", self.name, "a text: what the campaign is called", of="Campaign")
        what = "a tuple of configurations, as `Campaign.cross` makes it"
        listed = items_of("configurations", self.configurations, what, of="Campaign")
        if not all(isinstance(one, Configuration) for one in listed):
            raise must_be("configurations", self.configurations, what, of="Campaign")
        object.__setattr__(self, "configurations", tuple(listed))
        if not self.configurations:
            said, remedy = "campaign {name!r} has nothing to run", "give a problem and a rule"
            raise InputError("no-configurations", said, remedy=remedy, name=self.name)
        met: dict[str, Configuration] = {}
        for c in self.configurations:
            twin = met.setdefault(c.key, c)
            if twin is not c:
                said = "{one!r} on {instance!r} is the same as {other!r} on {place!r}"
                one = {"one": c.label, "instance": c.instance.name}
                other = {"other": twin.label, "place": twin.instance.name}
                raise InputError("same-run", said, remedy="leave one out", **one, **other)

    @property
    def runs(self) -> int:
        """How many runs there are in all."""
        return sum(c.runs for c in self.configurations)
