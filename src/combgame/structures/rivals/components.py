"""Rivals of a matching that fills the smaller side: single alternating cycles and paths."""

import math
from typing import NamedTuple

import numpy as np

from ...game.marks import jitable
from ...game.protocols import Weigher
from ...game.records import Floats, Ints
from ...game.rivals import rebuild
from .shares import by_size


class ComponentsPart(NamedTuple):
    """A row takes the column of the next one, and the last one that of the first, or a free one."""

    board: Ints  # int64[rows, columns]: arms, -1 where there is none; all rows are matched
    row: Ints  # of an arm
    column: Ints
    chance: Floats  # float64[rows + 1]: by the number of rows
    match: Ints  # scratch: the column of a row
    free: Ints  # 1 for columns that are not matched
    node: Ints  # the rows so far
    option: Ints
    used: Ints
    arms: Ints  # d
    sign: Floats

    def odds(self, best: Floats, rival: Floats) -> float:
        n = 0
        for a in range(best.size):
            if best[a] > rival[a]:
                n += 1
        return float(self.chance[n])

    def scan(self, weigher: Weigher, best: Floats, floor: float, rival: Floats) -> float:
        """All of them, depth first; cycles begin with their lowest row."""
        rows, columns = self.board.shape
        for c in range(columns):
            self.free[c] = 1
        for a in range(best.size):
            if best[a] > 0.5:
                self.match[self.row[a]], self.free[self.column[a]] = self.column[a], 0
        least, node, option, used = math.inf, self.node, self.option, self.used
        for start in range(rows):
            depth, node[0], option[0] = 0, start, 0
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
                if go < rows and go != start:  # the column of another row
                    if used[go] == 0 and self.board[v, self.match[go]] >= 0:
                        depth += 1
                        node[depth], option[depth], used[go] = go, 0, 1
                    continue
                last = self.match[start] if go < rows else go - rows
                if go < rows:
                    low = start
                    for i in range(depth + 1):
                        low = min(low, node[i])
                    if depth == 0 or low < start:
                        continue
                elif self.free[last] == 0:
                    continue
                if self.board[v, last] < 0:
                    continue
                n = exchanged(self, depth + 1, last)
                value = weigher.confront(best, self.arms, self.sign, n) + self.chance[depth + 1]
                if value < least:
                    least = value
                    rebuild(best, self.arms, self.sign, n, rival)
                    if least <= floor:
                        return least
        return least


@jitable
def exchanged(part: ComponentsPart, length: int, last: int) -> int:
    """The arms that the rows so far leave and take, of which the last one takes this column."""
    n = 0
    for i in range(length):
        r = part.node[i]
        c = last if i == length - 1 else part.match[part.node[i + 1]]
        part.arms[n], part.sign[n] = part.board[r, part.match[r]], -1.0
        part.arms[n + 1], part.sign[n + 1] = part.board[r, c], 1.0
        n += 2
    return n


def components(board: Ints, row: Ints, column: Ints) -> ComponentsPart:
    """Of a board with at least as many columns as rows."""
    rows, columns = board.shape
    nodes, counts = np.zeros((4, rows + 1), np.int64), counted(rows, columns - rows)
    return ComponentsPart(
        board,
        row,
        column,
        by_size(counts, float(counts.sum())),
        nodes[0].copy(),
        np.zeros(columns, np.int64),
        nodes[1].copy(),
        nodes[2].copy(),
        nodes[3].copy(),
        np.zeros(row.size, np.int64),
        np.zeros(row.size),
    )


def counted(rows: int, spare: int) -> Floats:
    """How many components have k rows, if every pair is allowed: cycles, and paths that end in one
    of the spare columns.

    >>> counted(3, 0).tolist(), counted(2, 1).tolist()
    ([0.0, 0.0, 3.0, 2.0], [0.0, 2.0, 3.0])
    """
    found = np.zeros(rows + 1)
    for k in range(1, rows + 1):
        cycles = math.comb(rows, k) * math.factorial(k - 1) if k > 1 else 0
        found[k] = float(cycles + math.perm(rows, k) * spare)
    return found
