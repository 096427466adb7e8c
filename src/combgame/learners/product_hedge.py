"""AdaHedge over all actions without a weight per action: its distribution is of product form.

U_{s,A} = <1_A, r_s>, so w_{t,A} ~ exp(eta sum_s U_{s,A}) = prod over a in A of exp(eta G_a), G =
sum_s r_s (Takimoto and Warmuth 2003 for paths; the Expanded Hedge of Koolen, Warmuth, Kivinen
2010). With ln Z(x) = ln sum_A exp(<1_A, x>), which a structure's `gibbs` computes with its
gradient, the marginals are w~_t = grad ln Z(eta G) and the mix is m_t = (ln Z(eta (G + r_t)) - ln
Z(eta G)) / eta: all that AdaHedge (`adahedge.py`) and the game need, at a cost that does not depend
on |A|.
"""

from typing import NamedTuple

import numpy as np

from ..engine.protocols import GibbsDistribution, LinearOracle
from ..engine.state import Floats
from ..structures import StructureBase

# actions whose rewards differ by less than this share of the best one's are tied: the difference is
# rounding
TIE = 1e-12


class ProductHedgeKernel(NamedTuple):
    gibbs: GibbsDistribution
    logs: float  # ln|A|
    gain: Floats  # G
    gap: Floats  # float64[1]: Delta
    total: Floats  # float64[1]: ln Z(eta G), of the last `weigh`
    score: Floats  # scratch
    trial: Floats

    def weigh(self, arms: Floats) -> None:
        """Write w~_t. While Delta = 0, eta is infinite and all actions have led all the time:
        uniform over all of them.
        """
        rate = self.logs / self.gap[0] if self.gap[0] > 0.0 else 0.0  # eta_t = ln|A| / Delta_{t-1}
        for a in range(arms.size):
            self.score[a] = rate * self.gain[a]
        self.total[0] = self.gibbs.marginals(self.score, arms)  # grad ln Z(eta G)

    def learn(self, actions: LinearOracle, arms: Floats, reward: Floats) -> None:
        """Delta += m_t - <w~_t, r_t>, G += r_t; `arms` is what `weigh` wrote this round."""
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
                # m_t at an infinite eta: the best of the leaders, which all actions are
                mix += self.trial[a] * reward[a]
            if mix - mean > TIE * abs(mix):
                self.gap[0] = mix - mean


def product_hedge(actions: StructureBase) -> ProductHedgeKernel:
    """AdaHedge at its beginning, on a structure that has an ensemble.

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
