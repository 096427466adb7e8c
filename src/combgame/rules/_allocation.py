"""The optimal allocation of given means, in parts: `theory.complexity` for rules, which need it
often and inside compiled code.

The same double oracle method: actions and alternatives met so far play a matrix game; the nearest
alternative to the actions' mixture and the best action against the alternatives' mixture enter,
until the values that they give, a lower and an upper bound on D_nu, are within the tolerance. How
well the matrix game is solved (`matrix.py`) is no matter for the bounds. Its solutions jump from
corner to corner, so the nearest alternative is asked for between them and the best allocation so
far (Ben-Ameur, Neto, *Acceleration of cutting-plane and column generation algorithms*, Networks
2007). The next means begin with the actions and the mixture of the last ones.
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.protocols import ProblemKernel
from ..engine.state import Floats
from ..structures import StructureBase
from ._matrix_game import MatrixGame, make_matrix

MOST = 1e100  # of a divergence
INNER = 0.7  # how much of the best allocation so far is in the one that is asked about
PATIENCE, PROGRESS = 32, 1e-4  # steps without this relative gain on either side, and it ends


class AllocationKernel(NamedTuple):
    tolerance: float
    home: int  # the actions of the covering, which come first, and stay
    matrix: MatrixGame
    share: Floats  # float64[d]: the best allocation so far
    trial: Floats  # float64[d]: a mixture of actions
    faced: Floats  # float64[d]: a mixture of alternatives
    rival: Floats
    alternative: Floats
    action: Floats

    def solve(self, problem: ProblemKernel, mean: Floats, best: Floats) -> float:
        """Write the allocation for these means, of which `best` is the best answer, to `share`; the
        certified gap, which is infinite where there is nothing to learn or nothing is known.
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
    """The part, which begins with a covering."""
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
