"""The table that goes to the bench and comes back filled in: one line per round and arm; several
lines of one arm are replicates.

A column `n` says of how many values a value is the mean; a column `note` is for people.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..problem import Problem
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
        writer.writerows([study, one.id, names[arm], ""] for arm in one.left)
    return out.getvalue()


def read_sheet(
    path: Path, problem: Problem, study: str, rounds: bool = True
) -> dict[int, dict[int, Any]]:
    """Values by round and arm; all of them under 0 where the table has no rounds. It need not say
    which study it is of.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head, *lines = list(csv.reader(file)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path} cannot be read ({error}); give the table that `combgame study ask --out` "
            "wrote, as UTF-8."
        ) from None
    columns = [word.strip().lower() for word in head]
    wanted = ["round", "arm", "value"][not rounds :]
    if any(columns.count(word) != 1 for word in wanted):
        raise InputError(
            f"{path}: the first line must name the columns {', '.join(wanted)} (commas between "
            f"them), not {','.join(head)!r}."
        )
    for word, said in zip(columns, head, strict=True):
        if word not in COLUMNS and word:
            raise InputError(
                f"{path}: the column {said.strip()!r} is not known; take it out, or call it note "
                "if it is for people. "
                f"There are {', '.join(COLUMNS)}."
            )
    read = [*wanted, *(word for word in ("study", "n") if word in columns)]
    found: dict[int, dict[int, Any]] = {}
    for k, line in enumerate(lines, start=2):
        if not any(cell.strip() for cell in line):
            continue
        cells = {
            word: line[columns.index(word)].strip() if columns.index(word) < len(line) else ""
            for word in read
        }
        if cells.get("study", "") not in ("", study.strip()):
            raise InputError(
                f"{path}, line {k}: the table is of the study {cells['study']!r}, not of "
                f"{study!r}; give that one as --name, or mend the "
                "column study."
            )
        try:
            arm = problem.arm(
                cells["arm"] if problem.names or not cells["arm"].isdigit() else int(cells["arm"])
            )
        except LookupError as error:
            raise InputError(f"{path}, line {k}: {error}") from None
        number = _number(path, k, "round", cells["round"], int) if rounds else 0
        value = _number(path, k, "value", cells["value"], float) if cells["value"] else None
        n = _number(path, k, "n", cells["n"], int) if cells.get("n") else 1
        if n < 1:
            raise InputError(
                f"{path}, line {k}: n = {n} must be at least 1; a blank value is missing."
            )
        value = (value, n) if n > 1 and value is not None else value
        known = found.setdefault(number, {})
        if (
            value is not None
            and known.get(arm) is not None
            and (n > 1 or isinstance(known[arm], tuple))
        ):
            raise InputError(
                f"{path}, line {k}: a mean of n values must be the only line of its arm in its "
                "round; mend the table."
            )
        if known.get(arm) is None:
            known[arm] = value
        elif value is not None:
            known[arm] = [*(known[arm] if isinstance(known[arm], list) else [known[arm]]), value]
    if not found:
        raise InputError(f"{path} has no lines to tell.")
    return found


def _number(path: Path, line: int, what: str, cell: str, kind: Any) -> Any:
    try:
        return kind(cell)
    except ValueError:
        such = (
            "a whole number"
            if kind is int
            else "a number with a decimal point, or blank for missing"
        )
        raise InputError(f"{path}, line {line}: {what} = {cell!r} must be {such}.") from None
