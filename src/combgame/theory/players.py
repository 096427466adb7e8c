"""The two players of the game behind `complexity`: nature, who answers shares of plays with the
nearest alternative, and the learner, who answers a mixture of alternatives with the best action.
"""

from collections.abc import Callable
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np

from ..errors import TieError
from ..game.records import Floats, arms_of
from ..problem import Problem
from ..sentences import Option

Action = tuple[int, ...]


class Move(NamedTuple):
    """An alternative: how near it is, or a bound on that, and the column it enters as."""

    value: float
    column: Floats  # float64[d]


class Players(Protocol):
    inner: float  # how much of the best shares so far is in those that nature is asked about
    slight: float  # a relative gain that is less than this is none
    first: list[Action]  # which see all that must be seen

    def nearest(self, actions: list[Action], weights: Floats) -> Move:
        """Nature's answer to these shares of plays."""

    def check(self) -> None:
        """Refuse a tie, if the last alternative shows one."""

    def pays(self, column: Floats, actions: list[Action]) -> Floats:
        """What every action tells of an alternative."""

    def respond(self, columns: Floats, mixed: Floats) -> tuple[float, Action]:
        """The most that an action tells of a mixture of alternatives, or a bound on it; a good
        action.
        """


class Alone:
    """Every value by itself: an action tells <1_A, d(mu, lambda)>."""

    inner, slight = 0.0, 1e-9

    def __init__(
        self, problem: Problem, mu: Floats, label: Callable[[tuple[int, ...]], str]
    ) -> None:
        self.game, self.mu, self.label = problem.game(), mu, label
        self.first = list(problem.actions.covering())
        self.best, self.rival, self.alternative, self.vertex = np.zeros((4, problem.d))
        self.game.answers.argmax(mu, self.best)

    def nearest(self, actions: list[Action], weights: Floats) -> Move:
        game, mu = self.game, self.mu
        arms = marginals(actions, weights, mu.size)
        value = game.answers.nearest(
            game.rewards, mu, arms, self.best, self.rival, self.alternative
        )
        column = [game.rewards.divergence(mu[a], self.alternative[a], a) for a in range(mu.size)]
        return Move(value, np.array(column))

    def check(self) -> None:
        if self.mu @ self.best - self.mu @ self.rival <= 1e-12 * np.abs(self.mu).max():
            raise tied(self.label(arms_of(self.best)), self.label(arms_of(self.rival)))

    def pays(self, column: Floats, actions: list[Action]) -> Floats:
        return sums(column, actions)

    def respond(self, columns: Floats, mixed: Floats) -> tuple[float, Action]:
        against = mixed @ columns
        self.game.actions.argmax(against, self.vertex)
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
    option `ties`.
    """
    run = {"ties": Option("ties", "run"), "cap": Option("max_rounds")} if may_run else {}
    return TieError(
        "tie",
        "means: the answers ({best}) and ({rival}) are equally good, so that no number of plays "
        "can tell them apart",
        remedy="change the means" + (", or pass {ties} to run to {cap}" if may_run else ""),
        best=best,
        rival=rival,
        **run,
    )
