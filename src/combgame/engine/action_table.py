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


class Mixture(NamedTuple):
    """w_t, a sparse distribution over actions, and its marginals w~_t."""

    ids: NDArray[np.int64]  # catalogue numbers, [:size]
    weight: NDArray[np.float64]  # their weights, [:size]
    arms: NDArray[np.float64]  # w~_t = W_A w_t, float64[d]
    size: NDArray[np.int64]  # int64[1]


class Catalogue(NamedTuple):
    """Every set met so far, numbered 0, 1, ...; slots by hash find the number of a set."""

    members: NDArray[np.int64]  # int64[room, K]: its arms, ascending
    length: NDArray[np.int64]  # int64[room]
    played: NDArray[np.float64]  # N_A: how often it was chosen
    owed: NDArray[np.float64]  # sum_s w_{s,A}: how often it should have been
    slots: NDArray[np.int64]  # by hash: number + 1, or 0
    size: NDArray[np.int64]  # int64[1]

    def find(self, action: NDArray[np.float64]) -> int:
        """The number of a set, entering it if it is new."""
        key, n = 7, 0
        for a in range(action.size):
            if action[a] > 0.5:
                key = (key * 1000003 + a + 1) % 2147483647
                n += 1
        place = key % self.slots.size
        while self.slots[place] > 0:
            known = self.slots[place] - 1
            if self.length[known] == n:
                same = True
                for j in range(n):
                    if action[self.members[known, j]] < 0.5:
                        same = False
                        break
                if same:
                    return int(known)
            place = (place + 1) % self.slots.size
        number = self.size[0]
        self.size[0] += 1
        self.slots[place] = number + 1
        self.length[number] = n
        j = 0
        for a in range(action.size):
            if action[a] > 0.5:
                self.members[number, j] = a
                j += 1
        return int(number)

    def write(self, number: int, out: NDArray[np.float64]) -> None:
        """The set of a number, as a 0/1 vector."""
        for a in range(out.size):
            out[a] = 0.0
        for j in range(self.length[number]):
            out[self.members[number, j]] = 1.0

    def dot(self, number: int, score: NDArray[np.float64]) -> float:
        """<1_A, score>."""
        total = 0.0
        for j in range(self.length[number]):
            total += score[self.members[number, j]]
        return total

    def enter(self, mixture: Mixture) -> None:
        """Book w_t: its marginals w~_t = W_A w_t into mixture.arms, its weights onto what the
        actions are owed.
        """
        for a in range(mixture.arms.size):
            mixture.arms[a] = 0.0
        for i in range(mixture.size[0]):
            number, weight = mixture.ids[i], mixture.weight[i]
            self.owed[number] += weight
            for j in range(self.length[number]):
                mixture.arms[self.members[number, j]] += weight

    def owe(self, mixture: Mixture) -> None:
        """Book a w_t with a weight for every action, in the order of numbers, whose w~_t is
        known.
        """
        owed, weight = self.owed, mixture.weight
        for i in range(mixture.size[0]):
            owed[i] += weight[i]

    def full(self) -> bool:
        """True when one more set might not fit."""
        return bool(self.size[0] >= self.length.size)


def make_catalogue(room: int, largest: int) -> Catalogue:
    """An empty catalogue for `room` sets of at most `largest` arms."""
    slots = 1 << max(4, int(2 * room).bit_length())  # at most half full
    return Catalogue(
        np.zeros((room, largest), np.int64),
        np.zeros(room, np.int64),
        np.zeros(room),
        np.zeros(room),
        np.zeros(slots, np.int64),
        np.zeros(1, np.int64),
    )


def make_mixture(room: int, d: int) -> Mixture:
    return Mixture(np.zeros(room, np.int64), np.zeros(room), np.zeros(d), np.zeros(1, np.int64))


def fill_catalogue(sets: list[tuple[int, ...]], room: int, largest: int) -> Catalogue:
    """A catalogue of different sets of ascending arms, numbered in their order: `find` for all of
    them at once.
    """
    new, n = make_catalogue(room, largest), len(sets)
    new.length[:n] = [len(chosen) for chosen in sets]
    for row, chosen in zip(new.members, sets, strict=False):
        row[: len(chosen)] = chosen
    _index(new, n)
    return new


def enlarge_catalogue(old: Catalogue, room: int) -> Catalogue:
    """The same catalogue with more room; numbers stay."""
    new = make_catalogue(room, old.members.shape[1])
    for before, after in zip(old[:4], new[:4], strict=True):
        after[: len(before)] = before
    _index(new, int(old.size[0]))
    return new


def _index(new: Catalogue, n: int) -> None:
    """Fill the slots of the first n sets. They are known to differ, so nothing has to be
    compared.
    """
    new.size[0] = n
    keys = np.full(n, 7, np.int64)
    for j in range(new.members.shape[1]):
        longer = new.length[:n] > j
        keys[longer] = (keys[longer] * 1000003 + new.members[:n][longer, j] + 1) % 2147483647
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
