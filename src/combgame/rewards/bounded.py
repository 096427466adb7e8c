"""Rewards in [low, high], of any shape: Gaussian formulas with sigma = (high - low) / 2
(Hoeffding's lemma).

A sub-Gaussian surrogate: the divergence (x - y)^2 / (2 sigma^2) is at most the true one, so
evidence is never overstated.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..engine.state import Floats, Ints, Random
from ..engine.statistics import Statistics
from .base import Assumption, RewardsBase, check_bounds
from .gaussian import GaussianKernel, gaussian_part


class BoundedKernel(NamedTuple):
    floor: float
    ceiling: float
    surrogate: GaussianKernel

    def update_variance(self, stats: Statistics) -> None:
        pass

    def divergence(self, x: float, y: float, arm: int) -> float:
        return self.surrogate.divergence(x, y, arm)

    def kl_lcb(self, x: float, level: float, arm: int) -> float:
        return max(self.surrogate.kl_lcb(x, level, arm), self.floor)

    def kl_ucb(self, x: float, level: float, arm: int) -> float:
        return min(self.surrogate.kl_ucb(x, level, arm), self.ceiling)

    def project(self, x: float, arm: int) -> float:
        return self.surrogate.project(x, arm)

    def best_shift(self, x: float, weight: float, slope: float, arm: int) -> float:
        return self.surrogate.best_shift(x, weight, slope, arm)

    def best_shift_with_gradient(
        self, x: float, weight: float, slope: float, arm: int
    ) -> tuple[float, float, float]:
        return self.surrogate.best_shift_with_gradient(x, weight, slope, arm)

    def quadratic_variance(self, weight: float, arm: int) -> float:
        return self.surrogate.quadratic_variance(weight, arm)

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        """Only the two ends: of all rewards in [low, high] with this mean, the one with the largest
        variance.
        """
        return (
            self.ceiling
            if rng.random() * (self.ceiling - self.floor) < mean - self.floor
            else self.floor
        )

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        return self.surrogate.cheapest_challenger(mean, weight, i, taken, value)

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        self.surrogate.cheapest_exchange(mean, weight, best, value)

    def transportation_cost(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        return self.surrogate.transportation_cost(mean, weight, arms, sign, n, alternative)


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

    def assumptions(self) -> frozenset[Assumption]:
        return frozenset({Assumption.SURROGATE, Assumption.SUB_GAUSSIAN})  # Hoeffding's lemma

    @property
    def sigma(self) -> float:
        return (self.high - self.low) / 2

    def mean_range(self, d: int) -> tuple[Floats, Floats]:
        return np.full(d, self.low), np.full(d, self.high)

    def support(self, d: int) -> tuple[float, float]:
        return self.low, self.high

    def permuted(self, order: Ints) -> "Bounded":
        return self

    def reflected(self) -> "tuple[Bounded, float]":
        return Bounded(0.0 - self.high, 0.0 - self.low), 0.0

    def sub_gaussian_scale(self, d: int) -> Floats:
        return np.full(d, self.sigma)

    def kernel(self, low: Floats, high: Floats) -> BoundedKernel:
        return BoundedKernel(
            self.low, self.high, gaussian_part(np.full(low.size, self.sigma), low, high)
        )
