"""One writer per file."""

import os
import platform
import time
from contextlib import suppress
from pathlib import Path

from ..errors import StoreError
from ..report.files import PRIVATE, make_private
from .files import check_place


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
