"""The tables that `ask` writes and `tell` reads: what keeps values from being lost, and from
counting twice.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import CombGameError, InputError, StoreError, error_from
from ...lab.exports import read_sheet, write_sheet, write_workbook
from ...lab.inputs import fingerprints, is_probably_chance, read_values, repeated_round
from ...tables import ParsedTable
from .._common import SHELL, say
from ._common import named

Sep = Annotated[
    str | None,
    typer.Option(help="What stands between cells: comma, semicolon, tab.", show_default="detected"),
]
Decimal = Annotated[
    str | None,
    typer.Option(help="The decimal mark of numbers: . or a comma.", show_default="detected"),
]
Again = Annotated[
    bool,
    typer.Option("--again", help="Values that seem to be there twice were measured twice."),
]


def table(rounds: Any, study: str, out: Path) -> str | bytes:
    """What to fill in, as the file's name ends."""
    if out.suffix.lower() == ".xlsx":
        return write_workbook(rounds, study)
    return write_sheet(rounds, study, "\t" if out.suffix.lower() in (".tsv", ".tab") else ",")


def taken(
    path: Path,
    study: Any,
    rounds: bool,
    sep: str | None,
    decimal: str | None,
    again: bool,
) -> ParsedTable:
    """What a table says; how it was read is said, unless it is as `ask` writes it."""
    sheet = read_sheet(path, study.problem, study.name, rounds, sep, decimal)
    if not sheet.form.plain:
        say(f"{path}: {sheet.form.sentence.render(SHELL)}")
    if sheet.repeated is not None and not again:
        raise error_from(InputError, sheet.repeated.with_context("{path}", path=str(path)))
    return sheet


def check_repeats(study: Any, sheet: Mapping[int, Mapping[int, Any]]) -> None:
    """Refuse a round that has the very values of another one: most likely it is another's table."""
    entries = {
        number: read_values(study.problem, values, round=number)
        for number, values in sorted(sheet.items())
    }
    if all(is_probably_chance(study.problem, values) for values in entries.values()):
        return
    with study.moment(history=True) as now:
        before = fingerprints(one for one in now.events if one.round not in entries)
    error = repeated_round(study.problem, entries, before)
    if error is not None:
        raise error


def spare(path: Path, study: Any) -> None:
    """Refuse to overwrite values that were not told, and what is not a table of this study."""
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        try:
            sheet = read_sheet(path, study.problem, study.name).values
        except CombGameError as error:
            if error.code != "ambiguous-number":
                raise
            # which cells have a value is all that matters here
            sheet = read_sheet(path, study.problem, study.name, decimal=",").values
    except CombGameError as error:
        raise StoreError(
            "no-table",
            "{path} is there already, and is no table of this study ({why})",
            remedy="move it, or name another --out, or --force to overwrite it",
            path=str(path),
            why=error.sentence,
        ) from None
    left = {one.id: one.remaining for one in study.pending}
    for number, values in sheet.items():
        if any(x is not None and arm in left.get(number, ()) for arm, x in values.items()):
            raise StoreError(
                "values-not-told",
                "{path} has values of round {round} that were not told",
                remedy="`combgame study tell {path}{named}` first, or name another --out, or "
                "--force to overwrite it",
                path=str(path),
                round=number,
                named=named(study.name),
            )


def check_whole(
    path: Path, sheet: ParsedTable, left: dict[int, tuple[int, ...]], problem: Any
) -> None:
    """Refuse a table that was cut off."""
    cut = [
        (number, arm)
        for number, values in sheet.values.items()
        for arm in left.get(number, ())
        if arm not in values and not sheet.form.wide
    ]
    if cut:
        (number, arm), *rest = cut
        text = "{path}: the table is incomplete: round {round} has no line for {arm}"
        if rest:
            text += " ({more} more {more:is|are} missing)"
        raise InputError(
            "line-missing",
            text,
            remedy="give the whole table (a blank value is missing), or --partial if the rest is "
            "still to come",
            path=str(path),
            round=number,
            arm=problem.label([arm]),
            more=len(rest),
        )
    if not sheet.whole:
        raise InputError(
            "no-newline",
            "{path}: the table is incomplete: its last line has no newline at its end, as if it "
            "were cut off",
            remedy="end it with one if it is whole, or --partial if the rest is still to come",
            path=str(path),
        )
