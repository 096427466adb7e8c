"""Arguments of the methods of a study, checked before anything is done.

The checks are made here, or by a client before it sends a request to a service. A result of an arm
is a number, a list of replicates, a pair (mean, n), or missing. Data frames are read, too.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._messages import CallHint, OptionHint, PhraseHint
from ..errors import (
    REASON,
    InputError,
    StudyError,
    check_bool,
    check_int,
    check_text,
    error_from,
    invalid_argument,
)
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import claimed_assumptions
from ..storage.events import Event
from ..tables import MARK, ParsedTable, is_frame, read_frame, read_table
from ..tables.reader import significant_digits
from .history import History
from .round import MOST_VALUES, Entry, Round, RoundRecord, fingerprint
from .settings import REPLICATES, read_time


class Todo(NamedTuple):
    """A round as its client names it; the mark is "" if the client did not note it."""

    id: int
    mark: str = ""


def _sheet(frame: Any, problem: Problem, study: str, rounds: bool, again: bool) -> ParsedTable:
    sheet = read_table(read_frame(frame), problem, study, rounds)
    if sheet.repeated is not None and not again:
        raise error_from(InputError, sheet.repeated)
    return sheet


def frame_rounds(frame: Any, problem: Problem, study: str, again: bool) -> dict[Todo, Any]:
    """Return the values of a data frame by round and arm."""
    sheet = _sheet(frame, problem, study, True, again)
    return {Todo(k, sheet.marks.get(k, "")): values for k, values in sheet.values.items()}


def frame_values(frame: Any, problem: Problem, study: str, again: bool) -> dict[int, Any]:
    """Return the values of a data frame by arm, without rounds."""
    return _sheet(frame, problem, study, False, again).values[0]


def mark_of(mark: Any) -> str:
    """Return the mark that a client gives; "" for none."""
    if mark is None:
        return ""
    if not isinstance(mark, str) or MARK.fullmatch(mark.strip().lower()) is None:
        what = "the eight letters that `ask` gave with the round"
        raise invalid_argument("mark", mark, what, "leave them as they were, or leave them out")
    return mark.strip().lower()


TODO = re.compile(r"(\d{1,9})#(.*)", re.ASCII)  # number and mark of a round
MOST_ROUNDS = 10_000  # rounds that are assigned in one transaction


def todo_of(round: Any) -> Todo:
    """Return the round that is meant.

    The argument is a round, its number and mark as a text, or its number.

    >>> todo_of("3#kqzmtwfb"), todo_of(3)
    (Todo(id=3, mark='kqzmtwfb'), Todo(id=3, mark=''))
    """
    if isinstance(round, Round | Todo):
        return Todo(check_int("round", round.id, 1), mark_of(round.mark or None))
    if isinstance(round, str) and (said := TODO.fullmatch(round.strip())) is not None:
        return Todo(check_int("round", int(said[1]), 1), mark_of(said[2]))
    return Todo(check_int("round", round, 1))


def name_of(name: Any) -> str:
    """Return the name of a study, checked."""
    return check_text("name", name, "a text, such as 'plate-7'")


def reason_of(reason: Any) -> str:
    """Return a reason, checked."""
    kept = "it is kept with the event"
    return check_text("reason", reason, "a text that says why", kept, most=REASON, lines=True)


def client_of(client: Any) -> str | None:
    """Return the name of a client or None, checked."""
    return None if client is None else check_text("client", client, "a text that says who, or None")


def asked_of(n: Any, lease: Any, replicates: Any = None) -> int:
    """Return the number of rounds that are asked for; check it, the lease and the replicates."""
    most = 1 if n is None else check_int("n", n, 1)
    if replicates is not None:
        check_int("replicates", replicates, 1, most=REPLICATES)
    if lease is not None and (
        isinstance(lease, bool) or not isinstance(lease, int | float) or not 0.0 < lease < 1e10
    ):
        raise invalid_argument("lease", lease, "a positive number of seconds, or None")
    if most > MOST_ROUNDS:
        raise InputError(
            "too-many-rounds",
            "n = {n:,} is more than the {most:,} rounds that are given out at once, while others "
            "wait",
            remedy="ask for them in portions",
            n=most,
            most=MOST_ROUNDS,
        )
    return most


def rounds_of(told: Any, problem: Problem, name: str, again: bool) -> dict[Todo, Any]:
    """Return results by round; if ``again`` is True, a data frame may have repeated rows."""
    again = check_bool("allow_duplicates", again)
    if is_frame(told):
        told = frame_rounds(told, problem, name, again)
    rounds: dict[int, tuple[Todo, Any]] = {}
    try:
        pairs = [
            (key, values) for key, values in (told.items() if isinstance(told, Mapping) else told)
        ]
    except Exception:  # of any argument
        what = "values by round, such as {{todo: {{'name': 0.3}}}}, or pairs (round, values)"
        raise invalid_argument("told", told, what) from None
    for key, values in pairs:
        todo = todo_of(key)
        if todo.id in rounds:
            text = "round {round} is given twice"
            raise InputError("round-twice", text, remedy="give it once", round=todo.id)
        rounds[todo.id] = todo, values
    return dict(rounds.values())


def observed_of(values: Any, problem: Problem, name: str, again: bool) -> dict[int, Entry]:
    """Return data from outside by arm; see `rounds_of` for ``again``."""
    again = check_bool("allow_duplicates", again)
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
    """Refuse a retraction that names neither or both of a round and an arm."""
    if (round is None) == (arm is None):
        text = "retract takes a round or an arm, one of them"
        remedy, arm_option = "give a round, or {arm}, and not both", OptionHint("arm")
        raise InputError("round-or-arm", text, remedy=remedy, arm=arm_option)


def limits_of(max_rounds: Any, deadline: Any) -> dict[str, Any]:
    """Return the limits that are extended, by name; None stands for no limit."""
    if max_rounds is None and deadline is None:
        raise InputError(
            "extend-nothing",
            "extend changes {max_rounds} or {deadline}",
            remedy="give one of them, or both",
            max_rounds=OptionHint("max_rounds"),
            deadline=OptionHint("deadline"),
        )
    given: dict[str, Any] = {}
    if max_rounds is not None:
        endless = isinstance(max_rounds, float) and max_rounds == math.inf
        given["max_rounds"] = None if endless else check_int("max_rounds", max_rounds, 1)
    if deadline is not None:
        endless = isinstance(deadline, float) and deadline == math.inf
        given["deadline"] = None if endless else read_time(deadline)
    return given


# ---- values of arms


def read_values(
    problem: Problem, values: Any, among: Collection[int] | None = None, round: int | None = None
) -> dict[int, Entry]:
    """Return results by arm, checked.

    Parameters
    ----------
    problem : Problem
        Problem of the study.
    values : mapping
        Results by arm.
    among : collection of int, optional
        Arms that may have a result.
    round : int, optional
        Number of the round, for error messages.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0), names=["a", "b", "c"])
    >>> read_values(problem, {"a": 1, 1: [0.5, 0.25], "c": (0.5, 4)})
    {0: 1.0, 1: [0.5, 0.25], 2: {'mean': 0.5, 'n': 4}}
    """
    if not hasattr(values, "keys"):
        what = "values by arm, such as {{0: 0.3}} or {{'name': 0.3}}"
        raise invalid_argument("values", values, what)
    entries: dict[int, Entry] = {}
    for key in values.keys():  # noqa: SIM118  (a pandas Series iterates over its values)
        arm = problem.arm_index(key)
        try:
            if among is not None and arm not in among:
                text = "it is not in the round, which has {arms}"
                raise InputError("not-in-round", text, arms=problem.label(sorted(among)))
            if arm in entries:
                text = "it is given twice, by its name and by its number"
                raise InputError("arm-twice", text, remedy="give it once")
            entries[arm] = _entry(problem, arm, values[key])
        except InputError as error:
            name = problem.label([arm])
            if round is None:
                raise error.with_context("arm {arm}", arm=name) from None
            raise error.with_context("round {round}, arm {arm}", round=round, arm=name) from None
    return entries


def missing(value: Any) -> bool:
    """Return True for None, NaN, and pandas' missing values."""
    return (
        value is None
        or (isinstance(value, float | np.floating) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    )


def _entry(problem: Problem, arm: int, value: Any) -> Entry:
    if missing(value):
        return None
    if isinstance(value, tuple):
        if (
            len(value) != 2
            or isinstance(value[1], bool)
            or not isinstance(value[1], int | np.integer)
            or value[1] < 1
        ):
            what = "(mean, n) with a whole n of at least 1"
            raise invalid_argument("value", value, what, "replicates come as a list")
        mean, n = value[0], int(value[1])
        if not problem.rewards.variance_known:
            raise InputError(
                "variance-hidden",
                "a mean of {n} values hides how they vary, which is needed here",
                remedy="{instead}",
                n=n,
                instead=PhraseHint("several values"),
            )
        mean = _number(problem, arm, mean, n)
        if n > MOST_VALUES:
            text = "n = {n} is more than 2**53, beyond which numbers are not counted exactly"
            raise InputError("n-too-large", text, remedy="check it", n=n)
        return {"mean": mean, "n": n}
    flat = isinstance(value, list) and not any(isinstance(x, list | tuple) for x in value)
    if flat or (isinstance(value, np.ndarray) and value.ndim == 1):
        several = [None if missing(x) else _number(problem, arm, x) for x in value]
        return None if all(x is None for x in several) else several
    return _number(problem, arm, value)


def _number(problem: Problem, arm: int, value: Any, n: int | None = None) -> float:
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, int | float):
        what = "a number, a list of replicates, (mean, n), or None for missing"
        raise invalid_argument("value", value, what)
    # a whole number may be too large for a float
    x = float(plain) if abs(plain) <= 1e100 else math.inf
    low, high = problem.rewards.support(problem.d)
    if not abs(x) <= 1e100:
        blank = PhraseHint("missing value")
        raise invalid_argument(
            "value", value, "a finite number, at most 1e100", "{blank}", blank=blank
        )
    if not low <= x <= high:
        raise InputError(
            "value-outside",
            "{value:g} is outside [{low:g}, {high:g}], where {rewards} has its values",
            remedy="check the value",
            value=x,
            low=low,
            high=high,
            rewards=str(problem.rewards),
        )
    why = problem.rewards.check_value(x, n) or problem.precision_problem(arm, x, n or 1)
    if why is not None:
        raise error_from(InputError, why)
    return x


