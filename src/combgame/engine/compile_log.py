"""What is being compiled: one line on a terminal or in a notebook while it takes longer than a
moment, and a log of it at level INFO anywhere.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._display.progress import waiting

MOMENT = 0.7  # seconds
LOG = logging.getLogger("combgame.compile")


class CompileRecord(NamedTuple):
    """Something that was made ready to be called."""

    what: str
    seconds: float
    compiled: int  # functions; none: all was on disk


MADE: list[CompileRecord] = []  # by this process, in order
COUNT = [0]  # functions that this process has compiled


@contextmanager
def telling(
    function: Callable[..., Any], args: tuple[Any, ...], usual: str = "about 10 s"
) -> Iterator[None]:
    """Around what may take a while; usual: how long it takes."""
    what, began, before = words(function, args), time.perf_counter(), COUNT[0]
    said = f"compiling {what}, once: {usual}"
    later = threading.Timer(MOMENT, LOG.info, [said])
    later.daemon = True
    later.start()
    try:
        with waiting(said, f"compiled {what}", after=MOMENT):
            yield
    finally:
        later.cancel()
    MADE.append(CompileRecord(what, time.perf_counter() - began, COUNT[0] - before))
    if later.finished.is_set() and MADE[-1].seconds >= MOMENT:
        LOG.info("compiled %s in %.1f s", what, MADE[-1].seconds)


def words(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """What a call is about, by the names of its parts.

    >>> import combgame as cg
    >>> from combgame.engine.round import play, update_recommendation
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(1.0))
    >>> rule, _ = cg.CombGame(cg.LLOO()).bind(problem).start_run(None)
    >>> words(play, (problem.kernel(), rule))
    'LLOO on Subsets with Gaussian rewards'
    >>> words(update_recommendation, (problem.kernel(),))
    'update_recommendation on Subsets with Gaussian rewards'
    """
    problem: Any = next((x for x in args if hasattr(x, "actions") and hasattr(x, "rewards")), None)
    if problem is None:
        return function.__name__
    rule: Any = next((x for x in args if hasattr(x, "choose")), None)
    rule = getattr(rule, "watched", rule)  # by a guard
    who = function.__name__ if rule is None else _name(getattr(rule, "learner", rule))
    return f"{who} on {_name(problem.actions)} with {_name(problem.rewards)} rewards"


def _name(kernel: Any) -> str:
    return type(kernel).__name__.removesuffix("Kernel").removesuffix("Part")
