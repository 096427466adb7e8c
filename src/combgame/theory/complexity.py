"""The characteristic time 1/D_nu of an instance, by a double oracle method.

D_nu = max over w~ of min over alternatives lambda of <w~, d(mu, lambda)>. The game between the
learner and nature is solved by linear programmes over the actions and alternatives found so far.
The nearest alternative to the allocation and the best action against the mixture of alternatives
are added until the values that they give, a lower and an upper bound on D_nu, meet. Nothing is
enumerated, and the gap is certified.

With batch effects, the values of a play show only how its arms differ. Playing A then shows min
over b of sum_{a in A} (y_a - b)^2 / (2 sigma_a^2) of means that differ by y, whatever the batch
effects are; this is y' L_A y / 2, where L_A is the Laplacian of A's arms. If plays have the shares
w, and L = sum_A w_A L_A, the nearest means at which arms i and j change places are at (mu_i -
mu_j)^2 / (2 r_ij), where r_ij is the resistance between i and j in the network L. A rule that is
right for all batch effects is right for those that follow the best b, so D_nu = max over w of the
least of these bounds it as Theorem 1 of the paper does (docs/plates.md).
"""

from collections.abc import Callable
from itertools import chain, pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._display.progress import waiting
from .._messages import OptionHint
from ..engine.state import Floats, Ints, arms_of
from ..engine.user_code import own_errors
from ..errors import CombGameError, InputError, TieError, check_int, invalid_argument
from ..problem import Problem
from ..rewards import Assumption, Gaussian
from ..rewards.base import claimed_assumptions
from ..structures.partition import exchangeable

Action = tuple[int, ...]


class OracleAnswer(NamedTuple):
    """An alternative: its distance, or a bound on that, and its column in the game."""

    value: float
    column: Floats  # float64[d]


class GameOracles(Protocol):
    """The two players of the game behind `complexity`: nature and the learner."""

    inner: float  # weight of the best shares so far in the shares that nature responds to
    slight: float  # smaller relative gains count as none
    first: list[Action]  # a covering of what must be observed

    def nature_response(self, actions: list[Action], weights: Floats) -> OracleAnswer:
        """Return nature's best response to shares of plays."""

    def check_tie(self) -> None:
        """Raise a `TieError` if the last alternative shows a tie."""

    def payoffs(self, column: Floats, actions: list[Action]) -> Floats:
        """Return the payoff of each action against an alternative."""

    def best_action(self, columns: Floats, mixed: Floats) -> tuple[float, Action]:
        """Respond to a mixture of alternatives.

        Returns the largest payoff of an action, or a bound on it, and a good action.
        """


class IndependentOracles:
    """The game for independent values: action A has the payoff <1_A, d(mu, lambda)>."""

    inner, slight = 0.0, 1e-9

    def __init__(
        self, problem: Problem, mu: Floats, label: Callable[[tuple[int, ...]], str]
    ) -> None:
        self.kernel, self.mu, self.label = problem.kernel(), mu, label
        self.first = list(problem.actions.covering())
        self.best, self.rival, self.alternative, self.vertex = np.zeros((4, problem.d))
        self.kernel.answers.argmax(mu, self.best)

    def nature_response(self, actions: list[Action], weights: Floats) -> OracleAnswer:
        """Return the nearest alternative to these shares of plays."""
        problem, mu = self.kernel, self.mu
        arms = marginals(actions, weights, mu.size)
        value = problem.answers.nearest_alternative(
            problem.rewards, mu, arms, self.best, self.rival, self.alternative
        )
        column = [problem.rewards.divergence(mu[a], self.alternative[a], a) for a in range(mu.size)]
        return OracleAnswer(value, np.array(column))

    def check_tie(self) -> None:
        """Raise a `TieError` if the rival is as good as the best answer."""
        if self.mu @ self.best - self.mu @ self.rival <= 1e-12 * np.abs(self.mu).max():
            raise tied(self.label(arms_of(self.best)), self.label(arms_of(self.rival)))

    def payoffs(self, column: Floats, actions: list[Action]) -> Floats:
        """Return the sum of the divergences of each action's arms."""
        return sums(column, actions)

    def best_action(self, columns: Floats, mixed: Floats) -> tuple[float, Action]:
        """Return the largest payoff against the mixture and its action."""
        against = mixed @ columns
        self.kernel.actions.argmax(against, self.vertex)
        return float(self.vertex @ against), arms_of(self.vertex)


