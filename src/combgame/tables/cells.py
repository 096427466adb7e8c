"""Cells of a table: numbers, missing values, and cells that cannot be used.

A comma may be a decimal comma or separate thousands; so may a point. The meaning is decided once
for all numbers of a table, by those that can be read in one way only; if there are none, an error
asks for it. Data frames of pandas and polars are read without importing either library.
"""

import re
from collections.abc import Iterable
from datetime import date, time, timedelta
from typing import Any, NamedTuple

from .._messages import Message, OptionHint
from ..errors import InputError, invalid_argument

WORDS = "- -- \u2013 \u2014 . ? n.d. n.d nd n.a. n.a na n/a #n/a #nv nan null none missing <na> nat"
MISSING = frozenset(["", *WORDS.split()])
INFINITE = frozenset(["inf", "-inf", "+inf", "infinity", "-infinity", "+infinity"])
BROKEN = frozenset(["#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!", "#wert!", "#zahl!"])
BETWEEN = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'\u2019](?=\d{3}(?!\d))")  # separates thousands
EXPONENT = r"(?:[eE][+-]?\d+)?"
PLAIN = re.compile(rf"[+-]?\d+{EXPONENT}")


def _forms(decimal: str, thousands: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    d, g = re.escape(decimal), re.escape(thousands)
    simple = re.compile(rf"[+-]?(?:\d+{d}\d*|{d}\d+){EXPONENT}")
    return simple, re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:{g}\d{{3}})+(?:{d}\d*)?{EXPONENT}")


FORMS = {".": _forms(".", ","), ",": _forms(",", ".")}
OTHER = {".": ",", ",": "."}


class NumberFormat(NamedTuple):
    """The way in which numbers are written."""

    decimal: str = "."
    grouped: bool = False  # the other mark separates thousands


