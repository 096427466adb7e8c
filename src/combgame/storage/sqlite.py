"""Open SQLite files, begin transactions, and see whether the file that is open is still there.

A file that is deleted, moved or replaced while a process has it open has no name any more, and what
the process writes to it is lost when the process ends. The same holds for what SQLite keeps beside
the file: the -wal (the last transactions, which are nowhere else) and the -shm (its index).
"""

import math
import os
import random
import sqlite3
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import StaticPool

from . import clock
from .errors import kind_of
from .files import check_one_name
from .urls import file_of

OPENING = threading.RLock()
OPEN: WeakSet["FileIdentity"] = WeakSet()  # the files that this process has open
PAUSE = 0.004  # seconds between two attempts to begin, on average


def sqlite_engine(url: URL, timeout: float, pragmas: Sequence[str], fixed: bool) -> Engine:
    """Make an engine with a single connection to an SQLite database.

    Parameters
    ----------
    url : URL
        A file, which must exist, or ``:memory:``.
    timeout : float
        Number of seconds to wait for another process that is writing.
    pragmas : sequence of str
        Settings of every new connection, such as ``"synchronous = FULL"``.
    fixed : bool
        Whether the file can only be looked at and does not change (see `unchanging`).

    Returns
    -------
    Engine
        An engine that is not connected yet. The `FileIdentity` of its file is ``info["file"]`` of
        its connection.
    """
    path, where = file_of(url), str(url.database)
    if path is not None:
        how = "ro&immutable=1" if fixed else "rw"  # neither makes a file
        where = f"{Path(path).absolute().as_uri()}?mode={how}"
    opened = partial(sqlite3.connect, where, timeout, check_same_thread=False, uri=path is not None)
    made = create_engine(url, poolclass=StaticPool, creator=opened)

    @event.listens_for(made, "connect")
    def connected(connection: Any, record: Any) -> None:
        # known before it has any locks, which `read_head` might drop
        file = record.info["file"] = None if path is None else FileIdentity(path)
        try:
            connection.isolation_level = None  # transactions begin as `begin` says
            for pragma in () if fixed else pragmas:
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            if file is not None:
                file.close()
            raise

    @event.listens_for(made, "close")
    def closed(connection: Any, record: Any) -> None:
        if record.info.get("file") is not None:
            record.info["file"].close()

    @event.listens_for(made, "begin")
    def begins(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        try:
            begin(driver, bool(connection.get_execution_options().get("write")), timeout)
        except sqlite3.Error as error:
            raise OperationalError("BEGIN", None, error) from error

    return made


def begin(db: sqlite3.Connection, write: bool, timeout: float) -> None:
    """Begin a transaction.

    Parameters
    ----------
    db : sqlite3.Connection
        A connection without a transaction.
    write : bool
        Whether the transaction keeps others from writing.
    timeout : float
        Number of seconds to wait for another transaction that writes.

    Notes
    -----
    All who wait try again after random pauses of the same mean length. SQLite's own waiting takes
    longer and longer pauses, so that the last to come is often the first to be served.
    """
    db.execute("PRAGMA shrink_memory")  # cached pages may be of a file that was copied over since
    if not write:
        db.execute("BEGIN")
        return
    end = time.monotonic() + timeout
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
        db.execute(f"PRAGMA busy_timeout = {math.ceil(1000.0 * timeout)}")


def look(path: str | Path) -> os.stat_result | None:
    """Return the status of a file as it is now; None if there is no such file."""
    try:
        return os.stat(path)  # noqa: PTH116  (a Path would cost more than the look)
    except OSError:
        return None


def same(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    """Return whether two statuses are of the same file."""
    if one is None or other is None:
        return one is other
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


class FileIdentity:
    """The identity of a file that this process has open.

    Parameters
    ----------
    path : str
        The file, which has just been opened.

    Notes
    -----
    What SQLite puts beside the file is known from the first look inside a transaction on.
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
        """Look for what is no longer there, or is another file.

        Returns
        -------
        str or None
            The ending of the first such file: ``""`` (the file itself), ``"-wal"`` or ``"-shm"``;
            None if all is well.
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
        """Return the time by the clock of the machine that holds the file.

        Notes
        -----
        The -shm is touched, and its new time is read: it is there as long as anybody may write, and
        its time has no other use. Without a -shm that may be touched, the time is this machine's.
        """
        try:
            os.utime(self.places["-shm"])  # to the time of whoever keeps the file, not to ours
            return os.stat(self.places["-shm"]).st_mtime  # noqa: PTH116  (a Path would cost more)
        except OSError:
            return clock.now()

    def leads_to(self, path: Path) -> bool:
        """Return whether a path leads to this file, by whatever name."""
        return same(self._known[""], look(path))

    def close(self) -> None:
        """Note that the file is not open any more."""
        with OPENING:
            OPEN.discard(self)


def read_head(path: Path) -> bytes | None:
    """Read the first 100 bytes of a file.

    Returns
    -------
    bytes or None
        None if this process has the file open, so that its head was read before.

    Notes
    -----
    In POSIX, closing a file drops all locks that the process has on it, SQLite's too.
    """
    with OPENING:
        if any(one.leads_to(path) for one in OPEN):
            return None
        with path.open("rb") as file:
            return file.read(100)