def sums(column: Floats, actions: list[Action]) -> Floats:
    """Return <1_A, column> for each action A; no action may be empty."""
    lengths = np.array([len(chosen) for chosen in actions])
    flat = np.fromiter(chain.from_iterable(actions), np.int64, int(lengths.sum()))
    found: Floats = np.add.reduceat(column[flat], np.cumsum(lengths) - lengths)
    return found


def marginals(actions: list[Action], weights: Floats, d: int) -> Floats:
    """Return the weight of each arm under weighted actions."""
    arms = np.zeros(d)
    for chosen, weight in zip(actions, weights, strict=True):
        arms[list(chosen)] += weight
    return arms


def tied(best: str, rival: str, may_run: bool = False) -> TieError:
    """Return the error for two answers that are equally good.

    Parameters
    ----------
    best, rival : str
        Labels of the answers.
    may_run : bool
        Whether the caller has an option to run nevertheless.
    """
    run = (
        {"on_tie": OptionHint("on_tie", "run"), "cap": OptionHint("max_rounds")} if may_run else {}
    )
    return TieError(
        "tie",
        "means: the answers ({best}) and ({rival}) are equally good, so that no number of plays "
        "can tell them apart",
        remedy="change the means" + (", or pass {on_tie} to run to {cap}" if may_run else ""),
        best=best,
        rival=rival,
        **run,
    )


LISTED = 2_000  # largest number of actions, each of which is evaluated in every step
EQUAL = 1e-6  # arms are connected if a current flows between them up to this loss


def listed(problem: Problem) -> bool:
    """Return whether the actions are few enough to be listed."""
    size = problem.actions.n_sets()
    return size is not None and size <= LISTED


