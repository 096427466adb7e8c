"""Graphs whose edges are the arms, and algorithms on them.

`read_graph` reads edge lists and the graphs of networkx, rustworkx and SciPy; arms are edges, in
the order given. `forests` is matroid partition for graphs (Edmonds 1965). `assign` solves the
assignment problem by shortest augmenting paths with potentials (Kuhn, Munkres; Jonker and
Volgenant) in O(n^3).
"""

import math
from collections import deque
from collections.abc import Hashable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from .._messages import safe_str
from .._validation import check_list, check_size
from ..engine.jit import jitable
from ..engine.state import Floats, Ints
from ..errors import InputError


def forests(nodes: int, tails: Sequence[int], heads: Sequence[int], k: int) -> list[set[int]]:
    """Return k edge-disjoint forests with as many edges as possible together.

    The forests grow along augmenting paths of exchanges.
    """
    held: list[set[int]] = [set() for _ in range(k)]
    for new in range(len(tails)):
        # maps an edge to (the edge that pushes it out, the forest that it leaves)
        came: dict[int, tuple[int, int] | None] = {new: None}
        queue, done = deque([new]), False
        while queue and not done:
            e = queue.popleft()
            for f in range(k):
                if e in held[f]:
                    continue
                circuit = _way(nodes, tails, heads, held[f], tails[e], heads[e])
                if circuit is None:  # e fits into forest f: shift everything along the path
                    target: int = f
                    step: int | None = e
                    while step is not None:
                        before = came[step]
                        held[target].add(step)
                        if before is None:
                            step = None
                        else:
                            held[before[1]].discard(step)
                            target, step = before[1], before[0]
                    done = True
                    break
                for other in circuit:
                    if other not in came:
                        came[other] = (e, f)
                        queue.append(other)
    return held


def _way(
    nodes: int, tails: Sequence[int], heads: Sequence[int], forest: set[int], u: int, v: int
) -> list[int] | None:
    """Return the edges between two nodes in a forest; None if they are not joined."""
    at: dict[int, list[tuple[int, int]]] = {}
    for a in forest:
        at.setdefault(tails[a], []).append((heads[a], a))
        at.setdefault(heads[a], []).append((tails[a], a))
    came: dict[int, tuple[int, int] | None] = {u: None}
    queue = deque([u])
    while queue:
        x = queue.popleft()
        if x == v:
            way = []
            while (before := came[x]) is not None:
                way.append(before[1])
                x = before[0]
            return way
        for y, a in at.get(x, []):
            if y not in came:
                came[y] = (x, a)
                queue.append(y)
    return None


