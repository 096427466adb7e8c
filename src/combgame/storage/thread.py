"""The thread in which a study's transactions run, one after the other.

Python runs the handlers of signals in the main thread only. So Ctrl-C, or any handler that raises,
never cuts a transaction in two, and the signals of the host process are left alone.
"""

import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from .._messages import OptionHint
from ..errors import StoreError

T = TypeVar("T")


def thread_busy(name: str, seconds: float) -> StoreError:
    """Return the error for a study that another thread has been using too long."""
    text = (
        "study {name!r}: another thread of this process has been using it for {seconds:g} seconds"
    )
    remedy = "try again, or give a longer {timeout}"
    about = {"name": name, "seconds": seconds, "timeout": OptionHint("timeout")}
    return StoreError("thread-busy", text, remedy=remedy, **about)


class Job(Generic[T]):
    """A call that a worker makes for another thread, with the context variables of that thread."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call, self._context = call, copy_context()
        self._taken, self._over = threading.Lock(), threading.Lock()
        self._over.acquire()
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def make(self) -> None:
        """Make the call, unless it was withdrawn."""
        try:
            if self._taken.acquire(blocking=False):
                self._result = self._context.run(self._call)
        except BaseException as error:
            self._error = error
        finally:
            self._done = True
            self._over.release()

    def withdraw(self) -> bool:
        """Keep the worker from making the call; False if it has begun."""
        return self._taken.acquire(blocking=False)

    def wait(self, seconds: float = -1.0) -> bool:
        """Wait until the call is over; return False if the time has passed first."""
        # an interrupt may come between the two lines and leave the lock to the next waiter
        if not self._done and self._over.acquire(timeout=seconds):
            self._over.release()
        return self._done

    def result(self) -> T:
        """Return what the call returned, or raise what it raised."""
        result, error = self._result, self._error
        self._result = self._error = None  # the traceback leads back to this job
        try:
            if error is not None:
                raise error
            return result  # type: ignore[no-any-return]
        finally:
            del error


class Worker:
    """Makes calls in a thread of its own, one after the other.

    The thread ends when the worker is garbage-collected. It is a daemon: a process that ends does
    not wait for it, because everything that was acknowledged is on disk.
    """

    def __init__(self, name: str, seconds: float) -> None:
        self._name, self._seconds = name, min(seconds, threading.TIMEOUT_MAX)
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        made = threading.Thread(target=_make_all, args=(self._jobs,), name="combgame", daemon=True)
        self._thread: threading.Thread | None = made
        try:
            made.start()
        except RuntimeError:  # no more threads, or the interpreter is shutting down
            self._thread = None

    def run(self, call: Callable[[], T]) -> T:
        """Make a call and return its result; the call begins within the timeout.

        The exception of a signal is raised when a call that has begun has ended; one that has not
        begun is withdrawn. A second exception is raised at once: the call goes on to its end, but
        nobody waits for it. A worker without a thread makes the call in the thread of the caller,
        where a signal can interrupt it.
        """
        if self.inside or self._alone:
            return call()
        job = Job(call)
        try:
            self._jobs.put(job)
            if begun := job.wait(self._seconds) or not job.withdraw():
                job.wait()
        except BaseException:
            if not job.withdraw():
                job.wait()
            raise
        if not begun:
            raise thread_busy(self._name, self._seconds)
        return job.result()

    def begin(self, call: Callable[[], T]) -> Job[T]:
        """Schedule a call without waiting for it."""
        job = Job(call)
        if self._alone:
            job.make()
        else:
            self._jobs.put(job)
        return job

    @property
    def inside(self) -> bool:
        """True in the worker's own thread."""
        return threading.current_thread() is self._thread

    @property
    def _alone(self) -> bool:
        """True if the worker has no thread (any more)."""
        return self._thread is None or sys.is_finalizing()

    def __del__(self) -> None:
        self._jobs.put(None)


def _make_all(jobs: "SimpleQueue[Job[Any] | None]") -> None:
    while (job := jobs.get()) is not None:
        job.make()
        del job
