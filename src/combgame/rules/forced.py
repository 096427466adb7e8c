"""Forced exploration: a floor of values that every arm gets, whatever a rule would rather play; and
the rounds that FWS and P-FWS set aside for it.
"""

import math

from ..game.marks import jitable
from ..game.records import Floats, Seen


@jitable
def lacking(
    explore: float, ease: float, size: float, visible: Floats, seen: Seen, score: Floats
) -> bool:
    """Whether some arm has fewer than explore sqrt(e) e / (e + ease) values, e = t K / d being what
    it would have if all were played alike; `score` is then what the arms lack, and 0 otherwise.
    """
    even, some = seen.clock[0] * size / score.size, False
    floor = max(
        explore * math.sqrt(even) * even / (even + ease), 0.5
    )  # after the start only an arm whose values went missing has 0
    for a in range(score.size):
        score[a] = 0.0
        if visible[a] > 0.5 and seen.counts[a] < floor:
            score[a] = floor - seen.counts[a]
            some = True
    return some


@jitable
def square(n: int) -> bool:
    """Whether n is a perfect square."""
    root = int(math.sqrt(n))
    return root * root == n or (root + 1) * (root + 1) == n
