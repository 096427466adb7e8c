"""Random instances, and standard instances of single arms.

The means of random instances are uniform on [0, 1]; those of the best answer are raised by LEAD, so
that no other answer is nearly as good; all are rounded to four places. Values are Gaussian with
standard deviation SIGMA, and answers are actions. A seed gives the same instance on every machine.

The standard instances of single arms are from three papers (full titles below): Audibert et al.,
section on experiments, seven sets of means with Bernoulli values, here at full length; Garivier and
Kaufmann, two sets, with the optimal proportions that the paper prints; Jamieson and Nowak, 1-sparse
and power-law means.
"""

from collections.abc import Sequence

import numpy as np

from ...engine.state import Random
from ...errors import SEED, check_int, check_positive
from ...problem import Problem
from ...rewards import Bernoulli, Gaussian, RewardsBase
from ...structures import (
    Arms,
    Matchings,
    Paths,
    SpanningTrees,
    StructureBase,
    Subsets,
    line_network,
)
from .base import PublishedInstance

AUDIBERT = "Audibert, Bubeck, Munos: Best Arm Identification in Multi-Armed Bandits, COLT 2010"
GARIVIER = "Garivier, Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016"
JAMIESON = (
    "Jamieson, Nowak: Best-arm Identification Algorithms for Multi-Armed Bandits in the Fixed "
    "Confidence Setting, CISS 2014"
)
GROUPS = {  # means by experiment
    1: (0.5, *(0.4,) * 19),
    2: (0.5, *(0.42,) * 5, *(0.38,) * 14),
    3: (0.5, *(0.5 - 0.37**i for i in (2, 3, 4))),
    4: (0.5, 0.42, 0.4, 0.4, 0.35, 0.35),
    5: (0.5, *(0.5 - 0.025 * i for i in range(2, 16))),
    6: (0.5, 0.48, *(0.37,) * 18),
    7: (0.5, *(0.45,) * 5, *(0.43,) * 14, *(0.38,) * 10),
}
SAID = {
    1: "one group of bad arms",
    2: "two groups of bad arms",
    3: "geometric progression",
    4: "six arms in three groups",
    5: "arithmetic progression",
    6: "two good arms",
    7: "three groups of bad arms",
}
# means and the optimal proportions w* that Garivier and Kaufmann print for them
PROPORTIONS = {
    1: ((0.5, 0.45, 0.43, 0.4), (0.417, 0.390, 0.136, 0.057)),
    2: ((0.3, 0.21, 0.2, 0.19, 0.18), (0.336, 0.251, 0.177, 0.132, 0.104)),
}


def _arms(
    name: str, means: Sequence[float], rewards: RewardsBase, source: str, date: str
) -> PublishedInstance:
    problem = Problem(Arms(len(means)), None, rewards)
    given = tuple(round(float(m), 12) for m in means)
    return PublishedInstance(name, problem, given, len(means), "arms", source, date)


def one_good_arm(d: int, lead: float = 0.5) -> PublishedInstance:
    """Return an instance with one good arm and d - 1 equal arms.

    Parameters
    ----------
    d : int
        Number of arms.
    lead : float, default=0.5
        Lead of the good arm. Values are Gaussian with variance 1.

    Returns
    -------
    PublishedInstance
        The instance.

    Examples
    --------
    >>> one_good_arm(4).means
    (0.5, 0.0, 0.0, 0.0)
    """
    d, lead = (
        check_int("d", d, 2, of="one_good_arm"),
        check_positive("lead", lead, of="one_good_arm"),
    )
    name = f"one good arm, d = {d}" + ("" if lead == 0.5 else f", lead = {lead:g}")
    return _arms(name, (lead, *(0.0,) * (d - 1)), Gaussian(1.0), f"1-sparse: {JAMIESON}", "2014")


def linear(d: int) -> PublishedInstance:
    """Return an instance whose means fall from 1 to 0 by equal gaps.

    Parameters
    ----------
    d : int
        Number of arms. Values are Gaussian with variance 1/4.

    Returns
    -------
    PublishedInstance
        The instance.

    Examples
    --------
    >>> linear(3).means
    (1.0, 0.5, 0.0)
    """
    d = check_int("d", d, 2, of="linear")
    means = [1.0 - i / (d - 1) for i in range(d)]
    source = f"alpha = 1 in mu_i = 1 - (i / n)^alpha: {JAMIESON}"
    return _arms(f"linear, d = {d}", means, Gaussian(0.5), source, "2014")


def power(d: int, alpha: float) -> PublishedInstance:
    """Return means mu_i = 1 - (i / (d - 1))^alpha, i = 0 .. d - 1, with variance 1/4."""
    means = [1.0 - (i / (d - 1)) ** alpha for i in range(d)]
    source = f"mu_i = 1 - (i / n)^alpha: {JAMIESON}"
    return _arms(f"alpha = {alpha:g}, d = {d}", means, Gaussian(0.5), source, "2014")


