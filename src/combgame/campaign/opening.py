"""Opening a campaign file: look at all of it, and if it is damaged keep what is still good."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..data import identity
from ..errors import StoreError
from ..report.files import PRIVATE, make_private
from ..sentences import Sentence
from ..storage.damage import replace, salvage
from ..storage.failures import foreign, other_version
from ..storage.files import check_place
from ..storage.lock import unusable
from ..storage.same_file import read_head
from ..storage.sqlite import damages, legibly
from .store import MARK, SCHEMA, Chunk, Row, Store, checksum, opened, seal, sentence


def open_store(
    path: str | Path, name: str | None = None, mode: int = PRIVATE
) -> tuple[Store, Sentence | None]:
    """Open a campaign file; with a name, make it if it is not there, and mend it if it is damaged
    (then the second says so). mode: what a new file allows.
    """
    path = Path(path)
    check_place(path)
    try:
        head = read_head(path)
    except FileNotFoundError:
        head = b""
    except OSError as error:
        raise unusable(path, error) from error
    try:
        if head:
            _check_head(path, head)
        store = None if head == b"" else _sound(path)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        why = legibly(error)
        if name is None or not damages(why):
            raise sentence(path, why) from error
        return mend(path, name, str(why))
    if store is not None:
        return store, None
    emptied = None
    if path.exists():
        text = "{path} was empty: all of its runs are made anew"
        emptied = Sentence("emptied", text, path=str(path))
    return _new(path, name, mode), emptied


def _check_head(path: Path, head: bytes) -> None:
    """Whether it is a campaign at all, even a damaged one."""
    if not any(head) and Path(f"{path}-journal").exists():
        return  # killed while it was being made: SQLite takes it back
    if head[:16] != b"SQLite format 3\0"[: len(head)]:
        text, remedy = "{path} is not a campaign's file of runs (.db)", "name another file"
        raise StoreError("not-a-campaign", text, remedy=remedy, path=str(path))
    if len(head) == 100 and int.from_bytes(head[68:72]) != MARK:
        raise foreign(str(path))
    if len(head) == 100 and head[18:20] not in (b"\1\1", b"\2\2"):
        # it would be opened, but not for writing
        raise sqlite3.DatabaseError("the version in its head is not one of SQLite's")


def _new(path: Path, name: str | None, mode: int) -> Store:
    if name is None:
        exists = path.exists()
        text = "there is no campaign in {path}, which {exists:is empty|does not exist}"
        remedy = "make one with `combgame campaign run campaign.toml`"
        raise StoreError("no-campaign", text, remedy=remedy, path=str(path), exists=exists)
    try:
        with suppress(OSError):  # then SQLite says why
            make_private(path, mode)
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
        with store.transaction(write=False):  # what is stored meanwhile is not looked at in parts
            begun = _check_all(store)
    except BaseException:
        store.close()
        raise
    if not begun:
        store.close()
        return None
    return store


def _check_all(store: Store) -> bool:
    """False: there is nothing in it."""
    pages, mark, schema = (
        store.db.execute(f"PRAGMA {word}").fetchone()[0]
        for word in ("page_count", "application_id", "user_version")
    )
    if pages == 0:
        return False
    if mark != MARK:
        raise foreign(str(store.path))
    if schema != SCHEMA:
        raise other_version(str(store.path), schema, SCHEMA)
    problem = store.db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        raise sqlite3.DatabaseError(problem.replace("\n", " "))
    named = store.db.execute("SELECT COUNT(*) FROM campaign WHERE name IS NOT NULL").fetchone()
    if named[0] == 0:
        raise sqlite3.DatabaseError("its name is missing")
    described = store.db.execute("SELECT key, description, reference FROM configurations")
    if not all(_intact(*columns) for columns in described):
        raise sqlite3.DatabaseError("the description of a configuration does not match")
    if not all(_checked(store.db)):
        raise sqlite3.DatabaseError("the checksum of a chunk does not match")
    return True


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
        stored = rows.pop(chunk, [])
        yield len(stored) == number and checksum(key, stored) == noted
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


def mend(path: Path, name: str, why: str) -> tuple[Store, Sentence]:
    """Put what is still good of a damaged file into a new one, and keep the damaged one beside it.

    Chunks are read row by row; one counts only if all its rows are there and its checksum matches.
    """
    fresh = path.with_name(path.name + ".mending")
    fresh.unlink(missing_ok=True)
    configurations, chunks, rows = salvage(path, ("configurations", "chunks", "runs"))
    by_chunk: dict[int, list[tuple[Any, ...]]] = {}
    for row in rows:
        if _whole(row, RUN):
            by_chunk.setdefault(row[8], []).append(row)
    make_private(fresh, path.stat().st_mode & 0o660 | PRIVATE)
    store, kept = Store(fresh), 0
    store.db.execute("PRAGMA synchronous = OFF")  # all at once, when it takes its place
    store.create(name)
    good = [row for row in configurations if _whole(row, CONFIGURATION)]
    store.register_rows([row for row in good if _intact(row[0], row[6], row[7])])
    for chunk in chunks:
        if not _whole(chunk, CHUNK):
            continue
        _, key, first, number, sources, worker, _, busy, noted = chunk
        runs = sorted(by_chunk.get(chunk[0], []), key=lambda row: row[1])
        if len(runs) == number and checksum(key, [row[1:7] for row in runs]) == noted:
            made = [Row.read(*row[1:8]) for row in runs]
            store.add(Chunk(key, first, made, sources, worker, busy))
            kept += len(runs)
    store.close()
    aside = replace(path, fresh)
    text = (
        "{path} was damaged ({why}): {kept} runs are still good and kept, and the file as it was "
        "is {aside}"
    )
    said = Sentence("mended", text, path=str(path), why=why, kept=kept, aside=aside.name)
    return Store(path), said


# what stands in the columns
CONFIGURATION = (str, int, str, float | int | None, str, int, str, str)
CHUNK = (int, str, int, int, str, str, float, float, str)
RUN = (str, int, str, str, str, int, str, float, int)


def _whole(row: tuple[Any, ...], kinds: tuple[Any, ...]) -> bool:
    return len(row) == len(kinds) and all(
        isinstance(value, kind) for value, kind in zip(row, kinds, strict=True)
    )
