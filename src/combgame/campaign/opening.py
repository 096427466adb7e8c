"""Opening a campaign file: look at all of it, and if it is damaged keep what is still good."""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..data import identity
from ..errors import StoreError
from ..storage.lock import check_place
from .store import (
    ELSEWHERE,
    MARK,
    SCHEMA,
    Chunk,
    Row,
    Store,
    checksum,
    opened,
    read_head,
    seal,
    sentence,
)


def open_store(path: str | Path, name: str | None = None) -> tuple[Store, str | None]:
    """Open a campaign file; with a name, make it if it is not there, and mend it if it is damaged
    (then the second says so).
    """
    path = Path(path)
    check_place(path)
    try:
        head = read_head(path)
    except FileNotFoundError:
        head = b""
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read ({error.strerror}); change the permissions, or choose "
            "another --store."
        ) from error
    try:
        if head:
            _check_head(path, head)
        store = None if head == b"" else _sound(path)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in ELSEWHERE:
            raise sentence(path, error) from error
        if name is None:
            raise StoreError(
                f"{path} is damaged ({error}); run its campaign again: what is good is kept, the "
                "rest is computed anew."
            ) from error
        return mend(path, name, str(error))
    if store is not None:
        return store, None
    emptied = f"{path} was empty: all of its runs are made anew." if path.exists() else None
    return _new(path, name), emptied


def _check_head(path: Path, head: bytes) -> None:
    """Whether it is a campaign at all, even a damaged one."""
    if (
        not any(head) and Path(f"{path}-journal").exists()
    ):  # killed while it was being made: SQLite takes it back
        return
    if head[:16] != b"SQLite format 3\0"[: len(head)]:
        raise StoreError(f"{path} is not a campaign's file of runs (.db); choose another one.")
    if len(head) == 100 and int.from_bytes(head[68:72]) != MARK:
        raise StoreError(
            f"{path} is another program's SQLite file, not a campaign; choose another --store."
        )
    if len(head) == 100 and head[18:20] not in (
        b"\1\1",
        b"\2\2",
    ):  # it would be opened, but not for writing
        raise sqlite3.DatabaseError("the version in its head is not one of SQLite's")


def _new(path: Path, name: str | None) -> Store:
    if name is None:
        why = "it is empty" if path.exists() else "there is no such campaign file"
        raise StoreError(f"{path}: {why}; make one with `combgame campaign run campaign.toml`.")
    try:
        store = Store(path)
    except sqlite3.Error as error:
        raise sentence(path, error) from error
    store.create(name)
    return store


def _sound(path: Path) -> Store | None:
    """Open a file and look at all of it: pages, indices, schema, every checksum. None: it was being
    made, and nothing is left.
    """
    store = Store(path)
    try:
        store.db.execute("BEGIN")  # whatever is stored meanwhile is not looked at in parts
        pages, schema = (
            store.db.execute(f"PRAGMA {word}").fetchone()[0]
            for word in ("page_count", "user_version")
        )
        if pages == 0:
            store.close()
            return None
        if schema != SCHEMA:
            raise StoreError(
                f"{path} was made by another version of combgame (schema {schema}, here "
                f"{SCHEMA}); use that one, or a new --store."
            )
        problem = store.db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if problem != "ok":
            raise sqlite3.DatabaseError(problem.replace("\n", " "))
        if (
            store.db.execute("SELECT COUNT(*) FROM campaign WHERE name IS NOT NULL").fetchone()[0]
            == 0
        ):
            raise sqlite3.DatabaseError("its name is missing")
        if not all(
            _intact(key, *texts)
            for key, *texts in store.db.execute(
                "SELECT key, description, reference FROM configurations"
            )
        ):
            raise sqlite3.DatabaseError("the description of a configuration does not match")
        if not all(_checked(store.db)):
            raise sqlite3.DatabaseError("the checksum of a chunk does not match")
        store.db.execute("COMMIT")
    except BaseException:
        store.close()
        raise
    return store


