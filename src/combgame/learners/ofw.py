r"""Online Frank-Wolfe on the polytope of the actions, with the paper's rates; anytime.

.. math::

    F_t(x) = \frac1t \sum_{s \le t} \left[ \frac{s^{-1/4}}{D} \|x - \tilde w_{n_0}\|^2
    - \langle x, r_s \rangle \right], \qquad
    \tilde w_{t+1} = \tilde w_t + t^{-1/4} (1_A - \tilde w_t),

where :math:`A = \arg\min_A \langle 1_A, \nabla F_t(\tilde w_t) \rangle` and D is the diameter of
the polytope.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.protocols import LinearOracle
from ..engine.state import Floats
from ..errors import check_bool
from ._support import Support, make_support, support_limit, support_room
from .base import LearnerBase, LearnerContext, RegretStatistics


class OFWKernel(NamedTuple):
    """Kernel of `OFW`."""

    support: Support
    centre: Floats  # w~_{n_0}
    diameter: float
    total: Floats  # float64[learners, d]: sum_s r_s
    clock: Floats  # float64[learners, 2]: t and sum_s s^{-1/4}
    score: Floats  # scratch
    vertex: Floats

    def act(self, learner: int, weights: SparseWeights) -> None:
        """Write w_t."""
        self.support.write(learner, weights)

    def update(
        self,
        learner: int,
        weights: SparseWeights,
        table: ActionTable,
        actions: LinearOracle,
        reward: Floats,
    ) -> None:
        """Move towards the best action for the gradient."""
        clock, total = self.clock[learner], self.total[learner]
        clock[0] += 1.0
        step = 1.0 / math.sqrt(math.sqrt(clock[0]))
        clock[1] += step
        pull = 2.0 * clock[1] / (clock[0] * self.diameter)
        for a in range(reward.size):
            total[a] += reward[a]
            # -grad F_t(w~_t)
            self.score[a] = total[a] / clock[0] - pull * (weights.arm_weights[a] - self.centre[a])
        actions.argmax(self.score, self.vertex)
        number = table.lookup(self.vertex)
        self.support.scale(learner, 1.0 - step)
        self.support.add_vertex(learner, number)
        self.support.sparsify(learner, table)

    def needs_resize(self) -> bool:
        """Return whether one more action might not fit."""
        return self.support.needs_resize()


@dataclass(frozen=True, eq=False, repr=False)
class OFW(LearnerBase):
    """Online Frank-Wolfe on the polytope of the actions [1]_.

    Parameters
    ----------
    sparsify : bool, default=True
        Whether the support is kept of order d.

    References
    ----------
    .. [1] Hazan and Kale. *Projection-free Online Learning*. ICML 2012.
    """

    symmetric: ClassVar[bool] = True
    sparsify: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("sparsify", self.sparsify, of="OFW")

    def initial_capacity(self, d: int, home: int) -> int:
        """Return the capacity of a sparsified support."""
        return support_room(d, home)

    def kernel(self, context: LearnerContext) -> OFWKernel:
        """Return the kernel of the learner."""
        d, n_learners = context.initial_marginals.size, context.n_learners
        support = make_support(
            d,
            context.initial_actions,
            n_learners,
            context.capacity,
            support_limit(d, self.sparsify),
        )
        diameter = context.actions.geometry().diameter or 1.0  # a single action: nothing to learn
        return OFWKernel(
            support,
            context.initial_marginals.copy(),
            diameter,
            np.zeros((n_learners, d)),
            np.zeros((n_learners, 2)),
            np.zeros(d),
            np.zeros(d),
        )

    def regret_bound(self, record: RegretStatistics) -> float:
        r"""Return the bound of the paper's lemma for OFW.

        Notes
        -----
        The bound is :math:`(18 (2 + \max_s \|r_s\|)^2 + 3) D t^{3/4}`.
        """
        return float(
            (18.0 * (2.0 + record.max_norm) ** 2 + 3.0) * record.geometry.diameter * record.t**0.75
        )
