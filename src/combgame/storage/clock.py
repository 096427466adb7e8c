"""The clock that leases and deadlines go by: one for all who share a study.

That of the server, where the storage is one. A file has the clock of the machine that holds it, for
that is whose time the file system writes beside a file whenever it is touched. So nobody's own
clock takes a round from somebody else, or ends a study; who is off is told.
"""

import platform
import time

from .._messages import Message

now = time.time  # seconds since 1970, as this machine has it
OFF = 60.0  # seconds by which a clock may be off before that is said


def off(theirs: float) -> Message | None:
    """What is to be said of this machine's clock, if anything; theirs: the storage's."""
    seconds = now() - theirs
    if abs(seconds) <= OFF:
        return None
    text = (
        "the clock of {machine} is {seconds:,.0f} seconds {where} the storage's, which leases and "
        "deadlines go by"
    )
    where = "ahead of" if seconds > 0.0 else "behind"
    remedy = "set the clocks of all machines by NTP"
    about = {"machine": platform.node(), "seconds": abs(seconds), "where": where}
    return Message("clock-off", text, remedy=remedy, **about)
