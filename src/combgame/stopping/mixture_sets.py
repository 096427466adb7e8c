"""The stopping kernel of best sets, with penalties and a share of delta for each rival.

The evidence against each rival is that of `_set_evidence` plus the logarithm of the rival's share.
The forecast of the penalties at the time at which a run can expect to stop is for sampling rules
only (see `mixture_pairs`).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine.jit import compilable
from ..engine.kernels import StoppingDefaults, deep_copy, kernel
from ..engine.likelihood_ratio import REFERENCES, against, differ
from ..engine.protocols import ProblemKernel, RewardKernel, SetEvidence, Threshold, UnionBound
from ..engine.state import Fixed, Floats, Ints, RoundState
from ..engine.statistics import Statistics
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import claimed_assumptions
from ..rewards.gaussian import gaussian_part
from ._set_evidence import GaussianSetEvidenceKernel, bernoulli_set_evidence, conjugates
from .mixture_pairs import FIRST, LEAST, LONGEST, tail
from .variance import spreads_of

ONE_SIDED = 1.0  # approximate gain of one-sided priors
NEVER = -1e3  # log-weight of rivals that are never ruled out
HOPELESS = -10.0  # lower bound imposed on evidence


class SetPenaltyForecastKernel(NamedTuple):
    """The evidence less penalties at s times the present counts, for best sets."""

    variance: Floats
    prior: Fixed  # float64[2, k]: c of the leader's arms and of the others, per scale
    cost: Fixed  # ln 1/p of each scale
    steady: Fixed  # c of the weighted values
    shared: float  # factor by which c of their shared direction is smaller
    goal: float  # the lowest threshold
    scale: Floats  # float64[1]: s

    def expect(
        self,
        stats: Statistics,
        mean: Floats,
        even: Floats,
        arms: Ints,
        sign: Floats,
        n: int,
        odds: float,
    ) -> float:
        """Return s, at which the evidence against the nearest rival would be enough.

        Each call does one step of a fixed-point iteration. The result is 0 if there is no forecast.
        """
        lead, blur, s = 0.0, 0.0, self.scale[0]
        for i in range(n):
            a = arms[i]
            if not (stats.counts[a] > 0.0 and stats.weighted_sums[0, a] > 0.0):
                return 0.0
            lead -= sign[i] * mean[a]
            blur += self.variance[a] / stats.counts[a]
        if lead > 0.0:
            ratio = 0.5 * lead * lead / blur
            charges = max(s * ratio - self.charged(stats, mean, even, arms, sign, n, odds), 0.0)
            self.scale[0] = min(max((self.goal + charges) / max(ratio, LEAST), 1.0), LONGEST)
        return float(self.scale[0])

    def charged(
        self,
        stats: Statistics,
        mean: Floats,
        even: Floats,
        arms: Ints,
        sign: Floats,
        n: int,
        odds: float,
    ) -> float:
        """Return the evidence against a rival less its penalties at s times the counts.

        The scale that suits the rival best is used. `even` has the means of the weighted values.
        """
        lead, level, noise, most = 0.0, 0.0, 0.0, HOPELESS
        for i in range(n):
            a = arms[i]
            if not (stats.counts[a] > 0.0 and stats.weighted_sums[0, a] > 0.0):
                return 0.0
            lead -= sign[i] * mean[a]
            level -= sign[i] * even[a]
            noise += self.variance[a] / n
        for k in range(self.cost.size):
            most = max(most, self.independent_scale(stats, arms, sign, n, k, max(lead, 0.0)))
        for k in range(self.steady.size):
            most = max(
                most, self.joint_scale(stats, arms, n, self.steady[k], noise, max(level, 0.0))
            )
        return float(most + odds if odds > NEVER else most)

    def independent_scale(
        self, stats: Statistics, arms: Ints, sign: Floats, n: int, k: int, lead: float
    ) -> float:
        """Return the evidence of a scale with independent priors of the arms."""
        blur, fees = 0.0, self.cost[k]
        for i in range(n):
            a = arms[i]
            many, c = self.scale[0] * stats.counts[a], self.prior[0 if sign[i] < 0.0 else 1, k]
            blur += self.variance[a] * (many + c) / (many * many)
            fees += 0.5 * math.log1p(many / c)
        return float(0.5 * lead * lead / blur - fees + ONE_SIDED)

    def joint_scale(
        self, stats: Statistics, arms: Ints, n: int, c: float, noise: float, lead: float
    ) -> float:
        """Return the evidence of a scale whose direction the arms share.

        The computation is that of `GaussianSetEvidenceKernel.joint_scale`, with three Newton steps.
        """
        blur, pull, square, spare, fees = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            a, s = arms[i], self.scale[0]
            v, total, many = (
                self.variance[a],
                s * stats.weighted_sums[0, a],
                s * stats.weighted_sums[1, a],
            )
            share = c / (many + c)
            blur += v * (many + c) / (total * total)
            pull += v * c / total
            square += v * c * share
            spare += v * many * share
            fees += 0.5 * math.log1p(many / c)
        base = c / self.shared * noise
        sd = math.sqrt(spare + base)
        middle = lead * pull / (blur * sd)
        loose = max(square - pull * pull / blur, 0.0) / (sd * sd)
        z = middle / (1.0 + loose)
        for _ in range(3):
            _, p, bend = tail(z)
            z -= (loose * p + z - middle) / (loose * bend + 1.0)
        height, p, _ = tail(z)
        value = height + p * (middle - z) - 0.5 * p * p * loose + 0.5 * lead * lead / blur
        fees += 0.5 * math.log1p(spare / base) + math.log(self.steady.size)
        return float(value - fees)


def set_penalty_forecast(
    variance: Floats, prior: Floats, cost: Floats, steady: Floats, shared: float, goal: float
) -> SetPenaltyForecastKernel:
    """Return the forecast for these scales."""
    return SetPenaltyForecastKernel(variance, prior, cost, steady, shared, goal, np.full(1, FIRST))


# c of the weighted values, in values of all arms, as if one arm were played at a time.
STEADY = 3.0 * 10.0 ** np.arange(3.0, 8.0)
PAUSE = 1.02  # factor of rounds before a search that gave up is repeated
SHARED = 100.0  # factor by which c of the shared direction is smaller


@compilable
class SetEvidenceKernel(SetEvidence, Protocol):
    """The evidence against single rivals, computed from all statistics."""

    @property
    def mean(self) -> Floats:
        """The shifted means and the means of the weighted values, of shape (2, d)."""

    @property
    def variance(self) -> Floats:
        """The variances with which the nearest rival is sought."""

    @property
    def yardstick(self) -> Floats:
        """The unit in which means are counted, of shape (1,)."""

    def set_leader(self, stats: Statistics, best: Floats, shift: float) -> None:
        """Read the statistics, and shift the means of the leader's arms."""


