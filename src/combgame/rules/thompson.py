"""TS-Explore (Wang and Zhu 2022) as a sampling rule.

After t rounds L = ln(12 |I|^2 t^2 / delta). M = ceil(L / q) draws are made from the posterior,
widened by C = L / phi(q)^2: N(mean_a, C sigma_a^2 / N_a), where a standard normal exceeds phi(q)
with probability q. (The paper has C / N_a; see `posterior_scale`. sigma_a is the scale of the
rewards, 1/2 for values 0 or 1; if none is stated, `draw_means` draws.) Each draw has its best
answer. The one that leads the best answer at the estimates by most, in its own draw, is the rival,
and the arm with the fewest values among those in which the two differ is played. If no draw has
another answer, TS-Explore stops.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.protocols import ProblemKernel
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
    """Kernel of `Thompson`.

    Attributes
    ----------
    base : float
        ln(12 |I|^2 / delta).
    q : float
        q in the formulas.
    wide : float
        posterior_scale / phi(q)^2.
    n_samples : int
        Number of draws; 0 for the number of the formula.
    stated : bool
        Whether sigma is stated.
    sigma : float64[d]
        Scale of each arm.
    floor, ceiling : float64[d]
        The range of means that such rewards can have.
    error : float64[d]
        Standard deviation of a draw.
    means : float64[d]
        A draw.
    trial, rival, score : float64[d]
        Scratch.
    """

    base: float
    q: float
    wide: float
    n_samples: int
    stated: bool
    sigma: Fixed
    floor: Fixed
    ceiling: Fixed
    error: Floats
    means: Floats
    trial: Floats
    rival: Floats
    score: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Find the rival in draws from the posterior, and play the arm with fewest values."""
        level = self.base + 2.0 * math.log(max(stats.n_rounds[0], 1))
        draws = self.n_samples if self.n_samples > 0 else math.ceil(level / self.q)
        for a in range(self.rival.size):  # the rival if no draw has another answer
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
                    # only a stated bound on the mean cuts off draws, not the range of such rewards
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
            count = max(stats.counts[a], 0.5)  # 0.5 for an arm whose values are missing
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
    """Draw from a widened posterior, and tell apart the rival that leads by most in its draw [1]_.

    Parameters
    ----------
    q : float, default=0.1
        q in the formulas, between 0 and 1/2.
    delta : float, optional
        delta in the formulas. Defaults to the (smallest) delta of the run.
    n_samples : int, optional
        Number of draws in each round. Defaults to the number of the formula.
    posterior_scale : float, default=1
        The variance of a draw is posterior_scale * C sigma_a^2 / N_a.

    Notes
    -----
    ``posterior_scale=1`` is C / N_a taken literally, for sigma = 1. 2 is what the union bound
    needs: the mean of a set of arms is off by more than sqrt(2 sigma^2 L sum 1 / N_a) with
    probability at most 2 e^-L, and a draw is off by as much with probability q. 4 is C / N_a read
    for values in [0, 1], for which sigma is at most 1/2. It is not known whether the authors mean 1
    or 4.

    References
    ----------
    .. [1] Wang and Zhu. *Thompson Sampling for (Combinatorial) Pure Exploration*. ICML 2022.

    Examples
    --------
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
        """Return the rule with the smallest delta, if it has none."""
        return self if self.delta is not None else replace(self, delta=min(deltas))

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        """Return the rule bound to a problem."""
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
