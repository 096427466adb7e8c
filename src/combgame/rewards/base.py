"""What all rewards share: the description, the bounds on the means, and the nearest alternative for one rival."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._marks import jitable
from ..errors import InputError
from ..protocols import Floats, Ints, Rewards

WEIGHTLESS = 1e-100  # a weight below this is none: the arm may be moved at no cost


@dataclass(frozen=True)
class RewardsBase:
    """Describes rewards; `part` makes what computes with them."""

    family: ClassVar[str] = ""
    known = True  # the variances; not a field, unless a family makes it one

    def part(self, low: Floats, high: Floats) -> Rewards:
        """The verbs of `protocols.Rewards` for arms whose means are known to lie in [low, high]."""
        raise NotImplementedError

    def range(self, d: int) -> tuple[Floats, Floats]:
        """The means that this family can have, per arm."""
        return np.full(d, -np.inf), np.full(d, np.inf)

    def check(self, d: int) -> None:
        """Say in a sentence why these rewards cannot be those of d arms."""

    def values(self, d: int) -> tuple[float, float]:
        """The smallest and largest value that a pull can return."""
        return -math.inf, math.inf

    def numbered(self, order: Ints) -> "RewardsBase | None":
        """The rewards of the same arms with arm order[i] called i; None: that cannot be done."""
        return None

    def spread(self, d: int) -> Floats:
        """Per arm, a sigma for which its values are sigma-sub-Gaussian, whatever the means; a sentence if it is not known."""
        raise NotImplementedError


def scratch(d: int) -> tuple[Ints, Floats, Floats, Floats]:
    return np.zeros(d, np.int64), np.zeros(d), np.zeros(d), np.zeros(1)


@jitable
def differ(best: Floats, rival: Floats, arms: Ints, sign: Floats) -> int:
    """List the arms of `best` xor `rival`: sign +1 for those that only the rival has, -1 for those that only best has."""
    n = 0
    for a in range(best.size):
        if best[a] != rival[a]:
            arms[n] = a
            sign[n] = 1.0 if rival[a] > best[a] else -1.0
            n += 1
    return n


@jitable
def priced(rewards: Rewards, x: float, weight: float, slope: float, arm: int) -> float:
    """`Rewards.price` for any family: at the stationary point."""
    y = rewards.move(x, weight, slope, arm)
    return weight * rewards.divergence(x, y, arm) - slope * y


@jitable
def slack(rewards: Rewards, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, slope: float,
          alternative: Floats) -> float:  # fmt: skip
    """Move every arm that has weight to its stationary point for a multiplier; return by how much `best` still leads."""
    lead = 0.0
    for i in range(n):
        a = arms[i]
        if weight[a] >= WEIGHTLESS:
            alternative[a] = rewards.move(mean[a], weight[a], sign[i] * slope, a)
        lead -= sign[i] * alternative[a]
    return lead


@jitable
def cost(rewards: Rewards, mean: Floats, weight: Floats, arms: Ints, n: int, alternative: Floats) -> float:
    """sum_a weight_a d(mean_a, alternative_a) over the listed arms."""
    total = 0.0
    for i in range(n):
        a = arms[i]
        if weight[a] >= WEIGHTLESS:
            total += weight[a] * rewards.divergence(mean[a], alternative[a], a)
    return total


@jitable
def dual(rewards: Rewards, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, low: Floats, high: Floats,
         alternative: Floats) -> float:  # fmt: skip
    """`Rewards.distance` for any family and any box M, by its one multiplier alpha.

    For each alpha >= 0 the Lagrangian's minimiser is explicit (`move`), and the lead of `best` falls with alpha: find
    its root. What is returned is the Lagrangian's value, a lower bound at every alpha: stopping early cannot make it an
    upper estimate of the distance.
    """
    for i in range(n):
        a = arms[i]
        alternative[a] = rewards.project(mean[a], a)
    lead = slack(rewards, mean, weight, arms, sign, n, 0.0, alternative)
    if lead <= 0.0:  # case 1: nothing to do
        return cost(rewards, mean, weight, arms, n, alternative)
    for i in range(n):  # case 2: arms without weight move first, one after the other, as far as needed
        a = arms[i]
        if weight[a] < WEIGHTLESS:
            room = high[a] - alternative[a] if sign[i] > 0.0 else alternative[a] - low[a]
            step = min(room, lead)
            alternative[a] += sign[i] * step
            lead -= step
            if step < room or lead <= 0.0:
                return cost(rewards, mean, weight, arms, n, alternative)
    left, lead_left = 0.0, lead  # case 3: the multiplier
    right = 1.0
    lead_right = slack(rewards, mean, weight, arms, sign, n, right, alternative)
    while lead_right > 0.0:
        left, lead_left = right, lead_right
        right *= 16.0
        if right > 1e150:
            return math.inf  # no means in M make the rival as good
        lead_right = slack(rewards, mean, weight, arms, sign, n, right, alternative)
    side = 0
    for step_number in range(200):  # Illinois: a secant that keeps its bracket, with a bisection every third step
        if lead_right == 0.0 or right - left <= 4e-16 * right:
            break
        middle = 0.5 * (left + right)
        if step_number % 3 != 2:
            middle = (left * lead_right - right * lead_left) / (lead_right - lead_left)
        if not left < middle < right:
            middle = 0.5 * (left + right)
            if not left < middle < right:
                break
        lead = slack(rewards, mean, weight, arms, sign, n, middle, alternative)
        if lead > 0.0:
            left, lead_left = middle, lead
            if side == 1:
                lead_right *= 0.5
            side = 1
        else:
            right, lead_right = middle, lead
            if side == -1:
                lead_left *= 0.5
            side = -1
    lead = slack(rewards, mean, weight, arms, sign, n, right, alternative)
    return cost(rewards, mean, weight, arms, n, alternative) + right * lead


@jitable
def boxed_pair(rewards: Rewards, mean: Floats, weight: Floats, i: int, j: int, low: Floats, high: Floats, arms: Ints,
               sign: Floats, spare: Floats) -> float:  # fmt: skip
    """The cost for arm j to overtake arm i, for any family and box."""
    arms[0], arms[1], sign[0], sign[1] = i, j, -1.0, 1.0
    return dual(rewards, mean, weight, arms, sign, 2, low, high, spare)


@jitable
def swapped(rewards: Rewards, mean: Floats, weight: Floats, best: Floats, cost: Floats, value: Floats) -> None:
    """`Rewards.swap` for any family: `closest` for every arm of `best`."""
    value[0], value[1], value[2] = -1.0, -1.0, math.inf
    for i in range(best.size):
        if best[i] > 0.5:
            j = rewards.closest(mean, weight, i, best, cost)
            if value[0] < 0.0 or cost[0] < value[2]:
                value[0], value[1], value[2] = i, j, cost[0]


def check_bounds(name: str, low: float, high: float) -> None:
    if not all(isinstance(x, int | float | np.number) and math.isfinite(x) for x in (low, high)) or not low < high:
        raise InputError(f"{name}: low = {low!r} and high = {high!r} must be finite, low below high.")
