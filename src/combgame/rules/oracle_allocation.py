"""The practical floor: a rule that knows the optimal allocation and follows it throughout."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.protocols import ProblemKernel
from ..engine.state import Floats, Ints, Random, RoundState
from ..engine.statistics import Statistics
from ..errors import InputError, invalid_argument
from ..stopping.base import ProblemLike
from ._exploration import padded
from .base import FixedBoundRule, RuleBase


@kernel(FixedSizeDefaults)
class FixedAllocationKernel(NamedTuple):
    """Kernel of `FixedAllocation`."""

    rows: Ints  # int64[actions, K]: the arms of each, filled up with -1
    share: Floats
    played: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play the action that is furthest behind its share."""
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
    """Play actions with given shares, as a rule could that knew the means.

    Parameters
    ----------
    support : iterable of (tuple of int, float)
        Actions and their shares, such as the support of `complexity`. The shares are normalised.

    Examples
    --------
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
        except Exception:  # the argument may be anything
            pairs = ()
        if not pairs or not all(0.0 < share < math.inf for _, share in pairs):
            raise invalid_argument(
                "support",
                self.support,
                "actions with positive shares, such as complexity(...).support",
                of="FixedAllocation",
            )
        total = sum(share for _, share in pairs)
        # shares that add up to 1 stay, so that the same rule is made from them
        if abs(total - 1.0) > 1e-12:
            pairs = tuple((chosen, share / total) for chosen, share in pairs)
        object.__setattr__(self, "support", pairs)

    def permuted(self, order: Ints) -> "FixedAllocation":
        """Return the rule with renamed arms."""
        called = np.argsort(order)
        return FixedAllocation(
            [
                (tuple(sorted(called[list(chosen)].tolist())), share)
                for chosen, share in self.support
            ]
        )

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        """Return the rule bound to a problem."""
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
