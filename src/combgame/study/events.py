"""What can happen to a study. Events are only ever added; everything else is computed from them."""

import hashlib
import json
from typing import Any, NamedTuple

KINDS = ("created", "asked", "told", "failed", "retracted", "observed", "extended", "closed")


class Event(NamedTuple):
    """One line of a study's history.

    data: created: everything that determines the study; asked: `arms`, `until` (the end of the lease) and `again` (the round was given
    before); told and observed: `values`, and for told `final` and `more` (the next event was told together with it, and is judged with
    it); failed: `retry`; retracted: `arm`, if it is not a round that is retracted; extended: `max_rounds` and `deadline`, whichever was
    changed, as they are from now on.
    """

    seq: int  # 1, 2, 3, ...
    kind: str
    at: float  # seconds since 1970
    round: int | None = None
    client: str | None = None
    reason: str | None = None
    data: dict[str, Any] = {}  # noqa: RUF012  (never written to)


ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def compact(data: Any) -> str:
    return ENCODER.encode(data)


def seal(before: str, event: Event) -> str:
    """A checksum of an event and of all that came before it: what is stored cannot be damaged or changed unnoticed.

    >>> seal("", Event(1, "closed", 0.0)) == seal("", Event(1, "closed", 1.0))
    False
    """
    return hashlib.sha256((before + compact(event)).encode()).hexdigest()[:16]
