"""Rivals one after the other: every other answer."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...game.protocols import Weigher
from ...game.records import Fixed, Floats, Ints
from ...game.rivals import differ
from .shares import by_size

FEW = 2_000  # sets whose differences are counted one by one
SOME = 5_000  # sets that are compared one by one, where nothing is known of them


class EveryPart(NamedTuple):
    members: Fixed  # float64[n, d]
    chance: Fixed  # float64[d + 1]: by the size of the difference
    arms: Ints  # scratch
    sign: Floats

    def odds(self, best: Floats, rival: Floats) -> float:
        return float(self.chance[differ(best, rival, self.arms, self.sign)])

    def scan(
        self, weigher: Weigher, best: Floats, floor: float, least: float, rival: Floats
    ) -> float:
        n = differ(best, rival, self.arms, self.sign)
        weigher.quote(best, self.arms, self.sign, n)
        offer, base = weigher.offer, weigher.base
        for k in range(self.members.shape[0]):
            n = differ(best, self.members[k], self.arms, self.sign)
            bound = math.inf if n == 0 else -math.inf
            for r in range(base.size):
                total = base[r] + self.chance[n]
                for i in range(n):
                    total += offer[r, self.arms[i]]
                bound = max(bound, total)
            if not bound >= least:
                value = weigher.confront(best, self.arms, self.sign, n) + self.chance[n]
                if not value >= least:
                    least = value
                    for a in range(best.size):
                        rival[a] = self.members[k, a]
                    if not least > floor:
                        break
        return least


def every(sets: Sequence[tuple[int, ...]], d: int) -> EveryPart:
    """Of a list of sets."""
    members = np.zeros((len(sets), d))
    for row, chosen in zip(members, sets, strict=True):
        row[list(chosen)] = 1.0
    chance = by_size(differences(members), max(len(sets) - 1.0, 1.0))
    return EveryPart(members, chance, np.zeros(d, np.int64), np.zeros(d))


def differences(members: Floats) -> Floats:
    """The most sets that differ from one of them in k arms, for each k; bounds from above, if they
    are many.
    """
    n, d = members.shape
    counts = np.zeros(d + 1)
    if n <= FEW:
        sizes = members.sum(axis=1)
        for k in range(n):
            apart = (sizes + sizes[k] - 2.0 * members @ members[k]).round().astype(np.int64)
            counts = np.maximum(counts, np.bincount(apart, minlength=d + 1))
        counts[0] = 0.0
    else:
        counts[1:] = [min(float(math.comb(d, k)), n - 1.0) for k in range(1, d + 1)]
    return counts
