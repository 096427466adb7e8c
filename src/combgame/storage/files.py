"""Files of data: which one a path leads to, what stands beside it, when its name is on disk."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from ..errors import StoreError

Identity = tuple[int, int]
BESIDE = ("-wal", "-shm", "-journal")  # what SQLite puts beside a file


def identity(path: str | Path) -> Identity | None:
    """What tells a file from another of the same name; None if there is none."""
    try:
        here = os.stat(path)  # noqa: PTH116  (a Path would cost more than the look)
    except OSError:
        return None
    return here.st_dev, here.st_ino


def beside(path: Path) -> list[Path]:
    """Where SQLite would put what belongs to a file."""
    return [path.with_name(path.name + tail) for tail in BESIDE]


OTHERS = {  # what is no file, in words
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


SYSTEM = ("/proc/", "/sys/")  # what is there looks like files, and is none


def check_place(path: Path) -> None:
    """Whether a file can be at a path: nothing makes folders, and nothing else is ever opened, as
    opening a pipe would wait for ever.
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
    """Whether a file and what SQLite puts beside it may have such names."""
    try:
        os.stat(f"{path}{BESIDE[-1]}")  # noqa: PTH116  (the longest of them)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) != errno.ENAMETOOLONG:
            return
        text = "{path} is a longer name than the file system has, with what SQLite puts beside it"
        remedy = "choose a shorter name"
        raise StoreError("name-too-long", text, remedy=remedy, path=str(path)) from None


def check_one_name(path: str | Path) -> None:
    """Refuse a file with several names: SQLite keeps what was stored last beside the name by which
    it was opened, and whoever comes by another name would not see it.
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
    """A link fails where somebody else has just made a file of that name; renaming would overwrite
    it.
    """
    try:
        os.link(made, destination)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        made.rename(destination)


def sync_folder(folder: Path) -> None:
    """So that a name given just now survives a power cut."""
    with suppress(OSError):  # systems that cannot sync one
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
