"""The convex conjugate of psi(z) = z^2/2 + ln(2 Phi(z)), the logarithm of a half-normal mixture,
from above: what a one-sided arm costs at a multiplier, to be subtracted.
"""

import functools
import math

import numpy as np

from ..game.marks import jitable
from ..game.records import Floats
from .pairs import tail

FIRST, LAST = -14.0, 1.8125  # ln p of the first and of the last row
ROWS = 128.0  # per unit of ln p
LEAST, MOST = math.exp(FIRST), math.exp(LAST)
HALF = 0.5 * math.log(2.0 * math.pi) - math.log(2.0)


@functools.cache
def conjugates() -> Floats:
    """float64[3, n]: p, psi*(p) = max over z of p z - psi(z), and the z of the maximum."""
    rows, z = [], -1.0 / LEAST
    for i in range(round((LAST - FIRST) * ROWS) + 1):
        p = math.exp(FIRST + i / ROWS)
        low, high = min(-2.0 / p, -1.0), p
        for _ in range(200):  # Newton between brackets
            _, slope, bend = tail(z)
            low, high = (z, high) if slope < p else (low, z)
            new = z - (slope - p) / bend if bend > 0.0 else low
            new = new if low < new < high else 0.5 * (low + high)
            if abs(new - z) <= 1e-14 * abs(z):
                break
            z = new
        rows.append((p, (p * z - tail(z)[0]) + 1e-13, z))
    return np.array(rows).T.copy()


@jitable
def conjugate(rows: Floats, p: float) -> tuple[float, float, float]:
    """psi*(p) for p > 0, never below it, where z is, and about how fast that grows with p.

    Between two rows psi* lies below the straight line, being convex. Below the first, psi(z) >=
    ln(2/(|z| + 1/|z|)) - ln(2 pi)/2. Above the last z is above 5.5, where psi(z) is above z^2/2 +
    ln 2 - 2e-8.

    >>> [round(x, 4) for x in conjugate(conjugates(), 1.0)]
    [0.0509, 0.4811, 2.0693]
    """
    if p >= MOST:
        return 0.5 * p * p - math.log(2.0) + 2e-8, p, 1.0
    if p <= LEAST:
        return HALF - 1.0 - math.log(p) + 1e-9, -1.0 / p, 1.0 / (p * p)
    i = int((math.log(p) - FIRST) * ROWS)
    i = min(max(i, 0), rows.shape[1] - 2)
    start, end = float(rows[0, i]), float(rows[0, i + 1])
    share = min(max((p - start) / (end - start), 0.0), 1.0)
    low, high = float(rows[2, i]), float(rows[2, i + 1])
    value = (1.0 - share) * float(rows[1, i]) + share * float(rows[1, i + 1])
    return (
        value + 1e-13 * (1.0 + p),
        (1.0 - share) * low + share * high,
        (high - low) / (end - start),
    )
