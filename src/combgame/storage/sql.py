"""Studies in SQLite or PostgreSQL. What has been acknowledged survives a power cut: a transaction
is on disk before it ends.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, and_, bindparam, delete, insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from ..errors import InputError, StoreError, StudyError, UnknownNameError
from . import same_file
from .connections import check_there, connect, is_there, prepare, sentence
from .copying import copy_file
from .events import Event, Sealed, check_seal
from .interrupts import deferred
from .tables import events, snapshots, studies
from .transaction import COLUMNS, Transaction, as_event
from .urls import absolute, parse, quotes_secret, shown

INHERITED: list[Engine] = []
FIND = (
    select(studies.c.id, *COLUMNS)  # with its first event: what the study is
    .join_from(
        studies, events, and_(events.c.study == studies.c.id, events.c.seq == 1), isouter=True
    )
    .where(studies.c.name == bindparam("name"))
)  # made once: composing a statement costs more than running it
NAMES = select(studies.c.name).order_by(studies.c.id)
LOCK = FIND.with_for_update(of=studies)


class Database:
    """One study in a database. One connection, which the study's threads take in turns; a forked
    process makes its own.
    """

    def __init__(self, url: str, name: str, timeout: float) -> None:
        self.url, self.name, self.timeout = url, name, timeout
        self._parsed = parse(url)
        self._place = absolute(self._parsed)
        self._study: Row[Any] | None = None  # its number and its first event, once it is known
        self._engine: Engine | None = None
        self._process = 0
        try:
            if is_there(self._place):  # otherwise `begin` makes it
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
            check_there(self._place, self.name, make)
            self._engine, self._process = connect(self._place, self.timeout), os.getpid()
        return self._engine

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """What the database says, as a sentence with the remedy. What failed has changed
        nothing.
        """
        with deferred():
            try:
                yield
            except DBAPIError as error:
                self._drop()
                cause = None if quotes_secret(self._parsed, error) else error
                raise sentence(self._parsed, error, self.timeout) from cause

    @contextmanager
    def _transaction(self, write: bool) -> Iterator[Connection]:
        with self._guard(), self._connect().connect().execution_options(write=write) as connection:
            with connection.begin():
                self._check_file(connection)
                yield connection
                if write:
                    self._check_file(connection)
            if write:
                self._check_file(
                    connection, stored=True
                )  # what went into a file that is gone is not acknowledged

    def _check_file(self, connection: Connection, stored: bool = False) -> None:
        file = connection.info.get("file")
        tail = None if file is None else file.changed()
        if tail is not None:
            if tail:
                connection.invalidate()
            raise same_file.sentence(shown(self._parsed), tail, stored)

    @contextmanager
    def writing(self) -> Iterator["Transaction"]:
        """SQLite has one writer at a time (BEGIN IMMEDIATE); in PostgreSQL the study's own row is
        the lock.
        """
        with self._transaction(write=True) as connection:
            yield self._found(connection, LOCK)

    @contextmanager
    def reading(self) -> Iterator["Transaction"]:
        with self._transaction(write=False) as connection:
            yield self._found(connection)

    def _found(self, connection: Connection, query: Any = FIND) -> "Transaction":
        """The study: it is looked up every time, and its first event compared, for another may be
        there under its name.
        """
        found = connection.execute(query, {"name": self.name}).first()
        if self._study is None and found is not None:
            check_seal("", *as_event(found[1:]), self.name)
            self._study = found
        if found is not None and found == self._study:
            return Transaction(connection, found.id, found.seal)
        if self._study is not None:
            raise StudyError(
                f"study {self.name!r} is not the one that was opened: it was removed or "
                "replaced, or its first event, which says what it "
                "is, was changed; open it again to go on with what is there now."
            )
        known = ", ".join(map(repr, connection.execute(NAMES).scalars())) or "none"
        raise UnknownNameError(
            f"there is no study {self.name!r} in {shown(self._parsed)}; it has {known}."
        )

    def _drop(self) -> None:
        if self._engine is not None and self._process == os.getpid():
            self._engine.dispose()
        self._engine = None

    def close(self) -> None:
        """Let go of it. What SQLite has kept beside the file goes into it, as far as others do not
        read there.
        """
        with deferred():
            if (
                self._engine is not None
                and self._process == os.getpid()
                and self._engine.dialect.name == "sqlite"
            ):
                with (
                    suppress(DBAPIError, sqlite3.Error),
                    closing(self._engine.raw_connection()) as connection,
                ):
                    connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._drop()

    def copy(self, destination: Path) -> None:
        """All studies that are there, in a file of its own; also of a file that was deleted or
        moved, as long as it is open here.
        """
        if self._parsed.get_backend_name() != "sqlite":
            raise InputError(
                f"copy: {shown(self._parsed)} is a server, not a file; pg_dump copies it."
            )
        with self._guard(), closing(self._connect().raw_connection()) as connection:
            copy_file(connection.driver_connection, destination)  # type: ignore[arg-type]

    # ---- studies

    def begin(self, created: Sealed, if_exists: str) -> Event:
        """Make the study, or find the one of that name; its first event."""
        if self._engine is None:
            self._prepare()
        try:
            with self._transaction(write=True) as connection:
                found = connection.execute(LOCK, {"name": self.name}).first()
                if found is not None and if_exists == "error":
                    raise StudyError(
                        f"there is a study {self.name!r} in {shown(self._parsed)} already; go on "
                        "with it with if_exists='resume', or give "
                        "another name, or if_exists='replace' to lose it."
                    )
                if found is None or if_exists == "replace":
                    self._make(connection, created, None if found is None else found.id)
                return self._found(connection).events(before=2)[0][0]
        except StoreError as error:
            if not isinstance(error.__context__, IntegrityError):
                raise
            return self.begin(
                created, "error" if if_exists == "error" else "resume"
            )  # somebody else has just made it

    def _make(self, connection: Connection, created: Sealed, old: int | None) -> None:
        if old is not None:
            for table in (snapshots.c.study, events.c.study, studies.c.id):
                connection.execute(delete(table.table).where(table == old))
        made = connection.execute(
            insert(studies).values(name=self.name, **self._fresh(connection, old))
        )
        number = int(made.inserted_primary_key[0])  # type: ignore[index]
        Transaction(connection, number, created[1]).append([created])

    @staticmethod
    def _fresh(connection: Connection, old: int | None) -> dict[str, int]:
        """A number that no study had before, so that whoever has the old one open notices.
        (PostgreSQL sees to it itself.)
        """
        if connection.dialect.name == "postgresql":
            return {}
        top = (
            connection.execute(select(studies.c.id).order_by(studies.c.id.desc()).limit(1)).scalar()
            or 0
        )
        return {"id": max(top, old or 0) + 1}

    def created(self) -> Event:
        with self.reading() as log:
            return log.events(before=2)[0][0]

    def names(self) -> list[str]:
        """The studies in the database."""
        with self._transaction(write=False) as connection:
            return list(connection.execute(NAMES).scalars())
