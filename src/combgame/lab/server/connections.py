"""Connections of a service: accepted within limits, and parsed as HTTP within limits.

Connections are counted before anything is read from them. Data that arrive before a request is
understood are counted before they are stored, and their sender must not be slow.
"""

import asyncio
import ipaddress
import json
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...errors import CombGameError
from ..client._wire import error_data
from .errors import code_of, headers_too_large, too_many_headers
from .settings import ServerSettings
from .telemetry import log

STEP = 2**14  # bytes that are passed to the parser at a time
DRAINED = 8  # times the limit: how much is read and dropped, so that the client gets the refusal


class Accepted:
    """A connection that counts from when it is accepted until it is lost.

    Until `know` is called, it also counts as an unauthenticated connection from its source address.
    """

    def __init__(self, listener: "Listener", source: str) -> None:
        self._listener, self._source, self._open = listener, source, True
        listener.open += 1
        listener.unknown[source] += 1
        self._unknown = True

    def know(self) -> None:
        """Mark the connection as authenticated."""
        if self._unknown:
            self._unknown = False
            unknown = self._listener.unknown
            unknown[self._source] -= 1
            if not unknown[self._source]:
                del unknown[self._source]

    def leave(self) -> None:
        """Stop counting the connection."""
        if self._open:
            self._open = False
            self._listener.open -= 1
            self.know()


