"""The assignment problem by shortest augmenting paths with potentials (Kuhn, Munkres; Jonker and
Volgenant): O(n^3).
"""

import math

from ...game.marks import jitable
from ...game.records import Floats, Ints


@jitable
def assign(cost: Floats, held: Ints, worth: Floats) -> None:
    """Minimise the total cost: held[0, c + 1] becomes the row + 1 of column c; two more rows are
    scratch.

    worth: float64[3, n + 1], from 1: the potentials of rows and columns, whose sum is the cost
    where they meet, and never above it; scratch.
    """
    n, u, v, least = cost.shape[0], worth[0], worth[1], worth[2]
    chosen, way, used = held[0], held[1], held[2]
    for c in range(n + 1):
        chosen[c], u[c], v[c] = 0, 0.0, 0.0
    for row in range(1, n + 1):
        chosen[0] = row
        at = 0
        for c in range(n + 1):
            least[c], used[c] = math.inf, 0
        while chosen[at] != 0:
            used[at] = 1
            here, step, to = chosen[at], math.inf, 0
            for c in range(1, n + 1):
                if used[c] == 0:
                    reduced = cost[here - 1, c - 1] - u[here] - v[c]
                    if reduced < least[c]:
                        least[c], way[c] = reduced, at
                    if least[c] < step:
                        step, to = least[c], c
            for c in range(n + 1):
                if used[c] == 1:
                    u[chosen[c]] += step
                    v[c] -= step
                else:
                    least[c] -= step
            at = to
        while at != 0:
            chosen[at] = chosen[way[at]]
            at = way[at]
