"""The settings of a study, and the versions of combgame that wrote it.

Settings are checked once, described as plain data, and read back from it.

A certificate is an event. Once given it stays given, whatever another version computes. If a
version would not have given a certificate, it says so and derives nothing from it.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from .. import _version
from .._display.text import weighed
from .._fingerprint import digest
from .._messages import CallHint, Message, OptionHint
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
from ..storage.events import Event

REPLICATES = 10_000  # maximum for an arm in one round
LATEST = 253_402_214_400.0  # the last day of the year 9999, the end of the datetime module
ANOTHER = "of another version"  # label of a threshold that this version does not confirm
FIRST = "0.2.0.dev0"  # version of events that do not name one
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


# ---- versions of combgame


def running_version() -> str:
    """Return the running version, with a hash of the sources during development.

    The hash distinguishes sources of the same version: ``0.2.0.dev0+1a2b3c4d``.
    """
    name = _version.__version__
    return f"{name}+{digest()[:8]}" if ".dev" in name else name


def version_of(version: str) -> str:
    """Return the version of an event; early events do not name one."""
    return version or FIRST


def released(version: str) -> str:
    """Return a version without the hash of its sources.

    >>> released("0.2.0.dev0+1a2b3c4d"), released("")
    ('0.2.0.dev0', '0.2.0.dev0')
    """
    return version_of(version).partition("+")[0]


def same_release(versions: Iterable[str]) -> bool:
    """Return True if all of these are the running version, whatever their sources.

    Sources change all the time during development, so this difference is only mentioned in the
    status and the replay of a study.
    """
    return {released(one) for one in versions} <= {released(running_version())}


def other_versions(versions: Mapping[str, int], turns: int) -> Message | None:
    """Return a message if other versions wrote some events of a study, otherwise None.

    Parameters
    ----------
    versions : mapping of str to int
        Number of events that each version wrote.
    turns : int
        Number of times that an event was written by another version than the one before it.
    """
    if same_release(versions):
        return None
    known, mine = [version_of(one) for one in versions], running_version()
    if turns >= len(known) > 1:
        text = (
            "versions {versions:and} of combgame write to this study by turns: they may choose "
            "other rounds, and stop elsewhere"
        )
        remedy = "let everybody use the same version"
        return Message("versions-by-turns", text, remedy=remedy, versions=known)
    others = [one for one in known if one != mine]
    n = sum(number for one, number in versions.items() if one != mine)
    text = (
        "{n:count event} of this study {n:was|were} written by combgame {others:and}; this is "
        "version {here}"
    )
    remedy = "{replay} says whether it would have asked for the same rounds"
    replay = CallHint("replay")
    return Message(
        "other-versions", text, remedy=remedy, n=n, others=others, here=mine, replay=replay
    )


def other_sources(versions: Mapping[str, int], turns: int) -> Message | None:
    """Return a message if other sources of the same version wrote some events, otherwise None.

    The parameters are those of `other_versions`.
    """
    mine, known = running_version(), len(versions)
    n = sum(number for one, number in versions.items() if one != mine)
    if n == 0 or not same_release(versions):
        return None
    if turns >= known > 1:
        text = (
            "{n} sources of combgame {version} write to this study by turns: they may choose other "
            "rounds, and stop elsewhere"
        )
        remedy = "let everybody use the same sources"
        about: dict[str, Any] = {"n": known, "version": released(mine)}
        return Message("sources-by-turns", text, remedy=remedy, **about)
    text = (
        "{n:count event} of this study {n:was|were} written by other sources of the same version "
        "than those that run ({here})"
    )
    remedy = "{replay} says whether these would have asked for the same rounds"
    return Message(
        "sources-changed", text, remedy=remedy, n=n, here=mine, replay=CallHint("replay")
    )


def made_by(event: Event) -> Message | None:
    """Return a message if another version wrote the first event of a study, otherwise None."""
    if same_release([event.version]):
        return None
    text = "it was made with combgame {version}; this is version {here}"
    return Message(
        "other-version-made", text, version=version_of(event.version), here=running_version()
    )


def not_vouched(facts: Mapping[str, Any]) -> Message | None:
    """Return a message about a certificate that this version would not have given, otherwise None.

    It replaces the statement on what the certificate rests on. ``facts`` describes the end of the
    study.
    """
    short = facts.get("short")
    if short is None:
        return None
    text = (
        "The certificate is {label} of combgame ({version}), and stays given; version {here} would "
        "not have stopped there: its evidence was {weighed}"
    )
    return Message(
        "certificate-stays",
        text,
        version=version_of(facts["version"]),
        here=running_version(),
        label=ANOTHER,
        weighed=weighed(short["evidence"], short["threshold"]),
    )


def by_another(facts: Mapping[str, Any]) -> list[Message]:
    """Return a message if another version gave a certificate that this one confirms."""
    given_by = facts.get("version", running_version())
    if same_release([given_by]) or not_vouched(facts) is not None:
        return []
    text = "The certificate was given by combgame {version}; version {here} would have given it too"
    return [Message("certificate-alike", text, version=given_by, here=running_version())]


def certificate_due() -> Message:
    """Return a message about evidence that is enough now, but was not for another version."""
    text = (
        "By version {here} the evidence is enough, and by the version that wrote it, it was not: "
        "whatever is stored next, but for a retraction, certifies it"
    )
    return Message("certificate-due", text, here=running_version())
