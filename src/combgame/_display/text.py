"""Tables and numbers as text for terminals, Markdown, CSV and JSON."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .._messages import Message
from ..errors import unknown_name


def aligned(head: list[str], cells: list[list[str]], left: int = 1) -> str:
    """Return a table as text: the first columns aligned left, the others right."""
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i < left else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *cells]
    )


FORMATS = ("text", "markdown", "csv", "json")
Column = Callable[[dict[str, Any]], str]  # returns the cell of a row


def rendered(
    rows: list[dict[str, Any]],
    form: str,
    columns: Mapping[str, Column],
    left: int = 1,
    notes: Sequence[str] = (),
) -> str:
    """Return rows in one of the FORMATS.

    Text and Markdown show the given columns, with notes under the table.
    """
    if form == "json":
        return json.dumps(rows, indent=1, allow_nan=False, default=str)
    if form == "csv":
        return as_csv(rows)
    cells = [[column(row) for column in columns.values()] for row in rows]
    if form == "markdown":
        return markdown(list(columns), cells, left) + "\n\n" + " ".join(notes) + "\n"
    if form == "text":
        return aligned(list(columns), cells, left) + "\n\n" + "\n".join(notes)
    raise unknown_name("format", form, FORMATS)


class _Rows(io.StringIO):
    r"""A buffer in which each row is one line.

    The csv module writes "\r\n" after rows and therefore quotes such characters in cells; otherwise
    a bare carriage return in a cell would begin a row, and perhaps a formula.
    """

    def write(self, row: str) -> int:
        return super().write(row.removesuffix("\r\n") + "\n")


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Return rows as CSV, with cells protected from being run as formulas."""
    out = _Rows()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows({name: defused(cell) for name, cell in row.items()} for row in rows)
    return out.getvalue()


# characters that begin a formula in a spreadsheet, also in full width and small forms
FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]")


def defused(cell: Any) -> Any:
    """Return a CSV cell that a spreadsheet shows instead of running it as a formula.

    A cell that looks like a formula gets a leading '. `restored` removes it.

    >>> defused("=1+1"), defused("-0.5"), defused(-0.5), restored(defused("'@x"))
    ("'=1+1", '-0.5', -0.5, "'@x")
    """
    if isinstance(cell, str) and FORMULA.match(cell) and not NUMBER.fullmatch(cell):
        return "'" + cell
    return cell


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def restored(cell: str) -> str:
    """Return the original of a cell from `defused`."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def markdown(head: Iterable[str], cells: Iterable[Iterable[Any]], left: int = 1) -> str:
    """Return a Markdown table: the first columns aligned left, the others right."""
    names = list(head)
    lines = [
        names,
        ["---" if i < left else "---:" for i in range(len(names))],
        *([str(x) for x in row] for row in cells),
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def count(n: int, what: str) -> str:
    """Return a number with its noun.

    >>> count(1, "round"), count(2000, "value")
    ('1 round', '2,000 values')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"


def figure(x: float | None) -> str:
    """Format a measured number with the digits that people read.

    >>> figure(0.123456), figure(12345.6), figure(2.0), figure(1e-12), figure(None)
    ('0.1235', '12,346', '2', '1e-12', '-')
    """
    if x is None or math.isnan(x):
        return "-"
    if math.isinf(x) or 0.0 < abs(x) < 1e-4 or abs(x) >= 1e15:
        return f"{x:.4g}"
    return f"{x:,.0f}" if abs(x) >= 1e4 else f"{x:.4g}"


def weighed(have: float, needed: float, least: int = 0) -> Message:
    """Return how much evidence there is and how much is needed.

    The numbers have as many digits as distinguish them. If `least` is positive, every arm must
    still have that many values first.

    >>> print(weighed(1.418, 6.349))
    1.42 of 6.35 needed.
    >>> print(weighed(245.941, 241.832))
    245.9, more than the 241.8 needed.
    >>> print(weighed(8.1842, 8.1839, least=2))
    8.1842, more than the 8.1839 needed, but every arm must have 2 values first.
    """
    digits = 2 if needed < 100.0 else 1
    while digits < 6 and f"{have:.{digits}f}" == f"{needed:.{digits}f}":
        digits += 1
    text = "{have} of {needed} needed"
    if have > needed:
        text = "{have}, more than the {needed} needed"
        if least:
            text += ", but every arm must have {least:count value} first"
    shown = {"have": f"{have:,.{digits}f}", "needed": f"{needed:,.{digits}f}"}
    return Message("evidence", text, least=least, **shown)
