"""The union bound over single alternating cycles and paths of a matching.

The matching fills the smaller side. A depth-first search is pruned by prices of arms, as in
`paths`: for each reference, the cheapest walks of j more rows are known from every row, whether or
not they meet a row twice. So the largest of the sums bounds every component that begins like the
one so far.
"""

import math
from typing import NamedTuple

import numpy as np

from ...engine.jit import jitable
from ...engine.likelihood_ratio import REFERENCES, differ, rebuild
from ...engine.protocols import SetEvidence
from ...engine.state import Fixed, FixedInts, Floats, Ints
from .._nearest.paths import LIMIT
from .listed import by_size


class MatchingUnionBound(NamedTuple):
    """The union bound over components of a matching.

    A component is a sequence of rows: each row takes the column of the next one, and the last row
    takes that of the first, or a free column.
    """

    board: FixedInts  # int64[rows, columns]: arms, or -1; all rows are matched
    row: FixedInts  # the row of an arm
    column: FixedInts
    chance: Fixed  # float64[rows + 1]: log shares by the number of rows
    arms: Ints  # scratch: d
    sign: Floats
    steps: Ints  # scratch: int64[4, rows]
    free: Ints  # scratch: int64[columns]
    price: Floats  # scratch: float64[references, rows, columns]
    rest: Floats  # scratch: float64[references, rows + 2, rows]
    spent: Floats  # scratch: float64[references, rows + 1]
    reach: Floats  # scratch: float64[2, rows]

    def log_weight(self, best: Floats, rival: Floats) -> float:
        """Return the log share of the number of rows that change."""
        n = 0
        for a in range(best.size):
            if best[a] > rival[a]:
                n += 1
        return float(self.chance[n])

    def minimise_evidence(
        self, weigher: SetEvidence, best: Floats, floor: float, least: float, rival: Floats
    ) -> float:
        """Search the components, each from its lowest row."""
        (rows, columns), arms, sign, board = self.board.shape, self.arms, self.sign, self.board
        weigher.price_arms(best, arms, sign, differ(best, rival, arms, sign))
        base, tries, lowest = weigher.price_offset, 0, math.inf
        match, node, option, used = self.steps[0], self.steps[1], self.steps[2], self.steps[3]
        free, price, rest, spent = self.free, self.price, self.rest, self.spent
        for c in range(columns):
            free[c] = 1
        for a in range(best.size):
            if best[a] > 0.5:
                match[self.row[a]], free[self.column[a]] = self.column[a], 0
        edge_costs(weigher.arm_prices, board, match, price)
        for start in range(rows):
            walks(price, match, free, self.chance, start, self.reach, rest)
            bound = -math.inf
            for r in range(base.size):
                spent[r, 0] = base[r]
                bound = max(bound, base[r] + rest[r, 1, start])
            if tries > LIMIT:  # components from here are not searched any more: use their bound
                lowest = min(lowest, bound)
                continue
            depth, node[0], option[0], whole = -1 if bound >= least else 0, start, 0, bound
            for r in range(rows):
                used[r] = 0
            used[start] = 1
            while depth >= 0:
                v, go = node[depth], option[depth]
                if go >= rows + columns:
                    used[v] = 0
                    depth -= 1
                    continue
                option[depth] += 1
                inner = go < rows and go != start  # the column of another row
                last = match[go] if go < rows else go - rows
                if board[v, last] < 0 or (inner and used[go] == 1):
                    continue
                if not inner and (depth == 0 if go < rows else free[last] == 0):
                    continue
                if go == start:
                    low = start
                    for i in range(depth + 1):
                        low = min(low, node[i])
                    if low < start:
                        continue
                tries += 1
                if tries > LIMIT:
                    lowest = min(lowest, whole)
                    break
                bound = -math.inf
                for r in range(base.size):
                    total = spent[r, depth] + price[r, v, last]
                    spent[r, depth + 1] = total
                    total += rest[r, depth + 2, go] if inner else self.chance[depth + 1]
                    bound = max(bound, total)
                if bound >= least:
                    continue
                if inner:
                    depth += 1
                    node[depth], option[depth], used[go] = go, 0, 1
                    continue
                n = exchanged(board, match, node, depth + 1, last, arms, sign)
                value = weigher.evidence_against_set(best, arms, sign, n) + self.chance[depth + 1]
                if not value >= least:
                    least = value
                    rebuild(best, arms, sign, n, rival)
                    if not least > floor:
                        return least
        return min(least, lowest)


