r"""Hedge on the simplex, made anytime by doubling (section 3.3 of the paper).

The weights are :math:`w_{t,A} \propto \exp(\eta \sum_s U_{s,A})` with :math:`U_{t,A} = \langle 1_A,
r_t \rangle` and :math:`\eta = \sqrt{8 \ln|\mathcal A| / T} / b`, where T is the length of the
doubling epoch and b the largest range of U in it. Since :math:`\sum_s U_{s,A}` is a sum over
the arms of A, the weights are products (`_exponential_weights.py`).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.protocols import LinearOracle
from ..engine.state import Floats
from ._exponential_weights import AllActionWeights, every_action, number
from .base import (
    FIRST,
    RATIO,
    Doubling,
    LearnerBase,
    LearnerContext,
    RegretStatistics,
    check_doubling,
    make_doubling,
)


@kernel(FixedSizeDefaults)
class HedgeKernel(NamedTuple):
    """Kernel of `Hedge`."""

    every: AllActionWeights
    gain: Floats  # float64[learners, d]: sum_s r_s over the epoch
    span: Floats  # float64[learners]: b
    doubling: Doubling
    score: Floats  # scratch

    def act(self, learner: int, weights: SparseWeights) -> None:
        """Write w_t and its marginals."""
        gain, rate = self.gain[learner], 0.0
        if self.span[learner] > 0.0:
            logs = math.log(self.every.head.size)
            rate = math.sqrt(8.0 * logs / self.doubling.horizon[learner]) / self.span[learner]
        for a in range(gain.size):
            self.score[a] = rate * gain[a]
        self.every.total(self.score)
        self.every.chances(weights.arm_weights)
        self.every.weights(weights.values)
        number(weights, self.every.head.size)

    def update(
        self,
        learner: int,
        weights: SparseWeights,
        table: ActionTable,
        actions: LinearOracle,
        reward: Floats,
    ) -> None:
        """Add the reward to the gains, or start the next epoch."""
        gain = self.gain[learner]
        low, high = self.every.mean_range(reward)  # of U_{t,A}
        self.span[learner] = max(self.span[learner], high - low)
        ended = self.doubling.step(learner)
        if ended:
            self.span[learner] = 0.0
        for a in range(gain.size):
            gain[a] = 0.0 if ended else gain[a] + reward[a]


@dataclass(frozen=True, eq=False, repr=False)
class Hedge(LearnerBase):
    """Exponential weights over all actions, in doubling epochs [1]_.

    Epoch i ends at round ``floor(initial_horizon * horizon_factor**i)``.

    Parameters
    ----------
    initial_horizon : float, default=200
        Length of the first epoch, T0 in the paper.
    horizon_factor : float, default=(3 + sqrt(5)) / 2
        Factor between epochs, b in the paper.

    References
    ----------
    .. [1] Cesa-Bianchi, Mansour and Stoltz. 2006.
    """

    symmetric: ClassVar[bool] = True
    initial_horizon: float = FIRST
    horizon_factor: float = RATIO
    enumerates_actions: ClassVar[bool] = True
    writes_all_weights: ClassVar[bool] = True
    initialization: ClassVar[str] = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_doubling(self.initial_horizon, self.horizon_factor)

    def kernel(self, context: LearnerContext) -> HedgeKernel:
        """Return the kernel of the learner."""
        n_learners, d = context.n_learners, context.initial_marginals.size
        return HedgeKernel(
            every_action(context.actions, context.n_actions),
            np.zeros((n_learners, d)),
            np.zeros(n_learners),
            make_doubling(n_learners, self.initial_horizon, self.horizon_factor),
            np.zeros(d),
        )

    def regret_bound(self, record: RegretStatistics) -> float:
        r"""Return the bound of the paper's lemma for Hedge, for a known horizon.

        Notes
        -----
        The bound is :math:`\left(4 \sqrt{L^* (t - L^*) \ln|\mathcal A| / t} + 39 \max(1,
        \ln|\mathcal A|)\right) \max_s b_s`.
        """
        logs = math.log(record.actions)
        inside = max(record.best_loss * (record.t - record.best_loss), 0.0) * logs / record.t
        return (4.0 * math.sqrt(inside) + 39.0 * max(1.0, logs)) * record.max_range
