"""Read tables in files and data frames into values by round and arm.

A long table has a line per value, with the columns arm, value and, for a study, round; lines of
the same arm are replicates. A wide table has a line per round and a column per arm, which may
occur several times. In both, the column `n` gives the number of values of which a value is the
mean, and the column `note` is for the reader. The column `study` may add the mark of a round to the
name of the study (plates#kqzmtwfb), where the number of the round alone might mislead.

Files are recognised as text or Excel by their content rather than by their names.
"""

import math
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._display.text import restored
from .._messages import Message, OptionHint, PhraseHint
from ..engine.state import Floats
from ..errors import CombGameError, InputError, error_from, invalid_argument, unknown_name
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import claimed_assumptions
from .cells import (
    NumberFormat,
    RawTable,
    TableFormat,
    find_marks,
    missing,
    number,
    read_frame,
    whole_number,
)
from .excel import read_excel
from .text import check_sep, read_text, unreadable

LARGEST = 500_000_000  # bytes
PACKED, OLD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def read_file(path: Path, known: Callable[[str], bool], sep: str | None = None) -> RawTable:
    """Read the cells of a file.

    Parameters
    ----------
    path : Path
        The file.
    known : callable
        Returns whether a word of the first line is the name of a column.
    sep : str, optional
        Separator of the cells of a text file. Detected by default.
    """
    sep = check_sep(sep)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise unreadable(error.strerror or str(error)) from None
    return read_bytes(raw, known, sep)


def read_bytes(
    raw: bytes, known: Callable[[str], bool], sep: str | None = None, most: int = LARGEST
) -> RawTable:
    """Read the cells of a file's content; `most` limits the bytes of an unpacked workbook."""
    if raw.startswith(OLD):
        raise InputError(
            "old-workbook",
            "it is a workbook of an old kind (.xls), or one with a password",
            remedy="save it as .xlsx or .csv, without a password",
        )
    return read_excel(raw, most) if raw.startswith(PACKED) else read_text(raw, known, sep)


LETTERS = "bcdfghjklmnpqrstvwxz"  # without vowels: no spreadsheet takes a mark for a date or number
MARK = re.compile(f"[{LETTERS}]{{8}}")  # the mark of a round
COLUMNS = ("study", "round", "arm", "value", "n", "note")
FEW = 20  # among more replicates than these, equal ones are no surprise
DIGITS = 4  # a value with fewer significant digits may occur twice by chance


class ParsedTable(NamedTuple):
    """The values of a table.

    Attributes
    ----------
    values : dict
        Values by round and arm; under 0 if the table has no rounds.
    form : TableFormat
        Format of the table.
    whole : bool
        True if the last line is complete.
    repeated : Message or None
        Message about lines that seem to be there twice.
    marks : dict
        Marks of the rounds that have one.
    """

    values: dict[int, dict[int, Any]]
    form: TableFormat
    whole: bool
    repeated: Message | None
    marks: dict[int, str] = {}  # noqa: RUF012  (never written to)


class ColumnMap(NamedTuple):
    """Positions of the columns."""

    at: dict[str, int]  # columns of the words in COLUMNS
    arms: list[tuple[int, int]]  # in a wide table: a column and its arm


def arm_reader(problem: Problem) -> Callable[[Any], int]:
    """Return a function that finds the arm of a cell, with a cache."""
    names = {unicodedata.normalize("NFC", name): a for a, name in enumerate(problem.names or ())}
    known: dict[Any, int] = {}

    def read(cell: Any) -> int:
        if cell not in known:
            word = cell
            if isinstance(word, float) and word.is_integer():
                word = int(word)
            word = unicodedata.normalize("NFC", str(word).strip())
            if problem.names:
                arm = names.get(word)
            else:
                arm = int(word) if word.isdecimal() and int(word) < problem.d else None
            if arm is None:
                if hasattr(cell, "isoformat"):
                    raise InputError(
                        "date-for-arm",
                        "the arm is a date ({cell}): Excel makes dates of names such as MAR1",
                        remedy="format the column as text, and type the name again",
                        cell=str(cell),
                    )
                raise unknown_name("arm", word, problem.names or [f"0 to {problem.d - 1}"])
            known[cell] = arm
        return known[cell]

    return read


