"""The evidence against a set of arms in which two answers differ (docs/thresholds.md, "Best sets").

It averages two supermartingales. Let s_a = 1 for arms of the leader and -1 for others, and u_a =
s_a (mean_a - y_a), which must add up to the leader's lead D where means y make the rival as good.
In the first, `own` (Theorem 5), each arm has its own half-normal (or normal) mixture. In the
second, `joint` (Theorem 6), values have weights such that all arms count equally, and the arms
share one half-normal theta, about which each has its own normal mixture. The scales of each add up.

Everything here is a lower bound: `own` is a concave dual function at some multiplier, `joint` has a
tangent in place of a convex function, and negligible scales are left out.

For values 0 or 1, the evidence for values in [0, 1] is averaged with that of the Beta(1/2, 1/2)
mixture, in which each set pays its own penalties.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from ..engine.jit import jitable
from ..engine.numerics import lead_of
from ..engine.protocols import RewardKernel
from ..engine.state import Fixed, Floats, Ints
from ..engine.statistics import Statistics
from ..rewards.base import SHAVE
from .mixture_pairs import tail
from .penalised import beta_regret

FIRST, LAST = -14.0, 1.8125  # ln p of the first and of the last row
ROWS = 128.0  # per unit of ln p
LEAST, MOST = math.exp(FIRST), math.exp(LAST)
HALF = 0.5 * math.log(2.0 * math.pi) - math.log(2.0)


@functools.cache
def conjugates() -> Floats:
    """Return a table of the convex conjugate of psi(z) = z^2/2 + ln(2 Phi(z)), of shape (3, n).

    The rows are p, psi*(p) = max over z of p z - psi(z) from above, and the z of the maximum. psi
    is the logarithm of a half-normal mixture; psi* is what a one-sided arm costs at a multiplier.
    """
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
    """Return psi*(p) for p > 0, never below it, the maximiser z, and an approximation of dz/dp.

    Between two rows psi* lies below the straight line, because it is convex. Below the first row,
    psi(z) >= ln(2/(|z| + 1/|z|)) - ln(2 pi)/2. Above the last row z is above 5.5, where psi(z) is
    above z^2/2 + ln 2 - 2e-8.

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


SLIGHT = 9.0  # a scale that is surely this many nats below the best is left out
NEAR = 3e-3  # relative tolerance of the multiplier; the loss is of the order of its square
SHY = 1e-11  # share of the terms of a sum that is subtracted; more than rounding can add
LN2 = math.log(2.0)
NOTHING = -1e300  # a trivial bound; unlike -infinity it adds to infinity without NaN


