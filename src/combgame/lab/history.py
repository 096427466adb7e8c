"""The history of a study: the state that results from its events, one after the other.

`RoundRecord`s hold the rounds and their results; a `History` adds totals, statistics, the values
still to come, and counts of what affects the guarantee. Everything else about the past is derived
from them: the status, a round that has ended (`look_up`), the values that count (`counting`), the
rows of an export, a replay. Nothing is stored or decided here.

A study may have any number of rounds, so its history keeps only those that are open. A *whole*
history keeps all rounds. The same methods build it anew if rounds that have ended are needed, and
for a retraction, after which everything is added up again (subtracting a value from a sum would
leave its rounding error).

A new kind of event requires one method here, `on_<kind>`, which returns what the event requires of
the stopping rule as an `EventEffect`, and the method of `Study` that writes it. Storage, hashes,
snapshots, replays and exports do not depend on kinds.
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
    """Access to the events before the current one, for the kinds of events that need them."""

    def full_history(self, event: Event) -> "History":
        """Return a whole history of all events before this one.

        Raises
        ------
        NeedsHistory
            If reading it would keep other clients waiting. Nothing has changed then.
        """


class NeedsHistory(Exception):  # noqa: N818  (not an error)
    """A signal that an event needs more of the past than other clients should wait for.

    Attributes
    ----------
    event : Event or None
        The event that needs it.
    """

    def __init__(self, event: Event | None = None) -> None:
        super().__init__()
        self.event = event


class EventEffect(Enum):
    """What an event requires of the stopping rule."""

    NOTHING = 0  # the same values count
    LOOK = 1  # the same values count, and are to be evaluated
    VALUES = 2  # more values count
    CHANGE = 3  # other values count: evaluate them as if the study had not stopped


class History:
    """Rounds, results and statistics of a study.

    Parameters
    ----------
    d : int
        Number of arms.
    whole : bool, default=False
        If True, rounds that have ended are kept.
    group : ndarray of int, optional
        Variance group of each arm; see `Statistics`.
    first : ndarray of shape (d,), optional
        Number of values of each arm in the initial design.
    pivot : float, optional
        If given, ``stats`` and ``extremes`` hold ``pivot - x`` for every value x.
    precision : ndarray of shape (d,), optional
        Precision of a value of each arm, if plays have batch effects.

    Attributes
    ----------
    seq, seal
        Number and hash of the last event.
    open : dict of int to RoundRecord
        Open rounds by their numbers, ascending.
    closed : dict of int to RoundRecord, or None
        Of a whole history: rounds that have ended, and data from outside.
    waiting : int
        Number of open rounds that failed and will be assigned again.
    last : int
        Number of the last round.
    asked : int
        Number of rounds that were chosen.
    dropped : int
        Number of them that were abandoned without a value.
    n_told : int
        Number of rounds with results, even if these were retracted.
    stopped : str or None
        Reason for which the study was stopped by hand.
    versions : dict of str to int
        Number of events that each version of combgame wrote.
    version : str
        Version that wrote the last event.
    turns : int
        Number of events that were written by another version than the one before.
    limits : dict
        Present values of ``max_rounds`` and ``deadline``.
    outside : list of list of int
        Data from outside: number, arm, number of values, and 1 if that number was fixed before they
        were seen, 0 if not, 2 if they come from another study.
    fingerprints : dict of str to int
        Fingerprints of data from outside, with their numbers.
    carried : dict
        Data from another study: which study, and the share of delta that is left.
    happened : dict of str to int
        Counts of what affects the guarantee.
    retracted_arms : list of int
        Arms whose data were retracted, and may be added anew.
    is_correction : bool
        True while results are reported that replace retracted ones.
    blocks : list of list of int
        Blocks that do not count yet (module `block_effects`).
    held_back : dict of int to RoundRecord
        Rounds of these blocks that have ended.
    measured : dict of int to ndarray
        Values of all rounds of blocks that have ended, as `values_in` returns them.
    stats : Statistics
        Statistics of the reported values.
    pending : ndarray of shape (d,)
        Number of values still to come.
    n_requested : ndarray of shape (d,)
        Number of values that were ever asked for, or came from outside.
    n_received : ndarray of shape (d,)
        Those of them whose number was fixed before they were seen.
    prior : bool
        True if data from outside came before the first round.
    startless : bool
        True if there are values, or replicates, whose number was not fixed before values were seen.
        Rounds that are assigned later may depend on them, so they are not part of the initial
        design.
    usual : int
        Replicates of every arm in the first round, which all rounds of the initial design have.
    required : ndarray of shape (d,)
        Number of values of each arm in the initial design.
    total : float
        Sum of ``n_requested``.
    short : int
        Number of arms for which fewer values than ``required`` were asked for.
    extremes : ndarray of shape (2, 3, d)
        Smallest and largest value of each arm; see `nothing_far`.
    late_stats : ndarray of shape (4, d)
        Values after the initial design; see `nothing_late`.
    initial_residuals : ndarray of shape (2, groups)
        ``stats.residuals`` at the end of the initial design.
    begun : ndarray of shape (3, d)
        Values of the initial design: how many, their sum, and its rounding error.
    start_end : int
        Number of the event that ended the initial design. No retraction changes it.
    ahead : list of (int, float, int)
        Later values (arm, value, number) that were reported before all of the initial design was.
    rehearsed : tuple
        Of a whole history: values that a retraction will leave, their sums, and ``ahead``.
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
        self.seq, self.seal, self.pivot = 0, "", pivot
        self.open: dict[int, RoundRecord] = {}
        self.closed: dict[int, RoundRecord] | None = {} if whole else None
        self.waiting = 0
        self.last = 0
        self.asked = 0
        self.dropped = 0
        self.n_told = 0
        self.stopped: str | None = None
        self.versions: dict[str, int] = {}
        self.version, self.turns = "", 0
        self.limits: dict[str, Any] = {"max_rounds": None, "deadline": None}
        self.outside: list[list[int]] = []
        self.fingerprints: dict[str, int] = {}
        self.carried: dict[str, Any] = {}
        self.happened: dict[str, int] = {}
        self.retracted_arms: list[int] = []
        self.is_correction = False
        self.blocks: list[list[int]] = []
        self.held_back: dict[int, RoundRecord] = {}
        self.measured: dict[int, Floats] = {}
        self.stats: Statistics = blank(d, group, precision)
        self.pending: Floats = np.zeros(d)
        self.n_requested: Floats = np.zeros(d)
        self.n_received: Floats = np.zeros(d)
        self.prior = False
        self.startless = False
        self.usual = 1
        self.required: Floats = np.zeros(d) if first is None else first
        self.total = 0.0
        self.short = int((self.required > 0.0).sum())
        self.extremes: Floats = nothing_far(d)
        self.late_stats: Floats = nothing_late(d)
        self.initial_residuals: Floats = self.stats.residuals[:2].copy()
        self.begun: Floats = np.zeros((3, d))
        self.start_end = 0
        self.ahead: list[tuple[int, float, int]] = []
        self._adding = True  # False: records only, no statistics
        self.rehearsed: tuple[list[StoredValue], list[Any], list[Any]] = ([], [], [])

    @classmethod
    def of(cls, d: int, events: Iterable[Event], first: Floats | None = None) -> "History":
        """Return a whole history for its records.

        Values are not added up, so ``stats`` and ``extremes`` stay empty; `counting` returns the
        values that count.
        """
        made = cls(d, whole=True, first=first)
        made._adding = False
        # lists are faster than arrays if elements are updated one by one
        for name in ("pending", "n_requested", "n_received", "required"):
            setattr(made, name, getattr(made, name).tolist())
        with no_collecting():
            for event in events:
                made.apply(event)
        return made

    # ---- derived quantities

    @property
    def plays(self) -> int:
        """Return the number of rounds that were assigned and have not failed."""
        return self.asked - self.dropped - self.waiting

    @property
    def retractions(self) -> int:
        """Return the number of retractions."""
        return self.happened.get("retracted", 0)

    @property
    def corrections(self) -> int:
        """Return the number of times that retracted values were replaced.

        Replacements that were reported together count once.
        """
        return self.happened.get("anew", 0)

    @property
    def n_changes(self) -> int:
        """Return the number of retractions and corrections."""
        return self.retractions + self.corrections

    @property
    def max_rounds(self) -> int | None:
        """Return the present budget, which may have been extended."""
        most: int | None = self.limits["max_rounds"]
        return most

    @property
    def affordable(self) -> bool:
        """Return True if the budget allows one more round."""
        return self.max_rounds is None or self.plays < self.max_rounds

    @property
    def share(self) -> float:
        """Return the share of delta that is left after data were transferred."""
        return float(self.carried.get("share", 1.0))

    def within(self) -> dict[int, Floats]:
        """Return the values of all rounds, as `values_in` returns them, with batch effects."""
        told = {n: values_in(one) for n, one in self.open.items() if one.block and one.told}
        both = {**self.measured, **told}
        return {n: both[n] for n in sorted(both) if both[n].size}

    @property
    def records(self) -> dict[int, RoundRecord]:
        """Return all rounds that are kept, by their numbers."""
        kept = {**(self.closed or {}), **self.open}
        return {number: kept[number] for number in sorted(kept)}

    def look_up(self, number: int, past: Callable[[], Iterable[Event]]) -> RoundRecord:
        """Return a round, even if it has ended.

        Parameters
        ----------
        number : int
            Number of the round.
        past : callable
            Returns the events of the round, and those that belong to no round.
        """
        if number in self.open:
            return self.open[number]
        ended = self.closed
        if ended is None:  # very large numbers cannot be looked up in a database
            known = 0 < number <= self.last
            ended = type(self).of(len(self.pending), past()).records if known else {}
        if number not in ended:
            remedy = "the last one is {last}" if self.last else "none was asked yet"
            text = "round {round} is not known"
            raise UnknownNameError(
                "unknown-round", text, remedy=remedy, round=number, last=self.last
            )
        return ended[number]

    def counting(self, arms: Iterable[int]) -> list[tuple[int, int, Entry]]:
        """Return the values of some arms that count, with their rounds, in their order.

        Only a whole history can do so.
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

    # ---- events

    def apply(self, event: Event, past: HistoryReader | None = None) -> EventEffect:
        """Process one event.

        Parameters
        ----------
        event : Event
            The next event.
        past : HistoryReader, optional
            Access to the events before it, which retractions and corrections need. A whole history
            does not need it.
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
        except Exception as error:  # its data are malformed or impossible
            raise unusable(event, error) from error
        if not self.start_end and self._started:
            self.start_end = event.seq
        if self._adding and self.stats.in_initial_design[0] and self.start_end:
            self._begin()
            if event.kind == "failed":  # the initial design waited for this round only
                effect = EventEffect.VALUES
        if self.is_correction and not event.data.get("more"):
            self._count("anew")
            self.is_correction = False
        if self.seq < event.seq:  # otherwise the whole history that replaced it has noted it
            self._note_version(event)
        self.seq = event.seq
        return effect

    def _note_version(self, event: Event) -> None:
        self.turns += bool(self.versions) and event.version != self.version
        self.version = event.version
        self.versions[event.version] = self.versions.get(event.version, 0) + 1

    def on_created(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """Process the creation. ``data`` are the settings."""
        self.usual = int(event.data.get("replicates", 1))
        self.limits = {name: event.data.get(name) for name in self.limits}
        return EventEffect.LOOK

    def on_asked(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """Process an assignment.

        ``data`` are `arms`, `until` (the end of the lease), `replicates` (of each arm, 1 by
        default) and `again` (the round was assigned before).
        """
        number, until, arms = event.round or 0, event.data.get("until"), new_round(event)
        if arms is not None:
            replicates = int(event.data.get("replicates", 1))
            if not self.asked and not self.outside:
                self.usual = replicates
            elif replicates != self.usual:
                # values that are not reported yet may have decided the number
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
        """Process results.

        ``data`` are `values` by arm, `final` (arms without a result are missing) and `more` (the
        next event was reported together with this one).
        """
        if self._adding:
            self.stats.begin_play()
        number, values = event.round or 0, entries(event)
        record = self.open.get(number)
        if record is None:  # the round had ended before the arm was retracted
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
        """Process a failure. ``data`` is `retry`; if it is False, the round is abandoned."""
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
        """Process data from outside.

        ``data`` are `values` by arm and `planned` (their number was fixed before any of them was
        seen). Values that another study had also have `carried` (with the first of them: the study,
        and the cost), `later` (they came after its initial design), `anew` (they replaced retracted
        values), and `weights` by arm, as they were fixed there.
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
            again = arm in self.retracted_arms  # perhaps other data, which cannot be known
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
        if self.carried and not data.get("more"):  # the choice of the arms may depend on them
            self.startless = True
        return EventEffect.VALUES

    def on_retracted(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """Process a retraction. ``data`` is `arm` if an arm is retracted instead of a round."""
        if self.closed is None:
            return self._as_whole(event, past)
        self._count("retracted")
        number, arms = event.round, self._named(event)
        if number is None:
            for record in self.open.values():
                mine = [arm for arm in arms if arm in record.told]
                self._untell(record, mine, event.seq)
                if record.block and record.told:  # new values would be from another play
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
        """Process an extension. ``data`` has the new `max_rounds` and `deadline`."""
        self._count("extended")
        self.limits.update(event.data)
        return EventEffect.NOTHING

    def on_certified(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """Process a certificate, with the fields of `GIVEN`; only a retraction revokes it."""
        given(event, len(self.pending))
        return EventEffect.NOTHING

    def on_closed(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """Process the end of a study that is stopped by hand."""
        self.stopped = event.reason or "stopped by hand"
        return EventEffect.LOOK

    # ---- rounds

    def _comes_back(self, arms: Iterable[int]) -> None:
        """Note that values of these arms replace retracted ones."""
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
        """Repeat the estimation with blocks, after some of their values have changed."""
        if self._adding and self.stats.batch.precision.size > 0:
            records = self.records
            if self.closed is None:
                whole = self._whole(event, past)
                whole.apply(event)
                records = whole.records
            recount(self.stats.batch, self.blocks, self.held_back, records, self.pivot)
            self.measured = {n: values_in(one) for n, one in records.items() if one.over}

    def _as_whole(self, event: Event, past: HistoryReader | None) -> EventEffect:
        """Replace the state by that of a whole history, which processes the event, too."""
        whole = self._whole(event, past)
        effect = whole.apply(event)
        self._become(whole)
        return effect

    def _start_over(self, record: RoundRecord) -> None:
        """Drop the results of a partly reported play with a batch effect, which is measured again.

        It is measured as a whole, because the new measurements have another batch effect. Only a
        whole history can do so.
        """
        if not record.told:
            return
        self._count("started-over", times=len(record.told))
        if not record.waiting:
            self._await(record.told, record.replicates)
        record.told.clear()
        self._add_up(self)

    def _whole(self, event: Event, past: HistoryReader | None) -> "History":
        """Return a whole history of the events before this one."""
        if self.closed is not None:
            return self
        assert past is not None
        return past.full_history(event)

    def _named(self, retraction: Event) -> list[int]:
        """Return the arms that a retraction affects; of a round, those that ever had a result.

        Only a whole history can do so.
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
        """Return the weights of new values, which must not depend on any value.

        Parameters
        ----------
        numbers : dict of int to int
            Number of values of each arm.
        planned : bool, default=True
            True if their number does not depend on any value either. Otherwise the weights are
            those of one more value of every arm.
        counted : bool, default=True
            True if the initial design needs these values less.
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
        """Count n more values of an arm.

        As long as fewer values of some arm were asked for than the initial design has, no value
        influences what is assigned next (`Policy.choose`).
        """
        before, wanted = self.n_received[arm], self.required[arm]
        self.n_received[arm] += n
        if before < wanted <= self.n_received[arm]:
            self.short -= 1

    @property
    def starting(self) -> bool:
        """Return True if rounds that are assigned now belong to the initial design."""
        return self.short > 0 and not self.startless

    @property
    def _started(self) -> bool:
        """Return True if all of the initial design has been reported.

        Values that replace retracted ones contribute nothing to the estimate of the variance, so
        the initial design does not wait for them.
        """
        return not self.starting and not any(map(_start_waits, self.open.values()))

    @property
    def awaited(self) -> list[int]:
        """Return the rounds of the initial design that are assigned and not reported."""
        return [number for number, one in self.open.items() if _start_waits(one)]

    def _begin(self) -> None:
        """End the initial design: from now on, rounds may depend on values."""
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
        """Add values of an arm to the statistics.

        The variance is estimated as follows. In the initial design, values that were asked for
        contribute their deviations from the mean of these values alone. Additional values, and all
        later ones, contribute deviations for which no number need have been fixed. A mean of values
        whose number was not fixed contributes nothing, nor does a value that replaces a retracted
        one, because the latter may have influenced rounds in between. All of the initial design
        comes first, in whatever order values are reported: which of its values were measured before
        later ones may have been decided by looking.
        """
        for k, part in enumerate(split(entry, record.replicates)):
            if k and record.block:
                break  # with batch effects, readings beyond those asked for do not count
            starts = bool(self.stats.in_initial_design[0]) and record.steady and not k
            for mean, n in part:
                x, total = mean, mean * n
                if self.pivot is not None:  # the internal problem is a maximisation
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
        """Add up all arms anew, because variance estimates depend on the order of all values."""
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
        """Add up what a retraction will leave, before other clients have to wait for it."""
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
        """Return the values that count, in the order of their events (whole history only)."""
        with no_collecting():
            values = [
                StoredValue(told.seq, arm, told, one)
                for one in self.records.values()
                for arm, told in one.told.items()
                if arm not in one.again and told.entry is not None
            ]
            return sorted(values, key=itemgetter(0))

    def _sums(self) -> list[Any]:
        """Return the arrays that are added up."""
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
        """Return everything but the arrays, as data that JSON can represent."""
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
            "stats",
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
        """Set the state that `plain` describes."""
        self.__dict__.update(plain)
        self.open = {one["number"]: RoundRecord.of(one) for one in plain["open"]}
        self.held_back = {one["number"]: RoundRecord.of(one) for one in plain["held_back"]}
        self.measured = {number: np.array(one) for number, one in plain["measured"]}

    def _become(self, whole: "History") -> None:
        """Take over the state of a whole history of the same events.

        Arrays are overwritten in place, because other objects refer to them.
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
    """Return True if the initial design lasts as long as this round is not reported."""
    return (
        record.steady and not record.waiting and any(arm not in record.gone for arm in record.left)
    )


def nothing_late(d: int) -> Floats:
    """Return statistics without values after the initial design, of shape (4, d).

    For each arm, the rows hold the number of values, their mean, the sum of the squared deviations
    from it, and the number of entries in which the values came.
    """
    return np.zeros((4, d))


def follow(late: Floats, arm: int, mean: float, n: int) -> None:
    """Add n values of an arm with a given mean to the statistics of `nothing_late`."""
    before, off = late[0, arm], mean - late[1, arm]
    late[0, arm] += n
    late[1, arm] += off * n / (before + n)
    late[2, arm] += off * off * n * (before / (before + n))
    late[3, arm] += 1.0


def add_start(stats: Statistics, begun: Floats, arm: int, mean: float, n: float) -> None:
    """Add values to those of the initial design, and their deviation from these to the residuals.

    Additional values that were not asked for do not enter the mean. A later value that was reported
    before the end of the initial design is added when the design ends, and belongs to it from then
    on.

    Parameters
    ----------
    stats : Statistics
        Statistics of the study, whose residuals are updated; see `Statistics.add_residual`.
    begun : ndarray of shape (3, d)
        Values of the initial design per arm: their number, their sum, and its rounding error.
        Updated.
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
    """Return extremes without values, of shape (2, 3, d).

    For the smallest and the largest entry of each arm, the rows hold its value, the number of
    values of which it is the mean, and its round.
    """
    far = np.zeros((2, 3, d))
    far[0, 0], far[1, 0] = math.inf, -math.inf
    return far


def reach(far: Floats, arm: int, value: float, n: int, number: int) -> None:
    """Update the extremes of `nothing_far` with one more entry."""
    if value < far[0, 0, arm]:
        far[0, :, arm] = value, n, number
    if value > far[1, 0, arm]:
        far[1, :, arm] = value, n, number


def totals(stats: Statistics) -> tuple[Floats, ...]:
    """Return the arrays of the statistics that are added up; the others are computed from them."""
    return stats.sums, stats.compensation, stats.counts, stats.squares, stats.weighted_sums


GIVEN: dict[str, Any] = {  # fields of a certificate, and the functions that read them
    "answer": lambda arms: [int(arm) for arm in arms],
    "rival": lambda arms: [int(arm) for arm in arms],
    "evidence": float,
    "threshold": float,
    "delta": float,
    "rounds": int,
    "values": int,
}


def certificate(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a certificate, as data that JSON can represent."""
    given = {name: facts[name] for name in GIVEN}
    for name in ("evidence", "threshold"):
        if not math.isfinite(given[name]):
            given[name] = str(given[name])
    return given


def given(event: Event, d: int) -> dict[str, Any]:
    """Return the contents of the event of a certificate, for d arms."""
    found = {name: read(event.data[name]) for name, read in GIVEN.items()}
    for arm in (*found["answer"], *found["rival"]):
        if not 0 <= arm < d:
            raise IndexError(arm)
    return found


def new_round(event: Event) -> list[int] | None:
    """Return the arms of a round that is assigned for the first time, otherwise None."""
    if event.kind != "asked" or event.data.get("again"):
        return None
    try:
        return [int(arm) for arm in event.data["arms"]]
    except (KeyError, TypeError, ValueError) as error:
        raise unusable(event, error) from error


def unusable(event: Event, error: Exception) -> StoreError:
    """Return the error for an event that is malformed although its hash is valid.

    Another program must have written it.
    """
    return StoreError(
        "event-unusable",
        "event {seq}, of the kind {kind!r}, does not say what such an event says ({why})",
        remedy="open the study with the version that wrote it, or go back to a copy",
        seq=event.seq,
        kind=event.kind,
        why=f"{type(error).__name__}: {error}",
    )


def entries(event: Event) -> dict[int, Entry]:
    """Return the values of an event by arm."""
    return {int(arm): entry for arm, entry in event.data.get("values", {}).items()}
