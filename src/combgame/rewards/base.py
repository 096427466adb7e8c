"""What all rewards share: the description, the bounds on the means, and the nearest alternative for
one rival.
"""

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

WEIGHTLESS = 1e-100  # a weight below this is none: the arm may be moved at no cost
SHAVE = 1e-11  # of what a bound is made of, taken off it: more than rounding can add


class Assumption(StrEnum):
    """What is known of the values of an arm, independent of each other: what a stopping rule may
    rest its proof on.
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
    """Describes rewards; `part` makes what computes with them."""

    @property
    def variance_known(self) -> bool:
        """Whether the variances are."""
        return True

    @property
    def variance_shared(self) -> bool:
        """Whether arms share a variance that is not known."""
        return False

    def kernel(self, low: Floats, high: Floats) -> RewardKernel:
        """The verbs of `protocols.RewardKernel` for arms whose means are known to lie in [low, high]."""
        raise NotImplementedError

    def mean_range(self, d: int) -> tuple[Floats, Floats]:
        """The means that this family can have, per arm."""
        return np.full(d, -np.inf), np.full(d, np.inf)

    def assumptions(self) -> frozenset[Assumption]:
        """What is true of these rewards. Nothing is claimed by default, nor by a class that
        inherits this: whatever it changes, a threshold is called proved only if the class of the
        rewards says itself what they are.
        """
        return frozenset()

    def check_value(self, value: float, n: int | None) -> Message | None:
        """Why an arm cannot have this value, or, if n is given, this mean of n values; None if it
        can.
        """
        return None

    def has_batch_effect(self) -> bool:
        """Whether every play has a level of its own, which all its values share."""
        return False

    def check_arms(self, d: int) -> None:
        """Say in a sentence why these rewards cannot be those of d arms."""

    def support(self, d: int) -> tuple[float, float]:
        """The smallest and largest value that a pull can return."""
        return -math.inf, math.inf

    def permuted(self, order: Ints) -> "RewardsBase | None":
        """The rewards of the same arms with arm order[i] called i; None: that cannot be done."""
        return None

    def with_names(self, names: tuple[str, ...] | None) -> "RewardsBase":
        """The same, with what was said of arms by their names put in the order of the arms."""
        return self

    def reflected(self) -> "tuple[RewardsBase, float] | None":
        """The rewards of pivot - x, where x has these, and the pivot: 0, unless only another one
        has a family. None: that is not known, so that nothing can be minimised. A class has to say
        it itself.
        """
        return None

    def variance_groups(self, d: int) -> Ints:
        """A number per arm, from 0 on: arms with the same number vary alike."""
        return np.zeros(d, np.int64)

    def sub_gaussian_scale(self, d: int) -> Floats:
        """Per arm, a sigma for which its values are sigma-sub-Gaussian, whatever the means; a
        sentence if it is not known.
        """
        raise NotImplementedError


def spread_of(rewards: RewardsBase, d: int) -> Floats | None:
    """The spread of some rewards; None for a family that has none."""
    try:
        return rewards.sub_gaussian_scale(d)
    except NotImplementedError:
        return None


def claimed_assumptions(rewards: RewardsBase) -> frozenset[Assumption]:
    """What these rewards say of themselves, or a sentence: a licence is a text too, of which a part
    must not pass for another.
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
    """What the class of these rewards says itself, rather than by inheritance."""
    return claimed_assumptions(rewards) if "assumptions" in vars(type(rewards)) else frozenset()


