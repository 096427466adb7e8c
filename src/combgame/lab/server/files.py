"""How many files and connections a process may have open."""

from dataclasses import replace

from .settings import ServerSettings

try:
    import resource
except ImportError:  # not on Windows, where there is no such limit
    resource = None  # type: ignore[assignment]

OF_A_STUDY = 8  # files of a study that is open: its database, what belongs beside it, its queue
OF_A_PROCESS = 64  # files that it has besides


def fitting(limits: ServerSettings) -> ServerSettings:
    """The same limits, with so many connections as the process may have, so that studies can be
    opened however many connections there are. What the process may open is raised as far as that
    needs, and as far as it is allowed to.
    """
    if resource is None:
        return limits
    reserve = OF_A_STUDY * limits.studies + OF_A_PROCESS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.connections + reserve
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return limits
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):  # a system that allows less than it says
        most = soft
    room = max(most - reserve, most // 4)
    return replace(limits, connections=min(limits.connections, room))
