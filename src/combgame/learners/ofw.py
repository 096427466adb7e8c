"""Online Frank-Wolfe on the transformed simplex (Hazan and Kale 2012), with the paper's rates;
anytime.

F_t(x) = (1/t) sum_{s<=t} [ s^{-1/4} / D ||x - w~_{n_0}||^2 - <x, r_s> ], w~_{t+1} = w~_t + t^{-1/4}
(1_A - w~_t), A = argmin_A <1_A, grad F_t(w~_t)>. D is the diameter of the polytope.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import Catalogue, Mixture
from ..engine.protocols import Structure
from ..engine.state import Floats
from ..errors import either
from ._support import Support, make_support, support_limit, support_room
from .base import LearnerBase, Record, Seating


class OFWPart(NamedTuple):
    support: Support
    centre: Floats  # w~_{n_0}
    diameter: float
    total: Floats  # float64[seats, d]: sum_s r_s
    clock: Floats  # float64[seats, 2]: t and sum_s s^{-1/4}
    score: Floats  # scratch
    vertex: Floats

    def act(self, seat: int, mixture: Mixture) -> None:
        self.support.show(seat, mixture)

    def feed(
        self, seat: int, mixture: Mixture, catalogue: Catalogue, actions: Structure, reward: Floats
    ) -> None:
        clock, total = self.clock[seat], self.total[seat]
        clock[0] += 1.0
        step = 1.0 / math.sqrt(math.sqrt(clock[0]))
        clock[1] += step
        pull = 2.0 * clock[1] / (clock[0] * self.diameter)
        for a in range(reward.size):
            total[a] += reward[a]
            # -grad F_t(w~_t)
            self.score[a] = total[a] / clock[0] - pull * (mixture.arms[a] - self.centre[a])
        actions.argmax(self.score, self.vertex)
        number = catalogue.find(self.vertex)
        self.support.shrink(seat, 1.0 - step)
        self.support.fill(seat, number)
        self.support.thin(seat, catalogue)

    def full(self) -> bool:
        return self.support.full()


@dataclass(frozen=True, eq=False, repr=False)
class OFW(LearnerBase):
    """Online Frank-Wolfe; `sparsify` keeps the support of order d."""

    impartial: ClassVar[bool] = True
    sparsify: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        either("sparsify", self.sparsify, of="OFW")

    def room(self, d: int, home: int) -> int:
        return support_room(d, home)

    def part(self, seating: Seating) -> OFWPart:
        d, seats = seating.centre.size, seating.seats
        support = make_support(
            d, seating.home, seats, seating.room, support_limit(d, self.sparsify)
        )
        diameter = seating.actions.geometry().diameter or 1.0  # a single action: nothing to learn
        return OFWPart(
            support,
            seating.centre.copy(),
            diameter,
            np.zeros((seats, d)),
            np.zeros((seats, 2)),
            np.zeros(d),
            np.zeros(d),
        )

    def regret_bound(self, record: Record) -> float:
        """(18 (2 + max ||r_s||)^2 + 3) D t^{3/4}: the paper's lemma for OFW."""
        return float(
            (18.0 * (2.0 + record.longest) ** 2 + 3.0) * record.geometry.diameter * record.t**0.75
        )