def not_convex(rewards: RewardsBase, d: int) -> tuple[float, float] | None:
    """An (x, y) at which y -> divergence(x, y) is not convex, on a grid of the means that a user's
    rewards can have; None if there is none.

    Distances are found by their multiplier (`dual`): where a divergence is not convex, the point at
    which its slope is right need not be the cheapest, and a distance may be larger than what is
    enough.
    """
    try:
        low, high = rewards.mean_range(d)
        kernel, (least, most) = rewards.kernel(low, high), rewards.support(d)
    except Exception:  # a run says so
        return None
    looked: set[tuple[str, ...]] = set()
    for arm in range(d):
        ys = spaced(float(low[arm]), float(high[arm]))
        few = ys[:: max(ys.size // 6, 1)]
        kind = tuple(repr(_cost(kernel, float(x), float(y), arm)) for x in few for y in few)
        if kind in looked:  # arms that are alike are looked at once
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
    """The divergence; not a number where it raises."""
    try:
        return float(kernel.divergence(x, y, arm))
    except Exception:  # a run says so where it matters
        return math.nan


CLOSELY = 8  # different arms whose divergences `not_convex` looks at on the whole grid


def spaced(low: float, high: float) -> Floats:
    """Points between two bounds, close to each other near these and near 0, ascending."""
    steps = 10.0 ** np.arange(-9.0, 7.0)
    ends = [x for x in (low, high) if math.isfinite(x)] or [0.0]
    near = [end + sign * steps for end in ends for sign in (-1.0, 1.0)]
    even = [np.linspace(low, high, 41)] if len(ends) == 2 else []
    points = np.unique(np.concatenate([*near, *even]))
    return points[(points > low) & (points < high)]


def scratch(d: int) -> tuple[Ints, Floats, Floats, Floats]:
    return np.zeros(d, np.int64), np.zeros(d), np.zeros(d), np.zeros(1)


@jitable
def shaved(rewards: RewardKernel, x: float, weight: float, slope: float, arm: int) -> float:
    """What an arm adds to the Lagrangian of `RewardKernel.transportation_cost` beside the lead at the projected
    means: the min over y in M of

    weight * d(x, y) - slope * (y - project(x)), less what rounding can add to it in a sum of up to
    40,000 arms.
    """
    out = rewards.project(x, arm) - x
    if weight < WEIGHTLESS:  # as far as M goes
        end = rewards.project(math.copysign(math.inf, slope), arm) - x
        return (
            -(1.0 + SHAVE) * abs(slope) * (abs(end - out) + SHAVE * (abs(end) + abs(out)))
            if slope != 0.0
            else 0.0
        )
    off, cost, _ = rewards.best_shift_with_gradient(x, weight, slope, arm)
    value = cost - slope * (off - out) - SHAVE * (cost + abs(slope) * (abs(off) + abs(out)))
    return value if value > -math.inf else -math.inf  # not a number: no bound


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
    """`RewardKernel.transportation_cost` for any family and any box M, by its one multiplier alpha.

    For each alpha >= 0 the Lagrangian's minimiser is explicit (`best_shift_with_gradient`), and the lead of `best`
    falls with alpha: find its root. What is returned is the Lagrangian's largest value on the way
    less what rounding may have added, so it is a lower bound wherever the search ends.
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
    if start <= 0.0:  # case 1: nothing to do
        return value
    # case 2: arms without weight move first, one after the other, as far as needed
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
    # Newton; where that leads nowhere, and now and then, a bracket is sought or halved on a
    # logarithmic scale
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
    """The cost for arm j to overtake arm i, for any family and box."""
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
    """`RewardKernel.cheapest_challenger` for any family: `boxed_pair` for every arm that is not taken."""
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
    """`RewardKernel.cheapest_exchange` for any family: `cheapest_challenger` for every arm of `best`."""
    value[0], value[1], value[2] = -1.0, -1.0, math.inf
    for i in range(best.size):
        if best[i] > 0.5:
            j = rewards.cheapest_challenger(mean, weight, i, best, cost)
            if value[0] < 0.0 or cost[0] < value[2]:
                value[0], value[1], value[2] = i, j, cost[0]


def check_bounds(name: str, low: float, high: float) -> None:
    if (
        not all(is_real(to_python_scalar(x)) and math.isfinite(x) for x in (low, high))
        or not low < high
    ):
        raise invalid_argument(
            "(low, high)", (low, high), "two finite numbers, low below high", of=name
        )
