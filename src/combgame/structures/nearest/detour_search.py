"""The nearest detour for any rewards: a depth-first search that is pruned by certified bounds.

f_J = max over alpha of g(J, alpha), a sum over the arms of J xor I: of alpha times the detour's
losses (see `detours`), and of what moving each arm saves (`shaved`). At any alpha, g is a lower
bound that a shortest-path programme gives for all detours at once; the search at the best alpha
visits every detour whose bound is below the nearest one found. The bounds are shaved by more than
rounding can have added to them, so what is passed over is not nearer.
"""

import math

from ...game.marks import jitable
from ...game.protocols import Rewards
from ...game.records import Floats, Ints
from ...game.rivals import rebuild
from ...rewards.base import SHAVE, shaved
from .detours import Trail, lose, walk

FACTORS = (
    8.0,
    0.125,
    2.0,
    0.5,
    1.25,
    0.8,
)  # by which a multiplier is changed as long as the bound gets better
NEARLY = 1.0 - 1e-10  # what is not nearer than this share of the nearest is not looked for
LIMIT = 200_000  # steps, after which a search gives up: what is then certain is its bound


@jitable
def toll(
    rewards: Rewards,
    first: Ints,
    arm: Ints,
    head: Ints,
    mean: Floats,
    weight: Floats,
    best: Floats,
    slope: float,
    share: float,
    trail: Trail,
) -> None:
    """At a multiplier, with a share of the weights: what it costs to take each edge and to leave
    out the path up to the place of its head.
    """
    along, place, loss, saved, price = (
        trail.along,
        trail.place,
        trail.loss,
        trail.saved,
        trail.price,
    )
    for i in range(place[first.size - 2]):
        a = arm[along[i]]
        saved[i] = shaved(rewards, mean[a], share * weight[a], -slope, a)
    for v in range(first.size - 2):
        for k in range(first[v], first[v + 1]):
            a = arm[k]
            if best[a] < 0.5:
                price[k] = (
                    slope * loss[k]
                    - SHAVE * abs(slope * loss[k])
                    + shaved(rewards, mean[a], share * weight[a], slope, a)
                )
                for i in range(place[v], place[head[k]]):
                    price[k] += saved[i]


@jitable
def cheapest(
    first: Ints,
    arm: Ints,
    head: Ints,
    best: Floats,
    trail: Trail,
) -> int:
    """The cheapest way from each node back to the path; the node of the path at which the cheapest
    detour begins.
    """
    start, on, price, ahead, take = -1, trail.on, trail.price, trail.ahead, trail.take
    for v in range(first.size - 3, -1, -1):
        ahead[v], take[v] = math.inf, -1
        for k in range(first[v], first[v + 1]):
            if best[arm[k]] < 0.5:
                total = price[k] + (0.0 if on[head[k]] == 1 else ahead[head[k]])
                if take[v] < 0 or total < ahead[v]:
                    ahead[v], take[v] = total, k
        if on[v] == 1 and take[v] >= 0 and (start < 0 or ahead[v] < ahead[start]):
            start = v
    return start


@jitable
def enter(
    rewards: Rewards,
    arm: Ints,
    head: Ints,
    mean: Floats,
    weight: Floats,
    along: Ints,
    place: Ints,
    begin: int,
    via: Ints,
    length: int,
    arms: Ints,
    sign: Floats,
    trial: Floats,
) -> tuple[float, int]:
    """The distance to a detour, and in how many arms it differs."""
    n = 0
    for j in range(length):
        arms[n], sign[n] = arm[via[j]], 1.0
        n += 1
    for i in range(place[begin], place[head[via[length - 1]]]):
        arms[n], sign[n] = arm[along[i]], -1.0
        n += 1
    return rewards.distance(mean, weight, arms, sign, n, trial), n