def check_means(problem: Problem, number: int, replicates: int, given: dict[int, Entry]) -> None:
    """Refuse a mean that hides which of its values were asked for, if only these count."""
    for arm, entry in given.items():
        if (
            problem.rewards.has_batch_effect()
            and isinstance(entry, dict)
            and entry["n"] > replicates
        ):
            raise InputError(
                "mean-hides",
                "round {round}, arm {arm}: a mean of {n} values hides the {asked:count value} that "
                "{asked:was|were} asked for, and no others count where plays have levels",
                remedy="tell them as a list, in the order in which they were measured; next time "
                "ask for as many, with {replicates}",
                round=number,
                arm=problem.label([arm]),
                n=entry["n"],
                asked=replicates,
                replicates=OptionHint("replicates", entry["n"]),
            )


def check_one_play(
    problem: Problem, number: int, record: RoundRecord, given: dict[int, Entry]
) -> None:
    """Refuse values that replace retracted ones beside other values of a play with a batch effect.

    Whether they are from the same play cannot be known.
    """
    if not problem.rewards.has_batch_effect():
        return
    for arm, entry in given.items():
        anew = arm in record.again if record.over else arm in record.gone
        if (
            entry is not None
            and anew
            and any(
                told.entry is not None and (record.over or not told.anew)
                for other, told in record.told.items()
                if other not in record.again
            )
        ):
            raise StudyError(
                "one-play",
                "round {round}, arm {arm}: where plays have levels, all values of a round are of "
                "one play, so a value that was retracted cannot be told anew beside others that "
                "stand",
                remedy="{retract}, and then tell all values of one play",
                round=number,
                arm=problem.label([arm]),
                retract=CallHint("retract", number, "reason"),
            )


