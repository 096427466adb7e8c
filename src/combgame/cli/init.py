"""The command `combgame init`."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from .._messages import OptionHint
from ..errors import CombGameError, InputError, StoreError, invalid_argument
from ._common import AsJson, put

LEVELS = (
    "May everything that is measured at once read high or low as a whole, as the wells of a plate, "
    "a day or a batch do (yes or no)?"
)
SCHEMA = "problem.schema.json"
COLUMN = ("arm", "arms", "name", "names", "variant", "variants")


def init(
    out: Annotated[Path, typer.Argument(help="The file to write.")] = Path("problem.toml"),
    names: Annotated[
        Path | None,
        typer.Option(
            help="A table with a column arm (or a list without a title): the names of the arms."
        ),
    ] = None,
    play: Annotated[
        int | None, typer.Option(min=1, help="How many arms are measured at once.")
    ] = None,
    find: Annotated[int | None, typer.Option(min=1, help="How many of the best to find.")] = None,
    noise: Annotated[
        str | None, typer.Option(help="gaussian, unknown (gaussian too), bernoulli or bounded.")
    ] = None,
    sigma: Annotated[
        float | None, typer.Option(help="The standard deviation of one value, if it is known.")
    ] = None,
    levels: Annotated[
        bool | None,
        typer.Option(
            "--levels/--no-levels",
            help="Whether everything that one play measures may read high or low as a whole, as "
            "the wells of a plate, a day or a batch do.",
        ),
    ] = None,
    goal: Annotated[str | None, typer.Option(help="maximise or minimise.")] = None,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            help="Write problem.schema.json beside it, by which editors check the file and "
            "complete what is typed.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a problem file, with comments.

    What is not given is asked, on a terminal; elsewhere it is as usual: one arm at a time, the best
    one, gaussian of unknown sigma, no levels, maximise.
    """
    from .._display.files import save
    from ..io import problem_from
    from ..io.problem_file import NOISE, NORMAL, TemplateOptions, problem_template

    if out.exists() and not force:
        raise StoreError(
            "file-there",
            "{path} is there already",
            remedy="name another file, or --force to overwrite it",
            path=str(out),
        )
    ask: Any = _Asking(sys.stdin.isatty() and not as_json)
    arms = names_in(names) if names is not None else ask.names()
    if play is None:
        play = ask.number("How many of them are measured at once?", 1)
    if find is None:
        find = ask.number("How many of the best do you want to find?", 1)
    if noise is None and sigma is None:
        kinds = ", ".join(NOISE)
        noise = ask.text(f"What does a measurement return ({kinds})?", "unknown")
    noise = noise or "gaussian"
    if noise not in NOISE:
        raise invalid_argument("noise", noise, "one of {known:list}", known=list(NOISE))
    if levels and noise not in NORMAL:
        raise InputError(
            "levels-of-noise",
            "plays with levels of their own are known for gaussian noise, and this is {noise}",
            remedy="leave out {levels}, or give gaussian or unknown noise",
            levels=OptionHint("levels"),
            noise=noise,
        )
    if levels is None:
        levels = play > 1 and noise in NORMAL and ask.whether(LEVELS)
    if noise == "gaussian" and sigma is None:
        within = " among those that are measured at once" if levels else ""
        sigma = ask.real(f"What is the standard deviation of one value{within}?")
    if goal is None:
        goal = ask.text("Are large values good (maximise), or small ones (minimise)?", "maximise")
    asked = TemplateOptions(arms, play, find, noise, sigma, goal=goal, levels=levels)
    text = problem_template(asked, out.name)
    problem, _ = problem_from(tomllib.loads(text), str(out))
    if schema:
        from ..io.models import problem_schema

        save(out.with_name(SCHEMA), json.dumps(problem_schema(), indent=1) + "\n")
        text = f"#:schema ./{SCHEMA}\n{text}"
    save(out, text)
    put(
        {"out": str(out), "arms": problem.d},
        f"wrote {out} ({problem.d} arms): look through it, then `combgame study create {out} "
        "--storage sqlite:///lab.db`.",
        as_json,
    )


class _Asking:
    """Asks questions at a terminal; elsewhere it takes the defaults."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal

    def text(self, question: str, usual: str) -> str:
        return str(typer.prompt(question, default=usual)) if self.terminal else usual

    def number(self, question: str, usual: int) -> int:
        return int(typer.prompt(question, default=usual, type=int)) if self.terminal else usual

    def whether(self, question: str) -> bool:
        said = self.text(question, "no").strip().lower()
        if said not in ("yes", "y", "no", "n"):
            raise invalid_argument("levels", said, "yes or no")
        return said[0] == "y"

    def real(self, question: str) -> float:
        if not self.terminal:
            raise InputError(
                "sigma-not-given",
                "gaussian noise needs a sigma",
                remedy="give {sigma}, or leave out the noise if it is not known",
                sigma=OptionHint("sigma"),
            )
        return float(typer.prompt(question, type=float))

    def names(self) -> list[str]:
        if not self.terminal:
            raise InputError(
                "names-not-given",
                "there are no names of arms",
                remedy="give a table of them with --names",
            )
        said = str(typer.prompt("What are the arms called (names with commas between them)?"))
        return [name.strip() for name in said.split(",") if name.strip()]


def names_in(path: Path) -> list[str]:
    """Read the names in a table: the column arm, or the only column."""
    from ..tables import read_file

    try:
        grid = read_file(path, lambda word: word.lower() in COLUMN)
        heads = [k for k, word in enumerate(grid.head) if word.lower() in COLUMN]
        lines = [line for _, line in grid.lines]
        if not heads and max((len(line) for line in [grid.head, *lines]), default=0) == 1:
            heads, lines = [0], [grid.head, *lines]
        if len(heads) != 1:
            raise InputError(
                "no-names",
                "no column has the names of the arms",
                remedy="call it arm in the first line, or give a list of names alone",
            )
        cells = [line[heads[0]] if heads[0] < len(line) else None for line in lines]
    except CombGameError as error:
        raise error.with_context("{path}", path=str(path)) from None
    said = ["" if cell is None else str(cell).strip() for cell in cells]
    return list(dict.fromkeys(name for name in said if name))
