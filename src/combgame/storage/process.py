"""What the host process does to storage: forks, and Ctrl-C.

Ctrl-C waits until a transaction has ended.

An exception in the midst of a transaction leaves a connection that keeps its lock on the file until
the traceback is gone. Masking signals does not help: another thread takes them, and Python runs the
handler in the main thread all the same.

Forks: a child shares no connection with its parent, and waits for no thread that it does not
have.

SQLite remembers which locks its process holds, and a child inherits that memory without the locks:
it would wait for a writer that is only a memory, or go without a lock that it believes to have. So
a fork waits until no thread is inside SQLite, and the child then closes what it has inherited. If a
transaction takes too long to be waited for, the child says so when it wants to use a file.
"""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol
from weakref import WeakSet

FORK_PATIENCE = 5.0  # seconds that a fork waits for the transactions of other threads


class Forked(Protocol):
    """What must change in a child."""

    def forked(self, torn: bool) -> None:
        """Called in the child. torn: a transaction was under way, so that SQLite cannot be used in
        this process.
        """


class Gate:
    """Who is inside SQLite now, by thread; a fork closes it."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.inside: Counter[int] = Counter()
        self.forking = 0  # threads that are about to

    def enter(self) -> None:
        with self.changed:
            me = threading.get_ident()
            self.changed.wait_for(lambda: not self.forking or me in self.inside)
            self.inside[me] += 1

    def leave(self) -> None:
        with self.changed:
            me = threading.get_ident()
            self.inside[me] -= 1
            if not self.inside[me]:
                del self.inside[me]
                self.changed.notify_all()

    def close(self) -> None:
        """Let nobody in any more, and wait until the others are out."""
        self.changed.acquire()
        self.forking += 1
        me = threading.get_ident()
        self.changed.wait_for(lambda: not self.inside.keys() - {me}, FORK_PATIENCE)

    def open(self) -> None:
        self.forking -= 1
        self.changed.notify_all()
        self.changed.release()


GATE = Gate()
LOCKS: list[Any] = []  # short ones, which no child may inherit from a thread that it does not have
CHILDREN: WeakSet[Any] = WeakSet()  # of `Forked`


@contextmanager
def whole() -> Iterator[None]:
    """A block that no other thread's fork cuts in two."""
    GATE.enter()
    try:
        yield
    finally:
        GATE.leave()


@contextmanager
def forks_allowed() -> Iterator[None]:
    """A pause in such a block, outside SQLite."""
    GATE.leave()
    try:
        yield
    finally:
        GATE.enter()


def _before() -> None:
    GATE.close()
    for lock in LOCKS:
        lock.acquire()


def _in_parent() -> None:
    for lock in LOCKS:
        lock.release()
    GATE.open()


def _in_child() -> None:
    torn, own = bool(GATE.inside), GATE.inside[threading.get_ident()]
    GATE.__init__()  # type: ignore[misc]
    if own:
        GATE.inside[threading.get_ident()] = own
    for lock in LOCKS:
        lock.release()
    for one in list(CHILDREN):
        one.forked(torn)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


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
