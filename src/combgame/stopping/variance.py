"""Bounds on unknown variances, e-processes for them, and mixtures minimised over one of them.

An e-process for the variance that arms share tests larger variances and gives an upper bound
(docs/thresholds.md, "One unknown sigma"). The minimum over the variance is that of the mixture of a
pair, as if the variance were known, times the e-process (docs/thresholds.md, "What is computed").
Variances are expressed by s = estimate/variance and r = sqrt(s).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from .._messages import Message
from ..engine.jit import compilable, jitable
from ..engine.numerics import HALF_LOG_TWO_PI, excess, stirling
from ..engine.protocols import ProblemKernel, Threshold
from ..engine.state import Fixed, Floats, Ints
from ..engine.statistics import Statistics
from ..problem import Problem
from ..rewards.gaussian import EPSILON, FINE, resolved
from .base import Stopping, Validity
from .mixture_pairs import CLOSE, onward, tail
from .penalised import penalised

# rho - 1 of the mixture over the variance, and the weights, chosen before the data.
RATIOS = np.concatenate(([0.0], 0.001 * 2.0 ** np.arange(14)))
CHANCES = np.concatenate(([0.6], np.full(14, 0.4 / 14)))


def ratios(given: Floats = RATIOS, chances: Floats = CHANCES) -> Floats:
    """Return rho - 1, ln(rho)/2 and ln of the weights, of shape (3, l)."""
    return np.array([given, 0.5 * np.log1p(given), np.log(chances)])


@jitable
def spreading(ratio: Floats, degrees: float, s: float) -> tuple[float, float]:
    """Return ln sum_l w_l rho_l^(K/2) exp(-(rho_l - 1) K s/2) and its derivative by s.

    K is `degrees`, and s = D/(K sigma^2). The function is convex and falls.

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
    """Return an s at and below which the e-process exceeds exp(level).

    The result is close to the largest such s, and 0 if there is none.
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
def spotted(stats: Statistics, state: Floats) -> None:
    """Write the estimated variance and the number of squares of each group to `state`.

    The shape of `state` is (2, groups). An estimate is infinite while nothing is known.
    """
    for g in range(state.shape[1]):
        n, square = float(stats.residuals[0, g]), float(stats.residuals[1, g])
        state[0, g], state[1, g] = math.inf, n
        if n > 0.0 and square > 1e-290 and stats.in_initial_design[0] == 0:
            state[0, g] = (1.0 + 4.0 / FINE) * square / n
    for a in range(stats.counts.size):  # rounding must be negligible (`gaussian.resolved`)
        g, digit = stats.variance_group[a], FINE * EPSILON * abs(stats.mean[a])
        if not state[0, g] >= stats.counts[a] * digit * digit:
            state[0, g] = math.inf


class PooledVarianceKernel(NamedTuple):
    """Upper bounds on variances that arms share, valid for all t at once."""

    bar: float  # ln(groups / delta)
    ratio: Fixed
    state: Floats  # float64[2, groups]: see `spotted`
    done: Floats  # float64[groups]: number of squares for which the next was computed
    most: Floats  # float64[groups]: s at and below which variances are excluded
    variance: Floats
    believed: Floats

    def update_bound(self, stats: Statistics) -> None:
        """Update the bounds."""
        spotted(stats, self.state)
        for g in range(self.done.size):
            if self.state[1, g] != self.done[g]:
                self.done[g] = self.state[1, g]
                self.most[g] = excluded(self.ratio, self.state[1, g], self.bar)
        for a in range(self.variance.size):
            g = stats.variance_group[a]
            known = self.most[g] > 0.0 and self.state[0, g] < math.inf
            self.variance[a] = self.state[0, g] / self.most[g] if known else math.inf

    def unit_scale(self, stats: Statistics) -> float:
        """Return the upper bound on the standard deviation of all arms."""
        self.update_bound(stats)
        return math.sqrt(self.variance[0])


def pooled(groups: int, believed: Floats, delta: float) -> PooledVarianceKernel:
    """Return the bounds on the variances of groups of arms."""
    zero = np.zeros(groups)
    state, infinite = np.zeros((2, groups)), np.full(believed.size, math.inf)
    bar = math.log(groups / delta)
    return PooledVarianceKernel(bar, ratios(), state, zero, zero.copy(), infinite, believed)


FINEST = 5e-3  # tolerance by which the minimum of a pair's mixture may be underestimated
POINTS = 40  # largest number of variances at which the mixture is computed
SMALLEST, LARGEST = 1e-5, 4.0  # range of the points: s times the degrees of freedom, and s


@jitable
def slopes(row: Floats, sided: Floats, up: float, down: float) -> tuple[float, float, float, float]:
    """Return the mixture of a pair, its derivatives by `up` and by `down`, and its curvature.

    The curvature is that in the direction in which one grows as the other falls.
    `mixture_pairs.lowest` explains row[:3]; row[7:] has the coefficients of both arms in the
    direction that they share.
    """
    top, total, first, second, bend = -math.inf, 0.0, 0.0, 0.0, 0.0
    for k in range(row.shape[1]):
        y, z = up * float(row[0, k]), down * float(row[1, k])
        value, p, q = (0.5 * y * y, y, 1.0) if sided[0, k] < 0.5 else tail(y)
        other, t, s = (0.5 * z * z, z, 1.0) if sided[1, k] < 0.5 else tail(z)
        row[3, k] = value + other + float(row[2, k])
        row[4, k], row[5, k] = p * float(row[0, k]), t * float(row[1, k])
        row[6, k] = q * float(row[0, k]) * float(row[0, k]) + s * float(row[1, k]) * float(
            row[1, k]
        )
        if row[7, k] > 0.0:
            turn = float(row[8, k]) - float(row[7, k])
            value, p, q = tail(up * float(row[7, k]) + down * float(row[8, k]))
            row[3, k] += value
            row[4, k] += p * float(row[7, k])
            row[5, k] += p * float(row[8, k])
            row[6, k] += q * turn * turn
        top = max(top, float(row[3, k]))
    for k in range(row.shape[1]):
        share = math.exp(float(row[3, k]) - top)
        turn = float(row[5, k]) - float(row[4, k])
        total += share
        first += share * float(row[4, k])
        second += share * float(row[5, k])
        bend += share * (float(row[6, k]) + turn * turn)
    first, second = first / total, second / total
    turn = second - first
    return top + math.log(total), first, second, bend / total - turn * turn


@jitable
def touch(
    row: Floats, sided: Floats, lead: float, low: float, high: float, r: float, x: float
) -> tuple[float, float, float, float]:
    """Return a linear lower bound in r of the minimum over x of the mixture, and a value near it.

    The minimum over low <= x <= high of G(r (lead - x), r x) is at least c + e r, for every r.
    Returns c and e for which the bound is close at the given r, a value that is not below the
    minimum there, and its x.

    G is convex, so it lies above its tangent planes: above that at x if x is at an end of its
    range, and above any average of two of which one falls in x and the other rises.
    """
    left, right = low, high
    stride = 4.0 / (r * float(row[0, 0])) + 4.0 / (r * float(row[1, 0]))
    falls, rises, best, at = False, False, math.inf, x
    base, tilt, fall, c, e, rise = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for _ in range(60):
        up, down = r * (lead - x), r * x
        value, first, second, bend = slopes(row, sided, up, down)
        flat, lean, turn = value - first * up - second * down, first * lead, second - first
        if value < best:
            best, at = value, x
        if turn == 0.0:
            return flat, lean, best, at
        if turn > 0.0 and x <= low:
            return flat, lean + turn * low, best, at
        if turn < 0.0 and x >= high:
            return flat, lean + turn * high, best, at
        if turn < 0.0:
            base, tilt, fall, falls, left = flat, lean, turn, True, x
        else:
            c, e, rise, rises, right = flat, lean, turn, True, x
        if falls and rises:
            share = rise / (rise - fall)
            flat, lean = share * base + (1.0 - share) * c, share * tilt + (1.0 - share) * e
            if not best - flat - r * lean > 0.1 * CLOSE:
                return flat, lean, best, at
        x = onward(x, r * turn, r * r * bend, left, right, low, high, stride)
    if not (falls and rises):
        return -math.inf, 0.0, best, at
    return flat, lean, best, at


class VarianceKernel(NamedTuple):
    """The mixture of a pair at each scale, and the variances at which it was evaluated."""

    row: Floats  # float64[9, k]: see `slopes`
    sided: Fixed  # float64[2, k]: 1 for a half-normal distribution, 0 for a normal one
    ratio: Fixed  # float64[3, l]: rho - 1, ln(rho)/2, ln of the chance
    spot: Floats  # float64[6, points]: r; c and e of the pair; those of the e-process in s; x
    after: Ints  # int64[points]: the next point to the right
    bound: Floats  # float64[points]: lower bound of the sum between the two
    next: Floats  # float64[points]: place of that bound

    def over_variances(
        self, lead: float, low: float, high: float, degrees: float, enough: float
    ) -> tuple[float, float]:
        """Return the minimum over all r, from below, and the x of the smallest value found.

        The mixture of the pair is at least a linear function of r, and the e-process at least one
        of r^2 with negative slope: between two points, and where the larger of two such functions
        changes, the sum is concave, so that it is least at one of these. The search ends early at a
        bound that exceeds `enough`.
        """
        spot, x = self.spot, min(max(0.5 * lead, low), high)
        first, last = math.sqrt(min(SMALLEST / degrees, 0.5)), math.sqrt(LARGEST)
        best = self.set_point(0, first, lead, low, high, degrees, x)
        here, value = 0, self.set_point(1, 1.0, lead, low, high, degrees, x)
        if value < best:
            best, here = value, 1
        value = self.set_point(2, last, lead, low, high, degrees, float(spot[5, 1]))
        if value < best:
            best, here = value, 2
        start, end = float(spot[1, 0]), float(spot[1, 2] + last * spot[2, 2])
        rest = min(start, start + first * spot[2, 0]) + spot[3, 0] + first * first * spot[4, 0]
        if not spot[2, 2] >= 0.0:
            return -math.inf, float(spot[5, here])
        rest = min(rest, end + self.ratio[2, 0])  # beyond the points, on either side
        self.after[0], self.after[1], self.after[2] = 1, 2, -1
        self.between(0, 1)
        self.between(1, 2)
        used = 3
        while True:
            least, left, p = math.inf, 0, 0
            while self.after[p] >= 0:
                if self.bound[p] < least:
                    least, left = float(self.bound[p]), p
                p = self.after[p]
            close = least >= min(best, rest) - FINEST or min(least, rest) > enough
            r, right = float(self.next[left]), self.after[left]
            if close or used == POINTS or not spot[0, left] < r < spot[0, right]:
                return min(least, rest), float(spot[5, here])
            near = left if r * r < spot[0, left] * spot[0, right] else right
            value = self.set_point(used, r, lead, low, high, degrees, float(spot[5, near]))
            if value < best:
                best, here = value, used
            self.after[left], self.after[used] = used, right
            self.between(left, used)
            self.between(used, right)
            used += 1

    def set_point(
        self, p: int, r: float, lead: float, low: float, high: float, degrees: float, x: float
    ) -> float:
        """Compute the p-th point; return a value that is not below the sum there."""
        spot = self.spot
        c, e, value, x = touch(self.row, self.sided, lead, low, high, r, x)
        spread, slope = spreading(self.ratio, degrees, r * r)
        spot[0, p], spot[1, p], spot[2, p], spot[5, p] = r, c, e, x
        spot[3, p], spot[4, p] = spread - slope * r * r, slope
        return value + spread

    def between(self, p: int, q: int) -> None:
        """Compute a lower bound of the sum between two points, and its place."""
        spot = self.spot
        c, e, f, h = spot[1, p], spot[2, p], spot[3, p], spot[4, p]
        self.bound[p], self.next[p] = math.inf, spot[0, p]
        for k in range(4):
            r = spot[0, p] if k == 0 else spot[0, q]
            if k == 2 and e != spot[2, q]:
                r = (spot[1, q] - c) / (e - spot[2, q])
            if k == 3 and h != spot[4, q]:
                r = math.sqrt(max((spot[3, q] - f) / (h - spot[4, q]), 0.0))
            if not spot[0, p] <= r <= spot[0, q]:
                continue
            pair = max(c + e * r, spot[1, q] + spot[2, q] * r)
            total = pair + max(f + h * r * r, spot[3, q] + spot[4, q] * r * r)
            if not total >= self.bound[p]:
                self.bound[p], self.next[p] = total, r


def variance_part(sided: Floats, ratio: Floats | None = None) -> VarianceKernel:
    """Return the kernel for scales with these sides."""
    return VarianceKernel(
        np.zeros((9, sided.shape[1])),
        sided,
        ratios() if ratio is None else ratio,
        np.zeros((6, POINTS)),
        np.zeros(POINTS, np.int64),
        np.zeros(POINTS),
        np.zeros(POINTS),
    )


SPREAD = 0.5  # h of the mixture over a variance: 1/variance ~ Gamma(h, h) around the true one


@compilable
class VarianceBound(Protocol):
    """Upper bounds on the variances."""

    @property
    def believed(self) -> Floats:
        """The variances that the rewards estimate, with which sampling rules work."""

    @property
    def variance(self) -> Floats:
        """The bound of each arm, infinite while nothing is known."""

    def update_bound(self, stats: Statistics) -> None:
        """Update `variance`."""


class KnownVarianceBound(NamedTuple):
    """Known variances in the role of bounds."""

    variance: Floats
    believed: Floats

    def update_bound(self, stats: Statistics) -> None:
        """Do nothing: the variances are known."""

    def unit_scale(self, stats: Statistics) -> float:
        """Return 1, the unit in which means are counted."""
        return 1.0


class UnknownVarianceBound(NamedTuple):
    """Upper bounds on variances, valid for all t at once (Theorem 3 of docs/thresholds.md).

    Let V = sum (x - mean)^2 of N values, v = V / variance and m = N - 1. Then exp(v/2) Gamma(h +
    m/2) h^h / (Gamma(h) (h + v/2)^(h + m/2)) is a martingale that begins at 1, so v is below the
    root at which it equals d / delta with probability at most delta / d.
    """

    bar: float  # ln(d / delta)
    done: Floats  # N for which `root` was computed
    root: Floats  # v
    variance: Floats
    believed: Floats

    def update_bound(self, stats: Statistics) -> None:
        """Update the bounds of the arms whose counts have changed."""
        for a in range(self.variance.size):
            if stats.counts[a] != self.done[a]:
                self.done[a] = stats.counts[a]
                self.root[a] = least_chi_square(stats.counts[a] - 1.0, self.bar)
            known = self.root[a] > 0.0 and resolved(stats, a)
            self.variance[a] = (
                (1.0 + 4.0 / FINE) * stats.squares[a] / self.root[a] if known else math.inf
            )


class PluginKernel(NamedTuple):
    """The likelihood ratio at the estimated variances, without a penalty.

    An arm counts from its second value on.
    """

    few: float  # an arm with at most this many values does not count

    def update_penalty(
        self,
        stats: Statistics,
        mean: Floats,
        best: Floats,
        rival: Floats,
        weight: Floats,
        fee: Floats,
    ) -> float:
        """Write the counts as weights, and no penalties."""
        for a in range(fee.size):
            weight[a] = stats.counts[a] if stats.counts[a] > self.few else 0.0
            fee[a] = 0.0
        return 0.0


@jitable
def least_chi_square(m: float, level: float) -> float:
    """Return the v below m at which the martingale of a variance exceeds exp(level).

    The result is 0 if there is none yet, and never above the root. With p = h + m/2 and h + v/2 = p
    (1 - y) the logarithm of the martingale is p (-y - ln(1 - y)) less terms that do not depend on
    v, so nothing cancels.
    """
    if m <= 0.0:
        return 0.0
    h = SPREAD
    power = h + 0.5 * m
    rest = stirling(power) - 0.5 * math.log(power) + HALF_LOG_TWO_PI  # ln Gamma(p) - p ln p + p
    goal = (level + h - h * math.log(h) + math.lgamma(h) - rest) / power
    edge = 1.0 - h / power  # v = 0
    if goal <= 0.0 or excess(-edge, 1.0 - edge) <= goal:
        return 0.0
    y = min(math.sqrt(2.0 * goal), edge)  # above the root
    for _ in range(
        200
    ):  # Newton's method on a convex, rising function stays to the right of the root
        step = (excess(-y, 1.0 - y) - goal) * (1.0 - y) / y
        if not step > 1e-13 * y:
            break
        y -= step
    return max(2.0 * (power * (1.0 - y) - h) * (1.0 - 1e-13), 0.0)


VARIANCE_SHARE = 0.1  # share of delta for the bounds on unknown variances


def spreads_of(
    problem: Problem, deltas: Sequence[float], kernel: ProblemKernel
) -> KnownVarianceBound | UnknownVarianceBound | PooledVarianceKernel:
    """Return the bounds on the variances of a problem."""
    d = problem.d
    if problem.rewards.variance_known:
        variance = problem.rewards.sub_gaussian_scale(d) ** 2
        return KnownVarianceBound(variance, variance)
    believed = kernel.rewards.spreads.believed  # type: ignore[attr-defined]
    if problem.rewards.variance_shared:
        groups = int(problem.rewards.variance_groups(d).max()) + 1
        return pooled(groups, believed, VARIANCE_SHARE * deltas[0])
    level = math.log(d / (VARIANCE_SHARE * deltas[0]))
    return UnknownVarianceBound(level, np.zeros(d), np.zeros(d), np.full(d, math.inf), believed)


def estimated_variance(problem: Problem, threshold: Threshold) -> Stopping:
    """Return the stylised threshold at estimated variances, a heuristic."""
    make_kernel = penalised(problem, lambda kernel: PluginKernel(1.0))
    why = Message(
        "stylised-variances",
        "ln((1 + ln t)/delta) on the likelihood ratio at estimated variances; no theorem covers it",
    )
    return Stopping("stylised", threshold, make_kernel, Validity(False, why))