def all_arms() -> list[PublishedInstance]:
    """Return the suite "arms"."""
    made = [one_good_arm(10), one_good_arm(50), linear(10), linear(30)]
    made += [power(10, 0.3), power(10, 0.6)]
    for number, means in GROUPS.items():
        name = f"Audibert {number}: {SAID[number]}"
        source = f"{AUDIBERT}, experiment {number}"
        made.append(_arms(name, means, Bernoulli(), source, "2010"))
    for number, (means, _) in PROPORTIONS.items():
        source = f"{GARIVIER}, mu_{number}"
        made.append(_arms(f"Garivier {number}", means, Bernoulli(), source, "2016"))
    return made


LEAD, SIGMA, DRAWN = 0.1, 1.0, "2026-11-16"
HOW = (
    "drawn by combgame.research.instances: means uniform on [0, 1], those of the best answer "
    f"raised by {LEAD}, seed {{seed}}"
)
CHEN = (
    "the decision class of Chen, Lin, King, Lyu, Chen: Combinatorial Pure Exploration of "
    "Multi-Armed Bandits, NIPS 2014, which prints no means; "
)


def random_arms(d: int, seed: int) -> PublishedInstance:
    """Draw an instance that asks for the best of d arms.

    >>> random_arms(4, 1).means
    (0.5118, 1.0505, 0.1442, 0.9486)
    """
    return _drawn(f"arms d = {d}", Arms(check_int("d", d, 2, of="random_arms")), seed)


def random_subsets(d: int, k: int, seed: int) -> PublishedInstance:
    """Draw an instance that asks for the best k of d arms, with k arms per round."""
    d = check_int("d", d, 2, of="random_subsets")
    k = check_int("k", k, 1, of="random_subsets", most=d - 1)
    return _drawn(f"subsets d = {d}, k = {k}", Subsets(d, k), seed)


def random_trees(nodes: int, seed: int) -> PublishedInstance:
    """Draw an instance that asks for the best spanning tree of a random graph.

    The graph has a cycle through all nodes and as many further edges.
    """
    nodes, rng = check_int("nodes", nodes, 4, of="random_trees"), _rng(seed)
    edges = {(i, (i + 1) % nodes) if i + 1 < nodes else (0, i) for i in range(nodes)}
    while len(edges) < min(2 * nodes, nodes * (nodes - 1) // 2):
        i, j = sorted(int(x) for x in rng.choice(nodes, 2, replace=False))
        edges.add((i, j))
    return _drawn(f"trees nodes = {nodes}", SpanningTrees(sorted(edges)), seed, rng)


def random_paths(layers: int, width: int, seed: int) -> PublishedInstance:
    """Draw an instance that asks for the best path through fully connected layers."""
    layers = check_int("layers", layers, 2, of="random_paths")
    width = check_int("width", width, 2, of="random_paths")
    return _drawn(f"paths {layers} x {width}", line_network(width, layers), seed)


def random_matchings(n: int, seed: int) -> PublishedInstance:
    """Draw an instance that asks for the best perfect matching of n rows and n columns."""
    n = check_int("n", n, 2, of="random_matchings")
    return _drawn(f"matchings {n} x {n}", Matchings(n, n), seed)


def _rng(seed: int) -> Random:
    return np.random.default_rng(check_int("seed", seed, 0, most=SEED))


def _drawn(
    what: str, actions: StructureBase, seed: int, rng: Random | None = None
) -> PublishedInstance:
    sets = isinstance(actions, Matchings | Paths)
    means = (rng if rng is not None else _rng(seed)).random(actions.d)
    means[list(actions.argmax(means))] += LEAD
    given = tuple(float(m) for m in means.round(4))
    return PublishedInstance(
        f"{what}, seed {seed}",
        Problem(actions, None, Gaussian(SIGMA)),
        given,
        actions.d,
        "sets" if sets else "random",
        (CHEN if sets else "") + HOW.format(seed=seed),
        DRAWN,
    )


def all_sets() -> list[PublishedInstance]:
    """Return the suite "sets": best matchings and best paths."""
    made = [random_matchings(n, seed) for n in (3, 5) for seed in (1, 2)]
    return made + [random_paths(*size, seed) for size in ((4, 2), (5, 3)) for seed in (1, 2)]


def all_random() -> list[PublishedInstance]:
    """Return the suite "random"."""
    return [
        *(random_arms(d, seed) for d in (5, 20) for seed in (1, 2)),
        *(random_subsets(d, k, seed) for d, k in ((10, 3), (30, 5)) for seed in (1, 2)),
        *(random_trees(nodes, seed) for nodes in (6, 12) for seed in (1, 2)),
    ]
