"""Forks: a child shares no connection with its parent, and waits for no thread that it does not
have.

SQLite remembers which locks its process holds, and a child inherits that memory without the locks:
it would wait for a writer that is only a memory, or go without a lock that it believes to have. So
a fork waits until no thread is inside SQLite, and the child then closes what it has inherited. If a
transaction takes too long to be waited for, the child says so when it wants to use a file.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
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
