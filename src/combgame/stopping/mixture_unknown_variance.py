"""Exchanges for Gaussian values with unknown variances per arm (Theorem 8 of docs/thresholds.md).

Mean and variance are in one martingale.
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.jit import jitable
from ..engine.kernels import kernel
from ..engine.numerics import stirling
from ..engine.state import Fixed, Floats, Ints
from ..engine.statistics import Statistics
from ..rewards.gaussian import FINE, resolved
from .mixture_pairs import PairDefaults

# The scales of the mixture, chosen before the data, one per row: c and h as an arm of the leading
# answer, c and h as another, and the weight of the scale. A mean is shifted by N(0, variance/c),
# and the precision multiplied by Gamma(h, h) times 1 + LIFT/c: the finer the shift, the less does
# the variance of the nearest alternative differ. The first two scales are for few values that are
# many standard deviations apart, the fifth and the sixth for a leader that is known far more
# precisely than its rivals.
SCALES = np.array(
    [
        (0.1, 0.5, 0.1, 0.5, 0.04),
        (0.7, 1.0, 0.7, 1.0, 0.06),
        (3.0, 6.0, 3.0, 5.0, 0.045),
        (13.0, 80.0, 1.5, 8.0, 0.045),
        (3000.0, 40_000.0, 0.22, 4.4, 0.216),
        (200.0, 1600.0, 6.7, 60.0, 0.09),
        (20.0, 200.0, 13.0, 40.0, 0.072),
        (80.0, 2000.0, 70.0, 1500.0, 0.207),
        (650.0, 60_000.0, 480.0, 25_000.0, 0.189),
        (6000.0, 5e6, 4500.0, 2e6, 0.036),
    ]
)
# Shares of a scale's weight: one-sided shifts for both arms, for arm j alone, for arm i alone.
SIDES = np.array([0.34, 0.36, 0.3])
LIFT = 1.5
FARTHEST = 1e300  # largest squared distance, in V/N
FEW = 2.0  # pseudo-count that lowers the effective count of arms with few values
FINEST = 1e-2  # tolerance by which the minimum of a pair's mixture may be underestimated
POINTS = 96  # largest number of points at which the mixture is computed


@jitable
def remainder(x: float) -> float:
    """Return `stirling`, without lgamma, which the engines do not share to the last digit.

    >>> f"{remainder(1.0):.12f}"
    '0.081061466795'
    """
    total = 0.0
    while x < 10.0:
        total += (x + 0.5) * math.log1p(1.0 / x) - 1.0
        x += 1.0
    return total + stirling(x)


@jitable
def climb(far: float, per: float, n: float, c: float, h: float, b: float) -> tuple[float, float]:
    """Return what a mean that is off by `far` adds to ln Z, and the derivative by `far`.

    At the worst variance this is P ln R - b (R - 1) with P = h + N/2, R = (1 + w)/(1 + w c/(N + c))
    and w = far^2 N/V, but R is at most the value at which the expression is largest. `per` is N/V.
    """
    w, power = min(far * far * per, FARTHEST), h + 0.5 * n
    less = 1.0 + w * (c / (n + c))
    gain = w * (n / (n + c)) / less  # R - 1
    most = power / b - 1.0
    if not gain < most:  # the worst variance is infinite
        return power * math.log1p(most) - b * most, 0.0
    steep = (power / (1.0 + gain) - b) * (n / (n + c)) / (less * less)
    return power * math.log1p(gain) - b * gain, 2.0 * steep * far * per


@jitable
def cut(n: float, h: float) -> float:
    """Return r, a ratio below 1 of b + u Q to that of the worst variance.

    At this ratio ln Z is at least ln 2 above its minimum: P (r - 1 - ln r) >= ln 2 where P = h +
    N/2 >= 3/2. With r = e^-s it is P (s - 1 + e^-s) >= P (s^2/2 - s^3/6), which is at least P a^2/2
    for s = a + a^2/3, a <= 0.96.
    """
    step = math.sqrt(2.0 * math.log(2.0) / (h + 0.5 * n))
    return math.exp(-step - step * step / 3.0)


@jitable
def sided(far: float, per: float, n: float, c: float, h: float, b: float, ratio: float) -> float:
    """Return a lower bound on the factor of Z if shifts to one side only are mixed.

    The mean is off by `far` to that side, and `ratio` is that of `cut`. The factor is between 1 and
    2; between two distances it is at least the smaller of its values there.
    """
    w, power = min(far * far * per, FARTHEST), h + 0.5 * n
    gain, end = w * (n / (n + c)) / (1.0 + w * (c / (n + c))), ratio * power / b
    if not gain < end - 1.0:
        return 1.0
    y = math.sqrt((2.0 * power - 0.5) * math.log1p((1.0 - (1.0 + gain) / end) * gain))
    rise = power * math.log(end / (1.0 + gain)) - b * (end - 1.0 - gain)
    return min(math.erfc(-y / math.sqrt(2.0)), math.exp(min(max(rise, 0.0), math.log(2.0))))


@kernel(PairDefaults)
class UnknownVariancePairKernel(NamedTuple):
    """The mixture for exchanges of arm i of the leader for arm j, for unknown variances per arm.

    The logarithm is ln sum_k p_k exp(min over the variances of ln Z_k), at means with y_i = y_j =
    x: the contribution of arm i falls in x between the means, and that of arm j rises. Neither is
    convex. But the derivative of each rises and then falls with the distance, so that on any
    interval it is at least the smaller of its values at the ends: the resulting bounds are right to
    second order. Shifts are one-sided for both arms, or for one of them, with the weights in
    `share`; where the true means are beyond an end, only those count that have two sides for the
    arm of that end.
    """

    stats: Statistics
    believed: Floats  # the variances as the rules estimate them
    low: Floats
    high: Floats
    prior: Fixed  # float64[2, k]: c as an arm i and as an arm j, per scale
    shape: Floats  # float64[2, k]: h
    rate: Floats  # float64[2, k]: b = h / (1 + LIFT/c)
    cost: Fixed  # ln 1/p
    done: Floats  # float64[2, d]: N for which the next two were computed
    charge: Floats  # float64[2, d, k]: minus ln Z at the sample mean
    ratio: Floats  # float64[2, d, k]: the result of `cut`
    share: Floats  # float64[3]: both arms one-sided, arm j alone, arm i alone
    spot: Floats  # float64[points] scratch: points between the means, in the order they were tried
    after: Ints  # int64[points]: the next point to the right
    bound: Floats  # float64[points]: lower bound of the mixture between the two
    value: Floats  # float64[2, points, k]: contributions of arm i and arm j
    slope: Floats  # float64[2, points, k]: their derivatives by the distance
    side: Floats  # float64[2, points, k]: factors of one-sided shifts
    row: Floats  # float64[k]
    cutoff: Floats  # float64[1]
    max_bonus: float  # infinity: the likelihood ratio is at other variances
    argmin: Floats  # float64[1] scratch

    def update_pairs(self, stats: Statistics, best: Floats, weight: Floats) -> None:
        """Write the weights and the equivalent numbers of values of known variance.

        The comparison is made where an arm ties with the nearest on the other side: N values whose
        mean is off by y standard deviations are evidence of about ln(1 + y^2) N/2 instead of y^2
        N/2, and of less for few values.
        """
        weakest, strongest = (
            math.inf,
            -math.inf,
        )  # extreme means of the leader's arms and of the others
        for a in range(best.size):
            if best[a] > 0.5:
                weakest = min(weakest, stats.mean[a])
            else:
                strongest = max(strongest, stats.mean[a])
        for a in range(best.size):
            n, far = stats.counts[a], stats.mean[a] - (strongest if best[a] > 0.5 else weakest)
            square = far * far / self.believed[a]
            stats.effective_counts[a] = n * n / (n + FEW)
            if 0.0 < square < math.inf:
                stats.effective_counts[a] *= math.log1p(square) / square
            weight[a] = stats.effective_counts[a] / self.believed[a]

    def prepare_arm(self, a: int, side: int) -> None:
        """Update the penalties of an arm, and the ratios of `cut`."""
        n = self.stats.counts[a]
        if n != self.done[side, a]:
            self.done[side, a] = n
            for k in range(self.cost.size):
                c, h, b = self.prior[side, k], self.shape[side, k], self.rate[side, k]
                power, lift = h + 0.5 * n, h / b
                self.charge[side, a, k] = (
                    0.5 * math.log1p(n / c)
                    + 0.5 * math.log(power / h)
                    + remainder(h)
                    - remainder(power)
                    + h * math.log(lift)
                    + b
                    - h
                )
                self.ratio[side, a, k] = cut(n, h)

    def upper_bound(self, mean: Floats, i: int, j: int, x: float) -> float:
        """Return infinity: there is no cheap bound."""
        return math.inf

    def minimise(self, mean: Floats, i: int, j: int, enough: float) -> float:
        """Return the minimum over means and variances, from below."""
        low, high = float(max(self.low[i], self.low[j])), float(min(self.high[i], self.high[j]))
        one, other = self.project(mean[i], i), self.project(mean[j], j)
        self.argmin[0] = min(max(0.5 * (one + other), low), high)
        if self.high[i] < self.low[j]:
            return 0.0  # not enough for any delta
        if low > high:
            return math.inf  # j is never as good as i
        if other > one:
            return -math.inf  # j is better
        if not (resolved(self.stats, i) and resolved(self.stats, j)):
            return 0.0
        if low == high and mean[i] < low and mean[j] > high:
            return 0.0  # one common mean is possible, with i below and j above it
        left, right = max(low, other), min(high, one)
        first, second = (
            self.believed[i] / self.stats.counts[i],
            self.believed[j] / self.stats.counts[j],
        )
        edge = math.inf  # at the ends, where only one of the arms can mislead
        self.try_at(mean, i, j, 0, other)
        if other >= self.low[i] and mean[j] >= self.low[j]:
            edge = min(edge, self.mixed(0, 0, 0.0, 2))
        self.try_at(mean, i, j, 1, one)
        if one <= self.high[j] and mean[i] <= self.high[i]:
            edge = min(edge, self.mixed(1, 1, 0.0, 1))
        if left != other:
            self.try_at(mean, i, j, 0, left)
        if right != one:
            self.try_at(mean, i, j, 1, right)
        first_end, last_end = self.between(0, 0, 0.0), self.between(1, 1, 0.0)
        here = 1 if last_end < first_end else 0
        best = min(first_end, last_end, edge)
        self.after[0], self.after[1] = 1, -1
        self.bound[0] = self.between(0, 1, right - left)
        least, used, x = self.bound[0], 2, one - (one - other) * first / (first + second)
        cell = 0
        while used < self.spot.size and least < best - FINEST and least <= enough:
            start, end = cell, self.after[cell]
            wide = float(self.spot[end] - self.spot[start])
            if used > 2 or not self.spot[start] < x < self.spot[end]:
                x = float(self.spot[start]) + 0.5 * wide
                if not self.spot[start] < x < self.spot[end]:
                    break  # adjacent floats
            new = used
            used += 1
            self.try_at(mean, i, j, new, x)
            self.after[start], self.after[new] = new, end
            self.bound[start] = self.between(start, new, x - float(self.spot[start]))
            self.bound[new] = self.between(new, end, float(self.spot[end]) - x)
            value = self.between(new, new, 0.0)
            if value < best:
                best, here = value, new
            least, p = math.inf, 0
            while self.after[p] >= 0:
                if self.bound[p] < least:
                    least, cell = float(self.bound[p]), p
                p = self.after[p]
        self.argmin[0] = self.spot[here]
        least = min(least, edge)
        return least if least > -math.inf else -math.inf  # NaN: no evidence

    def try_at(self, mean: Floats, i: int, j: int, p: int, x: float) -> None:
        """Compute the contributions of both arms at x, the p-th point."""
        self.spot[p] = x
        for side in range(2):
            a = i if side == 0 else j
            n, far = float(self.stats.counts[a]), float(mean[a]) - x
            if side == 1:
                far = -far
            per = n / ((1.0 + 4.0 / FINE) * float(self.stats.squares[a]))
            for k in range(self.cost.size):
                c, h, b = self.prior[side, k], self.shape[side, k], self.rate[side, k]
                value, slope = climb(abs(far), per, n, c, h, b)
                self.value[side, p, k] = value - self.charge[side, a, k]
                self.slope[side, p, k] = slope
                self.side[side, p, k] = 1.0
                if far > 0.0:
                    self.side[side, p, k] = sided(far, per, n, c, h, b, self.ratio[side, a, k])

    def between(self, p: int, q: int, wide: float) -> float:
        """Return the mixture at a point p = q, or a lower bound between two points.

        The two points are `wide` apart.
        """
        return self.mixed(p, q, wide, 0)

    def mixed(self, p: int, q: int, wide: float, only: int) -> float:
        """Return `between`; if `only` is 1 or 2, with that part of `share` alone."""
        top, total = -math.inf, 0.0
        for k in range(self.cost.size):
            steep = min(
                min(self.slope[0, p, k], self.slope[0, q, k]),
                min(self.slope[1, p, k], self.slope[1, q, k]),
            )
            self.row[k] = self.value[0, q, k] + self.value[1, p, k] + steep * wide - self.cost[k]
            top = max(top, float(self.row[k]))
        for k in range(self.cost.size):
            first = min(self.side[0, p, k], self.side[0, q, k])
            second = min(self.side[1, p, k], self.side[1, q, k])
            times = self.share[1] * second if only != 2 else 0.0
            if only != 1:
                times += self.share[2] * first
            if only == 0:
                times += self.share[0] * first * second
            total += times * math.exp(float(self.row[k]) - top)
        return top + math.log(total)


def students(
    stats: Statistics, believed: Floats, low: Floats, high: Floats
) -> UnknownVariancePairKernel:
    """Return the mixture for arms whose means are known to lie in [low, high]."""
    prior, shape, d, scales = (
        SCALES[:, [0, 2]].T.copy(),
        SCALES[:, [1, 3]].T.copy(),
        low.size,
        len(SCALES),
    )
    return UnknownVariancePairKernel(
        stats,
        believed,
        low.copy(),
        high.copy(),
        prior,
        shape,
        shape / (1.0 + LIFT / prior),
        -np.log(SCALES[:, 4]),
        np.full((2, d), -1.0),
        np.zeros((2, d, scales)),
        np.zeros((2, d, scales)),
        SIDES.copy(),
        np.zeros(POINTS),
        np.zeros(POINTS, np.int64),
        np.zeros(POINTS),
        np.zeros((2, POINTS, scales)),
        np.zeros((2, POINTS, scales)),
        np.zeros((2, POINTS, scales)),
        np.zeros(scales),
        np.full(1, np.inf),
        math.inf,
        np.zeros(1),
    )
