"""Exchanges for Gaussian values with one unknown variance (Theorem 10 of docs/thresholds.md).

The variance is that of all arms, or of all arms of a group. At each variance, the mixture of a pair
as if it were known (`mixture_pairs`) is multiplied by an e-process that is large where the variance
is larger than its estimate: the logarithm of the latter rises with the variance, that of the former
falls, and the evidence is the minimum of their sum. Variances are expressed by s =
estimate/variance and r = sqrt(s).
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.kernels import kernel
from ..engine.state import Fixed, Floats, Ints
from ..engine.statistics import Statistics
from .mixture_pairs import PairDefaults, ceiling, direction, price
from .variance import FINEST, VarianceKernel, excluded, spotted, spreading, variance_part

CELLS = 100  # largest number of pairs of variances at which the mixture is computed
BEYOND = 60.0  # variances that the e-process excludes by this many nats are left out


@kernel(PairDefaults)
class SharedVariancePairKernel(NamedTuple):
    """The mixture for exchanges of arm i of the leader for arm j, for a shared unknown variance."""

    counts: Floats  # those of the statistics
    group: Ints
    low: Floats
    high: Floats
    prior: Fixed  # float64[2, k]: c as an arm i and as an arm j, per scale
    cost: Fixed  # ln 1/p
    joint: Fixed  # float64[k]: c of a direction that arms of one group share; 0 if there is none
    alone: Fixed  # float64[k]: zeros, for arms of two groups
    state: Floats  # float64[2, groups]: estimated variance and its number of squares
    done: Floats  # float64[2, d]: N for which the next two were computed, as arm i and as arm j
    charge: Floats  # float64[2, d, k]: ln(1 + N/c) / 2
    wide: Floats  # float64[2, d, k]: (N + c)/N^2
    cutoff: Floats  # float64[1]
    max_bonus: float  # 0: no mixture of likelihood ratios is above the largest
    argmin: Floats  # float64[1] scratch
    cell: Floats  # float64[4, cells] scratch: s of arm i from, to; of arm j from, to
    bound: Floats  # float64[cells]: lower bound of the sum in a cell
    line: VarianceKernel  # for arms with the same variance

    def update_pairs(self, stats: Statistics, best: Floats, weight: Floats) -> None:
        """Write weights at the estimated variances.

        The e-process of the variance is at most 1 there.
        """
        spotted(stats, self.state)
        for a in range(weight.size):
            variance = self.state[0, stats.variance_group[a]]
            weight[a] = stats.counts[a] / variance if variance < math.inf else stats.counts[a]
            stats.effective_counts[a] = stats.counts[a]

    def prepare_arm(self, a: int, side: int) -> None:
        """Update the penalties and widths of an arm."""
        n = self.counts[a]
        if n != self.done[side, a]:
            self.done[side, a] = n
            price(self.prior, side, a, n, self.charge, self.wide)

    def upper_bound(self, mean: Floats, i: int, j: int, x: float) -> float:
        """Return a bound at the estimates, with ln 2 for ln(2 Phi)."""
        v, w = self.state[0, self.group[i]], self.state[0, self.group[j]]
        if max(self.low[i], self.low[j]) > min(self.high[i], self.high[j]):
            return math.inf
        if not (v < math.inf and w < math.inf):
            return 0.0
        self.prepare_arm(i, 0)
        self.prepare_arm(j, 1)
        return ceiling(
            self.line.row,
            self.charge,
            self.wide,
            self.cost,
            self.line.sided,
            self.joint if self.group[i] == self.group[j] else self.alone,
            self.prior,
            self.counts[i],
            self.counts[j],
            float(v),
            float(w),
            float(mean[i]) - x,
            x - float(mean[j]),
            i,
            j,
        )

    def minimise(self, mean: Floats, i: int, j: int, enough: float) -> float:
        """Return the minimum over all variances and means, from below."""
        low, high = float(max(self.low[i], self.low[j])), float(min(self.high[i], self.high[j]))
        one, other, row = float(mean[i]), float(mean[j]), self.line.row
        self.argmin[0] = min(max(0.5 * (one + other), low), high)
        if self.high[i] < self.low[j]:
            return 0.0  # not enough for any delta
        if low > high:
            return math.inf  # j is never as good as i
        if one < other and low == -math.inf and high == math.inf:
            return -math.inf  # j is better; see `KnownVariancePairKernel.minimise`
        g, h = self.group[i], self.group[j]
        v, w = float(self.state[0, g]), float(self.state[0, h])
        if not (v < math.inf and w < math.inf):
            return 0.0  # there is no estimate of the variance yet
        deviation = math.sqrt(v)
        for k in range(self.cost.size):
            first, second = float(self.wide[0, i, k]), float(self.wide[1, j, k])
            if not (first > 0.0 and second > 0.0 and first + second < math.inf):
                return 0.0
            row[0, k], row[1, k] = 1.0 / math.sqrt(first), deviation / math.sqrt(w * second)
            row[2, k] = -self.charge[0, i, k] - self.charge[1, j, k] - self.cost[k]
            row[7, k] = 0.0
            if self.joint[k] > 0.0 and g == h:
                row[7, k], row[8, k], fee = direction(
                    self.counts[i],
                    self.counts[j],
                    self.prior[0, k],
                    self.joint[k],
                    1.0,
                    1.0,
                )
                row[2, k] -= fee
        lead, n, m = (one - other) / deviation, float(self.state[1, g]), float(self.state[1, h])
        if g == h:
            value, x = self.line.over_variances(
                lead, (low - other) / deviation, (high - other) / deviation, n, enough
            )
        elif lead > 0.0:
            value, x = self.apart(lead, n, m, enough)
        else:
            return -math.inf
        self.argmin[0] = min(max(other + x * deviation, low), high)
        return value if value > -math.inf else -math.inf  # NaN: no evidence

    def apart(self, lead: float, n: float, m: float, enough: float) -> tuple[float, float]:
        """Return the minimum over the variances of two groups, from below.

        The x of the smallest value found is returned, too. Priors are normal on all scales, and
        means are not bounded. The search divides the cell with the least bound.
        """
        cell, used, x, most = self.cell, 1, 0.5 * lead, -math.inf
        cell[0, 0], cell[2, 0] = (
            excluded(self.line.ratio, n, BEYOND),
            excluded(self.line.ratio, m, BEYOND),
        )
        last, end = (
            1.0 + 3.0 / math.sqrt(n),
            1.0 + 3.0 / math.sqrt(m),
        )  # beyond, the e-process hardly falls
        cell[1, 0], cell[3, 0] = last, end
        for k in range(self.cost.size):  # lower bound for the variances that are left out
            most = max(most, BEYOND + self.line.ratio[2, 0] + float(self.line.row[2, k]))
        best, x = self.fill(0, lead, n, m, last, end)
        while True:
            low = 0
            for p in range(used):
                if not self.bound[p] >= self.bound[low]:
                    low = p
            least = float(self.bound[low])
            if used + 1 >= CELLS or least >= best - FINEST or least > enough:
                return min(least, most), x
            side = 0
            wide, tall = cell[1, low] - cell[0, low], cell[3, low] - cell[2, low]
            if wide * wide * n < tall * tall * m:  # by the curvature of the e-process
                side = 2
            middle = 0.5 * (cell[side, low] + cell[side + 1, low])
            for k in range(4):
                cell[k, used] = cell[k, low]
            cell[side + 1, low] = cell[side, used] = middle
            for p in (low, used):
                value, at = self.fill(p, lead, n, m, last, end)
                if value < best:
                    best, x = value, at
            used += 1

    def fill(
        self, p: int, lead: float, n: float, m: float, last: float, end: float
    ) -> tuple[float, float]:
        """Compute the bound of a cell from a value in its middle, which is returned with its x.

        As a function of A = s_i (lead - x)^2 and B = s_j x^2 the mixture is convex, so it is at
        least c + a A + b B. The minimum of that over x is c + lead^2/(1/(a s_i) + 1/(b s_j)), which
        is concave, and least in a corner, with the tangents of the e-process.
        """
        cell, row = self.cell, self.line.row
        s, t = 0.5 * (cell[0, p] + cell[1, p]), 0.5 * (cell[2, p] + cell[3, p])
        x, value, a, b, c = 0.5 * lead, 0.0, 0.0, 0.0, 0.0
        for _ in range(6):
            first, second = s * (lead - x) * (lead - x), t * x * x
            top, total, a, b = -math.inf, 0.0, 0.0, 0.0
            for k in range(self.cost.size):
                y, z = 0.5 * row[0, k] * row[0, k], 0.5 * row[1, k] * row[1, k]
                row[3, k] = y * first + z * second + row[2, k]
                top = max(top, float(row[3, k]))
            for k in range(self.cost.size):
                share = math.exp(float(row[3, k]) - top)
                total += share
                a += share * 0.5 * row[0, k] * row[0, k]
                b += share * 0.5 * row[1, k] * row[1, k]
            a, b, value = a / total, b / total, top + math.log(total)
            c = value - a * first - b * second
            x = lead * a * s / (a * s + b * t)
        one, fall = spreading(self.line.ratio, n, s)
        two, drop = spreading(self.line.ratio, m, t)
        self.bound[p] = math.inf
        for k in range(4):
            u, v = cell[k % 2, p], cell[2 + k // 2, p]
            f, g = one + fall * (u - s), two + drop * (v - t)
            if u == last:  # the cell extends to infinity
                f = min(f, self.line.ratio[2, 0])
            if v == end:
                g = min(g, self.line.ratio[2, 0])
            both = lead * lead / (1.0 / (a * u) + 1.0 / (b * v)) if u > 0.0 and v > 0.0 else 0.0
            self.bound[p] = min(float(self.bound[p]), c + both + f + g)
        return value + one + two, x


def shared(
    stats: Statistics,
    low: Floats,
    high: Floats,
    prior: Floats,
    cost: Floats,
    sided: Floats,
    joint: Floats,
) -> SharedVariancePairKernel:
    """Return the mixture for arms whose means are known to lie in [low, high].

    The scales are those of `mixture.pair_scales`.
    """
    d, k = low.size, cost.size
    return SharedVariancePairKernel(
        stats.counts,
        stats.variance_group,
        low.copy(),
        high.copy(),
        prior,
        cost,
        joint,
        np.zeros(k),
        np.zeros((2, stats.residuals.shape[1])),
        np.full((2, d), -1.0),
        np.zeros((2, d, k)),
        np.zeros((2, d, k)),
        np.full(1, np.inf),
        0.0,
        np.zeros(1),
        np.zeros((4, CELLS)),
        np.zeros(CELLS),
        variance_part(sided),
    )
