"""The optimal allocation of given means, in compiled code: `theory.complexity` for rules.

The method is the same double oracle: the actions and alternatives met so far play a matrix game.
The nearest alternative to the actions' mixture and the best action against the alternatives'
mixture enter, until the values that they give, a lower and an upper bound on D_nu, are within the
tolerance. The bounds hold however well the matrix game is solved (`_matrix_game.py`). Its solutions
jump from vertex to vertex, so the nearest alternative is computed for a point between them and the
best allocation so far [1]_. The next means begin with the actions and the mixture of the last ones.

References
----------
.. [1] Ben-Ameur and Neto. *Acceleration of cutting-plane and column generation algorithms*.
   Networks 2007.
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.protocols import ProblemKernel
from ..engine.state import Floats
from ..structures import StructureBase
from ._matrix_game import MatrixGame, make_matrix

MOST = 1e100  # larger divergences are cut off
INNER = 0.7  # share of the best allocation so far in the next one
PATIENCE, PROGRESS = 32, 1e-4  # stop after so many steps without this relative gain on either side


class AllocationKernel(NamedTuple):
    """Solver of the optimal allocation.

    Attributes
    ----------
    tolerance : float
        Relative gap at which to stop.
    home : int
        Number of actions of the covering, which come first and stay.
    matrix : MatrixGame
        The matrix game.
    share : float64[d]
        The best allocation so far.
    trial, faced : float64[d]
        Mixtures of actions and of alternatives.
    rival, alternative, action : float64[d]
        Scratch.
    """

    tolerance: float
    home: int
    matrix: MatrixGame
    share: Floats
    trial: Floats
    faced: Floats
    rival: Floats
    alternative: Floats
    action: Floats

    def solve(self, problem: ProblemKernel, mean: Floats, best: Floats) -> float:
        """Write the optimal allocation for these means, whose best answer is `best`, to `share`.

        Return the certified relative gap, which is infinite if there is nothing to learn or nothing
        is known.
        """
        matrix, stalled = self.matrix, 0
        matrix.keep(self.home)
        for a in range(mean.size):
            self.share[a] = 0.0
            for i in range(self.home):
                self.share[a] += matrix.rows[i, a] / self.home
        lower, upper = 0.0, math.inf
        while matrix.used[1] < matrix.columns.shape[0] and stalled < PATIENCE:
            stalled += 1
            matrix.blend(matrix.row_strategy, matrix.used[0], matrix.rows, self.trial)
            for a in range(mean.size):
                self.trial[a] = INNER * self.share[a] + (1.0 - INNER) * self.trial[a]
            value = problem.answers.nearest_alternative(
                problem.rewards, mean, self.trial, best, self.rival, self.alternative
            )
            if value == math.inf:
                break
            if value > lower:
                if value > lower * (1.0 + PROGRESS):
                    stalled = 0
                lower = value
                for a in range(mean.size):
                    self.share[a] = self.trial[a]
            if lower > 0.0 and upper <= lower * (1.0 + self.tolerance):
                break
            for a in range(mean.size):
                cost = problem.rewards.divergence(mean[a], self.alternative[a], a)
                self.faced[a] = min(cost, MOST)
            matrix.add_column(self.faced, 0.0)
            matrix.match(lower)
            matrix.blend(matrix.column_strategy, matrix.used[1], matrix.columns, self.faced)
            problem.actions.argmax(self.faced, self.action)
            most = 0.0
            for a in range(mean.size):
                most += self.action[a] * self.faced[a]
            if most < upper * (1.0 - PROGRESS):
                stalled = 0
            upper = min(upper, most)
            matrix.enter(self.action)
        return upper / lower - 1.0 if lower > 0.0 else math.inf


def make_allocation(actions: StructureBase, tolerance: float) -> AllocationKernel:
    """Return the solver; it begins with a covering."""
    d, sets = actions.d, actions.covering()
    matrix, vectors = make_matrix(len(sets) + 4 * d + 32, d), np.zeros((6, d))
    for row, chosen in zip(matrix.rows, sets, strict=False):
        row[list(chosen)] = 1.0
    matrix.used[0] = len(sets)
    matrix.row_strategy[: len(sets)] = 1.0 / len(sets)
    share, trial, faced, rival, alternative, action = vectors
    share[:] = matrix.rows[: len(sets)].mean(axis=0)
    return AllocationKernel(
        tolerance, len(sets), matrix, share, trial, faced, rival, alternative, action
    )
