"""Confidence sequences for means and for the lead of an answer (Theorem 9 of docs/thresholds.md).

Each of the d arms has a martingale that begins at 1, and so has each pair of answers (I, J): the
product of the martingales of the arms in S = I xor J, mixed over scales. Half of delta is spread
evenly over the arms, half over the sets S with shares pi(S). With probability 1 - delta no arm's
martingale ever exceeds 2 d / delta and no pair's ever exceeds 2 / (pi(S) delta): all means, and all
leads, are in their intervals, jointly and at all times.

The module also has a heuristic: the posterior probability that an answer is the best, under a prior
by which the means are normal about some value with some standard deviation. Many people mean this
by "how sure are we", but it is no confidence: it takes a prior for true, and does not account for
how often the data were looked at. A flat prior, under which all means are equally likely, would be
simpler; but among many arms that are nearly equal the one that looks best is hardly ever the best,
and a flat prior does not know that they are nearly equal. So the standard deviation tau of the
means is drawn from its posterior, with p(tau) flat, and given tau the means are shrunk towards each
other (Gelman et al., *Bayesian Data Analysis*, 3rd ed. 2013, section 5.4). Two arms carry no
information on tau, and their prior is flat. `benchmarks/chance.py` compares
the stated probabilities with the true frequencies.
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
from ..stopping.block_effects import CHANCES, RATIOS, SHAVE, residual_variance
from ..stopping.mixture_unknown_variance import LIFT, climb, remainder
from ..stopping.mixture_unknown_variance import SCALES as STUDENTS
from ..stopping.penalised import beta_regret
from ..stopping.variance import VarianceKernel, ratios, spotted, variance_part
from ..structures import Arms
from ..structures.partition import exchangeable
from .complexity import order_of

DRAWS, EFFORT = 4000, 200_000  # largest number of draws, and of draws times arms
LEAST = 400  # smallest number of draws
GRID, NARROW, WIDE = 60, 1e-2, 30.0  # grid of tau, in units of the observed scale


def variances(problem: Problem, stats: Statistics, rewards: RewardKernel) -> Floats:
    """Return the variance of a value of each arm, stated or estimated."""
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
    bound: Floats = (stats.squares + stated) / np.maximum(
        stats.counts, 1.0
    )  # the stated scale is only a bound
    return bound


def posterior(
    problem: Problem, stats: Statistics, rewards: RewardKernel, rng: Random, draws: int
) -> tuple[Floats, Floats]:
    """Draw means and variances from their posterior; both results have shape (draws, d).

    Arms draw in the order of their values, so the order of the arms does not matter.
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
    """Return the pseudo-values by which an arm's variance estimate is shrunk to the others."""
    return 0.0 if problem.rewards.variance_shared else LEAN