@jitable
def logaddexp(a: float, b: float) -> float:
    """Return ln(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    if high == -math.inf or high == math.inf:
        return high
    return high + math.log1p(math.exp(low - high))


@jitable
def least(
    rows: Floats, sided: float, p: float, low: float, high: float
) -> tuple[float, float, float]:
    """Return the maximum of p z - psi(z) over low <= z <= high, never below it.

    The maximiser and its derivative by p are returned, too. psi(z) is z^2/2 if not `sided`.
    """
    if sided < 0.5:
        z = min(max(p, low), high)
        return p * z - 0.5 * z * z, z, 1.0 if z == p else 0.0
    if p > 0.0:
        value, z, rate = conjugate(rows, p)
    else:
        value, z, rate = math.inf, -math.inf, 0.0
    if z > high - 0.1 * abs(high):
        here, slope, _ = tail(high)
        if slope <= p:
            return p * high - here, high, 0.0
    if z < low + 0.1 * abs(low):
        here, slope, _ = tail(low)
        if slope >= p:
            return p * low - here, low, 0.0
    return value, z, rate


@jitable
def second(promise: Floats, scales: int, top: int) -> int:
    """Return the most promising scale that is not better than `top`, or -1 if there is none."""
    chosen = -1
    for k in range(scales):
        if k != top and promise[k] <= promise[top] and (chosen < 0 or promise[k] > promise[chosen]):
            chosen = k
    return chosen


class GaussianSetEvidenceKernel(NamedTuple):
    """The evidence against sets for sub-Gaussian values; see `SetEvidence`."""

    counts: Floats  # those of the statistics
    weighed: Floats  # `Statistics.weighted_sums`
    variance: Floats
    low: Floats  # bounds on the means
    high: Floats
    boxed: bool  # whether there are bounds
    rows: Fixed  # table of `conjugates`
    prior: Fixed  # float64[2, k]: c of the leader's arms and of the others
    cost: Fixed  # ln 1/p of these scales
    sided: Fixed  # float64[2, k]
    steady: Fixed  # float64[k]: c of the weighted values
    shared: float  # factor by which c of their shared direction is smaller
    mean: Floats  # float64[2, d]: the shifted means, and those of the weighted values
    done: Floats  # float64[4, d]: N on either side, sum v^2 and sum v for which the next hold
    width: Floats  # float64[2, d, k]: sigma sqrt(N + c)/N, as an arm of the leader or not
    fee: Floats  # float64[2, d, k]
    terms: Floats  # float64[d, k, 4]: 1/h, c sigma^2 r, sigma^2 V r, fee; r = c/(V + c)
    row: Floats  # float64[6, k]: scratch
    arm_prices: Floats  # float64[references, d]: see `price_arms`
    price_offset: Floats  # float64[references]
    yardstick: Floats  # float64[1]: unit in which means are counted

    def set_leader(self, stats: Statistics, best: Floats, shift: float) -> None:
        """Read the means, and shift those of the leader's arms."""
        for a in range(best.size):
            lift = shift * best[a]
            self.mean[0, a] = (stats.mean[a] + lift) / self.yardstick[0]
            total = stats.weighted_sums[0, a]
            if total > 0.0:
                weighed = stats.weighted_sums[3, a] + stats.weighted_sums[2, a] / total
                self.mean[1, a] = (weighed + lift) / self.yardstick[0]

    def evidence_against_set(self, best: Floats, arms: Ints, sign: Floats, n: int) -> float:
        """Return the logarithm of the average of both mixtures."""
        for i in range(n):
            a, side = arms[i], 0 if sign[i] < 0.0 else 1
            if self.counts[a] <= 0.0:
                return -math.inf
            self.prepare_arm(a, side)
        return logaddexp(self.own(arms, sign, n), self.joint(arms, sign, n)) - LN2

    def prepare_arm(self, a: int, side: int) -> None:
        """Update what depends on a single arm, if its statistics have changed."""
        n, square = self.counts[a], self.weighed[1, a]
        if n != self.done[side, a]:
            self.done[side, a] = n
            for k in range(self.cost.size):
                c = self.prior[side, k]
                self.width[side, a, k] = math.sqrt(self.variance[a] * (n + c)) / n
                self.fee[side, a, k] = 0.5 * math.log1p(n / c)
        total, terms = self.weighed[0, a], self.terms[a]
        if total > 0.0 and (square != self.done[2, a] or total != self.done[3, a]):
            self.done[2, a], self.done[3, a] = square, total
            for k in range(self.steady.size):
                c = self.steady[k]
                share = c / (square + c)
                terms[k, 0] = self.variance[a] * (square + c) / (total * total)
                terms[k, 1] = self.variance[a] * c * share
                terms[k, 2] = self.variance[a] * square * share
                terms[k, 3] = 0.5 * math.log1p(square / c)

    def span(self, index: int, a: int, sign: float) -> tuple[float, float]:
        """Return the bounds on u of an arm."""
        here = float(self.mean[index, a])
        if sign < 0.0:
            return here - float(self.high[a]), here - float(self.low[a])
        return float(self.low[a]) - here, float(self.high[a]) - here

    def price_arms(self, best: Floats, arms: Ints, sign: Floats, n: int) -> None:
        """Write prices of arms for each of several references.

        For each reference, the sum of the prices over the arms of any set, plus the base, does not
        exceed the evidence against the set. References are the most promising scales against a
        given set, at the multipliers that would be best if its lead were half as large, as large,
        and twice as large.
        """
        for r in range(self.price_offset.size):
            self.price_offset[r] = NOTHING
        for a in range(best.size):
            if self.counts[a] > 0.0:
                self.prepare_arm(a, 0 if best[a] > 0.5 else 1)
        lead, top = self.independent_scales(arms, sign, n)
        r = 0
        while top >= 0 and r < self.price_offset.size // 2:
            factor = 0.5
            while factor < 3.0:
                self.quote_own(
                    best, r, top, self.independent_scale(arms, sign, n, top, factor * lead)[1]
                )
                factor, r = 2.0 * factor, r + 1
            top = second(self.row[2], self.cost.size, top)
        lead, top = self.joint_scales(arms, sign, n)
        r = self.price_offset.size // 2
        while top >= 0 and r < self.price_offset.size:
            factor = 0.5
            while factor < 3.0:
                _, alpha, z = self.joint_scale(arms, sign, n, top, factor * lead)
                self.quote_joint(best, arms, n, r, top, alpha, z)
                factor, r = 2.0 * factor, r + 1
            top = second(self.row[5], self.steady.size, top)

    def quote_own(self, best: Floats, r: int, k: int, alpha: float) -> None:
        """Write the prices of a scale of `own` at a multiplier."""
        self.price_offset[r] = -self.cost[k] - LN2
        for a in range(best.size):
            side, low, high = 0 if best[a] > 0.5 else 1, -math.inf, math.inf
            sign = 1.0 if side == 1 else -1.0
            if self.counts[a] <= 0.0:
                self.arm_prices[r, a] = NOTHING
                continue
            wide, fee = float(self.width[side, a, k]), float(self.fee[side, a, k])
            if self.boxed:
                low, high = self.span(0, a, sign)
            cost, _, _ = least(
                self.rows, self.sided[side, k], alpha * wide, low / wide, high / wide
            )
            gain = -sign * alpha * float(self.mean[0, a])
            self.arm_prices[r, a] = gain - cost - fee - SHAVE * (abs(gain) + abs(cost) + fee)

    def quote_joint(
        self, best: Floats, arms: Ints, n: int, r: int, k: int, alpha: float, z: float
    ) -> None:
        """Write the prices of a scale of `joint` at a multiplier, with a distribution of theta.

        For any such distribution, the mean of the exponent less the divergence of the distribution
        from the prior does not exceed the logarithm of the mixture (Gibbs).
        """
        noise, low, high = 0.0, math.inf, 0.0
        for i in range(n):
            noise += self.variance[arms[i]] / n
        for a in range(best.size):
            low, high = min(low, self.variance[a]), max(high, self.variance[a])
        height, slope, _ = tail(z)
        sd, c = float(self.row[3, k]), self.steady[k]
        prior = c / self.shared * noise
        spare = sd * sd - prior
        once, twice = slope / sd, max(1.0 + z * slope, 0.0) / (sd * sd)  # E theta, E theta^2
        loss = height - 0.5 * math.log1p(spare / prior) - once * z * sd + 0.5 * twice * spare
        worse = 0.0  # the largest loss by the prior of another set
        for noisy in (low, high):
            other = c / self.shared * noisy
            worse = min(worse, 0.5 * math.log(other / prior) - 0.5 * twice * (other - prior))
        self.price_offset[r] = loss + worse - math.log(self.steady.size) - LN2
        for a in range(best.size):
            sign, total = -1.0 if best[a] > 0.5 else 1.0, self.weighed[0, a]
            if not total > 0.0:
                self.arm_prices[r, a] = NOTHING
                continue
            blur, fee = float(self.terms[a, k, 0]), float(self.terms[a, k, 3])
            tilt = once * c * self.variance[a] / total / blur
            u = (alpha - tilt) * blur
            if self.boxed:
                least_u, most_u = self.span(1, a, sign)
                u = min(max(u, least_u), most_u)
            gain, cost = -sign * alpha * float(self.mean[1, a]), (tilt - alpha) * u
            cost, paid = cost + 0.5 * u * u / blur, 0.5 * twice * self.terms[a, k, 2]
            size = abs(gain) + abs(cost) + paid + fee
            self.arm_prices[r, a] = gain + cost - paid - fee - SHAVE * size

    def own(self, arms: Ints, sign: Floats, n: int) -> float:
        """Return ln sum_k p_k exp(min over u of sum_a g_k(u_a))."""
        (lead, top), row, scales = self.independent_scales(arms, sign, n), self.row, self.cost.size
        if top < 0:
            return -math.inf
        value = self.independent_scale(arms, sign, n, top, lead)[0]
        for k in range(scales):
            if k != top and (self.boxed or row[2, k] > value - SLIGHT):
                value = logaddexp(value, self.independent_scale(arms, sign, n, k, lead)[0])
        return value

    def independent_scales(self, arms: Ints, sign: Floats, n: int) -> tuple[float, int]:
        """Return the lead and the most promising scale, or -1 if there is none."""
        (lead, doubt), row, top = lead_of(self.mean[0], arms, sign, n), self.row, 0
        lead -= doubt
        for k in range(self.cost.size):
            blur, fee, free = 0.0, self.cost[k], 0.0
            for i in range(n):
                a, side = arms[i], 0 if sign[i] < 0.0 else 1
                blur += self.width[side, a, k] * self.width[side, a, k]
                fee += self.fee[side, a, k]
                free += self.sided[side, k]
            if not 0.0 < blur < math.inf:
                return lead, -1
            row[0, k], row[1, k] = blur, fee
            ahead = max(lead, 0.0)
            row[2, k] = (
                0.5 * ahead * ahead / blur - fee + free * LN2
            )  # an upper bound without a box
            if row[2, k] > row[2, top]:
                top = k
        return lead, top

    def independent_scale(
        self, arms: Ints, sign: Floats, n: int, k: int, lead: float
    ) -> tuple[float, float]:
        """Return the evidence of a scale and the last multiplier alpha.

        The evidence is the largest value found of a concave function of alpha, each value of which
        is a valid bound.
        """
        blur, fee, most = float(self.row[0, k]), float(self.row[1, k]), -math.inf
        left, right, alpha = 0.0, math.inf, max(0.9 * lead / blur, 1e-3 / math.sqrt(blur))
        for _ in range(30):
            value, slope, bend, size = alpha * lead - fee, lead, 0.0, abs(alpha * lead) + fee
            for i in range(n):
                a, side = arms[i], 0 if sign[i] < 0.0 else 1
                wide, low, high = float(self.width[side, a, k]), -math.inf, math.inf
                if self.boxed:
                    low, high = self.span(0, a, sign[i])
                cost, z, rate = least(
                    self.rows, self.sided[side, k], alpha * wide, low / wide, high / wide
                )
                value -= cost
                size += abs(cost)
                slope -= wide * z
                bend += wide * wide * rate
            most = max(most, value - SHY * size)
            if slope > 0.0:
                left = alpha
            else:
                right = alpha
            step = slope / bend if bend > 0.0 else math.inf
            if abs(step) < NEAR * alpha or alpha > 1e300:
                break
            new = alpha + step
            if not left < new < right:
                new = 0.5 * (left + right) if right < math.inf else 4.0 * alpha
            alpha = new
        return most, alpha

    def joint(self, arms: Ints, sign: Floats, n: int) -> float:
        """Return the logarithm of the mean over k of exp(min over u of F_k)."""
        (lead, top), row, scales = self.joint_scales(arms, sign, n), self.row, self.steady.size
        if top < 0:
            return -math.inf
        value = self.joint_scale(arms, sign, n, top, lead)[0]
        for k in range(scales):
            if k != top and (self.boxed or row[5, k] > value - SLIGHT):
                value = logaddexp(value, self.joint_scale(arms, sign, n, k, lead)[0])
        return value - math.log(scales)

    def joint_scales(self, arms: Ints, sign: Floats, n: int) -> tuple[float, int]:
        """Return the lead and the most promising scale of `joint`; see `independent_scales`."""
        noise = 0.0
        for i in range(n):
            if not self.weighed[0, arms[i]] > 0.0:
                return 0.0, -1
            noise += self.variance[arms[i]]
        lead, doubt = lead_of(self.mean[1], arms, sign, n)
        lead -= doubt
        row, top = self.row, 0
        for k in range(self.steady.size):
            blur, pull, square, spare, fee = 0.0, 0.0, 0.0, 0.0, 0.0
            c = self.steady[k]
            for i in range(n):
                a = arms[i]
                terms = self.terms[a, k]
                blur += terms[0]
                pull += self.variance[a] / self.weighed[0, a]
                square += terms[1]
                spare += terms[2]
                fee += terms[3]
            if not 0.0 < blur < math.inf:
                return lead, -1
            pull *= c
            base = c / self.shared * noise / n
            row[0, k], row[1, k], row[2, k] = blur, pull, square
            row[3, k] = math.sqrt(spare + base)
            row[4, k] = fee + 0.5 * math.log1p(spare / base)
            ahead = max(lead, 0.0)
            z = ahead * pull / (blur * row[3, k])
            row[5, k] = 0.5 * ahead * ahead / blur + 0.5 * z * z + LN2 - row[4, k]
            if row[5, k] > row[5, top]:
                top = k
        return lead, top

    def joint_scale(
        self, arms: Ints, sign: Floats, n: int, k: int, lead: float
    ) -> tuple[float, float, float]:
        """Return the evidence of a scale of `joint`, the multiplier and the point of tangency.

        The evidence is the minimum over u of psi(X/sd) + sum_a h_a u_a^2/2 with X = sum_a b_a u_a,
        where psi is replaced by a tangent, which is a valid bound wherever it touches.
        """
        row = self.row
        blur, pull, square = float(row[0, k]), float(row[1, k]), float(row[2, k])
        sd, fee = float(row[3, k]), float(row[4, k])
        middle = lead * pull / (blur * sd)
        loose = max(square - pull * pull / blur, 0.0) / (sd * sd)
        z = middle / (1.0 + loose)
        for _ in range(20):
            _, p, bend = tail(z)
            step = (loose * p + z - middle) / (loose * bend + 1.0)
            z -= step
            if abs(step) < NEAR * (1.0 + abs(z)):
                break
        height, p, _ = tail(z)
        rise = p / sd
        alpha = max(lead + rise * pull, 0.0) / blur
        if self.boxed:
            value, size = self.bounded_minimum(arms, sign, n, k, lead, rise, alpha)
        else:
            value = 0.5 * alpha * alpha * blur - 0.5 * rise * rise * square
            size = abs(value) + rise * rise * square
        value += height - p * z - fee
        return value - SHY * (size + abs(height) + abs(p * z) + fee), alpha, z

    def bounded_minimum(
        self, arms: Ints, sign: Floats, n: int, k: int, lead: float, rise: float, alpha: float
    ) -> tuple[float, float]:
        """Return the minimum over bounded u with sum D of sum_a rise b_a u_a + h_a u_a^2/2.

        D is the lead. The minimum is the dual function at the best multiplier found. The sum of the
        absolute values of its terms is returned, too.
        """
        left, right, most, sizes = 0.0, math.inf, -math.inf, 0.0
        for _ in range(40):
            value, slope, bend, size = alpha * lead, lead, 0.0, abs(alpha * lead)
            for i in range(n):
                a = arms[i]
                blur = float(self.terms[a, k, 0])
                tilt = rise * self.steady[k] * self.variance[a] / self.weighed[0, a] / blur
                low, high = self.span(1, a, sign[i])
                free = (alpha - tilt) * blur
                u = min(max(free, low), high)
                value += (tilt - alpha) * u + 0.5 * u * u / blur
                size += abs((tilt - alpha) * u) + 0.5 * u * u / blur
                slope -= u
                bend += blur if u == free else 0.0
            if value > most:
                most, sizes = value, size
            if slope > 0.0:
                left = alpha
            else:
                right = alpha
            step = slope / bend if bend > 0.0 else math.inf if slope > 0.0 else -math.inf
            if abs(step) < NEAR * alpha or alpha > 1e300 or right <= 1e-300:
                break
            new = alpha + step
            if not left < new < right:
                new = 0.5 * (left + right) if right < math.inf else 4.0 * alpha + 1e-300
            alpha = new
        return most, sizes


