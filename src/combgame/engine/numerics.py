"""Arithmetic that keeps the digits on which certificates depend.

Sums together with their rounding errors, logarithms near 1, and the remainders of Stirling's
formula.
"""

import math

from .jit import jitable
from .state import Floats, Ints


@jitable
def lambert_bar(x: float) -> float:
    """Return the y >= 1 with y - ln y = x, for x >= 1; return 1 for smaller x.

    This is W-bar(x) = -W_{-1}(-e^{-x}).

    >>> round(lambert_bar(5.0), 6)
    6.936847
    """
    if x <= 1.0:
        return 1.0
    # start to the right of the root
    y = x + math.log(x) + (math.sqrt(2.0 * (x - 1.0)) if x < 2.0 else 0.5)
    for _ in range(100):
        # Newton's method for the convex function y - ln y decreases to the root
        new = y * (x - 1.0 + math.log(y)) / (y - 1.0)
        if new <= 1.0 or new >= y:
            break
        y = new
    return y


ROUND = 2.0**-53  # relative rounding error of one operation
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@jitable
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b and its rounding error; their exact sum is a + b (Knuth).

    >>> two_sum(1.0, 1e-20)
    (1.0, 1e-20)
    """
    total = a + b
    moved = total - a
    return total, (a - (total - moved)) + (b - moved)


@jitable
def excess(t: float, ratio: float) -> float:
    """Return t - ln(1 + t) >= 0, correct to nearly all digits.

    `ratio` is 1 + t, which may be known more precisely than t if t is near -1.

    >>> f"{excess(1e-9, 1 + 1e-9):.9e} {excess(1.0, 2.0):.12f}"
    '4.999999997e-19 0.306852819440'
    """
    if ratio <= 0.0:
        return math.inf
    if abs(t) > 0.25:
        return t - math.log(ratio)
    r = t / (2.0 + t)  # ln(1 + t) = 2 (r + r^3/3 + r^5/5 + ...), and t - 2 r = r t
    s, series = r * r, 0.0
    for k in range(21, 1, -2):
        series = series * s + 1.0 / k
    return r * (t - 2.0 * s * series)


@jitable
def stirling(x: float) -> float:
    """Return ln Gamma(x) minus ((x - 1/2) ln x - x + ln(2 pi)/2), for x > 0.

    >>> f"{stirling(1.0):.12f} {12e16 * stirling(1e16):.12f}"
    '0.081061466795 1.000000000000'
    """
    if x < 10.0:
        return math.lgamma(x) - ((x - 0.5) * math.log(x) - x + HALF_LOG_TWO_PI)
    s = 1.0 / (x * x)
    return (
        1 / 12
        - s
        * (
            1 / 360
            - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * (691 / 360360 - s / 156))))
        )
    ) / x


@jitable
def half_stirling(x: float) -> float:
    """Return ln Gamma(x + 1/2) minus (x ln x - x + ln(2 pi)/2), for x >= 0.

    >>> f"{half_stirling(0.0):.12f} {-24e16 * half_stirling(1e16):.12f}"
    '-0.346573590280 1.000000000000'
    """
    if x < 10.0:
        return math.lgamma(x + 0.5) - ((x * math.log(x) if x > 0.0 else 0.0) - x + HALF_LOG_TWO_PI)
    s = 1.0 / (x * x)
    return (
        -(
            1 / 24
            - s
            * (
                7 / 2880
                - s
                * (31 / 40320 - s * (127 / 215040 - s * (511 / 608256 - s * 1414477 / 738017280)))
            )
        )
        / x
    )


@jitable
def lead_of(mean: Floats, arms: Ints, sign: Floats, n: int) -> tuple[float, float]:
    """Return the leader's lead over a rival at these means, and a bound for its rounding error.

    Sums of large numbers that nearly cancel keep their digits (Ogita, Rump and Oishi 2005).
    """
    lead, rest, size = 0.0, 0.0, 0.0
    for i in range(n):
        x = float(-sign[i] * mean[arms[i]])
        lead, lost = two_sum(lead, x)
        rest += lost
        size += abs(x)
    lead += rest
    return lead, ROUND * abs(lead) + 2.0 * (n * ROUND) * (n * ROUND) * size
