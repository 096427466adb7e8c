"""Gaussian rewards: d_KL(x, y) = (x - y)^2 / (2 sigma^2).

The paper's case (b); the closed forms are its Lemmas on the optimistic reward and on explicit
solutions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from .._messages import LONGEST
from ..engine.jit import jitable
from ..engine.numerics import lead_of
from ..engine.state import Fixed, Floats, Ints, Random
from ..engine.statistics import Statistics
from ..errors import InputError, check_bool, invalid_argument
from .base import WEIGHTLESS, Assumption, RewardsBase, boxed_pair, dual, scratch, swapped

EPSILON = 2.0**-52  # of a float
# what rounding may do to a mean and to a sum of squares, 1/FINE of what noise does, is made up for
# by 4/FINE of the variance
FINE = 1000.0
UNLIKE = 1000.0  # how unlike standard deviations may be that are weighed within plays


@jitable
def resolved(stats: Statistics, a: int) -> bool:
    """Whether rounding is of no account beside the spread of an arm: the error of its mean is FINE
    times that of its last digit.
    """
    n, digit = stats.counts[a], FINE * EPSILON * abs(stats.mean[a])
    return bool(
        n > 1.0 and stats.squares[a] > 1e-290 and stats.squares[a] >= (n - 1.0) * n * digit * digit
    )


class Stated(NamedTuple):
    """In the place of `Estimated`, where the standard deviations are stated: it holds nothing, for
    every array takes time to compile at every call that hands it on.
    """

    variance_known: bool

    def renew(self, sigma: Floats, stats: Statistics) -> None:
        pass

    def true(self, sigma: Floats, arm: int) -> float:
        return float(sigma[arm])


class Estimated(NamedTuple):
    """The standard deviations that are not known, for `GaussianKernel.sigma`."""

    variance_known: bool
    believed: Floats  # squares of the estimates
    scatter: Fixed  # the true ones, for draws
    group: Ints  # int64[d]: arms with the same unknown sigma have the same number
    pool: Floats  # float64[2, groups] scratch
    lean: float  # values as if by which an arm's own estimate is pulled to that of its group

    def renew(self, sigma: Floats, stats: Statistics) -> None:
        """The pooled estimate of a group of arms; or each arm's own, pulled to that."""
        if stats.batch.precision.size > 0:
            for a in range(sigma.size):
                self.believed[a] = stats.batch.variance()
                sigma[a] = math.sqrt(self.believed[a])
            return
        total, degrees = self.pool[0], self.pool[1]
        for g in range(total.size):
            total[g] = degrees[g] = 0.0
        for a in range(sigma.size):
            if resolved(stats, a):
                total[self.group[a]] += stats.squares[a]
                degrees[self.group[a]] += stats.counts[a] - 1.0
        for a in range(sigma.size):
            g = self.group[a]
            pooled = total[g] / degrees[g] if total[g] > 0.0 else 1.0
            if self.lean < math.inf:
                own, m = 0.0, 0.0
                if resolved(stats, a):
                    own, m = stats.squares[a], stats.counts[a] - 1.0
                pooled = (own + self.lean * pooled) / (m + self.lean)
            self.believed[a] = pooled
            sigma[a] = math.sqrt(self.believed[a])

    def true(self, sigma: Floats, arm: int) -> float:
        return float(self.scatter[arm])


