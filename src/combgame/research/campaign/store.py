"""Store the runs of a campaign: one SQLite file, append-only, a transaction per finished chunk.

The file is whole by itself whenever nobody writes (a rollback journal), and what is committed is on
disk. Every chunk has a checksum of its rows and every configuration one of what its runs are
compared with, so that damage to them is found; labels and what was measured (seconds, workers) are
not covered. One process writes at a time (see `lock`); others may read meanwhile.

A campaign file is checked as a whole when it is opened. Of a damaged one, what is good is kept.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    func,
    insert,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL
from sqlalchemy.sql import Executable

from ..._display.files import PRIVATE, make_private
from ..._messages import Message
from ...errors import StoreError
from ...io import identity
from ...io.descriptions import canonical
from ...storage import clock
from ...storage import events as checksums
from ...storage.database import Database, in_thread
from ...storage.errors import StorageAdvice, foreign, other_version
from ...storage.files import beside, check_place, recover_rows, replace
from ...storage.sqlite import read_head
from .lock import unusable
from .spec import CampaignSpec

MARK, SCHEMA = 0x43476D65, 2  # application_id ("CGme") and user_version of the file
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

metadata = MetaData()
campaign = Table(
    "campaign",
    metadata,
    Column("name", Text, nullable=False),
    Column("at", Float, nullable=False),
)
configurations = Table(
    "configurations",
    metadata,
    Column("key", Text, primary_key=True),
    Column("place", Integer, nullable=False),
    Column("instance", Text, nullable=False),
    Column("x", Float),
    Column("label", Text, nullable=False),
    Column("runs", Integer, nullable=False),
    Column("description", Text, nullable=False),
    Column("reference", Text, nullable=False),
)
chunks = Table(
    "chunks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("configuration", Text, nullable=False),
    Column("first", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("sources", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("busy", Float, nullable=False),
    Column("checksum", Text, nullable=False),
)
runs = Table(
    "runs",
    metadata,
    Column("configuration", Text, primary_key=True),
    Column("run", Integer, primary_key=True),
    Column("stops", Text, nullable=False),
    Column("answers", Text, nullable=False),
    Column("correct", Text, nullable=False),
    Column("rounds", Integer, nullable=False),
    Column("figures", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("chunk", Integer, nullable=False),
)
CONTENTS = (configurations, chunks, runs)
Contents = tuple[Sequence[Sequence[Any]], ...]  # the rows of these tables

# statements are made once: composing one costs more than running it
ADD_CHUNK, ADD_RUNS = insert(chunks), insert(runs)
BETWEEN = select(runs.c.run).where(
    runs.c.configuration == bindparam("key"),
    runs.c.run.between(bindparam("first"), bindparam("last")),
)
_known = sqlite.insert(configurations)
REGISTER = _known.on_conflict_do_update(
    index_elements=["key"],
    set_={
        **{name: _known.excluded[name] for name in ("place", "instance", "x", "label")},
        "runs": func.max(configurations.c.runs, _known.excluded.runs),
        "reference": _known.excluded.reference,
    },
)
OVERVIEW = select(
    configurations,
    select(func.count())
    .where(runs.c.configuration == configurations.c.key, runs.c.run < configurations.c.runs)
    .scalar_subquery()
    .label("stored"),
    select(func.max(chunks.c.at))
    .where(chunks.c.configuration == configurations.c.key)
    .scalar_subquery()
    .label("last"),
).order_by(configurations.c.place, configurations.c.key)


class RunRow(NamedTuple):
    """One run of a configuration.

    All of it but ``seconds`` is the same whatever engine, worker or order made it.

    Attributes
    ----------
    run : int
        Number of the run.
    stops : list of int
        Stopping time for every delta; -1 if the run was capped.
    answers : list of list of int
        Arms of the recommended answer for every delta; empty if the run was capped.
    correct : list of bool
        Whether the answer is the best one, for every delta.
    rounds : int
        Number of rounds that were played.
    figures : dict
        Further figures of the run, by name.
    seconds : float
        Computing time.
    """

    run: int
    stops: list[int]
    answers: list[list[int]]
    correct: list[bool]
    rounds: int
    figures: dict[str, int]
    seconds: float

    def texts(self) -> tuple[int, str, str, str, int, str]:
        """Return what is the same everywhere, as it is stored."""
        stops, answers, correct, figures = (
            canonical(x) for x in (self.stops, self.answers, self.correct, self.figures)
        )
        return self.run, stops, answers, correct, self.rounds, figures


class RunChunk(NamedTuple):
    """Consecutive runs of a configuration that are finished.

    Attributes
    ----------
    configuration : str
        Key of the configuration.
    first : int
        Number of the first run.
    rows : list of RunRow
        The runs.
    sources : str
        Version and digest of the package that made them.
    worker : str
        Machine and process that made them.
    busy : float
        Computing time in seconds.
    """

    configuration: str
    first: int
    rows: list[RunRow]
    sources: str
    worker: str
    busy: float


class Store(Database):
    """A campaign file; `open_store` opens or makes one.

    Parameters
    ----------
    path : Path
        The file, which must exist when it is used first.
    """

    advice = ADVICE
    pragmas = ("synchronous = EXTRA",)  # which syncs the folder too, after its journal is removed

    def __init__(self, path: Path) -> None:
        where = URL.create("sqlite", database=str(path.absolute()))
        super().__init__(where, path.name, PATIENCE)
        self._shown = str(path)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failure(self, kind: str, said: str, write: bool = False) -> StoreError:
        # SQLite could not do what was asked with what stands in the file
        return super()._failure("damaged" if kind == "other" else kind, said, write)

    # ---- writing

    @in_thread
    def create(self, name: str, contents: Contents = ()) -> None:
        """Make the tables of a campaign in an empty file.

        Parameters
        ----------
        name : str
            Name of the campaign.
        contents : tuple of sequences
            Rows to begin with, as `sound` returns them.
        """
        with self.connection(write=True) as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {MARK}")
            connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA}")
            metadata.create_all(connection, checkfirst=False)
            connection.execute(insert(campaign).values(name=name, at=clock.now()))
            for table, rows in zip(CONTENTS, contents, strict=False):
                if rows:
                    connection.execute(insert(table), named(table, rows))

    @in_thread
    def register(self, campaign: CampaignSpec, references: Sequence[dict[str, Any]]) -> None:
        """Store the configurations of a campaign; those that are known keep their runs.

        Parameters
        ----------
        campaign : CampaignSpec
            The campaign.
        references : sequence of dict
            What the runs of each configuration are compared with.
        """
        rows = [
            {
                "key": c.key,
                "place": place,
                "instance": c.instance.name,
                "x": c.instance.x,
                "label": c.label,
                "runs": c.runs,
                "description": canonical(c.description),
                "reference": encode(c.key, reference),
            }
            for place, (c, reference) in enumerate(
                zip(campaign.configurations, references, strict=True)
            )
        ]
        with self.connection(write=True) as connection:
            connection.execute(REGISTER, rows)

    @in_thread
    def add(self, chunk: RunChunk) -> None:
        """Store a finished chunk: all of it or nothing, on disk when this returns.

        Parameters
        ----------
        chunk : RunChunk
            The chunk. Runs that are stored already stay as they are.
        """
        key = chunk.configuration
        numbers = [row.run for row in chunk.rows]
        where = {"key": key, "first": min(numbers), "last": max(numbers)}
        with self.connection(write=True) as connection:
            stored = set(connection.execute(BETWEEN, where).scalars())
            fresh = [(row.texts(), row.seconds) for row in chunk.rows if row.run not in stored]
            if not fresh:
                return
            about = {
                "configuration": key,
                "first": chunk.first,
                "number": len(fresh),
                "sources": chunk.sources,
                "worker": chunk.worker,
                "at": clock.now(),
                "busy": chunk.busy,
                "checksum": checksum(key, [texts for texts, _ in fresh]),
            }
            made = connection.execute(ADD_CHUNK, about).lastrowid
            rows = [(key, *texts, seconds, made) for texts, seconds in fresh]
            connection.execute(ADD_RUNS, named(runs, rows))

    # ---- reading

    @in_thread
    def _all(self, statement: Executable) -> Sequence[Any]:
        """Return the rows that a statement selects."""
        with self.connection(write=False) as connection:
            return connection.execute(statement).all()

    @property
    def name(self) -> str:
        """The name of the campaign."""
        return str(self._all(select(campaign.c.name))[0][0])

    def configurations(self) -> list[dict[str, Any]]:
        """Return the configurations in their order.

        Returns
        -------
        list of dict
            The columns of the table, the number of runs that are ``stored``, and the time at which
            the ``last`` of them were.
        """
        return [
            {
                **row._mapping,
                "description": json.loads(row.description),
                "reference": decode(row.reference),
            }
            for row in self._all(OVERVIEW)
        ]

    def stored(self, key: str) -> set[int]:
        """Return the numbers of the stored runs of a configuration."""
        return {run for (run,) in self._all(select(runs.c.run).where(runs.c.configuration == key))}

    def rows(self, key: str) -> list[RunRow]:
        """Return the stored runs of a configuration, in the order of their numbers."""
        stored = self._all(select(runs).where(runs.c.configuration == key).order_by(runs.c.run))
        return [
            RunRow(
                run,
                json.loads(stops),
                json.loads(answers),
                json.loads(correct),
                rounds,
                json.loads(figures),
                seconds,
            )
            for _, run, stops, answers, correct, rounds, figures, seconds, _ in stored
        ]

    def sources(self) -> list[str]:
        """Return the versions of the package that made the runs."""
        made = select(chunks.c.sources).distinct().order_by(chunks.c.sources)
        return [text for (text,) in self._all(made)]

    def seconds(self, key: str) -> float | None:
        """Return the mean computing time of a stored run of a configuration."""
        mean = select(func.avg(runs.c.seconds)).where(runs.c.configuration == key)
        return self._all(mean)[0][0]  # type: ignore[no-any-return]

    def busy(self) -> float:
        """Return the number of seconds that workers have spent."""
        return float(self._all(select(func.total(chunks.c.busy)))[0][0])

    # ---- looking for damage

    def check(self) -> bool:
        """Check all of the file: pages, indices, schema, every checksum.

        Returns
        -------
        bool
            False if there is nothing in the file, because it was still being made.
        """
        found = self._contents()
        if found is None:
            return False
        about = ("description of a configuration", "checksum of a chunk", "checksum of a chunk")
        for what, rows, good in zip(about, found, sound(found), strict=True):
            if len(good) < len(rows):
                raise self._failure("damaged", f"the {what} does not match")
        return True

    @in_thread
    def _contents(self) -> Contents | None:
        """Return all rows, as they are at one moment; None if there are no tables."""
        with self.connection(write=False) as connection:
            pages, mark, schema = (
                connection.exec_driver_sql(f"PRAGMA {word}").scalar_one()
                for word in ("page_count", "application_id", "user_version")
            )
            if pages == 0:
                return None
            if mark != MARK:
                raise foreign(self._shown)
            if schema != SCHEMA:
                raise other_version(self._shown, schema, SCHEMA)
            problem = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
            if problem != "ok":
                raise self._failure("damaged", problem)
            if connection.execute(select(campaign.c.name)).scalar() is None:
                raise self._failure("damaged", "its name is missing")
            return tuple(connection.execute(select(table)).all() for table in CONTENTS)

    def check_head(self, head: bytes) -> None:
        """Check that a file is a campaign at all, even a damaged one.

        Parameters
        ----------
        head : bytes
            Its first bytes, which are read before SQLite opens it.
        """
        if not any(head) and Path(f"{self._file}-journal").exists():
            return  # killed while it was being made: SQLite takes it back
        if head[:16] != b"SQLite format 3\0"[: len(head)]:
            text, remedy = "{path} is not a campaign's file of runs (.db)", "name another file"
            raise StoreError("not-a-campaign", text, remedy=remedy, path=self._shown)
        if len(head) == 100 and int.from_bytes(head[68:72]) != MARK:
            raise foreign(self._shown)
        if len(head) == 100 and head[18:20] not in (b"\1\1", b"\2\2"):
            # it would be opened, but not for writing
            raise self._failure("damaged", "the version in its head is not one of SQLite's")


def named(table: Table, rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return rows of a table with the names of their columns."""
    return [dict(zip(table.c.keys(), row, strict=True)) for row in rows]


