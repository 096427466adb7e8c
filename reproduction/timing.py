"""Time per round of a rule: the paper's "average running time to compute the next action"."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from combgame.research.campaign import Instance
from combgame.rules import RuleBase
from combgame.rules.base import describe
from combgame.rules.presets import make_rule
from combgame.simulation.runner import InitialState, Run, draw_permutation
from combgame.stopping.base import NEVER

from .results import Rows

WARM, SECONDS, REPEATS = 200, 0.1, 5


def times(
    instances: Sequence[Instance], rules: Sequence[str], seed: int, say: Callable[[str], None]
) -> Rows:
    """Return one row for every rule on every instance."""
    rows = []
    for instance in instances:
        for rule in rules:
            say(f"time per round of {rule}, {instance.name}")
            rows.append(time_per_round(instance, rule, seed))
    return rows


def time_per_round(instance: Instance, rule: str | RuleBase, seed: int = 0) -> dict[str, Any]:
    """Measure the microseconds per compiled round after the initial design, on one core.

    The result is the best of a few stretches of about SECONDS each. The whole round is timed
    (estimate, stopping test, choice, noise), because compiled code does not separate its parts.
    """
    chosen = make_rule(rule)
    mine = draw_permutation(instance.problem, chosen, seed, 0)
    problem, setup = mine.problem, mine.rule.bind(mine.problem)
    run = Run(
        InitialState(problem, setup, NEVER, 1, "auto"),
        instance.problem.check_means(instance.means)[mine.order],
        seed,
        0,
    )
    done = len(run.start) + WARM
    run.advance(done)
    stretch, best = 10, float("inf")
    for _ in range(REPEATS):
        while True:
            began = time.perf_counter()
            done += stretch
            run.advance(done)
            seconds = time.perf_counter() - began
            if seconds >= 0.5 * SECONDS:
                break
            stretch *= 2
        best = min(best, seconds / stretch)
    return {
        "instance": instance.name,
        "x": instance.x,
        "rule": rule if isinstance(rule, str) else describe(chosen),
        "actions": problem.actions.n_sets(),
        "arms": problem.d,
        "us_per_round": 1e6 * best,
        "rounds": done,
        **setup.diagnostics(run.rule),
    }
