"""Where a campaign's rows live: one SQLite file, append-only, a transaction per finished chunk.

What is committed is on disk (synchronous = EXTRA). Every chunk carries a checksum of its rows,
every configuration one of what its runs are compared with, so that damage to them is found; labels
and what was measured (seconds, workers) are not covered. One process writes at a time (a lock that
the kernel frees when it dies); anyone may read meanwhile.
"""

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet

from ..errors import StoreError
from .spec import Specification

MARK, SCHEMA = 0x43476D65, 1  # application_id ("CGme") and user_version of the file
PATIENCE = 60.0  # seconds to wait for another process that is writing


TABLES = """
CREATE TABLE campaign (name TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE configurations (
    key TEXT PRIMARY KEY, place INTEGER NOT NULL, instance TEXT NOT NULL, x REAL,
    label TEXT NOT NULL, runs INTEGER NOT NULL,
    description TEXT NOT NULL, reference TEXT NOT NULL
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, configuration TEXT NOT NULL, first INTEGER NOT NULL,
    number INTEGER NOT NULL, sources TEXT NOT NULL,
    worker TEXT NOT NULL, at REAL NOT NULL, busy REAL NOT NULL, checksum TEXT NOT NULL
);
CREATE TABLE runs (
    configuration TEXT NOT NULL, run INTEGER NOT NULL,
    stops TEXT NOT NULL, answers TEXT NOT NULL, correct TEXT NOT NULL,
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

    @staticmethod
    def read(
        run: int, stops: str, answers: str, correct: str, rounds: int, figures: str, seconds: float
    ) -> "Row":
        """From the columns of the file."""
        return Row(
            run,
            json.loads(stops),
            json.loads(answers),
            json.loads(correct),
            rounds,
            json.loads(figures),
            seconds,
        )

    def texts(self) -> tuple[int, str, str, str, int, str]:
        """What is the same everywhere, as it is stored."""
        stops, answers, correct, figures = (
            compact(x) for x in (self.stops, self.answers, self.correct, self.figures)
        )
        return self.run, stops, answers, correct, self.rounds, figures


class Chunk(NamedTuple):
    """Finished runs first .. first + len(rows) - 1 of a configuration, and who made them."""

    configuration: str
    first: int
    rows: list[Row]
    sources: str  # a digest of the package that made them
    worker: str
    busy: float  # seconds, all in all


OPENING = threading.Lock()
OPEN: WeakSet["Store"] = WeakSet()  # the files that this process has open


def read_head(path: Path) -> bytes | None:
    """The first 100 bytes of a file; None if this process has it open, so that it was looked at
    before.

    Whoever closes a file drops all locks that its process has on it, SQLite's too: that is what
    POSIX says.
    """
    with OPENING:
        if any(store.file == identity(path) for store in OPEN):
            return None
        with path.open("rb") as file:
            return file.read(100)


def identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


class Store:
    """A campaign file. `open_store` opens or makes one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with OPENING:
            self.db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
            self.file = identity(path)
            OPEN.add(self)
        self.db.execute("PRAGMA synchronous = EXTRA")  # FULL, and the folder too

    def close(self) -> None:
        self.db.close()
        OPEN.discard(self)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """What SQLite says, as a sentence with the remedy. A transaction that failed has changed
        nothing.
        """
        try:
            yield
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
            raise sentence(self.path, error) from error

    # ---- writing

    def create(self, name: str) -> None:
        """All of it or nothing: a file that a kill left half made is empty."""
        with self._guard():
            self.db.executescript(
                f"BEGIN; PRAGMA application_id = {MARK}; PRAGMA user_version = {SCHEMA};" + TABLES
            )
            self.db.execute("INSERT INTO campaign VALUES (?, ?)", (name, time.time()))
            self.db.execute("COMMIT")

    def register(self, campaign: Specification, references: Sequence[dict[str, Any]]) -> None:
        """Note the configurations of a campaign; those that are known keep their rows."""
        rows = [
            (
                c.key,
                place,
                c.instance.name,
                c.instance.x,
                c.label,
                c.runs,
                compact(c.description),
                sealed(c.key, reference),
            )
            for place, (c, reference) in enumerate(
                zip(campaign.configurations, references, strict=True)
            )
        ]
        self._register(rows)

    def _register(self, rows: list[tuple[Any, ...]]) -> None:
        with self._guard():
            self.db.execute("BEGIN IMMEDIATE")
            self.db.executemany(
                "INSERT INTO configurations VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO "
                "UPDATE SET place = excluded.place, "
                "instance = excluded.instance, x = excluded.x, label = excluded.label, runs = "
                "MAX(runs, excluded.runs), "
                "reference = excluded.reference",
                rows,
            )
            self.db.execute("COMMIT")

    def add(self, chunk: Chunk) -> None:
        """Store a finished chunk: all of it or nothing, on disk when this returns. Runs that are
        there already stay as they are.
        """
        with self._guard():
            self.db.execute("BEGIN IMMEDIATE")
            fresh = [row for row in chunk.rows if not self._has(chunk.configuration, row.run)]
            if fresh:
                found = self.db.execute(
                    "INSERT INTO chunks (configuration, first, number, sources, worker, at, "
                    "busy, checksum) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        chunk.configuration,
                        chunk.first,
                        len(fresh),
                        chunk.sources,
                        chunk.worker,
                        time.time(),
                        chunk.busy,
                        checksum(chunk.configuration, [row.texts() for row in fresh]),
                    ),
                )
                number = found.lastrowid
                self.db.executemany(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [(chunk.configuration, *row.texts(), row.seconds, number) for row in fresh],
                )
            self.db.execute("COMMIT")

    def _has(self, key: str, run: int) -> bool:
        found = self.db.execute(
            "SELECT 1 FROM runs WHERE configuration = ? AND run = ?", (key, run)
        )
        return found.fetchone() is not None

    # ---- reading

    @property
    def name(self) -> str:
        with self._guard():
            return str(self.db.execute("SELECT name FROM campaign").fetchone()[0])

    def configurations(self) -> list[dict[str, Any]]:
        """The configurations in their order, with how many runs are stored, and when the last."""
        with self._guard():
            found = self.db.execute(
                "SELECT key, instance, x, label, runs, description, reference, "
                "(SELECT COUNT(*) FROM runs WHERE configuration = key AND run < "
                "configurations.runs), "
                "(SELECT MAX(at) FROM chunks WHERE configuration = key) "
                "FROM configurations ORDER BY place, key"
            ).fetchall()
        return [
            {
                "key": key,
                "instance": instance,
                "x": x,
                "label": label,
                "runs": runs,
                "description": json.loads(description),
                "reference": opened(reference),
                "stored": stored,
                "last": last,
            }
            for key, instance, x, label, runs, description, reference, stored, last in found
        ]

    def stored(self, key: str) -> set[int]:
        """The numbers of the runs that need not be made again."""
        with self._guard():
            return {
                run
                for (run,) in self.db.execute(
                    "SELECT run FROM runs WHERE configuration = ?", (key,)
                )
            }

    def rows(self, key: str) -> list[Row]:
        """The stored runs of a configuration, in the order of their numbers."""
        with self._guard():
            found = self.db.execute(
                "SELECT run, stops, answers, correct, rounds, figures, seconds FROM runs WHERE "
                "configuration = ? ORDER BY run",
                (key,),
            ).fetchall()
        return [Row.read(*columns) for columns in found]

    def sources(self) -> list[str]:
        """The versions of the package that made the rows."""
        with self._guard():
            return [
                text
                for (text,) in self.db.execute("SELECT DISTINCT sources FROM chunks ORDER BY 1")
            ]

    def seconds(self, key: str) -> float | None:
        """The mean time of a stored run of a configuration."""
        with self._guard():
            found = self.db.execute(
                "SELECT AVG(seconds) FROM runs WHERE configuration = ?", (key,)
            ).fetchone()[0]
        return None if found is None else float(found)

    def busy(self) -> float:
        """Seconds that workers have spent."""
        with self._guard():
            return float(self.db.execute("SELECT TOTAL(busy) FROM chunks").fetchone()[0])


