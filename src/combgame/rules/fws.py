"""FWS as published: Frank-Wolfe sampling, Algorithm 1 of Wang et al. (2021).

x(t) is a mixture of plays, and F(x) = min_J f_J(x). In rounds t for which floor(t / |X_0|) is a
perfect square, or if the best answer is not unique, z(t) is uniform over X_0, a covering. In all
other rounds z(t) maximises the least <z - x(t-1), h> over the gradients h of all f_J with
f_J(x(t-1)) < F(x(t-1)) + r_t, r_t = t^(-9/10) / |X_0|: a linear programme. Then
x(t) = x(t-1) + (z(t) - x(t-1)) / t, and A_t = argmax_A x_A(t) / N_A(t-1), which is C-tracking of z.

The publication is about plays of one arm, X_0 being all of them; here plays can be any sets. The
rivals within r_t are found by enumerating the answers. The linear programme is a matrix game
against these rivals. Plays and rivals enter it as they are best responses (a double oracle), so
that plays are not enumerated.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import (
    ActionTable,
    SparseWeights,
    enlarge_action_table,
    fill_action_table,
    make_sparse_weights,
)
from ..engine.kernels import LazyTemplate, copy_into
from ..engine.likelihood_ratio import alike, differ
from ..engine.protocols import ProblemKernel, Tracker
from ..engine.state import Fixed, Floats, Ints, Random, RoundState, vector
from ..engine.statistics import Statistics
from ..errors import InputError, TooManySetsError
from ..stopping.base import ProblemLike
from ._exploration import padded, square, start_sets
from ._matrix_game import MatrixGame, make_matrix
from ._trackers import make_tracker
from .base import RuleBase

LISTED = 50_000  # largest number of answers
CRUMB = 1e-9  # smaller weights in a solution are rounding errors
EXACT = 1e-9  # gap of a solution, relative to F + r


class FWSKernel(NamedTuple):
    """Kernel of `FWS`.

    Attributes
    ----------
    lists : float64[answers, d]
        All answers.
    home : int64[n_0]
        Numbers of the actions of X_0.
    table : ActionTable
        The plays met so far.
    weights : SparseWeights
        z(t).
    tracker : Tracker
        C-tracking of z.
    past : float64[d]
        Sum of the marginals of all z, including the initial design's.
    steps : int64[1]
        Number of terms of this sum; in a study, plays may come from elsewhere.
    share : float64[d]
        Marginals of x(t-1).
    near : int64[answers]
        Numbers of the rivals within r_t.
    value : float64[answers]
        f_J of all answers.
    matrix : MatrixGame
        The matrix game.
    met : int64[room]
        Numbers of the rivals that are its columns.
    arms, sign, slope, trial
        Scratch; `slope` is a gradient h, and `trial` a mixture of plays or gradients.
    """

    lists: Fixed
    home: Ints
    table: ActionTable
    weights: SparseWeights
    tracker: Tracker
    past: Floats
    steps: Ints
    share: Floats
    near: Ints
    value: Floats
    matrix: MatrixGame
    met: Ints
    arms: Ints
    sign: Floats
    slope: Floats
    trial: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Compute z(t), and track it."""
        t, cover = stats.n_rounds[0] + 1, self.home.size
        for a in range(self.share.size):
            self.share[a] = self.past[a] / self.steps[0]
        self.steps[0] += 1
        least, radius, number = 0.0, t**-0.9 / cover, 0
        forced = square(t // cover)
        if not forced:
            least = self.evaluate_rivals(problem, stats, state)
            number = self.below(least + radius)
        if forced or least <= 0.0 or number == 0:  # if F = 0, the best answer is not unique
            self.spread()
        else:
            self.climb(problem, stats, state, number, least + radius)
        self.table.add_weights(self.weights)
        for a in range(self.past.size):
            self.past[a] += self.weights.arm_weights[a]
        chosen = self.tracker.track(self.table, self.weights, rng)
        self.table.n_plays[chosen] += 1.0
        self.table.decode(chosen, state.action)

    def spread(self) -> None:
        """Make z uniform over X_0."""
        for i in range(self.home.size):
            self.weights.ids[i] = self.home[i]
            self.weights.values[i] = 1.0 / self.home.size
        self.weights.size[0] = self.home.size

    def evaluate_rivals(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState
    ) -> float:
        """Compute f_J at x(t-1) for all answers (infinite for the leader), and return F."""
        least = math.inf
        for j in range(self.value.size):
            self.value[j] = math.inf
            if not alike(self.lists[j], state.leader):
                self.value[j] = self.apart(problem, stats, state, j)
                least = min(least, self.value[j])
        return least

    def apart(self, problem: ProblemKernel, stats: Statistics, state: RoundState, j: int) -> float:
        """Return f_J, and write the means at which J is as good as the leader."""
        n = differ(state.leader, self.lists[j], self.arms, self.sign)
        return problem.rewards.transportation_cost(
            stats.mean, self.share, self.arms, self.sign, n, state.alternative_means
        )

    def below(self, bar: float) -> int:
        """List the rivals whose f_J is below a bar, and return their number."""
        number = 0
        for j in range(self.value.size):
            if self.value[j] < bar:
                self.near[number] = j
                number += 1
        return number

    def gradient(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, j: int
    ) -> None:
        """Write h, the gradient of f_J at x(t-1)."""
        for a in range(self.slope.size):
            state.alternative_means[a] = stats.mean[a]
        self.apart(problem, stats, state, j)
        for a in range(self.slope.size):
            self.slope[a] = 0.0
            if self.lists[j, a] != state.leader[a]:
                self.slope[a] = problem.rewards.divergence(
                    stats.mean[a], state.alternative_means[a], a
                )

    def climb(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, number: int, bar: float
    ) -> None:
        """Let z attain the maximum over plays of the minimum of <z, h_J> - f_J + bar."""
        matrix, rival = self.matrix, self.near[0]
        matrix.used[0], matrix.used[1] = 0, 0
        for i in range(number):
            if self.value[self.near[i]] < self.value[rival]:
                rival = self.near[i]
        self.gradient(problem, stats, state, rival)
        problem.actions.argmax(self.slope, state.action)
        while True:
            new = matrix.enter(state.action)
            if not self.variance_known(rival):
                self.met[matrix.used[1]] = rival
                matrix.add_column(self.slope, bar - self.value[rival])
            elif not new:
                break
            matrix.match(bar)
            matrix.blend(matrix.row_strategy, matrix.used[0], matrix.rows, self.trial)
            low = math.inf  # the least payoff of this mixture
            for i in range(number):
                self.gradient(problem, stats, state, self.near[i])
                pays = bar - self.value[self.near[i]]
                for a in range(self.slope.size):
                    pays += self.trial[a] * self.slope[a]
                if pays < low:
                    low, rival = pays, self.near[i]
            high = 0.0  # the largest payoff of a play against the rivals' mixture
            for j in range(matrix.used[1]):
                high += matrix.column_strategy[j] * matrix.ground[j]
            matrix.blend(matrix.column_strategy, matrix.used[1], matrix.columns, self.trial)
            problem.actions.argmax(self.trial, state.action)
            for a in range(self.trial.size):
                high += state.action[a] * self.trial[a]
            if high <= low + EXACT * bar or matrix.used[1] == self.met.size:
                break
            self.gradient(problem, stats, state, rival)
        self.take()

    def variance_known(self, rival: int) -> bool:
        """Return whether a rival is in the matrix game."""
        for j in range(self.matrix.used[1]):  # noqa: SIM110  (compiled)
            if self.met[j] == rival:
                return True
        return False

    def take(self) -> None:
        """Let z be the solution's mixture of plays."""
        matrix, size, total = self.matrix, 0, 0.0
        for i in range(matrix.used[0]):
            if matrix.row_strategy[i] > CRUMB:
                total += matrix.row_strategy[i]
        for i in range(matrix.used[0]):
            if matrix.row_strategy[i] > CRUMB:
                self.weights.ids[size] = self.table.lookup(matrix.rows[i])
                self.weights.values[size] = matrix.row_strategy[i] / total
                size += 1
        self.weights.size[0] = size

    def needs_resize(self) -> bool:
        """Return whether a round might not fit into the table."""
        return bool(self.table.size[0] + self.weights.ids.size > self.table.sizes.size)


class BoundFWS:
    """`FWS` bound to a problem."""

    alike = True

    def __init__(self, problem: ProblemLike) -> None:
        d, actions = problem.actions.d, problem.actions
        sets = start_sets("covering", actions, None)
        room = len(sets) + 4 * d + 32
        table = fill_action_table(sets, 2 * room, actions.max_size())
        table.n_plays[: len(sets)] = table.cumulative_weight[: len(sets)] = 1.0
        lists = np.array([vector(chosen, d) for chosen in _listed(problem)])
        kernel = FWSKernel(
            lists,
            np.arange(len(sets)),
            table,
            make_sparse_weights(room, d),
            make_tracker("C", 2 * room),
            sum((vector(chosen, d) for chosen in sets), np.zeros(d)),
            np.array([len(sets)]),
            np.zeros(d),
            np.zeros(len(lists), np.int64),
            np.zeros(len(lists)),
            make_matrix(room, d),
            np.zeros(room, np.int64),
            np.zeros(d, np.int64),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d),
        )
        self.original, self.rows = LazyTemplate(kernel), padded(sets)

    def start_run(self, rng: Random) -> tuple[FWSKernel, Ints]:
        """Return a fresh kernel, and a covering."""
        return self.original.copy(), self.rows

    def resize(self, rule: FWSKernel) -> FWSKernel:
        """Return the kernel with a larger table."""
        room = 4 * rule.table.n_plays.size
        return rule._replace(
            table=enlarge_action_table(rule.table, room),
            tracker=copy_into(rule.tracker, make_tracker("C", room)),
        )

    def diagnostics(self, rule: FWSKernel) -> dict[str, int]:
        """Return the sizes of the support and of the table."""
        return {"support": int(rule.weights.size[0]), "met": int(rule.table.size[0])}


