"""combgame plan: how many rounds to expect, before an experiment."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from .campaign import AsJson, say


def plan(
    file: Annotated[
        Path, typer.Argument(help="The problem (.toml): actions, answers, rewards, and the supposed means in [truth].")
    ],
    delta: Annotated[
        list[float] | None, typer.Option(help="The error probability that is allowed; may be repeated. [0.05]")
    ] = None,
    rule: Annotated[list[str] | None, typer.Option(help="A rule to simulate; may be repeated. [frank-wolfe]")] = None,
    threshold: Annotated[list[str] | None, typer.Option(help="When to stop; may be repeated. [mixture]")] = None,
    runs: Annotated[int, typer.Option(min=0, help="Runs per rule; 0: only the bound and the limit, at once.")] = 50,
    shrink: Annotated[
        list[float] | None, typer.Option(help="What if the gaps are so many times as large? [1, 0.75, 0.5]")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Any answer within epsilon of the best will do.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other runs.")] = 0,
    max_rounds: Annotated[int, typer.Option(min=1, help="Where a run is given up.")] = 10**6,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Threads on this machine.")] = 1,
    picture: Annotated[
        Path | None, typer.Option("--plot", help="Draw it: the name of the pictures, without .png and .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How many rounds to expect if the means in the file were the true ones, next to what no rule can beat."""
    from ..data import read_problem
    from ..simulate.plan import plan as make

    problem, means = read_problem(file)
    if means is None:
        raise InputError(f"{file}: truth is missing; write the means that you suppose, [truth] and means = [...], one per arm.")
    found = make(problem, means, delta or 0.05, rule or ("frank-wolfe",), threshold or ("mixture",), runs, seed, max_rounds, jobs,
                 shrink=shrink or (1.0, 0.75, 0.5), epsilon=epsilon)  # fmt: skip
    typer.echo(json.dumps(found.to_dict(), indent=1, allow_nan=False) if as_json else str(found))
    if picture is not None:
        from ..report.figures import save

        say("wrote " + " and ".join(map(str, save(found.plot(), picture))) + ".")
