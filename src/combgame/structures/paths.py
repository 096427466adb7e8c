"""Source-sink paths of a directed acyclic graph, whose edges are the arms."""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from .._validation import check_size
from .._values import frozen
from ..engine.likelihood_ratio import against
from ..engine.protocols import RewardKernel
from ..engine.state import FixedInts, Floats, Ints, Random
from ..errors import InputError, check_int, invalid_argument, unknown_name
from ._gibbs import DiagramKernel, diagram
from ._graphs import Graph, read_graph, reordered
from ._nearest.paths import DetourWorkspace, labels, make_trail, search
from ._union_bound.paths import PathUnionBound, counted, detours
from .base import PolytopeGeometry, StructureBase, sorted_arms
from .relabel import figure, per_arm, renumbered, some_arms


class PathsKernel(NamedTuple):
    """The linear oracle for paths.

    Nodes are numbered in topological order, the source first and the sink last. Only edges on some
    path are kept.
    """

    first: FixedInts  # int64[nodes + 1]: the start of the edges that leave a node
    arm: FixedInts  # int64[edges]: by tail, then by arm
    head: FixedInts  # int64[edges]
    # float64[edges]: the probability that a uniformly random path through the tail takes the edge
    share: Floats
    value: Floats  # scratch: float64[nodes]
    take: Ints  # scratch: int64[nodes]
    arms: Ints  # scratch: int64[d]
    sign: Floats
    trail: DetourWorkspace  # scratch

    def argmax(self, score: Floats, out: Floats) -> None:
        """Find the longest path by dynamic programming, backwards from the sink."""
        nodes = self.first.size - 1
        for a in range(out.size):
            out[a] = 0.0
        self.value[nodes - 1] = 0.0
        for v in range(nodes - 2, -1, -1):
            top = -1
            for k in range(self.first[v], self.first[v + 1]):
                total = score[self.arm[k]] + self.value[self.head[k]]
                if top < 0 or total > self.value[v]:
                    top = k
                    self.value[v] = total
            self.take[v] = top
        v = 0
        while v < nodes - 1:
            out[self.arm[self.take[v]]] = 1.0
            v = self.head[self.take[v]]

    def sample(self, rng: Random, out: Floats) -> None:
        """Draw a uniformly random path: take each edge with the share of paths through it."""
        for a in range(out.size):
            out[a] = 0.0
        v = 0
        while v < self.first.size - 2:
            left, k = rng.random(), self.first[v]
            while k < self.first[v + 1] - 1 and left >= self.share[k]:
                left -= self.share[k]
                k += 1
            out[self.arm[k]] = 1.0
            v = self.head[k]

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Find the nearest detour: adjacent paths differ by one detour.

        For Gaussian rewards this is a dynamic programme over labels, for others a pruned search.
        """
        most = math.inf
        if rewards.quadratic_variance(1.0, 0) > 0.0:
            labels(rewards, self.first, self.arm, self.head, mean, weight, best, self.trail, rival)
        else:
            most = search(
                rewards,
                self.first,
                self.arm,
                self.head,
                mean,
                weight,
                best,
                self.arms,
                self.sign,
                alternative,
                self.trail,
                rival,
            )
        return min(
            against(rewards, mean, weight, best, self.arms, self.sign, rival, alternative), most
        )


EXACT_NODES = 2000  # nodes up to which `Paths.max_difference` is exact


@frozen
class Paths(StructureBase):
    """The paths from a source to a sink of a directed acyclic graph.

    Parameters
    ----------
    edges : list or graph
        A list of (tail, head) or (tail, head, name), or a networkx, rustworkx or SciPy sparse
        graph. Parallel edges are allowed. The arms are the edges in the order given.
    source : hashable
        The node at which the paths begin.
    sink : hashable
        The node at which the paths end.

    Attributes
    ----------
    names : tuple of str
        The names of the edges.
    nodes : tuple
        The nodes.

    Examples
    --------
    >>> edges = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("s", "t")]
    >>> net = Paths(edges, source="s", sink="t")
    >>> net.argmax([1.0, 1.0, 0.5, 0.7, 1.6])
    (1, 3)
    >>> net.n_sets(), net.names[4]
    (3, 's->t')
    """

    def __init__(self, edges: Any, source: Hashable, sink: Hashable) -> None:
        graph = read_graph(edges, "Paths", directed=True)
        self.source, self.sink = source, sink
        for what, node in (("source", source), ("sink", sink)):
            if not _among(node, graph.nodes):
                raise unknown_name(what, node, graph.nodes, of="Paths")
        if source == sink:
            raise invalid_argument("sink", sink, "another node than the source", of="Paths")
        self._arrange(graph)

    @property
    def graph(self) -> Graph:
        """Return the graph, including nodes and edges that lie on no path."""
        return self._graph

    def _arrange(self, graph: Graph) -> None:
        self._graph = graph
        self.d, self.names, self.nodes, source, sink = (
            len(graph.tails),
            graph.names,
            graph.nodes,
            self.source,
            self.sink,
        )
        start, end = graph.nodes.index(source), graph.nodes.index(sink)
        order = _topological(len(graph.nodes), graph.tails, graph.heads, graph.nodes)
        leaving: dict[int, list[int]] = {v: [] for v in order}
        for a, u in enumerate(graph.tails):
            leaving[u].append(a)
        self._ways = dict.fromkeys(order, 0)  # numbers of paths to the sink, as exact integers
        self._ways[end] = 1
        for v in reversed(order):
            if v != end:
                self._ways[v] = sum(self._ways[graph.heads[a]] for a in leaving[v])
        if not self._ways[start]:
            raise InputError(
                "sink-unreachable",
                "Paths: the sink {sink!r} cannot be reached from the source {source!r}",
                remedy="check the edges",
                sink=sink,
                source=source,
            )
        reached = {start}
        for v in order:
            if v in reached:
                reached |= {graph.heads[a] for a in leaving[v] if self._ways[graph.heads[a]]}
        kept = [v for v in order if v in reached and self._ways[v]]  # source first, sink last
        number = {v: i for i, v in enumerate(kept)}
        self._leaving = [
            [a for a in leaving[v] if graph.heads[a] in number] if v != end else [] for v in kept
        ]
        self._head = [number.get(h, -1) for h in graph.heads]
        self._tail = [number.get(t, -1) for t in graph.tails]
        self._counts, self._kept = [self._ways[v] for v in kept], kept

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same structure."""
        return {"edges": self._graph.edges(directed=True), "source": self.source, "sink": self.sink}

    def without_labels(self) -> "Paths":
        """Return the same paths with numbers as nodes."""
        return Paths(
            self._graph.numbers(), self.nodes.index(self.source), self.nodes.index(self.sink)
        )

    def kernel(self) -> PathsKernel:
        """Return the linear oracle for paths."""
        nodes = len(self._leaving)
        arms = [a for out in self._leaving for a in out]
        share = [
            self._counts[self._head[a]] / self._counts[v]
            for v, out in enumerate(self._leaving)
            for a in out
        ]
        first = np.cumsum([0, *(len(out) for out in self._leaving)]).astype(np.int64)
        return PathsKernel(
            first,
            np.array(arms, dtype=np.int64),
            np.array([self._head[a] for a in arms], dtype=np.int64),
            np.array(share),
            np.zeros(nodes),
            np.zeros(nodes, np.int64),
            np.zeros(self.d, np.int64),
            np.zeros(self.d),
            make_trail(nodes, len(arms)),
        )

    def permuted(self, order: Ints) -> "Paths":
        """Return the paths of the graph with its edges in another order."""
        new: Paths = renumbered(self, order, source=self.source, sink=self.sink)
        new._arrange(reordered(self._graph, order))
        return new

    def gibbs(self) -> DiagramKernel:
        """Return the sums over paths; the diagram is the graph itself."""
        return diagram(self._edges())

    def union_bound(self) -> PathUnionBound:
        """Return single detours: if I is not best, some detour by which it differs from B gains."""
        most, classes, within = self._detours()
        number = {self.nodes[v]: i for i, v in enumerate(self._kept)}
        mine = None
        if within is not None:
            mine = {(number[u], number[v]): n for (u, v), n in within.items()}
        return detours(self._edges(), most, classes, mine, self.d)

    @figure
    def _detours(self) -> tuple[int, int, dict[tuple[Hashable, Hashable], int] | None]:
        """Return the result of `counted` with names of nodes, which stay when arms are permuted."""
        most, classes, within = counted(self._edges(), self.n_sets())
        kept = [self.nodes[v] for v in self._kept]
        if within is None:
            return most, classes, None
        return most, classes, {(kept[u], kept[v]): n for (u, v), n in within.items()}

    def _edges(self) -> list[list[tuple[int, int]]]:
        return [[(a, self._head[a]) for a in out] for out in self._leaving]

    def n_sets(self) -> int:
        """Return the number of paths."""
        return self._counts[0]

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        last = len(self._leaving) - 1

        def walk(v: int, taken: list[int]) -> Iterator[tuple[int, ...]]:
            if v == last:
                yield tuple(sorted(taken))
                return
            for a in self._leaving[v]:
                yield from walk(self._head[a], [*taken, a])

        return walk(0, [])

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether the given arms form a path."""
        chosen = sorted_arms(arms, self.d)
        if chosen is None:
            return False
        left, v = set(chosen), 0
        while v < len(self._leaving) - 1:
            step = [a for a in self._leaving[v] if a in left]
            if len(step) != 1:
                return False
            left.remove(step[0])
            v = self._head[step[0]]
        return not left

    @some_arms
    def observable_arms(self) -> set[int]:
        """Return the edges that lie on some path."""
        return {a for out in self._leaving for a in out}

    def covering(self) -> list[tuple[int, ...]]:
        """Return a minimal covering: the smallest flow of at least 1 on every edge, as paths."""
        lone = self._lone_flow()
        flow, sets = self._flow() if lone is None else dict(lone), []
        while any(flow[a] for a in self._leaving[0]):
            v, taken = 0, []
            while v < len(self._leaving) - 1:
                a = max(self._leaving[v], key=lambda arm: flow[arm])
                flow[a] -= 1
                taken.append(a)
                v = self._head[a]
            sets.append(tuple(sorted(taken)))
        return sets

    @per_arm
    def _lone_flow(self) -> dict[int, int] | None:
        """Return the smallest flow if it is unique, so that no indices of arms decide it."""
        flow = self._flow()
        return flow if self._alone(flow) else None

    def _flow(self) -> dict[int, int]:
        """Return a smallest flow, by a linear programme with integer vertices."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix

        arms = sorted(self.observable_arms())
        column = {a: k for k, a in enumerate(arms)}
        rows, columns, signs = [], [], []
        for a in arms:
            for node, sign in ((self._tail[a], 1.0), (self._head[a], -1.0)):
                if 0 < node < len(self._leaving) - 1:
                    rows.append(node - 1)
                    columns.append(column[a])
                    signs.append(sign)
        inner = len(self._leaving) - 2
        balance = csr_matrix((signs, (rows, columns)), shape=(inner, len(arms))) if inner else None
        cost = [1.0 if self._tail[a] == 0 else 0.0 for a in arms]
        solved = linprog(
            cost,
            A_eq=balance,
            b_eq=np.zeros(inner) if inner else None,
            bounds=(1, None),
            method="highs-ds",
        )
        return {a: round(float(x)) for a, x in zip(arms, solved.x, strict=True)}

    def _alone(self, flow: dict[int, int]) -> bool:
        """Return whether no other flow is as small.

        Two smallest flows differ by cycles, which take an edge forwards, or backwards if its flow
        is above 1.
        """
        group = list(range(len(self._leaving)))  # nodes that reach one another in both directions

        def root(v: int) -> int:
            while group[v] != v:
                group[v] = v = group[group[v]]
            return v

        for a, x in flow.items():
            u, v = root(self._tail[a]), root(self._head[a])
            if x > 1 and u == v:
                return False
            if x > 1:
                group[u] = v
        onwards: TopologicalSorter[int] = TopologicalSorter()
        for a, x in flow.items():
            if x == 1:
                onwards.add(root(self._head[a]), root(self._tail[a]))
        try:
            onwards.prepare()  # an edge inside a group is a cycle too
        except CycleError:
            return False
        return True

    @some_arms
    def relevant_arms(self) -> set[int]:
        """Return the edges that lie on some path but not on every path."""
        ways = [1] + [0] * (len(self._leaving) - 1)  # numbers of paths from the source
        for v, out in enumerate(self._leaving):
            for a in out:
                ways[self._head[a]] += ways[v]
        return {
            a
            for a in self.observable_arms()
            if ways[self._tail[a]] * self._counts[self._head[a]] < self.n_sets()
        }

    @figure
    def max_size(self) -> int:
        """Return the number of edges of the longest path."""
        return len(self.argmax(np.ones(self.d)))

    @figure
    def max_difference(self) -> int:
        """Return the difference of the two paths that differ most.

        It is found by a dynamic programme over pairs of nodes, up to 2000 nodes; above, the result
        is an upper bound.
        """
        n = len(self._leaving)
        if n > EXACT_NODES:
            return min(2 * self.max_size(), self.d)
        most = {(n - 1, n - 1): 0}
        # the earlier node of the pair moves on; from a shared node, both may take the same edge
        for u in range(n - 1, -1, -1):
            for v in range(n - 1, u - 1, -1):
                if u == v == n - 1:
                    continue
                options = []
                if u == v:
                    for a in self._leaving[u]:
                        options.append(most[_pair(self._head[a], self._head[a])])
                        options += [
                            2 + most[_pair(self._head[a], self._head[b])]
                            for b in self._leaving[u]
                            if b > a
                        ]
                else:
                    options = [1 + most[_pair(self._head[a], v)] for a in self._leaving[u]]
                most[u, v] = max(options)
        return most[0, 0]

    @figure
    def geometry(self) -> PolytopeGeometry:
        """Return the geometry of the flow polytope {x >= 0, flow conservation}.

        The rows are -e_a, so psi = phi = 1.
        """
        exact = len(self._leaving) <= EXACT_NODES
        return PolytopeGeometry(math.sqrt(self.max_difference()), 1.0, 1.0, exact)


