"""The 0/1 points of linear constraints, found by HiGHS through SciPy."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._validation import MATRIX, check_size
from .._validation import arms as arms_in
from .._values import frozen
from ..engine.state import Floats, Ints, arms_of, vector
from ..engine.user_code import CallbackKernel, callback_part
from ..errors import (
    InputError,
    OracleError,
    check_bool,
    check_positive,
    error_from,
    invalid_argument,
)
from ._nearest.bracketing import BracketingStructure
from .base import greedy_covering, sorted_arms
from .relabel import figure, renumbered, some_arms

CALLS = 10  # limit for all calls that make a programme, in units of the limit of one call


@frozen
class IntegerProgram(BracketingStructure):
    """The non-empty sets x in {0, 1}^d with lower <= matrix x <= upper.

    Parameters
    ----------
    constraints : tuple or list of tuples
        One (matrix, lower, upper) or a list of them. Bounds may be infinite.
    d : int
        The number of arms.
    exact : bool, default=False
        As answers: True closes the bracket around the nearest alternative by enumeration (see
        `Oracle`).
    time_limit : float, default=60.0
        Seconds that one call of the solver may take. All calls that make the structure may take ten
        times as long.

    Raises
    ------
    InputError
        If the programme is infeasible.
    OracleError
        If the solver exceeds the time limit; it never returns a wrong set.

    Notes
    -----
    The empty set is left out, because it contains nothing to play.

    Examples
    --------
    >>> budget = IntegerProgram(([[3.0, 2.0, 2.0, 1.0]], 0.0, 4.0), d=4)
    >>> budget.argmax([0.6, 0.4, 0.3, 0.2])
    (0, 3)
    """

    def __init__(
        self, constraints: Any, d: int, exact: bool = False, time_limit: float = 60.0
    ) -> None:
        self.d, self.exact = (
            arms_in("d", d, 1, of="IntegerProgram"),
            check_bool("exact", exact, of="IntegerProgram"),
        )
        self.time_limit = check_positive("time_limit", time_limit, of="IntegerProgram")
        none = isinstance(constraints, tuple) and not constraints
        several = constraints if isinstance(constraints, list) or none else [constraints]
        parts = [self._row(one) for one in several] or [
            (np.zeros((0, self.d)), np.zeros(0), np.zeros(0))
        ]
        # one matrix with its lower and upper bounds
        self._given = tuple(np.concatenate(of) for of in zip(*parts, strict=True))
        self._arrange()

    def _arrange(self) -> None:
        matrix, low, high = self._given
        size = np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)
        # rows are scaled to one size, because the tolerance of the solver is absolute
        scaled = (matrix / size[:, None], low / size, high / size)
        self._rows = [scaled] if len(matrix) else []
        # no set is empty
        self._rows.append((np.ones((1, self.d)), np.ones(1), np.full(1, np.inf)))
        self._covering = self._checked_covering()

    def _row(self, one: Any) -> tuple[Floats, Floats, Floats]:
        try:
            matrix, lower, upper = one
            rows = np.atleast_2d(np.asarray(matrix, dtype=float))
            low = np.broadcast_to(np.asarray(lower, dtype=float), (len(rows),)).copy()
            high = np.broadcast_to(np.asarray(upper, dtype=float), (len(rows),)).copy()
        except Exception:  # whatever was given
            raise self._not_a_constraint(one) from None
        check_size(rows.size, "entries", of="IntegerProgram", times=MATRIX)
        if (
            rows.ndim != 2
            or rows.shape[1] != self.d
            or not np.all(np.isfinite(rows))
            or np.isnan(low).any()
            or np.isnan(high).any()
        ):
            raise self._not_a_constraint(one)
        return rows, low, high

    def _not_a_constraint(self, one: Any) -> InputError:
        what = "(matrix, lower, upper): {d} columns of finite numbers, and bounds without NaN"
        return invalid_argument("a constraint", one, what, d=self.d, of="IntegerProgram")

    def permuted(self, order: Ints) -> "IntegerProgram":
        """Return the same constraints with permuted columns."""
        matrix, low, high = self._given
        given = (matrix[:, order], low, high)
        new: IntegerProgram = renumbered(
            self, order, exact=self.exact, time_limit=self.time_limit, _given=given
        )
        new._arrange()
        return new

    def _checked_covering(self) -> list[tuple[int, ...]]:
        try:
            return greedy_covering(self, self._patient())
        except OracleError as error:
            if error.code == "infeasible":
                raise error_from(InputError, error.sentence) from None
            raise

    def _patient(self) -> Callable[[], None]:
        """Return a function that raises an error once all calls together have taken too long.

        Making a programme takes up to two calls of the solver for each arm, each within its own
        limit.
        """
        began, most = time.monotonic(), CALLS * self.time_limit

        def go_on() -> None:
            if time.monotonic() - began > most:
                raise OracleError(
                    "solver-slow",
                    "{structure}: after {seconds:g} seconds it is still not known which arms its "
                    "sets have",
                    remedy="simplify the constraints, or raise time_limit = {time_limit}",
                    structure=str(self),
                    seconds=most,
                    time_limit=self.time_limit,
                )

        return go_on

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same structure."""
        matrix, low, high = (some.tolist() for some in self._given)
        said = (tuple(map(tuple, matrix)), tuple(low), tuple(high)) if matrix else ()
        return {
            "constraints": said,
            "d": self.d,
            "exact": self.exact,
            "time_limit": self.time_limit,
        }

    def __str__(self) -> str:  # its arguments are matrices
        return f"IntegerProgram(<{len(self._given[0])} constraints>, {self.d})"

    def solve(self, score: Floats) -> Floats:
        """Return the best set as a 0/1 vector; raise an error if there is none."""
        solved = self.solve_within(score, np.zeros(self.d), np.zeros(self.d))
        if solved is None:
            raise OracleError(
                "infeasible",
                "{structure}: no set but perhaps the empty one satisfies the constraints",
                remedy="relax them",
                structure=str(self),
            )
        return solved[0]

    def solve_within(
        self, score: Floats, inside: Floats, outside: Floats
    ) -> tuple[Floats, float] | None:
        """Return the best set with some arms forced in and some forced out.

        Parameters
        ----------
        score : ndarray of shape (d,)
            Score of every arm.
        inside, outside : ndarray of shape (d,)
            1 for the arms that the set must contain, and for those that it must not contain.

        Returns
        -------
        (ndarray, float) or None
            The set, and an upper bound of the solver on the score of any such set; None if there is
            no such set.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        # the gap of the solver is 1e-6, absolute; scaling makes it 1e-12 of the largest score
        scale = (float(np.abs(score).max()) or 1.0) / 1e6
        solved = milp(
            -score / scale,
            integrality=np.ones(self.d),
            bounds=Bounds(inside, 1.0 - outside),
            constraints=[LinearConstraint(*row) for row in self._rows],
            options={"time_limit": self.time_limit, "mip_rel_gap": 0.0},
        )
        if solved.status == 2:
            return None
        if solved.status != 0 or solved.x is None:
            raise OracleError(
                "solver-unfinished",
                "{structure}: the solver did not finish ({message})",
                remedy="raise time_limit = {time_limit}",
                structure=str(self),
                message=solved.message,
                time_limit=self.time_limit,
            )
        out = np.round(solved.x)
        if not self._feasible(out):
            raise OracleError(
                "solver-wrong",
                "{structure}: the solver returned {arms}, which breaks a constraint",
                remedy="scale the constraints",
                structure=str(self),
                arms=arms_of(out),
            )
        most = getattr(solved, "mip_dual_bound", None)
        top = float(score @ out)
        return np.asarray(out, dtype=float), max(
            top, -scale * most
        ) if most is not None and math.isfinite(most) else top

    def _feasible(self, x: Floats) -> bool:
        slack = 1e-9 * self.d  # for rounding, since every row has entries of at most 1
        return all(
            bool(np.all(rows @ x >= low - slack) and np.all(rows @ x <= high + slack))
            for rows, low, high in self._rows
        )

    def kernel(self) -> CallbackKernel:
        """Return a kernel that calls the solver."""
        return callback_part(self.solve, self.d)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Iterate over all sets, arm by arm; the solver checks each branch."""

        def grow(fixed: Sequence[float]) -> Iterator[tuple[int, ...]]:
            wish = np.array([1.0 if x else -1.0 for x in fixed] + [0.0] * (self.d - len(fixed)))
            best = self.solve(wish)
            if list(best[: len(fixed)]) != list(fixed):
                return
            if len(fixed) == self.d:
                yield arms_of(best)
                return
            for bit in (1.0, 0.0):
                yield from grow([*fixed, bit])

        return grow([])

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether the given arms satisfy the constraints."""
        chosen = sorted_arms(arms, self.d)
        return bool(chosen) and self._feasible(vector(chosen or (), self.d))

    def covering(self) -> list[tuple[int, ...]]:
        """Return a greedy covering: at most ln(d) + 1 times as many sets as needed."""
        return list(self._covering)

    @some_arms
    def relevant_arms(self) -> set[int]:
        """Return the arms that are in some set but not in every set."""
        arms, go_on = set(), self._patient()
        for a in self.observable_arms():
            go_on()
            wish = np.zeros(self.d)
            wish[a] = -1.0
            if self.solve(wish)[a] < 0.5:
                arms.add(a)
        return arms

    @figure
    def max_size(self) -> int:
        """Return the size of the largest set, found by the solver."""
        return int(self.solve(np.ones(self.d)).sum())
