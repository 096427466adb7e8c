"""TS-Explore (Wang, Zhu, *Thompson Sampling for (Combinatorial) Pure Exploration*, ICML 2022), as a
sampling rule.

After t rounds L = ln(12 |I|^2 t^2 / delta). M = ceil(L / q) draws are made from the posterior,
widened by C = L / phi(q)^2: N(mean_a, C sigma_a^2 / N_a), phi(q) the point that a standard normal
exceeds with probability q. (The paper has C / N_a; see `posterior_scale`. sigma_a is the spread of the
rewards, 1/2 for values 0 or 1; where none is stated, `draw_means` draws.) Each draw has its best
answer; the one that leads the best answer at the estimates by most, in its own draw, is the rival,
and the arm with the fewest values among those in which the two differ is played. If no draw has
another answer, TS-Explore stops.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.protocols import FixedSizeDefaults, ProblemKernel, kernel
from ..engine.state import Fixed, Floats, Random, RoundState
from ..engine.statistics import Statistics
from ..errors import check_int, check_positive, invalid_argument, is_real
from ..rewards.base import spread_of
from ..stopping.base import ProblemLike
from ._exploration import draw_means, padded, start_sets
from .base import UNSAID, FixedBoundRule, RuleBase

TINY = 1e-9


@kernel(FixedSizeDefaults)
class ThompsonKernel(NamedTuple):
    base: float  # ln(12 |I|^2 / delta)
    q: float
    wide: float  # width / phi(q)^2
    n_samples: int  # 0: as many as the formula says
    stated: bool  # whether sigma is
    sigma: Fixed
    floor: Fixed  # the means that such rewards can have
    ceiling: Fixed
    error: Floats  # of a draw, its standard deviation
    means: Floats  # a draw
    trial: Floats
    rival: Floats
    score: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        level = self.base + 2.0 * math.log(max(stats.n_rounds[0], 1))
        draws = self.n_samples if self.n_samples > 0 else math.ceil(level / self.q)
        for a in range(self.rival.size):  # if no draw has another: a stopping rule goes on
            self.rival[a] = state.rival[a]
        most = 0.0
        scale = level * self.wide  # C
        for a in range(self.error.size):
            self.error[a] = self.sigma[a] * math.sqrt(scale / max(stats.counts[a], 1.0))
        for _ in range(draws):
            if self.stated:
                for a in range(self.means.size):
                    drawn = stats.mean[a] + self.error[a] * rng.standard_normal()
                    inside = problem.rewards.project(drawn, a)
                    # a bound on the mean holds; the ends of all that such rewards can have do not
                    bound = self.floor[a] < inside < self.ceiling[a]
                    self.means[a] = inside if bound else drawn
            else:
                draw_means(problem.rewards, stats, scale, rng, self.means)
            problem.answers.argmax(self.means, self.trial)
            lead = 0.0
            for a in range(self.trial.size):
                lead += (self.trial[a] - state.leader[a]) * self.means[a]
            if lead > most:
                most = lead
                for a in range(self.rival.size):
                    self.rival[a] = self.trial[a]
        first, total = -1, 0.0
        for a in range(self.score.size):
            count = max(stats.counts[a], 0.5)  # 0.5: an arm whose values went missing
            self.score[a] = TINY / (count * count)
            if self.rival[a] != state.leader[a]:
                self.score[a] += 1.0 / count
                if first < 0 or stats.counts[a] < stats.counts[first]:
                    first = a
            total += self.score[a]
        if first >= 0:
            self.score[first] += 2.0 * total + 1.0
        problem.actions.argmax(self.score, state.action)


@dataclass(frozen=True, eq=False, repr=False)
class Thompson(RuleBase):
    """Draws from a widened posterior; the rival that leads by most in its draw is told apart.

    q, delta: those of the formulas (delta None: that of the run, of several the smallest); samples:
    draws a round (None: as many as the formula says).

    width: the variance of a draw is width C sigma_a^2 / N_a. 1 is C / N_a taken literally, for
    sigma = 1. 2 is what the union bound needs: the mean of a set of arms is off by more than
    sqrt(2 sigma^2 L sum 1 / N_a) with probability 2 e^-L at most, and a draw is off by as much with
    probability q. 4 is C / N_a read for values in [0, 1], for which sigma is at most 1/2. Which of
    1 and 4 the authors mean we do not know.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))
    >>> rule = Thompson(n_samples=5)
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=rule, runs=3, engine="python").answers
    [(0, 1), (0, 1), (0, 1)]
    """

    symmetric: ClassVar[bool] = True
    q: float = 0.1
    delta: float | None = None
    n_samples: int | None = None
    posterior_scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_real(self.q) and 0.0 < self.q < 0.5):
            raise invalid_argument("q", self.q, "between 0 and 1/2", of="Thompson")
        if self.delta is not None and not (is_real(self.delta) and 0.0 < self.delta < 1.0):
            raise invalid_argument("delta", self.delta, "between 0 and 1, or None", of="Thompson")
        check_positive("posterior_scale", self.posterior_scale, of="Thompson")
        for name in ("q", "delta", "posterior_scale"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else float(given))
        if self.n_samples is not None:
            check_int("n_samples", self.n_samples, 1, of="Thompson")

    def with_deltas(self, deltas: Sequence[float]) -> "Thompson":
        return self if self.delta is not None else replace(self, delta=min(deltas))

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        sets = problem.answers.n_sets_bound()
        base = math.log(12.0 / (self.delta or UNSAID)) + 2.0 * math.log(sets)
        wide = self.posterior_scale * NormalDist().inv_cdf(1.0 - self.q) ** -2.0
        d, rewards = problem.actions.d, problem.rewards
        spread = spread_of(rewards, d) if rewards.variance_known else None
        sigma = np.ones(d) if spread is None else spread.copy()
        floor, ceiling = rewards.mean_range(d)
        number, stated = self.n_samples or 0, spread is not None
        kernel = ThompsonKernel(
            base, self.q, wide, number, stated, sigma, floor, ceiling, *np.zeros((5, d))
        )
        return FixedBoundRule(kernel, padded(start_sets("covering", problem.actions, None)))
