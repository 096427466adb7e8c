"""Search for the nearest alternative to a path.

Adjacent paths differ by one detour, which leaves the path once and rejoins it. What a detour loses
against the path is the sum of the *losses* of its edges: how much worse than the best way to its
head each edge is. Losses are at least 0, so they are added up and never subtracted. The same holds
for variances: all detours at a node are charged for the path up to the *place* of the node, the
last node of the path that comes before it, since all of them bypass it. Sums of positive numbers
keep their digits whatever the precisions of the arms, and rounding is monotone, so a worse detour
is not mistaken for a better one.

`labels` serves Gaussian rewards: the distance Delta^2 / (2 V) grows with the loss Delta of the
detour and decreases with its variance V, so the nearest detour is Pareto-optimal in the two. A
dynamic programme in topological order keeps the undominated pairs.

`search` serves any rewards: a depth-first search that certified bounds prune. The distance f_J is
the maximum over alpha of g(J, alpha), a sum over the arms of J xor I: alpha times the losses of the
detour, and what moving each arm saves (`shaved`). At any alpha, g is a lower bound, which a
shortest-path programme gives for all detours at once. The search at the best alpha visits every
detour whose bound is below the nearest distance found. The bounds are shaved by more than rounding
can have added to them, so no skipped detour is nearer.
"""

import math
from typing import NamedTuple

import numpy as np

from ...engine.action_table import longer
from ...engine.jit import jitable
from ...engine.likelihood_ratio import rebuild
from ...engine.numerics import two_sum
from ...engine.protocols import RewardKernel
from ...engine.state import Floats, Ints
from ...rewards.base import SHAVE, WEIGHTLESS, shaved

ROOM = 4  # initial number of labels per edge


class DetourWorkspace(NamedTuple):
    """Scratch arrays of `labels` and `search`."""

    along: Ints  # int64[nodes]: see `walk`
    on: Ints
    place: Ints
    worth: Floats  # float64[nodes]: see `lose`
    rest: Floats
    loss: Floats  # float64[edges]
    top: Ints  # int64[nodes]: the first label of a node
    behind: Floats  # the loss of a label
    variance: Floats
    parent: Ints
    edge: Ints
    follow: Ints  # the next label of its node
    outgrown: Ints  # int64[1]: 1 if the arrays were too small for all labels
    price: Floats  # float64[edges]
    saved: Floats  # float64[nodes]
    ahead: Floats
    take: Ints
    spent: Floats
    via: Ints
    tried: Ints


def make_trail(nodes: int, edges: int) -> DetourWorkspace:
    room = 2 * nodes + ROOM * edges  # a first label for every node, and a beginning

    def whole(n: int) -> Ints:
        return np.zeros(n, np.int64)

    return DetourWorkspace(
        whole(nodes),
        whole(nodes),
        whole(nodes),
        np.zeros(nodes),
        np.zeros(nodes),
        np.zeros(edges),
        whole(nodes),
        np.zeros(room),
        np.zeros(room),
        whole(room),
        whole(room),
        whole(room),
        whole(1),
        np.zeros(edges),
        np.zeros(nodes),
        np.zeros(nodes),
        whole(nodes),
        np.zeros(nodes),
        whole(nodes),
        whole(nodes),
    )


@jitable
def walk(
    first: Ints, arm: Ints, head: Ints, best: Floats, along: Ints, on: Ints, place: Ints
) -> int:
    """List the edges of the path `best` in order, as positions in `arm`, and return their number.

    ``on[v]`` becomes 1 for the nodes of the path. ``place[v]`` becomes the number of the last node
    of the path that does not come after v.
    """
    v, n = 0, 0
    for u in range(first.size - 1):
        on[u] = 0
    on[0] = 1
    while v < first.size - 2:
        for k in range(first[v], first[v + 1]):
            if best[arm[k]] > 0.5:
                along[n] = k
                for u in range(v, head[k]):  # nodes are in topological order
                    place[u] = n
                n += 1
                v = head[k]
                on[v] = 1
                break
    place[v] = n
    return n


