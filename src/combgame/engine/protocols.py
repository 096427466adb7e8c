"""Protocols of the kernels that a round calls: what each verb reads, returns and writes.

A *kernel* is a NamedTuple whose fields are numbers, arrays or other kernels, with plain methods.
The same methods run interpreted or compiled by numba (`engine/numba` resolves a method to that of
the NamedTuple's own class). The decorator `engine.kernels.kernel` gives a kernel the default
methods that it does not define itself. Any other Python object with the same verbs runs
interpreted.

Rules for compiled kernels:

- signatures are positional and have exactly these parameter names;
- a mutable number lives in an array of one element;
- loops take the place of array expressions;
- no field has the name of a verb.

Shapes: `d` is the number of arms; a set is a 0/1 vector float64[d]; arrays that a verb writes come
last among its parameters.
"""

from typing import NamedTuple, Protocol

from .action_table import ActionTable, SparseWeights
from .jit import compilable, jitable
from .state import Floats, Ints, Random, RoundState
from .statistics import Statistics

__all__ = [
    "ActionTable",
    "ExplorationBonus",
    "ExponentialFamily",
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
    "StoppingKernel",
    "Threshold",
    "Tracker",
    "TransportationCost",
    "UnionBound",
    "compilable",
    "jitable",
]


@compilable
class ExponentialFamily(Protocol):
    """The distribution of a value, and the divergence between two means.

    ``arm`` selects the parameters of the arm.
    """

    def divergence(self, x: float, y: float, arm: int) -> float:
        r"""Return the Kullback-Leibler divergence between means.

        Parameters
        ----------
        x : float
            Mean of the data.
        y : float
            Mean of the model.
        arm : int
            Index of the arm.

        Returns
        -------
        float
            :math:`d_{KL}(x, y)`. The function :math:`y \mapsto d_{KL}(x, y)` must be convex,
            because transportation costs are found through their Lagrange multiplier.
        """

    def kl_lcb(self, x: float, level: float, arm: int) -> float:
        """Return the smallest y with d_KL(x, y) <= level (alpha in the paper).

        Parameters
        ----------
        x : float
            Estimated mean.
        level : float
            Largest divergence, at least 0.
        arm : int
            Index of the arm.

        Returns
        -------
        float
            Lower confidence bound of the mean.
        """

    def kl_ucb(self, x: float, level: float, arm: int) -> float:
        """Return the largest y with d_KL(x, y) <= level (beta in the paper).

        Parameters
        ----------
        x : float
            Estimated mean.
        level : float
            Largest divergence, at least 0.
        arm : int
            Index of the arm.

        Returns
        -------
        float
            Upper confidence bound of the mean.
        """

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        """Return one noisy value of an arm (in simulations).

        Parameters
        ----------
        mean : float
            True mean of the arm.
        arm : int
            Index of the arm.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        float
            The value.
        """

    def update_variance(self, stats: Statistics) -> None:
        """Update the estimates other than the means, such as unknown variances.

        Called once a round, after the means have been estimated.

        Parameters
        ----------
        stats : Statistics
            Statistics of the values observed so far.
        """


