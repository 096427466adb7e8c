"""Parse the URL of a storage, and show as much of it as is not secret.

A URL may hold a password, and so may a malformed URL: no message shows one as it was given.
"""

import re
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from ..errors import InputError

HARMLESS = (
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "sslmode",
    "connect_timeout",
    "application_name",
)  # options of a URL

ESCAPED = "in a password, @ is written %40, : %3A and / %2F"


def parse(url: str) -> URL:
    """Parse a URL of SQLite or PostgreSQL."""
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        parsed, backend = None, ""
    if (
        parsed is None
        or backend not in ("sqlite", "postgresql")
        or (backend == "sqlite" and not parsed.database)
    ):
        raise not_a_url(url)
    if backend == "sqlite" and "?" in url:  # the rest would be dropped, be it name or option
        text = "storage has something after a ?, but a file has no options"
        remedy = "leave that out, or, where it belongs to the name of the file, write the ? as %3F"
        raise InputError("url-question", text, remedy=remedy)
    if backend == "sqlite" and not parsed.host:  # only SQLAlchemy 2.1 unquotes it
        parsed = parsed.set(database=unquote(url.partition(":///")[2]))
    # the rest of a password would be taken for a host
    if "@" in f"{parsed.host}{parsed.database}" and backend == "postgresql":
        raise InputError("url-ambiguous", "storage has more than one @", remedy=ESCAPED)
    return parsed


def url_of(path: str) -> str:
    """Return the URL of a file.

    >>> url_of("50%?.db"), file_of(parse(url_of("50%?.db")))
    ('sqlite:///50%25%3F.db', '50%?.db')
    """
    return "sqlite:///" + path.replace("%", "%25").replace("?", "%3F")


def not_a_url(url: str) -> InputError:
    """Return an error that shows the part of the text that cannot be secret.

    That part is all of the text, its scheme, or nothing.

    >>> for url in ("lab.db", "postgres://u:secret@host/lab", "u:secret@host"):
    ...     print(not_a_url(url).arguments)
    {'url': 'lab.db', 'scheme': None}
    {'url': None, 'scheme': 'postgres'}
    {'url': None, 'scheme': None}
    """
    begins = re.match(r"([\w+.-]*)://", url)
    harmless = re.fullmatch(r"[\w./\\ -]*", url)
    text = "storage"
    if begins:
        text += ", which begins with {scheme}://,"
    elif harmless:
        text += " = {url!r}"
    text += " must be a URL such as sqlite:///lab.db or postgresql+psycopg://user@host/database"
    return InputError(
        "bad-url",
        text,
        remedy=ESCAPED,
        url=url if harmless else None,
        scheme=begins[1] if begins else None,
    )


def file_of(url: URL) -> str | None:
    """Return the SQLite file; None for servers, and for databases in memory."""
    path = str(url.database)
    return None if url.get_backend_name() != "sqlite" or path.startswith(":") else path


def absolute(url: URL) -> URL:
    """Make a file's path absolute, so that the process may change its working directory."""
    path = file_of(url)
    return url if path is None else url.set(database=str(Path(path).absolute()))


def shown(url: URL) -> str:
    """Render a URL without its password and its options, which may contain the password too."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return URL.create(
        url.drivername, url.username, host=url.host, port=url.port, database=url.database
    ).render_as_string()


def quotes_secret(url: URL, error: DBAPIError) -> bool:
    """Return True if a driver's error quotes text that may be a password."""
    options = [
        one
        for key, value in url.query.items()
        if key not in HARMLESS
        for one in ([value] if isinstance(value, str) else value)
    ]
    return any(one and one in str(error) for one in (str(url.password or ""), *options))