class WithinBatchOracles:
    """The game with batch effects.

    Nature responds with the nearest exchange, the learner with the action that has the largest
    payoff against a mixture of differences.
    """

    inner = 0.7  # the shares of the linear programme alone would leave most arms unconnected
    slight = 1e-4

    def __init__(
        self, problem: Problem, mu: Floats, label: Callable[[tuple[int, ...]], str]
    ) -> None:
        self.actions, self.kernel = problem.actions, problem.kernel()
        self.precision, self.d = problem.sigma() ** -2.0, problem.d
        best = np.zeros(self.d)
        self.kernel.answers.argmax(mu, best)
        answer, groups = set(arms_of(best)), exchangeable(problem.answers)
        pairs = [
            (i, j)
            for group in groups
            for i in group
            if i in answer
            for j in group
            if j not in answer
        ]
        self.inside, self.outside = np.array(pairs).T
        self.gap = mu[self.inside] - mu[self.outside]
        closest = int(self.gap.argmin())
        if self.gap[closest] <= 1e-12 * np.abs(mu).max():
            other = (answer - {pairs[closest][0]}) | {pairs[closest][1]}
            raise tied(label(tuple(sorted(answer))), label(tuple(sorted(other))))
        self.first = self._joined(groups)
        plays = list(self.actions.__iter__())
        self.every = np.zeros((len(plays), self.d))
        for row, chosen in zip(self.every, plays, strict=True):
            row[list(chosen)] = 1.0

    def _joined(self, groups: list[tuple[int, ...]]) -> list[Action]:
        """Return a covering and plays that connect the arms of each group."""
        found, score, vertex = dict.fromkeys(self.actions.covering()), *np.zeros((2, self.d))
        for group in groups:
            for i, j in pairwise(group):
                score[:] = 0.0
                score[[i, j]] = 1.0
                self.kernel.actions.argmax(score, vertex)
                found[arms_of(vertex)] = None
        return list(found)

    def nature_response(self, actions: list[Action], weights: Floats) -> OracleAnswer:
        """Return the exchange that is nearest by its resistance."""
        network = np.zeros((self.d, self.d))
        for chosen, weight in zip(actions, weights, strict=True):
            if weight > 0.0:
                arms = np.array(chosen)
                p = self.precision[arms]
                network[np.ix_(arms, arms)] += weight * (np.diag(p) - np.outer(p, p) / p.sum())
        potential = np.linalg.pinv(network, rcond=1e-13, hermitian=True)
        i, j = self.inside, self.outside
        resistance = potential[i, i] + potential[j, j] - 2.0 * potential[i, j]
        lost = (
            np.eye(self.d) - network @ potential
        )  # the part of a current that the network cannot carry
        joined = np.abs(lost[:, i] - lost[:, j]).max(axis=0) < EQUAL
        value = np.where(joined, self.gap**2 / (2.0 * np.maximum(resistance, 1e-300)), 0.0)
        k = int(value.argmin())
        flow = potential[:, i[k]] - potential[:, j[k]]
        if not joined[k]:
            flow = np.zeros(self.d)
            flow[i[k]], flow[j[k]] = 0.5, -0.5
            return OracleAnswer(0.0, self.gap[k] * flow)
        return OracleAnswer(float(value[k]), self.gap[k] * flow / resistance[k])

    def check_tie(self) -> None:
        """Do nothing: the constructor refuses ties."""

    def payoffs(self, column: Floats, actions: list[Action]) -> Floats:
        """Return the weighted scatter of the column within each action."""
        p = sums(self.precision, actions)
        mean = sums(self.precision * column, actions)
        square = sums(self.precision * column**2, actions)
        return np.asarray(0.5 * np.maximum(square - mean**2 / p, 0.0))

    def best_action(self, columns: Floats, mixed: Floats) -> tuple[float, Action]:
        """Return the largest payoff of a listed action and that action."""
        used = mixed > 0.0
        z = np.sqrt(mixed[used])[:, None] * columns[used]
        p = self.precision  # payoff: half the scatter of the points z[:, a] within each play
        square, mean = self.every @ (p * (z**2).sum(axis=0)), self.every @ (p[:, None] * z.T)
        told = 0.5 * (square - (mean**2).sum(axis=1) / (self.every @ p))
        k = int(told.argmax())
        return float(told[k]), arms_of(self.every[k])


class Complexity(NamedTuple):
    r"""The characteristic time of an instance.

    :math:`D_\nu` lies between ``1 / characteristic_time`` and ``(1 + duality_gap) /
    characteristic_time``.

    Attributes
    ----------
    characteristic_time : float
        :math:`1/D_\nu`, correct to within the gap.
    allocation : numpy.ndarray, shape (d,)
        How often an optimal rule observes each arm per round.
    support : list of (tuple of int, float)
        Actions and their weights.
    duality_gap : float
        Relative gap between the bounds on :math:`D_\nu`.
    """

    characteristic_time: float
    allocation: Floats
    support: list[tuple[tuple[int, ...], float]]
    duality_gap: float