@jitable
def edge_costs(offer: Floats, board: Ints, match: Ints, price: Floats) -> None:
    """Compute the cost, for each reference, that a row leaves its column and takes another."""
    rows, columns = board.shape
    for r in range(offer.shape[0]):
        for x in range(rows):
            for c in range(columns):
                price[r, x, c] = math.inf
                if c != match[x] and board[x, c] >= 0:
                    price[r, x, c] = offer[r, board[x, c]] + offer[r, board[x, match[x]]]


@jitable
def walks(
    price: Floats,
    match: Ints,
    free: Ints,
    chance: Floats,
    start: int,
    reach: Floats,
    rest: Floats,
) -> None:
    """Compute the least costs of completing a component that begins with a given row.

    ``rest[r, m, x]`` becomes the least cost of going on from row x, the m-th row, to the end,
    including the log share of the resulting number of rows.
    """
    (references, rows, columns), spare = price.shape, False
    for c in range(columns):
        spare = spare or free[c] == 1
    now, then = reach[0], reach[1]
    for r in range(references):
        for m in range(1, rows + 2):
            for x in range(rows):
                rest[r, m, x] = math.inf
        for j in range(1, rows + 1):  # number of rows that are still to move, including x
            for x in range(rows):
                then[x] = now[x]
            for x in range(rows):
                now[x] = math.inf
                if j == 1:
                    now[x] = price[r, x, match[start]] if x != start else math.inf
                    for c in range(columns):
                        if free[c] == 1:
                            now[x] = min(now[x], price[r, x, c])
                else:
                    for y in range(0 if spare else start + 1, rows):
                        if y != x and y != start:
                            now[x] = min(now[x], price[r, x, match[y]] + then[y])
                for m in range(1, rows + 2 - j if now[x] < math.inf else 1):
                    rest[r, m, x] = min(rest[r, m, x], now[x] + chance[m - 1 + j])


@jitable
def exchanged(
    board: Ints, match: Ints, node: Ints, length: int, last: int, arms: Ints, sign: Floats
) -> int:
    """List the arms that the rows so far leave and take; the last row takes the column `last`."""
    n = 0
    for i in range(length):
        r = node[i]
        c = last if i == length - 1 else match[node[i + 1]]
        arms[n], sign[n] = board[r, match[r]], -1.0
        arms[n + 1], sign[n + 1] = board[r, c], 1.0
        n += 2
    return n


def components(board: Ints, row: Ints, column: Ints) -> MatchingUnionBound:
    """Return the union bound for a board with at least as many columns as rows."""
    rows, columns = board.shape
    counts = counted(rows, columns - rows)
    chance = by_size(counts, float(counts.sum()))
    return MatchingUnionBound(
        board,
        row,
        column,
        chance,
        np.zeros(row.size, np.int64),
        np.zeros(row.size),
        np.zeros((4, rows), np.int64),
        np.zeros(columns, np.int64),
        np.zeros((REFERENCES, rows, columns)),
        np.zeros((REFERENCES, rows + 2, rows)),
        np.zeros((REFERENCES, rows + 1)),
        np.zeros((2, rows)),
    )


def counted(rows: int, spare: int) -> Floats:
    """Return the number of components with k rows, for each k, if every pair is allowed.

    Components are cycles, and paths that end in one of the spare columns.

    >>> counted(3, 0).tolist(), counted(2, 1).tolist()
    ([0.0, 0.0, 3.0, 2.0], [0.0, 2.0, 3.0])
    """
    found = np.zeros(rows + 1)
    for k in range(1, rows + 1):
        cycles = math.comb(rows, k) * math.factorial(k - 1) if k > 1 else 0
        found[k] = float(cycles + math.perm(rows, k) * spare)
    return found