def _scaled(believed: Floats, n: Floats, rng: Random, draws: int, lean: float) -> Floats:
    """Draw factors by which variances may differ from their estimates.

    Arms with the same estimate share one variance. `lean` is added to the degrees of freedom of the
    values.
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
    """Return the posterior probability that `best` is the best answer.

    The result is None while too little is known: a relevant arm has no value, no value carries
    information on an unknown sigma, or, with batch effects, arms that could be exchanged are not
    connected by complete blocks. For two arms with known sigma the probability is in closed form;
    otherwise it is computed from draws with a fixed seed.
    """
    needed = vector(problem.answers.relevant_arms(), problem.d) > 0.5
    if (stats.counts[needed] == 0.0).any():
        return None
    variance = variances(problem, stats, kernel.rewards)
    if not np.isfinite(variance).all() or not informs_on_sigma(problem, stats):
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


def informs_on_sigma(problem: Problem, stats: Statistics) -> bool:
    """Return whether sigma is known or some value carries information on it."""
    if problem.rewards.variance_known:
        return True
    if problem.rewards.has_batch_effect():
        return bool(stats.batch.noise[:, 0].max() > 0.0)
    if problem.rewards.variance_shared and stats.in_initial_design[0]:
        return False  # an incomplete initial design carries no information
    return bool((stats.counts > 1.0).any())


def joined(problem: Problem, stats: Statistics) -> bool:
    """Return whether complete blocks connect all arms that could be exchanged for each other."""
    blocks = stats.batch
    return blocks.done[0] > 0 and all(
        bool((blocks.component[list(arms)] == blocks.component[arms[0]]).all())
        for arms in exchangeable(problem.answers)
    )


def _shrunk(
    problem: Problem, stats: Statistics, variance: Floats, order: Ints, rng: Random, draws: int
) -> Floats:
    """Draw means from their posterior; the result has shape (draws, d)."""
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
    """Draw means from their posterior under batch effects.

    The least squares of all complete blocks estimate differences, in directions in which they are
    independent. A prior that is the same for all arms is the same for all of these directions.
    """
    blocks, d = stats.batch, order.size
    weights = blocks.normal_equations[:, :-1][np.ix_(order, order)]
    values, vectors = np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)
    informative = values > 1e-9 * values[-1]  # excludes the means of connected arms
    unit, factor = 1.0, np.ones((draws, 1))
    if not problem.rewards.variance_known:
        after = int(
            blocks.noise[1, 0] > 0.5 * blocks.noise[0, 0]
        )  # as in `BatchEstimator.variance`
        degrees = float(blocks.noise[after, 0])
        unit, factor = blocks.variance(), degrees / rng.chisquare(degrees, (draws, 1))
    along, blur = vectors[:, informative], unit / values[informative]
    drawn = _drawn(along.T @ stats.mean[order], blur, factor, False, rng, draws)
    rest = vectors[:, ~informative] @ (vectors[:, ~informative].T @ stats.mean[order])
    means = np.empty((draws, d))
    means[:, order] = rest + drawn @ along.T
    return means


def _drawn(x: Floats, blur: Floats, factor: Any, about: bool, rng: Random, draws: int) -> Floats:
    """Draw the means of estimates x with variances blur times factor.

    The result has shape (draws, len(x)). The means are taken to be normal about an unknown value
    (or about 0, if not `about`), with a standard deviation that is drawn from its posterior given
    x.
    """
    noise, informative = rng.standard_normal((draws, x.size)), np.isfinite(blur)
    scale = math.sqrt(blur[informative].max()) + float(np.ptp(x[informative]))
    if informative.sum() < 2 + about or not scale > 0.0:  # no information on tau
        return np.asarray(x + np.sqrt(blur * factor) * noise)
    known, own = x[informative], blur[informative]
    tau = scale * np.geomspace(NARROW, WIDE, GRID)
    weight = 1.0 / (tau[:, None] ** 2 + own)
    total = weight.sum(axis=1)
    middle = weight @ known / total if about else np.zeros(GRID)
    log = np.log(tau / scale) + 0.5 * np.log(weight * scale**2).sum(axis=1)
    log -= 0.5 * (weight * (known - middle[:, None]) ** 2).sum(axis=1)
    log -= 0.5 * about * np.log(total * scale**2)
    odds = np.exp(log - log.max())
    at = rng.choice(GRID, draws, p=odds / odds.sum())
    centre = (middle[at] + about * rng.standard_normal(draws) / np.sqrt(total[at]))[:, None]
    square = tau[at, None] ** 2
    share = square / (
        square + blur * factor
    )  # weight of the estimate; the rest is that of the centre
    return np.asarray(share * x + (1.0 - share) * centre + np.sqrt((1.0 - share) * square) * noise)


# Scales c, the number of values that the prior of an arm is worth, and their weights in the
# mixture; chosen before the data.
SCALES = np.array([(1.0, 0.35), (10.0, 0.3), (100.0, 0.25), (1000.0, 0.1)])
CELLS = 32  # cells of the ratio of the deviations of two arms with unknown variances
SLACK = 1e-9  # raises a level, relatively and absolutely, by more than rounding can subtract


class LeadBounds(NamedTuple):
    """The lead of an answer over a rival with its interval, in the unit of measurement.

    Ends that are not known are infinite.
    """

    value: float
    low: float
    high: float


class ConfidenceSequence(Protocol):
    """Bounds on the means while a martingale is below exp(level)."""

    def interval(self, a: int, level: float) -> tuple[float, float]:
        """Return the smallest and the largest mean that arm a may have."""

    def lead_interval(self, arms: Ints, sign: Floats, level: float) -> float:
        """Bound the sum of sign * mean over these arms.

        Returns the most by which it can exceed its estimate, or infinity if that is not known.
        """


def largest(blur: Floats, fee: Floats, level: float) -> float:
    """Return, from above, the u at which a mixture of exp(u^2/(2 blur) - fee) is exp(level)."""
    low, high = 0.0, float(np.sqrt(2.0 * blur * (level + fee)).min())
    for _ in range(50):
        middle = 0.5 * (low + high)
        enough = np.logaddexp.reduce(middle * middle / (2.0 * blur) - fee) > level
        low, high = (low, middle) if enough else (middle, high)
    return high


class KnownVarianceCS(NamedTuple):
    """Sub-Gaussian values with known scales.

    The martingale of a mean that is off by u is (1 + N/c)^(-1/2) exp(N^2 u^2 / (2 variance (N +
    c))), mixed over c.
    """

    stats: Statistics
    variance: Floats

    def interval(self, a: int, level: float) -> tuple[float, float]:
        """Return the interval of arm a, symmetric about its sample mean."""
        far = self.lead_interval(np.array([a]), np.ones(1), level)
        return float(self.stats.mean[a]) - far, float(self.stats.mean[a]) + far

    def lead_interval(self, arms: Ints, sign: Floats, level: float) -> float:
        """Bound a sum of means.

        The least exponent of a scale, over deviations that add up to u, is u^2 / (2 blur).
        """
        n, c = self.stats.counts[arms][:, None], SCALES[:, 0]
        if not (n > 0.0).all():
            return math.inf
        blur = (self.variance[arms][:, None] * (n + c) / (n * n)).sum(axis=0)
        return largest(blur, 0.5 * np.log1p(n / c).sum(axis=0) - np.log(SCALES[:, 1]), level)


class BernoulliCS(NamedTuple):
    """Values 0 or 1.

    The martingale is the Beta(1/2, 1/2) mixture over the likelihood, exp(N kl(mean, x) - regret).
    """

    stats: Statistics
    rewards: RewardKernel

    def regret(self, a: int) -> float:
        """Return the regret of the mixture on the values of arm a."""
        return beta_regret(float(self.stats.counts[a]), float(self.stats.sums[a]))

    def interval(self, a: int, level: float) -> tuple[float, float]:
        """Return the interval of arm a by its KL bounds."""
        n, mean = float(self.stats.counts[a]), float(self.stats.mean[a])
        if not n > 0.0:
            return -math.inf, math.inf
        budget = (level + self.regret(a)) / n
        return self.rewards.kl_lcb(mean, budget, a), self.rewards.kl_ucb(mean, budget, a)

    def lead_interval(self, arms: Ints, sign: Floats, level: float) -> float:
        """Bound a sum of means by Lagrange multipliers.

        For every slope > 0 the largest value of the sum minus (cost - budget) / slope is a bound;
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
    """Gaussian values of unknown variances, one for each arm.

    The logarithm of the martingale is at least L(x) of Theorem 8, its least value over all
    variances, which rises with the distance from the mean.
    """

    stats: Statistics

    def rise(self, a: int, far: Floats) -> Floats:
        """Return ln Z of an arm by distance from its mean and by scale."""
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
        """Return the interval of arm a, symmetric about its sample mean."""
        far = self.lead_interval(np.array([a]), np.ones(1), level)
        return float(self.stats.mean[a]) - far, float(self.stats.mean[a]) + far

    def lead_interval(self, arms: Ints, sign: Floats, level: float) -> float:
        """Bound a sum of one or two means; the bound is infinite for more.

        If two deviations add up to u, then in one of the cells the first is at least share * u and
        the second at least (1 - share - 1/CELLS) * u.
        """
        if arms.size > 2 or not all(resolved(self.stats, int(a)) for a in arms):
            return math.inf
        log_weights = np.log(STUDENTS[:, 4])
        share = np.arange(CELLS) / CELLS

        def passed(u: float) -> bool:
            if arms.size == 1:
                total = self.rise(int(arms[0]), np.array([u]))
            else:
                total = self.rise(int(arms[0]), share * u)
                total = total + self.rise(int(arms[1]), share[::-1] * u)
            return bool((np.logaddexp.reduce(total + log_weights, axis=1) > level).all())

        scale = math.sqrt(float((self.stats.squares[arms] / self.stats.counts[arms]).max()))
        low, high = 1e-6 * scale, 1e9 * scale
        if not passed(high):
            return math.inf  # too few values for any bound
        while high > 1.0005 * low:
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (low, middle) if passed(middle) else (middle, high)
        return high