ELSEWHERE = {  # codes of errors that say nothing about what is in the file
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
}


def sentence(path: Path, error: sqlite3.Error) -> StoreError:
    text = str(error)
    if "full" in text or "I/O" in text:
        why = "the disk or the quota is full, or the disk cannot be written; make room"
    elif "locked" in text or "busy" in text:
        why = "another process is writing to it; wait for it"
    elif "readonly" in text or "unable to open" in text:
        why = "it or its folder cannot be written; change the permissions or the path"
    else:
        why = "it is damaged; `combgame campaign run` keeps what is good and computes the rest"
    return StoreError(
        f"{path}: {why}, then run the same command again: what was stored is kept ({text})."
    )


def checksum(key: str, rows: Iterable[Sequence[Any]]) -> str:
    """Of the rows of a chunk as they are stored, without what is measured."""
    found = hashlib.sha256(key.encode())
    for row in rows:
        found.update(compact(list(row), repr).encode())
    return found.hexdigest()[:32]


def compact(data: Any, default: Callable[[Any], Any] | None = None) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=default)


def seal(key: str, reference: dict[str, Any]) -> str:
    return checksum(key, [sorted(reference.items())])


def sealed(key: str, reference: dict[str, Any]) -> str:
    return compact({**reference, "checksum": seal(key, reference)})


def opened(reference: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(reference).items() if name != "checksum"}
