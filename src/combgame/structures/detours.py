"""The nearest alternative to a path, exactly: adjacent paths differ by one detour, which leaves the path once and rejoins it.

`labels`: for Gaussian rewards the distance Delta^2 / (2 V) grows with the detour's loss Delta and falls with its variance V, so the
nearest one is Pareto-optimal in (reward, V): a dynamic programme in topological order that keeps the undominated pairs. With
prefix sums P, Q of rewards and variances along the path, a detour from u to v with reward r and variance s has
Delta = P(v) - (P(u) + r) and V = Q(v) + (s - Q(u)); so labels (P(u) + r, s - Q(u)) from all u can be compared with each other.

`search`: for any rewards, f_J = max over alpha of g(J, alpha), a sum over the arms of J xor I. At any alpha, g is a lower bound that a
shortest-path programme gives for all detours at once; a depth-first search at the best alpha visits every detour whose bound is
below the nearest one found.
"""

import math

import numpy as np

from .._marks import jitable
from ..protocols import Floats, Ints, Rewards
from ..rewards.base import WEIGHTLESS

# While the nearest path is searched, variances are taken to differ by at most this factor, the small ones being raised: prefix sums of them
# are subtracted, and beyond it nothing would be left of the small ones.
CANCEL = 1e10
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@jitable
def walk(first: Ints, arm: Ints, head: Ints, best: Floats, along: Ints) -> int:
    """The edges of the path `best`, in order: positions into `arm`; how many."""
    v, n = 0, 0
    while v < first.size - 2:
        for k in range(first[v], first[v + 1]):
            if best[arm[k]] > 0.5:
                along[n] = k
                n += 1
                v = head[k]
                break
    return n


@jitable
def blurs(rewards: Rewards, weight: Floats, tame: Floats, deciding: Floats, out: Floats) -> bool:
    """Variances with which to search, small ones raised (which lowers distances); whether any was. Arms that never decide have none."""
    dimmest, raised = 0.0, False
    for a in range(out.size):
        out[a] = rewards.blur(tame[a], a) if deciding[a] > 0.5 else 0.0
        if weight[a] >= WEIGHTLESS:
            dimmest = max(dimmest, out[a])
    for a in range(out.size):
        if deciding[a] > 0.5:
            if weight[a] < WEIGHTLESS:
                out[a] = 100.0 * dimmest if dimmest > 0.0 else 1.0
            elif out[a] * CANCEL < dimmest:
                out[a], raised = dimmest / CANCEL, True
    return raised


@jitable
def labels(first: Ints, arm: Ints, head: Ints, mean: Floats, blur: Floats, best: Floats, rival: Floats) -> float:
    """Write the Gaussian nearest path for these variances; its distance."""
    nodes = first.size - 1
    on = np.zeros(nodes, np.int64)
    gain, spread, along = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes, np.int64)
    steps, v = walk(first, arm, head, best, along), 0
    on[0] = 1
    for i in range(steps):
        k = along[i]
        gain[head[k]] = gain[v] + mean[arm[k]]
        spread[head[k]] = spread[v] + blur[arm[k]]
        v = head[k]
        on[v] = 1
    room, n = 4 * arm.size + 16, 0
    reward, extra = np.zeros(room), np.zeros(room)  # of a label
    parent, edge, follow = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    top = np.full(nodes, -1)
    value, last_label, last_edge = math.inf, -1, -1
    for v in range(nodes - 1):
        if n + 1 >= room:  # one label of its own
            reward, extra = np.append(reward, np.zeros(room)), np.append(extra, np.zeros(room))
            more = np.zeros(room, np.int64)
            parent, edge, follow = np.append(parent, more), np.append(edge, more), np.append(follow, more)
            room *= 2
        if on[v] == 1:  # a detour may begin here
            reward[n], extra[n], parent[n], edge[n], follow[n] = gain[v], -spread[v], -1, v, -1
            top[v] = n
            n += 1
        if top[v] < 0:
            continue
        for k in range(first[v], first[v + 1]):
            if best[arm[k]] > 0.5:
                continue
            u = head[k]
            step_reward, step_extra = mean[arm[k]], blur[arm[k]]
            before, label = -1, top[v]  # labels come with falling reward, so places in u's list only move on
            while label >= 0:
                a, b = reward[label] + step_reward, extra[label] + step_extra
                if on[u] == 1:
                    lead = max(gain[u] - a, 0.0)
                    found = 0.5 * lead * lead / (spread[u] + b)
                    if last_label < 0 or found < value:
                        value, last_label, last_edge = found, label, k
                else:
                    after = follow[before] if before >= 0 else top[u]
                    while after >= 0 and reward[after] >= a:
                        before, after = after, follow[after]
                    if before < 0 or extra[before] < b:  # undominated
                        while after >= 0 and extra[after] <= b:
                            after = follow[after]
                        if n == room:
                            reward, extra = np.append(reward, np.zeros(room)), np.append(extra, np.zeros(room))
                            more = np.zeros(room, np.int64)
                            parent, edge, follow = np.append(parent, more), np.append(edge, more), np.append(follow, more)
                            room *= 2
                        reward[n], extra[n], parent[n], edge[n], follow[n] = a, b, label, k, after
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
    cut(arm, head, along, steps, edge[last_label], end, rival)
    return value


@jitable
def cut(arm: Ints, head: Ints, along: Ints, steps: int, begin: int, end: int, rival: Floats) -> None:
    """Take the part of the path between the nodes `begin` and `end` out of the rival."""
    v = 0
    for i in range(steps):
        if begin <= v < end:  # nodes are in topological order
            rival[arm[along[i]]] = 0.0
        v = head[along[i]]


