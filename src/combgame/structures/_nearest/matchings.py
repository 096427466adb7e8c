"""Search for the nearest alternative to a matching.

Adjacent matchings differ by one alternating cycle (or path). It is written as a cycle of rows: row
x takes the column of row y, y that of the next row, and so on. One more node stands for the columns
that are not matched: a row may take one of those, and the column that it leaves is then available
to no other row. A row may also give up its column and become unmatched in the place of an unmatched
row (when the matching is smaller than both sides).

The loss of a cycle is the sum of the reduced costs of its arms under the potentials of the
assignment problem, none of which is far below 0. Large means therefore cancel once, with twice the
digits, and not in every sum. At a multiplier, the price of a step x -> y is that of the arm that x
gains and of the arm that y loses. The price of a cycle is a lower bound of its distance. Shortest
ways back (Floyd, Warshall) bound the rest of a cycle. A depth-first search at the best multiplier
visits every cycle whose bound is below the nearest distance found. As in `paths.search`, bounds are
shaved by more than rounding can have added to them.
"""

import math
from typing import NamedTuple

import numpy as np

from ...engine.jit import jitable
from ...engine.likelihood_ratio import rebuild
from ...engine.numerics import two_sum
from ...engine.protocols import RewardKernel
from ...engine.state import Floats, Ints
from ...rewards.base import SHAVE, WEIGHTLESS, shaved
from .paths import FACTORS, LIMIT, NEARLY


class AlternatingCycleWorkspace(NamedTuple):
    """Scratch arrays; nodes are the rows, and one more node for the free columns."""

    arm: Ints  # int64[rows, columns]: -1 where the pair is forbidden
    row_worth: Floats  # potentials, written by the caller
    column_worth: Floats
    match: Ints  # the column of a row, or -1
    owner: Ints  # the row of a column; the last node for a free column
    loss: Floats  # float64[rows, columns]
    gains: Floats  # float64[rows, columns]: the price of an arm that is gained
    losses: Floats  # the price of the arm that a row loses
    pay: Floats  # float64[nodes, nodes]: the price of a step
    ways: Floats  # float64[nodes, nodes]: the price of the shortest way
    hop: Ints  # int64[nodes, nodes]: the first node of the shortest way
    column: Ints  # the cheapest free column of a row
    node: Ints  # the nodes of the cycle so far
    taken: Ints  # the columns that these nodes take
    spent: Floats
    tried: Ints
    seen: Ints


def make_board(arm: Ints) -> AlternatingCycleWorkspace:
    rows, columns = arm.shape
    nodes = rows + 1

    def whole(*shape: int) -> Ints:
        return np.zeros(shape, np.int64)

    return AlternatingCycleWorkspace(
        arm.copy(),
        np.zeros(rows),
        np.zeros(columns),
        whole(rows),
        whole(columns),
        np.zeros((rows, columns)),
        np.zeros((rows, columns)),
        np.zeros(rows),
        np.zeros((nodes, nodes)),
        np.zeros((nodes, nodes)),
        whole(nodes, nodes),
        whole(rows),
        whole(nodes + 1),
        whole(nodes + 1),
        np.zeros(nodes + 1),
        whole(nodes + 1),
        whole(nodes),
    )


@jitable
def setup(
    board: AlternatingCycleWorkspace,
    rewards: RewardKernel,
    mean: Floats,
    row: Ints,
    column: Ints,
    best: Floats,
) -> None:
    """Write the matching and the loss of each arm.

    The loss is the potential of its row and column minus its own mean. The potentials are shifted
    so that free columns have potential 0.
    """
    rows, columns = board.arm.shape
    for r in range(rows):
        board.match[r] = -1
    for c in range(columns):
        board.owner[c] = rows
    for a in range(best.size):
        if best[a] > 0.5:
            board.match[row[a]] = column[a]
            board.owner[column[a]] = row[a]
    base = 0.0
    for c in range(columns):
        if board.owner[c] == rows:
            base = board.column_worth[c]
    for c in range(columns):
        board.column_worth[c] -= base
    for r in range(rows):
        board.row_worth[r] += base
        for c in range(columns):
            a = board.arm[r, c]
            if a >= 0:
                total, some = two_sum(board.row_worth[r], board.column_worth[c])
                total, more = two_sum(total, -rewards.project(mean[a], a))
                board.loss[r, c] = total + (some + more)


