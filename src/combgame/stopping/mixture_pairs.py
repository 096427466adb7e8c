"""The mixture for pairs of arms if answers differ by exchanges (Theorem 2 of docs/thresholds.md).

The stopping kernel works with any `PairEvidence`; the evidence for values of known variance is
here, too. So is the forecast of the penalties at the time at which a run can expect to stop, which
is for sampling rules only: whether a run stops is decided by the present evidence alone. But a rule
that divides plays between rivals should consider what will be required against each of them: the
likelihood ratio *less the penalties* at the counts of the end, which are the present ones times
some s >= 1 if plays continue in the same proportions. A rival pays the penalty of the scale that
will suit it best.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine.jit import compilable, jitable
from ..engine.kernels import StoppingDefaults, kernel
from ..engine.likelihood_ratio import against, differ
from ..engine.protocols import ProblemKernel, RewardKernel, Threshold
from ..engine.state import Fixed, Floats, Ints, RoundState
from ..engine.statistics import Statistics
from ..rewards.base import swapped

CLOSE = 1e-4  # tolerance by which the minimum of a pair's mixture may be underestimated
LOG_TWO = math.log(2.0)
BEYOND = 1.2  # factor of a step towards a side that has no bracket yet
FIRST = 20.0  # initial s of a forecast
LONGEST = 50.0  # largest s of a forecast
LEAST = 0.3  # smallest likelihood ratio from which s is extrapolated


@jitable
def tail(z: float) -> tuple[float, float, float]:
    """Return z^2/2 + ln(2 Phi(z)), never above it, and its first two derivatives.

    >>> [round(x, 4) for x in tail(0.0)]
    [0.0, 0.7979, 0.3634]
    """
    if z < -1e150:  # 1/z^2 would be lost
        return -math.inf, 0.0, 0.0
    # Phi(z) > phi(z) |z| / (1 + z^2). The derivatives are computed by their series, which avoids
    # differences of large numbers.
    if z < -25.0:
        far = -1.0 / z
        square = far * far
        rise = far * (1.0 - 2.0 * square + 10.0 * square * square)
        return (
            math.log(2.0 / (far - z)) - 0.5 * math.log(2.0 * math.pi),
            rise,
            2.0 * square - 10.0 * square * square - rise * rise,
        )
    below = math.erfc(-z / math.sqrt(2.0))  # 2 Phi(z)
    ratio = 2.0 * math.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * below)
    return 0.5 * z * z + math.log(below), z + ratio, 1.0 - ratio * (ratio + z)


@jitable
def height(row: Floats, sided: Floats, up: float, down: float) -> tuple[float, float, float]:
    """Return F, its slope and its curvature.

    Arm i is taken `up` below its mean and arm j `down` above its own; `lowest` explains `row`.
    """
    top, total, slope, bend = -math.inf, 0.0, 0.0, 0.0
    for k in range(row.shape[1]):
        first, second = (
            float(row[0, k]),
            float(row[1, k]),
        )  # plain floats overflow to infinity without a warning
        y, z = up * first, down * second
        value, p, q = (0.5 * y * y, y, 1.0) if sided[0, k] < 0.5 else tail(y)
        other, r, s = (0.5 * z * z, z, 1.0) if sided[1, k] < 0.5 else tail(z)
        row[3, k] = value + other + float(row[2, k])
        row[4, k] = second * r - first * p
        row[5, k] = second * second * s + first * first * q
        if row[6, k] > 0.0:
            turn = float(row[7, k]) - float(row[6, k])
            value, p, q = tail(up * float(row[6, k]) + down * float(row[7, k]))
            row[3, k] += value
            row[4, k] += turn * p
            row[5, k] += turn * turn * q
        top = max(top, float(row[3, k]))
    for k in range(row.shape[1]):
        share, rise = math.exp(float(row[3, k]) - top), float(row[4, k])
        total += share
        slope += share * rise
        bend += share * (float(row[5, k]) + rise * rise)
    slope /= total
    return top + math.log(total), slope, bend / total - slope * slope


@jitable
def onward(
    x: float,
    slope: float,
    bend: float,
    left: float,
    right: float,
    low: float,
    high: float,
    stride: float,
) -> float:
    """Return the next point of Newton's method for a convex function on [low, high].

    The minimum lies in [left, right].
    """
    bound, end = (right, high) if slope < 0.0 else (left, low)
    step = abs(slope) / bend if abs(slope) < stride * bend else stride
    if bound == end:  # that side has no bracket yet; a step that is a little too long gives one
        step = max(BEYOND * step, 1e-6 * stride)
    x += step if slope < 0.0 else -step
    if not left < x < right:
        x = end if bound == end else 0.5 * (left + right)
    return x


@jitable
def lowest(
    row: Floats, sided: Floats, mean: float, other: float, x: float, low: float, high: float
) -> tuple[float, float]:
    """Return the minimum of F over low <= x <= high, from below, and where it is attained.

    row[:3] has 1/width of arm i and of arm j, and minus the penalty of the scale; row[6:] has the
    coefficients of both arms in the direction that they share.
    """
    left, right, stride = low, high, 4.0 / float(row[0, 0]) + 4.0 / float(row[1, 0])
    value, slope, reach, at = -math.inf, 0.0, 0.0, x
    for _ in range(100):  # Newton, not too far at a time
        at = x
        value, slope, bend = height(row, sided, mean - x, x - other)
        if slope == 0.0 or (slope > 0.0 and x <= low) or (slope < 0.0 and x >= high):
            return value, at
        if slope < 0.0:
            left = x
        else:
            right = x
        reach = right - left
        if abs(slope) * reach <= CLOSE:
            break
        x = onward(x, slope, bend, left, right, low, high, stride)
    value -= abs(slope) * reach  # F is convex, and its minimum lies in the bracket
    return value if value > -math.inf else -math.inf, at  # NaN: no evidence


@jitable
def price(prior: Floats, side: int, a: int, n: float, charge: Floats, wide: Floats) -> None:
    """Write the penalties and widths of an arm with n values, for each scale."""
    for k in range(prior.shape[1]):
        c = prior[side, k]
        charge[side, a, k] = 0.5 * math.log1p(n / c)
        wide[side, a, k] = (n + c) / (n * n) if n > 0.0 else math.inf


@jitable
def direction(
    n: float, m: float, c: float, joint: float, variance: float, other: float
) -> tuple[float, float, float]:
    """Return the coefficients of both arms in the direction that they share, and its penalty.

    A coefficient is the contribution of a unit of the arm, in standard deviations.
    """
    first, second = n * c / (n + c), m * c / (m + c)
    base, spare = 0.5 * joint * (variance + other), variance * first + other * second
    sd = math.sqrt(spare + base)
    return first / sd, second / sd, 0.5 * math.log1p(spare / base)


@jitable
def ceiling(
    row: Floats,
    charge: Floats,
    wide: Floats,
    cost: Floats,
    sided: Floats,
    joint: Floats,
    prior: Floats,
    n: float,
    m: float,
    variance: float,
    other: float,
    up: float,
    down: float,
    i: int,
    j: int,
) -> float:
    """Return an upper bound for the mixture, with ln 2 in place of ln(2 Phi).

    Arm i is taken `up` below its mean and arm j `down` above its own. The bound is infinite where
    it cannot be computed.
    """
    top, total = -math.inf, 0.0
    for k in range(cost.size):
        first, second = variance * float(wide[0, i, k]), other * float(wide[1, j, k])
        if not (first > 0.0 and second > 0.0):
            return math.inf
        row[3, k] = (
            0.5 * (up * up / first + down * down / second)
            + LOG_TWO * (sided[0, k] + sided[1, k])
            - charge[0, i, k]
            - charge[1, j, k]
            - cost[k]
        )
        if joint[k] > 0.0:
            one, two, fee = direction(n, m, prior[0, k], joint[k], variance, other)
            z = up * one + down * two
            row[3, k] += 0.5 * z * z + LOG_TWO - fee
        top = max(top, float(row[3, k]))
    if not -math.inf < top < math.inf:
        return math.inf
    for k in range(cost.size):
        total += math.exp(float(row[3, k]) - top)
    return top + math.log(total)


@compilable
class PairEvidence(Protocol):
    """An e-process for each exchange of an arm i of the leader for an arm j.

    Structures use it as a `RewardKernel` whose cost is the least logarithm of the e-process over
    the means at which j is as good as i.
    """

    @property
    def argmin(self) -> Floats:
        """The mean of both arms at the minimum that `minimise` found last."""

    @property
    def cutoff(self) -> Floats:
        """Pairs whose evidence surely exceeds this are not of interest."""

    @property
    def max_bonus(self) -> float:
        """The most by which the logarithm exceeds the nearest pair's likelihood ratio."""

    def update_pairs(self, stats: Statistics, best: Floats, weight: Floats) -> None:
        """Write the weights with which the nearest pair is sought, and ``stats.effective_counts``.

        This is called once per round.
        """

    def prepare_arm(self, a: int, side: int) -> None:
        """Update what is stored for an arm, as an arm i (`side` 0) or an arm j (`side` 1)."""

    def minimise(self, mean: Floats, i: int, j: int, enough: float) -> float:
        """Return the least logarithm over the means in M, from below, for arms that are prepared.

        The result may be any lower bound that exceeds `enough`.
        """

    def upper_bound(self, mean: Floats, i: int, j: int, x: float) -> float:
        """Return an upper bound for `minimise` from the mean x of both arms, or infinity."""


