"""Gaussian values with one unknown variance for all arms, or for all arms of a group, where answers
differ by exchanges: docs/thresholds.md, "One unknown sigma".

For each variance, the mixture of a pair as if it were known (`pairs`), times a mixture that is
large where the variance is larger than what was seen: ln of the latter rises with the variance, ln
of the former falls, and what counts is the least of their sum. Variances are counted in s = (what
was seen)/variance, r = sqrt(s).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..game.marks import jitable
from ..game.records import Floats, Ints, Seen
from ..rewards.base import swapped
from .pairs import CLOSE, ceiling, direction, exchanged, onward, price, scanned, tail
from .pooled import excluded, ratios, spotted, spreading

FINEST = 5e-3  # how far below its minimum the mixture of a pair may be taken
POINTS = 40  # variances at which it is computed for that, at most
CELLS = 100  # the same for pairs of variances
BEYOND = 60.0  # variances that are so unlikely, in nats, are of no interest for pairs of them
SMALLEST, LARGEST = 1e-5, 4.0  # s times the degrees of freedom, and s: between them points are set


@jitable
def slopes(row: Floats, sided: Floats, up: float, down: float) -> tuple[float, float, float, float]:
    """The mixture of a pair, its derivatives by `up` and by `down`, and its curvature where one
    grows as the other falls; row[:3]: see `pairs.lowest`; row[7:]: what the arms have in a
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
    """min over low <= x <= high of the mixture G(r (lead - x), r x) is at least c + e r, for every
    r: c and e for which that is close at the given one; a value that is not below the minimum
    there, and x.

    G is convex, so it lies above its tangent planes: above that where x is at an end of its range,
    and above any average of two, of which the one falls in x and the other rises.
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


class SharedPart(NamedTuple):
    """For exchanges of arm i of the leader for arm j: as `Rewards`, with evidence less fees for a
    distance.
    """

    seen: Seen
    low: Floats
    high: Floats
    prior: Floats  # float64[2, k]: c as an arm i and as an arm j, per scale
    cost: Floats  # ln 1/p
    sided: Floats  # float64[2, k]: 1 for a half-normal distribution, 0 for a normal one
    joint: Floats  # float64[k]: c of a direction that arms of one group share; 0: there is none
    alone: Floats  # float64[k]: zeros, for arms of two groups
    ratio: Floats  # float64[3, l]: rho - 1, ln(rho)/2, ln of the chance
    state: Floats  # float64[2, groups]: the variance that was seen; how many squares it is of
    done: Floats  # float64[2, d]: N for which the next two are right, as an arm i and as an arm j
    charge: Floats  # float64[2, d, k]: ln(1 + N/c) / 2
    wide: Floats  # float64[2, d, k]: (N + c)/N^2
    bar: Floats  # float64[1]
    gain: float  # 0: no mixture of likelihoods is above the largest
    row: Floats  # float64[9, k] scratch
    at: Floats  # float64[1] scratch
    spot: Floats  # float64[6, points] scratch: r; c and e of the pair; those of the spread, by s; x
    cell: Floats  # float64[4, cells] scratch: s of arm i from, to; of arm j from, to
    after: Ints  # int64[points]: the next one to the right
    bound: Floats  # float64[cells]: the least that the sum can be between the two, or in a cell
    next: Floats  # float64[points]: where that is

    def project(self, x: float, arm: int) -> float:
        return float(min(max(x, self.low[arm]), self.high[arm]))

    def gauge(self, seen: Seen, best: Floats, weight: Floats) -> None:
        """At the variances that were seen; there the mixture over the variance is at most 1."""
        spotted(seen, self.state)
        for a in range(weight.size):
            variance = self.state[0, seen.group[a]]
            weight[a] = seen.counts[a] / variance if variance < math.inf else seen.counts[a]
            seen.worth[a] = seen.counts[a]

    def distance(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        every: Any = self
        return exchanged(every, mean, arms, sign, alternative)

    def closest(self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats) -> int:
        every: Any = self
        return scanned(every, mean, i, taken, value)

    def swap(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        every: Any = self
        swapped(every, mean, weight, best, self.at, value)

    def ready(self, a: int, side: int) -> None:
        n = self.seen.counts[a]
        if n != self.done[side, a]:
            self.done[side, a] = n
            price(self.prior, side, a, n, self.charge, self.wide)

    def above(self, mean: Floats, i: int, j: int, x: float) -> float:
        """At the variances that were seen, with ln 2 for ln(2 Phi)."""
        v, w = self.state[0, self.seen.group[i]], self.state[0, self.seen.group[j]]
        if max(self.low[i], self.low[j]) > min(self.high[i], self.high[j]):
            return math.inf
        if not (v < math.inf and w < math.inf):
            return 0.0
        self.ready(i, 0)
        self.ready(j, 1)
        return ceiling(
            self.row,
            self.charge,
            self.wide,
            self.cost,
            self.sided,
            self.joint if self.seen.group[i] == self.seen.group[j] else self.alone,
            self.prior,
            self.seen.counts[i],
            self.seen.counts[j],
            float(v),
            float(w),
            float(mean[i]) - x,
            x - float(mean[j]),
            i,
            j,
        )

    def least(self, mean: Floats, i: int, j: int, enough: float) -> float:
        low, high = float(max(self.low[i], self.low[j])), float(min(self.high[i], self.high[j]))
        one, other, row = float(mean[i]), float(mean[j]), self.row
        self.at[0] = min(max(0.5 * (one + other), low), high)
        if self.high[i] < self.low[j]:
            return 0.0  # not enough for any delta
        if low > high:
            return math.inf  # j is never as good as i
        if one < other and low == -math.inf and high == math.inf:
            return -math.inf  # j is better; see `PairsPart.least`
        g, h = self.seen.group[i], self.seen.group[j]
        v, w = float(self.state[0, g]), float(self.state[0, h])
        if not (v < math.inf and w < math.inf):
            return 0.0  # nothing is known of the variance yet
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
                    self.seen.counts[i],
                    self.seen.counts[j],
                    self.prior[0, k],
                    self.joint[k],
                    1.0,
                    1.0,
                )
                row[2, k] -= fee
        lead, n, m = (one - other) / deviation, float(self.state[1, g]), float(self.state[1, h])
        if g == h:
            value, x = self.alike(
                lead, (low - other) / deviation, (high - other) / deviation, n, enough
            )
        elif lead > 0.0:
            value, x = self.apart(lead, n, m, enough)
        else:
            return -math.inf
        self.at[0] = min(max(other + x * deviation, low), high)
        return value if value > -math.inf else -math.inf  # not a number: no evidence

    # ---- one variance

    def alike(
        self, lead: float, low: float, high: float, degrees: float, enough: float
    ) -> tuple[float, float]:
        """The least over all r, from below, and the x of the smallest value that was met.

        The pair is at least a linear function of r, the spread at least one of r^2, whose slope is
        negative: between two points, and where the larger of two such functions changes, the sum
        is concave, so that it is least at one of these.
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
        """The p-th point; a value that is not below the sum there."""
        spot = self.spot
        c, e, value, x = touch(self.row, self.sided, lead, low, high, r, x)
        spread, slope = spreading(self.ratio, degrees, r * r)
        spot[0, p], spot[1, p], spot[2, p], spot[5, p] = r, c, e, x
        spot[3, p], spot[4, p] = spread - slope * r * r, slope
        return value + spread

    def between(self, p: int, q: int) -> None:
        """The least that the sum can be between two points, and where."""
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

    # ---- a variance each

    def apart(self, lead: float, n: float, m: float, enough: float) -> tuple[float, float]:
        """The least over the variances of both arms, with normal distributions on all scales, and
        without bounds on the means: in cells, that with the least bound is divided.
        """
        cell, used, x, most = self.cell, 1, 0.5 * lead, -math.inf
        cell[0, 0], cell[2, 0] = (
            excluded(self.ratio, n, BEYOND),
            excluded(self.ratio, m, BEYOND),
        )
        last, end = 1.0 + 3.0 / math.sqrt(n), 1.0 + 3.0 / math.sqrt(m)  # beyond, it hardly falls
        cell[1, 0], cell[3, 0] = last, end
        for k in range(self.cost.size):  # what is left out is more than this
            most = max(most, BEYOND + self.ratio[2, 0] + float(self.row[2, k]))
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
            if wide * wide * n < tall * tall * m:  # as the spread bends
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
        """The bound of a cell: from a value in its middle, which is returned with its x.

        As a function of A = s_i (lead - x)^2 and B = s_j x^2 the mixture is convex, so at least c +
        a A + b B, the least of which over x is c + lead^2/(1/(a s_i) + 1/(b s_j)): concave, and
        least in a corner, with the tangents of the spread.
        """
        cell, row = self.cell, self.row
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
        one, fall = spreading(self.ratio, n, s)
        two, drop = spreading(self.ratio, m, t)
        self.bound[p] = math.inf
        for k in range(4):
            u, v = cell[k % 2, p], cell[2 + k // 2, p]
            f, g = one + fall * (u - s), two + drop * (v - t)
            if u == last:  # and beyond
                f = min(f, self.ratio[2, 0])
            if v == end:
                g = min(g, self.ratio[2, 0])
            both = lead * lead / (1.0 / (a * u) + 1.0 / (b * v)) if u > 0.0 and v > 0.0 else 0.0
            self.bound[p] = min(float(self.bound[p]), c + both + f + g)
        return value + one + two, x


def shared(
    seen: Seen,
    low: Floats,
    high: Floats,
    prior: Floats,
    cost: Floats,
    sided: Floats,
    joint: Floats,
) -> SharedPart:
    """The mixture of arms whose means are known to lie in [low, high]; the scales are those of
    `pairs`.
    """
    d, k = low.size, cost.size
    return SharedPart(
        seen,
        low.copy(),
        high.copy(),
        prior,
        cost,
        sided,
        joint,
        np.zeros(k),
        ratios(),
        np.zeros((2, seen.noise.shape[1])),
        np.full((2, d), -1.0),
        np.zeros((2, d, k)),
        np.zeros((2, d, k)),
        np.full(1, np.inf),
        0.0,
        np.zeros((9, k)),
        np.zeros(1),
        np.zeros((6, POINTS)),
        np.zeros((4, CELLS)),
        np.zeros(POINTS, np.int64),
        np.zeros(CELLS),
        np.zeros(POINTS),
    )
