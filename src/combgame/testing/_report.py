"""Shared parts of the conformance checks: the report, and the comparison of both engines."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._values import is_value, short_repr
from ..engine.dispatch import check_verbs
from ..engine.state import Floats
from ..errors import SEED, EngineError, check_int, invalid_argument
from ..simulation.runner import InitialState, Run


class CheckReport:
    """The number of times that each check was made.

    >>> report = CheckReport("Mine()")
    >>> report.add("argmax against all 15 sets", 50)
    >>> report.add("samples are sets")
    >>> report.show()
    Mine() passes:
       50 x  argmax against all 15 sets
        1 x  samples are sets
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.often: dict[str, int] = {}

    def add(self, check: str, times: int = 1) -> None:
        """Count a check that was passed."""
        self.often[check] = self.often.get(check, 0) + times

    def show(self) -> None:
        """Print the report of a check that found nothing wrong."""
        print(f"{self.what} passes:")
        width = max(len(f"{times:,}") for times in self.often.values())
        for check, times in self.often.items():
            print(f"  {times:{max(width, 3)},} x  {check}")


def check_part(name: str, kernel: Any, base: type, of: str) -> None:
    """Raise an error unless an argument derives from `base`."""
    if not isinstance(kernel, base):
        what = "an object (not a class) that derives from {base}"
        raise invalid_argument(name, kernel, what, of=of, base=base.__name__)


def check_numbers(of: str, seed: Any, **least: Any) -> None:
    """Raise an error unless the seed and the numbers of trials are whole numbers."""
    check_int("seed", seed, 0, of=of, most=SEED)
    for name, number in least.items():
        check_int(name, number, 1, of=of)


def named(kernel: Any) -> str:
    """Return a short text for a description, or the name of its class."""
    if isinstance(kernel, str):
        return repr(kernel)
    return short_repr(kernel) if is_value(kernel) else type(kernel).__name__


def check_engines(
    initial: InitialState,
    means: Floats,
    rounds: int,
    seed: int,
    report: CheckReport,
    compiled: bool = True,
) -> None:
    """Check that both engines make the same run, bit for bit.

    A kernel that is not a NamedTuple runs interpreted only, and so does every kernel if `compiled`
    is False; the report says so.
    """
    if not compiled:
        run = Run(replace(initial, engine="python"), means, seed)
        try:
            check_verbs((run.kernel, run.rule))
        except EngineError as error:
            raise AssertionError(str(error)) from error
        report.add("runs interpreted only: compiled=True compares the engines, and compiles first")
        return
    runs: list[Run] = []
    for engine in ("python", "compiled"):
        try:
            run = Run(replace(initial, engine=engine), means, seed)
        except EngineError as error:
            if error.code == "no-numba":
                raise  # the kernel is not the cause
            assert error.code == "foreign-part", str(error)
            report.add("runs interpreted only: not every part is a NamedTuple")
            return
        run.advance(rounds)
        runs.append(run)
    one, other = runs
    assert same(tuple(one.stats), tuple(other.stats)), "the two engines saw different things."
    assert same(one.rule, other.rule), "the two engines left the rule in different states."
    assert same(one.stopping_times, other.stopping_times), (
        "the two engines stopped in different rounds."
    )
    report.add(
        f"the same run of {int(one.stats.n_rounds[0]):,} rounds interpreted and compiled, bit for "
        "bit"
    )


def same(a: Any, b: Any) -> bool:
    """Return True if two kernels hold the same numbers, bit for bit.

    Parameters
    ----------
    a, b : Any
        Kernels, arrays or numbers.

    Returns
    -------
    bool
        Whether they are equal.
    """
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)
