"""Gaussian rewards with known standard deviations: d_KL(x, y) = (x - y)^2 / (2 sigma^2).

The paper's case (b); the closed forms are its Lemmas on the optimistic reward and on explicit
solutions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..errors import InputError, either, must_be
from ..game.marks import jitable
from ..game.records import Floats, Ints, Random, Seen
from .base import WEIGHTLESS, License, RewardsBase, boxed_pair, dual, lead_of, scratch, swapped

EPSILON = 2.0**-52  # of a float
# what rounding may do to a mean and to a sum of squares, 1/FINE of what noise does, is made up for
# by 4/FINE of the variance
FINE = 1000.0
PER_PLAY = "per play"
UNLIKE = 1000.0  # how unlike standard deviations may be that are weighed within plays


@jitable
def resolved(seen: Seen, a: int) -> bool:
    """Whether rounding is of no account beside the spread of an arm: the error of its mean is FINE
    times that of its last digit.
    """
    n, digit = seen.counts[a], FINE * EPSILON * abs(seen.mean[a])
    return bool(
        n > 1.0 and seen.squares[a] > 1e-290 and seen.squares[a] >= (n - 1.0) * n * digit * digit
    )


class GaussianPart(NamedTuple):
    known: bool
    sigma: Floats  # where it is not known: estimates
    believed: Floats  # their squares
    scatter: Floats  # the true one, for draws
    low: Floats  # M, per arm
    high: Floats
    free: bool  # M is all of R^d
    arms: Ints  # scratch
    sign: Floats
    spare: Floats
    value: Floats

    def estimate(self, seen: Seen) -> None:
        """Unknown variances: each arm's own estimate, pulled to the pooled one as if by two
        values.
        """
        if self.known:
            return
        total, degrees = 0.0, 0.0
        for a in range(self.sigma.size):
            if resolved(seen, a):
                total += seen.squares[a]
                degrees += seen.counts[a] - 1.0
        pooled = total / degrees if total > 0.0 else 1.0
        for a in range(self.sigma.size):
            own, m = (seen.squares[a], seen.counts[a] - 1.0) if resolved(seen, a) else (0.0, 0.0)
            self.believed[a] = (own + 2.0 * pooled) / (m + 2.0)
            self.sigma[a] = math.sqrt(self.believed[a])

    def divergence(self, x: float, y: float, arm: int) -> float:
        z = (x - y) / self.sigma[arm]
        return float(0.5 * z * z)

    def lower(self, x: float, level: float, arm: int) -> float:
        return float(x - self.sigma[arm] * math.sqrt(2.0 * level))

    def upper(self, x: float, level: float, arm: int) -> float:
        return float(x + self.sigma[arm] * math.sqrt(2.0 * level))

    def project(self, x: float, arm: int) -> float:
        return float(min(max(x, self.low[arm]), self.high[arm]))

    def move(self, x: float, weight: float, slope: float, arm: int) -> float:
        y = x + slope * self.sigma[arm] * self.sigma[arm] / weight
        return float(min(max(y, self.low[arm]), self.high[arm]))

    def step(self, x: float, weight: float, slope: float, arm: int) -> tuple[float, float, float]:
        rate = float(self.sigma[arm] * self.sigma[arm] / weight)
        off, least, most = slope * rate, float(self.low[arm] - x), float(self.high[arm] - x)
        if off < least:
            off, rate = least, 0.0
        elif off > most:
            off, rate = most, 0.0
        z = off / float(self.sigma[arm])
        return off, 0.5 * weight * z * z, rate

    def blur(self, weight: float, arm: int) -> float:
        return float(self.sigma[arm] * self.sigma[arm] / weight) if self.free else -1.0

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        return float(mean + self.scatter[arm] * rng.standard_normal())

    def closest(self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats) -> int:
        arm, best, blur = -1, math.inf, 0.0
        loaded = weight[i] >= WEIGHTLESS
        if loaded:
            blur = self.sigma[i] * self.sigma[i] / weight[i]
        for j in range(mean.size):
            if taken[j] < 0.5:
                lead = mean[i] - mean[j]
                if loaded and lead > 0.0 and weight[j] >= WEIGHTLESS:
                    variance = blur + self.sigma[j] * self.sigma[j] / weight[j]
                    inside = self.free
                    if not inside:  # two arms meet at their weighted mean, if M allows it
                        y = mean[i] - lead * blur / variance
                        inside = (
                            self.low[i] <= y <= self.high[i] and self.low[j] <= y <= self.high[j]
                        )
                    if inside:
                        if (
                            arm < 0 or 0.5 * lead * lead < best * variance
                        ):  # a product is cheaper than a quotient
                            arm, best = j, 0.5 * lead * lead / variance
                        continue
                cost = 0.0
                if not self.free:
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

    def swap(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        if not self.free:
            swapped(self, mean, weight, best, self.value, value)
            return
        n, lowest, widest = (
            0,
            math.inf,
            0.0,
        )  # of the leader's arms: the least mean, the largest blur
        for i in range(best.size):
            if best[i] > 0.5:
                self.arms[n] = i
                n += 1
                lowest = min(lowest, mean[i]) if weight[i] >= WEIGHTLESS else -math.inf
                if lowest > -math.inf:
                    widest = max(widest, self.sigma[i] * self.sigma[i] / weight[i])
        value[0], value[1], value[2] = -1.0, -1.0, math.inf
        for j in range(
            best.size
        ):  # one pass over the others: with 10^5 arms, memory is what takes the time
            if best[j] < 0.5:
                blur = (
                    self.sigma[j] * self.sigma[j] / weight[j] if weight[j] >= WEIGHTLESS else -1.0
                )
                lead = lowest - mean[j]
                if (
                    lead > 0.0
                    and blur >= 0.0
                    and value[0] >= 0.0
                    and 0.5 * lead * lead >= value[2] * (blur + widest)
                ):
                    # none of the leader's arms is nearer to this one (rounding is monotone, so that
                    # is exact)
                    continue
                for k in range(n):
                    i = self.arms[k]
                    lead, cost = mean[i] - mean[j], 0.0
                    if lead > 0.0 and blur >= 0.0 and weight[i] >= WEIGHTLESS:
                        variance = blur + self.sigma[i] * self.sigma[i] / weight[i]
                        if value[0] >= 0.0 and 0.5 * lead * lead >= value[2] * variance:
                            continue
                        cost = 0.5 * lead * lead / variance
                    if value[0] < 0.0 or cost < value[2]:
                        value[0], value[1], value[2] = i, j, cost

    def distance(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        if not self.free:
            return dual(self, mean, weight, arms, sign, n, self.low, self.high, alternative)
        (lead, doubt), variance, idle = lead_of(mean, arms, sign, n), 0.0, -1
        lead -= doubt
        for i in range(n):
            a = arms[i]
            alternative[a] = mean[a]
            if weight[a] < WEIGHTLESS:
                idle = i if idle < 0 else idle
            else:
                variance += self.sigma[a] * self.sigma[a] / weight[a]
        if (
            lead <= 0.0
        ):  # Lemma on explicit solutions, case 1: the rival is at least as good already
            return 0.0
        if idle >= 0:  # case 2: an arm without weight moves alone until the answers tie
            alternative[arms[idle]] += sign[idle] * lead
            return 0.0
        slope = lead / variance  # case 3
        for i in range(n):
            a = arms[i]
            alternative[a] += sign[i] * slope * self.sigma[a] * self.sigma[a] / weight[a]
        return float(0.5 * lead * slope)


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(RewardsBase):
    """Gaussian rewards; `sigma` is one standard deviation, or one per arm.

    known=False: the standard deviations are not known, and are estimated from the data. `sigma` is
    then only what simulations draw with and plans suppose, and may be left out.

    level="per play": all values of a play are shifted by the same unknown amount, such as that of a
    plate; sigma is what is left within a play. Arms are then compared within plays only
    (docs/plates.md).

    >>> Gaussian(0.1), Gaussian(known=False), Gaussian(0.1, level="per play")
    (Gaussian(sigma=0.1), Gaussian(known=False), Gaussian(sigma=0.1, level='per play'))
    """

    sigma: float | Sequence[float] | None = None
    known: bool = True
    level: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        either("known", self.known, of="Gaussian")
        if self.level not in (None, PER_PLAY):
            raise must_be("level", self.level, "'per play', or None", of="Gaussian")
        if self.sigma is None:
            if self.known or self.levels():
                raise InputError(
                    "sigma-missing",
                    "Gaussian: sigma is missing",
                    remedy="give the standard deviation, or known=False if it is not known",
                )
            return
        sigmas = np.atleast_1d(np.asarray(self.sigma))
        if sigmas.dtype.kind not in "fiu" or sigmas.ndim != 1 or sigmas.size == 0:
            raise must_be(
                "sigma",
                self.sigma,
                "a number or a flat list of numbers, one per arm",
                of="Gaussian",
            )
        if (
            not np.all(np.isfinite(sigmas))
            or np.any(sigmas <= 0)
            or np.any(sigmas > 1e100)
            or np.any(sigmas < 1e-100)
        ):
            raise must_be(
                "sigma",
                self.sigma,
                "positive and finite (1e-100 to 1e100), one number or one per arm",
                remedy="for noiseless values give a small sigma, such as 1e-6",
                of="Gaussian",
            )
        if self.levels() and not (self.known and np.max(sigmas) <= UNLIKE * np.min(sigmas)):
            raise InputError(
                "level-sigma",
                "Gaussian: level='per play' needs a known sigma, and of several none above "
                "{unlike:g} times another",
                remedy="give the standard deviation of values within a play",
                unlike=UNLIKE,
            )
        alone = isinstance(self.sigma, int | float)
        object.__setattr__(
            self, "sigma", float(sigmas[0]) if alone else tuple(float(s) for s in sigmas)
        )

    def levels(self) -> bool:
        return self.level is not None

    def licenses(self) -> frozenset[License]:
        if self.levels():
            return frozenset({License.LEVELLED})
        if not self.known:
            return frozenset({License.NORMAL})
        return frozenset(
            {License.GAUSSIAN, License.NORMAL, License.EXPONENTIAL, License.SUB_GAUSSIAN}
        )

    def check(self, d: int) -> None:
        if isinstance(self.sigma, tuple) and len(self.sigma) != d:
            raise InputError(
                "one-sigma-per-arm",
                "Gaussian: sigma has {sigmas:count value} but there {d:is|are} {d:count arm}",
                remedy="give one per arm",
                sigmas=len(self.sigma),
                d=d,
            )

    def numbered(self, order: Ints) -> "Gaussian":
        return (
            replace(self, sigma=tuple(self.sigma[a] for a in order))
            if isinstance(self.sigma, tuple)
            else self
        )

    def spread(self, d: int) -> Floats:
        if self.sigma is None:
            raise InputError(
                "sigma-not-supposed",
                "Gaussian(known=False) has no sigma, which this needs",
                remedy="give the one that you suppose, Gaussian(sigma, known=False)",
            )
        return np.broadcast_to(np.asarray(self.sigma, dtype=float), (d,)).copy()

    def part(self, low: Floats, high: Floats) -> GaussianPart:
        sigma = np.ones(low.size) if self.sigma is None else self.spread(low.size)
        return gaussian_part(sigma, low, high, self.known)


def gaussian_part(sigma: Floats, low: Floats, high: Floats, known: bool = True) -> GaussianPart:
    free = bool(np.all(np.isneginf(low)) and np.all(np.isposinf(high)))
    return GaussianPart(
        known, sigma, sigma**2, sigma.copy(), low.copy(), high.copy(), free, *scratch(low.size)
    )
