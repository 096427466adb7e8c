"""The practical floor: a rule that knows the optimal allocation and follows it from the first
round.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..engine.protocols import FixedSizeDefaults, ProblemKernel, kernel
from ..engine.state import Floats, Ints, Random, RoundState
from ..engine.statistics import Statistics
from ..errors import InputError, invalid_argument
from ..stopping.base import ProblemLike
from ._exploration import padded
from .base import FixedBoundRule, RuleBase


@kernel(FixedSizeDefaults)
class FixedAllocationKernel(NamedTuple):
    rows: Ints  # int64[actions, K]: the arms of each, filled up with -1
    share: Floats
    played: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """The action that is furthest behind its share."""
        chosen, most, t = 0, -math.inf, stats.n_rounds[0] + 1
        for k in range(self.share.size):
            behind = t * self.share[k] - self.played[k]
            if behind > most:
                chosen, most = k, behind
        self.played[chosen] += 1.0
        for a in range(state.action.size):
            state.action[a] = 0.0
        for j in range(self.rows.shape[1]):
            if self.rows[chosen, j] >= 0:
                state.action[self.rows[chosen, j]] = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class FixedAllocation(RuleBase):
    """Play actions with given shares, such as the support of `complexity`: what a rule could do
    that knew the means.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> means = [0.5, 0.3, 0.2, 0.1]
    >>> rule = cg.FixedAllocation(cg.complexity(problem, means).support)
    >>> cg.simulate(problem, means, rule=rule, runs=3, engine="python").answers
    [(0,), (0,), (0,)]
    """

    support: Iterable[tuple[tuple[int, ...], float]]

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            pairs = tuple(
                (tuple(int(a) for a in chosen), float(share)) for chosen, share in self.support
            )
        except Exception:  # whatever was given
            pairs = ()
        if not pairs or not all(0.0 < share < math.inf for _, share in pairs):
            raise invalid_argument(
                "support",
                self.support,
                "actions with positive shares, such as complexity(...).support",
                of="FixedAllocation",
            )
        total = sum(share for _, share in pairs)
        if abs(total - 1.0) > 1e-12:  # or they are shares already: the same rule is made from them
            pairs = tuple((chosen, share / total) for chosen, share in pairs)
        object.__setattr__(self, "support", pairs)

    def permuted(self, order: Ints) -> "FixedAllocation":
        called = np.argsort(order)
        return FixedAllocation(
            [
                (tuple(sorted(called[list(chosen)].tolist())), share)
                for chosen, share in self.support
            ]
        )

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        for chosen, _ in self.support:
            if not problem.actions.contains(chosen):
                raise InputError(
                    "not-an-action",
                    "FixedAllocation: {arms} is not an action of {actions}",
                    remedy="give actions only",
                    arms=chosen,
                    actions=str(problem.actions),
                )
        rows, share = (
            padded([chosen for chosen, _ in self.support]),
            np.array([share for _, share in self.support]),
        )
        return FixedBoundRule(FixedAllocationKernel(rows, share, np.zeros(share.size)), rows[:0])
