"""The two players where every play has a level of its own: the values of a play tell only how its
arms differ.

Playing A then tells min over b of sum_{a in A} (y_a - b)^2 / (2 sigma_a^2) of means that differ by
y, whatever the levels are: y' L_A y / 2, L_A the Laplacian of A's arms. If plays have the shares w,
and L = sum_A w_A L_A, the nearest means at which arms i and j change places are at (mu_i - mu_j)^2
/ (2 r_ij), r_ij the resistance between i and j in the network L. A rule that is right whatever the
levels are is right against levels that follow the best b, so D_nu = max over w of the least of
these bounds it as the paper's Theorem 1 has it (docs/plates.md).
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from ..game.records import Floats, arms_of
from ..problem import Problem
from ..structures.together import exchangeable
from .players import Action, Move, sums, tied

LISTED = 2_000  # actions, each of which is looked at in every step
EQUAL = 1e-6  # of a current: arms are joined if it flows from one to the other up to this


def listed(problem: Problem) -> bool:
    """Whether there are few enough actions."""
    size = problem.actions.size()
    return size is not None and size <= LISTED


class Within:
    """Nature answers with the exchange that is nearest, the learner with the action that tells
    most of a mixture of differences.
    """

    inner = 0.7  # the linear programme's own shares would leave most arms apart
    slight = 1e-4

    def __init__(
        self, problem: Problem, mu: Floats, label: Callable[[tuple[int, ...]], str]
    ) -> None:
        self.actions, self.game = problem.actions, problem.game()
        self.precision, self.d = problem.noise() ** -2.0, problem.d
        best = np.zeros(self.d)
        self.game.answers.argmax(mu, best)
        answer, groups = set(arms_of(best)), exchangeable(problem.answers)
        pairs = [
            (i, j)
            for group in groups
            for i in group
            if i in answer
            for j in group
            if j not in answer
        ]
        self.inside, self.outside = np.array(pairs).T
        self.gap = mu[self.inside] - mu[self.outside]
        closest = int(self.gap.argmin())
        if self.gap[closest] <= 1e-12 * np.abs(mu).max():
            other = (answer - {pairs[closest][0]}) | {pairs[closest][1]}
            raise tied(label(tuple(sorted(answer))), label(tuple(sorted(other))))
        self.first = self._joined(groups)
        plays = list(self.actions.iterate())
        self.every = np.zeros((len(plays), self.d))
        for row, chosen in zip(self.every, plays, strict=True):
            row[list(chosen)] = 1.0

    def _joined(self, groups: list[tuple[int, ...]]) -> list[Action]:
        """A covering, and plays that join the arms of every group."""
        found, score, vertex = dict.fromkeys(self.actions.covering()), *np.zeros((2, self.d))
        for group in groups:
            for i, j in pairwise(group):
                score[:] = 0.0
                score[[i, j]] = 1.0
                self.game.actions.argmax(score, vertex)
                found[arms_of(vertex)] = None
        return list(found)

    def nearest(self, actions: list[Action], weights: Floats) -> Move:
        network = np.zeros((self.d, self.d))
        for chosen, weight in zip(actions, weights, strict=True):
            if weight > 0.0:
                arms = np.array(chosen)
                p = self.precision[arms]
                network[np.ix_(arms, arms)] += weight * (np.diag(p) - np.outer(p, p) / p.sum())
        potential = np.linalg.pinv(network, rcond=1e-13, hermitian=True)
        i, j = self.inside, self.outside
        resistance = potential[i, i] + potential[j, j] - 2.0 * potential[i, j]
        lost = np.eye(self.d) - network @ potential  # what the network cannot carry
        joined = np.abs(lost[:, i] - lost[:, j]).max(axis=0) < EQUAL
        value = np.where(joined, self.gap**2 / (2.0 * np.maximum(resistance, 1e-300)), 0.0)
        k = int(value.argmin())
        flow = potential[:, i[k]] - potential[:, j[k]]
        if not joined[k]:
            flow = np.zeros(self.d)
            flow[i[k]], flow[j[k]] = 0.5, -0.5
            return Move(0.0, self.gap[k] * flow)
        return Move(float(value[k]), self.gap[k] * flow / resistance[k])

    def check(self) -> None:
        """Ties were refused in the beginning."""

    def pays(self, column: Floats, actions: list[Action]) -> Floats:
        p = sums(self.precision, actions)
        mean = sums(self.precision * column, actions)
        square = sums(self.precision * column**2, actions)
        return np.asarray(0.5 * np.maximum(square - mean**2 / p, 0.0))

    def respond(self, columns: Floats, mixed: Floats) -> tuple[float, Action]:
        used = mixed > 0.0
        z = np.sqrt(mixed[used])[:, None] * columns[used]
        p = self.precision  # half the scatter of the points z[:, a] within each play
        square, mean = self.every @ (p * (z**2).sum(axis=0)), self.every @ (p[:, None] * z.T)
        told = 0.5 * (square - (mean**2).sum(axis=1) / (self.every @ p))
        k = int(told.argmax())
        return float(told[k]), arms_of(self.every[k])
