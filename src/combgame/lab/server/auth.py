"""Authentication and authorisation: tokens, log-ins, roles."""

import functools
import hmac
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.requests import Request

from ...errors import StoreError
from .errors import bad_token, form_expired, no_token, role_missing, too_many_tries
from .registry import ROLES, Token, hashed
from .workers import StudyPool

COOKIE = "combgame"
SAFE = ("GET", "HEAD", "OPTIONS")
FRESH, STALE = 2.0, 60.0  # seconds that tokens are cached, and while the database is away


class User(NamedTuple):
    """The sender of a request.

    Attributes
    ----------
    name : str
        Name of the token, or "local" where no tokens are needed.
    role : str
        One of `ROLES`.
    session : str
        Content of the browser's cookie; empty without one.
    token : int, optional
        Number of the token.
    """

    name: str
    role: str
    session: str = ""
    token: int | None = None

    def may(self, role: str) -> bool:
        """Return True if the user has the rights of a role."""
        return ROLES.index(self.role) >= ROLES.index(role)

    @property
    def form_token(self) -> str:
        """Token that every form of this log-in must carry in its field `csrf`."""
        return hashed(f"form {self.session}")


class Authenticator:
    """Authenticate requests. If no token is `needed`, every sender is the administrator `local`."""

    def __init__(self, desk: StudyPool, needed: bool) -> None:
        self.desk, self.needed = desk, needed
        self._tokens: list[Token] = []
        self._read = -STALE
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()

    async def tokens(self) -> list[Token]:
        """Return all tokens, at most 2 s old, or 60 s while the database is away."""
        now = time.monotonic()
        if now - self._read > FRESH:
            try:
                self._tokens, self._read = await self.desk.run_in_pool(self.desk.shelf.tokens), now
            except StoreError:
                if now - self._read > STALE:
                    raise
        return self._tokens

    async def by_token(self, secret: str) -> Token | None:
        """Return the token with this secret, or None."""
        given, found = hashed(secret), None
        for token in await self.tokens():
            if hmac.compare_digest(token.hash, given):
                found = token
        return found

    async def who(self, request: Request) -> User | None:
        """Return the sender of a request, or None if it shows neither a token nor a log-in.

        Raises an error for a wrong token. The result is stored with the request.
        """
        if not hasattr(request.state, "who"):
            request.state.who = await self._who(request)
        known: User | None = request.state.who
        return known

    async def _who(self, request: Request) -> User | None:
        session = request.cookies.get(COOKIE, "")
        if not self.needed:
            return User("local", "admin", session)
        header = request.headers.get("authorization", "")
        if header:
            scheme, _, secret = header.partition(" ")
            token = await self.by_token(secret.strip()) if scheme.lower() == "bearer" else None
            if token is None:
                raise self.failed(request)
            return User(token.name, token.role, token=token.id)
        if session:
            number = await self._logged_in(session)
            for token in await self.tokens():
                if token.id == number:
                    return User(token.name, token.role, session, number)
        return None

    async def knows(self, person: User) -> bool:
        """Return True if a user's token and log-in are still valid.

        The result is False while the database is away.
        """
        if not self.needed:
            return True
        try:
            if person.session and await self._logged_in(person.session) != person.token:
                return False
            return any(token.id == person.token for token in await self.tokens())
        except StoreError:
            return False

    async def _logged_in(self, session: str) -> int | None:
        """Return the number of the token of a log-in."""
        return await self.desk.run_in_pool(self.desk.shelf.login, hashed(session), time.time())

    async def log_in(self, request: Request, secret: str) -> str:
        """Log in with a token, and return the content of the new cookie."""
        token = await self.by_token(secret.strip())
        if token is None:
            raise self.failed(request)
        session, now = secrets.token_urlsafe(32), time.time()
        until = now + self.desk.limits.login
        shelf = self.desk.shelf
        await self.desk.run_in_pool(shelf.add_login, hashed(session), token.id, until, now)
        return session

    async def log_out(self, session: str) -> None:
        """End a log-in."""
        await self.desk.run_in_pool(self.desk.shelf.remove_login, hashed(session))

    def failed(self, request: Request) -> Exception:
        """Count a failed log-in of the sender's address, and return the error to raise.

        Valid tokens are always accepted, no matter how many attempts have failed.
        """
        where, now = request.client.host if request.client else "", time.monotonic()
        tries = self._tries.setdefault(where, deque(maxlen=self.desk.limits.login_attempts))
        self._tries.move_to_end(where)
        while len(self._tries) > 10_000:
            self._tries.popitem(last=False)
        if len(tries) == tries.maxlen and now - tries[0] < 60.0:
            return too_many_tries(int(61.0 - (now - tries[0])))
        tries.append(now)
        return bad_token()


def people_of(request: Request) -> Authenticator:
    """Return the authenticator of the application."""
    people: Authenticator = request.app.state.people
    return people


@functools.cache
def allowed(role: str) -> Callable[[Request], Awaitable[User]]:
    """Return a dependency that gives the sender of a request, if the role suffices.

    A browser that is logged in may change data only with the token of its form (the field `csrf`,
    or the header X-CSRF-Token).
    """

    async def check(request: Request) -> User:
        person = await people_of(request).who(request)
        if person is None:
            raise no_token()
        if not person.may(role):
            raise role_missing(person.role, role)
        browser = "authorization" not in request.headers
        kind = request.headers.get("content-type", "")
        # a page of another site cannot send JSON, because CORS does not allow it
        local = not people_of(request).needed and kind.startswith("application/json")
        if browser and not local and request.method not in SAFE:
            await check_form(request, person)
        if not person.session and browser:  # first request to a service without tokens
            person = person._replace(session=secrets.token_urlsafe(32))
            request.state.cookie = person.session
        request.state.person = person
        return person

    return check


def cookie(session: str, secure: bool, seconds: float) -> str:
    """Return the Set-Cookie header that stores a log-in, or removes it (`seconds` is 0)."""
    secured = "; Secure" if secure else ""
    return f"{COOKIE}={session}; Path=/; Max-Age={int(seconds)}; HttpOnly; SameSite=Strict{secured}"


async def check_form(request: Request, person: User) -> None:
    """Raise an error unless the form was shown to this log-in."""
    given = request.headers.get("x-csrf-token", "")
    kind = request.headers.get("content-type", "")
    if not given and kind.startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        given = str((await request.form()).get("csrf", ""))
    fits = hmac.compare_digest(given.encode(), person.form_token.encode())
    if not person.session or not fits:
        raise form_expired()