def complexity(
    problem: Problem, means: Any, *, tolerance: float | None = None, steps: int = 1000
) -> Complexity:
    r"""Compute the characteristic time and the optimal allocation of an instance.

    Parameters
    ----------
    problem : Problem
        The problem. With batch effects it may have at most 2,000 different plays.
    means : array_like, shape (d,)
        The true means.
    tolerance : float, optional
        Relative gap at which the computation stops. Defaults to 1e-4, or 1e-2 with batch effects.
    steps : int, default=1000
        Largest number of steps of the double oracle method.

    Returns
    -------
    Complexity
        The characteristic time, the allocation and the gap that was reached.

    Raises
    ------
    InputError
        If an argument is not valid, or batch effects come with too many plays.
    TieError
        If the two best answers are equally good.
    CombGameError
        If the linear programme fails, or the nearest alternative is known only by a bound of 0.

    Notes
    -----
    The characteristic time is :math:`1/D_\nu` with

    .. math:: D_\nu = \max_w \min_\lambda \langle w, d(\mu, \lambda) \rangle,

    where w is the allocation of a distribution over actions and :math:`\lambda` ranges over the
    means at which another answer is best. No :math:`\delta`-correct rule stops before
    :math:`\ln(1/(2.4\,\delta))/D_\nu` rounds on average. This bound does not apply to `Bounded`
    rewards, whose divergence is only a lower bound on the true one.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    >>> round(cg.complexity(problem, [0.3, 0.29, 0.28, 0.23, 0.2]).characteristic_time, 1)
    400.0
    """
    if not isinstance(problem, Problem):
        raise invalid_argument(
            "problem", problem, "a Problem", remedy="it comes first", of="complexity"
        )
    if problem.rewards.has_batch_effect() and not listed(problem):
        raise InputError(
            "level-complexity",
            "complexity: where every play has a level of its own, it is known for {most:,} "
            "different plays at most",
            remedy="plan simulates such plays; without the level, complexity is what no rule can "
            "beat with it either",
            most=LISTED,
        )
    if tolerance is None:
        tolerance = 1e-2 if problem.rewards.has_batch_effect() else 1e-4
    if not (isinstance(tolerance, float) and 0.0 < tolerance < 1.0):
        raise invalid_argument(
            "tolerance", tolerance, "between 0 and 1, such as 1e-4", of="complexity"
        )
    steps = check_int("steps", steps, 1, of="complexity")
    mu, order = problem.to_internal(problem.check_means(means)), np.arange(problem.d)
    problem = problem.as_maximisation
    sigma = problem.sigma()
    best = order_of(problem, mu, sigma)
    mine = problem.permuted(best)
    if mine is not None:  # sorted by value, so that the order of the arms does not matter
        order = best
    what = f"the best proportions of {problem.d:,} arms"
    with waiting(f"working out {what}", f"worked out {what}"):
        side: type[WithinBatchOracles | IndependentOracles] = (
            WithinBatchOracles if problem.rewards.has_batch_effect() else IndependentOracles
        )
        solved = _solved(
            side(
                mine or problem,
                mu[order],
                lambda arms: problem.label(sorted(order[list(arms)].tolist())),
            ),
            problem.d,
            tolerance,
            steps,
            str(problem.answers),
        )
    allocation = np.empty_like(mu)
    allocation[order] = solved.allocation
    return solved._replace(
        allocation=allocation,
        support=[
            (tuple(sorted(order[list(chosen)].tolist())), weight)
            for chosen, weight in solved.support
        ],
    )


