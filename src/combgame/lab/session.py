"""A study in one process: its state, brought up to date and written to in transactions.

The threads of a process that share a study take turns, and none of them waits longer than the
timeout. Snapshots and SQLite's checkpoints are begun after a transaction, by a thread of their own
(a snapshot is read and stored in the thread of the storage). They make later calls faster and
contain nothing new, so nothing is lost if they fail, and no error is raised.
"""

import math
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from .._fingerprint import digest
from .._messages import Message
from ..errors import Notice, StoreError, error_from, invalid_argument
from ..storage import clock
from ..storage.base import EventLog, Storage
from ..storage.events import ChainedEvent, Event, chain_hash, checked, no_collecting, verify_hash
from ..storage.thread import Job, Worker, thread_busy
from ..storage.transaction import CURRENT, check_repeated, once
from .history import History, NeedsHistory
from .policy import StudyState
from .round import RoundRecord
from .settings import StudySettings, other_versions, running_version
from .snapshot import EVERY, capture, load, pack

LAST = 5.0  # seconds that a process which ends waits for a snapshot


def finish(jobs: list[Job[None]]) -> None:
    """Wait for calls that are under way, but not for ever."""
    for job in jobs:
        job.wait(LAST)


class BackgroundWorker:
    """A thread that makes one call at a time."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._worker: Worker | None = None
        self._jobs: list[Job[None]] = []  # the last one
        self._at_exit: weakref.finalize[[list[Job[None]]], BackgroundWorker] | None = None

    def begin(self) -> None:
        """Begin the call, unless it is under way already."""
        if self._worker is None:
            self._worker = Worker("", math.inf)
        if not self._jobs or self._jobs[0].wait(0.0):
            self._jobs = [self._worker.begin(self._quietly)]
            if self._at_exit is not None:
                self._at_exit.detach()
            # a process that ends calls the newest finalizer first, and a connection that this call
            # uses is older
            self._at_exit = weakref.finalize(self, finish, self._jobs)

    def wait(self) -> None:
        """Wait until the call is done."""
        for job in self._jobs:
            job.wait()

    def _quietly(self) -> None:
        with suppress(Exception):  # the next call of the study raises lasting errors
            self._call()


class TimedRLock:
    """A reentrant lock for which threads wait no longer than the timeout of the storage."""

    def __init__(self, name: str, storage: Storage) -> None:
        self._name, self._storage = name, storage
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._storage.check_process()
        # inside a transaction, the thread that waits for this one holds the lock
        if not self._storage.inside and not self._lock.acquire(timeout=self._storage.timeout):
            raise thread_busy(self._name, self._storage.timeout)

    def __exit__(self, *_: object) -> None:
        if not self._storage.inside:
            self._lock.release()


RATE = 20.0  # time in transactions per time in snapshots, at least
CHECKPOINT = 200  # transactions


T = TypeVar("T")


class StudyTransaction:
    """The events of one transaction.

    Attributes
    ----------
    state : StudyState
        State of the study, with these events.
    log : EventLog
        The stored events.
    client : str or None
        Client who writes.
    at : float
        Time of the transaction.
    before : int
        Number of the last event before the transaction.
    events : list of ChainedEvent
        Events of the transaction.
    answer : object
        Result of the call, as plain data.
    clean : bool
        True if the state is still that of the stored events.
    """

    def __init__(
        self, session: "StudySession", state: StudyState, log: EventLog, client: str | None
    ) -> None:
        self._session, self.state, self.log, self.client = session, state, log, client
        self.at, self.before = session.at, state.history.seq
        self.events: list[ChainedEvent] = []
        self.answer: Any = None
        self.clean = True
        self._was = None if session.untold else state.monitor.ended

    @property
    def certified(self) -> bool:
        """Return True if this transaction gave a certificate, or one did just before it."""
        ended = self.state.monitor.ended
        return ended is not None and ended is not self._was and ended["why"] == "certified"

    def look_up(self, number: int) -> RoundRecord:
        """Return a round, even if it has ended."""
        return self.state.history.look_up(
            number, lambda: (one.event for one in self.log.events(after=1, round=number))
        )

    def choose(self, wanted: int) -> dict[str, Any]:
        """Return the arms of a new round, and its block if plays have batch effects.

        ``wanted`` is the number of rounds that are asked for together, this one included.
        """
        self.clean = False
        arms = list(self.state.policy.choose(wanted))
        self.state.policy.check_choice()
        block = self.state.policy.block
        return {"arms": arms, "block": block} if block else {"arms": arms}

    def add(
        self,
        kind: str,
        round: int | None = None,
        reason: str | None = None,
        chosen: bool = False,
        **data: Any,
    ) -> None:
        """Add an event, and the certificate if the event makes it due."""
        for what, value, kind_of in (
            ("round", round, int),
            ("client", self.client, str),
            ("reason", reason, str),
        ):
            # a database would return another value than the one that was hashed
            if value is not None and type(value) is not kind_of:
                kinds = "of the type {kind}, or None"
                raise invalid_argument(what, value, kinds, kind=kind_of.__name__)
        number, by = self.state.history.seq + 1, self._session.version
        event = Event(number, kind, self.at, round, self.client, reason, data, by)
        one = ChainedEvent(event, chain_hash(self.state.history.seal, event))
        clean, self.clean = self.clean, False
        try:
            self._session.apply(self.state, one, self.log, self.events, chosen)
        except NeedsHistory:
            self.clean = clean
            raise
        self.events.append(one)
        self.certify()

    def certify(self) -> None:
        """Give the certificate, if one is due."""
        if self.state.monitor.due:
            self.add("certified", **self.state.monitor.certificate())


class StudySession:
    """One study in one process, whose threads take turns.

    Attributes
    ----------
    at : float
        Time at which the last transaction began.
    off : Message or None
        Message if the clock of this machine was wrong then.
    untold : bool
        True if a certificate was given that no transaction has reported yet.
    """

    def __init__(self, setting: StudySettings, storage: Storage, name: str, engine: str) -> None:
        self.setting, self.storage, self.name, self.engine = setting, storage, name, engine
        self.lock, self.version = TimedRLock(name, storage), running_version()
        self._state: StudyState | None = None
        self._lost: Message | None = None  # why the session cannot continue
        # a whole history that an event needed: used in the same transaction, or dropped
        self._whole: History | None = None
        self._used = False
        self._hurry = False  # others are locked out: no long reads
        self._keeper = BackgroundWorker(self._save_snapshot)
        self.at = -math.inf
        self.off: Message | None = None
        self._told: set[str] = set()  # codes of the warnings that were given
        self.untold = False
        self._due = False  # a snapshot is due
        self._stored = 0  # transactions since the last checkpoint
        # seconds in transactions since the last snapshot, and duration of that one
        self._spent = self._price = 0.0

    def write(
        self, client: str | None, act: Callable[[StudyTransaction], T], certify: bool = True
    ) -> T:
        """Catch up with the stored events, call ``act``, and store its events.

        No other client writes in the meantime, and a call that fails has changed nothing, but for a
        certificate that was due before it (see `_certify`). Events that need all rounds of the past
        are prepared before the transaction locks out others, and ``act`` is called again then.

        Parameters
        ----------
        client : str or None
            Client who writes.
        act : callable
            Adds events to the transaction and returns the result.
        certify : bool, default=True
            If True, a certificate that another version did not find due is given first.
        """
        with self.lock:
            return self.storage.run(partial(self._write, client, act, certify))

    def _write(self, client: str | None, act: Callable[[StudyTransaction], T], certify: bool) -> T:
        for _ in range(2):  # others may write retractions meanwhile
            try:
                with self.writing(client, certify=certify) as batch:
                    return act(batch)
            except NeedsHistory as behind:
                self._read(behind.event)
        with self.writing(client, hurry=False, certify=certify) as batch:
            return act(batch)

    @contextmanager
    def writing(
        self, client: str | None, hurry: bool = True, certify: bool = True
    ) -> Iterator[StudyTransaction]:
        """Return a context manager for a transaction of `write` in the present thread.

        If ``hurry`` is True, long reads are done before others are locked out.
        """
        with self.lock, ExitStack() as stack:
            if self._state is None:
                self._read()
            if certify:
                self._certify(client)
            self._used = False
            # others may write as fast as it reads
            for self._hurry in (True, True, False) if hurry else (False,):
                try:
                    batch = stack.enter_context(self._locked(client, certify))
                    break
                except NeedsHistory:
                    self._read()
            yield batch

    def _certify(self, client: str | None) -> None:
        """Give a certificate that is known to be due, in a transaction of its own.

        It stays given, whether or not the present call succeeds. The next transaction that is
        stored reports it.
        """
        if self._state is not None and self._state.monitor.due:
            with once(None), self._locked(client, certify=True) as batch:
                pass
            self.untold = bool(batch.events)

    @contextmanager
    def _locked(self, client: str | None, certify: bool) -> Iterator[StudyTransaction]:
        batch, began = None, perf_counter()
        try:
            with self.storage.transaction() as log:
                state = self._catch_up(log)
                batch, request = StudyTransaction(self, state, log, client), CURRENT.get()
                if request is not None:
                    check_repeated(request, log.saved_response(request.key))
                if certify:
                    batch.certify()
                yield batch
                if batch.events:
                    log.append(batch.events)
                due = state.history.seq // EVERY > batch.before // EVERY
                if request is not None:
                    log.save_response(request, batch.answer)
                    if due:
                        log.purge_responses()
            self._schedule_snapshot(due)
            self.untold = False
        except BaseException as error:
            known = isinstance(error, NeedsHistory) if batch is None else batch.clean
            if not known:
                self._forget()  # the state may be ahead of the stored events
            raise
        finally:
            self._hurry = False
            self._spent += perf_counter() - began
            if not self._used:
                self._whole = None

    @contextmanager
    def reading(self, history: bool = False) -> Iterator[tuple[StudyState, list[Event]]]:
        """Return a context manager for a consistent state that no other thread changes.

        If ``history`` is True, all events up to that moment are read, too.
        """
        with self.lock:
            yield self.storage.run(partial(self._look, history))

    def _look(self, history: bool) -> tuple[StudyState, list[Event]]:
        try:
            with self.storage.transaction(write=False) as log:
                state = self._catch_up(log)
                return state, self._history(state, log) if history else []
        except BaseException:
            self._forget()
            raise

    def _history(self, state: StudyState, log: EventLog) -> list[Event]:
        """Return all events up to the present state."""
        events, last = self._checked(log.iter_events(before=state.history.seq + 1))
        if last != state.history.seal:  # the events were replaced meanwhile
            raise self._mark_replaced(state.history.seq)
        return events

    @property
    def seq(self) -> int:
        """Return the number of the last event that is known here."""
        return 0 if self._state is None else self._state.history.seq

    def events(self, after: int = 0, most: int | None = None) -> list[Event]:
        """Return all events, or at most ``most`` after one of them; the state may be lost."""
        with self.lock:
            return self.storage.run(partial(self._events, after, most))

    def _events(self, after: int, most: int | None) -> list[Event]:
        before = None if most is None else after + most + 1
        with self.storage.transaction(write=False) as log:
            if after == 0:
                return self._checked(log.iter_events(0, before))[0]
            stored = log.events(after - 1, before)
        first = stored.pop(0)[1] if stored else ""
        return checked(stored, self.name, first)

    def _checked(self, portions: Iterable[list[ChainedEvent]]) -> tuple[list[Event], str]:
        """Return all events from the first one on, verified, and the hash of the last one."""
        events: list[Event] = []
        last = ""
        with no_collecting():
            for portion in portions:
                events += checked(portion, self.name, last)
                last = portion[-1].seal
        return events, last

    def head(self, state: StudyState) -> str:
        """Return the number and the hash of the last event; "" for a study in memory."""
        return f"{state.history.seq}:{state.history.seal}" if self.storage.url else ""

    def _catch_up(self, log: EventLog) -> StudyState:
        """Process the events that others have stored."""
        if self._lost is not None:
            raise error_from(StoreError, self._lost)
        state = self._state or load(self.setting, self.engine, log.snapshot(digest()))
        seq, known = state.history.seq, state.history.seal
        # one read, which is consistent in any database
        news = log.events(after=max(seq - 1, 0))
        # the last known event must be stored unchanged
        if seq and (not news or (news[0].event.seq, news[0].seal) != (seq, known)):
            if self._state is not None:
                raise self._mark_replaced(seq)
            # the snapshot was of other events
            state, seq = (load(self.setting, self.engine, None), 0)
            news = log.events()
        if self._hurry and len(news) > EVERY:
            raise NeedsHistory
        self._due |= len(news) > EVERY
        self._state = state
        for one in news[1:] if seq else news:
            verify_hash(state.history.seal, one, self.name)
            self.apply(state, one, log)
        history = state.history
        self.at = log.now()
        self.off = None
        if abs(clock.now() - self.at) > clock.OFF:
            self.off = clock.off(self.at)
            self.say(self.off)
        if history.versions.keys() != {self.version}:
            self.say(other_versions(history.versions, history.turns))
        return state

    def say(self, what: Message | None) -> None:
        """Warn, once per session."""
        if what is not None and what.code not in self._told:
            self._told.add(what.code)
            said = what.with_context("study {study!r}", study=self.name)
            warnings.warn(Notice(said), stacklevel=2)

    def _mark_replaced(self, seq: int) -> StoreError:
        """Mark the session as unusable, and return the error.

        A client that tries again must not continue with other data unawares.
        """
        self._lost = Message(
            "event-replaced",
            "study {name!r}: event {seq} is not what was stored, because the file was changed or "
            "put back",
            remedy="open it again to go on with what it has now",
            name=self.name,
            seq=seq,
        )
        return error_from(StoreError, self._lost)

    def apply(
        self,
        state: StudyState,
        one: ChainedEvent,
        log: EventLog,
        before: Sequence[ChainedEvent] = (),
        chosen: bool = False,
    ) -> None:
        """Process one more event; ``before`` are the events before it that are not stored yet."""
        state.apply(one.event, _Past(self, state.history, log, before), chosen)
        state.history.seal = one.seal
        if self._whole is not None and self._whole.open is state.history.open:
            self._whole = None  # the state has taken over its rounds
            self._due = True  # a snapshot spares other processes the same reading

    def full_history(
        self, event: Event, history: History, log: EventLog, before: Sequence[ChainedEvent] = ()
    ) -> History:
        """Return a whole history of the events before the next one.

        Parameters
        ----------
        event : Event
            The next event.
        history : History
            Determines the last event that is included.
        log : EventLog
            The stored events.
        before : sequence of ChainedEvent
            Events before the next one that are not stored yet.
        """
        if self._whole is None and self._hurry and history.seq > EVERY:
            raise NeedsHistory(event)
        whole = self._whole or History.of(len(history.pending), (), history.required)
        after = max(whole.seq - 1, 0)
        news = log.events(after, history.seq + 1)
        news += [one for one in before if one.event.seq > after]
        if whole.seq:
            if not news or news[0].seal != whole.seal:  # a history of other events
                self._whole = None
                return self.full_history(event, history, log, before)
            del news[0]
        with no_collecting():
            for one in news:
                verify_hash(whole.seal, one, self.name)
                whole.apply(one.event)
                whole.seal = one.seal
        self._whole, self._used = whole, True
        return whole

    def _read(self, coming: Event | None = None) -> None:
        """Catch up while others may write, and read the past if the event ``coming`` needs it."""
        self._hurry = False
        try:
            with self.storage.transaction(write=False) as log:
                state = self._catch_up(log)
                if coming is not None:
                    whole = self.full_history(coming, state.history, log)
                    state.history.rehearse(whole, coming)
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        self._state = self._whole = None

    def close(self) -> None:
        """Release the storage, after background work and a snapshot that is due."""
        try:
            self.storage.check_process()
        except StoreError:  # the session, and its snapshot, belong to the parent process
            self.storage.close()
            return
        self._price = 0.0
        self._keeper.wait()
        if self._due:
            self._keeper.begin()
            self._keeper.wait()
        with self.lock:
            self.storage.close()

    def _schedule_snapshot(self, due: bool) -> None:
        """Start background work after a transaction, if there is any.

        A snapshot takes time, so it waits until `RATE` times as much was spent in transactions.
        """
        if self.storage.url is None:
            return
        self._due |= due
        self._stored += 1
        if (self._due and self._spent >= RATE * self._price) or self._stored >= CHECKPOINT:
            self._keeper.begin()

    def _save_snapshot(self) -> None:
        """Take a snapshot if one is due; others may write between taking and storing it."""
        if self._due and self._spent >= RATE * self._price:
            began = perf_counter()
            with self.lock:
                seq, taken = self.storage.run(self._capture)
            if taken is not None:
                body = pack(*taken)
                with self.lock:
                    self.storage.run(partial(self._save, seq, body))
            self._price = perf_counter() - began
        if self._stored >= CHECKPOINT:
            self._stored = 0
            self.storage.checkpoint()

    def _capture(self) -> tuple[int, Any]:
        state, self._due, self._spent = self._state, False, 0.0
        return (0, None) if state is None else (state.history.seq, capture(state))

    def _save(self, seq: int, body: bytes) -> None:
        with self.storage.transaction() as log:
            log.save_snapshot(seq, digest(), body)


class _Past(NamedTuple):
    """Access to the events before the next one; see `HistoryReader`."""

    session: StudySession
    history: History
    log: EventLog
    before: Sequence[ChainedEvent]

    def full_history(self, event: Event) -> History:
        return self.session.full_history(event, self.history, self.log, self.before)
