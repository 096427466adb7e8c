"""The protocol of a study's storage, the storage in memory, and the way from a URL to a storage."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from .._display.files import PRIVATE, check_mode
from .._messages import CallHint
from ..errors import InputError, invalid_argument, is_real
from . import clock
from .events import ChainedEvent, Event
from .transaction import IdempotencyKey

T = TypeVar("T")


class EventLog(Protocol):
    """The events of a study inside one transaction."""

    def events(
        self, after: int = 0, before: int | None = None, round: int | None = None
    ) -> list[ChainedEvent]:
        """Return the events with ``after < seq < before`` in their order.

        With `round`, only the events of that round and those of no round are returned.
        """

    def iter_events(
        self, after: int = 0, before: int | None = None
    ) -> Iterator[list[ChainedEvent]]:
        """Iterate over the same events in portions, as of one moment: there may be very many."""

    def append(self, events: Sequence[ChainedEvent]) -> None:
        """Add all of the events or none; they are on disk when the transaction has ended."""

    def snapshot(self, sources: str) -> tuple[int, bytes] | None:
        """Return the last snapshot, or None if other sources made it or it is damaged.

        The snapshot is given as the number of its last event and its content.
        """

    def save_snapshot(self, seq: int, sources: str, body: bytes) -> None:
        """Store a snapshot in place of the last one."""

    def now(self) -> float:
        """Return the time by the storage's clock, which leases and deadlines go by."""

    def saved_response(self, key: str) -> tuple[str, Any] | None:
        """Return the digest and the response of an earlier request, or None."""

    def save_response(self, request: IdempotencyKey, answer: Any) -> None:
        """Store the response to a request."""

    def purge_responses(self) -> None:
        """Delete the responses to requests that are too old to be repeated."""


class Storage(Protocol):
    """The place where one study is stored."""

    @property
    def url(self) -> str | None:
        """URL of the storage; None if nothing outlives the process."""

    @property
    def timeout(self) -> float:
        """Seconds for which a call waits for other users of the storage."""

    def run(self, call: Callable[[], T]) -> T:
        """Make a call where no signal interrupts it."""

    @property
    def inside(self) -> bool:
        """True while this thread makes such a call for another thread."""

    def check_process(self) -> None:
        """Refuse a process that was forked from the one which opened the storage."""

    def transaction(self, write: bool = True) -> AbstractContextManager[EventLog]:
        """Begin a transaction: everything or nothing, and on disk when it has ended.

        With `write`, no other client can write in the meantime.
        """

    def begin(self, created: ChainedEvent, if_exists: str) -> Event:
        """Create the study, or find the one of that name, and return its first event."""

    def created(self) -> Event:
        """Return the first event of the study."""

    def now(self) -> float:
        """Return the time by the storage's clock, outside a transaction."""

    def copy(self, destination: Path) -> None:
        """Copy the whole storage into a new file, while others continue to use it."""

    def checkpoint(self) -> None:
        """Move what was stored to where it is read from, if these are two places."""

    def close(self) -> None:
        """Release the storage."""


class InMemoryStorage:
    """A storage that keeps the events in a list. See `Storage` and `EventLog`."""

    url, inside = None, False

    def __init__(self, timeout: float = 30.0) -> None:
        self.timeout = timeout
        self._events: list[ChainedEvent] = []
        self._answers: dict[str, tuple[str, Any]] = {}

    def run(self, call: Callable[[], T]) -> T:
        """Make the call in this thread."""
        return call()

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator["InMemoryStorage"]:
        """Remove the events of a transaction that fails."""
        before = len(self._events)
        try:
            yield self
        except BaseException:
            del self._events[before:]
            raise

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    checkpoint = check_process = close

    def now(self) -> float:
        """Return the time of this machine's clock."""
        return clock.now()

    def copy(self, destination: Path) -> None:
        """Refuse: a study in memory has no file."""
        text, remedy = "copy: a study in memory has no file", "{export} writes all of it"
        raise InputError("no-file", text, remedy=remedy, export=CallHint("export", "path"))

    def begin(self, created: ChainedEvent, if_exists: str) -> Event:
        """Store the first event; no earlier study can exist."""
        self._events = [created]
        return created[0]

    def created(self) -> Event:
        """Return the first event of the study."""
        return self._events[0][0]

    def events(
        self, after: int = 0, before: int | None = None, round: int | None = None
    ) -> list[ChainedEvent]:
        """Return the events with ``after < seq < before``. See `EventLog.events`."""
        between = self._events[after : None if before is None else before - 1]
        if round is None:
            return between
        return [one for one in between if one[0].round in (round, None)]

    def iter_events(
        self, after: int = 0, before: int | None = None
    ) -> Iterator[list[ChainedEvent]]:
        """Yield all events in one portion."""
        yield self.events(after, before)

    def append(self, events: Sequence[ChainedEvent]) -> None:
        """Add events to the list."""
        self._events += events

    def snapshot(self, sources: str) -> tuple[int, bytes] | None:
        """Return None: snapshots are not stored in memory."""
        return None

    def save_snapshot(self, seq: int, sources: str, body: bytes) -> None:
        """Do nothing: snapshots are not stored in memory."""

    def saved_response(self, key: str) -> tuple[str, Any] | None:
        """Return the digest and the response of an earlier request, or None."""
        return self._answers.get(key)

    def save_response(self, request: IdempotencyKey, answer: Any) -> None:
        """Store the response to a request."""
        self._answers[request.key] = (request.digest, answer)

    def purge_responses(self) -> None:
        """Do nothing: responses are kept as long as the process runs."""


def open_storage(url: Any, name: str, timeout: float, mode: int = PRIVATE) -> Storage:
    """Open the storage of a study.

    Parameters
    ----------
    url : str or None
        URL of a database; None keeps the study in memory. The database libraries are loaded only
        for a URL.
    name : str
        Name of the study.
    timeout : float
        Seconds for which a call waits for other users of the storage.
    mode : int
        Permissions of a new file.
    """
    mode = check_mode(mode)
    if not is_real(timeout) or not 0.0 < timeout < 1e6:
        raise invalid_argument("timeout", timeout, "a positive number of seconds")
    if url is None:
        return InMemoryStorage(timeout)
    if not isinstance(url, str):
        kind = type(url).__name__  # and not what it is: it may hold a password
        text = "storage, of the type {kind}, must be a URL such as 'sqlite:///lab.db'"
        remedy = "give None for a study in memory"
        raise InputError("not-a-url", text, remedy=remedy, kind=kind)
    from .database import SqlStorage

    return SqlStorage(url, name, timeout, mode)
