"""The CombGame rule: a game between a learner (the A-player) and nature (the lambda-player).

The rule is lines 5 to 9 of Algorithm 1. On request it records the learner's regret and the
statistics on which the bounds on it depend.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from .._values import symmetric
from ..engine.action_table import (
    ActionTable,
    SparseWeights,
    enlarge_action_table,
    fill_action_table,
    make_action_table,
    make_sparse_weights,
)
from ..engine.jit import jitable
from ..engine.kernels import LazyTemplate, copy_into, deep_copy
from ..engine.protocols import (
    ExplorationBonus,
    Learner,
    LinearOracle,
    ProblemKernel,
    RewardKernel,
    Tracker,
)
from ..engine.state import Floats, Ints, Random, RoundState, vector
from ..engine.statistics import Statistics
from ..errors import InputError, check_bool, invalid_argument, unknown_name
from ..learners import LLOO, LearnerBase
from ..learners.base import LearnerContext
from ..stopping.base import ProblemLike
from ._exploration import FULL_LIMIT, check_start, in_order, padded, start_sets
from ._trackers import TRACKERS, make_tracker
from .base import RuleBase
from .bonuses import make_bonus

ROUNDS, TAKEN, LONGEST, WIDEST, SQUARES, TOPS = range(6)  # positions in `RegretRecorder.figures`


class NoRegretRecorder(NamedTuple):
    """Stand-in for `RegretRecorder` if nothing is recorded."""

    kept: bool

    def record(self, actions: LinearOracle, weights: SparseWeights, reward: Floats) -> None:
        """Do nothing."""


class RegretRecorder(NamedTuple):
    r"""Statistics of the learner's regret.

    Attributes
    ----------
    total : float64[d]
        :math:`\sum_s r_s`; the best action in hindsight would have gained
        :math:`\max_A \langle 1_A, total \rangle`.
    scaled : float64[d]
        :math:`\sum_s r_s / b_s`, where
        :math:`b_s = \max_A \langle 1_A, r_s \rangle - \min_A \langle 1_A, r_s \rangle`.
    figures : float64[6]
        t; :math:`\sum_s \langle \tilde w_s, r_s \rangle`; :math:`\max \|r_s\|`; :math:`\max b_s`;
        :math:`\sum b_s^2`; :math:`\sum_s \max_A \langle 1_A, r_s \rangle / b_s`.
    score, vertex : float64[d]
        Scratch.
    """

    total: Floats
    scaled: Floats
    figures: Floats
    score: Floats
    vertex: Floats

    def record(self, actions: LinearOracle, weights: SparseWeights, reward: Floats) -> None:
        """Add a round."""
        actions.argmax(reward, self.vertex)
        top, low, taken, length = 0.0, 0.0, 0.0, 0.0
        for a in range(reward.size):
            top += self.vertex[a] * reward[a]
            taken += weights.arm_weights[a] * reward[a]
            length += reward[a] * reward[a]
            self.score[a] = -reward[a]
        actions.argmax(self.score, self.vertex)
        for a in range(reward.size):
            low += self.vertex[a] * reward[a]
        span = top - low
        figures = self.figures
        figures[ROUNDS] += 1.0
        figures[TAKEN] += taken
        figures[LONGEST] = max(figures[LONGEST], math.sqrt(length))
        figures[WIDEST] = max(figures[WIDEST], span)
        figures[SQUARES] += span * span
        # if every action gets the same in a round, there is no loss
        share = 1.0 / span if span > 0.0 else 0.0
        figures[TOPS] += top * share
        for a in range(reward.size):
            self.total[a] += reward[a]
            self.scaled[a] += reward[a] * share


def make_recorder(d: int, recorded: bool) -> RegretRecorder | NoRegretRecorder:
    """Return the recorder of d arms."""
    if not recorded:
        return NoRegretRecorder(False)
    return RegretRecorder(np.zeros(d), np.zeros(d), np.zeros(6), np.zeros(d), np.zeros(d))


ORDERS = ("learner", "simultaneous", "nature")


@jitable
def optimism(
    rewards: RewardKernel,
    stats: Statistics,
    alternative: Floats,
    bonus: float,
    visible: Floats,
    reward: Floats,
) -> None:
    r"""Write the optimistic reward r_t (line 8 of Algorithm 1).

    Notes
    -----
    The reward is :math:`r_a = \max(f / N_a, \max_{\phi \in \{\alpha_a, \beta_a\}} d(\phi,
    \lambda_a))`, where :math:`[\alpha_a, \beta_a] = \{\phi : N_a d(\mu_a, \phi) \le f\}`. An arm
    that no action observes has reward 0; otherwise it would stay attractive for ever.
    """
    for a in range(reward.size):
        reward[a] = 0.0
        if visible[a] < 0.5:
            continue
        level = bonus / max(stats.counts[a], 1.0)
        low = rewards.divergence(rewards.kl_lcb(stats.mean[a], level, a), alternative[a], a)
        high = rewards.divergence(rewards.kl_ucb(stats.mean[a], level, a), alternative[a], a)
        reward[a] = max(level, low, high)


class SingleLearner(NamedTuple):
    """Stand-in for the table of candidate answers if all have the same learner."""

    number: int

    def lookup(self, answer: Floats) -> int:
        """Return 0, the row of the learner."""
        return self.number

    def is_full(self) -> bool:
        """Return False: nothing is entered."""
        return False


class CombGameKernel(NamedTuple):
    """Kernel of `CombGame`.

    Attributes
    ----------
    learner : Learner
        The A-player.
    tracker : Tracker
        Turns w_t into an action.
    bonus : ExplorationBonus
        f.
    table : ActionTable
        The actions met so far.
    weights : SparseWeights
        w_t.
    learners : ActionTable or SingleLearner
        The candidate answers met so far, if each has its own learner.
    writes_all_weights : bool
        Whether the learner writes the marginals of w_t itself.
    order : int
        Index of the first mover: 0 the learner, as in the paper; 1 neither; 2 nature.
    past : float64[d]
        Sum of the marginals, including the initial design's.
    new : int
        Largest number of new actions in a round.
    visible : float64[d]
        1 for arms that some action observes.
    reward : float64[d]
        r_t.
    home : int64[n_0]
        Numbers of the actions of the initial design.
    centre : float64[d]
        Marginals of w_{n_0}.
    regret : RegretRecorder or NoRegretRecorder
        Statistics of the learner's regret.
    """

    learner: Learner
    tracker: Tracker
    bonus: ExplorationBonus
    table: ActionTable
    weights: SparseWeights
    learners: ActionTable | SingleLearner
    writes_all_weights: bool
    order: int
    past: Floats
    new: int
    visible: Floats
    reward: Floats
    home: Ints
    centre: Floats
    regret: RegretRecorder | NoRegretRecorder

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play lines 5 to 9 of Algorithm 1."""
        number, weight = -1, self.weights.arm_weights
        learner = self.learners.lookup(state.leader)
        if self.order < 2:
            self.learner.act(learner, self.weights)  # line 5: w_t
            if self.writes_all_weights:
                self.table.add_all_weights(self.weights)  # sum_s w_s
            else:
                self.table.add_weights(self.weights)  # w~_t, and sum_s w_s
            number = self.tracker.track(self.table, self.weights, rng)  # line 6: A_t
        if self.order > 0:
            weight = self.past  # nature does not know w_t and follows the leader
        # line 7: lambda_t
        problem.answers.nearest_alternative(
            problem.rewards, stats.mean, weight, state.leader, state.rival, state.alternative_means
        )
        f = self.bonus.bonus_at(stats.n_rounds[0])
        # line 8: r_t
        optimism(problem.rewards, stats, state.alternative_means, f, self.visible, self.reward)
        if self.order == 2:  # the best answer to r_t: a learner without regret
            problem.actions.argmax(self.reward, state.action)
            number = self.table.lookup(state.action)
            for a in range(self.past.size):
                self.past[a] += state.action[a]
        else:
            for a in range(self.past.size):
                self.past[a] += self.weights.arm_weights[a]
            self.regret.record(problem.actions, self.weights, self.reward)
            self.learner.update(  # line 9
                learner, self.weights, self.table, problem.actions, self.reward
            )
        self.table.n_plays[number] += 1.0
        self.table.decode(number, state.action)

    def needs_resize(self) -> bool:
        """Return whether a round might not fit into the table, the learner or its rows."""
        return (
            self.table.size[0] + self.new > self.table.sizes.size
            or self.learner.needs_resize()
            or self.learners.is_full()
        )


