"""Read tables in text files: encoding, separator and cells."""

import codecs
import csv
import io
import re
from collections.abc import Callable

from ..errors import InputError, invalid_argument
from .cells import SEPARATORS, RawTable, TableFormat

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
SAYS = re.compile(r'"?sep=(.)"?[ \t,;]*(\r\n|\r|\n)', re.IGNORECASE)
START = 100_000  # characters from which the separator is detected


def read_text(raw: bytes, known: Callable[[str], bool], sep: str | None = None) -> RawTable:
    """Read the cells of a text file. See `combgame.tables.reader.read_file`."""
    text, encoding = decoded(raw)
    said = SAYS.match(text)
    if said is not None:  # a first line such as sep=; is for Excel
        text = text[said.end() :]
    if sep is None:
        sep = said.group(1) if said is not None else detected(text, known)
    rows: list[tuple[int, list[str]]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    try:
        for row in reader:
            if any(cell and not cell.isspace() for cell in row):
                rows.append((reader.line_num + (said is not None), row))
    except csv.Error as error:
        raise unreadable(str(error)) from None
    head = rows.pop(0)[1] if rows else []
    form = TableFormat("text", encoding, sep)
    return RawTable([cell.strip() for cell in head], rows, form, text.endswith(("\n", "\r")))


def check_sep(sep: str | None) -> str | None:
    """Return a separator as one character; the words comma, semicolon and tab are accepted."""
    if sep is None:
        return None
    words = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t"}
    sep = words.get(sep, sep) if isinstance(sep, str) else sep
    if not isinstance(sep, str) or len(sep) != 1 or sep.isalnum() or sep in '"\r\n':
        raise invalid_argument("sep", sep, "one character, such as ';', or comma, semicolon or tab")
    return sep


def decoded(raw: bytes) -> tuple[str, str]:
    """Decode a file and return its text and the name of its encoding.

    >>> decoded("é;1".encode("utf-16")), decoded("é;1".encode("cp1252"))
    (('é;1', 'UTF-16'), ('é;1', 'Windows-1252'))
    """
    for mark, codec, name in MARKS:
        if raw.startswith(mark):
            return _as(raw, codec, name)
    if b"\0" in raw[:START]:
        start = raw[:START]
        ends = [start[k::2].count(0) for k in (0, 1)]
        if min(ends) == 0 and max(ends) > len(start) // 8:
            return _as(raw, "utf-16-be" if ends[0] else "utf-16-le", "UTF-16")
        raise unreadable("it is no text")
    try:
        return raw.decode("utf-8"), "UTF-8"
    except UnicodeDecodeError:
        return _as(raw, "cp1252", "Windows-1252")


def _as(raw: bytes, codec: str, name: str) -> tuple[str, str]:
    try:
        return raw.decode(codec), name
    except UnicodeDecodeError as error:
        raise unreadable(str(error)) from None


def detected(text: str, known: Callable[[str], bool]) -> str:
    """Detect the separator: the one that gives the most known columns, or else the most columns.

    >>> detected("round;arm;value", {"round", "arm", "value"}.__contains__)
    ';'
    """
    start = text[:START].lstrip("\r\n")

    def score(sep: str) -> tuple[int, int]:
        try:
            head = next(csv.reader(io.StringIO(start, newline=""), delimiter=sep), [])
        except csv.Error:
            head = []
        return sum(known(cell.strip()) for cell in head), len(head)

    return max(SEPARATORS, key=score)


def unreadable(why: str) -> InputError:
    """Return the error for a file that is not a table."""
    return InputError(
        "sheet-unreadable",
        "it cannot be read ({why})",
        remedy="give a table of text (.csv, .tsv, .txt) or of Excel (.xlsx)",
        why=why,
    )
