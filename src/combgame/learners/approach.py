"""LLOO's original sparsification: an approximate projection (Garber and Hazan 2015, Algorithm 2
with the local linear oracle, for the function ||y - x||^2), as the paper describes it.

From a vertex on, y moves towards x = w~_t by steps 1 / (2 rho^2), rho^2 = d mu^2, each of which
exchanges a mass min(rho r_s / D, 1), r_s = D exp(-(s - 1) / (8 rho^2)), of the worst vertices of y
for the best vertex of all; then ||y - x|| <= r_s (their Theorem 2), and y is a mixture of at most s
vertices. Once it is within the precision, y and its mixture replace w~_t and w_t: w~_t moves. The
lemma in docs/algorithms.md says how precise it must be for LLOO's parameters to hold, and what M
has to be where it is as coarse as the paper's text has it.
"""

import math
from typing import NamedTuple

import numpy as np

from ..game.catalogue import Catalogue
from ..game.marks import jitable
from ..game.protocols import Structure
from ..game.records import Floats, Ints
from .support import Support, make_support


@jitable
def precision(diameter: float, rho: float, horizon: float) -> float:
    """How far a projection may be off in an epoch of this length: the lemma's eps_T."""
    return diameter / (7.0 * horizon * (2.0 + math.sqrt(horizon) / (18.0 * rho)))


@jitable
def radius(diameter: float, rho: float, horizon: float) -> float:
    """r, which LLOO's mass M stands for, and the text's precision."""
    return diameter * rho * (1.0 + 1.0 / (18.0 * rho * rho)) / math.sqrt(horizon)


class NoApproach(NamedTuple):
    """In the place of `ApproachPart`, where no projection is wanted: it holds nothing, for every
    array takes time to compile at every call that hands it on.
    """

    limit: int

    def thin(
        self, support: Support, seat: int, catalogue: Catalogue, actions: Structure, horizon: float
    ) -> None:
        pass


class ApproachPart(NamedTuple):
    rho: float
    diameter: float
    coarse: bool  # within r is enough
    limit: Ints  # int64[seats]: thin when there are more actions than this
    spare: Support  # y, in one seat
    point: Floats  # x
    score: Floats  # x - y
    vertex: Floats

    def thin(
        self, support: Support, seat: int, catalogue: Catalogue, actions: Structure, horizon: float
    ) -> None:
        """Replace w_t by the mixture of a y within the precision, if that has fewer actions; the
        next time is when there are twice as many.
        """
        n, limit, ids = support.used[seat], self.limit[seat], support.ids[seat]
        if n <= limit:
            return
        for a in range(self.point.size):
            self.point[a] = 0.0
        self.spread(support, seat, catalogue, 1.0, self.point)
        near = self.near(catalogue, actions, horizon)
        kept = self.spare.used[0]
        if near and kept < n:
            for i in range(kept):
                ids[i] = self.spare.ids[0, i]
                support.weight[seat, i] = self.spare.weight[0, i]
            support.used[seat] = kept
        self.limit[seat] = max(limit, 2 * support.used[seat])

    def spread(
        self, support: Support, seat: int, catalogue: Catalogue, sign: float, out: Floats
    ) -> None:
        """Add a mixture's share of every arm, times a sign."""
        for i in range(support.used[seat]):
            number = support.ids[seat, i]
            for j in range(catalogue.length[number]):
                out[catalogue.members[number, j]] += sign * support.weight[seat, i]

    def near(self, catalogue: Catalogue, actions: Structure, horizon: float) -> bool:
        """Bring y within the precision of x; False if there is no room for its actions."""
        wanted = precision(self.diameter, self.rho, horizon)
        if self.coarse:
            wanted = radius(self.diameter, self.rho, horizon)
        spare, square = self.spare, self.rho * self.rho
        actions.argmax(self.point, self.vertex)
        spare.used[0] = 0
        reach = self.diameter  # r_s
        while not catalogue.full() and not spare.full():
            spare.fill(0, catalogue.find(self.vertex))
            off = 0.0
            for a in range(self.point.size):
                self.score[a] = self.point[a]
            self.spread(spare, 0, catalogue, -1.0, self.score)
            for a in range(self.score.size):
                off += self.score[a] * self.score[a]
            if math.sqrt(off) <= wanted:
                return True
            actions.argmax(self.score, self.vertex)
            mass = min(self.rho * reach / self.diameter, 1.0)
            spare.reduce(0, catalogue, self.score, mass, 0.5 / square)
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
) -> ApproachPart | NoApproach:
    """limit: how many actions are not thinned yet; 0: none ever are."""
    if limit == 0:
        return NoApproach(0)
    spare = make_support(d, np.zeros(0, np.int64), 1, room, 0)
    return ApproachPart(rho, diameter, coarse, np.full(seats, limit), spare, *np.zeros((3, d)))
