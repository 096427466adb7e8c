"""The union bound over every other answer of a list, and shares of delta."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...engine.likelihood_ratio import differ
from ...engine.protocols import SetEvidence
from ...engine.state import Fixed, Floats, Ints

HUGE, LEAST = 1e300, 1e-300  # a difference with a smaller share is never ruled out


def log_share(number: int | float, classes: float, within: Floats) -> Floats:
    """Return the logarithm of the share of a difference.

    The difference is one of `number`, and one of `within` in one of some classes. Upper bounds on
    these numbers give a smaller share, which is safe.

    >>> np.exp(log_share(10, 2, np.array([1.0, 5.0]))).round(9).tolist()
    [0.3, 0.1]
    """
    every = 0.5 / number if number < HUGE else 0.0
    share = every + 0.5 / (classes * within)
    found: Floats = np.where(share > LEAST, np.log(np.maximum(share, LEAST)), -HUGE)
    return found


def by_size(counts: Floats, number: float) -> Floats:
    """Return the log shares of differences by their size: float64[sizes].

    The arguments are the most differences of each size, and of all sizes, that any B has.
    """
    return log_share(number, float((counts > 0.0).sum()), np.maximum(counts, 1.0))


FEW = 2_000  # number of sets up to which differences are counted one by one
SOME = 5_000  # number of sets up to which sets without known structure are compared one by one


class ListedUnionBound(NamedTuple):
    """The union bound over a list of sets."""

    members: Fixed  # float64[n, d]
    chance: Fixed  # float64[d + 1]: log shares by the size of the difference
    arms: Ints  # scratch
    sign: Floats

    def log_weight(self, best: Floats, rival: Floats) -> float:
        """Return the log share of the size of the difference."""
        return float(self.chance[differ(best, rival, self.arms, self.sign)])

    def minimise_evidence(
        self, weigher: SetEvidence, best: Floats, floor: float, least: float, rival: Floats
    ) -> float:
        """Look at every set whose bound is below the least evidence so far."""
        n = differ(best, rival, self.arms, self.sign)
        weigher.price_arms(best, self.arms, self.sign, n)
        offer, base = weigher.arm_prices, weigher.price_offset
        for k in range(self.members.shape[0]):
            n = differ(best, self.members[k], self.arms, self.sign)
            bound = math.inf if n == 0 else -math.inf
            for r in range(base.size):
                total = base[r] + self.chance[n]
                for i in range(n):
                    total += offer[r, self.arms[i]]
                bound = max(bound, total)
            if not bound >= least:
                value = weigher.evidence_against_set(best, self.arms, self.sign, n) + self.chance[n]
                if not value >= least:
                    least = value
                    for a in range(best.size):
                        rival[a] = self.members[k, a]
                    if not least > floor:
                        break
        return least


def every(sets: Sequence[tuple[int, ...]], d: int) -> ListedUnionBound:
    """Return the union bound over a list of sets."""
    members = np.zeros((len(sets), d))
    for row, chosen in zip(members, sets, strict=True):
        row[list(chosen)] = 1.0
    chance = by_size(differences(members), max(len(sets) - 1.0, 1.0))
    return ListedUnionBound(members, chance, np.zeros(d, np.int64), np.zeros(d))


def differences(members: Floats) -> Floats:
    """Return, for each k, the most sets that differ from one of the sets in k arms.

    These are upper bounds if there are many sets.
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
