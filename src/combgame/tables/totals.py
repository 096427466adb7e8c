"""A data frame of values -> means, counts and standard deviations per arm."""

import math
from typing import Any

import numpy as np

from ..errors import InputError, said_by
from ..game.records import Floats
from ..problem import Problem
from ..sentences import Phrase
from .frames import read_frame
from .reading import read_table


def totals(problem: Problem, frame: Any) -> tuple[Floats, Floats, Floats | None]:
    """Of a frame with the columns arm and value (and n), or a column per arm. The standard
    deviations are None where the rewards state theirs.
    """
    means, counts, spreads = np.zeros((3, problem.d))
    for arm, entry in read_table(read_frame(frame), problem, rounds=False).values[0].items():
        try:
            given = entry if isinstance(entry, list) else [entry]
            several = [one for one in given if one is not None]
            for one in several:
                value, n = one if isinstance(one, tuple) else (one, None)
                if n is not None and not problem.rewards.known:
                    raise InputError(
                        "means-hide-spread",
                        "a mean of {n} values hides how they vary, which is needed here",
                        remedy="{instead}",
                        n=n,
                        instead=Phrase("several values"),
                    )
                if (why := problem.rewards.refused(value, n)) is not None:
                    raise said_by(InputError, why)
        except InputError as error:
            raise error.within("arm {arm}", arm=problem.label([arm])) from None
        pairs = [one if isinstance(one, tuple) else (one, 1) for one in several]
        if not pairs:
            continue
        counts[arm] = sum(n for _, n in pairs)
        means[arm] = math.fsum(value * n for value, n in pairs) / counts[arm]
        if counts[arm] > 1.0:
            squares = math.fsum(n * (value - means[arm]) ** 2 for value, n in pairs)
            spreads[arm] = math.sqrt(squares / (counts[arm] - 1.0))
    low, high = problem.rewards.values(problem.d)
    means[counts == 0.0] = min(max(0.0, low), high)
    return means, counts, None if problem.rewards.known else spreads
