"""All sets of a given size, the uniform matroid: batches to play, or the top m to find."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from .._validation import counted
from .._values import frozen
from ..engine.heap import rise, sink
from ..engine.likelihood_ratio import exchange
from ..engine.protocols import RewardKernel
from ..engine.state import Floats, Ints, Random
from ..errors import check_int, invalid_argument
from ._gibbs import SymmetricKernel, symmetric
from .base import Neighbourhood, PolytopeGeometry, StructureBase, hypersimplex, sorted_arms


class SubsetsKernel(NamedTuple):
    d: int
    chosen: int
    heap: Ints  # scratch: int64[size]
    place: Ints  # int64[d]
    key: Floats  # float64[d]
    arms: Ints
    sign: Floats
    value: Floats

    def argmax(self, score: Floats, out: Floats) -> None:
        """The `chosen` largest scores, in one pass with a heap of the best so far: O(d log
        size).
        """
        n, last = 0, self.d - 1
        for a in range(self.d):
            out[a] = 0.0
            # arms are numbered backwards, so that of equal scores the first arms stay
            item = last - a
            self.key[item] = score[a]
            if n < self.chosen:
                self.heap[n] = item
                rise(self.heap, self.place, self.key, n)
                n += 1
            elif score[a] > self.key[self.heap[0]]:
                self.heap[0] = item
                sink(self.heap, self.place, self.key, n, 0)
        for i in range(n):
            out[last - self.heap[i]] = 1.0

    def sample(self, rng: Random, out: Floats) -> None:
        """Floyd's algorithm: uniform, with one random number per member."""
        for a in range(self.d):
            out[a] = 0.0
        for last in range(self.d - self.chosen, self.d):
            a = min(int(rng.random() * (last + 1)), last)
            if out[a] > 0.5:
                a = last
            out[a] = 1.0

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Adjacent bases differ by one exchange: size * (d - size) pairs."""
        rewards.cheapest_exchange(mean, weight, best, self.value)
        leaves, enters = int(self.value[0]), int(self.value[1])
        return exchange(
            rewards, mean, weight, best, leaves, enters, self.arms, self.sign, rival, alternative
        )


@frozen
class Subsets(StructureBase):
    """All sets of `n_sets` of the d arms; d: how many, or their names.

    >>> Subsets(10, 3).n_sets(), Subsets(["wt", "A12G", "K7R"], 2).n_sets()
    (120, 3)
    """

    def __init__(self, d: int | Sequence[str], size: int) -> None:
        self.d, self.arm_names = counted(d, 1, "Subsets")
        self.chosen = check_int("size", size, 1, of="Subsets")
        if self.chosen > self.d:
            raise invalid_argument(
                "size", size, "at most {d}, the number of arms", d=self.d, of="Subsets"
            )

    def arguments(self) -> dict[str, Any]:
        return {"d": self.arm_names or self.d, "size": self.chosen}

    def without_labels(self) -> "Subsets":
        return self if self.arm_names is None else Subsets(self.d, self.chosen)

    def kernel(self) -> SubsetsKernel:
        d = self.d
        return SubsetsKernel(
            d,
            self.chosen,
            np.zeros(self.chosen, np.int64),
            np.zeros(d, np.int64),
            np.zeros(d),
            np.zeros(d, np.int64),
            np.zeros(d),
            np.zeros(3),
        )

    def gibbs(self) -> SymmetricKernel:
        """The elementary symmetric polynomial of the weights."""
        return symmetric([list(range(self.d))], [self.chosen])

    def permuted(self, order: Ints) -> "Subsets":
        return self.without_labels()  # all arms are alike

    def n_sets(self) -> int:
        return math.comb(self.d, self.chosen)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return combinations(range(self.d), self.chosen)

    def contains(self, arms: Iterable[int]) -> bool:
        chosen = sorted_arms(arms, self.d)
        return chosen is not None and len(chosen) == self.chosen

    def covering(self) -> list[tuple[int, ...]]:
        """ceil(d / size) blocks, the last one filled up with the first arms: minimal."""
        return [
            tuple(sorted((first + i) % self.d for i in range(self.chosen)))
            for first in range(0, self.d, self.chosen)
        ]

    def neighbourhood(self) -> Neighbourhood:
        return Neighbourhood(2, self.chosen * (self.d - self.chosen), True)

    def relevant_arms(self) -> set[int]:
        return set(range(self.d)) if self.chosen < self.d else set()

    def max_size(self) -> int:
        return self.chosen

    def max_difference(self) -> int:
        return 2 * min(self.chosen, self.d - self.chosen)

    def geometry(self) -> PolytopeGeometry:
        return hypersimplex(self.d, self.chosen)
