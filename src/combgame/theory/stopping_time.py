"""Stopping times of a run that knows the means and plays the optimal allocation."""

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
    """Return the least t, to within half a round, at which a condition begins to hold.

    The condition must hold from some t on. The result is infinite if that t exceeds 1e300.
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
    """Evaluate a stopping rule at given counts, means and standard deviations.

    Parameters
    ----------
    stopping : Stopping
        The stopping rule.
    problem : Problem
        The problem, as a maximisation.
    mean, counts, spread : numpy.ndarray, shape (d,)
        Sample mean, number of values and standard deviation of each arm.
    best : numpy.ndarray, shape (d,)
        Indicator of the answer whose evidence is computed.
    steady : bool
        Whether the arms were played at these rates from the beginning. Otherwise the order of plays
        is unknown, and values have no weights (`add_weighted`).

    Returns
    -------
    tuple of (ProblemKernel, Statistics, RoundState)
        The state after the evaluation; ``state.evidence[0]`` is the evidence for the answer.
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
    for stats.n_rounds[0] in (1, 2):  # in the second round the rival is known
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
    """Return the evidence for an answer; see `simulate_statistics`."""
    kernel, stats, state = simulate_statistics(
        stopping, problem, mean, counts, spread, best, steady
    )
    value = float(state.evidence[0])
    if value == math.inf:
        return value
    # A stopping rule may return more than the evidence while nothing can stop.
    return min(value, kernel.stopping.evidence_against(kernel, stats, best, state.rival))


def oracle_stopping_time(
    stopping: Stopping, problem: Problem, means: Floats, solved: Complexity, index: int = 0
) -> float:
    """Return the stopping time of a run that knows the means and plays the optimal allocation.

    This is the root of t = beta(t, delta)/D_nu. It is NaN if the evidence is not a likelihood ratio
    or if there are batch effects. Penalties (the fees of docs/thresholds.md) weigh on arms with few
    values, which that allocation may have; with penalties, a share of the covering is mixed in, the
    best one of `ASIDE`.
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
