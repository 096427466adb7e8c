"""Plays with a level of their own: evidence from differences within plays (docs/plates.md).

S and J are what complete blocks say of a pair (`kernel.blocks`). Given what came before it, a block's
difference is Gaussian about Delta = mu_i - mu_j with a variance that was fixed before its first
value, so that exp(theta (S - J Delta) - theta^2 J / 2) is a martingale in the number of blocks for
every theta; mixed over half-normal theta >= 0 it rises with S - J Delta, and an error means that
Delta <= 0.

Where sigma is not known, that mixture for each sigma, times the e-process of `pooled` on what the
least squares of blocks leave over: the least over all sigmas.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._messages import Message
from ..engine.block_effects import BatchEstimator
from ..engine.jit import jitable
from ..engine.likelihood_ratio import against
from ..engine.protocols import ProblemKernel, StoppingDefaults, Threshold, kernel
from ..engine.state import Fixed, Floats, Ints, RoundState
from ..engine.statistics import Statistics
from ..errors import InputError
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import swapped
from ..rewards.gaussian import EPSILON, FINE
from .base import (
    ConstantPenalty,
    ProofRequirements,
    Stopping,
    log_union,
    validity_from_assumptions,
    with_note,
)
from .mixture_pairs import tail
from .variance import VarianceKernel, ratios, variance_part

# c in units of the information of one play that has both arms, and the chance of the scale: chosen
# before the data
SCALES = np.array([(1.0, 0.35), (10.0, 0.3), (100.0, 0.25), (1000.0, 0.1)])
# rho - 1 of the mixture over an unknown variance, and the chances: for fewer squares than `pooled`
RATIOS = np.concatenate(([0.0], 0.016 * 2.0 ** np.arange(10)))
CHANCES = np.concatenate(([0.3], np.full(10, 0.07)))
SHAVE = 1e-7  # of a lead: more than rounding can add to it


@jitable
def contrast(scales: Floats, lead: float, sure: float, unit: float) -> float:
    """ln of the mixture, from below: lead: S - J Delta; sure: J; unit: the information of one play.

    >>> round(contrast(SCALES, 0.0, 0.0, 0.5), 12)
    0.0
    """
    top, total = -math.inf, 0.0
    for k in range(scales.shape[0]):
        c = scales[k, 0] * unit
        value = tail(lead / math.sqrt(sure + c))[0] - 0.5 * math.log1p(sure / c)
        value += math.log(scales[k, 1])
        if value > top:
            total = total * math.exp(top - value) + 1.0
            top = value
        else:
            total += math.exp(value - top)
    return top + math.log(total)


@jitable
def seen_within(blocks: BatchEstimator) -> float:
    """The variance that blocks leave over; infinite if nothing can be said yet, or if rounding
    hides it.
    """
    n, digit = float(blocks.noise[0, 0]), FINE * EPSILON * float(blocks.largest[0])
    if not n > 0.0:
        return math.inf
    variance = (1.0 + 4.0 / FINE) * float(blocks.noise[0, 1]) / n
    return variance if variance > 1e-290 and variance >= digit * digit else math.inf


class KnownVarianceBatchKernel(NamedTuple):
    """The evidence of a lead where sigma is known."""

    scales: Fixed

    def weigh_lead(
        self, blocks: BatchEstimator, lead: float, sure: float, unit: float, enough: float
    ) -> float:
        return contrast(self.scales, lead, sure, unit)


class UnknownVarianceBatchKernel(NamedTuple):
    """The same where sigma is not known: the least over all sigmas, or what is surely more than
    `enough`.
    """

    scales: Fixed
    line: VarianceKernel

    def weigh_lead(
        self, blocks: BatchEstimator, lead: float, sure: float, unit: float, enough: float
    ) -> float:
        variance, row = seen_within(blocks), self.line.row
        if not (variance < math.inf and sure > 0.0):
            return 0.0
        if not lead > 0.0:
            return -math.inf
        for k in range(self.scales.shape[0]):
            c = self.scales[k, 0] * unit
            row[0, k] = lead / math.sqrt((sure + c) * variance)
            row[2, k] = math.log(self.scales[k, 1]) - 0.5 * math.log1p(sure / c)
        return self.line.over_variances(1.0, 0.0, 0.0, float(blocks.noise[0, 0]), enough)[0]


class ContrastsKernel(NamedTuple):
    """The evidence of a pair, which structures take for the distance of `Rewards`."""

    stats: Statistics
    sigma: KnownVarianceBatchKernel | UnknownVarianceBatchKernel
    shift: float  # what the leader's arms are lifted by: epsilon per arm
    nearest_of: Floats  # float64[1] scratch

    def project(self, x: float, arm: int) -> float:
        return x

    def pair(self, i: int, j: int, enough: float) -> float:
        """For arm i, of the leader, against arm j; or what is surely more than `enough`."""
        blocks = self.stats.batch
        lead, sure = float(blocks.lead[i, j]), float(blocks.sure[i, j])
        first, second = float(blocks.precision[i]), float(blocks.precision[j])
        lead += self.shift * sure - SHAVE * abs(lead)
        unit = first / (first + second) * second
        return self.sigma.weigh_lead(blocks, lead, sure, unit, enough)

    def transportation_cost(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        """Of a rival that differs in several pairs, no more than the least of any pair: from
        below.
        """
        least = math.inf
        for k in range(n):
            for m in range(n):
                if sign[k] < 0.0 and sign[m] > 0.0:
                    i, j = arms[k], arms[m]
                    least = min(least, self.pair(i, j, least))
                    alternative[i] = alternative[j] = 0.5 * (mean[i] + mean[j])
        return least

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        arm, best = -1, math.inf
        for j in range(mean.size):
            if taken[j] < 0.5:
                this = self.pair(i, j, best)
                if arm < 0 or this < best:
                    arm, best = j, this
        value[0] = best
        return arm

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        every: Any = self
        swapped(every, mean, weight, best, self.nearest_of, value)


@kernel(StoppingDefaults)
class BatchStoppingKernel(NamedTuple):
    """The least evidence over all exchanges; it changes when a block is complete."""

    threshold: Threshold
    contrasts: ContrastsKernel
    last: Floats  # float64[3, d]: the answer, its rival and the alternative at the last look
    kept: Floats  # float64[1]: what that gave
    stamp: Ints  # int64[1]: the blocks that were complete then
    arms: Ints  # scratch
    sign: Floats
    spare: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        same = self.stamp[0] == stats.batch.done[0]
        for a in range(state.leader.size):
            same = same and self.last[0, a] == state.leader[a]
        if not same:
            self.kept[0] = self.least_evidence(
                problem, stats, state.leader, state.rival, state.alternative_means
            )
            self.stamp[0] = stats.batch.done[0]
            for a in range(state.leader.size):
                self.last[0, a], self.last[1, a] = state.leader[a], state.rival[a]
                self.last[2, a] = state.alternative_means[a]
        for a in range(state.leader.size):
            state.rival[a], state.alternative_means[a] = self.last[1, a], self.last[2, a]
        return float(self.kept[0])

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        every: Any = self.contrasts
        return problem.answers.nearest_alternative(
            every, stats.mean, stats.counts, best, rival, alternative
        )

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        every: Any = self.contrasts
        return against(
            every, stats.mean, stats.counts, best, self.arms, self.sign, rival, self.spare
        )


def unknown_part() -> UnknownVarianceBatchKernel:
    """Where each lead has one side, a half-normal one, and no mean that is shared."""
    sided = np.array([np.ones(len(SCALES)), np.zeros(len(SCALES))])
    line = variance_part(sided, ratios(RATIOS, CHANCES))
    line.row[1] = 1.0
    return UnknownVarianceBatchKernel(SCALES.copy(), line)


def batch_kernel_maker(problem: Problem, epsilon: float) -> Any:
    """How a game gets its judge."""
    d, shift = problem.d, epsilon / problem.answers.max_size()

    def make_kernel(
        kernel: ProblemKernel, threshold: Threshold, stats: Statistics
    ) -> ProblemKernel:
        sigma = (
            KnownVarianceBatchKernel(SCALES.copy())
            if problem.rewards.variance_known
            else unknown_part()
        )
        contrasts = ContrastsKernel(stats, sigma, shift, np.zeros(1))
        sign, spare = np.zeros((2, d))
        stopping_kernel = BatchStoppingKernel(
            threshold,
            contrasts,
            np.zeros((3, d)),
            np.zeros(1),
            np.full(1, -1, np.int64),
            np.zeros(d, np.int64),
            sign,
            spare,
        )
        return kernel._replace(stopping=stopping_kernel)

    return make_kernel


PROVED = Message(
    "mixture-levels",
    "the method of mixtures over differences within plays (docs/plates.md): independent Gaussian "
    "values about a level of their play, which may be anything, and blocks of plays that were "
    "fixed before their first value",
)


PROVED_UNKNOWN = Message(
    "mixture-levels-unknown",
    "the method of mixtures over differences within plays and over one unknown sigma "
    "(docs/plates.md): independent Gaussian values, all with the same sigma, about a level of "
    "their play, which may be anything, and blocks of plays that were fixed before their first "
    "value",
)


def block_effect_stopping(
    problem: Problem, deltas: Sequence[float], epsilon: float = 0.0
) -> Stopping:
    """The mixture threshold where every play has a level of its own."""
    union = log_union(problem, epsilon)
    constant = ConstantPenalty(np.array([union - math.log(delta) for delta in deltas]))
    theorem = PROVED if problem.rewards.variance_known else PROVED_UNKNOWN
    why = validity_from_assumptions(
        "the method of mixtures", {Assumption.LEVELLED: theorem}, problem.rewards
    )
    if epsilon and why.proved:
        text = "any answer within {epsilon:g} of the best counts as correct"
        why = with_note(why, text, epsilon=epsilon)
    answers = ("nearest", "exchange", "largest") if epsilon else ("nearest", "exchange")
    rests = ProofRequirements(answers, (), ("assumptions", "spread"))
    make_kernel = batch_kernel_maker(problem, epsilon)
    return Stopping("mixture", constant, make_kernel, why, epsilon=epsilon, rests=rests)


def only_mixture(threshold: str) -> InputError:
    """What other thresholds have to say to levels."""
    return InputError(
        "level-needs-mixture",
        "threshold = {threshold!r} is for plays without a level of their own",
        remedy="use 'mixture'",
        threshold=threshold,
    )