def missing(cell: Any) -> bool:
    """Return True if a cell marks a missing value."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    nothing = cell is None or type(cell).__name__ in ("NAType", "NaTType")
    return nothing or (isinstance(cell, float) and cell != cell)


def tidy(cell: str) -> str:
    """Remove the blanks that separate thousands, and write an ASCII minus."""
    if cell.isascii() and cell.isprintable() and " " not in cell and "'" not in cell:
        return cell
    return BETWEEN.sub("", cell.strip().replace("\u2212", "-"))


def find_marks(cells: Iterable[Any], decimal: str | None = None) -> NumberFormat:
    """Detect the number format of a table; `decimal` is the decimal mark if the user gave it.

    >>> find_marks(["0,5", "12"]), find_marks(["1,234.5", "1,234"])
    (NumberFormat(decimal=',', grouped=False), NumberFormat(decimal='.', grouped=True))
    """
    if decimal is not None:
        if decimal not in FORMS:
            raise invalid_argument("decimal", decimal, "'.' or ','")
        return NumberFormat(decimal, grouped=True)
    sure: dict[str, str] = {}  # a number that can be read with this decimal mark only
    grouped: dict[str, str] = {}  # such a number that also has separators of thousands
    unsure: dict[str, str] = {}  # a number that can be read in both ways, by its mark
    for given in cells:
        if not isinstance(given, str):
            continue
        comma = "," in given
        if not comma and "." not in given:
            continue
        cell = tidy(given)
        mark = "," if comma else "."
        if len(sure) == 1 and mark in sure and cell.count(mark) == 1 and OTHER[mark] not in cell:
            continue  # this cell is consistent with what is known, as most are
        fits = [
            mark for mark in FORMS if any(form.fullmatch(cell) is not None for form in FORMS[mark])
        ]
        if len(fits) == 2:
            unsure.setdefault(mark, given)
        elif fits:
            sure.setdefault(fits[0], given)
            if FORMS[fits[0]][1].fullmatch(cell) is not None:
                grouped.setdefault(fits[0], given)
    if len(sure) == 2:
        raise InputError(
            "mixed-decimals",
            "{point!r} has a decimal point, and {comma!r} a decimal comma",
            remedy="write all numbers alike",
            point=sure["."],
            comma=sure[","],
        )
    sign = next(iter(sure), None)
    doubtful = unsure.get("," if sign is None else OTHER[sign])
    if doubtful is not None and (sign is None or sign not in grouped):
        raise InputError(
            "ambiguous-number",
            "{cell!r} may be {decimal} or {thousands}, and nothing else in the table says which",
            remedy="say it with {comma} or {point}",
            cell=doubtful,
            decimal=tidy(doubtful).replace(",", "."),
            thousands=tidy(doubtful).replace(",", "").replace(".", ""),
            comma=OptionHint("decimal", ","),
            point=OptionHint("decimal", "."),
        )
    return NumberFormat(sign or ".", sign in grouped)


def number(what: str, cell: Any, marks: NumberFormat) -> float:
    """Read the number in a cell that is not missing; `what` names the cell in errors."""
    if isinstance(cell, str):
        text = tidy(cell)
        simple, thousands = FORMS[marks.decimal]
        if PLAIN.fullmatch(text) or text.lower() in INFINITE:
            return float(text)
        if simple.fullmatch(text):
            return float(text.replace(",", "."))
        if marks.grouped and thousands.fullmatch(text):
            return float(text.replace(OTHER[marks.decimal], "").replace(",", "."))
        raise _refused(what, cell, text)
    if isinstance(cell, date | time | timedelta) or hasattr(cell, "to_pydatetime"):
        raise InputError(
            "date-in-cell",
            "{what} is a date or a time ({cell}), where a number is needed: Excel makes dates of "
            "numbers such as 1.2 or 3/4",
            remedy="format the column as numbers, and type the value again",
            what=what,
            cell=str(cell),
        )
    if isinstance(cell, bool) or type(cell).__name__ == "bool_":
        raise invalid_argument(what, cell, "a number, or blank for missing", "write 1 or 0")
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise invalid_argument(what, cell, "a number, or blank for missing") from None


def _refused(what: str, cell: str, text: str) -> InputError:
    if text[:1] in "<>≤≥~":
        return InputError(
            "censored-value",
            "{what} is {cell!r}, which says on which side of a limit it lies, not what it is",
            remedy="give the number that the instrument read, also below its limit: without such "
            "values, or with the limit in their place, the rest would be a selection",
            what=what,
            cell=cell,
        )
    if text.lower() in BROKEN:
        return InputError(
            "broken-formula",
            "{what} is {cell!r}, a formula that went wrong",
            remedy="mend it, or leave the cell blank if the value is missing",
            what=what,
            cell=cell,
        )
    return invalid_argument(what, cell, "a number, or blank for missing")


def whole_number(what: str, cell: Any, marks: NumberFormat) -> int:
    """Read a whole number: 3, 3.0 and, with decimal commas, 3,0."""
    try:
        value = number(what, cell, marks)
        if value.is_integer():
            return int(value)
    except InputError as error:
        if error.code == "date-in-cell":
            raise
    raise invalid_argument(what, cell, "a whole number")


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
DECIMALS = {".": "decimal points", ",": "decimal commas"}


class TableFormat(NamedTuple):
    """The format of a table, as it was detected or as the user gave it.

    Attributes
    ----------
    kind : {"text", "excel", "frame"}
        Where the table comes from.
    encoding : str, optional
        Encoding of a text file.
    sep : str, optional
        Separator of the cells of a text file.
    page : str, optional
        The page of a workbook that was read.
    pages : int
        Number of pages of the workbook.
    decimal : str
        Decimal mark.
    wide : bool
        True for a column per arm, False for a line per value.
    """

    kind: str
    encoding: str | None = None
    sep: str | None = None
    page: str | None = None
    pages: int = 1
    decimal: str = "."
    wide: bool = False

    @property
    def plain(self) -> bool:
        """True if the table is written as `combgame study ask` writes it."""
        return self in (
            TableFormat("text", "UTF-8", ","),
            TableFormat("frame"),
            TableFormat("excel", page=self.page),
        )

    @property
    def sentence(self) -> Message:
        """The format as a message.

        >>> print(TableFormat("text", "UTF-16", ";", decimal=",", wide=True).sentence)
        Read as UTF-16, semicolons between cells, decimal commas, a column per arm.
        """
        parts = {
            "text": [
                str(self.encoding),
                f"{SEPARATORS.get(self.sep or ',', repr(self.sep))} between cells",
            ],
            "excel": [f"the page {self.page!r} of a workbook"],
            "frame": ["a data frame"],
        }[self.kind]
        parts = [*parts, DECIMALS[self.decimal]]
        parts.append("a column per arm" if self.wide else "a line per value")
        return Message("table-read", "Read as {parts:list}", parts=parts)


class RawTable(NamedTuple):
    """The cells of a table.

    Attributes
    ----------
    head : list of str
        Cells of the first line.
    lines : list of (int, list)
        The other lines that are not empty, each with its number. Cells of a text file are texts;
        others may be numbers, dates or None.
    form : TableFormat
        Format of the table.
    whole : bool
        True if the last line is complete.
    """

    head: list[str]
    lines: list[tuple[int, list[Any]]]
    form: TableFormat
    whole: bool = True


def is_frame(given: Any) -> bool:
    """Return True for a table with named columns."""
    return hasattr(given, "columns") and len(getattr(given, "shape", ())) == 2


def read_frame(frame: Any) -> RawTable:
    """Read the cells of a data frame; an index with a name is a column."""
    names = list(getattr(getattr(frame, "index", None), "names", ()))
    if any(name is not None for name in names):
        frame = frame.reset_index()
    head = [str(name).strip() for name in frame.columns]
    if hasattr(frame, "iloc"):
        columns = [frame.iloc[:, k].tolist() for k in range(len(head))]
    else:
        columns = [frame[name].to_list() for name in frame.columns]
    lines = [(k, list(row)) for k, row in enumerate(zip(*columns, strict=True), start=1)]
    return RawTable(head, lines, TableFormat("frame"))
