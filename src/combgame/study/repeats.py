"""The same values again: most likely the same data. A heuristic, which only asks before they count
twice.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import InputError
from ..problem import Problem
from ..rewards import License
from ..rewards.base import claimed
from ..sentences import Phrase
from ..storage.events import Event
from ..tables.reading import digits
from .entries import Entry

MANY = 8  # digits in all: by chance, one of 10^8 tables of that many has the same values


def coincidence(problem: Problem, values: Mapping[int, Entry]) -> bool:
    """Whether the same values might well come again: they have few digits in all.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0))
    >>> coincidence(problem, {0: 0.5, 1: 0.25}), coincidence(problem, {0: 0.51234, 1: 0.2718})
    (True, False)
    """
    binary = License.BINARY in claimed(problem.rewards)
    total = 0.0
    for entry in values.values():
        if isinstance(entry, dict):
            total += 1.0 if binary else digits(entry["mean"])
        elif isinstance(entry, list):
            total += sum(0.3 if binary else digits(x) for x in entry if x is not None)
        elif entry is not None:
            total += 0.3 if binary else digits(entry)
    return total < MANY


def fingerprint(values: Mapping[int, Entry]) -> str:
    """The same for the same values of the same arms, in whatever order they come."""

    def plain(entry: Any) -> Any:
        if isinstance(entry, dict):
            return entry["mean"], entry["n"]
        return sorted(x for x in entry if x is not None) if isinstance(entry, list) else entry

    said = sorted((arm, plain(entry)) for arm, entry in values.items() if entry is not None)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def prints_of(events: Iterable[Event]) -> dict[str, int]:
    """By the fingerprint of what was told or observed at once: the number that has it."""
    made: dict[str, int] = {}
    for event in events:
        if event.kind in ("told", "observed") and event.round is not None:
            values = {int(arm): entry for arm, entry in event.data["values"].items()}
            made.setdefault(fingerprint(values), event.round)
    return made


def repeated_round(
    problem: Problem, told: Mapping[int, Mapping[int, Entry]], before: Mapping[str, int]
) -> InputError | None:
    """What to say of a round that has the very values of another one, in `told` or before: most
    likely it is another's table.
    """
    seen = dict(before)
    for number, values in sorted(told.items()):
        if coincidence(problem, values):
            continue
        one = fingerprint(values)
        if seen.get(one, number) != number:
            return InputError(
                "round-repeated",
                "round {round} has the very values of number {other}, for the same arms; nothing "
                "was stored",
                remedy="check the table, or {again} if they were measured twice",
                round=number,
                other=seen[one],
                again=Phrase("again"),
            )
        seen[one] = number
    return None
