"""What happens to a study, line by line. Events are only ever added; everything else is computed
from them.

Checksums of what is stored, so that damage and changes are noticed.
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
    """Hex digits of all parts in their order.

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
    """One line of a study's history: created, asked, told, failed, retracted, observed, extended,
    certified or closed. What its `data` have, and what it does, is said in one place:
    `study.ledger`.
    """

    seq: int  # 1, 2, 3, ...
    kind: str
    timestamp: float  # seconds since 1970
    round: int | None = None
    client: str | None = None
    reason: str | None = None
    data: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    version: str = ""  # of combgame, which wrote it; "": it is from before events said so


ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def compact(data: Any) -> str:
    return ENCODER.encode(data)


def chain_hash(before: str, event: Event) -> str:
    """A checksum of an event and of all that came before it: what is stored cannot be damaged or
    changed unnoticed.

    >>> seal("", Event(1, "closed", 0.0)) == seal("", Event(1, "closed", 1.0))
    False
    """
    return seal_of(before, compact(event if event.version else event[:-1]))


def seal_of(before: str, said: str) -> str:
    """The seal of an event of which `compact` says this: the first 16 digits of its checksum, by
    the shortest way, as hundreds of thousands are checked at once.
    """
    return sha256((before + said).encode()).hexdigest()[:16]


class ChainedEvent(NamedTuple):
    """An event as it is stored. said: what `compact` said of it, where that was stored too."""

    event: Event
    seal: str
    said: str | None = None


HEAD = re.compile(r"([1-9]\d{0,17}):([0-9a-f]{16})")


def last_hash(events: Iterable[Event]) -> str:
    """The number and the seal of the last event, such as 17:8d969eef6ecad3c2: whoever has noted it
    finds out if something is missing.
    """
    number, last = 0, ""
    for event in events:
        number, last = event.seq, chain_hash(last, event)
    return f"{number}:{last}"


def check_head(events: list[Event], head: str, name: str) -> None:
    """Whether the history still goes through the head that somebody noted."""
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
    """While very many objects are made that all stay, looking for garbage among them, again and
    again, would take longer than making them.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def checked(stored: list[ChainedEvent], name: str, before: str = "") -> list[Event]:
    """The events, each as it was stored; before: the seal of the one before the first."""
    events = []
    for one in stored:
        event, sealed, said = one
        if said is None or seal_of(before, said) != sealed:
            verify_hash(before, one, name)
        events.append(event)
        before = sealed
    return events


def verify_hash(before: str, stored: ChainedEvent, name: str) -> None:
    event, sealed, said = stored
    # as it was written, which is quicker to check; or, written otherwise, the same event
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
