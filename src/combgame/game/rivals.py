"""The last step of every nearest alternative: the means at which a given rival is as good, and how
far away they are.
"""

from .marks import jitable
from .protocols import Rewards
from .records import Floats, Ints

REFERENCES = 12  # of `Weigher.quote`


@jitable
def alike(one: Floats, other: Floats) -> bool:
    """Whether two sets are the same."""
    same = True
    for a in range(one.size):
        if one[a] != other[a]:
            same = False
            break
    return same


@jitable
def differ(best: Floats, rival: Floats, arms: Ints, sign: Floats) -> int:
    """List the arms of `best` xor `rival`: sign +1 for those that only the rival has, -1 for those
    that only best has.
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
    rewards: Rewards,
    mean: Floats,
    weight: Floats,
    best: Floats,
    arms: Ints,
    sign: Floats,
    rival: Floats,
    alternative: Floats,
) -> float:
    """The distance to `rival`, exactly; the nearest means go to `alternative`."""
    for a in range(best.size):
        alternative[a] = rewards.project(mean[a], a)
    n = differ(best, rival, arms, sign)
    return rewards.distance(mean, weight, arms, sign, n, alternative)


@jitable
def exchange(
    rewards: Rewards,
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
