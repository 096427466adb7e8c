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

PATIENCE = 2.0  # seconds
EVERY = 30.0  # seconds between two lines in a file or a pipe
Say = Callable[[str], None]


class _Quiet(threading.local):
    depth = 0  # how many calls around have progress=False


_QUIET = _Quiet()


class _Lines:
    """A screen that cannot rewrite a line: what tqdm shows becomes a line of its own."""

    def __init__(self, screen: Any) -> None:
        self.screen, self.flush = screen, screen.flush

    def write(self, text: str) -> None:
        if text.strip():
            self.screen.write(text.strip() + "\n")


def _terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def bar(progress: bool | None, **options: Any) -> Any:
    """Return a tqdm bar on stderr that is disabled where nothing is to be shown."""
    from tqdm import tqdm

    rewrites, seen = _terminal(), shown(progress)
    every = {} if rewrites else {"mininterval": EVERY, "maxinterval": EVERY}
    file = sys.stderr if rewrites or not seen else _Lines(sys.stderr)
    return tqdm(file=file, disable=not seen, **every, **options)


def shown(progress: bool | None) -> bool:
    """Return whether progress is shown: as asked, by default on a terminal and in a notebook."""
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
    """Show a line with the time while the body runs, and how long it took when it is done.

    Parameters
    ----------
    doing, done : str
        Such as "simulating 100 runs" and "simulated 100 runs".
    progress : bool, optional
        True shows the line anywhere; False shows nothing, nor does what happens inside.
    after : float, optional
        Seconds until the line appears.

    Yields
    ------
    callable
        Sets words that the line has after `doing`.
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
    """Yield the outcomes of some runs, and count them on a line."""
    what = f"{runs:,} run{'s' * (runs != 1)} of {label[:60]}"
    with waiting(f"simulating {what}", f"simulated {what}", progress) as say:
        began = time.perf_counter()
        for number, outcome in enumerate(outcomes, 1):
            spent = time.perf_counter() - began
            left = spent / number * (runs - number)
            say(f" ({number:,} done, about {left:.0f} s left)")
            yield outcome
