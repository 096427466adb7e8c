"""Evidence less fees: the judge of a deviation bound that charges per arm.

The exact mixture of values 0 or 1.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine.heap import ascend
from ..engine.jit import compilable, jitable
from ..engine.likelihood_ratio import against
from ..engine.numerics import half_stirling, stirling
from ..engine.protocols import ProblemKernel, RewardKernel, StoppingDefaults, Threshold, kernel
from ..engine.state import Floats, Ints, RoundState
from ..engine.statistics import Statistics
from ..problem import Problem


class BernoulliPenalty(NamedTuple):
    """The regret of the Beta(1/2, 1/2) mixture on N_a values of which s are 1: ln of (s/N)^s (1 -
    s/N)^(N-s) over its chance.
    """

    done: Floats  # N and s for which `fee` is right
    ones: Floats

    def update_penalty(
        self,
        stats: Statistics,
        mean: Floats,
        best: Floats,
        rival: Floats,
        weight: Floats,
        fee: Floats,
    ) -> float:
        for a in range(fee.size):
            weight[a] = stats.counts[a]
            if stats.counts[a] != self.done[a] or stats.sums[a] != self.ones[a]:
                self.done[a], self.ones[a] = stats.counts[a], stats.sums[a]
                fee[a] = beta_regret(stats.counts[a], stats.sums[a])
        return 0.0


@jitable
def beta_regret(n: float, ones: float) -> float:
    """ln of (s/n)^s (1 - s/n)^(n - s) over B(s + 1/2, n - s + 1/2) / pi.

    >>> round(beta_regret(1.0, 1.0), 6)  # the mixture gives a first value the chance 1/2
    0.693147
    """
    if n <= 0.0:
        return 0.0
    return max(
        0.5 * math.log(0.5 * math.pi * n)
        + stirling(n)
        - half_stirling(ones)
        - half_stirling(n - ones),
        0.0,
    )


@compilable
class Penalty(Protocol):
    """What a deviation bound charges per arm."""

    def update_penalty(
        self,
        stats: Statistics,
        mean: Floats,
        best: Floats,
        rival: Floats,
        weight: Floats,
        fee: Floats,
    ) -> float:
        """Write W and the fees, all of them >= 0; return what else is to be subtracted. `rival` was
        the nearest a round ago.
        """


@kernel(StoppingDefaults)
class PenalisedStoppingKernel(NamedTuple):
    """The distance of the nearest alternative at the weights W, less the largest fees."""

    threshold: Threshold
    rewards: RewardKernel  # whose distances are taken
    fees: Penalty
    max_size: int  # how many arms two answers that are compared can differ in
    is_swap: bool  # one of each side
    shift: float  # what the leader's arms are lifted by: epsilon per arm
    mean: Floats  # scratch
    weight: Floats
    fee: Floats
    rival: Floats  # the nearest of a round ago
    last: Floats  # the nearest of this round, `stamp`: looking twice changes nothing
    stamp: Ints
    price: Floats  # float64[1]: what was subtracted beside the fees
    arms: Ints  # scratch
    sign: Floats
    spare: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        best = state.leader
        if stats.n_rounds[0] != self.stamp[0]:
            self.stamp[0] = stats.n_rounds[0]
            for a in range(best.size):
                self.rival[a] = self.last[a]
        for a in range(best.size):
            self.mean[a] = stats.mean[a] + self.shift * best[a]
        self.price[0] = self.fees.update_penalty(
            stats, self.mean, best, self.rival, self.weight, self.fee
        )
        value = self.least_evidence(problem, stats, best, state.rival, state.alternative_means)
        for a in range(best.size):
            self.last[a] = state.rival[a]
        return value

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        return self.rewards.transportation_cost(self.mean, self.weight, arms, sign, n, self.spare)

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        value = problem.answers.nearest_alternative(
            self.rewards, self.mean, self.weight, best, rival, alternative
        )
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return float(value - self.price[0] - self.dearest(best))

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        value = against(
            self.rewards, self.mean, self.weight, best, self.arms, self.sign, rival, self.spare
        )
        return float(value - self.price[0] - self.dearest(best))

    def dearest(self, best: Floats) -> float:
        """The largest sum of fees that a difference can have: an arm of each side, or any
        `max_size`.
        """
        if self.is_swap:
            inside, outside = 0.0, 0.0
            for a in range(self.fee.size):
                if best[a] > 0.5:
                    inside = max(inside, self.fee[a])
                else:
                    outside = max(outside, self.fee[a])
            return inside + outside
        total, d = 0.0, self.fee.size
        for a in range(d):
            self.spare[a] = self.fee[a]
        ascend(self.spare)
        for i in range(max(d - self.max_size, 0), d):
            total += self.spare[i]
        return total


def penalised_kernel(
    problem: Problem,
    threshold: Threshold,
    fees: Penalty,
    rewards: RewardKernel,
    epsilon: float = 0.0,
) -> PenalisedStoppingKernel:
    exchange, d = problem.answers.neighbourhood(), problem.d
    mean, weight, fee, rival, last, sign, spare = np.zeros((7, d))
    return PenalisedStoppingKernel(
        threshold,
        rewards,
        fees,
        exchange.max_size,
        exchange.is_swap,
        epsilon / problem.answers.max_size(),
        mean,
        weight,
        fee,
        rival,
        last,
        np.full(1, -1, np.int64),
        np.zeros(1),
        np.zeros(d, np.int64),
        sign,
        spare,
    )


def penalised(problem: Problem, fees: Callable[[ProblemKernel], Penalty]) -> Any:
    """How a game gets a judge that takes fees off its own likelihood ratio."""

    def watch(kernel: ProblemKernel, threshold: Threshold, stats: Statistics) -> ProblemKernel:
        return kernel._replace(
            stopping=penalised_kernel(problem, threshold, fees(kernel), kernel.rewards)
        )

    return watch
