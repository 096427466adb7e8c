"""From a URL to where a study is kept."""

from .memory import Memory


def open_storage(url: str | None, name: str, timeout: float) -> Memory:
    return Memory()