@jitable
def assign(cost: Floats, held: Ints, worth: Floats) -> None:
    """Minimise the total cost: held[0, c + 1] becomes 1 + the row of column c.

    The two other rows of `held` are scratch.

    Parameters
    ----------
    cost : ndarray of float64, shape (n, n)
        The cost of each row in each column.
    held : ndarray of int64, shape (3, n + 1)
        The assignment is written into row 0.
    worth : ndarray of float64, shape (3, n + 1)
        Rows 0 and 1 receive, from index 1, the potentials of the rows and columns. Their sum equals
        the cost of an assigned pair and never exceeds the cost of any pair. Row 2 is scratch.
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


ARROWS = {True: "->", False: "-"}  # in the names of directed and undirected edges


class Graph(NamedTuple):
    """A graph: numbered nodes with names, and one arm per edge."""

    nodes: tuple[Hashable, ...]  # in the order of their first appearance in the edges
    tails: tuple[int, ...]
    heads: tuple[int, ...]
    names: tuple[str, ...]  # names of the edges

    def edges(self, directed: bool) -> tuple[tuple[Hashable, ...], ...]:
        """Return edges that make the same graph.

        An edge has its name unless that is the name it would get without one.
        """
        ends = [(self.nodes[u], self.nodes[v]) for u, v in zip(self.tails, self.heads, strict=True)]
        usual = _names([(u, v, None) for u, v in ends], ARROWS[directed])
        said = [
            None if name == other else name for name, other in zip(self.names, usual, strict=True)
        ]
        if (
            _names(
                [(u, v, name) for (u, v), name in zip(ends, said, strict=True)], ARROWS[directed]
            )
            != self.names
        ):
            said = list(self.names)
        return tuple(
            (u, v) if name is None else (u, v, name)
            for (u, v), name in zip(ends, said, strict=True)
        )

    def numbers(self) -> tuple[tuple[int, int], ...]:
        """Return the edges as pairs of node numbers."""
        return tuple(zip(self.tails, self.heads, strict=True))


def reordered(graph: Graph, order: Ints) -> Graph:
    """Return the same graph with its edges in another order.

    The nodes are numbered by their first appearance in the new order.
    """
    number: dict[int, int] = {}
    tails, heads = (tuple(ends[a] for a in order) for ends in (graph.tails, graph.heads))
    for u, v in zip(tails, heads, strict=True):
        number.setdefault(u, len(number))
        number.setdefault(v, len(number))
    for v in range(len(graph.nodes)):  # nodes without edges
        number.setdefault(v, len(number))
    nodes = sorted(number, key=lambda v: number[v])
    return Graph(
        tuple(graph.nodes[v] for v in nodes),
        tuple(number[v] for v in tails),
        tuple(number[v] for v in heads),
        tuple(graph.names[a] for a in order),
    )


def _check_direction(what: str, wanted: bool, directed: bool) -> None:
    if wanted and not directed:
        raise InputError(
            "graph-undirected",
            "{what}: the graph is undirected, so that its edges have no direction to go",
            remedy="pass a directed graph",
            what=what,
        )
    if directed and not wanted:
        raise InputError(
            "graph-directed",
            "{what}: the graph is directed, but trees have no direction",
            remedy="pass an undirected graph",
            what=what,
        )


def read_graph(edges: Any, what: str, directed: bool) -> Graph:
    """Return the graph given by an edge list or by a graph object.

    Parameters
    ----------
    edges : list or graph
        A list of (tail, head) or (tail, head, name), or a networkx, rustworkx or SciPy sparse
        graph.
    what : str
        Name of the structure, for error messages.
    directed : bool
        True if the edges must have a direction.
    """
    nodes: list[Hashable] = []
    triples: list[tuple[Any, Any, str | None]]
    if hasattr(edges, "tocoo"):  # SciPy sparse: every stored entry is an edge, even a zero
        matrix = edges.tocoo()
        pairs = [(int(u), int(v)) for u, v in zip(matrix.row, matrix.col, strict=True)]
        if not directed:  # entries above and below the diagonal are the same edge
            pairs = sorted({(min(u, v), max(u, v)) for u, v in pairs})
        triples = [(u, v, None) for u, v in pairs]
        nodes = list(range(max(matrix.shape)))
    elif hasattr(edges, "edge_list"):  # rustworkx
        _check_direction(what, directed, hasattr(edges, "in_degree"))
        # removed nodes leave gaps in the numbers
        labels = {i: edges[i] for i in edges.node_indices()}
        values = list(labels.values())
        if not all(isinstance(x, Hashable) and x is not None for x in values) or len(
            set(values)
        ) < len(values):
            labels = {i: i for i in labels}
        nodes = list(labels.values())
        triples = [
            (labels[u], labels[v], name if isinstance(name, str) else None)
            for u, v, name in edges.weighted_edge_list()
        ]
    elif hasattr(edges, "edges") and hasattr(edges, "nodes"):  # networkx
        _check_direction(what, directed, edges.is_directed())
        several = edges.is_multigraph()
        rows = edges.edges(keys=True, data=True) if several else edges.edges(data=True)
        triples = [(row[0], row[1], row[-1].get("name")) for row in rows]
        nodes = list(edges.nodes)
    else:
        try:
            listed = check_list("edges", edges, "a list of edges", of=what)
            given = [tuple(islice(iter(e), 4)) for e in listed if not isinstance(e, str)]
            fit = len(given) == len(listed) and all(
                len(e) == 2 or (len(e) == 3 and isinstance(e[2], str)) for e in given
            )
            triples = (
                [(e[0], e[1], e[2] if len(e) > 2 else None) for e in given]
                if fit and {x for e in given for x in e}
                else []
            )
        except Exception:  # whatever was given
            fit = False
        if not fit:
            raise InputError(
                "not-edges",
                "{what}: what was given as edges cannot be read",
                remedy="give a list of (tail, head) or (tail, head, name) with a text as name, or "
                "a networkx, rustworkx or SciPy sparse graph",
                what=what,
            )
    if not triples:
        raise InputError(
            "no-edges", "{what}: there are no edges", remedy="give at least one", what=what
        )
    check_size(len(triples), "edges", of=what)
    number: dict[Hashable, int] = {}
    for node in [*(x for t in triples for x in t[:2]), *nodes]:
        number.setdefault(node, len(number))
    tails, heads = (tuple(number[t[k]] for t in triples) for k in (0, 1))
    return Graph(tuple(number), tails, heads, _names(triples, ARROWS[directed]))


def _names(triples: Sequence[tuple[Any, Any, str | None]], arrow: str) -> tuple[str, ...]:
    """Return distinct names of the edges."""
    names: dict[str, None] = {}
    seen: dict[str, int] = {}
    for u, v, name in triples:
        text = str(name) if name is not None else f"{safe_str(u)}{arrow}{safe_str(v)}"
        seen[text] = seen.get(text, 0) + 1
        said = text if seen[text] == 1 else f"{text} #{seen[text]}"
        while said in names:
            seen[text] += 1
            said = f"{text} #{seen[text]}"
        names[said] = None
    return tuple(names)
