"""Matchings of a bipartite graph, whose arms are the pairs of a row and a column."""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np

from .._messages import safe_str
from .._validation import arms as arms_in
from .._validation import check_list, check_size
from .._values import frozen
from ..engine.jit import jitable
from ..engine.likelihood_ratio import against
from ..engine.protocols import RewardKernel
from ..engine.state import FixedInts, Floats, Ints, Random
from ..errors import InputError, check_int, invalid_argument
from ._graphs import assign
from ._nearest.matchings import AlternatingCycleWorkspace, make_board, search, setup
from ._union_bound.listed import SOME, ListedUnionBound, every
from ._union_bound.matchings import MatchingUnionBound, components
from .base import (
    PolytopeGeometry,
    StructureBase,
    greedy_covering,
    max_difference_estimate,
    sorted_arms,
)
from .relabel import figure, renumbered, some_arms

MANY = 20  # size of the smaller side up to which components are searched


@jitable
def solve(
    rows: int, columns: int, arm: Ints, score: Floats, cost: Floats, held: Ints, worth: Floats
) -> None:
    """Solve the assignment problem of the scores."""
    side, total = cost.shape[0], 0.0
    for a in range(score.size):
        total += abs(score[a])
    total = total if total > 0.0 else 1.0
    for r in range(side):
        for c in range(side):
            if r < rows and c < columns:
                a = arm[r, c]
                cost[r, c] = -score[a] if a >= 0 else 4.0 * total
            else:  # a spare row or column; two spare ones may not be paired
                cost[r, c] = 0.0 if r < rows or c < columns else 4.0 * total
    assign(cost, held, worth)


