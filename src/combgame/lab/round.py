"""Rounds: as the history keeps them, and as the client who measures them sees them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from ..engine.state import Floats
from ..problem import Problem
from ..tables import LETTERS

# A result as in JSON: a value, a list of replicates (None if one is missing), a mean of n values
# as {"mean": ..., "n": ...}, or None if the result is missing.
Entry = None | float | list[float | None] | dict[str, float]
MOST_VALUES = 2**53  # in one mean


def pulls(entry: Entry) -> Iterator[tuple[float, int]]:
    """Yield the values of an entry as pairs (mean, number of values)."""
    if isinstance(entry, dict):
        yield entry["mean"], int(entry["n"])
    elif isinstance(entry, list):
        yield from ((x, 1) for x in entry if x is not None)
    elif entry is not None:
        yield entry, 1


def split(entry: Entry, asked: int) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
    """Split an entry into the values that were asked for and those beyond.

    The number of the first ``asked`` values was fixed before any of them was seen. A mean of more
    values than were asked for does not tell which were the first, so all of it is beyond.

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
    """Return an entry with these values, given as pairs (mean, number of values).

    >>> entry_of([(0.7, 1)]), entry_of([(0.7, 1), (0.4, 1)]), entry_of([(0.5, 3)])
    (0.7, [0.7, 0.4], {'mean': 0.5, 'n': 3})
    """
    if len(parts) == 1:
        mean, n = parts[0]
        return mean if n == 1 else {"mean": mean, "n": n}
    return [mean for mean, _ in parts]


def gaps(entry: Entry, asked: int) -> int:
    """Return the number of missing values: of those that were asked for, and of a list.

    >>> gaps(None, 2), gaps(0.7, 2), gaps([0.7, None], 1), gaps({"mean": 0.5, "n": 4}, 3)
    (2, 1, 1, 0)
    """
    if isinstance(entry, list):
        return entry.count(None) + max(asked - len(entry), 0)
    return max(asked - sum(n for _, n in pulls(entry)), 0)


def values_of(entry: Entry) -> int:
    """Return the number of values that an entry represents."""
    return sum(n for _, n in pulls(entry))


def fingerprint(values: Mapping[int, Entry]) -> str:
    """Return a hash of the values of arms that does not depend on their order."""

    def plain(entry: Any) -> Any:
        if isinstance(entry, dict):
            return entry["mean"], entry["n"]
        return sorted(x for x in entry if x is not None) if isinstance(entry, list) else entry

    said = sorted((arm, plain(entry)) for arm, entry in values.items() if entry is not None)
    return sha256(repr(said).encode()).hexdigest()[:16]


class RecordedValue(NamedTuple):
    """A result of an arm in a round.

    Attributes
    ----------
    entry : Entry
        The result; None if it is missing.
    seq : int
        Number of the event that reports it.
    at : float or None
        Time of the report; None if the round ended without a result for this arm.
    anew : bool
        True if it replaces a value that was retracted.
    """

    entry: Entry
    seq: int
    at: float | None
    anew: bool = False


