"""Evidence less fees: the judge of a deviation bound that charges per arm.

The exact mixture of values 0 or 1.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..engine.heap import ascend
from ..engine.jit import compilable, jitable
from ..engine.likelihood_ratio import against
from ..engine.numerics import half_stirling, stirling
from ..engine.protocols import Game, Rewards, StoppingDefaults, Threshold, kernel
from ..engine.state import Floats, Ints, View
from ..engine.statistics import Seen
from ..problem import Problem


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


@compilable
class Fees(Protocol):
    """What a deviation bound charges per arm."""

    def assess(
        self, seen: Seen, mean: Floats, best: Floats, rival: Floats, weight: Floats, fee: Floats
    ) -> float:
        """Write W and the fees, all of them >= 0; return what else is to be subtracted. `rival` was
        the nearest a round ago.
        """


@kernel(StoppingDefaults)
class JudgePart(NamedTuple):
    """The distance of the nearest alternative at the weights W, less the largest fees."""

    threshold: Threshold
    rewards: Rewards  # whose distances are taken
    fees: Fees
    most: int  # how many arms two answers that are compared can differ in
    swaps: bool  # one of each side
    shift: float  # what the leader's arms are lifted by: epsilon per arm
    mean: Floats  # scratch
    weight: Floats
    fee: Floats
    rival: Floats  # the nearest of a round ago
    last: Floats  # the nearest of this round, `stamp`: looking twice changes nothing
    stamp: Ints
    price: Floats  # float64[1]: what was subtracted beside the fees
    arms: Ints  # scratch
    sign: Floats
    spare: Floats

    def look(self, game: Game, seen: Seen, view: View) -> float:
        best = view.best
        if seen.clock[0] != self.stamp[0]:
            self.stamp[0] = seen.clock[0]
            for a in range(best.size):
                self.rival[a] = self.last[a]
        for a in range(best.size):
            self.mean[a] = seen.mean[a] + self.shift * best[a]
        self.price[0] = self.fees.assess(seen, self.mean, best, self.rival, self.weight, self.fee)
        value = self.weakest(game, seen, best, view.rival, view.alternative)
        for a in range(best.size):
            self.last[a] = view.rival[a]
        return value

    def foreseen(self, game: Game, seen: Seen, arms: Ints, sign: Floats, n: int) -> float:
        return self.rewards.distance(self.mean, self.weight, arms, sign, n, self.spare)

    def weakest(
        self, game: Game, seen: Seen, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        value = game.answers.nearest(self.rewards, self.mean, self.weight, best, rival, alternative)
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return float(value - self.price[0] - self.dearest(best))

    def versus(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        value = against(
            self.rewards, self.mean, self.weight, best, self.arms, self.sign, rival, self.spare
        )
        return float(value - self.price[0] - self.dearest(best))

    def dearest(self, best: Floats) -> float:
        """The largest sum of fees that a difference can have: an arm of each side, or any
        `most`.
        """
        if self.swaps:
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
        for i in range(max(d - self.most, 0), d):
            total += self.spare[i]
        return total


def charged(
    problem: Problem, threshold: Threshold, fees: Fees, rewards: Rewards, epsilon: float = 0.0
) -> JudgePart:
    exchange, d = problem.answers.exchange(), problem.d
    mean, weight, fee, rival, last, sign, spare = np.zeros((7, d))
    return JudgePart(
        threshold,
        rewards,
        fees,
        exchange.most,
        exchange.swaps,
        epsilon / problem.answers.largest(),
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


def charging(problem: Problem, fees: Callable[[Game], Fees]) -> Any:
    """How a game gets a judge that takes fees off its own likelihood ratio."""

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        return game._replace(judge=charged(problem, threshold, fees(game), game.rewards))

    return watch
