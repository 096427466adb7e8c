"""The main program of the command line."""

import json
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from .._version import __version__
from ..errors import CombGameError, Notice
from ._common import SHELL, Picture, finite, say
from .benchmark import bench
from .campaign import app as campaign
from .doctor import doctor, warm
from .init import init
from .serve import serve, tokens
from .simulate import compare, plan, simulate
from .study import app as study

app = typer.Typer(
    help="Find the best answer by playing sets of arms, in few plays, with a guarantee.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # among them would be URLs with passwords
)
app.add_typer(campaign, name="campaign")
app.add_typer(study, name="study")
app.add_typer(tokens, name="token")
app.command()(bench)
app.command()(init)
app.command()(plan)
app.command()(serve)
app.command()(simulate)
app.command()(compare)
app.command()(warm)
app.command()(doctor)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            envvar="COMBGAME_IMPORT",
            help="A module with parts of your own, for what was stored with them; may be repeated.",
        ),
    ] = None,
) -> None:
    """Handle the options that precede a command."""
    SHELL.study = "study"
    if modules:
        from ..research.benchmark.contest import imported

        for module in modules:
            imported("import", module)
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def demo(
    seed: Annotated[
        int | None, typer.Option(min=0, help="Another seed, another run.", show_default="7")
    ] = None,
    picture: Picture = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON, without the live bar.")
    ] = False,
) -> None:
    """Find the best of ten variants, three on a plate, and watch the evidence grow."""
    from .demo import CODE, DELTA, SEED, draw, needed, sentence, the_study

    study, looks = the_study(SEED if seed is None else seed)
    if as_json:
        end = list(looks)[-1]
        data = {
            "answer": end.leader_name,
            "rival": end.rivals[0].name,
            "confidence": 1 - DELTA,
            "rounds": end.rounds,
            "evidence": end.evidence,
            "threshold": end.threshold,
            "uniform_rounds": needed("uniform"),
        }
        typer.echo(json.dumps(data))
    else:
        end = _live(looks, CODE)
        typer.echo("\n" + sentence(end, needed("uniform")))
    if picture is not None:
        say("wrote " + " and ".join(map(str, draw(study, picture))) + ".")


def _live(looks: Iterable[Any], code: str) -> Any:
    """Show the states of a running study, and return the last one."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.syntax import Syntax

    console = Console()
    console.print(
        "[bold]Ten variants, three fit on a plate, every reading is noisy. Which variant is "
        "best?[/bold]\n"
    )
    console.print(Syntax(code, "python", background_color="default"), "")
    columns = (
        TextColumn("plate {task.fields[t]:>4,}"),
        BarColumn(bar_width=24),
        TextColumn("evidence {task.fields[e]:5.2f} of {task.fields[b]:.2f}"),
        TextColumn("leads: [bold green]{task.fields[lead]}[/]  closest: {task.fields[rival]}"),
    )
    with Progress(*columns, console=console, refresh_per_second=20) as progress:
        bar = progress.add_task("", total=1.0, t=0, e=0.0, b=0.0, lead="", rival="")
        for end in looks:
            progress.update(
                bar,
                completed=min(max(end.evidence / end.threshold, 0.0), 1.0),
                t=end.rounds,
                e=end.evidence,
                b=end.threshold,
                lead=end.leader_name,
                rival=end.rivals[0].name,
            )
    return end


def said(error: CombGameError, as_json: bool) -> str:
    """Return an error as text, or as JSON for a program."""
    if as_json:
        return json.dumps({"error": finite(error.sentence.to_data(SHELL))})
    return f"combgame: {error.render(SHELL)}"


def noticed(message: Warning | str, *about: Any, **more: Any) -> str:
    """Format a warning; a `Notice` is shown without the line of its source."""
    if isinstance(message, Notice):
        return f"combgame: {message.sentence.render(SHELL)}\n"
    return python_warning(message, *about, **more)


python_warning = warnings.formatwarning


def main(shell: Callable[..., Any] | None = None, name: str | None = None) -> None:
    """Run the command line, or another one that is called `name`, and report errors as messages."""
    warnings.formatwarning = noticed
    for stream in (sys.stdout, sys.stderr):  # the locale may lack some characters
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app() if shell is None else shell(prog_name=name)
    except CombGameError as error:
        print(said(error, "--json" in sys.argv[1:]), file=sys.stderr)
        sys.exit(2)
    except SystemExit as end:
        if end.code == 130:  # typer ends so after Ctrl-C
            print(
                "combgame: interrupted; what it was about to store is stored whole or not at "
                "all, as `status` shows.",
                file=sys.stderr,
            )
        raise
