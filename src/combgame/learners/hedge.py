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

from ..engine.action_table import Catalogue, Mixture
from ..engine.protocols import FixedSizeDefaults, Structure, kernel
from ..engine.state import Floats
from ._doubling import FIRST, RATIO, Doubling, check_doubling, make_doubling
from ._exponential_weights import Every, every_action, number
from .base import LearnerBase, Record, Seating


@kernel(FixedSizeDefaults)
class HedgePart(NamedTuple):
    every: Every
    gain: Floats  # float64[seats, d]: sum_s r_s over the epoch
    span: Floats  # float64[seats]: b
    doubling: Doubling
    score: Floats  # scratch

    def act(self, seat: int, mixture: Mixture) -> None:
        gain, rate = self.gain[seat], 0.0
        if self.span[seat] > 0.0:
            logs = math.log(self.every.head.size)
            rate = math.sqrt(8.0 * logs / self.doubling.horizon[seat]) / self.span[seat]
        for a in range(gain.size):
            self.score[a] = rate * gain[a]
        self.every.total(self.score)
        self.every.chances(mixture.arms)
        self.every.weights(mixture.weight)
        number(mixture, self.every.head.size)

    def feed(
        self, seat: int, mixture: Mixture, catalogue: Catalogue, actions: Structure, reward: Floats
    ) -> None:
        gain = self.gain[seat]
        low, high = self.every.range(reward)  # of U_{t,A}
        self.span[seat] = max(self.span[seat], high - low)
        ended = self.doubling.tick(seat)
        if ended:
            self.span[seat] = 0.0
        for a in range(gain.size):
            gain[a] = 0.0 if ended else gain[a] + reward[a]


@dataclass(frozen=True, eq=False, repr=False)
class Hedge(LearnerBase):
    """Exponential weights over all actions, in doubling epochs floor(first * ratio^i)."""

    impartial: ClassVar[bool] = True
    first: float = FIRST
    ratio: float = RATIO
    on_simplex: ClassVar[bool] = True
    whole: ClassVar[bool] = True
    start: ClassVar[str] = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_doubling(self.first, self.ratio)

    def part(self, seating: Seating) -> HedgePart:
        seats, d = seating.seats, seating.centre.size
        return HedgePart(
            every_action(seating.actions, seating.number),
            np.zeros((seats, d)),
            np.zeros(seats),
            make_doubling(seats, self.first, self.ratio),
            np.zeros(d),
        )

    def regret_bound(self, record: Record) -> float:
        """(4 sqrt(L* (t - L*) ln|A| / t) + 39 max(1, ln|A|)) max b_s: the paper's lemma for Hedge,
        for a known horizon.
        """
        logs = math.log(record.actions)
        inside = max(record.loss * (record.t - record.loss), 0.0) * logs / record.t
        return (4.0 * math.sqrt(inside) + 39.0 * max(1.0, logs)) * record.widest
