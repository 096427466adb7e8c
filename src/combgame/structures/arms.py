"""Single arms: the simplex itself. Playing them is the classical bandit; asking about them is
best-arm identification.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._validation import counted
from .._values import frozen
from ..engine.likelihood_ratio import exchange
from ..engine.protocols import Rewards
from ..engine.state import Floats, Ints, Random
from ._gibbs import DiagramPart, diagram
from .base import Exchange, Geometry, StructureBase, distinct, hypersimplex


class ArmsPart(NamedTuple):
    d: int
    arms: Ints  # scratch
    sign: Floats
    value: Floats

    def argmax(self, score: Floats, out: Floats) -> None:
        top = 0
        for a in range(self.d):
            out[a] = 0.0
            if score[a] > score[top]:
                top = a
        out[top] = 1.0

    def sample(self, rng: Random, out: Floats) -> None:
        for a in range(self.d):
            out[a] = 0.0
        out[min(int(rng.random() * self.d), self.d - 1)] = 1.0

    def nearest(
        self,
        rewards: Rewards,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        top = 0
        for a in range(self.d):
            if best[a] > 0.5:
                top = a
        other = rewards.closest(mean, weight, top, best, self.value)  # all pairs with the best arm
        return exchange(
            rewards, mean, weight, best, top, other, self.arms, self.sign, rival, alternative
        )


@frozen
class Arms(StructureBase):
    """The d single arms; d: how many, or their names.

    >>> Arms(3).sets(), Arms(["wt", "K7R"]).d
    ([(0,), (1,), (2,)], 2)
    """

    def __init__(self, d: int | Sequence[str]) -> None:
        self.d, self.called = counted(d, 1, "Arms")

    def arguments(self) -> dict[str, Any]:
        return {"d": self.called or self.d}

    def unnamed(self) -> "Arms":
        return self if self.called is None else Arms(self.d)

    def part(self) -> ArmsPart:
        return ArmsPart(self.d, np.zeros(self.d, np.int64), np.zeros(self.d), np.zeros(1))

    def ensemble(self) -> DiagramPart:
        """The softmax: one step, with any arm."""
        return diagram([[(a, 1) for a in range(self.d)], []])

    def numbered(self, order: Ints) -> "Arms":
        return self.unnamed()  # all arms are alike

    def size(self) -> int:
        return self.d

    def iterate(self) -> Iterator[tuple[int, ...]]:
        return ((a,) for a in range(self.d))

    def contains(self, arms: Iterable[int]) -> bool:
        chosen = distinct(arms, self.d)
        return chosen is not None and len(chosen) == 1

    def covering(self) -> list[tuple[int, ...]]:
        return list(self.iterate())

    def exchange(self) -> Exchange:
        return Exchange(2, self.d - 1, True)

    def deciding(self) -> set[int]:
        return set(range(self.d)) if self.d > 1 else set()

    def largest(self) -> int:
        return 1

    def difference(self) -> int:
        return 2 if self.d > 1 else 0

    def geometry(self) -> Geometry:
        return hypersimplex(self.d, 1)
