"""Connections to PostgreSQL.

Whatever the server's settings are, a transaction sees what others have committed, is on disk when
it has ended, and no client waits for ever, neither for another client nor for a server that has
stopped answering.
"""

import math
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.pool import StaticPool

LOOK = 0.1  # seconds between two checks for an answer of the server
GRACE = 0.5  # seconds beyond the timeout, so that the server may report first what it waited for
MOST = 2**31 - 1  # milliseconds that PostgreSQL can count


def postgres_engine(url: URL, timeout: float) -> Engine:
    """Return an engine with one connection; `timeout` is in seconds."""
    made = create_engine(
        url,
        poolclass=StaticPool,
        isolation_level="READ COMMITTED",
        connect_args={
            **{name: value for name, value in patience(timeout).items() if name not in url.query},
            "options": f"{url.query.get('options', '')} {settings(timeout)}".strip(),
        },
    )

    @event.listens_for(made, "do_connect")
    def connects(dialect: Any, record: Any, words: Any, options: Any) -> Any:
        if dialect.driver != "psycopg":
            return None  # the driver connects in its own way
        return attentive(dialect.dbapi, timeout).connect(*words, **options)

    return made


def settings(timeout: float) -> str:
    """Return the settings of a session on the server.

    A lock timeout of 0 would mean no timeout at all. A statement that a client has given up ends on
    the server too, but much later, because reading a long history must not be cut off.

    >>> settings(0.0005).split(" -c ")[:2]
    ['-c lock_timeout=1', 'statement_timeout=60000']
    """
    wait = max(math.ceil(1000 * timeout), 1)
    chosen = {
        "lock_timeout": wait,
        "statement_timeout": min(max(10 * wait, 60_000), MOST),
        "synchronous_commit": "on",
        "client_min_messages": "warning",
        # a client whose machine is gone keeps its locks until this notices
        "tcp_keepalives_idle": _seconds(timeout),
        "tcp_keepalives_interval": _seconds(timeout / 3, 20),
        "tcp_keepalives_count": 3,
    }
    return " ".join(f"-c {name}={value}" for name, value in chosen.items())


def patience(timeout: float) -> dict[str, int]:
    """Return the driver's limits for waiting for a connection and for a lost connection."""
    return {
        "connect_timeout": max(math.ceil(min(timeout, MOST)), 1),
        "keepalives": 1,
        "keepalives_idle": _seconds(timeout),
        "keepalives_interval": _seconds(timeout / 3, 20),
        "keepalives_count": 3,
        "tcp_user_timeout": min(math.ceil(1000 * (timeout + GRACE)), MOST),
    }


def _seconds(timeout: float, most: int = 60) -> int:
    return min(max(math.ceil(timeout), 1), most)


def attentive(driver: Any, timeout: float) -> Any:
    """Return a subclass of psycopg's connection that gives up a silent server.

    A connection whose server sends nothing for longer than the timeout is closed.
    """
    # the class counts checks instead of reading a clock, so that a paused process does not give up
    most = math.ceil((timeout + GRACE) / LOOK)

    class Attentive(driver.Connection):  # type: ignore[misc]
        def wait(self, gen: Any, interval: float = LOOK, *more: Any, **named: Any) -> Any:
            return super().wait(self._watched(gen), LOOK, *more, **named)

        def _watched(self, gen: Any) -> Any:
            """Forward the generator, which yields what it waits for and is sent what is ready."""
            ready, silent = None, 0
            while True:
                try:
                    wanted = gen.send(ready)
                except StopIteration as end:
                    return end.value
                ready = yield wanted
                silent = 0 if ready else silent + 1
                if silent > most:
                    self.pgconn.finish()
                    raise driver.OperationalError(
                        f"the server has said nothing for {timeout:g} seconds"
                    )

    return Attentive
