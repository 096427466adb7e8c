"""Studies: ask+tell per second beside optuna, opening 100,000 rounds, batches, ten thousand arms;
the slowest calls beside the disk's slowest syncs, and growth in rounds and arms:
python benchmarks/study.py [--out FILE] [--parts worst,growth]

Needs the extra `bench` (optuna, and a PostgreSQL from PyPI). Turns are interleaved, because the
time of a sync changes with the hour.
"""

import argparse
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from made import PYTHON, save

import combgame as cg
from combgame._display.text import markdown
from combgame.lab.snapshot import dump
from combgame.research.instances.alt2021 import matroid

NEVER = 1e-200  # a delta at which nothing stops


def sync_times(folder: Path, times: int = 100) -> list[float]:
    """Milliseconds that the disk takes to keep 4 kB, again and again."""
    found = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(times):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
            found.append(1e3 * (time.perf_counter() - began))
    return found


def ours(url: str | None, name: str, engine: str = "auto") -> Callable[[], None]:
    instance = matroid(20)
    study, rng = (
        cg.Study(instance.problem, delta=NEVER, storage=url, name=name, engine=engine),
        np.random.default_rng(0),
    )

    def once() -> None:
        todo = study.ask()
        study.tell(todo, {a: instance.means[a] + 0.1 * rng.standard_normal() for a in todo.arms})

    return once


