"""The base class of reward models, their assumptions, and transportation costs for any family."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from .._messages import Message
from .._values import Description
from ..engine.jit import jitable
from ..engine.numerics import ROUND, lead_of
from ..engine.protocols import RewardKernel
from ..engine.state import Floats, Ints
from ..errors import invalid_argument, is_real, to_python_scalar

WEIGHTLESS = 1e-100  # an arm with a smaller weight can be moved at no cost
SHAVE = 1e-11  # share of the terms of a bound that is subtracted; more than rounding can add


class Assumption(StrEnum):
    """An assumption about the distribution of the values of an arm.

    Under every assumption the values are independent of each other. The proof of a stopping rule
    rests on the assumptions that `RewardsBase.assumptions` returns.

    Attributes
    ----------
    GAUSSIAN
        Gaussian values with the stated sigma.
    NORMAL
        Gaussian values of any variance.
    EXPONENTIAL
        Values from a one-parameter exponential family whose divergence is the one in use.
    LEVELLED
        Gaussian values around a batch effect that all values of a play share.
    SURROGATE
        Sub-Gaussian values whose divergence is replaced by that of Gaussian values with the stated
        scale.
    SUB_GAUSSIAN
        Sub-Gaussian values with the stated scale.
    BINARY
        Values 0 or 1.
    """

    GAUSSIAN = "Gaussian values with the stated sigma"
    NORMAL = "Gaussian values"  # of any variance
    EXPONENTIAL = (
        "values from a one-parameter exponential family, whose divergence is the one in use"
    )
    LEVELLED = "Gaussian values with the stated sigma, about a level of their play"
    SURROGATE = (
        "sub-Gaussian values, whose divergence is taken to be that of Gaussian ones with "
        "the stated spread"
    )
    SUB_GAUSSIAN = "sub-Gaussian values with the stated spread"
    BINARY = "values 0 or 1"


@dataclass(frozen=True, eq=False, repr=False)
class RewardsBase(Description):
    """Base class of reward models.

    A subclass is a frozen dataclass that describes the measurements; its method `kernel` returns
    the object that computes with them. The other methods have defaults that claim nothing.

    See Also
    --------
    combgame.engine.protocols.RewardKernel : The methods that a kernel needs.
    """

    @property
    def variance_known(self) -> bool:
        """Whether the variances of the values are known."""
        return True

    @property
    def variance_shared(self) -> bool:
        """Whether arms share a variance that is not known."""
        return False

    def kernel(self, low: Floats, high: Floats) -> RewardKernel:
        """Return the kernel for arms whose means are known to lie in [low, high].

        Parameters
        ----------
        low, high : numpy.ndarray, shape (d,)
            Bounds on the means, infinite where there are none.

        Returns
        -------
        RewardKernel
            An object with the methods of `combgame.engine.protocols.RewardKernel`.
        """
        raise NotImplementedError

    def mean_range(self, d: int) -> tuple[Floats, Floats]:
        """Return the means that this family can have.

        Parameters
        ----------
        d : int
            Number of arms.

        Returns
        -------
        tuple of numpy.ndarray
            The smallest and the largest mean of each arm, both of shape (d,).
        """
        return np.full(d, -np.inf), np.full(d, np.inf)

    def assumptions(self) -> frozenset[Assumption]:
        """Return the assumptions that these rewards satisfy.

        Returns
        -------
        frozenset of Assumption
            Empty by default.

        Notes
        -----
        A threshold is called proved only if the class of the rewards defines this method itself. A
        class that inherits it claims nothing, because it may change anything else.
        """
        return frozenset()

    def check_value(self, value: float, n: int | None) -> Message | None:
        """Check whether an arm can have a value.

        Parameters
        ----------
        value : float
            The value, or the mean of `n` values.
        n : int, optional
            Number of values whose mean is given; None for a single value.

        Returns
        -------
        Message or None
            The reason why the value is impossible, or None if it is possible.
        """
        return None

    def has_batch_effect(self) -> bool:
        """Return whether all values of a play share a batch effect."""
        return False

    def check_arms(self, d: int) -> None:
        """Raise an `InputError` if these rewards cannot be those of d arms.

        Parameters
        ----------
        d : int
            Number of arms.
        """

    def support(self, d: int) -> tuple[float, float]:
        """Return the smallest and the largest value that a measurement can have.

        Parameters
        ----------
        d : int
            Number of arms.
        """
        return -math.inf, math.inf

    def permuted(self, order: Ints) -> "RewardsBase | None":
        """Return the rewards of the same arms in another order.

        Parameters
        ----------
        order : numpy.ndarray of int, shape (d,)
            Arm ``order[i]`` becomes arm ``i``.

        Returns
        -------
        RewardsBase or None
            None if the rewards cannot be permuted.
        """
        return None

    def with_names(self, names: tuple[str, ...] | None) -> "RewardsBase":
        """Return these rewards with arguments given by arm name put in the order of the arms.

        Parameters
        ----------
        names : tuple of str, optional
            Names of the arms in order.
        """
        return self

    def reflected(self) -> "tuple[RewardsBase, float] | None":
        """Return the rewards of ``pivot - x``, where x has these rewards.

        Returns
        -------
        tuple of (RewardsBase, float) or None
            The reflected rewards and the pivot, which is 0 unless the family is closed only under
            another reflection. None if the reflection is not known; the means can then not be
            minimised. A class has to define this method itself.
        """
        return None

    def variance_groups(self, d: int) -> Ints:
        """Return the variance group of each arm.

        Parameters
        ----------
        d : int
            Number of arms.

        Returns
        -------
        numpy.ndarray of int, shape (d,)
            Groups are numbered from 0; arms with the same number have the same variance.
        """
        return np.zeros(d, np.int64)

    def sub_gaussian_scale(self, d: int) -> Floats:
        """Return, for each arm, a sigma for which its values are sigma-sub-Gaussian.

        Parameters
        ----------
        d : int
            Number of arms.

        Returns
        -------
        numpy.ndarray, shape (d,)
            The scales. They hold for all means.

        Raises
        ------
        NotImplementedError
            If the family has no such scale.
        InputError
            If the scale is not known.
        """
        raise NotImplementedError


def spread_of(rewards: RewardsBase, d: int) -> Floats | None:
    """Return the sub-Gaussian scale of the rewards, or None for a family without one."""
    try:
        return rewards.sub_gaussian_scale(d)
    except NotImplementedError:
        return None


def claimed_assumptions(rewards: RewardsBase) -> frozenset[Assumption]:
    """Return the assumptions that the rewards claim, after checking their type.

    An assumption is a string, so a string must not be taken for a set of assumptions.
    """
    said: Any = rewards.assumptions()
    several = isinstance(said, Collection) and not isinstance(said, str)
    if not several or not all(isinstance(one, Assumption) for one in said):
        raise invalid_argument(
            f"{type(rewards).__name__}: assumptions()",
            said,
            "a set of members of Assumption, such as frozenset({{Assumption.SUB_GAUSSIAN}})",
        )
    return frozenset(said)


def valid_assumptions(rewards: RewardsBase) -> frozenset[Assumption]:
    """Return the assumptions that the class of the rewards defines itself."""
    return claimed_assumptions(rewards) if "assumptions" in vars(type(rewards)) else frozenset()


def not_convex(rewards: RewardsBase, d: int) -> tuple[float, float] | None:
    """Search for a pair (x, y) at which ``y -> divergence(x, y)`` is not convex.

    The search uses a grid of the means that a user's rewards can have. It returns None if it finds
    no such pair.

    Notes
    -----
    Transportation costs are found by their multiplier (`dual`). Where a divergence is not convex,
    the point at which its slope is right need not be the cheapest, so a cost may be too large.
    """
    try:
        low, high = rewards.mean_range(d)
        kernel, (least, most) = rewards.kernel(low, high), rewards.support(d)
    except Exception:  # a run reports the error
        return None
    looked: set[tuple[str, ...]] = set()
    for arm in range(d):
        ys = spaced(float(low[arm]), float(high[arm]))
        few = ys[:: max(ys.size // 6, 1)]
        kind = tuple(repr(_cost(kernel, float(x), float(y), arm)) for x in few for y in few)
        if kind in looked:  # arms with the same divergence are checked once
            continue
        looked.add(kind)
        if len(looked) > CLOSELY:
            ys = ys[::4]
        for x in ys[(ys >= least) & (ys <= most)]:
            cost = np.array([_cost(kernel, float(x), float(y), arm) for y in ys])
            size = float(np.max(cost, where=np.isfinite(cost), initial=0.0))
            share = (ys[1:-1] - ys[:-2]) / (ys[2:] - ys[:-2])
            with np.errstate(invalid="ignore"):
                chord = cost[:-2] + share * (cost[2:] - cost[:-2])
                above = cost[1:-1] > chord + 1e-9 * (cost[:-2] + cost[2:]) + 1e-12 * size
            if above.any():
                return float(x), float(ys[1:-1][above][0])
    return None


def _cost(kernel: RewardKernel, x: float, y: float, arm: int) -> float:
    """Return the divergence, or NaN if it raises."""
    try:
        return float(kernel.divergence(x, y, arm))
    except Exception:  # a run reports the error where it matters
        return math.nan


CLOSELY = 8  # number of different arms that `not_convex` checks on the whole grid


def spaced(low: float, high: float) -> Floats:
    """Return ascending points between two bounds, dense near the bounds and near 0."""
    steps = 10.0 ** np.arange(-9.0, 7.0)
    ends = [x for x in (low, high) if math.isfinite(x)] or [0.0]
    near = [end + sign * steps for end in ends for sign in (-1.0, 1.0)]
    even = [np.linspace(low, high, 41)] if len(ends) == 2 else []
    points = np.unique(np.concatenate([*near, *even]))
    return points[(points > low) & (points < high)]


def scratch(d: int) -> tuple[Ints, Floats, Floats, Floats]:
    """Return the scratch arrays of a reward kernel with d arms."""
    return np.zeros(d, np.int64), np.zeros(d), np.zeros(d), np.zeros(1)


@jitable
def shaved(rewards: RewardKernel, x: float, weight: float, slope: float, arm: int) -> float:
    """Return a lower bound for the contribution of an arm to a Lagrangian.

    The Lagrangian is that of `RewardKernel.transportation_cost`, without the lead at the projected
    means. The contribution is the minimum over y in M of ``weight * d(x, y) - slope * (y -
    project(x))``, less the most that rounding can add to it in a sum of up to 40,000 arms.
    """
    out = rewards.project(x, arm) - x
    if weight < WEIGHTLESS:  # the arm moves to the end of M
        end = rewards.project(math.copysign(math.inf, slope), arm) - x
        return (
            -(1.0 + SHAVE) * abs(slope) * (abs(end - out) + SHAVE * (abs(end) + abs(out)))
            if slope != 0.0
            else 0.0
        )
    off, cost, _ = rewards.best_shift_with_gradient(x, weight, slope, arm)
    value = cost - slope * (off - out) - SHAVE * (cost + abs(slope) * (abs(off) + abs(out)))
    return value if value > -math.inf else -math.inf  # NaN: no bound


@jitable
def dual(
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    arms: Ints,
    sign: Floats,
    n: int,
    low: Floats,
    high: Floats,
    alternative: Floats,
) -> float:
    """Compute `RewardKernel.transportation_cost` for any family and any box M by its multiplier.

    Notes
    -----
    For each alpha >= 0 the minimiser of the Lagrangian is explicit (`best_shift_with_gradient`),
    and the lead of the leader falls with alpha; the search is for the root of the lead. The value
    returned is the largest Lagrangian on the way, less the most that rounding may have added, so it
    is a lower bound wherever the search ends.
    """
    lead, doubt = lead_of(mean, arms, sign, n)
    value, start, speed, room, size = 0.0, lead, 0.0, 0.0, abs(lead)
    for i in range(n):
        a = arms[i]
        x, here = float(mean[a]), rewards.project(mean[a], a)
        alternative[a] = here
        if weight[a] >= WEIGHTLESS:
            off, cost, rate = rewards.best_shift_with_gradient(x, weight[a], 0.0, a)
            value += cost
            speed += rate
            room += high[a] - here if sign[i] > 0.0 else here - low[a]
        else:
            off = here - x
            lead -= sign[i] * off
        start -= sign[i] * off
        size += abs(off)
    margin = 4.0 * (n + 2) * ROUND
    value -= margin * value
    if start <= 0.0:  # case 1: the rival is at least as good already
        return value
    # Case 2: arms without weight move first, one after the other, as far as needed.
    for i in range(n):
        a = arms[i]
        if weight[a] < WEIGHTLESS:
            free = high[a] - alternative[a] if sign[i] > 0.0 else alternative[a] - low[a]
            go = min(free, start)
            alternative[a] += sign[i] * go
            start -= go
            lead -= go
            size += go
            if go < free or start <= 0.0:
                return value
    doubt += margin * size
    if start - doubt > room:
        return math.inf  # no means in M make the rival as good
    left, right, alpha, here = 0.0, math.inf, 0.0, start  # case 3: the multiplier
    # Newton's method. Where it fails, and in every fifth step, a bracket is sought or halved on a
    # logarithmic scale.
    for count in range(100):
        trial = alpha + here / speed if speed > 0.0 else math.inf
        if not left < trial < right or count % 5 == 4:
            if right == math.inf:
                trial = 256.0 * alpha if alpha > 0.0 else 1.0
            elif left == 0.0:
                trial = right / 256.0
            else:
                trial = (
                    math.sqrt(left) * math.sqrt(right)
                    if right > 4.0 * left
                    else 0.5 * (left + right)
                )
            if not left < trial < right:
                break
        alpha, here, speed, total, moved = trial, lead, 0.0, 0.0, size
        for i in range(n):
            a = arms[i]
            if weight[a] >= WEIGHTLESS:
                off, cost, rate = rewards.best_shift_with_gradient(
                    mean[a], weight[a], sign[i] * alpha, a
                )
                here -= sign[i] * off
                moved += abs(off)
                total += cost
                speed += rate
        slack = doubt + margin * moved
        bound = total + alpha * here - margin * total - alpha * slack
        if value < bound < math.inf:
            value = bound
        if here > 0.0:
            left = alpha
        else:
            right = alpha
        if abs(here) <= slack or (right < math.inf and abs(here) * (right - left) <= 1e-14 * value):
            break
    for i in range(n):
        a = arms[i]
        if weight[a] >= WEIGHTLESS:
            alternative[a] = rewards.best_shift(mean[a], weight[a], sign[i] * alpha, a)
    return value


@jitable
def boxed_pair(
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    i: int,
    j: int,
    low: Floats,
    high: Floats,
    arms: Ints,
    sign: Floats,
    spare: Floats,
) -> float:
    """Return the cost for arm j to overtake arm i, for any family and any box."""
    arms[0], arms[1], sign[0], sign[1] = i, j, -1.0, 1.0
    return dual(rewards, mean, weight, arms, sign, 2, low, high, spare)


@jitable
def overtaken(
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    i: int,
    taken: Floats,
    low: Floats,
    high: Floats,
    arms: Ints,
    sign: Floats,
    spare: Floats,
    value: Floats,
) -> int:
    """Find `RewardKernel.cheapest_challenger` for any family.

    Evaluates `boxed_pair` for every arm that is not taken.
    """
    arm, value[0] = -1, math.inf
    for j in range(mean.size):
        if taken[j] < 0.5:
            cost = boxed_pair(rewards, mean, weight, i, j, low, high, arms, sign, spare)
            if arm < 0 or cost < value[0]:
                arm, value[0] = j, cost
    return arm


@jitable
def swapped(
    rewards: RewardKernel, mean: Floats, weight: Floats, best: Floats, cost: Floats, value: Floats
) -> None:
    """Find `RewardKernel.cheapest_exchange` for any family.

    Evaluates `cheapest_challenger` for every arm of the leader.
    """
    value[0], value[1], value[2] = -1.0, -1.0, math.inf
    for i in range(best.size):
        if best[i] > 0.5:
            j = rewards.cheapest_challenger(mean, weight, i, best, cost)
            if value[0] < 0.0 or cost[0] < value[2]:
                value[0], value[1], value[2] = i, j, cost[0]


def check_bounds(name: str, low: float, high: float) -> None:
    """Raise an `InputError` unless low and high are finite numbers with low < high."""
    if (
        not all(is_real(to_python_scalar(x)) and math.isfinite(x) for x in (low, high))
        or not low < high
    ):
        raise invalid_argument(
            "(low, high)", (low, high), "two finite numbers, low below high", of=name
        )
