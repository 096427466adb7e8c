"""Sums over all sets of k arms: the elementary symmetric polynomials e_k of the weights w_a =
exp(score_a), by their ratios.

With e_j those of the arms a, a + 1, ..., g_a(j) = e_j / e_{j-1} obeys
    g_a(j) = (g_{a+1}(j) + w_a) g_{a+1}(j-1) / (g_{a+1}(j-1) + w_a),
and the chance that a is taken, given that j of the arms from a on are, is w_a / (g_{a+1}(j) + w_a).
Only sums, products and quotients of positive numbers, and g is between the least weight over d and
the sum of all: no under- or overflow, and nothing is lost (relative errors add up: g falls in j, so
the elasticities of the recursion sum to at most 1). All marginals cost O(d k).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...game.marks import jitable
from ...game.records import Floats, Ints

# scores farther than this from the k-th largest are cut: their arms are in, or out, but for a
# chance below d e^-300
WIDE = 300.0


@jitable
def choose(
    score: Floats, members: Ints, k: int, weight: Floats, ratio: Floats, left: Floats, out: Floats
) -> float:
    """ln e_k of the members' weights; out[members] = the chance that a set of k of them has the
    arm.
    """
    n = members.size
    if k == 0:
        for i in range(n):
            out[members[i]] = 0.0
        return 0.0
    for j in range(k):
        left[j] = -math.inf
    for i in range(n):  # the k largest scores, descending: as many steps as the rest takes
        new = score[members[i]]
        for j in range(k):
            if new > left[j]:
                left[j], new = new, left[j]
    centre = left[k - 1]
    total = k * centre
    for i in range(n):
        x = score[members[i]] - centre
        if x > WIDE:
            total += x - WIDE
        weight[i] = math.exp(min(max(x, -WIDE), WIDE))
    for j in range(k + 1):
        ratio[n, j] = 0.0
        left[j] = 0.0
    for i in range(n - 1, -1, -1):
        w = weight[i]
        ratio[i, 1] = ratio[i + 1, 1] + w
        for j in range(2, k + 1):
            above = ratio[i + 1, j - 1]
            ratio[i, j] = (ratio[i + 1, j] + w) * (above / (above + w))  # g_a(j)
    for j in range(1, k + 1):
        total += math.log(ratio[0, j])
    left[k] = 1.0  # the chance that j arms are still to be taken
    for i in range(n):
        w, chance = weight[i], 0.0
        for j in range(1, k + 1):
            if left[j] > 0.0:
                both = ratio[i + 1, j] + w
                took = left[j] * (w / both)
                chance += took
                left[j - 1] += took
                left[j] *= ratio[i + 1, j] / both
        out[members[i]] = chance
    return float(total)


class SymmetricPart(NamedTuple):
    """Independent groups of arms, `sizes` of each: one group for `Subsets`."""

    members: Ints  # arms, group after group
    first: Ints  # int64[groups + 1]: where each group begins in `members`
    sizes: Ints  # how many are taken of each
    weight: Floats  # scratch: float64[d]
    ratio: Floats  # scratch: float64[d + 1, max size + 1]: g
    left: Floats  # scratch: float64[max size + 1]

    def marginals(self, score: Floats, out: Floats) -> float:
        total = 0.0
        for g in range(self.sizes.size):
            members = self.members[self.first[g] : self.first[g + 1]]
            total += choose(score, members, self.sizes[g], self.weight, self.ratio, self.left, out)
        return total


def symmetric(groups: Sequence[Sequence[int]], sizes: Sequence[int]) -> SymmetricPart:
    """`sizes` of the arms of each group.

    >>> marginal = np.zeros(3)
    >>> total = symmetric([[0, 1, 2]], [2]).marginals(np.log([1.0, 2.0, 3.0]), marginal)
    >>> round(math.exp(total), 9), (11 * marginal).round(9).tolist()
    (11.0, [5.0, 8.0, 9.0])
    """
    d, largest = sum(map(len, groups)), max(sizes)
    return SymmetricPart(
        np.array([a for g in groups for a in g], dtype=np.int64),
        np.cumsum([0, *map(len, groups)]).astype(np.int64),
        np.array(sizes, dtype=np.int64),
        np.zeros(d),
        np.zeros((d + 1, largest + 1)),
        np.zeros(largest + 1),
    )
