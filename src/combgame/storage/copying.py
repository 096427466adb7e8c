"""A copy of a file of studies while others write to it. (The bare file is not enough: the last
transactions are in the -wal beside it.)
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ..errors import InputError, StoreError


def path_of(destination: Any) -> Path:
    """A path, also where it is given as sqlite:///file.

    >>> str(path_of("sqlite:///copy.db"))
    'copy.db'
    """
    text = str(destination).removeprefix("sqlite:///")
    if "://" in text or not text:
        raise InputError("copy: the destination must be a file, such as copy.db.")
    return Path(text)


def copy_file(source: sqlite3.Connection, destination: Path) -> None:
    """All of it as it is at one moment, or nothing: it is written beside the destination, and gets
    its name when it is whole.
    """
    for taken in (
        destination,
        *(destination.with_name(destination.name + tail) for tail in ("-wal", "-shm", "-journal")),
    ):
        if taken.exists() or taken.is_symlink():
            raise StoreError(
                f"{taken} is there already, and nothing is overwritten; name another destination."
            )
    beside = destination.with_name(f".{destination.name}.{os.getpid()}.part")
    try:
        with closing(sqlite3.connect(beside)) as target:
            source.backup(target)
            if not target.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'combgame_studies'"
            ).fetchone():
                raise StoreError(
                    "there are no studies in it (any more), so there is nothing to copy; go back "
                    "to an earlier copy."
                )
        give_name(beside, destination)
        sync_folder(destination.parent)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreError(
            f"{destination} cannot be written ({why}); check the folder and the room on the "
            "disk, or name another destination."
        ) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


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
    with suppress(OSError):  # systems that cannot sync one
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
