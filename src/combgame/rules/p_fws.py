"""P-FWS as published: perturbed Frank-Wolfe sampling (Tzeng et al. 2023).

X_0 is a covering, played once in rounds 1, ..., |X_0|. After that, in rounds t for which
floor(t / |X_0|) is a perfect square, the next action of X_0, in turn, is played. Otherwise the
gradient of F is averaged over n_t = ceil(t^(1/4)) points of a ball of radius
eta_t = 1 / (4 sqrt(t |X_0|)) around N / (t - 1), the shares of the earlier rounds, and the best
action for it is played. The published algorithm finds the most confusing parameter approximately,
by a no-regret method; here it is exact.

The public code (repository rctzeng/NeurIPS2023-PerturbedFWS, read 2026-11-16) differs, and
`n_draws` does the same: t is the number of rounds already played; the test for forced rounds is
never true; shares are N / sum N; d takes the place of |X_0|; points of the ball have a uniform
radius; the rival is the nearest of some that are drawn (`stopping/sampled_alternatives.py`), and
its gradient is divided by the squares of unperturbed shares.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.protocols import ProblemKernel
from ..engine.state import Floats, Ints, Random, RoundState
from ..engine.statistics import Statistics
from ..errors import check_int
from ..stopping.base import ProblemLike
from ..stopping.sampled_alternatives import SampledSearch, make_search
from ._exploration import padded, square, start_sets
from .base import FixedBoundRule, RuleBase


@kernel(FixedSizeDefaults)
class PFWSKernel(NamedTuple):
    """Kernel of `PFWS`."""

    rows: Ints  # X_0: a row of arms each, filled up with -1
    search: SampledSearch  # used if its number of draws is positive
    ball: Floats  # a point of the unit ball
    weight: Floats  # the perturbed shares
    score: Floats  # the averaged gradient

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play the next action of X_0 if the round is forced, or else the best for the gradient."""
        done, cover, d = stats.n_rounds[0], self.rows.shape[0], self.score.size
        if self.search.n_draws > 0:
            self.wander(problem, stats, state, rng)
            return
        t = done + 1  # the number of this round
        if square(t // cover):
            row = self.rows[done % cover]  # X_0 in turn (docs/algorithms.md)
            for a in range(d):
                state.action[a] = 0.0
            for j in range(row.size):
                if row[j] >= 0:
                    state.action[row[j]] = 1.0
            return
        eta = 1.0 / (4.0 * math.sqrt(t * cover))
        for a in range(d):
            self.score[a] = 0.0
        for _ in range(math.ceil(t**0.25)):
            self.perturb(rng, 1.0 / d)
            for a in range(d):
                self.weight[a] = max(stats.counts[a] / done + eta * self.ball[a], 0.0)
            problem.answers.nearest_alternative(
                problem.rewards,
                stats.mean,
                self.weight,
                state.leader,
                state.rival,
                state.alternative_means,
            )
            for a in range(d):
                self.score[a] += problem.rewards.divergence(
                    stats.mean[a], state.alternative_means[a], a
                )
        problem.actions.argmax(self.score, state.action)

    def wander(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Choose the next action as the public code does."""
        t, d, total = stats.n_rounds[0], self.score.size, 0.0
        for a in range(d):
            self.score[a] = 0.0
            total += stats.counts[a]
        eta = 1.0 / (4.0 * math.sqrt(t * d))
        for _ in range(math.ceil(t**0.25)):
            self.perturb(rng, 1.0)
            for a in range(d):
                self.weight[a] = stats.counts[a] / total + eta * self.ball[a]
            self.search.seek(problem, stats.mean, self.weight, state.leader, rng, state.rival)
            lead, spread = 0.0, 0.0
            for a in range(d):
                if state.rival[a] != state.leader[a]:
                    lead += (state.leader[a] - state.rival[a]) * stats.mean[a]
                    spread += problem.rewards.quadratic_variance(1.0, a) / self.weight[a]
            for a in range(d):
                if state.rival[a] != state.leader[a]:
                    slope = lead / spread * total / stats.counts[a]
                    self.score[a] += (
                        0.5 * slope * slope * problem.rewards.quadratic_variance(1.0, a)
                    )
        problem.actions.argmax(self.score, state.action)

    def perturb(self, rng: Random, power: float) -> None:
        """Draw a point of the unit ball.

        It is uniform if `power` is 1/d, and has a uniform radius if `power` is 1.
        """
        square_of = 0.0
        for a in range(self.ball.size):
            self.ball[a] = rng.standard_normal()
            square_of += self.ball[a] * self.ball[a]
        radius = rng.random() ** power / math.sqrt(square_of)
        for a in range(self.ball.size):
            self.ball[a] *= radius


@dataclass(frozen=True, eq=False, repr=False)
class PFWS(RuleBase):
    """P-FWS as published [1]_, with exact nearest alternatives.

    `FrankWolfe` is this package's variant of it.

    Parameters
    ----------
    n_draws : int, optional
        If given, the rule does as its public code does, with this number of randomly drawn rivals
        (4,999 in its experiments on E20). `SampledAlternatives` is the stopping rule that goes with
        it.

    References
    ----------
    .. [1] Tzeng, Wang, Proutiere and Lu. *Closing the Computational-Statistical Gap in Best Arm
       Identification for Combinatorial Semi-bandits*. NeurIPS 2023.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=PFWS(), runs=3, engine="python").answers
    [(0, 1), (0, 1), (0, 1)]
    """

    symmetric: ClassVar[bool] = True
    n_draws: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_draws is not None:
            check_int("n_draws", self.n_draws, 1, of="PFWS")

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        """Return the rule bound to a problem."""
        d = problem.actions.d
        rows = padded(start_sets("covering", problem.actions, None))
        search = SampledSearch(0, 0.0, *np.zeros((4, d)))
        if self.n_draws is not None:
            search = make_search("PFWS", self.n_draws, problem)
        return FixedBoundRule(PFWSKernel(rows, search, *np.zeros((3, d))), rows)
