r"""LLOO: online optimisation with a local linear oracle (Garber and Hazan 2015).

Section 3.4 of the paper and its lemma:

.. math::

    F_t(x) = \|x - \tilde w_{n_0}\|^2 - \eta \sum_{s \le t} \langle x, r_s \rangle, \qquad
    \tilde w_{t+1} = \tilde w_t + \gamma (M 1_A - \tilde w_{t,-}),

where :math:`A = \arg\min_A \langle 1_A, \nabla F_t(\tilde w_t) \rangle` and :math:`\tilde w_{t,-}`
is the worst mass M of :math:`w_t` (Algorithm 2). The parameters are :math:`\gamma = 1 / (3 d
\mu^2)`, :math:`\eta = D / (18 \mu \sqrt{d T} \max \|r\|)` and :math:`M = \min(\mu^2 d / \sqrt T (1
+ 1 / (18 d \mu^2)), 1)`, with :math:`\mu = \psi D / \phi` from the polytope, T the length of the
doubling epoch, and the maximum of :math:`\|r\|` over the epoch so far.

LLOO's original sparsification is an approximate projection (Garber and Hazan 2015, Algorithm 2 with
the local linear oracle, for the function :math:`\|y - x\|^2`), as the paper describes it. From a
vertex on, y moves towards :math:`x = \tilde w_t` by steps :math:`1 / (2 \rho^2)`, :math:`\rho^2 = d
\mu^2`. Each step exchanges a mass :math:`\min(\rho r_s / D, 1)`, :math:`r_s = D \exp(-(s - 1) / (8
\rho^2))`, of the worst vertices of y for the best vertex of all; then :math:`\|y - x\| \le r_s`
(their Theorem 2), and y is a mixture of at most s vertices. Once y is within the precision, y and
its mixture replace :math:`\tilde w_t` and :math:`w_t`: :math:`\tilde w_t` moves. The lemma in
docs/algorithms.md says how precise y must be for LLOO's parameters to hold, and what M has to be if
y is as coarse as in the paper's text.
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
from ._support import Support, make_support, support_limit, support_room
from .base import (
    FIRST,
    RATIO,
    Doubling,
    LearnerBase,
    LearnerContext,
    RegretStatistics,
    check_doubling,
    make_doubling,
)


@jitable
def precision(diameter: float, rho: float, horizon: float) -> float:
    """Return the largest error of a projection in an epoch of this length: the lemma's eps_T."""
    return diameter / (7.0 * horizon * (2.0 + math.sqrt(horizon) / (18.0 * rho)))


@jitable
def radius(diameter: float, rho: float, horizon: float) -> float:
    """Return r, the precision in the paper's text, for which LLOO's mass M stands."""
    return diameter * rho * (1.0 + 1.0 / (18.0 * rho * rho)) / math.sqrt(horizon)


class NoApproach(NamedTuple):
    """Stand-in for `ApproachKernel` if no projection is wanted.

    It holds no arrays, because every array takes time to compile at every call that passes it on.
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
        """Do nothing."""


class ApproachKernel(NamedTuple):
    r"""The approximate projection.

    Attributes
    ----------
    rho : float
        :math:`\rho = \sqrt d \mu`.
    diameter : float
        D.
    coarse : bool
        Whether the precision is r.
    limit : int64[learners]
        Size above which a support is sparsified.
    spare : Support
        y, as the distribution of one learner.
    point, score, vertex : float64[d]
        Scratch: x, x - y, and a vertex.
    """

    rho: float
    diameter: float
    coarse: bool
    limit: Ints
    spare: Support
    point: Floats
    score: Floats
    vertex: Floats

    def sparsify(
        self,
        support: Support,
        learner: int,
        table: ActionTable,
        actions: LinearOracle,
        horizon: float,
    ) -> None:
        """Replace w_t by the mixture of a y within the precision, if that has fewer actions.

        The next attempt is made when there are twice as many actions.
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
        """Add the marginals of a distribution, times a sign."""
        for i in range(support.used[learner]):
            number = support.ids[learner, i]
            for j in range(table.sizes[number]):
                out[table.arms[number, j]] += sign * support.weight[learner, i]

    def near(self, table: ActionTable, actions: LinearOracle, horizon: float) -> bool:
        """Bring y within the precision of x; return False if its actions do not fit."""
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
    n_learners: int,
    room: int,
    rho: float,
    diameter: float,
    limit: int,
    coarse: bool = False,
) -> ApproachKernel | NoApproach:
    """Return the approximate projection.

    `limit` is the size above which a support is sparsified; 0 for never.
    """
    if limit == 0:
        return NoApproach(0)
    spare = make_support(d, np.zeros(0, np.int64), 1, room, 0)
    return ApproachKernel(
        rho, diameter, coarse, np.full(n_learners, limit), spare, *np.zeros((3, d))
    )


PROJECTIONS = ("exact", "approximate", "coarse")
ROOM = 8  # capacity for an approximate projection, in multiples of that for an exact one


