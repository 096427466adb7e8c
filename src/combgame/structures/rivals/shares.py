"""Shares of delta."""

import numpy as np

from ...game.records import Floats

HUGE, LEAST = 1e300, 1e-300  # a smaller share is none: what has it is never ruled out


def log_share(number: int | float, classes: float, within: Floats) -> Floats:
    """ln of what a difference gets: one of `number`, and one of `within` in one of some classes.
    Bounds from above on these give a smaller share, which is safe.

    >>> np.exp(log_share(10, 2, np.array([1.0, 5.0]))).round(9).tolist()
    [0.3, 0.1]
    """
    every = 0.5 / number if number < HUGE else 0.0
    share = every + 0.5 / (classes * within)
    found: Floats = np.where(share > LEAST, np.log(np.maximum(share, LEAST)), -HUGE)
    return found


def by_size(counts: Floats, number: float) -> Floats:
    """The odds of differences by their size, from the most of each size, and of all sizes, that any
    B has: float64[sizes].
    """
    return log_share(number, float((counts > 0.0).sum()), np.maximum(counts, 1.0))
