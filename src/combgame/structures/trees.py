"""Spanning trees of a connected multigraph (the graphic matroid), whose edges are the arms."""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._values import frozen
from ..engine.jit import jitable
from ..engine.likelihood_ratio import exchange
from ..engine.protocols import RewardKernel
from ..engine.state import FixedInts, Floats, Ints, Random
from ..errors import InputError
from ._gibbs import KirchhoffKernel, kirchhoff
from ._graphs import Graph, forests, read_graph, reordered
from .base import Neighbourhood, PolytopeGeometry, StructureBase, greedy_covering, sorted_arms
from .relabel import figure, renumbered, some_arms

EXACT_NODES = 120  # nodes up to which trees are counted
EXACT_FORESTS = 150  # edges up to which coverings and differences are exact (matroid partition)


@jitable
def find(parent: Ints, v: int) -> int:
    """Return the root of a node and halve the path to it."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


class SpanningTreesKernel(NamedTuple):
    """The linear oracle for spanning trees."""

    nodes: int
    tail: FixedInts
    head: FixedInts
    first: FixedInts  # int64[nodes + 1]: the start of the incident edges of a node
    incident: FixedInts  # int64[2 d]
    parent: Ints  # scratch: int64[nodes]
    tree: Ints
    pick: Ints
    live: Ints  # scratch: int64[d]
    taken: Floats
    arms: Ints
    sign: Floats
    value: Floats

    def argmax(self, score: Floats, out: Floats) -> None:
        """Find the best tree (Boruvka 1926) in O(edges log nodes), without sorting.

        Every component takes its best edge, at most log2(nodes) times. Among equal scores the first
        edge is better; this order is strict, so no cycle can arise. tree[v] is the component of
        node v.
        """
        tail, head, parent, tree = self.tail, self.head, self.parent, self.tree
        pick, live = self.pick, self.live
        m, components = score.size, self.nodes
        for v in range(self.nodes):
            parent[v] = tree[v] = v
        for a in range(m):
            out[a] = 0.0
            live[a] = a
        while components > 1:
            for v in range(self.nodes):
                pick[v] = -1
            kept = 0
            for k in range(m):
                a = live[k]
                u, v = tree[tail[a]], tree[head[a]]
                if u != v:  # edges inside a component are dropped
                    live[kept] = a
                    kept += 1
                    # edges come in the order of their indices, so that the first one wins a tie
                    if pick[u] < 0 or score[a] > score[pick[u]]:
                        pick[u] = a
                    if pick[v] < 0 or score[a] > score[pick[v]]:
                        pick[v] = a
            m = kept
            for w in range(self.nodes):
                a = pick[w]
                if a >= 0:
                    u, v = find(parent, tail[a]), find(parent, head[a])
                    if u != v:
                        parent[u] = v
                        out[a] = 1.0
                        components -= 1
            for v in range(self.nodes):
                tree[v] = find(parent, v)

    def sample(self, rng: Random, out: Floats) -> None:
        """Draw a uniformly random tree (Aldous 1990, Broder 1989).

        It consists of the edges by which a random walk first enters each node.
        """
        for a in range(out.size):
            out[a] = 0.0
        for v in range(self.nodes):
            self.parent[v] = 0
        v, reached = self.tail[0], 1  # this start does not depend on the numbers of the nodes
        self.parent[v] = 1
        while reached < self.nodes:
            degree = self.first[v + 1] - self.first[v]
            a = self.incident[self.first[v] + min(int(rng.random() * degree), degree - 1)]
            v = self.tail[a] + self.head[a] - v
            if self.parent[v] == 0:
                self.parent[v] = 1
                out[a] = 1.0
                reached += 1

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Find the cheapest exchange, by which adjacent trees differ.

        An edge of the tree is exchanged for an edge that crosses the cut which it leaves.
        """
        leaves, enters, least = -1, -1, math.inf
        for i in range(best.size):
            if best[i] > 0.5:
                for v in range(self.nodes):
                    self.parent[v] = v
                for a in range(best.size):
                    if best[a] > 0.5 and a != i:
                        self.parent[find(self.parent, self.tail[a])] = find(
                            self.parent, self.head[a]
                        )
                crossing = False
                for a in range(best.size):
                    apart = best[a] < 0.5 and find(self.parent, self.tail[a]) != find(
                        self.parent, self.head[a]
                    )
                    self.taken[a] = 0.0 if apart else 1.0
                    crossing = crossing or apart
                if crossing:
                    j = rewards.cheapest_challenger(mean, weight, i, self.taken, self.value)
                    if leaves < 0 or self.value[0] < least:
                        leaves, enters, least = i, j, self.value[0]
        return exchange(
            rewards, mean, weight, best, leaves, enters, self.arms, self.sign, rival, alternative
        )


