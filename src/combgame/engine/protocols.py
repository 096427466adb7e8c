"""The verbs of every part: what the round calls, what is read, what is written.

A *part* is a NamedTuple whose fields are numbers, arrays or other parts, with plain methods. The
same methods run interpreted, or compiled by numba (`engine/numba` resolves a method to that of the
NamedTuple's own class). `kernel` gives a part the methods of a default class, at the end of this
page, that it does not define itself. Any other Python object with the same verbs runs interpreted.

Rules that compiling imposes: fixed positional signatures with these parameter names; a mutable
number lives in an array of one element; loops, not array expressions; no field with the name of a
verb.

Shapes: `d` arms; a set is a 0/1 vector float64[d]; what a verb writes comes last.
"""

from typing import NamedTuple, Protocol

from .action_table import ActionTable, SparseWeights
from .jit import compilable, jitable, kernel
from .state import Floats, Ints, Random, RoundState
from .statistics import Statistics

__all__ = [
    "ActionTable",
    "ExplorationBonus",
    "ExponentialFamily",
    "FixedSizeDefaults",
    "Floats",
    "GibbsDistribution",
    "Ints",
    "Learner",
    "LinearOracle",
    "ProblemKernel",
    "Random",
    "RewardKernel",
    "RoundState",
    "SamplingKernel",
    "SetEvidence",
    "SparseWeights",
    "Statistics",
    "StoppingDefaults",
    "StoppingKernel",
    "Threshold",
    "Tracker",
    "TransportationCost",
    "UnionBound",
    "compilable",
    "jitable",
    "kernel",
]


@compilable
class ExponentialFamily(Protocol):
    """What a pull returns, and how unlike two means are. `arm` selects the arm's own parameters."""

    def divergence(self, x: float, y: float, arm: int) -> float:
        """d_KL(x, y): how unlike a mean of y is data with mean x. y -> d_KL(x, y) must be convex:
        distances are found by their multiplier.
        """

    def kl_lcb(self, x: float, level: float, arm: int) -> float:
        """The smallest y with d_KL(x, y) <= level: alpha in the paper."""

    def kl_ucb(self, x: float, level: float, arm: int) -> float:
        """The largest y with d_KL(x, y) <= level: beta in the paper."""

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        """One noisy value of an arm whose true mean is `mean` (simulation)."""

    def update_variance(self, stats: Statistics) -> None:
        """Bring up to date what is estimated besides the means, such as unknown variances; once a
        round, after the means.
        """