class GaussianKernel(NamedTuple):
    sigma: Floats  # where it is not known: estimates
    low: Fixed  # M, per arm
    high: Fixed
    free: bool  # M is all of R^d
    spreads: Stated | Estimated
    arms: Ints  # scratch
    sign: Floats
    spare: Floats
    value: Floats

    def update_variance(self, stats: Statistics) -> None:
        self.spreads.renew(self.sigma, stats)

    def divergence(self, x: float, y: float, arm: int) -> float:
        z = (x - y) / self.sigma[arm]
        return float(0.5 * z * z)

    def kl_lcb(self, x: float, level: float, arm: int) -> float:
        return float(x - self.sigma[arm] * math.sqrt(2.0 * level))

    def kl_ucb(self, x: float, level: float, arm: int) -> float:
        return float(x + self.sigma[arm] * math.sqrt(2.0 * level))

    def project(self, x: float, arm: int) -> float:
        return float(min(max(x, self.low[arm]), self.high[arm]))

    def best_shift(self, x: float, weight: float, slope: float, arm: int) -> float:
        y = x + slope * self.sigma[arm] * self.sigma[arm] / weight
        return float(min(max(y, self.low[arm]), self.high[arm]))

    def best_shift_with_gradient(
        self, x: float, weight: float, slope: float, arm: int
    ) -> tuple[float, float, float]:
        rate = float(self.sigma[arm] * self.sigma[arm] / weight)
        off, least, most = slope * rate, float(self.low[arm] - x), float(self.high[arm] - x)
        if off < least:
            off, rate = least, 0.0
        elif off > most:
            off, rate = most, 0.0
        z = off / float(self.sigma[arm])
        return off, 0.5 * weight * z * z, rate

    def quadratic_variance(self, weight: float, arm: int) -> float:
        return float(self.sigma[arm] * self.sigma[arm] / weight) if self.free else -1.0

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        return float(mean + self.spreads.true(self.sigma, arm) * rng.standard_normal())

    def cheapest_challenger(
        self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats
    ) -> int:
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

    def cheapest_exchange(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
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

    def transportation_cost(
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


def by_name(sigma: Any) -> bool:
    """Whether standard deviations are pairs of a name and a number."""
    return (
        isinstance(sigma, tuple | list)
        and bool(sigma)
        and all(
            isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[0], str)
            for one in sigma
        )
    )


Groups = tuple[tuple[int, ...], ...]
LEAN = 2.0  # values, of `GaussianKernel.lean`, where each arm has its own sigma


def _without_known(kind: Any) -> Any:
    """`known` was an argument once."""
    begin = kind.__init__

    @wraps(begin)
    def init(self: Any, *args: Any, **options: Any) -> None:
        if "known" in options:
            raise no_longer_known()
        begin(self, *args, **options)

    kind.__init__ = init
    return kind


def no_longer_known() -> InputError:
    return InputError(
        "known-is-gone",
        "Gaussian has no argument known",
        remedy="Gaussian() is for one sigma that nobody knows, the same for all arms; "
        "Gaussian(shared_sigma=False) if each arm has its own. Plans and simulations take the "
        "value that you suppose, simulation_sigma=0.1",
    )


@_without_known
@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(RewardsBase):
    """Gaussian rewards; `sigma` is one standard deviation, or one per arm, in order or by name.

    Without a sigma it is not known, and taken from the data. shared_sigma: True, one sigma for all
    arms; False, each arm has its own; or groups of arms, [[0, 1], [2, 3]] or {"left": [0, 1],
    "right": [2, 3]}, with one sigma each. simulation_sigma: the sigma (or one per arm) with which
    simulations draw and plans reckon then; nothing else depends on it.

    >>> Gaussian(0.1), Gaussian(), Gaussian(simulation_sigma=0.15), Gaussian(shared_sigma=False)
    (Gaussian(sigma=0.1), Gaussian(), Gaussian(simulation_sigma=0.15), Gaussian(shared_sigma=False))
    >>> Gaussian(shared_sigma={"left": [1, 0], "right": [2, 3]})
    Gaussian(shared_sigma=((0, 1), (2, 3)))
    >>> Gaussian(0.1, batch_effect=True)
    Gaussian(sigma=0.1, batch_effect=True)
    """

    sigma: float | Sequence[float] | Mapping[str, float] | None = None
    shared_sigma: bool | Sequence[Sequence[int]] | Mapping[str, Sequence[int]] = True
    simulation_sigma: float | Sequence[float] | Mapping[str, float] | None = None
    batch_effect: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("sigma", "simulation_sigma"):
            object.__setattr__(self, name, _deviations(name, getattr(self, name)))
        object.__setattr__(self, "shared_sigma", _groups(self.shared_sigma))
        check_bool("batch_effect", self.batch_effect, of="Gaussian")
        if self.has_batch_effect() and self.variance_known and not _even(self.sigma):
            raise InputError(
                "level-sigma",
                "Gaussian: with batch_effect=True no sigma may be above {unlike:g} times another",
                remedy="give the standard deviations of values within a play",
                unlike=UNLIKE,
            )
        if self.has_batch_effect() and self.shared_sigma is not True:
            raise InputError(
                "level-shared",
                "Gaussian: with batch_effect=True a sigma that is not known is the same for all "
                "arms, because values of a play are weighed by it",
                remedy="leave shared_sigma out, or give the standard deviations of values within a play",
            )
        if self.variance_known and (
            self.shared_sigma is not True or self.simulation_sigma is not None
        ):
            raise InputError(
                "sigma-is-known",
                "Gaussian: shared_sigma and simulation_sigma are for a sigma that is not known, and here sigma "
                "is {sigma}",
                remedy="leave them out; or give simulation_sigma={sigma} instead of sigma",
                sigma=self.sigma,
            )

    @property
    def variance_known(self) -> bool:
        """Whether sigma is stated."""
        return self.sigma is not None

    @property
    def variance_shared(self) -> bool:
        return not self.variance_known and self.shared_sigma is not False

    def has_batch_effect(self) -> bool:
        return bool(self.batch_effect)

    def assumptions(self) -> frozenset[Assumption]:
        if self.has_batch_effect():
            return frozenset({Assumption.LEVELLED})
        if not self.variance_known:
            return frozenset({Assumption.NORMAL})
        return frozenset(
            {
                Assumption.GAUSSIAN,
                Assumption.NORMAL,
                Assumption.EXPONENTIAL,
                Assumption.SUB_GAUSSIAN,
            }
        )

    def check_arms(self, d: int) -> None:
        for name in ("sigma", "simulation_sigma"):
            given = getattr(self, name)
            if isinstance(given, tuple) and len(given) != d:
                raise InputError(
                    "one-sigma-per-arm",
                    "Gaussian: {name} has {sigmas:count value} but there {d:is|are} {d:count arm}",
                    remedy="give one per arm",
                    name=name,
                    sigmas=len(given),
                    d=d,
                )
        if isinstance(self.shared_sigma, tuple):
            listed = sorted(a for group in self.shared_sigma for a in group)
            odd = [a for a in range(d) if a not in set(listed)] or [a for a in listed if a >= d]
            if odd:
                raise InputError(
                    "every-arm-in-a-group",
                    "Gaussian: arm {arm} is "
                    + ("in no group of shared" if odd[0] < d else "in a group, but there is none"),
                    remedy="the groups must have every arm from 0 to {last} once",
                    arm=odd[0],
                    last=d - 1,
                )
        if isinstance(self.simulation_sigma, tuple) and self.shared_sigma is not False:
            group = self.variance_groups(d)
            for a, supposed in enumerate(self.simulation_sigma):
                first = int(np.flatnonzero(group == group[a])[0])
                if supposed != self.simulation_sigma[first]:
                    raise InputError(
                        "supposed-differs",
                        "Gaussian: simulation_sigma has {one} for arm {first} and {other} for arm {arm}, "
                        "which share one sigma",
                        remedy="suppose the same, or give shared_sigma=False",
                        one=self.simulation_sigma[first],
                        first=first,
                        other=supposed,
                        arm=a,
                    )

    def variance_groups(self, d: int) -> Ints:
        if self.variance_known:  # the same stated sigma
            return (
                np.unique(self.sub_gaussian_scale(d), return_inverse=True)[1]
                .reshape(d)
                .astype(np.int64)
            )
        out = np.arange(d) if self.shared_sigma is False else np.zeros(d, np.int64)
        for g, arms in enumerate(self.shared_sigma if isinstance(self.shared_sigma, tuple) else ()):
            out[list(arms)] = g
        return out

    def permuted(self, order: Ints) -> "Gaussian":
        changed: dict[str, Any] = {}
        for name in ("sigma", "simulation_sigma"):
            given = getattr(self, name)
            if isinstance(given, tuple):
                changed[name] = tuple(given[a] for a in order)
        if isinstance(self.shared_sigma, tuple):
            place = {int(a): i for i, a in enumerate(order)}
            changed["shared_sigma"] = tuple(
                tuple(place[a] for a in group) for group in self.shared_sigma
            )
        return replace(self, **changed) if changed else self

    def reflected(self) -> "tuple[Gaussian, float]":
        return self, 0.0

    def with_names(self, names: tuple[str, ...] | None) -> "Gaussian":
        changed: dict[str, Any] = {}
        for name in ("sigma", "simulation_sigma"):
            if not by_name(getattr(self, name)):
                continue
            given = dict(getattr(self, name))
            if names is None or set(given) != set(names):
                raise InputError(
                    "sigma-by-name",
                    "Gaussian: {name} names the arms {given:list}, and the problem {names:list}",
                    remedy="give each arm of the problem one sigma, by the same names",
                    name=name,
                    given=list(given)[:LONGEST],
                    names=list(names or ["none of them"])[:LONGEST],
                )
            changed[name] = tuple(given[one] for one in names)
        return replace(self, **changed) if changed else self

    def sub_gaussian_scale(self, d: int) -> Floats:
        if by_name(self.sigma) or by_name(self.simulation_sigma):
            self.with_names(None)
        given = self.simulation_sigma if self.sigma is None else self.sigma
        if given is None:
            raise InputError(
                "sigma-not-supposed",
                "{rewards} does not say which sigma to suppose, and this needs one",
                remedy="give the one that you suppose, such as Gaussian(simulation_sigma=0.1)",
                rewards=str(self),
            )
        return np.broadcast_to(np.asarray(given, dtype=float), (d,)).copy()

    def kernel(self, low: Floats, high: Floats) -> GaussianKernel:
        d = low.size
        sigma = (
            self.sub_gaussian_scale(d)
            if self.variance_known or self.simulation_sigma is not None
            else np.ones(d)
        )
        if self.variance_known:
            return gaussian_part(sigma, low, high)
        alone = self.shared_sigma is False
        group = np.zeros(d, np.int64) if alone else self.variance_groups(d)
        return gaussian_part(sigma, low, high, group, LEAN if alone else math.inf)


def _deviations(name: str, given: Any) -> Any:
    """One standard deviation, or a tuple of them; None if there is none."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        given = tuple(given.items())
    named = by_name(given)
    try:
        sigmas = np.atleast_1d(np.asarray([one for _, one in given] if named else given))
    except Exception:  # whatever was given
        sigmas = np.zeros(0)
    if sigmas.dtype.kind not in "fiu" or sigmas.ndim != 1 or sigmas.size == 0:
        what = "a number or a flat list of numbers, one per arm"
        raise invalid_argument(name, given, what, of="Gaussian")
    within = np.isfinite(sigmas) & (sigmas >= 1e-100) & (sigmas <= 1e100)
    if not within.all():
        raise invalid_argument(
            name,
            given,
            "positive and finite (1e-100 to 1e100), one number or one per arm",
            remedy="for noiseless values give a small sigma, such as 1e-6",
            of="Gaussian",
        )
    if named:
        return tuple((name, float(one)) for (name, _), one in zip(given, sigmas, strict=True))
    alone = isinstance(given, int | float)
    return float(sigmas[0]) if alone else tuple(float(s) for s in sigmas)


def _even(sigma: Any) -> bool:
    """Whether no standard deviation is far above another."""
    several = [one for _, one in sigma] if by_name(sigma) else np.atleast_1d(np.asarray(sigma))
    return float(np.max(several)) <= UNLIKE * float(np.min(several))


def _groups(given: Any) -> bool | Groups:
    """True, False, or groups of arms, each ascending, in the order in which they were given."""
    if isinstance(given, bool):
        return given
    wrong = invalid_argument(
        "shared_sigma",
        given,
        "True (one sigma for all arms), False (one per arm), or groups of arms, each arm once, "
        "such as [[0, 1], [2, 3]]",
        of="Gaussian",
    )
    listed = list(given.values()) if isinstance(given, Mapping) else given
    if isinstance(listed, str | bytes) or not isinstance(listed, Sequence | np.ndarray):
        raise wrong
    groups: list[tuple[int, ...]] = []
    for group in listed:
        if isinstance(group, str | bytes) or not isinstance(group, Sequence | np.ndarray):
            raise wrong
        if not len(group) or not all(_arm(a) for a in group):
            raise wrong
        groups.append(tuple(sorted(int(a) for a in group)))
    every = [a for group in groups for a in group]
    if not groups or len(set(every)) < len(every):
        raise wrong
    return tuple(groups)


def _arm(a: Any) -> bool:
    return isinstance(a, int | np.integer) and not isinstance(a, bool) and bool(a >= 0)


def gaussian_part(
    sigma: Floats, low: Floats, high: Floats, group: Ints | None = None, lean: float = LEAN
) -> GaussianKernel:
    """group: arms with the same number share a sigma that is not known; None: all are stated."""
    free = bool(np.all(np.isneginf(low)) and np.all(np.isposinf(high)))
    spreads: Stated | Estimated = Stated(True)
    if group is not None:
        pool = np.zeros((2, int(group.max()) + 1))
        spreads = Estimated(False, sigma**2, sigma.copy(), group, pool, lean)
    return GaussianKernel(sigma, low.copy(), high.copy(), free, spreads, *scratch(low.size))
