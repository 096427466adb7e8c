"""Whoever has no token cannot take the memory of the service: it is flooded over a socket, in a
process of its own, and looked at from outside.
"""

import contextlib
import json
import socket
import time
from pathlib import Path

import pytest

from combgame.lab.server.connections import DRAINED
from combgame.lab.server.registry import StudyRegistry, make_token
from combgame.lab.server.settings import ServerSettings
from tests.services import process

pytestmark = pytest.mark.slow  # a server in a process of its own

LINE = b"GET /health HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"
CHUNKED = b"POST /api/v1/studies HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
FLOODS = {  # what comes first, and then without an end
    "many headers": (LINE + HOST, b"x: y\r\n" * 10_000, "too-many-headers"),
    "large headers": (LINE + HOST, b"x: " + b"a" * 60_000 + b"\r\n"),
    "one header": (LINE + HOST + b"x: ", b"a" * 60_000),
    "the name of a header": (LINE + HOST, b"a" * 60_000),
    "an address": (b"GET /", b"a" * 60_000),
    "a query": (b"GET /health?", b"a" * 60_000),
    "nothing but lines": (b"", b"\r\n" * 30_000),
    "trailers": (CHUNKED + b"1\r\n{\r\n0\r\n", b"x: y\r\n" * 10_000, "too-many-headers"),
    "one trailer": (CHUNKED + b"1\r\n{\r\n0\r\nx: ", b"a" * 60_000),
    "the rest of a chunk's line": (CHUNKED + b"1;", b"a" * 60_000),
}
MORE = 100 * 2**20  # bytes of a flood
ROOM = 20.0  # megabytes that the process may grow by, whatever its allocator does


def resident(running):
    """Megabytes."""
    status = Path(f"/proc/{running.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def flood(service, begin, piece, most=MORE):
    """Sends until nobody takes it; how much that was, and what was answered."""
    sent, heard = 0, b""
    with socket.create_connection((service.host, int(service.port)), timeout=60) as raw:
        with contextlib.suppress(ConnectionError):
            raw.sendall(begin)
            while sent < most:
                raw.sendall(piece)
                sent += len(piece)
        with contextlib.suppress(ConnectionError):
            while more := raw.recv(1 << 16):
                heard += more
    return sent, heard


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with process(f"sqlite:///{tmp_path_factory.mktemp('lab')}/lab.db") as (service, running, _):
        service.get("studies")
        yield service, running


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_headers_without_an_end_are_refused_before_they_are_kept(running):
    for what in FLOODS:
        service, server = running
        before = resident(server)
        begin, piece, *code = FLOODS[what]
        sent, heard = flood(service, begin, piece)
        assert sent < MORE / 5, what  # some of it is in the buffers of the two systems
        assert resident(server) < before + ROOM, what
        head, _, body = heard.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 431 ") and b"connection: close" in head
        error = json.loads(body)["error"]
        assert [error["code"]] == (code or ["headers-too-large"])
        assert error["arguments"] == {
            "most": ServerSettings().lines if code else ServerSettings().head
        }
        assert service.call("GET", "/health").status == 200


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_requests_that_wait_behind_each_other_are_not_kept_without_end(running):
    service, server = running
    before = resident(server)
    sent, _ = flood(service, b"", (LINE + HOST + b"\r\n") * 1000)
    assert sent < MORE / 5
    assert resident(server) < before + ROOM
    assert service.call("GET", "/health").status == 200


def test_a_refusal_is_heard_by_who_sends_on_for_a_while(running):
    service, _ = running
    sent, heard = flood(service, LINE + HOST, b"x: y\r\n", DRAINED * ServerSettings().head // 2)
    assert sent >= DRAINED * ServerSettings().head // 2 and heard.startswith(b"HTTP/1.1 431 ")


UPLOAD = (
    b"POST /new HTTP/1.1\r\n"
    + HOST
    + b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n" % (10 * 2**20)
)


def withheld(service, n, whole):
    """Many connections at once, each of which keeps its last byte to itself."""
    held = []
    for _ in range(n):
        raw = socket.create_connection((service.host, int(service.port)), timeout=60)
        held.append(raw)
        with contextlib.suppress(ConnectionError):
            raw.sendall(whole[:-1])
    time.sleep(1.5)  # until all of it is taken
    return held


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize(("tokens", "room"), [(True, ROOM), (False, 150.0)])
def test_bodies_that_do_not_end_are_not_kept_without_end(tmp_path, tokens, room):
    place = f"sqlite:///{tmp_path}/lab.db"
    if tokens:
        shelf = StudyRegistry(place)
        make_token(shelf, "ann", "admin")
        shelf.close()
    with process(place) as (service, server, _):
        service.get("studies")
        before = resident(server)
        held = withheld(service, 50, UPLOAD + b"a" * (10 * 2**20))
        assert resident(server) < before + room
        for raw in held:
            raw.close()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_tiny_headers_on_many_connections_are_not_kept(running):
    service, server = running
    before = resident(server)
    held = withheld(service, 200, LINE + HOST + b"ab:c\r\n" * 9200 + b"\r\n")
    assert resident(server) < before + ROOM
    for raw in held:
        raw.close()
