"""The plainest stopping rule: the generalised likelihood ratio against a function of t."""

import math
from typing import NamedTuple

import numpy as np

from .protocols import Game, Threshold
from .records import Floats, Ints, Seen, View
from .rivals import against


class RatioPart(NamedTuple):
    """The distance of the nearest alternative, at the counts."""

    threshold: Threshold
    arms: Ints  # scratch
    sign: Floats
    spare: Floats

    def look(self, game: Game, seen: Seen, view: View) -> float:
        return game.answers.nearest(
            game.rewards, seen.mean, seen.counts, view.best, view.rival, view.alternative
        )

    def level(self, t: int, which: int) -> float:
        return self.threshold.level(t, which)

    def foresee(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        return 0.0

    def foreseen(self, game: Game, seen: Seen, arms: Ints, sign: Floats, n: int) -> float:
        return game.rewards.distance(seen.mean, seen.counts, arms, sign, n, self.spare)

    def weakest(
        self, game: Game, seen: Seen, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        return game.answers.nearest(game.rewards, seen.mean, seen.counts, best, rival, alternative)

    def versus(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        return against(
            game.rewards, seen.mean, seen.counts, best, self.arms, self.sign, rival, self.spare
        )


class BarPart(NamedTuple):
    """A threshold that is always the same."""

    bar: float

    def level(self, t: int, which: int) -> float:
        return self.bar


NEVER = BarPart(math.inf)


def ratio(threshold: Threshold, d: int) -> RatioPart:
    """The likelihood ratio of d arms against a threshold."""
    return RatioPart(threshold, np.zeros(d, np.int64), np.zeros(d), np.zeros(d))
