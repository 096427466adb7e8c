"""The characteristic time 1/D_nu of an instance: D_nu = max over w~ of min over alternatives lambda
of <w~, d(mu, lambda)>. (Where every play has a level of its own, `within` says what is played for.)

The double oracle method on the game between the two players: a linear programme over the actions
and alternatives met so far; the nearest alternative to its allocation and the best action against
its mixture of alternatives enter, until the two values they give, a lower and an upper bound on
D_nu, meet. No enumeration; the gap is certified.

The two players where every play has a level of its own: the values of a play tell only how its
arms differ.

Playing A then tells min over b of sum_{a in A} (y_a - b)^2 / (2 sigma_a^2) of means that differ by
y, whatever the levels are: y' L_A y / 2, L_A the Laplacian of A's arms. If plays have the shares w,
and L = sum_A w_A L_A, the nearest means at which arms i and j change places are at (mu_i - mu_j)^2
/ (2 r_ij), r_ij the resistance between i and j in the network L. A rule that is right whatever the
levels are is right against levels that follow the best b, so D_nu = max over w of the least of
these bounds it as the paper's Theorem 1 has it (docs/plates.md).

The two players of the game behind `complexity`: nature, who answers shares of plays with the
nearest alternative, and the learner, who answers a mixture of alternatives with the best action.
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
    """An alternative: how near it is, or a bound on that, and the column it enters as."""

    value: float
    column: Floats  # float64[d]


class GameOracles(Protocol):
    inner: float  # how much of the best shares so far is in those that nature is asked about
    slight: float  # a relative gain that is less than this is none
    first: list[Action]  # which see all that must be seen

    def nature_response(self, actions: list[Action], weights: Floats) -> OracleAnswer:
        """Nature's answer to these shares of plays."""

    def check_tie(self) -> None:
        """Refuse a tie, if the last alternative shows one."""

    def payoffs(self, column: Floats, actions: list[Action]) -> Floats:
        """What every action tells of an alternative."""

    def best_action(self, columns: Floats, mixed: Floats) -> tuple[float, Action]:
        """The most that an action tells of a mixture of alternatives, or a bound on it; a good
        action.
        """


class IndependentOracles:
    """Every value by itself: an action tells <1_A, d(mu, lambda)>."""

    inner, slight = 0.0, 1e-9

    def __init__(
        self, problem: Problem, mu: Floats, label: Callable[[tuple[int, ...]], str]
    ) -> None:
        self.kernel, self.mu, self.label = problem.kernel(), mu, label
        self.first = list(problem.actions.covering())
        self.best, self.rival, self.alternative, self.vertex = np.zeros((4, problem.d))
        self.kernel.answers.argmax(mu, self.best)

    def nature_response(self, actions: list[Action], weights: Floats) -> OracleAnswer:
        problem, mu = self.kernel, self.mu
        arms = marginals(actions, weights, mu.size)
        value = problem.answers.nearest_alternative(
            problem.rewards, mu, arms, self.best, self.rival, self.alternative
        )
        column = [problem.rewards.divergence(mu[a], self.alternative[a], a) for a in range(mu.size)]
        return OracleAnswer(value, np.array(column))

    def check_tie(self) -> None:
        if self.mu @ self.best - self.mu @ self.rival <= 1e-12 * np.abs(self.mu).max():
            raise tied(self.label(arms_of(self.best)), self.label(arms_of(self.rival)))

    def payoffs(self, column: Floats, actions: list[Action]) -> Floats:
        return sums(column, actions)

    def best_action(self, columns: Floats, mixed: Floats) -> tuple[float, Action]:
        against = mixed @ columns
        self.kernel.actions.argmax(against, self.vertex)
        return float(self.vertex @ against), arms_of(self.vertex)


def sums(column: Floats, actions: list[Action]) -> Floats:
    """<1_A, column> for every action, which is never empty."""
    lengths = np.array([len(chosen) for chosen in actions])
    flat = np.fromiter(chain.from_iterable(actions), np.int64, int(lengths.sum()))
    found: Floats = np.add.reduceat(column[flat], np.cumsum(lengths) - lengths)
    return found


def marginals(actions: list[Action], weights: Floats, d: int) -> Floats:
    arms = np.zeros(d)
    for chosen, weight in zip(actions, weights, strict=True):
        arms[list(chosen)] += weight
    return arms


def tied(best: str, rival: str, may_run: bool = False) -> TieError:
    """Two answers, by their labels, that are equally good. may_run: whether the caller has the
    option `on_tie`.
    """
    run = {"on_tie": OptionHint("on_tie", "run"), "cap": OptionHint("max_rounds")} if may_run else {}
    return TieError(
        "tie",
        "means: the answers ({best}) and ({rival}) are equally good, so that no number of plays "
        "can tell them apart",
        remedy="change the means" + (", or pass {on_tie} to run to {cap}" if may_run else ""),
        best=best,
        rival=rival,
        **run,
    )


LISTED = 2_000  # actions, each of which is looked at in every step
EQUAL = 1e-6  # of a current: arms are joined if it flows from one to the other up to this


def listed(problem: Problem) -> bool:
    """Whether there are few enough actions."""
    size = problem.actions.n_sets()
    return size is not None and size <= LISTED