class SharedSigmaCS(NamedTuple):
    """Gaussian values with one unknown variance (Theorems 10 and 12).

    The martingale is exp(u^2 / (2 blur variance) - fee), mixed over scales, times the e-process of
    the variance. It is minimised over all variances.
    """

    line: VarianceKernel
    variance: float  # estimate; infinite while there is none
    degrees: float  # number of squares of which it is the mean

    def farthest(self, blur: Floats, fee: Floats, level: float) -> float:
        """Return the most by which a sum of means may be off."""
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
    """Return the confidence sequence for an estimated variance and its degrees of freedom."""
    line = variance_part(np.zeros((2, len(SCALES))), ratio)
    line.row[1] = 1.0
    return SharedSigmaCS(line, variance, degrees)


class PooledVarianceCS(NamedTuple):
    """Gaussian values with one unknown variance for all arms of a group."""

    stats: Statistics
    state: Floats  # float64[2, groups]: see `spotted`

    def interval(self, a: int, level: float) -> tuple[float, float]:
        """Return the interval of arm a, symmetric about its sample mean."""
        far = self.lead_interval(np.array([a]), np.ones(1), level)
        return float(self.stats.mean[a]) - far, float(self.stats.mean[a]) + far

    def lead_interval(self, arms: Ints, sign: Floats, level: float) -> float:
        """Bound a sum of means of one group; see `KnownVarianceCS.lead`."""
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
    """Return the lead of arm i over arm j under batch effects.

    The intervals hold for all pairs and at all times with probability 1 - delta (Theorem 13 of
    docs/thresholds.md).
    """
    sure, d = float(blocks.information[i, j]), problem.d
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
        variance, degrees = residual_variance(blocks), float(blocks.noise[0, 0])
        far = one_sigma(variance, degrees, ratios(RATIOS, CHANCES)).farthest(blur, fee, level)
    value = float(blocks.score_matrix[i, j]) / sure
    far += SHAVE * abs(value)
    return LeadBounds(value, value - far, value + far)