def checksum(key: str, rows: Iterable[Sequence[Any]]) -> str:
    """Return the checksum of the runs of a chunk, as `RunRow.texts` has them."""
    return checksums.checksum(key, *(canonical(list(row), repr) for row in rows), digits=32)


def seal(key: str, reference: dict[str, Any]) -> str:
    """Return the checksum of what the runs of a configuration are compared with."""
    return checksum(key, [sorted(reference.items())])


def encode(key: str, reference: dict[str, Any]) -> str:
    """Return a reference as it is stored, with its checksum."""
    return canonical({**reference, "checksum": seal(key, reference)})


def decode(reference: str) -> dict[str, Any]:
    """Return a stored reference, without its checksum."""
    return {name: value for name, value in json.loads(reference).items() if name != "checksum"}


def sound(contents: Contents) -> Contents:
    """Keep the rows that are as they were stored.

    Parameters
    ----------
    contents : tuple of sequences
        Rows of the tables in `CONTENTS`, of whatever values.

    Returns
    -------
    tuple of sequences
        The configurations that match their checksums; the chunks of which all runs are there and
        match the checksum; and the runs of these chunks.
    """
    known, made, rows = map(_typed, CONTENTS, contents)
    by_chunk = defaultdict(list)
    for row in rows:
        by_chunk[row[8], row[0]].append(row)
    whole, kept = [], []
    for chunk in made:
        number, key, _, size, *_, noted = chunk
        own = sorted(by_chunk.pop((number, key), []), key=itemgetter(1))
        if len(own) == size and checksum(key, [row[1:7] for row in own]) == noted:
            whole.append(chunk)
            kept += own
    return [row for row in known if _intact(row[0], row[6], row[7])], whole, kept


