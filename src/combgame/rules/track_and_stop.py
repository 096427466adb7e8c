"""Track-and-Stop: follow the optimal allocation of the estimates.

The allocation is computed again whenever the rounds have grown by a factor, by the method of
`complexity` and to a certified gap (`_allocation.py`). It is tracked on arms by one oracle call, as
in `product_adahedge.py`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.protocols import ProblemKernel
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
    """Kernel of `TrackAndStop`."""

    recompute_factor: float
    current: bool  # whether t times the current shares are tracked (D)
    exploration: float
    exploration_delay: float
    size: float  # K: the arms in an action
    visible: Floats  # 1 for arms that some action observes
    allocation: AllocationKernel
    owed: Floats  # the sum of shares so far
    score: Floats
    due: Ints  # int64[2]: round of the next computation, and number of computations

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play the action that is furthest behind the optimal allocation."""
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
    """Follow the optimal allocation of the estimates [1]_.

    Parameters
    ----------
    recompute_factor : float, default=1.2
        The allocation is computed again when the rounds have grown by this factor; 1 for every
        round.
    tolerance : float, default=0.01
        Certified relative gap of the allocation.
    tracking : {"D", "C"}, default="D"
        Track t times the current shares ("D"), or the sum of all shares so far ("C").
    exploration, exploration_delay : float
        Forced exploration; see `FrankWolfe`.

    References
    ----------
    .. [1] Garivier and Kaufmann. *Optimal Best Arm Identification with Fixed Confidence*. COLT
    2016.

    Examples
    --------
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
        """Return the rule bound to a problem."""
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
