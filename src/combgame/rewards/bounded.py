"""Bounded rewards of any shape, with Gaussian formulas.

Values in [low, high] are sigma-sub-Gaussian with sigma = (high - low) / 2 (Hoeffding's lemma).
The surrogate divergence (x - y)^2 / (2 sigma^2) is at most the true one, so evidence is never
overstated.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..engine.state import Floats, Ints, Random
from ..engine.statistics import Statistics
from .base import Assumption, RewardsBase, check_bounds
from .gaussian import GaussianKernel, gaussian_part


class BoundedKernel(NamedTuple):
    """Bounded rewards, computed by a Gaussian surrogate; see `RewardKernel`."""

    floor: float
    ceiling: float
    surrogate: GaussianKernel

    def update_variance(self, stats: Statistics) -> None:
        """Do nothing: the scale is known."""

    def divergence(self, x: float, y: float, arm: int) -> float:
        """Return the surrogate divergence."""
        return self.surrogate.divergence(x, y, arm)

    def kl_lcb(self, x: float, level: float, arm: int) -> float:
        """Return the lower bound of the surrogate, at least `low`."""
        return max(self.surrogate.kl_lcb(x, level, arm), self.floor)

    def kl_ucb(self, x: float, level: float, arm: int) -> float:
        """Return the upper bound of the surrogate, at most `high`."""
        return min(self.surrogate.kl_ucb(x, level, arm), self.ceiling)

    def project(self, x: float, arm: int) -> float:
        """Return the possible mean that is nearest to x."""
        return self.surrogate.project(x, arm)

    def best_shift(self, x: float, weight: float, slope: float, arm: int) -> float:
        """Return the minimiser of the surrogate."""
        return self.surrogate.best_shift(x, weight, slope, arm)

    def best_shift_with_gradient(
        self, x: float, weight: float, slope: float, arm: int
    ) -> tuple[float, float, float]:
        """Return the shift of the surrogate, its cost and its rate."""
        return self.surrogate.best_shift_with_gradient(x, weight, slope, arm)

    def quadratic_variance(self, weight: float, arm: int) -> float:
        """Return the quadratic variance of the surrogate."""
        return self.surrogate.quadratic_variance(weight, arm)

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        """Draw one of the two ends of the interval.

        Of all rewards in [low, high] with this mean, these have the largest variance.
        """
        return (
            self.ceiling
            if rng.random() * (self.ceiling - self.floor) < mean - self.floor
            else self.floor
        )

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        """Find the cheapest challenger of the surrogate."""
        return self.surrogate.cheapest_challenger(mean, weight, i, taken, value)

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        """Find the cheapest exchange of the surrogate."""
        self.surrogate.cheapest_exchange(mean, weight, best, value)

    def transportation_cost(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        """Return the transportation cost of the surrogate."""
        return self.surrogate.transportation_cost(mean, weight, arms, sign, n, alternative)


@dataclass(frozen=True, eq=False, repr=False)
class Bounded(RewardsBase):
    """Rewards of any distribution on an interval.

    Parameters
    ----------
    low, high : float
        Ends of the interval; finite, with low < high.

    Attributes
    ----------
    sigma : float
        Sub-Gaussian scale of the values, (high - low) / 2.

    Raises
    ------
    InputError
        If the ends are not finite numbers with low < high.

    Examples
    --------
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
        """Return the surrogate and sub-Gaussian assumptions, by Hoeffding's lemma."""
        return frozenset({Assumption.SURROGATE, Assumption.SUB_GAUSSIAN})

    @property
    def sigma(self) -> float:
        """Sub-Gaussian scale of the values, (high - low) / 2."""
        return (self.high - self.low) / 2

    def mean_range(self, d: int) -> tuple[Floats, Floats]:
        """Return the interval [low, high] for each arm."""
        return np.full(d, self.low), np.full(d, self.high)

    def support(self, d: int) -> tuple[float, float]:
        """Return low and high."""
        return self.low, self.high

    def permuted(self, order: Ints) -> "Bounded":
        """Return these rewards: they are the same for all arms."""
        return self

    def reflected(self) -> "tuple[Bounded, float]":
        """Return the rewards in [-high, -low] and the pivot 0."""
        return Bounded(0.0 - self.high, 0.0 - self.low), 0.0

    def sub_gaussian_scale(self, d: int) -> Floats:
        """Return `sigma` for each arm."""
        return np.full(d, self.sigma)

    def kernel(self, low: Floats, high: Floats) -> BoundedKernel:
        """Return the kernel for arms with means in [low, high]."""
        return BoundedKernel(
            self.low, self.high, gaussian_part(np.full(low.size, self.sigma), low, high)
        )