def _typed(table: Table, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Keep the rows with a value of its type in every column."""
    kinds = [
        (column.type.python_type, type(None) if column.nullable else column.type.python_type)
        for column in table.c
    ]
    return (row for row in rows if len(row) == len(kinds) and all(map(isinstance, row, kinds)))


def _intact(key: str, description: str, reference: str) -> bool:
    """Return whether a configuration is what was stored.

    Its name, place and number of runs come with every campaign.
    """
    try:
        noted = json.loads(reference).get("checksum")
        intact = noted in (None, seal(key, decode(reference)))
        return intact and identity(json.loads(description)) == key
    except (AttributeError, TypeError, ValueError):
        return False


def open_store(
    path: str | Path, name: str | None = None, mode: int = PRIVATE
) -> tuple[Store, Message | None]:
    """Open a campaign file.

    Parameters
    ----------
    path : str or Path
        The file.
    name : str, optional
        Name of the campaign. If it is given, a file that is not there is made, and a damaged one is
        repaired.
    mode : int
        Permissions of a new file.

    Returns
    -------
    store : Store
        The file, which was checked as a whole.
    repaired : Message or None
        What happened to a file that was damaged or empty.
    """
    path = Path(path)
    check_place(path)
    try:
        head = read_head(path)
    except FileNotFoundError:
        head = b""
    except OSError as error:
        raise unusable(path, error) from error
    store = Store(path)
    try:
        if head:
            store.check_head(head)
        if head != b"" and store.check():
            return store, None
        exists = path.exists()
        if name is None:
            text = "there is no campaign in {path}, which {exists:is empty|does not exist}"
            remedy = "make one with `combgame campaign run campaign.toml`"
            raise StoreError("no-campaign", text, remedy=remedy, path=str(path), exists=exists)
        with suppress(OSError):  # then SQLite says why
            make_private(path, mode)
        store.create(name)
    except BaseException as error:
        store.close()
        if not isinstance(error, StoreError) or error.code != "damaged" or name is None:
            raise
        return repair(path, name, error.arguments["why"])
    text = "{path} was empty: all of its runs are made anew"
    return store, Message("emptied", text, path=str(path)) if exists else None


def repair(path: Path, name: str, why: str) -> tuple[Store, Message]:
    """Put what is still good of a damaged file into a new one, and keep the damaged one beside it.

    Parameters
    ----------
    path : Path
        The damaged file.
    name : str
        Name of the campaign.
    why : str
        What is wrong with the file.

    Returns
    -------
    store : Store
        The new file.
    repaired : Message
        What happened.
    """
    fresh = path.with_name(path.name + ".mending")
    for left in (fresh, *beside(fresh)):  # by a kill
        left.unlink(missing_ok=True)
    good = sound(recover_rows(path, [table.name for table in CONTENTS]))
    make_private(fresh, path.stat().st_mode & 0o660 | PRIVATE)
    with Store(fresh) as store:
        store.create(name, good)
    aside = replace(path, fresh)
    text = (
        "{path} was damaged ({why}): {kept} runs are still good and kept, and the file as it was "
        "is {aside}"
    )
    kept = len(good[2])
    said = Message("mended", text, path=str(path), why=why, kept=kept, aside=aside.name)
    return Store(path), said
