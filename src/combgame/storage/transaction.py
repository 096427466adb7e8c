"""A study's events in a database, inside one transaction.

The transaction itself, which begins and commits, is `Database.connection`.

A request is done once, however often it is made: the key under which a client makes it is stored in
the transaction of what it does, with the answer.
"""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, insert, select, text, union_all

from .._messages import safe_repr
from ..errors import StoreError, StudyError
from . import clock
from .events import ChainedEvent, Event, checksum, compact, no_collecting
from .schema import events, requests, snapshots


class IdempotencyKey(NamedTuple):
    """What identifies a request.

    Attributes
    ----------
    key : str
        The name that its client gave it.
    digest : str
        A checksum of what it asks for, so that a key which is used for something else is noticed.
    """

    key: str
    digest: str


class AlreadyApplied(Exception):  # noqa: N818  (nothing is wrong)
    """A request that was done before.

    Parameters
    ----------
    answer : any
        What it was answered.
    """

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


CURRENT: ContextVar[IdempotencyKey | None] = ContextVar("request", default=None)


@contextmanager
def once(request: IdempotencyKey | None) -> Iterator[None]:
    """Store what is stored inside under a request.

    `AlreadyApplied` is raised if the request was done before.

    Parameters
    ----------
    request : IdempotencyKey or None
        The request, if it has a key.
    """
    token = CURRENT.set(request)
    try:
        yield
    finally:
        CURRENT.reset(token)


def check_repeated(request: IdempotencyKey, known: tuple[str, Any] | None) -> None:
    """Raise `AlreadyApplied` if a request was done before.

    Parameters
    ----------
    request : IdempotencyKey
        The request.
    known : tuple or None
        The digest and the answer that are stored under its key.
    """
    if known is None:
        return
    if known[0] != request.digest:
        text = "the key {key!r} was used before for something else"
        remedy = "give every request a key of its own, and only its repetitions the same"
        raise StudyError("key-used", text, remedy=remedy, key=request.key)
    raise AlreadyApplied(known[1])


ALWAYS = 1 << 60
PORTION = 2000  # events that are read at once: what is made of them stays near the processor
COLUMNS = [events.c[name] for name in (*Event._fields, "seal")]
OF_STUDY = (events.c.study == bindparam("study"),)
BETWEEN = (
    *OF_STUDY,
    events.c.seq > bindparam("after"),
    events.c.seq < bindparam("before"),
)
EVENTS = select(*COLUMNS).where(*BETWEEN).order_by(events.c.seq)
# the numbers first, which stand in the index by rounds; all events would be gone through otherwise
OF_ROUND = (
    select(*COLUMNS)
    .where(
        *OF_STUDY,
        events.c.seq.in_(
            union_all(
                select(events.c.seq).where(*BETWEEN, events.c.round == bindparam("round")),
                select(events.c.seq).where(*BETWEEN, events.c.round.is_(None)),
            )
        ),
    )
    .order_by(events.c.seq)
)
ADD = insert(events)
ANSWER = select(requests.c.digest, requests.c.answer).where(
    requests.c.study == bindparam("study"), requests.c.key == bindparam("key")
)
REMEMBER = insert(requests)
SERVER_TIME = text("SELECT extract(epoch FROM clock_timestamp())")
REMEMBERED = 7 * 86400.0  # seconds


def time_of(connection: Connection) -> float:
    """Return the time by the storage's clock, inside a transaction."""
    if connection.dialect.name == "sqlite":
        file = connection.info.get("file")
        return clock.now() if file is None else float(file.now())
    return float(connection.execute(SERVER_TIME).scalar_one())


def as_events(rows: Sequence[Any]) -> list[ChainedEvent]:
    """Read the events of many rows at once, as a study has hundreds of thousands.

    If something is not as it should be, the rows are read one by one, to say what it is.
    """
    if not rows:
        return []
    *columns, texts, versions, seals = zip(*rows, strict=True)
    kinds = list(KINDS.values())
    fits = all(
        all(issubclass(one, kind) for one in set(map(type, column)))
        for column, kind in zip(
            (*columns, texts, versions, seals), (*kinds[:6], str, str, str), strict=True
        )
    )
    try:
        data = json.loads(f"[{','.join(texts)}]") if fits else []
    except (ValueError, RecursionError):
        data = []
    fits = len(data) == len(rows) and set(map(type, data)) == {dict}
    if not fits or not all(map(math.isfinite, columns[2])):
        return [as_event(row) for row in rows]
    words = {one: compact(one) for column in (*columns[4:6], versions) for one in set(column)}
    moments = {at: repr(at) for at in set(columns[2])}
    by = {one: f",{words[one]}" if one else "" for one in set(versions)}  # as `seal` has it
    said = [
        f'[{seq},"{kind}",{moments[at]},{"null" if number is None else number},'
        f"{words[client]},{words[reason]},{text}{by[version]}]"
        for seq, kind, at, number, client, reason, text, version in zip(
            *columns, texts, versions, strict=True
        )
    ]
    # as `_make` does, which costs a call in Python for each
    made = map(partial(tuple.__new__, Event), zip(*columns, data, versions, strict=True))
    return list(map(partial(tuple.__new__, ChainedEvent), zip(made, seals, said, strict=True)))


