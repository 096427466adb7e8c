"""A matrix game between actions and alternatives, inside compiled code.

The game is a maximum over mixtures of actions of the minimum over mixtures of alternatives: a
linear programme, solved by the simplex method on a condensed tableau.
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.likelihood_ratio import alike
from ..engine.state import Floats, Ints

LARGEST = 1e6  # payoff in units of the value; larger ones gain nothing
SLIGHT = 1e-11  # entries of the tableau up to this are 0
PIVOTS = 20  # per action and alternative, at most


class MatrixGame(NamedTuple):
    r"""The game and its solution.

    Attributes
    ----------
    rows : float64[room, d]
        Actions, in ``rows[:used[0]]``.
    columns : float64[room, d]
        Payoff of each arm for each alternative, in ``columns[:used[1]]``.
    ground : float64[room]
        Payoff of each alternative whatever is played.
    pay : float64[room, room]
        :math:`\langle 1_A, column \rangle + ground`.
    row_strategy, column_strategy : float64[room]
        Mixtures of actions and of alternatives.
    tableau : float64[room + 1, room + 1]
        The simplex tableau.
    down, across : int64[room]
        Variables of its rows and columns: alternative j is j, the slack of action i is -1 - i.
    used : int64[2]
        Number of actions and of alternatives.
    """

    rows: Floats
    columns: Floats
    ground: Floats
    pay: Floats
    row_strategy: Floats
    column_strategy: Floats
    tableau: Floats
    down: Ints
    across: Ints
    used: Ints

    def blend(self, side: Floats, n: int, what: Floats, out: Floats) -> None:
        """Write the average of the rows of `what` under a mixture."""
        for a in range(out.size):
            out[a] = 0.0
        for i in range(n):
            if side[i] > 0.0:
                for a in range(out.size):
                    out[a] += side[i] * what[i, a]

    def add_column(self, cost: Floats, ground: float) -> None:
        """Add an alternative; there must be room."""
        j = self.used[1]
        self.used[1] += 1
        self.ground[j] = ground
        for a in range(cost.size):
            self.columns[j, a] = cost[a]
        for i in range(self.used[0]):
            self.pay[i, j] = self.sum_of(i, j)

    def enter(self, action: Floats) -> bool:
        """Add an action if it is new and there is room; return whether it was added."""
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
        """Begin another game.

        It has no alternatives; of the actions, the first `home` and those with weight stay.
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
        """Return the payoff of action i against alternative j."""
        total = 0.0
        for a in range(self.rows.shape[1]):
            total += self.rows[i, a] * self.columns[j, a]
        return float(total + self.ground[j])

    def match(self, lower: float) -> None:
        r"""Solve the matrix game: both mixtures, for payoffs in units of the value, plus 1.

        Notes
        -----
        Maximise :math:`\sum_j y_j` such that :math:`\sum_j pay_{ij} y_j \le 1` and :math:`y \ge 0`.
        The solution is the alternatives' mixture times a factor, and that of the dual is the
        actions'.
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
        """Return the column that gains most per unit, or -1 if none gains.

        After many steps it is the column that gains and has the first variable, so that there is no
        cycle (Bland's rule).
        """
        found, most, patient = -1, -SLIGHT, step < (n + m) * PIVOTS // 2
        for j in range(m):
            cost = self.tableau[n, j]
            if cost < most or (cost < -SLIGHT and not patient and self.before(j, found)):
                found = j
                most = cost if patient else -math.inf
        return found

    def before(self, j: int, found: int) -> bool:
        """Return whether column j has an earlier variable than the one found."""
        return bool(found < 0 or self.across[j] < self.across[found])

    def leaving(self, n: int, m: int, s: int) -> int:
        """Return the row that is the first to reach 0; ties are broken by its variable."""
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
        """Scale n weights to a sum of 1."""
        total = 0.0
        for i in range(n):
            total += side[i]
        for i in range(n):
            side[i] = side[i] / total if total > 0.0 else 1.0 / n


def make_matrix(room: int, d: int) -> MatrixGame:
    """Return an empty game for up to `room` actions and alternatives."""
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
