"""The mixture itself, pair by pair, where answers differ by exchanges: the judge of `PairEvidence`, and
those of values with a known spread.
"""

import math
from typing import Any, NamedTuple, Protocol

from ..engine.jit import compilable, jitable
from ..engine.likelihood_ratio import against, differ
from ..engine.protocols import ProblemKernel, RewardKernel, StoppingDefaults, Threshold, kernel
from ..engine.state import Fixed, Floats, Ints, RoundState
from ..engine.statistics import Statistics
from ..rewards.base import swapped
from ._penalty_forecast import PenaltyForecastKernel

CLOSE = 1e-4  # how far below its minimum the mixture of a pair may be taken
LOG_TWO = math.log(2.0)
BEYOND = 1.2  # a step towards a side that has no bound yet goes so much too far


@jitable
def tail(z: float) -> tuple[float, float, float]:
    """z^2/2 + ln(2 Phi(z)), never above it, and its first two derivatives.

    >>> [round(x, 4) for x in tail(0.0)]
    [0.0, 0.7979, 0.3634]
    """
    if z < -1e150:  # 1/z^2 would be lost
        return -math.inf, 0.0, 0.0
    # Phi(z) > phi(z) |z| / (1 + z^2); the derivatives by their series, without the difference
    # of large numbers
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
    """F, its slope and its curvature where arm i is `up` below its mean and arm j `down` above its
    own; row: see `lowest`.
    """
    top, total, slope, bend = -math.inf, 0.0, 0.0, 0.0
    for k in range(row.shape[1]):
        first, second = (
            float(row[0, k]),
            float(row[1, k]),
        )  # plain floats: what is too large is infinite, without a warning
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
    """A step of Newton's towards the minimum of a convex function in [left, right], inside [low,
    high].
    """
    bound, end = (right, high) if slope < 0.0 else (left, low)
    step = abs(slope) / bend if abs(slope) < stride * bend else stride
    if bound == end:  # nothing is known of that side: a little too far gives a bracket
        step = max(BEYOND * step, 1e-6 * stride)
    x += step if slope < 0.0 else -step
    if not left < x < right:
        x = end if bound == end else 0.5 * (left + right)
    return x


