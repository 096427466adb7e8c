"""ASGI middleware around every request.

It reads bodies within limits of size and time, keeps names in paths in one piece, adds the security
headers to every response, writes a line to the log, and counts the request.
"""

import asyncio
import json
import time
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import Request
from starlette.routing import Match

from ...errors import CombGameError, InputError
from ..client._wire import error_data
from .auth import cookie
from .errors import code_of, one_host, other_origin, served, too_much_at_once
from .settings import ServerSettings
from .telemetry import Metrics, log

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
DRAINED = 8  # times the limit: how much is read and dropped, so that the client gets the refusal
LOGIN = "/login"  # the only route that takes a body of an unauthenticated client
LOCAL = ("localhost", "127.0.0.1", "::1", "testserver")


class SecurityMiddleware:
    """ASGI middleware that limits, checks, logs and counts requests.

    A `local` service accepts only the names of its own machine, so that a page of another site
    cannot reach it by a DNS name that resolves to this machine.
    """

    def __init__(self, app: Any, limits: ServerSettings, metrics: Metrics, local: bool) -> None:
        self.app, self.limits, self.metrics, self.local = app, limits, metrics, local
        self.held = 0  # bytes of all bodies together

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, kept = time.perf_counter(), 0, BodyBuffer()
        scope = {**scope, "path": path_of(scope)}
        scope.setdefault("state", {})
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                more = [one for one in HEADERS if one[0] not in own]
                if b"cache-control" not in own:
                    more.append((b"cache-control", b"no-store"))
                if "cookie" in scope["state"]:
                    secure = scope["scheme"] == "https"
                    session, seconds = scope["state"]["cookie"], self.limits.login
                    more.append((b"set-cookie", cookie(session, secure, seconds).encode()))
                message = {**message, "headers": [*message["headers"], *more]}
                if "person" in scope["state"] and "known" in scope["state"]:
                    scope["state"]["known"]()
            await send(message)

        try:
            self.check_origin(scope, headers)
            most = await self.most(scope, headers)
            body = await self.body(receive, headers, most, kept) if most else b""
            await self.app(scope, replayed(body, receive), sending)
        except CombGameError as error:
            await refuse(sending, error)
        except Exception as error:
            log("error", "failed", error=type(error).__name__, trace=error)
            if not status:
                await refuse(sending, failed(), 500)
            else:
                raise
        finally:
            self.free(kept)
            person = scope["state"].get("person")
            route = getattr(scope.get("route"), "path", "")
            took = time.perf_counter() - began
            self.metrics.answered(scope["method"], route, status, took)
            log(
                "info",
                "request",
                method=scope["method"],
                path=scope["path"],  # without the query, which may hold secrets
                status=status,
                ms=round(1000.0 * took, 1),
                person=getattr(person, "name", None),
            )

    def check_origin(self, scope: Any, headers: dict[bytes, str]) -> None:
        """Raise an error for a request of another site, or without exactly one Host header."""
        hosts = sum(name == b"host" for name, _ in scope["headers"])
        if hosts != 1:  # a proxy may have used another one of them
            raise one_host(hosts)
        host = headers[b"host"]
        if self.local and _name(host) not in LOCAL:
            raise other_origin()
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return
        origin = headers.get(b"origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise other_origin()
        if headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise other_origin()

    async def most(self, scope: Any, headers: dict[bytes, str]) -> int:
        """Return how many bytes of the body are kept.

        The number is 0 if the route takes no body, or if an authenticated sender is required and
        the sender is not; the request is then refused without its body.
        """
        if b"content-length" not in headers and b"transfer-encoding" not in headers:
            return 0
        if scope["method"] != "POST" or not any(takes(one, scope) for one in scope["app"].routes):
            return 0
        if await scope["app"].state.people.who(Request(scope)) is None:
            return self.limits.form if scope["path"] == LOGIN else 0
        api = scope["path"].startswith("/api/")
        upload = headers.get(b"content-type", "").startswith("multipart/form-data")
        return self.limits.upload if upload and not api else self.limits.body

    async def body(
        self, receive: Any, headers: dict[bytes, str], most: int, kept: "BodyBuffer"
    ) -> bytes:
        """Return the whole body, which is read before anything else is done."""
        said = headers.get(b"content-length", "0")
        if not said.isdecimal() or len(said) > 18 or int(said) > DRAINED * most:
            raise too_large(most)
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.request_timeout_s):
                while size <= DRAINED * most:
                    message = await receive()
                    if message["type"] != "http.request":
                        break
                    size += len(message.get("body", b""))
                    if size <= most:
                        self.hold(len(message.get("body", b"")), kept)
                        parts.append(message.get("body", b""))
                    else:
                        parts.clear()
                        self.free(kept)
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            if size > most:
                raise too_large(most) from None
            text = "the body of the request did not arrive within {seconds:g} seconds"
            remedy = "send it at once"
            seconds = self.limits.request_timeout_s
            raise InputError("body-too-slow", text, remedy=remedy, seconds=seconds) from None
        if size > most:
            raise too_large(most)
        return b"".join(parts)

    def hold(self, n: int, kept: "BodyBuffer") -> None:
        """Count `n` more bytes for a request."""
        if self.held + n > self.limits.held:
            raise too_much_at_once(self.limits.held)
        self.held += n
        kept.size += n

    def free(self, kept: "BodyBuffer") -> None:
        """Stop counting the bytes of a request."""
        self.held -= kept.size
        kept.size = 0


class BodyBuffer:
    """Number of bytes that are kept of the body of a request until it is answered."""

    size = 0


def takes(route: Any, scope: Any) -> bool:
    """Return True if a request matches this route."""
    return bool(route.matches(scope)[0] is Match.FULL)


def replayed(body: bytes, receive: Any) -> Any:
    """Return an ASGI `receive` that first gives the body that was read, and then what follows."""
    given = False

    async def receiving() -> Any:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return receiving


def path_of(scope: Any) -> str:
    """Return the path with every name in one piece, even if the name contains / or %.

    `validation.named` decodes the name.
    """
    raw = scope.get("raw_path") or scope["path"].encode()
    pieces = raw.decode("latin-1").partition("?")[0].split("/")
    return "/".join(escaped(unquote(piece)) for piece in pieces)


def escaped(name: str) -> str:
    """Return a name as one piece of a path for the routes."""
    return name.replace("%", "%25").replace("/", "%2F")


def in_path(name: str) -> str:
    """Return a name as one piece of a URL."""
    return quote(name, safe="")


def _name(host: str) -> str:
    """Return the host name without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


async def refuse(send: Any, error: CombGameError, code: int | None = None) -> None:
    """Send an error as the response."""
    error = served(error)
    body = json.dumps({"error": error_data(error)}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    code = code or code_of(error)
    if code == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if code in (429, 503):
        headers.append((b"retry-after", b"5"))
    if code in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def too_large(most: int) -> InputError:
    """Return the error that a body is too large."""
    text = "the body of the request is above the limit of {most:,} bytes"
    return InputError("body-too-large", text, remedy="send less at a time", most=most)


def failed() -> CombGameError:
    """Return the error of an unexpected failure."""
    text = "the service failed to answer; what was stored is kept"
    return CombGameError("failed", text, remedy="tell whoever runs it: its log says why")
