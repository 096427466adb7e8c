"""A study's events in a database, inside one transaction."""

import json
import math
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, or_, select

from ..errors import StoreError
from ..sentences import looks
from .checksums import checksum
from .events import Event, Sealed, compact
from .requests import Request
from .tables import events, requests, snapshots

ALWAYS = 1 << 60
COLUMNS = [events.c[name] for name in (*Event._fields, "seal")]
EVENTS = (
    select(*COLUMNS)
    .where(
        events.c.study == bindparam("study"),
        events.c.seq > bindparam("after"),
        events.c.seq < bindparam("before"),
    )
    .order_by(events.c.seq)
)
OF_ROUND = EVENTS.where(or_(events.c.round == bindparam("round"), events.c.round.is_(None)))
ADD = insert(events)
ANSWER = select(requests.c.digest, requests.c.answer).where(
    requests.c.study == bindparam("study"), requests.c.key == bindparam("key")
)
REMEMBER = insert(requests)
REMEMBERED = 7 * 86400.0  # seconds


def as_event(row: Any) -> Sealed:
    try:
        event, sealed = Event._make([*row[:6], json.loads(row[6])]), row[7]
    except (TypeError, ValueError, RecursionError) as error:
        raise _unreadable(str(error)) from error
    for value, (name, kinds) in zip((*event, sealed), KINDS.items(), strict=True):
        if not isinstance(value, kinds):
            raise _unreadable(f"its {name} is {looks(value)}")
    if not math.isfinite(event.at):
        raise _unreadable(f"its at is {event.at}")
    return event, sealed


KINDS: dict[str, Any] = {  # what stands in the columns
    "seq": int,
    "kind": str,
    "at": float | int,
    "round": int | None,
    "client": str | None,
    "reason": str | None,
    "data": dict,
    "seal": str,
}


def _unreadable(why: str) -> StoreError:
    text = "an event of a study cannot be read, because the file is damaged ({why})"
    return StoreError("unreadable-event", text, remedy="go back to a copy", why=why)


class Transaction:
    """A study's events inside one transaction. first: the seal of its first event, which says whose
    snapshots are of use.
    """

    def __init__(self, connection: Connection, study: int, first: str) -> None:
        self._connection, self._study, self._first = connection, study, first

    def events(
        self, after: int = 0, before: int | None = None, round: int | None = None
    ) -> list[Sealed]:
        where = {
            "study": self._study,
            "after": after,
            "before": ALWAYS if before is None else before,
        }
        query = EVENTS if round is None else OF_ROUND
        rows = self._connection.execute(
            query, where if round is None else {**where, "round": round}
        ).all()
        return [as_event(row) for row in rows]

    def append(self, new: Sequence[Sealed]) -> None:
        rows = [
            {**one._asdict(), "study": self._study, "data": compact(one.data), "seal": sealed}
            for one, sealed in new
        ]
        self._connection.execute(ADD, rows)

    def snapshot(self, sources: str) -> tuple[int, bytes] | None:
        query = select(snapshots.c.seq, snapshots.c.checksum, snapshots.c.body).where(
            snapshots.c.study == self._study
        )
        last = self._connection.execute(
            query.where(snapshots.c.sources == self._of(sources))
        ).first()
        if last is None or checksum(last.body) != last.checksum:
            return None
        return int(last.seq), bytes(last.body)

    def keep(self, seq: int, sources: str, body: bytes) -> None:
        self._connection.execute(delete(snapshots).where(snapshots.c.study == self._study))
        row = {
            "study": self._study,
            "seq": seq,
            "sources": self._of(sources),
            "checksum": checksum(body),
            "body": body,
        }
        self._connection.execute(insert(snapshots).values(row))

    def answered(self, key: str) -> tuple[str, Any] | None:
        row = self._connection.execute(ANSWER, {"study": self._study, "key": key}).first()
        return None if row is None else (row.digest, json.loads(row.answer))

    def remember(self, request: Request, answer: Any) -> None:
        row = {
            "study": self._study,
            "key": request.key,
            "digest": request.digest,
            "at": time.time(),
            "answer": compact(answer),
        }
        self._connection.execute(REMEMBER, row)

    def forget(self) -> None:
        old = requests.c.at < time.time() - REMEMBERED
        self._connection.execute(delete(requests).where(requests.c.study == self._study, old))

    def _of(self, sources: str) -> str:
        return checksum(f"{sources} {self._first}")
