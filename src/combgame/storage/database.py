"""Databases of studies and campaigns, and a study in one.

What has been acknowledged survives a power cut: a call returns when its transaction is on disk.
"""

import ctypes
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, ClassVar, Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    Row,
    and_,
    bindparam,
    delete,
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
)

from .._display.files import PRIVATE, check_path, make_private
from .._messages import LONGEST, OptionHint
from ..errors import InputError, StoreError, StudyError, UnknownNameError, missing_extra
from . import clock
from .errors import LEFT_OUT, StorageAdvice, failure, foreign, forked, gone, kind_of, other_version
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
from .sqlite import FileIdentity, sqlite_engine
from .thread import Worker
from .transaction import COLUMNS, CURRENT, SqlTransaction, as_event, check_repeated, time_of
from .urls import absolute, file_of, parse, quotes_secret, shown


def is_there(url: URL) -> bool:
    """Return whether connecting would not make a file."""
    path = file_of(url)
    return path is None or os.path.exists(path)  # noqa: PTH110  (no error for a name too long)


def check_there(url: URL, name: str, make: bool, mode: int = PRIVATE) -> None:
    """Check the place of a study's file.

    Only making a study may make a file, and nothing makes folders.

    Parameters
    ----------
    url : URL
        The database; a server is not looked at.
    name : str
        Name of the study.
    make : bool
        Whether the file may be made.
    mode : int
        Permissions of a new file.
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
    """Remove the empty file that `check_there` made, as no connection can be."""
    file = file_of(url)
    with suppress(OSError):
        if file is not None and Path(file).stat().st_size == 0:
            Path(file).unlink()


def connect(url: URL, timeout: float, pragmas: Sequence[str] = (), fixed: bool = False) -> Engine:
    """Make an engine that is connected; the parameters are those of `sqlite_engine`."""
    postgres = url.get_backend_name() == "postgresql"
    try:
        if postgres:
            made = postgres_engine(url, timeout)
        else:
            made = sqlite_engine(url, timeout, pragmas, fixed)
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
    """An engine that is connected.

    Attributes
    ----------
    engine : Engine
        The engine.
    process : int
        The process that opened it.
    inside : list of None
        One element for each call that uses it at this moment.
    """

    engine: Engine
    process: int
    inside: list[None]


OPENED: list[Opened] = []


def let_go(one: Opened) -> None:
    """Close the connection of a database that is closed, or garbage.

    A process that was forked from the one which opened it must not: that would end the parent's
    session on a server. It keeps the connection for ever.
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
D = TypeVar("D", bound="Database")


def in_thread(
    method: Callable[Concatenate[D, P], T],
) -> Callable[Concatenate[D, P], T]:
    """Make a method run where no signal interrupts it: in the thread of its database."""

    @wraps(method)
    def run(self: D, *given: P.args, **named: P.kwargs) -> T:
        return self.run(partial(method, self, *given, **named))

    return run  # type: ignore[return-value]  # mypy takes `self` for a name that matters


