"""Making an experiment of the paper: its runs, its tables (CSV, Markdown) and its figures, in a
folder.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..campaign.report import show
from . import figures, tables
from .experiments import RUNS, Experiment, experiments
from .results import write
from .timing import time_per_round

Told = Callable[[str], None]


def make(
    name: str,
    out: Path,
    runs: int = RUNS,
    seed: int = 0,
    jobs: int = 1,
    cluster: str | None = None,
    told: Told = lambda text: None,
) -> None:
    """Runs (resumed from the folder's campaign file), tables and figures of one experiment."""
    out.mkdir(parents=True, exist_ok=True)
    if name == "learners":
        write(out, "learners", tables.learners(told))
        write(out, "regret", tables.regret_rows(told, runs, seed))
    elif name == "quantities":
        write(out, "quantities", tables.quantities(told))
    else:
        run(experiments()[name], out, runs, seed, jobs, cluster, told)
    figures.draw(name, out)


def run(
    e: Experiment, out: Path, runs: int, seed: int, jobs: int, cluster: str | None, told: Told
) -> None:
    report = e.campaign(runs, seed).run(out / f"{e.name}.db", jobs, cluster, say=told)
    for row in report:
        del row["key"], row["planned"]
    write(out, e.name, report)
    title = f"# {e.title}\n\n" + note(e.name, report, seed)
    (out / f"{e.name}.md").write_text(
        title
        + show(
            [{**row, "planned": row["runs"]} for row in report],
            "markdown",
            without=("us/round", "seed"),
        )
    )
    if e.timed:
        rows = []
        for instance in e.instances:
            for rule in e.timed:
                told(f"time per round of {rule}, {instance.name}")
                rows.append(time_per_round(instance, rule, seed))
        write(out, f"{e.name}-time", rows)


def note(name: str, report: Sequence[dict[str, Any]], seed: int) -> str:
    most = max(row["runs"] for row in report)
    return (
        f"Made by `combgame paper {name} --runs {most} --seed {seed}`; delta = 0.1; the "
        "number of runs is in each line.\n\n"
    )