@dataclass
class RoundRecord:
    """A round with its results, or data from outside under the number of a round.

    Attributes
    ----------
    number : int
        Number of the round.
    arms : list of int
        Arms of the round.
    asker : str or None
        Client who asked for the round last, or who added the data from outside.
    asked : float
        Time of the last assignment.
    until : float or None
        End of the lease, if there is one.
    outside : bool
        True for data from outside.
    replicates : int
        Number of values of each arm that was fixed before any of them was seen. Values beyond it do
        not count everywhere.
    told : dict of int to RecordedValue
        Results by arm.
    entered : set of int
        Arms that ever had a result, even if it was retracted.
    gone : dict of int to int
        Arms that were retracted since their last result, and the event that retracted them.
    again : set of int
        If the round has ended: arms retracted since, which may be reported anew.
    waiting : bool
        True if the round failed and will be assigned again.
    touched : bool
        True if the round ever had a result, even if it was retracted.
    over : bool
        True if the round has ended.
    rest : {"open", "failed", "missing"}
        State of the arms without a result.
    since : int
        Number of the event that set ``rest``.
    block : list of int
        If plays have batch effects: number of the first round of its block, and size of the block.
    plays : int
        If plays have batch effects: number of times that the round was assigned to be measured
        anew, plus one.
    born : list of float or None
        Number and time of the event that asked for the round first, or for its present play; None
        for data from outside.
    weights : list of float
        Weight of a value of each arm (`Statistics.add_weighted`), fixed when the round was
        assigned. The weights are correct in a history that contains every round.
    steady : bool
        True if the round was fixed before any value was seen, so it is part of the initial design.
    """

    number: int
    arms: list[int]
    asker: str | None
    asked: float
    until: float | None = None
    outside: bool = False
    replicates: int = 1
    told: dict[int, RecordedValue] = field(default_factory=dict)
    entered: set[int] = field(default_factory=set)
    gone: dict[int, int] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)
    waiting: bool = False
    touched: bool = False
    over: bool = False
    rest: str = "open"
    since: int = 0
    block: list[int] = field(default_factory=list)
    plays: int = 1
    born: list[float] | None = None
    weights: list[float] = field(default_factory=list, compare=False)
    steady: bool = field(default=False, compare=False)

    @property
    def mark(self) -> str:
        """Return eight letters that identify the round beside its number.

        They depend on the event that asked for the round, so they differ for a round of the same
        number in another history.
        """
        if self.born is None:
            return ""
        seq, at = self.born
        said = sha256(f"{self.number} {int(seq)} {float(at)!r}".encode()).digest()
        return "".join(LETTERS[one % len(LETTERS)] for one in said[:8])

    @property
    def left(self) -> list[int]:
        """Return the arms without a result."""
        return [a for a in self.arms if a not in self.told]

    @property
    def client(self) -> str | None:
        """Return the client who holds the round."""
        return None if self.waiting else self.asker

    @property
    def state(self) -> str:
        """Return "open", "told", "given up", or "observed" for data from outside."""
        if self.outside:
            return "observed"
        return "open" if not self.over else "told" if self.told else "given up"

    def weight(self, arm: int) -> float:
        """Return the weight of a value of an arm."""
        return self.weights[self.arms.index(arm)]

    def expired(self, now: float) -> bool:
        """Return True if the lease has ended.

        A lease also counts as ended if it begins further in the future than it is long: the clock
        was set back since, and the lease would last arbitrarily long.
        """
        return self.until is not None and not 2.0 * self.asked - self.until <= now < self.until

    def stands(self, arm: int) -> str:
        """Return the state of an arm: "told", "observed", "missing", "retracted", or ``rest``."""
        told = self.told.get(arm)
        if arm in self.again or (told is None and self.gone.get(arm, 0) > self.since):
            return "retracted"
        if told is None or told.at is None:
            return self.rest
        return "missing" if told.entry is None else "observed" if self.outside else "told"

    def tell(self, arm: int, told: RecordedValue) -> None:
        """Record the result of an arm."""
        self.told[arm] = told
        self.again.discard(arm)
        if told.entry is not None:
            self.gone.pop(arm, None)
        if told.at is not None:
            self.entered.add(arm)

    def untell(self, arm: int, seq: int) -> None:
        """Remove the result of an arm that event ``seq`` retracts."""
        del self.told[arm]
        self.gone[arm] = seq

    def plain(self) -> dict[str, Any]:
        """Return the fields as data that JSON can represent."""
        return {**vars(self), "entered": sorted(self.entered), "again": sorted(self.again)}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "RoundRecord":
        """Return the record that `plain` describes, read back from JSON."""
        made = cls(**plain)
        made.entered, made.again = set(made.entered), set(made.again)
        made.told = {int(arm): RecordedValue(*told) for arm, told in made.told.items()}
        made.gone = {int(arm): seq for arm, seq in made.gone.items()}
        return made


def values_in(record: RoundRecord) -> Floats:
    """Return the values of a round that count, as many per arm as were asked for.

    Returns
    -------
    ndarray of shape (3, n)
        Rows of arms, means, and numbers of values.
    """
    cells = [
        (arm, mean, n)
        for arm, told in record.told.items()
        if arm not in record.again
        for mean, n in split(told.entry, record.replicates)[0]
    ]
    return np.array(cells, float).reshape(-1, 3).T


@dataclass(frozen=True)
class Round:
    """A round to be measured.

    Attributes
    ----------
    id : int
        Number of the round.
    arms : tuple of int
        Indices of the arms to measure, ``replicates`` times each.
    names : tuple of str
        Names of these arms.
    remaining : tuple of int
        Arms that have no result yet.
    client : str or None
        Client who holds the round.
    lease_until : float or None
        End of the lease, in seconds since 1970.
    replicates : int
        Number of measurements of each arm.
    mark : str
        Eight letters by which a study recognises the round: after an older copy of the study was
        put back, another round may have the same number.
    """

    id: int
    arms: tuple[int, ...]
    names: tuple[str, ...]
    remaining: tuple[int, ...]
    client: str | None = None
    lease_until: float | None = None
    replicates: int = 1
    mark: str = field(default="", compare=False)


def as_round(problem: Problem, record: RoundRecord) -> Round:
    """Return a record as its client sees it."""
    names = tuple(problem.names[a] if problem.names else str(a) for a in record.arms)
    return Round(
        record.number,
        tuple(record.arms),
        names,
        tuple(record.left),
        record.client,
        record.until,
        record.replicates,
        record.mark,
    )
