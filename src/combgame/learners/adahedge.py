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

from ..engine.action_table import Catalogue, Mixture
from ..engine.protocols import FixedSizeDefaults, Structure, kernel
from ..engine.state import Floats
from ._exponential_weights import FAR, Every, every_action, largest, number, tempered
from .base import LearnerBase, Record, Seating
from .product_hedge import TIE


@kernel(FixedSizeDefaults)
class AdaHedgePart(NamedTuple):
    every: Every
    gain: Floats  # float64[seats, d]: sum_s r_s
    gap: Floats  # float64[seats]: Delta
    last: Floats  # float64[2]: eta and ln Z(eta G), of the last `act`
    score: Floats  # scratch

    def act(self, seat: int, mixture: Mixture) -> None:
        gain, rate = self.gain[seat], 0.0  # at Delta = 0 all actions have led all the time
        if self.gap[seat] > 0.0:
            rate = tempered(math.log(self.every.head.size) / self.gap[seat], gain)
        for a in range(gain.size):
            self.score[a] = rate * gain[a]
        self.last[0], self.last[1] = rate, self.every.total(self.score)
        self.every.chances(mixture.arms)
        self.every.weights(mixture.weight)
        number(mixture, self.every.head.size)

    def feed(
        self, seat: int, mixture: Mixture, catalogue: Catalogue, actions: Structure, reward: Floats
    ) -> None:
        gain, logs, mean = self.gain[seat], math.log(self.every.head.size), 0.0
        for a in range(gain.size):
            mean += mixture.arms[a] * reward[a]
            gain[a] += reward[a]
        if self.gap[seat] > 0.0 and logs > 0.0:
            rate, before = self.last[0], self.last[1]
            if rate * largest(gain) <= FAR:
                for a in range(gain.size):
                    self.score[a] = rate * gain[a]
                mix = (self.every.total(self.score) - before) / rate
            else:  # ln Z is the largest score, but for ln |A| at most
                mix = self.every.range(gain)[1] - before / rate
            self.gap[seat] += max(0.0, mix - mean)
        elif logs > 0.0:
            mix = self.every.range(reward)[1]  # eta is infinite: the best of the leaders
            if mix - mean > TIE * abs(mix):
                self.gap[seat] = mix - mean


@dataclass(frozen=True, eq=False, repr=False)
class AdaHedge(LearnerBase):
    """Exponential weights over all actions with a self-tuning rate; anytime."""

    impartial: ClassVar[bool] = True
    on_simplex: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    start: ClassVar[str] = "full"

    def part(self, seating: Seating) -> AdaHedgePart:
        d = seating.centre.size
        return AdaHedgePart(
            every_action(seating.actions, seating.number),
            np.zeros((seating.seats, d)),
            np.zeros(seating.seats),
            np.zeros(2),
            np.zeros(d),
        )

    def regret_bound(self, record: Record) -> float:
        """sqrt(sum b_s^2 ln|A|) + (4/3 ln|A| + 2) max b_s: the paper's lemma for AdaHedge."""
        logs = math.log(record.actions)
        return math.sqrt(record.squares * logs) + (4.0 / 3.0 * logs + 2.0) * record.widest
