"""Actions by number: the sparse side of the simplex.

Nothing ever enumerates the actions (but for the learners that are defined that way): the ones that
have had weight are entered here as they appear, each with the number of times it was played and the
weight it was given.

Arrays that may turn out too short. On the processor they grow; on a card nothing does, and a run
that would need it is marked (a field `outgrown` of a part, int64[1]) and played on the processor.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .jit import jitable
from .state import Floats, Ints


class SparseWeights(NamedTuple):
    """w_t, a sparse distribution over actions, and its marginals w~_t."""

    ids: NDArray[np.int64]  # catalogue numbers, [:size]
    values: NDArray[np.float64]  # their weights, [:size]
    arm_weights: NDArray[np.float64]  # w~_t = W_A w_t, float64[d]
    size: NDArray[np.int64]  # int64[1]


class ActionTable(NamedTuple):
    """Every set met so far, numbered 0, 1, ...; slots by hash find the number of a set."""

    arms: NDArray[np.int64]  # int64[room, K]: its arms, ascending
    sizes: NDArray[np.int64]  # int64[room]
    n_plays: NDArray[np.float64]  # N_A: how often it was chosen
    cumulative_weight: NDArray[np.float64]  # sum_s w_{s,A}: how often it should have been
    slots: NDArray[np.int64]  # by hash: number + 1, or 0
    size: NDArray[np.int64]  # int64[1]

    def lookup(self, action: NDArray[np.float64]) -> int:
        """The number of a set, entering it if it is new."""
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
        """The set of a number, as a 0/1 vector."""
        for a in range(out.size):
            out[a] = 0.0
        for j in range(self.sizes[number]):
            out[self.arms[number, j]] = 1.0

    def dot(self, number: int, score: NDArray[np.float64]) -> float:
        """<1_A, score>."""
        total = 0.0
        for j in range(self.sizes[number]):
            total += score[self.arms[number, j]]
        return total

    def add_weights(self, weights: SparseWeights) -> None:
        """Book w_t: its marginals w~_t = W_A w_t into mixture.arms, its weights onto what the
        actions are owed.
        """
        for a in range(weights.arm_weights.size):
            weights.arm_weights[a] = 0.0
        for i in range(weights.size[0]):
            number, weight = weights.ids[i], weights.values[i]
            self.cumulative_weight[number] += weight
            for j in range(self.sizes[number]):
                weights.arm_weights[self.arms[number, j]] += weight

    def add_all_weights(self, weights: SparseWeights) -> None:
        """Book a w_t with a weight for every action, in the order of numbers, whose w~_t is
        known.
        """
        owed, weight = self.cumulative_weight, weights.values
        for i in range(weights.size[0]):
            owed[i] += weight[i]

    def is_full(self) -> bool:
        """True when one more set might not fit."""
        return bool(self.size[0] >= self.sizes.size)


def make_action_table(room: int, largest: int) -> ActionTable:
    """An empty catalogue for `room` sets of at most `largest` arms."""
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
    return SparseWeights(
        np.zeros(room, np.int64), np.zeros(room), np.zeros(d), np.zeros(1, np.int64)
    )


def fill_action_table(sets: list[tuple[int, ...]], room: int, largest: int) -> ActionTable:
    """A catalogue of different sets of ascending arms, numbered in their order: `lookup` for all of
    them at once.
    """
    new, n = make_action_table(room, largest), len(sets)
    new.sizes[:n] = [len(chosen) for chosen in sets]
    for row, chosen in zip(new.arms, sets, strict=False):
        row[: len(chosen)] = chosen
    _index(new, n)
    return new


def enlarge_action_table(old: ActionTable, room: int) -> ActionTable:
    """The same catalogue with more room; numbers stay."""
    new = make_action_table(room, old.arms.shape[1])
    for before, after in zip(old[:4], new[:4], strict=True):
        after[: len(before)] = before
    _index(new, int(old.size[0]))
    return new


def _index(new: ActionTable, n: int) -> None:
    """Fill the slots of the first n sets. They are known to differ, so nothing has to be
    compared.
    """
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
    """Twice as long, with the same beginning; on a card, x itself.

    >>> longer(np.ones(2)).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    return np.append(x, np.zeros_like(x))
