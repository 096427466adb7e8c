"""The tables that `ask` writes and `tell` reads: what keeps values from being lost."""

from pathlib import Path
from typing import Any

from ...errors import CombGameError, InputError, StoreError
from ...study.sheet import read_sheet
from .base import named


def spare(path: Path, study: Any) -> None:
    """Refuse to overwrite values that were not told, and what is not a table of this study."""
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        sheet = read_sheet(path, study.problem, study.name)
    except CombGameError as error:
        raise StoreError(
            "no-table",
            "{path} is there already, and is no table of this study ({why})",
            remedy="move it, or name another --out, or --force to overwrite it",
            path=str(path),
            why=error.sentence,
        ) from None
    left = {one.id: one.left for one in study.pending}
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
    path: Path, sheet: dict[int, dict[int, Any]], left: dict[int, tuple[int, ...]], problem: Any
) -> None:
    """Refuse a table that was cut off."""
    cut = [
        (number, arm)
        for number, values in sheet.items()
        for arm in left.get(number, ())
        if arm not in values
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
    if not path.read_bytes().endswith((b"\n", b"\r")):
        raise InputError(
            "no-newline",
            "{path}: the table is incomplete: its last line has no newline at its end, as if it "
            "were cut off",
            remedy="end it with one if it is whole, or --partial if the rest is still to come",
            path=str(path),
        )