@compilable
class TransportationCost(Protocol):
    """The cost of moving means away from their estimates."""

    def project(self, x: float, arm: int) -> float:
        """Return the possible mean that is nearest to x.

        Parameters
        ----------
        x : float
            Estimated mean.
        arm : int
            Index of the arm.

        Returns
        -------
        float
            The point of M, the set of possible means, that is nearest to `x`.
        """

    def best_shift(self, x: float, weight: float, slope: float, arm: int) -> float:
        r"""Return the mean at which the marginal cost equals a slope.

        Parameters
        ----------
        x : float
            Estimated mean.
        weight : float
            Weight of the arm.
        slope : float
            Marginal cost.
        arm : int
            Index of the arm.

        Returns
        -------
        float
            The y in M with ``weight`` :math:`\frac{d}{dy} d_{KL}(x, y)` = ``slope``, or the end of
            M in that direction.
        """

    def best_shift_with_gradient(
        self, x: float, weight: float, slope: float, arm: int
    ) -> tuple[float, float, float]:
        """Return the shift to `best_shift`, its cost and its derivative.

        The values are correct to nearly all digits, however short the shift is.

        Parameters
        ----------
        x, weight, slope, arm
            See `best_shift`.

        Returns
        -------
        tuple of float
            ``y - x``; ``weight`` :math:`d_{KL}(x, y)`; and :math:`dy/d` ``slope``, which is 0 at an
            end of M.
        """

    def quadratic_variance(self, weight: float, arm: int) -> float:
        r"""Return the variance of a mean for which costs are quadratic.

        Parameters
        ----------
        weight : float
            Weight of the arm.
        arm : int
            Index of the arm.

        Returns
        -------
        float
            :math:`\sigma^2` / ``weight`` where transportation costs have the closed form
            :math:`\Delta^2 / (2 \sum_a v_a)`, v being these variances; -1 where they do not.
        """

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        r"""Return the arm that can overtake arm i at the least cost.

        Parameters
        ----------
        mean, weight : float64[d]
            Estimated means and weights of the arms.
        i : int
            Index of the arm to overtake.
        taken : float64[d]
            1 for arms that are not considered.
        value : float64[1]
            On return, the cost: the minimum of :math:`w_i d(\mu_i, y_i) + w_j d(\mu_j, y_j)` over y
            in M with :math:`y_j \ge y_i`.

        Returns
        -------
        int
            Index j of the arm; ties are broken by index.

        Notes
        -----
        One call considers every j, because a call of a kernel costs as much as ten pairs in
        compiled code.
        """

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        """Find the cheapest exchange of an arm of a set for another.

        Parameters
        ----------
        mean, weight : float64[d]
            Estimated means and weights of the arms.
        best : float64[d]
            The set.
        value : float64[3]
            On return: the arm that leaves, the arm that enters, and the cost.
        """

    def transportation_cost(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        r"""Return the cost of making a rival as good as the leader.

        Parameters
        ----------
        mean, weight : float64[d]
            Estimated means and weights of the arms.
        arms : int64[>= n]
            The arms in which the two sets differ, in ``arms[:n]``.
        sign : float64[>= n]
            +1 for an arm that only the rival has, -1 for an arm that only the leader has.
        n : int
            Number of these arms.
        alternative : float64[d]
            On return, the minimiser, in ``alternative[arms[:n]]``.

        Returns
        -------
        float
            The minimum of :math:`\sum_a w_a d(\mu_a, y_a)` over y in M with
            :math:`\sum_a s_a y_a \ge 0`, where a runs through ``arms[:n]``.
        """


class RewardKernel(ExponentialFamily, TransportationCost, Protocol):
    """The model of the values, and the geometry of telling two means apart."""


@compilable
class LinearOracle(Protocol):
    """A collection of sets of arms: the actions that can be played, or the answers."""

    def argmax(self, score: Floats, out: Floats) -> None:
        """Find the set with the largest sum of scores.

        Parameters
        ----------
        score : float64[d]
            Any real scores.
        out : float64[d]
            On return, the set. Ties are broken by index.
        """

    def sample(self, rng: Random, out: Floats) -> None:
        """Draw a set.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.
        out : float64[d]
            On return, the set. It is uniform over the structure unless the structure's
            documentation says otherwise.
        """

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        r"""Find the nearest means under which another set is at least as good.

        Parameters
        ----------
        rewards : RewardKernel
            Divergences and transportation costs of the arms.
        mean, weight : float64[d]
            Estimated means and weights of the arms.
        best : float64[d]
            The set that is best at the means.
        rival : float64[d]
            On return, the other set J.
        alternative : float64[d]
            On return, the means y.

        Returns
        -------
        float
            The minimum of :math:`\langle w, d(\mu, y) \rangle` over :math:`J \ne` ``best`` and y
            with :math:`\langle 1_J - 1_{best}, y \rangle \ge 0`; the generalised likelihood ratio
            if the weights are the counts. Runs stop by this value: it may lie below the minimum,
            and must not exceed it by more than rounding (a relative 1e-9).
        """


@compilable
class SetEvidence(Protocol):
    """The evidence against single rivals."""

    @property
    def arm_prices(self) -> Floats:
        """Prices of arms, float64[references, d], as `price_arms` wrote them."""

    @property
    def price_offset(self) -> Floats:
        """Offsets of the prices, float64[references].

        The offset plus the prices of a set's arms is a lower bound for the evidence against the
        set.
        """

    def price_arms(self, best: Floats, arms: Ints, sign: Floats, n: int) -> None:
        """Write prices that suit the rivals of a set, above all one of them.

        Parameters
        ----------
        best : float64[d]
            The set.
        arms, sign, n
            The arms in which that rival differs from `best`; see
            `TransportationCost.transportation_cost`.
        """

    def evidence_against_set(self, best: Floats, arms: Ints, sign: Floats, n: int) -> float:
        """Return a lower bound for the evidence against a rival.

        Parameters
        ----------
        best : float64[d]
            The leader.
        arms, sign, n
            The arms in which the rival differs from `best`; see
            `TransportationCost.transportation_cost`.

        Returns
        -------
        float
            The evidence.
        """


@compilable
class UnionBound(Protocol):
    """The answers against which evidence is needed, and the share of delta that each of them has.

    See `StructureBase.union_bound`.
    """

    def log_weight(self, best: Floats, rival: Floats) -> float:
        """Return the logarithm of a rival's share of delta.

        Parameters
        ----------
        best, rival : float64[d]
            The leader and the rival.

        Returns
        -------
        float
            Natural logarithm of the share.
        """

    def minimise_evidence(
        self, weigher: SetEvidence, best: Floats, floor: float, least: float, rival: Floats
    ) -> float:
        """Find the rival with the least sum of evidence and log-weight.

        Parameters
        ----------
        weigher : SetEvidence
            Computes the evidence.
        best : float64[d]
            The leader.
        floor : float
            The search ends at the first rival whose sum is at most `floor`.
        least : float
            The sum for the rival that `rival` holds at first.
        rival : float64[d]
            On return, the rival that attains the returned value.

        Returns
        -------
        float
            The least sum.
        """


@compilable
class GibbsDistribution(Protocol):
    """The distribution over sets with probabilities proportional to exp(<1_A, score>).

    See `StructureBase.gibbs`.
    """

    def marginals(self, score: Floats, out: Floats) -> float:
        r"""Compute the probability of each arm, and the log-partition function.

        Parameters
        ----------
        score : float64[d]
            Any finite scores.
        out : float64[d]
            On return, the probability that the set contains the arm.

        Returns
        -------
        float
            :math:`\ln \sum_A \exp \langle 1_A, score \rangle`.
        """


@compilable
class Learner(Protocol):
    """The A-player.

    Its state has one row for each learner: a single one, or one for each candidate answer.
    """

    def act(self, learner: int, weights: SparseWeights) -> None:
        """Write the distribution w_t over actions.

        Parameters
        ----------
        learner : int
            Row of the learner's state.
        weights : SparseWeights
            ``weights.ids``, ``weights.values`` and ``weights.size`` are written; the rule fills
            ``weights.arm_weights``, unless the learner does (`LearnerBase.writes_all_weights`).
        """

    def update(
        self,
        learner: int,
        weights: SparseWeights,
        table: ActionTable,
        actions: LinearOracle,
        reward: Floats,
    ) -> None:
        """Learn from the reward of a round.

        Parameters
        ----------
        learner : int
            Row of the learner's state.
        weights : SparseWeights
            What `act` wrote in this round.
        table : ActionTable
            The actions that had weight so far; new ones may be entered.
        actions : LinearOracle
            The actions.
        reward : float64[d]
            Reward r_t of the arms.
        """

    def needs_resize(self) -> bool:
        """Return whether the next `update` might not fit into the arrays.

        Returns
        -------
        bool
            True if the arrays must be made larger first.
        """


@compilable
class Tracker(Protocol):
    """A rule that turns the distributions w_t into actions."""

    def track(self, table: ActionTable, weights: SparseWeights, rng: Random) -> int:
        """Choose the action to play.

        Parameters
        ----------
        table : ActionTable
            The actions that had weight so far, with their plays and cumulative weights.
        weights : SparseWeights
            The distribution w_t.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        int
            Number of the action in the table.
        """


@compilable
class Threshold(Protocol):
    """The stopping threshold, for each delta it was made for."""

    def critical_value(self, t: int, index: int) -> float:
        r"""Return the threshold after t rounds.

        Parameters
        ----------
        t : int
            Number of rounds.
        index : int
            Index of the delta.

        Returns
        -------
        float
            :math:`\beta(t, \delta_{index})`.
        """


@compilable
class ExplorationBonus(Protocol):
    """The exploration bonus."""

    def bonus_at(self, t: int) -> float:
        """Return the bonus f(t).

        Parameters
        ----------
        t : int
            Number of rounds.

        Returns
        -------
        float
            The bonus.
        """


class ProblemKernel(NamedTuple):
    """The kernels of a problem, and its stopping rule.

    Attributes
    ----------
    actions : LinearOracle
        The sets of arms that can be played.
    answers : LinearOracle
        The sets of arms among which the best one is sought.
    rewards : RewardKernel
        The model of the values.
    stopping : StoppingKernel
        The stopping rule.
    """

    actions: LinearOracle
    answers: LinearOracle
    rewards: RewardKernel
    stopping: "StoppingKernel"


@compilable
class StoppingKernel(Protocol):
    """A stopping rule: it turns the statistics into evidence for the leader."""

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Return the evidence for the leader.

        Parameters
        ----------
        problem : ProblemKernel
            Compiled problem.
        stats : Statistics
            Statistics of the values observed so far. ``stats.effective_counts`` may be written.
        state : RoundState
            ``state.leader`` is read. On return, ``state.rival`` is the rival with the least
            evidence against it, and ``state.alternative_means`` are the means at which this rival
            is as good.

        Returns
        -------
        float
            The stopping statistic. A rule that needs less than `least_evidence` may return more
            while nothing can stop.
        """

    def critical_value(self, t: int, index: int) -> float:
        r"""Return the threshold after t rounds.

        Parameters
        ----------
        t : int
            Number of rounds.
        index : int
            Index of the delta.

        Returns
        -------
        float
            :math:`\beta(t, \delta_{index})`.
        """

    def expected_growth(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the factor by which the counts are expected to grow until the run stops.

        Sampling rules ask for it, after `evaluate`.

        Parameters
        ----------
        problem : ProblemKernel
            Compiled problem.
        stats : Statistics
            Statistics of the values observed so far.
        best, rival : float64[d]
            The leader and its nearest rival.

        Returns
        -------
        float
            The factor; 0 if the likelihood ratio alone tells rivals apart.
        """

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        """Return the evidence against a rival at the counts that `expected_growth` expects.

        Parameters
        ----------
        problem : ProblemKernel
            Compiled problem.
        stats : Statistics
            Statistics of the values observed so far.
        arms, sign, n
            The arms in which the rival differs; see `TransportationCost.transportation_cost`.

        Returns
        -------
        float
            The evidence, less the penalty of the rival.
        """

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Return the least evidence for an answer against any rival.

        Parameters
        ----------
        problem : ProblemKernel
            Compiled problem.
        stats : Statistics
            The statistics at which `evaluate` was called last.
        best : float64[d]
            The answer.
        rival, alternative : float64[d]
            On return, as `evaluate` writes ``state.rival`` and ``state.alternative_means``.

        Returns
        -------
        float
            The evidence.
        """

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the evidence for an answer against a given rival.

        Parameters
        ----------
        problem : ProblemKernel
            Compiled problem.
        stats : Statistics
            The statistics at which `evaluate` was called last.
        best, rival : float64[d]
            The answer and the rival.

        Returns
        -------
        float
            The evidence.
        """


@compilable
class SamplingKernel(Protocol):
    """A sampling rule: it chooses the next action."""

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Choose the next action.

        Parameters
        ----------
        problem : ProblemKernel
            Compiled problem.
        stats : Statistics
            Statistics of the values observed so far; they must not be written.
        state : RoundState
            ``state.leader`` and ``state.evidence`` must not be written. ``state.rival`` and
            ``state.alternative_means`` may be overwritten. On return, ``state.action`` is the
            action.
        rng : numpy.random.Generator
            Source of randomness.
        """

    def needs_resize(self) -> bool:
        """Return whether the next `choose` might not fit into the arrays.

        Returns
        -------
        bool
            True if the arrays must be made larger first.
        """