def optunas(url: str | None, name: str) -> Callable[[], None]:
    """One float parameter, the default sampler."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(storage=url, study_name=name)
    dice = np.random.default_rng(0)

    def once() -> None:
        trial = study.ask()
        trial.suggest_float("x", 0.0, 1.0)
        study.tell(trial, float(dice.random()))

    return once


def speed(folder: Path, seconds: float, turns: int) -> str:
    import pgserver

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server = pgserver.get_server(folder / "pg")
    base = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    places: dict[str, str | None] = {
        "in memory": None,
        "SQLite": f"sqlite:///{folder}/",
        "PostgreSQL": base,
    }
    rates: dict[tuple[str, str], list[float]] = {}
    syncs = []
    for turn in range(turns):
        for place, url in places.items():
            for who, make in (
                ("combgame", ours),
                ("compiled", partial(ours, engine="compiled")),
                ("optuna", optunas),
            ):
                mine = f"{url}{who}{turn}.db" if place == "SQLite" else url
                once = make(mine, f"{who}{turn}")
                for _ in range(10):  # past the start, and compiled
                    once()
                began, done = time.perf_counter(), 0
                while time.perf_counter() - began < seconds:
                    once()
                    done += 1
                rates.setdefault((place, who), []).append(done / (time.perf_counter() - began))
        syncs.append(statistics.mean(sync_times(folder)))
    server.cleanup()
    cells = []
    for place in places:
        row = [
            place,
            *(
                f"{statistics.median(rates[place, who]):,.0f}"
                for who in ("combgame", "compiled", "optuna")
            ),
        ]
        for who in ("combgame", "compiled"):
            pairs = zip(rates[place, who], rates[place, "optuna"], strict=True)
            row.append(f"{statistics.median(a / b for a, b in pairs):.1f}x")
        cells.append(row)
    head = [
        "ask+tell per second",
        "combgame",
        "engine='compiled'",
        "optuna",
        "median of the ratios",
        "compiled",
    ]
    told = (
        f"d = 20, plates of 3, frank-wolfe; {turns} turns of {seconds:g} s. The disk takes "
        f"{statistics.median(syncs):.1f} ms to sync "
    )
    return (
        told
        + "4 kB, and an acknowledged ask or tell is on disk: two syncs for ask+tell.\n\n"
        + markdown(head, cells)
        + "\n"
    )


def opening(folder: Path, rounds: int) -> str:
    instance, rng = matroid(20), np.random.default_rng(0)
    url = f"sqlite:///{folder}/long.db"
    with cg.Study(instance.problem, delta=NEVER, storage=url, name="long") as study:
        began = time.perf_counter()
        for _ in range(rounds // 200):
            todo = study.ask(200)
            study.tell_many(
                {
                    one.id: {a: instance.means[a] + 0.1 * rng.standard_normal() for a in one.arms}
                    for one in todo
                }
            )
        made = time.perf_counter() - began
    times = []
    for _ in range(5):
        began = time.perf_counter()
        with cg.Study.open(url, "long") as study:
            study.ask()
            times.append(time.perf_counter() - began)
    size = (folder / "long.db").stat().st_size / 1e6
    return (
        f"Opening a study with {rounds:,} rounds and asking: {statistics.median(times):.2f} s "
        f"(slowest of five {max(times):.2f} s); "
        f"it was made in {made:.0f} s, in batches of 200, and its file has {size:.0f} MB.\n"
    )


def batches(runs: int, pending: int = 8) -> str:
    """Rounds until the decision with `pending` rounds out at all times, beside one at a time: there
    a study is a run of `simulate`.
    """
    instance, totals = matroid(20), []
    alone = cg.simulate(
        instance.problem,
        instance.means,
        rule="frank-wolfe",
        delta=0.1,
        threshold="mixture",
        runs=10 * runs,
        seed=1,
        shuffle_arms=True,
    ).rounds
    for run in range(runs):
        study, rng = (
            cg.Study(instance.problem, delta=0.1, seed=run, engine="compiled"),
            np.random.default_rng(run),
        )
        queue = study.ask(pending)
        while not study.done:
            one = queue.pop(int(rng.integers(len(queue))))  # whichever comes back first
            study.tell(one, {a: instance.means[a] + 0.1 * rng.standard_normal() for a in one.arms})
            queue += study.ask(1)
        totals.append(
            study.decision.rounds + len(queue)
        )  # those that are still out have been spent
    means = [float(np.mean(found)) for found in (totals, alone)]
    errors = [
        float(np.std(found)) / len(found) ** 0.5 / mean
        for found, mean in zip((totals, alone), means, strict=True)
    ]
    ratio = means[0] / means[1]
    return (
        f"k = 3, d = 20, delta = 0.1, mixture: {means[1]:,.0f} rounds one at a time "
        f"({len(alone):,} runs), {means[0]:,.0f} with {pending} "
        f"pending at all times ({runs} runs; those still out at the end are counted): {ratio:.3f}x "
        f"(standard error {ratio * np.hypot(*errors):.3f}).\n"
    )


def questions(d: int) -> dict[str, cg.Problem]:
    rewards, groups = cg.Gaussian(1.0), [range(g, g + d // 100) for g in range(0, d, d // 100)]
    return {
        f"Arms({d})": cg.Problem(cg.Arms(d), rewards=rewards),
        f"Subsets({d}, 100), best arm": cg.Problem(cg.Subsets(d, 100), cg.Arms(d), rewards),
        f"Subsets({d}, 100), best set": cg.Problem(cg.Subsets(d, 100), None, rewards),
        f"Subsets({d}, 100), top 5": cg.Problem(cg.Subsets(d, 100), cg.Subsets(d, 5), rewards),
        f"Subsets({d}, 5), best set": cg.Problem(cg.Subsets(d, 5), None, rewards),
        "Partition, one of each of 100 groups": cg.Problem(
            cg.Partition(groups, [1] * len(groups)), None, rewards
        ),
    }


def begun(
    problem: cg.Problem, url: str | None = None, name: str = "study"
) -> tuple[cg.Study, np.random.Generator]:
    """A study the start of which is over, and that is compiled."""
    study, rng = (
        cg.Study(problem, min_replicates=2, storage=url, name=name),
        np.random.default_rng(0),
    )
    for n in (2 * len(problem.actions.covering()), 1):
        todo = study.ask(n)
        told = {one.id: {a: float(rng.standard_normal()) for a in one.arms} for one in todo}
        study.tell_many(told)
    return study, rng


def large(folder: Path, rounds: int = 300) -> str:
    cells: list[list[str]] = []
    syncs: list[float] = []
    for label, problem in questions(10_000).items():
        for place, url in (("in memory", None), ("SQLite", f"sqlite:///{folder}/large.db")):
            study, rng = begun(problem, url, label)
            asks, tells = [], []
            for _ in range(rounds):
                began = time.perf_counter()
                one = study.ask()
                between = time.perf_counter()
                study.tell(one, {a: float(rng.standard_normal()) for a in one.arms})
                asks.append(1e3 * (between - began))
                tells.append(1e3 * (time.perf_counter() - between))
            cells.append(
                [
                    label,
                    place,
                    *(
                        f"{x:.1f}"
                        for x in (
                            statistics.median(asks),
                            max(asks),
                            statistics.median(tells),
                            max(tells),
                        )
                    ),
                ]
            )
            study.close()
        syncs += sync_times(folder, rounds)
    told = (
        f"Between these, {len(syncs):,} syncs of 4 kB took {statistics.median(syncs):.1f} ms, "
        f"the slowest {max(syncs):.1f} ms.\n\n"
    )
    return (
        told
        + markdown(
            [
                "10,000 arms",
                "kept",
                "ask, ms",
                f"slowest of {rounds}",
                "tell, ms",
                f"slowest of {rounds}",
            ],
            cells,
        )
        + "\n"
    )


def worst(folder: Path, calls: int = 2000, d: int = 10_000) -> str:
    """The slowest of so many calls with ten thousand arms, and of as many syncs of 4 kB between
    them.
    """
    problem = cg.Problem(cg.Subsets(d, 100), cg.Arms(d), cg.Gaussian(1.0))
    study, rng = begun(problem, f"sqlite:///{folder}/worst.db", "worst")
    spent: dict[str, list[float]] = {"ask": [], "tell": [], "step": []}
    syncs: list[float] = []

    def timed(what: str, call: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        made = call()
        spent[what].append(1e3 * (time.perf_counter() - began))
        syncs.extend(sync_times(folder, 1))
        return made

    def values(one: cg.Round) -> dict[int, float]:
        return {a: float(rng.standard_normal()) for a in one.arms}

    for _ in range(calls // 4):
        one = timed("ask", study.ask)
        timed("tell", partial(study.tell, one, values(one)))
    one = study.ask()
    for _ in range(calls // 2):
        one = timed("step", partial(study.tell_and_ask, one, values(one)))
    study.close()
    rows = [
        [f"{what}, of {len(found):,}", *(f"{x:.1f}" for x in spread(found, max(syncs)))]
        for what, found in {**spent, "sync of 4 kB": syncs}.items()
    ]
    head = ["ms", "median", "99 in 100", "slowest", "slowest by the slowest sync"]
    told = f"Subsets({d}, 100), the best arm, SQLite; a sync of 4 kB after every call.\n\n"
    return told + markdown(head, rows) + "\n"


def spread(found: list[float], sync: float) -> list[float]:
    """The median, the 99th percentile, the most, and the most in slowest syncs."""
    return [
        statistics.median(found),
        float(np.quantile(found, 0.99)),
        max(found),
        max(found) / sync,
    ]


def long_study(url: str, rounds: int) -> cg.Study:
    """Five arms, played in turns, told in portions."""
    problem, rng = cg.Problem(cg.Arms(5), rewards=cg.Gaussian(1.0)), np.random.default_rng(0)
    study = cg.Study(problem, delta=NEVER, rule="uniform", storage=url, engine="python")
    for _ in range(rounds // 1000):
        told = study.ask(1000)
        study.tell_many({one: {a: float(rng.normal(0.01 * a)) for a in one.arms} for one in told})
    return study


def growth(folder: Path, rounds: Sequence[int], arms: Sequence[int]) -> str:
    """What takes how long in studies of so many rounds, and with so many arms."""
    columns: list[list[str]] = []
    for n in rounds:
        with long_study(f"sqlite:///{folder}/long{n}.db", n) as study:
            locked = waits(study)
            column = [
                seconds(lambda: study.status, times=3),
                seconds(study.events, times=3),
                seconds(lambda: study.rows("round"), times=3),
                seconds(lambda: study.tell(3, {})),
                seconds(lambda: study.retract(7, "a slip")),
                f"{max(locked):.3f}",
            ]
        began = time.perf_counter()
        with cg.Study.open(f"sqlite:///{folder}/long{n}.db", engine="python") as again:
            again.ask()
            column.append(f"{time.perf_counter() - began:.3f}")
        columns.append(column)
    what = [
        "status, fastest of 3",
        "events(), fastest of 3",
        'rows("round"), fastest of 3',
        "tell a round that was told",
        "retract a round",
        "of that, others wait",
        "open it and ask",
    ]
    head = ["seconds; 5 arms", *(f"{n:,} rounds" for n in rounds)]
    rows = [[name, *(column[k] for column in columns)] for k, name in enumerate(what)]
    cells = []
    for d in arms:
        problem = cg.Problem(cg.Subsets(d, 100), cg.Arms(d), cg.Gaussian(1.0))
        study, rng = begun(problem, f"sqlite:///{folder}/wide.db", f"{d}")
        one, steps = study.ask(), []
        for _ in range(30):
            told = {a: float(rng.standard_normal()) for a in one.arms}
            began = time.perf_counter()
            one = study.tell_and_ask(one, told)
            steps.append(1e3 * (time.perf_counter() - began))
        began = time.perf_counter()
        size = len(dump(study._session._state) or b"")
        spent = 1e3 * (time.perf_counter() - began)
        study.close()
        figures = f"{statistics.median(steps):.1f}", f"{max(steps):.1f}", f"{spent:.0f}"
        cells.append([f"{d:,}", *figures, f"{size / 1e6:.1f}"])
    wide = ["arms", "step, ms", "slowest of 30", "a snapshot (no call waits), ms", "its MB"]
    return (
        markdown(head, rows)
        + "\n\nSubsets(arms, 100), the best arm, compiled:\n\n"
        + (markdown(wide, cells) + "\n")
    )


def powers(most: int, least: int) -> list[int]:
    """
    >>> powers(100_000, 1000)
    [1000, 10000, 100000]
    """
    return [] if most < least else [*powers(most // 10, least), most]


def seconds(call: Callable[[], Any], times: int = 1) -> str:
    """The least of so many times, as other programs run too."""
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        spent.append(time.perf_counter() - began)
    return f"{min(spent):.3f}"


def waits(study: cg.Study) -> list[float]:
    """How long each of the study's transactions has the write lock."""
    storing, found = study._session.storage, []
    real = storing.transaction

    @contextmanager
    def timed(write: bool = True) -> Iterator[Any]:
        with real(write) as log:
            began = time.perf_counter()
            yield log
        if write:
            found.append(time.perf_counter() - began)

    storing.transaction = timed  # type: ignore[method-assign]
    return found


