"""What a mixture will charge at the end that a run can expect: for sampling rules only.

Whether a run stops is decided by the evidence at hand, and nothing here touches that. But a rule
that divides the plays between rivals should look at what will be asked of each of them: the
likelihood ratio *less the charges*, at the counts of the end, which are the present ones times some
s >= 1 if the plays go on as they were. A rival is charged for the scale of the mixture that will
suit it best.
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.state import Fixed, Floats, Ints
from ..engine.statistics import Statistics

FIRST = 20.0  # s to begin with
LONGEST = 50.0  # an end beyond so many times the present is not believed
LEAST = 0.3  # of a likelihood ratio: what less than that says of the end is not believed


class PenaltyForecastKernel(NamedTuple):
    variance: Floats
    prior: Fixed  # float64[2, k]: c of the leader's arms and of the others, per scale
    joint: Fixed  # c of a direction that both arms share; 0: there is none
    cost: Fixed  # ln 1/chance of each, less what its one-sidedness gains
    goal: float  # what the evidence must exceed
    scale: Floats  # float64[1]: s

    def expect(self, stats: Statistics, mean: Floats, arms: Ints, sign: Floats, n: int) -> float:
        """s, from the nearest rival: where the evidence against it would be enough. One step of a
        fixed point at a time; 0 if nothing can be foreseen.
        """
        lead, blur, s = 0.0, 0.0, self.scale[0]
        if self.cost.size == 0:
            return 0.0
        for i in range(n):
            lead -= sign[i] * mean[arms[i]]
            if not (stats.counts[arms[i]] > 0.0 and self.variance[arms[i]] < math.inf):
                return 0.0
            blur += self.variance[arms[i]] / stats.counts[arms[i]]
        if lead > 0.0:
            ratio = 0.5 * lead * lead / blur
            charges = max(s * ratio - self.charged(stats, mean, arms, sign, n), 0.0)
            self.scale[0] = min(max((self.goal + charges) / max(ratio, LEAST), 1.0), LONGEST)
        return float(self.scale[0])

    def charged(self, stats: Statistics, mean: Floats, arms: Ints, sign: Floats, n: int) -> float:
        """The evidence against a rival, less its charges, at s times the counts."""
        lead, most = 0.0, -math.inf
        for i in range(n):
            lead -= sign[i] * mean[arms[i]]
        lead = max(lead, 0.0)
        for k in range(self.cost.size):
            blur, pull, square, spare, noise, fees = 0.0, 0.0, 0.0, 0.0, 0.0, self.cost[k]
            for i in range(n):
                a = arms[i]
                many, c = self.scale[0] * stats.counts[a], self.prior[0 if sign[i] < 0.0 else 1, k]
                if not many > 0.0:
                    return 0.0
                v, share = self.variance[a], c / (many + c)
                blur += v * (many + c) / (many * many)
                pull += v * c / many
                square += v * c * share
                spare += v * many * share
                noise += v / n
                fees += 0.5 * math.log1p(many / c)
            if self.joint[k] > 0.0:
                base = self.joint[k] * noise
                blur -= pull * pull / (spare + base + square)
                fees += 0.5 * math.log1p(spare / base)
            most = max(most, 0.5 * lead * lead / blur - fees)
        return float(most)


def foresight(
    variance: Floats, prior: Floats, cost: Floats, sided: Floats, joint: Floats, goal: float
) -> PenaltyForecastKernel:
    # ln(2 Phi) of an arm that is far from its mean
    gain = math.log(2.0) * (sided.sum(axis=0) + (joint > 0.0))
    return PenaltyForecastKernel(variance, prior, joint, cost - gain, goal, np.full(1, FIRST))


def blind(d: int) -> PenaltyForecastKernel:
    """Nothing is foreseen."""
    none = np.zeros(0)
    return PenaltyForecastKernel(np.ones(d), np.zeros((2, 0)), none, none, 0.0, np.full(1, FIRST))
