"""Studies in SQLite or PostgreSQL. What has been acknowledged survives a power cut: a transaction is on disk before it ends."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, and_, bindparam, delete, insert, or_, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from ..errors import StoreError, StudyError, UnknownNameError
from .connections import check_there, connect, is_there, parse, prepare, sentence, shown
from .events import Event, compact
from .memory import Sealed
from .tables import events, snapshots, studies

ALWAYS = 1 << 60
INHERITED: list[Engine] = []
FIND = select(studies.c.id).where(
    studies.c.name == bindparam("name")
)  # made once: composing a statement costs more than running it
NAMES = select(studies.c.name).order_by(studies.c.id)
LOCK = FIND.with_for_update()
EVENTS = (
    select(
        events.c.seq, events.c.kind, events.c.at, events.c.round, events.c.client, events.c.reason, events.c.data, events.c.seal
    )
    .where(events.c.study == bindparam("study"), events.c.seq > bindparam("after"), events.c.seq < bindparam("before"))
    .order_by(events.c.seq)
)
OF_ROUND = EVENTS.where(or_(events.c.round == bindparam("round"), and_(events.c.round.is_(None), events.c.kind == "retracted")))
ADD = insert(events)


class Database:
    """One study in a database. One connection, which the study's threads take in turns; a forked process makes its own."""

    def __init__(self, url: str, name: str, timeout: float) -> None:
        self.url, self.name, self.timeout = url, name, timeout
        self._parsed, self._study = parse(url), 0
        self._engine: Engine | None = None
        self._process = 0
        try:
            if is_there(self._parsed):  # otherwise `begin` makes it
                self._prepare()
        except BaseException:
            self.close()
            raise

    # ---- transactions

    def _prepare(self) -> None:
        with self._guard():
            prepare(self._connect(make=True))

    def _connect(self, make: bool = False) -> Engine:
        if self._engine is not None and self._process != os.getpid():
            INHERITED.append(self._engine)  # the parent's: not to be closed here
            self._engine = None
        if self._engine is None:
            check_there(self._parsed, self.name, make)
            self._engine, self._process = connect(self._parsed, self.timeout), os.getpid()
        return self._engine

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """What the database says, as a sentence with the remedy. What failed has changed nothing."""
        try:
            yield
        except DBAPIError as error:
            self.close()
            raise sentence(self._parsed, error, self.timeout) from error

    @contextmanager
    def _transaction(self, write: bool) -> Iterator[Connection]:
        with self._guard(), self._connect().connect().execution_options(write=write) as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator["Transaction"]:
        """SQLite has one writer at a time (BEGIN IMMEDIATE); in PostgreSQL the study's own row is the lock."""
        with self._transaction(write=True) as connection:
            yield Transaction(connection, self._number(connection, LOCK))

    @contextmanager
    def reading(self) -> Iterator["Transaction"]:
        with self._transaction(write=False) as connection:
            yield Transaction(connection, self._number(connection))

    def _number(self, connection: Connection, query: Any = FIND) -> int:
        """The study's number: it is looked up every time, for it may have been replaced."""
        found = connection.execute(query, {"name": self.name}).scalar()
        if found is not None and self._study in (0, found):
            self._study = int(found)
            return self._study
        if self._study:
            raise StudyError(f"study {self.name!r} was replaced or removed meanwhile; open it again.")
        known = ", ".join(map(repr, connection.execute(NAMES).scalars())) or "none"
        raise UnknownNameError(f"there is no study {self.name!r} in {shown(self._parsed)}; it has {known}.")

    def close(self) -> None:
        if self._engine is not None and self._process == os.getpid():
            self._engine.dispose()
        self._engine = None

    # ---- studies

    def begin(self, created: Sealed, if_exists: str) -> Event:
        """Make the study, or find the one of that name; its first event."""
        if self._engine is None:
            self._prepare()
        try:
            with self._transaction(write=True) as connection:
                found = connection.execute(LOCK, {"name": self.name}).scalar()
                if found is not None and if_exists == "error":
                    raise StudyError(
                        f"there is a study {self.name!r} in {shown(self._parsed)} already; go on with it with if_exists='resume', or give "
                        "another name, or if_exists='replace' to lose it."
                    )
                if found is not None and if_exists == "resume":
                    self._study = int(found)
                    return Transaction(connection, self._study).events(before=2)[0][0]
                if found is not None:
                    for table in (snapshots.c.study, events.c.study, studies.c.id):
                        connection.execute(delete(table.table).where(table == found))
                made = connection.execute(insert(studies).values(name=self.name, **self._fresh(connection, found)))
                self._study = int(made.inserted_primary_key[0])  # type: ignore[index]
                Transaction(connection, self._study).append([created])
        except StoreError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            return self.begin(created, "error" if if_exists == "error" else "resume")  # somebody else has just made it
        return created[0]

    @staticmethod
    def _fresh(connection: Connection, old: int | None) -> dict[str, int]:
        """A number that no study had before, so that whoever has the old one open notices. (PostgreSQL sees to it itself.)"""
        if connection.dialect.name == "postgresql":
            return {}
        top = connection.execute(select(studies.c.id).order_by(studies.c.id.desc()).limit(1)).scalar() or 0
        return {"id": max(top, old or 0) + 1}

    def created(self) -> Event:
        with self.reading() as log:
            return log.events(before=2)[0][0]

    def names(self) -> list[str]:
        """The studies in the database."""
        with self._transaction(write=False) as connection:
            return list(connection.execute(NAMES).scalars())


class Transaction:
    """A study's events inside one transaction."""

    def __init__(self, connection: Connection, study: int) -> None:
        self._connection, self._study = connection, study

    def events(self, after: int = 0, before: int | None = None, round: int | None = None) -> list[Sealed]:
        where = {"study": self._study, "after": after, "before": ALWAYS if before is None else before}
        query = EVENTS if round is None else OF_ROUND
        rows = self._connection.execute(query, where if round is None else {**where, "round": round}).all()
        try:
            return [(Event(*row[:6], json.loads(row[6])), row[7]) for row in rows]
        except ValueError as error:
            raise StoreError(f"an event of a study cannot be read ({error}); the file is damaged: go back to a copy.") from error

    def append(self, new: Sequence[Sealed]) -> None:
        rows = [
            {**one._asdict(), "study": self._study, "data": compact(one.data), "seal": sealed} for one, sealed in new
        ]  # fmt: skip
        self._connection.execute(ADD, rows)

    def snapshot(self, sources: str) -> tuple[int, bytes] | None:
        query = select(snapshots.c.seq, snapshots.c.checksum, snapshots.c.body)
        found = self._connection.execute(query.where(snapshots.c.study == self._study, snapshots.c.sources == sources)).first()
        if found is None or hashlib.sha256(found.body).hexdigest() != found.checksum:
            return None
        return int(found.seq), bytes(found.body)

    def keep(self, seq: int, sources: str, body: bytes) -> None:
        self._connection.execute(delete(snapshots).where(snapshots.c.study == self._study))
        row = {"study": self._study, "seq": seq, "sources": sources, "checksum": hashlib.sha256(body).hexdigest(), "body": body}
        self._connection.execute(insert(snapshots).values(row))
