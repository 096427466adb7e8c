"""The clock that leases and deadlines go by: one for all who share a study.

That of the database where it is a server. A file has none: there it is this machine's, but never
before the newest time that is stored, and it never goes back.
"""

import platform
import time

from ..sentences import Sentence

OFF = 60.0  # seconds by which a clock may be off before that is said


def now() -> float:
    """Seconds since 1970, as this machine has it."""
    return time.time()


class Clock:
    """The clock of one study, as one process reads it. `off`: what is to be said of this machine's,
    if anything.
    """

    def __init__(self) -> None:
        self.off: Sentence | None = None
        self._last = self._read = float("-inf")

    def time(self, theirs: float | None, newest: float) -> float:
        """theirs: the database's, where it has one; newest: the newest time that is stored."""
        mine, read = now(), time.monotonic()
        if theirs is not None:
            wrong = abs(mine - theirs) > OFF
            self.off = off(mine - theirs, "the database's clock") if wrong else None
            return theirs
        wrong = newest - mine > OFF
        self.off = off(mine - newest, "the newest time that is stored") if wrong else None
        # what was behind once goes on from there
        passed = self._last + (read - self._read) if self._last > float("-inf") else mine
        self._last, self._read = max(mine, newest, passed), read
        return self._last


def off(seconds: float, other: str) -> Sentence:
    """A clock that is off by so many seconds."""
    text = (
        "the clock of {machine} is {seconds:,.0f} seconds {where} {other}, which leases and "
        "deadlines go by"
    )
    where = "ahead of" if seconds > 0.0 else "behind"
    remedy = "set the clocks of all machines by NTP"
    about = {"seconds": abs(seconds), "where": where, "other": other}
    return Sentence("clock-off", text, remedy=remedy, machine=platform.node(), **about)
