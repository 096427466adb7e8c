"""The table that goes to the bench and comes back filled in: one line per round and arm; several
lines of one arm are replicates.

A column `n` says of how many values a value is the mean; a column `note` is for people.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import CombGameError, InputError, must_be
from ..problem import Problem
from ..report.tables import defused, restored
from ..sentences import Option
from .round import Round

COLUMNS = ("study", "round", "arm", "value", "n", "note")


def write_sheet(rounds: Sequence[Round], study: str) -> str:
    """What is left to measure, with an empty column for the values.

    >>> print(write_sheet([Round(1, (0, 2), ("a", "c"), (0, 2))], "plates").strip())
    study,round,arm,value
    plates,1,a,
    plates,1,c,
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["study", "round", "arm", "value"])
    for one in rounds:
        names = dict(zip(one.arms, one.names, strict=True))
        writer.writerows([defused(study), one.id, defused(names[arm]), ""] for arm in one.left)
    return out.getvalue()


def read_sheet(
    path: Path, problem: Problem, study: str, rounds: bool = True
) -> dict[int, dict[int, Any]]:
    """Values by round and arm; all of them under 0 where the table has no rounds. It need not say
    which study it is of.
    """
    try:
        return _read(path, problem, study, rounds)
    except CombGameError as error:
        raise error.within("{path}", path=str(path)) from None


def _read(path: Path, problem: Problem, study: str, rounds: bool) -> dict[int, dict[int, Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head, *lines = list(csv.reader(file)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            "sheet-unreadable",
            "it cannot be read ({why})",
            remedy="give the table that `combgame study ask --out` wrote, as UTF-8",
            why=str(error),
        ) from None
    columns = [word.strip().lower() for word in head]
    wanted = ["round", "arm", "value"][not rounds :]
    if any(columns.count(word) != 1 for word in wanted):
        raise InputError(
            "no-columns",
            "the first line must name the columns {wanted:list} (commas between them), not "
            "{head!r}",
            wanted=wanted,
            head=",".join(head),
        )
    for word, written in zip(columns, head, strict=True):
        if word not in COLUMNS and word:
            raise InputError(
                "unknown-column",
                "the column {column!r} is not known",
                remedy="take it out, or call it note if it is for people; there are {known:list}",
                column=written.strip(),
                known=list(COLUMNS),
            )
    read = [*wanted, *(word for word in ("study", "n") if word in columns)]
    sheet: dict[int, dict[int, Any]] = {}
    for k, line in enumerate(lines, start=2):
        if not any(cell.strip() for cell in line):
            continue
        if any(cell.strip() for cell in line[len(columns) :]):
            extra = InputError(
                "extra-cells",
                "it has {cells:count cell}, and the first line names {columns:count column}",
                remedy="write decimals with a point, and commas only between cells",
                cells=len(line),
                columns=len(columns),
            )
            raise extra.within("line {line}", line=k)
        cells = {
            word: line[columns.index(word)].strip() if columns.index(word) < len(line) else ""
            for word in read
        }
        try:
            _enter(sheet, cells, problem, study)
        except CombGameError as error:
            raise error.within("line {line}", line=k) from None
    if not sheet:
        raise InputError("empty-table", "it has no lines to tell")
    return sheet


def _enter(
    sheet: dict[int, dict[int, Any]], cells: dict[str, str], problem: Problem, study: str
) -> None:
    """One more line."""
    cells = {name: restored(cell) for name, cell in cells.items()}
    if cells.get("study", "") not in ("", study.strip()):
        raise InputError(
            "sheet-of-another",
            "the table is of the study {theirs!r}, not of {study!r}",
            remedy="give that one as {name}, or mend the column study",
            theirs=cells["study"],
            study=study,
            name=Option("name"),
        )
    word = cells["arm"]
    arm = problem.arm(word if problem.names or not word.isdigit() else int(word))
    number = _number("round", cells["round"], int) if "round" in cells else 0
    value = _number("value", cells["value"], float) if cells["value"] else None
    n = _number("n", cells["n"], int) if cells.get("n") else 1
    if n < 1:
        raise must_be("n", n, "at least 1", "a blank value is missing")
    if n > 1 and value is not None:
        value = value, n
    known = sheet.setdefault(number, {})
    if known.get(arm) is None:
        known[arm] = value
    elif value is not None:
        if n > 1 or isinstance(known[arm], tuple):
            text = "a mean of n values must be the only line of its arm in its round"
            raise InputError("mean-not-alone", text, remedy="mend the table")
        known[arm] = [*(known[arm] if isinstance(known[arm], list) else [known[arm]]), value]


def _number(what: str, cell: str, kind: Any) -> Any:
    try:
        return kind(cell)
    except ValueError:
        if kind is int:
            raise must_be(what, cell, "a whole number") from None
        point = "a number with a decimal point, or blank for missing"
        raise must_be(what, cell, point) from None
