"""Studies in SQLite or PostgreSQL. What has been acknowledged survives a power cut: a transaction
is on disk before it ends.

From a URL to a connection whose tables are up to date.
"""

import ctypes
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    Row,
    and_,
    bindparam,
    create_engine,
    delete,
    event,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.pool import StaticPool

from .._display.files import PRIVATE, check_path, make_private
from .._messages import LONGEST, OptionHint
from ..errors import InputError, StoreError, StudyError, UnknownNameError, missing_extra
from . import clock
from .errors import StorageAdvice, failure, foreign, forked, gone, kind_of, other_version
from .events import ChainedEvent, Event, verify_hash
from .files import (
    Mark,
    check_legible,
    check_one_name,
    check_place,
    copy_file,
    mark_of,
    read_only,
    unchanging,
)
from .postgres import postgres_engine
from .schema import SCHEMA, UPGRADES, events, metadata, requests, schema, snapshots, studies
from .sqlite import FileIdentity, begin, set_up, transaction
from .thread import Worker
from .transaction import COLUMNS, CURRENT, SqlTransaction, as_event, check_repeated, time_of
from .urls import absolute, file_of, parse, quotes_secret, shown


def is_there(url: URL) -> bool:
    """Whether connecting would not make a file."""
    path = file_of(url)
    return path is None or os.path.exists(path)  # noqa: PTH110  (no error for a name too long)


def check_there(url: URL, name: str, make: bool, mode: int = PRIVATE) -> None:
    """Only making a study may make a file, and nothing makes folders. mode: what a new one
    allows.
    """
    file = file_of(url)
    if file is None:
        return
    path = check_path("storage", file).absolute()
    check_place(path)
    check_legible(file)
    if unchanging(file) is None:
        check_one_name(path)
    if not make and not path.exists():
        text = "there is no study{study}: the file {file} does not exist in {folder}"
        remedy = "check the path, or make a study there first"
        about = {"file": path.name, "folder": str(path.parent), "name": name}
        study = f" {name!r}" if name else ""
        raise UnknownNameError("no-study-file", text, remedy=remedy, study=study, **about)
    if make:
        with suppress(OSError):  # then SQLite says why
            make_private(path, mode)


def _unmake(url: URL) -> None:
    """Take away the empty file that `check_there` made for a connection that cannot be."""
    file = file_of(url)
    with suppress(OSError):
        if file is not None and Path(file).stat().st_size == 0:
            Path(file).unlink()


def connect(url: URL, timeout: float, fixed: bool = False) -> Engine:
    """An engine that is connected; fixed: to a file that can only be looked at (`unchanging`)."""
    postgres = url.get_backend_name() == "postgresql"
    try:
        made = postgres_engine(url, timeout) if postgres else sqlite_engine(url, timeout, fixed)
        with made.connect():
            return made
    except (ModuleNotFoundError, NoSuchModuleError):
        _unmake(url)
        if not postgres:
            text, remedy = "SQLite needs no driver of its own", "write sqlite:///{file}"
            file = str(url.database)
            raise InputError("sqlite-driver", text, remedy=remedy, file=file) from None
        raise missing_extra("PostgreSQL (postgresql+psycopg://...)", "postgres") from None
    except (ArgumentError, TypeError, ValueError, OverflowError):  # what it says may quote the URL
        _unmake(url)
        text = "storage {where} cannot be opened with what else its URL says (after ?, before @)"
        remedy = "leave that out, or correct it"
        raise InputError("url-options", text, remedy=remedy, where=shown(url)) from None


