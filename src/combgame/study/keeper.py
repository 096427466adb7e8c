"""What no caller waits for: a thread that does it after the call has returned.

A snapshot and SQLite's checkpoint make a later call quicker and keep nothing: if they fail, nothing
is lost, and nobody is told.
"""

import threading
from collections.abc import Callable
from contextlib import suppress


class Keeper:
    """Runs `work` in a thread of its own, once at a time."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Unless it is at work already. (In a forked child, nobody is.)"""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, daemon=True)
            with suppress(RuntimeError):  # the interpreter is shutting down
                self._thread.start()

    def wait(self) -> None:
        """Until it is done."""
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        with suppress(Exception):  # whatever it is, the next call says it
            self._work()