class Listener:
    """Accept connections on a socket, within limits.

    There are at most `limits.connections` connections, and at most a quarter of them come from one
    address as long as they are not authenticated. TLS connections count before their handshake,
    which must finish within `limits.request_timeout_s` seconds. `make` returns the protocol of a
    connection.
    """

    def __init__(
        self,
        listening: socket.socket,
        limits: ServerSettings,
        tls: ssl.SSLContext | None,
        make: Callable[[Accepted], asyncio.Protocol],
    ) -> None:
        self.sockets, self.limits = [listening], limits
        self.open = 0
        self.unknown: Counter[str] = Counter()  # connections by their source
        self._tls, self._make = tls, make
        self._loop = asyncio.get_running_loop()
        listening.setblocking(False)
        self._tasks = {self._loop.create_task(self._accept())}

    async def _accept(self) -> None:
        while True:
            try:
                connection, address = await self._loop.sock_accept(self.sockets[0])
            except ConnectionError:  # the client has left already
                continue
            except OSError as error:  # too many files are open; one may be closed soon
                log("error", "not-accepting", why=error.strerror)
                await asyncio.sleep(1.0)
                continue
            source = source_of(str(address[0]))
            code = self._refusal(source)
            if code is not None:
                log("warning", "refused", code=code)
                connection.close()
                continue
            task = self._loop.create_task(self._connect(connection, Accepted(self, source)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _refusal(self, source: str) -> str | None:
        if self.open >= self.limits.connections:
            return "too-many-connections"
        if self.unknown[source] >= self.limits.connections // 4:
            return "too-many-from-one-address"
        return None

    async def _connect(self, connection: socket.socket, accepted: Accepted) -> None:
        patience = None if self._tls is None else self.limits.request_timeout_s
        try:
            await self._loop.connect_accepted_socket(
                partial(self._make, accepted),
                connection,
                ssl=self._tls,
                ssl_handshake_timeout=patience,
            )
        except OSError:  # the client does not speak TLS, or has left
            accepted.leave()
        except BaseException:
            accepted.leave()
            raise

    def close(self) -> None:
        """Stop accepting connections, as uvicorn expects of a server."""
        for task in self._tasks:
            task.cancel()

    async def wait_closed(self) -> None:
        """Close the listening socket, as uvicorn expects of a server."""
        self.sockets[0].close()


def source_of(host: str) -> str:
    """Return the part of an address that limits apply to; of IPv6 the first 64 bits.

    One customer usually has all addresses that share these 64 bits.

    >>> source_of("192.0.2.7"), source_of("::ffff:192.0.2.7"), source_of("2001:db8::1:2")
    ('192.0.2.7', '192.0.2.7', '2001:db8::/64')
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


class Over(Exception):  # noqa: N818
    """Raised in a callback of the parser, which turns it into an error of its own."""


def protocol(limits: ServerSettings) -> type[HttpToolsProtocol]:
    """Return the HTTP protocol class for uvicorn, with these limits.

    The request line, the headers, and the trailers after the last chunk of a body are limited. A
    connection is closed if its request does not begin, or its headers do not end, within
    `limits.request_timeout_s` seconds, if too many requests wait on it behind one another, or if a
    request with a large body waits.
    """

    class Bounded(HttpToolsProtocol):
        accepted: Accepted | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.late: asyncio.TimerHandle | None = None
            self.loose = 0  # bytes since the last chunk of a body or the end of a head
            self.head = 0  # parsed bytes of the head or of the trailers
            self.within = False  # True after the end of a message's head
            self.over = False  # True once the connection was refused
            self.dropped = 0  # bytes received since then
            self.lines = 0  # number of headers or trailers
            self.look()

        def data_received(self, data: bytes) -> None:
            for begin in range(0, len(data), STEP):
                piece = data[begin : begin + STEP]
                if self.over:
                    self.drop(len(data) - begin)
                    return
                self.loose += len(piece)
                super().data_received(piece)
                if self.transport.is_closing():
                    return
                if self.loose > limits.head and not self.over:
                    self.refuse()
            self.look()

        def connection_lost(self, error: Exception | None) -> None:
            if self.late is not None:
                self.late.cancel()
            if self.accepted is not None:
                self.accepted.leave()
            super().connection_lost(error)

        # ---- callbacks of the parser

        def on_message_begin(self) -> None:
            self.head, self.lines, self.within = 0, 0, False
            super().on_message_begin()
            if self.accepted is not None:
                self.scope["state"]["known"] = self.accepted.know

        def on_url(self, url: bytes) -> None:
            self.count(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self.lines += 1
            self.count(len(name) + len(value) + 4)  # colon, blank and end of line
            if not self.within:  # trailers are dropped
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self.head = self.lines = self.loose = 0
            self.within = True
            super().on_headers_complete()
            if len(self.pipeline) > limits.pipelined:
                self.end()

        def on_body(self, body: bytes) -> None:
            self.loose = 0
            super().on_body(body)
            if self.pipeline and len(self.cycle.body) > limits.head:
                self.end()

        def end(self) -> None:
            """Close the connection: too much waits behind another request."""
            self.over = True
            log("warning", "refused", code="too-many-waiting")
            self.transport.abort()
            raise Over

        def on_message_complete(self) -> None:
            self.loose = 0
            super().on_message_complete()

        def count(self, n: int) -> None:
            self.head += n
            if self.head > limits.head or self.lines > limits.lines:
                raise Over

        # ---- refusing

        def send_400_response(self, msg: str) -> None:
            """Answer a request that the parser rejects."""
            if self.head > limits.head or self.lines > limits.lines:
                self.refuse()
            elif not self.over:
                super().send_400_response(msg)

        def refuse(self) -> None:
            """Send an error and store nothing more.

            Data are read for a while longer, so that the client gets the answer.
            """
            self.over = True
            cycle = self.cycle
            running = cycle is not None and not cycle.response_complete
            if running and (cycle.response_started or not cycle.more_body):
                cycle.keep_alive = False  # the response that is being sent is another request's
            else:
                if running:  # the application must not answer any more
                    cycle.disconnected = True
                    cycle.message_event.set()
                many = self.lines > limits.lines
                error = too_many_headers(limits.lines) if many else headers_too_large(limits.head)
                code = code_of(error)
                log("warning", "refused", code=error.code, status=code)
                self.config.app.state.metrics.answered("", "", code, 0.0)  # type: ignore[union-attr]
                self.transport.write(answer(error, code))
                if self.transport.can_write_eof():
                    self.transport.write_eof()
            if self.late is not None:
                self.late.cancel()
            self.late = self.loop.call_later(limits.request_timeout_s, self.transport.close)

        def drop(self, n: int) -> None:
            self.dropped += n
            if self.dropped > DRAINED * limits.head:
                self.transport.abort()

        # ---- timeouts

        def look(self) -> None:
            if self.over:
                return
            running = self.cycle is not None and not self.cycle.response_complete
            if running and self.late is not None:
                self.late.cancel()
                self.late = None
            elif not running and self.late is None:
                self.late = self.loop.call_later(limits.request_timeout_s, self.close_late)

        def close_late(self) -> None:
            self.late = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Bounded


def answer(error: CombGameError, code: int) -> bytes:
    """Return a complete HTTP response with an error, after which the connection ends."""
    body = json.dumps({"error": error_data(error)}).encode()
    lines = [
        f"HTTP/1.1 {code} {HTTPStatus(code).phrase}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
        "connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
