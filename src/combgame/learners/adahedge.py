"""AdaHedge on the simplex (de Rooij, van Erven, Grunwald, Koolen 2014): exponential weights without
a horizon.

eta_t = ln|A| / Delta_{t-1}, where Delta is the cumulative mixability gap sum_s (m_s - <w_s, U_s>)
and m_s = (1 / eta_s) ln <w_s, exp(eta_s U_s)> (gains: the mix is above the mean).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..game.catalogue import Catalogue, Mixture
from ..game.protocols import Structure
from ..game.records import Floats
from .base import LearnerBase, Record, Seating
from .hedge import softmax


class AdaHedgePart(NamedTuple):
    gain: Floats  # float64[seats, |A|]: sum_s U_{s,A}
    gap: Floats  # float64[seats]: Delta
    got: Floats  # float64[|A|]: U_t, scratch

    def act(self, seat: int, mixture: Mixture) -> None:
        gain = self.gain[seat]
        if self.gap[seat] > 0.0:
            softmax(gain, math.log(gain.size) / self.gap[seat], mixture)
            return
        softmax(gain, 0.0, mixture)  # eta is infinite: uniform over the leaders
        top, leaders = -math.inf, 0
        for i in range(gain.size):
            if gain[i] > top:
                top, leaders = gain[i], 0
            if gain[i] == top:
                leaders += 1
        for i in range(gain.size):
            mixture.weight[i] = 1.0 / leaders if gain[i] == top else 0.0

    def feed(
        self, seat: int, mixture: Mixture, catalogue: Catalogue, actions: Structure, reward: Floats
    ) -> None:
        gain, n = self.gain[seat], self.gain.shape[1]
        mean, top = 0.0, -math.inf
        for i in range(n):
            self.got[i] = catalogue.dot(i, reward)  # U_{t,A}
            if mixture.weight[i] > 0.0:
                mean += mixture.weight[i] * self.got[i]
                top = max(top, self.got[i])
        mix = top  # eta infinite: all that weight is on leaders, and the mix is the best of them
        if self.gap[seat] > 0.0:
            rate, total = math.log(n) / self.gap[seat], 0.0
            if rate > 0.0:
                for i in range(n):
                    if mixture.weight[i] > 0.0:
                        total += mixture.weight[i] * math.exp(rate * (self.got[i] - top))
                mix = top + math.log(total) / rate
        self.gap[seat] += max(0.0, mix - mean)
        for i in range(n):
            gain[i] += self.got[i]

    def full(self) -> bool:
        return False


@dataclass(frozen=True, eq=False, repr=False)
class AdaHedge(LearnerBase):
    """Exponential weights over all actions with a self-tuning rate; anytime."""

    impartial: ClassVar[bool] = True
    on_simplex: ClassVar[bool] = True
    start: ClassVar[str] = "full"

    def part(self, seating: Seating) -> AdaHedgePart:
        return AdaHedgePart(
            np.zeros((seating.seats, seating.number)),
            np.zeros(seating.seats),
            np.zeros(seating.number),
        )

    def regret_bound(self, record: Record) -> float:
        """sqrt(sum b_s^2 ln|A|) + (4/3 ln|A| + 2) max b_s: the paper's lemma for AdaHedge."""
        logs = math.log(record.actions)
        return math.sqrt(record.squares * logs) + (4.0 / 3.0 * logs + 2.0) * record.widest
