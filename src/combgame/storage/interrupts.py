"""Ctrl-C waits until a transaction has ended.

An exception in the midst of a transaction leaves a connection that keeps its lock on the file until
the traceback is gone. Masking signals does not help: another thread takes them, and Python runs the
handler in the main thread all the same.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

DEFERRED = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGBREAK")
    if hasattr(signal, name)
]
# seconds: who interrupts again after that is heard at once, for what takes so long is no longer the
# database
PATIENCE = 5.0


@contextmanager
def deferred() -> Iterator[None]:
    """Signals whose handlers are Python's, and may raise, are handled after the block. (Handlers
    run in the main thread only.)
    """
    if threading.current_thread() is not threading.main_thread() or Deferral.current is not None:
        yield
        return
    deferral = Deferral()
    try:
        deferral.begin()
        yield
    finally:
        deferral.end()


class Deferral:
    """The handlers that were there before, and the signals that wait."""

    current: "Deferral | None" = None

    def __init__(self) -> None:
        now: dict[int, Any] = {number: signal.getsignal(number) for number in DEFERRED}
        self.handlers = {number: handler for number, handler in now.items() if callable(handler)}
        self.waiting: dict[int, FrameType | None] = {}
        self.since: dict[int, float] = {}
        self.thread = threading.get_ident()

    def begin(self) -> None:
        Deferral.current = self
        for number in self.handlers:
            signal.signal(number, self.later)

    def later(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if Deferral.current is not self:  # an interrupt kept `end` from putting the handler back
            signal.signal(number, self.handlers[number])
        elif now - self.since.setdefault(number, now) <= PATIENCE:
            self.waiting[number] = frame
            return
        self.since[number] = now
        self.waiting.pop(number, None)
        self.handlers[number](number, frame)

    def end(self) -> None:
        Deferral.current = None
        try:
            for number, handler in self.handlers.items():
                # and not what somebody has put there meanwhile
                if signal.getsignal(number) == self.later:
                    signal.signal(number, handler)
        finally:
            self.hand_over()

    @staticmethod
    def forked() -> None:
        """A child whose only thread is another one has nothing to wait for, and the signals were
        its parent's.
        """
        current = Deferral.current
        if current is not None and current.thread != threading.get_ident():
            current.waiting.clear()
            current.end()

    def hand_over(self) -> None:
        if self.waiting:
            number, frame = self.waiting.popitem()
            try:
                self.handlers[number](number, frame)
            finally:
                self.hand_over()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Deferral.forked)