def check_whole(problem: Problem, number: int, replicates: int, given: dict[int, Entry]) -> None:
    """Refuse an incomplete set of replicates of an arm if more results will follow."""
    for arm, entry in given.items():
        told = len(entry) if isinstance(entry, list) else 1
        if entry is not None and not isinstance(entry, dict) and told < replicates:
            raise InputError(
                "replicates-together",
                "round {round}, arm {arm}: {told:count value} {told:is|are} told of the {n} that "
                "were asked for",
                remedy="tell all values of an arm together, as a list with None for those that are "
                "missing",
                round=number,
                arm=problem.label([arm]),
                told=told,
                n=replicates,
            )


def check_play(record: RoundRecord, todo: Todo, client: str | None) -> None:
    """Refuse results of a play with a batch effect that was abandoned for another play."""
    others = client is not None and record.asker is not None and client != record.asker
    if (
        record.plays > 1
        and not record.over
        and ((todo.mark and todo.mark != record.mark) or others)
    ):
        raise StudyError(
            "measured-anew",
            "round {round} was asked again since, and all values of a round are of one play where "
            "plays have levels; nothing was changed",
            remedy="leave it to {asker}, who has the round now",
            round=todo.id,
            asker=record.asker or "whoever",
        )


def check_todo(todo: Todo, mark: str, name: str) -> None:
    """Refuse results of another round; ``mark`` is that of the round with this number now."""
    if todo.mark and todo.mark != mark:
        raise StudyError(
            "other-round",
            "round {round} of study {name!r} is another one now than the one that is meant: since "
            "that was asked, an older copy of the study was put back; or it was asked by another "
            "study. Nothing was changed",
            remedy="ask again for what to measure now; {observe} adds what was measured already",
            round=todo.id,
            name=name,
            observe=CallHint("observe"),
        )