def _checked(db: sqlite3.Connection) -> Iterator[bool]:
    """Whether the rows of a chunk are what was stored, for each chunk."""
    rows: dict[int, list[tuple[Any, ...]]] = {}
    for chunk, *row in db.execute(
        "SELECT chunk, run, stops, answers, correct, rounds, figures FROM runs ORDER BY chunk, run"
    ):
        rows.setdefault(chunk, []).append(tuple(row))
    for chunk, key, number, noted in db.execute(
        "SELECT id, configuration, number, checksum FROM chunks"
    ):
        found = rows.pop(chunk, [])
        yield len(found) == number and checksum(key, found) == noted
    yield not rows  # of no chunk at all


def _intact(key: Any, description: Any, reference: Any) -> bool:
    """Whether a configuration is what was stored. (Its name, place and number of runs come with
    every campaign.)
    """
    try:
        sealed = json.loads(reference).get("checksum")
        return identity(json.loads(description)) == key and sealed in (
            None,
            seal(key, opened(reference)),
        )
    except (AttributeError, TypeError, ValueError):
        return False


def mend(path: Path, name: str, why: str) -> tuple[Store, str]:
    """Put what is still good of a damaged file into a new one, and keep the damaged one beside it.

    Chunks are read row by row; one counts only if all its rows are there and its checksum matches.
    """
    aside = base = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%S')}")
    for number in range(2, 1000):
        if not aside.exists():
            break
        aside = base.with_name(f"{base.name}-{number}")
    fresh = path.with_name(path.name + ".mending")
    fresh.unlink(missing_ok=True)
    configurations, chunks, rows = _salvage(path)
    by_chunk: dict[int, list[tuple[Any, ...]]] = {}
    for row in rows:
        if _whole(row, RUN):
            by_chunk.setdefault(row[8], []).append(row)
    store, kept = Store(fresh), 0
    store.db.execute("PRAGMA synchronous = OFF")  # all at once, below
    store.create(name)
    store._register(
        [
            row
            for row in configurations
            if _whole(row, CONFIGURATION) and _intact(row[0], row[6], row[7])
        ]
    )
    for chunk in chunks:
        if not _whole(chunk, CHUNK):
            continue
        found = sorted(by_chunk.get(chunk[0], []), key=lambda row: row[1])
        if len(found) == chunk[3] and checksum(chunk[1], [row[1:7] for row in found]) == chunk[8]:
            store.add(
                Chunk(
                    chunk[1],
                    chunk[2],
                    [Row.read(*row[1:8]) for row in found],
                    chunk[4],
                    chunk[5],
                    chunk[7],
                )
            )
            kept += len(found)
    store.close()
    with fresh.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        aside.hardlink_to(path)
    except OSError:  # a file system without them
        shutil.copy2(path, aside)
    for tail in ("-journal", "-wal", "-shm"):
        Path(str(path) + tail).unlink(missing_ok=True)
    fresh.replace(path)  # in one step: a kill leaves the damaged file or the mended one
    with suppress(OSError):  # systems that cannot sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    text = (
        f"{path} was damaged ({why}): {kept} runs are still good and kept; the file as it was "
        f"is {aside.name}."
    )
    return Store(path), text


CONFIGURATION = (
    str,
    int,
    str,
    float | int | None,
    str,
    int,
    str,
    str,
)  # what stands in the columns
CHUNK = (int, str, int, int, str, str, float, float, str)
RUN = (str, int, str, str, str, int, str, float, int)


def _whole(row: tuple[Any, ...], kinds: tuple[Any, ...]) -> bool:
    return len(row) == len(kinds) and all(
        isinstance(value, kind) for value, kind in zip(row, kinds, strict=True)
    )


def _salvage(
    path: Path,
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Every row of a damaged file that can be read."""
    bound = path.stat().st_size // 16 + 2  # no row is shorter, and rows are never deleted
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        db.execute(
            "PRAGMA writable_schema = ON"
        )  # a file that is shorter than its header says is refused otherwise
        return tuple(
            list(_legible(db, table, bound)) for table in ("configurations", "chunks", "runs")
        )  # type: ignore[return-value]
    finally:
        db.close()


def _legible(db: sqlite3.Connection, table: str, bound: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a table that can be read: all at once, and from the first failure on one by
    one.
    """
    last = 0
    try:
        for found in db.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid"):
            last = found[0]
            yield found[1:]
    except sqlite3.Error:
        for number in range(last + 1, bound):
            with suppress(sqlite3.Error):
                yield from db.execute(f"SELECT * FROM {table} WHERE rowid = ?", (number,))
