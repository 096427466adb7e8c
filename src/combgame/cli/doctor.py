"""The commands `combgame doctor` and `combgame warm`."""

import importlib.util
import os
import platform
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

from ..engine.compile_log import idle, unaccelerated
from ._common import AsJson, put

EXTRAS = {
    "cuda": "numba.cuda",
    "server": "fastapi",
    "postgres": "psycopg",
    "excel": "openpyxl",
    "frames": "pandas",
    "cluster": "distributed",
}


def doctor(as_json: AsJson = False) -> None:
    """Say what is installed here: versions, engines, the card if there is one, extras."""
    rows = {"combgame": _version("combgame"), "Python": platform.python_version()}
    rows |= {name: _version(name) for name in ("numpy", "scipy", "numba", "sqlalchemy")}
    rows["processors"] = str(os.cpu_count())
    rows["compiled engine"] = _compiler(rows["numba"])
    rows["card (engine='cuda')"] = _card()
    rows["extras"] = ", ".join(name for name, part in EXTRAS.items() if _there(part)) or "none"
    width = max(map(len, rows))
    text = "\n".join(f"{name:<{width}}  {said}" for name, said in rows.items())
    put(rows, text, as_json)


def _compiler(numba: str) -> str:
    if why := idle():
        return f"not to be used: {why}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the table reports it
        from ..engine.numba import cache, compiler
    kept = f"; what is compiled is kept in {cache.root()}"
    if compiler.ACTIVE:
        return f"ready, with the accelerator of compiling{kept}"
    if compiler.PLAIN:
        return f"ready, without its accelerator, which COMBGAME_COMPILER=plain leaves out{kept}"
    return f"ready: {unaccelerated(numba, compiler.MISSING)}{kept}"


def _card() -> str:
    if importlib.util.find_spec("numba_cuda") is None:
        return "not to be used: pip install 'combgame[cuda]' first"
    from ..engine import cuda

    why = cuda.unusable()
    if why is not None:
        return f"not to be used: {why}"
    return f"{cuda.name()}, {cuda.memory() / 2**30:.0f} GiB free"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _there(part: str) -> bool:
    name = "numba_cuda" if part == "numba.cuda" else part
    return importlib.util.find_spec(name) is not None


def warm(
    file: Annotated[Path, typer.Argument(help="The problem (.toml): actions, answers, rewards.")],
    rule: Annotated[
        list[str] | None,
        typer.Option(help="A rule to prepare; may be repeated.", show_default="frank-wolfe"),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(help="When to stop; may be repeated.", show_default="mixture"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile the rounds of a problem now.

    Simulations, plans and campaigns of it then begin at once in any process.
    """
    from ..io import read_problem
    from ..simulation.runner import warm as prepare

    problem, _ = read_problem(file)
    rows = [
        {"rule": one, "threshold": level, **prepare(problem, one, level)._asdict()}
        for one in rule or ["frank-wolfe"]
        for level in threshold or ["mixture"]
    ]
    lines = []
    for row in rows:
        if row["what"] is None:
            state = "is interpreted, there is nothing to compile"
        elif row["compiled"]:
            state = f"compiled {row['what']} in {row['seconds']:.1f} s"
        else:
            state = "was ready"
        lines.append(f"{row['rule']}, {row['threshold']}: {state}.")
    put(rows, "\n".join(lines), as_json)
