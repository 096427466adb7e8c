"""Frank-Wolfe on the counts: one oracle call a round, no learner, no tracking.

The optimal allocation maximises F(w) = min_J f_J(w), f_J(w) = inf over lambda with J at least as
good as the leader of <w, d(mu, lambda)>. F is concave and homogeneous, so the gradient of f_J at
the counts N is d(mu, lambda^J), whatever their scale. A step of Frank-Wolfe with step size 1/t from
N/t towards the vertex 1_A *is* playing A, so the counts follow the optimal allocation by themselves
(Wang, Tzeng, Proutiere, NeurIPS 2021: FWS; Tzeng, Wang, Proutiere, Lu, NeurIPS 2023: P-FWS). The
minimum is smoothed over rivals that have been nearest alternatives before, with weights
exp(-kappa_t (f_J(N) - min f)). docs/algorithms.md says what is known of it.
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

# every arm is worth this much over N^2: room in an action that no rival claims goes to the arms
# seen least, and so do ties
TINY = 1e-9
LOST = math.log(TINY) - 54.0 * math.log(2.0) - 0.01  # beside a score of 1 / N^2, nothing

OFTEN = 32  # charges are asked for anew when t has grown by 1/OFTEN of itself
TIED = 1e-12  # of the means: what rounding may leave of a lead
NOTHING = 50.0  # a weight of exp(-NOTHING) is none beside TINY


@jitable
def negligible_beyond(least: float, kappa: float, counts: Floats, worth: Floats) -> float:
    """The f_J beyond which a rival changes no score, not even in the last bit.

    A gradient times what the counts are worth adds up to f_J, so a rival adds at most exp(-kappa
    (f_J - least)) f_J / worth to a score of TINY / N^2 at least; 2^-54 of a score is rounded away.
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
    sharpness: float
    anneal_after: float  # kappa_t = kappa / sqrt(1 + t / slow)
    exploration: float
    exploration_delay: float  # the values per arm from which on exploring is in earnest
    size: float  # K: the arms in an action
    visible: Fixed  # 1 for arms that some action observes
    rival_table: ActionTable  # every answer that has been a nearest alternative
    pool_slot: Ints  # int64[room]: the place of an answer in the pool + 1, or 0
    pool: Ints  # int64[places]: numbers of the rivals over which the minimum is smoothed
    last_nearest: Ints  # int64[places]: when it was last the nearest
    arms: Ints  # int64[places, d]: leader xor rival, [:number]
    sign: Floats  # float64[places, d]
    number: Ints  # int64[places]
    value: Floats  # float64[places]: f_J at the counts
    gradient: Floats  # float64[places, d]: its gradient on `arms`, or its multiplier in [:, 0]
    variance: Floats  # float64[d]
    closed: Ints  # int64[1]: 1 where multipliers are kept
    penalty: Floats  # float64[places]: what will be taken off f_J; infinity: to be asked
    scale: Floats  # float64[1]: the counts at the end, in multiples of the present; 0: no charges
    penalty_schedule: Ints  # int64[2]: when that was asked, and when it is to be again
    leader: Floats  # float64[d]
    used: Ints  # int64[1]
    score: Floats  # float64[d]

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
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
            n = max(stats.counts[a], 0.5)  # 0.5: an arm whose values went missing
            self.score[a] = TINY / (n * n)
        for k in range(self.used[0]):
            if self.value[k] <= far:
                self.add_gradient(problem, stats, k, math.exp(-kappa * (self.value[k] - least)))
        problem.actions.argmax(self.score, state.action)

    def evaluate_rivals(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState
    ) -> float:
        """f_J at the counts, of all rivals in the pool; returns the least of them.

        Where every arm has a blur, f_J is in closed form, and is computed as `transportation_cost` does it, to
        the last bit; otherwise `transportation_cost` is asked, and gradients are kept.
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
        """Take off f_J what the stopping rule will charge at the end that it expects, per round so
        far; the least that is left.
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
        """Whether a rival is as good as the leader at the estimates, but for rounding."""
        lead, size = 0.0, 0.0
        for i in range(self.number[k]):
            x = self.sign[k, i] * stats.mean[self.arms[k, i]]
            lead += x
            size += abs(x)
        return bool(abs(lead) <= TIED * size)

    def tie_breaking_gradient(self, stats: Statistics, k: int, arm: int) -> float:
        """What a value of an arm is worth where a rival is tied with the leader, as coins often
        are: there the gradient is 0, and both would wait until all others have as many values. It
        is the evidence that one more value makes on average, (s_a / N_a)^2 / (2 sum s^2 / N), s^2
        being how the values of an arm have varied so far: none where they were all the same, as one
        more would hardly part them then.
        """
        spread = 0.0
        for i in range(self.number[k]):
            a = self.arms[k, i]
            n = max(stats.counts[a], 0.5)
            spread += stats.squares[a] / (n * n)
        n = max(stats.counts[arm], 0.5)
        return float(0.5 * stats.squares[arm] / (n * n * n * spread)) if spread > 0.0 else 0.0

    def update_leader(self, state: RoundState) -> None:
        """If another answer leads, the differences to the rivals are new."""
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
        """The nearest rival has a place in the pool; if there is none left, it takes that of the
        one nearest longest ago.
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
        """List the arms of leader xor rival k, as `rewards.transportation_cost` wants them."""
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
        return self.rival_table.is_full()


class BoundFrankWolfe:
    """Frank-Wolfe on a problem."""

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
        return self._original.copy(), self.start

    def resize(self, rule: FrankWolfeKernel) -> FrankWolfeKernel:
        met = enlarge_action_table(rule.rival_table, 4 * rule.rival_table.sizes.size)
        return rule._replace(
            rival_table=met,
            pool_slot=np.r_[
                rule.pool_slot, np.zeros(met.sizes.size - rule.pool_slot.size, np.int64)
            ],
        )

    def diagnostics(self, rule: FrankWolfeKernel) -> dict[str, int]:
        return {"rivals": int(rule.used[0]), "met": int(rule.rival_table.size[0])}


@dataclass(frozen=True, eq=False, repr=False)
class FrankWolfe(RuleBase):
    """Play the action that the gradient of the smoothed evidence likes best.

    kappa: how sharply the minimum over the rivals is smoothed; slow: kappa_t = kappa / sqrt(1 + t /
    slow); explore, ease: every arm gets explore * sqrt(e) * e / (e + ease) values at least, e = t K
    / d being what it would get if all were played alike; pool: over how many rivals the minimum is
    smoothed (None: as many as arms, 16 to 128). Where every play has a level of its own, plays are
    chosen in blocks instead (`rules/frank_wolfe_blocks.py`), and these numbers are of no account.
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
        if problem.rewards.has_batch_effect():
            return BoundFrankWolfeBlocks(problem)
        return BoundFrankWolfe(self, problem)
