"""Checksums of what is stored, so that damage and changes are noticed."""

import hashlib


def checksum(*parts: str | bytes, digits: int = 64) -> str:
    """Hex digits of all parts in their order.

    >>> checksum("a", "b") == checksum("ab") != checksum("ba")
    True
    >>> checksum("", digits=16)
    'e3b0c44298fc1c14'
    """
    made = hashlib.sha256()
    for part in parts:
        made.update(part.encode() if isinstance(part, str) else part)
    return made.hexdigest()[:digits]
