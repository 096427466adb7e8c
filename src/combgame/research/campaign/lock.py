"""The lock beside a campaign file, so that one process at a time writes the file.

The system frees it when the process dies.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ..._display.files import PRIVATE, make_private
from ...errors import StoreError
from ...storage.files import check_place

PATIENCE = 0.5  # seconds: perhaps only somebody who looks


@contextmanager
def locked(path: Path, mode: int = PRIVATE) -> Iterator[None]:
    """Keep other processes from writing a campaign file.

    Parameters
    ----------
    path : Path
        The campaign file, which need not exist yet.
    mode : int
        Permissions of a file that is still to be made.
    """
    check_place(path)
    beside = lock_path(path)
    lock = FileLock(beside, timeout=PATIENCE)
    try:
        # who may write the file may hold its lock
        known = path.stat().st_mode & 0o660 if path.exists() else mode
        make_private(beside, known | PRIVATE)
        lock.acquire()
    except Timeout:
        text, remedy = "{path} is being written by {holder}", "wait until it has finished"
        about = {"path": str(path), "holder": holder(path)}
        raise StoreError("being-written", text, remedy=remedy, **about) from None
    except OSError as error:
        raise unusable(path, error) from error
    try:
        with suppress(OSError):  # who it is matters less than that it is held
            beside.write_text(f"process {os.getpid()} on {platform.node()}")
        yield
    finally:
        with suppress(OSError):
            beside.write_text("")
        lock.release()


def holder(path: Path) -> str | None:
    """Say which process writes a campaign file now, if any does."""
    beside = lock_path(path)
    try:
        if beside.exists():
            FileLock(beside, timeout=0.0).acquire().lock.release()
    except Timeout:
        with suppress(OSError):
            return beside.read_text().strip() or "another process"
        return "another process"
    except OSError:
        pass
    return None


def lock_path(path: Path) -> Path:
    """Return the path of the lock of a campaign file."""
    return path.with_name(path.name + ".lock")


def unusable(path: Path, error: OSError) -> StoreError:
    """Make the error about a file that the system does not let us read or write."""
    text, remedy = "{path} cannot be used ({why})", "change the permissions, or name another file"
    return StoreError("no-access", text, remedy=remedy, path=str(path), why=error.strerror)
