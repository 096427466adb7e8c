"""What determines a study: checked once, described as plain data, and made again from that."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from ..data import plain, problem_from, problem_to, rule_to
from ..errors import InputError, StudyError, whole
from ..game.sources import digest
from ..presets import PRESETS, make_rule
from ..problem import Problem, check_deltas
from ..rules import RuleBase, Stopping
from ..rules.base import stopping_of
from ..version import __version__

NAMES = ("problem", "rule", "delta", "threshold", "seed", "epsilon", "min_pulls", "max_rounds", "deadline")


@dataclass(frozen=True)
class Setting:
    """Everything that determines what a study asks, given what it is told, and when it ends."""

    problem: Problem
    rule: str | RuleBase
    delta: float
    threshold: str
    seed: int
    epsilon: float
    min_pulls: int
    max_rounds: int | None
    deadline: float | None  # seconds since 1970

    @cached_property
    def chosen(self) -> RuleBase:
        return make_rule(self.rule)

    @cached_property
    def stopping(self) -> Stopping:
        return self.stopping_at(self.delta)

    def stopping_at(self, delta: float, problem: Problem | None = None) -> Stopping:
        """The stopping rule for another delta, or for the problem under other numbers."""
        return stopping_of(self.chosen, self.threshold, problem or self.problem, [delta], epsilon=self.epsilon)

    def described(self) -> dict[str, Any]:
        """As plain data. What no file can hold (your own oracle, your own rule) is described by its text."""
        found: dict[str, Any] = {name: getattr(self, name) for name in NAMES}
        try:
            found["problem"] = problem_to(self.problem)
        except InputError:
            own = {part: repr(getattr(self.problem, part)) for part in ("actions", "answers", "rewards")}
            found["problem"] = {"own": own, "names": plain(self.problem.names)}
        try:
            found["rule"] = self.rule if isinstance(self.rule, str) else rule_to(self.rule)
        except InputError:
            found["rule"] = {"own": repr(self.rule)}
        return {"version": __version__, "sources": digest(), **found}


def check_setting(
    problem: Problem, rule: str | RuleBase, delta: float, threshold: str, seed: int, epsilon: float, min_pulls: int,
    max_rounds: int | None, deadline: Any,
) -> Setting:  # fmt: skip
    """The setting, or a sentence."""
    if not isinstance(problem, Problem):
        raise InputError(f"Study: problem = {problem!r} must be a Problem; it comes first.")
    deltas = check_deltas(delta)
    if len(deltas) > 1:
        raise InputError(f"Study: delta = {delta!r} must be one number, such as 0.05: a study stops once.")
    made = Setting(
        problem, rule, deltas[0], threshold, whole("Study: seed", seed, 0), epsilon,
        whole("Study: min_pulls", min_pulls, 0), None if max_rounds is None else whole("Study: max_rounds", max_rounds, 1),
        read_time(deadline),
    )  # fmt: skip
    if not made.stopping.likelihood:
        raise InputError(
            f"Study: the stopping rule {made.stopping.name} holds only if whole passes come back complete, which no experiment promises; "
            "use threshold='mixture', or another rule, such as 'frank-wolfe'."
        )
    return made


def read_time(deadline: Any, where: str = "Study") -> float | None:
    """A moment: seconds since 1970, a datetime, or a text such as 2030-01-31T18:00.

    >>> read_time("1970-01-02T00:00+00:00")
    86400.0
    """
    if deadline is None:
        return None
    try:
        if isinstance(deadline, str):
            deadline = datetime.fromisoformat(deadline)
        found = deadline.timestamp() if isinstance(deadline, datetime) else float(deadline)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or isinstance(deadline, bool):
        raise InputError(
            f"{where}: deadline = {deadline!r} must be a datetime, seconds since 1970, or a text such as '2030-01-31T18:00'."
        )
    return float(found)


def setting_from(data: Mapping[str, Any], name: str, problem: Problem | None = None, rule: RuleBase | None = None) -> Setting:
    """The setting that `described` describes; problems and rules that no file can hold must be given."""
    if problem is None:
        if "own" in data["problem"]:
            raise StudyError(
                f"study {name!r} has a problem that no file can hold; open it in Python: Study(problem, ..., if_exists='resume')."
            )
        problem = problem_from(data["problem"], f"study {name!r}")[0]
    chosen: str | RuleBase | None = rule if rule is not None else data["rule"]
    if not isinstance(chosen, str | RuleBase):
        chosen = next((preset for preset, one in PRESETS.items() if rule_to(one) == chosen), None)
        if chosen is None:
            raise StudyError(
                f"study {name!r} has a rule of its own; open it in Python: Study(problem, rule=..., if_exists='resume')."
            )
    return Setting(problem, chosen, *(data[key] for key in NAMES[2:]))


def check_same(stored: Mapping[str, Any], given: Mapping[str, Any], name: str) -> None:
    """A study is resumed with what it was made with."""
    rules = [PRESETS.get(one["rule"]) if isinstance(one["rule"], str) else None for one in (stored, given)]
    for key in NAMES:
        alike = stored[key] == given[key]
        if key == "rule" and not alike:  # a preset, by name or as an object
            alike = any(
                one is not None and rule_to(one) == other["rule"] for one, other in zip(rules, (given, stored), strict=True)
            )
        if not alike:
            told = "another problem" if key == "problem" else f"{key} = {stored[key]!r}, not {given[key]!r}"
            more = " (extend() changes it afterwards)" if key in ("max_rounds", "deadline") else ""
            raise StudyError(
                f"study {name!r} was made with {told}; give the same{more}, or another name, or if_exists='replace'."
            )


def now() -> float:
    return time.time()
