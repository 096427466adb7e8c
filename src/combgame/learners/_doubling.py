"""The geometric doubling trick: anytime learners from learners that need the horizon (Besson and
Kaufmann 2018).

Epoch i ends at round floor(T0 b^i); the learner starts afresh with the epoch's own length as its
horizon.
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.state import Floats
from ..errors import invalid_argument, is_real

FIRST, RATIO = 200.0, (3.0 + math.sqrt(5.0)) / 2.0  # T0 and b of the paper


class Doubling(NamedTuple):
    ratio: float
    left: Floats  # rounds left in the epoch, per seat
    horizon: Floats  # T: the length of the epoch
    edge: Floats  # T0 b^i, where it ends

    def step(self, learner: int) -> bool:
        """One more round; True when it was the last of its epoch, so that the learner must start
        afresh.
        """
        self.left[learner] -= 1.0
        if self.left[learner] > 0.0:
            return False
        ended = math.floor(self.edge[learner])
        self.edge[learner] *= self.ratio
        self.horizon[learner] = math.floor(self.edge[learner]) - ended
        self.left[learner] = self.horizon[learner]
        return True


def check_doubling(first: float, ratio: float) -> None:
    if not is_real(first) or not 1 <= first < math.inf:
        raise invalid_argument(
            "initial_horizon", first, "a finite number of at least 1 round", of="doubling"
        )
    if not is_real(ratio) or not 1 < ratio < math.inf:
        raise invalid_argument("horizon_factor", ratio, "a finite number above 1", of="doubling")


def make_doubling(seats: int, first: float, ratio: float) -> Doubling:
    length = np.full(seats, float(math.floor(first)))
    return Doubling(ratio, length, length.copy(), np.full(seats, float(first)))
