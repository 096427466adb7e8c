"""Best sets of values 0 or 1: the evidence of `weighing` for values in [0, 1], averaged with that
of the Beta(1/2, 1/2) mixture, for which each set pays its own fees (docs/thresholds.md).
"""

import math
from typing import NamedTuple

import numpy as np

from ..game.protocols import Rewards
from ..game.records import Floats, Ints, Seen
from .bernoulli import beta_regret
from .weighing import SHY, WeigherPart, together

EXACT = 0.25  # the share of the Beta mixture
THEN = math.log1p(-EXACT)


class CoinWeigherPart(NamedTuple):
    inner: WeigherPart  # of standard deviation 1/2
    rewards: Rewards  # with the Bernoulli divergence
    seen: Floats  # the means that were seen
    variance: Floats  # 1: the nearest rival is sought at the counts
    guessed: Floats  # float64[d]: the variances, for what is foreseen
    yardstick: Floats  # that of `inner`, like the next three
    mean: Floats
    offer: Floats
    base: Floats
    done: Floats  # float64[2, d]: N and the ones for which `fee` is right
    fee: Floats
    spare: Floats  # scratch

    def face(self, seen: Seen, best: Floats, shift: float) -> None:
        self.inner.face(seen, best, shift)
        for a in range(best.size):
            n, ones, x = seen.counts[a], seen.sums[a], seen.mean[a]
            self.guessed[a] = x * (1.0 - x) + 0.25 / (n + 1.0)
            if n != self.done[0, a] or ones != self.done[1, a]:
                self.done[0, a], self.done[1, a] = n, ones
                self.fee[a] = beta_regret(n, ones)

    def quote(self, best: Floats, arms: Ints, sign: Floats, n: int) -> None:
        self.inner.quote(best, arms, sign, n)
        for r in range(self.base.size):
            self.base[r] += THEN

    def confront(self, best: Floats, arms: Ints, sign: Floats, n: int) -> float:
        value = self.inner.confront(best, arms, sign, n)
        if value == -math.inf:
            return value
        fees, counts = 0.0, self.inner.counts
        exact = self.rewards.distance(self.seen, counts, arms, sign, n, self.spare)
        if exact == math.inf:
            return exact  # no means that are possible make the rival as good
        for i in range(n):
            fees += self.fee[arms[i]]
        exact -= fees + SHY * (exact + fees)
        return together(value + THEN, exact + math.log(EXACT))


def coin_weigher(inner: WeigherPart, rewards: Rewards, seen: Floats) -> CoinWeigherPart:
    d = inner.mean.shape[1]
    return CoinWeigherPart(
        inner,
        rewards,
        seen,
        np.ones(d),
        np.full(d, 0.25),
        inner.yardstick,
        inner.mean,
        inner.offer,
        inner.base,
        np.full((2, d), -1.0),
        np.zeros(d),
        np.zeros(d),
    )
