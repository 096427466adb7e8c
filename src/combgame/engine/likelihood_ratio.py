"""The generalised likelihood ratio against one rival, and the stopping rule made of it.

The last step of every search for the nearest alternative computes the means at which a given rival
is as good as the leader, and how far away they are. The simplest stopping rule compares the
generalised likelihood ratio with a function of t.
"""

import math
from typing import NamedTuple

import numpy as np

from .jit import jitable
from .kernels import StoppingDefaults, kernel
from .protocols import ProblemKernel, RewardKernel, Threshold
from .state import Floats, Ints, RoundState
from .statistics import Statistics

REFERENCES = 12  # rows of `SetEvidence.arm_prices`


@jitable
def alike(one: Floats, other: Floats) -> bool:
    """Return whether two sets are equal."""
    same = True
    for a in range(one.size):
        if one[a] != other[a]:
            same = False
            break
    return same


@jitable
def differ(best: Floats, rival: Floats, arms: Ints, sign: Floats) -> int:
    """List the arms of the symmetric difference of two sets, and return their number.

    The sign is +1 for an arm that only the rival has, and -1 for one that only `best` has.
    """
    n = 0
    for a in range(best.size):
        if best[a] != rival[a]:
            arms[n] = a
            sign[n] = 1.0 if rival[a] > best[a] else -1.0
            n += 1
    return n


@jitable
def against(
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    best: Floats,
    arms: Ints,
    sign: Floats,
    rival: Floats,
    alternative: Floats,
) -> float:
    """Return the exact distance to a rival, and write the nearest means to `alternative`."""
    for a in range(best.size):
        alternative[a] = rewards.project(mean[a], a)
    n = differ(best, rival, arms, sign)
    return rewards.transportation_cost(mean, weight, arms, sign, n, alternative)


@jitable
def exchange(
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    best: Floats,
    i: int,
    j: int,
    arms: Ints,
    sign: Floats,
    rival: Floats,
    alternative: Floats,
) -> float:
    """Write the rival ``best - i + j`` and return the distance to it."""
    for a in range(best.size):
        rival[a] = best[a]
    rival[i], rival[j] = 0.0, 1.0
    return against(rewards, mean, weight, best, arms, sign, rival, alternative)


@jitable
def rebuild(best: Floats, arms: Ints, sign: Floats, n: int, rival: Floats) -> None:
    """Write the rival that differs from `best` in these arms: the inverse of `differ`."""
    for a in range(best.size):
        rival[a] = best[a]
    for i in range(n):
        rival[arms[i]] = 1.0 if sign[i] > 0.0 else 0.0


@kernel(StoppingDefaults)
class LikelihoodRatioKernel(NamedTuple):
    """Stopping rule whose evidence is the distance of the nearest alternative."""

    threshold: Threshold
    arms: Ints  # scratch
    sign: Floats
    spare: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Return the distance of the nearest alternative at the counts."""
        return problem.answers.nearest_alternative(
            problem.rewards,
            stats.mean,
            stats.counts,
            state.leader,
            state.rival,
            state.alternative_means,
        )

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        """Return the distance of the rival at the counts."""
        return problem.rewards.transportation_cost(
            stats.mean, stats.counts, arms, sign, n, self.spare
        )

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Return the distance of the nearest alternative."""
        return problem.answers.nearest_alternative(
            problem.rewards, stats.mean, stats.counts, best, rival, alternative
        )

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the distance of the rival."""
        return against(
            problem.rewards, stats.mean, stats.counts, best, self.arms, self.sign, rival, self.spare
        )


class ConstantThreshold(NamedTuple):
    """A constant threshold."""

    bar: float

    def critical_value(self, t: int, index: int) -> float:
        """Return the constant."""
        return self.bar


NEVER = ConstantThreshold(math.inf)


def ratio(threshold: Threshold, d: int) -> LikelihoodRatioKernel:
    """Return the likelihood-ratio stopping rule for d arms and a threshold."""
    return LikelihoodRatioKernel(threshold, np.zeros(d, np.int64), np.zeros(d), np.zeros(d))
