"""Parsing of results that are typed, pasted or uploaded, and warnings before they are stored."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ....engine.state import Floats
from ....errors import InputError
from ....problem import Problem
from ....rewards import Bernoulli
from ....tables import ParsedTable, RawTable, known_column, read_table
from ....tables.cells import TableFormat
from ....tables.reader import read_bytes
from ...inputs import Todo, check_means, check_todo, read_values, repeated_round
from ...outliers import ALONE, ENOUGH, gathered, outliers
from ...round import Entry, Round, pulls, split
from .wording import PAGE

FAR = 4.0  # standard errors from the mean so far, above which a value looks odd
FAR_OFF = math.erfc(FAR / math.sqrt(2.0))  # probability that a Gaussian value is that far off
PARTS = re.compile(r"[;\n]")


class ParsedRow(NamedTuple):
    """A value as it was read, and why it looks odd. Data from outside have round 0."""

    round: int
    arm: int
    name: str
    entry: Entry
    shown: str
    odd: str = ""


class ParsedResults(NamedTuple):
    """Results as they would be stored, with warnings.

    `form` describes how the table was read, `notes` are warnings about the results as a whole,
    `marks` has the marks of the rounds where they are known, and `twice` is True if values seem to
    be duplicates, which the user must confirm.
    """

    rows: list[ParsedRow]
    form: str
    notes: list[str]
    marks: dict[int, str]
    twice: bool = False

    @property
    def values(self) -> dict[int, dict[int, Any]]:
        """Values by round and arm, as `Study.tell_many` takes them."""
        made: dict[int, dict[int, Any]] = {}
        for row in self.rows:
            entry = row.entry
            made.setdefault(row.round, {})[row.arm] = (
                (entry["mean"], int(entry["n"])) if isinstance(entry, dict) else entry
            )
        return made

    @property
    def odd(self) -> int:
        """Number of values that look odd."""
        return sum(bool(row.odd) for row in self.rows)


def typed(fields: Mapping[tuple[int, str], str]) -> RawTable:
    """Return the table of form fields by round and arm; semicolons separate several values."""
    lines = [
        [str(number), name, part.strip()]
        for (number, name), text in fields.items()
        for part in PARTS.split(text)
        if part.strip() or not PARTS.search(text)
    ]
    return RawTable(
        ["round", "arm", "value"], list(enumerate(lines, 1)), TableFormat("text", "UTF-8", "\t")
    )


def pasted(text: str, problem: Problem, rounds: Sequence[Round]) -> RawTable:
    """Return the table of pasted cells.

    The cells are a whole table with column titles, or names with values beside them, or values
    alone in the order of the arms of the rounds.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError("nothing-pasted", "nothing was pasted", remedy="paste some cells")
    known = known_column(problem)
    grid = read_bytes("\n".join([*lines, ""]).encode(), known)
    words = [word.lower() for word in grid.head]
    if "value" in words or all(known(word) for word in grid.head):
        return _in_round(grid, words, rounds)
    sep = "\t" if "\t" in text else ";" if ";" in text else None
    cells = [[one.strip() for one in line.split(sep)] if sep else [line.strip()] for line in lines]
    if all(len(line) == 2 for line in cells) and all(known(line[0]) for line in cells):
        made = [["", *line] for line in cells]
    else:
        made = _in_order(cells, rounds)
    if len(rounds) == 1:
        made = [[str(rounds[0].id), *line[1:]] for line in made]
    head = ["round", "arm", "value"] if rounds else ["", "arm", "value"]
    if rounds and any(not line[0] for line in made):
        raise _which_round(rounds)
    return RawTable(head, list(enumerate(made, 1)), TableFormat("text", "UTF-8", sep or "\t"))


def _in_round(grid: RawTable, words: list[str], rounds: Sequence[Round]) -> RawTable:
    """Return a table with titles, which needs a column of rounds only if there are several."""
    if "round" in words or not rounds:
        return grid
    if len(rounds) != 1:
        raise _which_round(rounds)
    lines: list[tuple[int, list[Any]]] = [(k, [str(rounds[0].id), *line]) for k, line in grid.lines]
    return grid._replace(head=["round", *grid.head], lines=lines)


def _in_order(cells: list[list[str]], rounds: Sequence[Round]) -> list[list[str]]:
    """Return the table of values alone: a column, or a line per round."""
    places = [
        (one.id, name)
        for one in rounds
        for arm, name in zip(one.arms, one.names, strict=True)
        if arm in one.remaining
    ]
    flat = [cell for line in cells for cell in line]
    often = {one.id: one.replicates for one in rounds}
    each = [place for place in places for _ in range(often[place[0]])]
    places = each if len(flat) == len(each) else places
    if len(flat) != len(places):
        raise InputError(
            "other-number",
            "{given:count value} {given:was|were} pasted, and {wanted} are to be entered",
            remedy="paste as many, in the order of the table; or with the names beside them; or "
            "with the titles round, arm and value above",
            given=len(flat),
            wanted=len(places),
        )
    return [[str(number), name, cell] for (number, name), cell in zip(places, flat, strict=True)]


