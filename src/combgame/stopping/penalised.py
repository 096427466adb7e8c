"""Evidence less penalties: the stopping kernel of a deviation bound with a penalty per arm."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine.heap import ascend
from ..engine.jit import compilable, jitable
from ..engine.kernels import StoppingDefaults, kernel
from ..engine.likelihood_ratio import against
from ..engine.numerics import half_stirling, stirling
from ..engine.protocols import ProblemKernel, RewardKernel, Threshold
from ..engine.state import Floats, Ints, RoundState
from ..engine.statistics import Statistics
from ..problem import Problem


class BernoulliPenalty(NamedTuple):
    """The regret of the Beta(1/2, 1/2) mixture on N_a values of which s are 1.

    It is the logarithm of (s/N)^s (1 - s/N)^(N-s) over the probability of the values under the
    mixture.
    """

    done: Floats  # N and s, next line, for which `fee` was computed
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
        """Write the counts as weights, and the regret of each arm as its penalty."""
        for a in range(fee.size):
            weight[a] = stats.counts[a]
            if stats.counts[a] != self.done[a] or stats.sums[a] != self.ones[a]:
                self.done[a], self.ones[a] = stats.counts[a], stats.sums[a]
                fee[a] = beta_regret(stats.counts[a], stats.sums[a])
        return 0.0


@jitable
def beta_regret(n: float, ones: float) -> float:
    """Return ln of (s/n)^s (1 - s/n)^(n - s) over B(s + 1/2, n - s + 1/2) / pi.

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
    """The penalties of a deviation bound, one per arm."""

    def update_penalty(
        self,
        stats: Statistics,
        mean: Floats,
        best: Floats,
        rival: Floats,
        weight: Floats,
        fee: Floats,
    ) -> float:
        """Write the weights W and the penalties, all of them >= 0.

        Returns what must be subtracted in addition. `rival` was the nearest in the previous round.
        """


@kernel(StoppingDefaults)
class PenalisedStoppingKernel(NamedTuple):
    """The cost of the nearest alternative at the weights W, less the largest penalties."""

    threshold: Threshold
    rewards: RewardKernel  # its transportation costs are used
    fees: Penalty
    max_size: int  # largest difference of two answers that are compared
    is_swap: bool  # whether they differ by an exchange
    shift: float  # added to the means of the leader's arms: epsilon per arm
    mean: Floats  # scratch
    weight: Floats
    fee: Floats
    rival: Floats  # the nearest in the previous round
    last: Floats  # the nearest in the round `stamp`, so that evaluating twice changes nothing
    stamp: Ints
    price: Floats  # float64[1]: what is subtracted in addition to the penalties
    arms: Ints  # scratch
    sign: Floats
    spare: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Update weights and penalties, then return the least evidence."""
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
        """Return the cost of a rival at the weights W."""
        return self.rewards.transportation_cost(self.mean, self.weight, arms, sign, n, self.spare)

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Return the least evidence against any rival."""
        value = problem.answers.nearest_alternative(
            self.rewards, self.mean, self.weight, best, rival, alternative
        )
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return float(value - self.price[0] - self.dearest(best))

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the evidence against a given rival."""
        value = against(
            self.rewards, self.mean, self.weight, best, self.arms, self.sign, rival, self.spare
        )
        return float(value - self.price[0] - self.dearest(best))

    def dearest(self, best: Floats) -> float:
        """Return the largest sum of penalties that a difference can have.

        A difference is an exchange of an arm of each side, or any `max_size` arms.
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
    """Return a stopping kernel with these penalties."""
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
    """Return the function that installs a stopping kernel with penalties."""

    def make_kernel(
        kernel: ProblemKernel, threshold: Threshold, stats: Statistics
    ) -> ProblemKernel:
        return kernel._replace(
            stopping=penalised_kernel(problem, threshold, fees(kernel), kernel.rewards)
        )

    return make_kernel