# ---- Repeated values are most likely the same data. This heuristic only asks for a confirmation
# before they count twice.

MANY = 8  # digits in all: by chance, one of 10^8 such tables has the same values


def is_probably_chance(problem: Problem, values: Mapping[int, Entry]) -> bool:
    """Return True if the same values might well occur again, because they have few digits in all.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0))
    >>> few, many = {0: 0.5, 1: 0.25}, {0: 0.51234, 1: 0.2718}
    >>> is_probably_chance(problem, few), is_probably_chance(problem, many)
    (True, False)
    """
    binary = Assumption.BINARY in claimed_assumptions(problem.rewards)
    total = 0.0
    for entry in values.values():
        if isinstance(entry, dict):
            total += 1.0 if binary else significant_digits(entry["mean"])
        elif isinstance(entry, list):
            total += sum(0.3 if binary else significant_digits(x) for x in entry if x is not None)
        elif entry is not None:
            total += 0.3 if binary else significant_digits(entry)
    return total < MANY


def fingerprints(events: Iterable[Event]) -> dict[str, int]:
    """Return the fingerprints of data that were reported or added together, with their numbers."""
    made: dict[str, int] = {}
    for event in events:
        if event.kind in ("told", "observed") and event.round is not None:
            values = {int(arm): entry for arm, entry in event.data["values"].items()}
            made.setdefault(fingerprint(values), event.round)
    return made


def repeated_round(
    problem: Problem, told: Mapping[int, Mapping[int, Entry]], before: Mapping[str, int]
) -> InputError | None:
    """Return an error if a round has exactly the values of another one, otherwise None.

    Most likely it is the table of another round. ``told`` are new results by round and arm, and
    ``before`` are the fingerprints of earlier ones.
    """
    known = dict(before)
    for number, values in sorted(told.items()):
        if is_probably_chance(problem, values):
            continue
        one = fingerprint(values)
        if known.get(one, number) != number:
            return InputError(
                "round-repeated",
                "round {round} has the very values of number {other}, for the same arms; nothing "
                "was stored",
                remedy="check the table, or {again} if they were measured twice",
                round=number,
                other=known[one],
                again=PhraseHint("again"),
            )
        known[one] = number
    return None


def check_replicates(history: History, times: int) -> None:
    """Refuse another number of replicates within the initial design."""
    if history.asked and history.starting:
        raise StudyError(
            "start-replicates",
            "{short:count arm} {short:has|have} not been asked for as often as the start of the "
            "study has every arm, and all rounds of the start have the same number of replicates, "
            "here {usual}: what sigma is believed to be rests on it",
            remedy="leave out {option} until then",
            short=history.short,
            usual=history.usual,
            option=OptionHint("replicates", times),
        )
