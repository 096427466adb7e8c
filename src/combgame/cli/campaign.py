"""The commands of `combgame campaign`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .._display.files import save
from ..errors import unknown_name
from ._common import (
    SHELL,
    AsJson,
    Cluster,
    Jobs,
    Mode,
    Quiet,
    StoreFile,
    as_mode,
    echo,
    how_far,
    say,
    stopped,
)

app = typer.Typer(
    help="Many runs of many configurations, stored: survives being killed, never computes a run "
    "twice.",
    no_args_is_help=True,
)


@app.command()
def run(
    file: Annotated[
        Path, typer.Argument(help="The campaign (.toml): problems, rules, runs, seed.")
    ],
    store: Annotated[
        Path | None,
        typer.Option(help="Where the rows go; by default beside the file, with the ending .db."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs per configuration, instead of what the file says."),
    ] = None,
    jobs: Jobs = 1,
    cluster: Cluster = None,
    mode: Mode = "600",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make every run that is not stored yet.

    The same command again goes on where the last one ended, however it ended.
    """
    from dataclasses import replace

    from ..research.campaign.campaign import read_campaign
    from ..research.campaign.report import show

    campaign = read_campaign(file)
    if runs is not None:
        campaign = replace(
            campaign, configurations=tuple(replace(c, runs=runs) for c in campaign.configurations)
        )
    target = store or file.with_suffix(".db")
    with stopped():
        shown = how_far(quiet, as_json)
        rows = campaign.run(target, jobs, cluster, progress=shown, say=say, mode=as_mode(mode))
    say(
        f"all {campaign.runs:,} runs of {campaign.name} are in {target}: see `combgame campaign "
        f"report {target}`."
    )
    echo(show(rows, "json" if as_json else "text"))


@app.command()
def status(store: StoreFile, as_json: AsJson = False) -> None:
    """Show how far a campaign is, and who is working on it."""
    from ..research.campaign.lock import holder
    from ..research.campaign.report import disambiguate, duration, remarks
    from ..research.campaign.store import open_store

    with open_store(store)[0] as file:
        configurations, sources, busy = (
            disambiguate(file.configurations()),
            file.sources(),
            file.busy(),
        )
        twins = [one.render(SHELL) for one in remarks(file.configurations())]
        done, planned = (
            sum(c["stored"] for c in configurations),
            sum(c["runs"] for c in configurations),
        )
        times = [
            ((c["runs"] - c["stored"]), file.seconds(c["key"]))
            for c in configurations
            if c["stored"] < c["runs"]
        ]
        left = None if any(t is None for _, t in times) else sum(n * (t or 0.0) for n, t in times)
        data: dict[str, Any] = {
            "campaign": file.name,
            "stored": done,
            "planned": planned,
            "running": holder(store),
            "worker_seconds": busy,
            "worker_seconds_left": left,
            "made_by": sources,
            "configurations": [
                {k: c[k] for k in ("instance", "label", "stored", "runs", "key")}
                for c in configurations
            ],
        }
    if as_json:
        echo(json.dumps(data, indent=1))
        return
    echo(
        f"{data['campaign']}: {done:,} of {planned:,} runs are stored, {duration(busy)} of work "
        "(with compiling)."
    )
    time = (
        "how long the rest takes is not known yet"
        if left is None
        else f"about {duration(left)} of one worker's time are left"
    )
    for c in configurations:
        bar = "#" * int(20 * c["stored"] / c["runs"])
        echo(f"  {c['stored']:>7,} of {c['runs']:<7,} [{bar:<20}] {c['instance']}: {c['label']}")
    for text in twins:
        echo(text)
    if len(sources) > 1:
        echo(f"The runs were made by different versions: {', '.join(sources)}.")
    if data["running"]:
        echo(f"It is being worked on by {data['running']}; {time}.")
    elif done < planned:
        echo(f"Nobody is working on it; {time}: run the same command again.")
    else:
        echo("It is complete: `combgame campaign report` shows what was found.")


Form = Annotated[str, typer.Option("--format", "-f", help="text, markdown, csv or json.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file instead.")]


def put(text: str, out: Path | None) -> None:
    """Print a text, or write it to a file."""
    if out is None:
        echo(text.rstrip("\n"))
    else:
        save(out, text if text.endswith("\n") else text + "\n")
        say(f"wrote {out}.")


@app.command()
def report(store: StoreFile, form: Form = "text", out: Out = None, as_json: AsJson = False) -> None:
    """Print one line per configuration and delta.

    It has the rounds, the errors with their exact interval, the bound and the ratio to the limit.
    """
    from ..research.campaign.report import remarks, show
    from ..research.campaign.report import report as lines
    from ..research.campaign.store import open_store

    with open_store(store)[0] as file:
        put(
            show(
                lines(file),
                "json" if as_json else form,
                below=[str(s) for s in remarks([c for c in file.configurations() if c["stored"]])],
            ),
            out,
        )


@app.command()
def export(store: StoreFile, form: Form = "csv", out: Out = None, as_json: AsJson = False) -> None:
    """Print one line per run and delta (csv or json)."""
    from ..research.campaign.report import rows, show
    from ..research.campaign.store import open_store

    if form not in ("csv", "json"):
        raise unknown_name("format", form, ("csv", "json"))
    with open_store(store)[0] as file:
        put(show(rows(file), "json" if as_json else form), out)


@app.command()
def plot(
    store: StoreFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Name of the pictures, without .png and .svg."),
    ] = None,
) -> None:
    """Draw means with quartile bars, one line per rule, as PNG and SVG."""
    from .._display.plotting import plot as draw
    from .._display.plotting import save as save_figure
    from ..research.campaign.report import report as lines
    from ..research.campaign.store import open_store

    with open_store(store)[0] as file:
        written = save_figure(draw(lines(file), file.name), out or store.with_suffix(""))
    say("wrote " + " and ".join(map(str, written)) + ".")
