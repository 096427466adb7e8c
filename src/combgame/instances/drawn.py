"""Instances that are drawn: the same seed, the same instance, on every machine.

Means are uniform on [0, 1]; those of the best answer are raised by LEAD, so that no answer is
nearly as good; all are rounded to four places. Values are Gaussian with standard deviation SIGMA,
and the best action is asked for.
"""

import numpy as np

from ..errors import SEED, whole
from ..game.records import Random
from ..problem import Problem
from ..rewards import Gaussian
from ..structures import Arms, Matchings, Paths, SpanningTrees, StructureBase, Subsets, line_network
from .known import KnownInstance

LEAD, SIGMA, DRAWN = 0.1, 1.0, "2026-11-16"
HOW = (
    "drawn by combgame.instances: means uniform on [0, 1], those of the best answer raised by "
    f"{LEAD}, seed {{seed}}"
)
CHEN = (
    "the decision class of Chen, Lin, King, Lyu, Chen: Combinatorial Pure Exploration of "
    "Multi-Armed Bandits, NIPS 2014, which prints no means; "
)


def random_arms(d: int, seed: int) -> KnownInstance:
    """The best of d arms.

    >>> random_arms(4, 1).means
    (0.5118, 1.0505, 0.1442, 0.9486)
    """
    return _drawn(f"arms d = {d}", Arms(whole("d", d, 2, of="random_arms")), seed)


def random_subsets(d: int, k: int, seed: int) -> KnownInstance:
    """The best k of d arms, k of which are played at a time."""
    d = whole("d", d, 2, of="random_subsets")
    k = whole("k", k, 1, of="random_subsets", most=d - 1)
    return _drawn(f"subsets d = {d}, k = {k}", Subsets(d, k), seed)


def random_trees(nodes: int, seed: int) -> KnownInstance:
    """The best spanning tree of a random graph: a cycle through all nodes, and as many further
    edges.
    """
    nodes, rng = whole("nodes", nodes, 4, of="random_trees"), _rng(seed)
    edges = {(i, (i + 1) % nodes) if i + 1 < nodes else (0, i) for i in range(nodes)}
    while len(edges) < min(2 * nodes, nodes * (nodes - 1) // 2):
        i, j = sorted(int(x) for x in rng.choice(nodes, 2, replace=False))
        edges.add((i, j))
    return _drawn(f"trees nodes = {nodes}", SpanningTrees(sorted(edges)), seed, rng)


def random_paths(layers: int, width: int, seed: int) -> KnownInstance:
    """The best path through a network of layers, each joined to the next by all links."""
    layers = whole("layers", layers, 2, of="random_paths")
    width = whole("width", width, 2, of="random_paths")
    return _drawn(f"paths {layers} x {width}", line_network(width, layers), seed)


def random_matchings(n: int, seed: int) -> KnownInstance:
    """The best perfect matching of n rows and n columns."""
    n = whole("n", n, 2, of="random_matchings")
    return _drawn(f"matchings {n} x {n}", Matchings(n, n), seed)


def _rng(seed: int) -> Random:
    return np.random.default_rng(whole("seed", seed, 0, most=SEED))


def _drawn(
    what: str, actions: StructureBase, seed: int, rng: Random | None = None
) -> KnownInstance:
    sets = isinstance(actions, Matchings | Paths)
    means = (rng if rng is not None else _rng(seed)).random(actions.d)
    means[list(actions.argmax(means))] += LEAD
    given = tuple(float(m) for m in means.round(4))
    return KnownInstance(
        f"{what}, seed {seed}",
        Problem(actions, None, Gaussian(SIGMA)),
        given,
        actions.d,
        "sets" if sets else "random",
        (CHEN if sets else "") + HOW.format(seed=seed),
        DRAWN,
    )


def all_sets() -> list[KnownInstance]:
    """The suite "sets": best matchings and best paths."""
    made = [random_matchings(n, seed) for n in (3, 5) for seed in (1, 2)]
    return made + [random_paths(*size, seed) for size in ((4, 2), (5, 3)) for seed in (1, 2)]


def all_random() -> list[KnownInstance]:
    """The suite "random"."""
    return [
        *(random_arms(d, seed) for d in (5, 20) for seed in (1, 2)),
        *(random_subsets(d, k, seed) for d, k in ((10, 3), (30, 5)) for seed in (1, 2)),
        *(random_trees(nodes, seed) for nodes in (6, 12) for seed in (1, 2)),
    ]