def sqlite_engine(url: URL, timeout: float, fixed: bool) -> Engine:
    path, how = file_of(url), {"timeout": timeout, "check_same_thread": False}
    looks: dict[str, Any] = {"connect_args": how}
    if fixed and path is not None:
        where = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        looks = {"creator": partial(sqlite3.connect, where, uri=True, **how)}
    made = create_engine(url, poolclass=StaticPool, **looks)

    @event.listens_for(made, "connect")
    def begun(connection: Any, record: Any) -> None:
        set_up(connection, synchronous="FULL", journal=None if fixed else "WAL")
        # `SqlStorage.checkpoint` does it, outside the calls that write; if not, they do
        connection.execute("PRAGMA wal_autocheckpoint = 20000")
        record.info["file"] = None if path is None else FileIdentity(path)

    @event.listens_for(made, "begin")
    def begins(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        try:
            begin(driver, bool(connection.get_execution_options().get("write")), timeout)
        except sqlite3.Error as error:
            raise OperationalError("BEGIN", None, error) from error

    return made


def prepare(engine: Engine) -> None:
    """Make the tables if there are none; bring older ones up to date."""
    with engine.connect().execution_options(write=False) as connection, connection.begin():
        names = inspect(connection).get_table_names()
        made = _version(connection)
    if made == SCHEMA:
        return
    if made is not None and (
        made > SCHEMA or any(step not in UPGRADES for step in range(made, SCHEMA))
    ):
        raise other_version(shown(engine.url), made, SCHEMA)
    if made is None and engine.dialect.name == "sqlite" and names:
        raise foreign(shown(engine.url))
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            # two that begin at once
            connection.execute(text("SELECT pg_advisory_xact_lock(1129336165)"))
        version = _version(connection)
        for step in range(version or SCHEMA, SCHEMA):
            for statement in UPGRADES[step]:
                connection.execute(text(statement))
        metadata.create_all(connection)
        if version != SCHEMA:
            connection.execute(delete(schema))
            connection.execute(insert(schema).values(version=SCHEMA))


def _version(connection: Connection) -> int | None:
    """Of the tables that are there, if any are."""
    if not inspect(connection).has_table(schema.name):
        return None
    version: int | None = connection.execute(select(schema.c.version)).scalar()
    return version


class Opened(NamedTuple):
    """An engine, the process which opened it, and who is inside it now (anything, one each)."""

    engine: Engine
    process: int
    inside: list[None]


OPENED: list[Opened] = []


def let_go(one: Opened) -> None:
    """Close the connection of a study that is closed, or garbage.

    A process that was forked from the one which opened it must not: that would end the parent's
    session on a server. It keeps it for ever.
    """
    if one.process == os.getpid():
        OPENED.remove(one)
        one.engine.dispose()
    else:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one.engine))


def disown() -> None:
    """Let SQLite forget the files that a parent of this process has open.

    SQLite remembers which locks its process holds, and a child inherits that memory without the
    locks. Closing an idle connection is harmless; one that somebody was inside may have taken locks
    of SQLite's along that nobody gives back.
    """
    for one in [one for one in OPENED if one.process != os.getpid()]:
        if one.engine.dialect.name != "sqlite":
            continue
        if one.inside:
            raise forked(shown(one.engine.url), in_use=True)
        OPENED.remove(one)
        one.engine.dispose()


P = ParamSpec("P")
T = TypeVar("T")


def in_thread(
    method: "Callable[Concatenate[SqlStorage, P], T]",
) -> "Callable[Concatenate[SqlStorage, P], T]":
    """A method that runs where no signal interrupts it."""

    @wraps(method)
    def run(self: "SqlStorage", *given: P.args, **named: P.kwargs) -> T:
        return self.run(partial(method, self, *given, **named))

    return run  # type: ignore[return-value]  # mypy takes `self` for a name that matters


FIND = (
    select(studies.c.id, *COLUMNS)  # with its first event: what the study is
    .join_from(
        studies, events, and_(events.c.study == studies.c.id, events.c.seq == 1), isouter=True
    )
    .where(studies.c.name == bindparam("name"))
)  # made once: composing a statement costs more than running it
NAMES = select(studies.c.name).order_by(studies.c.id)
LOCK = FIND.with_for_update(of=studies)
ADVICE = StorageAdvice(
    busy="try again, or give a longer {timeout}",
    unwritable="change the permissions, or name another storage",
    full="make room, then try again: what was told is kept",
    damaged="go back to a copy, or name another storage",
    unreachable="try again: telling the same twice is harmless, and a client gets its open rounds "
    "back",
    refused="try again",
    gone="put it back, or open the study again to go on with what is there now. Until then, {copy} "
    "saves what this process still has",
    parted="it belongs to the file as long as anybody has it open. Try again: the file is opened "
    "anew, and if something is missing there, that is said",
)


