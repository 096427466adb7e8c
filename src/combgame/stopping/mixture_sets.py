"""The judge of best sets: the evidence against each rival, with its own fees, less its share of
delta.

What the mixtures of best sets will charge at the end that a run can expect: for sampling rules
only (see `foresight`).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine.jit import compilable
from ..engine.kernels import deep_copy
from ..engine.likelihood_ratio import REFERENCES, against, differ
from ..engine.protocols import (
    ProblemKernel,
    RewardKernel,
    SetEvidence,
    StoppingDefaults,
    Threshold,
    UnionBound,
    kernel,
)
from ..engine.state import Fixed, Floats, Ints, RoundState
from ..engine.statistics import Statistics
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import claimed_assumptions
from ..rewards.gaussian import gaussian_part
from ._penalty_forecast import FIRST, LEAST, LONGEST
from ._set_evidence import GaussianSetEvidenceKernel, coin_weigher, conjugates
from .mixture_pairs import tail
from .variance import spreads_of

ONE_SIDED = 1.0  # what one-sidedness gains every arm's own mixture, roughly
NEVER = -1e3  # odds of rivals that are never ruled out
HOPELESS = -10.0  # evidence below it is of no interest


class SetPenaltyForecastKernel(NamedTuple):
    variance: Floats
    prior: Fixed  # float64[2, k]: c of the leader's arms and of the others, per scale
    cost: Fixed  # ln 1/chance of each
    steady: Fixed  # c of weighed values
    shared: float  # how many times smaller that of what they share is
    goal: float  # what the evidence must exceed
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
        """s, from the nearest rival: where the evidence against it would be enough. One step of a
        fixed point at a time; 0 if nothing can be foreseen.
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
        """The evidence against a rival, less its charges, at s times the counts: by the scale that
        suits it best. even: the means of the weighed values.
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
            most = max(most, self.apart(stats, arms, sign, n, k, max(lead, 0.0)))
        for k in range(self.steady.size):
            most = max(most, self.together(stats, arms, n, self.steady[k], noise, max(level, 0.0)))
        return float(most + odds if odds > NEVER else most)

    def apart(
        self, stats: Statistics, arms: Ints, sign: Floats, n: int, k: int, lead: float
    ) -> float:
        """A scale of every arm's own mixture."""
        blur, fees = 0.0, self.cost[k]
        for i in range(n):
            a = arms[i]
            many, c = self.scale[0] * stats.counts[a], self.prior[0 if sign[i] < 0.0 else 1, k]
            blur += self.variance[a] * (many + c) / (many * many)
            fees += 0.5 * math.log1p(many / c)
        return float(0.5 * lead * lead / blur - fees + ONE_SIDED)

    def together(
        self, stats: Statistics, arms: Ints, n: int, c: float, noise: float, lead: float
    ) -> float:
        """A scale of the mixture whose direction is shared. (`GaussianSetEvidenceKernel.aligned`, once.)"""
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


def set_foresight(
    variance: Floats, prior: Floats, cost: Floats, steady: Floats, shared: float, goal: float
) -> SetPenaltyForecastKernel:
    return SetPenaltyForecastKernel(variance, prior, cost, steady, shared, goal, np.full(1, FIRST))


# c of weighed values, in values of all arms, as if one arm were played at a time; see `weighing`
STEADY = 3.0 * 10.0 ** np.arange(3.0, 8.0)
PAUSE = 1.02  # times the rounds so far, before a search that gave up is tried again
SHARED = 100.0  # so many times less for what the arms share


@compilable
class SetEvidenceKernel(SetEvidence, Protocol):
    """The evidence against single rivals, from all that was seen."""

    @property
    def mean(self) -> Floats:
        """float64[2, d]: the means, lifted, and those of the weighed values."""

    @property
    def variance(self) -> Floats:
        """Those with which the nearest rival is sought."""

    @property
    def yardstick(self) -> Floats:
        """float64[1]: in what means are counted."""

    def set_leader(self, stats: Statistics, best: Floats, shift: float) -> None:
        """Look at what was seen; the leader's arms are lifted."""


