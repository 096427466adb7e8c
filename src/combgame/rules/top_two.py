"""Top two: a leader, a challenger, and a play that tells them apart.

The papers behind `TopTwo` are about single
arms; docs/algorithms.md says what is played if plays are sets.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.likelihood_ratio import alike, differ
from ..engine.protocols import ExplorationBonus, ProblemKernel
from ..engine.state import Floats, Ints, Random, RoundState, vector
from ..engine.statistics import Statistics
from ..errors import check_int, check_positive, invalid_argument, is_real, unknown_name
from ..stopping.base import ProblemLike
from ._exploration import draw_means, lacking, padded, start_sets
from .base import FixedBoundRule, RuleBase
from .bonuses import make_bonus

LEADERS = ("best", "ucb", "sample")
CHALLENGERS = ("nearest", "sample")
# score, relative to the worth of a play, by which room in an action that the two leave goes to the
# arms with fewest values
TINY = 1e-9


@kernel(FixedSizeDefaults)
class TopTwoKernel(NamedTuple):
    """Kernel of `TopTwo`.

    Attributes
    ----------
    led, challenged : int
        Indices in LEADERS and CHALLENGERS.
    beta : float
        The leader's share of the plays; 0 for a split by information.
    max_resamples : int
        See `TopTwo`.
    exploration, exploration_delay : float
        The exploration floor; see `FrankWolfe`.
    size : float
        K, the largest number of arms in an action.
    bonus : ExplorationBonus
        f of the upper confidence bounds.
    visible : float64[d]
        1 for arms that some action observes.
    leader, rival : float64[d]
        The leader and the challenger.
    means : float64[d]
        Upper confidence bounds, or a draw.
    arms, sign : int64[d], float64[d]
        Symmetric difference of the two.
    moved : float64[d]
        The nearest means at which the two are as good.
    gain : float64[d]
        Worth of a value of each arm of the symmetric difference.
    score : float64[d]
        Scores of the arms.
    """

    led: int
    challenged: int
    beta: float
    max_resamples: int
    exploration: float
    exploration_delay: float
    size: float
    bonus: ExplorationBonus
    visible: Floats
    leader: Floats
    rival: Floats
    means: Floats
    arms: Ints
    sign: Floats
    moved: Floats
    gain: Floats
    score: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play the action that tells the leader from the challenger best."""
        if lacking(
            self.exploration, self.exploration_delay, self.size, self.visible, stats, self.score
        ):
            problem.actions.argmax(self.score, state.action)
            return
        self.lead(problem, stats, state, rng)
        self.challenge(problem, stats, state, rng)
        n = differ(self.leader, self.rival, self.arms, self.sign)
        self.evaluate_rivals(problem, stats, n)
        first = self.pick(stats, n, rng)
        total = 0.0
        for a in range(self.score.size):
            count = max(stats.counts[a], 0.5)  # 0.5 for an arm whose values are missing
            self.score[a] = TINY / (count * count)
            total += self.score[a]
        for i in range(n):
            self.score[self.arms[i]] += self.gain[i]
            total += self.gain[i]
        if n > 0:
            self.score[first] += 2.0 * total + 1.0
        problem.actions.argmax(self.score, state.action)

    def lead(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Write the leader: the best answer at the estimates, at upper bounds, or at a draw."""
        if self.led == 0:
            for a in range(self.leader.size):
                self.leader[a] = state.leader[a]
            return
        if self.led == 1:
            f = self.bonus.bonus_at(stats.n_rounds[0])
            for a in range(self.means.size):
                level = f / max(stats.counts[a], 1.0)
                self.means[a] = problem.rewards.kl_ucb(stats.mean[a], level, a)
        else:
            draw_means(problem.rewards, stats, 1.0, rng, self.means)
        problem.answers.argmax(self.means, self.leader)

    def challenge(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Write the challenger.

        It is the best answer at a draw in which that is not the leader, or the nearest rival. The
        challenger of a leader that is not the best at the estimates is the best at the estimates.
        """
        if self.challenged == 1:
            for _ in range(self.max_resamples):
                draw_means(problem.rewards, stats, 1.0, rng, self.means)
                problem.answers.argmax(self.means, self.rival)
                if not alike(self.rival, self.leader):
                    return
        ahead = alike(state.leader, self.leader)
        for a in range(self.rival.size):
            self.rival[a] = state.rival[a] if ahead else state.leader[a]

    def evaluate_rivals(self, problem: ProblemKernel, stats: Statistics, n: int) -> None:
        """Compute the worth of a value of each arm: the gradient of the evidence, with maximum 1.

        If there is no evidence, it is the gradient for Gaussian values, 1 / N_a^2.
        """
        value = problem.rewards.transportation_cost(
            stats.mean, stats.counts, self.arms, self.sign, n, self.moved
        )
        top = 0.0
        for i in range(n):
            a = self.arms[i]
            self.gain[i] = problem.rewards.divergence(stats.mean[a], self.moved[a], a)
            top = max(top, self.gain[i])
        if not (value > 0.0 and 0.0 < top < np.inf):
            top = 0.0
            for i in range(n):
                count = max(stats.counts[self.arms[i]], 0.5)
                self.gain[i] = 1.0 / (count * count)
                top = max(top, self.gain[i])
        for i in range(n):
            self.gain[i] /= top

    def pick(self, stats: Statistics, n: int, rng: Random) -> int:
        """Draw the arm that is certainly played.

        The probabilities are in proportion to N_a times the worth of a value, which add up to the
        evidence; if beta is given, it is an arm of the leader with probability beta.
        """
        side = 0.0
        if self.beta > 0.0:
            side = -1.0 if rng.random() < self.beta else 1.0
            some = False
            for i in range(n):
                some = some or self.sign[i] == side
            side = side if some else -side
        total = 0.0
        for i in range(n):
            if self.sign[i] != -side:
                total += max(stats.counts[self.arms[i]], 0.5) * self.gain[i]
        left, chosen = rng.random() * total, -1
        for i in range(n):
            if self.sign[i] != -side:
                chosen = self.arms[i]
                left -= max(stats.counts[self.arms[i]], 0.5) * self.gain[i]
                if left < 0.0:
                    break
        return int(chosen)


@dataclass(frozen=True, eq=False, repr=False)
class TopTwo(RuleBase):
    """Play what tells a leader from a challenger.

    One arm in which the two differ is certainly played; the rest of the action tells them apart
    best.

    Parameters
    ----------
    leader : {"best", "ucb", "sample"}, default="best"
        The best answer at the estimates (EB [2]_), at upper confidence bounds (TTUCB [3]_), or at a
        draw from the posterior (TTTS [1]_).
    challenger : {"nearest", "sample"}, default="nearest"
        The nearest alternative (TC [2]_), or the best answer at a draw in which that is not the
        leader (TTTS).
    beta : float, optional
        Probability that the arm is one of the leader's. By default [4]_ it is in proportion to the
        evidence that each arm bears.
    max_resamples : int, default=100
        Number of draws after which the nearest alternative is the challenger.
    exploration, exploration_delay : float
        Forced exploration; see `FrankWolfe`.
    bonus : {"stylised", "theory"} or ExplorationBonus, default="stylised"
        The exploration bonus; see `CombGame`.

    References
    ----------
    .. [1] Russo. *Simple Bayesian Algorithms for Best Arm Identification*. COLT 2016.
    .. [2] Jourdan, Degenne, Baudry, de Heide and Kaufmann. *Top Two Algorithms Revisited*. NeurIPS
       2022.
    .. [3] Jourdan and Degenne. *Non-Asymptotic Analysis of a UCB-based Top Two Algorithm*. NeurIPS
       2023.
    .. [4] You, Qin, Wang and Yang. *Information-Directed Selection for Top-Two Algorithms*. COLT
       2023.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(4), None, cg.Gaussian(0.1))
    >>> ttts = TopTwo(leader="sample", challenger="sample", beta=0.5)
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=ttts, runs=3, engine="python").answers
    [(0,), (0,), (0,)]
    """

    symmetric: ClassVar[bool] = True
    leader: str = "best"
    challenger: str = "nearest"
    beta: float | None = None
    max_resamples: int = 100
    exploration: float = 1.2
    exploration_delay: float = 20.0
    bonus: str | ExplorationBonus = "stylised"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("leader", LEADERS), ("challenger", CHALLENGERS)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise unknown_name(name, value, known, of="TopTwo")
        if self.beta is not None and not (is_real(self.beta) and 0.0 < self.beta < 1.0):
            raise invalid_argument("beta", self.beta, "between 0 and 1, or None", of="TopTwo")
        if self.beta is not None:
            object.__setattr__(self, "beta", float(self.beta))
        check_int("max_resamples", self.max_resamples, 1, of="TopTwo")
        for name in ("exploration", "exploration_delay"):
            check_positive(name, getattr(self, name), of="TopTwo")
        make_bonus(self.bonus)

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        """Return the rule bound to a problem."""
        d = problem.actions.d
        kernel = TopTwoKernel(
            LEADERS.index(self.leader),
            CHALLENGERS.index(self.challenger),
            self.beta or 0.0,
            self.max_resamples,
            float(self.exploration),
            float(self.exploration_delay),
            float(problem.actions.max_size()),
            make_bonus(self.bonus),
            vector(problem.actions.observable_arms(), d),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d, np.int64),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
        )
        return FixedBoundRule(kernel, padded(start_sets("covering", problem.actions, None)))
