"""Graphs as SVG, in the colours of the page.

The layout depends on the graph only. The leading path, tree or matching is thick, and every edge
shows how often it was measured.
"""

import math
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._display.plotting import short
from ..._display.text import count

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_NODES, MOST_EDGES = 60, 150  # more cannot be read
WIDE, TALL, EDGE = 640.0, 420.0, 40.0  # maximum size of the figure, and its margin
ROW = 76.0  # vertical distance of nodes
SWEEPS = 8  # iterations that order the layers of a network
STEPS = 80  # iterations that place the nodes of a graph
Point = tuple[float, float]


class Network(NamedTuple):
    """A graph as plain data.

    Attributes
    ----------
    kind : str
        "paths" (from the first node of `ends` to the second), "tree", or "matching" (the first
        `left` nodes are on the left).
    nodes : list of str
        Names of the nodes.
    edges : list of dict
        One row per edge: `tail`, `head`, `arm` (its name), `n` (its number of values), `leads`.
    ends : (int, int)
        Source and sink of the paths.
    left : int
        Number of nodes on the left of a matching.
    """

    kind: str
    nodes: list[str]
    edges: list[dict[str, Any]]
    ends: tuple[int, int] = (0, 0)
    left: int = 0


def drawn(network: Network) -> "Markup":
    """Return the <svg> element of a graph; it is empty if the graph is too large to be read."""
    from markupsafe import Markup

    if len(network.nodes) > MOST_NODES or len(network.edges) > MOST_EDGES:
        return Markup()
    place, tall = placed(network)
    lines: list[str] = []
    marks: list[str] = []
    bends = _bends(network.edges)
    for one, bend in sorted(zip(network.edges, bends, strict=True), key=lambda x: x[0]["leads"]):
        line, mark = _edge(one, place[one["tail"]], place[one["head"]], bend, network.kind)
        lines.append(line)
        marks.append(mark)
    dots = [
        _node(network, number, name, place[number]) for number, name in enumerate(network.nodes)
    ]
    return Markup(
        f'<svg class="network" xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDE:g}" '
        f'viewBox="0 0 {WIDE:g} {tall:g}"><title>{escape(label(network))}</title>\n'
        + "\n".join([*lines, *marks, *dots])
        + "\n</svg>"
    )


def label(network: Network) -> str:
    """Return the description of a graph for screen readers."""
    what = {"paths": "path", "tree": "tree", "matching": "matching"}[network.kind]
    leading = [str(one["arm"]) for one in network.edges if one["leads"]]
    parts = f"{count(len(network.nodes), 'node')} and {count(len(network.edges), 'edge')}"
    if not leading:
        return f"A network of {parts}; nothing was measured yet"
    some = ", ".join(leading[:12]) + (", ..." if len(leading) > 12 else "")
    return f"A network of {parts}; the leading {what} is {some}"


def placed(network: Network) -> tuple[list[Point], float]:
    """Return the position of every node, and the height of the figure."""
    rows = math.inf
    if network.kind == "matching":
        right = len(network.nodes) - network.left
        made = [(0.12, (k + 0.5) / network.left) for k in range(network.left)]
        made += [(0.88, (k + 0.5) / right) for k in range(right)]
        rows = max(network.left, right)
    elif network.kind == "paths":
        made = layered(network)
        rows = max(Counter(x for x, _ in made).values())
    else:
        made = spread(network)
    tall = min(TALL, 2 * EDGE + ROW * rows)
    return [(EDGE + (WIDE - 2 * EDGE) * x, EDGE + (tall - 2 * EDGE) * y) for x, y in made], tall


def layered(network: Network) -> list[Point]:
    """Return positions by layers from left to right.

    The layer of a node is the length of the longest path to it; within a layer, nodes are sorted by
    the mean position of their neighbours.

    >>> net = Network("paths", ["s", "a", "t"], [{"tail": 0, "head": 1}, {"tail": 1, "head": 2}])
    >>> layered(net._replace(ends=(0, 2)))
    [(0.0, 0.5), (0.5, 0.5), (1.0, 0.5)]
    """
    n = len(network.nodes)
    pairs = [(one["tail"], one["head"]) for one in network.edges]
    depth = [0] * n
    for _ in range(n):  # Bellman-Ford on an acyclic graph
        for tail, head in pairs:
            depth[head] = max(depth[head], depth[tail] + 1)
    depth[network.ends[1]] = deepest = max(depth)
    layers: list[list[int]] = [[] for _ in range(deepest + 1)]
    for v in range(n):
        layers[depth[v]].append(v)
    height = [0.5] * n

    def arrange() -> None:
        for layer in layers:
            for k, v in enumerate(layer):
                height[v] = (k + 0.5) / len(layer)

    arrange()
    near: list[list[int]] = [[] for _ in range(n)]
    for tail, head in pairs:
        near[tail].append(head)
        near[head].append(tail)
    for _ in range(SWEEPS):
        for layer in layers:
            layer.sort(
                key=lambda v: sum(height[u] for u in near[v]) / len(near[v]) if near[v] else 0.5
            )
        arrange()
    return [(depth[v] / max(deepest, 1), height[v]) for v in range(n)]


