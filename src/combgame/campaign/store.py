"""Where a campaign's rows live: one SQLite file, append-only, a transaction per finished chunk.

What is committed is on disk (synchronous = FULL). Every chunk carries a checksum of its rows, so that damage is found wherever it is;
what is still good is kept. One process writes at a time (a lock that the kernel frees when it dies); anyone may read meanwhile.
"""

import hashlib
import json
import os
import platform
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import StoreError
from ..files import identity
from .spec import Campaign

MARK, SCHEMA = 0x43476D65, 1  # application_id ("CGme") and user_version of the file
PATIENCE = 60.0  # seconds to wait for another process that is writing
TABLES = """
CREATE TABLE campaign (name TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE configurations (
    key TEXT PRIMARY KEY, place INTEGER NOT NULL, instance TEXT NOT NULL, x REAL, label TEXT NOT NULL, runs INTEGER NOT NULL,
    description TEXT NOT NULL, reference TEXT NOT NULL
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, configuration TEXT NOT NULL, first INTEGER NOT NULL, number INTEGER NOT NULL, sources TEXT NOT NULL,
    worker TEXT NOT NULL, at REAL NOT NULL, busy REAL NOT NULL, checksum TEXT NOT NULL
);
CREATE TABLE runs (
    configuration TEXT NOT NULL, run INTEGER NOT NULL, stops TEXT NOT NULL, answers TEXT NOT NULL, correct TEXT NOT NULL,
    rounds INTEGER NOT NULL, figures TEXT NOT NULL, seconds REAL NOT NULL, chunk INTEGER NOT NULL,
    PRIMARY KEY (configuration, run)
);
"""


class Row(NamedTuple):
    """One run. Everything but `seconds` is the same whatever engine, worker or order made it."""

    run: int
    stops: list[int]  # per delta; -1: capped
    answers: list[list[int]]  # per delta, as arms; empty where capped
    correct: list[bool]
    rounds: int
    figures: dict[str, int]
    seconds: float

    def texts(self) -> tuple[int, str, str, str, int, str]:
        """What is the same everywhere, as it is stored."""
        stops, answers, correct, figures = (_json(x) for x in (self.stops, self.answers, self.correct, self.figures))
        return self.run, stops, answers, correct, self.rounds, figures


class Chunk(NamedTuple):
    """Finished runs first .. first + len(rows) - 1 of a configuration, and who made them."""

    configuration: str
    first: int
    rows: list[Row]
    sources: str  # a digest of the package that made them
    worker: str
    busy: float  # seconds, all in all


