"""What takes a while says so: a line on a terminal or in a notebook, and how long it took.

Nothing is said of what takes less than two seconds, nor where stderr is a file or a pipe, unless it
is asked for (progress=True): what takes hours then says how far it is every half a minute.
progress=False is quiet, with all that happens inside.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._messages import legible
from ..errors import either

PATIENCE = 2.0  # seconds
EVERY = 30.0  # seconds between two lines on how far something is
CLEAR = "\r\x1b[2K"
Say = Callable[[str], None]


class _Lines(threading.local):
    """Those of a thread that have begun and not ended; the innermost is shown."""

    def __init__(self) -> None:
        self.open: list[_Line] = []


_LINES = _Lines()


class _Line:
    """One line, which a thread of its own writes after a while, and again every second."""

    def __init__(self, doing: str, wanted: bool | None, after: float) -> None:
        self.doing, self.after, self.more = doing, after, ""
        self.quiet = wanted is False
        self.shown, self.hidden, self.began = False, False, time.perf_counter()
        self._screen, self._over, self._lock = sys.stderr, threading.Event(), threading.Lock()
        self._writes = _writable(self._screen, wanted)
        self._rewrites = self._writes and _terminal(self._screen)

    def start(self) -> None:
        if self._writes:
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        wait = self.after
        while not self._over.wait(wait):
            with self._lock:
                if not self._over.is_set() and not self.hidden:
                    self._write()
            wait = 1.0

    def _write(self) -> None:
        spent = time.perf_counter() - self.began
        if self._rewrites:
            self._put(f"{CLEAR}{self.doing}{self.more}: {spent:.0f} s")
        elif not self.shown:
            self._put(f"{self.doing} ...\n")
        self.shown = True

    def end(self, done: str) -> None:
        """done: what to leave; nothing if it failed."""
        self._over.set()
        with self._lock:
            if self.shown:
                spent = time.perf_counter() - self.began
                self._put(CLEAR * self._rewrites + (f"{done} in {spent:.1f} s\n" if done else ""))

    def hide(self, hidden: bool) -> None:
        """While something inside has a line of its own."""
        with self._lock:
            self.hidden = hidden

    def _put(self, text: str) -> None:
        try:
            self._screen.write(text)
            self._screen.flush()
        except (OSError, ValueError):  # it was closed meanwhile
            self._writes = False


def _terminal(screen: Any) -> bool:
    return screen is not None and screen.isatty()


def _writable(screen: Any, wanted: bool | None) -> bool:
    """As asked, unless something around is quiet; else on a terminal and in a notebook."""
    if screen is None or wanted is False or any(one.quiet for one in _LINES.open):
        return False
    return bool(wanted) or _terminal(screen) or _notebook()


def _notebook() -> bool:
    return "ipykernel" in sys.modules


def shows_bar(progress: bool | None) -> bool:
    """Whether to show a progress bar: on a terminal unless it is to be quiet, in a notebook if it
    is asked for.
    """
    if progress is None:
        return _terminal(sys.stderr)
    return either("progress", progress) and (_terminal(sys.stderr) or _notebook())


@contextmanager
def now_and_then(name: str, progress: bool | None) -> Iterator[Say]:
    """Around what may take hours: where it is asked for and nobody sees a bar, a line every EVERY
    seconds, with what was said last.
    """
    last, over, screen = "", threading.Event(), sys.stderr

    def say(text: str) -> None:
        nonlocal last
        last = text

    def write() -> None:
        while not over.wait(EVERY):
            try:
                screen.write(legible(f"{name}: {last}") + "\n")
                screen.flush()
            except (OSError, ValueError):  # it was closed meanwhile
                return

    if progress and screen is not None and not shows_bar(progress):
        threading.Thread(target=write, daemon=True).start()
    try:
        yield say
    finally:
        over.set()


@contextmanager
def waiting(
    doing: str, done: str, progress: bool | None = None, after: float | None = None
) -> Iterator[Say]:
    """Around what may take a while; what it yields adds words to the line.

    doing, done: "simulating 100 runs", "simulated 100 runs". progress: True shows the line
    anywhere, False nowhere, with all that happens inside.
    """
    line = _Line(doing, progress, PATIENCE if after is None else after)
    outer = _LINES.open[-1:]
    for one in outer:
        one.hide(True)
    _LINES.open.append(line)
    line.start()

    def say(more: str) -> None:
        line.more = more

    left = ""
    try:
        yield say
        left = done
    finally:
        _LINES.open.remove(line)
        line.end(left)
        for one in outer:
            one.hide(False)


def counted(outcomes: Iterator[Any], runs: int, label: str, progress: bool | None) -> Iterator[Any]:
    """The outcomes of some runs, with a line that counts them."""
    what = f"{runs:,} run{'s' * (runs != 1)} of {label[:60]}"
    with waiting(f"simulating {what}", f"simulated {what}", progress) as say:
        began = time.perf_counter()
        for number, outcome in enumerate(outcomes, 1):
            spent = time.perf_counter() - began
            left = spent / number * (runs - number)
            say(f" ({number:,} done, about {left:.0f} s left)")
            yield outcome