def as_event(row: Any) -> ChainedEvent:
    """Read the event of a row."""
    try:
        event, sealed = Event._make([*row[:6], json.loads(row[6]), row[7]]), row[8]
    except (TypeError, ValueError, RecursionError) as error:
        raise _unreadable(str(error)) from error
    for value, (name, kinds) in zip((*event, sealed), KINDS.items(), strict=True):
        if not isinstance(value, kinds):
            raise _unreadable(f"its {name} is {safe_repr(value)}")
    if not math.isfinite(event.timestamp):
        raise _unreadable(f"its timestamp is {event.timestamp}")
    return ChainedEvent(event, sealed)


KINDS: dict[str, Any] = {  # what stands in the columns
    "seq": int,
    "kind": str,
    "timestamp": float | int,
    "round": int | None,
    "client": str | None,
    "reason": str | None,
    "data": dict,
    "version": str,
    "seal": str,
}


def _unreadable(why: str) -> StoreError:
    text = "an event of a study cannot be read, because the file is damaged ({why})"
    return StoreError("unreadable-event", text, remedy="go back to a copy", why=why)


class SqlTransaction:
    """A study's events inside one transaction.

    Parameters
    ----------
    connection : Connection
        A connection inside a transaction.
    study : int
        Number of the study.
    first : str
        The seal of its first event, which says whose snapshots are of use.
    """

    def __init__(self, connection: Connection, study: int, first: str) -> None:
        self._connection, self._study, self._first = connection, study, first
        self._at: float | None = None

    def events(
        self, after: int = 0, before: int | None = None, round: int | None = None
    ) -> list[ChainedEvent]:
        """Return events in their order.

        Parameters
        ----------
        after, before : int, optional
            Return the events with after < seq < before.
        round : int, optional
            Return only the events of this round, and those of no round.
        """
        with no_collecting():
            portions = self.iter_events(after, before, round)
            return [one for portion in portions for one in portion]

    def iter_events(
        self, after: int = 0, before: int | None = None, round: int | None = None
    ) -> Iterator[list[ChainedEvent]]:
        """Return events some at a time, all as they are at one moment.

        The parameters are those of `events`.
        """
        where = {
            "study": self._study,
            "after": after,
            "before": ALWAYS if before is None else before,
        }
        query = EVENTS if round is None else OF_ROUND
        if round is not None:
            where["round"] = round
        rows = self._connection.execute(query, where)
        return map(as_events, rows.partitions(PORTION))

    def append(self, new: Sequence[ChainedEvent]) -> None:
        """Add events to the end of the history; the commit puts them on disk."""
        rows = [
            {**one._asdict(), "study": self._study, "data": compact(one.data), "seal": sealed}
            for one, sealed, _ in new
        ]
        self._connection.execute(ADD, rows)

    def snapshot(self, sources: str) -> tuple[int, bytes] | None:
        """Return the last snapshot.

        Parameters
        ----------
        sources : str
            A digest of the sources of the package.

        Returns
        -------
        (int, bytes) or None
            The number of the last event in the snapshot, and the snapshot; None if there is none
            that these sources made and that is undamaged.
        """
        query = select(snapshots.c.seq, snapshots.c.checksum, snapshots.c.body).where(
            snapshots.c.study == self._study
        )
        last = self._connection.execute(
            query.where(snapshots.c.sources == self._of(sources))
        ).first()
        if last is None or not isinstance(last.seq, int) or not isinstance(last.body, bytes):
            return None
        return (last.seq, last.body) if checksum(last.body) == last.checksum else None

    def save_snapshot(self, seq: int, sources: str, body: bytes) -> None:
        """Store a snapshot in place of the last one.

        Parameters
        ----------
        seq : int
            Number of the last event in it.
        sources : str
            A digest of the sources of the package.
        body : bytes
            The snapshot.
        """
        self._connection.execute(delete(snapshots).where(snapshots.c.study == self._study))
        row = {
            "study": self._study,
            "seq": seq,
            "sources": self._of(sources),
            "checksum": checksum(body),
            "body": body,
        }
        self._connection.execute(insert(snapshots).values(row))

    def now(self) -> float:
        """Return the time by the storage's clock, as it was at the first call."""
        if self._at is None:
            self._at = time_of(self._connection)
        return self._at

    def saved_response(self, key: str) -> tuple[str, Any] | None:
        """Return the digest and the answer of the request under a key; None if there was none."""
        row = self._connection.execute(ANSWER, {"study": self._study, "key": key}).first()
        return None if row is None else (row.digest, json.loads(row.answer))

    def save_response(self, request: IdempotencyKey, answer: Any) -> None:
        """Store the answer to a request."""
        row = {
            "study": self._study,
            "key": request.key,
            "digest": request.digest,
            "at": self.now(),
            "answer": compact(answer),
        }
        self._connection.execute(REMEMBER, row)

    def purge_responses(self) -> None:
        """Delete the answers to requests that nobody repeats any more."""
        old = requests.c.at < self.now() - REMEMBERED
        self._connection.execute(delete(requests).where(requests.c.study == self._study, old))

    def _of(self, sources: str) -> str:
        return checksum(f"{sources} {self._first}")
