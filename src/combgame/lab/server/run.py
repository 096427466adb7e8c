"""Run a service: the address where it listens, start, and stop."""

import asyncio
import ipaddress
import socket
import ssl
from typing import Any

from ..._messages import OptionHint
from ...errors import AccessError, StoreError, missing_extra
from ...storage.database import is_there
from ...storage.urls import absolute, parse, shown
from .settings import ServerSettings, fitting

try:
    import uvicorn
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    from .connections import Accepted, Listener, protocol
    from .telemetry import log, to_stderr
except ImportError:
    raise missing_extra("the service", "server") from None

from .app import create_app


def loopback(host: str) -> bool:
    """Return True if other machines cannot reach this host name or address.

    >>> loopback("127.0.0.1"), loopback("localhost"), loopback("0.0.0.0"), loopback("lab")
    (True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    storage: str,
    host: str = "127.0.0.1",
    port: int = 8000,
    certificate: str | None = None,
    key: str | None = None,
    limits: ServerSettings | None = None,
) -> None:
    """Serve the studies of a storage until SIGTERM or Ctrl-C.

    Requests that run then are finished, and no new ones are accepted. If other machines can reach
    the service, every request needs a token, and the service does not start before a token exists.
    A service that fails to start creates no file.

    Parameters
    ----------
    storage : str
        URL of the storage.
    host : str, default="127.0.0.1"
        Address or name on which the service listens.
    port : int, default=8000
        Port on which the service listens.
    certificate, key : str, optional
        PEM files of the TLS certificate and its key. Without them, the service uses HTTP.
    limits : ServerSettings, optional
        Limits of the service.

    Raises
    ------
    StoreError
        If the address cannot be used, or the certificate cannot be read.
    AccessError
        If tokens are needed and there are none.
    """
    to_stderr()
    limits, local = fitting(limits or ServerSettings()), loopback(host)
    try:
        if certificate is not None:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        listening = listen(host, port)
    except (OSError, ValueError) as error:
        raise cannot_listen(host, port, error) from None
    try:
        if not local and not is_there(absolute(parse(storage))):
            raise tokens_needed(host)
        app = create_app(storage, tokens=None if local else True, limits=limits, local=local)
        if not local and not app.state.desk.shelf.tokens():
            app.state.desk.shelf.close()
            raise tokens_needed(host)
    except BaseException:
        listening.close()
        raise
    where = shown(parse(storage))
    Server(app, where, limits, ssl_certfile=certificate, ssl_keyfile=key).run([listening])


def tokens_needed(host: str) -> AccessError:
    """Return the error that other machines would reach a service without tokens."""
    return AccessError(
        "tokens-needed",
        "everybody who reaches {host} could do everything",
        remedy="make a token first (`combgame token make NAME --role admin`), or leave out "
        "{option}",
        host=host,
        option=OptionHint("host"),
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


def cannot_listen(host: str, port: int, error: Exception) -> StoreError:
    """Return the error that an address or a certificate cannot be used."""
    if isinstance(error, ssl.SSLError | FileNotFoundError):
        text, remedy = "the certificate or its key cannot be read ({why})", "give PEM files of both"
        return StoreError("bad-certificate", text, remedy=remedy, why=str(error))
    return StoreError(
        "cannot-listen",
        "nothing can be served at {host}, port {port} ({why})",
        remedy="give another {option}, or stop what has this one",
        host=host,
        port=port,
        why=str(error),
        option=OptionHint("port"),
    )


class Server(uvicorn.Server):
    """uvicorn server that limits connections and logs where it listens.

    Before it waits for running requests, it ends the streams of live changes. `more` are further
    settings of uvicorn.
    """

    def __init__(self, app: Any, where: str, limits: ServerSettings, **more: Any) -> None:
        config = uvicorn.Config(
            app,
            http=protocol(limits),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=75,
            **{"timeout_graceful_shutdown": 30, **more},
        )
        super().__init__(config)
        self.where, self.limits = where, limits

    async def startup(self, sockets: Any = None) -> None:
        """Start the application and listen on the sockets."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            self.should_exit = True
            return
        self.servers: Any = [
            Listener(one, self.limits, self.config.ssl, self._protocol) for one in sockets
        ]
        self.started = True
        host, port = sockets[0].getsockname()[:2]
        people = self.config.app.state.people  # type: ignore[union-attr]
        scheme = "https" if self.config.ssl_certfile else "http"
        host = f"[{host}]" if ":" in host else host
        log(
            "info",
            "serving",
            url=f"{scheme}://{host}:{port}",
            storage=self.where,
            tokens=people.needed,
            connections=self.limits.connections,
        )

    def _protocol(self, accepted: Accepted) -> asyncio.Protocol:
        make: Any = self.config.http_protocol_class
        state, app_state = self.server_state, self.lifespan.state
        made: HttpToolsProtocol = make(config=self.config, server_state=state, app_state=app_state)
        made.accepted = accepted  # type: ignore[attr-defined]
        return made

    async def shutdown(self, sockets: Any = None) -> None:
        """End the streams of live changes, then stop as uvicorn does."""
        log("info", "stopping")
        self.config.app.state.desk.changes.close()  # type: ignore[union-attr]
        await super().shutdown(sockets)
        log("info", "stopped")
