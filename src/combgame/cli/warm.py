"""combgame warm: compile what a problem file needs, before it is needed."""

from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, put


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
    """Compile the rounds of a problem now, so that simulations, plans and campaigns of it begin at
    once in any process.
    """
    from ..data import read_problem
    from ..simulate.warm import warm as prepare

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
