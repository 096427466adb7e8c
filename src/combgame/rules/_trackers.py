"""From weights w_t to one action: C-tracking, D-tracking [1]_ and sampling.

References
----------
.. [1] Garivier and Kaufmann. *Optimal Best Arm Identification with Fixed Confidence*. COLT 2016.
"""

from typing import NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.heap import drop, rise
from ..engine.protocols import Tracker
from ..engine.state import Floats, Ints, Random
from ..errors import unknown_name

BLOCK, MOST, ROUNDING = 256, 1e300, 1.0 + 1e-14


class CTracking(NamedTuple):
    """Sparse C-tracking: argmin over B_t of N_{t-1,A} / sum_{s<=t} w_{s,A}.

    B_t are all actions that ever had weight. It keeps growing, but only the support of w_t is
    searched. The ratio of an action that has no weight now does not change, so those actions wait
    in a heap. The smallest ratio is below 1, because sum_A N_{t-1,A} < sum_A sum_s w_{s,A}, so that
    an action that has caught up (N >= sum w) need not even wait.
    """

    heap: Ints  # int64[room]: waiting actions, smallest ratio on top, [:waiting]
    place: Ints  # int64[room]: position + 1 in the heap, or 0
    ratio: Floats  # float64[room]
    stamp: Ints  # int64[room]: the last round in which it had weight
    active: Ints  # int64[room]: the support of w_{t-1}, [:held]
    state: Ints  # int64[4]: number of waiting and held actions, round, last choice

    def track(self, table: ActionTable, weights: SparseWeights, rng: Random) -> int:
        """Return the action with the smallest ratio."""
        waiting, held, last = self.state[0], self.state[1], self.state[3]
        now = self.state[2] + 1
        if self.place[last] > 0:  # it was played: its ratio has risen
            waiting = drop(self.heap, self.place, self.ratio, waiting, self.place[last] - 1)
            waiting = self.enqueue(table, last, waiting)
        for i in range(weights.size[0]):
            number = weights.ids[i]
            if weights.values[i] > 0.0:
                self.stamp[number] = now
                if self.place[number] > 0:
                    waiting = drop(
                        self.heap, self.place, self.ratio, waiting, self.place[number] - 1
                    )
        for i in range(held):
            if self.stamp[self.active[i]] != now:
                waiting = self.enqueue(table, self.active[i], waiting)
        best, least, held = -1, 0.0, 0
        if waiting > 0:
            best = self.heap[0]
            least = self.ratio[best]
        for i in range(weights.size[0]):
            if weights.values[i] > 0.0:
                number = weights.ids[i]
                self.active[held] = number
                held += 1
                share = table.n_plays[number] / table.cumulative_weight[number]
                if best < 0 or share < least or (share == least and number < best):
                    best, least = number, share
        self.state[0], self.state[1], self.state[2], self.state[3] = waiting, held, now, best
        return int(best)

    def enqueue(self, table: ActionTable, number: int, waiting: int) -> int:
        """Enter an action without weight into the heap, unless it has caught up.

        Return the number of waiting actions.
        """
        if table.n_plays[number] >= table.cumulative_weight[number]:
            return waiting
        self.ratio[number] = table.n_plays[number] / table.cumulative_weight[number]
        self.heap[waiting] = number
        rise(self.heap, self.place, self.ratio, waiting)
        return waiting + 1


class CTrackingAllActions(NamedTuple):
    """C-tracking if every action is in the table from the beginning.

    It is the same argmin over all actions that ever had weight, in blocks. N < least * owed, with a
    margin for rounding, is tested before N / owed < least: the compiler vectorises the product, and
    few divisions remain.
    """

    hits: Ints  # int64[1], unused: compiled kernels need a field

    def track(self, table: ActionTable, weights: SparseWeights, rng: Random) -> int:
        """Return the action with the smallest ratio."""
        best, least, n = -1, MOST, table.size[0]
        for begin in range(0, n, BLOCK):
            played = table.n_plays[begin : min(begin + BLOCK, n)]
            owed = table.cumulative_weight[begin : min(begin + BLOCK, n)]
            hits, level = 0, least * ROUNDING
            for i in range(played.size):
                hits += played[i] < level * owed[i]
            if hits > 0:
                for i in range(played.size):
                    if owed[i] > 0.0 and played[i] / owed[i] < least:
                        best, least = begin + i, played[i] / owed[i]
        return int(best)


class DTracking(NamedTuple):
    """D-tracking: argmin over supp(w_t) of N_{t-1,A} / w_{t,A}."""

    clock: Ints  # int64[1], unused: compiled kernels need a field

    def track(self, table: ActionTable, weights: SparseWeights, rng: Random) -> int:
        """Return the action with the smallest ratio."""
        best, ratio = -1, 0.0
        for i in range(weights.size[0]):
            if weights.values[i] > 0.0:
                number = weights.ids[i]
                share = table.n_plays[number] / weights.values[i]
                if best < 0 or share < ratio or (share == ratio and number < best):
                    best, ratio = number, share
        return int(best)


class Sampling(NamedTuple):
    """Sampling: A_t ~ w_t."""

    clock: Ints  # int64[1], unused

    def track(self, table: ActionTable, weights: SparseWeights, rng: Random) -> int:
        """Draw an action."""
        left, chosen = rng.random(), -1
        for i in range(weights.size[0]):
            if weights.values[i] > 0.0:
                chosen = weights.ids[i]
                left -= weights.values[i]
                if left < 0.0:
                    break
        return int(chosen)


TRACKERS = ("C", "D", "sample")


def make_tracker(name: str, room: int, full: bool = False) -> Tracker:
    """Return the tracker of a name, for a table of `room` actions.

    `full` says whether all actions are in the table from the beginning.
    """
    one = np.zeros(1, np.int64)
    if name == "C" and full:
        return CTrackingAllActions(one)
    if name == "C":
        numbers = [np.zeros(room, np.int64) for _ in range(4)]
        return CTracking(
            numbers[0], numbers[1], np.zeros(room), numbers[2], numbers[3], np.zeros(4, np.int64)
        )
    if name == "D":
        return DTracking(one)
    if name == "sample":
        return Sampling(one)
    raise unknown_name("tracking", name, TRACKERS)