def known_column(problem: Problem) -> Callable[[str], bool]:
    """Return a function that tells whether a word of the first line names a column or an arm."""
    read = arm_reader(problem)

    def known(word: str) -> bool:
        if word.lower() in COLUMNS:
            return True
        try:
            read(word)
        except CombGameError:
            return False
        return True

    return known


def read_table(
    grid: RawTable,
    problem: Problem,
    study: str = "",
    rounds: bool = True,
    decimal: str | None = None,
) -> ParsedTable:
    """Read the values of a table by round and arm.

    Parameters
    ----------
    grid : RawTable
        The cells.
    problem : Problem
        The problem, whose arms the table names.
    study : str
        Name of the study.
    rounds : bool
        True if the table has rounds. If not, all values are returned under round 0.
    decimal : {".", ","}, optional
        Decimal mark. Detected by default.
    """
    columns = _columns(grid, problem, rounds)
    wide = bool(columns.arms)
    numeric = [column for column, _ in columns.arms]
    numeric += [columns.at[word] for word in ("value", "n") if word in columns.at]
    marks = find_marks(
        (line[k] for _, line in grid.lines for k in numeric if k < len(line)), decimal
    )
    reader = _Reader(problem, study, columns, marks)
    strict = wide and grid.form.sep == ","  # 0,5 in two cells must not pass for two values
    for k, line in grid.lines:
        try:
            spare = line[len(grid.head) :]
            if spare and (strict or any(str(cell).strip() for cell in spare if cell is not None)):
                raise InputError(
                    "extra-cells",
                    "it has {cells:count cell}, and the first line names {columns:count column}",
                    remedy="separate cells with semicolons where numbers have decimal commas",
                    cells=len(line),
                    columns=len(grid.head),
                )
            reader.enter(k, line)
        except CombGameError as error:
            raise error.with_context("line {line}", line=k) from None
    if not reader.values:
        raise InputError("empty-table", "it has no lines to tell")
    form = grid.form._replace(decimal=marks.decimal, wide=wide)
    values = {number: whole(one) for number, one in reader.values.items()}
    return ParsedTable(values, form, grid.whole, reader.repeated(grid), reader.marks)


def _columns(grid: RawTable, problem: Problem, rounds: bool) -> ColumnMap:
    """Find the columns that the first line names."""
    words = [word.lower() for word in grid.head]
    used = [word for word in COLUMNS if rounds or word != "round"]
    at = {word: words.index(word) for word in used if word in words}
    arms: list[tuple[int, int]] = []
    others = [k for k, word in enumerate(words) if word and word not in COLUMNS]
    if "arm" not in at and "value" not in at:
        read = arm_reader(problem)
        for k in others:
            try:
                arms.append((k, read(restored(grid.head[k]))))
            except CombGameError:
                continue
    wanted = (["round"] if rounds else []) + ([] if arms else ["arm", "value"])
    if any(words.count(word) != 1 for word in wanted):
        raise InputError(
            "no-columns",
            "the first line must name the columns {wanted:list}, or instead of arm and value a "
            "column for every arm, not {head!r}",
            wanted=wanted,
            head=(grid.form.sep or ",").join(grid.head),
        )
    if arms and any(name.lower() in COLUMNS for name in problem.names or ()):
        raise InputError(
            "arm-like-column",
            "there is an arm whose name is that of a column, so that a table with a column for "
            "every arm cannot be read",
            remedy="give a line for every value, with the columns {wanted:list}",
            wanted=["round", "arm", "value"],
        )
    strange = set(others) - {k for k, _ in arms}
    for k in sorted(strange):
        raise InputError(
            "unknown-column",
            "the column {column!r} is not known",
            remedy="take it out, or call it note if it is for people; there are {known:list}",
            column=grid.head[k],
            known=[*COLUMNS, *(["the arms"] if arms else [])],
        )
    return ColumnMap(at, arms)