def _which_round(rounds: Sequence[Round]) -> InputError:
    return InputError(
        "which-round",
        "it does not say of which round the values are: {rounds:list} are open",
        remedy="paste a column round too, or go to the page of one round",
        rounds=[one.id for one in rounds],
    )


class StudyContext(NamedTuple):
    """Data of a study that new values are compared with.

    `rounds` are the open rounds by number, `prints` the rounds by the fingerprints of their values.
    With batch effects, `within` has the values so far, as `outliers.gathered` takes them.
    """

    problem: Problem
    name: str
    estimates: Sequence[Any]
    noise: Any
    rounds: Mapping[int, Round]
    prints: Mapping[str, int]
    within: Mapping[int, Floats]


def understood(
    grid: RawTable,
    known: StudyContext,
    decimal: str | None = None,
    outside: bool = False,
    again: bool = False,
    file: bool = False,
    marks: Mapping[int, str] = MappingProxyType({}),
) -> ParsedResults:
    """Return the results of a table, with everything about them that looks odd.

    Parameters
    ----------
    grid : RawTable
        The table.
    known : StudyContext
        Data to compare the values with.
    decimal : str, optional
        Decimal mark of the numbers.
    outside : bool, default=False
        True for data from outside the study.
    again : bool, default=False
        True if the user has confirmed that duplicates were measured twice.
    file : bool, default=False
        True if the table was uploaded; the result then describes how it was read.
    marks : mapping, optional
        Marks of the rounds as they were shown, for tables without marks.

    Returns
    -------
    ParsedResults
        Values and warnings.
    """
    sheet = read_table(grid, known.problem, known.name, not outside, decimal)
    rows: list[ParsedRow] = []
    notes: list[str] = []
    told: dict[int, Mapping[int, Entry]] = {}
    meant: dict[int, str] = {}
    for number, values in sorted(sheet.values.items()):
        if not outside:
            meant[number] = sheet.marks.get(number) or marks.get(number, "")
        if number in known.rounds:
            check_todo(Todo(number, meant.get(number, "")), known.rounds[number].mark, known.name)
        entries = read_values(known.problem, values, round=number or None)
        if number in known.rounds:
            check_means(known.problem, number, known.rounds[number].replicates, entries)
        told[number] = entries
        rows += [_row(known, number, arm, entry) for arm, entry in entries.items()]
        if not outside:
            notes += _of_round(known, number, entries)
    if known.problem.rewards.has_batch_effect():
        odd = _odd_within(known, told)
        rows = [row if row.odd else row._replace(odd=odd.get(row[:2], "")) for row in rows]
    twice = [] if again else _twice(sheet, known, rows)
    if not any(row.entry is not None for row in rows):
        notes.append("There is no value in it: all are missing.")
    form = "Numbers were read with decimal commas." if sheet.form.decimal == "," else ""
    if file and not sheet.form.plain:
        form = sheet.form.sentence.render(PAGE)
    return ParsedResults(rows, form, [*twice, *notes], meant, bool(twice))


def _twice(sheet: ParsedTable, known: StudyContext, rows: Iterable[ParsedRow]) -> list[str]:
    """Return warnings about values that appear twice in the table, or also in another round."""
    said = [] if sheet.repeated is None else [sheet.repeated.render(PAGE)]
    told: dict[int, dict[int, Entry]] = {}
    for row in rows:
        if row.round in known.rounds:
            told.setdefault(row.round, {})[row.arm] = row.entry
    error = repeated_round(known.problem, told, known.prints)
    return said if error is None else [*said, error.render(PAGE)]


def _of_round(known: StudyContext, number: int, entries: Mapping[int, Entry]) -> list[str]:
    """Return warnings about missing and surplus values of a round."""
    one = known.rounds.get(number)
    if one is None:
        return [
            f"Round {number} is not open: only what was stored of it before, or was taken back, "
            "can be told of it."
        ]
    names = dict(zip(one.arms, one.names, strict=True))
    left = [names[arm] for arm in one.remaining if arm not in entries]
    notes = [f"Round {number}: the table says nothing of {_some(left)}."] if left else []
    over = [names[a] for a, x in entries.items() if a in names and split(x, one.replicates)[1]]
    if over and known.problem.rewards.has_batch_effect():
        asked = "one value" if one.replicates == 1 else f"{one.replicates} values"
        notes.append(
            f"Round {number} was asked with {asked} of every arm: what comes after that for "
            f"{_some(over)} is kept, and does not count."
        )
    return notes


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _row(known: StudyContext, number: int, arm: int, entry: Entry) -> ParsedRow:
    name = known.problem.label([arm])
    odd = "" if entry is None else _odd(known, arm, entry)
    if entry is None:
        odd = "missing"
    one = known.rounds.get(number)
    if one is not None and arm not in one.arms:
        odd = "this arm is not in the round: it will be refused"
    return ParsedRow(number, arm, name, entry, shown(entry), odd)


