"""Intervals for the means, and for the lead of an answer over a rival, that hold at all times at
once (Theorem 9 of docs/thresholds.md).

Each of the d arms has a martingale that begins at 1, and so has each pair of answers (I, J): the
product of its arms' in S = I xor J, mixed over scales. Half of delta is spread evenly over the
arms, half over the sets S with shares pi(S). With probability 1 - delta no arm's ever exceeds 2 d /
delta and no pair's exceeds 2 / (pi(S) delta): all means, and all leads, are in their intervals,
together and at all times.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from ..game.blocks import Blocks
from ..game.protocols import Rewards
from ..game.records import Floats, Ints, Seen
from ..game.rivals import differ
from ..problem import Problem
from ..rewards import License
from ..rewards.base import claimed, licensed, spread_of
from ..rewards.gaussian import FINE, resolved
from ..stopping.base import ours
from ..stopping.bernoulli import beta_regret
from ..stopping.levels import CHANCES, RATIOS, SHAVE, seen_within
from ..stopping.one_variance import VariancePart, variance_part
from ..stopping.pooled import ratios, spotted
from ..stopping.students import LIFT, climb, remainder
from ..stopping.students import SCALES as STUDENTS

# c and its chance, chosen before the data: how many values the prior of an arm is worth
SCALES = np.array([(1.0, 0.35), (10.0, 0.3), (100.0, 0.25), (1000.0, 0.1)])
CELLS = 32  # in which the deviations of two arms with unknown variances may add up to a sum
SLACK = 1e-9  # what a level is raised by, relative and absolute: more than rounding can take off


class Lead(NamedTuple):
    """By how much an answer leads a rival, in the unit of measurement; infinite ends: not known."""

    value: float
    low: float
    high: float


class Deviations(Protocol):
    """How far means may be from what was seen while a martingale is below exp(level)."""

    def arm(self, a: int, level: float) -> tuple[float, float]:
        """The means that arm a may have."""

    def lead(self, arms: Ints, sign: Floats, level: float) -> float:
        """By how much, at most, the sum of sign * mean over these arms exceeds what was seen;
        infinity: it is not known.
        """


def largest(blur: Floats, fee: Floats, level: float) -> float:
    """The u at which a mixture of exp(u^2 / (2 blur) - fee) reaches exp(level), from above."""
    low, high = 0.0, float(np.sqrt(2.0 * blur * (level + fee)).min())
    for _ in range(50):
        middle = 0.5 * (low + high)
        enough = np.logaddexp.reduce(middle * middle / (2.0 * blur) - fee) > level
        low, high = (low, middle) if enough else (middle, high)
    return high


class Known(NamedTuple):
    """Sub-Gaussian values: (1 + N/c)^(-1/2) exp(N^2 u^2 / (2 variance (N + c))) for a mean that is
    off by u, mixed over c.
    """

    seen: Seen
    variance: Floats

    def arm(self, a: int, level: float) -> tuple[float, float]:
        far = self.lead(np.array([a]), np.ones(1), level)
        return float(self.seen.mean[a]) - far, float(self.seen.mean[a]) + far

    def lead(self, arms: Ints, sign: Floats, level: float) -> float:
        """The least exponent of a scale, for deviations that add up to u, is u^2 / (2 blur)."""
        n, c = self.seen.counts[arms][:, None], SCALES[:, 0]
        if not (n > 0.0).all():
            return math.inf
        blur = (self.variance[arms][:, None] * (n + c) / (n * n)).sum(axis=0)
        return largest(blur, 0.5 * np.log1p(n / c).sum(axis=0) - np.log(SCALES[:, 1]), level)


class Coins(NamedTuple):
    """Values 0 or 1: the Beta(1/2, 1/2) mixture over their likelihood, exp(N kl(mean, x) -
    regret).
    """

    seen: Seen
    rewards: Rewards

    def regret(self, a: int) -> float:
        return beta_regret(float(self.seen.counts[a]), float(self.seen.sums[a]))

    def arm(self, a: int, level: float) -> tuple[float, float]:
        n, mean = float(self.seen.counts[a]), float(self.seen.mean[a])
        if not n > 0.0:
            return -math.inf, math.inf
        budget = (level + self.regret(a)) / n
        return self.rewards.lower(mean, budget, a), self.rewards.upper(mean, budget, a)

    def lead(self, arms: Ints, sign: Floats, level: float) -> float:
        """Lagrange: for every slope > 0 the largest sum minus (cost - budget) / slope is a bound;
        the best one is where cost = budget.
        """
        budget = level + sum(self.regret(int(a)) for a in arms)

        def bound(slope: float) -> tuple[float, float]:
            total, cost = 0.0, 0.0
            for a, s in zip(arms, sign, strict=True):
                n, mean = float(self.seen.counts[a]), float(self.seen.mean[a])
                if n > 0.0:
                    off, price, _ = self.rewards.step(mean, n, float(s) * slope, int(a))
                    total, cost = total + float(s) * off, cost + price
                else:
                    total += abs(self.rewards.project(math.copysign(math.inf, s), int(a)) - mean)
            return total + (budget - cost) / slope, cost

        low, high, best = 1e-12, 1e12, math.inf
        for _ in range(100):
            slope = math.sqrt(low * high)
            most, cost = bound(slope)
            best = min(best, most)
            low, high = (slope, high) if cost < budget else (low, slope)
        return best


class Students(NamedTuple):
    """Gaussian values of unknown variances, each arm its own: L(x) of the theorem about exchanges,
    which is least over all variances and rises with the distance from the mean.
    """

    seen: Seen

    def rise(self, a: int, far: Floats) -> Floats:
        """float64[distances, scales]: ln Z of an arm at these distances from its mean."""
        n = float(self.seen.counts[a])
        per = n / ((1.0 + 4.0 / FINE) * float(self.seen.squares[a]))
        out = np.empty((far.size, len(STUDENTS)))
        for k, (c, h) in enumerate(STUDENTS[:, 2:4]):
            b, power = h / (1.0 + LIFT / c), h + 0.5 * n
            fee = 0.5 * math.log1p(n / c) + 0.5 * math.log(power / h)
            fee += remainder(h) - remainder(power) + h * math.log1p(LIFT / c) + b - h
            out[:, k] = [climb(float(x), per, n, c, h, b)[0] - fee for x in far]
        return out

    def arm(self, a: int, level: float) -> tuple[float, float]:
        far = self.lead(np.array([a]), np.ones(1), level)
        return float(self.seen.mean[a]) - far, float(self.seen.mean[a]) + far

    def lead(self, arms: Ints, sign: Floats, level: float) -> float:
        """Two deviations that add up to u: in one of the cells the first is at least share * u and
        the second at least (1 - share - 1/CELLS) * u.
        """
        if arms.size > 2 or not all(resolved(self.seen, int(a)) for a in arms):
            return math.inf
        chance = np.log(STUDENTS[:, 4])
        share = np.arange(CELLS) / CELLS

        def passed(u: float) -> bool:
            if arms.size == 1:
                total = self.rise(int(arms[0]), np.array([u]))
            else:
                total = self.rise(int(arms[0]), share * u)
                total = total + self.rise(int(arms[1]), share[::-1] * u)
            return bool((np.logaddexp.reduce(total + chance, axis=1) > level).all())

        scale = math.sqrt(float((self.seen.squares[arms] / self.seen.counts[arms]).max()))
        low, high = 1e-6 * scale, 1e9 * scale
        if not passed(high):
            return math.inf  # too few values for any bound
        while high > 1.0005 * low:
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (low, middle) if passed(middle) else (middle, high)
        return high


class OneSigma(NamedTuple):
    """Gaussian values with one unknown variance: exp(u^2 / (2 blur variance) - fee), mixed over
    scales, times what was seen of the variance; the least over all variances (Theorems 10 and 12).
    """

    line: VariancePart
    variance: float  # that was seen; infinite: nothing can be said yet
    degrees: float  # of how many squares it is the mean

    def farthest(self, blur: Floats, fee: Floats, level: float) -> float:
        """How far a sum of means may be off."""
        if not self.variance < math.inf:
            return math.inf
        self.line.row[2] = -fee

        def passed(u: float) -> bool:
            self.line.row[0] = u / np.sqrt(blur)
            return self.line.over_variances(1.0, 0.0, 0.0, self.degrees, level)[0] > level

        low, high = 0.0, float(np.sqrt(2.0 * blur * (level + fee)).min())
        while not passed(high):
            low, high = high, 2.0 * high
            if high > 1e9 * math.sqrt(float(blur.max())):
                return math.inf  # too few squares for any bound
        while high - low > 1e-4 * high:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if passed(middle) else (middle, high)
        return high * math.sqrt(self.variance)


def one_sigma(variance: float, degrees: float, ratio: Floats | None = None) -> OneSigma:
    line = variance_part(np.zeros((2, len(SCALES))), ratio)
    line.row[1] = 1.0
    return OneSigma(line, variance, degrees)


class Pooled(NamedTuple):
    """Gaussian values with one unknown variance for all arms of a group."""

    seen: Seen
    state: Floats  # float64[2, groups]: see `pooled.spotted`

    def arm(self, a: int, level: float) -> tuple[float, float]:
        far = self.lead(np.array([a]), np.ones(1), level)
        return float(self.seen.mean[a]) - far, float(self.seen.mean[a]) + far

    def lead(self, arms: Ints, sign: Floats, level: float) -> float:
        """As `Known` has it, for each variance; for arms of one group."""
        n, c, g = self.seen.counts[arms][:, None], SCALES[:, 0], self.seen.group[arms]
        if not (n > 0.0).all() or (g != g[0]).any():
            return math.inf
        blur, fee = ((n + c) / (n * n)).sum(axis=0), 0.5 * np.log1p(n / c).sum(axis=0)
        variance, degrees = self.state[:, g[0]].tolist()
        made = one_sigma(variance, degrees)
        return made.farthest(blur, fee - np.log(SCALES[:, 1]), level)


def within_plays(problem: Problem, blocks: Blocks, i: int, j: int, delta: float) -> Lead:
    """The lead of arm i over arm j where plays have levels; its interval holds for all pairs, and
    at all times, with probability 1 - delta (Theorem 13).
    """
    sure, d = float(blocks.sure[i, j]), problem.d
    if not sure > 0.0:
        return Lead(0.0, -math.inf, math.inf)
    first, second = float(blocks.precision[i]), float(blocks.precision[j])
    c = SCALES[:, 0] * (first / (first + second) * second)
    blur = (sure + c) / (sure * sure)
    fee = 0.5 * np.log1p(sure / c) - np.log(SCALES[:, 1])
    level = _raised(math.log(0.5 * d * (d - 1.0) / delta))
    if problem.rewards.known:
        far = largest(blur, fee, level)
    else:
        variance, degrees = seen_within(blocks), float(blocks.noise[0, 0])
        far = one_sigma(variance, degrees, ratios(RATIOS, CHANCES)).farthest(blur, fee, level)
    value = float(blocks.lead[i, j]) / sure
    far += SHAVE * abs(value)
    return Lead(value, value - far, value + far)


def deviations(problem: Problem, seen: Seen, rewards: Rewards) -> Deviations | None:
    """What suits the rewards; None: nothing is known of their spread. rewards: the part in use."""
    says = claimed(problem.rewards)
    if problem.rewards.levels():
        return None  # of single means: arms are compared within plays
    if License.BINARY in says:
        return Coins(seen, rewards)
    if problem.rewards.pooled:
        state = np.zeros((2, seen.noise.shape[1]))
        spotted(seen, state)
        return Pooled(seen, state) if License.NORMAL in says else None
    if not problem.rewards.known:
        return Students(seen) if License.NORMAL in says else None
    spread = spread_of(problem.rewards, problem.d)
    return None if spread is None else Known(seen, spread**2)


def covered(problem: Problem) -> bool:
    """Whether the intervals are proved: the rewards say themselves what the theorem needs."""
    held = licensed(problem.rewards)
    needs = License.SUB_GAUSSIAN if problem.rewards.known else License.NORMAL
    return bool(held & {License.BINARY, License.LEVELLED, needs})


def intervals(problem: Problem, seen: Seen, rewards: Rewards, delta: float) -> Floats:
    """float64[2, d]: the low and the high ends of all means."""
    ends = np.array([problem.low, problem.high], dtype=float)
    known = deviations(problem, seen, rewards)
    if known is not None:
        level = _raised(math.log(2.0 * problem.d / delta))
        for a in np.flatnonzero(seen.counts > 0.0):
            low, high = known.arm(int(a), level)
            ends[0, a], ends[1, a] = max(low, ends[0, a]), min(high, ends[1, a])
    return ends


def lead(
    problem: Problem,
    seen: Seen,
    rewards: Rewards,
    best: Floats,
    rival: Floats,
    delta: float,
    ends: Floats,
) -> Lead:
    """Of `best` over `rival`. ends: the intervals of the arms at the same delta, with which it is
    consistent.
    """
    arms, sign = np.zeros(problem.d, np.int64), np.zeros(problem.d)
    n = differ(rival, best, arms, sign)  # +1 for the arms that only best has
    arms, sign = arms[:n], sign[:n]
    value = math.fsum(sign * seen.mean[arms])
    if problem.rewards.levels():  # answers differ by an exchange
        i, j = arms[sign > 0.0], arms[sign < 0.0]
        if i.size == j.size == 1:
            found = within_plays(problem, seen.blocks, int(i[0]), int(j[0]), delta)
            return found._replace(value=value)
        return Lead(value, -math.inf, math.inf)
    low = math.fsum(sign * np.where(sign > 0.0, ends[0, arms], ends[1, arms]))
    high = math.fsum(sign * np.where(sign > 0.0, ends[1, arms], ends[0, arms]))
    known, price = deviations(problem, seen, rewards), charge(problem, arms, sign)
    if known is not None and price < math.inf:
        level = _raised(math.log(2.0 / delta) + price)
        low = max(low, value - known.lead(arms, -sign, level))
        high = min(high, value + known.lead(arms, sign, level))
    return Lead(value, low, high)


def charge(problem: Problem, arms: Ints, sign: Floats) -> float:
    """ln 1/pi(S). Where answers differ by exchanges, all pairs of arms share alike. Elsewhere they
    have half, and the other sets the other half: spread over all pairs of answers, if it is this
    package that counted them, or by the numbers p and q of arms on the two sides and then evenly.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(5), rewards=cg.Gaussian(1.0))
    >>> round(math.exp(charge(problem, np.array([0, 3]), np.array([1.0, -1.0]))), 9)
    10.0
    """
    d, many = problem.d, int((sign > 0.0).sum())
    few = arms.size - many
    swaps = problem.answers.exchange().swaps
    if many == few == 1:
        return math.log(0.5 * d * (d - 1.0)) + (0.0 if swaps else math.log(2.0))
    if swaps:
        return math.inf
    by_size = math.log(1.5) + arms.size * math.log(2.0) + _choose(d, many) + _choose(d - many, few)
    counted = math.inf
    if ours(problem.answers):
        sets = problem.answers.size_bound()
        counted = math.log(sets) + math.log(max(sets - 1, 1)) - math.log(2.0)
    return math.log(4.0) + min(by_size, counted)


def _choose(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


def _raised(level: float) -> float:
    return level * (1.0 + SLACK) + SLACK
