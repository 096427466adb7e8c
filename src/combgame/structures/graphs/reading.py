"""Graphs as people have them: edge lists, networkx, rustworkx, SciPy sparse matrices. Arms are
edges, in the order given.
"""

from collections.abc import Hashable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ...errors import InputError
from ...game.records import Ints
from ...limits import check_size, items_of
from ...sentences import word

ARROWS = {True: "->", False: "-"}  # in the name of an edge, by whether it has a direction


class Graph(NamedTuple):
    """Nodes by number, with their names; one arm per edge."""

    nodes: tuple[Hashable, ...]  # in the order in which the edges meet them
    tails: tuple[int, ...]
    heads: tuple[int, ...]
    names: tuple[str, ...]  # of the edges

    def edges(self, directed: bool) -> tuple[tuple[Hashable, ...], ...]:
        """What makes the same graph: its edges, with names unless those are the ones that they get
        without.
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
        """The edges between the numbers of the nodes."""
        return tuple(zip(self.tails, self.heads, strict=True))


def reordered(graph: Graph, order: Ints) -> Graph:
    """The same graph with the edges in another order, and the nodes in the order in which those
    meet them.
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
    """Edges from a list of (tail, head) or (tail, head, name), or from somebody else's graph
    object.
    """
    nodes: list[Hashable] = []
    triples: list[tuple[Any, Any, str | None]]
    if hasattr(edges, "tocoo"):  # SciPy sparse: an entry is an edge, explicit zeros too
        matrix = edges.tocoo()
        pairs = [(int(u), int(v)) for u, v in zip(matrix.row, matrix.col, strict=True)]
        if not directed:  # one entry or two, above or below the diagonal: the same edge
            pairs = sorted({(min(u, v), max(u, v)) for u, v in pairs})
        triples = [(u, v, None) for u, v in pairs]
        nodes = list(range(max(matrix.shape)))
    elif hasattr(edges, "edge_list"):  # rustworkx
        _check_direction(what, directed, hasattr(edges, "in_degree"))
        # numbers keep holes where nodes were removed
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
            listed = items_of("edges", edges, "a list of edges", of=what)
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
    """Names of edges, no two of them the same."""
    names: dict[str, None] = {}
    seen: dict[str, int] = {}
    for u, v, name in triples:
        text = str(name) if name is not None else f"{word(u)}{arrow}{word(v)}"
        seen[text] = seen.get(text, 0) + 1
        said = text if seen[text] == 1 else f"{text} #{seen[text]}"
        while said in names:
            seen[text] += 1
            said = f"{text} #{seen[text]}"
        names[said] = None
    return tuple(names)
