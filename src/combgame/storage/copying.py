"""A copy of a file of studies while others write to it. (The bare file is not enough: the last
transactions are in the -wal beside it.)
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from ..errors import InputError, StoreError
from ..report.files import PRIVATE, check_path, make_private
from .files import beside, give_name, sync_folder
from .urls import file_of, parse

HAS_STUDIES = "SELECT 1 FROM sqlite_master WHERE name = 'combgame_studies'"


def path_of(destination: Any) -> Path:
    """A path, also where it is given as sqlite:///file.

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
    """All of it as it is at one moment, or nothing: it is written beside the destination, and gets
    its name when it is whole.
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
