"""The variance that arms share, as it was seen: an e-process against larger ones, and the bound
that it gives (docs/thresholds.md, "One unknown sigma").
"""

import math
from typing import NamedTuple

import numpy as np

from ..game.marks import jitable
from ..game.records import Fixed, Floats, Seen
from ..rewards.gaussian import EPSILON, FINE

# rho - 1 of the mixture over the variance, and the chances, chosen before the data
RATIOS = np.concatenate(([0.0], 0.001 * 2.0 ** np.arange(14)))
CHANCES = np.concatenate(([0.6], np.full(14, 0.4 / 14)))


def ratios(given: Floats = RATIOS, chances: Floats = CHANCES) -> Floats:
    """float64[3, l]: rho - 1, ln(rho)/2, ln of the chance."""
    return np.array([given, 0.5 * np.log1p(given), np.log(chances)])


@jitable
def spreading(ratio: Floats, degrees: float, s: float) -> tuple[float, float]:
    """ln sum_l w_l rho_l^(K/2) exp(-(rho_l - 1) K s/2), s = D/(K sigma^2), and its derivative by s;
    convex and falling.

    >>> ratio = ratios()
    >>> [float(round(spreading(ratio, 50.0, s)[0], 2)) for s in (2.0, 1.0, 0.5, 0.25)]
    [-0.3, -0.18, 1.89, 12.24]
    """
    top, total, slope = -math.inf, 0.0, 0.0
    for k in range(ratio.shape[1]):
        top = max(top, ratio[2, k] + degrees * (ratio[1, k] - 0.5 * ratio[0, k] * s))
    for k in range(ratio.shape[1]):
        share = math.exp(ratio[2, k] + degrees * (ratio[1, k] - 0.5 * ratio[0, k] * s) - top)
        total += share
        slope -= share * 0.5 * degrees * ratio[0, k]
    return top + math.log(total), slope / total


@jitable
def excluded(ratio: Floats, degrees: float, level: float) -> float:
    """An s at and below which the e-process is above exp(level), close to the largest; 0 if there
    is none.
    """
    low, high = 0.0, 1.0
    if spreading(ratio, degrees, 0.0)[0] <= level:
        return 0.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        if spreading(ratio, degrees, middle)[0] > level:
            low = middle
        else:
            high = middle
    return low


@jitable
def spotted(seen: Seen, state: Floats) -> None:
    """Per group, the variance that was seen, infinite if nothing can be said yet, and of how many
    squares it is the mean; state: float64[2, groups].
    """
    for g in range(state.shape[1]):
        n, square = float(seen.noise[0, g]), float(seen.noise[1, g])
        state[0, g], state[1, g] = math.inf, n
        if n > 0.0 and square > 1e-290 and seen.start[0] == 0:
            state[0, g] = (1.0 + 4.0 / FINE) * square / n
    for a in range(seen.counts.size):  # rounding must be of no account (`gaussian.resolved`)
        g, digit = seen.group[a], FINE * EPSILON * abs(seen.mean[a])
        if not state[0, g] >= seen.counts[a] * digit * digit:
            state[0, g] = math.inf


class PooledPart(NamedTuple):
    """Upper bounds on variances that arms share, for all t at once."""

    bar: float  # ln(groups / delta)
    ratio: Fixed
    state: Floats  # float64[2, groups]: see `spotted`
    done: Floats  # float64[groups]: how many squares there were when the next was right
    most: Floats  # float64[groups]: s that are excluded
    variance: Floats
    believed: Floats

    def refresh(self, seen: Seen) -> None:
        spotted(seen, self.state)
        for g in range(self.done.size):
            if self.state[1, g] != self.done[g]:
                self.done[g] = self.state[1, g]
                self.most[g] = excluded(self.ratio, self.state[1, g], self.bar)
        for a in range(self.variance.size):
            g = seen.group[a]
            known = self.most[g] > 0.0 and self.state[0, g] < math.inf
            self.variance[a] = self.state[0, g] / self.most[g] if known else math.inf

    def unit(self, seen: Seen) -> float:
        """The largest deviation that all arms can have, if all are alike."""
        self.refresh(seen)
        return math.sqrt(self.variance[0])


def pooled(groups: int, believed: Floats, delta: float) -> PooledPart:
    zero = np.zeros(groups)
    state, infinite = np.zeros((2, groups)), np.full(believed.size, math.inf)
    bar = math.log(groups / delta)
    return PooledPart(bar, ratios(), state, zero, zero.copy(), infinite, believed)
