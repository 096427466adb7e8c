"""Exchanges for values 0 or 1: one-sided mixtures in log-odds (Theorem 7 of docs/thresholds.md)."""

import math
from typing import NamedTuple

import numpy as np

from ..engine.jit import jitable
from ..engine.kernels import kernel
from ..engine.numerics import ROUND
from ..engine.state import Fixed, Floats
from ..engine.statistics import Statistics
from ..rewards.bernoulli import kl
from .mixture_pairs import CLOSE, PairDefaults, onward
from .penalised import beta_regret

# The shifts eta of an arm's log-odds, chosen before the data. Each scale is STEP times the previous
# one; on each, an arm of the leading answer and another arm have the nodes below, independently,
# with these weights. 0 is for an arm that is known far more precisely than the other.
FINEST, STEP = 0.0012, 2.2
INSIDE = np.array([(0.0, 0.16), (0.26, 0.47), (0.96, 0.37)])
OUTSIDE = np.array([(0.0, 0.08), (0.38, 0.46), (1.37, 0.46)])
# Weights of the scales; the last is that of the Beta(1/2, 1/2) mixture, for gaps that are finer
# than all scales.
CHANCES = np.array([*[0.035] * 5, 0.06, 0.11, 0.18, 0.25, 0.14, 0.07, 0.015])
# Common shifts of both arms, and their share of a scale's weight, for arms that have been played
# equally often.
ALONG, TOGETHER = np.array([0.4, 0.6]), 0.45
NEGLIGIBLE = 12.0  # a scale that is this far below the largest is left out,
ALIKE = 16.0  # if counts differ by at most this factor; otherwise scales alternate near the minimum
DOUBT = 8.0 * ROUND  # share of the terms of a logarithm that is subtracted for rounding


@jitable
def coin(
    nodes: Floats, more: Floats, chance: Floats, n: float, ones: float, x: float
) -> tuple[float, float, float]:
    """Return ln sum_r chance_r exp(eta_r ones - n ln(1 - x + x e^eta_r)) and two derivatives in x.

    The value is never above the true one. `more` is e^eta - 1, and `chance` has the logarithms of
    the weights.
    """
    top, total, slope, bend = -math.inf, 0.0, 0.0, 0.0
    for r in range(nodes.size):
        gain, price = nodes[r] * ones, n * math.log1p(x * more[r])
        value = gain - price - DOUBT * (nodes[r] * n + price) + chance[r]
        fall = more[r] / (1.0 + x * more[r])
        if value > top:
            shrink = math.exp(top - value)
            top, total, slope, bend = value, total * shrink, slope * shrink, bend * shrink
        share = math.exp(value - top)
        total += share
        slope += share * fall
        bend += share * fall * fall
    slope /= total
    bend /= total
    # The exponents have slope -n * fall and curvature n * fall^2.
    return top + math.log(total), -n * slope, n * bend + n * n * max(bend - slope * slope, 0.0)


@jitable
def alike(
    nodes: Floats, more: Floats, n: float, ones: float, m: float, zeros: float, x: float
) -> tuple[float, float, float]:
    """Return the same for two arms with common nodes, all of which have the same weight."""
    top, total, slope, bend, y = -math.inf, 0.0, 0.0, 0.0, 1.0 - x
    for r in range(nodes.size):
        gain = nodes[r] * (ones + zeros)
        price = n * math.log1p(x * more[r]) + m * math.log1p(y * more[r])
        value = gain - price - DOUBT * (nodes[r] * (n + m) + price)
        fall, rise = more[r] / (1.0 + x * more[r]), more[r] / (1.0 + y * more[r])
        turn, curve = m * rise - n * fall, n * fall * fall + m * rise * rise
        if value > top:
            shrink = math.exp(top - value)
            top, total, slope, bend = value, total * shrink, slope * shrink, bend * shrink
        share = math.exp(value - top)
        total += share
        slope += share * turn
        bend += share * (curve + turn * turn)
    slope /= total
    value = top + math.log(total / nodes.size)
    return value, slope, max(bend / total - slope * slope, 0.0)