def deviations(
    problem: Problem, stats: Statistics, rewards: RewardKernel
) -> ConfidenceSequence | None:
    """Return the confidence sequence that suits the rewards, or None if their scale is not known.

    `rewards` is the reward kernel in use.
    """
    says = claimed_assumptions(problem.rewards)
    if problem.rewards.has_batch_effect():
        return None  # single means have no interval, because arms are compared within plays
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
    """Return whether the intervals are proved by assumptions that the rewards themselves claim."""
    held = valid_assumptions(problem.rewards)
    needs = Assumption.SUB_GAUSSIAN if problem.rewards.variance_known else Assumption.NORMAL
    return bool(held & {Assumption.BINARY, Assumption.LEVELLED, needs})


def intervals(problem: Problem, stats: Statistics, rewards: RewardKernel, delta: float) -> Floats:
    """Return the lower and the upper ends for all means, of shape (2, d)."""
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
    """Return the lead of `best` over `rival`, with its interval.

    `ends` are the intervals of the arms at the same delta; the interval is consistent with them.
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
        low = max(low, value - known.lead_interval(arms, -sign, level))
        high = min(high, value + known.lead_interval(arms, sign, level))
    return LeadBounds(value, low, high)


def charge(problem: Problem, arms: Ints, sign: Floats) -> float:
    """Return ln 1/pi(S).

    If answers differ by exchanges, all pairs of arms have the same share. Otherwise pairs have half
    of the total, and the other sets have the other half: it is spread over all pairs of answers, if
    this package counted them, or by the numbers p and q of arms on the two sides and then evenly.

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
    """Return the logarithm of a binomial coefficient."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


def _raised(level: float) -> float:
    """Return the level, raised by more than rounding can subtract."""
    return level * (1.0 + SLACK) + SLACK
