"""Connections, as they are accepted: counted before anything is read of them, within limits."""

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

STEP = 2**14  # bytes that the parser gets at a time
DRAINED = 8  # times the limit: so much is read, and dropped, that a refusal is heard


class Accepted:
    """A connection that counts, from when it is accepted until it is lost. source: where it comes
    from, as long as nobody on it is known.
    """

    def __init__(self, listener: "Listener", source: str) -> None:
        self._listener, self._source, self._open = listener, source, True
        listener.open += 1
        listener.unknown[source] += 1
        self._unknown = True

    def know(self) -> None:
        """Whoever is on it has been let in."""
        if self._unknown:
            self._unknown = False
            unknown = self._listener.unknown
            unknown[self._source] -= 1
            if not unknown[self._source]:
                del unknown[self._source]

    def leave(self) -> None:
        if self._open:
            self._open = False
            self._listener.open -= 1
            self.know()


class Listener:
    """Accepts connections at a socket: at most `limits.connections`, and a quarter of
    so many from one address, as long as nobody on them is known. Those of TLS count before their
    handshake, which is waited for as long as for a head. make: the protocol of a connection.
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
            except ConnectionError:  # it has left already
                continue
            except OSError as error:  # too many files are open: somebody may close one
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
        except OSError:  # no TLS, or it has left
            accepted.leave()
        except BaseException:
            accepted.leave()
            raise

    # ---- as uvicorn ends what it serves

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def wait_closed(self) -> None:
        self.sockets[0].close()


def source_of(host: str) -> str:
    """What counts as one address: of IPv6 the first 64 bits, which one customer has.

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


class Over(Exception):  # noqa: N818  (the parser says it as an error of its own)
    """There is more of a head than is kept."""


def protocol(limits: ServerSettings) -> type[HttpToolsProtocol]:
    """HTTP with these limits, for uvicorn. The request line, the headers and whatever follows the
    last piece of a body (trailers) are limited; a connection whose request does not begin, or whose
    headers do not end, within some seconds is closed; so is one on which too many requests wait
    behind one another, or one with a large body.
    """

    class Bounded(HttpToolsProtocol):
        accepted: Accepted | None = None  # by whom it is counted

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.late: asyncio.TimerHandle | None = None
            self.loose = 0  # bytes since the last piece of a body, or the end of a head
            self.head = 0  # bytes of the head, or of the trailers, that were understood
            self.within = False  # a message whose head has ended
            self.over = False  # it was refused
            self.dropped = 0  # bytes since then
            self.lines = 0  # headers, or trailers
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

        # ---- what the parser finds

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
            self.count(len(name) + len(value) + 4)  # with the colon, a blank, and the line's end
            if not self.within:  # trailers are not for us
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
            """Too much waits for the answer of another request."""
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
            """The parser gives up."""
            if self.head > limits.head or self.lines > limits.lines:
                self.refuse()
            elif not self.over:
                super().send_400_response(msg)

        def refuse(self) -> None:
            """Say why, and keep nothing any more. What comes is read for a while, so that the
            answer is heard.
            """
            self.over = True
            cycle = self.cycle
            running = cycle is not None and not cycle.response_complete
            if running and (cycle.response_started or not cycle.more_body):
                cycle.keep_alive = False  # it is the answer of another request that is under way
            else:
                if running:  # nobody may answer any more
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

        # ---- waiting

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
    """A whole answer, after which the connection ends."""
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
