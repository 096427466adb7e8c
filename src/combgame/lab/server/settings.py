"""How much a service takes in, and how long it waits."""

from dataclasses import dataclass, replace

try:
    import resource
except ImportError:  # not on Windows, where there is no such limit
    resource = None  # type: ignore[assignment]

OF_A_STUDY = 8  # files of a study that is open: its database, what belongs beside it, its queue
OF_A_PROCESS = 64  # files that it has besides


@dataclass(frozen=True)
class ServerSettings:
    """arms, edges, entries, seconds: of a problem that somebody sends. body, upload: bytes of a
    request, and of one with a file; unpacked: of a workbook in it; head: of the request line with
    the headers, and of trailers; lines: of them. form: of the one that logs in, the only body of
    somebody who is not known. held: of all bodies together, from when they begin to arrive until
    they are answered. pipelined: requests that wait on one connection for the one before them.
    connections: at a time; a quarter of them from one address, as long as nobody on them is known.
    patience: seconds for TLS, for a head, and for a body, to arrive. nesting: of JSON.
    """

    arms: int = 10_000
    edges: int = 100_000
    entries: int = 1_000_000  # of the matrix of an integer programme, and of listed sets
    seconds: float = 60.0  # of an integer programme, for one question
    rounds: int = 1000  # that are asked for, or told, at a time
    body: int = 2 * 2**20
    upload: int = 10 * 2**20
    unpacked: int = 20 * 2**20
    form: int = 2**12  # of the log-in
    held: int = 64 * 2**20
    head: int = 2**16
    lines: int = 100
    pipelined: int = 16
    connections: int = 2000
    nesting: int = 32
    request_timeout_s: float = 20.0
    lock_timeout_s: float = 15.0  # seconds for a database that is busy
    studies: int = 40  # that are open at a time; on PostgreSQL each is a connection
    threads: int = 16
    watchers: int = 1000
    poll: float = 1.0  # seconds between two looks at what other processes have written
    login_attempts: int = 10  # log-ins that fail, from one address in a minute
    login: float = 12 * 3600.0  # seconds that a log-in lasts


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
