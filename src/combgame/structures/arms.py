"""Single arms, the simplex: actions of the classical bandit, answers of best-arm identification."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._validation import counted
from .._values import frozen
from ..engine.likelihood_ratio import exchange
from ..engine.protocols import RewardKernel
from ..engine.state import Floats, Ints, Random
from ._gibbs import DiagramKernel, diagram
from .base import Neighbourhood, PolytopeGeometry, StructureBase, hypersimplex, sorted_arms


class ArmsKernel(NamedTuple):
    """The linear oracle for single arms."""

    d: int
    arms: Ints  # scratch
    sign: Floats
    value: Floats

    def argmax(self, score: Floats, out: Floats) -> None:
        """Write the arm with the largest score, the first one among equals."""
        top = 0
        for a in range(self.d):
            out[a] = 0.0
            if score[a] > score[top]:
                top = a
        out[top] = 1.0

    def sample(self, rng: Random, out: Floats) -> None:
        """Draw a uniformly random arm."""
        for a in range(self.d):
            out[a] = 0.0
        out[min(int(rng.random() * self.d), self.d - 1)] = 1.0

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Find the closest challenger among all pairs with the best arm."""
        top = 0
        for a in range(self.d):
            if best[a] > 0.5:
                top = a
        other = rewards.cheapest_challenger(mean, weight, top, best, self.value)
        return exchange(
            rewards, mean, weight, best, top, other, self.arms, self.sign, rival, alternative
        )


@frozen
class Arms(StructureBase):
    """The d single arms.

    Parameters
    ----------
    d : int or sequence of str
        The number of arms, or their names.

    Examples
    --------
    >>> Arms(3).to_list(), Arms(["wt", "K7R"]).d
    ([(0,), (1,), (2,)], 2)
    """

    def __init__(self, d: int | Sequence[str]) -> None:
        self.d, self.arm_names = counted(d, 1, "Arms")

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same structure."""
        return {"d": self.arm_names or self.d}

    def without_labels(self) -> "Arms":
        """Return the same arms without names."""
        return self if self.arm_names is None else Arms(self.d)

    def kernel(self) -> ArmsKernel:
        """Return the linear oracle for single arms."""
        return ArmsKernel(self.d, np.zeros(self.d, np.int64), np.zeros(self.d), np.zeros(1))

    def gibbs(self) -> DiagramKernel:
        """Return the softmax: a diagram with one step, which takes any arm."""
        return diagram([[(a, 1) for a in range(self.d)], []])

    def permuted(self, order: Ints) -> "Arms":
        """Return the arms without names, since all arms are alike."""
        return self.without_labels()

    def n_sets(self) -> int:
        """Return d."""
        return self.d

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return ((a,) for a in range(self.d))

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether exactly one arm is given."""
        chosen = sorted_arms(arms, self.d)
        return chosen is not None and len(chosen) == 1

    def covering(self) -> list[tuple[int, ...]]:
        """Return every single arm."""
        return list(self.__iter__())

    def neighbourhood(self) -> Neighbourhood:
        """Return the exchanges of the best arm for each other arm."""
        return Neighbourhood(2, self.d - 1, True)

    def relevant_arms(self) -> set[int]:
        """Return all arms, if there are at least two."""
        return set(range(self.d)) if self.d > 1 else set()

    def max_size(self) -> int:
        """Return 1."""
        return 1

    def max_difference(self) -> int:
        """Return 2, or 0 if there is a single arm."""
        return 2 if self.d > 1 else 0

    def geometry(self) -> PolytopeGeometry:
        """Return the geometry of the simplex."""
        return hypersimplex(self.d, 1)
