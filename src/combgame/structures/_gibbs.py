"""Sums of exp(<1_A, score>) over all sets A of a structure, in closed form.

**Spanning trees.** Kirchhoff's determinant is computed by eliminating one node after the other,
without a subtraction, in logarithms. Let a node v have edges of weights w_1, w_2, ... with sum D.
Eliminating v gives each pair of neighbours an edge of weight w_i w_j / D beside their own (the
star-mesh transformation, a step of Cholesky's on the Laplacian), and Z = D Z'. No small weight
drowns in a large one. Backwards, let P'_ij be the probabilities of the edges of the reduced graph.
Then V_ij = P'_ij times the share of w_i w_j / D in the weight of the edge is the probability of the
new edge, P'_ij - V_ij is that of the old one, and that of an edge of v is P_iv = sum_j V_ij - (w_i
/ D) (sum_{j<k} V_jk - 1). This is w_i times the effective resistance R_iv = 1 / D + sum_j R'_ij w_j
/ D - sum_{j<k} R'_jk w_j w_k / D^2. Its terms are at most the number of nodes, so this one
subtraction loses only rounding.

**All sets of k arms.** The sums are elementary symmetric polynomials e_k of the weights w_a =
exp(score_a), computed by their ratios. With e_j those of the arms a, a + 1, ..., the ratio g_a(j) =
e_j / e_{j-1} obeys
    g_a(j) = (g_{a+1}(j) + w_a) g_{a+1}(j-1) / (g_{a+1}(j-1) + w_a),
and the probability that arm a is taken, given that j of the arms from a on are taken, is w_a /
(g_{a+1}(j) + w_a). Only sums, products and quotients of positive numbers occur, and g lies between
the least weight divided by d and the sum of all weights. So nothing overflows or underflows, and no
digits are lost (relative errors add up: g decreases in j, so the elasticities of the recursion sum
to at most 1). All marginals cost O(d k).

**Paths of a diagram.** The sets of the structure are the paths from a source to a sink, where each
step takes one arm or none. Z = sum over paths of exp(sum of scores) is computed backwards in
logarithms: V(v) = ln sum_e exp(score_e + V(head_e)). The probability of a step, given that the path
is at its tail, is exp(score_e + V(head_e) - V(v)). Forwards, probabilities multiply.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..engine.jit import jitable
from ..engine.state import Floats, Ints


class DiagramKernel(NamedTuple):
    """A diagram whose paths are the sets of a structure.

    Nodes are numbered in topological order, the source first and the sink last.
    """

    first: Ints  # int64[nodes + 1]: the start of the steps that leave a node
    arm: Ints  # int64[steps]: the arm of a step; -1 for none
    head: Ints  # int64[steps]
    value: Floats  # scratch: float64[nodes]: V
    chance: Floats  # scratch: float64[steps]
    flow: Floats  # scratch: float64[nodes]: the probability that a path meets the node

    def marginals(self, score: Floats, out: Floats) -> float:
        last = self.first.size - 2
        for a in range(out.size):
            out[a] = 0.0
        self.value[last] = self.flow[last] = 0.0
        for v in range(last - 1, -1, -1):
            top, total, self.flow[v] = -math.inf, 0.0, 0.0
            for k in range(self.first[v], self.first[v + 1]):
                self.chance[k] = self.value[self.head[k]]
                if self.arm[k] >= 0:
                    self.chance[k] += score[self.arm[k]]
                top = max(top, self.chance[k])
            for k in range(self.first[v], self.first[v + 1]):
                self.chance[k] = math.exp(self.chance[k] - top)
                total += self.chance[k]
            for k in range(self.first[v], self.first[v + 1]):
                self.chance[k] /= total
            self.value[v] = top + math.log(total)  # V(v)
        self.flow[0] = 1.0
        for v in range(last):
            for k in range(self.first[v], self.first[v + 1]):
                through = self.flow[v] * self.chance[k]
                self.flow[self.head[k]] += through
                if self.arm[k] >= 0:
                    out[self.arm[k]] += through
        return float(self.value[0])


def diagram(leaving: Sequence[Sequence[tuple[int, int]]]) -> DiagramKernel:
    """Return the diagram with the steps (arm, head) that leave each node.

    >>> marginal = np.zeros(2)
    >>> total = diagram([[(0, 1), (1, 1)], []]).marginals(np.log([1.0, 3.0]), marginal)
    >>> round(math.exp(total), 9), marginal.round(9).tolist()
    (4.0, [0.25, 0.75])
    """
    nodes, steps = len(leaving), [step for some in leaving for step in some]
    return DiagramKernel(
        np.cumsum([0, *map(len, leaving)]).astype(np.int64),
        np.array([arm for arm, _ in steps], dtype=np.int64),
        np.array([head for _, head in steps], dtype=np.int64),
        np.zeros(nodes),
        np.zeros(len(steps)),
        np.zeros(nodes),
    )


def prefix_tree(sets: Iterable[tuple[int, ...]]) -> list[list[tuple[int, int]]]:
    """Return listed sets as a diagram with a node for every prefix of a set.

    >>> prefix_tree([(0, 1), (0, 2), (0,)])
    [[(0, 1), (0, 2)], [(1, 2), (2, 2)], []]
    """
    listed = list(sets)
    starts = sorted(
        {chosen[:n] for chosen in listed for n in range(len(chosen))},
        key=lambda start: (len(start), start),
    )
    number = {start: v for v, start in enumerate(starts)}
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(len(starts) + 1)]
    for start in starts[1:]:
        leaving[number[start[:-1]]].append((start[-1], number[start]))
    for chosen in listed:
        leaving[number[chosen[:-1]]].append((chosen[-1], len(starts)))
    return leaving


@jitable
def logadd(edge: Floats, u: int, v: int, new: float) -> float:
    """Add a weight e^new > 0 to the edge of u > v, and return its share of their sum.

    One exponential serves both.
    """
    old = edge[u, v]
    e = math.exp(-abs(old - new))
    edge[u, v] = max(old, new) + math.log1p(e)
    return float((e if old >= new else 1.0) / (1.0 + e))


class KirchhoffKernel(NamedTuple):
    """The weighted matrix-tree theorem for the spanning trees of a graph."""

    tail: Ints
    head: Ints
    # scratch: float64[n, n], below the diagonal: the logarithm of the weight between two nodes;
    # then the shares w_i / D of node v
    edge: Floats
    added: Floats  # scratch: float64[n (n - 1) (n - 2) / 6]: the shares of new edges, by step
    chance: Floats  # scratch: float64[n, n], below the diagonal: P
    degree: Floats  # scratch: float64[n]: sum_j V_ij

    def marginals(self, score: Floats, out: Floats) -> float:
        edge, chance, n, total = self.edge, self.chance, self.degree.size, 0.0
        for v in range(n):
            for i in range(v):
                edge[v, i] = -math.inf
        for a in range(score.size):
            logadd(edge, max(self.tail[a], self.head[a]), min(self.tail[a], self.head[a]), score[a])
        for a in range(score.size):  # parallel edges share the probability of their pair of nodes
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


def kirchhoff(nodes: int, tails: Sequence[int], heads: Sequence[int]) -> KirchhoffKernel:
    """Return the kernel for the spanning trees of a connected graph without loops.

    >>> chance = np.zeros(3)
    >>> triangle = kirchhoff(3, [0, 1, 2], [1, 2, 0])
    >>> total = math.exp(triangle.marginals(np.log([1.0, 2.0, 3.0]), chance))
    >>> round(total, 9), (11 * chance).round(9).tolist()
    (11.0, [5.0, 8.0, 9.0])
    """
    steps = nodes * (nodes - 1) * (nodes - 2) // 6
    return KirchhoffKernel(
        np.array(tails, dtype=np.int64),
        np.array(heads, dtype=np.int64),
        np.zeros((nodes, nodes)),
        np.zeros(steps),
        np.zeros((nodes, nodes)),
        np.zeros(nodes),
    )


# scores farther than this from the k-th largest are cut: except for a probability below d e^-300,
# their arms are in, or out
WIDE = 300.0


@jitable
def choose(
    score: Floats, members: Ints, k: int, weight: Floats, ratio: Floats, left: Floats, out: Floats
) -> float:
    """Return ln e_k of the weights of some arms, and write their probabilities.

    ``out[members]`` becomes the probabilities that a set of k of the members contains each of them.
    """
    n = members.size
    if k == 0:
        for i in range(n):
            out[members[i]] = 0.0
        return 0.0
    for j in range(k):
        left[j] = -math.inf
    for i in range(
        n
    ):  # insert into the k largest scores, in descending order: O(n k) like the rest
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
    left[k] = 1.0  # left[j]: the probability that j arms are still to be taken
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


class SymmetricKernel(NamedTuple):
    """Independent groups of arms with a fixed number taken from each; one group for `Subsets`."""

    members: Ints  # the arms, group by group
    first: Ints  # int64[groups + 1]: the start of each group in `members`
    sizes: Ints  # the number of arms taken from each group
    weight: Floats  # scratch: float64[d]
    ratio: Floats  # scratch: float64[d + 1, max size + 1]: g
    left: Floats  # scratch: float64[max size + 1]

    def marginals(self, score: Floats, out: Floats) -> float:
        total = 0.0
        for g in range(self.sizes.size):
            members = self.members[self.first[g] : self.first[g + 1]]
            total += choose(score, members, self.sizes[g], self.weight, self.ratio, self.left, out)
        return total


def symmetric(groups: Sequence[Sequence[int]], sizes: Sequence[int]) -> SymmetricKernel:
    """Return the kernel for sets with `sizes` arms of each group.

    >>> marginal = np.zeros(3)
    >>> total = symmetric([[0, 1, 2]], [2]).marginals(np.log([1.0, 2.0, 3.0]), marginal)
    >>> round(math.exp(total), 9), (11 * marginal).round(9).tolist()
    (11.0, [5.0, 8.0, 9.0])
    """
    d, largest = sum(map(len, groups)), max(sizes)
    return SymmetricKernel(
        np.array([a for g in groups for a in g], dtype=np.int64),
        np.cumsum([0, *map(len, groups)]).astype(np.int64),
        np.array(sizes, dtype=np.int64),
        np.zeros(d),
        np.zeros((d + 1, largest + 1)),
        np.zeros(largest + 1),
    )
