"""Read and write Excel workbooks (.xlsx) with openpyxl, the extra `excel`."""

import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import InputError, missing_extra
from .cells import RawTable, TableFormat
from .text import unreadable

FORMULA = re.compile(rb"<(\w+:)?f[\s>/]")
CELL = 10  # bytes that a cell has at least; empty cells are read too


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise missing_extra("a table of Excel", "excel") from None
    return openpyxl


def read_excel(raw: bytes, most: int) -> RawTable:
    """Read the first page that is not empty; formulas count with the values that were saved.

    Parameters
    ----------
    raw : bytes
        The file.
    most : int
        Bytes that the workbook may have when it is unpacked. A small file can be made to unpack to
        any size.
    """
    _check_size(raw, most)
    openpyxl = _openpyxl()
    try:
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        shown = [one for one in book.worksheets if getattr(one, "sheet_state", "") != "hidden"]
        for page in shown:
            lines = _lines(page, most // CELL)
            if lines:
                break
        else:
            return RawTable([], [], TableFormat("excel", page=book.sheetnames[0]))
        if _formulas(raw):
            _check_formulas(openpyxl, raw, page.title, lines)
    except InputError:
        raise
    except Exception as error:  # a damaged file may cause any error in the parser
        raise unreadable(f"{type(error).__name__}: {error}") from None
    head = ["" if cell is None else str(cell).strip() for cell in lines.pop(0)[1]]
    return RawTable(head, lines, TableFormat("excel", page=page.title, pages=len(shown)))


def _lines(page: Any, most: int) -> list[tuple[int, list[Any]]]:
    """Return the lines that are not empty, at most `most` cells, without empty cells at the end."""
    if hasattr(page, "reset_dimensions"):
        page.reset_dimensions()  # the dimensions that the file states may be wrong
    lines, cells = [], 0
    for k, row in enumerate(page.iter_rows(values_only=True), start=1):
        line = list(row)
        cells += len(line) + 1
        if cells > most:
            raise _too_large(most, "cells")
        while line and (line[-1] is None or line[-1] == ""):
            line.pop()
        if line:
            lines.append((k, line))
    return lines


def _check_size(raw: bytes, most: int) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as packed:
            names = packed.namelist()
            size = sum(one.file_size for one in packed.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise unreadable(str(error)) from None
    if "xl/workbook.xml" not in names:
        raise unreadable("it is packed, but no workbook of Excel: save it as .xlsx or .csv")
    if size > most:
        raise _too_large(most, "bytes")


def _too_large(most: int, what: str) -> InputError:
    return InputError(
        "workbook-too-large",
        "it has more than {most:,} {what} when it is unpacked",
        remedy="save the page that is meant as .csv",
        most=most,
        what=what,
    )


def _formulas(raw: bytes) -> bool:
    """Return True if a page may have formulas."""
    with zipfile.ZipFile(io.BytesIO(raw)) as packed:
        for name in packed.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                before = b""
                with packed.open(name) as page:
                    while piece := page.read(1 << 20):
                        if FORMULA.search(before + piece) is not None:
                            return True
                        before = piece[-50:]
    return False


def _check_formulas(
    openpyxl: Any, raw: bytes, title: str, lines: Sequence[tuple[int, list[Any]]]
) -> None:
    """Refuse formulas that were never computed, which would pass for blank cells."""
    values = dict(lines)
    book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=False)
    page = book[title]
    page.reset_dimensions()
    for row in page.iter_rows():
        for cell in row:
            if getattr(cell, "data_type", None) != "f":
                continue
            line = values.get(cell.row, [])
            if cell.column > len(line) or line[cell.column - 1] is None:
                raise InputError(
                    "formula-not-computed",
                    "the cell {cell} has a formula without a value",
                    remedy="open it in Excel or LibreOffice, and save it there",
                    cell=cell.coordinate,
                )


def write_excel(head: Sequence[str], lines: Iterable[Sequence[Any]], title: str) -> bytes:
    """Return a workbook of one page.

    Texts are written as texts, whatever they look like: no name becomes a date, a number or a
    formula.
    """
    openpyxl = _openpyxl()
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet("".join(c for c in title if c not in r"[]:*?/\'")[:31] or "table")
    page.freeze_panes = "A2"
    for k, word in enumerate(head):
        page.column_dimensions["ABCDEFGHIJ"[k]].width = max(12, len(word) + 2)

    def cell(value: Any) -> Any:
        made = WriteOnlyCell(page, value=None if value == "" else value)
        if isinstance(value, str) and value:
            made.data_type, made.number_format = "s", "@"
        return made

    for row in (head, *lines):
        page.append([cell(one) for one in row])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()
