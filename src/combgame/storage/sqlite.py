"""SQLite as it is used here, by whichever driver: how a connection is set up, how a transaction
begins, and when what was written counts as stored.

Studies come through SQLAlchemy, because they may also live in PostgreSQL, and many write at a time
(a write-ahead log). Campaigns use `SqliteFile`, on the same functions: they have one writer, and
one file that is whole by itself whenever nobody writes (a rollback journal, synchronous = EXTRA);
it is marked as theirs in its head, which must be read before a driver touches it; and what is
damaged is read row by row, from a file that no driver of SQLAlchemy's would connect to.

Whether the SQLite file that is open is still the one that the path leads to; and which files
this process has open.

Who deletes, moves or replaces a file that a process has open leaves that process with a file
without a name, and what it writes there is gone when it ends. The same holds for the -wal beside it
(the last transactions are in there, and nowhere else) and the -shm (its index).
"""

import math
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from ..errors import StoreError
from .errors import Advice, failure, gone, kind_of
from .files import identity
from .process import LOCKS, deferred, whole

OPENING = threading.RLock()
LOCKS.append(OPENING)
OPEN: WeakSet["SameFile"] = WeakSet()  # the files that this process has open


class SameFile:
    """A file that has just been opened. What SQLite puts beside it is known from the first look
    inside a transaction on.
    """

    def __init__(self, path: str) -> None:
        real = os.path.realpath(path)  # SQLite follows links before it adds its endings
        self.path = path
        self.places = {"": path, "-wal": real + "-wal", "-shm": real + "-shm"}
        self._known = {"": identity(path)}
        with OPENING:
            OPEN.add(self)

    def changed(self) -> str | None:
        """The ending of what is no longer there, or is another file: "" (the file itself), "-wal"
        or "-shm"; None: all is well.
        """
        for tail, place in self.places.items():
            here = identity(place)
            if self._known.get(tail) is None:  # without a journal of that kind there is none
                self._known[tail] = here
            elif here != self._known[tail]:
                return tail
        return None

    def leads_to(self, path: Path) -> bool:
        """Whether a path leads to this file, by whatever name."""
        return self._known[""] == identity(path)

    def close(self) -> None:
        with OPENING:
            OPEN.discard(self)


def read_head(path: Path) -> bytes | None:
    """The first 100 bytes of a file; None if this process has it open, so that it was looked at
    before.

    Whoever closes a file drops all locks that its process has on it, SQLite's too: that is what
    POSIX says.
    """
    with OPENING:
        if any(one.leads_to(path) for one in OPEN):
            return None
        with path.open("rb") as file:
            return file.read(100)


def set_up(connection: sqlite3.Connection, synchronous: str, journal: str | None = None) -> None:
    """Transactions begin as we say, and are on disk when they have ended."""
    connection.isolation_level = None
    if journal is not None:
        connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute(f"PRAGMA synchronous = {synchronous}")


def begin(execute: Callable[[str], object], write: bool, patience: float | None = None) -> None:
    """Pages that SQLite remembers may be of another file, if somebody has copied one over it. Only
    one writes at a time, from the beginning of its transaction on. execute: as the driver does,
    with its own errors. patience: how many seconds to wait for another writer, if not as before.
    """
    execute("PRAGMA shrink_memory")
    if patience is not None:
        execute(f"PRAGMA busy_timeout = {math.ceil(1000 * patience)}")
    execute("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def transaction(
    begun: AbstractContextManager[object], check: Callable[[bool], None], write: bool
) -> Iterator[None]:
    """A transaction in a file that must stay where it is: what went into one that is gone is not
    acknowledged. check: raises if it is gone; its argument says whether the transaction has ended.
    """
    with begun:
        check(False)
        yield
        if write:
            check(False)
    if write:
        check(True)


def begin_at_once(connection: sqlite3.Connection) -> bool:
    """Begin to write, if nobody else does at this moment."""
    try:
        begin(connection.execute, write=True, patience=0.0)
    except sqlite3.Error:  # whoever waits for it then hears it
        return False
    return True


class SqliteFile:
    """A file of SQLite's that is open. patience: how many seconds to wait for another process that
    is writing; advice: what to do if something fails.
    """

    def __init__(self, path: Path, patience: float, synchronous: str, advice: Advice) -> None:
        self.path, self.patience, self.advice = path, patience, advice
        with OPENING:
            self.db = sqlite3.connect(path, timeout=patience)
            self.file = SameFile(str(path.absolute()))
        try:
            set_up(self.db, synchronous)
        except (sqlite3.Error, UnicodeDecodeError):
            self.close()
            raise

    def close(self) -> None:
        self.db.close()
        self.file.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it or nothing, on disk when it has ended. Ctrl-C waits for that."""
        with deferred(), whole(), self._guard(), self.transaction(write=True):
            yield self.db

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with deferred(), whole(), self._guard(), self.transaction(write=False):
            yield self.db

    @contextmanager
    def transaction(self, write: bool) -> Iterator[None]:
        """The same with SQLite's own errors, for whoever looks for damage."""
        with transaction(self._begun(write), self._check, write):
            yield

    @contextmanager
    def _begun(self, write: bool) -> Iterator[None]:
        try:
            begin(self.db.execute, write)
            yield
            self.db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error, UnicodeDecodeError):
                self.db.execute("ROLLBACK")
            raise

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            why = legibly(error)
            raise file_failure(self.path, why, self.advice, self.patience) from error

    def _check(self, ended: bool) -> None:
        tail = self.file.changed()
        if tail is not None:
            raise gone(str(self.path), tail, ended, self.advice)


def legibly(error: sqlite3.Error | UnicodeDecodeError) -> sqlite3.Error:
    """What SQLite says of a damaged file may quote damaged text, which Python cannot read."""
    return error if isinstance(error, sqlite3.Error) else sqlite3.DatabaseError(str(error))


def file_failure(path: Path, error: sqlite3.Error, advice: Advice, patience: float) -> StoreError:
    """What SQLite says, as a sentence. What stands in the file and cannot be read is damage."""
    kind = "damaged" if damages(error) else kind_of(error)
    return failure(str(path), kind, str(error), advice, patience)


def damages(error: sqlite3.Error) -> bool:
    """Whether an error says that something is wrong with what stands in the file, and not with the
    disk, the permissions or somebody else.
    """
    return kind_of(error) in ("damaged", "other")
