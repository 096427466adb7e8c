"""AdaHedge on the simplex (de Rooij, van Erven, Grunwald, Koolen 2014): exponential weights without
a horizon.

eta_t = ln|A| / Delta_{t-1}, where Delta is the cumulative mixability gap sum_s (m_s - <w_s, U_s>)
and m_s = (1 / eta_s) ln <w_s, exp(eta_s U_s)> (gains: the mix is above the mean). U_{s,A} = <1_A,
r_s>, so with G = sum_s r_s the weights are products over the arms (`every.py`) and m_t = (ln Z(eta
(G + r_t)) - ln Z(eta G)) / eta, Z(x) = sum_A exp(<1_A, x>).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.protocols import FixedSizeDefaults, LinearOracle, kernel
from ..engine.state import Floats
from ._exponential_weights import FAR, AllActionWeights, every_action, largest, number, tempered
from .base import LearnerBase, LearnerContext, RegretStatistics
from .product_hedge import TIE


@kernel(FixedSizeDefaults)
class AdaHedgeKernel(NamedTuple):
    every: AllActionWeights
    gain: Floats  # float64[seats, d]: sum_s r_s
    gap: Floats  # float64[seats]: Delta
    last: Floats  # float64[2]: eta and ln Z(eta G), of the last `act`
    score: Floats  # scratch

    def act(self, learner: int, weights: SparseWeights) -> None:
        gain, rate = self.gain[learner], 0.0  # at Delta = 0 all actions have led all the time
        if self.gap[learner] > 0.0:
            rate = tempered(math.log(self.every.head.size) / self.gap[learner], gain)
        for a in range(gain.size):
            self.score[a] = rate * gain[a]
        self.last[0], self.last[1] = rate, self.every.total(self.score)
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
        gain, logs, mean = self.gain[learner], math.log(self.every.head.size), 0.0
        for a in range(gain.size):
            mean += weights.arm_weights[a] * reward[a]
            gain[a] += reward[a]
        if self.gap[learner] > 0.0 and logs > 0.0:
            rate, before = self.last[0], self.last[1]
            if rate * largest(gain) <= FAR:
                for a in range(gain.size):
                    self.score[a] = rate * gain[a]
                mix = (self.every.total(self.score) - before) / rate
            else:  # ln Z is the largest score, but for ln |A| at most
                mix = self.every.mean_range(gain)[1] - before / rate
            self.gap[learner] += max(0.0, mix - mean)
        elif logs > 0.0:
            mix = self.every.mean_range(reward)[1]  # eta is infinite: the best of the leaders
            if mix - mean > TIE * abs(mix):
                self.gap[learner] = mix - mean


@dataclass(frozen=True, eq=False, repr=False)
class AdaHedge(LearnerBase):
    """Exponential weights over all actions with a self-tuning rate; anytime."""

    symmetric: ClassVar[bool] = True
    enumerates_actions: ClassVar[bool] = True
    writes_all_weights: ClassVar[bool] = True
    initialization: ClassVar[str] = "full"

    def kernel(self, context: LearnerContext) -> AdaHedgeKernel:
        d = context.initial_marginals.size
        return AdaHedgeKernel(
            every_action(context.actions, context.n_actions),
            np.zeros((context.n_learners, d)),
            np.zeros(context.n_learners),
            np.zeros(2),
            np.zeros(d),
        )

    def regret_bound(self, record: RegretStatistics) -> float:
        """sqrt(sum b_s^2 ln|A|) + (4/3 ln|A| + 2) max b_s: the paper's lemma for AdaHedge."""
        logs = math.log(record.actions)
        return (
            math.sqrt(record.sum_squared_range * logs) + (4.0 / 3.0 * logs + 2.0) * record.max_range
        )