@compilable
class ScaleSource(Protocol):
    """The unit in which means are counted.

    It is a standard deviation, or a bound on one, that all arms have in common.
    """

    def unit_scale(self, stats: Statistics) -> float:
        """Return the unit, which is 1 if standard deviations are known."""


@kernel(StoppingDefaults)
class SetStoppingKernel(NamedTuple):
    """Mixture stopping rule for best sets (Theorems 5 and 6 of docs/thresholds.md).

    The statistic is the least evidence against any rival. While the evidence against the nearest
    rival, or against the rival that had too little evidence last, does not exceed the lowest
    threshold, that is returned instead.
    """

    threshold: Threshold
    rewards: RewardKernel  # used to find the nearest rival
    weigher: SetEvidenceKernel
    spreads: ScaleSource
    rivals: UnionBound
    forecast: SetPenaltyForecastKernel
    shift: float  # added to the means of the leader's arms: epsilon per arm
    floor: float  # the lowest threshold
    mean: Floats  # scratch
    weight: Floats
    arms: Ints
    sign: Floats
    spare: Floats
    leader: Floats  # the leader of which `failed` is a rival
    failed: Floats  # the last rival with too little evidence; the leader itself if there is none
    other: Floats
    pause: Floats  # float64[1]: round before which a search that gave up is not repeated

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Return the evidence for the leader.

        All rivals are searched only if the evidence against the nearest rival and against the last
        rival with too little evidence exceeds the lowest threshold. A search that gave up is not
        repeated until the number of rounds has grown by the factor PAUSE; until then the lowest
        threshold is returned.
        """
        best, rival, alternative, failed = (
            state.leader,
            state.rival,
            state.alternative_means,
            self.failed,
        )
        self.weigher.yardstick[0] = self.spreads.unit_scale(stats)
        self.weigher.set_leader(stats, best, self.shift)
        same, waits = True, False
        for a in range(best.size):
            self.mean[a] = stats.mean[a] + self.shift * best[a]
            self.weight[a] = stats.counts[a] / self.weigher.variance[a]
            same = same and self.leader[a] == best[a]
        problem.answers.nearest_alternative(
            self.rewards, self.mean, self.weight, best, rival, alternative
        )
        if not same:
            self.pause[0] = 0.0
        for a in range(best.size):
            if not same:
                self.leader[a] = failed[a] = best[a]
            waits = waits or failed[a] != best[a]
        value = self.evidence_against(problem, stats, best, rival)
        if value > self.floor and waits:
            value = self.choose_rival(
                best, failed, self.evidence_against(problem, stats, best, failed), state, value
            )
        if value > self.floor:
            for a in range(best.size):
                self.other[a] = rival[a]
            least = self.floor
            if stats.n_rounds[0] >= self.pause[0]:
                least = self.rivals.minimise_evidence(
                    self.weigher, best, self.floor, value, self.other
                )
            if (
                least <= self.floor
                and self.evidence_against(problem, stats, best, self.other) <= self.floor
            ):
                for a in range(best.size):
                    failed[a] = self.other[a]
            elif least <= self.floor and stats.n_rounds[0] >= self.pause[0]:
                self.pause[0], least = PAUSE * stats.n_rounds[0], self.floor
            value = self.choose_rival(best, self.other, least, state, value)
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return value

    def choose_rival(
        self, best: Floats, other: Floats, least: float, state: RoundState, value: float
    ) -> float:
        """Make another rival the closest one if the evidence against it is less."""
        if least >= value:
            return value
        for a in range(best.size):
            state.rival[a] = other[a]
        against(
            self.rewards,
            self.mean,
            self.weight,
            best,
            self.arms,
            self.sign,
            state.rival,
            state.alternative_means,
        )
        return least

    def expected_growth(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the forecast growth; see `SetPenaltyForecastKernel.expect`."""
        n, odds = differ(best, rival, self.arms, self.sign), self.rivals.log_weight(best, rival)
        own, even = self.weigher.mean[0], self.weigher.mean[1]
        return self.forecast.expect(stats, own, even, self.arms, self.sign, n, odds)

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        """Return the forecast evidence against a rival."""
        for a in range(self.spare.size):
            self.spare[a] = self.leader[a]
        for i in range(n):
            self.spare[arms[i]] = 1.0 - self.leader[arms[i]]
        odds = self.rivals.log_weight(self.leader, self.spare)
        own, even = self.weigher.mean[0], self.weigher.mean[1]
        return self.forecast.charged(stats, own, even, arms, sign, n, odds)

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Return the least evidence against any rival."""
        problem.answers.nearest_alternative(
            self.rewards, self.mean, self.weight, best, rival, alternative
        )
        value = self.evidence_against(problem, stats, best, rival)
        if value > -math.inf:  # -infinity, with an arm without a value, is the least
            value = self.rivals.minimise_evidence(self.weigher, best, -math.inf, value, rival)
        against(
            self.rewards, self.mean, self.weight, best, self.arms, self.sign, rival, alternative
        )
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return value

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the evidence against a rival plus ln of its share."""
        n = differ(best, rival, self.arms, self.sign)
        return self.weigher.evidence_against_set(
            best, self.arms, self.sign, n
        ) + self.rivals.log_weight(best, rival)