def _among(node: object, nodes: Sequence[Hashable]) -> bool:
    """Return whether a value is one of the nodes, even if comparing it raises an error."""
    try:
        return hash(node) is not None and bool(node in nodes)
    except Exception:
        return False


def _pair(u: int, v: int) -> tuple[int, int]:
    return (u, v) if u <= v else (v, u)


def _topological(
    n: int, tails: Sequence[int], heads: Sequence[int], names: Sequence[Hashable]
) -> list[int]:
    """Return the nodes in topological order, by Kahn's algorithm; an error names a cycle."""
    entering = [0] * n
    leaving: list[list[int]] = [[] for _ in range(n)]
    for u, v in zip(tails, heads, strict=True):
        entering[v] += 1
        leaving[u].append(v)
    ready, order = [v for v in range(n) if not entering[v]], []
    while ready:
        v = ready.pop(0)
        order.append(v)
        for head in leaving[v]:
            entering[head] -= 1
            if not entering[head]:
                ready.append(head)
    if len(order) < n:
        stuck = {v for v in range(n) if entering[v]}
        # nodes that come after the cycle are not on it
        while loose := {v for v in stuck if not any(u in stuck for u in leaving[v])}:
            stuck -= loose
        raise InputError(
            "cycle",
            "Paths: the graph has a cycle among the nodes {nodes}",
            remedy="drop or turn an edge of it, or list the paths with Listed",
            nodes=[names[v] for v in sorted(stuck)][:10],
        )
    return order