@kernel(PairDefaults)
class BernoulliPairKernel(NamedTuple):
    """The mixture for exchanges of arm i of the leader for arm j, for values 0 or 1.

    If s of N values are 1, then for every eta >= 0, exp(eta s - N ln(1 - mu + mu e^eta)) is a
    martingale at the true mean mu, and it falls in mu. For arm j the same holds with its zeros and
    1 - mu, and that martingale rises in mu. With y_i = y_j = x the logarithm of the mixture is F(x)
    = ln sum_k p_k A_k(x) B_k(x), convex in x, as each exponent is.
    """

    counts: Floats  # those of the statistics
    sums: Floats
    low: Floats
    high: Floats
    nodes: Fixed  # float64[2, k, r]: eta, as an arm i and as an arm j
    more: Fixed  # float64[2, k, r]: e^eta - 1
    chance: Fixed  # float64[2, r]: logarithms of their weights
    along: Fixed  # float64[2, k, r]: eta and e^eta - 1 of the common shifts
    cost: Fixed  # ln 1/p of the scales, of those with common shifts, and of the Beta mixture
    done: Floats  # float64[2, d]: N and the number of ones for which `fee` was computed
    fee: Floats  # float64[d]: of the Beta mixture
    row: Floats  # float64[4, 2k + 1] scratch: value, slope, curvature; whether the scale counts
    cutoff: Floats  # float64[1]
    max_bonus: float  # 0: no mixture of likelihood ratios is above the largest
    argmin: Floats  # float64[1] scratch

    def update_pairs(self, stats: Statistics, best: Floats, weight: Floats) -> None:
        """Write the counts as weights."""
        for a in range(weight.size):
            weight[a] = stats.effective_counts[a] = stats.counts[a]

    def prepare_arm(self, a: int, side: int) -> None:
        """Update the regret of the Beta mixture on the values of an arm."""
        n, ones = self.counts[a], self.sums[a]
        if n != self.done[0, a] or ones != self.done[1, a]:
            self.done[0, a], self.done[1, a] = n, ones
            self.fee[a] = beta_regret(n, ones)

    def upper_bound(self, mean: Floats, i: int, j: int, x: float) -> float:
        """Return infinity: there is no cheap bound."""
        return math.inf

    def minimise(self, mean: Floats, i: int, j: int, enough: float) -> float:
        """Return the minimum of F over the x in M, from below.

        The result may be any lower bound that exceeds `enough`.
        """
        low, high = float(max(self.low[i], self.low[j])), float(min(self.high[i], self.high[j]))
        n, m = float(self.counts[i]), float(self.counts[j])
        x = min(max((n * mean[i] + m * mean[j] + 0.5) / (n + m + 1.0), low), high)
        self.argmin[0] = x
        if self.high[i] < self.low[j]:
            return 0.0  # not enough for any delta
        if low > high:
            return math.inf  # j is never as good as i
        if n <= 0.0 or m <= 0.0:
            return 0.0
        ones = self.sums[i] + self.sums[j]
        few, whole = min(n, m), max(n, m) > ALIKE * min(n, m)
        stride = 4.0 * math.sqrt((x * (1.0 - x) + 1.0 / few) / few)
        for k in range(self.cost.size):
            self.row[3, k] = 1.0
        left, right, value, slope, reach = low, high, -math.inf, 0.0, 0.0
        for count in range(100):  # Newton's method with bounded steps
            self.argmin[0] = x
            value, slope, bend = self.height(x, i, j)
            if slope == 0.0 or (slope > 0.0 and x <= low) or (slope < 0.0 and x >= high):
                return value
            if slope < 0.0:
                left = x
            else:
                right = x
            reach = right - left
            if abs(slope) * reach <= CLOSE or value - abs(slope) * reach > enough:
                break
            if count == 0 and not whole:  # without some of its terms F is less, and still convex
                left, right = low, high  # the remaining sum may fall where F rises
                for k in range(self.cost.size):
                    self.row[3, k] = 1.0 if self.row[0, k] > value - NEGLIGIBLE else 0.0
            x = onward(x, slope, bend, left, right, low, high, stride)
            if (x <= 0.0 and ones > 0.0) or (x >= 1.0 and ones < n + m):
                x = 0.5 * (x + self.argmin[0])  # the Beta mixture is infinite there
        value -= abs(slope) * reach  # F is convex, and its minimum lies in the bracket
        return value if value > -math.inf else -math.inf  # NaN: no evidence

    def height(self, x: float, i: int, j: int) -> tuple[float, float, float]:
        """Return F, its slope and its curvature."""
        n, ones = float(self.counts[i]), float(self.sums[i])
        m, zeros = float(self.counts[j]), float(self.counts[j] - self.sums[j])
        zeros = max(zeros, 0.0)
        row, last, top, total, slope, bend = self.row, self.cost.size - 1, -math.inf, 0.0, 0.0, 0.0
        scales = last // 2
        for k in range(scales, last):
            if row[3, k] > 0.5:
                row[0, k], row[1, k], row[2, k] = alike(
                    self.along[0, k - scales], self.along[1, k - scales], n, ones, m, zeros, x
                )
                row[0, k] -= self.cost[k]
                top = max(top, float(row[0, k]))
        for k in range(scales):
            if row[3, k] > 0.5:
                value, fall, curve = coin(
                    self.nodes[0, k], self.more[0, k], self.chance[0], n, ones, x
                )
                other, rise, curl = coin(
                    self.nodes[1, k], self.more[1, k], self.chance[1], m, zeros, 1.0 - x
                )
                row[0, k], row[1, k], row[2, k] = (
                    value + other - self.cost[k],
                    fall - rise,
                    curve + curl,
                )
                top = max(top, float(row[0, k]))
        # At an end of [0, 1] the Beta mixture may be infinite; F is less without it.
        if row[3, last] > 0.5 and 0.0 < x < 1.0:
            p, q = ones / n, (m - zeros) / m
            fits = n * kl(p, x, 1.0 - x, x - p) + m * kl(q, x, 1.0 - x, x - q)
            odds = x * (1.0 - x)
            row[0, last] = fits * (1.0 - DOUBT) - self.fee[i] - self.fee[j] - self.cost[last]
            row[1, last] = (n * (x - p) + m * (x - q)) / odds
            row[2, last] = n * (p / (x * x) + (1.0 - p) / ((1.0 - x) * (1.0 - x))) + m * (
                q / (x * x) + (1.0 - q) / ((1.0 - x) * (1.0 - x))
            )
            top = max(top, float(row[0, last]))
        for k in range(self.cost.size):
            if row[3, k] > 0.5 and (k < last or 0.0 < x < 1.0):
                share, rise = math.exp(float(row[0, k]) - top), float(row[1, k])
                total += share
                slope += share * rise
                bend += share * (float(row[2, k]) + rise * rise)
        slope /= total
        return top + math.log(total), slope, bend / total - slope * slope


def coins(stats: Statistics, low: Floats, high: Floats) -> BernoulliPairKernel:
    """Return the mixture for arms whose means are known to lie in [low, high]."""
    scale, d = FINEST * STEP ** np.arange(CHANCES.size - 1), low.size
    nodes = np.array([np.outer(scale, side[:, 0]) for side in (INSIDE, OUTSIDE)])
    chance = np.log([side[:, 1] for side in (INSIDE, OUTSIDE)])
    along = np.outer(scale, ALONG)
    cost = -np.log(np.r_[(1.0 - TOGETHER) * CHANCES[:-1], TOGETHER * CHANCES[:-1], CHANCES[-1]])
    return BernoulliPairKernel(
        stats.counts,
        stats.sums,
        low.copy(),
        high.copy(),
        nodes,
        np.expm1(nodes),
        chance,
        np.array([along, np.expm1(along)]),
        cost,
        np.full((2, d), -1.0),
        np.zeros(d),
        np.zeros((4, cost.size)),
        np.full(1, np.inf),
        0.0,
        np.zeros(1),
    )