class Store:
    """A campaign file. `open_store` opens or makes one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        self.db.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """What SQLite says, as a sentence with the remedy. A transaction that failed has changed nothing."""
        try:
            yield
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
            raise _sentence(self.path, error) from error

    # ---- writing

    def create(self, name: str) -> None:
        """All of it or nothing: a file that a kill left half made is empty."""
        with self._guard():
            self.db.executescript(f"BEGIN; PRAGMA application_id = {MARK}; PRAGMA user_version = {SCHEMA};" + TABLES)
            self.db.execute("INSERT INTO campaign VALUES (?, ?)", (name, time.time()))
            self.db.execute("COMMIT")

    def register(self, campaign: Campaign, references: Sequence[dict[str, Any]]) -> None:
        """Note the configurations of a campaign; those that are known keep their rows."""
        rows = [
            (c.key, place, c.instance.name, c.instance.x, c.label, c.runs, _json(c.description), _sealed(c.key, reference))
            for place, (c, reference) in enumerate(zip(campaign.configurations, references, strict=True))
        ]
        self._register(rows)

    def _register(self, rows: list[tuple[Any, ...]]) -> None:
        with self._guard():
            self.db.execute("BEGIN IMMEDIATE")
            self.db.executemany(
                "INSERT INTO configurations VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET place = excluded.place, "
                "instance = excluded.instance, x = excluded.x, label = excluded.label, runs = MAX(runs, excluded.runs), "
                "reference = excluded.reference",
                rows,
            )
            self.db.execute("COMMIT")

    def add(self, chunk: Chunk) -> None:
        """Store a finished chunk: all of it or nothing, on disk when this returns. Runs that are there already stay as they are."""
        with self._guard():
            self.db.execute("BEGIN IMMEDIATE")
            fresh = [row for row in chunk.rows if not self._has(chunk.configuration, row.run)]
            if fresh:
                found = self.db.execute(
                    "INSERT INTO chunks (configuration, first, number, sources, worker, at, busy, checksum) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (chunk.configuration, chunk.first, len(fresh), chunk.sources, chunk.worker, time.time(), chunk.busy,
                     checksum(chunk.configuration, [row.texts() for row in fresh])),
                )  # fmt: skip
                number = found.lastrowid
                self.db.executemany(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [(chunk.configuration, *row.texts(), row.seconds, number) for row in fresh],
                )
            self.db.execute("COMMIT")

    def _has(self, key: str, run: int) -> bool:
        found = self.db.execute("SELECT 1 FROM runs WHERE configuration = ? AND run = ?", (key, run))
        return found.fetchone() is not None

    # ---- reading

    @property
    def name(self) -> str:
        with self._guard():
            return str(self.db.execute("SELECT name FROM campaign").fetchone()[0])

    def configurations(self) -> list[dict[str, Any]]:
        """The configurations in their order, with how many runs are stored."""
        with self._guard():
            found = self.db.execute(
                "SELECT key, instance, x, label, runs, description, reference, "
                "(SELECT COUNT(*) FROM runs WHERE configuration = key AND run < configurations.runs) "
                "FROM configurations ORDER BY place, key"
            ).fetchall()
        return [
            {"key": key, "instance": instance, "x": x, "label": label, "runs": runs, "description": json.loads(description),
             "reference": _opened(reference), "stored": stored}
            for key, instance, x, label, runs, description, reference, stored in found
        ]  # fmt: skip

    def stored(self, key: str) -> set[int]:
        """The numbers of the runs that need not be made again."""
        with self._guard():
            return {run for (run,) in self.db.execute("SELECT run FROM runs WHERE configuration = ?", (key,))}

    def rows(self, key: str) -> list[Row]:
        """The stored runs of a configuration, in the order of their numbers."""
        with self._guard():
            found = self.db.execute(
                "SELECT run, stops, answers, correct, rounds, figures, seconds FROM runs WHERE configuration = ? ORDER BY run",
                (key,),
            ).fetchall()
        return [Row(run, json.loads(stops), json.loads(answers), json.loads(correct), rounds, json.loads(figures), seconds)
                for run, stops, answers, correct, rounds, figures, seconds in found]  # fmt: skip

    def sources(self) -> list[str]:
        """The versions of the package that made the rows."""
        with self._guard():
            return [text for (text,) in self.db.execute("SELECT DISTINCT sources FROM chunks ORDER BY 1")]

    def seconds(self, key: str) -> float | None:
        """The mean time of a stored run of a configuration."""
        with self._guard():
            found = self.db.execute("SELECT AVG(seconds) FROM runs WHERE configuration = ?", (key,)).fetchone()[0]
        return None if found is None else float(found)

    def busy(self) -> float:
        """Seconds that workers have spent."""
        with self._guard():
            return float(self.db.execute("SELECT TOTAL(busy) FROM chunks").fetchone()[0])


def open_store(path: str | Path, name: str | None = None) -> tuple[Store, str | None]:
    """Open a campaign file; with a name, make it if it is not there, and mend it if it is damaged (then the second says so)."""
    path = Path(path)
    check_place(path)
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        head = b""
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read ({error.strerror}); change the permissions, or choose another --store."
        ) from error
    begun = not any(head) and Path(f"{path}-journal").exists()  # killed while it was being made: SQLite takes it back
    if head[:16] != b"SQLite format 3\0"[: len(head)] and not begun:
        raise StoreError(f"{path} is not a campaign file; choose another --store.")
    if len(head) == 100 and int.from_bytes(head[68:72]) != MARK and not begun:  # even if it is damaged
        raise StoreError(f"{path} is another program's SQLite file, not a campaign; choose another --store.")
    try:
        if len(head) == 100 and head[18:20] not in (b"\1\1", b"\2\2") and not begun:  # it would be opened, but not for writing
            raise sqlite3.DatabaseError("the version in its head is not one of SQLite's")
        store = _sound(path) if head else None
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in ELSEWHERE:
            raise _sentence(path, error) from error
        if name is None:
            raise StoreError(
                f"{path} is damaged ({error}); run its campaign again: what is good is kept, the rest is computed anew."
            ) from error
        return mend(path, name, str(error))
    if store is not None:
        return store, None
    emptied = f"{path} was empty: all of its runs are made anew." if path.exists() else None
    return _new(path, name), emptied


def check_place(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it, such as {path / 'campaign.db'}.")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no folder {path.parent}; make it, or choose another --store.")


def _new(path: Path, name: str | None) -> Store:
    if name is None:
        why = "it is empty" if path.exists() else "there is no such campaign file"
        raise StoreError(f"{path}: {why}; make one with `combgame campaign run campaign.toml`.")
    try:
        store = Store(path)
    except sqlite3.Error as error:
        raise _sentence(path, error) from error
    store.create(name)
    return store


ELSEWHERE = {  # codes of errors that say nothing about what is in the file
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT,
}  # fmt: skip


def _sentence(path: Path, error: sqlite3.Error) -> StoreError:
    text = str(error)
    if "full" in text or "I/O" in text:
        why = "the disk or the quota is full, or the disk cannot be written; make room"
    elif "locked" in text or "busy" in text:
        why = "another process is writing to it; wait for it"
    elif "readonly" in text or "unable to open" in text:
        why = "it or its folder cannot be written; change the permissions or the path"
    else:
        why = "it is damaged; `combgame campaign run` keeps what is good and computes the rest"
    return StoreError(f"{path}: {why}, then run the same command again: what was stored is kept ({text}).")


def _sound(path: Path) -> Store | None:
    """Open a file and look at all of it: pages, indices, schema, every checksum. None: it was being made, and nothing is left."""
    store = Store(path)
    try:
        store.db.execute("BEGIN")  # whatever is stored meanwhile is not looked at in parts
        pages, schema = (store.db.execute(f"PRAGMA {word}").fetchone()[0] for word in ("page_count", "user_version"))
        if pages == 0:
            store.close()
            return None
        if schema != SCHEMA:
            raise StoreError(
                f"{path} was made by another version of combgame (schema {schema}, here {SCHEMA}); use that one, or a new --store."
            )
        problem = store.db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if problem != "ok":
            raise sqlite3.DatabaseError(problem.replace("\n", " "))
        if store.db.execute("SELECT COUNT(*) FROM campaign WHERE name IS NOT NULL").fetchone()[0] == 0:
            raise sqlite3.DatabaseError("its name is missing")
        if not all(
            _intact(key, *texts) for key, *texts in store.db.execute("SELECT key, description, reference FROM configurations")
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
    for chunk, *row in db.execute("SELECT chunk, run, stops, answers, correct, rounds, figures FROM runs ORDER BY chunk, run"):
        rows.setdefault(chunk, []).append(tuple(row))
    for chunk, key, number, noted in db.execute("SELECT id, configuration, number, checksum FROM chunks"):
        found = rows.pop(chunk, [])
        yield len(found) == number and checksum(key, found) == noted
    yield not rows  # of no chunk at all


def _intact(key: Any, description: Any, reference: Any) -> bool:
    """Whether a configuration is what was stored. (Its name, place and number of runs come with every campaign.)"""
    try:
        sealed = json.loads(reference).get("checksum")
        return identity(json.loads(description)) == key and sealed in (None, _seal(key, _opened(reference)))
    except (AttributeError, TypeError, ValueError):
        return False


def _seal(key: str, reference: dict[str, Any]) -> str:
    return checksum(key, [sorted(reference.items())])


def _sealed(key: str, reference: dict[str, Any]) -> str:
    return _json({**reference, "checksum": _seal(key, reference)})


def _opened(reference: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(reference).items() if name != "checksum"}


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
    store._register([row for row in configurations if _whole(row, CONFIGURATION) and _intact(row[0], row[6], row[7])])
    for chunk in chunks:
        if not _whole(chunk, CHUNK):
            continue
        found = sorted(by_chunk.get(chunk[0], []), key=lambda row: row[1])
        if len(found) == chunk[3] and checksum(chunk[1], [row[1:7] for row in found]) == chunk[8]:
            store.add(Chunk(chunk[1], chunk[2], [_row(row) for row in found], chunk[4], chunk[5], chunk[7]))
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
    text = f"{path} was damaged ({why}): {kept} runs are still good and kept; the file as it was is {aside.name}."
    return Store(path), text


CONFIGURATION = (str, int, str, float | int | None, str, int, str, str)  # what stands in the columns
CHUNK = (int, str, int, int, str, str, float, float, str)
RUN = (str, int, str, str, str, int, str, float, int)


def _whole(row: tuple[Any, ...], kinds: tuple[Any, ...]) -> bool:
    return len(row) == len(kinds) and all(isinstance(value, kind) for value, kind in zip(row, kinds, strict=True))


def _row(row: tuple[Any, ...]) -> Row:
    return Row(row[1], json.loads(row[2]), json.loads(row[3]), json.loads(row[4]), row[5], json.loads(row[6]), row[7])


def _salvage(path: Path) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Every row of a damaged file that can be read."""
    bound = path.stat().st_size // 16 + 2  # no row is shorter, and rows are never deleted
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        db.execute("PRAGMA writable_schema = ON")  # a file that is shorter than its header says is refused otherwise
        return tuple(list(_legible(db, table, bound)) for table in ("configurations", "chunks", "runs"))  # type: ignore[return-value]
    finally:
        db.close()


