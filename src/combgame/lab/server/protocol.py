"""HTTP as uvicorn speaks it, within limits: what comes before a request is understood is counted
before it is kept, and is not waited for long.
"""

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...errors import CombGameError
from ..client._wire import error_data
from .accepting import Accepted
from .errors import code_of, headers_too_large, too_many_headers
from .logs import log
from .settings import ServerSettings

STEP = 2**14  # bytes that the parser gets at a time
DRAINED = 8  # times the limit: so much is read, and dropped, that a refusal is heard


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