def shown(entry: Entry) -> str:
    """Return an entry as text.

    >>> shown(0.5), shown([0.5, 0.25]), shown({"mean": 0.5, "n": 4}), shown(None)
    ('0.5', '0.5; 0.25', '0.5 (mean of 4)', '')
    """
    if entry is None:
        return ""
    if isinstance(entry, list):
        return "; ".join("missing" if x is None else f"{x:.10g}" for x in entry)
    if isinstance(entry, dict):
        return f"{entry['mean']:.10g} (mean of {int(entry['n']):,})"
    return f"{entry:.10g}"


def _odd(known: StudyContext, arm: int, entry: Entry) -> str:
    """Return why a value looks far from the values so far, or an empty text (a heuristic)."""
    if isinstance(known.problem.rewards, Bernoulli) or known.problem.rewards.has_batch_effect():
        return ""
    mean, n, spread = _usual(known, arm)
    for value, k in pulls(entry):
        error = spread * math.sqrt(1.0 / k + (1.0 / n if n else 0.0))
        if not error or not abs(value - mean) > FAR * error:
            continue
        times = abs(value - mean) / error
        than = "of its values so far" if n else "of all values so far"
        slip = _slip(value, mean, error)
        return f"{times:.3g} standard errors from the mean {than}, {mean:.4g}{slip}"
    return ""


def _slip(value: float, expected: float, error: float) -> str:
    """Return the value without a misplaced decimal point, if that is near the expected value."""
    for factor in (10.0, 100.0, 1000.0):
        for scaled in (value / factor, value * factor):
            if abs(scaled - expected) <= FAR * error:
                return f"; is it {scaled:.6g}?"
    return ""


def _odd_within(
    known: StudyContext, told: Mapping[int, Mapping[int, Entry]]
) -> dict[tuple[int, int], str]:
    """Return warnings by round and arm for problems with batch effects.

    Every value is compared with what all other values predict, including the other new ones.
    """
    problem, plays = known.problem, dict(known.within)
    for number, entries in told.items():
        asked = known.rounds[number].replicates if number in known.rounds else 1
        cells = [(a, x, n) for a, entry in entries.items() for x, n in split(entry, asked)[0]]
        if cells:
            before = [plays[number]] if number in plays else []
            plays[number] = np.concatenate([*before, np.array(cells, float).T], axis=1)
    wrong = known.noise is not None and known.noise.contradicted
    values, numbers = gathered(problem, plays), list(plays)
    stated = problem.rewards.variance_known
    least = 1.0 if stated else 0.0
    made: dict[tuple[int, int], str] = {}
    for one in outliers(values, problem.d, stated and not wrong, least, FAR_OFF, ALONE, ENOUGH):
        arm, value = int(values.arm[one.at]), float(values.x[one.at])
        text = "far from the other values of its round"
        if not one.alone:
            text = f"{one.errors:.3g} standard errors from what the other values let expect, "
            text += f"{one.expected:.4g}"
        if one.instead:
            names = [problem.label([int(values.arm[k])]) for k in one.instead]
            text += f"; or {_some(names)} is off, because nothing tells which"
        error = abs(value - one.expected) / one.errors if one.errors else 0.0
        made[numbers[values.play[one.at]], arm] = text + _slip(value, one.expected, error)
    return made


def _usual(known: StudyContext, arm: int) -> tuple[float, int, float]:
    """Return the mean so far, its number of values, and the standard deviation of one value.

    An arm without values gets the mean over all arms, and the range of their means is added to the
    standard deviation.
    """
    have = [one for one in known.estimates if one.n]
    noise = known.noise
    spread = 0.0
    if noise is not None:
        spread = max(noise.estimated_sigma or 0.0, noise.stated_sigma or 0.0)
    one = known.estimates[arm]
    if not have or not spread:
        return 0.0, 0, 0.0
    if one.n:
        return one.mean, one.n, spread
    means = [other.mean for other in have]
    middle = sum(means) / len(means)
    wide = max(means) - min(means)
    return middle, 0, spread + wide
