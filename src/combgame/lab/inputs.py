"""What the verbs of a study take, checked before anything is done: here, or by a client before it
asks a service.

Data frames as what is told or observed.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from .._messages import Option
from ..errors import REASON, InputError, must_be, plain_text, said_by, whole
from ..problem import Problem
from ..tables import Sheet, is_frame, read_frame, read_table
from .round import Round, Todo, mark_of
from .settings import REPLICATES, read_time
from .values import Entry, read_values


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


TODO = re.compile(r"(\d{1,9})#(.*)", re.ASCII)  # a round as a text
MOST = 10_000  # rounds that are given out in one transaction


def todo_of(round: Any) -> Todo:
    """Which round is meant: one that was asked, its number and its mark as a text, or a number
    alone.

    >>> todo_of("3#kqzmtwfb"), todo_of(3)
    (Todo(id=3, mark='kqzmtwfb'), Todo(id=3, mark=''))
    """
    if isinstance(round, Round | Todo):
        return Todo(whole("round", round.id, 1), mark_of(round.mark or None))
    if isinstance(round, str) and (said := TODO.fullmatch(round.strip())) is not None:
        return Todo(whole("round", int(said[1]), 1), mark_of(said[2]))
    return Todo(whole("round", round, 1))


def name_of(name: Any) -> str:
    return plain_text("name", name, "a text, such as 'plate-7'")


def reason_of(reason: Any) -> str:
    kept = "it is kept with the event"
    return plain_text("reason", reason, "a text that says why", kept, most=REASON, lines=True)


def client_of(client: Any) -> str | None:
    return None if client is None else plain_text("client", client, "a text that says who, or None")


def asked_of(n: Any, lease: Any, replicates: Any = None) -> int:
    """How many rounds are asked for."""
    most = 1 if n is None else whole("n", n, 1)
    if replicates is not None:
        whole("replicates", replicates, 1, most=REPLICATES)
    if lease is not None and (
        isinstance(lease, bool) or not isinstance(lease, int | float) or not 0.0 < lease < 1e10
    ):
        raise must_be("lease", lease, "a positive number of seconds, or None")
    if most > MOST:
        raise InputError(
            "too-many-rounds",
            "n = {n:,} is more than the {most:,} rounds that are given out at once, while others "
            "wait",
            remedy="ask for them in portions",
            n=most,
            most=MOST,
        )
    return most


def rounds_of(told: Any, problem: Problem, name: str, again: bool) -> dict[Todo, Any]:
    """Values by round, as they were given."""
    if is_frame(told):
        told = frame_rounds(told, problem, name, again)
    rounds: dict[int, tuple[Todo, Any]] = {}
    try:
        pairs = [
            (key, values) for key, values in (told.items() if isinstance(told, Mapping) else told)
        ]
    except Exception:  # whatever was given
        what = "values by round, such as {{todo: {{'name': 0.3}}}}, or pairs (round, values)"
        raise must_be("told", told, what) from None
    for key, values in pairs:
        todo = todo_of(key)
        if todo.id in rounds:
            text = "round {round} is given twice"
            raise InputError("round-twice", text, remedy="give it once", round=todo.id)
        rounds[todo.id] = todo, values
    return dict(rounds.values())


def observed_of(values: Any, problem: Problem, name: str, again: bool) -> dict[int, Entry]:
    """Data from outside by arm."""
    if is_frame(values):
        values = frame_values(values, problem, name, again)
    given: dict[int, Entry] = {
        arm: entry for arm, entry in read_values(problem, values).items() if entry is not None
    }
    if not given:
        text, remedy = "values = {values!r} has no value", "give at least one arm with one"
        raise InputError("no-value", text, remedy=remedy, values=values)
    return given


def round_or_arm(round: Any, arm: Any) -> None:
    """What is retracted."""
    if (round is None) == (arm is None):
        text = "retract takes a round or an arm, one of them"
        remedy, arm_option = "give a round, or {arm}, and not both", Option("arm")
        raise InputError("round-or-arm", text, remedy=remedy, arm=arm_option)


def limits_of(max_rounds: Any, deadline: Any) -> dict[str, Any]:
    """What is extended, and to what; None: no limit any longer."""
    if max_rounds is None and deadline is None:
        raise InputError(
            "extend-nothing",
            "extend changes {max_rounds} or {deadline}",
            remedy="give one of them, or both",
            max_rounds=Option("max_rounds"),
            deadline=Option("deadline"),
        )
    given: dict[str, Any] = {}
    if max_rounds is not None:
        endless = isinstance(max_rounds, float) and max_rounds == math.inf
        given["max_rounds"] = None if endless else whole("max_rounds", max_rounds, 1)
    if deadline is not None:
        endless = isinstance(deadline, float) and deadline == math.inf
        given["deadline"] = None if endless else read_time(deadline)
    return given
