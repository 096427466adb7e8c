"""From a URL to where a study is kept."""

from typing import Any

from ..errors import InputError
from .memory import Memory, Storage


def open_storage(url: Any, name: str, timeout: float) -> Storage:
    """None: in memory. A database is only loaded if one is named."""
    if url is None:
        return Memory()
    if not isinstance(url, str):
        kind = type(url).__name__  # and not what it is: it may hold a password
        raise InputError(
            f"storage, of the type {kind}, must be a URL such as 'sqlite:///lab.db', or None for "
            "a study in memory."
        )
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0.0 < timeout < 1e6:
        raise InputError(f"timeout = {timeout!r} must be a positive number of seconds.")
    from .sql import Database

    return Database(url, name, timeout)
