"""Actions by number: sparse distributions over actions.

Actions are not enumerated (except by the learners that are defined that way). An action is entered
here when it first has weight, with the number of its plays and its cumulative weight.

Arrays may turn out too short. On a CPU they grow. On a GPU nothing grows: a run that needs larger
arrays is marked (a field `outgrown`, int64[1], of a kernel) and played on the CPU.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .jit import jitable
from .state import Floats, Ints


class SparseWeights(NamedTuple):
    r"""A sparse distribution w_t over actions, and its marginals.

    Attributes
    ----------
    ids : int64[capacity]
        Numbers of the actions in the table, in ``ids[:size[0]]``.
    values : float64[capacity]
        Their weights.
    arm_weights : float64[d]
        :math:`\tilde w_t = W_A w_t`, the weight of each arm.
    size : int64[1]
        Number of the actions.
    """

    ids: NDArray[np.int64]
    values: NDArray[np.float64]
    arm_weights: NDArray[np.float64]
    size: NDArray[np.int64]


class ActionTable(NamedTuple):
    r"""The sets met so far, numbered 0, 1, ...

    Attributes
    ----------
    arms : int64[capacity, K]
        Arms of each set, ascending.
    sizes : int64[capacity]
        Number of arms of each set.
    n_plays : float64[capacity]
        N_A: number of plays of each set.
    cumulative_weight : float64[capacity]
        :math:`\sum_s w_{s,A}`: number of plays that each set should have had.
    slots : int64[slots]
        Hash table: number of a set plus 1, or 0.
    size : int64[1]
        Number of sets.
    """

    arms: NDArray[np.int64]
    sizes: NDArray[np.int64]
    n_plays: NDArray[np.float64]
    cumulative_weight: NDArray[np.float64]
    slots: NDArray[np.int64]
    size: NDArray[np.int64]

    def lookup(self, action: NDArray[np.float64]) -> int:
        """Return the number of a set; enter the set if it is new."""
        key, n = 7, 0
        for a in range(action.size):
            if action[a] > 0.5:
                key = (key * 1000003 + a + 1) % 2147483647
                n += 1
        place = key % self.slots.size
        while self.slots[place] > 0:
            known = self.slots[place] - 1
            if self.sizes[known] == n:
                same = True
                for j in range(n):
                    if action[self.arms[known, j]] < 0.5:
                        same = False
                        break
                if same:
                    return int(known)
            place = (place + 1) % self.slots.size
        number = self.size[0]
        self.size[0] += 1
        self.slots[place] = number + 1
        self.sizes[number] = n
        j = 0
        for a in range(action.size):
            if action[a] > 0.5:
                self.arms[number, j] = a
                j += 1
        return int(number)

    def decode(self, number: int, out: NDArray[np.float64]) -> None:
        """Write the set of a number as a 0/1 vector."""
        for a in range(out.size):
            out[a] = 0.0
        for j in range(self.sizes[number]):
            out[self.arms[number, j]] = 1.0

    def dot(self, number: int, score: NDArray[np.float64]) -> float:
        """Return <1_A, score> for the set of a number."""
        total = 0.0
        for j in range(self.sizes[number]):
            total += score[self.arms[number, j]]
        return total

    def add_weights(self, weights: SparseWeights) -> None:
        r"""Add w_t to the cumulative weights.

        The marginals :math:`\tilde w_t = W_A w_t` are written to ``weights.arm_weights``.
        """
        for a in range(weights.arm_weights.size):
            weights.arm_weights[a] = 0.0
        for i in range(weights.size[0]):
            number, weight = weights.ids[i], weights.values[i]
            self.cumulative_weight[number] += weight
            for j in range(self.sizes[number]):
                weights.arm_weights[self.arms[number, j]] += weight

    def add_all_weights(self, weights: SparseWeights) -> None:
        """Add a w_t that has a weight for every action, in the order of their numbers.

        Its marginals are known already.
        """
        owed, weight = self.cumulative_weight, weights.values
        for i in range(weights.size[0]):
            owed[i] += weight[i]

    def is_full(self) -> bool:
        """Return whether one more set might not fit."""
        return bool(self.size[0] >= self.sizes.size)


def make_action_table(room: int, largest: int) -> ActionTable:
    """Return an empty table for `room` sets of at most `largest` arms."""
    slots = 1 << max(4, int(2 * room).bit_length())  # at most half full
    return ActionTable(
        np.zeros((room, largest), np.int64),
        np.zeros(room, np.int64),
        np.zeros(room),
        np.zeros(room),
        np.zeros(slots, np.int64),
        np.zeros(1, np.int64),
    )


def make_sparse_weights(room: int, d: int) -> SparseWeights:
    """Return an empty distribution over at most `room` actions."""
    return SparseWeights(
        np.zeros(room, np.int64), np.zeros(room), np.zeros(d), np.zeros(1, np.int64)
    )


def fill_action_table(sets: list[tuple[int, ...]], room: int, largest: int) -> ActionTable:
    """Return a table of distinct sets of ascending arms, numbered in their order.

    It is the table that a `lookup` of each set would make.
    """
    new, n = make_action_table(room, largest), len(sets)
    new.sizes[:n] = [len(chosen) for chosen in sets]
    for row, chosen in zip(new.arms, sets, strict=False):
        row[: len(chosen)] = chosen
    _index(new, n)
    return new


def enlarge_action_table(old: ActionTable, room: int) -> ActionTable:
    """Return the same table with a larger capacity; numbers stay."""
    new = make_action_table(room, old.arms.shape[1])
    for before, after in zip(old[:4], new[:4], strict=True):
        after[: len(before)] = before
    _index(new, int(old.size[0]))
    return new


def _index(new: ActionTable, n: int) -> None:
    """Fill the hash table with the first n sets, which are known to be distinct."""
    new.size[0] = n
    keys = np.full(n, 7, np.int64)
    for j in range(new.arms.shape[1]):
        longer = new.sizes[:n] > j
        keys[longer] = (keys[longer] * 1000003 + new.arms[:n][longer, j] + 1) % 2147483647
    slots = [0] * new.slots.size
    for number, place in enumerate((keys % new.slots.size).tolist()):
        while slots[place]:
            place = (place + 1) % len(slots)
        slots[place] = number + 1
    new.slots[:] = slots


Numbers = TypeVar("Numbers", Floats, Ints)


@jitable(allocates=True)
def longer(x: Numbers) -> Numbers:
    """Return an array twice as long with the same beginning; on a GPU, return `x` itself.

    >>> longer(np.ones(2)).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    return np.append(x, np.zeros_like(x))
