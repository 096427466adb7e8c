r"""AdaHedge over all actions without a weight for each: its distribution is of product form.

Since :math:`U_{s,A} = \langle 1_A, r_s \rangle`, the weights are :math:`w_{t,A} \propto \exp(\eta
\sum_s U_{s,A}) = \prod_{a \in A} \exp(\eta G_a)` with :math:`G = \sum_s r_s` (Takimoto and Warmuth
2003 for paths; the Expanded Hedge of Koolen, Warmuth and Kivinen 2010). Let :math:`\ln Z(x) = \ln
\sum_A \exp \langle 1_A, x \rangle`, which a structure's `gibbs` computes with its gradient. Then
the marginals are :math:`\tilde w_t = \nabla \ln Z(\eta G)` and the mix is :math:`m_t = (\ln Z(\eta
(G + r_t)) - \ln Z(\eta G)) / \eta`: everything that AdaHedge (`adahedge.py`) and the game need, at
a cost that does not depend on :math:`|\mathcal A|`.
"""

from typing import NamedTuple

import numpy as np

from ..engine.protocols import GibbsDistribution, LinearOracle
from ..engine.state import Floats
from ..structures import StructureBase

# actions are tied if their rewards differ by less than this share of the best one's, which may be
# rounding
TIE = 1e-12


class ProductHedgeKernel(NamedTuple):
    """AdaHedge in product form."""

    gibbs: GibbsDistribution
    logs: float  # ln|A|
    gain: Floats  # G
    gap: Floats  # float64[1]: Delta
    total: Floats  # float64[1]: ln Z(eta G), of the last `weigh`
    score: Floats  # scratch
    trial: Floats

    def weigh(self, arms: Floats) -> None:
        """Write the marginals of w_t.

        While Delta = 0, eta is infinite and all actions have led in every round: w_t is uniform.
        """
        rate = self.logs / self.gap[0] if self.gap[0] > 0.0 else 0.0  # eta_t = ln|A| / Delta_{t-1}
        for a in range(arms.size):
            self.score[a] = rate * self.gain[a]
        self.total[0] = self.gibbs.marginals(self.score, arms)  # grad ln Z(eta G)

    def learn(self, actions: LinearOracle, arms: Floats, reward: Floats) -> None:
        """Add m_t - <w~_t, r_t> to Delta and r_t to G.

        `arms` are the marginals that `weigh` wrote in this round.
        """
        mean, mix = 0.0, 0.0
        for a in range(arms.size):
            mean += arms[a] * reward[a]
            self.gain[a] += reward[a]
        if self.gap[0] > 0.0:
            rate = self.logs / self.gap[0]
            for a in range(arms.size):
                self.score[a] = rate * self.gain[a]
            mix = (self.gibbs.marginals(self.score, self.trial) - self.total[0]) / rate  # m_t
            self.gap[0] += max(0.0, mix - mean)
        elif self.logs > 0.0:
            actions.argmax(reward, self.trial)
            for a in range(arms.size):
                # m_t if eta is infinite: the best of the leaders, which are all actions
                mix += self.trial[a] * reward[a]
            if mix - mean > TIE * abs(mix):
                self.gap[0] = mix - mean


def product_hedge(actions: StructureBase) -> ProductHedgeKernel:
    """Return AdaHedge at its beginning, for a structure that has a Gibbs distribution.

    >>> from combgame import Subsets
    >>> learner, arms = product_hedge(Subsets(100, 50)), np.zeros(100)
    >>> learner.weigh(arms)
    >>> float(round(learner.logs / np.log(10.0), 2)), arms[:3].round(9).tolist()
    (29.0, [0.5, 0.5, 0.5])
    """
    d, ensemble = actions.d, actions.gibbs()
    logs = max(0.0, ensemble.marginals(np.zeros(d), np.zeros(d)))  # ln Z(0)
    return ProductHedgeKernel(
        ensemble,
        logs if logs > TIE else 0.0,
        np.zeros(d),
        np.zeros(1),
        np.zeros(1),
        np.zeros(d),
        np.zeros(d),
    )