@jitable
def exchanged(
    pairs: PairEvidence, mean: Floats, arms: Ints, sign: Floats, alternative: Floats
) -> float:
    """Compute `RewardKernel.transportation_cost` for an exchange."""
    i, j = (arms[0], arms[1]) if sign[0] < 0.0 else (arms[1], arms[0])
    pairs.prepare_arm(i, 0)
    pairs.prepare_arm(j, 1)
    value = pairs.minimise(mean, i, j, math.inf)
    alternative[i] = alternative[j] = pairs.argmin[0]
    return value


@jitable
def scanned(pairs: PairEvidence, mean: Floats, i: int, taken: Floats, value: Floats) -> int:
    """Find `RewardKernel.cheapest_challenger` for exchanges.

    The search is exact, but a pair is abandoned as soon as it surely exceeds the least evidence so
    far, or the cutoff.
    """
    nearest, best, some = -1, pairs.cutoff[0], -1
    pairs.prepare_arm(i, 0)
    for j in range(mean.size):
        if taken[j] < 0.5:
            some = j
            pairs.prepare_arm(j, 1)
            this = pairs.minimise(mean, i, j, best)
            if this < best or (nearest < 0 and this == best):
                nearest, best = j, this
    value[0] = best if nearest >= 0 else math.inf
    return nearest if nearest >= 0 else some


