"""The geometry of conv{1_A} for LLOO when no description of the polytope is given (Garber and Hazan
2015).
"""

import numpy as np

from ..game.records import Floats


def facets(vertices: Floats, dimension: int) -> tuple[Floats, Floats] | tuple[None, None]:
    """Unit facet normals of the hull (in coordinates of its affine span) and the slacks of all
    vertices.

    (None, None) where the hull has more than `dimension` dimensions, or fewer than 1.
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
    """The largest spectral norm of rank(rows) independent rows, greedily: add the row that raises
    it most.
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
