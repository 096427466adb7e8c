"""The specification of a campaign: problems x rules x thresholds, deltas, runs, one seed.

A run is identified by a hash of what determines it.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..._fingerprint import others
from ..._validation import check_list
from ..._version import __version__
from ...errors import (
    InputError,
    TieError,
    check_text,
    error_from,
    invalid_argument,
    is_real,
    to_python_scalar,
)
from ...io import identity, same_description, to_data
from ...problem import Problem
from ...rules import RuleBase
from ...rules.base import describe
from ...simulation.runner import Runner, RunSpec, check_batch_sd
from ...stopping.base import StoppingBase


@dataclass(frozen=True)
class Instance:
    """A problem with its means.

    Parameters
    ----------
    name : str
        Name of the instance.
    problem : Problem
        The problem.
    means : tuple of float
        The true means of the arms.
    x : float, optional
        Position in a plot, such as the number of arms.
    batch_sd : float
        Standard deviation of the batch effects, as in `simulate`.
    """

    name: str
    problem: Problem
    means: tuple[float, ...]
    x: float | None = None
    batch_sd: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        check_text("name", self.name, "a text: what the instance is called", of="Instance")
        object.__setattr__(self, "x", to_python_scalar(self.x))
        if self.x is not None and not (is_real(self.x) and math.isfinite(self.x)):
            raise invalid_argument(
                "x", self.x, "a number: where the problem stands in a plot", of="Instance"
            )
        if not isinstance(self.problem, Problem):
            wrong = invalid_argument("problem", self.problem, "a Problem")
            raise error_from(InputError, wrong.sentence.with_context(instance=self.name))
        object.__setattr__(
            self, "means", tuple(float(m) for m in self.problem.check_means(self.means))
        )
        try:
            levels = check_batch_sd(self.problem.as_maximisation, self.batch_sd)
        except InputError as error:
            raise error_from(InputError, error.sentence.with_context(instance=self.name)) from None
        object.__setattr__(self, "batch_sd", levels)


@dataclass(frozen=True)
class Configuration:
    """One rule on one instance with one threshold.

    Its `key` and the number of a run determine the run, wherever it is made.

    Parameters
    ----------
    instance : Instance
        The problem and its means.
    label : str
        Name of the rule in reports.
    rule : RuleBase
        The sampling rule.
    threshold : str or StoppingBase
        The stopping rule.
    deltas : tuple of float
        Error probabilities.
    max_rounds : int
        Number of rounds after which a run is capped.
    seed : int
        Seed of all runs.
    runs : int
        Number of runs.
    shuffle_arms : bool
        Whether every run numbers the arms at random.
    """

    instance: Instance
    label: str
    rule: RuleBase
    threshold: str | StoppingBase
    deltas: tuple[float, ...]
    max_rounds: int
    seed: int
    runs: int
    shuffle_arms: bool = False  # the arms are relabelled in every run

    @cached_property
    def description(self) -> dict[str, Any]:
        """What determines the runs, as plain data.

        Names do not, and neither does the number of runs.
        """
        runner = self.runner()
        determines = {
            "problem": self.instance.problem.without_labels(),
            "means": self.instance.means,
            "rule": runner.rule,  # with the delta that it plays by
            "threshold": runner.stopping.name,
            "deltas": self.deltas,
            "max_rounds": self.max_rounds,
            "seed": self.seed,
            "shuffle_arms": self.shuffle_arms,
            "version": __version__,
        }
        if self.instance.batch_sd:
            determines["batch_sd"] = self.instance.batch_sd
        if isinstance(self.threshold, StoppingBase):  # whose name may be cut
            determines["stopping"] = self.threshold
        i = self.instance.problem
        made_by = others(runner.rule, self.threshold, i.actions, i.answers, i.rewards)
        if made_by is not None:  # of an edited part there are no runs yet
            determines["parts"] = made_by
        data: dict[str, Any] = same_description(to_data(determines))
        return data

    def __hash__(self) -> int:
        return hash(self.key)  # the options of a user's rule may have none, such as a list

    @cached_property
    def key(self) -> str:
        """The hash of the description."""
        return identity(self.description)

    def runner(self, engine: str = "auto") -> Runner:
        """Prepare the runs.

        Parameters
        ----------
        engine : str
            The engine, as in `simulate`.

        Returns
        -------
        Runner
            Makes runs by their numbers.
        """
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
                    shuffle_arms=self.shuffle_arms,
                    batch_sd=i.batch_sd,
                )
            )
        except TieError as error:
            raise error_from(TieError, error.sentence.with_context(instance=i.name)) from None


def label_of(rule: str | RuleBase) -> str:
    """Return the name of a rule in reports."""
    return rule if isinstance(rule, str) else describe(rule)


@dataclass(frozen=True)
class CampaignSpec:
    """A named list of configurations, no two of them the same."""

    name: str
    configurations: tuple[Configuration, ...]

    def __post_init__(self) -> None:
        check_text("name", self.name, "a text: what the campaign is called", of="Campaign")
        what = "a tuple of configurations, as `Campaign.cross` makes it"
        listed = check_list("configurations", self.configurations, what, of="Campaign")
        if not all(isinstance(one, Configuration) for one in listed):
            raise invalid_argument("configurations", self.configurations, what, of="Campaign")
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
        """The number of runs of all configurations."""
        return sum(c.runs for c in self.configurations)
