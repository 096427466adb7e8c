"""P-FWS as published: perturbed Frank-Wolfe sampling (Tzeng, Wang, Proutiere, Lu, *Closing the
Computational-Statistical Gap in Best Arm Identification for Combinatorial Semi-bandits*, NeurIPS
2023).

X_0 is a covering. In rounds t for which floor(t / |X_0|) is a perfect square the next action of X_0
is played. Otherwise the gradient of F is averaged over n_t = ceil(t^(1/4)) points of a ball of
radius eta_t = 1 / (4 sqrt(t |X_0|)) around N / t, and the best action for it is played. What is
published finds the most confusing parameter approximately, by a no-regret method; here it is exact.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..game.protocols import Game
from ..game.records import Floats, Ints, Random, Seen, View
from ..stopping.base import Question
from .base import FixedSetup, RuleBase
from .forced import square
from .starts import padded, start_sets


class PFWSPart(NamedTuple):
    rows: Ints  # X_0: a row of arms each, filled up with -1
    ball: Floats  # a point of the unit ball
    weight: Floats  # the perturbed shares
    score: Floats  # the averaged gradient

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        t, cover, d = seen.clock[0], self.rows.shape[0], self.score.size
        if square(t // cover):
            row = self.rows[t % cover]
            for a in range(d):
                view.action[a] = 0.0
            for j in range(row.size):
                if row[j] >= 0:
                    view.action[row[j]] = 1.0
            return
        eta = 1.0 / (4.0 * math.sqrt(t * cover))
        for a in range(d):
            self.score[a] = 0.0
        for _ in range(math.ceil(t**0.25)):
            self.perturb(rng)
            for a in range(d):
                self.weight[a] = max(seen.counts[a] / t + eta * self.ball[a], 0.0)
            game.answers.nearest(
                game.rewards, seen.mean, self.weight, view.best, view.rival, view.alternative
            )
            for a in range(d):
                self.score[a] += game.rewards.divergence(seen.mean[a], view.alternative[a], a)
        game.actions.argmax(self.score, view.action)

    def perturb(self, rng: Random) -> None:
        """A point of the unit ball, uniformly."""
        square_of = 0.0
        for a in range(self.ball.size):
            self.ball[a] = rng.standard_normal()
            square_of += self.ball[a] * self.ball[a]
        radius = rng.random() ** (1.0 / self.ball.size) / math.sqrt(square_of)
        for a in range(self.ball.size):
            self.ball[a] *= radius

    def full(self) -> bool:
        return False


@dataclass(frozen=True, eq=False, repr=False)
class PFWS(RuleBase):
    """P-FWS as published, with exact nearest alternatives; `FrankWolfe` is what we made of it.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=PFWS(), runs=3, engine="python").answers
    [(0, 1), (0, 1), (0, 1)]
    """

    impartial: ClassVar[bool] = True

    def setup(self, problem: Question) -> FixedSetup:
        rows = padded(start_sets("covering", problem.actions, None))
        return FixedSetup(PFWSPart(rows, *np.zeros((3, problem.actions.d))), rows)
