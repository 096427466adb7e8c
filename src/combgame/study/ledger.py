"""The fold: events -> who has which round, and what has been seen. Nothing is stored or decided here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np

from ..game.records import Floats, Seen, blank
from ..game.round import add, note
from ..storage.events import Event
from .doubts import nothing_far, reach
from .entries import Entry, pulls

Past = Callable[[], Iterable[Event]]  # the events before the one at hand


@dataclass
class Open:
    """A round that is not finished."""

    arms: list[int]
    client: str | None
    until: float | None  # the end of its lease; None: it has none
    told: dict[int, Entry] = field(default_factory=dict)
    waiting: bool = False  # it failed, and is to be asked again
    touched: bool = False  # something was told of it, even if it was retracted
    gone: list[int] = field(default_factory=list)  # arms that were retracted since they were told
    again: list[int] = field(default_factory=list)  # of a finished round: arms that were retracted since, which may be told anew

    @property
    def left(self) -> list[int]:
        return [a for a in self.arms if a not in self.told]

    def expired(self, now: float) -> bool:
        return self.until is not None and self.until <= now


class Ledger:
    """What the events say. `seen` has what was told, and only that; `pending` the values that are still to come."""

    def __init__(self, d: int) -> None:
        self.seq, self.seal = 0, ""
        self.open: dict[int, Open] = {}  # by their numbers, ascending
        self.waiting = 0  # of them, those that failed and are to be asked again
        self.last = 0  # the number of the last round
        self.asked = 0  # rounds chosen
        self.dropped = 0  # of them, given up without a value
        self.told = 0  # rounds of which something was told, even if it was retracted
        self.closed: str | None = None
        self.limits: dict[str, Any] = {}  # max_rounds and deadline, if they are no longer those of the setting
        self.outside: list[list[int]] = []  # data from outside: number, arm, values
        self.notes: dict[str, int] = {}  # what touches the guarantee, counted
        self.withdrawn: list[int] = []  # arms whose data were retracted, and may be observed anew
        self.anew = False  # what is being told stands in the place of values that were retracted
        self.seen: Seen = blank(d)
        self.pending: Floats = np.zeros(d)
        self.far: Floats = nothing_far(d)

    @property
    def plays(self) -> int:
        """Rounds asked and not failed."""
        return self.asked - self.dropped - self.waiting

    @property
    def retractions(self) -> int:
        return self.notes.get("retracted", 0)

    @property
    def corrections(self) -> int:
        """How often values were told anew in the place of some that were retracted; what was told together counts once."""
        return self.notes.get("anew", 0)

    def apply(self, event: Event, past: Past) -> None:
        getattr(self, "_" + event.kind)(event, past)
        if self.anew and not event.data.get("more"):
            self._note("anew")
            self.anew = False
        self.seq = event.seq

    def _created(self, event: Event, past: Past) -> None:
        pass

    def _asked(self, event: Event, past: Past) -> None:
        number, data = event.round or 0, event.data
        if not data.get("again"):
            self.open[number] = Open(list(data["arms"]), event.client, data.get("until"))
            self.last, self.asked = number, self.asked + 1
            self.pending[data["arms"]] += 1.0
            return
        known = self.open[number]
        self._note("overdue", known.expired(event.at))
        if known.waiting:
            known.waiting = False
            self.waiting -= 1
            self.pending[known.left] += 1.0
        known.client, known.until = event.client, data.get("until")

    def _told(self, event: Event, past: Past) -> None:
        number = event.round or 0
        values = {arm for arm, entry in entries(event).items() if entry is not None}
        if number not in self.open:  # an arm that was retracted after the round had ended
            self._comes_back(values)
            for arm, entry in entries(event).items():
                self._enter(arm, entry, number)
            return
        known = self.open[number]
        self._comes_back(values.intersection(known.gone))
        known.gone = [arm for arm in known.gone if arm not in values]
        if not known.touched:
            earlier = takewhile(lambda other: other < number, self.open)
            self._note("overtaking", any(not self.open[other].waiting for other in earlier))
        self.told += not known.touched
        known.touched = True
        for arm, entry in entries(event).items():
            self._arrives(known, arm, entry, number)
        if event.data.get("final", True):
            for arm in known.left:
                self._arrives(known, arm, None, number)
        if not known.left:
            self._shut(number)

    def _comes_back(self, arms: set[int]) -> None:
        """Values in the place of some that were retracted."""
        self.anew |= bool(arms)
        for arm in arms.intersection(self.withdrawn):
            self.withdrawn.remove(arm)

    def _arrives(self, known: Open, arm: int, entry: Entry, number: int) -> None:
        known.told[arm] = entry
        if not known.waiting:
            self.pending[arm] -= 1.0
        self._enter(arm, entry, number)

    def _enter(self, arm: int, entry: Entry, number: int) -> None:
        self._note("missing", entry is None)
        self._note("averaged", isinstance(entry, dict))
        self._add(arm, entry, number)

    def _failed(self, event: Event, past: Past) -> None:
        number, known = event.round or 0, self.open[event.round or 0]
        self._note("failed")
        if not known.waiting:
            self.pending[known.left] -= 1.0
            self.waiting += 1
        known.waiting, known.client, known.until = True, None, None
        if not event.data.get("retry", True):
            self._note("missing", bool(known.told), len(known.left))
            self.dropped += not known.told
            self._shut(number)

    def _shut(self, number: int) -> None:
        self.waiting -= self.open.pop(number).waiting

    def _observed(self, event: Event, past: Past) -> None:
        self.last = event.round or self.last
        for arm, entry in entries(event).items():
            if arm in self.withdrawn:  # perhaps other data; nobody can tell
                self.withdrawn.remove(arm)
                self.anew = True
            self.outside.append([self.last, arm, sum(n for _, n in pulls(entry))])
            self._enter(arm, entry, self.last)

    def _retracted(self, event: Event, past: Past) -> None:
        before = list(past())
        self._note("retracted")
        if event.round is None:
            arms = [int(event.data["arm"])]
            for known in self.open.values():
                if arms[0] in known.told:
                    self._untell(known, arms)
        else:
            mine = [one for one in before if one.round == event.round]
            arms = sorted({arm for one in mine for arm in entries(one)})
            if mine[0].kind == "asked":
                self._reopen(event.round, mine)
        gone = event.round
        theirs = [one[1] for one in self.outside if (one[0] == gone if gone is not None else one[1] == arms[0])]
        self.withdrawn += theirs + [arm for arm in arms if arm not in theirs]
        self.outside = [one for one in self.outside if (one[0] != gone if gone is not None else one[1] != arms[0])]
        forget(self.seen, arms)
        self.far[:, :, arms] = nothing_far(len(arms))
        for number, arm, entry in remaining([*before, event], set(arms)):
            self._add(arm, entry, number)  # added up anew: taking a value off a sum would leave its rounding

    def _reopen(self, number: int, mine: list[Event]) -> None:
        known = self.open.get(number)
        if known is None:
            asked = [one for one in mine if one.kind == "asked"]
            known = Open(list(asked[0].data["arms"]), asked[-1].client, None, touched=True)
            known.told = dict.fromkeys(known.arms)
            self.open = dict(sorted({**self.open, number: known}.items()))
        self._untell(known, list(known.told))

    def _untell(self, known: Open, arms: list[int]) -> None:
        known.gone = sorted({*known.gone, *arms})
        for arm in arms:
            del known.told[arm]
            self.pending[arm] += not known.waiting

    def _extended(self, event: Event, past: Past) -> None:
        self._note("extended")
        self.limits.update(event.data)

    def _closed(self, event: Event, past: Past) -> None:
        self.closed = event.reason or "closed by hand"

    def _add(self, arm: int, entry: Entry, number: int) -> None:
        """Enter values of an arm."""
        for mean, n in pulls(entry):
            if n == 1:
                note(self.seen, arm, mean)
            else:
                add(self.seen, arm, mean * n)
                self.seen.counts[arm] += n
            reach(self.far, arm, mean, n, number)

    def _note(self, what: str, happened: bool = True, times: int = 1) -> None:
        if happened and times:
            self.notes[what] = self.notes.get(what, 0) + times


def entries(event: Event) -> dict[int, Entry]:
    """The values of an event by arm."""
    return {int(arm): entry for arm, entry in event.data.get("values", {}).items()}


def remaining(events: Iterable[Event], arms: set[int]) -> list[tuple[int, int, Entry]]:
    """The values of some arms that were not retracted, with their rounds, in the order in which they came."""
    kept: list[tuple[int, int, Entry]] = []
    for event in events:
        if event.kind == "retracted":
            gone, arm = event.round, event.data.get("arm")
            kept = [one for one in kept if (one[0] != gone if gone is not None else one[1] != arm)]
        else:
            kept += [(event.round or 0, arm, entry) for arm, entry in entries(event).items() if arm in arms]
    return kept


def forget(seen: Seen, arms: list[int]) -> None:
    seen.sums[arms] = seen.rest[arms] = seen.counts[arms] = seen.squares[arms] = 0.0