def _legible(db: sqlite3.Connection, table: str, bound: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a table that can be read: all at once, and from the first failure on one by one."""
    last = 0
    try:
        for found in db.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid"):
            last = found[0]
            yield found[1:]
    except sqlite3.Error:
        for number in range(last + 1, bound):
            with suppress(sqlite3.Error):
                yield from db.execute(f"SELECT * FROM {table} WHERE rowid = ?", (number,))


def checksum(key: str, rows: Iterable[Sequence[Any]]) -> str:
    """Of the rows of a chunk as they are stored, without what is measured."""
    found = hashlib.sha256(key.encode())
    for row in rows:
        found.update(json.dumps(list(row), sort_keys=True, separators=(",", ":"), default=repr).encode())
    return found.hexdigest()[:32]


def _json(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


class Lock:
    """One writer per campaign file; the kernel frees it when its process dies, however it dies."""

    def __init__(self, path: Path) -> None:
        self.store, self.path = path, lock_path(path)

    def __enter__(self) -> "Lock":
        check_place(self.store)
        try:
            import fcntl
        except ImportError:  # not a POSIX system: SQLite alone keeps the file whole
            self.file = None
            return self
        try:
            self.file = self.path.open("ab+", buffering=0)
        except OSError as error:
            raise StoreError(
                f"{self.store}: its folder cannot be written ({error.strerror}); change the permissions, or choose another --store."
            ) from error
        for attempt in range(10):
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:  # perhaps only somebody who looks
                if attempt == 9:
                    self.file.close()
                    raise StoreError(
                        f"{self.store} is being written by {Lock.holder(self.path)}; wait until it "
                        "has finished, or look with `combgame campaign status`."
                    ) from None
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


__all__ = ["Chunk", "Lock", "Row", "Store", "lock_path", "open_store"]
