"""The geometry of conv{1_A} for LLOO, computed without a description of the polytope.

The constants are those of Garber and Hazan (2015); see `PolytopeGeometry`.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from ..engine.state import Floats


def facets(vertices: Floats, dimension: int) -> tuple[Floats, Floats] | tuple[None, None]:
    """Return the unit facet normals of the hull, and the slacks of all vertices.

    The normals are in coordinates of the affine span. The result is (None, None) if the hull has
    more than `dimension` dimensions, or fewer than 1.
    """
    shifted = vertices - vertices[0]
    _, values, basis = np.linalg.svd(shifted, full_matrices=False)
    rank = int((values > 1e-9).sum())
    if rank == 0 or rank > dimension:
        return None, None
    inside = shifted @ basis[:rank].T
    if rank == 1:
        ends = inside[:, 0]
        return np.array([[1.0], [-1.0]]), np.stack([ends.max() - ends, ends - ends.min()], axis=1)
    from scipy.spatial import ConvexHull

    equations = np.unique(np.round(ConvexHull(inside).equations, 9), axis=0)
    rows = equations[:, :-1]
    return rows, -(inside @ rows.T + equations[:, -1])


def greedy_psi(rows: Floats) -> float:
    """Return the largest spectral norm of rank(rows) independent rows, found greedily.

    Each step adds the row that raises the norm most.
    """
    rank = int(np.linalg.matrix_rank(rows))
    chosen: list[int] = []
    best = 0.0
    for _ in range(rank):
        top, best = -1, -1.0
        for k in range(len(rows)):
            if k not in chosen:
                trial = rows[[*chosen, k]]
                if np.linalg.matrix_rank(trial, tol=1e-7) == len(trial):
                    norm = float(np.linalg.norm(trial, 2))
                    if norm > best + 1e-12:
                        top, best = k, norm
        chosen.append(top)
    return best


def exact_psi(rows: Floats) -> float:
    """Return the largest spectral norm of rank(rows) independent rows, by trying all choices.

    This is possible for few rows only.

    >>> round(exact_psi(needle_rows(5)), 9) == round(1 + math.sqrt(4), 9)
    True
    """
    rank, best = int(np.linalg.matrix_rank(rows)), 0.0
    for chosen in combinations(range(len(rows)), rank):
        norm = float(np.linalg.norm(rows[list(chosen)], 2))
        if norm > best + 1e-12 and np.linalg.matrix_rank(rows[list(chosen)], tol=1e-7) == rank:
            best = norm
    return best


def needle_rows(d: int) -> Floats:
    """Return the facets A2 of almost all sets with a single needle y, here the last arm.

    The polytope is the pyramid with apex 1_y over the cube of the other arms without its origin: x
    >= 0, y >= 0, x_a + y <= 1, sum x + y >= 1.
    """
    n = d - 1
    cube = np.hstack([np.eye(n), np.ones((n, 1))])
    return np.vstack([-np.eye(d), cube, -np.ones((1, d))])


def needle_psi(d: int) -> float:
    """Return psi of almost all sets with a single needle.

    The n = d - 1 rows e_a + e_y and the row -1 have the Gram matrix [[I + J, -2], [-2, d]]. Its
    largest eigenvalue belongs to the plane of (1, ..., 1, 0) and the last axis: d + 2 sqrt(n) = (1
    + sqrt(n))^2. The rows are independent for n >= 2. It is not proved that no other choice does
    better: all choices were tried for d up to 8, and for d = 12, 20 and 30 those with at most two
    doubled arms, up to a permutation of the arms (tests/unit/structures).
    """
    return 1.0 + math.sqrt(d - 1.0) if d > 2 else 1.0


def tree_rows(nodes: int, edges: Sequence[tuple[int, int]]) -> Floats:
    """Return a description A2 of the spanning trees of a small graph (Edmonds).

    It consists of x >= 0 and x(E(S)) <= |S| - 1 for every proper subset S of the nodes on which the
    graph is connected and stays connected without any one node.
    """
    rows = [-row for row in np.eye(len(edges))]
    for size in range(2, nodes):
        for chosen in combinations(range(nodes), size):
            if _biconnected(chosen, edges):
                inside = [u in chosen and v in chosen for u, v in edges]
                rows.append(np.array(inside, dtype=float))
    return np.unique(np.abs(rows), axis=0)  # signs do not change norms


def _biconnected(nodes: tuple[int, ...], edges: Sequence[tuple[int, int]]) -> bool:
    return _connected(set(nodes), edges) and (
        len(nodes) == 2 or all(_connected(set(nodes) - {v}, edges) for v in nodes)
    )


def _connected(nodes: set[int], edges: Sequence[tuple[int, int]]) -> bool:
    reached, new = set[int](), {min(nodes)}
    while new:
        reached |= new
        pairs = [*edges, *((v, u) for u, v in edges)]
        new = {v for u, v in pairs if u in new and v in nodes} - reached
    return reached == nodes
