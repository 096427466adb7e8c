r"""Frank-Wolfe on the counts: one oracle call in each round, no learner and no tracking.

The optimal allocation maximises :math:`F(w) = \min_J f_J(w)`, where :math:`f_J(w)` is the infimum
of :math:`\langle w, d(\mu, \lambda) \rangle` over :math:`\lambda` with J at least as good as the
leader. F is concave and homogeneous, so the gradient of :math:`f_J` at the counts N is
:math:`d(\mu, \lambda^J)`, whatever their scale. A Frank-Wolfe step of size 1/t from N/t towards the
vertex :math:`1_A` is the same as playing A, so the counts follow the optimal allocation by
themselves (Wang, Tzeng and Proutiere, NeurIPS 2021: FWS; Tzeng, Wang, Proutiere and Lu, NeurIPS
2023: P-FWS). The minimum is smoothed over rivals that have been nearest alternatives before, with
weights :math:`\exp(-\kappa_t (f_J(N) - \min f))`. docs/algorithms.md says what is known of the
rule.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, enlarge_action_table, make_action_table
from ..engine.jit import jitable
from ..engine.kernels import LazyTemplate
from ..engine.numerics import lead_of
from ..engine.protocols import ProblemKernel
from ..engine.state import Fixed, Floats, Ints, Random, RoundState, vector
from ..engine.statistics import Statistics
from ..errors import check_int, check_positive
from ..rewards.base import WEIGHTLESS
from ..stopping.base import ProblemLike
from ._exploration import lacking, padded, start_sets
from .base import BoundRule, RuleBase
from .frank_wolfe_blocks import BoundFrankWolfeBlocks

# every arm has at least the score TINY / N^2, so that ties, and room in an action that no rival
# claims, go to the arms with fewest values
TINY = 1e-9
LOST = math.log(TINY) - 54.0 * math.log(2.0) - 0.01  # negligible beside a score of 1 / N^2

OFTEN = 32  # penalties are forecast again when t has grown by 1/OFTEN of itself
TIED = 1e-12  # rounding error of a lead, relative to the means
NOTHING = 50.0  # a weight of exp(-NOTHING) is negligible beside TINY


@jitable
def negligible_beyond(least: float, kappa: float, counts: Floats, worth: Floats) -> float:
    """Return the f_J beyond which a rival changes no score, not even in the last bit.

    A gradient times the effective counts adds up to f_J, so a rival adds at most exp(-kappa (f_J -
    least)) f_J / worth to a score of at least TINY / N^2; 2^-54 of a score is rounded away.
    """
    dearest = 0.0  # the largest N^2 / worth
    for a in range(counts.size):
        if not worth[a] > 0.0:
            return math.inf
        n = max(counts[a], 0.5)
        dearest = max(dearest, n * n / worth[a])
    base = max(least, 0.0) + (math.log(dearest) - LOST) / kappa
    more = math.log(base + 2.0 / kappa + 1.0)
    while math.exp(more) < base + more / kappa:
        more += 1.0
    return max(base + more / kappa, 1.0 / kappa)


class FrankWolfeKernel(NamedTuple):
    """Kernel of `FrankWolfe`.

    Attributes
    ----------
    sharpness, anneal_after : float
        kappa_t = sharpness / sqrt(1 + t / anneal_after).
    exploration, exploration_delay : float
        The exploration floor; see `FrankWolfe`.
    size : float
        K, the largest number of arms in an action.
    visible : float64[d]
        1 for arms that some action observes.
    rival_table : ActionTable
        The answers that have been nearest alternatives.
    pool_slot : int64[capacity]
        Position of each of them in the pool plus 1, or 0.
    pool : int64[places]
        Numbers of the rivals over which the minimum is smoothed.
    last_nearest : int64[places]
        Round in which each rival was last the nearest.
    arms, sign : int64[places, d], float64[places, d]
        Symmetric difference of the leader and each rival, in ``arms[k, :number[k]]``.
    number : int64[places]
        Its size.
    value : float64[places]
        f_J at the counts.
    gradient : float64[places, d]
        Gradient of f_J on `arms`, or its multiplier in ``gradient[k, 0]``.
    variance : float64[d]
        `TransportationCost.quadratic_variance` of each arm.
    closed : int64[1]
        1 if multipliers are kept.
    penalty : float64[places]
        Forecast penalty to subtract from f_J; infinite if it is still to be computed.
    scale : float64[1]
        Counts at the end in multiples of the current ones; 0 without penalties.
    penalty_schedule : int64[2]
        Round of the last forecast, and of the next.
    leader : float64[d]
        The leader of the last round.
    used : int64[1]
        Number of rivals in the pool.
    score : float64[d]
        Scores of the arms.
    """

    sharpness: float
    anneal_after: float
    exploration: float
    exploration_delay: float
    size: float
    visible: Fixed
    rival_table: ActionTable
    pool_slot: Ints
    pool: Ints
    last_nearest: Ints
    arms: Ints
    sign: Floats
    number: Ints
    value: Floats
    gradient: Floats
    variance: Floats
    closed: Ints
    penalty: Floats
    scale: Floats
    penalty_schedule: Ints
    leader: Floats
    used: Ints
    score: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        r"""Choose the next action by one Frank-Wolfe step on the smoothed evidence.

        Notes
        -----
        1. *Forced exploration.* If an arm has fewer values than the exploration floor, play the
           action that contains most such arms and return.
        2. *Pool of rivals.* Insert the current closest rival; the pool keeps those that were
           closest most recently.
        3. *Evidence.* Compute :math:`f_J(N)`, the transportation cost of making rival :math:`J` as
           good as the leader, for every :math:`J` in the pool. If the stopping rule penalises
           rivals differently, subtract the penalty that it forecasts for the end of the run.
        4. *Gradient.* Weight the rivals by :math:`\exp(-\kappa_t (f_J - \min_K f_K))`, with
           :math:`\kappa_t = \kappa / \sqrt{1 + t/t_0}`, and sum their gradients
           :math:`d(\hat\mu_a, \lambda^J_a)`. A small multiple of :math:`1/N_a^2` breaks ties in
           favour of arms with few values.
        5. *Oracle.* Play the action that maximises the resulting score.

        Because :math:`F = \min_J f_J` is concave and homogeneous, a step of size :math:`1/t` from
        :math:`N/t` towards a vertex is the same as playing that action, so no tracking is needed.
        """
        t = stats.n_rounds[0]
        if lacking(
            self.exploration, self.exploration_delay, self.size, self.visible, stats, self.score
        ):
            problem.actions.argmax(self.score, state.action)
            return
        self.update_leader(state)
        self.add_rival(self.rival_table.lookup(state.rival), t)
        least = self.evaluate_rivals(problem, stats, state)
        if t >= self.penalty_schedule[1] or t < self.penalty_schedule[0]:
            self.penalty_schedule[0], self.penalty_schedule[1] = t, t + 1 + t // OFTEN
            self.scale[0] = problem.stopping.expected_growth(
                problem, stats, state.leader, state.rival
            )
            for k in range(self.used[0]):
                self.penalty[k] = math.inf
        if self.scale[0] > 0.0:
            least = self.subtract_forecast_penalty(problem, stats)
        kappa = self.sharpness / math.sqrt(1.0 + t / self.anneal_after)
        far = least + NOTHING / kappa
        if self.scale[0] == 0.0:
            far = negligible_beyond(least, kappa, stats.counts, stats.effective_counts)
        for a in range(self.score.size):
            n = max(stats.counts[a], 0.5)  # 0.5 for an arm whose values are missing
            self.score[a] = TINY / (n * n)
        for k in range(self.used[0]):
            if self.value[k] <= far:
                self.add_gradient(problem, stats, k, math.exp(-kappa * (self.value[k] - least)))
        problem.actions.argmax(self.score, state.action)

    def evaluate_rivals(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState
    ) -> float:
        """Compute f_J at the counts for all rivals in the pool, and return the least.

        If every arm has a quadratic variance, f_J has a closed form and is computed as
        `transportation_cost` does it, to the last bit; otherwise `transportation_cost` is called,
        and gradients are kept.
        """
        least, closed = math.inf, True
        for a in range(self.variance.size):
            if stats.effective_counts[a] < WEIGHTLESS:
                closed = False
            else:
                self.variance[a] = problem.rewards.quadratic_variance(stats.effective_counts[a], a)
                closed = closed and self.variance[a] >= 0.0
        self.closed[0] = 1 if closed else 0
        for k in range(self.used[0]):
            arms, sign, n = self.arms[k], self.sign[k], self.number[k]
            if closed:
                (lead, doubt), spread = lead_of(stats.mean, arms, sign, n), 0.0
                for i in range(n):
                    spread += self.variance[arms[i]]
                lead = max(lead - doubt, 0.0)
                self.gradient[k, 0] = lead / spread
                self.value[k] = 0.5 * lead * self.gradient[k, 0]
                if self.is_tied(stats, k):
                    self.gradient[k, 0] = 0.0
            else:
                self.value[k] = problem.rewards.transportation_cost(
                    stats.mean, stats.effective_counts, arms, sign, n, state.alternative_means
                )
                for i in range(n):
                    a = arms[i]
                    self.gradient[k, i] = problem.rewards.divergence(
                        stats.mean[a], state.alternative_means[a], a
                    )
                if self.is_tied(stats, k):
                    for i in range(n):
                        self.gradient[k, i] = self.tie_breaking_gradient(stats, k, arms[i])
            least = min(least, self.value[k])
        return least

    def subtract_forecast_penalty(self, problem: ProblemKernel, stats: Statistics) -> float:
        """Subtract the forecast penalties from f_J, and return the least of the results.

        A penalty is that of the expected end of the run, in proportion to the rounds so far.
        """
        least, scale = math.inf, self.scale[0]
        for k in range(self.used[0]):
            if self.penalty[k] == math.inf:
                asked = problem.stopping.projected_evidence(
                    problem, stats, self.arms[k], self.sign[k], self.number[k]
                )
                self.penalty[k] = self.value[k] - asked / scale
            self.value[k] -= self.penalty[k]
            least = min(least, self.value[k])
        return least

    def add_gradient(
        self, problem: ProblemKernel, stats: Statistics, k: int, weight: float
    ) -> None:
        """Add `weight` times the gradient of f_J to the scores."""
        for i in range(self.number[k]):
            a, slope = self.arms[k, i], self.gradient[k, i]
            if self.closed[0] == 1 and not self.gradient[k, 0] > 0.0:
                slope = self.tie_breaking_gradient(stats, k, a)
            elif self.closed[0] == 1:
                y = problem.rewards.best_shift(
                    stats.mean[a],
                    stats.effective_counts[a],
                    self.sign[k, i] * self.gradient[k, 0],
                    a,
                )
                slope = problem.rewards.divergence(stats.mean[a], y, a)
            self.score[a] += weight * slope

    def is_tied(self, stats: Statistics, k: int) -> bool:
        """Return whether a rival is as good as the leader at the estimates, up to rounding."""
        lead, size = 0.0, 0.0
        for i in range(self.number[k]):
            x = self.sign[k, i] * stats.mean[self.arms[k, i]]
            lead += x
            size += abs(x)
        return bool(abs(lead) <= TIED * size)

    def tie_breaking_gradient(self, stats: Statistics, k: int, arm: int) -> float:
        """Return the worth of a value of an arm if a rival is tied with the leader.

        Bernoulli arms are often tied. The gradient is then 0, and both would wait until all others
        have as many values. The worth is the evidence that one more value makes on average, (s_a /
        N_a)^2 / (2 sum s^2 / N), where s^2 is the variance of the values of an arm so far. It is 0
        if all values of the arm were equal, as one more would then hardly separate the two.
        """
        spread = 0.0
        for i in range(self.number[k]):
            a = self.arms[k, i]
            n = max(stats.counts[a], 0.5)
            spread += stats.squares[a] / (n * n)
        n = max(stats.counts[arm], 0.5)
        return float(0.5 * stats.squares[arm] / (n * n * n * spread)) if spread > 0.0 else 0.0

    def update_leader(self, state: RoundState) -> None:
        """Recompute the differences to the rivals if another answer leads."""
        same = True
        for a in range(self.leader.size):
            if self.leader[a] != state.leader[a]:
                same = False
                break
        if same:
            return
        for a in range(self.leader.size):
            self.leader[a] = state.leader[a]
        self.penalty_schedule[1] = 0
        k = 0
        while k < self.used[0]:
            self.set_difference(k)
            if self.number[k] == 0:  # it leads now
                self.pool_slot[self.pool[k]] = 0
                self.used[0] -= 1
                if k < self.used[0]:
                    self.pool[k], self.last_nearest[k] = (
                        self.pool[self.used[0]],
                        self.last_nearest[self.used[0]],
                    )
                    self.pool_slot[self.pool[k]] = k + 1
            else:
                k += 1

    def add_rival(self, number: int, t: int) -> None:
        """Insert the nearest rival into the pool.

        If the pool is full, it replaces the rival that was nearest longest ago.
        """
        k = self.pool_slot[number] - 1
        if k < 0:
            if self.used[0] < self.pool.size:
                k = self.used[0]
                self.used[0] += 1
            else:
                k = 0
                for j in range(1, self.pool.size):
                    if self.last_nearest[j] < self.last_nearest[k]:
                        k = j
                self.pool_slot[self.pool[k]] = 0
            self.pool[k] = number
            self.penalty[k] = math.inf
            self.pool_slot[number] = k + 1
            self.set_difference(k)
        self.last_nearest[k] = t

    def set_difference(self, k: int) -> None:
        """List the arms of leader xor rival k, as `transportation_cost` takes them."""
        rival, n = self.pool[k], 0
        for j in range(self.rival_table.sizes[rival]):
            a = self.rival_table.arms[rival, j]
            if self.leader[a] < 0.5:
                self.arms[k, n], self.sign[k, n] = a, 1.0
                n += 1
            self.score[a] = 2.0
        for a in range(self.leader.size):
            if self.leader[a] > 0.5 and self.score[a] != 2.0:
                self.arms[k, n], self.sign[k, n] = a, -1.0
                n += 1
        for j in range(self.rival_table.sizes[rival]):
            self.score[self.rival_table.arms[rival, j]] = 0.0
        self.number[k] = n

    def needs_resize(self) -> bool:
        """Return whether one more rival might not fit into the table."""
        return self.rival_table.is_full()


class BoundFrankWolfe:
    """`FrankWolfe` bound to a problem."""

    alike = True

    def __init__(self, rule: "FrankWolfe", problem: ProblemLike) -> None:
        self.rule, self.problem, d = rule, problem, problem.actions.d
        self.start = padded(start_sets("covering", problem.actions, None))
        self.width = min(d, problem.answers.max_difference_bound())
        places = rule.max_rivals or min(max(d, 16), 128)
        kernel = FrankWolfeKernel(
            rule.sharpness,
            rule.anneal_after,
            rule.exploration,
            rule.exploration_delay,
            float(problem.actions.max_size()),
            vector(problem.actions.observable_arms(), d),
            make_action_table(4 * places, problem.answers.max_size()),
            np.zeros(4 * places, np.int64),
            np.zeros(places, np.int64),
            np.zeros(places, np.int64),
            np.zeros((places, self.width), np.int64),
            np.zeros((places, self.width)),
            np.zeros(places, np.int64),
            np.zeros(places),
            np.zeros((places, self.width)),
            np.zeros(d),
            np.zeros(1, np.int64),
            np.zeros(places),
            np.zeros(1),
            np.zeros(2, np.int64),
            np.zeros(d),
            np.zeros(1, np.int64),
            np.zeros(d),
        )
        self._original = LazyTemplate(kernel)

    def start_run(self, rng: Random) -> tuple[FrankWolfeKernel, Ints]:
        """Return a fresh kernel, and a covering."""
        return self._original.copy(), self.start

    def resize(self, rule: FrankWolfeKernel) -> FrankWolfeKernel:
        """Return the kernel with a larger table of rivals."""
        met = enlarge_action_table(rule.rival_table, 4 * rule.rival_table.sizes.size)
        return rule._replace(
            rival_table=met,
            pool_slot=np.r_[
                rule.pool_slot, np.zeros(met.sizes.size - rule.pool_slot.size, np.int64)
            ],
        )

    def diagnostics(self, rule: FrankWolfeKernel) -> dict[str, int]:
        """Return the number of rivals in the pool and in the table."""
        return {"rivals": int(rule.used[0]), "met": int(rule.rival_table.size[0])}


@dataclass(frozen=True, eq=False, repr=False)
class FrankWolfe(RuleBase):
    r"""Play the action that maximises the gradient of the smoothed evidence.

    Parameters
    ----------
    sharpness : float, default=6
        kappa: how sharply the minimum over the rivals is smoothed.
    anneal_after : float, default=1e6
        t_0 in :math:`\kappa_t = \kappa / \sqrt{1 + t / t_0}`.
    exploration : float, default=1.2
        Every arm gets at least ``exploration * sqrt(e) * e / (e + exploration_delay)`` values,
        where e = t K / d is the number that it would have if all arms were played alike.
    exploration_delay : float, default=20
        See `exploration`.
    max_rivals : int, optional
        Number of rivals over which the minimum is smoothed. Defaults to the number of arms, but at
        least 16 and at most 128.

    Notes
    -----
    If every play has a batch effect, plays are chosen in blocks instead
    (`rules/frank_wolfe_blocks.py`), and these parameters are ignored.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> rule = FrankWolfe(exploration=1.0)
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=rule, runs=2, engine="python").answers
    [(0,), (0,)]
    """

    symmetric: ClassVar[bool] = True
    sharpness: float = 6.0
    anneal_after: float = 1e6
    exploration: float = 1.2
    exploration_delay: float = 20.0
    max_rivals: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("sharpness", "anneal_after", "exploration", "exploration_delay"):
            check_positive(name, getattr(self, name), of="FrankWolfe")
        if self.max_rivals is not None:
            check_int("max_rivals", self.max_rivals, 1, of="FrankWolfe")

    def bind(self, problem: ProblemLike) -> BoundRule:
        """Return the rule bound to a problem."""
        if problem.rewards.has_batch_effect():
            return BoundFrankWolfeBlocks(problem)
        return BoundFrankWolfe(self, problem)
