"""combgame simulate, combgame compare: many runs on the means that a problem file supposes."""

import math
from typing import Annotated, Any

import typer

from .options import AsJson, Deltas, Epsilon, MaxRounds, ProblemFile, Seed, Threads, put, supposed

Runs = Annotated[int, typer.Option(min=1, help="Runs per rule.")]
Relabel = Annotated[bool, typer.Option(help="List the arms in a new random order in every run.")]
Threshold = Annotated[
    str, typer.Option(help="When to stop: mixture, proved, gaussian, sub-gaussian, stylised (a heuristic), ...")
]


def simulate(
    file: ProblemFile,
    rule: Annotated[str, typer.Option(help="The rule: frank-wolfe, lloo, ofw, adahedge, hedge, uniform, ...")] = "frank-wolfe",
    delta: Deltas = None,
    threshold: Threshold = "mixture",
    runs: Runs = 100,
    seed: Seed = 0,
    max_rounds: MaxRounds = 10**6,
    epsilon: Epsilon = 0.0,
    relabel: Relabel = False,
    jobs: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Run one rule many times on the means in the file: rounds, errors, and what no rule can beat."""
    from ..simulate.compare import simulate as run

    problem, means = supposed(file)
    found = run(problem, means, rule=rule, delta=_deltas(delta), threshold=threshold, runs=runs, seed=seed, jobs=jobs,
                max_rounds=max_rounds, epsilon=epsilon, relabel=relabel)  # fmt: skip
    put(_plain(found), str(found), as_json)


def compare(
    file: ProblemFile,
    rule: Annotated[
        list[str] | None, typer.Option(help="A rule; may be repeated. [frank-wolfe, lloo, adahedge, uniform]")
    ] = None,
    delta: Deltas = None,
    threshold: Threshold = "mixture",
    runs: Runs = 100,
    seed: Seed = 0,
    max_rounds: MaxRounds = 10**6,
    epsilon: Epsilon = 0.0,
    relabel: Relabel = False,
    jobs: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Run several rules with the same settings and seeds, and print them side by side."""
    from ..simulate.compare import compare as run

    problem, means = supposed(file)
    rules = rule or ["frank-wolfe", "lloo", "adahedge", "uniform"]
    found = run(problem, means, rules=rules, delta=_deltas(delta), threshold=threshold, runs=runs, seed=seed, jobs=jobs,
                max_rounds=max_rounds, epsilon=epsilon, relabel=relabel)  # fmt: skip
    put(_plain(found), str(found), as_json)


def _deltas(delta: list[float] | None) -> Any:
    return 0.05 if not delta else delta[0] if len(delta) == 1 else delta


def _plain(found: Any) -> list[dict[str, Any]]:
    """The report without what JSON cannot say."""
    return [
        {key: None if isinstance(x, float) and not math.isfinite(x) else x for key, x in row.items()} for row in found.report()
    ]
