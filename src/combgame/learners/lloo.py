"""LLOO: online optimisation with a local linear oracle (Garber and Hazan 2015), the paper's section
3.4 and its Lemma.

F_t(x) = ||x - w~_{n_0}||^2 - eta sum_{s<=t} <x, r_s>, w~_{t+1} = w~_t + gamma (M 1_A - w~_{t,-}), A
= argmin_A <1_A, grad F_t(w~_t)>, w~_{t,-} the worst mass M of w_t (Algorithm 2). gamma = 1 / (3 d
mu^2), eta = D / (18 mu sqrt(d T) max ||r||), M = min(mu^2 d / sqrt(T) (1 + 1 / (18 d mu^2)), 1); mu
= psi D / phi from the polytope, T the length of the doubling epoch, max ||r|| over the epoch so
far.

LLOO's original sparsification: an approximate projection (Garber and Hazan 2015, Algorithm 2
with the local linear oracle, for the function ||y - x||^2), as the paper describes it.

From a vertex on, y moves towards x = w~_t by steps 1 / (2 rho^2), rho^2 = d mu^2, each of which
exchanges a mass min(rho r_s / D, 1), r_s = D exp(-(s - 1) / (8 rho^2)), of the worst vertices of y
for the best vertex of all; then ||y - x|| <= r_s (their Theorem 2), and y is a mixture of at most s
vertices. Once it is within the precision, y and its mixture replace w~_t and w_t: w~_t moves. The
lemma in docs/algorithms.md says how precise it must be for LLOO's parameters to hold, and what M
has to be where it is as coarse as the paper's text has it.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.jit import jitable
from ..engine.protocols import LinearOracle
from ..engine.state import Floats, Ints
from ..errors import check_bool, invalid_argument, unknown_name
from ..structures import PolytopeGeometry
from ._doubling import FIRST, RATIO, Doubling, check_doubling, make_doubling
from ._support import Support, make_support, support_limit, support_room
from .base import LearnerBase, LearnerContext, RegretStatistics


@jitable
def precision(diameter: float, rho: float, horizon: float) -> float:
    """How far a projection may be off in an epoch of this length: the lemma's eps_T."""
    return diameter / (7.0 * horizon * (2.0 + math.sqrt(horizon) / (18.0 * rho)))


@jitable
def radius(diameter: float, rho: float, horizon: float) -> float:
    """r, which LLOO's mass M stands for, and the text's precision."""
    return diameter * rho * (1.0 + 1.0 / (18.0 * rho * rho)) / math.sqrt(horizon)


class NoApproach(NamedTuple):
    """In the place of `ApproachKernel`, where no projection is wanted: it holds nothing, for every
    array takes time to compile at every call that hands it on.
    """

    limit: int

    def sparsify(
        self,
        support: Support,
        learner: int,
        table: ActionTable,
        actions: LinearOracle,
        horizon: float,
    ) -> None:
        pass


