"""Events of a study, chained by checksums.

Events are only ever appended; everything else is computed from them. The checksums reveal damage
and changes.
"""

import gc
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

from .._messages import CallHint
from ..errors import StoreError, invalid_argument


def checksum(*parts: str | bytes, digits: int = 64) -> str:
    """Return the checksum of all parts in their order as hex digits.

    >>> checksum("a", "b") == checksum("ab") != checksum("ba")
    True
    >>> checksum("", digits=16)
    'e3b0c44298fc1c14'
    """
    made = hashlib.sha256()
    for part in parts:
        made.update(part.encode() if isinstance(part, str) else part)
    return made.hexdigest()[:digits]


class Event(NamedTuple):
    """One entry of a study's history.

    Attributes
    ----------
    seq : int
        Number of the event: 1, 2, 3, ...
    kind : str
        ``created``, ``asked``, ``told``, ``failed``, ``retracted``, ``observed``, ``extended``,
        ``certified`` or ``closed``.
    timestamp : float
        Seconds since 1970.
    round : int, optional
        The round that the event belongs to.
    client : str, optional
        The person or instrument that caused the event.
    reason : str, optional
        The reason that the client gave.
    data : dict
        Details; `combgame.lab.history` documents them by kind.
    version : str
        Version of combgame that wrote the event; empty for events from before this was recorded.
    """

    seq: int
    kind: str
    timestamp: float
    round: int | None = None
    client: str | None = None
    reason: str | None = None
    data: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    version: str = ""


ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def compact(data: Any) -> str:
    """Return data as JSON without spaces."""
    return ENCODER.encode(data)


def chain_hash(before: str, event: Event) -> str:
    """Return a checksum of an event and of all events before it.

    It reveals any damage or change of what is stored.

    >>> chain_hash("", Event(1, "closed", 0.0)) == chain_hash("", Event(1, "closed", 1.0))
    False
    """
    return seal_of(before, compact(event if event.version else event[:-1]))


def seal_of(before: str, said: str) -> str:
    """Return the first 16 digits of the checksum of an event that `compact` has written.

    The function takes the shortest way, because hundreds of thousands of events are checked at
    once.
    """
    return sha256((before + said).encode()).hexdigest()[:16]


class ChainedEvent(NamedTuple):
    """An event as it is stored; `said` is its text by `compact`, if that was stored too."""

    event: Event
    seal: str
    said: str | None = None


HEAD = re.compile(r"([1-9]\d{0,17}):([0-9a-f]{16})")


def last_hash(events: Iterable[Event]) -> str:
    """Return the number and the checksum of the last event, such as 17:8d969eef6ecad3c2.

    A reader who has noted it can find out later whether events are missing.
    """
    number, last = 0, ""
    for event in events:
        number, last = event.seq, chain_hash(last, event)
    return f"{number}:{last}"


def check_head(events: list[Event], head: str, name: str) -> None:
    """Raise an error unless the history still contains the head that a reader noted."""
    parts = HEAD.fullmatch(head.strip()) if isinstance(head, str) else None
    if parts is None:
        what = "a number and a seal as `status` shows them, such as '17:8d969eef6ecad3c2'"
        raise invalid_argument("head", head, what)
    number, remedy = int(parts[1]), "find the file that has them"
    if number > len(events):
        text = (
            "study {name!r} has {events:count event}, but when its head was noted there were "
            "{number:,}: the last ones were removed, or an older copy was put back"
        )
        about = {"name": name, "events": len(events), "number": number}
        raise StoreError("events-missing", text, remedy=remedy, **about)
    if last_hash(events[:number]) != head.strip():
        text = (
            "study {name!r}: its first {number:,} events are not those of the head that was noted, "
            "so its history was changed, or this is another study"
        )
        raise StoreError("other-history", text, remedy=remedy, name=name, number=number)


@contextmanager
def no_collecting() -> Iterator[None]:
    """Suspend garbage collection.

    While very many objects are made that all stay, repeated searches for garbage among them would
    take longer than making them.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def checked(stored: list[ChainedEvent], name: str, before: str = "") -> list[Event]:
    """Verify and return events; `before` is the checksum of the event before the first."""
    events = []
    for one in stored:
        event, sealed, said = one
        if said is None or seal_of(before, said) != sealed:
            verify_hash(before, one, name)
        events.append(event)
        before = sealed
    return events


def verify_hash(before: str, stored: ChainedEvent, name: str) -> None:
    """Raise an error unless an event is what was stored."""
    event, sealed, said = stored
    # the stored text is quicker to check; a different text may still describe the same event
    if (said is None or seal_of(before, said) != sealed) and chain_hash(before, event) != sealed:
        text = (
            "study {name!r}: event {event} is not what was stored, because the file is damaged or "
            "was changed"
        )
        remedy = (
            "go back to a copy, or begin a new study and give it the data that are good with "
            "{observe}"
        )
        about = {"name": name, "event": event.seq, "observe": CallHint("observe")}
        raise StoreError("event-changed", text, remedy=remedy, **about)
