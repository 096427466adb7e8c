"""The generalised likelihood ratio: how strongly the data speak for the leading answer against its closest rival."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .errors import InputError
from .problem import Problem
from .structures.base import arms_of


class Evidence(NamedTuple):
    """The leading answer, its closest rival, and min_J inf_lambda sum_a N_a d(mean_a, lambda_a)."""

    answer: tuple[int, ...]
    rival: tuple[int, ...]
    value: float


def evidence(problem: Problem, estimates: Iterable[float], counts: Iterable[float]) -> Evidence:
    """The evidence that `counts` observations per arm with means `estimates` give, exactly.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0))
    >>> cg.evidence(problem, [0.5, 0.1, 0.0], [100, 100, 100])
    Evidence(answer=(0,), rival=(1,), value=4.0)
    """
    mean, weight = problem.vector(estimates, "estimates"), problem.vector(counts, "counts")
    if (weight < 0).any():
        raise InputError(f"counts: {weight.min()} is negative; a count is the number of values seen, 0 or more.")
    if problem.rewards.values(problem.d) != (-np.inf, np.inf):
        low, high = problem.rewards.values(problem.d)
        if ((mean < low) | (mean > high)).any():
            raise InputError(f"estimates must lie in [{low}, {high}] for {problem.rewards!r}; got {mean.tolist()}.")
    game = problem.game()
    best, rival, alternative = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    feasible = np.array([game.rewards.project(float(x), a) for a, x in enumerate(mean)])
    game.answers.argmax(feasible, best)
    value = game.answers.nearest(game.rewards, mean, weight, best, rival, alternative)
    return Evidence(arms_of(best), arms_of(rival), float(value))
