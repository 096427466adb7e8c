"""Data frames as what is told or observed."""

from typing import Any

from ..errors import InputError, said_by
from ..problem import Problem
from ..tables import Sheet, read_frame, read_table
from .round import Todo


def _sheet(frame: Any, problem: Problem, study: str, rounds: bool, again: bool) -> Sheet:
    sheet = read_table(read_frame(frame), problem, study, rounds)
    if sheet.repeated is not None and not again:
        raise said_by(InputError, sheet.repeated)
    return sheet


def frame_rounds(frame: Any, problem: Problem, study: str, again: bool) -> dict[Todo, Any]:
    """Values by round and arm."""
    sheet = _sheet(frame, problem, study, True, again)
    return {Todo(k, sheet.marks.get(k, "")): values for k, values in sheet.values.items()}


def frame_values(frame: Any, problem: Problem, study: str, again: bool) -> dict[int, Any]:
    """Values by arm, whatever the rounds."""
    return _sheet(frame, problem, study, False, again).values[0]
