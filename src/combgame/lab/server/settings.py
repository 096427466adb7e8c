"""Limits of a service on sizes, counts and waiting times."""

from dataclasses import dataclass, replace

try:
    import resource
except ImportError:  # not on Windows, where there is no such limit
    resource = None  # type: ignore[assignment]

OF_A_STUDY = 8  # files of an open study: its database, the files beside it, its queue
OF_A_PROCESS = 64  # other files of the process


@dataclass(frozen=True)
class ServerSettings:
    """Limits of a service.

    Attributes
    ----------
    arms, edges : int
        Size of a problem that a request describes.
    entries : int
        Entries of such a description, for example of the matrix of an integer programme or of a
        list of sets.
    seconds : float
        Time limit that an integer programme may have for one call of its oracle.
    rounds : int
        Rounds that one request may ask for or report.
    body, upload : int
        Bytes of the body of a request, without and with an uploaded file.
    unpacked : int
        Bytes of an uploaded workbook after decompression.
    form : int
        Bytes of the log-in form, the only body that is accepted from an unauthenticated client.
    held : int
        Bytes of all bodies together, from when they begin to arrive until they are answered.
    head : int
        Bytes of the request line and the headers, and of the trailers.
    lines : int
        Number of headers, and of trailers.
    pipelined : int
        Requests that wait on one connection for the request before them.
    connections : int
        Simultaneous connections. One address may have a quarter of them as long as none of its
        requests is authenticated.
    nesting : int
        Depth of JSON data.
    request_timeout_s : float
        Seconds in which the TLS handshake, the head, and the body must arrive.
    lock_timeout_s : float
        Seconds to wait for a database that is busy.
    studies : int
        Studies that are open at a time. On PostgreSQL, each of them holds a connection.
    threads : int
        Threads of the pool for short database calls and for views that take long.
    watchers : int
        Streams of live changes.
    poll : float
        Seconds between two checks for what other processes have written.
    login_attempts : int
        Failed log-ins from one address in a minute.
    login : float
        Seconds that a log-in lasts.
    """

    arms: int = 10_000
    edges: int = 100_000
    entries: int = 1_000_000
    seconds: float = 60.0
    rounds: int = 1000
    body: int = 2 * 2**20
    upload: int = 10 * 2**20
    unpacked: int = 20 * 2**20
    form: int = 2**12
    held: int = 64 * 2**20
    head: int = 2**16
    lines: int = 100
    pipelined: int = 16
    connections: int = 2000
    nesting: int = 32
    request_timeout_s: float = 20.0
    lock_timeout_s: float = 15.0
    studies: int = 40
    threads: int = 16
    watchers: int = 1000
    poll: float = 1.0
    login_attempts: int = 10
    login: float = 12 * 3600.0


def fitting(limits: ServerSettings) -> ServerSettings:
    """Return the limits with no more connections than the process has file descriptors for.

    The soft limit of the process is raised as far as necessary and allowed. Descriptors for the
    studies are reserved, so that studies can be opened no matter how many connections there are.
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
    except (OSError, ValueError):  # some systems allow less than their hard limit
        most = soft
    room = max(most - reserve, most // 4)
    return replace(limits, connections=min(limits.connections, room))