@jitable
def edge_costs(
    board: AlternatingCycleWorkspace,
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    slope: float,
    shave: float,
    share: float,
) -> None:
    """Compute the shaved price of every step at a multiplier, with a share of the weights.

    Without a shave, the price is that of the losses alone.
    """
    rows, columns = board.arm.shape
    for r in range(rows):
        board.losses[r] = 0.0
        for c in range(columns):
            a, away = board.arm[r, c], slope * board.loss[r, c]
            board.gains[r, c] = math.inf
            if c == board.match[r]:
                board.losses[r] = -away - shave * abs(away)
                if shave > 0.0:
                    board.losses[r] += shaved(rewards, mean[a], share * weight[a], -slope, a)
            elif a >= 0:
                away -= slope * board.column_worth[c] if board.owner[c] == rows else 0.0
                board.gains[r, c] = away - shave * (abs(away) + slope * abs(board.column_worth[c]))
                if shave > 0.0:
                    board.gains[r, c] += shaved(rewards, mean[a], share * weight[a], slope, a)
    for x in range(rows):
        board.pay[x, rows], board.pay[rows, x], board.column[x] = math.inf, math.inf, -1
        for c in range(columns):
            if board.owner[c] == rows and board.gains[x, c] < board.pay[x, rows]:
                board.pay[x, rows], board.column[x] = board.gains[x, c], c
        if board.match[x] >= 0:
            away = slope * board.column_worth[board.match[x]]
            board.pay[rows, x] = board.losses[x] + away - shave * abs(away)
        for y in range(rows):
            board.pay[x, y] = math.inf
            if x != y and board.match[y] >= 0:
                gain = board.gains[
                    x, board.match[y]
                ]  # infinite if forbidden; what is lost may be minus infinity
                board.pay[x, y] = gain + board.losses[y] if gain < math.inf else math.inf
            elif x != y and board.match[x] >= 0:  # x becomes unmatched in the place of y
                away = slope * (board.row_worth[x] - board.row_worth[y])
                board.pay[x, y] = away - shave * abs(away)
    board.pay[rows, rows] = math.inf


@jitable
def shortest(board: AlternatingCycleWorkspace, least: float) -> int:
    """Find the shortest ways, where steps below `least` count as `least`.

    Returns the node of the shortest cycle, or -1 if some cycle is below 0.
    """
    n, ways, hop, start = board.pay.shape[0], board.ways, board.hop, 0
    for x in range(n):
        for y in range(n):
            ways[x, y], hop[x, y] = max(board.pay[x, y], least), y
    for z in range(n):
        for x in range(n):
            if ways[x, z] < math.inf:
                for y in range(n):
                    if ways[z, y] < math.inf and ways[x, z] + ways[z, y] < ways[x, y]:
                        ways[x, y], hop[x, y] = ways[x, z] + ways[z, y], hop[x, z]
            if ways[x, x] < 0.0:
                return -1
    for x in range(n):
        if ways[x, x] < ways[start, start]:
            start = x
    return start


@jitable
def takes(board: AlternatingCycleWorkspace, v: int, to: int) -> int:
    """Return the column that a node takes by a step; -1 for none."""
    rows = board.match.size
    return -1 if v == rows else board.column[v] if to == rows else board.match[to]


@jitable
def follow(board: AlternatingCycleWorkspace, start: int, column: int, to: int) -> int:
    """Lay out the cycle that begins with a step and returns by the shortest way.

    Returns the number of its nodes; 0 if a node occurs twice.
    """
    board.node[0], board.taken[0], n = start, column, 1
    for v in range(board.seen.size):
        board.seen[v] = 0
    while to != start:
        if board.seen[to] == 1:
            return 0
        board.seen[to], after = 1, board.hop[to, start]
        board.node[n], board.taken[n] = to, takes(board, to, after)
        to = after
        n += 1
    return n


@jitable
def weightless(board: AlternatingCycleWorkspace, rewards: RewardKernel, weight: Floats) -> int:
    """Lay out the cheapest cycle with an arm that has no weight and may take any mean.

    Returns the number of its nodes; 0 if there is no such cycle.
    """
    rows, columns = board.arm.shape
    row, column, to, least = -1, -1, -1, math.inf
    for r in range(rows):
        for c in range(columns):
            a, lost = board.arm[r, c], c == board.match[r]
            out = -math.inf if lost else math.inf
            if a >= 0 and weight[a] < WEIGHTLESS and rewards.project(out, a) == out:
                after = board.hop[r, r] if lost else board.owner[c]
                taken = takes(board, r, after) if lost else c
                away = board.ways[r, r] if lost else board.gains[r, c] + board.ways[after, r]
                if away < least:
                    row, column, to, least = r, taken, after, away
    return follow(board, row, column, to) if row >= 0 else 0


