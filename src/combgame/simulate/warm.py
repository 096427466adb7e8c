"""Compile the round of a rule on a problem without playing any."""

from typing import NamedTuple

import numpy as np

from ..game.telling import MADE
from ..presets import make_rule
from ..problem import Problem
from ..rules import RuleBase
from ..rules.base import stopping_of
from ..stopping.own import StoppingBase
from .bench import Bench


class Warmed(NamedTuple):
    what: str | None  # None: it is interpreted
    compiled: int  # functions; none: it was ready
    seconds: float


def warm(
    problem: Problem,
    rule: str | RuleBase = "frank-wolfe",
    threshold: str | StoppingBase = "mixture",
) -> Warmed:
    """What was compiled, if it was not ready. What is compiled depends on classes, not on means,
    delta or the number of arms.
    """
    chosen = make_rule(rule)
    stopping = stopping_of(chosen, threshold, problem, [0.05])
    before = len(MADE)
    run = Bench(problem, np.zeros(problem.d), chosen, stopping, (0.05,), 1, 0, "auto").run(0)
    run.advance(0)
    if not run.compiled:
        return Warmed(None, 0, 0.0)
    made = MADE[before:]
    return Warmed(
        made[-1].what if made else "",
        sum(one.compiled for one in made),
        sum(one.seconds for one in made),
    )