class BoundCombGame:
    """`CombGame` bound to a problem."""

    def __init__(self, rule: "CombGame", problem: ProblemLike) -> None:
        self.rule, self.problem, self.d = rule, problem, problem.actions.d
        self.start = rule.initialization or rule.learner.initialization
        self._visible = vector(problem.actions.observable_arms(), self.d)
        self._every = (
            problem.actions.to_list(FULL_LIMIT) if rule.learner.enumerates_actions else None
        )
        self._original: tuple[LazyTemplate[CombGameKernel], Ints] | None = None
        if self.start != "random-covering":
            kernel, start = self._make(self._begin(None))
            self._original = LazyTemplate(kernel), start

    def start_run(self, rng: Random) -> tuple[CombGameKernel, Ints]:
        """Return a fresh kernel, and the initial design."""
        if self._original is None:
            made, start = self._make(self._begin(rng))
            kernel = deep_copy(made)
        else:
            original, rows = self._original
            kernel, start = original.copy(), in_order(self.start, rows, rng)
        self.rule.learner.reset(kernel.learner, rng)
        return kernel, start

    @property
    def same_types(self) -> bool:
        """Return whether all kernels have arrays of the same types."""
        return self._original is not None

    def _begin(self, rng: Random | None) -> list[tuple[int, ...]]:
        return start_sets(self.start, self.problem.actions, rng)

    def _make(self, sets: list[tuple[int, ...]]) -> tuple[CombGameKernel, Ints]:
        known = self._every or sets
        room = len(known) + (
            2 if self._every else 4 * self.d + 64 + self.rule.learner.max_new_actions()
        )
        table = fill_action_table(known, room, self.problem.actions.max_size())
        number = {chosen: i for i, chosen in enumerate(known)}
        home = np.array([number[chosen] for chosen in sets], dtype=np.int64)
        # each action of the initial design is played once, with weight 1
        table.n_plays[home] = table.cumulative_weight[home] = 1.0
        centre = np.bincount([a for chosen in sets for a in chosen], minlength=self.d) / len(sets)
        return self._part(table, home, centre, 4 if self.rule.learner_per_answer else 1, 0), padded(
            sets
        )

    def _part(
        self, table: ActionTable, home: Ints, centre: Floats, n_learners: int, support: int
    ) -> CombGameKernel:
        learner, number = self.rule.learner, int(table.size[0])
        support = max(
            support,
            number if learner.enumerates_actions else learner.initial_capacity(self.d, home.size),
        )
        return CombGameKernel(
            learner.kernel(
                LearnerContext(self.problem.actions, home, centre, number, n_learners, support)
            ),
            make_tracker(self.rule.tracking, table.n_plays.size, learner.enumerates_actions),
            make_bonus(self.rule.bonus),
            table,
            make_sparse_weights(support, self.d),
            make_action_table(n_learners, self.problem.answers.max_size())
            if self.rule.learner_per_answer
            else SingleLearner(0),
            learner.writes_all_weights,
            ORDERS.index(self.rule.first_mover),
            len(home) * centre,
            learner.max_new_actions(),
            self._visible.copy(),
            np.zeros(self.d),
            home,
            centre,
            make_recorder(self.d, self.rule.track_regret),
        )

    def resize(self, rule: CombGameKernel) -> CombGameKernel:
        """Enlarge what is full."""
        room, support = rule.table.n_plays.size, rule.weights.ids.size
        table, answers, n_learners = rule.table, rule.learners, 1
        if table.size[0] + rule.new > room:
            table = enlarge_action_table(table, 4 * room)
        if isinstance(answers, ActionTable):
            n_learners = answers.sizes.size
            if answers.is_full():
                n_learners *= 2
                answers = enlarge_action_table(answers, n_learners)
        larger = self._part(
            table,
            rule.home,
            rule.centre,
            n_learners,
            2 * support if rule.learner.needs_resize() else support,
        )
        return larger._replace(
            learner=copy_into(rule.learner, larger.learner),
            tracker=copy_into(rule.tracker, larger.tracker),
            weights=copy_into(rule.weights, larger.weights),
            learners=answers,
            past=rule.past,
            regret=rule.regret,
        )

    def diagnostics(self, rule: CombGameKernel) -> dict[str, int]:
        """Return the sizes of the support, of the table, and the number of learners."""
        met = {"support": int(rule.weights.size[0]), "met": int(rule.table.size[0])}
        if isinstance(rule.learners, ActionTable):
            met["learners"] = int(rule.learners.size[0])
        return met


