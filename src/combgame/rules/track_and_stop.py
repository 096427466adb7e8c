"""Track-and-Stop (Garivier, Kaufmann, *Optimal Best Arm Identification with Fixed Confidence*, COLT
2016): follow the optimal allocation of the estimates.

The allocation is worked out again whenever the rounds have grown by a factor, by the method of
`complexity` and to a certified gap (`allocation.py`). It is tracked on arms, as `product_hedge.py`
does, by one oracle call.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.protocols import FixedSizeDefaults, Game, kernel
from ..engine.state import Floats, Ints, Random, View, vector
from ..engine.statistics import Seen
from ..errors import InputError, must_be, positive, real, unknown
from ..stopping.base import Question
from ._allocation import AllocationPart, make_allocation
from ._exploration import lacking, padded, start_sets
from .base import FixedSetup, RuleBase

TRACKINGS = ("D", "C")


@kernel(FixedSizeDefaults)
class TrackAndStopPart(NamedTuple):
    growth: float
    current: bool  # D-tracking: t times the present shares; C: the sum of all shares so far
    floor: float
    ease: float
    size: float  # K: the arms in an action
    visible: Floats  # 1 for arms that some action observes
    allocation: AllocationPart
    owed: Floats  # the sum of shares so far
    score: Floats
    due: Ints  # int64[2]: when to work it out again; how often it was

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        t = seen.clock[0]
        if t >= self.due[0]:
            self.due[0] = max(t + 1, math.ceil(self.growth * t))
            self.due[1] += 1
            self.allocation.solve(game, seen.feasible, view.best)
        share = self.allocation.share
        for a in range(self.owed.size):
            self.owed[a] += share[a]
        if lacking(self.floor, self.ease, self.size, self.visible, seen, self.score):
            game.actions.argmax(self.score, view.action)
            return
        for a in range(self.score.size):
            wanted = (t + 1) * share[a] if self.current else self.owed[a]
            self.score[a] = wanted - seen.counts[a]
        game.actions.argmax(self.score, view.action)


@dataclass(frozen=True, eq=False, repr=False)
class TrackAndStop(RuleBase):
    """Follow the optimal allocation of the estimates.

    growth: it is worked out again when the rounds have grown by this factor (1: every round);
    tolerance: to which certified gap; tracking: "D", towards t times the present shares, or "C",
    towards the sum of all shares so far; explore, ease: as in `FrankWolfe`.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(4), None, cg.Gaussian(0.1))
    >>> rule = TrackAndStop(growth=1.5)
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=rule, runs=3, engine="python").answers
    [(0,), (0,), (0,)]
    """

    impartial: ClassVar[bool] = True
    growth: float = 1.2
    tolerance: float = 0.01
    tracking: str = "D"
    explore: float = 1.2
    ease: float = 20.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (real(self.growth) and 1.0 <= self.growth < math.inf):
            raise must_be("growth", self.growth, "a factor of at least 1", of="TrackAndStop")
        if not (real(self.tolerance) and 0.0 < self.tolerance < 1.0):
            raise must_be("tolerance", self.tolerance, "between 0 and 1", of="TrackAndStop")
        if not isinstance(self.tracking, str) or self.tracking not in TRACKINGS:
            raise unknown("tracking", self.tracking, TRACKINGS, of="TrackAndStop")
        for name in ("explore", "ease"):
            positive(name, getattr(self, name), of="TrackAndStop")

    def setup(self, problem: Question) -> FixedSetup:
        if problem.rewards.levels():
            raise InputError(
                "no-allocation",
                "TrackAndStop knows no optimal allocation where every play has a level of its own",
                remedy="use the rule 'frank-wolfe'",
            )
        d = problem.actions.d
        allocation = make_allocation(problem.actions, float(self.tolerance))
        start = padded(start_sets("covering", problem.actions, None))
        part = TrackAndStopPart(
            float(self.growth),
            self.tracking == "D",
            float(self.explore),
            float(self.ease),
            float(problem.actions.largest()),
            vector(problem.actions.observable(), d),
            allocation,
            allocation.share * len(start),
            np.zeros(d),
            np.zeros(2, np.int64),
        )
        return FixedSetup(part, start)
