"""Files of tables: text or Excel, by what is in them rather than by their names."""

from collections.abc import Callable
from pathlib import Path

from ..errors import InputError
from .excel import read_excel
from .grid import Grid
from .text import check_sep, read_text, unreadable

LARGEST = 500_000_000  # bytes
PACKED, OLD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def read_file(path: Path, known: Callable[[str], bool], sep: str | None = None) -> Grid:
    """The cells of a file. known: whether a word of the first line is a column's name."""
    sep = check_sep(sep)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise unreadable(error.strerror or str(error)) from None
    return read_bytes(raw, known, sep)


def read_bytes(
    raw: bytes, known: Callable[[str], bool], sep: str | None = None, most: int = LARGEST
) -> Grid:
    """The cells of what a file has in it. most: bytes of a workbook, unpacked."""
    if raw.startswith(OLD):
        raise InputError(
            "old-workbook",
            "it is a workbook of an old kind (.xls), or one with a password",
            remedy="save it as .xlsx or .csv, without a password",
        )
    return read_excel(raw, most) if raw.startswith(PACKED) else read_text(raw, known, sep)
