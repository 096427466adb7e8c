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

from ..engine.protocols import FixedSizeDefaults, ProblemKernel, kernel
from ..engine.state import Floats, Ints, Random, RoundState, vector
from ..engine.statistics import Statistics
from ..errors import InputError, check_positive, invalid_argument, is_real, unknown_name
from ..stopping.base import ProblemLike
from ._allocation import AllocationKernel, make_allocation
from ._exploration import lacking, padded, start_sets
from .base import FixedBoundRule, RuleBase

TRACKINGS = ("D", "C")


@kernel(FixedSizeDefaults)
class TrackAndStopKernel(NamedTuple):
    recompute_factor: float
    current: bool  # D-tracking: t times the present shares; C: the sum of all shares so far
    exploration: float
    exploration_delay: float
    size: float  # K: the arms in an action
    visible: Floats  # 1 for arms that some action observes
    allocation: AllocationKernel
    owed: Floats  # the sum of shares so far
    score: Floats
    due: Ints  # int64[2]: when to work it out again; how often it was

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        t = stats.n_rounds[0]
        if t >= self.due[0]:
            self.due[0] = max(t + 1, math.ceil(self.recompute_factor * t))
            self.due[1] += 1
            self.allocation.solve(problem, stats.projected_mean, state.leader)
        share = self.allocation.share
        for a in range(self.owed.size):
            self.owed[a] += share[a]
        if lacking(
            self.exploration, self.exploration_delay, self.size, self.visible, stats, self.score
        ):
            problem.actions.argmax(self.score, state.action)
            return
        for a in range(self.score.size):
            wanted = (t + 1) * share[a] if self.current else self.owed[a]
            self.score[a] = wanted - stats.counts[a]
        problem.actions.argmax(self.score, state.action)


@dataclass(frozen=True, eq=False, repr=False)
class TrackAndStop(RuleBase):
    """Follow the optimal allocation of the estimates.

    growth: it is worked out again when the rounds have grown by this factor (1: every round);
    tolerance: to which certified gap; tracking: "D", towards t times the present shares, or "C",
    towards the sum of all shares so far; explore, ease: as in `FrankWolfe`.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(4), None, cg.Gaussian(0.1))
    >>> rule = TrackAndStop(recompute_factor=1.5)
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=rule, runs=3, engine="python").answers
    [(0,), (0,), (0,)]
    """

    symmetric: ClassVar[bool] = True
    recompute_factor: float = 1.2
    tolerance: float = 0.01
    tracking: str = "D"
    exploration: float = 1.2
    exploration_delay: float = 20.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_real(self.recompute_factor) and 1.0 <= self.recompute_factor < math.inf):
            raise invalid_argument(
                "recompute_factor",
                self.recompute_factor,
                "a factor of at least 1",
                of="TrackAndStop",
            )
        if not (is_real(self.tolerance) and 0.0 < self.tolerance < 1.0):
            raise invalid_argument(
                "tolerance", self.tolerance, "between 0 and 1", of="TrackAndStop"
            )
        if not isinstance(self.tracking, str) or self.tracking not in TRACKINGS:
            raise unknown_name("tracking", self.tracking, TRACKINGS, of="TrackAndStop")
        for name in ("exploration", "exploration_delay"):
            check_positive(name, getattr(self, name), of="TrackAndStop")

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        if problem.rewards.has_batch_effect():
            raise InputError(
                "no-allocation",
                "TrackAndStop knows no optimal allocation where every play has a level of its own",
                remedy="use the rule 'frank-wolfe'",
            )
        d = problem.actions.d
        allocation = make_allocation(problem.actions, float(self.tolerance))
        start = padded(start_sets("covering", problem.actions, None))
        kernel = TrackAndStopKernel(
            float(self.recompute_factor),
            self.tracking == "D",
            float(self.exploration),
            float(self.exploration_delay),
            float(problem.actions.max_size()),
            vector(problem.actions.observable_arms(), d),
            allocation,
            allocation.share * len(start),
            np.zeros(d),
            np.zeros(2, np.int64),
        )
        return FixedBoundRule(kernel, start)
