"""A matrix game between actions and alternatives, inside compiled code: max over mixtures of
actions, min over mixtures of alternatives.

It is a linear programme, solved by the simplex method on a condensed tableau.
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.likelihood_ratio import alike
from ..engine.state import Floats, Ints

LARGEST = 1e6  # payoff, in units of the value: above that, nothing is gained
SLIGHT = 1e-11  # of a tableau: nothing
PIVOTS = 20  # per action and alternative, at most


class MatrixGame(NamedTuple):
    rows: Floats  # float64[room, d]: actions, [:used[0]]
    columns: Floats  # float64[room, d]: what alternatives pay per arm, [:used[1]]
    ground: Floats  # float64[room]: what they pay whatever is played
    pay: Floats  # float64[room, room]: <1_A, column> + ground
    row_strategy: Floats  # float64[room]: the actions' mixture
    column_strategy: Floats  # float64[room]: the alternatives' mixture
    tableau: Floats  # float64[room + 1, room + 1]
    down: Ints  # int64[room]: the variables of its rows: alternative j is j, the slack of i -1 - i
    across: Ints  # int64[room]: those of its columns
    used: Ints  # int64[2]

    def blend(self, side: Floats, n: int, what: Floats, out: Floats) -> None:
        """The average of `what` under a mixture."""
        for a in range(out.size):
            out[a] = 0.0
        for i in range(n):
            if side[i] > 0.0:
                for a in range(out.size):
                    out[a] += side[i] * what[i, a]

    def add_column(self, cost: Floats, ground: float) -> None:
        """An alternative enters; there must be room."""
        j = self.used[1]
        self.used[1] += 1
        self.ground[j] = ground
        for a in range(cost.size):
            self.columns[j, a] = cost[a]
        for i in range(self.used[0]):
            self.pay[i, j] = self.sum_of(i, j)

    def enter(self, action: Floats) -> bool:
        """An action enters, if it is new and there is room; whether it did."""
        n = self.used[0]
        for i in range(n):
            if alike(self.rows[i], action):
                return False
        if n == self.rows.shape[0]:
            return False
        self.used[0] += 1
        self.row_strategy[n] = 0.0
        for a in range(action.size):
            self.rows[n, a] = action[a]
        for j in range(self.used[1]):
            self.pay[n, j] = self.sum_of(n, j)
        return True

    def keep(self, home: int) -> None:
        """Another game begins: no alternatives, and of the actions the first `home` and those with
        weight.
        """
        n = home
        for i in range(home, self.used[0]):
            if self.row_strategy[i] > 0.0:
                self.row_strategy[n] = self.row_strategy[i]
                for a in range(self.rows.shape[1]):
                    self.rows[n, a] = self.rows[i, a]
                n += 1
        self.used[0], self.used[1] = n, 0

    def sum_of(self, i: int, j: int) -> float:
        total = 0.0
        for a in range(self.rows.shape[1]):
            total += self.rows[i, a] * self.columns[j, a]
        return float(total + self.ground[j])

    def match(self, lower: float) -> None:
        """Solve the matrix game: both mixtures, for payoffs in units of the value, plus 1.

        max sum_j y_j such that sum_j pay_ij y_j <= 1, y >= 0: its solution is the alternatives'
        mixture times a factor, that of its dual the actions'.
        """
        n, m, table = self.used[0], self.used[1], self.tableau
        unit = lower
        if not unit > 0.0:
            for i in range(n):
                for j in range(m):
                    unit = max(unit, self.pay[i, j])
        for i in range(n):
            self.down[i] = -1 - i
            for j in range(m):
                ratio = self.pay[i, j] / unit if unit > 0.0 else 0.0
                table[i, j] = min(ratio, LARGEST) + 1.0
            table[i, m] = 1.0
        for j in range(m):
            self.across[j] = j
            table[n, j] = -1.0
        table[n, m] = 0.0
        for step in range(PIVOTS * (n + m)):
            s = self.entering(n, m, step)
            if s < 0:
                break
            self.pivot(n, m, self.leaving(n, m, s), s)
        for i in range(n):
            self.row_strategy[i] = 0.0
        for j in range(m):
            self.column_strategy[j] = 0.0
        for i in range(n):
            if self.down[i] >= 0:
                self.column_strategy[self.down[i]] = max(table[i, m], 0.0)
        for j in range(m):
            if self.across[j] < 0:
                self.row_strategy[-1 - self.across[j]] = max(table[n, j], 0.0)
        self.normalise(self.row_strategy, n)
        self.normalise(self.column_strategy, m)

    def entering(self, n: int, m: int, step: int) -> int:
        """The column that gains most per unit; after many steps the first that gains, by the
        number of its variable, so that there is no circle (Bland). -1: none gains.
        """
        found, most, patient = -1, -SLIGHT, step < (n + m) * PIVOTS // 2
        for j in range(m):
            cost = self.tableau[n, j]
            if cost < most or (cost < -SLIGHT and not patient and self.before(j, found)):
                found = j
                most = cost if patient else -math.inf
        return found

    def before(self, j: int, found: int) -> bool:
        return bool(found < 0 or self.across[j] < self.across[found])

    def leaving(self, n: int, m: int, s: int) -> int:
        """The row that is the first to reach 0; of several, by the number of its variable."""
        found, least = 0, math.inf
        for i in range(n):
            if self.tableau[i, s] > SLIGHT:
                ratio = self.tableau[i, m] / self.tableau[i, s]
                if ratio < least or (ratio == least and self.down[i] < self.down[found]):
                    found, least = i, ratio
        return found

    def pivot(self, n: int, m: int, r: int, s: int) -> None:
        """Exchange the variables of row r and column s."""
        table = self.tableau
        p = table[r, s]
        for j in range(m + 1):
            if j != s:
                table[r, j] /= p
        for i in range(n + 1):
            if i != r:
                factor = table[i, s]
                for j in range(m + 1):
                    if j != s:
                        table[i, j] -= factor * table[r, j]
                table[i, s] = -factor / p
        table[r, s] = 1.0 / p
        self.down[r], self.across[s] = self.across[s], self.down[r]

    def normalise(self, side: Floats, n: int) -> None:
        total = 0.0
        for i in range(n):
            total += side[i]
        for i in range(n):
            side[i] = side[i] / total if total > 0.0 else 1.0 / n


def make_matrix(room: int, d: int) -> MatrixGame:
    """An empty game for as many actions, and alternatives, as there is room."""
    return MatrixGame(
        np.zeros((room, d)),
        np.zeros((room, d)),
        np.zeros(room),
        np.zeros((room, room)),
        np.zeros(room),
        np.zeros(room),
        np.zeros((room + 1, room + 1)),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(2, np.int64),
    )
