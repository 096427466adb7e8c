"""All sets of a given size (the uniform matroid): batches to play, or the top m to find."""

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
    """The linear oracle for all sets of `chosen` arms out of d."""

    d: int
    chosen: int
    heap: Ints  # scratch: int64[size]
    place: Ints  # int64[d]
    key: Floats  # float64[d]
    arms: Ints
    sign: Floats
    value: Floats

    def argmax(self, score: Floats, out: Floats) -> None:
        """Write the `chosen` largest scores, found in one pass with a heap: O(d log size)."""
        n, last = 0, self.d - 1
        for a in range(self.d):
            out[a] = 0.0
            # arms are numbered backwards, so that the first arms win among equal scores
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
        """Draw a uniformly random set by Floyd's algorithm, with one random number per member."""
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
        """Find the cheapest of the size * (d - size) exchanges, by which adjacent bases differ."""
        rewards.cheapest_exchange(mean, weight, best, self.value)
        leaves, enters = int(self.value[0]), int(self.value[1])
        return exchange(
            rewards, mean, weight, best, leaves, enters, self.arms, self.sign, rival, alternative
        )


@frozen
class Subsets(StructureBase):
    """All sets of a given size.

    Parameters
    ----------
    d : int or sequence of str
        The number of arms, or their names.
    size : int
        The number of arms in each set.

    Examples
    --------
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
        """Return the arguments that make the same structure."""
        return {"d": self.arm_names or self.d, "size": self.chosen}

    def without_labels(self) -> "Subsets":
        """Return the same sets without names of the arms."""
        return self if self.arm_names is None else Subsets(self.d, self.chosen)

    def kernel(self) -> SubsetsKernel:
        """Return the linear oracle for sets of one size."""
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
        """Return the sums by the elementary symmetric polynomial of the weights."""
        return symmetric([list(range(self.d))], [self.chosen])

    def permuted(self, order: Ints) -> "Subsets":
        """Return the sets without names, since all arms are alike."""
        return self.without_labels()

    def n_sets(self) -> int:
        """Return the binomial coefficient of d and the size."""
        return math.comb(self.d, self.chosen)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return combinations(range(self.d), self.chosen)

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether the given arms are distinct and as many as the size."""
        chosen = sorted_arms(arms, self.d)
        return chosen is not None and len(chosen) == self.chosen

    def covering(self) -> list[tuple[int, ...]]:
        """Return a minimal covering of ceil(d / size) sets; the first arms fill up the last set."""
        return [
            tuple(sorted((first + i) % self.d for i in range(self.chosen)))
            for first in range(0, self.d, self.chosen)
        ]

    def neighbourhood(self) -> Neighbourhood:
        """Return the size * (d - size) exchanges of one arm."""
        return Neighbourhood(2, self.chosen * (self.d - self.chosen), True)

    def relevant_arms(self) -> set[int]:
        """Return all arms, unless the only set contains all of them."""
        return set(range(self.d)) if self.chosen < self.d else set()

    def max_size(self) -> int:
        """Return the size."""
        return self.chosen

    def max_difference(self) -> int:
        """Return 2 min(size, d - size)."""
        return 2 * min(self.chosen, self.d - self.chosen)

    def geometry(self) -> PolytopeGeometry:
        """Return the geometry of the hypersimplex."""
        return hypersimplex(self.d, self.chosen)