@compilable
class TransportationCost(Protocol):
    """What it costs to move means away from the estimates."""

    def project(self, x: float, arm: int) -> float:
        """The point of M, the means that are possible, nearest to x."""

    def best_shift(self, x: float, weight: float, slope: float, arm: int) -> float:
        """The y in M with weight * d/dy d_KL(x, y) = slope, or the end of M in that direction."""

    def best_shift_with_gradient(
        self, x: float, weight: float, slope: float, arm: int
    ) -> tuple[float, float, float]:
        """Where `best_shift` goes, to nearly all digits however near that is: y - x, weight * d_KL(x, y),
        and dy/dslope (0 at an end of M).
        """

    def quadratic_variance(self, weight: float, arm: int) -> float:
        """sigma^2 / weight where distances have the closed form Delta^2 / (2 sum of blurs); -1
        where they do not.
        """

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        """The arm j, not `taken`, that can overtake arm i at the least cost: ties by index.

        value[0] becomes that cost, the min of weight_i d(mean_i, y_i) + weight_j d(mean_j, y_j)
        over y in M with y_j >= y_i. (One call for all j: in compiled code a call on a part costs as
        much as ten pairs.)
        """

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        """The cheapest exchange of an arm of `best` for another: value becomes (arm that leaves,
        arm that enters, cost).
        """

    def transportation_cost(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        """min of sum_a weight_a d(mean_a, y_a) over y in M with sum_a sign_a y_a >= 0, a in
        arms[:n].

        The minimiser goes to alternative[arms[:n]].
        """


class RewardKernel(ExponentialFamily, TransportationCost, Protocol):
    """What a pull returns; the geometry of telling two means apart."""


@compilable
class LinearOracle(Protocol):
    """A collection of sets of arms: actions are played, answers are asked about."""

    def argmax(self, score: Floats, out: Floats) -> None:
        """The set with the largest sum of scores (any real scores), ties by index."""

    def sample(self, rng: Random, out: Floats) -> None:
        """A random set; uniform over the structure unless its documentation says otherwise."""

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """The nearest alternative: min over J != best and y with <1_J - 1_best, y> >= 0 of <weight,
        d(mean, y)>.

        Writes J to `rival` and y to `alternative`. With weight = counts it is the generalised
        likelihood ratio. What is returned stops runs: it may lie below the minimum, and must not
        lie above it by more than rounding (1e-9 of it).
        """


@compilable
class SetEvidence(Protocol):
    """The evidence against single rivals."""

    @property
    def arm_prices(self) -> Floats:
        """float64[references, d]: prices of arms, as `price_arms` wrote them."""

    @property
    def base(self) -> Floats:
        """float64[references]: with the prices of its arms, not above the evidence against a
        set.
        """

    def price_arms(self, best: Floats, arms: Ints, sign: Floats, n: int) -> None:
        """Write prices that suit the rivals of `best`, above all the one that differs in
        arms[:n].
        """

    def evidence_against_set(self, best: Floats, arms: Ints, sign: Floats, n: int) -> float:
        """Against the one that differs from `best` in arms[:n] (sign: +1 for those that only it
        has, -1 for those that only best has), from below.
        """


@compilable
class UnionBound(Protocol):
    """The answers against which evidence is needed, and the share of delta that each of them has;
    see `StructureBase.rivals`.
    """

    def log_weight(self, best: Floats, rival: Floats) -> float:
        """ln of the share of a rival."""

    def minimise_evidence(
        self, weigher: SetEvidence, best: Floats, floor: float, least: float, rival: Floats
    ) -> float:
        """The least evidence plus odds against a rival, which is written; the first that is at most
        `floor`, if there is one. least: what it is against the one that `rival` has at first.
        """


@compilable
class GibbsDistribution(Protocol):
    """A structure's sets at random, with chances proportional to exp(<1_A, score>); see
    `StructureBase.ensemble`.
    """

    def marginals(self, score: Floats, out: Floats) -> float:
        """out_a = the chance that the set has arm a, for any finite scores; returns ln sum_A
        exp(<1_A, score>).
        """


@compilable
class Learner(Protocol):
    """The A-player. It has one row of state per seat: one seat, or one per candidate answer."""

    def act(self, learner: int, weights: SparseWeights) -> None:
        """Write w_t: mixture.ids, mixture.weight and mixture.size. (`weights.arms` is filled by the
        rule.)
        """

    def update(
        self,
        learner: int,
        weights: SparseWeights,
        table: ActionTable,
        actions: LinearOracle,
        reward: Floats,
    ) -> None:
        """Learn from the reward r_t of the arms; `weights` is what `act` wrote this round."""

    def needs_resize(self) -> bool:
        """True when the next `update` might not fit into the arrays."""


@compilable
class Tracker(Protocol):
    """Turns the weights w_t into one action."""

    def track(self, table: ActionTable, weights: SparseWeights, rng: Random) -> int:
        """The id of the action to play."""


@compilable
class Threshold(Protocol):
    """The stopping threshold, for each of the deltas it was made for."""

    def critical_value(self, t: int, index: int) -> float:
        """beta(t, delta[which]) after t rounds."""


@compilable
class ExplorationBonus(Protocol):
    """The exploration bonus."""

    def bonus_at(self, t: int) -> float:
        """f(t)."""


class ProblemKernel(NamedTuple):
    """The parts of a problem, and the stopping rule."""

    actions: LinearOracle
    answers: LinearOracle
    rewards: RewardKernel
    stopping: "StoppingKernel"


@compilable
class StoppingKernel(Protocol):
    """A stopping rule at work: what was seen, as evidence against a threshold."""

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """The evidence for view.best; writes the rival that it is least against, and the means at
        which that one is as good.

        A rule that is happy with less than `least_evidence` while nothing can stop may return more; it
        also writes seen.worth.
        """

    def critical_value(self, t: int, index: int) -> float:
        """The threshold: beta(t, delta[which]) after t rounds."""

    def expected_growth(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """For sampling rules: at how many times the present counts a run can expect to stop, from
        what `evaluate` saw and the nearest rival; 0 where rivals are told apart by the likelihood ratio
        alone.
        """

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        """The evidence against a rival, less what it is charged, at the counts that `foresee`
        expects; arms[:n] and sign[:n]: the arms in which the rival differs, as in
        `RewardKernel.transportation_cost`.
        """

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """The least evidence for `best` against any rival, at what `evaluate` saw last; writes as that
        does.
        """

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """The evidence for `best` against a given rival, at what `evaluate` saw last."""


@compilable
class SamplingKernel(Protocol):
    """Chooses the next action."""

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Write the next action to view.action. view.rival and view.alternative are free to be
        overwritten.
        """

    def needs_resize(self) -> bool:
        """True when the next `choose` might not fit into the rule's arrays."""


class FixedSizeDefaults:
    """Default methods of a rule or a learner whose arrays never grow."""

    def needs_resize(self) -> bool:
        """Return False: the next call always fits."""
        return False


class StoppingDefaults:
    """Default methods of a stopping rule that has a threshold and foresees nothing."""

    threshold: Threshold

    def critical_value(self, t: int, index: int) -> float:
        """Return the value of the threshold."""
        return self.threshold.critical_value(t, index)

    def expected_growth(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return 0: rivals are told apart by the likelihood ratio alone."""
        return 0.0

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        """Return 0, which nobody asks for as long as `foresee` returns 0."""
        return 0.0
