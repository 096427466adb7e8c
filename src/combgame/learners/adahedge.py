r"""AdaHedge on the simplex: exponential weights without a horizon.

The rate is :math:`\eta_t = \ln|\mathcal A| / \Delta_{t-1}`, where :math:`\Delta` is the cumulative
mixability gap :math:`\sum_s (m_s - \langle w_s, U_s \rangle)` and :math:`m_s = \frac{1}{\eta_s} \ln
\langle w_s, \exp(\eta_s U_s) \rangle`. (U are gains, so the mix is above the mean.) Since
:math:`U_{s,A} = \langle 1_A, r_s \rangle`, with :math:`G = \sum_s r_s` the weights are products
over the arms (`_exponential_weights.py`), and :math:`m_t = (\ln Z(\eta (G + r_t)) - \ln Z(\eta G))
/ \eta`, where :math:`Z(x) = \sum_A \exp \langle 1_A, x \rangle`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.protocols import LinearOracle
from ..engine.state import Floats
from ._exponential_weights import FAR, AllActionWeights, every_action, largest, number, tempered
from .base import LearnerBase, LearnerContext, RegretStatistics
from .product_hedge import TIE


@kernel(FixedSizeDefaults)
class AdaHedgeKernel(NamedTuple):
    """Kernel of `AdaHedge`."""

    every: AllActionWeights
    gain: Floats  # float64[learners, d]: sum_s r_s
    gap: Floats  # float64[learners]: Delta
    last: Floats  # float64[2]: eta and ln Z(eta G), of the last `act`
    score: Floats  # scratch

    def act(self, learner: int, weights: SparseWeights) -> None:
        """Write w_t and its marginals."""
        gain, rate = self.gain[learner], 0.0  # if Delta = 0, all actions have led in every round
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
        """Add the reward to the gains, and update the mixability gap."""
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
            else:  # ln Z exceeds the largest score by at most ln |A|
                mix = self.every.mean_range(gain)[1] - before / rate
            self.gap[learner] += max(0.0, mix - mean)
        elif logs > 0.0:
            mix = self.every.mean_range(reward)[1]  # eta is infinite: the best of the leaders
            if mix - mean > TIE * abs(mix):
                self.gap[learner] = mix - mean


@dataclass(frozen=True, eq=False, repr=False)
class AdaHedge(LearnerBase):
    """Exponential weights over all actions with a self-tuning rate [1]_; anytime.

    References
    ----------
    .. [1] de Rooij, van Erven, Grünwald and Koolen. *Follow the Leader If You Can, Hedge If You
       Must*. 2014.
    """

    symmetric: ClassVar[bool] = True
    enumerates_actions: ClassVar[bool] = True
    writes_all_weights: ClassVar[bool] = True
    initialization: ClassVar[str] = "full"

    def kernel(self, context: LearnerContext) -> AdaHedgeKernel:
        """Return the kernel of the learner."""
        d = context.initial_marginals.size
        return AdaHedgeKernel(
            every_action(context.actions, context.n_actions),
            np.zeros((context.n_learners, d)),
            np.zeros(context.n_learners),
            np.zeros(2),
            np.zeros(d),
        )

    def regret_bound(self, record: RegretStatistics) -> float:
        r"""Return the bound of the paper's lemma for AdaHedge.

        Notes
        -----
        The bound is :math:`\sqrt{\sum_s b_s^2 \ln|\mathcal A|} + (\frac43 \ln|\mathcal A| +
        2) \max_s b_s`.
        """
        logs = math.log(record.actions)
        return (
            math.sqrt(record.sum_squared_range * logs) + (4.0 / 3.0 * logs + 2.0) * record.max_range
        )