class _Reader:
    """Reads a table line by line."""

    def __init__(
        self, problem: Problem, study: str, columns: ColumnMap, written: NumberFormat
    ) -> None:
        self.problem, self.study, self.written = problem, study.strip(), written
        self.at, self.arms = columns
        self.values: dict[int, dict[int, Any]] = {}
        self.marks: dict[int, str] = {}
        self.arm = arm_reader(problem)

    def cell(self, word: str, line: list[Any]) -> Any:
        """Return a cell of a line; None if the line lacks it."""
        k = self.at.get(word)
        said = line[k] if k is not None and k < len(line) else None
        return restored(said.strip()) or None if isinstance(said, str) else said

    def enter(self, k: int, line: list[Any]) -> None:
        """Add the values of a line."""
        mark = self.mark(self.cell("study", line))
        for round_, arm, value in self.entries(line):
            known = self.values.setdefault(round_, {})
            if mark and self.marks.setdefault(round_, mark) != mark:
                raise InputError(
                    "two-rounds",
                    "the column study has {before!r} for round {round}, and here {now!r}, so that "
                    "they are two rounds of the same number",
                    remedy="give their lines in two tables",
                    round=round_,
                    before=self.marks[round_],
                    now=mark,
                )
            if arm is not None:
                add_value(known, arm, value)

    def mark(self, cell: Any) -> str:
        """Return the mark of the round of a line; "" if it has none."""
        if not self.study or cell is None or str(cell) == self.study:
            return ""
        name, _, mark = str(cell).rpartition("#")
        marked = MARK.fullmatch(mark) is not None
        if name == self.study and marked:
            return mark
        raise InputError(
            "sheet-of-another",
            "the table is of the study {theirs!r}, not of {study!r}",
            remedy="give that one as {name}, or mend the column study",
            theirs=name if marked else str(cell),
            study=self.study,
            name=OptionHint("name"),
        )

    def entries(self, line: list[Any]) -> list[tuple[int, int | None, Any]]:
        """Return the rounds, arms and values of a line.

        In a wide table a blank cell is ignored, because its arm need not be in the round.
        """
        round_, n = 0, 1
        if "round" in self.at:
            cell = self.cell("round", line)
            round_ = whole_number("round", "" if cell is None else cell, self.written)
        cell = self.cell("n", line)
        if not missing(cell):
            n = whole_number("n", cell, self.written)
            if n < 1:
                raise invalid_argument("n", n, "at least 1", "a blank value is missing")
        if not self.arms:
            cell = self.cell("arm", line)
            arm, cell = self.arm("" if cell is None else cell), self.cell("value", line)
            return [(round_, arm, None if missing(cell) else self.value("value", cell, n))]
        given = [(arm, line[k]) for k, arm in self.arms if k < len(line)]
        some: list[tuple[int, int | None, Any]] = [
            (round_, arm, self.value(self.problem.label([arm]), cell, n))
            for arm, cell in given
            if not missing(cell)
        ]
        return some or [(round_, None, None)]

    def value(self, what: str, cell: Any, n: int) -> Any:
        """Return a number, or the pair of a mean and the number of its values."""
        value = number(what, cell, self.written)
        return (value, n) if n > 1 else value

    def repeated(self, grid: RawTable) -> Message | None:
        """Return a message if a value of many digits, or the whole table, is there twice."""
        if Assumption.BINARY in claimed_assumptions(self.problem.rewards):
            return None
        twice = {
            (round_, arm, value)
            for round_, values in self.values.items()
            for arm, several in values.items()
            if isinstance(several, list) and len(several) <= FEW
            for value in several
            if value is not None
            and several.count(value) > 1
            and significant_digits(value) >= DIGITS
        }
        half, odd = divmod(len(grid.lines), 2)
        if not odd and half > 2 and not twice:
            cells = [line for _, line in grid.lines]
            if cells[:half] == cells[half:]:
                return Message(
                    "table-doubled",
                    "The second half of the table, from line {line} on, repeats the first",
                    remedy="take it out, or {again} if all of it was measured twice",
                    line=grid.lines[half][0],
                    again=PhraseHint("again"),
                )
        if not twice:
            return None
        lines = [(k, one) for k, line in grid.lines for one in self.entries(line) if one in twice]
        first = lines[0][1]
        return Message(
            "line-repeated",
            "Lines {lines:list} have the same value of arm {arm}, {value!r}",
            remedy="take out what is there twice, or {again} if it was measured twice",
            lines=[k for k, one in lines if one == first],
            arm=self.problem.label([first[1]] if first[1] is not None else []),
            value=first[2],
            again=PhraseHint("again"),
        )