def spread(network: Network) -> list[Point]:
    """Return positions whose distances approximate the lengths of the shortest paths.

    Notes
    -----
    Stress majorisation from a circle [1]_.

    References
    ----------
    .. [1] Gansner, Koren and North. *Graph Drawing by Stress Majorization*. GD 2004.
    """
    n = len(network.nodes)
    far = np.full((n, n), float(n))
    np.fill_diagonal(far, 0.0)
    for one in network.edges:
        far[one["tail"], one["head"]] = far[one["head"], one["tail"]] = 1.0
    for v in range(n):  # Floyd-Warshall
        far = np.minimum(far, far[:, v, None] + far[None, v])
    with np.errstate(divide="ignore"):
        weight = np.where(far > 0.0, far**-2.0, 0.0)
    turn = 2.0 * math.pi * np.arange(n) / n
    at = np.stack((np.cos(turn), np.sin(turn)), axis=1) * max(far.max(), 1.0) / 2.0
    for _ in range(STEPS):
        apart = at[:, None] - at[None]
        length = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-9)
        pull = at[None] + (far / length)[:, :, None] * apart
        at = (weight[:, :, None] * pull).sum(axis=1) / weight.sum(axis=1)[:, None]
    low, size = at.min(axis=0), np.maximum(np.ptp(at, axis=0), 1e-9)
    return [(float(x), float(y)) for x, y in np.round((at - low) / size, 4)]


def _bends(edges: Sequence[dict[str, Any]]) -> list[float]:
    """Return how far each edge bends to a side, so that parallel edges are separate."""
    together: dict[tuple[int, int], list[int]] = {}
    for k, one in enumerate(edges):
        ends = min(one["tail"], one["head"]), max(one["tail"], one["head"])
        together.setdefault(ends, []).append(k)
    made = [0.0] * len(edges)
    for several in together.values():
        for place, k in enumerate(several):
            forward = 1.0 if edges[k]["tail"] <= edges[k]["head"] else -1.0
            made[k] = forward * 36.0 * (place - (len(several) - 1) / 2.0)
    return made


def _edge(one: dict[str, Any], a: Point, b: Point, bend: float, kind: str) -> tuple[str, str]:
    """Return the line of an edge and its number."""
    (x, y), (u, v) = a, b
    length = math.hypot(u - x, v - y) or 1.0
    across = (-(v - y) / length, (u - x) / length)
    share = 0.5 if kind == "tree" else 0.36  # many lines cross in the middle
    middle = ((x + u) / 2.0 + across[0] * bend, (y + v) / 2.0 + across[1] * bend)
    bow = ((x + u) / 2.0 + 2.0 * across[0] * bend, (y + v) / 2.0 + 2.0 * across[1] * bend)
    curve = f"M {x:.1f} {y:.1f} " + (
        f"Q {bow[0]:.1f} {bow[1]:.1f} {u:.1f} {v:.1f}" if bend else f"L {u:.1f} {v:.1f}"
    )
    if not bend:
        middle = (x + share * (u - x), y + share * (v - y))
    colour = "var(--best, #0072b2)" if one["leads"] else "var(--other, #808080)"
    width = "4" if one["leads"] else "1.2"
    dashes = "" if one["n"] else ' stroke-dasharray="4 4"'
    said = f"{one['arm']}: {count(one['n'], 'value')}" + (", leading" if one["leads"] else "")
    lines = [
        f'<g><title>{escape(said)}</title><path d="{curve}" fill="none" stroke="{colour}" '
        f'stroke-width="{width}"{dashes}/>'
    ]
    if kind == "paths":
        lines.append(_arrow(bow if bend else a, b, colour))
    lines.append("</g>")
    weight = ' font-weight="700"' if one["leads"] else ""
    mark = (
        f'<text x="{middle[0]:.1f}" y="{middle[1] + 4:.1f}" text-anchor="middle" font-size="11"'
        f'{weight} fill="currentColor" stroke="Canvas" stroke-width="4" paint-order="stroke">'
        f"{one['n']:,}</text>"
    )
    return "".join(lines), mark


def _arrow(before: Point, end: Point, colour: str) -> str:
    """Return the arrow head before a node."""
    length = math.hypot(end[0] - before[0], end[1] - before[1]) or 1.0
    x, y = (end[0] - before[0]) / length, (end[1] - before[1]) / length
    tip = (end[0] - 13.0 * x, end[1] - 13.0 * y)
    back = (tip[0] - 9.0 * x, tip[1] - 9.0 * y)
    corners = [tip, (back[0] - 4.0 * y, back[1] + 4.0 * x), (back[0] + 4.0 * y, back[1] - 4.0 * x)]
    points = " ".join(f"{u:.1f},{v:.1f}" for u, v in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def _node(network: Network, number: int, name: str, at: Point) -> str:
    """Return a node and its name: beside it in a matching, inside it if short, otherwise below."""
    x, y = at
    end = network.kind == "paths" and number in network.ends
    size, width = (14, "2.5") if end else (12, "1.2")
    dot = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="Canvas" stroke="currentColor" '
        f'stroke-width="{width}"/>'
    )
    where, anchor = (x, y + 4.0), "middle"
    if network.kind == "matching":
        left = number < network.left
        where, anchor = (x - 18.0 if left else x + 18.0, y + 4.0), "end" if left else "start"
    elif len(name) > 3:
        where = (x, y + size + 13.0)
    halo = ' stroke="Canvas" stroke-width="4" paint-order="stroke"' if len(name) > 3 else ""
    text = (
        f'<text x="{where[0]:.1f}" y="{where[1]:.1f}" text-anchor="{anchor}" font-size="12" '
        f'fill="currentColor"{halo}>{escape(short(name, 16))}</text>'
    )
    return dot + text