@jitable
def sweep(
    rewards: Rewards, first: Ints, arm: Ints, head: Ints, mean: Floats, tame: Floats, best: Floats, slope: float,
    on: Ints, along: Ints, steps: int, plus: Floats, prefix: Floats, ahead: Floats, take: Ints,
) -> float:  # fmt: skip
    """At a multiplier: what each edge costs, the cheapest way from each node back to the path, and the cheapest detour."""
    v = 0
    for i in range(steps):
        a = arm[along[i]]
        prefix[head[along[i]]] = prefix[v] + rewards.price(mean[a], tame[a], -slope, a)
        v = head[along[i]]
    least = math.inf
    for v in range(first.size - 3, -1, -1):
        ahead[v], take[v] = math.inf, -1
        for k in range(first[v], first[v + 1]):
            a = arm[k]
            if best[a] < 0.5:
                plus[k] = rewards.price(mean[a], tame[a], slope, a)
                found = plus[k] + (prefix[head[k]] if on[head[k]] == 1 else ahead[head[k]])
                if found < ahead[v]:
                    ahead[v], take[v] = found, k
        if on[v] == 1:
            least = min(least, ahead[v] - prefix[v])
    return least


@jitable
def search(
    rewards: Rewards, first: Ints, arm: Ints, head: Ints, mean: Floats, weight: Floats, tame: Floats, best: Floats, arms: Ints,
    sign: Floats, trial: Floats, rival: Floats,
) -> None:  # fmt: skip
    """Write the nearest path, for any rewards."""
    nodes = first.size - 1
    on, along, take = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    plus, prefix, ahead = np.zeros(arm.size), np.zeros(nodes), np.zeros(nodes)
    steps = walk(first, arm, head, best, along)
    on[0] = 1
    for i in range(steps):
        on[head[along[i]]] = 1
    slope = best_slope(rewards, first, arm, head, mean, tame, best, on, along, steps, plus, prefix, ahead, take)
    sweep(rewards, first, arm, head, mean, tame, best, slope, on, along, steps, plus, prefix, ahead, take)
    nearest, depth = math.inf, 0
    spent, via, tried = np.zeros(nodes + 1), np.zeros(nodes + 1, np.int64), np.zeros(nodes + 1, np.int64)
    for i in range(steps):  # detours that begin at the i-th node of the path
        begin = 0 if i == 0 else head[along[i - 1]]
        depth, spent[0], tried[0] = 0, -prefix[begin], -1
        while depth >= 0:
            v = begin if depth == 0 else head[via[depth - 1]]
            # the cheapest edge first (tried = -1), then the others in order: a good incumbent prunes the rest
            k = take[v] if tried[depth] < 0 else first[v] + tried[depth]
            if tried[depth] >= 0 and (k >= first[v + 1] or take[v] < 0):
                depth -= 1
                continue
            again = tried[depth] >= 0 and k == take[v]
            tried[depth] += 1
            if k < 0 or again or best[arm[k]] > 0.5:
                continue
            cost, u = spent[depth] + plus[k], head[k]
            bound = cost + (prefix[u] if on[u] == 1 else ahead[u])
            if bound >= nearest:
                continue
            via[depth] = k
            if on[u] == 0:
                depth += 1
                spent[depth], tried[depth] = cost, -1
                continue
            n = 0
            for j in range(depth + 1):
                arms[n], sign[n] = arm[via[j]], 1.0
                n += 1
            for j in range(i, steps):
                arms[n], sign[n] = arm[along[j]], -1.0
                n += 1
                if head[along[j]] == u:
                    break
            found = rewards.distance(mean, weight, arms, sign, n, trial)
            if found < nearest or nearest == math.inf:
                nearest = found
                for a in range(best.size):
                    rival[a] = best[a]
                for j in range(n):
                    rival[arms[j]] = 1.0 if sign[j] > 0.0 else 0.0


@jitable
def best_slope(
    rewards: Rewards, first: Ints, arm: Ints, head: Ints, mean: Floats, tame: Floats, best: Floats,
    on: Ints, along: Ints, steps: int, plus: Floats, prefix: Floats, ahead: Floats, take: Ints,
) -> float:  # fmt: skip
    """The multiplier with the best lower bound, roughly: the bound is concave, and holds at any multiplier."""
    right = 1.0
    while right < 1e12 and sweep(
        rewards, first, arm, head, mean, tame, best, right, on, along, steps, plus, prefix, ahead, take
    ) > 0.0:  # fmt: skip
        right *= 8.0
    while right > 1e-12 and sweep(
        rewards, first, arm, head, mean, tame, best, right / 8.0, on, along, steps, plus, prefix, ahead, take
    ) <= 0.0:  # fmt: skip
        right /= 8.0
    left = 0.0
    x, y = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_x = sweep(rewards, first, arm, head, mean, tame, best, x, on, along, steps, plus, prefix, ahead, take)
    at_y = sweep(rewards, first, arm, head, mean, tame, best, y, on, along, steps, plus, prefix, ahead, take)
    for _ in range(20):
        if at_x > at_y:
            right, y, at_y = y, x, at_x
            x = right - GOLDEN * (right - left)
            at_x = sweep(rewards, first, arm, head, mean, tame, best, x, on, along, steps, plus, prefix, ahead, take)
        else:
            left, x, at_x = x, y, at_y
            y = left + GOLDEN * (right - left)
            at_y = sweep(rewards, first, arm, head, mean, tame, best, y, on, along, steps, plus, prefix, ahead, take)
    return 0.5 * (left + right)
