"""The history of a study: one fold of its events. Nothing is stored or decided here.

`RoundRecord`s say who has which round and what stands in it; totals over them, what was seen, what is
still to come, what touches the guarantee. Whatever else is said of the history is read off these:
the state and the status, a round that has ended (`look_up`), the values that still count
(`counting`), the rows of an export, a replay.

A study may have any number of rounds, so the history that goes on with one keeps those that are
open. A *whole* history keeps all: it is folded anew, by the same methods, for whoever asks for
rounds that have ended, and for a retraction, after which everything is added up again (taking a
value off a sum would leave its rounding).

A new kind of event is one method here, `on_<kind>`, which says with its `EventEffect` what the
event asks of the stopping rule, and the verb of `Study` that writes it. Storage, seals, snapshots,
replays and exports do not look at kinds.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine.numerics import two_sum
from ..engine.state import Floats, Ints
from ..engine.statistics import Statistics, blank
from ..errors import CombGameError, StoreError, UnknownNameError
from ..storage.events import Event, no_collecting
from .block_effects import commit, count_blocks, recount
from .round import (
    MOST_VALUES,
    Entry,
    RecordedValue,
    RoundRecord,
    fingerprint,
    gaps,
    split,
    values_in,
    values_of,
)


class HistoryReader(Protocol):
    """The events before the one at hand, for the few kinds of events that look back."""

    def whole(self, event: Event) -> "History":
        """A whole history of all before this one; or `NeedsHistory`, and nothing has happened."""


class NeedsHistory(Exception):  # noqa: N818  (it is no error)
    """There is more to read than others should wait for; event: for the sake of which."""

    def __init__(self, event: Event | None = None) -> None:
        super().__init__()
        self.event = event


class EventEffect(Enum):
    """What an event asks of the stopping rule."""

    NOTHING = 0  # the same values count
    LOOK = 1  # they do, and are to be looked at
    VALUES = 2  # more values count
    CHANGE = 3  # other values count: to be judged as if it had not stopped


class History:
    """What the events say. `stats` has what was told, and only that; `pending` the values that are
    still to come. pivot: if it is not None, `stats` and `extremes` have pivot - x for every value x.
    """

    def __init__(
        self,
        d: int,
        whole: bool = False,
        group: Ints | None = None,
        first: Floats | None = None,
        pivot: float | None = None,
        precision: Floats | None = None,
    ) -> None:
        """group: arms that vary alike (`Statistics.group`); first: values that the start has of each arm,
        whatever they are; precision: where plays have levels.
        """
        self.seq, self.seal, self.pivot = 0, "", pivot
        self.open: dict[int, RoundRecord] = {}  # by their numbers, ascending
        self.closed: dict[int, RoundRecord] | None = (
            {} if whole else None
        )  # those that have ended, and data from outside
        self.waiting = 0  # of the open ones, those that failed and are to be asked again
        self.last = 0  # the number of the last round
        self.asked = 0  # rounds chosen
        self.dropped = 0  # of them, given up without a value
        self.n_told = 0  # rounds of which something was told, even if it was retracted
        self.stopped: str | None = None  # by hand, and why
        # versions of combgame, and how many events each wrote; the last one; how often another one
        # wrote on
        self.versions: dict[str, int] = {}
        self.version, self.turns = "", 0
        # max_rounds and deadline as they are now: they may have been extended
        self.limits: dict[str, Any] = {"max_rounds": None, "deadline": None}
        # data from outside: number, arm, how many values, and whether their number was fixed before
        # they were seen (1) or not (0), or they come from another study (2)
        self.outside: list[list[int]] = []
        self.fingerprints: dict[
            str, int
        ] = {}  # of data from outside: which values, under which number
        self.carried: dict[str, Any] = {}  # from another study: which, and the share of delta left
        self.happened: dict[str, int] = {}  # what touches the guarantee, counted
        self.retracted_arms: list[
            int
        ] = []  # arms whose data were retracted, and may be observed anew
        self.is_correction = (
            False  # what is being told stands in the place of values that were retracted
        )
        # where plays have levels: blocks that do not count yet (their number, plays, how many were
        # asked, and their replicates), and their rounds that have ended
        self.blocks: list[list[int]] = []
        self.held_back: dict[int, RoundRecord] = {}
        # and all rounds that have ended, as `values_in` has them
        self.measured: dict[int, Floats] = {}
        self.stats: Statistics = blank(d, group, precision)
        self.pending: Floats = np.zeros(d)
        self.n_requested: Floats = np.zeros(
            d
        )  # values that were ever asked for, or came from outside
        self.n_received: Floats = np.zeros(d)  # those whose number was fixed before they were seen
        self.prior = False  # data from outside came before the first round
        # there are values, or replicates, whose number was not fixed before values were seen: what
        # is asked for from now on may depend on them, and is no part of the start
        self.startless = False
        self.usual = 1  # replicates of every arm in the first round, which those of the start have
        self.required: Floats = np.zeros(d) if first is None else first
        self.total = 0.0  # of `n_requested`
        self.short = int((self.required > 0.0).sum())  # arms that have fewer than `required`
        self.extremes: Floats = nothing_far(d)
        self.late_stats: Floats = nothing_late(d)  # values after the start
        self.initial_residuals: Floats = self.stats.residuals[
            :2
        ].copy()  # `Statistics.noise` when the start was over
        # float64[3, d]: values of the start: how many, their sums, and what rounding left out
        self.begun: Floats = np.zeros((3, d))
        self.start_end = 0  # the event with which the start was over; no retraction changes that
        # later values (arm, value, how many) that were told before all of the start was
        self.ahead: list[tuple[int, float, int]] = []
        self._adding = True  # values are added up as they come
        # of a whole history: values that a retraction will leave, what they add up to, and `ahead`
        self.rehearsed: tuple[list[StoredValue], list[Any], list[Any]] = ([], [], [])

    @classmethod
    def of(cls, d: int, events: Iterable[Event], first: Floats | None = None) -> "History":
        """A whole history, for its records: values are not added up (`stats` and `extremes` stay
        empty), as `counting` says which to add.
        """
        made = cls(d, whole=True, first=first)
        made._adding = False
        # lists are quicker to count in, one by one
        for name in ("pending", "n_requested", "n_received", "required"):
            setattr(made, name, getattr(made, name).tolist())
        with no_collecting():
            for event in events:
                made.apply(event)
        return made

    # ---- what it says

    @property
    def plays(self) -> int:
        """Rounds asked and not failed."""
        return self.asked - self.dropped - self.waiting

    @property
    def retractions(self) -> int:
        return self.happened.get("retracted", 0)

    @property
    def corrections(self) -> int:
        """How often values were told anew in the place of some that were retracted; what was told
        together counts once.
        """
        return self.happened.get("anew", 0)

    @property
    def n_changes(self) -> int:
        """How often other values came to count."""
        return self.retractions + self.corrections

    @property
    def max_rounds(self) -> int | None:
        """As it is now: it may have been extended."""
        most: int | None = self.limits["max_rounds"]
        return most

    @property
    def affordable(self) -> bool:
        """Whether one more round may be played."""
        return self.max_rounds is None or self.plays < self.max_rounds

    @property
    def share(self) -> float:
        """Of delta, what is left after data were carried over."""
        return float(self.carried.get("share", 1.0))

    def within(self) -> dict[int, Floats]:
        """The values of all rounds where plays have levels, as `values_in` has them."""
        told = {n: values_in(one) for n, one in self.open.items() if one.block and one.told}
        both = {**self.measured, **told}
        return {n: both[n] for n in sorted(both) if both[n].size}

    @property
    def records(self) -> dict[int, RoundRecord]:
        """All rounds that it keeps, by their numbers."""
        kept = {**(self.closed or {}), **self.open}
        return {number: kept[number] for number in sorted(kept)}

    def look_up(self, number: int, past: Callable[[], Iterable[Event]]) -> RoundRecord:
        """A round as it stands; past: its own events, and those of no round, if it has ended."""
        if number in self.open:
            return self.open[number]
        shut = self.closed
        if shut is None:  # a database cannot be asked for any number
            known = 0 < number <= self.last
            shut = type(self).of(len(self.pending), past()).records if known else {}
        if number not in shut:
            remedy = "the last one is {last}" if self.last else "none was asked yet"
            text = "round {round} is not known"
            raise UnknownNameError(
                "unknown-round", text, remedy=remedy, round=number, last=self.last
            )
        return shut[number]

    def counting(self, arms: Iterable[int]) -> list[tuple[int, int, Entry]]:
        """The values of some arms that count, with their rounds, in the order in which they came.
        (Of a whole history.)
        """
        wanted = set(arms)
        values = [
            (told.seq, number, arm, told.entry)
            for number, one in self.records.items()
            for arm, told in one.told.items()
            if arm in wanted and arm not in one.again and told.entry is not None
        ]
        return [
            (number, arm, entry) for _, number, arm, entry in sorted(values, key=lambda one: one[0])
        ]

    # ---- one more event

    def apply(self, event: Event, past: HistoryReader | None = None) -> EventEffect:
        """past: what was before it, which retractions and what is told anew want to know; a whole
        history knows.
        """
        act = getattr(self, f"on_{event.kind}", None)
        if act is None:
            raise StoreError(
                "unknown-event",
                "event {seq} is of the kind {kind!r}, which this version of combgame does not know",
                remedy="open the study with the version that wrote it",
                seq=event.seq,
                kind=event.kind,
            )
        try:
            effect: EventEffect = act(event, past)
        except (CombGameError, NeedsHistory):
            raise
        except Exception as error:  # what it says cannot be so
            raise unusable(event, error) from error
        if not self.start_end and self._started:
            self.start_end = event.seq
        if self._adding and self.stats.in_initial_design[0] and self.start_end:
            self._begin()
            if event.kind == "failed":  # it was all that the start waited for
                effect = EventEffect.VALUES
        if self.is_correction and not event.data.get("more"):
            self._count("anew")
            self.is_correction = False
        if self.seq < event.seq:  # otherwise a whole history, which it has become, has noted it
            self._note_version(event)
        self.seq = event.seq
        return effect

    def _note_version(self, event: Event) -> None:
        self.turns += bool(self.versions) and event.version != self.version
        self.version = event.version
        self.versions[event.version] = self.versions.get(event.version, 0) + 1

    def on_created(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """data: everything that determines the study, its limits among it."""
        self.usual = int(event.data.get("replicates", 1))
        self.limits = {name: event.data.get(name) for name in self.limits}
        return EventEffect.LOOK

    def on_asked(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """data: `arms`, `until` (the end of the lease), `replicates` (of each arm; 1 if it is not
        there), `again` (the round was given before).
        """
        number, until, arms = event.round or 0, event.data.get("until"), new_round(event)
        if arms is not None:
            replicates = int(event.data.get("replicates", 1))
            if not self.asked and not self.outside:
                self.usual = replicates
            elif replicates != self.usual:
                # it may have been decided by looking at values, which need not have been told yet
                self.startless = True
            self.open[number] = RoundRecord(
                number,
                arms,
                event.client,
                event.timestamp,
                until,
                replicates=replicates,
                since=event.seq,
                steady=self.starting,
                weights=self._draw(dict.fromkeys(arms, replicates)),
                block=list(event.data.get("block", ())),
                born=[event.seq, event.timestamp],
            )
            if self.open[number].block:
                commit(self.blocks, self.open[number].block, replicates)
            self.last, self.asked = number, self.asked + 1
            self._await(arms, replicates)
            return EventEffect.NOTHING
        record = self.open[number]
        mine = not record.waiting and event.client is not None and event.client == record.asker
        moves = bool(record.block) and not mine
        if moves and record.told and self.closed is None:
            return self._as_whole(event, past)
        self._count("overdue", record.expired(event.timestamp))
        if moves:
            record.plays, record.born = record.plays + 1, [event.seq, event.timestamp]
            self._start_over(record)
        if record.waiting:
            record.waiting = False
            self.waiting -= 1
            self._await(record.left, record.replicates)
        record.asker, record.asked, record.until = event.client, event.timestamp, until
        record.rest, record.since = "open", event.seq
        return EventEffect.NOTHING

    def on_told(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """data: `values` by arm, `final` (what is not told is missing), `more` (the next event was
        told together with it).
        """
        if self._adding:
            self.stats.begin_play()
        number, values = event.round or 0, entries(event)
        record = self.open.get(number)
        if record is None:  # an arm that was retracted after the round had ended
            ended = self._whole(event, past).look_up(number, tuple)
            self._comes_back(arm for arm, entry in values.items() if entry is not None)
            for arm, entry in values.items():
                self._enter(arm, entry, ended, anew=True)
                if self.closed is not None:
                    self.closed[number].tell(
                        arm, RecordedValue(entry, event.seq, event.timestamp, True)
                    )
            if ended.block:
                self._recount(event, past)
            return EventEffect.VALUES
        if record.gone:
            self._comes_back(arm for arm in record.gone if values.get(arm) is not None)
        if not record.touched:
            for other, before in self.open.items():
                if other >= number:
                    break
                if not before.waiting:
                    self._count("overtaking")
                    break
        self.n_told += not record.touched
        record.touched = True
        for arm, entry in values.items():
            told = RecordedValue(entry, event.seq, event.timestamp, arm in record.gone)
            self._arrives(record, arm, told)
        left = record.left
        if event.data.get("final", True):
            record.rest, record.since = "missing", event.seq
            for arm in left:
                self._arrives(record, arm, RecordedValue(None, event.seq, None))
            left = []
        if not left:
            self._end(record)
        return EventEffect.VALUES

    def on_failed(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """data: `retry`; otherwise the round is given up."""
        record, retry = self.open[event.round or 0], event.data.get("retry", True)
        if record.told and record.block and retry and self.closed is None:
            return self._as_whole(event, past)
        self._count("failed")
        if record.told and record.block and retry:
            self._start_over(record)
        if not record.waiting:
            self._await(record.left, -record.replicates)
            self.waiting += 1
        record.waiting, record.until, record.rest, record.since = True, None, "failed", event.seq
        if not retry:
            self._count("missing", bool(record.told), len(record.left) * record.replicates)
            self.dropped += not record.told
            for arm in record.left if record.told else ():
                record.tell(arm, RecordedValue(None, event.seq, None))
            before = int(self.stats.batch.done[0]) if record.block else 0
            self._end(record)
            if record.block and self.stats.batch.done[0] > before:
                return EventEffect.VALUES
        return EventEffect.NOTHING

    def on_observed(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """data: `values` by arm; `planned`: their number was fixed before any of them was seen.

        Of values that another study had: `carried` (with the first of them: which study, and what
        that costs), `later` (they came after its start), `anew` (in the place of retracted ones),
        `weights` by arm, as they were fixed there.
        """
        if self._adding:
            self.stats.begin_play()
        data = event.data
        self.carried = data.get("carried", self.carried)
        self.last, values = event.round or self.last, entries(event)
        planned, before = bool(data.get("planned")), self.asked == 0
        numbers = {arm: values_of(entry) for arm, entry in values.items()}
        weights = self._draw(numbers, planned, counted=before)
        if "weights" in data:
            weights = [float(data["weights"][str(arm)]) for arm in values]
        record = RoundRecord(
            self.last,
            list(values),
            event.client,
            event.timestamp,
            outside=True,
            replicates=MOST_VALUES if planned else 0,
            over=True,
            since=event.seq,
            steady=planned
            and before
            and not (self.startless or data.get("later"))
            and (not self.prior or "weights" in data),
            weights=weights,
        )
        if before:
            self.prior = True
            self.startless |= not record.steady
            if not record.steady:
                self.start_end = self.start_end or event.seq - 1
            if self.start_end and self._adding and self.stats.in_initial_design[0]:
                self._begin()
        for arm, entry in values.items():
            again = arm in self.retracted_arms  # perhaps other data; nobody can tell
            if again:
                self.retracted_arms.remove(arm)
                self.is_correction = True
            again = again or bool(data.get("anew"))
            self.outside.append(
                [self.last, arm, numbers[arm], 2 if "weights" in data else int(planned)]
            )
            self._enter(arm, entry, record, again)
            record.tell(arm, RecordedValue(entry, event.seq, event.timestamp, again))
        self.fingerprints[fingerprint(values)] = self.last
        if self.closed is not None:
            self.closed[self.last] = record
        if self.carried and not data.get("more"):  # which arms there are may depend on them
            self.startless = True
        return EventEffect.VALUES

    def on_retracted(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """data: `arm`, if it is not a round that is retracted."""
        if self.closed is None:
            return self._as_whole(event, past)
        self._count("retracted")
        number, arms = event.round, self._named(event)
        if number is None:
            for record in self.open.values():
                mine = [arm for arm in arms if arm in record.told]
                self._untell(record, mine, event.seq)
                if record.block and record.told:  # what is told anew would be of another play
                    for arm in mine:
                        self._arrives(record, arm, RecordedValue(None, event.seq, None))
            for record in self.closed.values():
                record.again |= {
                    arm for arm in arms if arm in record.told and record.told[arm].entry is not None
                }
        else:
            record = self.open.get(number) or self.closed[number]
            if record.over and not record.outside:
                self._reopen(record)
            self._untell(record, list(record.told), event.seq)
        theirs = [
            arm
            for other, arm, *_ in self.outside
            if (other == number if number is not None else arm == arms[0])
        ]
        self.retracted_arms += theirs + [arm for arm in arms if arm not in theirs]
        self.outside = [
            one
            for one in self.outside
            if (one[0] != number if number is not None else one[1] != arms[0])
        ]
        self.fingerprints = {
            one: other for one, other in self.fingerprints.items() if other != number
        }
        self._add_up(self)
        self._recount(event, past)
        return EventEffect.CHANGE

    def on_extended(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """data: `max_rounds` and `deadline`, whichever was changed, as they are from now on."""
        self._count("extended")
        self.limits.update(event.data)
        return EventEffect.NOTHING

    def on_certified(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """data: what was known when the evidence was enough (`GIVEN`). Only a retraction
        takes it back.
        """
        given(event, len(self.pending))
        return EventEffect.NOTHING

    def on_closed(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """It was stopped by hand."""
        self.stopped = event.reason or "stopped by hand"
        return EventEffect.LOOK

    # ---- rounds

    def _comes_back(self, arms: Iterable[int]) -> None:
        """Values in the place of some that were retracted."""
        for arm in arms:
            self.is_correction = True
            if arm in self.retracted_arms:
                self.retracted_arms.remove(arm)

    def _arrives(self, record: RoundRecord, arm: int, told: RecordedValue) -> None:
        record.tell(arm, told)
        if not record.waiting:
            self.pending[arm] -= record.replicates
        self._enter(arm, told.entry, record, told.anew)

    def _end(self, record: RoundRecord) -> None:
        self.waiting -= record.waiting
        record.waiting, record.over = False, True
        del self.open[record.number]
        if self.closed is not None:
            self.closed[record.number] = record
        if record.block:
            self.held_back[record.number] = record
            self.measured[record.number] = values_in(record)
            if self._adding:
                count_blocks(self.stats.batch, self.blocks, self.held_back, self.open, self.pivot)

    def _recount(self, event: Event, past: HistoryReader | None) -> None:
        """Blocks anew, after values of them have changed."""
        if self._adding and self.stats.batch.precision.size > 0:
            records = self.records
            if self.closed is None:
                whole = self._whole(event, past)
                whole.apply(event)
                records = whole.records
            recount(self.stats.batch, self.blocks, self.held_back, records, self.pivot)
            self.measured = {n: values_in(one) for n, one in records.items() if one.over}

    def _as_whole(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """Go on as a whole history that has this event, too."""
        whole = self._whole(event, past)
        effect = whole.apply(event)
        self._become(whole)
        return effect

    def _start_over(self, record: RoundRecord) -> None:
        """A play with levels that was told in part is measured again: as a whole, because the level
        of what was told is gone. (Of a whole history.)
        """
        if not record.told:
            return
        self._count("started-over", times=len(record.told))
        if not record.waiting:
            self._await(record.told, record.replicates)
        record.told.clear()
        self._add_up(self)

    def _whole(self, event: Event, past: HistoryReader | None) -> "History":
        """All rounds before an event."""
        if self.closed is not None:
            return self
        assert past is not None
        return past.whole(event)

    def _named(self, retraction: Event) -> list[int]:
        """The arms that a retraction is about: of a round, those of which something was ever told.
        (Of a whole history.)
        """
        if retraction.round is None:
            return [int(retraction.data["arm"])]
        known = self.open.get(retraction.round) or (self.closed or {})[retraction.round]
        return sorted(known.entered)

    def _reopen(self, record: RoundRecord) -> None:
        assert self.closed is not None
        del self.closed[record.number]
        record.over, record.until, record.rest, record.again = False, None, "open", set()
        self.open = dict(sorted({**self.open, record.number: record}.items()))

    def _untell(self, record: RoundRecord, arms: list[int], seq: int) -> None:
        for arm in arms:
            record.untell(arm, seq)
            if not (record.waiting or record.outside):
                self.pending[arm] += record.replicates

    # ---- totals

    def _await(self, arms: Iterable[int], n: int) -> None:
        for arm in arms:
            self.pending[arm] += n

    def _draw(
        self, numbers: dict[int, int], planned: bool = True, counted: bool = True
    ) -> list[float]:
        """The weights of values, so many of each arm, which no value may decide. planned: nor does
        any decide how many they are; otherwise the weights are those of one more value of every
        arm. counted: the start needs so many less.
        """
        once = self.total + len(self.pending)
        weights = [once / (float(self.n_requested[arm]) + 1.0) for arm in numbers]
        for arm, n in numbers.items():
            self.n_requested[arm] += n
            self.total += n
            if counted:
                self._have(arm, n)
        if planned:
            weights = [self.total / max(float(self.n_requested[arm]), 1.0) for arm in numbers]
        return weights

    def _have(self, arm: int, n: int) -> None:
        """n more values of an arm. As long as there are arms of which fewer were asked for than the
        start has, no value decides what is asked next (`Policy.choose`).
        """
        before, wanted = self.n_received[arm], self.required[arm]
        self.n_received[arm] += n
        if before < wanted <= self.n_received[arm]:
            self.short -= 1

    @property
    def starting(self) -> bool:
        """Whether rounds that are asked for now belong to the start."""
        return self.short > 0 and not self.startless

    @property
    def _started(self) -> bool:
        """Whether all of the start has been told. (Values in the place of retracted ones tell
        nothing of the spread, so nothing waits for them.)
        """
        return not self.starting and not any(map(_start_waits, self.open.values()))

    @property
    def awaited(self) -> list[int]:
        """The rounds of the start that are out."""
        return [number for number, one in self.open.items() if _start_waits(one)]

    def _begin(self) -> None:
        """From now on what is played may depend on values."""
        self.stats.in_initial_design[0] = 0
        self.initial_residuals[:] = self.stats.residuals[:2]
        for arm, x, n in self.ahead:
            add_start(self.stats, self.begun, arm, x, float(n))
        self.ahead = []

    def _enter(self, arm: int, entry: Entry, record: RoundRecord, anew: bool = False) -> None:
        lost = gaps(entry, 0 if record.outside else record.replicates)
        self._count("missing", lost > 0, lost)
        if isinstance(entry, dict):
            self._count("averaged")
        if record.block:
            beyond = sum(n for _, n in split(entry, record.replicates)[1])
            self._count("beyond", beyond > 0, beyond)
        if self._adding:
            self._add(arm, entry, record, anew)

    def _add(self, arm: int, entry: Entry, record: RoundRecord, anew: bool) -> None:
        """Enter values of an arm.

        What tells of the spread: in the start, the values that were asked for, about the mean of
        these alone; of what came beyond them, and of all later values, deviations that need no
        number to have been fixed. A mean of values whose number was not fixed tells nothing, nor
        does a value that is told anew, because the one in its place may have had a say in what was
        played before it. All of the start comes first, in whatever order values are told: which of
        it was measured before what came later may have been decided by looking.
        """
        for k, part in enumerate(split(entry, record.replicates)):
            if k and record.block:
                break  # plays with levels: readings beyond those that were asked for do not count
            starts = bool(self.stats.in_initial_design[0]) and record.steady and not k
            for mean, n in part:
                x, total = mean, mean * n
                if self.pivot is not None:  # the game maximises
                    x, total = self.pivot - mean, self.pivot * n - total
                later = not (starts or anew) and (n == 1 or not k)
                if starts and not anew:
                    add_start(self.stats, self.begun, arm, x, float(n))
                elif (
                    later
                    and self.stats.in_initial_design[0]
                    and not (k or record.steady or record.outside)
                ):
                    self.ahead.append((arm, x, n))
                residual = later and not self.stats.in_initial_design[0]
                self.stats.add_value(arm, x, float(n), total, record.weight(arm), residual)
                if later:
                    follow(self.late_stats, arm, x, n)
                reach(self.extremes, arm, x, n, record.number)

    def _add_up(self, whole: "History") -> None:
        """Add up all arms anew: how the values vary depends on the order of all of them."""
        if self._adding:
            values, (done, sums, ahead) = whole.standing(), whole.rehearsed
            if done and values[: len(done)] == done:
                for mine, its in zip(self._sums(), sums, strict=True):
                    mine[...] = its
                self.ahead = list(ahead)
                self._sum(values[len(done) :])
            else:
                self._clear()
                self._sum(values)

    def rehearse(self, whole: "History", event: Event) -> None:
        """Add up what a retraction will leave, before others have to wait for it."""
        if event.kind == "retracted" and self._adding:
            before, waiting = [one.copy() for one in self._sums()], self.ahead
            number, arm = event.round, event.data.get("arm")
            left = [v for v in whole.standing() if v.record.number != number and v.arm != arm]
            self._clear()
            self._sum(left)
            whole.rehearsed = left, [one.copy() for one in self._sums()], self.ahead
            for mine, its in zip(self._sums(), before, strict=True):
                mine[...] = its
            self.ahead = waiting

    def standing(self) -> list["StoredValue"]:
        """The values that count, in the order in which they came. (Of a whole history.)"""
        with no_collecting():
            values = [
                StoredValue(told.seq, arm, told, one)
                for one in self.records.values()
                for arm, told in one.told.items()
                if arm not in one.again and told.entry is not None
            ]
            return sorted(values, key=itemgetter(0))

    def _sums(self) -> list[Any]:
        """The arrays that are added up."""
        stats = self.stats
        own = [self.initial_residuals, self.extremes, self.late_stats, self.begun]
        return [*totals(stats), stats.residuals, stats.in_initial_design, *own]

    def _clear(self) -> None:
        for one in self._sums():
            one[...] = 0
        self.stats.in_initial_design[0], self.extremes[:], self.ahead = (
            1,
            nothing_far(len(self.n_received)),
            [],
        )

    def _sum(self, values: list["StoredValue"]) -> None:
        last = 0
        for seq, arm, told, record in values:
            if self.stats.in_initial_design[0] and 0 < self.start_end < seq:
                self._begin()
            if seq != last:
                self.stats.begin_play()
                last = seq
            self._add(arm, told.entry, record, told.anew)

    def _count(self, what: str, happened: bool = True, times: int = 1) -> None:
        if happened and times:
            self.happened[what] = self.happened.get(what, 0) + times

    # ---- as plain data

    def plain(self) -> dict[str, Any]:
        """All but its arrays, as JSON can carry it."""
        arrays = (
            "pending",
            "n_requested",
            "n_received",
            "required",
            "extremes",
            "late_stats",
            "initial_residuals",
            "begun",
        )
        beside = (
            "open",
            "held_back",
            "measured",
            "closed",
            "pivot",
            "seen",
            *arrays,
            "_adding",
            "rehearsed",
        )
        kept = {name: value for name, value in vars(self).items() if name not in beside}
        for name in ("open", "held_back"):
            kept[name] = [one.plain() for one in vars(self)[name].values()]
        kept["measured"] = [[number, one.tolist()] for number, one in self.measured.items()]
        return kept

    def restore(self, plain: dict[str, Any]) -> None:
        """What `plain` said."""
        self.__dict__.update(plain)
        self.open = {one["number"]: RoundRecord.of(one) for one in plain["open"]}
        self.held_back = {one["number"]: RoundRecord.of(one) for one in plain["held_back"]}
        self.measured = {number: np.array(one) for number, one in plain["measured"]}

    def _become(self, whole: "History") -> None:
        """Go on as a whole history of the same events; arrays stay where they are, because others
        look at them.
        """
        whole_ones = {
            "open": whole.open,
            "held_back": whole.held_back,
            "measured": whole.measured,
        }
        mine = {"seal": self.seal, "ahead": self.ahead}
        self.__dict__.update({**whole.plain(), **whole_ones, **mine})
        self.pending[:], self.n_requested[:], self.n_received[:] = (
            whole.pending,
            whole.n_requested,
            whole.n_received,
        )
        self._add_up(whole)
        if self.stats.batch.precision.size > 0:
            recount(self.stats.batch, self.blocks, self.held_back, whole.records, self.pivot)
            self.measured = {n: values_in(one) for n, one in whole.records.items() if one.over}


class StoredValue(NamedTuple):
    """A value that counts."""

    seq: int
    arm: int
    told: RecordedValue
    record: RoundRecord


def _start_waits(record: RoundRecord) -> bool:
    """Whether the start is not over as long as this round is out."""
    return (
        record.steady and not record.waiting and any(arm not in record.gone for arm in record.left)
    )


def nothing_late(d: int) -> Floats:
    """float64[4, d]: of the values after the start, per arm, how many there are, their mean, the
    squares of their deviations from it, and in how many entries they came.
    """
    return np.zeros((4, d))


def follow(late: Floats, arm: int, mean: float, n: int) -> None:
    """The mean of n more values of an arm."""
    before, off = late[0, arm], mean - late[1, arm]
    late[0, arm] += n
    late[1, arm] += off * n / (before + n)
    late[2, arm] += off * off * n * (before / (before + n))
    late[3, arm] += 1.0


def add_start(stats: Statistics, begun: Floats, arm: int, mean: float, n: float) -> None:
    """Add n values to those of the start, and their deviation from these to the residuals.

    Values that came beside those of the start, without being asked for, are no part of their mean.
    A later value that was told before all of the start was is added when the start is over, and
    belongs to it from then on.

    Parameters
    ----------
    seen : Seen
        Statistics of the study, whose residuals are updated; see `Statistics.add_residual`.
    begun : ndarray of shape (3, d)
        Of the values of the start per arm: how many there are, their sum, and what rounding left
        out of it. Updated.
    arm : int
        Index of the arm.
    mean, n : float
        Mean and number of the new values.
    """
    before = begun[0, arm]
    if before > 0.0:
        off = mean - (begun[1, arm] + begun[2, arm]) / before
        stats.add_residual(arm, off, n, before, stats.residuals[0, stats.variance_group[arm]])
    begun[0, arm] += n
    begun[1, arm], lost = two_sum(begun[1, arm], mean * n)
    begun[2, arm] += lost


def nothing_far(d: int) -> Floats:
    """float64[2, 3, d]: the smallest and the largest value of each arm; of how many it is the mean;
    its round.
    """
    far = np.zeros((2, 3, d))
    far[0, 0], far[1, 0] = math.inf, -math.inf
    return far


def reach(far: Floats, arm: int, value: float, n: int, number: int) -> None:
    """One more value."""
    if value < far[0, 0, arm]:
        far[0, :, arm] = value, n, number
    if value > far[1, 0, arm]:
        far[1, :, arm] = value, n, number


def totals(stats: Statistics) -> tuple[Floats, ...]:
    """What is added up; the rest of `stats` is computed from it."""
    return stats.sums, stats.compensation, stats.counts, stats.squares, stats.weighted_sums


GIVEN: dict[str, Any] = {  # what a certificate says, and how it is read
    "answer": lambda arms: [int(arm) for arm in arms],
    "rival": lambda arms: [int(arm) for arm in arms],
    "evidence": float,
    "threshold": float,
    "delta": float,
    "rounds": int,
    "values": int,
}


def certificate(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a certificate says of what was known, as JSON can carry it."""
    given = {name: facts[name] for name in GIVEN}
    for name in ("evidence", "threshold"):
        if not math.isfinite(given[name]):
            given[name] = str(given[name])
    return given


def given(event: Event, d: int) -> dict[str, Any]:
    """What the event of a certificate says; of d arms."""
    found = {name: read(event.data[name]) for name, read in GIVEN.items()}
    for arm in (*found["answer"], *found["rival"]):
        if not 0 <= arm < d:
            raise IndexError(arm)
    return found


def new_round(event: Event) -> list[int] | None:
    """The arms of a round that is asked for the first time, which a rule has chosen."""
    if event.kind != "asked" or event.data.get("again"):
        return None
    try:
        return [int(arm) for arm in event.data["arms"]]
    except (KeyError, TypeError, ValueError) as error:
        raise unusable(event, error) from error


def unusable(event: Event, error: Exception) -> StoreError:
    """An event that was sealed, and is none nevertheless: another program has written it."""
    return StoreError(
        "event-unusable",
        "event {seq}, of the kind {kind!r}, does not say what such an event says ({why})",
        remedy="open the study with the version that wrote it, or go back to a copy",
        seq=event.seq,
        kind=event.kind,
        why=f"{type(error).__name__}: {error}",
    )


def entries(event: Event) -> dict[int, Entry]:
    """The values of an event by arm."""
    return {int(arm): entry for arm, entry in event.data.get("values", {}).items()}