def add_value(known: dict[int, Any], arm: int, value: Any) -> None:
    """Add a value of an arm; None marks a missing value."""
    if arm not in known:
        known[arm] = value
        return
    several = known[arm] if isinstance(known[arm], list) else [known[arm]]
    several.append(value)
    means = [one for one in several if isinstance(one, tuple)]
    if means and any(one is not None for one in several if one is not means[0]):
        text = "a mean of n values must be the only line of its arm in its round"
        raise InputError("mean-not-alone", text, remedy="mend the table")
    known[arm] = means[0] if means else several


def whole(values: dict[int, Any]) -> dict[int, Any]:
    """Return the values of a round; an arm is missing if all of its lines are blank."""
    return {
        arm: None if isinstance(one, list) and all(x is None for x in one) else one
        for arm, one in values.items()
    }


def significant_digits(value: Any) -> int:
    """Return the number of digits of a value, from its first that is not 0 to its last.

    >>> significant_digits(0.05120), significant_digits(120.0), significant_digits(1e-7)
    (3, 2, 1)
    """
    if isinstance(value, tuple):
        return significant_digits(value[0])
    mantissa = repr(abs(float(value))).split("e")[0].replace(".", "")
    return len(mantissa.strip("0"))


def totals(problem: Problem, frame: Any) -> tuple[Floats, Floats, Floats | None]:
    """Compute the means, counts and standard deviations of the arms from a data frame.

    Parameters
    ----------
    problem : Problem
        The problem, whose arms the frame names.
    frame : data frame
        Columns arm and value (and n), or a column per arm.

    Returns
    -------
    means, counts : ndarray of shape (d,)
        Sample means and numbers of values.
    sigmas : ndarray of shape (d,), or None
        Sample standard deviations; None if the rewards state theirs.
    """
    means, counts, spreads = np.zeros((3, problem.d))
    for arm, entry in read_table(read_frame(frame), problem, rounds=False).values[0].items():
        try:
            given = entry if isinstance(entry, list) else [entry]
            several = [one for one in given if one is not None]
            for one in several:
                value, n = one if isinstance(one, tuple) else (one, None)
                if n is not None and not problem.rewards.variance_known:
                    raise InputError(
                        "means-hide-spread",
                        "a mean of {n} values hides how they vary, which is needed here",
                        remedy="{instead}",
                        n=n,
                        instead=PhraseHint("several values"),
                    )
                if (why := problem.rewards.check_value(value, n)) is not None:
                    raise error_from(InputError, why)
        except InputError as error:
            raise error.with_context("arm {arm}", arm=problem.label([arm])) from None
        pairs = [one if isinstance(one, tuple) else (one, 1) for one in several]
        if not pairs:
            continue
        counts[arm] = sum(n for _, n in pairs)
        means[arm] = math.fsum(value * n for value, n in pairs) / counts[arm]
        if counts[arm] > 1.0:
            squares = math.fsum(n * (value - means[arm]) ** 2 for value, n in pairs)
            spreads[arm] = math.sqrt(squares / (counts[arm] - 1.0))
    low, high = problem.rewards.support(problem.d)
    means[counts == 0.0] = min(max(0.0, low), high)
    return means, counts, None if problem.rewards.variance_known else spreads
