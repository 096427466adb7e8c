"""LLOO: online optimisation with a local linear oracle (Garber and Hazan 2015), the paper's section
3.4 and its Lemma.

F_t(x) = ||x - w~_{n_0}||^2 - eta sum_{s<=t} <x, r_s>, w~_{t+1} = w~_t + gamma (M 1_A - w~_{t,-}), A
= argmin_A <1_A, grad F_t(w~_t)>, w~_{t,-} the worst mass M of w_t (Algorithm 2). gamma = 1 / (3 d
mu^2), eta = D / (18 mu sqrt(d T) max ||r||), M = min(mu^2 d / sqrt(T) (1 + 1 / (18 d mu^2)), 1); mu
= psi D / phi from the polytope, T the length of the doubling epoch, max ||r|| over the epoch so
far.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..errors import either, must_be, unknown
from ..game.catalogue import Catalogue, Mixture
from ..game.protocols import Structure
from ..game.records import Floats
from ..structures import Geometry
from .approach import ApproachPart, NoApproach, make_approach
from .base import LearnerBase, Record, Seating
from .doubling import FIRST, RATIO, Doubling, check_doubling, make_doubling
from .support import Support, make_support, support_limit, support_room

PROJECTIONS = ("exact", "approximate", "coarse")
ROOM = 8  # for the actions of an approximate projection, in multiples of an exact one's


class Parameters(NamedTuple):
    """LLOO's constants for a horizon of T: M = min(mass / sqrt(T), 1), eta = rate / (sqrt(T) max
    ||r||).
    """

    gamma: float
    rate: float
    mass: float


def parameters(d: int, geometry: Geometry) -> Parameters:
    mu2 = geometry.mu**2
    if mu2 == 0.0:  # a single action: nothing to learn
        return Parameters(1.0, 0.0, 1.0)
    return Parameters(
        gamma=min(1.0 / (3.0 * d * mu2), 1.0),
        rate=geometry.diameter / (18.0 * geometry.mu * math.sqrt(d)),
        mass=mu2 * d * (1.0 + 1.0 / (18.0 * d * mu2)),
    )


class LLOOPart(NamedTuple):
    support: Support
    doubling: Doubling
    centre: Floats  # w~_{n_0}
    parameters: Parameters
    total: Floats  # float64[seats, d]: sum_s r_s over the epoch
    largest: Floats  # float64[seats]: max_s ||r_s|| over the epoch
    score: Floats  # scratch
    vertex: Floats
    approach: ApproachPart | NoApproach  # the approximate projection, where it is wanted

    def act(self, seat: int, mixture: Mixture) -> None:
        self.support.show(seat, mixture)

    def feed(
        self, seat: int, mixture: Mixture, catalogue: Catalogue, actions: Structure, reward: Floats
    ) -> None:
        total, norm, top = self.total[seat], 0.0, 0.0
        for a in range(reward.size):
            top = max(top, abs(reward[a]))
        for a in range(reward.size):
            total[a] += reward[a]
            if top > 0.0:
                norm += (reward[a] / top) * (reward[a] / top)
        self.largest[seat] = max(self.largest[seat], top * math.sqrt(norm))
        root, eta = math.sqrt(self.doubling.horizon[seat]), 0.0
        if self.largest[seat] > 0.0:
            eta = self.parameters.rate / (root * self.largest[seat])
        for a in range(reward.size):
            # -grad F_t(w~_t)
            self.score[a] = eta * total[a] - 2.0 * (mixture.arms[a] - self.centre[a])
        actions.argmax(self.score, self.vertex)
        number = catalogue.find(self.vertex)
        mass = min(self.parameters.mass / root, 1.0)
        self.support.reduce(seat, catalogue, self.score, mass, self.parameters.gamma)
        self.support.fill(seat, number)
        self.support.thin(seat, catalogue)
        self.approach.thin(self.support, seat, catalogue, actions, self.doubling.horizon[seat])
        if self.doubling.tick(seat):
            self.largest[seat] = 0.0
            self.support.reset(seat)
            for a in range(reward.size):
                total[a] = 0.0

    def full(self) -> bool:
        return self.support.full()


@dataclass(frozen=True, eq=False, repr=False)
class LLOO(LearnerBase):
    """LLOO in doubling epochs floor(first * ratio^i); `sparsify` keeps the support of order d.

    `geometry` overrides what the structure says of its polytope. projection: how `sparsify` does
    it, "exact" (Caratheodory), "approximate" (as Garber and Hazan do, `approach.py`, so precisely
    that the parameters hold; the support is then of order d mu^2 ln(T), or as large as it would be
    without) or "coarse" (the same within r, as the paper has it, with the parameters corrected for
    it: M = 1; no bound on the regret is left).
    """

    impartial: ClassVar[bool] = True
    sparsify: bool = True
    geometry: Geometry | None = None
    first: float = FIRST
    ratio: float = RATIO
    projection: str = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        either("sparsify", self.sparsify, of="LLOO")
        check_doubling(self.first, self.ratio)
        if not isinstance(self.projection, str) or self.projection not in PROJECTIONS:
            raise unknown("projection", self.projection, PROJECTIONS, of="LLOO")
        if self.geometry is not None and not isinstance(self.geometry, Geometry):
            raise must_be(
                "geometry", self.geometry, "a Geometry(diameter, psi, phi, exact)", of="LLOO"
            )

    def room(self, d: int, home: int) -> int:
        return support_room(d, home) if self.projection == "exact" else ROOM * support_room(d, home)

    def part(self, seating: Seating) -> LLOOPart:
        d, seats, room = seating.centre.size, seating.seats, seating.room
        shape, limit = self.geometry or seating.actions.geometry(), 2 * (d + 1)
        exact = self.projection == "exact"
        rho = max(shape.mu, 1.0) * math.sqrt(d)
        wanted = 0 if exact or not self.sparsify or shape.mu == 0.0 else limit
        coarse = self.projection == "coarse" and wanted > 0
        usual = parameters(d, shape)
        return LLOOPart(
            make_support(d, seating.home, seats, room, support_limit(d, self.sparsify and exact)),
            make_doubling(seats, self.first, self.ratio),
            seating.centre.copy(),
            usual._replace(mass=math.inf) if coarse else usual,  # M = 1: the lemma's R is above D
            np.zeros((seats, d)),
            np.zeros(seats),
            np.zeros(d),
            np.zeros(d),
            make_approach(d, seats, room, rho, shape.diameter, wanted, coarse),
        )

    def regret_bound(self, record: Record) -> float:
        """D mu sqrt(d t) max ||r_s||: the paper's lemma for LLOO gives the order only, so this has
        the constant 1.
        """
        return (
            record.geometry.diameter
            * record.geometry.mu
            * math.sqrt(record.arms * record.t)
            * record.longest
        )
