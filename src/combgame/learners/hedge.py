"""Hedge on the simplex (Cesa-Bianchi, Mansour, Stoltz 2006), made anytime by doubling; the paper's
section 3.3.

w_{t,A} ~ exp(eta sum_s U_{s,A}) with U_{t,A} = <1_A, r_t> and eta = sqrt(8 ln|A| / T) / b: T the
length of the doubling epoch, b the largest range of U seen in it. sum_s U_{s,A} is a sum over the
arms of A, so that the weights are products (`every.py`).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.protocols import FixedSizeDefaults, LinearOracle, kernel
from ..engine.state import Floats
from ._doubling import FIRST, RATIO, Doubling, check_doubling, make_doubling
from ._exponential_weights import AllActionWeights, every_action, number
from .base import LearnerBase, LearnerContext, RegretStatistics


@kernel(FixedSizeDefaults)
class HedgeKernel(NamedTuple):
    every: AllActionWeights
    gain: Floats  # float64[seats, d]: sum_s r_s over the epoch
    span: Floats  # float64[seats]: b
    doubling: Doubling
    score: Floats  # scratch

    def act(self, learner: int, weights: SparseWeights) -> None:
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
    """Exponential weights over all actions, in doubling epochs floor(first * ratio^i)."""

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
        seats, d = context.n_learners, context.initial_marginals.size
        return HedgeKernel(
            every_action(context.actions, context.n_actions),
            np.zeros((seats, d)),
            np.zeros(seats),
            make_doubling(seats, self.initial_horizon, self.horizon_factor),
            np.zeros(d),
        )

    def regret_bound(self, record: RegretStatistics) -> float:
        """(4 sqrt(L* (t - L*) ln|A| / t) + 39 max(1, ln|A|)) max b_s: the paper's lemma for Hedge,
        for a known horizon.
        """
        logs = math.log(record.actions)
        inside = max(record.best_loss * (record.t - record.best_loss), 0.0) * logs / record.t
        return (4.0 * math.sqrt(inside) + 39.0 * max(1.0, logs)) * record.max_range
