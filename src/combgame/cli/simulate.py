"""combgame simulate, combgame compare: many runs on the means that a problem file supposes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import (
    AsJson,
    Deltas,
    Epsilon,
    LevelSd,
    MaxRounds,
    ProblemFile,
    Seed,
    Threads,
    put,
    supposed,
)

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
    level_sd: LevelSd = 0.0,
    relabel: Relabel = False,
    jobs: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Run one rule many times on the means in the file: rounds, errors, and what no rule can
    beat.
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
        level_sd=level_sd,
        relabel=relabel,
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
    level_sd: LevelSd = 0.0,
    relabel: Relabel = False,
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
        level_sd=level_sd,
        relabel=relabel,
    )


def _show(file: Path, rules: list[str], as_json: bool, **settings: Any) -> None:
    """The report of some rules."""
    from ..simulate.compare import compare as run

    problem, means = supposed(file)
    # there is no --ties to advise
    comparison = run(problem, means, rules=rules, ties=None, **settings)
    put(comparison.report(), str(comparison), as_json)
