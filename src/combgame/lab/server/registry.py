"""Database of a service: all studies, the tokens, and the log-ins.

A token consists of 32 random bytes, so only its plain SHA-256 hash is stored. Slow hashes protect
passwords, which can be guessed; 256 random bits cannot. Hashes are compared in constant time.
"""

import hashlib
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, inspect, select, text
from sqlalchemy.exc import IntegrityError

from ...errors import StoreError, StudyError, UnknownNameError, check_text, unknown_name
from ...storage.database import NAMES, SqlStorage, is_there
from ...storage.schema import beside, events, logins, studies, tokens

LAST = select(
    studies.c.name,
    select(func.max(events.c.seq)).where(events.c.study == studies.c.id).scalar_subquery(),
)


GONE = ("file-gone", "journal-gone")


class Token(NamedTuple):
    """A token as it is stored: its hash instead of its secret."""

    id: int
    name: str
    role: str
    hash: str
    made: float


class StudyRegistry(SqlStorage):
    """All studies of a database, with the tables of the service.

    Threads take turns. If `make` is True, a missing database file is created. Where the tables of
    the service are missing and cannot be created, there are no tokens and no log-ins.
    """

    def __init__(self, url: str, timeout: float = 30.0, make: bool = True) -> None:
        self._one = threading.Lock()
        self._left = False  # True once the file was replaced
        self._bare = True  # False once the tables of the service are known to exist
        super().__init__(url, "", timeout)
        try:
            if self._engine is None and make:
                self._prepare()
            self._try_to_furnish()
        except BaseException:
            self.close()
            raise

    def furnish(self) -> None:
        """Create the tables of the service if they are missing."""
        if not self._bare:
            return
        with self._write(write=False) as connection:
            known = inspect(connection).get_table_names()
        if not set(beside.tables) <= set(known):
            with self._write(write=True) as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(text("SELECT pg_advisory_xact_lock(1129336166)"))
                beside.create_all(connection)
        self._bare = False

    def _try_to_furnish(self) -> None:
        """Create the tables of the service if the storage is writable."""
        try:
            self.furnish()
        except StoreError as error:
            if error.code != "read-only":
                raise

    def renew(self) -> None:
        """Connect to the file that has the path now.

        The file may be a copy that was made before the service had tables in it.
        """
        with self._one:
            self._drop()
            self._left, self._bare = False, True
        if is_there(self._place):
            self._prepare()
            self._try_to_furnish()

    @contextmanager
    def _write(self, write: bool) -> Iterator[Connection]:
        if self._left:
            self.renew()
        try:
            with self._one, self.connection(write) as connection:
                yield connection
        except StoreError as error:
            self._left |= error.code in GONE
            raise

    def names(self) -> list[str]:
        """Return the names of all studies."""
        with self._write(write=False) as connection:
            return list(connection.execute(NAMES).scalars())

    def last(self, names: Sequence[str]) -> dict[str, int]:
        """Return the number of the last event of each of these studies that exists."""
        with self._write(write=False) as connection:
            rows = connection.execute(LAST.where(studies.c.name.in_(names))).all()
        return {name: int(seq or 0) for name, seq in rows}

    # ---- tokens

    def tokens(self) -> list[Token]:
        """Return all tokens."""
        self._try_to_furnish()
        if self._bare:
            return []
        with self._write(write=False) as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.id)).all()
        return [Token(*row) for row in rows]

    def add_token(self, name: str, role: str, hashed: str, made: float) -> None:
        """Store a token."""
        row = {"name": name, "role": role, "hash": hashed, "made": made}
        self.furnish()
        try:
            with self._write(write=True) as connection:
                connection.execute(insert(tokens).values(row))
        except StoreError as error:
            if not isinstance(error.__context__, IntegrityError):
                raise
            what = "there is a token of the name {name!r} already"
            remedy = "revoke it first, or give another name"
            raise StudyError("token-there", what, remedy=remedy, name=name) from None

    def remove_token(self, name: str) -> None:
        """Remove a token and its log-ins."""
        self.furnish()
        with self._write(write=True) as connection:
            which = connection.execute(select(tokens.c.id).where(tokens.c.name == name)).scalar()
            connection.execute(delete(logins).where(logins.c.token == which))
            connection.execute(delete(tokens).where(tokens.c.id == which))
            known = list(connection.execute(select(tokens.c.name).order_by(tokens.c.id)).scalars())
        if which is None:
            what, remedy = "there is no token of the name {name!r}", "there are {known:quoted}"
            about: dict[str, Any] = {"name": name, "known": known}
            remedy = remedy if known else "there are none"
            raise UnknownNameError("no-token-named", what, remedy=remedy, **about)

    # ---- log-ins

    def add_login(self, hashed: str, token: int, until: float, now: float) -> None:
        """Store a log-in, and remove those that have expired."""
        self.furnish()
        with self._write(write=True) as connection:
            connection.execute(delete(logins).where(logins.c.until < now))
            row = {"hash": hashed, "token": token, "until": until}
            connection.execute(insert(logins).values(row))

    def login(self, hashed: str, now: float) -> int | None:
        """Return the number of the token of a log-in; None if it is unknown or expired."""
        if self._bare:
            return None
        query = select(logins.c.token).where(logins.c.hash == hashed, logins.c.until > now)
        with self._write(write=False) as connection:
            found: int | None = connection.execute(query).scalar()
        return found

    def remove_login(self, hashed: str) -> None:
        """Remove a log-in."""
        if self._bare:
            return
        with self._write(write=True) as connection:
            connection.execute(delete(logins).where(logins.c.hash == hashed))


ROLES = ("read", "measure", "admin")  # each has the rights of the roles before it, and more


def hashed(secret: str) -> str:
    """Return the SHA-256 hash of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def make_token(shelf: StudyRegistry, name: str, role: str) -> str:
    """Store a new token and return its secret, which cannot be shown again."""
    name = check_text("name", name, "a text that says whose token it is")
    if role not in ROLES:
        raise unknown_name("role", role, ROLES)
    token = f"cg_{secrets.token_urlsafe(32)}"
    shelf.add_token(name, role, hashed(token), time.time())
    return token
