"""SQLite as it is used here, by whichever driver: how a connection is set up, how a transaction
begins, and when what was written counts as stored.

Studies come through SQLAlchemy, because they may also live in PostgreSQL, and many write at a time
(a write-ahead log). Campaigns use `SqliteDatabase`, on the same functions: they have one writer, and
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
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from ..errors import StoreError
from . import clock
from .errors import StorageAdvice, failure, gone, kind_of
from .files import check_one_name

OPENING = threading.RLock()
OPEN: WeakSet["FileIdentity"] = WeakSet()  # the files that this process has open


def look(path: str | Path) -> os.stat_result | None:
    """A file as it is now; None if there is none."""
    try:
        return os.stat(path)  # noqa: PTH116  (a Path would cost more than the look)
    except OSError:
        return None


def same(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    """Whether these are looks at the same file."""
    if one is None or other is None:
        return one is other
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


class FileIdentity:
    """A file that has just been opened. What SQLite puts beside it is known from the first look
    inside a transaction on.
    """

    def __init__(self, path: str) -> None:
        real = os.path.realpath(path)  # SQLite follows links before it adds its endings
        self.path = path
        self.places = {"": path, "-wal": real + "-wal", "-shm": real + "-shm"}
        self._known = {"": look(path)}
        self._names = 1  # how many it had at the last look
        with OPENING:
            OPEN.add(self)

    def changed(self) -> str | None:
        """The ending of what is no longer there, or is another file: "" (the file itself), "-wal"
        or "-shm"; None: all is well.
        """
        for tail, place in self.places.items():
            here = look(place)
            if self._known.get(tail) is None:  # without a journal of that kind there is none
                self._known[tail] = here
            elif not same(here, self._known[tail]):
                return tail
            if tail == "" and here is not None:
                self._names = here.st_nlink
        return None

    def check_one_name(self) -> None:
        """Refuse a file that had several names at the last look."""
        if self._names > 1:
            check_one_name(self.path)

    def now(self) -> float:
        """The time, as the machine has it that holds the file; this machine's where it must not be
        touched.

        What is touched is the index of what was written last: it is there as long as anybody may
        write, and nobody goes by its time.
        """
        try:
            os.utime(self.places["-shm"])  # to the time of whoever keeps the file, not to ours
            return os.stat(self.places["-shm"]).st_mtime  # noqa: PTH116  (a Path would cost more)
        except OSError:
            return clock.now()

    def leads_to(self, path: Path) -> bool:
        """Whether a path leads to this file, by whatever name."""
        return same(self._known[""], look(path))

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


PAUSE = 0.004  # seconds between two attempts to begin, on average


def begin(db: sqlite3.Connection, write: bool, patience: float) -> None:
    """Begin a transaction; patience: seconds to wait for another one that writes.

    Whoever waits looks again after a random time of the same length for all. (SQLite's own waiting
    takes longer and longer pauses, so that whoever comes last often goes first.)
    """
    db.execute("PRAGMA shrink_memory")  # these pages may be of a file that was copied over
    if not write:
        db.execute("BEGIN")
        return
    end = time.monotonic() + patience
    db.execute("PRAGMA busy_timeout = 0")
    try:
        while not db.in_transaction:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                left = end - time.monotonic()
                if kind_of(error) != "busy" or left <= 0.0:
                    raise
                time.sleep(min(random.uniform(0.0, 2.0 * PAUSE), left))
    finally:
        db.execute(f"PRAGMA busy_timeout = {math.ceil(1000.0 * patience)}")


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


class SqliteDatabase:
    """A file of SQLite's that is open. patience: how many seconds to wait for another process that
    is writing; advice: what to do if something fails.
    """

    def __init__(
        self, path: Path, patience: float, synchronous: str, advice: StorageAdvice
    ) -> None:
        self.path, self.patience, self.advice = path, patience, advice
        with OPENING:
            self.db = sqlite3.connect(path, timeout=patience)
            self.file = FileIdentity(str(path.absolute()))
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
        """A transaction: all of it or nothing, on disk when it has ended."""
        with self._guard(), self.transaction(write=True):
            yield self.db

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._guard(), self.transaction(write=False):
            yield self.db

    @contextmanager
    def transaction(self, write: bool) -> Iterator[None]:
        """The same with SQLite's own errors, for whoever looks for damage."""
        with transaction(self._begun(write), self._check, write):
            yield

    @contextmanager
    def _begun(self, write: bool) -> Iterator[None]:
        if self.db.in_transaction:  # an interrupt kept the last one from being taken back
            self.db.rollback()
        try:
            begin(self.db, write, self.patience)
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


def file_failure(
    path: Path, error: sqlite3.Error, advice: StorageAdvice, patience: float
) -> StoreError:
    """What SQLite says, as a sentence. What stands in the file and cannot be read is damage."""
    kind = "damaged" if damages(error) else kind_of(error)
    return failure(str(path), kind, str(error), advice, patience)


def damages(error: sqlite3.Error) -> bool:
    """Whether an error says that something is wrong with what stands in the file, and not with the
    disk, the permissions or somebody else.
    """
    return kind_of(error) in ("damaged", "other")
