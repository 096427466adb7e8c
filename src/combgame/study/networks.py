"""The structure of a problem as a graph that can be drawn, with what is known of its edges."""

from collections.abc import Sequence
from typing import Any

from ..problem import Problem
from ..report.networks import Network
from ..sentences import word
from ..structures import Matchings, Paths, SpanningTrees


def network(problem: Problem, arms: Sequence[dict[str, Any]]) -> Network | None:
    """Where arms are edges: the graph of the answers, or else of the actions; None elsewhere. arms:
    one row per arm, as `rows("arm")` has them.

    >>> import combgame as cg
    >>> paths = cg.Paths([("s", "a"), ("a", "t"), ("s", "t")], "s", "t")
    >>> rows = [{"arm": x, "n": 1, "leads": x == "s->t"} for x in paths.names]
    >>> made = network(cg.Problem(paths, rewards=cg.Bernoulli()), rows)
    >>> made.nodes, made.ends, made.edges[2]
    (['s', 'a', 't'], (0, 2), {'tail': 0, 'head': 2, 'arm': 's->t', 'n': 1, 'leads': True})
    """
    for one in (problem.answers, problem.actions):
        if isinstance(one, Paths):
            graph = one.graph
            ends = graph.nodes.index(one.source), graph.nodes.index(one.sink)
            joined = list(zip(graph.tails, graph.heads, strict=True))
            return Network("paths", list(map(word, graph.nodes)), _edges(joined, arms), ends)
        if isinstance(one, SpanningTrees):
            joined = list(zip(one.tails, one.heads, strict=True))
            return Network("tree", list(map(word, one.nodes)), _edges(joined, arms))
        if isinstance(one, Matchings):
            left = len(one.rows)
            joined = [(row, left + column) for row, column in one.where]
            nodes = list(map(word, (*one.rows, *one.columns)))
            return Network("matching", nodes, _edges(joined, arms), left=left)
    return None


def _edges(
    joined: Sequence[tuple[int, int]], arms: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {
            "tail": tail,
            "head": head,
            "arm": one["arm"],
            "n": one["n"],
            "leads": bool(one["leads"] and one["n"]),
        }
        for (tail, head), one in zip(joined, arms, strict=True)
    ]
