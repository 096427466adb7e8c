"""Where a campaign's rows live: one SQLite file, append-only, a transaction per finished chunk.

What is committed is on disk (synchronous = EXTRA). Every chunk carries a checksum of its rows,
every configuration one of what its runs are compared with, so that damage to them is found; labels
and what was measured (seconds, workers) are not covered. One process writes at a time (a lock that
the kernel frees when it dies); anyone may read meanwhile.

Opening a campaign file: look at all of it, and if it is damaged keep what is still good.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ..._display.files import PRIVATE, make_private
from ..._messages import Message
from ...errors import StoreError
from ...io import identity
from ...io.descriptions import canonical
from ...storage import clock
from ...storage import events as checksums
from ...storage.errors import StorageAdvice, foreign, other_version
from ...storage.files import check_place, replace, salvage
from ...storage.sqlite import SqliteDatabase, damages, file_failure, legibly, read_head
from .lock import unusable
from .spec import CampaignSpec

MARK, SCHEMA = 0x43476D65, 1  # application_id ("CGme") and user_version of the file
PATIENCE = 60.0  # seconds to wait for another process that is writing
ADVICE = StorageAdvice(
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


class RunRow(NamedTuple):
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
    ) -> "RunRow":
        """From the columns of the file."""
        return RunRow(
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


class RunChunk(NamedTuple):
    """Finished runs first .. first + len(rows) - 1 of a configuration, and who made them."""

    configuration: str
    first: int
    rows: list[RunRow]
    sources: str  # a digest of the package that made them
    worker: str
    busy: float  # seconds, all in all


class Store(SqliteDatabase):
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

    def register(self, campaign: CampaignSpec, references: Sequence[dict[str, Any]]) -> None:
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
                encode(c.key, reference),
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

    def add(self, chunk: RunChunk) -> None:
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
                "reference": decode(reference),
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

    def rows(self, key: str) -> list[RunRow]:
        """The stored runs of a configuration, in the order of their numbers."""
        with self.reading() as db:
            stored = db.execute(
                "SELECT run, stops, answers, correct, rounds, figures, seconds FROM runs WHERE "
                "configuration = ? ORDER BY run",
                (key,),
            ).fetchall()
        return [RunRow.read(*columns) for columns in stored]

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


def encode(key: str, reference: dict[str, Any]) -> str:
    return canonical({**reference, "checksum": seal(key, reference)})


def decode(reference: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(reference).items() if name != "checksum"}


def open_store(
    path: str | Path, name: str | None = None, mode: int = PRIVATE
) -> tuple[Store, Message | None]:
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
        return repair(path, name, str(why))
    if store is not None:
        return store, None
    emptied = None
    if path.exists():
        text = "{path} was empty: all of its runs are made anew"
        emptied = Message("emptied", text, path=str(path))
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
        encode = json.loads(reference).get("checksum")
        return identity(json.loads(description)) == key and encode in (
            None,
            seal(key, decode(reference)),
        )
    except (AttributeError, TypeError, ValueError):
        return False


def repair(path: Path, name: str, why: str) -> tuple[Store, Message]:
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
            made = [RunRow.read(*row[1:8]) for row in runs]
            store.add(RunChunk(key, first, made, sources, worker, busy))
            kept += len(runs)
    store.close()
    aside = replace(path, fresh)
    text = (
        "{path} was damaged ({why}): {kept} runs are still good and kept, and the file as it was "
        "is {aside}"
    )
    said = Message("mended", text, path=str(path), why=why, kept=kept, aside=aside.name)
    return Store(path), said


# what stands in the columns
CONFIGURATION = (str, int, str, float | int | None, str, int, str, str)
CHUNK = (int, str, int, int, str, str, float, float, str)
RUN = (str, int, str, str, str, int, str, float, int)


def _whole(row: tuple[Any, ...], kinds: tuple[Any, ...]) -> bool:
    return len(row) == len(kinds) and all(
        isinstance(value, kind) for value, kind in zip(row, kinds, strict=True)
    )
