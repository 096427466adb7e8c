"""Rewards in [low, high], of any shape: Gaussian formulas with sigma = (high - low) / 2
(Hoeffding's lemma).

A sub-Gaussian surrogate: the divergence (x - y)^2 / (2 sigma^2) is at most the true one, so
evidence is never overstated.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..engine.state import Floats, Ints, Random
from ..engine.statistics import Seen
from .base import License, RewardsBase, check_bounds
from .gaussian import GaussianPart, gaussian_part


class BoundedPart(NamedTuple):
    floor: float
    ceiling: float
    surrogate: GaussianPart

    def estimate(self, seen: Seen) -> None:
        pass

    def divergence(self, x: float, y: float, arm: int) -> float:
        return self.surrogate.divergence(x, y, arm)

    def lower(self, x: float, level: float, arm: int) -> float:
        return max(self.surrogate.lower(x, level, arm), self.floor)

    def upper(self, x: float, level: float, arm: int) -> float:
        return min(self.surrogate.upper(x, level, arm), self.ceiling)

    def project(self, x: float, arm: int) -> float:
        return self.surrogate.project(x, arm)

    def move(self, x: float, weight: float, slope: float, arm: int) -> float:
        return self.surrogate.move(x, weight, slope, arm)

    def step(self, x: float, weight: float, slope: float, arm: int) -> tuple[float, float, float]:
        return self.surrogate.step(x, weight, slope, arm)

    def blur(self, weight: float, arm: int) -> float:
        return self.surrogate.blur(weight, arm)

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        """Only the two ends: of all rewards in [low, high] with this mean, the one with the largest
        variance.
        """
        return (
            self.ceiling
            if rng.random() * (self.ceiling - self.floor) < mean - self.floor
            else self.floor
        )

    def closest(self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats) -> int:
        return self.surrogate.closest(mean, weight, i, taken, value)

    def swap(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        self.surrogate.swap(mean, weight, best, value)

    def distance(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        return self.surrogate.distance(mean, weight, arms, sign, n, alternative)


@dataclass(frozen=True, eq=False, repr=False)
class Bounded(RewardsBase):
    """Values somewhere in [low, high].

    >>> Bounded(0, 10).sigma
    5.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds("Bounded", self.low, self.high)
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    def licenses(self) -> frozenset[License]:
        return frozenset({License.SURROGATE, License.SUB_GAUSSIAN})  # Hoeffding's lemma

    @property
    def sigma(self) -> float:
        return (self.high - self.low) / 2

    def range(self, d: int) -> tuple[Floats, Floats]:
        return np.full(d, self.low), np.full(d, self.high)

    def values(self, d: int) -> tuple[float, float]:
        return self.low, self.high

    def numbered(self, order: Ints) -> "Bounded":
        return self

    def mirrored(self) -> "tuple[Bounded, float]":
        return Bounded(0.0 - self.high, 0.0 - self.low), 0.0

    def spread(self, d: int) -> Floats:
        return np.full(d, self.sigma)

    def part(self, low: Floats, high: Floats) -> BoundedPart:
        return BoundedPart(
            self.low, self.high, gaussian_part(np.full(low.size, self.sigma), low, high)
        )