@jitable
def search(
    rewards: Rewards,
    first: Ints,
    arm: Ints,
    head: Ints,
    mean: Floats,
    weight: Floats,
    best: Floats,
    arms: Ints,
    sign: Floats,
    trial: Floats,
    trail: Trail,
    rival: Floats,
) -> float:
    """Write the nearest path, for any rewards; what its distance must be lowered to, if the search
    had to give up.
    """
    along, on, place, loss, price = (
        trail.along,
        trail.on,
        trail.place,
        trail.loss,
        trail.price,
    )
    ahead, take, spent, via, tried = trail.ahead, trail.take, trail.spent, trail.via, trail.tried
    steps = walk(first, arm, head, best, along, on, place)
    lose(rewards, first, arm, head, mean, steps, trail)

    nearest, slope = math.inf, 1.0
    for a in range(loss.size):
        price[a] = loss[a]
    # the detour that loses least; if M does not let it catch up, the one that M lets go
    # furthest
    for attempt in range(2):
        begin = v = cheapest(first, arm, head, best, trail)
        n = 0
        while n == 0 or on[v] == 0:
            via[n] = take[v]
            v = head[take[v]]
            n += 1
        nearest, n = enter(
            rewards, arm, head, mean, weight, along, place, begin, via, n, arms, sign, trial
        )
        rebuild(best, arms, sign, n, rival)
        if nearest < math.inf:
            slope = 2.0 * nearest / ahead[begin] if attempt == 0 and ahead[begin] > 0.0 else 1.0
            break
        toll(rewards, first, arm, head, mean, weight, best, 1.0, 0.0, trail)
    if nearest <= 0.0 or nearest == math.inf:
        return math.inf
    slope = slope if 1e-300 < slope < 1e300 else 1.0

    toll(rewards, first, arm, head, mean, weight, best, slope, 1.0, trail)
    start = cheapest(first, arm, head, best, trail)
    bound, changed = ahead[start], False
    for factor in FACTORS:  # the bound is concave in the multiplier, and holds at each
        while 1e-300 < slope * factor < 1e300 and bound < NEARLY * nearest:
            toll(rewards, first, arm, head, mean, weight, best, slope * factor, 1.0, trail)
            start = cheapest(first, arm, head, best, trail)
            changed = not ahead[start] > bound
            if changed:
                break
            slope, bound = slope * factor, ahead[start]
    if bound >= NEARLY * nearest:
        return math.inf
    if changed:
        toll(rewards, first, arm, head, mean, weight, best, slope, 1.0, trail)
        start = cheapest(first, arm, head, best, trail)

    tries = 0
    for i in range(
        steps
    ):  # detours that begin at each node of the path, from the one of the best bound on
        k = along[(place[start] + i) % steps]
        begin = 0
        while first[begin + 1] <= k:
            begin += 1
        depth, spent[0], tried[0] = 0, 0.0, -1
        while depth >= 0 and nearest > 0.0:
            tries += 1
            if tries > LIMIT:
                return float(max(bound, 0.0))
            v = begin if depth == 0 else head[via[depth - 1]]
            # the cheapest edge first (tried = -1), then the others in order: a good incumbent
            # prunes the rest
            k = take[v] if tried[depth] < 0 else first[v] + tried[depth]
            if tried[depth] >= 0 and (k >= first[v + 1] or take[v] < 0):
                depth -= 1
                continue
            again = tried[depth] >= 0 and k == take[v]
            tried[depth] += 1
            if k < 0 or again or best[arm[k]] > 0.5:
                continue
            cost, u = spent[depth] + price[k], head[k]
            if cost + (0.0 if on[u] == 1 else ahead[u]) >= NEARLY * nearest:
                continue
            via[depth] = k
            if on[u] == 0:
                depth += 1
                spent[depth], tried[depth] = cost, -1
                continue
            distance, n = enter(
                rewards,
                arm,
                head,
                mean,
                weight,
                along,
                place,
                begin,
                via,
                depth + 1,
                arms,
                sign,
                trial,
            )
            if distance < nearest:
                nearest = distance
                rebuild(best, arms, sign, n, rival)
    return math.inf
