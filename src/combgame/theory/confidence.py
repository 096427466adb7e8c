"""Intervals for the means, and for the lead of an answer over a rival, that hold at all times at
once (Theorem 9 of docs/thresholds.md).

Each of the d arms has a martingale that begins at 1, and so has each pair of answers (I, J): the
product of its arms' in S = I xor J, mixed over scales. Half of delta is spread evenly over the
arms, half over the sets S with shares pi(S). With probability 1 - delta no arm's ever exceeds 2 d /
delta and no pair's exceeds 2 / (pi(S) delta): all means, and all leads, are in their intervals,
together and at all times.

A heuristic: the chance that an answer is the best, if the means were thought before the data to
be normal about some value, with some spread.

It is what many people mean by "how sure are we", and no confidence: it takes a prior for true, and
knows nothing of how often one has looked. All means equally likely, a flat prior, would be simpler;
but among many arms that are nearly alike the one that looks best is hardly ever the best, and a
flat prior does not know that they are alike. So their spread tau is drawn from what the data say of
it, p(tau) being flat, and given tau the means are shrunk towards each other (Gelman et al.,
*Bayesian Data Analysis*, 3rd ed. 2013, section 5.4). Of two arms nothing can be said of tau, and
the prior is flat. `benchmarks/chance.py` compares what is stated with what is true.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine.block_effects import BatchEstimator
from ..engine.likelihood_ratio import differ
from ..engine.protocols import ProblemKernel, RewardKernel
from ..engine.state import Floats, Ints, Random, vector
from ..engine.statistics import Statistics
from ..engine.user_code import own_errors
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import claimed_assumptions, spread_of, valid_assumptions
from ..rewards.gaussian import FINE, LEAN, resolved
from ..stopping.base import ours
from ..stopping.block_effects import CHANCES, RATIOS, SHAVE, seen_within
from ..stopping.mixture_unknown_variance import LIFT, climb, remainder
from ..stopping.mixture_unknown_variance import SCALES as STUDENTS
from ..stopping.penalised import beta_regret
from ..stopping.variance import VarianceKernel, ratios, spotted, variance_part
from ..structures import Arms
from ..structures.partition import exchangeable
from .complexity import order_of

DRAWS, EFFORT = 4000, 200_000  # of means, at most; and times the number of arms
LEAST = 400
GRID, NARROW, WIDE = 60, 1e-2, 30.0  # spreads of the means, in units of what was seen


def variances(problem: Problem, stats: Statistics, rewards: RewardKernel) -> Floats:
    """Of one value of each arm, as far as is known: stated, or estimated."""
    if not problem.rewards.variance_known:
        believed: Floats = rewards.spreads.believed  # type: ignore[attr-defined]
        return believed.copy()
    spread = spread_of(problem.rewards, problem.d)
    stated = np.full(problem.d, np.nan) if spread is None else spread**2
    says = claimed_assumptions(problem.rewards)
    if Assumption.BINARY in says:
        share = (stats.sums + 1.0) / (stats.counts + 2.0)
        return np.asarray(share * (1.0 - share))
    if says & {Assumption.GAUSSIAN, Assumption.LEVELLED}:
        return stated
    seen_too: Floats = (stats.squares + stated) / np.maximum(
        stats.counts, 1.0
    )  # a bound, not a fact
    return seen_too


def posterior(
    problem: Problem, stats: Statistics, rewards: RewardKernel, rng: Random, draws: int
) -> tuple[Floats, Floats]:
    """float64[draws, d]: means that would explain what was seen, and variances of one value. Arms
    draw in the order of their values, so their numbers change nothing.
    """
    order = order_of(problem, stats.mean, stats.counts, stats.squares)
    n, mean = stats.counts[order], stats.mean[order]
    variance = np.broadcast_to(variances(problem, stats, rewards)[order], (draws, problem.d)).copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        if Assumption.BINARY in claimed_assumptions(problem.rewards):
            ones = np.clip(stats.sums[order], 0.0, n)
            drawn = rng.beta(ones + 1.0, n - ones + 1.0, (draws, problem.d))
            variance = drawn * (1.0 - drawn)
        else:
            if not problem.rewards.variance_known:
                variance *= _scaled(variance[0], n, rng, draws, LEAN)
            drawn = mean + np.sqrt(variance / n) * rng.standard_normal((draws, problem.d))
    means, spreads = np.empty_like(drawn), np.empty_like(drawn)
    means[:, order] = np.clip(drawn, np.array(problem.low)[order], np.array(problem.high)[order])
    spreads[:, order] = variance
    return means, spreads


def _lean(problem: Problem) -> float:
    """Values as if by which an estimated variance is pulled to that of other arms."""
    return 0.0 if problem.rewards.variance_shared else LEAN


def _scaled(believed: Floats, n: Floats, rng: Random, draws: int, lean: float) -> Floats:
    """Factors by which variances may differ from their estimates: arms with the same estimate share
    one variance. lean: degrees of freedom that it has beside those of its values.
    """
    _, group = np.unique(believed, return_inverse=True)
    degrees = np.bincount(group, np.maximum(n - 1.0, 0.0)) + lean
    first = np.unique(group, return_index=True)[1]
    factor = np.empty((draws, degrees.size))
    for g in np.argsort(first):  # in the order of the arms
        factor[:, g] = degrees[g] / rng.chisquare(degrees[g], draws)
    return factor[:, group]


def posterior_probability_best(
    problem: Problem, kernel: ProblemKernel, stats: Statistics, best: Floats
) -> float | None:
    """That `best` is the best answer; None while too little is known to say: an arm that matters
    has no value, nothing tells of an unknown sigma, or, where plays have levels, arms that could be
    exchanged are not joined by complete blocks. For two arms with a known sigma in closed form,
    else from draws with a fixed seed.
    """
    needed = vector(problem.answers.relevant_arms(), problem.d) > 0.5
    if (stats.counts[needed] == 0.0).any():
        return None
    variance = variances(problem, stats, kernel.rewards)
    if not np.isfinite(variance).all() or not told_of_sigma(problem, stats):
        return None
    levels = problem.rewards.has_batch_effect()
    if levels and not joined(problem, stats):
        return None
    free = np.isinf(problem.low).all() and np.isinf(problem.high).all()
    normal = Assumption.GAUSSIAN in claimed_assumptions(problem.rewards)
    plain = isinstance(problem.answers, Arms) and problem.rewards.variance_known and normal
    if problem.d == 2 and plain and free:
        lead = float((2.0 * best - 1.0) @ stats.mean)
        return 0.5 * math.erfc(-lead / math.sqrt(2.0 * float((variance / stats.counts).sum())))
    draws = max(min(DRAWS, EFFORT // problem.d), LEAST)
    order = order_of(problem, stats.mean, stats.counts, stats.squares)
    make = _within if levels else _shrunk
    means = make(problem, stats, variance, order, np.random.default_rng(0), draws)
    if isinstance(problem.answers, Arms):
        return float((means.argmax(axis=1) == int(best.argmax())).mean())
    trial, hits = np.zeros(problem.d), 0
    with own_errors():
        for one in means:
            kernel.answers.argmax(one, trial)
            hits += bool((trial == best).all())
    return hits / draws


def told_of_sigma(problem: Problem, stats: Statistics) -> bool:
    """Whether some value tells of sigma, if it is not known."""
    if problem.rewards.variance_known:
        return True
    if problem.rewards.has_batch_effect():
        return bool(stats.batch.noise[:, 0].max() > 0.0)
    if problem.rewards.variance_shared and stats.in_initial_design[0]:
        return False  # a part of the start tells nothing
    return bool((stats.counts > 1.0).any())


def joined(problem: Problem, stats: Statistics) -> bool:
    """Whether complete blocks join all arms that could be exchanged for each other."""
    blocks = stats.batch
    return blocks.done[0] > 0 and all(
        bool((blocks.piece[list(arms)] == blocks.piece[arms[0]]).all())
        for arms in exchangeable(problem.answers)
    )


def _shrunk(
    problem: Problem, stats: Statistics, variance: Floats, order: Ints, rng: Random, draws: int
) -> Floats:
    """float64[draws, d]: means that would explain what was seen."""
    n, mean, own = stats.counts[order], stats.mean[order], variance[order]
    blur = np.where(n > 0.0, own / np.maximum(n, 1.0), math.inf)
    if Assumption.BINARY in claimed_assumptions(problem.rewards):
        mean = (stats.sums[order] + 1.0) / (n + 2.0)
        blur = np.where(n > 0.0, mean * (1.0 - mean) / (n + 3.0), math.inf)
    factor: Any = 1.0
    if not problem.rewards.variance_known:
        factor = _scaled(own, n, rng, draws, _lean(problem))
    drawn = _drawn(mean, blur, factor, True, rng, draws)
    means = np.empty_like(drawn)
    means[:, order] = np.clip(drawn, np.array(problem.low)[order], np.array(problem.high)[order])
    return means


def _within(
    problem: Problem, stats: Statistics, variance: Floats, order: Ints, rng: Random, draws: int
) -> Floats:
    """The same where plays have levels: what the least squares of all complete blocks say of
    differences, in directions in which they are independent. A prior that is alike for all arms is
    alike in these.
    """
    blocks, d = stats.batch, order.size
    weights = blocks.joined[:, :-1][np.ix_(order, order)]
    values, vectors = np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)
    told = values > 1e-9 * values[-1]  # but for the means of arms that are joined
    unit, factor = 1.0, np.ones((draws, 1))
    if not problem.rewards.variance_known:
        after = int(
            blocks.noise[1, 0] > 0.5 * blocks.noise[0, 0]
        )  # as `BatchEstimator.variance` has it
        degrees = float(blocks.noise[after, 0])
        unit, factor = blocks.variance(), degrees / rng.chisquare(degrees, (draws, 1))
    along, blur = vectors[:, told], unit / values[told]
    drawn = _drawn(along.T @ stats.mean[order], blur, factor, False, rng, draws)
    rest = vectors[:, ~told] @ (vectors[:, ~told].T @ stats.mean[order])
    means = np.empty((draws, d))
    means[:, order] = rest + drawn @ along.T
    return means


def _drawn(x: Floats, blur: Floats, factor: Any, about: bool, rng: Random, draws: int) -> Floats:
    """float64[draws, len(x)]: means of x with variances blur times factor, if they are normal
    about an unknown value (or, not `about`, about 0) with a spread that is drawn from what x says
    of it.
    """
    noise, told = rng.standard_normal((draws, x.size)), np.isfinite(blur)
    scale = math.sqrt(blur[told].max()) + float(np.ptp(x[told]))
    if told.sum() < 2 + about or not scale > 0.0:  # nothing tells of a spread
        return np.asarray(x + np.sqrt(blur * factor) * noise)
    stats, own = x[told], blur[told]
    tau = scale * np.geomspace(NARROW, WIDE, GRID)
    weight = 1.0 / (tau[:, None] ** 2 + own)
    total = weight.sum(axis=1)
    middle = weight @ stats / total if about else np.zeros(GRID)
    log = np.log(tau / scale) + 0.5 * np.log(weight * scale**2).sum(axis=1)
    log -= 0.5 * (weight * (stats - middle[:, None]) ** 2).sum(axis=1)
    log -= 0.5 * about * np.log(total * scale**2)
    odds = np.exp(log - log.max())
    at = rng.choice(GRID, draws, p=odds / odds.sum())
    centre = (middle[at] + about * rng.standard_normal(draws) / np.sqrt(total[at]))[:, None]
    square = tau[at, None] ** 2
    share = square / (square + blur * factor)  # of what was seen; the rest is the centre's
    return np.asarray(share * x + (1.0 - share) * centre + np.sqrt((1.0 - share) * square) * noise)


# c and its chance, chosen before the data: how many values the prior of an arm is worth
SCALES = np.array([(1.0, 0.35), (10.0, 0.3), (100.0, 0.25), (1000.0, 0.1)])
CELLS = 32  # in which the deviations of two arms with unknown variances may add up to a sum
SLACK = 1e-9  # what a level is raised by, relative and absolute: more than rounding can take off


class LeadBounds(NamedTuple):
    """By how much an answer leads a rival, in the unit of measurement; infinite ends: not known."""

    value: float
    low: float
    high: float


class ConfidenceSequence(Protocol):
    """How far means may be from what was seen while a martingale is below exp(level)."""

    def interval(self, a: int, level: float) -> tuple[float, float]:
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


class KnownVarianceCS(NamedTuple):
    """Sub-Gaussian values: (1 + N/c)^(-1/2) exp(N^2 u^2 / (2 variance (N + c))) for a mean that is
    off by u, mixed over c.
    """

    stats: Statistics
    variance: Floats

    def interval(self, a: int, level: float) -> tuple[float, float]:
        far = self.lead(np.array([a]), np.ones(1), level)
        return float(self.stats.mean[a]) - far, float(self.stats.mean[a]) + far

    def lead(self, arms: Ints, sign: Floats, level: float) -> float:
        """The least exponent of a scale, for deviations that add up to u, is u^2 / (2 blur)."""
        n, c = self.stats.counts[arms][:, None], SCALES[:, 0]
        if not (n > 0.0).all():
            return math.inf
        blur = (self.variance[arms][:, None] * (n + c) / (n * n)).sum(axis=0)
        return largest(blur, 0.5 * np.log1p(n / c).sum(axis=0) - np.log(SCALES[:, 1]), level)


class BernoulliCS(NamedTuple):
    """Values 0 or 1: the Beta(1/2, 1/2) mixture over their likelihood, exp(N kl(mean, x) -
    regret).
    """

    stats: Statistics
    rewards: RewardKernel

    def regret(self, a: int) -> float:
        return beta_regret(float(self.stats.counts[a]), float(self.stats.sums[a]))

    def interval(self, a: int, level: float) -> tuple[float, float]:
        n, mean = float(self.stats.counts[a]), float(self.stats.mean[a])
        if not n > 0.0:
            return -math.inf, math.inf
        budget = (level + self.regret(a)) / n
        return self.rewards.kl_lcb(mean, budget, a), self.rewards.kl_ucb(mean, budget, a)

    def lead(self, arms: Ints, sign: Floats, level: float) -> float:
        """Lagrange: for every slope > 0 the largest sum minus (cost - budget) / slope is a bound;
        the best one is where cost = budget.
        """
        budget = level + sum(self.regret(int(a)) for a in arms)

        def bound(slope: float) -> tuple[float, float]:
            total, cost = 0.0, 0.0
            for a, s in zip(arms, sign, strict=True):
                n, mean = float(self.stats.counts[a]), float(self.stats.mean[a])
                if n > 0.0:
                    off, price, _ = self.rewards.best_shift_with_gradient(
                        mean, n, float(s) * slope, int(a)
                    )
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


class UnknownVarianceCS(NamedTuple):
    """Gaussian values of unknown variances, each arm its own: L(x) of the theorem about exchanges,
    which is least over all variances and rises with the distance from the mean.
    """

    stats: Statistics

    def rise(self, a: int, far: Floats) -> Floats:
        """float64[distances, scales]: ln Z of an arm at these distances from its mean."""
        n = float(self.stats.counts[a])
        per = n / ((1.0 + 4.0 / FINE) * float(self.stats.squares[a]))
        out = np.empty((far.size, len(STUDENTS)))
        for k, (c, h) in enumerate(STUDENTS[:, 2:4]):
            b, power = h / (1.0 + LIFT / c), h + 0.5 * n
            fee = 0.5 * math.log1p(n / c) + 0.5 * math.log(power / h)
            fee += remainder(h) - remainder(power) + h * math.log1p(LIFT / c) + b - h
            out[:, k] = [climb(float(x), per, n, c, h, b)[0] - fee for x in far]
        return out

    def interval(self, a: int, level: float) -> tuple[float, float]:
        far = self.lead(np.array([a]), np.ones(1), level)
        return float(self.stats.mean[a]) - far, float(self.stats.mean[a]) + far

    def lead(self, arms: Ints, sign: Floats, level: float) -> float:
        """Two deviations that add up to u: in one of the cells the first is at least share * u and
        the second at least (1 - share - 1/CELLS) * u.
        """
        if arms.size > 2 or not all(resolved(self.stats, int(a)) for a in arms):
            return math.inf
        posterior_probability_best = np.log(STUDENTS[:, 4])
        share = np.arange(CELLS) / CELLS

        def passed(u: float) -> bool:
            if arms.size == 1:
                total = self.rise(int(arms[0]), np.array([u]))
            else:
                total = self.rise(int(arms[0]), share * u)
                total = total + self.rise(int(arms[1]), share[::-1] * u)
            return bool(
                (np.logaddexp.reduce(total + posterior_probability_best, axis=1) > level).all()
            )

        scale = math.sqrt(float((self.stats.squares[arms] / self.stats.counts[arms]).max()))
        low, high = 1e-6 * scale, 1e9 * scale
        if not passed(high):
            return math.inf  # too few values for any bound
        while high > 1.0005 * low:
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (low, middle) if passed(middle) else (middle, high)
        return high


class SharedSigmaCS(NamedTuple):
    """Gaussian values with one unknown variance: exp(u^2 / (2 blur variance) - fee), mixed over
    scales, times what was seen of the variance; the least over all variances (Theorems 10 and 12).
    """

    line: VarianceKernel
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


def one_sigma(variance: float, degrees: float, ratio: Floats | None = None) -> SharedSigmaCS:
    line = variance_part(np.zeros((2, len(SCALES))), ratio)
    line.row[1] = 1.0
    return SharedSigmaCS(line, variance, degrees)


class PooledVarianceCS(NamedTuple):
    """Gaussian values with one unknown variance for all arms of a group."""

    stats: Statistics
    state: Floats  # float64[2, groups]: see `variance_shared.spotted`

    def interval(self, a: int, level: float) -> tuple[float, float]:
        far = self.lead(np.array([a]), np.ones(1), level)
        return float(self.stats.mean[a]) - far, float(self.stats.mean[a]) + far

    def lead(self, arms: Ints, sign: Floats, level: float) -> float:
        """As `KnownVarianceCS` has it, for each variance; for arms of one group."""
        n, c, g = self.stats.counts[arms][:, None], SCALES[:, 0], self.stats.variance_group[arms]
        if not (n > 0.0).all() or (g != g[0]).any():
            return math.inf
        blur, fee = ((n + c) / (n * n)).sum(axis=0), 0.5 * np.log1p(n / c).sum(axis=0)
        variance, degrees = self.state[:, g[0]].tolist()
        made = one_sigma(variance, degrees)
        return made.farthest(blur, fee - np.log(SCALES[:, 1]), level)


def within_plays(
    problem: Problem, blocks: BatchEstimator, i: int, j: int, delta: float
) -> LeadBounds:
    """The lead of arm i over arm j where plays have levels; its interval holds for all pairs, and
    at all times, with probability 1 - delta (Theorem 13).
    """
    sure, d = float(blocks.sure[i, j]), problem.d
    if not sure > 0.0:
        return LeadBounds(0.0, -math.inf, math.inf)
    first, second = float(blocks.precision[i]), float(blocks.precision[j])
    c = SCALES[:, 0] * (first / (first + second) * second)
    blur = (sure + c) / (sure * sure)
    fee = 0.5 * np.log1p(sure / c) - np.log(SCALES[:, 1])
    level = _raised(math.log(0.5 * d * (d - 1.0) / delta))
    if problem.rewards.variance_known:
        far = largest(blur, fee, level)
    else:
        variance, degrees = seen_within(blocks), float(blocks.noise[0, 0])
        far = one_sigma(variance, degrees, ratios(RATIOS, CHANCES)).farthest(blur, fee, level)
    value = float(blocks.lead[i, j]) / sure
    far += SHAVE * abs(value)
    return LeadBounds(value, value - far, value + far)


def deviations(
    problem: Problem, stats: Statistics, rewards: RewardKernel
) -> ConfidenceSequence | None:
    """What suits the rewards; None: nothing is known of their spread. rewards: the part in use."""
    says = claimed_assumptions(problem.rewards)
    if problem.rewards.has_batch_effect():
        return None  # of single means: arms are compared within plays
    if Assumption.BINARY in says:
        return BernoulliCS(stats, rewards)
    if problem.rewards.variance_shared:
        state = np.zeros((2, stats.residuals.shape[1]))
        spotted(stats, state)
        return PooledVarianceCS(stats, state) if Assumption.NORMAL in says else None
    if not problem.rewards.variance_known:
        return UnknownVarianceCS(stats) if Assumption.NORMAL in says else None
    spread = spread_of(problem.rewards, problem.d)
    return None if spread is None else KnownVarianceCS(stats, spread**2)


def covered(problem: Problem) -> bool:
    """Whether the intervals are proved: the rewards say themselves what the theorem needs."""
    held = valid_assumptions(problem.rewards)
    needs = Assumption.SUB_GAUSSIAN if problem.rewards.variance_known else Assumption.NORMAL
    return bool(held & {Assumption.BINARY, Assumption.LEVELLED, needs})


def intervals(problem: Problem, stats: Statistics, rewards: RewardKernel, delta: float) -> Floats:
    """float64[2, d]: the low and the high ends of all means."""
    ends = np.array([problem.low, problem.high], dtype=float)
    known = deviations(problem, stats, rewards)
    if known is not None:
        level = _raised(math.log(2.0 * problem.d / delta))
        for a in np.flatnonzero(stats.counts > 0.0):
            low, high = known.interval(int(a), level)
            ends[0, a], ends[1, a] = max(low, ends[0, a]), min(high, ends[1, a])
    return ends


def lead(
    problem: Problem,
    stats: Statistics,
    rewards: RewardKernel,
    best: Floats,
    rival: Floats,
    delta: float,
    ends: Floats,
) -> LeadBounds:
    """Of `best` over `rival`. ends: the intervals of the arms at the same delta, with which it is
    consistent.
    """
    arms, sign = np.zeros(problem.d, np.int64), np.zeros(problem.d)
    n = differ(rival, best, arms, sign)  # +1 for the arms that only best has
    arms, sign = arms[:n], sign[:n]
    value = math.fsum(sign * stats.mean[arms])
    if problem.rewards.has_batch_effect():  # answers differ by an exchange
        i, j = arms[sign > 0.0], arms[sign < 0.0]
        if i.size == j.size == 1:
            found = within_plays(problem, stats.batch, int(i[0]), int(j[0]), delta)
            return found._replace(value=value)
        return LeadBounds(value, -math.inf, math.inf)
    low = math.fsum(sign * np.where(sign > 0.0, ends[0, arms], ends[1, arms]))
    high = math.fsum(sign * np.where(sign > 0.0, ends[1, arms], ends[0, arms]))
    known, price = deviations(problem, stats, rewards), charge(problem, arms, sign)
    if known is not None and price < math.inf:
        level = _raised(math.log(2.0 / delta) + price)
        low = max(low, value - known.lead(arms, -sign, level))
        high = min(high, value + known.lead(arms, sign, level))
    return LeadBounds(value, low, high)


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
    swaps = problem.answers.neighbourhood().is_swap
    if many == few == 1:
        return math.log(0.5 * d * (d - 1.0)) + (0.0 if swaps else math.log(2.0))
    if swaps:
        return math.inf
    by_size = math.log(1.5) + arms.size * math.log(2.0) + _choose(d, many) + _choose(d - many, few)
    counted = math.inf
    if ours(problem.answers):
        sets = problem.answers.n_sets_bound()
        counted = math.log(sets) + math.log(max(sets - 1, 1)) - math.log(2.0)
    return math.log(4.0) + min(by_size, counted)


def _choose(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


def _raised(level: float) -> float:
    return level * (1.0 + SLACK) + SLACK
