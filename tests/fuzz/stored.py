"""Whatever has happened to the bytes of a database, it is noticed, or what was stored is read."""

import json
import shutil
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import combgame as cg
from combgame.research.campaign import Campaign

from .case import Case
from .constructors import problem
from .odd import odd, shown

MOST = 8  # bytes that are changed


@cache
def whole(kind: str) -> Path:
    """A sound file, made once: of a study, or of a campaign."""
    path = Path(mkdtemp(prefix="combgame-fuzz-")) / f"{kind}.db"
    if kind == "study":
        with cg.Study(
            problem(), rule="uniform", storage=f"sqlite:///{path}", engine="python", max_rounds=99
        ) as study:
            for _ in range(6):
                todo = study.ask()
                study.tell(todo, {arm: 0.25 * arm for arm in todo.arms})
            study.observe({"a": (0.5, 3)})
            study.ask(2)
            study.retract(1, "mistyped")
            study.extend(max_rounds=120, reason="more")
    else:
        _campaign().run(path, progress=False, engine="python")
    return path


def _campaign() -> Campaign:
    instance = cg.Instance("one", problem(), (0.5, 0.25, 0.125))
    return Campaign.cross("c", [instance], ["uniform"], delta=0.1, runs=3, max_rounds=20)


def forget() -> None:
    """Remove the sound files."""
    for kind in ("study", "campaign"):
        shutil.rmtree(whole(kind).parent, ignore_errors=True)
    whole.cache_clear()


def study_bytes(rng: Random, folder: Path) -> Case:
    """The file of a study with some bytes changed, or cut off."""
    path, said = _spoilt(rng, folder, "study")
    return Case(said, lambda: _look(path))


def campaign_bytes(rng: Random, folder: Path) -> Case:
    """The file of a campaign with some bytes changed, or cut off: read, or run again."""
    path, said = _spoilt(rng, folder, "campaign")
    again = rng.random() < 0.3

    def do() -> None:
        from combgame.research.campaign.report import report
        from combgame.research.campaign.store import open_store

        if again:
            _campaign().run(path, progress=False, engine="python")
        store, _ = open_store(path)
        with store:
            report(store)

    return Case(f"{said}{', run again' * again}", do)


def _look(path: Path) -> None:
    with cg.Study.open(f"sqlite:///{path}", engine="python", timeout=1.0) as study:
        str(study.status), study.rows("round"), study.rows("event"), study.replay()
        study.export()
        todo = study.ask()
        if todo is not None:
            study.tell(todo, dict.fromkeys(todo.arms, 0.5))


def _spoilt(rng: Random, folder: Path, kind: str) -> tuple[Path, str]:
    path = folder / "lab.db"
    raw = bytearray(whole(kind).read_bytes())
    where = []
    for _ in range(rng.randrange(1, MOST)):
        # the head of a file and the heads of its pages are where most of its structure is
        page = 4096 * rng.randrange(len(raw) // 4096)
        at = rng.choice([rng.randrange(100), page + rng.randrange(64), rng.randrange(len(raw))])
        raw[at] = rng.choice([0, 255, rng.randrange(256), raw[at] ^ (1 << rng.randrange(8))])
        where.append(f"{at}={raw[at]}")
    if rng.random() < 0.2:
        raw = raw[: rng.randrange(len(raw))]
        where.append(f"cut to {len(raw)}")
    path.write_bytes(raw)
    return path, f"{kind} with bytes {' '.join(where)}"


def study_cells(rng: Random, folder: Path) -> Case:
    """A cell of a study's tables with another value in it, sealed anew or not."""
    path = folder / "lab.db"
    shutil.copyfile(whole("study"), path)
    table, columns = rng.choice(
        [
            (
                "combgame_events",
                ["seq", "kind", "timestamp", "round", "client", "reason", "data", "seal"],
            ),
            ("combgame_studies", ["id", "name"]),
            ("combgame_snapshots", ["seq", "sources", "checksum", "body"]),
            ("combgame_schema", ["version"]),
        ]
    )
    column = rng.choice(columns)
    value = _cell(rng, column)
    resealed = rng.random() < 0.5
    with closing(sqlite3.connect(path)) as db, db:
        keys = "study, seq" if table == "combgame_events" else "rowid"
        rows = db.execute(f"SELECT {keys} FROM {table}").fetchall()
        said = f"{table}.{column} = {shown(value)}"
        if rows:
            row = rng.choice(rows)
            which = " AND ".join(f"{key.strip()} = ?" for key in keys.split(","))
            said += f" at {row}"
            try:
                db.execute(f"UPDATE {table} SET {column} = ? WHERE {which}", (value, *row))
            except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                said += ", which SQLite refuses"
        if resealed and table == "combgame_events":
            _reseal(db)
            said += ", sealed anew"
    return Case(said, lambda: _look(path))


def _cell(rng: Random, column: str) -> Any:
    if column == "data" and rng.random() < 0.7:
        odd_data: list[Any] = [
            {},
            [],
            None,
            3,
            "x",
            {"arms": None},
            {"arms": [99], "until": None},
            {"arms": [0, 1], "until": "x"},
            {"values": {"0": "x"}},
            {"values": {"99": 1.0}, "final": True},
            {"values": {"x": 1.0}},
            {"values": [1]},
            {"values": {"0": {"mean": 1.0}}},
            {"values": {"0": {"mean": 1.0, "n": 10**30}}},
            {"arm": 99},
            {"max_rounds": "x"},
            {"deadline": 1e300},
            {"answer": [99], "rival": "x", "evidence": "nan"},
            {"problem": {"kind": "Arms", "d": 10**12}},
        ]
        return json.dumps(rng.choice(odd_data))
    if column == "kind" and rng.random() < 0.7:
        return rng.choice(
            ["asked", "told", "created", "closed", "extended", "certified", "of another time", ""]
        )
    if column == "timestamp" and rng.random() < 0.7:
        return rng.choice([1e13, 1e300, -1e300, float("inf"), 0.0, "x"])
    value = odd(rng, 0)
    return value if isinstance(value, int | float | str | bytes | type(None)) else None


def _reseal(db: sqlite3.Connection) -> None:
    """As somebody who knows how would do it."""
    from combgame.storage.events import Event, chain_hash

    before = ""
    rows = db.execute(
        "SELECT seq, kind, timestamp, round, client, reason, data, version FROM combgame_events "
        "ORDER BY seq"
    ).fetchall()
    for row in rows:
        try:
            before = chain_hash(before, Event._make([*row[:6], json.loads(row[6]), row[7]]))
        except Exception:  # no event any more
            return
        db.execute("UPDATE combgame_events SET seal = ? WHERE seq = ?", (before, row[0]))
