"""What people tell of an arm: a number, a list of replicates, (mean, n), or that it is missing."""

import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from ..errors import InputError
from ..problem import Problem

Entry = (
    None | float | list[float] | dict[str, float]
)  # as JSON has it; a mean of n values is {"mean": ..., "n": ...}
MOST = 2**53  # values in one mean


def read_values(
    problem: Problem, values: Any, among: Collection[int] | None = None, where: str = "values"
) -> dict[int, Entry]:
    """Values by arm, checked; `among`: the arms that may have one.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0), names=["a", "b", "c"])
    >>> read_values(problem, {"a": 1, 1: [0.5, 0.25], "c": (0.5, 4)})
    {0: 1.0, 1: [0.5, 0.25], 2: {'mean': 0.5, 'n': 4}}
    """
    if not hasattr(values, "keys"):
        raise InputError(
            f"{where} = {values!r} must be values by arm, such as {{0: 0.3}} or {{'name': 0.3}}."
        )
    found: dict[int, Entry] = {}
    for key in values.keys():  # noqa: SIM118  (a pandas Series iterates over its values)
        arm = problem.arm(key)
        if among is not None and arm not in among:
            raise InputError(
                f"{where}: arm {problem.label([arm])} is not in the round, which has "
                f"{problem.label(sorted(among))}."
            )
        if arm in found:
            raise InputError(
                f"{where}: arm {problem.label([arm])} is given twice, by its name and by its "
                "number; give it once."
            )
        found[arm] = _entry(problem, arm, values[key], where)
    return found


def _entry(problem: Problem, arm: int, value: Any, where: str) -> Entry:
    if (
        value is None
        or (isinstance(value, float | np.floating) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    ):
        return None

    def at() -> str:  # said only if something is wrong
        return f"{where}: arm {problem.label([arm])}"

    if isinstance(value, tuple):
        if (
            len(value) != 2
            or isinstance(value[1], bool)
            or not isinstance(value[1], int | np.integer)
            or value[1] < 1
        ):
            raise InputError(
                f"{at()}: {value!r} must be (mean, n) with a whole n of at least 1; replicates "
                "come as a list."
            )
        if not problem.rewards.known:
            raise InputError(
                f"{at()}: a mean of {value[1]} values hides their spread, which is needed here; "
                "give the values as a list."
            )
        return _mean(problem, at, _number(problem, arm, at, value[0], int(value[1])), int(value[1]))
    if isinstance(value, list | np.ndarray) and np.ndim(value) == 1:
        present = [
            x
            for x in value
            if not (x is None or (isinstance(x, float | np.floating) and math.isnan(x)))
        ]
        return [_number(problem, arm, at, x) for x in present] or None
    return _number(problem, arm, at, value)


def _mean(problem: Problem, at: Callable[[], str], mean: float, n: int) -> Entry:
    if n > MOST:
        raise InputError(
            f"{at()}: n = {n} is more than 2**53, beyond which numbers are not counted exactly; "
            "check it."
        )
    return {"mean": mean, "n": n}


def _number(
    problem: Problem, arm: int, at: Callable[[], str], value: Any, n: int | None = None
) -> float:
    if (
        isinstance(value, str | bytes)
        or not isinstance(value, int | float | np.number | np.bool_)
        or isinstance(value, complex)
    ):
        raise InputError(
            f"{at()}: {value!r} must be a number, a list of replicates, (mean, n), or None for "
            "missing."
        )
    x, (low, high) = float(value), problem.rewards.values(problem.d)
    if not abs(x) <= 1e100:
        raise InputError(
            f"{at()}: {value!r} must be a finite number, at most 1e100; None says that a value "
            "is missing."
        )
    if not low <= x <= high:
        raise InputError(
            f"{at()}: {x:g} is outside [{low:g}, {high:g}], where {problem.rewards} has its "
            "values; check the value."
        )
    why = problem.rewards.refused(x, n) or problem.coarse(arm, x, n or 1)
    if why is not None:
        raise InputError(f"{at()}: {why}")
    return x


def pulls(entry: Entry) -> Iterator[tuple[float, int]]:
    """The values as (mean, of how many)."""
    if isinstance(entry, dict):
        yield entry["mean"], int(entry["n"])
    elif isinstance(entry, list):
        yield from ((x, 1) for x in entry)
    elif entry is not None:
        yield entry, 1
