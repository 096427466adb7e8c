"""The table that goes to the bench and comes back filled in (`combgame.tables` reads it)."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import CombGameError
from ..problem import Problem
from ..report.tables import defused
from ..tables import Sheet, known_column, read_file, read_table
from ..tables.excel import write_excel
from .round import Round

HEAD = ("study", "round", "arm", "value")


def write_sheet(rounds: Sequence[Round], study: str, sep: str = ",") -> str:
    """What is left to measure, with an empty column for the values, and a line for every replicate.

    >>> todo = Round(1, (0, 2), ("a", "c"), (0, 2), mark="kqzmtwfb")
    >>> print(write_sheet([todo], "plates").strip())
    study,round,arm,value
    plates#kqzmtwfb,1,a,
    plates#kqzmtwfb,1,c,
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", delimiter=sep)
    writer.writerow(HEAD)
    writer.writerows([defused(cell) for cell in line] for line in _lines(rounds, study))
    return out.getvalue()


def write_workbook(rounds: Sequence[Round], study: str) -> bytes:
    """The same as a workbook of Excel."""
    return write_excel(HEAD, _lines(rounds, study), study)


def _lines(rounds: Sequence[Round], study: str) -> Iterator[list[object]]:
    for one in rounds:
        of = f"{study}#{one.mark}" if one.mark else study
        names = dict(zip(one.arms, one.names, strict=True))
        for arm in one.left:
            yield from ([of, one.id, names[arm], ""] for _ in range(one.replicates))


def read_sheet(
    path: Path,
    problem: Problem,
    study: str,
    rounds: bool = True,
    sep: str | None = None,
    decimal: str | None = None,
) -> Sheet:
    """The values in a file, by round and arm; all of them under 0 where the table has no rounds. It
    need not say which study it is of. sep, decimal: what stands between cells and in numbers, if it
    is not to be detected.
    """
    try:
        grid = read_file(path, known_column(problem), sep)
        return read_table(grid, problem, study, rounds, decimal)
    except CombGameError as error:
        raise error.within("{path}", path=str(path)) from None