@jitable
def enter(
    board: AlternatingCycleWorkspace,
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    length: int,
    arms: Ints,
    sign: Floats,
    trial: Floats,
) -> tuple[float, int]:
    """Return the distance to the laid-out cycle, and the number of arms in which it differs."""
    rows, n = board.match.size, 0
    for i in range(length):
        r = board.node[i]
        if r < rows and board.match[r] >= 0:
            arms[n], sign[n] = board.arm[r, board.match[r]], -1.0
            n += 1
        if r < rows and board.taken[i] >= 0:
            arms[n], sign[n] = board.arm[r, board.taken[i]], 1.0
            n += 1
    return rewards.transportation_cost(mean, weight, arms, sign, n, trial), n


@jitable
def search(
    board: AlternatingCycleWorkspace,
    rewards: RewardKernel,
    mean: Floats,
    weight: Floats,
    best: Floats,
    arms: Ints,
    sign: Floats,
    trial: Floats,
    rival: Floats,
) -> float:
    """Write the nearest matching; return a limit of its distance if the search gave up.

    The limit is infinity if the search was complete.
    """
    rows, columns = board.arm.shape
    edge_costs(board, rewards, mean, weight, 1.0, 0.0, 1.0)
    start, tied = shortest(board, -math.inf), False
    if start < 0:  # some matching is better, if only by rounding
        start, tied = shortest(board, 0.0), True
    away = board.ways[start, start]  # the cycle that loses least: a multiplier to begin with
    length, to = weightless(board, rewards, weight), board.hop[start, start]
    length = length if length > 0 else follow(board, start, takes(board, start, to), to)
    nearest, n = (
        enter(board, rewards, mean, weight, length, arms, sign, trial)
        if length > 0
        else (math.inf, 0)
    )
    rebuild(best, arms, sign, n, rival)
    if length > 0 and (tied or nearest <= 0.0):
        return 0.0
    if nearest == math.inf:  # does M let any cycle catch up?
        edge_costs(board, rewards, mean, weight, 1.0, SHAVE, 0.0)
        start = shortest(board, -math.inf)
        if n > 0 and start >= 0 and board.ways[start, start] > 0.0:
            return math.inf
    slope = 2.0 * nearest / away if away > 0.0 else 1.0
    slope, bound, last = slope if 1e-300 < slope < 1e300 else 1.0, -math.inf, 0.0
    for factor in (1.0, *FACTORS):  # the bound is concave in the multiplier, and holds at each
        while 1e-300 < slope * factor < 1e300 and bound < NEARLY * nearest:
            last = slope * factor
            edge_costs(board, rewards, mean, weight, last, SHAVE, 1.0)
            start = shortest(board, -math.inf)
            value = board.ways[start, start] if start >= 0 else -last
            if not value > bound:
                break
            slope, bound = last, value
    if bound >= NEARLY * nearest:
        return math.inf
    if last != slope:
        edge_costs(board, rewards, mean, weight, slope, SHAVE, 1.0)
        shortest(board, -math.inf)

    tries, node, spent, tried, seen = 0, board.node, board.spent, board.tried, board.seen
    for start in range(rows):  # cycles whose lowest row is `start`
        depth, node[0], spent[0], tried[0] = 0, start, 0.0, 0
        for v in range(rows + 1):
            seen[v] = 0
        seen[start] = 1
        while depth >= 0 and nearest > 0.0:
            v, option = node[depth], tried[depth]
            tried[depth] += 1
            tries += 1
            if tries > LIMIT:
                return max(bound, 0.0)
            # options: go to row `option`; then, take the free column `option - rows`
            if (v < rows and option >= rows + columns) or (v == rows and option >= rows):
                seen[v] = 0
                depth -= 1
                continue
            if option < rows:
                to, price = option, board.pay[v, option]
                if to < start or (seen[to] == 1 and to != start):
                    continue
                board.taken[depth] = board.match[to] if v < rows else -1
            else:
                to, price = rows, board.gains[v, option - rows]
                if board.owner[option - rows] < rows or seen[rows] == 1:
                    continue
                board.taken[depth] = option - rows
            if price == math.inf:
                continue
            cost, back = spent[depth] + price, 0.0 if to == start else board.ways[to, start]
            # without a bound, `ways` means nothing; a step may cost minus infinity although there
            # is no way back
            if bound > 0.0 and (back == math.inf or cost + back >= NEARLY * nearest):
                continue
            if to != start:
                depth += 1
                node[depth], spent[depth], tried[depth] = to, cost, 0
                seen[to] = 1
                continue
            distance, size = enter(board, rewards, mean, weight, depth + 1, arms, sign, trial)
            if distance < nearest or n == 0:
                nearest, n = distance, size
                rebuild(best, arms, sign, n, rival)
    return 0.0 if tied else math.inf
