"""Where a campaign's rows live: one SQLite file, append-only, a transaction per finished chunk.

What is committed is on disk (synchronous = EXTRA). Every chunk carries a checksum of its rows,
every configuration one of what its runs are compared with, so that damage to them is found; labels
and what was measured (seconds, workers) are not covered. One process writes at a time (a lock that
the kernel frees when it dies); anyone may read meanwhile.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..data.identity import canonical
from ..errors import StoreError
from ..storage import checksums, clock
from ..storage.failures import Advice
from ..storage.sqlite import SqliteFile, file_failure
from .spec import Specification

MARK, SCHEMA = 0x43476D65, 1  # application_id ("CGme") and user_version of the file
PATIENCE = 60.0  # seconds to wait for another process that is writing
ADVICE = Advice(
    busy="run the same command again when it has finished: what was stored is kept",
    unwritable="change the permissions, or name another file; what was stored is kept",
    full="make room, then run the same command again: what was stored is kept",
    damaged="run its campaign again: what is good is kept, and the rest is computed anew",
    unreachable="run the same command again: what was stored is kept",
    refused="run the same command again: what was stored is kept",
    gone="put it back, then run the same command again; without it, all runs are made anew",
    parted="run the same command again: what is damaged is found and made anew",
)


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
            canonical(x) for x in (self.stops, self.answers, self.correct, self.figures)
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


class Store(SqliteFile):
    """A campaign file. `open_store` opens or makes one."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, PATIENCE, "EXTRA", ADVICE)  # FULL, and the folder too

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- writing

    def create(self, name: str) -> None:
        """All of it or nothing: a file that a kill left half made is empty."""
        with self.writing() as db:
            db.execute(f"PRAGMA application_id = {MARK}")
            db.execute(f"PRAGMA user_version = {SCHEMA}")
            for statement in TABLES.split(";")[:-1]:
                db.execute(statement)
            db.execute("INSERT INTO campaign VALUES (?, ?)", (name, clock.now()))

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
                canonical(c.description),
                sealed(c.key, reference),
            )
            for place, (c, reference) in enumerate(
                zip(campaign.configurations, references, strict=True)
            )
        ]
        self.register_rows(rows)

    def register_rows(self, rows: list[tuple[Any, ...]]) -> None:
        """Note configurations as they stand in the file."""
        with self.writing() as db:
            db.executemany(
                "INSERT INTO configurations VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO "
                "UPDATE SET place = excluded.place, "
                "instance = excluded.instance, x = excluded.x, label = excluded.label, runs = "
                "MAX(runs, excluded.runs), "
                "reference = excluded.reference",
                rows,
            )

    def add(self, chunk: Chunk) -> None:
        """Store a finished chunk: all of it or nothing, on disk when this returns. Runs that are
        there already stay as they are.
        """
        with self.writing() as db:
            fresh = [row for row in chunk.rows if not self._has(chunk.configuration, row.run)]
            if fresh:
                noted = db.execute(
                    "INSERT INTO chunks (configuration, first, number, sources, worker, at, "
                    "busy, checksum) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        chunk.configuration,
                        chunk.first,
                        len(fresh),
                        chunk.sources,
                        chunk.worker,
                        clock.now(),
                        chunk.busy,
                        checksum(chunk.configuration, [row.texts() for row in fresh]),
                    ),
                )
                number = noted.lastrowid
                db.executemany(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [(chunk.configuration, *row.texts(), row.seconds, number) for row in fresh],
                )

    def _has(self, key: str, run: int) -> bool:
        query = "SELECT 1 FROM runs WHERE configuration = ? AND run = ?"
        return self.db.execute(query, (key, run)).fetchone() is not None

    # ---- reading

    @property
    def name(self) -> str:
        with self.reading() as db:
            return str(db.execute("SELECT name FROM campaign").fetchone()[0])

    def configurations(self) -> list[dict[str, Any]]:
        """The configurations in their order, with how many runs are stored, and when the last."""
        with self.reading() as db:
            rows = db.execute(
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
            for key, instance, x, label, runs, description, reference, stored, last in rows
        ]

    def stored(self, key: str) -> set[int]:
        """The numbers of the runs that need not be made again."""
        with self.reading() as db:
            query = "SELECT run FROM runs WHERE configuration = ?"
            return {run for (run,) in db.execute(query, (key,))}

    def rows(self, key: str) -> list[Row]:
        """The stored runs of a configuration, in the order of their numbers."""
        with self.reading() as db:
            stored = db.execute(
                "SELECT run, stops, answers, correct, rounds, figures, seconds FROM runs WHERE "
                "configuration = ? ORDER BY run",
                (key,),
            ).fetchall()
        return [Row.read(*columns) for columns in stored]

    def sources(self) -> list[str]:
        """The versions of the package that made the rows."""
        with self.reading() as db:
            made = db.execute("SELECT DISTINCT sources FROM chunks ORDER BY 1")
            return [text for (text,) in made]

    def seconds(self, key: str) -> float | None:
        """The mean time of a stored run of a configuration."""
        with self.reading() as db:
            query = "SELECT AVG(seconds) FROM runs WHERE configuration = ?"
            mean = db.execute(query, (key,)).fetchone()[0]
        return None if mean is None else float(mean)

    def busy(self) -> float:
        """Seconds that workers have spent."""
        with self.reading() as db:
            return float(db.execute("SELECT TOTAL(busy) FROM chunks").fetchone()[0])


def sentence(path: Path, error: sqlite3.Error) -> StoreError:
    """Of a file that could not be opened."""
    return file_failure(path, error, ADVICE, PATIENCE)


def checksum(key: str, rows: Iterable[Sequence[Any]]) -> str:
    """Of the rows of a chunk as they are stored, without what is measured."""
    return checksums.checksum(key, *(canonical(list(row), repr) for row in rows), digits=32)


def seal(key: str, reference: dict[str, Any]) -> str:
    return checksum(key, [sorted(reference.items())])


def sealed(key: str, reference: dict[str, Any]) -> str:
    return canonical({**reference, "checksum": seal(key, reference)})


def opened(reference: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(reference).items() if name != "checksum"}