class Database:
    """A database: one connection, and one thread in which its transactions run.

    The connection is made when it is needed first, and again after an error.

    Parameters
    ----------
    url : URL
        The file or the server.
    name : str
        What is used there, for messages.
    timeout : float
        Number of seconds to wait for others.

    Attributes
    ----------
    advice : StorageAdvice
        What to do about a failure.
    pragmas : tuple of str
        Settings of a connection to an SQLite file.
    """

    advice: ClassVar[StorageAdvice]
    pragmas: ClassVar[tuple[str, ...]]

    def __init__(self, url: URL, name: str, timeout: float) -> None:
        self.timeout = timeout
        self._parsed, self._place = url, absolute(url)
        self._file, self._shown = file_of(self._place), shown(url)
        self._sqlite = url.get_backend_name() == "sqlite"
        self._engine: Engine | None = None
        self._let_go: Callable[[], object] | None = None  # of the engine, when this is garbage too
        self._inside: list[None] = []  # calls that use it at this moment
        self._mark: Mark | None = None  # of a file that can only be looked at
        self._process, self._worker = os.getpid(), Worker(name, timeout)

    def run(self, call: Callable[[], T]) -> T:
        """Make a call where no signal interrupts it: in the thread of this database."""
        self.check_process()
        return self._worker.run(call)

    @property
    def inside(self) -> bool:
        """Whether this is the thread of the database."""
        return self._worker.inside

    def check_process(self) -> None:
        """Refuse a process that was forked from the one which opened the database."""
        if os.getpid() != self._process:
            raise forked(self._shown)

    def _locate(self, make: bool) -> None:
        """Check the place before a connection is made; make: whether a file may be made."""

    def _connect(self, make: bool = False) -> Engine:
        self.check_process()
        if self._mark is not None and unchanging(str(self._file)) != self._mark:
            self._drop()  # somebody writes, or may write now
        if self._engine is None:
            self._locate(make)
            if self._sqlite:
                disown()
            fixed = self._mark is not None
            self._engine = connect(self._place, self.timeout, self.pragmas, fixed)
            opened = Opened(self._engine, self._process, self._inside)
            OPENED.append(opened)
            self._let_go = weakref.finalize(self, let_go, opened)
        return self._engine

    @contextmanager
    def _guard(self, write: bool = False) -> Iterator[None]:
        """Translate what the database says into a sentence with the remedy.

        What failed has changed nothing. write: whether the call was to write, so that the error
        about a file which cannot be written may say that looking still works.
        """
        self._inside.append(None)
        try:
            yield
        except UnicodeDecodeError as error:  # SQLite quotes damaged text
            self._drop()
            raise self._failure("damaged", str(error), write) from error
        except DBAPIError as error:
            self._drop()
            driver = error.orig or error
            kind = kind_of(driver, error.connection_invalidated)
            if quotes_secret(self._parsed, error):
                raise self._failure(kind, LEFT_OUT, write) from None
            raise self._failure(kind, str(driver), write) from error
        finally:
            self._inside.pop()

    def _failure(self, kind: str, said: str, write: bool = False) -> StoreError:
        """Make the sentence about what the database says; kind: as `kind_of` has it."""
        return failure(self._shown, kind, said, self.advice, self.timeout)

    @contextmanager
    def connection(self, write: bool) -> Iterator[Connection]:
        """Open a transaction: all of it is stored or nothing, on disk when it has ended.

        What went into a file that is not there any more is not acknowledged.

        Parameters
        ----------
        write : bool
            Whether the transaction may write; then nobody else can meanwhile.
        """
        with self._guard(write), self._connect().connect() as connection:
            connection.execution_options(write=write)
            with connection.begin():  # and COMMIT at its end, which returns when all is on disk
                self._check_file(connection, write)
                yield connection
                if write:
                    self._check_file(connection, write)
            if write:
                self._check_file(connection, write, ended=True)
            self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Refuse what was read of a file that cannot change, if it did: it may fit nothing."""
        if self._mark is not None and mark_of(str(self._file)) != self._mark:
            raise self._failure("collided", "the file was written meanwhile")

    def _check_file(self, connection: Connection, write: bool, ended: bool = False) -> None:
        """Check that the file is there, and has one name only.

        What nobody would find the next time is not acknowledged.
        """
        file: FileIdentity | None = connection.info.get("file")
        tail = None if file is None else file.changed()
        if file is not None and write and not ended:
            file.check_one_name()
        if tail is not None:
            if tail:
                connection.invalidate()
            raise gone(self._shown, tail, ended, self.advice)

    def _drop(self) -> None:
        if self._let_go is not None:
            self._let_go()
        self._engine = self._let_go = None

    def close(self) -> None:
        """Close the connection. A process that was forked leaves it to its parent."""
        if os.getpid() == self._process:
            self._worker.run(self._close)
        else:
            self._drop()

    def _close(self) -> None:
        self._drop()


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


class SqlStorage(Database):
    """One study in a database.

    Parameters
    ----------
    url : str
        The database, such as ``"sqlite:///lab.db"``.
    name : str
        The name of the study.
    timeout : float
        Number of seconds to wait for others.
    mode : int
        Permissions of a new file.
    """

    advice = ADVICE
    # FULL: a COMMIT waits until the -wal is on disk. `checkpoint` moves what is in it to the file,
    # outside the calls that write; a COMMIT does so only when 20,000 pages have come together
    pragmas = ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 20000")

    def __init__(self, url: str, name: str, timeout: float, mode: int = PRIVATE) -> None:
        super().__init__(parse(url), name, timeout)
        self.url, self.name, self.mode = url, name, mode
        self._study: Row[Any] | None = None  # its number and its first event, once it is known
        try:
            if is_there(self._place):  # otherwise `begin` makes it
                self._prepare()
        except BaseException:
            self.close()
            raise

    # ---- transactions

    def _locate(self, make: bool) -> None:
        check_there(self._place, self.name, make, self.mode)
        self._mark = None if self._file is None else unchanging(self._file)

    def _failure(self, kind: str, said: str, write: bool = False) -> StoreError:
        if kind == "unwritable" and write and said != LEFT_OUT:
            return read_only(self._shown, said, "file" if self._sqlite else "server")
        return super()._failure(kind, said, write)

    @in_thread
    def _prepare(self) -> None:
        with self._guard():
            prepare(self._connect(make=True))

    @contextmanager
    def transaction(self, write: bool = True) -> Iterator["SqlTransaction"]:
        """Open a transaction on the events of the study.

        SQLite has one writer at a time (BEGIN IMMEDIATE); in PostgreSQL the study's own row is the
        lock.

        Parameters
        ----------
        write : bool
            Whether the transaction may write.
        """
        with self.connection(write) as connection:
            yield self._study_in(connection, LOCK if write else FIND)

    def _study_in(self, connection: Connection, query: Any = FIND) -> "SqlTransaction":
        """Find the study.

        It is looked up every time, and its first event is compared: another study may be there
        under its name.
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
        """Write what SQLite has kept beside the file into it, while others go on.

        This has a connection of its own, so that nobody waits for it.
        """
        if self._file is not None:
            where = f"{Path(self._file).as_uri()}?mode=rw"  # which makes no file
            with self._guard(), closing(sqlite3.connect(where, uri=True, timeout=0)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @in_thread
    def copy(self, destination: Path) -> None:
        """Copy all studies that are there into a file of its own.

        This works for a file that was deleted or moved, too, as long as it is open here.

        Parameters
        ----------
        destination : Path
            The new file.
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
        """Make the study, or find the one of that name.

        Parameters
        ----------
        created : ChainedEvent
            The first event of the study.
        if_exists : str
            What to do if there is such a study: ``"error"``, ``"resume"`` or ``"replace"``.

        Returns
        -------
        Event
            The first event of the study that is there now.
        """
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
        """Return a number that no study had before.

        So, who has the old study open notices. PostgreSQL sees to it itself.
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
        """Return the first event of the study."""
        with self.transaction(write=False) as log:
            return log.events(before=2)[0][0]

    @in_thread
    def now(self) -> float:
        """Return the time by the clock of the storage."""
        if not is_there(self._place):
            return clock.now()
        with self.connection(write=False) as connection:
            return time_of(connection)

    @in_thread
    def names(self) -> list[str]:
        """Return the names of the studies in the database."""
        with self.connection(write=False) as connection:
            return list(connection.execute(NAMES).scalars())


def exists(name: str, where: str) -> StudyError:
    """Make the error about a study that is there already."""
    text = "there is a study {name!r} in {where} already"
    remedy = "go on with it with {resume}, or give another name, or {replace} to lose it"
    how = {word: OptionHint("if_exists", word) for word in ("resume", "replace")}
    return StudyError("study-exists", text, remedy=remedy, name=name, where=where, **how)
