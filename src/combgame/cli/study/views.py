"""The commands `combgame study status | decision | export | plot | report | replay`."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ..._messages import Message
from .._common import SHELL, AsJson, ShellRenderer, echo
from ._common import DIFFERS, Name, Where, leave, looked, opened, put

BELOW = ShellRenderer(decision_says="below is")  # for a status that the decision follows
RUNS = 20  # runs of a plan that must be simulated
UNLIMITED = 10**6  # maximal rounds of such a run


def status(
    storage: Where,
    name: Name = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Again and again, until it has stopped.")
    ] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    as_json: AsJson = False,
) -> None:
    """Show where the study stands, and what to do next; when it has stopped, why."""
    with opened(storage, name) as study:
        before = None
        while True:
            now, decision = looked(study)
            if now != before:
                data = {
                    **now.to_dict(SHELL),
                    "decision": None if decision is None else decision.to_dict(SHELL),
                }
                BELOW.study = SHELL.study
                text = now.render(BELOW)
                if decision is not None:
                    text += f"\n\n{decision.render(SHELL)}"
                put(data, text, as_json)
            before = now
            if not watch or now.state != "running":
                leave(now.state)
                return
            time.sleep(every)


def decision(storage: Where, name: Name = None, as_json: AsJson = False) -> None:
    """Show the answer and why the study stopped; while it runs, what to do next."""
    with opened(storage, name) as study:
        now, made = looked(study)
        data = {
            "state": now.state,
            "decision": None if made is None else made.to_dict(SHELL),
            "next_step": now.next_step.to_data(SHELL),
        }
        said = Message("no-decision", "There is no decision yet: {name} still runs", name=now.name)
        text = (
            f"{said.render(SHELL)} {now.next_step.render(SHELL)}"
            if made is None
            else made.render(SHELL)
        )
        put(data, text, as_json)
        leave(now.state)


def export(
    storage: Where,
    name: Name = None,
    level: Annotated[str, typer.Option(help="round, arm or event.")] = "round",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="A file: .csv for the rows of a level, .json for all of it."
        ),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="csv or json, whatever the file's name.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export the study as a table (CSV), or all of it (JSON)."""
    with opened(storage, name) as study, study.view(history=True) as now:
        if out is not None:
            anew = replaced(out)
            now.export(out, level, form, SHELL)
            put({"out": str(out)}, f"wrote {out}{anew}.", as_json)
        else:
            form = form or ("json" if as_json else "csv")
            echo(now.export(None, level, form, SHELL).rstrip("\n"))


Unit = Annotated[str | None, typer.Option(help="What the values are, for the axes: mg/l, say.")]
Show = Annotated[bool, typer.Option("--open", help="And show it, in a browser or a viewer.")]


def plot(
    storage: Where,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The name of the pictures, with or without .png or .svg.",
            show_default="the study's name and the kind",
        ),
    ] = None,
    name: Name = None,
    kind: Annotated[str, typer.Option(help="overview, estimates, evidence or pulls.")] = "overview",
    unit: Unit = None,
    show: Show = False,
    as_json: AsJson = False,
) -> None:
    """Draw the study, as PNG and SVG, here or where --out says."""
    from ..._display.plotting import save

    with opened(storage, name) as study:
        out = out or Path(file_name(study.name, kind))
        base = out.with_suffix("") if out.suffix.lower() in (".png", ".svg") else out
        anew = replaced(*(base.with_name(f"{base.name}.{form}") for form in ("png", "svg")))
        written = [str(path) for path in save(study.plot(kind, unit), base)]
        put(written, f"wrote {' and '.join(written)}{anew}.", as_json)
        if show:
            typer.launch(written[0])


def report(
    storage: Where,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The file.", show_default="the study's name, -report.html"
        ),
    ] = None,
    name: Name = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="A problem file with the means that were supposed, in its table truth: what "
            "happened is compared with them."
        ),
    ] = None,
    unit: Unit = None,
    show: Show = False,
    as_json: AsJson = False,
) -> None:
    """Write a page to hand on, one file, which can be printed.

    It has the decision, pictures, assumptions, every round and who measured it.
    """
    with opened(storage, name) as study, study.view(history=True) as now:
        out = out or Path(file_name(study.name, "report") + ".html")
        planned = None if plan is None else _planned(plan, now.status.settings)
        anew = replaced(out)
        now.report(out, planned, unit, SHELL)
        put({"out": str(out)}, f"wrote {out}{anew}.", as_json)
        if show:
            typer.launch(str(out))


def replaced(*paths: Path) -> str:
    """Return a note if files are about to be overwritten."""
    return ", in the place of what was there" if any(one.exists() for one in paths) else ""


def _planned(file: Path, settings: dict[str, Any]) -> Any:
    """Return the plan of a study with these settings.

    With batch effects, only simulated runs can predict the number of rounds.
    """
    from ...simulation.plan import plan
    from .._common import supposed

    problem, means = supposed(file)
    return plan(
        problem,
        means,
        delta=settings["delta"],
        epsilon=settings["epsilon"],
        rules="frank-wolfe" if problem.rewards.has_batch_effect() else None,
        runs=RUNS,
        max_rounds=settings["max_rounds"] or UNLIMITED,
        gap_scales=1.0,
    )


def file_name(study: str, kind: str) -> str:
    """Return the name of a file for a study, without special characters.

    >>> file_name("plate 7/b", "report"), file_name("///", "evidence")
    ('plate-7-b-report', 'study-evidence')
    """
    kept = "".join(c if c.isalnum() or c in "._" else "-" for c in study).strip("-.")
    return f"{kept or 'study'}-{kind}"


def replay(
    storage: Where,
    name: Name = None,
    head: Annotated[
        str | None,
        typer.Option(
            help="The last event as `status` once showed it, NUMBER:SEAL: refused if it is not "
            "there any more."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide everything again from the events, and say where that differs."""
    with opened(storage, name) as study:
        again = study.replay(head)
        there = f" Event {head} is there." if head else ""
        put(again.to_dict(SHELL), f"{again.render(SHELL)}{there}", as_json)
        if not again.same:
            raise typer.Exit(DIFFERS)
