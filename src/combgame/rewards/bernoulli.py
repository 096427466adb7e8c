"""Bernoulli rewards, 0 or 1: d_KL(x, y) = x ln(x/y) + (1-x) ln((1-x)/(1-y)); 1/4-sub-Gaussian, the paper's case (a)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._marks import jitable
from ..protocols import Floats, Ints, Random
from .base import WEIGHTLESS, RewardsBase, boxed_pair, dual, priced, scratch, swapped

EDGE = 1e-12  # a mean of 0 or 1 is told apart from everything else; this keeps the price finite


@jitable
def toward_zero(x: float, weight: float, push: float) -> float:
    """The y below x with weight (x - y) = push y (1 - y)."""
    total = weight + push
    return 2.0 * weight * x / (total + math.sqrt(max(total * total - 4.0 * push * weight * x, 0.0)))


class BernoulliPart(NamedTuple):
    low: Floats  # M, per arm, inside [0, 1]
    high: Floats
    arms: Ints  # scratch
    sign: Floats
    spare: Floats
    value: Floats

    def divergence(self, x: float, y: float, arm: int) -> float:
        if x == y:
            return 0.0
        y = min(max(y, EDGE), 1.0 - EDGE)
        total = 0.0
        if x > 0.0:
            total += x * math.log(x / y)
        if x < 1.0:
            total += (1.0 - x) * math.log((1.0 - x) / (1.0 - y))
        return max(total, 0.0)

    def lower(self, x: float, level: float, arm: int) -> float:
        return 1.0 - self.upper(1.0 - x, level, arm)

    def upper(self, x: float, level: float, arm: int) -> float:
        """The root of d(x, y) = level in [x, 1): Newton from the right, which is monotone, safeguarded by bisection."""
        if level <= 0.0 or x >= 1.0:
            return max(x, 0.0)
        if x <= 0.0:
            return -math.expm1(-level)
        left, right = x, 1.0 - EDGE
        if self.divergence(x, right, arm) <= level:
            return right
        right = min(x + math.sqrt(0.5 * level), right)  # Pinsker: d(x, y) >= 2 (x - y)^2, so the root is not beyond
        y = right
        for _ in range(100):
            excess = self.divergence(x, y, arm) - level
            if excess > 0.0:
                right = y
            else:
                left = y
            step = y - excess * y * (1.0 - y) / (y - x) if y > x else left
            if not left < step < right:
                step = 0.5 * (left + right)
            if abs(step - y) <= 1e-15 or not left < step < right:
                break
            y = step
        return y

    def project(self, x: float, arm: int) -> float:
        return float(min(max(x, self.low[arm]), self.high[arm]))

    def move(self, x: float, weight: float, slope: float, arm: int) -> float:
        # weight (y - x) = slope y (1 - y): the root in [0, 1] of a quadratic, in its cancellation-free form
        push, y = abs(slope), x
        if slope < 0.0:
            y = toward_zero(x, weight, push)
        elif slope > 0.0:
            y = 1.0 - toward_zero(1.0 - x, weight, push)
        return float(min(max(y, self.low[arm]), self.high[arm]))

    def price(self, x: float, weight: float, slope: float, arm: int) -> float:
        return priced(self, x, weight, slope, arm)

    def blur(self, weight: float, arm: int) -> float:
        return -1.0

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        return 1.0 if rng.random() < mean else 0.0

    def closest(self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats) -> int:
        found, best = -1, math.inf
        for j in range(mean.size):
            if taken[j] < 0.5:
                cost, inside = 0.0, False
                if mean[i] > mean[j] and weight[i] >= WEIGHTLESS and weight[j] >= WEIGHTLESS:
                    y = (weight[i] * mean[i] + weight[j] * mean[j]) / (weight[i] + weight[j])  # two arms: the weighted mean
                    if self.low[i] <= y <= self.high[i] and self.low[j] <= y <= self.high[j]:
                        inside = True
                        cost = weight[i] * self.divergence(mean[i], y, i) + weight[j] * self.divergence(mean[j], y, j)
                if not inside:
                    cost = boxed_pair(self, mean, weight, i, j, self.low, self.high, self.arms, self.sign, self.spare)
                if found < 0 or cost < best:
                    found, best = j, cost
        value[0] = best
        return found

    def swap(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        swapped(self, mean, weight, best, self.value, value)

    def distance(self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats) -> float:
        return dual(self, mean, weight, arms, sign, n, self.low, self.high, alternative)


@dataclass(frozen=True)
class Bernoulli(RewardsBase):
    """Values 0 or 1.

    >>> Bernoulli().part(np.zeros(2), np.ones(2)).divergence(0.5, 0.25, 0)
    0.14384103622589042
    """

    family: ClassVar[str] = "bernoulli"

    def range(self, d: int) -> tuple[Floats, Floats]:
        return np.zeros(d), np.ones(d)

    def values(self, d: int) -> tuple[float, float]:
        return 0.0, 1.0

    def numbered(self, order: Ints) -> "Bernoulli":
        return self

    def spread(self, d: int) -> Floats:
        return np.full(d, 0.5)  # Hoeffding's lemma

    def part(self, low: Floats, high: Floats) -> BernoulliPart:
        return BernoulliPart(low.copy(), high.copy(), *scratch(low.size))
