"""The instances of the paper's experiments (Jourdan et al., ALT 2021), as printed.

In all of them the answers are single arms and the rewards are Gaussian.

Grid and line networks have random means in the paper (Gaussian, mean 0.2, standard deviation 0.025,
sorted, 0.025 added to the largest) and no seed. Ours were drawn once, from SEED, and are stored in
`means.json`; the largest belongs to arm 0, the link a* of the paper's figure, the i-th largest to
arm i - 1.
"""

import functools
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from ...problem import Problem
from ...rewards import Gaussian
from ...structures import AlmostAllSets, Arms, StructureBase, Subsets, grid_network, line_network
from ..campaign import Instance

SEED = 2021
DIMENSIONS = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
FIRST = (0.3, 0.29, 0.28)
FIVE = (0.23, 0.2)
TEN = (0.232, 0.224, 0.207, 0.200, 0.192, 0.182, 0.176)


ADDED = (
    (0.214, 0.199, 0.195, 0.190, 0.164),  # d = 15
    (0.185, 0.19, 0.195, 0.199, 0.214),  # 20
    (0.158, 0.172, 0.211, 0.228, 0.244),  # 25
    (0.174, 0.18, 0.194, 0.202, 0.23, 0.242),  # 30: one too many as printed
    (0.17, 0.178, 0.219, 0.222, 0.226),  # 35
    (0.197, 0.198, 0.201, 0.203, 0.205),  # 40
    (0.193, 0.206, 0.208, 0.21),  # 45: one fewer, so that the length is right again
    (0.188, 0.189, 0.191, 0.212, 0.213),  # 50
)


# almost all sets, d = 14
NEEDLE = (0.3, 0.24, 0.23, 0.22, 0.21, 0.2, 0.19, 0.18, 0.17, 0.16, 0.215, 0.195, 0.205, 0.185)


def matroid_means(d: int) -> tuple[float, ...]:
    """Return the means mu^(d) of the paper.

    The printed lists for d = 30, 35, 40 are one value too long: the last value is dropped.

    >>> len(matroid_means(30)), matroid_means(5)
    (30, (0.3, 0.29, 0.28, 0.23, 0.2))
    """
    if d == 5:
        return FIRST + FIVE
    means: tuple[float, ...] = FIRST + TEN
    for added in ADDED[: (d - 10) // 5]:
        means += added
    return means[:d]


def network_means(kind: str, size: int) -> tuple[float, ...]:
    """Return the stored means of a network of the kind "grid", "line2" or "line3"."""
    return tuple(_stored()[kind][str(size)])


@functools.cache
def _stored() -> dict[str, Any]:
    means: dict[str, Any] = json.loads(
        files(__package__).joinpath("means.json").read_text(encoding="utf-8")
    )
    return means


def drawn_means(kind: str, size: int, d: int) -> list[float]:
    """Draw the means of a network as the stored means were drawn."""
    rng = np.random.default_rng([SEED, ("grid", "line2", "line3").index(kind), size])
    means = np.sort(rng.normal(0.2, 0.025, d))[::-1]
    means[0] += 0.025
    return [round(float(m), 6) for m in means]


def matroid(d: int, k: int = 3) -> Instance:
    """Return a uniform matroid: any k of d arms, sigma = 0.1 for k = 3 and 0.035 for k = 2."""
    return _instance(f"d = {d}", Subsets(d, k), 0.1 if k == 3 else 0.035, matroid_means(d), d)


def grid(n_s: int) -> Instance:
    """Return the grid network with n_s stages, sigma = 0.075."""
    return _instance(f"n_s = {n_s}", grid_network(n_s), 0.075, network_means("grid", n_s), n_s)


def line(n_n: int, n_l: int) -> Instance:
    """Return the line network with n_l layers of n_n nodes, sigma = 0.2."""
    return _instance(
        f"n_l = {n_l}", line_network(n_n, n_l), 0.2, network_means(f"line{n_n}", n_l), n_l
    )


def almost_all(d: int) -> Instance:
    """Return the instance of almost all sets of d arms with the needle 0, sigma = 0.25."""
    return _instance(f"d = {d}", AlmostAllSets(d, 0), 0.25, NEEDLE[:d], d)


def _instance(
    name: str, actions: StructureBase, sigma: float, means: Sequence[float], x: float
) -> Instance:
    return Instance(name, Problem(actions, Arms(actions.d), Gaussian(sigma)), tuple(means), x)


GRIDS, LINES_2, LINES_3, NEEDLES = (
    (6, 8, 10, 12, 14, 16),
    tuple(range(5, 13)),
    tuple(range(4, 9)),
    tuple(range(7, 15)),
)
