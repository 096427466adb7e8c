"""The characteristic time 1/D_nu of an instance: D_nu = max over w~ of min over alternatives lambda of <w~, d(mu, lambda)>.

The double oracle method on the game between the two players: a linear programme over the actions and alternatives met so
far; the nearest alternative to its allocation and the best action against its mixture of alternatives enter, until the two
values they give, a lower and an upper bound on D_nu, meet. No enumeration; the gap is certified.
"""

from typing import Any, NamedTuple

import numpy as np

from .errors import CombGameError, InputError, TieError
from .problem import Problem
from .protocols import Floats, Threshold
from .structures.base import arms_of, whole


class Complexity(NamedTuple):
    """`time` is 1/D_nu to within the gap: D_nu lies between 1 / time and (1 + gap) / time."""

    time: float
    allocation: Floats  # w~: how often each arm is observed per round, by an optimal rule
    support: list[tuple[tuple[int, ...], float]]  # actions and their weights
    gap: float


def complexity(problem: Problem, means: Any, tolerance: float = 1e-4, steps: int = 1000) -> Complexity:
    """The characteristic time, the optimal allocation, and how far from optimal they can be.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    >>> round(cg.complexity(problem, [0.3, 0.29, 0.28, 0.23, 0.2]).time, 1)
    400.0
    """
    from scipy.optimize import linprog

    if not isinstance(problem, Problem):
        raise InputError(f"complexity: problem = {problem!r} must be a Problem; it comes first.")
    if not (isinstance(tolerance, float) and 0.0 < tolerance < 1.0):
        raise InputError(f"complexity: tolerance = {tolerance!r} must be between 0 and 1, such as 1e-4.")
    steps = whole("complexity: steps", steps, 1)
    mu, game, d = problem.means(means), problem.game(), problem.d
    best, rival, alternative, vertex = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    game.answers.argmax(mu, best)
    actions: list[tuple[int, ...]] = list(problem.actions.covering())
    columns: list[Floats] = []  # d(mu, lambda), one per alternative met
    weights = np.full(len(actions), 1.0 / len(actions))
    lower, upper, kept, stalled = 0.0, np.inf, (weights, list(actions)), 0
    for _ in range(steps):
        arms = _marginals(actions, weights, d)
        value = game.answers.nearest(game.rewards, mu, arms, best, rival, alternative)
        if value > lower:
            lower, kept = value, (weights, list(actions))
        if upper <= lower * (1.0 + tolerance):
            break
        columns.append(np.array([game.rewards.divergence(mu[a], alternative[a], a) for a in range(d)]))
        if not columns[-1].any():
            raise TieError("complexity: two answers are equally good for these means; the characteristic time is infinite.")
        payoff = np.array([[column[list(chosen)].sum() for column in columns] for chosen in actions])
        n, m = payoff.shape
        scaled = np.minimum(payoff / (lower or payoff.max()), 1e6)  # in units of the value; above that, nothing is gained
        solved = linprog(  # max z: sum_A x_A payoff[A, j] >= z for all j, sum x = 1
            np.r_[np.zeros(n), -1.0], A_ub=np.c_[-scaled.T, np.ones(m)], b_ub=np.zeros(m),
            A_eq=np.r_[np.ones(n), 0.0][None], b_eq=[1.0], bounds=[(0, None)] * n + [(None, None)], method="highs",
        )  # fmt: skip
        if solved.status != 0:
            raise CombGameError(f"complexity: the linear programme failed ({solved.message}); scale the means and sigma.")
        weights, mixed = np.maximum(solved.x[:n], 0.0), np.maximum(-solved.ineqlin.marginals, 0.0)
        against = sum((q * column for q, column in zip(mixed / mixed.sum(), columns, strict=True)), np.zeros(d))
        game.actions.argmax(against, vertex)
        stalled = 0 if vertex @ against < upper * (1.0 - 1e-9) or value >= lower else stalled + 1
        upper = min(upper, float(vertex @ against))
        if stalled > 100:
            break  # the linear programme's precision is reached: the gap says how far that is
        chosen = arms_of(vertex)
        if chosen not in actions:
            actions.append(chosen)
            weights = np.r_[weights, 0.0]
        weights = weights / weights.sum()
    weights, found = kept
    support = [(chosen, float(w)) for chosen, w in zip(found, weights, strict=True) if w > 1e-12]
    return Complexity(1.0 / lower, _marginals(found, weights, d), support, float(upper / lower - 1.0))


def _marginals(actions: list[tuple[int, ...]], weights: Floats, d: int) -> Floats:
    arms = np.zeros(d)
    for chosen, weight in zip(actions, weights, strict=True):
        arms[list(chosen)] += weight
    return arms


def limit(time: float, threshold: Threshold, which: int) -> float:
    """The root of t = beta(t, delta) * time."""
    if time == np.inf:
        return float(np.inf)
    left, right = 1.0, 2.0
    while right < threshold.level(int(right), which) * time and right < 1e300:
        left, right = right, right * 2.0
    while right - left > 0.5:
        middle = 0.5 * (left + right)
        if middle < threshold.level(int(middle), which) * time:
            left = middle
        else:
            right = middle
    return right