@jitable
def lowest(
    row: Floats, sided: Floats, mean: float, other: float, x: float, low: float, high: float
) -> tuple[float, float]:
    """min of F over low <= x <= high, from below, and where it is. row[:3]: 1/width of arm i and of
    arm j, minus what the scale costs; row[6:]: what the arms have in a direction that they share.
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
    return value if value > -math.inf else -math.inf, at  # not a number: no evidence


@jitable
def price(prior: Floats, side: int, a: int, n: float, charge: Floats, wide: Floats) -> None:
    """The fees and widths of an arm with n values, for each scale."""
    for k in range(prior.shape[1]):
        c = prior[side, k]
        charge[side, a, k] = 0.5 * math.log1p(n / c)
        wide[side, a, k] = (n + c) / (n * n) if n > 0.0 else math.inf


@jitable
def direction(
    n: float, m: float, c: float, joint: float, variance: float, other: float
) -> tuple[float, float, float]:
    """What a unit of either arm is in the direction that both share, in standard deviations, and
    its fee.
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
    """The mixture at most, where arm i is `up` below its mean and arm j `down` above its own, with
    ln 2 for ln(2 Phi); infinity where that is no help.
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
    """An e-process for every exchange of arm i of the leader for arm j. Structures take it for
    `RewardKernel`, with its least logarithm over the means at which j is as good as i for a distance.
    """

    @property
    def argmin(self) -> Floats:
        """Where the minimum is that `minimise` took last: the mean that both arms have there."""

    @property
    def cutoff(self) -> Floats:
        """Pairs that are surely above it are of no interest."""

    @property
    def max_bonus(self) -> float:
        """What the logarithm exceeds the likelihood ratio of the nearest pair by, at most."""

    def update_pairs(self, stats: Statistics, best: Floats, weight: Floats) -> None:
        """Once a round: write what each arm weighs where the nearest pair is looked for, and
        seen.worth.
        """

    def prepare_arm(self, a: int, side: int) -> None:
        """Bring up to date what is kept of an arm; side: 0 as an arm i, 1 as an arm j."""

    def minimise(self, mean: Floats, i: int, j: int, enough: float) -> float:
        """The least logarithm over the means that M allows, from below, for arms that are ready; or
        any lower bound that is above `enough`.
        """

    def upper_bound(self, mean: Floats, i: int, j: int, x: float) -> float:
        """What `minimise` is at most, by the mean x of both arms; infinity where that is no help."""


@jitable
def exchanged(
    pairs: PairEvidence, mean: Floats, arms: Ints, sign: Floats, alternative: Floats
) -> float:
    """`RewardKernel.transportation_cost` of an exchange."""
    i, j = (arms[0], arms[1]) if sign[0] < 0.0 else (arms[1], arms[0])
    pairs.prepare_arm(i, 0)
    pairs.prepare_arm(j, 1)
    value = pairs.minimise(mean, i, j, math.inf)
    alternative[i] = alternative[j] = pairs.argmin[0]
    return value


@jitable
def scanned(pairs: PairEvidence, mean: Floats, i: int, taken: Floats, value: Floats) -> int:
    """`RewardKernel.cheapest_challenger` of exchanges: exactly, but that a pair is left as soon as it is surely
    beyond the nearest so far, or the bar.
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
    """Default methods of `PairEvidence`: the exchange of a pair in the place of `RewardKernel`."""

    low: Floats
    high: Floats
    argmin: Floats

    def project(self, x: float, arm: int) -> float:
        """Return the possible mean nearest to x."""
        return float(min(max(x, self.low[arm]), self.high[arm]))

    def transportation_cost(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        """Return the least logarithm of the pair in `arms`; see `exchanged`."""
        every: Any = self
        return exchanged(every, mean, arms, sign, alternative)

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        """Find the cheapest exchange of arm i; see `scanned`."""
        every: Any = self
        return scanned(every, mean, i, taken, value)

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        """Find the cheapest exchange of any arm; see `rewards.base.swapped`."""
        every: Any = self
        swapped(every, mean, weight, best, self.argmin, value)


@kernel(PairDefaults)
class KnownVariancePairKernel(NamedTuple):
    """The mixture itself, for exchanges of arm i of the leader for arm j: as `RewardKernel`, with
    evidence less fees for a distance.

    At means with y_i = y_j = x its logarithm is F(x) = ln sum_k p_k exp(g_k(mean_i - x, N_i) +
    g_k(x - mean_j, N_j)), convex in x, where g(u, N) = z^2/2 + ln(2 Phi(z)) - ln(1 + N/c)/2, z = u
    N / (sigma sqrt(N + c)): a half-normal mixture, since only an arm i that looks too good and an
    arm j that looks too bad can mislead. Where `sided` is 0 it is the normal one, without ln(2
    Phi): better for an arm that is known far more precisely than the other, and right for all
    smaller variances too. Where `joint` is not 0 both arms are normal about a half-normal direction
    that they share (Theorem 6 of docs/thresholds.md with weights 1): one fee in place of two, for
    arms that have been played alike.
    """

    counts: Floats  # those of what was seen
    variance: Floats
    low: Floats
    high: Floats
    prior: Fixed  # float64[2, k]: c as an arm i and as an arm j, per scale
    cost: Fixed  # ln 1/p
    sided: Fixed  # float64[2, k]: 1 for a half-normal distribution, 0 for a normal one
    joint: Fixed  # float64[k]: c of a direction that both arms share; 0: there is none
    done: Floats  # float64[2, d]: N for which the next two are right, as an arm i and as an arm j
    charge: Floats  # float64[2, d, k]: ln(1 + N/c) / 2
    wide: Floats  # float64[2, d, k]: (N + c)/N^2
    cutoff: Floats  # float64[1]
    max_bonus: float  # 0: no mixture of likelihoods is above the largest
    row: Floats  # float64[8, k] scratch
    argmin: Floats  # float64[1] scratch

    def update_pairs(self, stats: Statistics, best: Floats, weight: Floats) -> None:
        for a in range(weight.size):
            weight[a] = stats.counts[a] / self.variance[a]
            stats.effective_counts[a] = weight[a] * self.variance[a]

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        """Exactly, but for arms that are surely beyond the nearest so far, or the bar. (A call on a
        part costs more than a pair.)
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
        """The fees and widths of an arm, if its count has changed."""
        n = self.counts[a]
        if n != self.done[side, a]:
            self.done[side, a] = n
            price(self.prior, side, a, n, self.charge, self.wide)

    def upper_bound(self, mean: Floats, i: int, j: int, x: float) -> float:
        """F(x) is at most this, since ln(2 Phi) is at most ln 2."""
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
        """min of F over the x that M allows, from below."""
        low, high = float(max(self.low[i], self.low[j])), float(min(self.high[i], self.high[j]))
        one, other = float(mean[i]), float(mean[j])
        self.argmin[0] = x = min(max(0.5 * (one + other), low), high)
        if self.high[i] < self.low[j]:
            return 0.0  # not enough for any delta
        if low > high:
            return math.inf  # j is never as good as i
        most, lead, row = -math.inf, one - other, self.row
        if lead < 0.0 and low == -math.inf and high == math.inf:
            return (
                -math.inf
            )  # j is better; only where bounds, which epsilon does without, made i the leader
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
    """Whether F of a pair is surely above `best`: one scale at its own minimum, without Phi, is.

    ln(2 Phi) is not negative between the means. If both arms have it, their sum is concave in x, so
    at least 0.69, which it is at both ends if z of either arm is 3 or more at the other's mean. And
    F falls at mean_j, where z_i^2 >= 0.8 z_j, and rises at mean_i.
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


@kernel(StoppingDefaults)
class PairStoppingKernel(NamedTuple):
    """Where answers differ by exchanges: the least of the mixture over all pairs; or that of some
    pair, while it is too little.
    """

    threshold: Threshold
    rewards: RewardKernel  # by which the nearest pair is found
    pairs: PairEvidence
    foresight: PenaltyForecastKernel
    shift: float  # what the leader's arms are lifted by: epsilon per arm
    floor: float  # the lowest threshold
    mean: Floats  # scratch
    weight: Floats
    arms: Ints
    sign: Floats
    rival: Floats  # the weakest when all pairs were looked at last
    other: Floats
    alternative: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        best, rival, alternative = state.leader, state.rival, state.alternative_means
        self.pairs.update_pairs(stats, best, self.weight)
        for a in range(best.size):
            self.mean[a] = stats.mean[a] + self.shift * best[a]
        value = problem.answers.nearest_alternative(
            self.rewards, self.mean, self.weight, best, rival, alternative
        )
        value = self.pass_by(value, best, rival, alternative)
        if value > self.floor and self.exchanges(best, self.rival):
            least = self.evidence_against(problem, stats, best, self.rival)
            if least < value:  # there is hardly a pair with less than the one weakest last
                value = least
                for a in range(best.size):
                    rival[a], alternative[a] = self.rival[a], self.alternative[a]
        if value > self.floor:
            self.pairs.cutoff[0] = value
            least = self.sweep(problem, best, self.other, self.alternative)
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

    def pass_by(self, ratio: float, best: Floats, rival: Floats, alternative: Floats) -> float:
        """The evidence against the nearest pair, whose likelihood ratio is given; something above
        it if not even that is enough to stop.
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
        """Whether two answers differ by an exchange."""
        n = differ(best, rival, self.arms, self.sign)
        return n == 2 and self.sign[0] != self.sign[1]

    def sweep(
        self, problem: ProblemKernel, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        """Over all pairs, at the lifted means."""
        pairs: Any = self.pairs
        return problem.answers.nearest_alternative(
            pairs, self.mean, self.weight, best, rival, alternative
        )

    def expected_growth(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        n = differ(best, rival, self.arms, self.sign)
        return self.foresight.expect(stats, self.mean, self.arms, self.sign, n)

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        return self.foresight.charged(stats, self.mean, arms, sign, n)

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        value = self.sweep(problem, best, rival, alternative)
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return value

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        pairs: Any = self.pairs
        return against(
            pairs, self.mean, self.weight, best, self.arms, self.sign, rival, self.alternative
        )
