"""Whose turn it is to write to an SQLite file: whoever has waited longest.

SQLite lets those who wait look again at intervals that grow, so that whoever comes last often goes
first. Here a ticket is a lock on one byte of a file beside the database, at the time when it was
taken: it is somebody's turn when no earlier byte is locked, and the kernel gives a ticket back when
its process dies. That is a courtesy between writers: what keeps the database whole is SQLite's own
lock, and who has waited for long takes that one out of turn, lest a process that is paused in the
queue keep the others from writing. Without such locks (they are Linux's) nobody queues.
"""

import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..report.files import PRIVATE, make_private
from .forks import forks_allowed

try:
    import fcntl

    LOCK, LOOK = fcntl.F_OFD_SETLK, fcntl.F_OFD_GETLK
except (ImportError, AttributeError):
    fcntl = None  # type: ignore[assignment]

TAIL = "-queue"
FLOCK = "hhqqi0q"  # the system's struct: kind, whence, start, length, process
IMPATIENT = 1.0  # seconds after which somebody also goes out of turn
OFTEN = 0.25  # and how often that is tried
SHORTEST, LONGEST = 0.0003, 0.005  # seconds between two looks


class Queue:
    """The writers of a file. Byte 0 is locked by everybody who is here, so that the last one to
    leave takes the file away.
    """

    def __init__(self, database: str) -> None:
        self.path = Path(os.path.realpath(database) + TAIL)
        self._file: int | None = None
        if fcntl is not None:
            with suppress(OSError):  # a folder or a file system that does not allow it
                self._open(Path(database))

    def _open(self, database: Path) -> None:
        allowed = database.stat().st_mode & 0o660 | PRIVATE
        for _ in range(10):
            make_private(self.path, allowed)
            made = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            # unless the last one is just taking it away
            if _locked(made, fcntl.F_RDLCK, 0) and _leads_to(self.path, made):
                self._file = made
                return
            os.close(made)
            time.sleep(SHORTEST)

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                if _leads_to(self.path, self._file) and _locked(self._file, fcntl.F_WRLCK, 0):
                    self.path.unlink()
            self.abandon()

    def abandon(self) -> None:
        """Without a word to the others: a child, whose tickets are its parent's too."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @contextmanager
    def turn(self, timeout: float, free: Callable[[], bool]) -> Iterator[float]:
        """Wait for it, at most so many seconds; how many are left. free: whether SQLite would let
        us write at this moment.
        """
        began, ticket = time.monotonic(), self._take()
        try:
            yield max(timeout - self._wait(ticket, began, timeout, free), 0.0)
        finally:
            if ticket is not None and self._file is not None:
                with suppress(OSError):
                    _locked(self._file, fcntl.F_UNLCK, ticket)

    def _take(self) -> int | None:
        if self._file is None:
            return None
        ticket = time.monotonic_ns() // 1000 + 1
        with suppress(OSError):
            while not _locked(self._file, fcntl.F_WRLCK, ticket):
                ticket += 1
            return ticket
        return None

    def _wait(
        self, ticket: int | None, began: float, timeout: float, free: Callable[[], bool]
    ) -> float:
        """How long it took."""
        tried = began + IMPATIENT - OFTEN
        while True:
            now = time.monotonic()
            first = None if ticket is None else self._first(ticket)
            if ticket is None or first is None or now - began >= timeout:
                return now - began
            if now - tried >= OFTEN:
                tried = now
                if free():
                    return now - began
            # the further behind, the less often
            pause = min(max((ticket - first) * 1e-7, SHORTEST), LONGEST, began + timeout - now)
            with forks_allowed():
                time.sleep(pause)

    def _first(self, ticket: int) -> int | None:
        """One of those who are earlier, if there are any."""
        if self._file is None:
            return None
        asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 1, ticket - 1, 0)
        try:
            kind, _, start, *_ = struct.unpack(FLOCK, fcntl.fcntl(self._file, LOOK, asked))
        except OSError:  # a file system that has forgotten how
            return None
        return None if kind == fcntl.F_UNLCK else start


def _locked(file: int, kind: int, byte: int) -> bool:
    """Lock a byte of a file, or unlock it; False if somebody else has it."""
    try:
        fcntl.fcntl(file, LOCK, struct.pack(FLOCK, kind, os.SEEK_SET, byte, 1, 0))
    except BlockingIOError:
        return False
    return True


def _leads_to(path: Path, file: int) -> bool:
    """Whether a path still leads to the file that is open."""
    try:
        there: Any = path.stat()
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(file))
