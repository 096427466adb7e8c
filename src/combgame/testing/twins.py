"""The same run twice: interpreted, and compiled."""

from typing import Any

import numpy as np

from ..errors import EngineError
from ..game.engines import check_verbs
from ..game.records import Floats
from ..problem import Problem
from ..rules import Setup
from ..simulate.run import Run
from ..stopping.base import Stopping
from .tally import Tally


def check_engines(
    problem: Problem,
    setup: Setup,
    stopping: Stopping,
    means: Floats,
    deltas: int,
    rounds: int,
    seed: int,
    tally: Tally,
    compiled: bool = True,
) -> None:
    """Whether both engines make the same run, bit for bit. A part that is no NamedTuple runs
    interpreted only, which the tally says; so does it if the other engine is not asked for.
    """
    if not compiled:
        run = Run(problem, setup, stopping, means, deltas, seed, 0, "python")
        try:
            check_verbs((run.game, run.rule))
        except EngineError as error:
            raise AssertionError(str(error)) from error
        tally.add("runs interpreted only: compiled=True compares the engines, and compiles first")
        return
    runs: list[Run] = []
    for engine in ("python", "compiled"):
        try:
            run = Run(problem, setup, stopping, means, deltas, seed, 0, engine)
        except EngineError as error:
            if error.code == "no-numba":
                raise  # which is not the part's fault
            assert error.code == "foreign-part", str(error)
            tally.add("runs interpreted only: not every part is a NamedTuple")
            return
        run.advance(rounds)
        runs.append(run)
    one, other = runs
    assert same(tuple(one.seen), tuple(other.seen)), "the two engines saw different things."
    assert same(one.rule, other.rule), "the two engines left the rule in different states."
    assert same(one.stops, other.stops), "the two engines stopped in different rounds."
    tally.add(
        f"the same run of {int(one.seen.clock[0]):,} rounds interpreted and compiled, bit for bit"
    )


def same(a: Any, b: Any) -> bool:
    """Whether two parts hold the same numbers, bit for bit."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)