class ApproachKernel(NamedTuple):
    rho: float
    diameter: float
    coarse: bool  # within r is enough
    limit: Ints  # int64[seats]: thin when there are more actions than this
    spare: Support  # y, in one seat
    point: Floats  # x
    score: Floats  # x - y
    vertex: Floats

    def sparsify(
        self,
        support: Support,
        learner: int,
        table: ActionTable,
        actions: LinearOracle,
        horizon: float,
    ) -> None:
        """Replace w_t by the mixture of a y within the precision, if that has fewer actions; the
        next time is when there are twice as many.
        """
        n, limit, ids = support.used[learner], self.limit[learner], support.ids[learner]
        if n <= limit:
            return
        for a in range(self.point.size):
            self.point[a] = 0.0
        self.spread(support, learner, table, 1.0, self.point)
        near = self.near(table, actions, horizon)
        kept = self.spare.used[0]
        if near and kept < n:
            for i in range(kept):
                ids[i] = self.spare.ids[0, i]
                support.weight[learner, i] = self.spare.weight[0, i]
            support.used[learner] = kept
        self.limit[learner] = max(limit, 2 * support.used[learner])

    def spread(
        self, support: Support, learner: int, table: ActionTable, sign: float, out: Floats
    ) -> None:
        """Add a mixture's share of every arm, times a sign."""
        for i in range(support.used[learner]):
            number = support.ids[learner, i]
            for j in range(table.sizes[number]):
                out[table.arms[number, j]] += sign * support.weight[learner, i]

    def near(self, table: ActionTable, actions: LinearOracle, horizon: float) -> bool:
        """Bring y within the precision of x; False if there is no room for its actions."""
        wanted = precision(self.diameter, self.rho, horizon)
        if self.coarse:
            wanted = radius(self.diameter, self.rho, horizon)
        spare, square = self.spare, self.rho * self.rho
        actions.argmax(self.point, self.vertex)
        spare.used[0] = 0
        reach = self.diameter  # r_s
        while not table.is_full() and not spare.needs_resize():
            spare.add_vertex(0, table.lookup(self.vertex))
            off = 0.0
            for a in range(self.point.size):
                self.score[a] = self.point[a]
            self.spread(spare, 0, table, -1.0, self.score)
            for a in range(self.score.size):
                off += self.score[a] * self.score[a]
            if math.sqrt(off) <= wanted:
                return True
            actions.argmax(self.score, self.vertex)
            mass = min(self.rho * reach / self.diameter, 1.0)
            spare.reduce(0, table, self.score, mass, 0.5 / square)
            reach *= math.exp(-0.125 / square)
        return False


def make_approach(
    d: int,
    seats: int,
    room: int,
    rho: float,
    diameter: float,
    limit: int,
    coarse: bool = False,
) -> ApproachKernel | NoApproach:
    """limit: how many actions are not thinned yet; 0: none ever are."""
    if limit == 0:
        return NoApproach(0)
    spare = make_support(d, np.zeros(0, np.int64), 1, room, 0)
    return ApproachKernel(rho, diameter, coarse, np.full(seats, limit), spare, *np.zeros((3, d)))


PROJECTIONS = ("exact", "approximate", "coarse")
ROOM = 8  # for the actions of an approximate projection, in multiples of an exact one's


class LLOOParameters(NamedTuple):
    """LLOO's constants for a horizon of T: M = min(mass / sqrt(T), 1), eta = rate / (sqrt(T) max
    ||r||).
    """

    gamma: float
    rate: float
    mass: float


def parameters(d: int, geometry: PolytopeGeometry) -> LLOOParameters:
    mu2 = geometry.mu**2
    if mu2 == 0.0:  # a single action: nothing to learn
        return LLOOParameters(1.0, 0.0, 1.0)
    return LLOOParameters(
        gamma=min(1.0 / (3.0 * d * mu2), 1.0),
        rate=geometry.diameter / (18.0 * geometry.mu * math.sqrt(d)),
        mass=mu2 * d * (1.0 + 1.0 / (18.0 * d * mu2)),
    )