@compilable
class ScaleSource(Protocol):
    """In what means are counted, where one deviation, or a bound on it, is that of all arms."""

    def unit(self, stats: Statistics) -> float:
        """1 where deviations are known."""


@kernel(StoppingDefaults)
class SetStoppingKernel(NamedTuple):
    """The least evidence against any rival; or that against the nearest one, or against the one
    that was too little last, while that is too little.
    """

    threshold: Threshold
    rewards: RewardKernel  # by which the nearest rival is found
    weigher: SetEvidenceKernel
    spreads: ScaleSource
    rivals: UnionBound
    foresight: SetPenaltyForecastKernel
    shift: float  # what the leader's arms are lifted by: epsilon per arm
    floor: float  # the lowest threshold
    mean: Floats  # scratch
    weight: Floats
    arms: Ints
    sign: Floats
    spare: Floats
    leader: Floats  # for whom `failed` is a rival
    failed: Floats  # the rival against whom there was too little; none, if it is the leader
    other: Floats
    pause: Floats  # float64[1]: until when there is no search, after one that gave up

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        best, rival, alternative, failed = (
            state.leader,
            state.rival,
            state.alternative_means,
            self.failed,
        )
        self.weigher.yardstick[0] = self.spreads.unit(stats)
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
            value = self.prefer(
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
            value = self.prefer(best, self.other, least, state, value)
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return value

    def prefer(
        self, best: Floats, other: Floats, least: float, state: RoundState, value: float
    ) -> float:
        """If there is less against another rival, that is the one to be looked at."""
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
        n, odds = differ(best, rival, self.arms, self.sign), self.rivals.log_weight(best, rival)
        own, even = self.weigher.mean[0], self.weigher.mean[1]
        return self.foresight.expect(stats, own, even, self.arms, self.sign, n, odds)

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        for a in range(self.spare.size):
            self.spare[a] = self.leader[a]
        for i in range(n):
            self.spare[arms[i]] = 1.0 - self.leader[arms[i]]
        odds = self.rivals.log_weight(self.leader, self.spare)
        own, even = self.weigher.mean[0], self.weigher.mean[1]
        return self.foresight.charged(stats, own, even, arms, sign, n, odds)

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        problem.answers.nearest_alternative(
            self.rewards, self.mean, self.weight, best, rival, alternative
        )
        value = self.evidence_against(problem, stats, best, rival)
        if value > -math.inf:  # an arm without a value: there is no less
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
        n = differ(best, rival, self.arms, self.sign)
        return self.weigher.evidence_against_set(
            best, self.arms, self.sign, n
        ) + self.rivals.log_weight(best, rival)


def judging(
    problem: Problem, rivals: UnionBound, scales: Floats, deltas: Sequence[float], epsilon: float
) -> Any:
    """How a game gets this judge. scales: those of every arm's own mixture (`mixture.SCALES`)."""
    d, inf = problem.d, np.full(problem.d, np.inf)
    box = (-inf, inf) if epsilon > 0.0 else (np.array(problem.low), np.array(problem.high))
    known, width = problem.rewards.variance_known, len(scales)
    stated = problem.rewards.sub_gaussian_scale(d) ** 2 if known else np.ones(d)
    exact = Assumption.BINARY in claimed_assumptions(problem.rewards) and epsilon == 0.0

    def watch(kernel: ProblemKernel, threshold: Threshold, stats: Statistics) -> ProblemKernel:
        steady = STEADY * float(problem.actions.max_size()) ** 2
        low, high, variance = (x.copy() for x in (*box, stated))  # nobody else's
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
        coins = coin_weigher(inner, kernel.rewards, stats.mean)
        weigher: Any = coins if exact else inner
        noise = coins.guessed if exact else variance
        mean, weight, sign, spare, leader, failed, other = np.zeros((7, d))
        spreads: Any = spreads_of(problem, deltas, kernel)
        floor = min(threshold.critical_value(0, index) for index in range(len(deltas)))
        kernel_ = SetStoppingKernel(
            threshold,
            kernel.rewards if exact else gaussian_part(np.ones(d), low, high),
            weigher,
            spreads,
            deep_copy(rivals),
            set_foresight(noise, prior, cost, steady, SHARED, floor),
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
        return kernel._replace(stopping=kernel_)

    return watch
