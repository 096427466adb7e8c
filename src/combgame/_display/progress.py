"""Show the progress of long computations on stderr, with tqdm.

A computation of less than two seconds shows nothing. Where stderr is a file or a pipe, progress is
shown only if it is asked for (``progress=True``), as a line every half a minute.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from .._messages import escape_control
from ..errors import check_bool

PATIENCE = 2.0  # seconds before progress is shown
EVERY = 30.0  # seconds between two lines in a file or a pipe
Say = Callable[[str], None]


class _Quiet(threading.local):
    depth = 0  # number of enclosing calls with progress=False


_QUIET = _Quiet()


class _Lines:
    """A stream that cannot rewrite a line: each update of tqdm becomes a line."""

    def __init__(self, screen: Any) -> None:
        self.screen, self.flush = screen, screen.flush

    def write(self, text: str) -> None:
        if text.strip():
            self.screen.write(text.strip() + "\n")


def _terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def bar(progress: bool | None, patient: bool = False, **options: Any) -> Any:
    """Return a tqdm bar on stderr, disabled if progress is not shown.

    A patient one writes no line into a file or a pipe before `PATIENCE` has passed.
    """
    from tqdm import tqdm

    rewrites, seen = _terminal(), shown(progress)
    every = {} if rewrites else {"mininterval": EVERY, "maxinterval": EVERY}
    every |= {"delay": PATIENCE} if patient and not rewrites else {}
    file = sys.stderr if rewrites or not seen else _Lines(sys.stderr)
    return tqdm(file=file, disable=not seen, **every, **options)


def shown(progress: bool | None) -> bool:
    """Return whether progress is shown: as requested, or on a terminal and in a notebook."""
    if sys.stderr is None or progress is False or _QUIET.depth:
        return False
    return (
        _terminal() or "ipykernel" in sys.modules
        if progress is None
        else check_bool("progress", progress)
    )


@contextmanager
def waiting(
    doing: str, done: str, progress: bool | None = None, after: float | None = None
) -> Iterator[Say]:
    """Show a line with the elapsed time while the body runs, and the total time afterwards.

    Parameters
    ----------
    doing, done : str
        Descriptions such as "simulating 100 runs" and "simulated 100 runs".
    progress : bool, optional
        True shows the line anywhere; False hides it, and all progress inside the body.
    after : float, optional
        Seconds until the line appears.

    Yields
    ------
    callable
        Sets the text that follows `doing` in the line.
    """
    began, more, left, over = time.perf_counter(), "", "", threading.Event()

    def say(text: str) -> None:
        nonlocal more
        more = text

    def show() -> None:
        if over.wait(PATIENCE if after is None else after):
            return
        every = 1.0 if _terminal() else EVERY
        with suppress(OSError, ValueError), bar(True, bar_format="{desc}", leave=False) as line:
            while True:
                spent = time.perf_counter() - began
                line.set_description_str(escape_control(f"{doing}{more}: {spent:.0f} s"))
                if over.wait(every):
                    break
            if left:
                spent, line.leave = time.perf_counter() - began, True
                line.set_description_str(escape_control(f"{left} in {spent:.1f} s"), refresh=False)

    shows, thread = shown(progress), threading.Thread(target=show, daemon=True)
    _QUIET.depth += progress is False
    if shows:
        thread.start()
    try:
        yield say
        left = done
    finally:
        _QUIET.depth -= progress is False
        over.set()
        if shows:
            thread.join()


def counted(outcomes: Iterator[Any], runs: int, label: str, progress: bool | None) -> Iterator[Any]:
    """Yield the results of some runs, and count them on a line."""
    what = f"{runs:,} run{'s' * (runs != 1)} of {label[:60]}"
    with waiting(f"simulating {what}", f"simulated {what}", progress) as say:
        began = time.perf_counter()
        for number, outcome in enumerate(outcomes, 1):
            spent = time.perf_counter() - began
            left = spent / number * (runs - number)
            say(f" ({number:,} done, about {left:.0f} s left)")
            yield outcome
