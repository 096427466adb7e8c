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

import numpy as np

from ...game.marks import jitable
from ...game.numerics import two_sum
from ...game.protocols import Rewards
from ...game.records import Floats, Ints
from ...rewards.base import WEIGHTLESS


@jitable
def walk(
    first: Ints, arm: Ints, head: Ints, best: Floats, along: Ints, on: Ints, place: Ints
) -> int:
    """The edges of the path `best`, in order: positions into `arm`; how many.

    on[v]: 1 for the nodes of the path. place[v]: the number of its last node that does not come
    after v.
    """
    v, n = 0, 0
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
    along: Ints,
    on: Ints,
    steps: int,
    loss: Floats,
) -> None:
    """What each edge loses against the best way to its head, which for the path's nodes is the
    path; in twice the digits.
    """
    nodes, v = first.size - 1, 0
    worth, rest = np.full(nodes, -math.inf), np.zeros(nodes)
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


@jitable
def labels(
    rewards: Rewards,
    first: Ints,
    arm: Ints,
    head: Ints,
    mean: Floats,
    weight: Floats,
    best: Floats,
    rival: Floats,
) -> None:
    """Write the nearest path for Gaussian rewards and free means; of equally near ones the one that
    loses least.
    """
    nodes = first.size - 1
    along, on, place = (
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
    )
    steps, loss = walk(first, arm, head, best, along, on, place), np.zeros(arm.size)
    lose(rewards, first, arm, head, mean, along, on, steps, loss)
    room, n = 4 * arm.size + 16, 0
    behind, variance = np.zeros(room), np.zeros(room)  # of a label: its loss, its variance
    parent, edge, follow = (
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
    )
    top = np.full(nodes, -1)
    value, least, last_label, last_edge = math.inf, math.inf, -1, -1
    for v in range(nodes - 1):
        if on[v] == 1:  # a detour may begin here
            if n == room:
                behind, variance = (
                    np.append(behind, np.zeros(room)),
                    np.append(variance, np.zeros(room)),
                )
                more = np.zeros(room, np.int64)
                parent, edge, follow = (
                    np.append(parent, more),
                    np.append(edge, more),
                    np.append(follow, more),
                )
                room *= 2
            behind[n], variance[n], parent[n], edge[n], follow[n] = 0.0, 0.0, -1, v, -1
            top[v] = n
            n += 1
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
                    if before < 0 or variance[before] < blur:  # undominated
                        while after >= 0 and variance[after] <= blur:
                            after = follow[after]
                        if n == room:
                            behind, variance = (
                                np.append(behind, np.zeros(room)),
                                np.append(variance, np.zeros(room)),
                            )
                            more = np.zeros(room, np.int64)
                            parent, edge, follow = (
                                np.append(parent, more),
                                np.append(edge, more),
                                np.append(follow, more),
                            )
                            room *= 2
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
