"""Shares of delta."""

import math

from ...game.records import Floats


def log_share(number: float, classes: float, within: float) -> float:
    """ln of what a difference gets: one of `number`, and one of `within` in one of some classes.
    Bounds from above on these give a smaller share, which is safe.

    >>> round(math.exp(log_share(10, 2, 1)), 12)
    0.3
    """
    return math.log(0.5 / number + 0.5 / (classes * within))


def by_size(counts: Floats, number: float) -> Floats:
    """The odds of differences by their size, from the most of each size, and of all sizes, that any
    B has: float64[sizes].
    """
    found, classes = counts.copy(), float((counts > 0.0).sum())
    for k, within in enumerate(counts.tolist()):
        found[k] = log_share(number, classes, within) if within > 0.0 else -math.inf
    return found
