"""Options and output that several commands share, and the rendering of hints for the shell."""

import json
import math
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from .._messages import PYTHON, escape_control, safe_repr
from ..errors import InputError

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Cluster = Annotated[
    str | None, typer.Option(help="A dask scheduler, such as tcp://host:8786, or 'local'.")
]
Deltas = Annotated[
    list[float] | None,
    typer.Option(
        help="The error probability that is allowed; may be repeated.", show_default="0.05"
    ),
]
Epsilon = Annotated[float, typer.Option(help="Any answer within epsilon of the best will do.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes on this machine.")]
LevelSd = Annotated[
    float,
    typer.Option(min=0.0, help="Standard deviation of the levels of plays, where these have any."),
]
MaxRounds = Annotated[int, typer.Option(min=1, help="Where a run is given up.")]
Mode = Annotated[
    str, typer.Option(help="Who may read a new file: you (600), or your group too (640, 660).")
]
Picture = Annotated[
    Path | None,
    typer.Option("--plot", help="Draw it: the name of the pictures, without .png and .svg."),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Do not say how far it is: no bar on a terminal, no line every half a minute in a "
        "file or a pipe.",
    ),
]
ProblemFile = Annotated[
    Path,
    typer.Argument(
        help="The problem (.toml): actions, answers, rewards, and the supposed means (truth)."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Another seed, other runs.")]
StoreFile = Annotated[Path, typer.Argument(help="The campaign file (.db).")]
Threads = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Threads on this machine.")]


def as_mode(mode: str) -> int:
    """Convert the value of `--mode`; an impossible value is refused where it is used."""
    return int(mode, 8) if mode in ("600", "640", "660") else mode  # type: ignore[return-value]


def how_far(quiet: bool, as_json: bool | None) -> bool | None:
    """Return the argument `progress` of a run: a bar on a terminal, or lines in a file or pipe."""
    return False if quiet else None if as_json else True


def say(text: str) -> None:
    """Print a message beside the result."""
    echo(f"combgame: {text}", err=True)


def echo(text: str, err: bool = False) -> None:
    """Print to the terminal without control characters, which a name may contain."""
    typer.echo(escape_control(text, kept="\n"), err=err)


def put(data: Any, text: str, as_json: bool, indent: int | None = 1) -> None:
    """Print the result as text, or as JSON for a program."""
    echo(json.dumps(finite(data), indent=indent, allow_nan=False) if as_json else text)


def finite(data: Any) -> Any:
    """Replace the numbers that are not finite by None, because JSON has no such numbers.

    >>> finite({"a": [1.0, math.inf]})
    {'a': [1.0, None]}
    """
    if isinstance(data, Mapping):
        return {name: finite(one) for name, one in data.items()}
    if isinstance(data, list | tuple):
        return [finite(one) for one in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


@contextmanager
def stopped() -> Iterator[None]:
    """Report Ctrl-C with a message."""
    try:
        yield
    except KeyboardInterrupt:
        say("stopped; what was finished is stored, and the same command goes on from there.")
        raise typer.Exit(130) from None


def supposed(file: Path) -> tuple[Any, Any]:
    """Return the problem in a file and its means, which the file must have."""
    from ..io import read_problem

    problem, means = read_problem(file)
    if means is None:
        raise InputError(
            "truth-missing",
            "{path}: truth is missing",
            remedy="write the means that you suppose, [truth] and means = [...], one per arm",
            path=str(file),
        )
    return problem, means


STUDY = "ask create decision export extend fail observe plot replay report retract status"
STUDY += " stop tell"
COMMANDS = {
    **{verb: verb for verb in ("compare", "plan", "simulate", "warm")},
    **{verb: f"study {verb}" for verb in STUDY.split()},
}
SAME = (  # options with the same name in Python
    "arm client cluster deadline decimal delta epsilon goal head host if_exists jobs kind lease "
    "level batch_sd levels max_rounds min_replicates name out planned port reason shuffle_arms "
    "replicates rule runs seed sep gap_scales storage store threshold unit"
)
OPTIONS = {
    **{name: "--" + name.replace("_", "-") for name in SAME.split()},
    "path": "--out",
    "form": "--format",
    "rules": "--rule",
    "thresholds": "--threshold",
}
PHRASES = {
    "missing value": "a blank cell says that a value is missing",
    "several values": "give each value a line of its own",
    "share of n": "give a share of n results as the value, with n in a column n",
    "share unrounded": "give the share with ten digits",
    "decision says": "`combgame study decision` says",
    "again": "--allow-duplicates",
    "copy": "`combgame study copy FILE ANOTHER`",
}


class ShellRenderer:
    """Renders hints as a user types them in a shell, or in Python if the shell has no such option.

    >>> shell = ShellRenderer()
    >>> shell.call("extend", (), {"max_rounds": ..., "reason": ...})
    '`combgame study extend --max-rounds ... --reason ...`'
    >>> shell.call("retract", (3, "reason"), {}), shell.option("if_exists", "replace")
    ('`combgame study retract 3 --reason ...`', '--if-exists replace')
    >>> shell.call("view", (), {"history": True}), shell.option("on_tie", None)
    ('view(history=True)', 'on_tie=None')
    """

    def __init__(self, **phrases: str) -> None:
        self.study = "study"  # name of the study of the command
        self.named = False  # the user gave the name
        self.phrases = {**PHRASES, **{key.replace("_", " "): x for key, x in phrases.items()}}

    def call(self, verb: str, given: tuple[object, ...], named: Mapping[str, object]) -> str:
        """Render a call as a command. See `Renderer.call`."""
        words = [one for one in given if isinstance(one, str)]  # values that the reader fills in
        if verb not in COMMANDS or not OPTIONS.keys() >= {*words, *named}:
            return PYTHON.call(verb, given, named)
        typed = [shlex.quote(str(one)) for one in given if not isinstance(one, str)]
        typed += [f"{OPTIONS[word]} ..." for word in words]
        typed += [self.option(name, "..." if x is ... else x) for name, x in named.items()]
        named_here = self.named or self.study != "study"
        if COMMANDS[verb].startswith("study ") and named_here and "name" not in named:
            typed.append(self.option("name", self.study))
        return f"`{' '.join(['combgame', COMMANDS[verb], *typed])}`"

    def option(self, name: str, value: object) -> str:
        """Render an argument as an option. See `Renderer.option`."""
        if name not in OPTIONS:
            return PYTHON.option(name, value)
        typed = value if isinstance(value, str) else safe_repr(value)
        return OPTIONS[name] + ("" if value is ... else f" {shlex.quote(typed)}")

    def phrase(self, key: str) -> str:
        """Return a phrase by its key. See `Renderer.phrase`."""
        return self.phrases.get(key, PYTHON.PHRASES.get(key, key))


SHELL = ShellRenderer()
