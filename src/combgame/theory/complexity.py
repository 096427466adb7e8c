"""The characteristic time 1/D_nu of an instance: D_nu = max over w~ of min over alternatives lambda
of <w~, d(mu, lambda)>. (Where every play has a level of its own, `within` says what is played for.)

The double oracle method on the game between the two players: a linear programme over the actions
and alternatives met so far; the nearest alternative to its allocation and the best action against
its mixture of alternatives enter, until the two values they give, a lower and an upper bound on
D_nu, meet. No enumeration; the gap is certified.
"""

from typing import Any, NamedTuple

import numpy as np

from ..errors import CombGameError, InputError, must_be, whole
from ..game.callback import own_errors
from ..game.records import Floats, Ints
from ..problem import Problem
from ..report.progress import waiting
from ..rewards import Gaussian, License
from ..rewards.base import claimed
from .players import Alone, Players, marginals
from .within import LISTED, Within, listed


class Complexity(NamedTuple):
    """`time` is 1/D_nu to within the gap: D_nu lies between 1 / time and (1 + gap) / time."""

    time: float
    allocation: Floats  # w~: how often each arm is observed per round, by an optimal rule
    support: list[tuple[tuple[int, ...], float]]  # actions and their weights
    gap: float


def complexity(
    problem: Problem, means: Any, *, tolerance: float | None = None, steps: int = 1000
) -> Complexity:
    """The characteristic time, the optimal allocation, and how far from optimal they can be.

    tolerance: the gap that is wanted; None: 1e-4, or 1e-2 where every play has a level of its own.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    >>> round(cg.complexity(problem, [0.3, 0.29, 0.28, 0.23, 0.2]).time, 1)
    400.0
    """
    if not isinstance(problem, Problem):
        raise must_be("problem", problem, "a Problem", remedy="it comes first", of="complexity")
    if problem.rewards.levels() and not listed(problem):
        raise InputError(
            "level-complexity",
            "complexity: where every play has a level of its own, it is known for {most:,} "
            "different plays at most",
            remedy="plan simulates such plays; without the level, complexity is what no rule can "
            "beat with it either",
            most=LISTED,
        )
    if tolerance is None:
        tolerance = 1e-2 if problem.rewards.levels() else 1e-4
    if not (isinstance(tolerance, float) and 0.0 < tolerance < 1.0):
        raise must_be("tolerance", tolerance, "between 0 and 1, such as 1e-4", of="complexity")
    steps = whole("steps", steps, 1, of="complexity")
    mu, order = problem.inside(problem.means(means)), np.arange(problem.d)
    problem = problem.maximised
    sigma = problem.noise()  # or a sentence
    best = order_of(problem, mu, sigma)
    mine = problem.numbered(best)
    if mine is not None:  # in an order of the values, so that the given numbers change nothing
        order = best
    what = f"the best proportions of {problem.d:,} arms"
    with waiting(f"working out {what}", f"worked out {what}"):
        side: type[Within | Alone] = Within if problem.rewards.levels() else Alone
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


def _solved(side: Players, d: int, tolerance: float, steps: int, answers: str) -> Complexity:
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
            value, column = side.nearest(actions, weights)
            if (
                value == 0.0
            ):  # a bracket says so where an arm has no weight: a trace of the covering costs little
                weights = (1.0 - 0.1 * tolerance) * weights
                weights[:first] += 0.1 * tolerance / first
                value, column = side.nearest(actions, weights)
            if (
                value == np.inf
            ):  # no means within the bounds make another answer best: there is nothing to learn
                arms = marginals(actions, weights, d)
                return Complexity(0.0, arms, _support(actions, weights), 0.0)
            side.check()
            stalled = 0 if value > lower * (1.0 + side.slight) else stalled + 1
            if value > lower:
                lower, kept = value, (weights, list(actions))
            columns.append(column)
            paid = side.pays(column, actions)
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
            most, chosen = side.respond(np.array(columns), mixed / mixed.sum())
            stalled = 0 if most < upper * (1.0 - side.slight) else stalled
            upper = min(upper, most)
            if (
                stalled > 100 + 2 * d
            ):  # every arm may need an alternative, or two, before anything moves
                break  # the linear programme's precision is reached: the gap says how far that is
            if chosen not in known:
                known.add(chosen)
                actions.append(chosen)
                payoff = np.r_[payoff, [[side.pays(one, [chosen])[0] for one in columns]]]
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
    if not problem.rewards.levels() or listed(problem):
        return complexity(problem, means)
    alike = Gaussian(problem.rewards.spread(problem.d).tolist())
    return complexity(Problem(problem.actions, problem.answers, alike, problem.names), means)


def lower_bound(problem: Problem, solved: Complexity, delta: float) -> float:
    """ln(1/(2.4 delta)) / D_nu, below which no delta-correct rule can go on average: the end of the
    certified interval that is certain.

    NaN for `License.SURROGATE`: the divergence is a Gaussian one, at most the true one, so that
    D_nu is too small for such a statement.
    """
    if License.SURROGATE in claimed(problem.rewards):
        return float("nan")
    return float(max(np.log(1.0 / (2.4 * delta)), 0.0) * solved.time / (1.0 + solved.gap))
