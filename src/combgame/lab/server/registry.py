"""A database as a service sees it: all its studies side by side, and what the service keeps beside
them: who may do what, and who has logged in.

Tokens: secrets that say who somebody is.

A token is 32 random bytes, so a plain SHA-256 of it is all that is kept: a slow hash protects
passwords, which can be guessed, and nobody guesses 256 bits. Hashes are compared in constant time.
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
    """What is kept of a token: never itself, but its hash."""

    id: int
    name: str
    role: str
    hash: str
    made: float


class StudyRegistry(SqlStorage):
    """All studies of a database. Its threads take turns. make: a file that is not there.

    Where its own tables are missing and cannot be made, nobody has a token, and nobody has logged
    in.
    """

    def __init__(self, url: str, timeout: float = 30.0, make: bool = True) -> None:
        self._one = threading.Lock()
        self._left = False  # its file was replaced since
        self._bare = True  # its own tables are not known to be there
        super().__init__(url, "", timeout)
        try:
            if self._engine is None and make:
                self._prepare()
            self._try_to_furnish()
        except BaseException:
            self.close()
            raise

    def furnish(self) -> None:
        """Make its own tables, if they are not there."""
        if not self._bare:
            return
        with self._taking(write=False) as connection:
            known = inspect(connection).get_table_names()
        if not set(beside.tables) <= set(known):
            with self._taking(write=True) as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(text("SELECT pg_advisory_xact_lock(1129336166)"))
                beside.create_all(connection)
        self._bare = False

    def _try_to_furnish(self) -> None:
        """As far as the storage can be written."""
        try:
            self.furnish()
        except StoreError as error:
            if error.code != "read-only":
                raise

    def renew(self) -> None:
        """Go on with the file that is there now: it may be a copy from before there was a
        service.
        """
        with self._one:
            self._drop()
            self._left, self._bare = False, True
        if is_there(self._place):
            self._prepare()
            self._try_to_furnish()

    @contextmanager
    def _taking(self, write: bool) -> Iterator[Connection]:
        if self._left:
            self.renew()
        try:
            with self._one, self.connection(write) as connection:
                yield connection
        except StoreError as error:
            self._left |= error.code in GONE
            raise

    def names(self) -> list[str]:
        with self._taking(write=False) as connection:
            return list(connection.execute(NAMES).scalars())

    def last(self, names: Sequence[str]) -> dict[str, int]:
        """The number of the last event of each of these studies that is there."""
        with self._taking(write=False) as connection:
            rows = connection.execute(LAST.where(studies.c.name.in_(names))).all()
        return {name: int(seq or 0) for name, seq in rows}

    # ---- who may do what

    def tokens(self) -> list[Token]:
        self._try_to_furnish()
        if self._bare:
            return []
        with self._taking(write=False) as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.id)).all()
        return [Token(*row) for row in rows]

    def add_token(self, name: str, role: str, hashed: str, made: float) -> None:
        row = {"name": name, "role": role, "hash": hashed, "made": made}
        self.furnish()
        try:
            with self._taking(write=True) as connection:
                connection.execute(insert(tokens).values(row))
        except StoreError as error:
            if not isinstance(error.__context__, IntegrityError):
                raise
            what = "there is a token of the name {name!r} already"
            remedy = "revoke it first, or give another name"
            raise StudyError("token-there", what, remedy=remedy, name=name) from None

    def remove_token(self, name: str) -> None:
        self.furnish()
        with self._taking(write=True) as connection:
            which = connection.execute(select(tokens.c.id).where(tokens.c.name == name)).scalar()
            connection.execute(delete(logins).where(logins.c.token == which))
            connection.execute(delete(tokens).where(tokens.c.id == which))
            known = list(connection.execute(select(tokens.c.name).order_by(tokens.c.id)).scalars())
        if which is None:
            what, remedy = "there is no token of the name {name!r}", "there are {known:quoted}"
            about: dict[str, Any] = {"name": name, "known": known}
            remedy = remedy if known else "there are none"
            raise UnknownNameError("no-token-named", what, remedy=remedy, **about)

    # ---- who has logged in

    def add_login(self, hashed: str, token: int, until: float, now: float) -> None:
        self.furnish()
        with self._taking(write=True) as connection:
            connection.execute(delete(logins).where(logins.c.until < now))
            row = {"hash": hashed, "token": token, "until": until}
            connection.execute(insert(logins).values(row))

    def login(self, hashed: str, now: float) -> int | None:
        """The token of somebody who has logged in."""
        if self._bare:
            return None
        query = select(logins.c.token).where(logins.c.hash == hashed, logins.c.until > now)
        with self._taking(write=False) as connection:
            found: int | None = connection.execute(query).scalar()
        return found

    def remove_login(self, hashed: str) -> None:
        if self._bare:
            return
        with self._taking(write=True) as connection:
            connection.execute(delete(logins).where(logins.c.hash == hashed))


ROLES = ("read", "measure", "admin")  # each may do what the one before may, and more


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def make_token(shelf: StudyRegistry, name: str, role: str) -> str:
    """A new token, which is shown once and never again."""
    name = check_text("name", name, "a text that says whose token it is")
    if role not in ROLES:
        raise unknown_name("role", role, ROLES)
    token = f"cg_{secrets.token_urlsafe(32)}"
    shelf.add_token(name, role, hashed(token), time.time())
    return token