def judging(
    problem: Problem, rivals: UnionBound, scales: Floats, deltas: Sequence[float], epsilon: float
) -> Any:
    """Return the function that installs this stopping kernel.

    `scales` are those of the independent priors of the arms (`mixture.SCALES`).
    """
    d, inf = problem.d, np.full(problem.d, np.inf)
    box = (-inf, inf) if epsilon > 0.0 else (np.array(problem.low), np.array(problem.high))
    known, width = problem.rewards.variance_known, len(scales)
    stated = problem.rewards.sub_gaussian_scale(d) ** 2 if known else np.ones(d)
    exact = Assumption.BINARY in claimed_assumptions(problem.rewards) and epsilon == 0.0

    def make_kernel(
        kernel: ProblemKernel, threshold: Threshold, stats: Statistics
    ) -> ProblemKernel:
        steady = STEADY * float(problem.actions.max_size()) ** 2
        low, high, variance = (x.copy() for x in (*box, stated))
        prior, cost = scales[:, :2].T.copy(), -np.log(scales[:, 4])
        inner = GaussianSetEvidenceKernel(
            stats.counts,
            stats.weighted_sums,
            variance,
            low,
            high,
            bool(np.isfinite(low).any() or np.isfinite(high).any()),
            conjugates().copy(),
            prior,
            cost,
            scales[:, 2:4].T.copy(),
            steady,
            SHARED,
            np.zeros((2, d)),
            np.full((4, d), -1.0),
            np.zeros((2, d, width)),
            np.zeros((2, d, width)),
            np.zeros((d, steady.size, 4)),
            np.zeros((6, max(width, steady.size))),
            np.zeros((REFERENCES, d)),
            np.zeros(REFERENCES),
            np.ones(1),
        )
        coins = bernoulli_set_evidence(inner, kernel.rewards, stats.mean)
        weigher: Any = coins if exact else inner
        noise = coins.guessed if exact else variance
        mean, weight, sign, spare, leader, failed, other = np.zeros((7, d))
        spreads: Any = spreads_of(problem, deltas, kernel)
        floor = min(threshold.critical_value(0, index) for index in range(len(deltas)))
        stopping_kernel = SetStoppingKernel(
            threshold,
            kernel.rewards if exact else gaussian_part(np.ones(d), low, high),
            weigher,
            spreads,
            deep_copy(rivals),
            set_penalty_forecast(noise, prior, cost, steady, SHARED, floor),
            epsilon / problem.answers.max_size(),
            floor,
            mean,
            weight,
            np.zeros(d, np.int64),
            sign,
            spare,
            leader,
            failed,
            other,
            np.zeros(1),
        )
        return kernel._replace(stopping=stopping_kernel)

    return make_kernel
