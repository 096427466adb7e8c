"""What a learner is given when it is made."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._values import Description
from ..engine.protocols import Learner
from ..engine.state import Floats, Ints, Random
from ..errors import invalid_argument, is_real
from ..structures import PolytopeGeometry, StructureBase


class LearnerContext(NamedTuple):
    """Where a learner starts, and how much room it has."""

    actions: StructureBase
    initial_actions: Ints  # catalogue numbers of the start's actions: w_{n_0} is uniform over them
    initial_marginals: Floats  # w~_{n_0} = W_A w_{n_0}
    n_actions: (
        int  # how many actions the catalogue holds now: all of them for a learner on the simplex
    )
    n_learners: int  # how many copies of the state: one, or one per candidate answer
    capacity: int  # how large the support may grow


class RegretStatistics(NamedTuple):
    """What a learner has been through in t rounds: what the bounds on its regret are made of."""

    t: float
    arms: int
    actions: float  # |A|
    geometry: PolytopeGeometry
    max_norm: float  # max_s ||r_s||_2
    max_range: float  # max_s b_s, b_s = max_A <1_A, r_s> - min_A <1_A, r_s>
    sum_squared_range: float  # sum_s b_s^2
    best_loss: float  # L*_t = min_A sum_s (max_B <1_B, r_s> - <1_A, r_s>) / b_s


@dataclass(frozen=True, eq=False, repr=False)
class LearnerBase(Description):
    """Describes a learner; `kernel` makes what learns."""

    symmetric: ClassVar[bool] = (
        False  # True: arms are only numbers to it, so that every run may draw its own
    )
    enumerates_actions: ClassVar[bool] = (
        False  # True: it holds a weight for every action, so the actions are enumerated
    )
    writes_all_weights: ClassVar[bool] = (
        False  # True: `act` writes the weight of every action in the order of numbers, and w~_t
    )
    initialization: ClassVar[str] = "covering"  # the initialisation that the paper gives it

    def kernel(self, context: LearnerContext) -> Learner:
        raise NotImplementedError

    def reset(self, kernel: Any, rng: Random) -> None:
        """What a part draws once, when a run begins, from the run's generator."""

    def initial_capacity(self, d: int, home: int) -> int:
        """How large a support to make room for at first."""
        return home + 1

    def max_new_actions(self) -> int:
        """How many actions that were never met before a `update` may enter into the catalogue."""
        return 1

    def regret_bound(self, record: RegretStatistics) -> float:
        """The paper's bound on the regret after these rounds; NaN where there is none."""
        return math.nan


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
        raise invalid_argument("first", first, "a finite number of at least 1 round", of="doubling")
    if not is_real(ratio) or not 1 < ratio < math.inf:
        raise invalid_argument("ratio", ratio, "a finite number above 1", of="doubling")


def make_doubling(seats: int, first: float, ratio: float) -> Doubling:
    length = np.full(seats, float(math.floor(first)))
    return Doubling(ratio, length, length.copy(), np.full(seats, float(first)))
