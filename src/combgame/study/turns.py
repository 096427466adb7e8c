"""The threads of one process that share a study take turns, and none of them waits for ever."""

import threading

from ..errors import StoreError
from ..sentences import Option


class Turns:
    """A lock that a thread may take again while it has it. seconds: how long the others wait."""

    def __init__(self, name: str, seconds: float) -> None:
        self._name, self._seconds = name, seconds
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=self._seconds):
            text = (
                "study {name!r}: another thread of this process has been using it for {seconds:g} "
                "seconds"
            )
            remedy = "try again, or give a longer {timeout}"
            about = {"name": self._name, "seconds": self._seconds, "timeout": Option("timeout")}
            raise StoreError("thread-busy", text, remedy=remedy, **about)

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def forked(self) -> bool:
        """In a child: begin anew, as a thread of the parent's is not there to end its turn; whether
        one was at work.
        """
        free = self._lock.acquire(blocking=False)
        self._lock = threading.RLock()
        return not free
