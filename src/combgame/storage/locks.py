"""Whose turn it is to write to an SQLite file: whoever has waited longest.

SQLite lets those who wait look again at intervals that grow, so that whoever comes last often goes
first. Here a ticket is a lock on one byte of a file beside the database, at the time when it was
taken: it is somebody's turn when no earlier byte is locked, and the kernel gives a ticket back when
its process dies. Who has written calls the next one.

That is a courtesy between writers: what keeps the database whole is SQLite's own lock, and if the
queue does not move, whoever can takes that one out of turn, lest a process that is paused in the
queue keep the others from writing. Without such locks (they are Linux's) nobody queues.

One writer per file.
"""

import math
import os
import platform
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._display.files import PRIVATE, make_private
from ..errors import StoreError
from .files import check_place
from .process import forks_allowed


class Lock:
    """One writer per file; the kernel frees it when its process dies, however it dies. mode: what
    a file that is still to be made allows.
    """

    def __init__(self, path: Path, mode: int = PRIVATE) -> None:
        self.store, self.path, self.mode = path, lock_path(path), mode

    def __enter__(self) -> "Lock":
        check_place(self.store)
        try:
            import fcntl
        except ImportError:  # not a POSIX system: SQLite alone keeps the file whole
            self.file = None
            return self
        try:
            # who may write the file may hold its lock
            known = self.store.stat().st_mode & 0o660 if self.store.exists() else self.mode
            make_private(self.path, known | PRIVATE)
            self.file = self.path.open("ab+", buffering=0)
        except OSError as error:
            raise unusable(self.store, error) from error
        for attempt in range(10):
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:  # perhaps only somebody who looks
                if attempt == 9:
                    self.file.close()
                    text = "{path} is being written by {holder}"
                    about = {"path": str(self.store), "holder": Lock.holder(self.path)}
                    remedy = "wait until it has finished"
                    raise StoreError("being-written", text, remedy=remedy, **about) from None
                time.sleep(0.05)
        with suppress(OSError):  # who it is matters less than that it is held
            self.file.truncate(0)
            self.file.write(f"process {os.getpid()} on {platform.node()}".encode())
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            with suppress(OSError):
                self.file.truncate(0)
            self.file.close()

    @staticmethod
    def holder(lock: Path) -> str | None:
        """Who holds a lock now."""
        try:
            import fcntl

            with lock.open() as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    return file.read().strip() or "another process"
        except (ImportError, OSError):
            pass
        return None


def lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def unusable(path: Path, error: OSError) -> StoreError:
    """A file that the system does not let us read or write."""
    text, remedy = "{path} cannot be used ({why})", "change the permissions, or name another file"
    return StoreError("no-access", text, remedy=remedy, path=str(path), why=error.strerror)


try:
    import fcntl

    LOCK, LOOK = fcntl.F_OFD_SETLK, fcntl.F_OFD_GETLK
except (ImportError, AttributeError):
    fcntl = None  # type: ignore[assignment]

TAIL = "-queue"
FLOCK = "hhqqi0q"  # the system's struct: kind, whence, start, length, process
STUCK = 1.0  # seconds for which the same one has been first: then others try, too
OFTEN = 0.25  # and how often
LOOKS = 0.05  # seconds between two looks of somebody who is not called
LAST = 1 << 62


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
            time.sleep(0.001)

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
    def turn(self, timeout: float, begin: Callable[[], bool]) -> Iterator[float | None]:
        """Wait for it, at most so many seconds; how many are left, or None if the transaction has
        begun. begin: begins it, if nobody else writes at this moment.
        """
        ticket = self._take()
        try:
            yield timeout if ticket is None else self._wait(ticket, timeout, begin)
        finally:
            if ticket is not None and self._file is not None:
                with suppress(OSError):
                    _locked(self._file, fcntl.F_UNLCK, ticket)
                    self._call_next(ticket)

    def _take(self) -> int | None:
        if self._file is None:
            return None
        ticket = time.monotonic_ns() // 1000 + 1
        with suppress(OSError):
            while not _locked(self._file, fcntl.F_WRLCK, ticket):
                ticket += 1
            return ticket
        return None

    def _wait(self, ticket: int, timeout: float, begin: Callable[[], bool]) -> float | None:
        end = time.monotonic() + timeout
        first = self._first(ticket)
        if first == ticket:
            return timeout
        with self._bell(ticket) as bell:
            seen, tries = 0, math.inf
            calls = select.poll()  # `select` itself takes no file beyond number 1,023
            calls.register(bell, select.POLLIN)
            while True:
                first, now = self._first(ticket), time.monotonic()
                if first == ticket or now >= end:
                    return max(end - now, 0.0)
                if first != seen:
                    seen, tries = first, now + STUCK
                if now >= tries:
                    if begin():
                        return None
                    tries = now + OFTEN
                with forks_allowed():
                    calls.poll(1000.0 * min(LOOKS, end - now))

    def _call_next(self, ticket: int) -> None:
        """Ring the bell of the earliest of those who came later."""
        later, following = LAST, None
        while (found := self._between(ticket + 1, later)) is not None:
            later = following = found
        if following is not None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as caller:
                caller.setblocking(False)
                caller.sendto(b"!", self._address(following))

    @contextmanager
    def _bell(self, ticket: int) -> Iterator[socket.socket]:
        """Where somebody who waits is called; who is not called looks by himself now and then."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
            made.setblocking(False)
            with suppress(OSError):
                made.bind(self._address(ticket))
            yield made

    def _address(self, ticket: int) -> str:
        """A name that is no file."""
        here = os.fstat(self._file or 0)
        return f"\0combgame {here.st_dev} {here.st_ino} {ticket}"

    def _first(self, ticket: int) -> int:
        """The earliest ticket."""
        while (earlier := self._between(1, ticket)) is not None:
            ticket = earlier
        return ticket

    def _between(self, least: int, ticket: int) -> int | None:
        """A ticket of somebody else's from `least` on, before another one."""
        if self._file is None or least >= ticket:
            return None
        asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, least, ticket - least, 0)
        with suppress(OSError):  # a file system that has forgotten how
            kind, _, found, *_ = struct.unpack(FLOCK, fcntl.fcntl(self._file, LOOK, asked))
            return None if kind == fcntl.F_UNLCK else int(found)
        return None


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
