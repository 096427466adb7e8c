"""SQLite files that can only be looked at.

Even to read a file, SQLite makes a -wal and a -shm beside it. Where nothing can be made, it could
not be read at all; and where the file is somebody else's, these would shut out whoever owns it. A
file to which nobody has a -wal does not change until somebody begins to write, so it is opened as
one that never changes, and whether it did is looked at before and after each look.
"""

import os
from pathlib import Path
from typing import NamedTuple

from .._messages import Call, Phrase
from ..errors import StoreError


class Mark(NamedTuple):
    """A file as it was: what tells it from another, how long it is, when it was written."""

    device: int
    inode: int
    size: int
    written: int


def mark_of(path: str) -> Mark | None:
    try:
        here = os.stat(path)  # noqa: PTH116  (a Path would cost more than the look)
    except OSError:
        return None
    return Mark(here.st_dev, here.st_ino, here.st_size, here.st_mtime_ns)


def unchanging(path: str) -> Mark | None:
    """The mark of a file that can only be looked at, as long as nobody has it open to write; None
    for all others.
    """
    real = os.path.realpath(path)  # SQLite follows links before it adds its endings
    if not Path(real).exists() or (_writable(real) and _writable(str(Path(real).parent))):
        return None
    at_work = _length(f"{real}-wal") or _length(f"{real}-shm") is not None
    return None if at_work or _length(f"{real}-journal") else mark_of(path)


def check_legible(path: str) -> None:
    """Refuse a file that cannot be read, or of which a part cannot."""
    real = os.path.realpath(path)
    if Path(real).exists() and not os.access(real, os.R_OK):
        text, remedy = "{path} cannot be read", "change the permissions, or name another file"
        raise StoreError("unreadable-file", text, remedy=remedy, path=path)
    if (
        _length(f"{real}-wal")
        and _length(f"{real}-shm") is None
        and not _writable(str(Path(real).parent))
    ):
        text = (
            "{path}: the last transactions are in {path}-wal, and SQLite cannot read them where it "
            "cannot write"
        )
        remedy = "take both files to a folder that you may write, and open {path} there"
        raise StoreError("journal-unread", text, remedy=remedy, path=path)


def read_only(where: str, why: str, kind: str) -> StoreError:
    """Somebody wants to write to what can only be looked at. kind: "file", "server", or "service"
    for whoever uses one, and has neither.
    """
    text = "{where} can only be looked at, and nothing was stored ({why})"
    if kind == "service":
        remedy = "{export} works nevertheless; to write, ask whoever runs the service"
    elif kind == "server":
        remedy = "{export} works nevertheless; to write, name the primary server, or a user who may"
    else:
        remedy = (
            "{export} and {copy} work nevertheless; to write, change the permissions of the file "
            "and of its folder"
        )
    export, copy = Call("export", "path"), Phrase("copy")
    about = {"where": where, "why": why, "export": export, "copy": copy}
    return StoreError("read-only", text, remedy=remedy, **about)


def _writable(path: str) -> bool:
    return os.access(path, os.W_OK)


def _length(path: str) -> int | None:
    """None: there is no such file."""
    known = mark_of(path)
    return None if known is None else known.size
