"""The settings of a study: checked once, described as plain data, and read back from it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from .._fingerprint import digest
from .._messages import CallHint, OptionHint
from ..engine.state import Floats, vector
from ..errors import (
    SEED,
    CombGameError,
    InputError,
    StoreError,
    StudyError,
    check_int,
    invalid_argument,
)
from ..io import from_data, problem_from, to_data
from ..problem import Problem, check_deltas
from ..rules import RuleBase, Stopping
from ..rules.base import settled, stopping_of
from ..rules.presets import make_rule
from ..stopping.base import StoppingBase

REPLICATES = 10_000  # maximum for an arm in one round
LATEST = 253_402_214_400.0  # the last day of the year 9999, the end of the datetime module
NAMES = (
    "problem",
    "rule",
    "delta",
    "threshold",
    "seed",
    "epsilon",
    "min_replicates",
    "replicates",
    "max_rounds",
    "deadline",
)


@dataclass(frozen=True)
class StudySettings:
    """The settings that, with the results, determine which rounds a study assigns and when it ends.

    The attributes are parameters of `Study`, after they were checked. ``deadline`` is in seconds
    since 1970.
    """

    problem: Problem
    rule: str | RuleBase
    delta: float
    threshold: str | StoppingBase
    seed: int
    epsilon: float
    min_replicates: int
    replicates: int
    max_rounds: int | None
    deadline: float | None

    @cached_property
    def chosen(self) -> RuleBase:
        """Return the sampling rule for the delta of the study."""
        return settled(make_rule(self.rule), [self.delta])

    def first(self) -> Floats:
        """Return the number of values of each arm in the initial design, of shape (d,)."""
        problem = self.problem.as_maximisation
        needed = vector(problem.answers.relevant_arms(), problem.d) > 0.5
        return np.where(needed, float(max(self.min_replicates, 1)), 0.0)

    @cached_property
    def stopping(self) -> Stopping:
        """Return the stopping rule at the delta of the settings."""
        return self.stopping_at(self.delta)

    def stopping_at(
        self, delta: float, problem: Problem | None = None, epsilon: float | None = None
    ) -> Stopping:
        """Return the stopping rule for another delta or epsilon, or for a permuted problem."""
        enough = self.epsilon if epsilon is None else epsilon
        return stopping_of(
            self.chosen,
            self.threshold,
            problem or self.problem.as_maximisation,
            [delta],
            epsilon=enough,
        )

    def described(self) -> dict[str, Any]:
        """Return the settings as plain data.

        Objects that cannot be stored (your own oracle, your own rule) are described by their
        ``repr``.
        """
        data: dict[str, Any] = {name: getattr(self, name) for name in NAMES}
        for part in ("problem", "rule", "threshold"):
            try:
                data[part] = to_data(data[part])
            except InputError:
                data[part] = {"own": repr(data[part])}
        return {"sources": digest(), **data}


def check_setting(
    problem: Problem,
    rule: str | RuleBase,
    delta: float,
    threshold: str | StoppingBase,
    seed: int,
    epsilon: float,
    min_replicates: int,
    replicates: int,
    max_rounds: int | None,
    deadline: Any,
) -> StudySettings:
    """Return the settings with the given arguments of `Study`, which are checked."""
    if not isinstance(problem, Problem):
        raise invalid_argument("problem", problem, "a Problem", "it comes first")
    deltas = check_deltas(delta)
    if len(deltas) > 1:
        raise invalid_argument("delta", delta, "one number, such as 0.05: a study stops once")
    made = StudySettings(
        problem,
        rule,
        deltas[0],
        threshold,
        check_int("seed", seed, 0, most=SEED),
        epsilon,
        check_int("min_replicates", min_replicates, 0),
        check_int("replicates", replicates, 1, most=REPLICATES),
        None if max_rounds is None else check_int("max_rounds", max_rounds, 1),
        read_time(deadline),
    )
    if not made.stopping.likelihood and made.stopping.own is None:
        raise InputError(
            "whole-passes",
            "the stopping rule {name} holds only if all plays come back complete, which no "
            "experiment promises",
            remedy="use {mixture}, or another rule, such as 'frank-wolfe'",
            name=made.stopping.name,
            mixture=OptionHint("threshold", "mixture"),
        )
    return made


def read_time(deadline: Any) -> float | None:
    """Return a time in seconds since 1970.

    The argument is a datetime, a number of seconds, or a text such as 2030-01-31T18:00.

    >>> read_time("1970-01-02T00:00+00:00")
    86400.0
    """
    if deadline is None:
        return None
    try:
        at = datetime.fromisoformat(deadline) if isinstance(deadline, str) else deadline
        seconds = at.timestamp() if isinstance(at, datetime) else float(at)
    except Exception:  # of any argument
        seconds = math.nan
    if not 0.0 <= seconds < LATEST or isinstance(deadline, bool):
        such = (
            "a datetime, seconds since 1970, or a text such as '2030-01-31T18:00', from 1970 to "
            "the year 9999"
        )
        raise invalid_argument("deadline", deadline, such)
    return float(seconds)


def past(deadline: Any) -> StudyError:
    """Return the error for a deadline that has passed already."""
    return StudyError(
        "past",
        "{deadline} is in the past, so nothing would be asked",
        remedy="give a time to come",
        deadline=OptionHint("deadline", deadline),
    )


def setting_from(
    data: Mapping[str, Any], name: str, problem: Problem | None = None, rule: RuleBase | None = None
) -> StudySettings:
    """Return the settings that `StudySettings.described` describes.

    Problems and rules that cannot be stored must be given.
    """
    try:
        return _setting(data, name, problem, rule)
    except CombGameError:
        raise
    except Exception as error:  # entries are missing or malformed
        raise StoreError(
            "settings-unreadable",
            "study {name!r}: what it was made with cannot be read ({why})",
            remedy="open it with the version that wrote it, or go back to a copy",
            name=name,
            why=f"{type(error).__name__}: {error}",
        ) from error


def _setting(
    data: Mapping[str, Any], name: str, problem: Problem | None, rule: RuleBase | None
) -> StudySettings:
    if problem is None:
        if "own" in data["problem"]:
            raise _own(name, "problem", CallHint("Study", "problem", "...", if_exists="resume"))
        problem = _problem(data["problem"], f"study {name!r}")
    chosen: Any = rule if rule is not None else data["rule"]
    if isinstance(chosen, Mapping):
        if "own" in chosen:
            again = CallHint("Study", "problem", rule=..., if_exists="resume")
            raise _own(name, "rule", again)
        chosen = from_data(chosen, f"study {name!r}: rule")
    others = {key: data[key] for key in NAMES[2:]}
    if isinstance(others["threshold"], Mapping):
        if "own" in others["threshold"]:
            again = CallHint("Study", "problem", threshold=..., if_exists="resume")
            raise _own(name, "threshold", again)
        others["threshold"] = from_data(others["threshold"], f"study {name!r}: threshold")
    return check_setting(problem, chosen, **others)


def _own(name: str, part: str, again: CallHint) -> StudyError:
    return StudyError(
        "not-in-file",
        "study {name!r} has a {part} that no file can hold",
        remedy="open it in Python: {again}",
        name=name,
        part=part,
        again=again,
    )


def _problem(data: Mapping[str, Any], where: str) -> Problem:
    """Return a stored problem; early versions stored it in the format of problem files."""
    problem: Problem = from_data(data, where) if "kind" in data else problem_from(data, where)[0]
    return problem


def _value(key: str, data: Any) -> Any:
    """Return the object that a stored setting describes, or the data if it cannot be read."""
    try:
        if key == "rule" and isinstance(data, str):
            return make_rule(data)
        if key in ("rule", "threshold") and isinstance(data, Mapping):
            return from_data(data)
        return _problem(data, key) if key == "problem" else data
    except CombGameError:
        return data


def check_same(stored: Mapping[str, Any], given: Mapping[str, Any], name: str) -> None:
    """Refuse to resume a study with other settings, however they are written."""
    for key in NAMES:
        if stored[key] != given[key] and _value(key, stored[key]) != _value(key, given[key]):
            text = "study {name!r} was made with " + (
                "another problem" if key == "problem" else "{key} = {stored!r}, not {given!r}"
            )
            remedy = "give the same"
            if key in ("max_rounds", "deadline"):
                remedy += " ({extend} changes it afterwards)"
            raise StudyError(
                "other-settings",
                text,
                remedy=remedy + ", or another name, or {replace}",
                name=name,
                key=key,
                stored=stored[key],
                given=given[key],
                extend=CallHint("extend"),
                replace=OptionHint("if_exists", "replace"),
            )
