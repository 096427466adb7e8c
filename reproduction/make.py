"""Make the paper's experiments: runs, then tables (CSV, Markdown), figures and the page."""

import time
from collections.abc import Callable
from pathlib import Path

from combgame._display.plotting import save
from combgame.research.campaign.campaign import LEAST
from combgame.research.campaign.report import show
from combgame.research.campaign.store import open_store

from . import figures, tables
from .experiments import RUNS, Experiment, experiments
from .findings import ClaimResult, verdicts
from .page import page
from .results import Rows, Tables, read, write
from .timing import times

Say = Callable[[str], None]
TABLES = {
    "quantities": tables.quantities,
    "theorem3": tables.bound_rows,
    "psi": tables.psi_rows,
}
SIMULATED = {"correlated": tables.correlated_rows, "elimination": tables.elimination_rows}
PAGE = """# {title}

Made by `python -m reproduction {name} --runs {most} --seed {seed}`; delta = 0.1; the number of \
runs is in each line.

"""


def make(
    name: str,
    out: Path,
    runs: int = RUNS,
    seed: int = 0,
    jobs: int = 1,
    cluster: str | None = None,
    say: Say = lambda text: None,
    so_far: bool = False,
    progress: bool | None = None,
) -> None:
    """Make the runs, tables and figures of one experiment, and record how long it took.

    Runs are resumed from the folder's campaign file.

    Parameters
    ----------
    name : str
        Name of the experiment.
    out : Path
        Folder of the results.
    runs : int
        Runs per configuration.
    seed : int
        Seed of the runs.
    jobs : int
        Number of processes.
    cluster : str, optional
        Address of a dask scheduler.
    say : callable
        Receives messages.
    so_far : bool
        If True, no more runs are made, and times are measured only if there are none yet.
    progress : bool, optional
        See `Campaign.run`.
    """
    out.mkdir(parents=True, exist_ok=True)
    began, worked = time.perf_counter(), time.process_time()
    if so_far and name in experiments() and not (out / f"{name}.db").exists():
        say(f"{name}: nothing has been run")
        return
    if name == "learners":
        made = {"learners": tables.learners(say), "regret": tables.regret_rows(say, runs, seed)}
    elif name in SIMULATED:
        made = {name: SIMULATED[name](say, runs, seed)}
    elif name in TABLES:
        made = {name: TABLES[name](say)}
    else:
        e = experiments()[name]
        made = {name: campaign_rows(e, out, runs, seed, jobs, cluster, say, so_far, progress)}
        if not made[name]:
            say(f"{name}: no line has {LEAST} runs")
            return
        if e.timed and not (so_far and read(out, f"{name}-time")):
            made[f"{name}-time"] = times(e.instances, e.timed, seed, say)
    for table, rows in made.items():
        write(out, table, rows)
    if name in experiments():
        (out / f"{name}.md").write_text(
            as_markdown(experiments()[name], made[name], seed), encoding="utf-8"
        )
    picture = figures.drawn(name, Tables(out))
    if picture is not None:
        save(picture, out / name)
    spent = time.perf_counter() - began, time.process_time() - worked
    note(out, name, made[name], *spent, jobs)


def note(out: Path, name: str, rows: Rows, seconds: float, busy: float, jobs: int) -> None:
    """Record in the folder how long an experiment took.

    The row has the time of this last call, and the time that workers have spent on all runs, in
    this or earlier calls. Without a campaign, the latter is the time of this process.
    """
    sources = ""
    if (out / f"{name}.db").exists():
        store, _ = open_store(out / f"{name}.db")
        with store:
            busy, sources = store.busy(), "; ".join(store.sources())
    row = {
        "experiment": name,
        "lines": len(rows),
        "runs": sum(row.get("runs") or 0 for row in rows) if sources else 0,
        "worker_seconds": busy,
        "last_call_seconds": seconds,
        "jobs": jobs,
        "made_by": sources,
    }
    before = [one for one in read(out, "made") if one["experiment"] != name]
    write(out, "made", [*before, row])


def campaign_rows(
    e: Experiment,
    out: Path,
    runs: int,
    seed: int,
    jobs: int,
    cluster: str | None,
    say: Say,
    so_far: bool = False,
    progress: bool | None = None,
) -> Rows:
    """Return one row for every configuration, from the runs in the folder's campaign file.

    With `so_far`, no more runs are made, and configurations with fewer than LEAST runs are left
    out.
    """
    campaign, path = e.campaign(runs, seed), out / f"{e.name}.db"
    report = (
        campaign.so_far(path)
        if so_far
        else campaign.run(path, jobs, cluster, say=say, progress=progress)
    )
    return [
        {name: value for name, value in row.items() if name not in ("key", "planned")}
        for row in report
    ]


def as_markdown(e: Experiment, report: Rows, seed: int) -> str:
    """Return the table of an experiment as a page of its own."""
    most = max(row["runs"] for row in report)
    rows = [{**row, "planned": row["runs"]} for row in report]
    head = PAGE.format(title=e.title, name=e.name, most=most, seed=seed)
    return head + show(rows, "markdown", without=("us/round", "seed"))


def write_page(out: Path) -> tuple[list[ClaimResult], Path]:
    """Judge the paper's findings, and write the page on them beside the folder.

    docs/paper.md is such a page.
    """
    out.mkdir(parents=True, exist_ok=True)
    known, target = Tables(out), out.with_name(out.name + ".md")
    made = verdicts(known)
    target.write_text(page(known, made), encoding="utf-8")
    return made, target
