"""Bernoulli rewards, 0 or 1: d_KL(x, y) = x ln(x/y) + (1-x) ln((1-x)/(1-y)); 1/4-sub-Gaussian, the
paper's case (a).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._messages import Message, PhraseHint
from ..engine.jit import jitable
from ..engine.numerics import excess
from ..engine.state import Fixed, Floats, Ints, Random
from ..engine.statistics import Statistics
from .base import WEIGHTLESS, Assumption, RewardsBase, boxed_pair, dual, scratch, swapped

EDGE = 1e-12  # no other mean is like 0 or 1; this keeps the price finite


@jitable
def toward_zero(x: float, c: float, q: float) -> tuple[float, float, float]:
    """The y below x with x - y = q y (1 - y), 1 - y, and dq/dy y (1 - y); c = 1 - x. Nothing is
    subtracted that could cancel.
    """
    if q > 1e100:
        return x / q, 1.0, q
    root = math.sqrt((1.0 - q) * (1.0 - q) + 4.0 * q * c)
    y = 2.0 * x / (1.0 + q + root)
    z = 2.0 * c / (1.0 - q + root) if q < 1.0 else 0.5 * (q - 1.0 + root) / q
    return y, z, root


@jitable
def surprise(x: float, y: float, off: float) -> float:
    """x ln(x/y) + y - x >= 0, where off = y - x is known better than from y and x: d_KL is the sum
    of two such.
    """
    return x * excess(off / x, y / x) if x > 0.0 else off


@jitable
def kl(x: float, y: float, z: float, off: float) -> float:
    """d_KL(x, y) with z = 1 - y and off = y - x."""
    return surprise(x, y, off) + surprise(1.0 - x, z, -off)


@jitable
def reach(x: float, c: float, level: float) -> float:
    """Nearly the y - x > 0 with d_KL(x, y) = level; c = 1 - x.

    In the angles of x = sin^2 u and y = sin^2 (u + v) the divergence is 2 v^2 - (4/3) v^3 cot 2u +
    ...; of a large one little but (1 - x) ln(1 / (1 - y)) is left.
    """
    if level > 2.0 * c:
        return c - math.exp((x * math.log(x) + c * math.log(c) - level) / c)
    root, v = math.sqrt(x * c), math.sqrt(0.5 * level)
    v += v * min(max(v * (0.5 - x) / (3.0 * root), -0.5), 0.5)
    sine = math.sin(v)
    return sine * (2.0 * root * math.cos(v) + (1.0 - 2.0 * x) * sine)


class BernoulliKernel(NamedTuple):
    low: Fixed  # M, per arm, inside [0, 1]
    high: Fixed
    arms: Ints  # scratch
    sign: Floats
    spare: Floats
    value: Floats

    def update_variance(self, stats: Statistics) -> None:
        pass

    def divergence(self, x: float, y: float, arm: int) -> float:
        y = min(max(y, min(EDGE, x)), max(1.0 - EDGE, x))
        return kl(x, y, 1.0 - y, y - x)

    def kl_lcb(self, x: float, level: float, arm: int) -> float:
        return 1.0 - self.kl_ucb(1.0 - x, level, arm)

    def kl_ucb(self, x: float, level: float, arm: int) -> float:
        """The root of d(x, y) = level in [x, 1): Halley's method from a start by the arcsine,
        safeguarded by bisection.
        """
        if level <= 0.0 or x >= 1.0:
            return max(x, 0.0)
        if x <= 0.0:
            return -math.expm1(-level)
        c, far = 1.0 - x, 1.0 - EDGE - x
        # d(x, 1 - EDGE) >= c ln(1 / EDGE) - ln 2
        if far <= 0.0 or (level > 27.0 * c - 0.7 and kl(x, x + far, EDGE, far) <= level):
            return max(x, 1.0 - EDGE)
        # Pinsker: d(x, y) >= 2 (x - y)^2, so that the root is not beyond
        left, right = 0.0, min(math.sqrt(0.5 * level), far)
        if not right > 0.0:
            return x
        off = reach(x, c, level)  # y - x
        if not left < off < right:
            off = right
        for _ in range(100):
            y, z = x + off, c - off
            above = kl(x, y, z, off) - level
            if above > 0.0:
                right = off
            else:
                left = off
            newton = above * y * z / off
            bend = 0.5 * newton * (x * z / y + c * y / z) / off  # F F'' / (2 F'^2)
            step = newton / (1.0 - bend) if bend < 0.5 else newton
            trial = off - step
            # the error is cubed, so that nothing is left of it
            if abs(step) <= max(1e-5 * min(off, z), 1e-16 * y):
                return x + trial
            if not left < trial < right:
                trial = 0.5 * (left + right)
                if not left < trial < right:
                    break
            off = trial
        return x + off

    def project(self, x: float, arm: int) -> float:
        return float(min(max(x, self.low[arm]), self.high[arm]))

    def best_shift(self, x: float, weight: float, slope: float, arm: int) -> float:
        y = x
        if slope < 0.0:
            y, _, _ = toward_zero(x, 1.0 - x, -slope / weight)
        elif slope > 0.0:
            _, y, _ = toward_zero(1.0 - x, x, slope / weight)
        return float(min(max(y, self.low[arm]), self.high[arm]))

    def best_shift_with_gradient(
        self, x: float, weight: float, slope: float, arm: int
    ) -> tuple[float, float, float]:
        c, q = 1.0 - x, abs(slope) / weight
        y, z, root = x, c, 1.0
        if slope < 0.0:
            y, z, root = toward_zero(x, c, q)
        elif slope > 0.0:
            z, y, root = toward_zero(c, x, q)
        off, rate = (
            (q if slope > 0.0 else -q) * y * z,
            y * z / (weight * root) if root > 0.0 else 0.0,
        )
        low, high = float(self.low[arm]), float(self.high[arm])
        if y < low:
            y, z, off, rate = low, 1.0 - low, low - x, 0.0
        elif y > high:
            y, z, off, rate = high, 1.0 - high, high - x, 0.0
        return off, weight * kl(x, y, z, off), rate

    def quadratic_variance(self, weight: float, arm: int) -> float:
        return -1.0

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        return 1.0 if rng.random() < mean else 0.0

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
        arm, best = -1, math.inf
        for j in range(mean.size):
            if taken[j] < 0.5:
                cost, inside = 0.0, False
                if mean[i] > mean[j] and weight[i] >= WEIGHTLESS and weight[j] >= WEIGHTLESS:
                    p, q, lead = (
                        weight[i] / (weight[i] + weight[j]),
                        weight[j] / (weight[i] + weight[j]),
                        mean[i] - mean[j],
                    )
                    y, z = (
                        p * mean[i] + q * mean[j],
                        p * (1.0 - mean[i]) + q * (1.0 - mean[j]),
                    )  # two arms: the weighted mean
                    if self.low[i] <= y <= self.high[i] and self.low[j] <= y <= self.high[j]:
                        inside = True
                        cost = weight[i] * kl(mean[i], y, z, -lead * q) + weight[j] * kl(
                            mean[j], y, z, lead * p
                        )
                if not inside:
                    cost = boxed_pair(
                        self,
                        mean,
                        weight,
                        i,
                        j,
                        self.low,
                        self.high,
                        self.arms,
                        self.sign,
                        self.spare,
                    )
                if arm < 0 or cost < best:
                    arm, best = j, cost
        value[0] = best
        return arm

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        swapped(self, mean, weight, best, self.value, value)

    def transportation_cost(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        return dual(self, mean, weight, arms, sign, n, self.low, self.high, alternative)


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(RewardsBase):
    """Values 0 or 1.

    >>> round(Bernoulli().kernel(np.zeros(2), np.ones(2)).divergence(0.5, 0.25, 0), 12)
    0.143841036226
    """

    def assumptions(self) -> frozenset[Assumption]:
        return frozenset({Assumption.EXPONENTIAL, Assumption.SUB_GAUSSIAN, Assumption.BINARY})

    def check_value(self, value: float, n: int | None) -> Message | None:
        if n is None:
            if value in (0.0, 1.0):
                return None
            share = PhraseHint("share of n")
            return Message(
                "not-0-or-1", "{value:g} must be 0 or 1", remedy="{share}", value=value, share=share
            )
        ones = value * n
        if abs(ones - round(ones)) <= 1e-9 * n:
            return None
        return Message(
            "not-a-share",
            "{value:g} of {n:count result} would be {ones:g} that are 1, which is not a whole "
            "number",
            remedy="{unrounded}",
            value=value,
            n=n,
            ones=ones,
            unrounded=PhraseHint("share unrounded", share=f"({round(ones)} / {n}, {n})"),
        )

    def mean_range(self, d: int) -> tuple[Floats, Floats]:
        return np.zeros(d), np.ones(d)

    def support(self, d: int) -> tuple[float, float]:
        return 0.0, 1.0

    def permuted(self, order: Ints) -> "Bernoulli":
        return self

    def reflected(self) -> "tuple[Bernoulli, float]":
        return self, 1.0  # 1 - x is 0 or 1 again

    def sub_gaussian_scale(self, d: int) -> Floats:
        return np.full(d, 0.5)  # Hoeffding's lemma

    def kernel(self, low: Floats, high: Floats) -> BernoulliKernel:
        return BernoulliKernel(low.copy(), high.copy(), *scratch(low.size))
