"""Search for the nearest alternative among almost all sets, arm by arm.

The arms of the needle come first. After each arm a set is in one of three states: it contains every
arm so far, none of them, or some. At a multiplier every arm has a price for joining or leaving (see
`paths`). The least that the remaining arms can add is known for every state, so one pass finds the
least price of another set, which is a lower bound of all distances. A depth-first search at the
best multiplier visits every set whose price is below the nearest distance found.
"""

import math
from typing import NamedTuple

import numpy as np

from ...engine.jit import jitable
from ...engine.likelihood_ratio import against, alike
from ...engine.protocols import RewardKernel
from ...engine.state import Fixed, FixedInts, Floats, Ints
from ...rewards.base import SHAVE, shaved
from .paths import FACTORS, LIMIT, NEARLY

ALL, NONE, SOME = 0, 1, 2  # states: how many of the arms so far are in the set
LEAST = -1e300  # least price: there is no bound if an arm can take any mean at no cost


class FlipWorkspace(NamedTuple):
    """Order of the arms, and scratch arrays of the search."""

    order: FixedInts  # int64[d]: the arms, those of the needle first
    pins: int  # the number of arms of the needle
    arms: Ints
    sign: Floats
    price: Floats  # the price of an arm that joins or leaves
    ahead: Floats  # float64[d + 1, 3]: the least that the remaining arms can add, by state
    trial: Floats  # a set
    spent: Floats  # float64[d + 1]: the price of the trial so far
    state: Ints
    tried: Ints


def make_flips(needle: Fixed) -> FlipWorkspace:
    d = needle.size
    return FlipWorkspace(
        np.argsort(-needle, kind="stable"),
        int(needle.sum()),
        np.zeros(d, np.int64),
        np.zeros(d),
        np.zeros(d),
        np.zeros((d + 1, 3)),
        np.zeros(d),
        np.zeros(d + 1),
        np.zeros(d + 1, np.int64),
        np.zeros(d + 1, np.int64),
    )


@jitable
def after(state: int, i: int, pins: int, taken: bool) -> int:
    """Return the state after the i-th arm; -1 if no set continues like that."""
    if state != ALL:
        return SOME if taken else state
    if i >= pins:  # the needle, and no other arm
        return -1 if taken else ALL
    if taken:
        return ALL
    return NONE if i == 0 else SOME


@jitable
def edge_costs(
    flips: FlipWorkspace,
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    best: Floats,
    slope: float,
    share: float,
) -> float:
    """Price the arms at a multiplier, with a share of their weights, and find the cheapest set.

    With multiplier 0, the price of an arm is what it loses. The least price of another set is
    returned and the set is written to `trial`.
    """
    d, pins, price, ahead, order = best.size, flips.pins, flips.price, flips.ahead, flips.order
    for a in range(d):
        sign = 1.0 - 2.0 * best[a]
        away = -sign * rewards.project(mean[a], a)
        if slope > 0.0:
            away *= slope
            away -= SHAVE * abs(away)
            away += shaved(rewards, mean[a], share * weight[a], sign * slope, a)
        price[a] = max(away, LEAST)
    ahead[d, ALL], ahead[d, NONE], ahead[d, SOME] = 0.0, math.inf, 0.0  # no set is empty
    for i in range(d - 1, -1, -1):
        a = order[i]
        for state in range(3):
            ahead[i, state] = math.inf
            for taken in (False, True):
                to = after(state, i, pins, taken)
                if to >= 0:
                    rest = ahead[i + 1, to] + (price[a] if taken != (best[a] > 0.5) else 0.0)
                    ahead[i, state] = min(ahead[i, state], rest)
    least, first, state = math.inf, -1, ALL
    for i in range(d):  # find the first arm in which the cheapest set differs
        a = order[i]
        to = after(state, i, pins, best[a] < 0.5)
        if to >= 0 and price[a] + ahead[i + 1, to] < least:
            least, first = price[a] + ahead[i + 1, to], i
        state = after(state, i, pins, best[a] > 0.5)
    state = ALL
    for i in range(d):
        a = order[i]
        taken = best[a] > 0.5
        if i == first:
            taken = not taken
        elif i > first:
            same, other = after(state, i, pins, taken), after(state, i, pins, not taken)
            if other >= 0 and (same < 0 or price[a] + ahead[i + 1, other] < ahead[i + 1, same]):
                taken = not taken
        flips.trial[a] = 1.0 if taken else 0.0
        state = after(state, i, pins, taken)
    return least


@jitable
def search(
    flips: FlipWorkspace,
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    best: Floats,
    alternative: Floats,
    rival: Floats,
) -> float:
    """Write the nearest set; return an upper limit for its distance if the search gave up.

    The limit is infinity if the search was complete.
    """
    d, arms, sign, trial = best.size, flips.arms, flips.sign, flips.trial
    # begin with the set that loses least; if it cannot catch up in M, begin with the set that M
    # lets come furthest
    least = edge_costs(flips, rewards, mean, weight, best, 0.0, 1.0)
    nearest = against(rewards, mean, weight, best, arms, sign, trial, alternative)
    slope = 2.0 * nearest / least if least > 0.0 else 1.0
    if nearest == math.inf:
        edge_costs(flips, rewards, mean, weight, best, 1.0, 0.0)
        nearest = against(rewards, mean, weight, best, arms, sign, trial, alternative)
    for a in range(d):
        rival[a] = trial[a]
    if nearest <= 0.0 or nearest == math.inf:
        return math.inf
    slope, bound, last = slope if 1e-300 < slope < 1e300 else 1.0, -math.inf, 0.0
    for factor in (1.0, *FACTORS):  # the bound is concave in the multiplier, and holds at each
        while 1e-300 < slope * factor < 1e300 and bound < NEARLY * nearest:
            last = slope * factor
            value = edge_costs(flips, rewards, mean, weight, best, last, 1.0)
            distance = against(rewards, mean, weight, best, arms, sign, trial, alternative)
            if distance < nearest:
                nearest = distance
                for a in range(d):
                    rival[a] = trial[a]
            if not value > bound:
                break
            slope, bound = last, value
    if bound >= NEARLY * nearest or nearest <= 0.0:
        return math.inf
    if last != slope:
        edge_costs(flips, rewards, mean, weight, best, slope, 1.0)

    tries, depth, spent, state, tried = 0, 0, flips.spent, flips.state, flips.tried
    spent[0], state[0], tried[0] = 0.0, ALL, 0
    while depth >= 0 and nearest > 0.0:
        tries += 1
        if tries > LIMIT:
            return float(max(bound, 0.0))
        if depth == d or tried[depth] == 2:
            if depth == d and not alike(trial, best):
                distance = against(rewards, mean, weight, best, arms, sign, trial, alternative)
                if distance < nearest:
                    nearest = distance
                    for a in range(d):
                        rival[a] = trial[a]
            depth -= 1
            continue
        a = flips.order[depth]
        taken = (best[a] > 0.5) == (tried[depth] == 0)  # first as in `best`, then the opposite
        cost = spent[depth] + (flips.price[a] if tried[depth] == 1 else 0.0)
        tried[depth] += 1
        to = after(state[depth], depth, flips.pins, taken)
        if to >= 0 and cost + flips.ahead[depth + 1, to] < NEARLY * nearest:
            trial[a] = 1.0 if taken else 0.0
            depth += 1
            spent[depth], state[depth], tried[depth] = cost, to, 0
    return math.inf
