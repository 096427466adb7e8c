"""What can still be read of a damaged SQLite file, and how a mended one takes its place."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .files import beside, sync_folder

Rows = list[tuple[Any, ...]]


def salvage(path: Path, tables: Sequence[str]) -> list[Rows]:
    """Every row of some tables that can be read. No row may ever have been deleted."""
    bound = path.stat().st_size // 16 + 2  # no row is shorter
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        # a file that is shorter than its header says is refused otherwise
        db.execute("PRAGMA writable_schema = ON")
        return [list(_legible(db, table, bound)) for table in tables]
    finally:
        db.close()


def _legible(db: sqlite3.Connection, table: str, bound: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a table that can be read: all at once, and from the first failure on one by
    one.
    """
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
    """Put a mended file in the place of a damaged one, in one step: a kill leaves the one or the
    other. Where the damaged one is now.
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
    """A name that nobody has: this one, or with a number."""
    names = (path, *(path.with_name(f"{path.name}-{number}") for number in range(2, 1000)))
    return next((one for one in names if not one.exists()), path)
