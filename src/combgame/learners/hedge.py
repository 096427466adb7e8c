"""Hedge on the simplex (Cesa-Bianchi, Mansour, Stoltz 2006), made anytime by doubling; the paper's
section 3.3.

w_{t,A} ~ exp(eta sum_s U_{s,A}) with U_{t,A} = <1_A, r_t> and eta = sqrt(8 ln|A| / T) / b: T the
length of the doubling epoch, b the largest range of U seen in it.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..game.catalogue import Catalogue, Mixture
from ..game.marks import jitable
from ..game.protocols import Structure
from ..game.records import Floats
from .base import LearnerBase, Record, Seating
from .doubling import FIRST, RATIO, Doubling, check_doubling, make_doubling


@jitable
def softmax(gain: Floats, rate: float, mixture: Mixture) -> None:
    """mixture = weights proportional to exp(rate * gain) over the actions 0, 1, ..."""
    n, top = gain.size, -math.inf
    for i in range(n):
        if gain[i] > top:
            top = gain[i]
    total = 0.0
    for i in range(n):
        mixture.ids[i] = i
        mixture.weight[i] = math.exp(rate * (gain[i] - top))
        total += mixture.weight[i]
    for i in range(n):
        mixture.weight[i] /= total
    mixture.size[0] = n


class HedgePart(NamedTuple):
    gain: Floats  # float64[seats, |A|]: sum_s U_{s,A} over the epoch
    span: Floats  # float64[seats]: b
    doubling: Doubling

    def act(self, seat: int, mixture: Mixture) -> None:
        gain, rate = self.gain[seat], 0.0
        if self.span[seat] > 0.0:
            rate = (
                math.sqrt(8.0 * math.log(gain.size) / self.doubling.horizon[seat]) / self.span[seat]
            )
        softmax(gain, rate, mixture)

    def feed(
        self, seat: int, mixture: Mixture, catalogue: Catalogue, actions: Structure, reward: Floats
    ) -> None:
        gain, low, high = self.gain[seat], math.inf, -math.inf
        for i in range(gain.size):
            got = catalogue.dot(i, reward)  # U_{t,A}
            gain[i] += got
            low, high = min(low, got), max(high, got)
        self.span[seat] = max(self.span[seat], high - low)
        if self.doubling.tick(seat):
            self.span[seat] = 0.0
            for i in range(gain.size):
                gain[i] = 0.0

    def full(self) -> bool:
        return False


@dataclass(frozen=True, eq=False, repr=False)
class Hedge(LearnerBase):
    """Exponential weights over all actions, in doubling epochs floor(first * ratio^i)."""

    impartial: ClassVar[bool] = True
    first: float = FIRST
    ratio: float = RATIO
    on_simplex: ClassVar[bool] = True
    start: ClassVar[str] = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_doubling(self.first, self.ratio)

    def part(self, seating: Seating) -> HedgePart:
        seats = seating.seats
        return HedgePart(
            np.zeros((seats, seating.number)),
            np.zeros(seats),
            make_doubling(seats, self.first, self.ratio),
        )

    def regret_bound(self, record: Record) -> float:
        """(4 sqrt(L* (t - L*) ln|A| / t) + 39 max(1, ln|A|)) max b_s: the paper's lemma for Hedge,
        for a known horizon.
        """
        logs = math.log(record.actions)
        inside = max(record.loss * (record.t - record.loss), 0.0) * logs / record.t
        return (4.0 * math.sqrt(inside) + 39.0 * max(1.0, logs)) * record.widest
