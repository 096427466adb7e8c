"""The judge of best sets: the evidence against each rival, with its own fees, less its share of
delta.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..game.marks import compilable
from ..game.parts import copied
from ..game.protocols import Game, Rewards, Rivals, Threshold, Weigher
from ..game.records import Floats, Ints, Seen, View
from ..game.rivals import REFERENCES, against, differ
from ..problem import Problem
from ..rewards import License
from ..rewards.base import claimed
from ..rewards.gaussian import gaussian_part
from .coin_sets import coin_weigher
from .conjugate import conjugates
from .set_foresight import SetForesightPart, set_foresight
from .variances import spreads_of
from .weighing import WeigherPart

# c of weighed values, in values of all arms, as if one arm were played at a time; see `weighing`
STEADY = 3.0 * 10.0 ** np.arange(3.0, 8.0)
PAUSE = 1.02  # times the rounds so far, before a search that gave up is tried again
SHARED = 100.0  # so many times less for what the arms share


@compilable
class SetWeigher(Weigher, Protocol):
    """The evidence against single rivals, from all that was seen."""

    @property
    def mean(self) -> Floats:
        """float64[2, d]: the means, lifted, and those of the weighed values."""

    @property
    def variance(self) -> Floats:
        """Those with which the nearest rival is sought."""

    @property
    def yardstick(self) -> Floats:
        """float64[1]: in what means are counted."""

    def face(self, seen: Seen, best: Floats, shift: float) -> None:
        """Look at what was seen; the leader's arms are lifted."""


@compilable
class Units(Protocol):
    """In what means are counted, where one deviation, or a bound on it, is that of all arms."""

    def unit(self, seen: Seen) -> float:
        """1 where deviations are known."""


