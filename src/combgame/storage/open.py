"""From a URL to where a study is kept."""

from typing import Any

from .._display.files import PRIVATE, check_mode
from ..errors import InputError, invalid_argument, is_real
from .base import InMemoryStorage, Storage


def open_storage(url: Any, name: str, timeout: float, mode: int = PRIVATE) -> Storage:
    """None: in memory. A database is only loaded if one is named. mode: what a new file allows."""
    mode = check_mode(mode)
    if not is_real(timeout) or not 0.0 < timeout < 1e6:
        raise invalid_argument("timeout", timeout, "a positive number of seconds")
    if url is None:
        return InMemoryStorage(timeout)
    if not isinstance(url, str):
        kind = type(url).__name__  # and not what it is: it may hold a password
        text = "storage, of the type {kind}, must be a URL such as 'sqlite:///lab.db'"
        remedy = "give None for a study in memory"
        raise InputError("not-a-url", text, remedy=remedy, kind=kind)
    from .database import SqlStorage

    return SqlStorage(url, name, timeout, mode)