class WithinBatchOracles:
    """Nature answers with the exchange that is nearest, the learner with the action that tells
    most of a mixture of differences.
    """

    inner = 0.7  # the linear programme's own shares would leave most arms apart
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
        """A covering, and plays that join the arms of every group."""
        found, score, vertex = dict.fromkeys(self.actions.covering()), *np.zeros((2, self.d))
        for group in groups:
            for i, j in pairwise(group):
                score[:] = 0.0
                score[[i, j]] = 1.0
                self.kernel.actions.argmax(score, vertex)
                found[arms_of(vertex)] = None
        return list(found)

    def nature_response(self, actions: list[Action], weights: Floats) -> OracleAnswer:
        network = np.zeros((self.d, self.d))
        for chosen, weight in zip(actions, weights, strict=True):
            if weight > 0.0:
                arms = np.array(chosen)
                p = self.precision[arms]
                network[np.ix_(arms, arms)] += weight * (np.diag(p) - np.outer(p, p) / p.sum())
        potential = np.linalg.pinv(network, rcond=1e-13, hermitian=True)
        i, j = self.inside, self.outside
        resistance = potential[i, i] + potential[j, j] - 2.0 * potential[i, j]
        lost = np.eye(self.d) - network @ potential  # what the network cannot carry
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
        """Ties were refused in the beginning."""

    def payoffs(self, column: Floats, actions: list[Action]) -> Floats:
        p = sums(self.precision, actions)
        mean = sums(self.precision * column, actions)
        square = sums(self.precision * column**2, actions)
        return np.asarray(0.5 * np.maximum(square - mean**2 / p, 0.0))

    def best_action(self, columns: Floats, mixed: Floats) -> tuple[float, Action]:
        used = mixed > 0.0
        z = np.sqrt(mixed[used])[:, None] * columns[used]
        p = self.precision  # half the scatter of the points z[:, a] within each play
        square, mean = self.every @ (p * (z**2).sum(axis=0)), self.every @ (p[:, None] * z.T)
        told = 0.5 * (square - (mean**2).sum(axis=1) / (self.every @ p))
        k = int(told.argmax())
        return float(told[k]), arms_of(self.every[k])


class Complexity(NamedTuple):
    """`time` is 1/D_nu to within the gap: D_nu lies between 1 / time and (1 + gap) / time."""

    characteristic_time: float
    allocation: Floats  # w~: how often each arm is observed per round, by an optimal rule
    support: list[tuple[tuple[int, ...], float]]  # actions and their weights
    duality_gap: float


def complexity(
    problem: Problem, means: Any, *, tolerance: float | None = None, steps: int = 1000
) -> Complexity:
    """The characteristic time, the optimal allocation, and how far from optimal they can be.

    tolerance: the gap that is wanted; None: 1e-4, or 1e-2 where every play has a level of its own.

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
    sigma = problem.sigma()  # or a sentence
    best = order_of(problem, mu, sigma)
    mine = problem.permuted(best)
    if mine is not None:  # in an order of the values, so that the given numbers change nothing
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
    from scipy.optimize import linprog

    actions = list(side.first)
    known, first = set(actions), len(actions)
    columns: list[Floats] = []  # one per alternative met
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
            ):  # a bracket says so where an arm has no weight: a trace of the covering costs little
                weights = (1.0 - 0.1 * tolerance) * weights
                weights[:first] += 0.1 * tolerance / first
                value, column = side.nature_response(actions, weights)
            if (
                value == np.inf
            ):  # no means within the bounds make another answer best: there is nothing to learn
                arms = marginals(actions, weights, d)
                return Complexity(0.0, arms, _support(actions, weights), 0.0)
            side.check_tie()
            stalled = 0 if value > lower * (1.0 + side.slight) else stalled + 1
            if value > lower:
                lower, kept = value, (weights, list(actions))
            columns.append(column)
            paid = side.payoffs(column, actions)
            if upper <= max(lower, float(weights @ paid)) * (1.0 + tolerance):
                # certain to within the tolerance; or, where `value` is a bound only, no alternative
                # that is found says otherwise
                break
            payoff = np.c_[payoff, paid]
            n, m = payoff.shape
            scaled = np.minimum(
                payoff / (lower or payoff.max()), 1e6
            )  # in units of the value; above that, nothing is gained
            for method in (
                "highs",
                "highs-ds",
                "highs-ipm",
            ):  # now and then one of them gives up without a reason
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
                    break  # what is known so far is certain: the gap says how far it is
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
            if (
                stalled > 100 + 2 * d
            ):  # every arm may need an alternative, or two, before anything moves
                break  # the linear programme's precision is reached: the gap says how far that is
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
    """The arms in the order of these values, the largest first: numbers decide only between arms
    that are alike in all of them.
    """
    order: Ints = np.lexsort(
        [-np.array(problem.high), -np.array(problem.low), *(-each for each in reversed(values))]
    )
    return order


def _support(
    actions: list[tuple[int, ...]], weights: Floats
) -> list[tuple[tuple[int, ...], float]]:
    return [(chosen, float(w)) for chosen, w in zip(actions, weights, strict=True) if w > 1e-12]


def least_time(problem: Problem, means: Any) -> Complexity:
    """The complexity; where plays have levels and there are too many of them, that of the same
    plays without: a rule that is right whatever the levels are is right where there are none.
    """
    if not problem.rewards.has_batch_effect() or listed(problem):
        return complexity(problem, means)
    alike = Gaussian(problem.rewards.sub_gaussian_scale(problem.d).tolist())
    return complexity(Problem(problem.actions, problem.answers, alike, problem.names), means)


def lower_bound(problem: Problem, solved: Complexity, delta: float) -> float:
    """ln(1/(2.4 delta)) / D_nu, below which no delta-correct rule can go on average: the end of the
    certified interval that is certain.

    NaN for `Assumption.SURROGATE`: the divergence is a Gaussian one, at most the true one, so that
    D_nu is too small for such a statement.
    """
    if Assumption.SURROGATE in claimed_assumptions(problem.rewards):
        return float("nan")
    return float(
        max(np.log(1.0 / (2.4 * delta)), 0.0)
        * solved.characteristic_time
        / (1.0 + solved.duality_gap)
    )
