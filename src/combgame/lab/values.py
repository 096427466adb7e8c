"""What people tell of an arm: a number, a list of replicates, (mean, n), or that it is missing.

The same values again: most likely the same data. A heuristic, which only asks before they count
twice.
"""

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .._messages import Phrase
from ..errors import InputError, must_be, said_by
from ..problem import Problem
from ..rewards import License
from ..rewards.base import claimed
from ..storage.events import Event
from ..tables.reader import digits

# as JSON has it; a mean of n values is {"mean": ..., "n": ...}; None in a list: a replicate that
# is missing
Entry = None | float | list[float | None] | dict[str, float]
MOST = 2**53  # values in one mean


def read_values(
    problem: Problem, values: Any, among: Collection[int] | None = None, round: int | None = None
) -> dict[int, Entry]:
    """Values by arm, checked; `among`: the arms that may have one; round: whose values they are.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0), names=["a", "b", "c"])
    >>> read_values(problem, {"a": 1, 1: [0.5, 0.25], "c": (0.5, 4)})
    {0: 1.0, 1: [0.5, 0.25], 2: {'mean': 0.5, 'n': 4}}
    """
    if not hasattr(values, "keys"):
        what = "values by arm, such as {{0: 0.3}} or {{'name': 0.3}}"
        raise must_be("values", values, what)
    entries: dict[int, Entry] = {}
    for key in values.keys():  # noqa: SIM118  (a pandas Series iterates over its values)
        arm = problem.arm(key)
        try:
            if among is not None and arm not in among:
                text = "it is not in the round, which has {arms}"
                raise InputError("not-in-round", text, arms=problem.label(sorted(among)))
            if arm in entries:
                text = "it is given twice, by its name and by its number"
                raise InputError("arm-twice", text, remedy="give it once")
            entries[arm] = _entry(problem, arm, values[key])
        except InputError as error:
            name = problem.label([arm])
            if round is None:
                raise error.within("arm {arm}", arm=name) from None
            raise error.within("round {round}, arm {arm}", round=round, arm=name) from None
    return entries


def missing(value: Any) -> bool:
    return (
        value is None
        or (isinstance(value, float | np.floating) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    )


def _entry(problem: Problem, arm: int, value: Any) -> Entry:
    if missing(value):
        return None
    if isinstance(value, tuple):
        if (
            len(value) != 2
            or isinstance(value[1], bool)
            or not isinstance(value[1], int | np.integer)
            or value[1] < 1
        ):
            what = "(mean, n) with a whole n of at least 1"
            raise must_be("value", value, what, "replicates come as a list")
        mean, n = value[0], int(value[1])
        if not problem.rewards.known:
            raise InputError(
                "variance-hidden",
                "a mean of {n} values hides how they vary, which is needed here",
                remedy="{instead}",
                n=n,
                instead=Phrase("several values"),
            )
        mean = _number(problem, arm, mean, n)
        if n > MOST:
            text = "n = {n} is more than 2**53, beyond which numbers are not counted exactly"
            raise InputError("n-too-large", text, remedy="check it", n=n)
        return {"mean": mean, "n": n}
    flat = isinstance(value, list) and not any(isinstance(x, list | tuple) for x in value)
    if flat or (isinstance(value, np.ndarray) and value.ndim == 1):
        several = [None if missing(x) else _number(problem, arm, x) for x in value]
        return None if all(x is None for x in several) else several
    return _number(problem, arm, value)


def _number(problem: Problem, arm: int, value: Any, n: int | None = None) -> float:
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, int | float):
        what = "a number, a list of replicates, (mean, n), or None for missing"
        raise must_be("value", value, what)
    # a whole number may be too large for a float
    x = float(plain) if abs(plain) <= 1e100 else math.inf
    low, high = problem.rewards.values(problem.d)
    if not abs(x) <= 1e100:
        blank = Phrase("missing value")
        raise must_be("value", value, "a finite number, at most 1e100", "{blank}", blank=blank)
    if not low <= x <= high:
        raise InputError(
            "value-outside",
            "{value:g} is outside [{low:g}, {high:g}], where {rewards} has its values",
            remedy="check the value",
            value=x,
            low=low,
            high=high,
            rewards=str(problem.rewards),
        )
    why = problem.rewards.refused(x, n) or problem.coarse(arm, x, n or 1)
    if why is not None:
        raise said_by(InputError, why)
    return x


def pulls(entry: Entry) -> Iterator[tuple[float, int]]:
    """The values as (mean, of how many)."""
    if isinstance(entry, dict):
        yield entry["mean"], int(entry["n"])
    elif isinstance(entry, list):
        yield from ((x, 1) for x in entry if x is not None)
    elif entry is not None:
        yield entry, 1


def split(entry: Entry, asked: int) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
    """The values, as `pulls` gives them, in two parts: the first `asked` of them, whose number was
    fixed before any was seen, and those beyond. A mean of more values than were asked for does not
    tell which were the first, so all of it is beyond.

    >>> split([0.7, None, 0.4, 0.3], 2)
    ([(0.7, 1)], [(0.4, 1), (0.3, 1)])
    >>> split({"mean": 0.5, "n": 3}, 2), split({"mean": 0.5, "n": 3}, 3)
    (([], [(0.5, 3)]), ([(0.5, 3)], []))
    """
    if isinstance(entry, list):
        return list(pulls(entry[:asked])), list(pulls(entry[asked:]))
    fixed = asked > 0 and (not isinstance(entry, dict) or entry["n"] <= asked)
    return (list(pulls(entry)), []) if fixed else ([], list(pulls(entry)))


def entry_of(parts: list[tuple[float, int]]) -> Entry:
    """An entry that has these values, as `pulls` gives them.

    >>> entry_of([(0.7, 1)]), entry_of([(0.7, 1), (0.4, 1)]), entry_of([(0.5, 3)])
    (0.7, [0.7, 0.4], {'mean': 0.5, 'n': 3})
    """
    if len(parts) == 1:
        mean, n = parts[0]
        return mean if n == 1 else {"mean": mean, "n": n}
    return [mean for mean, _ in parts]


def gaps(entry: Entry, asked: int) -> int:
    """How many values are missing: of those that were asked for, and of a list.

    >>> gaps(None, 2), gaps(0.7, 2), gaps([0.7, None], 1), gaps({"mean": 0.5, "n": 4}, 3)
    (2, 1, 1, 0)
    """
    if isinstance(entry, list):
        return entry.count(None) + max(asked - len(entry), 0)
    return max(asked - sum(n for _, n in pulls(entry)), 0)


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
