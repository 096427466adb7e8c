"""The generalised likelihood ratio: how strongly the data speak for the leading answer against its closest rival."""

import math
from typing import Any, NamedTuple

import numpy as np

from .errors import InputError
from .problem import Problem, check_deltas
from .structures.base import arms_of
from .structures.callback import own_errors
from .thresholds import make_threshold


class Evidence(NamedTuple):
    """The leading answer, its closest rival, and min_J inf_lambda sum_a N_a d(mean_a, lambda_a).

    `threshold` is what the value must exceed for a confidence of 1 - delta (None if no delta was given).
    """

    answer: tuple[int, ...]
    rival: tuple[int, ...]
    value: float
    threshold: float | None = None

    @property
    def certified(self) -> bool:
        """Whether the evidence is enough. With a proved threshold, `answer` is then wrong with probability at most delta."""
        return self.threshold is not None and self.value > self.threshold


def evidence(problem: Problem, estimates: Any, counts: Any, delta: float | None = None, threshold: str = "proved") -> Evidence:
    """The evidence that `counts` observations per arm with means `estimates` give, exactly; with delta, whether it is enough.

    The guarantee holds however the data were collected, and however often you look, as long as what to measure next never depended on
    values that are not counted here. An arm that was never observed has the count 0, and any estimate.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0))
    >>> cg.evidence(problem, [0.5, 0.1, 0.0], [100, 100, 100])
    Evidence(answer=(0,), rival=(1,), value=4.0, threshold=None)
    >>> cg.evidence(problem, [0.9, 0.1, 0.0], [200, 200, 200], delta=0.05).certified
    True
    """
    if not isinstance(problem, Problem):
        raise InputError(f"evidence: problem = {problem!r} must be a Problem; it comes first.")
    mean, weight = problem.vector(estimates, "estimates"), problem.vector(counts, "counts")
    if (weight < 0).any():
        raise InputError(f"counts: {weight.min()} is negative; a count is the number of values seen, 0 or more.")
    low, high = problem.rewards.values(problem.d)
    if ((mean < low) | (mean > high)).any():
        raise InputError(f"estimates must lie in [{low}, {high}] for {problem.rewards!r}; got {mean.tolist()}.")
    game = problem.game()
    best, rival, alternative = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    feasible = np.array([game.rewards.project(float(x), a) for a, x in enumerate(mean)])
    with own_errors():
        game.answers.argmax(feasible, best)
        value = game.answers.nearest(game.rewards, mean, weight, best, rival, alternative)
    level = None
    if delta is not None:  # t K in the threshold bounds the number of values seen: that number itself will do
        rounds = math.ceil(float(weight.sum()) / problem.actions.largest())
        level = make_threshold(threshold, problem, check_deltas(delta)[:1]).level(rounds, 0)
    return Evidence(arms_of(best), arms_of(rival), float(value), level)


def best_answer(problem: Problem, means: Any) -> tuple[int, ...]:
    """The answer that is best for these means."""
    return evidence(problem, means, np.ones(problem.d)).answer