@jitable
def lose(
    rewards: RewardKernel,
    first: Ints,
    arm: Ints,
    head: Ints,
    mean: Floats,
    steps: int,
    trail: DetourWorkspace,
) -> None:
    """Compute the loss of each edge against the best way to its head, with twice the digits.

    For the nodes of the path, the best way is the path itself.
    """
    nodes, v, along, on = first.size - 1, 0, trail.along, trail.on
    worth, rest, loss = trail.worth, trail.rest, trail.loss
    for u in range(nodes):
        worth[u], rest[u] = -math.inf, 0.0
    worth[0] = 0.0
    for i in range(steps):
        k = along[i]
        total, lost = two_sum(worth[v], rewards.project(mean[arm[k]], arm[k]))
        lost += rest[v]
        v = head[k]
        worth[v], rest[v] = two_sum(total, lost)
    for v in range(nodes - 1):
        for k in range(first[v], first[v + 1]):
            u = head[k]
            if on[u] == 0:
                total, lost = two_sum(worth[v], rewards.project(mean[arm[k]], arm[k]))
                total, lost = two_sum(total, lost + rest[v])
                if total > worth[u] or (total == worth[u] and lost > rest[u]):
                    worth[u], rest[u] = total, lost
    for v in range(nodes - 1):
        for k in range(first[v], first[v + 1]):
            u = head[k]
            ahead, some = two_sum(worth[u], -worth[v])
            ahead, more = two_sum(ahead, -rewards.project(mean[arm[k]], arm[k]))
            loss[k] = ahead + (some + more + rest[u] - rest[v])
            if on[u] == 0:
                loss[k] = max(loss[k], 0.0)


@jitable(allocates=True)
def labels(
    rewards: RewardKernel,
    first: Ints,
    arm: Ints,
    head: Ints,
    mean: Floats,
    weight: Floats,
    best: Floats,
    trail: DetourWorkspace,
    rival: Floats,
) -> None:
    """Write the nearest path for Gaussian rewards without bounds on the means.

    Among equally near paths it is the one that loses least.
    """
    nodes, along, on, place, loss = (
        first.size - 1,
        trail.along,
        trail.on,
        trail.place,
        trail.loss,
    )
    steps, n, top = walk(first, arm, head, best, along, on, place), nodes, trail.top
    lose(rewards, first, arm, head, mean, steps, trail)
    behind, variance, parent, edge, follow = (
        trail.behind,
        trail.variance,
        trail.parent,
        trail.edge,
        trail.follow,
    )
    for v in range(nodes):
        top[v] = -1
    value, least, last_label, last_edge = math.inf, math.inf, -1, -1
    for v in range(nodes - 1):
        if on[v] == 1:  # a detour may begin here: with label v
            behind[v], variance[v], parent[v], edge[v], follow[v] = 0.0, 0.0, -1, v, -1
            top[v] = v
        if top[v] < 0:
            continue
        for k in range(first[v], first[v + 1]):
            if best[arm[k]] > 0.5:
                continue
            u, a = head[k], arm[k]
            more_variance = (
                rewards.quadratic_variance(weight[a], a) if weight[a] >= WEIGHTLESS else math.inf
            )
            for i in range(place[v], place[u]):
                b = arm[along[i]]
                more_variance += (
                    rewards.quadratic_variance(weight[b], b)
                    if weight[b] >= WEIGHTLESS
                    else math.inf
                )
            # labels come with rising losses, so positions in the list of u only move forward
            before, label = -1, top[v]
            while label >= 0:
                lead, blur = behind[label] + loss[k], variance[label] + more_variance
                if on[u] == 1:
                    lead = max(lead, 0.0)
                    cost = 0.5 * lead * (lead / blur)
                    if last_label < 0 or cost < value or (cost == value and lead < least):
                        value, least, last_label, last_edge = cost, lead, label, k
                else:
                    after = follow[before] if before >= 0 else top[u]
                    while after >= 0 and behind[after] <= lead:
                        before, after = after, follow[after]
                    undominated = before < 0 or variance[before] < blur
                    if undominated and n + nodes >= behind.size:
                        behind, variance = longer(behind), longer(variance)
                        parent, edge, follow = longer(parent), longer(edge), longer(follow)
                        # arrays cannot grow on a GPU, so the rest is kept for first labels
                        if n + nodes >= behind.size:
                            trail.outgrown[0] = 1
                            undominated = top[u] < 0
                    if undominated:
                        while after >= 0 and variance[after] <= blur:
                            after = follow[after]
                        behind[n], variance[n], parent[n], edge[n], follow[n] = (
                            lead,
                            blur,
                            label,
                            k,
                            after,
                        )
                        if before < 0:
                            top[u] = n
                        else:
                            follow[before] = n
                        before = n
                        n += 1
                label = follow[label]
    for i in range(best.size):
        rival[i] = best[i]
    end = head[last_edge]
    rival[arm[last_edge]] = 1.0
    while parent[last_label] >= 0:
        rival[arm[edge[last_label]]] = 1.0
        last_label = parent[last_label]
    for i in range(place[edge[last_label]], place[end]):  # the part of the path that is bypassed
        rival[arm[along[i]]] = 0.0


