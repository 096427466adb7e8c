"""Sparse distributions w_t over actions with given marginals, kept of order d.

The paper sparsifies the support by an approximate projection (Garber and Hazan 2015, Algorithm 2).
Here the projection is exact: Carathéodory's theorem, by elimination. Among more than d + 1 actions
some combination is linearly dependent, and moving along it until a weight reaches zero leaves the
marginals as they are. No parameter of LLOO has to be corrected for it.
"""

from typing import NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.heap import drop, rise
from ..engine.jit import jitable
from ..engine.state import Floats, Ints

CRUMB = 1e-16  # weights below this are dropped (their mass goes to the next vertex)
NOTHING = 1e-9  # smaller coordinates are attributed to rounding


@jitable
def pivot(inverse: Floats, coordinates: Floats, row: int) -> None:
    """Make the column with these coordinates the unit vector of a row (Gauss-Jordan)."""
    n, scale = inverse.shape[0], 1.0 / coordinates[row]
    for k in range(n):
        inverse[row, k] *= scale
    for r in range(n):
        if r != row and coordinates[r] != 0.0:
            factor = coordinates[r]
            for k in range(n):
                inverse[r, k] -= factor * inverse[row, k]


class Support(NamedTuple):
    """The distributions of all learners of a run.

    Attributes
    ----------
    ids : int64[learners, capacity]
        Numbers of the actions, in ``ids[learner, :used[learner]]``.
    weight : float64[learners, capacity]
        Their weights.
    used : int64[learners]
        Number of these actions.
    home : int64[n_0]
        The actions of the initial design.
    limit : int
        The support is sparsified when it is larger than this; 0 for never.
    inverse, column, basis
        Scratch of `sparsify`; `inverse` is float64[d + 1, d + 1].
    loss, heap, place
        Scratch of `reduce`, of length capacity.
    """

    ids: Ints
    weight: Floats
    used: Ints
    home: Ints
    limit: int
    inverse: Floats
    column: Floats
    basis: Ints
    loss: Floats
    heap: Ints
    place: Ints

    def reset(self, learner: int) -> None:
        """Write w_{n_0}: uniform over the initial design."""
        n = self.home.size
        for i in range(n):
            self.ids[learner, i] = self.home[i]
            self.weight[learner, i] = 1.0 / n
        self.used[learner] = n

    def write(self, learner: int, weights: SparseWeights) -> None:
        """Write w_t."""
        for i in range(self.used[learner]):
            weights.ids[i] = self.ids[learner, i]
            weights.values[i] = self.weight[learner, i]
        weights.size[0] = self.used[learner]

    def scale(self, learner: int, factor: float) -> None:
        """Multiply all weights by a factor."""
        for i in range(self.used[learner]):
            self.weight[learner, i] *= factor

    def reduce(
        self, learner: int, table: ActionTable, score: Floats, mass: float, step: float
    ) -> None:
        """Reduce the weights of the actions with the lowest scores (Algorithm 2 of the paper).

        `step` times the mass `mass` is removed.
        """
        n, loss, heap, weight = self.used[learner], self.loss, self.heap, self.weight[learner]
        total = 0.0
        for i in range(n):
            total += weight[i]
        if mass >= total:  # all mass is reduced, so that the order does not matter
            self.scale(learner, 1.0 - step)
            return
        for i in range(n):
            loss[i] = table.dot(self.ids[learner, i], score)  # -l_A: lowest score first
            heap[i] = i
            rise(heap, self.place, loss, i)
        left = mass
        while left > 0.0 and n > 0:
            i = heap[0]
            taken = min(left, weight[i])
            weight[i] -= step * taken
            left -= taken
            n = drop(heap, self.place, loss, n, 0)

    def add_vertex(self, learner: int, number: int) -> None:
        """Give an action all the mass that is missing from 1.

        Negligible weights are dropped first, so that their mass is included.
        """
        kept, total, at = 0, 0.0, -1
        for i in range(self.used[learner]):
            if self.weight[learner, i] > CRUMB:
                self.ids[learner, kept] = self.ids[learner, i]
                self.weight[learner, kept] = self.weight[learner, i]
                total += self.weight[learner, i]
                if self.ids[learner, i] == number:
                    at = kept
                kept += 1
        if at < 0:
            at = kept
            kept += 1
            self.ids[learner, at] = number
            self.weight[learner, at] = 0.0
        self.weight[learner, at] = max(self.weight[learner, at] + 1.0 - total, 0.0)
        self.used[learner] = kept

    def sparsify(self, learner: int, table: ActionTable) -> None:
        """Reduce more than `limit` actions to d + 1 with the same marginals (Carathéodory)."""
        if self.limit == 0 or self.used[learner] <= self.limit:
            return
        n, rows, weight = self.used[learner], self.basis.size, self.weight[learner]
        for r in range(rows):
            self.basis[r] = -1  # no action has this row yet
            for k in range(rows):
                self.inverse[r, k] = 1.0 if r == k else 0.0
        # the newest actions first: they weigh most, so that most of the others are removed
        for i in range(n - 1, -1, -1):
            number, free = self.ids[learner, i], -1
            for r in range(rows):  # (1_A, 1) in the coordinates of the basis
                value = self.inverse[r, rows - 1]
                for j in range(table.sizes[number]):
                    value += self.inverse[r, table.arms[number, j]]
                self.column[r] = value
                if (
                    self.basis[r] < 0
                    and abs(value) > NOTHING
                    and (free < 0 or abs(value) > abs(self.column[free]))
                ):
                    free = r
            # a dependent action: move its weight to the basis while all weights stay positive
            if free < 0:
                step, blocked = weight[i], -1
                for r in range(rows):
                    if self.basis[r] >= 0 and self.column[r] < -NOTHING:
                        reach = weight[self.basis[r]] / -self.column[r]
                        if reach < step:
                            step, blocked = reach, r
                for r in range(rows):
                    if self.basis[r] >= 0 and abs(self.column[r]) > NOTHING:
                        at = self.basis[r]
                        weight[at] = max(weight[at] + step * self.column[r], 0.0)
                weight[i] -= step
                if blocked < 0:
                    continue
                weight[self.basis[blocked]] = 0.0
                free = blocked  # this action replaces the one whose weight is now 0
            pivot(self.inverse, self.column, free)
            self.basis[free] = i
        kept, total = 0, 0.0
        for i in range(n):
            if weight[i] > CRUMB:
                self.ids[learner, kept] = self.ids[learner, i]
                weight[kept] = weight[i]
                total += weight[i]
                kept += 1
        for i in range(kept):
            weight[i] /= total
        self.used[learner] = kept

    def needs_resize(self) -> bool:
        """Return whether one more action might not fit for some learner."""
        for learner in range(self.used.size):  # noqa: SIM110  (compiled)
            if self.used[learner] >= self.heap.size:
                return True
        return False


def make_support(d: int, home: Ints, n_learners: int, room: int, limit: int) -> Support:
    """Return the distributions of `n_learners` learners, uniform over the initial design."""
    rows = d + 1 if limit else 1
    support = Support(
        np.zeros((n_learners, room), np.int64),
        np.zeros((n_learners, room)),
        np.zeros(n_learners, np.int64),
        home.copy(),
        limit,
        np.zeros((rows, rows)),
        np.zeros(rows),
        np.zeros(rows, np.int64),
        np.zeros(room),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
    )
    for learner in range(n_learners):
        support.reset(learner)
    return support


# with more arms, a (d + 1) x (d + 1) scratch array is too large, and the support is not sparsified
ELIMINATION = 1000


def support_limit(d: int, sparsify: bool) -> int:
    """Return the size above which a support is sparsified, or 0 for never."""
    return 2 * (d + 1) if sparsify and d <= ELIMINATION else 0


def support_room(d: int, home: int) -> int:
    """Return the capacity of a sparsified support."""
    return max(2 * (d + 1), home) + 2
