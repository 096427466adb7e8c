"""The commands `combgame simulate`, `combgame compare` and `combgame plan`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ._common import (
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
    gap_scales: Annotated[
        list[float] | None,
        typer.Option(
            help="What if the gaps are so many times as large? It may be repeated.",
            show_default="1, 0.75, 0.5",
        ),
    ] = None,
    epsilon: Epsilon = 0.0,
    batch_sd: LevelSd = 0.0,
    seed: Seed = 0,
    max_rounds: MaxRounds = 10**6,
    jobs: Threads = 1,
    picture: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Predict the number of rounds if the means in the file were the true ones.

    It is printed next to what no rule can beat.
    """
    from ..simulation.plan import plan as make

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
        gap_scales=gap_scales or (1.0, 0.75, 0.5),
        epsilon=epsilon,
        batch_sd=batch_sd,
    )
    put(expected.to_dict(), str(expected), as_json)
    if picture is not None:
        from .._display.plotting import save

        say("wrote " + " and ".join(map(str, save(expected.plot(), picture))) + ".")


RULES = ["frank-wolfe", "lloo", "adahedge", "uniform"]
Runs = Annotated[int, typer.Option(min=1, help="Runs per rule.")]
Relabel = Annotated[bool, typer.Option(help="List the arms in a new random order in every run.")]
Threshold = Annotated[
    str,
    typer.Option(
        help="When to stop: mixture, proved, gaussian, sub-gaussian, stylised (a heuristic), ..."
    ),
]


def simulate(
    file: ProblemFile,
    rule: Annotated[
        str, typer.Option(help="The rule: frank-wolfe, lloo, ofw, adahedge, hedge, uniform, ...")
    ] = "frank-wolfe",
    delta: Deltas = None,
    threshold: Threshold = "mixture",
    runs: Runs = 100,
    seed: Seed = 0,
    max_rounds: MaxRounds = 10**6,
    epsilon: Epsilon = 0.0,
    batch_sd: LevelSd = 0.0,
    shuffle_arms: Relabel = False,
    jobs: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Run one rule many times on the means in the file.

    Prints rounds, errors, and what no rule can beat.
    """
    _show(
        file,
        [rule],
        as_json,
        delta=delta or 0.05,
        threshold=threshold,
        runs=runs,
        seed=seed,
        jobs=jobs,
        max_rounds=max_rounds,
        epsilon=epsilon,
        batch_sd=batch_sd,
        shuffle_arms=shuffle_arms,
    )


def compare(
    file: ProblemFile,
    rule: Annotated[
        list[str] | None,
        typer.Option(help="A rule; may be repeated.", show_default=", ".join(RULES)),
    ] = None,
    delta: Deltas = None,
    threshold: Threshold = "mixture",
    runs: Runs = 100,
    seed: Seed = 0,
    max_rounds: MaxRounds = 10**6,
    epsilon: Epsilon = 0.0,
    batch_sd: LevelSd = 0.0,
    shuffle_arms: Relabel = False,
    jobs: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Run several rules with the same settings and seeds, and print them side by side."""
    _show(
        file,
        rule or RULES,
        as_json,
        delta=delta or 0.05,
        threshold=threshold,
        runs=runs,
        seed=seed,
        jobs=jobs,
        max_rounds=max_rounds,
        epsilon=epsilon,
        batch_sd=batch_sd,
        shuffle_arms=shuffle_arms,
    )


def _show(file: Path, rules: list[str], as_json: bool, **settings: Any) -> None:
    """Print the comparison of rules."""
    from ..simulation.api import compare as run

    problem, means = supposed(file)
    # on_tie=None: a message could not advise an option, because the shell has none for ties
    comparison = run(problem, means, rules=rules, on_tie=None, **settings)
    put(comparison.summary(), str(comparison), as_json)
