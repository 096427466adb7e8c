"""Sums over spanning trees: Kirchhoff's determinant by eliminating one node after the other,
without a subtraction, in logs.

A node v whose edges have the weights w_1, w_2, ... with sum D goes, and each pair of neighbours
gets an edge of w_i w_j / D beside their own (the star-mesh transformation, a step of Cholesky's on
the Laplacian): Z = D Z'. No small weight drowns in a large one. Backwards, from the chances P'_ij
of the reduced graph's edges: V_ij = P'_ij times the share of w_i w_j / D in their weight is the
chance of the new edge, P'_ij - V_ij that of the old one, and that of v's edges is P_iv = sum_j V_ij
- (w_i / D) (sum_{j<k} V_jk - 1): the effective resistance R_iv = 1 / D + sum_j R'_ij w_j / D -
sum_{j<k} R'_jk w_j w_k / D^2, times w_i. Its terms are at most the number of nodes, so what this
one subtraction loses is rounding.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...game.marks import jitable
from ...game.records import Floats, Ints


@jitable
def logadd(edge: Floats, u: int, v: int, new: float) -> float:
    """Add a weight e^new > 0 to the edge of u > v; its share in what they have now. (One
    exponential for both.)
    """
    old = edge[u, v]
    e = math.exp(-abs(old - new))
    edge[u, v] = max(old, new) + math.log1p(e)
    return float((e if old >= new else 1.0) / (1.0 + e))


class KirchhoffPart(NamedTuple):
    tail: Ints
    head: Ints
    # scratch: float64[n, n], below the diagonal: ln of the weight between two nodes; then v's
    # shares w_i / D
    edge: Floats
    added: Floats  # scratch: float64[n (n - 1) (n - 2) / 6]: per step, the new edges' shares
    chance: Floats  # scratch: float64[n, n], below the diagonal: P
    degree: Floats  # scratch: float64[n]: sum_j V_ij

    def marginals(self, score: Floats, out: Floats) -> float:
        edge, chance, n, total = self.edge, self.chance, self.degree.size, 0.0
        for v in range(n):
            for i in range(v):
                edge[v, i] = -math.inf
        for a in range(score.size):
            logadd(edge, max(self.tail[a], self.head[a]), min(self.tail[a], self.head[a]), score[a])
        for a in range(score.size):  # parallel edges share what their nodes get
            out[a] = math.exp(
                score[a] - edge[max(self.tail[a], self.head[a]), min(self.tail[a], self.head[a])]
            )
        for v in range(n - 1, 0, -1):
            top, around = -math.inf, 0.0
            for i in range(v):
                top = max(top, edge[v, i])
            for i in range(v):
                around += math.exp(edge[v, i] - top)
            around = top + math.log(around)  # ln D
            total += around  # Z = D Z'
            place = v * (v - 1) * (v - 2) // 6
            for i in range(1, v):
                for j in range(i):
                    new = edge[v, i] + (edge[v, j] - around)
                    self.added[place] = logadd(edge, i, j, new) if new > -math.inf else 0.0
                    place += 1
            for i in range(v):
                edge[v, i] = math.exp(edge[v, i] - around)  # w_i / D
        for v in range(1, n):
            place, every = v * (v - 1) * (v - 2) // 6, 0.0
            for i in range(v):
                self.degree[i] = 0.0
            for i in range(1, v):
                for j in range(i):
                    through = chance[i, j] * self.added[place]  # V_ij
                    chance[i, j] -= through
                    self.degree[i] += through
                    self.degree[j] += through
                    every += through
                    place += 1
            for i in range(v):
                chance[v, i] = max(0.0, self.degree[i] - edge[v, i] * (every - 1.0))  # P_iv
        for a in range(score.size):
            out[a] *= chance[max(self.tail[a], self.head[a]), min(self.tail[a], self.head[a])]
        return float(total)


def kirchhoff(nodes: int, tails: Sequence[int], heads: Sequence[int]) -> KirchhoffPart:
    """The spanning trees of a connected graph without loops.

    >>> chance = np.zeros(3)
    >>> triangle = kirchhoff(3, [0, 1, 2], [1, 2, 0])
    >>> total = math.exp(triangle.marginals(np.log([1.0, 2.0, 3.0]), chance))
    >>> round(total, 9), (11 * chance).round(9).tolist()
    (11.0, [5.0, 8.0, 9.0])
    """
    steps = nodes * (nodes - 1) * (nodes - 2) // 6
    return KirchhoffPart(
        np.array(tails, dtype=np.int64),
        np.array(heads, dtype=np.int64),
        np.zeros((nodes, nodes)),
        np.zeros(steps),
        np.zeros((nodes, nodes)),
        np.zeros(nodes),
    )