class SetsJudgePart(NamedTuple):
    """The least evidence against any rival; or that against the nearest one, or against the one
    that was too little last, while that is too little.
    """

    threshold: Threshold
    rewards: Rewards  # by which the nearest rival is found
    weigher: SetWeigher
    spreads: Units
    rivals: Rivals
    foresight: SetForesightPart
    shift: float  # what the leader's arms are lifted by: epsilon per arm
    floor: float  # the lowest threshold
    mean: Floats  # scratch
    weight: Floats
    arms: Ints
    sign: Floats
    spare: Floats
    leader: Floats  # for whom `failed` is a rival
    failed: Floats  # the rival against whom there was too little; none, if it is the leader
    other: Floats
    pause: Floats  # float64[1]: until when there is no search, after one that gave up

    def look(self, game: Game, seen: Seen, view: View) -> float:
        best, rival, alternative, failed = view.best, view.rival, view.alternative, self.failed
        self.weigher.yardstick[0] = self.spreads.unit(seen)
        self.weigher.face(seen, best, self.shift)
        same, waits = True, False
        for a in range(best.size):
            self.mean[a] = seen.mean[a] + self.shift * best[a]
            self.weight[a] = seen.counts[a] / self.weigher.variance[a]
            same = same and self.leader[a] == best[a]
        game.answers.nearest(self.rewards, self.mean, self.weight, best, rival, alternative)
        if not same:
            self.pause[0] = 0.0
        for a in range(best.size):
            if not same:
                self.leader[a] = failed[a] = best[a]
            waits = waits or failed[a] != best[a]
        value = self.versus(game, seen, best, rival)
        if value > self.floor and waits:
            value = self.prefer(best, failed, self.versus(game, seen, best, failed), view, value)
        if value > self.floor:
            for a in range(best.size):
                self.other[a] = rival[a]
            least = self.floor
            if seen.clock[0] >= self.pause[0]:
                least = self.rivals.scan(self.weigher, best, self.floor, value, self.other)
            if least <= self.floor and self.versus(game, seen, best, self.other) <= self.floor:
                for a in range(best.size):
                    failed[a] = self.other[a]
            elif least <= self.floor and seen.clock[0] >= self.pause[0]:
                self.pause[0], least = PAUSE * seen.clock[0], self.floor
            value = self.prefer(best, self.other, least, view, value)
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return value

    def prefer(self, best: Floats, other: Floats, least: float, view: View, value: float) -> float:
        """If there is less against another rival, that is the one to be looked at."""
        if least >= value:
            return value
        for a in range(best.size):
            view.rival[a] = other[a]
        against(
            self.rewards,
            self.mean,
            self.weight,
            best,
            self.arms,
            self.sign,
            view.rival,
            view.alternative,
        )
        return least

    def level(self, t: int, which: int) -> float:
        return self.threshold.level(t, which)

    def foresee(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        n, odds = differ(best, rival, self.arms, self.sign), self.rivals.odds(best, rival)
        own, even = self.weigher.mean[0], self.weigher.mean[1]
        return self.foresight.expect(seen, own, even, self.arms, self.sign, n, odds)

    def foreseen(self, game: Game, seen: Seen, arms: Ints, sign: Floats, n: int) -> float:
        for a in range(self.spare.size):
            self.spare[a] = self.leader[a]
        for i in range(n):
            self.spare[arms[i]] = 1.0 - self.leader[arms[i]]
        odds = self.rivals.odds(self.leader, self.spare)
        own, even = self.weigher.mean[0], self.weigher.mean[1]
        return self.foresight.charged(seen, own, even, arms, sign, n, odds)

    def weakest(
        self, game: Game, seen: Seen, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        game.answers.nearest(self.rewards, self.mean, self.weight, best, rival, alternative)
        value = self.versus(game, seen, best, rival)
        if value > -math.inf:  # an arm without a value: there is no less
            value = self.rivals.scan(self.weigher, best, -math.inf, value, rival)
        against(
            self.rewards, self.mean, self.weight, best, self.arms, self.sign, rival, alternative
        )
        for a in range(best.size):
            alternative[a] -= self.shift * best[a]
        return value

    def versus(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        n = differ(best, rival, self.arms, self.sign)
        return self.weigher.confront(best, self.arms, self.sign, n) + self.rivals.odds(best, rival)


def judging(
    problem: Problem, rivals: Rivals, scales: Floats, deltas: Sequence[float], epsilon: float
) -> Any:
    """How a game gets this judge. scales: those of every arm's own mixture (`mixture.SCALES`)."""
    d, inf = problem.d, np.full(problem.d, np.inf)
    box = (-inf, inf) if epsilon > 0.0 else (np.array(problem.low), np.array(problem.high))
    known, width = problem.rewards.known, len(scales)
    stated = problem.rewards.spread(d) ** 2 if known else np.ones(d)
    exact = License.BINARY in claimed(problem.rewards) and epsilon == 0.0

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        steady = STEADY * float(problem.actions.largest()) ** 2
        low, high, variance = (x.copy() for x in (*box, stated))  # nobody else's
        prior, cost = scales[:, :2].T.copy(), -np.log(scales[:, 4])
        inner = WeigherPart(
            seen.counts,
            seen.weighed,
            variance,
            low,
            high,
            bool(np.isfinite(low).any() or np.isfinite(high).any()),
            conjugates().copy(),
            prior,
            cost,
            scales[:, 2:4].T.copy(),
            steady,
            SHARED,
            np.zeros((2, d)),
            np.full((4, d), -1.0),
            np.zeros((2, d, width)),
            np.zeros((2, d, width)),
            np.zeros((d, steady.size, 4)),
            np.zeros((6, max(width, steady.size))),
            np.zeros((REFERENCES, d)),
            np.zeros(REFERENCES),
            np.ones(1),
        )
        coins = coin_weigher(inner, game.rewards, seen.mean)
        weigher: Any = coins if exact else inner
        noise = coins.guessed if exact else variance
        mean, weight, sign, spare, leader, failed, other = np.zeros((7, d))
        spreads: Any = spreads_of(problem, deltas, game)
        floor = min(threshold.level(0, which) for which in range(len(deltas)))
        part = SetsJudgePart(
            threshold,
            game.rewards if exact else gaussian_part(np.ones(d), low, high),
            weigher,
            spreads,
            copied(rivals),
            set_foresight(noise, prior, cost, steady, SHARED, floor),
            epsilon / problem.answers.largest(),
            floor,
            mean,
            weight,
            np.zeros(d, np.int64),
            sign,
            spare,
            leader,
            failed,
            other,
            np.zeros(1),
        )
        return game._replace(judge=part)

    return watch