class PairDefaults:
    """Default methods of `PairEvidence` in the role of a `RewardKernel`."""

    low: Floats
    high: Floats
    argmin: Floats

    def project(self, x: float, arm: int) -> float:
        """Return the possible mean that is nearest to x."""
        return float(min(max(x, self.low[arm]), self.high[arm]))

    def transportation_cost(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        """Return the least logarithm of the pair in `arms`."""
        every: Any = self
        return exchanged(every, mean, arms, sign, alternative)

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        """Find the cheapest exchange of arm i; see `scanned`."""
        every: Any = self
        return scanned(every, mean, i, taken, value)

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        """Find the cheapest exchange of any arm; see `swapped`."""
        every: Any = self
        swapped(every, mean, weight, best, self.argmin, value)


@kernel(PairDefaults)
class KnownVariancePairKernel(NamedTuple):
    """The mixture for exchanges of arm i of the leader for arm j, for known variances.

    At means with y_i = y_j = x its logarithm is F(x) = ln sum_k p_k exp(g_k(mean_i - x, N_i) +
    g_k(x - mean_j, N_j)), convex in x, where g(u, N) = z^2/2 + ln(2 Phi(z)) - ln(1 + N/c)/2 and z =
    u N / (sigma sqrt(N + c)). This is a half-normal mixture, since only an arm i that looks too
    good and an arm j that looks too bad can mislead. Where `sided` is 0 it is a normal mixture,
    without ln(2 Phi), which is better for an arm that is known far more precisely than the other,
    and is valid for all smaller variances, too. Where `joint` is not 0 both arms are normal about a
    half-normal direction that they share (Theorem 6 of docs/thresholds.md with weights 1): there is
    one penalty instead of two for arms that have been played equally often.
    """

    counts: Floats  # those of the statistics
    variance: Floats
    low: Floats
    high: Floats
    prior: Fixed  # float64[2, k]: c as an arm i and as an arm j, per scale
    cost: Fixed  # ln 1/p
    sided: Fixed  # float64[2, k]: 1 for a half-normal distribution, 0 for a normal one
    joint: Fixed  # float64[k]: c of a direction that both arms share; 0 if there is none
    done: (
        Floats  # float64[2, d]: N for which the next two were computed, as an arm i and as an arm j
    )
    charge: Floats  # float64[2, d, k]: ln(1 + N/c) / 2
    wide: Floats  # float64[2, d, k]: (N + c)/N^2
    cutoff: Floats  # float64[1]
    max_bonus: float  # 0: no mixture of likelihood ratios is above the largest
    row: Floats  # float64[8, k] scratch
    argmin: Floats  # float64[1] scratch

    def update_pairs(self, stats: Statistics, best: Floats, weight: Floats) -> None:
        """Write the precisions of the sample means as weights."""
        for a in range(weight.size):
            weight[a] = stats.counts[a] / self.variance[a]
            stats.effective_counts[a] = weight[a] * self.variance[a]

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        """Find the cheapest exchange of arm i.

        The search is exact, except for arms that surely exceed the least evidence so far, or the
        cutoff. Those are tested inline, because a call on a kernel costs more than a pair.
        """
        arm, best, some = -1, self.cutoff[0], -1
        self.prepare_arm(i, 0)
        for j in range(mean.size):
            if taken[j] < 0.5:
                some = j
                if self.counts[j] != self.done[1, j]:
                    self.prepare_arm(j, 1)
                if best == math.inf or not beyond(
                    self.variance,
                    self.charge,
                    self.wide,
                    self.cost,
                    self.sided,
                    self.joint,
                    mean[i] - mean[j],
                    i,
                    j,
                    best,
                ):
                    this = self.minimise(mean, i, j, best)
                    if this < best or (arm < 0 and this == best):
                        arm, best = j, this
        value[0] = best if arm >= 0 else math.inf
        return arm if arm >= 0 else some

    def prepare_arm(self, a: int, side: int) -> None:
        """Update the penalties and widths of an arm."""
        n = self.counts[a]
        if n != self.done[side, a]:
            self.done[side, a] = n
            price(self.prior, side, a, n, self.charge, self.wide)

    def upper_bound(self, mean: Floats, i: int, j: int, x: float) -> float:
        """Return an upper bound for F(x): ln(2 Phi) is at most ln 2."""
        if max(self.low[i], self.low[j]) > min(self.high[i], self.high[j]):
            return math.inf
        self.prepare_arm(i, 0)
        self.prepare_arm(j, 1)
        return ceiling(
            self.row,
            self.charge,
            self.wide,
            self.cost,
            self.sided,
            self.joint,
            self.prior,
            self.counts[i],
            self.counts[j],
            float(self.variance[i]),
            float(self.variance[j]),
            float(mean[i]) - x,
            x - float(mean[j]),
            i,
            j,
        )

    def minimise(self, mean: Floats, i: int, j: int, enough: float) -> float:
        """Return the minimum of F over the x in M, from below."""
        low, high = float(max(self.low[i], self.low[j])), float(min(self.high[i], self.high[j]))
        one, other = float(mean[i]), float(mean[j])
        self.argmin[0] = x = min(max(0.5 * (one + other), low), high)
        if self.high[i] < self.low[j]:
            return 0.0  # not enough for any delta
        if low > high:
            return math.inf  # j is never as good as i
        most, lead, row = -math.inf, one - other, self.row
        if lead < 0.0 and low == -math.inf and high == math.inf:
            return -math.inf  # j is better: i leads only because of bounds, which epsilon ignores
        for k in range(self.cost.size):
            first = float(self.variance[i]) * float(self.wide[0, i, k])
            second = float(self.variance[j]) * float(self.wide[1, j, k])
            if not (
                first > 0.0 and second > 0.0 and first + second < math.inf
            ):  # unknown, or too small for a float
                return 0.0
            row[0, k], row[1, k] = 1.0 / math.sqrt(first), 1.0 / math.sqrt(second)
            row[2, k] = -self.charge[0, i, k] - self.charge[1, j, k] - self.cost[k]
            row[6, k] = 0.0
            if self.joint[k] > 0.0:
                row[6, k], row[7, k], fee = direction(
                    self.counts[i],
                    self.counts[j],
                    self.prior[0, k],
                    self.joint[k],
                    float(self.variance[i]),
                    float(self.variance[j]),
                )
                row[2, k] -= fee
                continue
            alone = 0.5 * lead * lead / (first + second) + float(row[2, k])
            if alone > most:
                most, x = alone, one - lead * first / (first + second)
        value, self.argmin[0] = lowest(
            row, self.sided, one, other, min(max(x, low), high), low, high
        )
        return value


@jitable
def beyond(
    variance: Floats,
    charge: Floats,
    wide: Floats,
    cost: Floats,
    sided: Floats,
    joint: Floats,
    lead: float,
    i: int,
    j: int,
    best: float,
) -> bool:
    """Return whether F of a pair surely exceeds `best`.

    The test is for one scale at its own minimum, without Phi. ln(2 Phi) is not negative between the
    means. If both arms have it, their sum is concave in x, so it is at least 0.69 if it is so at
    both ends, which holds if z of either arm is 3 or more at the other's mean. And F falls at
    mean_j, where z_i^2 >= 0.8 z_j, and rises at mean_i.
    """
    if lead <= 0.0:
        return False
    for k in range(cost.size):
        if joint[k] > 0.0:
            continue
        first, second = variance[i] * wide[0, i, k], variance[j] * wide[1, j, k]
        bar = (
            best
            + charge[0, i, k]
            + charge[1, j, k]
            + cost[k]
            - (0.69 if sided[0, k] + sided[1, k] > 1.5 else 0.0)
        )
        if 0.5 * lead * lead >= bar * (first + second):
            p, q = lead * lead / first, lead * lead / second
            if min(p, q) >= 9.0 and p * p >= 0.64 * q and q * q >= 0.64 * p:
                return True
    return False


class PenaltyForecastKernel(NamedTuple):
    """The evidence less penalties at s times the present counts."""

    variance: Floats
    prior: Fixed  # float64[2, k]: c of the leader's arms and of the others, per scale
    joint: Fixed  # c of a direction that both arms share; 0 if there is none
    cost: Fixed  # ln 1/p of each scale, less the gain of one-sidedness
    goal: float  # the lowest threshold
    scale: Floats  # float64[1]: s

    def expect(self, stats: Statistics, mean: Floats, arms: Ints, sign: Floats, n: int) -> float:
        """Return s, at which the evidence against the nearest rival would be enough.

        Each call does one step of a fixed-point iteration. The result is 0 if there is no forecast.
        """
        lead, blur, s = 0.0, 0.0, self.scale[0]
        if self.cost.size == 0:
            return 0.0
        for i in range(n):
            lead -= sign[i] * mean[arms[i]]
            if not (stats.counts[arms[i]] > 0.0 and self.variance[arms[i]] < math.inf):
                return 0.0
            blur += self.variance[arms[i]] / stats.counts[arms[i]]
        if lead > 0.0:
            ratio = 0.5 * lead * lead / blur
            charges = max(s * ratio - self.charged(stats, mean, arms, sign, n), 0.0)
            self.scale[0] = min(max((self.goal + charges) / max(ratio, LEAST), 1.0), LONGEST)
        return float(self.scale[0])

    def charged(self, stats: Statistics, mean: Floats, arms: Ints, sign: Floats, n: int) -> float:
        """Return the evidence against a rival less its penalties at s times the counts."""
        lead, most = 0.0, -math.inf
        for i in range(n):
            lead -= sign[i] * mean[arms[i]]
        lead = max(lead, 0.0)
        for k in range(self.cost.size):
            blur, pull, square, spare, noise, fees = 0.0, 0.0, 0.0, 0.0, 0.0, self.cost[k]
            for i in range(n):
                a = arms[i]
                many, c = self.scale[0] * stats.counts[a], self.prior[0 if sign[i] < 0.0 else 1, k]
                if not many > 0.0:
                    return 0.0
                v, share = self.variance[a], c / (many + c)
                blur += v * (many + c) / (many * many)
                pull += v * c / many
                square += v * c * share
                spare += v * many * share
                noise += v / n
                fees += 0.5 * math.log1p(many / c)
            if self.joint[k] > 0.0:
                base = self.joint[k] * noise
                blur -= pull * pull / (spare + base + square)
                fees += 0.5 * math.log1p(spare / base)
            most = max(most, 0.5 * lead * lead / blur - fees)
        return float(most)


def penalty_forecast(
    variance: Floats, prior: Floats, cost: Floats, sided: Floats, joint: Floats, goal: float
) -> PenaltyForecastKernel:
    """Return the forecast for these scales."""
    # ln(2 Phi) is ln 2 for an arm that is far from its mean.
    gain = math.log(2.0) * (sided.sum(axis=0) + (joint > 0.0))
    return PenaltyForecastKernel(variance, prior, joint, cost - gain, goal, np.full(1, FIRST))


def no_forecast(d: int) -> PenaltyForecastKernel:
    """Return an object that forecasts nothing."""
    none = np.zeros(0)
    return PenaltyForecastKernel(np.ones(d), np.zeros((2, 0)), none, none, 0.0, np.full(1, FIRST))


@kernel(StoppingDefaults)
class PairStoppingKernel(NamedTuple):
    """Mixture stopping rule for answers that differ by the exchange of one arm.

    It applies to single arms, top-m sets, partitions and spanning trees. The statistic is the
    minimum, over all exchangeable pairs (i in the leader, j outside), of the mixture log-likelihood
    ratio ``F_ij`` (Theorem 2 of docs/thresholds.md for known variances; Theorems 7, 8 and 10 for
    other rewards).
    """

    threshold: Threshold
    rewards: RewardKernel  # used to find the nearest pair
    pairs: PairEvidence
    forecast: PenaltyForecastKernel
    shift: float  # added to the means of the leader's arms: epsilon per arm
    floor: float  # the lowest threshold
    mean: Floats  # scratch
    weight: Floats
    arms: Ints
    sign: Floats
    rival: Floats  # the rival with the least evidence at the last evaluation of all pairs
    other: Floats
    alternative: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Return the evidence for ``state.leader``, exactly when it could stop the run.

        Evaluating every pair is expensive, so the minimum is computed only if it matters: as long
        as an upper bound for the closest pair, or the evidence of the pair that was weakest last,
        stays below the lowest threshold, that is returned instead. Whenever the returned value
        exceeds a threshold, it is the exact minimum over all pairs.
        """
        best, rival, alternative = state.leader, state.rival, state.alternative_means
        self.pairs.update_pairs(stats, best, self.weight)
        for a in range(best.size):
            self.mean[a] = stats.mean[a] + self.shift * best[a]
        value = problem.answers.nearest_alternative(
            self.rewards, self.mean, self.weight, best, rival, alternative
        )
        value = self.screen_nearest(value, best, rival, alternative)
        if value > self.floor and self.exchanges(best, self.rival):
            least = self.evidence_against(problem, stats, best, self.rival)
            if least < value:  # hardly any pair has less evidence than that rival
                value = least
                for a in range(best.size):
                    rival[a], alternative[a] = self.rival[a], self.alternative[a]
        if value > self.floor:
            self.pairs.cutoff[0] = value
            least = self.minimise_pairs(problem, best, self.other, self.alternative)
            if least < math.inf:
                for a in range(best.size):
                    self.rival[a] = self.other[a]
            if least < value:
                value = least
                for a in range(best.size):
                    rival[a], alternative[a] = self.other[a], self.alternative[a]
        self.pairs.cutoff[0] = math.inf
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return value

    def screen_nearest(
        self, ratio: float, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        """Return the evidence against the nearest pair, whose likelihood ratio is given.

        If an upper bound on the evidence is not enough to stop, that bound is returned.
        """
        if ratio + self.pairs.max_bonus <= self.floor:
            return ratio + self.pairs.max_bonus
        i, j = -1, -1
        for a in range(best.size):
            if best[a] > rival[a]:
                i = a
            elif best[a] < rival[a]:
                j = a
        bound = self.pairs.upper_bound(self.mean, i, j, alternative[i])
        if bound <= self.floor:
            return bound
        self.pairs.prepare_arm(i, 0)
        self.pairs.prepare_arm(j, 1)
        return self.pairs.minimise(self.mean, i, j, math.inf)

    def exchanges(self, best: Floats, rival: Floats) -> bool:
        """Return whether two answers differ by an exchange."""
        n = differ(best, rival, self.arms, self.sign)
        return n == 2 and self.sign[0] != self.sign[1]

    def minimise_pairs(
        self, problem: ProblemKernel, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        """Return the least evidence over all pairs, at the shifted means."""
        pairs: Any = self.pairs
        return problem.answers.nearest_alternative(
            pairs, self.mean, self.weight, best, rival, alternative
        )

    def expected_growth(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the forecast growth; see `PenaltyForecastKernel.expect`."""
        n = differ(best, rival, self.arms, self.sign)
        return self.forecast.expect(stats, self.mean, self.arms, self.sign, n)

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        """Return the forecast evidence against a rival."""
        return self.forecast.charged(stats, self.mean, arms, sign, n)

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Return the least evidence over all pairs."""
        value = self.minimise_pairs(problem, best, rival, alternative)
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return value

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the evidence against a given rival."""
        pairs: Any = self.pairs
        return against(
            pairs, self.mean, self.weight, best, self.arms, self.sign, rival, self.alternative
        )
