"""P-FWS as published: perturbed Frank-Wolfe sampling (Tzeng, Wang, Proutiere, Lu, *Closing the
Computational-Statistical Gap in Best Arm Identification for Combinatorial Semi-bandits*, NeurIPS
2023).

X_0 is a covering, played once in rounds 1, ..., |X_0|. After that, in rounds t for which floor(t /
|X_0|) is a perfect square the next action of X_0, in turn, is played. Otherwise the gradient of F
is averaged over n_t = ceil(t^(1/4)) points of a ball of radius eta_t = 1 / (4 sqrt(t |X_0|)) around
N / (t - 1), the shares of the rounds before, and the best action for it is played. What is
published finds the most confusing parameter approximately, by a no-regret method; here it is exact.

Its public code (repository rctzeng/NeurIPS2023-PerturbedFWS, read 2026-11-16) does otherwise, and
`draws` does as that: t are the rounds already played; the test for forced rounds is never true;
shares are N / sum N; there are d in place of |X_0|; points of the ball have a uniform radius; the
rival is the nearest of some that are drawn (`stopping/sampled_alternatives.py`), and its gradient
is divided by the squares of unperturbed shares.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.protocols import FixedSizeDefaults, Game, kernel
from ..engine.state import Floats, Ints, Random, View
from ..engine.statistics import Seen
from ..errors import whole
from ..stopping.base import Question
from ..stopping.sampled_alternatives import DrawnSearch, make_search
from ._exploration import padded, square, start_sets
from .base import FixedSetup, RuleBase


@kernel(FixedSizeDefaults)
class PFWSPart(NamedTuple):
    rows: Ints  # X_0: a row of arms each, filled up with -1
    search: DrawnSearch  # in the public code's way, if it has draws
    ball: Floats  # a point of the unit ball
    weight: Floats  # the perturbed shares
    score: Floats  # the averaged gradient

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        done, cover, d = seen.clock[0], self.rows.shape[0], self.score.size
        if self.search.draws > 0:
            self.wander(game, seen, view, rng)
            return
        t = done + 1  # the round that is played now
        if square(t // cover):
            row = self.rows[done % cover]  # X_0 in turn (docs/algorithms.md)
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
            self.perturb(rng, 1.0 / d)
            for a in range(d):
                self.weight[a] = max(seen.counts[a] / done + eta * self.ball[a], 0.0)
            game.answers.nearest(
                game.rewards, seen.mean, self.weight, view.best, view.rival, view.alternative
            )
            for a in range(d):
                self.score[a] += game.rewards.divergence(seen.mean[a], view.alternative[a], a)
        game.actions.argmax(self.score, view.action)

    def wander(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        """The public code's way."""
        t, d, total = seen.clock[0], self.score.size, 0.0
        for a in range(d):
            self.score[a] = 0.0
            total += seen.counts[a]
        eta = 1.0 / (4.0 * math.sqrt(t * d))
        for _ in range(math.ceil(t**0.25)):
            self.perturb(rng, 1.0)
            for a in range(d):
                self.weight[a] = seen.counts[a] / total + eta * self.ball[a]
            self.search.seek(game, seen.mean, self.weight, view.best, rng, view.rival)
            lead, spread = 0.0, 0.0
            for a in range(d):
                if view.rival[a] != view.best[a]:
                    lead += (view.best[a] - view.rival[a]) * seen.mean[a]
                    spread += game.rewards.blur(1.0, a) / self.weight[a]
            for a in range(d):
                if view.rival[a] != view.best[a]:
                    slope = lead / spread * total / seen.counts[a]
                    self.score[a] += 0.5 * slope * slope * game.rewards.blur(1.0, a)
        game.actions.argmax(self.score, view.action)

    def perturb(self, rng: Random, power: float) -> None:
        """A point of the unit ball, uniformly if power is 1/d; with a uniform radius if it is 1."""
        square_of = 0.0
        for a in range(self.ball.size):
            self.ball[a] = rng.standard_normal()
            square_of += self.ball[a] * self.ball[a]
        radius = rng.random() ** power / math.sqrt(square_of)
        for a in range(self.ball.size):
            self.ball[a] *= radius


@dataclass(frozen=True, eq=False, repr=False)
class PFWS(RuleBase):
    """P-FWS as published, with exact nearest alternatives; `FrankWolfe` is what we made of it.

    draws: if given, the rule does as its public code does, with so many rivals drawn at random
    (4,999 in its experiments on E20); `DrawnRivals` is the stopping rule that goes with it.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=PFWS(), runs=3, engine="python").answers
    [(0, 1), (0, 1), (0, 1)]
    """

    impartial: ClassVar[bool] = True
    draws: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.draws is not None:
            whole("draws", self.draws, 1, of="PFWS")

    def setup(self, problem: Question) -> FixedSetup:
        d = problem.actions.d
        rows = padded(start_sets("covering", problem.actions, None))
        search = DrawnSearch(0, 0.0, *np.zeros((4, d)))
        if self.draws is not None:
            search = make_search("PFWS", self.draws, problem)
        return FixedSetup(PFWSPart(rows, search, *np.zeros((3, d))), rows)