class LLOOParameters(NamedTuple):
    r"""LLOO's constants for a horizon of T.

    :math:`M = \min(mass / \sqrt T, 1)` and :math:`\eta = rate / (\sqrt T \max \|r\|)`.
    """

    gamma: float
    rate: float
    mass: float


def parameters(d: int, geometry: PolytopeGeometry) -> LLOOParameters:
    """Return LLOO's constants for d arms and a polytope."""
    mu2 = geometry.mu**2
    if mu2 == 0.0:  # a single action: nothing to learn
        return LLOOParameters(1.0, 0.0, 1.0)
    return LLOOParameters(
        gamma=min(1.0 / (3.0 * d * mu2), 1.0),
        rate=geometry.diameter / (18.0 * geometry.mu * math.sqrt(d)),
        mass=mu2 * d * (1.0 + 1.0 / (18.0 * d * mu2)),
    )


class LLOOKernel(NamedTuple):
    """Kernel of `LLOO`."""

    support: Support
    doubling: Doubling
    centre: Floats  # w~_{n_0}
    parameters: LLOOParameters
    total: Floats  # float64[learners, d]: sum_s r_s over the epoch
    largest: Floats  # float64[learners]: max_s ||r_s|| over the epoch
    score: Floats  # scratch
    vertex: Floats
    approach: ApproachKernel | NoApproach  # the approximate projection, if it is wanted

    def act(self, learner: int, weights: SparseWeights) -> None:
        """Write w_t."""
        self.support.write(learner, weights)

    def update(
        self,
        learner: int,
        weights: SparseWeights,
        table: ActionTable,
        actions: LinearOracle,
        reward: Floats,
    ) -> None:
        """Exchange the worst mass for the best action; start afresh at the end of an epoch."""
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
        """Return whether one more action might not fit."""
        return self.support.needs_resize()


@dataclass(frozen=True, eq=False, repr=False)
class LLOO(LearnerBase):
    r"""Online optimisation with a local linear oracle [1]_, in doubling epochs.

    Epoch i ends at round ``floor(initial_horizon * horizon_factor**i)``.

    Parameters
    ----------
    sparsify : bool, default=True
        Whether the support is kept of order d.
    geometry : PolytopeGeometry, optional
        Geometry of the polytope of the actions. Defaults to what the structure states.
    initial_horizon : float, default=200
        Length of the first epoch, T0 in the paper.
    horizon_factor : float, default=(3 + sqrt(5)) / 2
        Factor between epochs, b in the paper.
    projection : {"exact", "approximate", "coarse"}, default="exact"
        How the support is sparsified. "exact" uses Carathéodory's theorem. "approximate" projects
        as Garber and Hazan do, so precisely that the parameters hold; the support is then of order
        :math:`d \mu^2 \ln T`, or as large as without sparsification. "coarse" projects with the
        precision r, as in the paper, with the parameters corrected for it: M = 1, and there is no
        bound on the regret.

    References
    ----------
    .. [1] Garber and Hazan. 2015.

    Examples
    --------
    >>> import combgame as cg
    >>> cg.CombGame(LLOO(projection="approximate"))
    CombGame(LLOO(projection='approximate'))
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
        """Return the capacity of a sparsified support."""
        return support_room(d, home) if self.projection == "exact" else ROOM * support_room(d, home)

    def kernel(self, context: LearnerContext) -> LLOOKernel:
        """Return the kernel of the learner."""
        d, n_learners, room = context.initial_marginals.size, context.n_learners, context.capacity
        shape, limit = self.geometry or context.actions.geometry(), 2 * (d + 1)
        exact = self.projection == "exact"
        rho = max(shape.mu, 1.0) * math.sqrt(d)
        wanted = 0 if exact or not self.sparsify or shape.mu == 0.0 else limit
        coarse = self.projection == "coarse" and wanted > 0
        usual = parameters(d, shape)
        return LLOOKernel(
            make_support(
                d,
                context.initial_actions,
                n_learners,
                room,
                support_limit(d, self.sparsify and exact),
            ),
            make_doubling(n_learners, self.initial_horizon, self.horizon_factor),
            context.initial_marginals.copy(),
            usual._replace(mass=math.inf) if coarse else usual,  # M = 1: the lemma's R is above D
            np.zeros((n_learners, d)),
            np.zeros(n_learners),
            np.zeros(d),
            np.zeros(d),
            make_approach(d, n_learners, room, rho, shape.diameter, wanted, coarse),
        )

    def regret_bound(self, record: RegretStatistics) -> float:
        r"""Return the bound of the paper's lemma for LLOO.

        Notes
        -----
        The bound is :math:`D \mu \sqrt{d t} \max_s \|r_s\|`. The lemma gives only the order, so
        this has the constant 1.
        """
        return (
            record.geometry.diameter
            * record.geometry.mu
            * math.sqrt(record.arms * record.t)
            * record.max_norm
        )