EXACT = 0.25  # weight of the Beta mixture
THEN = math.log1p(-EXACT)  # ln of the other weight


class BernoulliSetEvidenceKernel(NamedTuple):
    """The evidence against sets for values 0 or 1; see `SetEvidence`."""

    inner: GaussianSetEvidenceKernel  # of standard deviation 1/2
    rewards: RewardKernel  # with the Bernoulli divergence
    stats: Floats  # sample means
    variance: Floats  # 1: the nearest rival is sought at the counts
    guessed: Floats  # float64[d]: estimated variances, for the forecast
    yardstick: Floats  # that of `inner`, like the next three
    mean: Floats
    arm_prices: Floats
    price_offset: Floats
    done: Floats  # float64[2, d]: N and the number of ones for which `fee` was computed
    fee: Floats
    spare: Floats  # scratch

    def set_leader(self, stats: Statistics, best: Floats, shift: float) -> None:
        """Update means, variances and the regret of each arm."""
        self.inner.set_leader(stats, best, shift)
        for a in range(best.size):
            n, ones, x = stats.counts[a], stats.sums[a], stats.mean[a]
            self.guessed[a] = x * (1.0 - x) + 0.25 / (n + 1.0)
            if n != self.done[0, a] or ones != self.done[1, a]:
                self.done[0, a], self.done[1, a] = n, ones
                self.fee[a] = beta_regret(n, ones)

    def price_arms(self, best: Floats, arms: Ints, sign: Floats, n: int) -> None:
        """Write the prices for values in [0, 1], at their share."""
        self.inner.price_arms(best, arms, sign, n)
        for r in range(self.price_offset.size):
            self.price_offset[r] += THEN

    def evidence_against_set(self, best: Floats, arms: Ints, sign: Floats, n: int) -> float:
        """Return the logarithm of the average of the mixtures."""
        value = self.inner.evidence_against_set(best, arms, sign, n)
        if value == -math.inf:
            return value
        fees, counts = 0.0, self.inner.counts
        exact = self.rewards.transportation_cost(self.stats, counts, arms, sign, n, self.spare)
        if exact == math.inf:
            return exact  # no possible means make the rival as good
        for i in range(n):
            fees += self.fee[arms[i]]
        exact -= fees + SHY * (exact + fees)
        return logaddexp(value + THEN, exact + math.log(EXACT))


def bernoulli_set_evidence(
    inner: GaussianSetEvidenceKernel, rewards: RewardKernel, stats: Floats
) -> BernoulliSetEvidenceKernel:
    """Return the evidence for values 0 or 1, given that for values in [0, 1]."""
    d = inner.mean.shape[1]
    return BernoulliSetEvidenceKernel(
        inner,
        rewards,
        stats,
        np.ones(d),
        np.full(d, 0.25),
        inner.yardstick,
        inner.mean,
        inner.arm_prices,
        inner.price_offset,
        np.full((2, d), -1.0),
        np.zeros(d),
        np.zeros(d),
    )
