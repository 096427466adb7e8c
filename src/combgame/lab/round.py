"""A round: the values of its arms, as the history keeps it, and as whoever measures it sees it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from ..engine.state import Floats
from ..problem import Problem
from ..tables import LETTERS

# as JSON has it; a mean of n values is {"mean": ..., "n": ...}; None in a list: a replicate that
# is missing
Entry = None | float | list[float | None] | dict[str, float]
MOST_VALUES = 2**53  # values in one mean


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


def values_of(entry: Entry) -> int:
    """How many values an entry stands for."""
    return sum(n for _, n in pulls(entry))


def fingerprint(values: Mapping[int, Entry]) -> str:
    """The same for the same values of the same arms, in whatever order they come."""

    def plain(entry: Any) -> Any:
        if isinstance(entry, dict):
            return entry["mean"], entry["n"]
        return sorted(x for x in entry if x is not None) if isinstance(entry, list) else entry

    said = sorted((arm, plain(entry)) for arm, entry in values.items() if entry is not None)
    return sha256(repr(said).encode()).hexdigest()[:16]


class RecordedValue(NamedTuple):
    """What was told of an arm in a round."""

    entry: Entry  # None: it is missing
    seq: int  # the event that says so
    at: float | None  # when; None: nobody said so, but the round ended without it
    anew: bool = False  # in the place of a value that was retracted


@dataclass
class RoundRecord:
    """A round, or data from outside under the number of a round, and what stands in it."""

    number: int
    arms: list[int]
    asker: str | None  # who asked for it last, or observed it
    asked: float  # when
    until: float | None = None  # the end of its lease; None: it has none
    outside: bool = False  # data from outside
    # values of each arm whose number was fixed before any of them was seen; what is told beyond
    # them does not count everywhere
    replicates: int = 1
    told: dict[int, RecordedValue] = field(default_factory=dict)
    # arms of which something was ever told, even if it was retracted
    entered: set[int] = field(default_factory=set)
    # arms that were retracted since they were told, and by which event
    gone: dict[int, int] = field(default_factory=dict)
    # if it has ended: arms retracted since, which may be told anew
    again: set[int] = field(default_factory=set)
    waiting: bool = False  # it failed, and is to be asked again
    touched: bool = False  # something was told of it, even if it was retracted
    over: bool = False  # it has ended
    rest: str = "open"  # how the arms stand that nobody told: "open", "failed" or "missing"
    since: int = 0  # the event that says so
    # where plays have levels: the number of the first round of its block, and how many it has
    block: list[int] = field(default_factory=list)
    plays: int = 1  # how often it was asked for, where plays have levels and it was measured anew
    # the event that asked for it first, or for this play of it: its number, and when; None: data
    # from outside
    born: list[float] | None = None
    # the weight of a value of each arm (`game.round.balance`), fixed when it was asked for: right
    # in a history that was told of every round
    weights: list[float] = field(default_factory=list, compare=False)
    # it was fixed before any value was seen: part of the start
    steady: bool = field(default=False, compare=False)

    @property
    def mark(self) -> str:
        """By which it is known from a round of the same number in another history: eight letters
        that depend on the event that asked for it.
        """
        if self.born is None:
            return ""
        seq, at = self.born
        said = sha256(f"{self.number} {int(seq)} {float(at)!r}".encode()).digest()
        return "".join(LETTERS[one % len(LETTERS)] for one in said[:8])

    @property
    def left(self) -> list[int]:
        return [a for a in self.arms if a not in self.told]

    @property
    def client(self) -> str | None:
        """Who has it."""
        return None if self.waiting else self.asker

    @property
    def state(self) -> str:
        """ "open", "told", "given up", or "observed": data from outside."""
        if self.outside:
            return "observed"
        return "open" if not self.over else "told" if self.told else "given up"

    def weight(self, arm: int) -> float:
        return self.weights[self.arms.index(arm)]

    def expired(self, now: float) -> bool:
        """Whether the lease has ended. One that begins further in the future than it is long is of
        a clock that was set back since, and would hold for ever so long.
        """
        return self.until is not None and not 2.0 * self.asked - self.until <= now < self.until

    def stands(self, arm: int) -> str:
        """How an arm stands: "told", "observed", "missing", "retracted", or as the rest does."""
        told = self.told.get(arm)
        if arm in self.again or (told is None and self.gone.get(arm, 0) > self.since):
            return "retracted"
        if told is None or told.at is None:
            return self.rest
        return "missing" if told.entry is None else "observed" if self.outside else "told"

    def tell(self, arm: int, told: RecordedValue) -> None:
        self.told[arm] = told
        self.again.discard(arm)
        if told.entry is not None:
            self.gone.pop(arm, None)
        if told.at is not None:
            self.entered.add(arm)

    def untell(self, arm: int, seq: int) -> None:
        del self.told[arm]
        self.gone[arm] = seq

    def plain(self) -> dict[str, Any]:
        """Its fields, as JSON can carry them."""
        return {**vars(self), "entered": sorted(self.entered), "again": sorted(self.again)}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "RoundRecord":
        """From its fields, as JSON gives them back."""
        made = cls(**plain)
        made.entered, made.again = set(made.entered), set(made.again)
        made.told = {int(arm): RecordedValue(*told) for arm, told in made.told.items()}
        made.gone = {int(arm): seq for arm, seq in made.gone.items()}
        return made


def values_in(record: RoundRecord) -> Floats:
    """The values of a round that stand, as many as were asked for: arms, means, and of how many
    values.
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
    """What to measure: `arms`, which are called `names`, `replicates` times each. `left` are those
    of which nothing has been told yet. By its `mark` a study knows it again: after an older copy of
    the study was put back, another round may have its number.
    """

    id: int
    arms: tuple[int, ...]
    names: tuple[str, ...]
    remaining: tuple[int, ...]
    client: str | None = None
    lease_until: float | None = None  # the end of the lease, in seconds since 1970
    replicates: int = 1
    mark: str = field(default="", compare=False)


def as_round(problem: Problem, record: RoundRecord) -> Round:
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