class MatchingsKernel(NamedTuple):
    """The linear oracle for matchings: an assignment problem with rows + columns - size on a side.

    Unmatched rows are assigned to spare columns, and unmatched columns to spare rows.
    """

    rows: int
    columns: int
    row: FixedInts  # the row of an arm
    column: FixedInts
    cost: Floats  # scratch: float64[side, side]
    held: Ints  # scratch: int64[3, side + 1]: the row of a column, and scratch of `assign`
    arms: Ints
    sign: Floats
    worth: Floats  # scratch: float64[3, side + 1]: potentials, and scratch of `assign`
    board: AlternatingCycleWorkspace  # scratch

    def argmax(self, score: Floats, out: Floats) -> None:
        """Write the best matching, found by solving an assignment problem."""
        solve(self.rows, self.columns, self.board.arm, score, self.cost, self.held, self.worth)
        for a in range(score.size):
            out[a] = 0.0
        for c in range(self.columns):
            r = self.held[0, c + 1] - 1
            if r < self.rows:
                out[self.board.arm[r, c]] = 1.0

    def sample(self, rng: Random, out: Floats) -> None:
        """Draw the best matching for random scores.

        Every matching has a positive probability, but the probabilities are not equal.
        """
        for a in range(self.sign.size):
            self.sign[a] = rng.standard_normal()
        self.argmax(self.sign, out)

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Find the nearest matching by a search that a certified bound prunes.

        Adjacent matchings differ by one alternating cycle or path.
        """
        board = self.board
        for a in range(mean.size):
            alternative[a] = rewards.project(mean[a], a)
        solve(self.rows, self.columns, board.arm, alternative, self.cost, self.held, self.worth)
        for r in range(self.rows):
            board.row_worth[r] = -self.worth[0, r + 1]
        for c in range(self.columns):
            board.column_worth[c] = -self.worth[1, c + 1]
        setup(board, rewards, mean, self.row, self.column, best)
        most = search(board, rewards, mean, weight, best, self.arms, self.sign, alternative, rival)
        return min(
            against(rewards, mean, weight, best, self.arms, self.sign, rival, alternative), most
        )


@frozen
class Matchings(StructureBase):
    """Matchings between rows and columns.

    Parameters
    ----------
    rows, columns : int or sequence of hashable
        The number of rows (columns), or their names.
    size : int, optional
        The number of pairs in each matching. Defaults to the size of the smaller side.
    forbidden : iterable of (row, column), optional
        Pairs that may not be used. The arms are the other pairs, row by row.

    Attributes
    ----------
    names : tuple of str
        The names of the arms: "row-column".

    Examples
    --------
    >>> teams = Matchings(["ann", "bob"], ["x", "y", "z"])
    >>> teams.n_sets(), [teams.names[a] for a in teams.argmax([1.0, 2.0, 0.0, 1.0, 3.0, 0.0])]
    (6, ['ann-x', 'bob-y'])
    """

    def __init__(
        self,
        rows: int | Sequence[Hashable],
        columns: int | Sequence[Hashable],
        size: int | None = None,
        forbidden: Iterable[tuple[Hashable, Hashable]] = (),
    ) -> None:
        self.rows, self.columns = _side("rows", rows), _side("columns", columns)
        n, m = len(self.rows), len(self.columns)
        check_size(n * m, "pairs", of="Matchings")
        self.pairs = check_int("size", min(n, m) if size is None else size, 1, of="Matchings")
        if self.pairs > min(n, m):
            raise invalid_argument(
                "size",
                size,
                "at most {most}, the size of the smaller side",
                most=min(n, m),
                of="Matchings",
            )
        listed = check_list("forbidden", forbidden, "a list of pairs (row, column)", of="Matchings")
        try:
            barred = {(r, c) for r, c in listed}
            known = set(self.rows), set(self.columns)
            strange = [p for p in barred if p[0] not in known[0] or p[1] not in known[1]]
        except Exception:  # the items are no pairs, or cannot be compared
            raise invalid_argument(
                "forbidden", forbidden, "a list of pairs (row, column)", of="Matchings"
            ) from None
        if strange:
            raise InputError(
                "no-such-pair",
                "Matchings: the forbidden pair {pair} is not a (row, column)",
                remedy="check its names",
                pair=strange[0],
            )
        self._arm = np.full((n, m), -1, dtype=np.int64)
        where: list[tuple[int, int]] = []
        for i, r in enumerate(self.rows):
            for j, c in enumerate(self.columns):
                if (r, c) not in barred:
                    self._arm[i, j] = len(where)
                    where.append((i, j))
        self.where, self.d = tuple(where), len(where)
        rows_said, columns_said = (tuple(map(safe_str, side)) for side in (self.rows, self.columns))
        self.names = tuple(f"{rows_said[i]}-{columns_said[j]}" for i, j in where)
        from scipy.optimize import linear_sum_assignment

        allowed = (self._arm >= 0).astype(float)
        rows_used, columns_used = linear_sum_assignment(-allowed)
        if allowed[rows_used, columns_used].sum() < self.pairs:
            raise InputError(
                "no-matching",
                "Matchings: no {pairs:count pair} can be matched with these forbidden pairs",
                remedy="allow more, or lower size",
                pairs=self.pairs,
            )

    def permuted(self, order: Ints) -> "Matchings":
        """Return the permuted matchings; rows and columns are ordered by their first arm."""
        where = [self.where[a] for a in order]
        rows, columns = (
            {old: new for new, old in enumerate(dict.fromkeys(pair[k] for pair in where))}
            for k in (0, 1)
        )
        for side, old in ((rows, self.rows), (columns, self.columns)):  # sides without an arm
            for k in range(len(old)):
                side.setdefault(k, len(side))
        arm = np.full(self._arm.shape, -1, dtype=np.int64)
        where = [(rows[r], columns[c]) for r, c in where]
        for a, pair in enumerate(where):
            arm[pair] = a
        new: Matchings = renumbered(
            self,
            order,
            rows=tuple(self.rows[r] for r in rows),
            columns=tuple(self.columns[c] for c in columns),
            pairs=self.pairs,
            where=tuple(where),
            names=tuple(self.names[a] for a in order),
            _arm=arm,
        )
        return new

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same structure."""
        rows, columns = (
            len(side) if side == tuple(range(len(side))) else side
            for side in (self.rows, self.columns)
        )
        barred = tuple(
            (self.rows[i], self.columns[j]) for i, j in np.argwhere(self._arm < 0).tolist()
        )
        whole_side = self.pairs == min(len(self.rows), len(self.columns))
        return {
            "rows": rows,
            "columns": columns,
            "size": None if whole_side else self.pairs,
            "forbidden": barred,
        }

    def without_labels(self) -> "Matchings":
        """Return the same matchings with numbers as rows and columns."""
        barred = [(i, j) for i, j in np.argwhere(self._arm < 0).tolist()]
        return Matchings(len(self.rows), len(self.columns), self.pairs, barred)

    def kernel(self) -> MatchingsKernel:
        """Return the linear oracle for matchings."""
        side = len(self.rows) + len(self.columns) - self.pairs
        row, column = (np.array([w[k] for w in self.where], dtype=np.int64) for k in (0, 1))
        return MatchingsKernel(
            len(self.rows),
            len(self.columns),
            row,
            column,
            np.zeros((side, side)),
            np.zeros((3, side + 1), np.int64),
            np.zeros(self.d, np.int64),
            np.zeros(self.d),
            np.zeros((3, side + 1)),
            make_board(self._arm),
        )

    def union_bound(self) -> MatchingUnionBound | ListedUnionBound | None:
        """Return single alternating cycles and paths, if the smaller side is matched.

        One of the components by which I differs from B gains. Otherwise return the differences to
        every other matching, if there are few matchings, or None.
        """
        n, m = len(self.rows), len(self.columns)
        if self.pairs == min(n, m) <= MANY:
            row, column = (np.array([w[k] for w in self.where], dtype=np.int64) for k in (0, 1))
            if n > m:
                return components(self._arm.T.copy(), column, row)
            return components(self._arm.copy(), row, column)
        return every(self.to_list(), self.d) if self.n_sets_bound() <= SOME else None

    @property
    def complete(self) -> bool:
        """Return whether every pair is allowed."""
        return self.d == len(self.rows) * len(self.columns)

    @figure
    def n_sets(self) -> int | None:
        """Return the number of matchings.

        It has a closed form if every pair is allowed. Otherwise it is found by dynamic programming
        over sets of columns, up to 18 columns.

        Returns
        -------
        int or None
            None if there are more columns.
        """
        n, m, k = len(self.rows), len(self.columns), self.pairs
        if self.complete:
            return math.comb(n, k) * math.comb(m, k) * math.factorial(k)
        arm = self._arm if m <= n else self._arm.T
        if arm.shape[1] > 18 or arm.size << arm.shape[1] > 10**9:
            return None
        ways = {0: 1}
        for i in range(arm.shape[0]):
            new = dict(ways)
            for used, count in ways.items():
                for j in range(arm.shape[1]):
                    if arm[i, j] >= 0 and not used >> j & 1:
                        new[used | 1 << j] = new.get(used | 1 << j, 0) + count
            ways = new
        return sum(count for used, count in ways.items() if used.bit_count() == k)

    def n_sets_bound(self) -> int:
        """Return the number of matchings, or the number without forbidden pairs."""
        n, m, k = len(self.rows), len(self.columns), self.pairs
        return self.n_sets() or math.comb(n, k) * math.comb(m, k) * math.factorial(k)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        for chosen in combinations(range(len(self.rows)), self.pairs):
            for order in permutations(range(len(self.columns)), self.pairs):
                arms = [int(self._arm[i, j]) for i, j in zip(chosen, order, strict=True)]
                if min(arms) >= 0:
                    yield tuple(sorted(arms))

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether the given pairs form a matching."""
        chosen = sorted_arms(arms, self.d)
        if chosen is None or len(chosen) != self.pairs:
            return False
        return all(len({self.where[a][k] for a in chosen}) == self.pairs for k in (0, 1))

    def covering(self) -> list[tuple[int, ...]]:
        """Return a covering that is minimal (cyclic shifts) if all pairs are allowed.

        The smaller side must also be matched. Otherwise the covering is greedy.
        """
        n, m = len(self.rows), len(self.columns)
        if self.complete and self.pairs == min(n, m):
            if n <= m:
                return [
                    tuple(sorted(int(self._arm[i, (i + s) % m]) for i in range(n)))
                    for s in range(m)
                ]
            return [
                tuple(sorted(int(self._arm[(j + s) % n, j]) for j in range(m))) for s in range(n)
            ]
        return greedy_covering(self)

    @some_arms
    def relevant_arms(self) -> set[int]:
        """Return the pairs that are in some matching but not in every matching."""
        kernel, out, arms = self.kernel(), np.zeros(self.d), set()
        for a in self.observable_arms():
            score = np.zeros(self.d)
            score[a] = -1.0
            kernel.argmax(score, out)
            if out[a] < 0.5:
                arms.add(a)
        return arms

    def max_size(self) -> int:
        """Return the number of pairs."""
        return self.pairs

    @figure
    def max_difference(self) -> int:
        """Return the largest difference, exactly if every pair is allowed and the sides have room.

        Otherwise it is a lower estimate by hill climbing.
        """
        if self.complete and max(len(self.rows), len(self.columns)) > 1:
            return 2 * self.pairs
        return max_difference_estimate(self)

    def max_difference_bound(self) -> int:
        """Return min(2 * size, d)."""
        return min(2 * self.pairs, self.d)

    @figure
    def geometry(self) -> PolytopeGeometry:
        """Return the geometry of {x >= 0, row and column sums at most 1 (or equal)}.

        If the smaller side is matched, the inequality rows are those of the cube.
        """
        return PolytopeGeometry(
            math.sqrt(self.max_difference()),
            1.0,
            1.0,
            self.complete and len(self.rows) == len(self.columns) == self.pairs,
        )


def _side(what: str, side: Any) -> tuple[Hashable, ...]:
    """Return the names of one side; a number n stands for the names 0 to n - 1."""
    if isinstance(side, int | np.integer):
        return tuple(range(arms_in(what, side, 1, of="Matchings")))
    wanted = "a number, or a list of at least one name, each name once"
    letters = list(side) if isinstance(side, str) else side
    names = tuple(check_list(what, letters, wanted, of="Matchings"))
    try:
        fine = bool(names) and len(set(names)) == len(names)
    except Exception:  # values that cannot be compared are no names
        fine = False
    if not fine:
        raise invalid_argument(what, side, wanted, of="Matchings")
    return names
