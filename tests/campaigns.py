"""What tests of campaigns share: a small campaign, its rows, and how to wait for a process."""

import sqlite3
import sys
import time
from contextlib import closing, contextmanager

import pytest

import combgame as cg
from combgame.research.campaign.report import rows
from combgame.research.campaign.store import RunChunk, RunRow, open_store

MEANS = (0.5, 0.3, 0.2, 0.1)


PROBLEM = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))


FOUR = cg.Instance("four", PROBLEM, MEANS)


MEASURED = {"seconds", "rounds_per_second", "us_per_round"}


TOML = """
runs = 5
delta = 0.1
threshold = "stylised"
rules = ["uniform"]

[[problems]]
actions = {kind = "subsets", arms = 4, size = 2}
answers = {kind = "arms"}
rewards = {kind = "gaussian", sigma = 0.1}
truth = {means = [0.5, 0.3, 0.2, 0.1]}
"""


def tiny(runs=6, rules=("ofw", "uniform"), name="tiny", **settings):
    return cg.Campaign.cross(
        name,
        [FOUR],
        rules,
        **{"delta": (0.1, 0.01), "threshold": "stylised", "runs": runs, **settings},
    )


def unmeasured(lines):
    return [{name: value for name, value in line.items() if name not in MEASURED} for line in lines]


def table(path):
    """Every row of a campaign file, without what is measured."""
    with open_store(path)[0] as file:
        return unmeasured(rows(file))


def whole_table(campaign, folder):
    """The table of the campaign when nothing happens to it."""
    campaign.run(folder / "uninterrupted.db", engine="python")
    return table(folder / "uninterrupted.db")


@contextmanager
def driver(store):
    """The driver's own connection to a campaign file that is open."""
    with closing(store._connect().raw_connection()) as connection:
        yield connection.driver_connection


def until(found, seconds=60.0):
    """Ask again and again; what is found, when there is something."""
    last = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < last, "it does not happen"
        time.sleep(0.01)
    return value


def count(path):
    """How many runs are committed, seen from outside."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60.0)) as db:
            return db.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
    except sqlite3.Error:
        return 0


def made_up(configuration, first, number, engine, sources):
    """Rows that cost nothing."""
    lines = [
        RunRow(
            run,
            [1000 + run, 2000 + run],
            [[0], [run % 4]],
            [True, run % 4 == 0],
            2000 + run,
            {"support": run % 7, "x" * 240: run},
            0.1,
        )
        for run in range(first, first + number)
    ]
    return RunChunk(configuration.key, first, lines, sources, "somebody:1", 0.1 * number)


def command(capsys, *words):
    """The command line in this process: how it ended, and what it wrote."""
    from combgame.cli.app import main

    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["combgame", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    return code, *capsys.readouterr()