def _solved(side: GameOracles, d: int, tolerance: float, steps: int, answers: str) -> Complexity:
    """Solve the game between the two players."""
    from scipy.optimize import linprog

    actions = list(side.first)
    known, first = set(actions), len(actions)
    columns: list[Floats] = []  # one per alternative found
    payoff = np.zeros((len(actions), 0))
    weights = np.full(len(actions), 1.0 / len(actions))
    lower, upper, kept, stalled = (
        0.0,
        np.inf,
        (weights, list(actions)),
        0,
    )  # stalled: steps without progress on either side
    with own_errors():
        for _ in range(steps):
            if side.inner and lower > 0.0:
                weights = (1.0 - side.inner) * weights
                weights[: kept[0].size] += side.inner * kept[0]
            value, column = side.nature_response(actions, weights)
            if (
                value == 0.0
            ):  # a bound is 0 if an arm has no weight; a trace of the covering costs little
                weights = (1.0 - 0.1 * tolerance) * weights
                weights[:first] += 0.1 * tolerance / first
                value, column = side.nature_response(actions, weights)
            if value == np.inf:  # no means within the bounds make another answer best
                arms = marginals(actions, weights, d)
                return Complexity(0.0, arms, _support(actions, weights), 0.0)
            side.check_tie()
            stalled = 0 if value > lower * (1.0 + side.slight) else stalled + 1
            if value > lower:
                lower, kept = value, (weights, list(actions))
            columns.append(column)
            paid = side.payoffs(column, actions)
            if upper <= max(lower, float(weights @ paid)) * (1.0 + tolerance):
                # The value is certain to within the tolerance. If it is only a bound, no
                # alternative found so far contradicts it.
                break
            payoff = np.c_[payoff, paid]
            n, m = payoff.shape
            scaled = np.minimum(
                payoff / (lower or payoff.max()), 1e6
            )  # in units of the value; larger payoffs gain nothing
            for method in (
                "highs",
                "highs-ds",
                "highs-ipm",
            ):  # a method sometimes fails without a reason
                solved = linprog(  # max z: sum_A x_A payoff[A, j] >= z for all j, sum x = 1
                    np.r_[np.zeros(n), -1.0],
                    A_ub=np.c_[-scaled.T, np.ones(m)],
                    b_ub=np.zeros(m),
                    A_eq=np.r_[np.ones(n), 0.0][None],
                    b_eq=[1.0],
                    bounds=[(0, None)] * n + [(None, None)],
                    method=method,
                )
                if solved.status == 0:
                    break
            else:
                if lower > 0.0 and upper < np.inf:
                    break  # the bounds so far are certain, with their gap
                raise CombGameError(
                    "linear-programme-failed",
                    "complexity: the linear programme failed ({reason})",
                    remedy="scale the means and sigma",
                    reason=solved.message,
                )
            weights, mixed = (
                np.maximum(solved.x[:n], 0.0),
                np.maximum(-solved.ineqlin.marginals, 0.0),
            )
            most, chosen = side.best_action(np.array(columns), mixed / mixed.sum())
            stalled = 0 if most < upper * (1.0 - side.slight) else stalled
            upper = min(upper, most)
            if stalled > 100 + 2 * d:  # progress may need an alternative or two for each arm
                break  # the precision of the linear programme is reached
            if chosen not in known:
                known.add(chosen)
                actions.append(chosen)
                payoff = np.r_[payoff, [[side.payoffs(one, [chosen])[0] for one in columns]]]
                weights = np.r_[weights, 0.0]
            weights = weights / weights.sum()
    if lower == 0.0:
        raise CombGameError(
            "bound-is-zero",
            "complexity: the nearest alternative among {answers} is known by a bound only, and "
            "that is 0 here",
            remedy="make the answers with exact=True, or list them with Listed",
            answers=answers,
        )
    weights, actions = kept
    return Complexity(
        1.0 / lower,
        marginals(actions, weights, d),
        _support(actions, weights),
        max(float(upper / lower - 1.0), 0.0),
    )


def order_of(problem: Problem, *values: Floats) -> Ints:
    """Return the arms sorted by these values, the largest first.

    The indices decide only between arms that agree in all of the values.
    """
    order: Ints = np.lexsort(
        [-np.array(problem.high), -np.array(problem.low), *(-each for each in reversed(values))]
    )
    return order


def _support(
    actions: list[tuple[int, ...]], weights: Floats
) -> list[tuple[tuple[int, ...], float]]:
    """Return the actions whose weight is not negligible, with their weights."""
    return [(chosen, float(w)) for chosen, w in zip(actions, weights, strict=True) if w > 1e-12]


def least_time(problem: Problem, means: Any) -> Complexity:
    """Return the complexity, or a lower bound on it if batch effects come with too many plays.

    The bound is the complexity of the same plays without batch effects: a rule that is right for
    all batch effects is right without them.
    """
    if not problem.rewards.has_batch_effect() or listed(problem):
        return complexity(problem, means)
    alike = Gaussian(problem.rewards.sub_gaussian_scale(problem.d).tolist())
    return complexity(Problem(problem.actions, problem.answers, alike, problem.names), means)


def lower_bound(problem: Problem, solved: Complexity, delta: float) -> float:
    """Return ln(1/(2.4 delta)) / D_nu, a lower bound on the rounds of delta-correct rules.

    It bounds their expected number of rounds. D_nu is taken at the upper end of its certified
    interval. The result is NaN for `Assumption.SURROGATE`: the Gaussian divergence is at most the
    true one, so D_nu is too small for such a statement.
    """
    if Assumption.SURROGATE in claimed_assumptions(problem.rewards):
        return float("nan")
    return float(
        max(np.log(1.0 / (2.4 * delta)), 0.0)
        * solved.characteristic_time
        / (1.0 + solved.duality_gap)
    )
