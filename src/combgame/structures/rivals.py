"""The last step of every nearest alternative: the means at which a given rival is as good, and how far away they are."""

import math

from .._marks import jitable
from ..protocols import Floats, Ints, Rewards
from ..rewards.base import WEIGHTLESS, differ

LIGHT = 1e-9  # while an oracle is searched, an arm weighs at least this share of the heaviest
HEAVY = 1e9  # while paths and matchings are searched, an arm weighs at most this many times the lightest that has a weight


@jitable
def against(
    rewards: Rewards, mean: Floats, weight: Floats, best: Floats, arms: Ints, sign: Floats, rival: Floats,
    alternative: Floats,
) -> float:  # fmt: skip
    """The distance to `rival`, exactly; the nearest means go to `alternative`."""
    for a in range(best.size):
        alternative[a] = rewards.project(mean[a], a)
    n = differ(best, rival, arms, sign)
    return rewards.distance(mean, weight, arms, sign, n, alternative)


@jitable
def exchange(
    rewards: Rewards, mean: Floats, weight: Floats, best: Floats, i: int, j: int, arms: Ints, sign: Floats,
    rival: Floats, alternative: Floats,
) -> float:  # fmt: skip
    """Write the rival `best - i + j`; the distance to it."""
    for a in range(best.size):
        rival[a] = best[a]
    rival[i], rival[j] = 0.0, 1.0
    return against(rewards, mean, weight, best, arms, sign, rival, alternative)


@jitable
def tamed(weight: Floats, deciding: Floats, tame: Floats) -> bool:
    """Weights with which to search: none is above the true one, so bounds stay bounds, but for arms without any.

    Whether an arm that decides has none: then, if means are free, it can be moved at no cost, and the evidence is 0.
    """
    low, idle = math.inf, False
    for a in range(weight.size):
        if weight[a] >= WEIGHTLESS:
            low = min(low, weight[a])
        elif deciding[a] > 0.5:
            idle = True
    low = low if low < math.inf else 1.0
    for a in range(weight.size):
        tame[a] = min(weight[a], HEAVY * low) if weight[a] >= WEIGHTLESS else low / HEAVY
    return idle


@jitable
def lightest(weight: Floats) -> float:
    """The least weight that a search gives an arm: with none at all, multipliers and variances would be infinite."""
    top = 0.0
    for a in range(weight.size):
        top = max(top, weight[a])
    return LIGHT * top if top > 0.0 else 1.0