def _listed(problem: ProblemLike) -> list[tuple[int, ...]]:
    try:
        return problem.answers.to_list(LISTED)
    except TooManySetsError as error:
        raise TooManySetsError(
            "fws-lists",
            "FWS lists the answers to find all that are nearly nearest, and {answers} has more "
            "than {limit:,}",
            remedy="use the rule 'p-fws' or 'frank-wolfe', which list none",
            answers=str(problem.answers),
            limit=LISTED,
        ) from error


@dataclass(frozen=True, eq=False, repr=False)
class FWS(RuleBase):
    """FWS as published [1]_, for any plays and up to 50,000 answers.

    `FrankWolfe` is this package's variant of it.

    References
    ----------
    .. [1] Wang, Tzeng and Proutiere. *Fast Pure Exploration via Frank-Wolfe*. NeurIPS 2021.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(4), None, cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=FWS(), runs=3, engine="python").answers
    [(0,), (0,), (0,)]
    """

    symmetric: ClassVar[bool] = True

    def bind(self, problem: ProblemLike) -> BoundFWS:
        """Return the rule bound to a problem."""
        if problem.rewards.has_batch_effect():
            raise InputError(
                "fws-levels",
                "FWS is not defined where every play has a level of its own",
                remedy="use the rule 'frank-wolfe'",
            )
        return BoundFWS(problem)
