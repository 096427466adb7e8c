"""What conformance checks share: a run in both engines, and what was checked how often.

The same run twice: interpreted, and compiled.

What a conformance check has checked, and how often.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from .._values import is_value, short_repr
from ..engine.dispatch import check_verbs
from ..engine.state import Floats
from ..errors import SEED, EngineError, check_int, invalid_argument
from ..simulation.runner import InitialState, Run


class CheckReport:
    """Checks by name, with how often each was made.

    >>> tally = CheckReport("Mine()")
    >>> tally.add("argmax against all 15 sets", 50)
    >>> tally.add("samples are sets")
    >>> tally.tell()
    Mine() passes:
       50 x  argmax against all 15 sets
        1 x  samples are sets
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.often: dict[str, int] = {}

    def add(self, check: str, times: int = 1) -> None:
        self.often[check] = self.often.get(check, 0) + times

    def tell(self) -> None:
        """Print it: nothing was found wrong."""
        print(f"{self.what} passes:")
        width = max(len(f"{times:,}") for times in self.often.values())
        for check, times in self.often.items():
            print(f"  {times:{max(width, 3)},} x  {check}")


def check_part(name: str, kernel: Any, base: type, of: str) -> None:
    """A sentence, unless it is a description of its kind."""
    if not isinstance(kernel, base):
        what = "an object (not a class) that derives from {base}"
        raise invalid_argument(name, kernel, what, of=of, base=base.__name__)


def check_numbers(of: str, seed: Any, **least: Any) -> None:
    """A sentence, unless these are whole numbers: a seed, and how often something is tried."""
    check_int("seed", seed, 0, of=of, most=SEED)
    for name, number in least.items():
        check_int(name, number, 1, of=of)


def named(kernel: Any) -> str:
    """A description in few words; the name of its class, where it is no value."""
    if isinstance(kernel, str):
        return repr(kernel)
    return short_repr(kernel) if is_value(kernel) else type(kernel).__name__


def check_engines(
    initial: InitialState,
    means: Floats,
    rounds: int,
    seed: int,
    tally: CheckReport,
    compiled: bool = True,
) -> None:
    """Whether both engines make the same run, bit for bit. A part that is no NamedTuple runs
    interpreted only, which the tally says; so does it if the other engine is not asked for.
    """
    if not compiled:
        run = Run(replace(initial, engine="python"), means, seed)
        try:
            check_verbs((run.kernel, run.rule))
        except EngineError as error:
            raise AssertionError(str(error)) from error
        tally.add("runs interpreted only: compiled=True compares the engines, and compiles first")
        return
    runs: list[Run] = []
    for engine in ("python", "compiled"):
        try:
            run = Run(replace(initial, engine=engine), means, seed)
        except EngineError as error:
            if error.code == "no-numba":
                raise  # which is not the part's fault
            assert error.code == "foreign-part", str(error)
            tally.add("runs interpreted only: not every part is a NamedTuple")
            return
        run.advance(rounds)
        runs.append(run)
    one, other = runs
    assert same(tuple(one.stats), tuple(other.stats)), "the two engines saw different things."
    assert same(one.rule, other.rule), "the two engines left the rule in different states."
    assert same(one.stopping_times, other.stopping_times), (
        "the two engines stopped in different rounds."
    )
    tally.add(
        f"the same run of {int(one.stats.n_rounds[0]):,} rounds interpreted and compiled, bit for bit"
    )


def same(a: Any, b: Any) -> bool:
    """Whether two parts hold the same numbers, bit for bit."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)
