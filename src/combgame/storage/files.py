"""Files of data: their places and names, copies, rescue, and files that can only be looked at.

A file of studies is copied while others write to it. (The bare file is not enough: the last
transactions are in the -wal beside it.) What can still be read of a damaged file is read row by
row, and a repaired file takes its place in one step.
"""

import errno
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from .._display.files import PRIVATE, check_path, make_private
from .._messages import CallHint, PhraseHint
from ..errors import InputError, StoreError
from .urls import file_of, parse

BESIDE = ("-wal", "-shm", "-journal")  # what SQLite puts beside a file


def beside(path: Path) -> list[Path]:
    """Return the paths of what SQLite puts beside a file."""
    return [path.with_name(path.name + tail) for tail in BESIDE]


OTHERS = {  # what is no file, in words
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


SYSTEM = ("/proc/", "/sys/")  # what is there looks like files, and is none


def check_place(path: Path) -> None:
    """Refuse a path where no file can be.

    Nothing makes folders, and what is no file is never opened: opening a pipe would wait for ever.
    """
    _check_length(path)
    if os.path.realpath(path).startswith(SYSTEM):
        raise _not_regular(path, "a part of the system", Path.cwd())
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except OSError:
        kind = 0
    if kind in OTHERS:
        raise _not_regular(path, OTHERS[kind], path.parent)
    if kind == stat.S_IFDIR:
        example = path / "lab.db"
        remedy = "name a file in it, such as {example}"
        raise StoreError(
            "is-folder", "{path} is a folder", remedy=remedy, path=str(path), example=str(example)
        )
    folder = path.parent
    if not folder.is_dir():
        text = "{path} cannot be read or written, because the folder {folder} does not exist"
        remedy = "check the path, or make the folder"
        raise StoreError("no-folder", text, remedy=remedy, path=str(path), folder=str(folder))


def _not_regular(path: Path, kind: str, folder: Path) -> StoreError:
    text, remedy = "{path} is {kind}, not a file", "name a file, such as {example}"
    about = {"path": str(path), "kind": kind, "example": str(folder / "lab.db")}
    return StoreError("not-regular", text, remedy=remedy, **about)


def _check_length(path: Path) -> None:
    """Refuse a name that is too long with the ending of what SQLite puts beside it."""
    try:
        os.stat(f"{path}{BESIDE[-1]}")  # noqa: PTH116  (the longest of them)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) != errno.ENAMETOOLONG:
            return
        text = "{path} is a longer name than the file system has, with what SQLite puts beside it"
        remedy = "choose a shorter name"
        raise StoreError("name-too-long", text, remedy=remedy, path=str(path)) from None


def check_one_name(path: str | Path) -> None:
    """Refuse a file with several names.

    SQLite keeps what was stored last beside the name by which it was opened, and those who come by
    another name would not see it.
    """
    try:
        names = os.stat(path).st_nlink  # noqa: PTH116  (a Path would cost more than the look)
    except OSError:
        return
    if names > 1:
        text = (
            "{path} is one of {names} names of the same file (hard links): what is stored under "
            "one of them is damaged or lost under the others"
        )
        remedy = (
            "take the others away, and keep the one beside which there is a -wal, if there is one"
        )
        raise StoreError("hard-link", text, remedy=remedy, path=str(path), names=names)


def give_name(made: Path, destination: Path) -> None:
    """Give a file its name, unless there is such a file.

    A link fails where somebody else has just made a file of that name; renaming would overwrite it.
    """
    try:
        os.link(made, destination)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        made.rename(destination)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    with suppress(OSError):  # systems that cannot sync one
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


HAS_STUDIES = "SELECT 1 FROM sqlite_master WHERE name = 'combgame_studies'"


def path_of(destination: Any) -> Path:
    """Return a path, even if it is given as sqlite:///file.

    Examples
    --------
    >>> str(path_of("sqlite:///copy.db"))
    'copy.db'
    """
    if destination == "" or (isinstance(destination, str) and "://" in destination):
        path = file_of(parse(destination)) if destination.startswith("sqlite:///") else None
        if path is None:
            raise InputError("not-a-file", "copy: the destination must be a file, such as copy.db")
        return check_path("destination", path)
    return check_path("destination", destination)


def copy_file(source: sqlite3.Connection, destination: Path, mode: int = PRIVATE) -> None:
    """Copy all of a database as it is at one moment, or nothing.

    The copy is written beside its destination and gets its name when it is whole.

    Parameters
    ----------
    source : sqlite3.Connection
        A connection to the database.
    destination : Path
        The new file.
    mode : int
        Its permissions.
    """
    for taken in (destination, *beside(destination)):
        if os.path.lexists(taken):
            text = "{path} is there already, and nothing is overwritten"
            remedy = "name another destination"
            raise StoreError("already-there", text, remedy=remedy, path=str(taken))
    part = destination.with_name(f".{destination.name}.{os.getpid()}.part")
    try:
        make_private(part, mode)
        with closing(sqlite3.connect(part)) as target:
            source.backup(target)
            whole = target.execute(HAS_STUDIES).fetchone() is not None
        if whole:
            give_name(part, destination)
            sync_folder(destination.parent)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        text = "{path} cannot be written ({why})"
        remedy = "check the folder and the room on the disk, or name another destination"
        raise StoreError(
            "copy-failed", text, remedy=remedy, path=str(destination), why=why
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    if not whole:
        text = "there are no studies in it (any more), so there is nothing to copy"
        raise StoreError("nothing-to-copy", text, remedy="go back to an earlier copy")


Rows = list[tuple[Any, ...]]


def recover_rows(path: Path, tables: Sequence[str]) -> tuple[Rows, ...]:
    """Read every row that can be read of some tables of a damaged file.

    Parameters
    ----------
    path : Path
        The file, of which no row was ever deleted.
    tables : sequence of str
        Names of the tables.

    Returns
    -------
    tuple of lists
        The rows of each table.
    """
    bound = path.stat().st_size // 16 + 2  # no row is shorter
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        # a file that is shorter than its header says is refused otherwise
        db.execute("PRAGMA writable_schema = ON")
        return tuple(list(_legible(db, table, bound)) for table in tables)
    finally:
        db.close()


def _legible(db: sqlite3.Connection, table: str, bound: int) -> Iterator[tuple[Any, ...]]:
    """Read the rows of a table, all at once, and from the first failure on one by one."""
    last = 0
    try:
        for row in db.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid"):
            last = row[0]
            yield row[1:]
    except (sqlite3.Error, UnicodeDecodeError):
        for number in range(last + 1, bound):
            with suppress(sqlite3.Error, UnicodeDecodeError):
                yield from db.execute(f"SELECT * FROM {table} WHERE rowid = ?", (number,))


def replace(damaged: Path, mended: Path) -> Path:
    """Put a repaired file in the place of a damaged one.

    This is one step: a kill leaves the one or the other.

    Parameters
    ----------
    damaged : Path
        The damaged file.
    mended : Path
        The repaired file.

    Returns
    -------
    Path
        Where the damaged file is now.
    """
    with mended.open("rb+") as file:
        os.fsync(file.fileno())
    aside = _free(damaged.with_name(f"{damaged.name}.damaged-{time.strftime('%Y%m%dT%H%M%S')}"))
    try:
        aside.hardlink_to(damaged)
    except OSError:  # a file system without them
        shutil.copy2(damaged, aside)
    for one in beside(damaged):
        one.unlink(missing_ok=True)
    mended.replace(damaged)
    sync_folder(damaged.parent)
    return aside


def _free(path: Path) -> Path:
    """Return this path, or the first with a number behind it that is free."""
    names = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 1000)))
    return next((one for one in names if not one.exists()), path)


