"""Messages about compiling, without importing numba.

Compiling that takes longer than `MOMENT` is announced in one line on the terminal or in the
notebook, and in a log record of level INFO. The module also says whether numba compiles here, and
for which versions its accelerator (`numba/_private.py`) was tested.
"""

import importlib.util
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._display.progress import waiting
from .._messages import Message

MOMENT = 0.7  # seconds
LOG = logging.getLogger("combgame.compile")
TRIED = ("0.63", "0.65", "0.67", "0.68")


class CompileRecord(NamedTuple):
    """A function that was made ready to be called."""

    what: str
    seconds: float
    compiled: int  # number of functions; 0 if all of them were on disk


MADE: list[CompileRecord] = []  # by this process
COUNT = [0]  # functions that this process has compiled


@contextmanager
def telling(
    function: Callable[..., Any], args: tuple[Any, ...], usual: str = "about 10 s"
) -> Iterator[None]:
    """Report a step that may take a while.

    Parameters
    ----------
    function : Callable
        The function that is compiled.
    args : tuple
        Its arguments.
    usual : str
        How long the step usually takes.
    """
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
    """Describe a call by the names of its kernels.

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
    rule = getattr(rule, "watched", rule)  # the rule inside a `CheckedKernel`
    who = function.__name__ if rule is None else _name(getattr(rule, "learner", rule))
    return f"{who} on {_name(problem.actions)} with {_name(problem.rewards)} rewards"


def _name(kernel: Any) -> str:
    return type(kernel).__name__.removesuffix("Kernel")


def tried(version: str) -> bool:
    """Return whether the accelerator was tested with a version of numba.

    >>> tried("0.68.1"), tried("0.6.0"), tried("0.680.0")
    (True, False, False)
    """
    return ".".join(version.split(".")[:2]) in TRIED


def idle() -> str:
    """Return the reason why numba compiles nothing here, or "" if it does."""
    if importlib.util.find_spec("numba") is None:
        return "numba is not installed"
    off = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")
    return "NUMBA_DISABLE_JIT is set" if off else ""


def unaccelerated(version: str, why: str) -> Message:
    """Return the message that is shown once if the accelerator is not used."""
    return Message(
        "no-accelerator",
        "under numba {version} combgame compiles without its accelerator ({why}): results and the "
        "time of a round are the same, but a first call takes up to three times as long",
        remedy="install numba {best}, if that matters",
        version=version,
        why=why,
        best=TRIED[-1],
    )
