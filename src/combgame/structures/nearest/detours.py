"""The nearest alternative to a path: adjacent paths differ by one detour, which leaves the path
once and rejoins it.

What a detour loses against the path is the sum of its edges' *losses*: how much worse than the best
way to its head each of them is. A loss is at least 0, so losses are added up and never subtracted.
So are variances: all detours at a node are charged for the path up to its *place*, the last node of
the path that comes before it, which all of them go past. Sums of positive numbers keep their digits
whatever the arms' precisions, and rounding is monotone, so that what is worse is not taken for
better.

`labels`: for Gaussian rewards the distance Delta^2 / (2 V) grows with the detour's loss Delta and
falls with its variance V, so the nearest one is Pareto-optimal in the two: a dynamic programme in
topological order that keeps the undominated pairs.
"""

import math
from typing import NamedTuple

import numpy as np

from ...game.growing import longer
from ...game.marks import jitable
from ...game.numerics import two_sum
from ...game.protocols import Rewards
from ...game.records import Floats, Ints
from ...rewards.base import WEIGHTLESS

ROOM = 4  # labels per edge, before there are more


class Trail(NamedTuple):
    """Scratch, of `labels` and of `detour_search`."""

    along: Ints  # int64[nodes]: see `walk`
    on: Ints
    place: Ints
    worth: Floats  # float64[nodes]: see `lose`
    rest: Floats
    loss: Floats  # float64[edges]
    top: Ints  # int64[nodes]: the first label of a node
    behind: Floats  # of a label: its loss
    variance: Floats
    parent: Ints
    edge: Ints
    follow: Ints  # the next label of its node
    outgrown: Ints  # int64[1]: 1 if there was no room for all labels
    price: Floats  # float64[edges]
    saved: Floats  # float64[nodes]
    ahead: Floats
    take: Ints
    spent: Floats
    via: Ints
    tried: Ints


def make_trail(nodes: int, edges: int) -> Trail:
    room = 2 * nodes + ROOM * edges  # a first label for every node, and a beginning

    def whole(n: int) -> Ints:
        return np.zeros(n, np.int64)

    return Trail(
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
    """The edges of the path `best`, in order: positions into `arm`; how many.

    on[v]: 1 for the nodes of the path. place[v]: the number of its last node that does not come
    after v.
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
    rewards: Rewards,
    first: Ints,
    arm: Ints,
    head: Ints,
    mean: Floats,
    steps: int,
    trail: Trail,
) -> None:
    """What each edge loses against the best way to its head, which for the path's nodes is the
    path; in twice the digits.
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
    rewards: Rewards,
    first: Ints,
    arm: Ints,
    head: Ints,
    mean: Floats,
    weight: Floats,
    best: Floats,
    trail: Trail,
    rival: Floats,
) -> None:
    """Write the nearest path for Gaussian rewards and free means; of equally near ones the one that
    loses least.
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
            more_variance = rewards.blur(weight[a], a) if weight[a] >= WEIGHTLESS else math.inf
            for i in range(place[v], place[u]):
                b = arm[along[i]]
                more_variance += rewards.blur(weight[b], b) if weight[b] >= WEIGHTLESS else math.inf
            before, label = (
                -1,
                top[v],
            )  # labels come with rising losses, so places in u's list only move on
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
                        if n + nodes >= behind.size:  # a card: what is left is for first labels
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
    for i in range(place[edge[last_label]], place[end]):  # the part of the path that it goes around
        rival[arm[along[i]]] = 0.0
