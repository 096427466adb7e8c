"""CLUCB (Chen, Lin, King, Lyu, Chen, *Combinatorial Pure Exploration of Multi-Armed Bandits*, NIPS
2014, Algorithm 1): as a sampling rule, and with its own stopping rule.

After t rounds arm a has the radius rad_a = sigma_a sqrt(2 ln(4 n t^3 / delta) / N_a), n the number
of arms. M is the best answer at the estimates, M~ the best if the arms of M are taken at their
lower and the others at their upper bounds. If M~ = M, CLUCB stops; otherwise the arm of M xor M~
with the largest radius is played.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from .._messages import Sentence
from ..engine.likelihood_ratio import alike
from ..engine.protocols import FixedSizeDefaults, Game, StoppingDefaults, Threshold, kernel
from ..engine.state import Floats, Random, View
from ..engine.statistics import Seen
from ..errors import InputError, must_be, real
from ..rewards import License
from ..stopping.base import Question, Rests, Stopping, earned
from ._exploration import padded, start_sets
from .base import UNSAID, FixedSetup, RuleBase

TINY = 1e-9  # of the largest radius: room in an action that M xor M~ leaves goes to arms seen least


@kernel(FixedSizeDefaults)
class CLUCBPart(NamedTuple):
    base: float  # ln(4 n / delta)
    sigma: Floats  # float64[d]
    trial: Floats  # M~
    radius: Floats  # rad, but for the factor that all have
    score: Floats

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        level = self.base + 3.0 * math.log(max(seen.clock[0], 1))
        for a in range(self.score.size):
            count = max(seen.counts[a], 0.5)  # 0.5: an arm whose values went missing
            self.radius[a] = self.sigma[a] * math.sqrt(2.0 * level / count)
            sign = -1.0 if view.best[a] > 0.5 else 1.0
            self.score[a] = seen.mean[a] + sign * self.radius[a]
        game.answers.argmax(self.score, self.trial)
        if alike(self.trial, view.best):  # it would have stopped: another stopping rule goes on
            for a in range(self.trial.size):
                self.trial[a] = view.rival[a]
        widest, most, total = -1, 0.0, 0.0
        for a in range(self.score.size):
            if self.trial[a] != view.best[a] and self.radius[a] > most:
                widest, most = a, self.radius[a]
        for a in range(self.score.size):  # in units of the largest radius, whatever sigma is
            count = max(seen.counts[a], 0.5)
            self.score[a] = TINY / (count * count)
            if widest >= 0 and self.trial[a] != view.best[a]:
                self.score[a] += self.radius[a] / most
            total += self.score[a]
        if widest >= 0:
            self.score[widest] += 2.0 * total + 1.0
        game.actions.argmax(self.score, view.action)


class RadiiPart(NamedTuple):
    """ln(4 n t^3 / delta): half the square of a radius in units of sigma / sqrt(N)."""

    arms: float  # n
    delta: Floats

    def level(self, t: int, which: int) -> float:
        return math.log(4.0 * self.arms / self.delta[which]) + 3.0 * math.log(max(t, 1))


@kernel(StoppingDefaults)
class OverlapPart(NamedTuple):
    """The evidence for M is the largest level at which M~ is still M: the smallest r^2, r = (lead
    over J) / (sum over M xor J of sigma_a sqrt(2 / N_a)).

    One oracle call says whether r is below the least level that is asked for, and mostly that is
    all; otherwise the least r is found by Dinkelbach's method.
    """

    threshold: Threshold
    deltas: int
    sigma: Floats
    score: Floats
    trial: Floats

    def look(self, game: Game, seen: Seen, view: View) -> float:
        least, t = math.inf, seen.clock[0]
        for a in range(view.best.size):
            view.alternative[a] = seen.mean[a]
            view.rival[a] = view.best[a]
            if self.sigma[a] > 0.0 and seen.counts[a] < 0.5:
                return 0.0
        for which in range(self.deltas):
            least = min(least, self.threshold.level(t, which))
        r = self.meet(game, seen, view.best, view.rival, math.sqrt(least))
        if r >= 0.0:
            return r * r
        return self.weakest(game, seen, view.best, view.rival, view.alternative)

    def meet(self, game: Game, seen: Seen, best: Floats, rival: Floats, r: float) -> float:
        """If M~ is another answer at radii of r, write it and return its own r; -1 if M~ = M."""
        for a in range(best.size):
            wide = r * self.sigma[a] * math.sqrt(2.0 / max(seen.counts[a], 0.5))
            self.score[a] = seen.mean[a] + (-wide if best[a] > 0.5 else wide)
        game.answers.argmax(self.score, self.trial)
        own = self.overlap(seen, best, self.trial)
        if own >= 0.0:
            for a in range(best.size):
                rival[a] = self.trial[a]
        return own

    def overlap(self, seen: Seen, best: Floats, rival: Floats) -> float:
        """The r of two answers; -1 if they are the same, or known exactly where they differ."""
        lead, wide = 0.0, 0.0
        for a in range(best.size):
            if rival[a] != best[a]:
                lead += (best[a] - rival[a]) * seen.mean[a]
                wide += self.sigma[a] * math.sqrt(2.0 / max(seen.counts[a], 0.5))
        return float(max(lead, 0.0) / wide) if wide > 0.0 else -1.0

    def weakest(
        self, game: Game, seen: Seen, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        r, found = 1.0, -1.0
        while found < 0.0 and r < 1e12:
            r *= 2.0
            found = self.meet(game, seen, best, rival, r)
        if found < 0.0:
            return math.inf
        while 0.0 <= found < r:
            r = found
            found = self.meet(game, seen, best, rival, r)
        return r * r

    def versus(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        r = max(self.overlap(seen, best, rival), 0.0)
        return r * r


@dataclass(frozen=True, eq=False, repr=False)
class CLUCB(RuleBase):
    """CLUCB, with its own stopping rule, which stands for "proved". delta: that of the radii by
    which it plays (None: that of the run, of several the smallest); the stopping rule always has
    that of the run.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=CLUCB(), runs=3, engine="python").answers
    [(0, 1), (0, 1), (0, 1)]
    """

    impartial: ClassVar[bool] = True
    delta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is None:
            return
        if not (real(self.delta) and 0.0 < self.delta < 1.0):
            raise must_be("delta", self.delta, "between 0 and 1, or None", of="CLUCB")
        object.__setattr__(self, "delta", float(self.delta))

    def at_deltas(self, deltas: Sequence[float]) -> "CLUCB":
        return self if self.delta is not None else replace(self, delta=min(deltas))

    def setup(self, problem: Question) -> FixedSetup:
        d, sigma, delta = problem.actions.d, _known(problem), self.delta or UNSAID
        n = len(problem.actions.observable())
        part = CLUCBPart(math.log(4.0 * n / delta), sigma, np.zeros(d), np.zeros(d), np.zeros(d))
        return FixedSetup(part, padded(start_sets("covering", problem.actions, None)))

    def stopping(self, problem: Question, deltas: Sequence[float]) -> Stopping | None:
        if not problem.rewards.known:
            return None
        d, seen_arms = problem.actions.d, problem.actions.observable()
        sigma = _known(problem)
        sigma[[a for a in range(d) if a not in seen_arms]] = 0.0

        def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
            judge = OverlapPart(threshold, len(deltas), sigma.copy(), np.zeros(d), np.zeros(d))
            return game._replace(judge=judge)

        radii = Sentence(
            "clucb-radii",
            "CLUCB's radii for independent sub-Gaussian values with the stated spread (Chen et al. "
            "2014; docs/algorithms.md)",
        )
        return Stopping(
            "clucb",
            RadiiPart(float(len(seen_arms)), np.asarray(deltas, dtype=float)),
            watch,
            earned("CLUCB's radii", {License.SUB_GAUSSIAN: radii}, problem.rewards),
            likelihood=False,
            rests=Rests(("argmax",), ("observable",), ("licenses", "divergence", "spread")),
        )


def _known(problem: Question) -> Floats:
    """The spread of every arm, or a sentence."""
    if not problem.rewards.known:
        raise InputError(
            "clucb-needs-variances",
            "CLUCB needs known variances, which {rewards} has not",
            remedy="use the rule 'frank-wolfe' or 'top-two', or give Gaussian a sigma",
            rewards=str(problem.rewards),
        )
    return problem.rewards.spread(problem.actions.d).astype(float)
