"""TS-Explore (Wang, Zhu, *Thompson Sampling for (Combinatorial) Pure Exploration*, ICML 2022), as a
sampling rule.

After t rounds L = ln(12 |I|^2 t^2 / delta). M = ceil(L / q) draws are made from the posterior,
widened by C = L / phi(q)^2: N(mean_a, C sigma_a^2 / N_a), phi(q) the point that a standard normal
exceeds with probability q. Each draw has its best answer; the one that leads the best answer at the
estimates by most, in its own draw, is the rival, and the arm with the fewest values among those in
which the two differ is played. If no draw has another answer, TS-Explore stops.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, NamedTuple

import numpy as np

from ..errors import must_be, real, whole
from ..game.protocols import Game
from ..game.records import Floats, Random, Seen, View
from ..stopping.base import Question
from .base import FixedSetup, RuleBase
from .posterior import draw_means
from .starts import padded, start_sets

TINY = 1e-9


class ThompsonPart(NamedTuple):
    base: float  # ln(12 |I|^2 / delta)
    q: float
    wide: float  # 1 / phi(q)^2
    samples: int  # 0: as many as the formula says
    means: Floats  # a draw
    trial: Floats
    rival: Floats
    score: Floats

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        level = self.base + 2.0 * math.log(max(seen.clock[0], 1))
        draws = self.samples if self.samples > 0 else math.ceil(level / self.q)
        for a in range(self.rival.size):  # if no draw has another: a stopping rule goes on
            self.rival[a] = view.rival[a]
        most = 0.0
        for _ in range(draws):
            draw_means(game.rewards, seen, level * self.wide, rng, self.means)
            game.answers.argmax(self.means, self.trial)
            lead = 0.0
            for a in range(self.trial.size):
                lead += (self.trial[a] - view.best[a]) * self.means[a]
            if lead > most:
                most = lead
                for a in range(self.rival.size):
                    self.rival[a] = self.trial[a]
        first, total = -1, 0.0
        for a in range(self.score.size):
            count = max(seen.counts[a], 0.5)  # 0.5: an arm whose values went missing
            self.score[a] = TINY / (count * count)
            if self.rival[a] != view.best[a]:
                self.score[a] += 1.0 / count
                if first < 0 or seen.counts[a] < seen.counts[first]:
                    first = a
            total += self.score[a]
        if first >= 0:
            self.score[first] += 2.0 * total + 1.0
        game.actions.argmax(self.score, view.action)

    def full(self) -> bool:
        return False


@dataclass(frozen=True, eq=False, repr=False)
class Thompson(RuleBase):
    """Draws from a widened posterior; the rival that leads by most in its draw is told apart.

    q, delta: those of the formulas; samples: draws a round (None: as many as the formula says).

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))
    >>> rule = Thompson(samples=5)
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=rule, runs=3, engine="python").answers
    [(0, 1), (0, 1), (0, 1)]
    """

    impartial: ClassVar[bool] = True
    q: float = 0.1
    delta: float = 0.1
    samples: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (real(self.q) and 0.0 < self.q < 0.5):
            raise must_be("q", self.q, "between 0 and 1/2", of="Thompson")
        if not (real(self.delta) and 0.0 < self.delta < 1.0):
            raise must_be("delta", self.delta, "between 0 and 1", of="Thompson")
        for name in ("q", "delta"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.samples is not None:
            whole("samples", self.samples, 1, of="Thompson")

    def setup(self, problem: Question) -> FixedSetup:
        base = math.log(12.0 / self.delta) + 2.0 * math.log(problem.answers.size_bound())
        wide = NormalDist().inv_cdf(1.0 - self.q) ** -2.0
        scratch = np.zeros((4, problem.actions.d))
        part = ThompsonPart(base, self.q, wide, self.samples or 0, *scratch)
        return FixedSetup(part, padded(start_sets("covering", problem.actions, None)))
