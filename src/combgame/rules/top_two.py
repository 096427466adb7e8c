"""Top two: a leader, a challenger, and a play that tells them apart.

Russo, *Simple Bayesian Algorithms for Best Arm Identification*, COLT 2016 (TTTS); Jourdan,
Degenne, Baudry, de Heide, Kaufmann, *Top Two Algorithms Revisited*, NeurIPS 2022 (EB-TC); Jourdan,
Degenne, *Non-Asymptotic Analysis of a UCB-based Top Two Algorithm*, NeurIPS 2023 (TTUCB); You, Qin,
Wang, Yang, *Information-Directed Selection for Top-Two Algorithms*, COLT 2023 (the split). They are
about single arms; docs/algorithms.md says what is played where plays are sets.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.likelihood_ratio import alike, differ
from ..engine.protocols import ExplorationBonus, FixedSizeDefaults, ProblemKernel, kernel
from ..engine.state import Floats, Ints, Random, RoundState, vector
from ..engine.statistics import Statistics
from ..errors import check_int, check_positive, invalid_argument, is_real, unknown_name
from ..stopping.base import ProblemLike
from ._exploration import draw_means, lacking, padded, start_sets
from .base import FixedBoundRule, RuleBase
from .bonuses import make_bonus

LEADERS = ("best", "ucb", "sample")
CHALLENGERS = ("nearest", "sample")
TINY = 1e-9  # of a play's worth: room in an action that the two leave goes to arms seen least


@kernel(FixedSizeDefaults)
class TopTwoKernel(NamedTuple):
    led: int  # by which of LEADERS
    challenged: int  # by which of CHALLENGERS
    beta: float  # the leader's share of the plays; 0: by information
    max_resamples: int
    exploration: float
    exploration_delay: float
    size: float  # K: the arms in an action
    bonus: ExplorationBonus
    visible: Floats  # 1 for arms that some action observes
    leader: Floats  # float64[d]
    rival: Floats
    means: Floats  # of an optimist, or of a draw
    arms: Ints  # int64[d]: leader xor rival, [:n]
    sign: Floats
    moved: Floats  # float64[d]: the nearest means at which the two are as good, at arms[:n]
    gain: Floats  # float64[d]: what a value of arms[i] is worth
    score: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
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
            count = max(stats.counts[a], 0.5)  # 0.5: an arm whose values went missing
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
        """Write the challenger: the best answer at a draw in which the leader is not, or the
        nearest rival. That of a leader which is not the best at the estimates is the best.
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
        """What a value of each arm is worth: the gradient of the evidence, of which the largest
        is 1. Where there is no evidence, it is that of Gaussian values, 1 / N_a^2.
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
        """The arm that is played for certain: with chances N_a times what a value is worth, which
        add up to the evidence; of the leader's arms with chance beta, if there is one.
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
    """A leader and a challenger; one arm in which they differ is played for certain, and the rest
    of the action is what tells them apart best.

    leader: "best" at the estimates (EB), at upper confidence bounds ("ucb": TTUCB) or at a draw
    from the posterior ("sample": TTTS); challenger: the "nearest" alternative (TC), or the best
    answer at a draw in which that is not the leader ("sample": TTTS), after `max_resamples` draws the
    nearest; beta: with what chance the arm is one of the leader's (None: in proportion to the
    evidence that each arm bears); explore, ease: as in `FrankWolfe`; bonus: as in `CombGame`.

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
