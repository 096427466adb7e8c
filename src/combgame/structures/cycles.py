"""The nearest alternative to a matching, exactly: adjacent matchings differ by one alternating cycle (or path).

As a cycle of rows: row x takes the column of row y, y that of the next, ... One more node stands for the columns that are not
matched: a row may take one of those, and what it leaves behind is then free for no one. A row may also give up its column to become
unmatched in the place of an unmatched row (when `size` is below both sides).

At a multiplier, the price of a step x -> y is that of the arm that x gains and of the arm that y loses; the price of a cycle is a lower
bound of its distance. Shortest ways back (Floyd, Warshall) bound what is left of a cycle; a depth-first search at the best multiplier
visits every cycle whose bound is below the nearest one found.
"""

import math

import numpy as np

from .._marks import jitable
from ..protocols import Floats, Ints, Rewards
from .detours import GOLDEN


@jitable
def tables(
    rewards: Rewards, arm: Ints, mean: Floats, tame: Floats, best: Floats, slope: float, match: Ints,
    free: Ints, gains: Floats, losses: Floats, ways: Floats,
) -> float:  # fmt: skip
    """At a multiplier: the price of every arm gained and lost, the shortest ways between rows, and the cheapest cycle.

    match[r]: the column of a row, or -1. free[c]: 1 if a column is not matched. The last node is that of the free columns.
    """
    rows, columns = arm.shape
    for r in range(rows):
        losses[r] = 0.0
        if match[r] >= 0:
            a = arm[r, match[r]]
            losses[r] = rewards.price(mean[a], tame[a], -slope, a)
        for c in range(columns):
            a = arm[r, c]
            gains[r, c] = rewards.price(mean[a], tame[a], slope, a) if a >= 0 and best[a] < 0.5 else math.inf
    for x in range(rows + 1):
        for y in range(rows + 1):
            ways[x, y] = math.inf
    for x in range(rows):
        for y in range(rows):
            if x != y:
                if match[y] >= 0:
                    ways[x, y] = gains[x, match[y]] + losses[y]
                elif match[x] >= 0:
                    ways[x, y] = 0.0  # x becomes unmatched in the place of y
        for c in range(columns):
            if free[c] == 1:
                ways[x, rows] = min(ways[x, rows], gains[x, c])
        if match[x] >= 0:
            ways[rows, x] = losses[x]
    for z in range(rows + 1):
        for x in range(rows + 1):
            for y in range(rows + 1):
                if ways[x, z] + ways[z, y] < ways[x, y]:
                    ways[x, y] = ways[x, z] + ways[z, y]
    least = math.inf
    for x in range(rows + 1):
        least = min(least, ways[x, x])
    return least


@jitable
def search(
    rewards: Rewards, arm: Ints, row: Ints, column: Ints, mean: Floats, weight: Floats, tame: Floats, best: Floats, arms: Ints,
    sign: Floats, trial: Floats, rival: Floats,
) -> None:  # fmt: skip
    """Write the nearest matching."""
    rows, columns = arm.shape
    match, free = np.full(rows, -1), np.ones(columns, np.int64)
    for a in range(best.size):
        if best[a] > 0.5:
            match[row[a]] = column[a]
            free[column[a]] = 0
    gains, losses, ways = np.zeros((rows, columns)), np.zeros(rows), np.zeros((rows + 1, rows + 1))
    right = 1.0
    while right < 1e12 and tables(rewards, arm, mean, tame, best, right, match, free, gains, losses, ways) > 0.0:
        right *= 8.0
    while right > 1e-12 and tables(rewards, arm, mean, tame, best, right / 8.0, match, free, gains, losses, ways) <= 0.0:
        right /= 8.0
    left = 0.0
    x, y = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_x = tables(rewards, arm, mean, tame, best, x, match, free, gains, losses, ways)
    at_y = tables(rewards, arm, mean, tame, best, y, match, free, gains, losses, ways)
    for _ in range(16):
        if at_x > at_y:
            right, y, at_y = y, x, at_x
            x = right - GOLDEN * (right - left)
            at_x = tables(rewards, arm, mean, tame, best, x, match, free, gains, losses, ways)
        else:
            left, x, at_x = x, y, at_y
            y = left + GOLDEN * (right - left)
            at_y = tables(rewards, arm, mean, tame, best, y, match, free, gains, losses, ways)
    slope = x if at_x > at_y else y
    positive = tables(rewards, arm, mean, tame, best, slope, match, free, gains, losses, ways) > 0.0
    nearest, first = math.inf, True
    node, taken = np.zeros(rows + 2, np.int64), np.zeros(rows + 2, np.int64)  # the way so far, and the column each row took
    spent, tried, seen = np.zeros(rows + 2), np.zeros(rows + 2, np.int64), np.zeros(rows + 1, np.int64)
    for start in range(rows):  # cycles whose lowest row is `start`
        depth, node[0], spent[0], tried[0] = 0, start, 0.0, 0
        for v in range(rows + 1):
            seen[v] = 0
        seen[start] = 1
        while depth >= 0:
            v, option = node[depth], tried[depth]
            tried[depth] += 1
            # options: go to row `option`; then, take the free column `option - rows`
            if (v < rows and option >= rows + columns) or (v == rows and option >= rows):
                seen[v] = 0
                depth -= 1
                continue
            to, price, col = -1, math.inf, -1
            if option < rows:
                to = option
                if to < start or (seen[to] == 1 and to != start) or to == v:
                    continue
                if v == rows:
                    if match[to] >= 0:
                        price = losses[to]
                elif match[to] >= 0:
                    price, col = gains[v, match[to]] + losses[to], match[to]
                elif match[v] >= 0:
                    price = 0.0
            else:
                if free[option - rows] == 0 or seen[rows] == 1:
                    continue
                to, price, col = rows, gains[v, option - rows], option - rows
            cost = spent[depth] + price
            back = 0.0 if to == start else ways[to, start]
            if cost == math.inf or back == math.inf or (positive and cost + back >= nearest):
                continue
            taken[depth] = col
            if to != start:
                depth += 1
                node[depth], spent[depth], tried[depth] = to, cost, 0
                seen[to] = 1
                continue
            n = 0
            for i in range(depth + 1):
                r = node[i]
                if r < rows and match[r] >= 0:
                    arms[n], sign[n] = arm[r, match[r]], -1.0
                    n += 1
                if r < rows and taken[i] >= 0:
                    arms[n], sign[n] = arm[r, taken[i]], 1.0
                    n += 1
            found = rewards.distance(mean, weight, arms, sign, n, trial)
            if first or found < nearest:
                nearest, first = found, False
                for a in range(best.size):
                    rival[a] = best[a]
                for i in range(n):
                    rival[arms[i]] = 1.0 if sign[i] > 0.0 else 0.0
