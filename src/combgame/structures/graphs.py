"""Graphs as people have them: edge lists, networkx, rustworkx, SciPy sparse matrices. Arms are edges, in the order given."""

from collections.abc import Hashable
from typing import Any, NamedTuple

from ..errors import InputError


class Graph(NamedTuple):
    """Nodes by number, with their names; one arm per edge."""

    nodes: list[Hashable]
    tails: list[int]
    heads: list[int]
    names: list[str]  # of the edges


def read_graph(edges: Any, what: str, directed: bool) -> Graph:
    """Edges from a list of (tail, head) or (tail, head, name), or from somebody else's graph object."""
    nodes: list[Hashable] = []
    if hasattr(edges, "tocoo"):  # SciPy sparse: an entry is an edge, explicit zeros too
        found = edges.tocoo()
        triples = [(int(u), int(v), None) for u, v in zip(found.row, found.col, strict=True)]
        if not directed:
            triples = [t for t in triples if t[0] < t[1]] or triples
    elif hasattr(edges, "edge_list"):  # rustworkx
        labels = list(edges.nodes())
        whole = all(isinstance(x, Hashable) and x is not None for x in labels) and len(set(labels)) == len(labels)
        triples = [(labels[u], labels[v], None) if whole else (u, v, None) for u, v in edges.edge_list()]
    elif hasattr(edges, "edges") and hasattr(edges, "nodes"):  # networkx
        several = edges.is_multigraph()
        rows = edges.edges(keys=True, data=True) if several else edges.edges(data=True)
        triples = [(row[0], row[1], row[-1].get("name")) for row in rows]
        nodes = list(edges.nodes)
    else:
        try:
            triples = [(e[0], e[1], e[2] if len(e) > 2 else None) for e in edges]
        except (TypeError, IndexError, KeyError):
            raise InputError(
                f"{what}: edges must be a list of (tail, head) or (tail, head, name), or a networkx, rustworkx or sparse graph."
            ) from None
    if not triples:
        raise InputError(f"{what}: there are no edges; give at least one.")
    number: dict[Hashable, int] = {}
    for node in [*nodes, *(x for t in triples for x in t[:2])]:
        number.setdefault(node, len(number))
    arrow, names, seen = ("->" if directed else "-"), [], dict[str, int]()
    for u, v, name in triples:
        text = str(name) if name is not None else f"{u}{arrow}{v}"
        seen[text] = seen.get(text, 0) + 1
        names.append(text if seen[text] == 1 else f"{text} #{seen[text]}")
    return Graph(list(number), [number[t[0]] for t in triples], [number[t[1]] for t in triples], names)