@dataclass(frozen=True, eq=False, repr=False)
class CombGame(RuleBase):
    """The meta-algorithm of the paper [1]_.

    Parameters
    ----------
    learner : LearnerBase, default=LLOO()
        The A-player: `Hedge`, `AdaHedge`, `OFW`, `LLOO`, `SFTPL` or a learner of your own.
    tracking : {"C", "D", "sample"}, default="C"
        How actions follow the learner's weights.
    bonus : {"stylised", "theory"} or ExplorationBonus, default="stylised"
        The exploration bonus f(t): ln t, or that of Theorem 3.
    learner_per_answer : bool, default=False
        Whether each candidate answer has its own learner, made when the answer first leads, instead
        of one learner for all.
    initialization : {"covering", "full", "random-covering"}, optional
        The initial design. Defaults to the one that the paper gives the learner.
    track_regret : bool, default=False
        Whether statistics of the learner's regret are recorded (see `combgame.regret`), at the cost
        of two oracle calls in each round.
    first_mover : {"learner", "simultaneous", "nature"}, default="learner"
        Who plays first in a round. "learner": nature answers w_t, as in the paper.
        "simultaneous": nature answers the sum of all w_s so far and does not know w_t. "nature":
        likewise, and the action is the best answer to nature's move, without a learner and without
        tracking.

    References
    ----------
    .. [1] Jourdan, Mutný, Kirschner and Krause. *Efficient Pure Exploration for Combinatorial
       Bandits with Semi-Bandit Feedback*. ALT 2021.

    Examples
    --------
    >>> import combgame as cg
    >>> cg.CombGame(cg.Hedge(), tracking="D")
    CombGame(Hedge(), tracking='D')
    """

    symmetric: ClassVar[bool] = True
    learner: LearnerBase = field(default_factory=LLOO)
    tracking: str = "C"
    bonus: str | ExplorationBonus = "stylised"
    learner_per_answer: bool = False
    initialization: str | None = None
    track_regret: bool = False
    first_mover: str = "learner"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.learner, type) or not hasattr(self.learner, "kernel"):
            raise invalid_argument(
                "learner",
                self.learner,
                "a learner, such as LLOO() (with the brackets)",
                of="CombGame",
            )
        if not isinstance(self.tracking, str) or self.tracking not in TRACKERS:
            raise unknown_name("tracking", self.tracking, TRACKERS, of="CombGame")
        if not isinstance(self.first_mover, str) or self.first_mover not in ORDERS:
            raise unknown_name("first_mover", self.first_mover, ORDERS, of="CombGame")
        if self.initialization is not None:
            check_start("CombGame", self.initialization, "initialization")
        for name, value in (
            ("learner_per_answer", self.learner_per_answer),
            ("track_regret", self.track_regret),
        ):
            check_bool(name, value, of="CombGame")
        if self.track_regret and self.learner_per_answer:
            raise InputError(
                "one-learner-recorded",
                "CombGame: track_regret=True keeps the regret of one learner",
                remedy="drop it, or learner_per_answer=True",
            )
        if self.first_mover == "nature" and (self.track_regret or self.learner_per_answer):
            raise InputError(
                "no-learner-plays",
                "CombGame: with first_mover='nature' no learner plays, so there is nothing to "
                "record, nor one per answer",
                remedy="drop track_regret=True and learner_per_answer=True",
            )
        make_bonus(self.bonus)

    def permuted(self, order: Ints) -> "CombGame | None":
        """Return the rule itself if its learner treats arms as labels."""
        return self if symmetric(self) and symmetric(self.learner) else None

    def bind(self, problem: ProblemLike) -> BoundCombGame:
        """Return the rule bound to a problem."""
        return BoundCombGame(self, problem)