@frozen
class SpanningTrees(StructureBase):
    """The spanning trees of a connected graph.

    Parameters
    ----------
    edges : list or graph
        A list of (node, node) or (node, node, name), or an undirected networkx, rustworkx or SciPy
        sparse graph. Parallel edges are different arms. The arms are the edges in the order given.

    Attributes
    ----------
    names : tuple of str
        The names of the edges.
    nodes : tuple
        The nodes.

    Examples
    --------
    >>> square = SpanningTrees([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    >>> square.n_sets(), square.argmax([0.1, 0.4, 0.3, 0.2])
    (4, (1, 2, 3))
    """

    def __init__(self, edges: Any) -> None:
        self._arrange(read_graph(edges, "SpanningTrees", directed=False))
        loops = [a for a in range(self.d) if self.tails[a] == self.heads[a]]
        if loops:
            raise InputError(
                "loop",
                "SpanningTrees: the edge {edge} joins a node to itself",
                remedy="leave such edges out",
                edge=self.names[loops[0]],
            )
        if len(self._tree(range(self.d))) < len(self.nodes) - 1:
            raise InputError(
                "not-connected",
                "SpanningTrees: the graph is not connected, so it has no spanning tree",
                remedy="add edges or drop nodes",
            )

    def _arrange(self, graph: Graph) -> None:
        self._graph = graph
        self.d, self.names, self.nodes = len(graph.tails), graph.names, graph.nodes
        self.tails, self.heads = graph.tails, graph.heads

    def permuted(self, order: Ints) -> "SpanningTrees":
        """Return the trees of the graph with its edges in another order."""
        new: SpanningTrees = renumbered(self, order)
        new._arrange(reordered(self._graph, order))
        return new

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same structure."""
        return {"edges": self._graph.edges(directed=False)}

    def without_labels(self) -> "SpanningTrees":
        """Return the same trees with numbers as nodes."""
        return SpanningTrees(self._graph.numbers())

    def _tree(self, arms: Iterable[int]) -> list[int]:
        """Return the first forest among some edges."""
        parent, tree = np.arange(len(self.nodes)), []
        for a in arms:
            u, v = find(parent, self.tails[a]), find(parent, self.heads[a])
            if u != v:
                parent[u] = v
                tree.append(a)
        return tree

    def kernel(self) -> SpanningTreesKernel:
        """Return the linear oracle for spanning trees."""
        d, n = self.d, len(self.nodes)
        at: list[list[int]] = [[] for _ in range(n)]
        for a in range(d):
            at[self.tails[a]].append(a)
            at[self.heads[a]].append(a)
        first = np.cumsum([0, *(len(some) for some in at)]).astype(np.int64)
        return SpanningTreesKernel(
            n,
            np.array(self.tails, dtype=np.int64),
            np.array(self.heads, dtype=np.int64),
            first,
            np.array([a for some in at for a in some], dtype=np.int64),
            np.zeros(n, np.int64),
            np.zeros(n, np.int64),
            np.zeros(n, np.int64),
            np.zeros(d, np.int64),
            np.zeros(d),
            np.zeros(d, np.int64),
            np.zeros(d),
            np.zeros(1),
        )

    def gibbs(self) -> KirchhoffKernel:
        """Return the sums by the weighted matrix-tree theorem: O(nodes^3)."""
        return kirchhoff(len(self.nodes), self.tails, self.heads)

    @figure
    def n_sets(self) -> int | None:
        """Return Kirchhoff's determinant, computed in integers (Bareiss).

        Returns
        -------
        int or None
            None for graphs with more than 120 nodes that are not trees.
        """
        n = len(self.nodes) - 1
        if self.d == n:
            return 1
        if n >= EXACT_NODES:
            return None
        m = [[0] * n for _ in range(n)]
        for u, v in zip(self.tails, self.heads, strict=True):
            for x, y in ((u, v), (v, u)):
                if x < n:
                    m[x][x] += 1
                    if y < n:
                        m[x][y] -= 1
        before = 1
        # no pivoting is needed: the minors of the Laplacian of a connected graph are positive
        for k in range(n - 1):
            for i in range(k + 1, n):
                for j in range(k + 1, n):
                    m[i][j] = (m[i][j] * m[k][k] - m[i][k] * m[k][j]) // before
            before = m[k][k]
        return m[n - 1][n - 1]

    def n_sets_bound(self) -> int:
        """Return the number of trees, or its bound by Hadamard's inequality for the determinant.

        The bound is the product of all degrees but the largest.

        >>> square = SpanningTrees([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
        >>> square.n_sets_bound(), math.prod(square._degrees()[:-1])
        (4, 8)
        """
        number = self.n_sets()
        return math.prod(self._degrees()[:-1]) if number is None else number

    def _degrees(self) -> list[int]:
        """Return the degrees of the nodes in ascending order."""
        ends = [*self.tails, *self.heads]
        return sorted(np.bincount(ends, minlength=len(self.nodes)).tolist())

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Iterate over all trees: take or leave edge after edge while a tree is possible."""
        need = len(self.nodes) - 1

        def grow(a: int, taken: list[int]) -> Iterator[tuple[int, ...]]:
            if len(taken) == need:
                yield tuple(taken)
                return
            if len(self._tree([*taken, *range(a, self.d)])) < need:
                return
            if len(self._tree([*taken, a])) > len(taken):
                yield from grow(a + 1, [*taken, a])
            yield from grow(a + 1, taken)

        return grow(0, [])

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether the given arms form a spanning tree."""
        chosen = sorted_arms(arms, self.d)
        if chosen is None:
            return False
        return len(chosen) == len(self.nodes) - 1 == len(self._tree(chosen))

    def covering(self) -> list[tuple[int, ...]]:
        """Return a covering that is minimal up to 150 edges (matroid partition into forests).

        Above, it is greedy, with at most ln(d) + 1 times as many trees.
        """
        if self.d > EXACT_FORESTS:
            return greedy_covering(self)
        need = len(self.nodes) - 1
        k = math.ceil(self.d / need)
        while True:
            parts = forests(len(self.nodes), self.tails, self.heads, k)
            if sum(map(len, parts)) == self.d:
                return [tuple(sorted(self._tree([*some, *range(self.d)]))) for some in parts]
            k += 1

    def observable_arms(self) -> set[int]:
        """Return all edges."""
        return set(range(self.d))

    def neighbourhood(self) -> Neighbourhood:
        """Return the exchanges of an edge for another edge of the cycle that it closes with B.

        Their number is an upper bound for any B (docs/thresholds.md, Lemma 1).

        >>> square = SpanningTrees([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
        >>> square.neighbourhood().n_differences
        3
        """
        n, outside = len(self.nodes), self.d - self.max_size()
        degrees = np.bincount([*self.tails, *self.heads], minlength=n)
        pairs, reached, before = 0, 0, 0
        for k, degree in enumerate(sorted(degrees.tolist(), reverse=True)[: n // 2], start=1):
            reached += degree
            crossing = max(min(reached - 2 * k + 1, outside), before)
            pairs += (crossing - before) * (n - 2 * k + 1)
            before = crossing
        return Neighbourhood(2, min(pairs, self.n_gaining_differences()), True)

    def n_gaining_differences(self) -> int:
        """Return the number of pairs of an edge of the tree and an edge outside it."""
        return self.max_size() * (self.d - self.max_size())

    @some_arms
    def relevant_arms(self) -> set[int]:
        """Return all edges but the bridges."""
        tree = self._tree(range(self.d))
        out = set(range(self.d)) - set(tree)
        for i in tree:
            parent = np.arange(len(self.nodes))
            for a in tree:
                if a != i:
                    parent[find(parent, self.tails[a])] = find(parent, self.heads[a])
            if any(
                find(parent, self.tails[a]) != find(parent, self.heads[a])
                for a in set(range(self.d)) - set(tree)
            ):
                out.add(i)
        return out

    def max_size(self) -> int:
        """Return the number of nodes minus 1."""
        return len(self.nodes) - 1

    @figure
    def max_difference(self) -> int:
        """Return the difference of two trees that are as disjoint as possible (matroid union).

        The result is exact up to 150 edges and an upper bound above.
        """
        need = len(self.nodes) - 1
        if self.d > EXACT_FORESTS:
            return 2 * min(need, self.d - need)
        return 2 * (sum(map(len, forests(len(self.nodes), self.tails, self.heads, 2))) - need)

    def geometry(self) -> PolytopeGeometry:
        """Return the diameter from `max_difference` with psi and phi of the cube.

        The facets of the polytope belong to sets of nodes and are too many to list.
        """
        return PolytopeGeometry(math.sqrt(self.max_difference()), 1.0, 1.0, False)
