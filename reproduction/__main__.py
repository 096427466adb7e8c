"""The command line: python -m reproduction list | figure1 | ... | all | findings."""

import json
from pathlib import Path
from typing import Annotated

import typer

from combgame.cli._common import AsJson, Cluster, Jobs, Quiet, Seed, how_far, say, stopped
from combgame.cli.app import main

from . import TITLES

app = typer.Typer(
    help="The paper's experiments: every table and figure, and its findings judged one by one.",
    no_args_is_help=True,
)
Runs = Annotated[int, typer.Option(min=1, help="Runs per configuration; the paper has 750.")]
Folder = Annotated[
    Path, typer.Option("--out", "-o", help="The folder of the tables, figures and campaign files.")
]
SoFar = Annotated[
    bool, typer.Option("--so-far", help="Make no more runs: tables and figures of what is there.")
]
OUT = Path("paper-results")


@app.command("list")
def names(as_json: AsJson = False) -> None:
    """List what can be made."""
    titles = TITLES | {
        "findings": "The paper's nine findings, judged from the tables in the folder",
        "all": "All of it",
    }
    if as_json:
        typer.echo(json.dumps(titles, indent=1))
        return
    for name, title in titles.items():
        typer.echo(f"{name:20} {title}")


def _command(name: str, title: str) -> None:
    def made(
        runs: Runs = 750,
        seed: Seed = 0,
        jobs: Jobs = 1,
        cluster: Cluster = None,
        out: Folder = OUT,
        so_far: SoFar = False,
        quiet: Quiet = False,
        as_json: AsJson = False,
    ) -> None:
        shown = how_far(quiet, as_json)
        produce([name], runs, seed, jobs, cluster, out, as_json, so_far, shown)

    app.command(name, help=title + ".")(made)


@app.command("findings")
def findings(out: Folder = OUT, as_json: AsJson = False) -> None:
    """Judge the paper's findings from the tables in the folder, and write a page beside it.

    docs/paper.md is such a page.
    """
    from .make import write_page

    verdicts, target = write_page(out)
    if as_json:
        typer.echo(json.dumps([one._asdict() for one in verdicts], indent=1))
        return
    for one in verdicts:
        typer.echo(f"{one.number}. {one.claim}\n   -> {one.verdict.upper()}: {one.evidence}")
    say(f"wrote {target}.")


@app.command("all")
def everything(
    runs: Runs = 750,
    seed: Seed = 0,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    out: Folder = OUT,
    so_far: SoFar = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make every experiment, then the findings."""
    shown = how_far(quiet, as_json)
    printed = None if as_json else False
    produce(list(TITLES), runs, seed, jobs, cluster, out, printed, so_far, shown)
    findings(out, as_json)


def produce(
    chosen: list[str],
    runs: int,
    seed: int,
    jobs: int,
    cluster: str | None,
    out: Path,
    as_json: bool | None,
    so_far: bool = False,
    progress: bool | None = None,
) -> None:
    """Make experiments and print their tables; nothing is printed if `as_json` is None."""
    from .make import make
    from .results import read

    for name in chosen:
        say(f"{name} ...")
        with stopped():
            make(name, out, runs, seed, jobs, cluster, say, so_far, progress)
        if as_json is None:
            continue
        if as_json:
            tables = {"learners": ["learners", "regret"]}.get(name, [name])
            typer.echo(json.dumps([row for table in tables for row in read(out, table)], indent=1))
        elif (out / f"{name}.md").exists():
            typer.echo((out / f"{name}.md").read_text(encoding="utf-8"))
    say(f"tables and figures are in {out}.")


for _name, _title in TITLES.items():
    _command(_name, _title)


if __name__ == "__main__":
    main(app, "python -m reproduction")
