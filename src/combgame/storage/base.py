"""Where the events of a study are kept, as the study sees it; and the simplest such place, a
list.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from .._messages import CallHint
from ..errors import InputError
from . import clock
from .events import ChainedEvent, Event
from .transaction import IdempotencyKey

T = TypeVar("T")


class EventLog(Protocol):
    """A study's events inside one transaction."""

    def events(
        self, after: int = 0, before: int | None = None, round: int | None = None
    ) -> list[ChainedEvent]:
        """Those with after < seq < before, in their order; `round`: only those of one round, and
        those of no round.
        """

    def iter_events(
        self, after: int = 0, before: int | None = None
    ) -> Iterator[list[ChainedEvent]]:
        """The same, some at a time, all as they are at one moment: there may be very many."""

    def append(self, events: Sequence[ChainedEvent]) -> None:
        """Add events: all of them or none, on disk when the transaction has ended."""

    def snapshot(self, sources: str) -> tuple[int, bytes] | None:
        """The last snapshot, if these sources made it and it is undamaged: up to which event, and
        what.
        """

    def save_snapshot(self, seq: int, sources: str, body: bytes) -> None:
        """Store a snapshot in place of the last one."""

    def now(self) -> float:
        """The time by the storage's clock, which leases and deadlines go by."""

    def saved_response(self, key: str) -> tuple[str, Any] | None:
        """Of a request that was made before: its digest, and what it was answered."""

    def save_response(self, request: IdempotencyKey, answer: Any) -> None:
        """Store what a request is answered."""

    def purge_responses(self) -> None:
        """Leave out the answers to requests that nobody repeats any more."""


class Storage(Protocol):
    """Keeps one study. `url` is None where nothing outlives the process; `timeout`: seconds for
    which anybody waits for others.
    """

    @property
    def url(self) -> str | None: ...

    @property
    def timeout(self) -> float: ...

    def run(self, call: Callable[[], T]) -> T:
        """Make a call where no signal interrupts it."""

    @property
    def inside(self) -> bool:
        """Whether such a call is being made, by this thread for another one."""

    def check_process(self) -> None:
        """Refuse a process that was forked from the one which opened the storage."""

    def transaction(self, write: bool = True) -> AbstractContextManager[EventLog]:
        """Everything or nothing, and on disk when it has ended. write: nobody else can write in the
        meantime.
        """

    def begin(self, created: ChainedEvent, if_exists: str) -> Event:
        """Make the study, or find the one of that name; its first event."""

    def created(self) -> Event:
        """The first event of the study."""

    def now(self) -> float:
        """The time by the storage's clock, outside a transaction."""

    def copy(self, destination: Path) -> None:
        """All of it into a new file, while others go on."""

    def checkpoint(self) -> None:
        """Put what is stored where it is read from, where these are two places."""

    def close(self) -> None: ...


class InMemoryStorage:
    """Events in a list."""

    url, inside = None, False

    def __init__(self, timeout: float = 30.0) -> None:
        self.timeout = timeout
        self._events: list[ChainedEvent] = []
        self._answers: dict[str, tuple[str, Any]] = {}

    def run(self, call: Callable[[], T]) -> T:
        return call()

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator["InMemoryStorage"]:
        before = len(self._events)
        try:
            yield self
        except BaseException:
            del self._events[before:]
            raise

    def close(self) -> None:
        pass

    checkpoint = check_process = close

    def now(self) -> float:
        return clock.now()

    def copy(self, destination: Path) -> None:
        text, remedy = "copy: a study in memory has no file", "{export} writes all of it"
        raise InputError("no-file", text, remedy=remedy, export=CallHint("export", "path"))

    def begin(self, created: ChainedEvent, if_exists: str) -> Event:
        self._events = [created]
        return created[0]

    def created(self) -> Event:
        return self._events[0][0]

    def events(
        self, after: int = 0, before: int | None = None, round: int | None = None
    ) -> list[ChainedEvent]:
        between = self._events[after : None if before is None else before - 1]
        if round is None:
            return between
        return [one for one in between if one[0].round in (round, None)]

    def iter_events(
        self, after: int = 0, before: int | None = None
    ) -> Iterator[list[ChainedEvent]]:
        yield self.events(after, before)

    def append(self, events: Sequence[ChainedEvent]) -> None:
        self._events += events

    def snapshot(self, sources: str) -> tuple[int, bytes] | None:
        return None

    def save_snapshot(self, seq: int, sources: str, body: bytes) -> None:
        pass

    def saved_response(self, key: str) -> tuple[str, Any] | None:
        return self._answers.get(key)

    def save_response(self, request: IdempotencyKey, answer: Any) -> None:
        self._answers[request.key] = (request.digest, answer)

    def purge_responses(self) -> None:
        pass
