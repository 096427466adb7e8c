"""A round: as the history keeps it, and as whoever measures it sees it."""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from .._messages import Call, Option
from ..engine.state import Floats
from ..errors import InputError, StudyError, must_be
from ..problem import Problem
from ..tables import LETTERS, MARK
from .values import Entry, split


class Told(NamedTuple):
    """What was told of an arm in a round."""

    entry: Entry  # None: it is missing
    seq: int  # the event that says so
    at: float | None  # when; None: nobody said so, but the round ended without it
    anew: bool = False  # in the place of a value that was retracted


@dataclass
class Record:
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
    told: dict[int, Told] = field(default_factory=dict)
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

    def tell(self, arm: int, told: Told) -> None:
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
    def of(cls, plain: dict[str, Any]) -> "Record":
        """From its fields, as JSON gives them back."""
        made = cls(**plain)
        made.entered, made.again = set(made.entered), set(made.again)
        made.told = {int(arm): Told(*told) for arm, told in made.told.items()}
        made.gone = {int(arm): seq for arm, seq in made.gone.items()}
        return made


def values_in(record: Record) -> Floats:
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


def check_means(problem: Problem, number: int, replicates: int, given: dict[int, Entry]) -> None:
    """Refuse a mean that hides which of its values were asked for, where only these count."""
    for arm, entry in given.items():
        if problem.rewards.levels() and isinstance(entry, dict) and entry["n"] > replicates:
            raise InputError(
                "mean-hides",
                "round {round}, arm {arm}: a mean of {n} values hides the {asked:count value} that "
                "{asked:was|were} asked for, and no others count where plays have levels",
                remedy="tell them as a list, in the order in which they were measured; next time "
                "ask for as many, with {replicates}",
                round=number,
                arm=problem.label([arm]),
                n=entry["n"],
                asked=replicates,
                replicates=Option("replicates", entry["n"]),
            )


def check_one_play(problem: Problem, number: int, record: Record, given: dict[int, Entry]) -> None:
    """Refuse, where plays have levels, values in the place of retracted ones beside others of the
    same round that still stand: nobody can tell whether they are of one play.
    """
    if not problem.rewards.levels():
        return
    for arm, entry in given.items():
        anew = arm in record.again if record.over else arm in record.gone
        if (
            entry is not None
            and anew
            and any(
                told.entry is not None and (record.over or not told.anew)
                for other, told in record.told.items()
                if other not in record.again
            )
        ):
            raise StudyError(
                "one-play",
                "round {round}, arm {arm}: where plays have levels, all values of a round are of "
                "one play, so a value that was retracted cannot be told anew beside others that "
                "stand",
                remedy="{retract}, and then tell all values of one play",
                round=number,
                arm=problem.label([arm]),
                retract=Call("retract", number, "reason"),
            )


def check_whole(problem: Problem, number: int, replicates: int, given: dict[int, Entry]) -> None:
    """Refuse a part of the replicates of an arm, of which more is to come."""
    for arm, entry in given.items():
        told = len(entry) if isinstance(entry, list) else 1
        if entry is not None and not isinstance(entry, dict) and told < replicates:
            raise InputError(
                "replicates-together",
                "round {round}, arm {arm}: {told:count value} {told:is|are} told of the {n} that "
                "were asked for",
                remedy="tell all values of an arm together, as a list with None for those that are "
                "missing",
                round=number,
                arm=problem.label([arm]),
                told=told,
                n=replicates,
            )


@dataclass(frozen=True)
class Round:
    """What to measure: `arms`, which are called `names`, `replicates` times each. `left` are those
    of which nothing has been told yet. By its `mark` a study knows it again: after an older copy of
    the study was put back, another round may have its number.
    """

    id: int
    arms: tuple[int, ...]
    names: tuple[str, ...]
    left: tuple[int, ...]
    client: str | None = None
    until: float | None = None  # the end of the lease, in seconds since 1970
    replicates: int = 1
    mark: str = field(default="", compare=False)


class Todo(NamedTuple):
    """A round as it is named by whoever measured it. mark: "" if nobody noted it."""

    id: int
    mark: str = ""


def mark_of(mark: Any) -> str:
    """A mark as somebody gives it back; "" for none."""
    if mark is None:
        return ""
    if not isinstance(mark, str) or MARK.fullmatch(mark.strip().lower()) is None:
        what = "the eight letters that `ask` gave with the round"
        raise must_be("mark", mark, what, "leave them as they were, or leave them out")
    return mark.strip().lower()


def check_play(record: Record, todo: Todo, client: str | None) -> None:
    """Refuse, where plays have levels, what is told of a play that was given up for another one."""
    others = client is not None and record.asker is not None and client != record.asker
    if (
        record.plays > 1
        and not record.over
        and ((todo.mark and todo.mark != record.mark) or others)
    ):
        raise StudyError(
            "measured-anew",
            "round {round} was asked again since, and all values of a round are of one play where "
            "plays have levels; nothing was changed",
            remedy="leave it to {asker}, who has the round now",
            round=todo.id,
            asker=record.asker or "whoever",
        )


def check_todo(todo: Todo, mark: str, name: str) -> None:
    """Refuse what is told of another round; mark: of the one that has this number now."""
    if todo.mark and todo.mark != mark:
        raise StudyError(
            "other-round",
            "round {round} of study {name!r} is another one now than the one that is meant: since "
            "that was asked, an older copy of the study was put back; or it was asked by another "
            "study. Nothing was changed",
            remedy="ask again for what to measure now; {observe} adds what was measured already",
            round=todo.id,
            name=name,
            observe=Call("observe"),
        )


def as_round(problem: Problem, record: Record) -> Round:
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