# ---- files that can only be looked at
#
# Even to read a file, SQLite makes a -wal and a -shm beside it. Where nothing can be made, it could
# not be read at all; and where the file is somebody else's, these would shut out whoever owns it. A
# file to which nobody has a -wal does not change until somebody begins to write, so it is opened as
# one that never changes, and whether it did is looked at before and after each look.


class Mark(NamedTuple):
    """What tells whether a file has changed.

    Attributes
    ----------
    device, inode : int
        Which file it is.
    size : int
        Its length.
    written : int
        When it was written last, in nanoseconds.
    """

    device: int
    inode: int
    size: int
    written: int


def mark_of(path: str) -> Mark | None:
    """Return the mark of a file as it is now; None if there is no such file."""
    try:
        here = os.stat(path)  # noqa: PTH116  (a Path would cost more than the look)
    except OSError:
        return None
    return Mark(here.st_dev, here.st_ino, here.st_size, here.st_mtime_ns)


def unchanging(path: str) -> Mark | None:
    """Return the mark of a file that can only be looked at, as long as nobody has it open to write.

    Returns
    -------
    Mark or None
        None for all other files.
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
    """Make the error about writing to what can only be looked at.

    Parameters
    ----------
    where : str
        What is shown of the file or the server.
    why : str
        What the database says.
    kind : str
        ``"file"``, ``"server"``, or ``"service"`` for users of a service, who have neither.
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
    export, copy = CallHint("export", "path"), PhraseHint("copy")
    about = {"where": where, "why": why, "export": export, "copy": copy}
    return StoreError("read-only", text, remedy=remedy, **about)


def _writable(path: str) -> bool:
    return os.access(path, os.W_OK)


def _length(path: str) -> int | None:
    """Return the length of a file; None if there is no such file."""
    known = mark_of(path)
    return None if known is None else known.size