# a multiplier is changed by these factors while the bound improves
FACTORS = (8.0, 0.125, 2.0, 0.5, 1.25, 0.8)
NEARLY = 1.0 - 1e-10  # sets above this share of the nearest distance are not searched
LIMIT = 200_000  # steps after which a search gives up, so that only its bound is certain


@jitable
def edge_costs(
    rewards: RewardKernel,
    first: Ints,
    arm: Ints,
    head: Ints,
    mean: Floats,
    weight: Floats,
    best: Floats,
    slope: float,
    share: float,
    trail: DetourWorkspace,
) -> None:
    """Price the edges at a multiplier, with a share of the weights.

    The price is the cost of taking an edge and leaving out the path up to the place of its head.
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
    trail: DetourWorkspace,
) -> int:
    """Find the cheapest way from each node back to the path.

    Returns the node of the path at which the cheapest detour begins.
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
    rewards: RewardKernel,
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
    """Return the distance to a detour, and the number of arms in which it differs."""
    n = 0
    for j in range(length):
        arms[n], sign[n] = arm[via[j]], 1.0
        n += 1
    for i in range(place[begin], place[head[via[length - 1]]]):
        arms[n], sign[n] = arm[along[i]], -1.0
        n += 1
    return rewards.transportation_cost(mean, weight, arms, sign, n, trial), n


@jitable
def search(
    rewards: RewardKernel,
    first: Ints,
    arm: Ints,
    head: Ints,
    mean: Floats,
    weight: Floats,
    best: Floats,
    arms: Ints,
    sign: Floats,
    trial: Floats,
    trail: DetourWorkspace,
    rival: Floats,
) -> float:
    """Write the nearest path for any rewards; return a limit of its distance if the search gave up.

    The limit is infinity if the search was complete.
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
    # begin with the detour that loses least; if it cannot catch up in M, begin with the detour that
    # M lets come furthest
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
        edge_costs(rewards, first, arm, head, mean, weight, best, 1.0, 0.0, trail)
    if nearest <= 0.0 or nearest == math.inf:
        return math.inf
    slope = slope if 1e-300 < slope < 1e300 else 1.0

    edge_costs(rewards, first, arm, head, mean, weight, best, slope, 1.0, trail)
    start = cheapest(first, arm, head, best, trail)
    bound, changed = ahead[start], False
    for factor in FACTORS:  # the bound is concave in the multiplier, and holds at each
        while 1e-300 < slope * factor < 1e300 and bound < NEARLY * nearest:
            edge_costs(rewards, first, arm, head, mean, weight, best, slope * factor, 1.0, trail)
            start = cheapest(first, arm, head, best, trail)
            changed = not ahead[start] > bound
            if changed:
                break
            slope, bound = slope * factor, ahead[start]
    if bound >= NEARLY * nearest:
        return math.inf
    if changed:
        edge_costs(rewards, first, arm, head, mean, weight, best, slope, 1.0, trail)
        start = cheapest(first, arm, head, best, trail)

    tries = 0
    # detours that begin at each node of the path, starting with the node of the best bound
    for i in range(steps):
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
            # the cheapest edge comes first (tried = -1), then the others in order, because a good
            # incumbent prunes the rest
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
