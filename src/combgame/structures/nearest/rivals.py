"""The last step of every nearest alternative: the means at which a given rival is as good, and how far away they are."""

from ...game.marks import jitable
from ...game.protocols import Rewards
from ...game.records import Floats, Ints
from ...rewards.base import differ


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
def rebuild(best: Floats, arms: Ints, sign: Floats, n: int, rival: Floats) -> None:
    """Write the rival that differs from `best` in these arms: the opposite of `differ`."""
    for a in range(best.size):
        rival[a] = best[a]
    for i in range(n):
        rival[arms[i]] = 1.0 if sign[i] > 0.0 else 0.0
