"""Where a run stops that knows the means and plays the optimal allocation."""

import math
from collections.abc import Callable

import numpy as np

from ..engine.protocols import ProblemKernel
from ..engine.state import Floats, RoundState
from ..engine.statistics import Statistics, blank
from ..problem import Problem
from ..rules import Stopping
from .complexity import Complexity


def root(passed: Callable[[float], bool]) -> float:
    """The least t, to within half a round, at which a condition holds that holds from some t on;
    infinity beyond 1e300.
    """
    left, right = 1.0, 2.0
    while not passed(right):
        left, right = right, right * 2.0
        if right > 1e300:
            return float("inf")
    while right - left > max(0.5, 1e-9 * right):
        middle = 0.5 * (left + right)
        if passed(middle):
            right = middle
        else:
            left = middle
    return right


ASIDE = (0.0, 0.02, 0.05, 0.1, 0.2)


def simulate_statistics(
    stopping: Stopping,
    problem: Problem,
    mean: Floats,
    counts: Floats,
    spread: Floats,
    best: Floats,
    steady: bool = False,
) -> tuple[ProblemKernel, Statistics, RoundState]:
    """A game whose judge has seen `counts` values per arm with these means and standard deviations,
    and what it says of an answer. steady: the arms were played at these rates from the beginning;
    else nobody knows, and values have no weights (`round.balance`).
    """
    stats, (rival, alternative, action) = (
        blank(problem.d, problem.rewards.variance_groups(problem.d)),
        np.zeros((3, problem.d)),
    )
    state = RoundState(best, rival, alternative, np.zeros(1), action)
    stats.counts[:], stats.sums[:], stats.mean[:] = counts, counts * mean, mean
    stats.squares[:] = np.maximum(counts - 1.0, 0.0) * spread**2
    stats.in_initial_design[0] = 0
    if steady:
        np.add.at(stats.residuals[0], stats.variance_group, np.maximum(counts - 1.0, 0.0))
        np.add.at(stats.residuals[1], stats.variance_group, stats.squares)
        total, known = counts.sum(), counts > 0.0
        stats.weighted_sums[0, known], stats.weighted_sums[3] = total, mean
        stats.weighted_sums[1, known] = total * total / counts[known]
    kernel = stopping.on(problem.kernel(), stats)
    kernel.rewards.update_variance(stats)
    for stats.n_rounds[0] in (1, 2):  # the second time the rival is known
        state.evidence[0] = kernel.stopping.evaluate(kernel, stats, state)
    return kernel, stats, state


def stopping_kernel_for(
    stopping: Stopping,
    problem: Problem,
    mean: Floats,
    counts: Floats,
    spread: Floats,
    best: Floats,
    steady: bool = False,
) -> float:
    """The evidence for an answer, as `simulate_statistics` has it."""
    kernel, stats, state = simulate_statistics(
        stopping, problem, mean, counts, spread, best, steady
    )
    value = float(state.evidence[0])
    if value == math.inf:
        return value
    # while nothing can stop, what a judge says may be more than the evidence
    return min(value, kernel.stopping.evidence_against(kernel, stats, best, state.rival))


def oracle_stopping_time(
    stopping: Stopping, problem: Problem, means: Floats, solved: Complexity, index: int = 0
) -> float:
    """Where a run stops that knows the means and plays the optimal allocation: t = beta(t,
    delta)/D_nu; NaN if the test is another, or plays have levels of their own.

    Fees weigh on arms with few values, which that allocation may have: with fees, a share of the
    covering is mixed in, the best of `ASIDE`.
    """
    if not stopping.likelihood or problem.rewards.has_batch_effect():
        return math.nan
    if solved.characteristic_time in (0.0, math.inf):
        return solved.characteristic_time
    means, problem = problem.to_internal(means), problem.as_maximisation
    if stopping.make_kernel is None:
        return root(
            lambda t: (
                t >= stopping.threshold.critical_value(int(t), index) * solved.characteristic_time
            )
        )
    best, spread, aside = np.zeros(problem.d), problem.sigma(), np.zeros(problem.d)
    problem.kernel().answers.argmax(means, best)
    rows = problem.actions.covering()
    for chosen in rows:
        aside[list(chosen)] += 1.0 / len(rows)

    def ends(share: float) -> float:
        played = (1.0 - share) * solved.allocation + share * aside

        def passed(t: float) -> bool:
            found = stopping_kernel_for(
                stopping, problem, means, t * played, spread, best, steady=True
            )
            return found > stopping.threshold.critical_value(int(t), index)

        return root(passed)

    return min(map(ends, ASIDE))