def grid_network(n_s: int) -> Paths:
    """Return the grid network (binomial bridge) of the paper with ``n_s`` stages.

    The grid has n_s/2 + 1 nodes on a side and edges to the right and down.

    Parameters
    ----------
    n_s : int
        The number of stages, an even number of at least 2.

    Returns
    -------
    Paths
        Arm 0 is the link a* of the paper's figure: in the last row, from the corner below the
        source to its right-hand neighbour. A single path contains it (all the way down, then
        right).

    Examples
    --------
    >>> net = grid_network(6)
    >>> net.d, net.n_sets()
    (24, 20)
    """
    side = check_int("n_s", n_s, 2, of="grid_network") // 2
    check_size(2 * side * (side + 1), "links", of="grid_network")
    if n_s % 2:
        raise invalid_argument(
            "n_s", n_s, "even: half of the stages go right, half go down", of="grid_network"
        )
    edges = [((side, 0), (side, 1))]  # (row, column): a* first
    for row in range(side + 1):
        for column in range(side + 1):
            for head in ((row, column + 1), (row + 1, column)):
                edge = ((row, column), head)
                if max(head) <= side and edge != edges[0]:
                    edges.append(edge)
    return Paths(edges, source=(0, 0), sink=(side, side))


def line_network(n_n: int, n_l: int) -> Paths:
    """Return the line network of the paper: layers with all edges between neighbouring layers.

    Parameters
    ----------
    n_n : int
        The number of nodes per layer.
    n_l : int
        The number of layers, at least 2.

    Returns
    -------
    Paths
        Arm 0 is the link a* of the paper's figure, between the first nodes of the first two layers.

    Examples
    --------
    >>> net = line_network(2, 4)
    >>> net.d, net.n_sets()
    (16, 16)
    """
    width, layers = (
        check_int("n_n", n_n, 1, of="line_network"),
        check_int("n_l", n_l, 2, of="line_network"),
    )
    check_size(2 * width + (layers - 1) * width**2, "links", of="line_network")
    edges: list[tuple[object, object]] = [((1, 0), (2, 0))]
    edges += [("s", (1, j)) for j in range(width)]
    for layer in range(1, layers):
        edges += [
            ((layer, i), (layer + 1, j))
            for i in range(width)
            for j in range(width)
            if (layer, i, j) != (1, 0, 0)
        ]
    edges += [((layers, j), "t") for j in range(width)]
    return Paths(edges, source="s", sink="t")
