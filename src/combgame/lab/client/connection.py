"""HTTP requests to a service; a request is repeated until it is answered, and takes effect once."""

import json
import os
import random
import secrets
import ssl
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ..._version import __version__
from ...errors import NAME, CombGameError, InputError, StoreError, invalid_argument, is_real
from ._wire import error_from_response

AGAIN = (429, 502, 503, 504)  # status codes after which the request is repeated
USUAL = 'a URL of a service, such as "http://127.0.0.1:8000"'


class HttpConnection:
    """Connection to a service.

    The threads of a process share a client name, and each has an HTTP connection of its own; a
    process that is forked gets its own name and connections. Proxies and certificates are those of
    the environment (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE).

    Parameters
    ----------
    url : str
        URL of the service.
    token : str, optional
        Secret of a token.
    timeout : float
        Seconds to wait for a response.
    patience : float
        Seconds during which a request without a response is repeated.
    """

    def __init__(self, url: Any, token: str | None, timeout: float, patience: float) -> None:
        try:
            parts = urlsplit(url if isinstance(url, str) else "")
            parts.port  # noqa: B018  (raises a ValueError if it is no number)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise InputError("bad-service", "url must be " + USUAL)  # the URL may hold a secret
        if "@" in parts.netloc:
            text, remedy = (
                "url has a user or a password",
                "give a token instead, and not in the URL",
            )
            raise InputError("secret-in-url", text, remedy=remedy)
        if token is not None and not (isinstance(token, str) and token.isascii() and token.strip()):
            text, remedy = "token must be a text", "`combgame token make` makes one"
            raise InputError("bad-token-text", text, remedy=remedy)
        for name, seconds in (("timeout", timeout), ("patience", patience)):
            if not is_real(seconds) or not 0.0 <= seconds < 1e6:
                raise invalid_argument(name, seconds, "a number of seconds")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.timeout, self.patience = max(timeout, 0.001), patience
        self._token, self._mine = token, threading.local()
        self._tags = {os.getpid(): secrets.token_hex(5)}
        self._person: str | None = None  # name of the token, once the service was asked

    @property
    def name(self) -> str:
        """Default name of the client: the name of the token and random digits.

        The digits are there so that workers that share a token do not get the same round.
        """
        if self._person is None:
            self._person = str(self.get("me")["name"])
        tag = self._tags.setdefault(os.getpid(), secrets.token_hex(5))
        return f"{self._person[: NAME - len(tag) - 1]} {tag}"

    def _own(self) -> Any:
        """Return the data of this thread, which a forked process does not share with its parent."""
        mine, process = self._mine, os.getpid()
        if getattr(mine, "process", None) != process:
            mine.process, mine.http = process, None
        return mine

    def get(self, *path: str, **query: Any) -> Any:
        """Send a GET request and return the data of the response."""
        given = {key: value for key, value in query.items() if value is not None}
        tail = f"?{urlencode(given)}" if given else ""
        return self._answered("GET", self._path(path) + tail, None, {})

    def post(self, *path: str, body: Mapping[str, Any]) -> Any:
        """Send a POST request, which can be repeated, and return the data of the response."""
        data = json.dumps(body, allow_nan=False).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        return self._answered("POST", self._path(path), data, headers)

    def close(self) -> None:
        """Close the HTTP connection of this thread."""
        mine = self._own()
        known, mine.http = mine.http, None
        if known is not None:
            known.close()

    def _path(self, pieces: tuple[str, ...]) -> str:
        return "/".join([self.url, "api", "v1", *(quote(one, safe="") for one in pieces)])

    def _answered(self, method: str, url: str, body: bytes | None, more: dict[str, str]) -> Any:
        import httpx

        headers = {"Accept": "application/json", "User-Agent": f"combgame/{__version__}", **more}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token.strip()}"
        end, wait = time.monotonic() + self.patience, 0.1
        while True:
            error: CombGameError
            try:
                status, said = self._once(method, url, body, headers)
            except (OSError, httpx.RequestError, httpx.InvalidURL) as lost:
                self.close()
                if "CERTIFICATE_VERIFY_FAILED" in str(lost):
                    raise self._distrusted(lost) from lost
                error = self._unreachable(lost)
            else:
                if status < 300:
                    return self._read(said)
                error = self._refusal(status, said)
                if status not in AGAIN or error.code == "too-many-tries":
                    raise error
            if time.monotonic() + wait > end:
                raise error
            time.sleep(wait * random.uniform(0.5, 1.0))  # so that clients do not come all at once
            wait = min(2.0 * wait, 5.0)

    def _once(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        import httpx

        mine = self._own()
        if mine.http is None:  # trust the certificates that the machine trusts
            mine.http = httpx.Client(verify=ssl.create_default_context(), timeout=self.timeout)
        answer: httpx.Response = mine.http.request(method, url, content=body, headers=headers)
        return answer.status_code, answer.content

    def _read(self, said: bytes) -> Any:
        try:
            return json.loads(said)
        except ValueError:
            raise self._no_service() from None

    def _refusal(self, status: int, said: bytes) -> CombGameError:
        """Return the error that the service, or a proxy between, has answered with."""
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            return error_from_response(json.loads(said)["error"])
        if status in AGAIN:
            return self._unreachable(f"it answers with {status}")
        return self._no_service()

    def _unreachable(self, why: object) -> StoreError:
        text = "{url}: the service cannot be reached ({why})"
        remedy = "try again: nothing is done twice"
        known = " ".join(str(why).split()) or type(why).__name__
        return StoreError("service-unreachable", text, remedy=remedy, url=self.url, why=known)

    def _distrusted(self, why: Exception) -> StoreError:
        text = "{url}: its certificate is not one that this machine trusts ({why})"
        remedy = "name its file in the environment variable SSL_CERT_FILE, if it is the lab's own"
        return StoreError("distrusted", text, remedy=remedy, url=self.url, why=str(why))

    def _no_service(self) -> StoreError:
        text, remedy = "{url} does not answer as a service of combgame does", "check the URL"
        return StoreError("no-service", text, remedy=remedy, url=self.url)
