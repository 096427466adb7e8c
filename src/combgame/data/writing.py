"""Problem -> data, such that reading gives the same problem."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ..problem import Problem
from ..structures import (
    AlmostAllSets,
    Arms,
    IntegerProgram,
    Listed,
    Matchings,
    Partition,
    Paths,
    SpanningTrees,
    StructureBase,
    Subsets,
)
from ..structures.graphs.reading import read_graph
from .plain import plain
from .reading import REWARDS
from .values import Place, edge


def problem_to(problem: Problem, means: Any = None) -> dict[str, Any]:
    """Plain data from which `problem_from` makes the same problem; infinite bounds are the texts "inf" and "-inf".

    >>> from combgame import Bernoulli
    >>> problem_to(Problem(Subsets(3, 2), Arms(3), Bernoulli()), [0.1, 0.2, 0.3])["answers"]
    {'kind': 'arms', 'arms': 3}
    """
    data: dict[str, Any] = {} if problem.names is None else {"names": list(problem.names)}
    low, high = problem.rewards.range(problem.d)
    if (problem.low, problem.high) != (tuple(low.tolist()), tuple(high.tolist())):
        pairs = [[_finite(a), _finite(b)] for a, b in zip(problem.low, problem.high, strict=True)]
        data["bounds"] = pairs[0] if all(pair == pairs[0] for pair in pairs) else pairs
    data["actions"] = _structure_to(problem.actions)
    if problem.answers is not problem.actions:
        answers = _structure_to(problem.answers)
        if answers != data["actions"]:
            data["answers"] = answers
    data["rewards"] = _rewards_to(problem.rewards)
    if means is not None:
        data["truth"] = {"means": problem.means(means).tolist()}
    return data


def _finite(x: Any) -> float | str:
    return float(x) if math.isfinite(x) else str(float(x))


def _rewards_to(rewards: Any) -> dict[str, Any]:
    kind = next((name for name, kind in REWARDS.items() if kind.make is type(rewards)), None)
    if kind is None:
        raise InputError(f"{rewards!r} cannot be written as data; use Gaussian, Bernoulli or Bounded.")
    values = {key: plain(getattr(rewards, key)) for key in REWARDS[kind].keys}
    unsaid = REWARDS[kind].defaults
    return {"kind": kind, **{key: value for key, value in values.items() if key not in unsaid or value != unsaid[key]}}


def _decimal(value: Any) -> Any:
    """1 and 1.0 are the same sigma."""
    return [float(x) for x in value] if isinstance(value, list) else value if isinstance(value, bool) else float(value)


def _structure_to(structure: StructureBase) -> dict[str, Any]:
    if type(structure) not in WRITERS:
        raise InputError(f"{structure!r} cannot be written as data, because a file cannot hold it; list its sets with Listed.")
    kind, write = WRITERS[type(structure)]
    return {"kind": kind, **write(structure)}


def _labels(nodes: Sequence[Hashable]) -> list[Any]:
    """Nodes as JSON can carry them: texts and whole numbers, tuples as lists, others as texts; different ones stay different."""

    def label(node: Any) -> Any:
        if isinstance(node, tuple):
            return [label(one) for one in node]
        return int(node) if isinstance(node, int | np.integer) else str(node)

    found: dict[str, Any] = {}
    for node in nodes:
        text = label(node)
        while repr(text) in found:
            text = f"{text}'"
        found[repr(text)] = text
    return list(found.values())


def _edges_to(ends: list[list[Any]], names: list[str], directed: bool) -> list[list[Any]]:
    """Edges with their names, unless those are the ones that they get without."""
    usual = read_graph([edge(pair, Place("edges")) for pair in ends], "edges", directed).names
    return ends if usual == names else [[*pair, name] for pair, name in zip(ends, names, strict=True)]


def _paths_to(paths: Paths) -> dict[str, Any]:
    """`Paths` knows the nodes between source and sink; an edge that leads elsewhere gets an end of its own."""
    nodes = [paths.nodes[v] for v, ways in paths._ways.items() if ways]  # in topological order, by which _tail and _head count
    between = len(paths._leaving)
    if len(nodes) > between:  # some are not reached from the source; which ones is not remembered
        nodes = [paths.source, *(f"node {v}" for v in range(1, between - 1)), paths.sink]
    ends: list[list[int]] = []
    for pair in zip(paths._tail, paths._head, strict=True):
        ends.append([])
        for v in pair:
            ends[-1].append(v if v >= 0 else len(nodes))
            if v < 0:
                nodes.append(f"beside {len(nodes)}")
    labels = _labels(nodes)
    edges = _edges_to([[labels[u], labels[v]] for u, v in ends], paths.names, directed=True)
    return {"edges": edges, "source": labels[0], "sink": labels[between - 1]}


def _trees_to(trees: SpanningTrees) -> dict[str, Any]:
    labels = _labels(trees.nodes)
    ends = [[labels[u], labels[v]] for u, v in zip(trees.tails, trees.heads, strict=True)]
    return {"edges": _edges_to(ends, trees.names, directed=False)}


def _matchings_to(matchings: Matchings) -> dict[str, Any]:
    rows, columns = _labels(matchings.rows), _labels(matchings.columns)
    allowed = set(matchings.where)
    barred = [[r, c] for i, r in enumerate(rows) for j, c in enumerate(columns) if (i, j) not in allowed]
    sides = {"rows": _count(rows), "columns": _count(columns), "size": matchings.pairs}
    return {**sides, "forbidden": barred} if barred else sides


def _count(side: list[Any]) -> Any:
    return len(side) if side == list(range(len(side))) else side


def _programme_to(programme: IntegerProgram) -> dict[str, Any]:
    found: dict[str, list[Any]] = {"A": [], "low": [], "high": []}
    for matrix, low, high in programme._rows[:-1]:  # the last says that the empty set is left out
        for row, least, most in zip(matrix, low, high, strict=True):
            free = not row.any()  # 0 <= 0 says nothing, whatever its bounds have been scaled to
            found["A"].append(row.tolist())
            found["low"].append("-inf" if free else _finite(least))
            found["high"].append("inf" if free else _finite(most))
    return {"arms": programme.d, **found, "exact": bool(programme.exact), "time_limit": plain(programme.time_limit)}


WRITERS: dict[type[StructureBase], tuple[str, Callable[[Any], dict[str, Any]]]] = {
    Arms: ("arms", lambda this: {"arms": this.d}),
    Subsets: ("subsets", lambda this: {"arms": this.d, "size": this.chosen}),
    Partition: ("partition", lambda this: {"groups": [list(group) for group in this.groups], "sizes": list(this.sizes)}),
    Paths: ("paths", _paths_to),
    SpanningTrees: ("spanning-trees", _trees_to),
    Matchings: ("matchings", _matchings_to),
    AlmostAllSets: ("almost-all", lambda this: {"arms": this.d, "needle": list(this.needle)}),
    Listed: ("listed", lambda this: {"sets": [list(chosen) for chosen in this.iterate()], "arms": this.d}),
    IntegerProgram: ("integer-program", _programme_to),
}


def nameless(data: dict[str, Any]) -> dict[str, Any]:
    """A problem's data without what is only a name (of arms, nodes, edges, rows and columns), for runs do not depend on them.

    >>> one, two = (Paths([(a, b), (b, c), (a, c)], a, c) for a, b, c in ("stu", "xyz"))
    >>> from combgame import Gaussian
    >>> first, second = (nameless(problem_to(Problem(paths, None, Gaussian(1.0)))) for paths in (one, two))
    >>> first == second
    True
    """
    found = {key: value for key, value in data.items() if key != "names"}
    found["rewards"] = {key: value if key == "kind" else _decimal(value) for key, value in data["rewards"].items()}
    for part in ("actions", "answers"):
        table = dict(found.get(part, {}))
        if "edges" in table:
            ends = [end for pair in table["edges"] for end in pair[:2]]
            number = {repr(end): k for k, end in reversed(list(enumerate(ends)))}  # where it first stands
            table["edges"] = [[number[repr(end)] for end in pair[:2]] for pair in table["edges"]]
            table.update({key: number[repr(table[key])] for key in ("source", "sink") if key in table})
        if "rows" in table:
            sides = [table[key] if isinstance(table[key], list) else list(range(table[key])) for key in ("rows", "columns")]
            table["forbidden"] = [
                [side.index(end) for side, end in zip(sides, pair, strict=True)] for pair in table.get("forbidden", [])
            ]
            table["rows"], table["columns"] = map(len, sides)
        if table:
            found[part] = table
    return found
