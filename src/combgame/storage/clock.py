"""The clock that leases and deadlines go by: one for all clients that share a study.

For a server it is the server's clock. For a file it is the clock of the machine that holds the
file, because the file system stamps a file with that time whenever the file is touched. So a wrong
clock of one client neither takes a round from another client nor ends a study; the client is told.
"""

import platform
import time

from .._messages import Message

now = time.time  # seconds since 1970 by this machine's clock
OFF = 60.0  # seconds by which a clock may be wrong without a message


def off(theirs: float) -> Message | None:
    """Return a message if this machine's clock differs much from the storage's, `theirs`."""
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
