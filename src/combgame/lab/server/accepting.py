"""Connections, as they are accepted: counted before anything is read of them, within limits."""

import asyncio
import ipaddress
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from functools import partial

from .logs import log
from .settings import ServerSettings


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