def memory() -> str:
    """The most that a study holds at once, its events included: as tracemalloc sees it, in memory,
    compiled.
    """
    import tracemalloc

    sizes, found = (1_000, 3_000, 10_000), []
    for problems in zip(*(questions(d).items() for d in sizes), strict=True):
        row = [problems[-1][0]]
        for d, (_, problem) in zip(sizes, problems, strict=True):
            begun(problem)  # compiles
            tracemalloc.start()
            study, rng = begun(problem)
            for _ in range(20):
                one = study.ask()
                study.tell(one, {a: float(rng.standard_normal()) for a in one.arms})
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            row.append(f"{peak / 1e6:.1f} ({peak / d / 1e3:.1f})")
        found.append(row)
    return (
        markdown(["the most memory, MB (kB per arm)", *(f"{d:,} arms" for d in sizes)], found)
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--arms", type=int, default=100_000)
    parser.add_argument("--parts", default="speed,opening,batches,large,memory,worst,growth")
    parser.add_argument(
        "--folder",
        type=Path,
        default=None,
        help="where the databases go; by default a temporary folder",
    )
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder, found = Path(name), []
        known: dict[str, Callable[[], str]] = {
            "speed": lambda: speed(folder, options.seconds, options.turns),
            "opening": lambda: opening(folder, options.rounds),
            "batches": lambda: batches(options.runs),
            "large": lambda: large(folder),
            "memory": memory,
            "worst": lambda: worst(folder),
            "growth": lambda: growth(
                folder, powers(options.rounds, 1000), powers(options.arms, 1000)
            ),
        }
        for part in options.parts.split(","):
            found.append(known[part]())
            print(found[-1], flush=True)
            save(options.out, "\n".join(found), PYTHON)


if __name__ == "__main__":
    main()
