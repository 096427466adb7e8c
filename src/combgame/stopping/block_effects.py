"""The mixture threshold under batch effects, from differences within plays (docs/plates.md).

S and J are the score and the information on a pair of arms from complete blocks of plays
(`BatchEstimator`). Given the past, the difference in a block is Gaussian about Delta = mu_i - mu_j
with a variance that was fixed before its first value, so that exp(theta (S - J Delta) - theta^2 J /
2) is a martingale in the number of blocks for every theta. Mixed over half-normal theta >= 0 it
rises with S - J Delta, and an error means that Delta <= 0.

If sigma is not known, the mixture at each sigma is multiplied by the e-process of `variance` on the
residuals of the least squares of the blocks, and minimised over all sigmas.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._messages import Message
from ..engine.block_effects import BatchEstimator
from ..engine.jit import jitable
from ..engine.kernels import StoppingDefaults, kernel
from ..engine.likelihood_ratio import against
from ..engine.protocols import ProblemKernel, Threshold
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

# Scales c, in units of the information of one play that has both arms, and their weights; chosen
# before the data.
SCALES = np.array([(1.0, 0.35), (10.0, 0.3), (100.0, 0.25), (1000.0, 0.1)])
# rho - 1 of the mixture over an unknown variance, and the weights. Blocks have fewer residuals than
# values of single arms, for which `variance` has other numbers.
RATIOS = np.concatenate(([0.0], 0.016 * 2.0 ** np.arange(10)))
CHANCES = np.concatenate(([0.3], np.full(10, 0.07)))
SHAVE = 1e-7  # share of a lead that is subtracted; more than rounding can add


@jitable
def contrast(scales: Floats, lead: float, sure: float, unit: float) -> float:
    """Return the logarithm of the mixture, from below.

    `lead` is S - J Delta, `sure` is J, and `unit` is the information of one play.

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
def residual_variance(blocks: BatchEstimator) -> float:
    """Return the residual variance of the blocks.

    It is infinite while it cannot be estimated, or if rounding hides it.
    """
    n, digit = float(blocks.noise[0, 0]), FINE * EPSILON * float(blocks.largest[0])
    if not n > 0.0:
        return math.inf
    variance = (1.0 + 4.0 / FINE) * float(blocks.noise[0, 1]) / n
    return variance if variance > 1e-290 and variance >= digit * digit else math.inf


class KnownVarianceBatchKernel(NamedTuple):
    """The evidence of a lead for known sigma."""

    scales: Fixed

    def weigh_lead(
        self, blocks: BatchEstimator, lead: float, sure: float, unit: float, enough: float
    ) -> float:
        """Return the logarithm of the mixture."""
        return contrast(self.scales, lead, sure, unit)


class UnknownVarianceBatchKernel(NamedTuple):
    """The evidence of a lead for unknown sigma, minimised over all sigmas."""

    scales: Fixed
    line: VarianceKernel

    def weigh_lead(
        self, blocks: BatchEstimator, lead: float, sure: float, unit: float, enough: float
    ) -> float:
        """Return the minimum over all sigmas, or a lower bound on it that exceeds `enough`."""
        variance, row = residual_variance(blocks), self.line.row
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
    """The evidence of a pair, which structures use as a `TransportationCost`."""

    stats: Statistics
    sigma: KnownVarianceBatchKernel | UnknownVarianceBatchKernel
    shift: float  # added to the means of the leader's arms: epsilon per arm
    nearest_of: Floats  # float64[1] scratch

    def project(self, x: float, arm: int) -> float:
        """Return x: means are not bounded."""
        return x

    def pair(self, i: int, j: int, enough: float) -> float:
        """Return the evidence for arm i of the leader against arm j.

        The result may be any lower bound on the evidence that exceeds `enough`.
        """
        blocks = self.stats.batch
        lead, sure = float(blocks.score_matrix[i, j]), float(blocks.information[i, j])
        first, second = float(blocks.precision[i]), float(blocks.precision[j])
        lead += self.shift * sure - SHAVE * abs(lead)
        unit = first / (first + second) * second
        return self.sigma.weigh_lead(blocks, lead, sure, unit, enough)

    def transportation_cost(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        """Return a lower bound on the evidence: the least of any pair in which answers differ."""
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
        """Find the arm against which arm i has the least evidence."""
        arm, best = -1, math.inf
        for j in range(mean.size):
            if taken[j] < 0.5:
                this = self.pair(i, j, best)
                if arm < 0 or this < best:
                    arm, best = j, this
        value[0] = best
        return arm

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        """Find the exchange with the least evidence; see `swapped`."""
        every: Any = self
        swapped(every, mean, weight, best, self.nearest_of, value)


@kernel(StoppingDefaults)
class BatchStoppingKernel(NamedTuple):
    """The least evidence over all exchanges, which changes only when a block is complete."""

    threshold: Threshold
    contrasts: ContrastsKernel
    last: Floats  # float64[3, d]: leader, rival and alternative at the last evaluation
    kept: Floats  # float64[1]: result of the last evaluation
    stamp: Ints  # int64[1]: number of complete blocks at the last evaluation
    arms: Ints  # scratch
    sign: Floats
    spare: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Return the evidence, recomputed if a block was completed or the leader changed."""
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
        """Return the least evidence over all exchanges."""
        every: Any = self.contrasts
        return problem.answers.nearest_alternative(
            every, stats.mean, stats.counts, best, rival, alternative
        )

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the evidence against a given rival."""
        every: Any = self.contrasts
        return against(
            every, stats.mean, stats.counts, best, self.arms, self.sign, rival, self.spare
        )


def unknown_part() -> UnknownVarianceBatchKernel:
    """Return the kernel for unknown sigma, with one half-normal prior per scale."""
    sided = np.array([np.ones(len(SCALES)), np.zeros(len(SCALES))])
    line = variance_part(sided, ratios(RATIOS, CHANCES))
    line.row[1] = 1.0
    return UnknownVarianceBatchKernel(SCALES.copy(), line)


def batch_kernel_maker(problem: Problem, epsilon: float) -> Any:
    """Return the function that installs this stopping kernel."""
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
    """Return the mixture threshold for plays with a batch effect."""
    union = log_union(problem, epsilon)
    constant = ConstantPenalty(np.array([union - math.log(delta) for delta in deltas]))
    theorem = PROVED if problem.rewards.variance_known else PROVED_UNKNOWN
    why = validity_from_assumptions(
        "the method of mixtures", {Assumption.LEVELLED: theorem}, problem.rewards
    )
    if epsilon and why.proved:
        text = "any answer within {epsilon:g} of the best counts as correct"
        why = with_note(why, text, epsilon=epsilon)
    answers = (
        ("nearest_alternative", "neighbourhood", "max_size")
        if epsilon
        else ("nearest_alternative", "neighbourhood")
    )
    rests = ProofRequirements(answers, (), ("assumptions", "sub_gaussian_scale"))
    make_kernel = batch_kernel_maker(problem, epsilon)
    return Stopping("mixture", constant, make_kernel, why, epsilon=epsilon, rests=rests)


def only_mixture(threshold: str) -> InputError:
    """Return the error of another threshold for rewards with a batch effect."""
    return InputError(
        "level-needs-mixture",
        "threshold = {threshold!r} is for plays without a level of their own",
        remedy="use 'mixture'",
        threshold=threshold,
    )