class LLOOKernel(NamedTuple):
    support: Support
    doubling: Doubling
    centre: Floats  # w~_{n_0}
    parameters: LLOOParameters
    total: Floats  # float64[seats, d]: sum_s r_s over the epoch
    largest: Floats  # float64[seats]: max_s ||r_s|| over the epoch
    score: Floats  # scratch
    vertex: Floats
    approach: ApproachKernel | NoApproach  # the approximate projection, where it is wanted

    def act(self, learner: int, weights: SparseWeights) -> None:
        self.support.write(learner, weights)

    def update(
        self,
        learner: int,
        weights: SparseWeights,
        table: ActionTable,
        actions: LinearOracle,
        reward: Floats,
    ) -> None:
        total, norm, top = self.total[learner], 0.0, 0.0
        for a in range(reward.size):
            top = max(top, abs(reward[a]))
        for a in range(reward.size):
            total[a] += reward[a]
            if top > 0.0:
                norm += (reward[a] / top) * (reward[a] / top)
        self.largest[learner] = max(self.largest[learner], top * math.sqrt(norm))
        root, eta = math.sqrt(self.doubling.horizon[learner]), 0.0
        if self.largest[learner] > 0.0:
            eta = self.parameters.rate / (root * self.largest[learner])
        for a in range(reward.size):
            # -grad F_t(w~_t)
            self.score[a] = eta * total[a] - 2.0 * (weights.arm_weights[a] - self.centre[a])
        actions.argmax(self.score, self.vertex)
        number = table.lookup(self.vertex)
        mass = min(self.parameters.mass / root, 1.0)
        self.support.reduce(learner, table, self.score, mass, self.parameters.gamma)
        self.support.add_vertex(learner, number)
        self.support.sparsify(learner, table)
        self.approach.sparsify(
            self.support, learner, table, actions, self.doubling.horizon[learner]
        )
        if self.doubling.step(learner):
            self.largest[learner] = 0.0
            self.support.reset(learner)
            for a in range(reward.size):
                total[a] = 0.0

    def needs_resize(self) -> bool:
        return self.support.needs_resize()


@dataclass(frozen=True, eq=False, repr=False)
class LLOO(LearnerBase):
    """LLOO in doubling epochs floor(first * ratio^i); `sparsify` keeps the support of order d.

    `geometry` overrides what the structure says of its polytope. projection: how `sparsify` does
    it, "exact" (Caratheodory), "approximate" (as Garber and Hazan do, `approach.py`, so precisely
    that the parameters hold; the support is then of order d mu^2 ln(T), or as large as it would be
    without) or "coarse" (the same within r, as the paper has it, with the parameters corrected for
    it: M = 1; no bound on the regret is left).
    """

    symmetric: ClassVar[bool] = True
    sparsify: bool = True
    geometry: PolytopeGeometry | None = None
    initial_horizon: float = FIRST
    horizon_factor: float = RATIO
    projection: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("sparsify", self.sparsify, of="LLOO")
        check_doubling(self.initial_horizon, self.horizon_factor)
        if not isinstance(self.projection, str) or self.projection not in PROJECTIONS:
            raise unknown_name("projection", self.projection, PROJECTIONS, of="LLOO")
        if self.geometry is not None and not isinstance(self.geometry, PolytopeGeometry):
            raise invalid_argument(
                "geometry",
                self.geometry,
                "a PolytopeGeometry(diameter, psi, phi, exact)",
                of="LLOO",
            )

    def initial_capacity(self, d: int, home: int) -> int:
        return support_room(d, home) if self.projection == "exact" else ROOM * support_room(d, home)

    def kernel(self, context: LearnerContext) -> LLOOKernel:
        d, seats, room = context.initial_marginals.size, context.n_learners, context.capacity
        shape, limit = self.geometry or context.actions.geometry(), 2 * (d + 1)
        exact = self.projection == "exact"
        rho = max(shape.mu, 1.0) * math.sqrt(d)
        wanted = 0 if exact or not self.sparsify or shape.mu == 0.0 else limit
        coarse = self.projection == "coarse" and wanted > 0
        usual = parameters(d, shape)
        return LLOOKernel(
            make_support(
                d, context.initial_actions, seats, room, support_limit(d, self.sparsify and exact)
            ),
            make_doubling(seats, self.initial_horizon, self.horizon_factor),
            context.initial_marginals.copy(),
            usual._replace(mass=math.inf) if coarse else usual,  # M = 1: the lemma's R is above D
            np.zeros((seats, d)),
            np.zeros(seats),
            np.zeros(d),
            np.zeros(d),
            make_approach(d, seats, room, rho, shape.diameter, wanted, coarse),
        )

    def regret_bound(self, record: RegretStatistics) -> float:
        """D mu sqrt(d t) max ||r_s||: the paper's lemma for LLOO gives the order only, so this has
        the constant 1.
        """
        return (
            record.geometry.diameter
            * record.geometry.mu
            * math.sqrt(record.arms * record.t)
            * record.max_norm
        )
