"""Where a run stops that knows the means and plays the optimal allocation."""

import math
from collections.abc import Callable

import numpy as np

from ..engine.protocols import Game
from ..engine.state import Floats, View
from ..engine.statistics import Seen, blank
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


def looked(
    stopping: Stopping,
    problem: Problem,
    mean: Floats,
    counts: Floats,
    spread: Floats,
    best: Floats,
    steady: bool = False,
) -> tuple[Game, Seen, View]:
    """A game whose judge has seen `counts` values per arm with these means and standard deviations,
    and what it says of an answer. steady: the arms were played at these rates from the beginning;
    else nobody knows, and values have no weights (`round.balance`).
    """
    seen, (rival, alternative, action) = (
        blank(problem.d, problem.rewards.groups(problem.d)),
        np.zeros((3, problem.d)),
    )
    view = View(best, rival, alternative, np.zeros(1), action)
    seen.counts[:], seen.sums[:], seen.mean[:] = counts, counts * mean, mean
    seen.squares[:] = np.maximum(counts - 1.0, 0.0) * spread**2
    seen.start[0] = 0
    if steady:
        np.add.at(seen.noise[0], seen.group, np.maximum(counts - 1.0, 0.0))
        np.add.at(seen.noise[1], seen.group, seen.squares)
        total, known = counts.sum(), counts > 0.0
        seen.weighed[0, known], seen.weighed[3] = total, mean
        seen.weighed[1, known] = total * total / counts[known]
    game = stopping.on(problem.game(), seen)
    game.rewards.estimate(seen)
    for seen.clock[0] in (1, 2):  # the second time the rival is known
        view.evidence[0] = game.judge.look(game, seen, view)
    return game, seen, view


def judge(
    stopping: Stopping,
    problem: Problem,
    mean: Floats,
    counts: Floats,
    spread: Floats,
    best: Floats,
    steady: bool = False,
) -> float:
    """The evidence for an answer, as `looked` has it."""
    game, seen, view = looked(stopping, problem, mean, counts, spread, best, steady)
    value = float(view.evidence[0])
    if value == math.inf:
        return value
    # while nothing can stop, what a judge says may be more than the evidence
    return min(value, game.judge.versus(game, seen, best, view.rival))


def limit(
    stopping: Stopping, problem: Problem, means: Floats, solved: Complexity, which: int = 0
) -> float:
    """Where a run stops that knows the means and plays the optimal allocation: t = beta(t,
    delta)/D_nu; NaN if the test is another, or plays have levels of their own.

    Fees weigh on arms with few values, which that allocation may have: with fees, a share of the
    covering is mixed in, the best of `ASIDE`.
    """
    if not stopping.likelihood or problem.rewards.levels():
        return math.nan
    if solved.time in (0.0, math.inf):
        return solved.time
    means, problem = problem.inside(means), problem.maximised
    if stopping.watch is None:
        return root(lambda t: t >= stopping.threshold.level(int(t), which) * solved.time)
    best, spread, aside = np.zeros(problem.d), problem.noise(), np.zeros(problem.d)
    problem.game().answers.argmax(means, best)
    rows = problem.actions.covering()
    for chosen in rows:
        aside[list(chosen)] += 1.0 / len(rows)

    def ends(share: float) -> float:
        played = (1.0 - share) * solved.allocation + share * aside

        def passed(t: float) -> bool:
            found = judge(stopping, problem, means, t * played, spread, best, steady=True)
            return found > stopping.threshold.level(int(t), which)

        return root(passed)

    return min(map(ends, ASIDE))
