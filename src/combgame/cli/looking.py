"""combgame study status | export | plot | replay | copy | list: what only looks."""

import time
from pathlib import Path
from typing import Annotated

import typer

from ..errors import CombGameError
from .options import AsJson
from .study import DIFFERS, Name, Where, app, in_shell, leave, looked, names_in, opened, put

__all__ = ["app"]


@app.command()
def status(
    storage: Where,
    name: Name = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Again and again, until it has stopped.")
    ] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    as_json: AsJson = False,
) -> None:
    """Where it stands, and what to do next; when it has stopped, why."""
    with opened(storage, name) as study:
        before = None
        while True:
            now, decision = looked(study)
            if now != before:
                told = {
                    **now.to_dict(),
                    "decision": None if decision is None else decision.to_dict(),
                }
                text = str(now).replace("`decision` says", "below is")
                put(told, text if decision is None else f"{text}\n\n{decision}", as_json)
            before = now
            if not watch or now.state != "running":
                leave(now.state)
                return
            time.sleep(every)


@app.command()
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
    """The study as a table (CSV), or all of it (JSON)."""
    with opened(storage, name) as study, study.moment(history=True) as now:
        if out is not None:
            now.export(out, level, form)
            put({"out": str(out)}, f"wrote {out}.", as_json)
        else:
            typer.echo(now.export(None, level, form or ("json" if as_json else "csv")).rstrip("\n"))


@app.command()
def plot(
    storage: Where,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The name of the pictures, with or without .png or .svg."),
    ],
    name: Name = None,
    kind: Annotated[str, typer.Option(help="evidence, estimates or pulls.")] = "evidence",
    as_json: AsJson = False,
) -> None:
    """A picture of the study, as PNG and SVG."""
    from ..report.figures import save

    with opened(storage, name) as study:
        base = out.with_suffix("") if out.suffix.lower() in (".png", ".svg") else out
        written = [str(path) for path in save(study.plot(kind), base)]
        put(written, f"wrote {' and '.join(written)}.", as_json)


File = Annotated[
    str, typer.Argument(help="A file of studies, such as lab.db (or sqlite:///lab.db).")
]


@app.command()
def copy(source: File, destination: File, as_json: AsJson = False) -> None:
    """Copy a file of studies while others write to it. (`cp` would leave out what is in the -wal
    beside it.) Overwrites nothing.
    """
    from ..storage.copying import path_of
    from ..storage.opening import open_storage

    target = path_of(destination)
    storing = open_storage(source if "://" in source else f"sqlite:///{source}", "", 30.0)
    try:
        with in_shell():
            storing.copy(target)
    finally:
        storing.close()
    put({"out": str(target)}, f"wrote {target}.", as_json)


@app.command()
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
        found = study.replay(head)
        there = f" Event {head} is there." if head else ""
        put({**vars(found), "same": found.same}, f"{found}{there}", as_json)
        if not found.same:
            raise typer.Exit(DIFFERS)


@app.command("list")
def listed(storage: Where, as_json: AsJson = False) -> None:
    """The studies in a storage."""
    from ..study.study import Study

    found = []
    for one in names_in(storage):
        try:
            with Study.open(storage, one) as study:
                found.append({"name": one, "state": study.state})
        except CombGameError as error:
            found.append({"name": one, "state": str(error)})
    put(
        found,
        "\n".join(f"{one['name']}: {one['state']}" for one in found) or "there are no studies yet.",
        as_json,
    )
