"""combgame plan: how many rounds to expect, before an experiment."""

from typing import Annotated

import typer

from .options import (
    AsJson,
    Deltas,
    Epsilon,
    LevelSd,
    MaxRounds,
    Picture,
    ProblemFile,
    Seed,
    Threads,
    put,
    say,
    supposed,
)


def plan(
    file: ProblemFile,
    delta: Deltas = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(help="A rule to simulate; may be repeated.", show_default="frank-wolfe"),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(help="When to stop; may be repeated.", show_default="mixture"),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=0, help="Runs per rule; 0: only the bound and the limit, at once.")
    ] = 50,
    shrink: Annotated[
        list[float] | None,
        typer.Option(
            help="What if the gaps are so many times as large? It may be repeated.",
            show_default="1, 0.75, 0.5",
        ),
    ] = None,
    epsilon: Epsilon = 0.0,
    level_sd: LevelSd = 0.0,
    seed: Seed = 0,
    max_rounds: MaxRounds = 10**6,
    jobs: Threads = 1,
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """How many rounds to expect if the means in the file were the true ones, next to what no rule
    can beat.
    """
    from ..simulate.plan import plan as make

    problem, means = supposed(file)
    expected = make(
        problem,
        means,
        delta=delta or 0.05,
        rules=rule or ("frank-wolfe",),
        thresholds=threshold or ("mixture",),
        runs=runs,
        seed=seed,
        max_rounds=max_rounds,
        jobs=jobs,
        shrink=shrink or (1.0, 0.75, 0.5),
        epsilon=epsilon,
        level_sd=level_sd,
    )
    put(expected.to_dict(), str(expected), as_json)
    if picture is not None:
        from ..report.figures import save

        say("wrote " + " and ".join(map(str, save(expected.plot(), picture))) + ".")
