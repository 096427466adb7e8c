"""Tables as text, Markdown, CSV and JSON."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import unknown


def aligned(head: list[str], cells: list[list[str]], left: int = 1) -> str:
    """A table as text: the first columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i < left else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *cells]
    )


FORMATS = ("text", "markdown", "csv", "json")
Column = Callable[[dict[str, Any]], str]  # the cell of a row


def rendered(
    rows: list[dict[str, Any]],
    form: str,
    columns: Mapping[str, Column],
    left: int = 1,
    notes: Sequence[str] = (),
) -> str:
    """Rows in one of the FORMATS; for people (text, Markdown) in these columns, and with notes
    under them.
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
    raise unknown("format", form, FORMATS)


class _Rows(io.StringIO):
    """A row per line. (What `csv` ends rows with itself, it quotes inside of cells: a bare carriage
    return would otherwise begin a row, and perhaps a formula.)
    """

    def write(self, row: str) -> int:
        return super().write(row.removesuffix("\r\n") + "\n")


def as_csv(rows: list[dict[str, Any]]) -> str:
    out = _Rows()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows({name: defused(cell) for name, cell in row.items()} for row in rows)
    return out.getvalue()


# what a spreadsheet takes for the beginning of a formula, in full width and small forms too
FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]")


def defused(cell: Any) -> Any:
    """A cell of a CSV file as a spreadsheet shows it and does not run it: with a ' before what
    would be a formula. `restored` takes it off.

    >>> defused("=1+1"), defused("-0.5"), defused(-0.5), restored(defused("'@x"))
    ("'=1+1", '-0.5', -0.5, "'@x")
    """
    if isinstance(cell, str) and FORMULA.match(cell) and not NUMBER.fullmatch(cell):
        return "'" + cell
    return cell


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def restored(cell: str) -> str:
    """What was `defused`."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def markdown(head: Iterable[str], cells: Iterable[Iterable[Any]], left: int = 1) -> str:
    """A Markdown table, the first columns to the left, the others to the right."""
    names = list(head)
    lines = [
        names,
        ["---" if i < left else "---:" for i in range(len(names))],
        *([str(x) for x in row] for row in cells),
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)
