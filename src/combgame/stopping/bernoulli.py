"""The exact mixture of values 0 or 1."""

import math
from typing import NamedTuple

from ..game.marks import jitable
from ..game.numerics import half_stirling, stirling
from ..game.records import Floats, Seen


class BetaPart(NamedTuple):
    """The regret of the Beta(1/2, 1/2) mixture on N_a values of which s are 1: ln of (s/N)^s (1 -
    s/N)^(N-s) over its chance.
    """

    done: Floats  # N and s for which `fee` is right
    ones: Floats

    def assess(
        self, seen: Seen, mean: Floats, best: Floats, rival: Floats, weight: Floats, fee: Floats
    ) -> float:
        for a in range(fee.size):
            weight[a] = seen.counts[a]
            if seen.counts[a] != self.done[a] or seen.sums[a] != self.ones[a]:
                self.done[a], self.ones[a] = seen.counts[a], seen.sums[a]
                fee[a] = beta_regret(seen.counts[a], seen.sums[a])
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