class SqlStorage:
    """One study in a database. One connection, and one thread in which its transactions run."""

    def __init__(self, url: str, name: str, timeout: float, mode: int = PRIVATE) -> None:
        self.url, self.name, self.timeout, self.mode = url, name, timeout, mode
        self._parsed = parse(url)
        self._place = absolute(self._parsed)
        self._file, self._shown = file_of(self._place), shown(self._parsed)
        self._study: Row[Any] | None = None  # its number and its first event, once it is known
        self._sqlite = self._parsed.get_backend_name() == "sqlite"
        self._engine: Engine | None = None
        self._let_go: Callable[[], object] | None = None  # of the engine, when this is garbage too
        self._inside: list[None] = []  # calls that use it at this moment
        self._mark: Mark | None = None  # of a file that can only be looked at
        self._process, self._worker = os.getpid(), Worker(name, timeout)
        try:
            if is_there(self._place):  # otherwise `begin` makes it
                self._prepare()
        except BaseException:
            self.close()
            raise

    # ---- transactions

    def run(self, call: Callable[[], T]) -> T:
        """Make a call where no signal interrupts it: in the thread of this study."""
        self.check_process()
        return self._worker.run(call)

    @property
    def inside(self) -> bool:
        return self._worker.inside

    def check_process(self) -> None:
        """Refuse a process that was forked from the one which opened the study."""
        if os.getpid() != self._process:
            raise forked(self._shown)

    @in_thread
    def _prepare(self) -> None:
        with self._guard():
            prepare(self._connect(make=True))

    def _connect(self, make: bool = False) -> Engine:
        self.check_process()
        if self._mark is not None and unchanging(str(self._file)) != self._mark:
            self._drop()  # somebody writes, or may write now
        if self._engine is None:
            check_there(self._place, self.name, make, self.mode)
            self._mark = None if self._file is None else unchanging(self._file)
            if self._sqlite:
                disown()
            self._engine = connect(self._place, self.timeout, fixed=self._mark is not None)
            opened = Opened(self._engine, self._process, self._inside)
            OPENED.append(opened)
            self._let_go = weakref.finalize(self, let_go, opened)
        return self._engine

    @contextmanager
    def _guard(self, write: bool = False) -> Iterator[None]:
        """What the database says, as a sentence with the remedy. What failed has changed nothing.
        write: to what was read before.
        """
        self._inside.append(None)
        try:
            yield
        except UnicodeDecodeError as error:  # SQLite quotes damaged text
            self._drop()
            raise failure(self._shown, "damaged", str(error), ADVICE, self.timeout) from error
        except DBAPIError as error:
            self._drop()
            secret = quotes_secret(self._parsed, error)
            driver = error.orig or error
            kind = kind_of(driver, error.connection_invalidated)
            cause = None if secret else error
            if kind == "unwritable" and write and not secret:
                kind = "file" if self._sqlite else "server"
                raise read_only(self._shown, str(driver), kind) from cause
            said = failure(self._shown, kind, str(driver), ADVICE, self.timeout, secret)
            raise said from cause
        finally:
            self._inside.pop()

    @contextmanager
    def connection(self, write: bool) -> Iterator[Connection]:
        """A connection inside a transaction."""
        with self._guard(write), self._connect().connect() as connection:
            check = partial(self._check_file, connection, write)
            connection.execution_options(write=write)
            with transaction(connection.begin(), check, write):
                yield connection
            self._check_unchanged()

    def _check_unchanged(self) -> None:
        """What was read of a file that cannot change, if it did, may fit nothing."""
        if self._mark is not None and mark_of(str(self._file)) != self._mark:
            raise failure(self._shown, "collided", "the file was written meanwhile", ADVICE)

    def _check_file(self, connection: Connection, write: bool, ended: bool) -> None:
        """Whether it is there, and by one name only: nothing is acknowledged that nobody would find
        the next time.
        """
        file: FileIdentity | None = connection.info.get("file")
        tail = None if file is None else file.changed()
        if file is not None and write and not ended:
            file.check_one_name()
        if tail is not None:
            if tail:
                connection.invalidate()
            raise gone(self._shown, tail, ended, ADVICE)

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator["SqlTransaction"]:
        """SQLite has one writer at a time (BEGIN IMMEDIATE); in PostgreSQL the study's own row is
        the lock.
        """
        with self.connection(write) as connection:
            yield self._study_in(connection, LOCK if write else FIND)

    def _study_in(self, connection: Connection, query: Any = FIND) -> "SqlTransaction":
        """The study: it is looked up every time, and its first event compared, for another may be
        there under its name.
        """
        here = connection.execute(query, {"name": self.name}).first()
        if self._study is None and here is not None:
            verify_hash("", as_event(here[1:]), self.name)
            self._study = here
        if here is not None and here == self._study:
            return SqlTransaction(connection, here.id, here.seal)
        if self._study is not None:
            text = (
                "study {name!r} is not the one that was opened: it was removed or replaced, or its "
                "first event, which says what it is, was changed"
            )
            remedy = "open it again to go on with what is there now"
            raise StudyError("other-study", text, remedy=remedy, name=self.name)
        known = list(connection.execute(NAMES).scalars())
        text, remedy = "there is no study {name!r} in {where}", "it has {known:quoted}"
        remedy = remedy if known else "it has none"
        about = {"name": self.name, "where": self._shown, "known": known[:LONGEST]}
        raise UnknownNameError("no-study", text, remedy=remedy, **about)

    def _drop(self) -> None:
        if self._let_go is not None:
            self._let_go()
        self._engine = self._let_go = None

    def close(self) -> None:
        """Let go of it. What SQLite has kept beside the file goes into it, as far as others do not
        read there. A process that was forked leaves the file to its parent.
        """
        if os.getpid() == self._process:
            self._worker.run(self._close)
        else:
            self._drop()

    def _close(self) -> None:
        with self._guard():
            if self._engine is not None and self._sqlite:
                with (
                    suppress(DBAPIError, sqlite3.Error),
                    closing(self._engine.raw_connection()) as connection,
                ):
                    connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._drop()

    def checkpoint(self) -> None:
        """What SQLite has kept beside the file goes into it, while others go on: on a connection of
        its own, so that nobody waits for it.
        """
        if self._file is not None:
            where = f"{Path(self._file).as_uri()}?mode=rw"  # which makes no file
            with self._guard(), closing(sqlite3.connect(where, uri=True, timeout=0)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @in_thread
    def copy(self, destination: Path) -> None:
        """All studies that are there, in a file of its own; also of a file that was deleted or
        moved, as long as it is open here.
        """
        if not self._sqlite:
            text, remedy = "copy: {where} is a server, not a file", "pg_dump copies it"
            raise InputError("server-copy", text, remedy=remedy, where=self._shown)
        with self._guard(), closing(self._connect().raw_connection()) as connection:
            copy_file(connection.driver_connection, destination, self.mode)  # type: ignore[arg-type]
            try:
                self._check_unchanged()
            except StoreError:
                destination.unlink()
                raise

    # ---- studies

    @in_thread
    def begin(self, created: ChainedEvent, if_exists: str) -> Event:
        """Make the study, or find the one of that name; its first event."""
        if self._engine is None:
            self._prepare()
        try:
            with self.connection(write=True) as connection:
                old = connection.execute(LOCK, {"name": self.name}).first()
                request = CURRENT.get()
                if old is not None and request is not None:
                    here = SqlTransaction(connection, old.id, old.seal)
                    check_repeated(request, here.saved_response(request.key))
                if old is not None and if_exists == "error":
                    raise exists(self.name, self._shown)
                if old is None or if_exists == "replace":
                    self._make(connection, created, None if old is None else old.id)
                log = self._study_in(connection)
                if request is not None:
                    log.save_response(request, None)
                return log.events(before=2)[0][0]
        except StoreError as error:
            if error.code == "read-only" and if_exists == "resume":
                with suppress(UnknownNameError):
                    return self.created()
            if not isinstance(error.__context__, IntegrityError):
                raise
            # somebody else has just made it
            return self.begin(created, "error" if if_exists == "error" else "resume")

    def _make(self, connection: Connection, created: ChainedEvent, old: int | None) -> None:
        if old is not None:
            kept = [snapshots.c.study, events.c.study, studies.c.id]
            if inspect(connection).has_table(requests.name):  # it was served
                kept.insert(0, requests.c.study)
            for column in kept:
                connection.execute(delete(column.table).where(column == old))
        made = connection.execute(
            insert(studies).values(name=self.name, **self._fresh(connection, old))
        )
        number = int(made.inserted_primary_key[0])  # type: ignore[index]
        SqlTransaction(connection, number, created[1]).append([created])

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

    @in_thread
    def created(self) -> Event:
        with self.transaction(write=False) as log:
            return log.events(before=2)[0][0]

    @in_thread
    def now(self) -> float:
        if not is_there(self._place):
            return clock.now()
        with self.connection(write=False) as connection:
            return time_of(connection)

    @in_thread
    def names(self) -> list[str]:
        """The studies in the database."""
        with self.connection(write=False) as connection:
            return list(connection.execute(NAMES).scalars())


def exists(name: str, where: str) -> StudyError:
    text = "there is a study {name!r} in {where} already"
    remedy = "go on with it with {resume}, or give another name, or {replace} to lose it"
    how = {word: OptionHint("if_exists", word) for word in ("resume", "replace")}
    return StudyError("study-exists", text, remedy=remedy, name=name, where=where, **how)
