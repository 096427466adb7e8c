"""Tables of a study: rows per round, arm or event, its evidence, and sheets to fill in.

`combgame.tables` reads sheets that are filled in.
"""

import csv
import io
import json
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from .._display.text import defused
from ..errors import CombGameError, unknown_name
from ..problem import Problem
from ..storage.events import Event, chain_hash, no_collecting
from ..tables import ParsedTable, known_column, read_file, read_table
from ..tables.excel import write_excel
from .analysis import estimates
from .history import EventEffect, History
from .policy import StudyState
from .round import Round, RoundRecord, pulls
from .settings import StudySettings

LEVELS = ("round", "arm", "event")


def rows(problem: Problem, events: list[Event], level: str) -> list[dict[str, Any]]:
    """Return one row per round and arm in it, or per event; ``events`` are all of them."""
    if level == "round":
        records = History.of(problem.d, events).records.values()
        names = {arm: problem.label([arm]) for arm in {a for one in records for a in one.arms}}
        with no_collecting():
            return [_row(names[arm], one, arm) for one in records for arm in one.arms]
    if level == "event":
        seals = accumulate(events, chain_hash, initial="")
        next(seals)
        return [
            {
                **one._asdict(),
                "timestamp": _moment(one.timestamp),
                "data": json.dumps(one.data),
                "seal": sealed,
            }
            for one, sealed in zip(events, seals, strict=True)
        ]
    raise unknown_name("level", level, LEVELS)


@lru_cache(maxsize=100)  # events of one transaction have the same time
def _moment(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):  # beyond the year 9999
        return f"{at:g} seconds after 1970"


def _row(name: str, record: RoundRecord, arm: int) -> dict[str, Any]:
    """Return the row of an arm in a round; retracted results are left out."""
    state, told = record.stands(arm), record.told.get(arm)
    stands = told is not None and told.at is not None and state != "retracted"
    values = list(pulls(told.entry)) if told is not None and stands else []
    n, at = sum(k for _, k in values), _moment(record.asked)
    return {
        "round": record.number,
        "arm": name,
        "state": state,
        "n": n,
        "mean": sum(x * k for x, k in values) / n if n else None,
        "client": record.asker,
        "asked": None if record.outside else at,
        "observed": at if record.outside else None,
        "told": _moment(told.at) if told is not None and told.at is not None and stands else None,
    }


def arm_rows(state: StudyState) -> list[dict[str, Any]]:
    """Return one row per arm, with an interval that holds at all times with probability 1 - delta.

    The column ``leads`` is True for arms of the leading answer.
    """
    return [
        {
            "arm": one.name,
            "n": one.n,
            "mean": one.mean,
            "low": one.low,
            "high": one.high,
            "pending": int(state.history.pending[one.arm]),
            "leads": one.leads,
        }
        for one in estimates(state.monitor)
    ]


def history(
    setting: StudySettings, engine: str, events: list[Event], most: int | None = None
) -> list[dict[str, Any]]:
    """Return the evidence after each report; no round is chosen again for it.

    Parameters
    ----------
    setting : StudySettings
        Settings of the study.
    engine : str
        "python" or "compiled".
    events : list of Event
        All events.
    most : int, optional
        Maximal number of rows, evenly spaced. The last one and those of certificates are included.

    Returns
    -------
    list of dict
        See `Study.history`.
    """
    state, points, wanted = StudyState(setting, engine, whole=True), [], _some(events, most)
    for event in events:
        effect = state.apply(event, chosen=True)
        judged = wanted is None or event.seq in wanted
        if (
            effect in (EventEffect.VALUES, EventEffect.CHANGE)
            and not event.data.get("more")
            and judged
        ):
            facts = state.monitor.facts()
            kept = {
                key: facts[key] for key in ("rounds", "values", "evidence", "threshold", "delta")
            }
            points.append(
                {
                    "seq": event.seq,
                    "timestamp": event.timestamp,
                    "leader": setting.problem.label(facts["answer"]),
                    **kept,
                }
            )
    end = math.inf if state.monitor.ended is None else state.monitor.ended["seq"]
    return [{**one, "late": one["seq"] > end} for one in points]


TELLING = ("told", "observed", "retracted")  # kinds of events that change the values


def _some(events: list[Event], most: int | None) -> set[int] | None:
    """Return the numbers of some events that changed the values; None for all of them.

    The last one and those on which a certificate was given are among them.
    """
    telling = [one.seq for one in events if one.kind in TELLING and not one.data.get("more")]
    if most is None or len(telling) <= most:
        return None
    ends = [bisect_left(telling, one.seq) - 1 for one in events if one.kind == "certified"]
    return {telling[len(telling) * (k + 1) // most - 1] for k in range(most)} | {
        telling[place] for place in ends if place >= 0
    }


HEAD = ("study", "round", "arm", "value")


def write_sheet(rounds: Sequence[Round], study: str, sep: str = ",") -> str:
    """Return a CSV table of what is left to measure, with one line per replicate.

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
    """Return the table of `write_sheet` as an Excel workbook."""
    return write_excel(HEAD, _lines(rounds, study), study)


def _lines(rounds: Sequence[Round], study: str) -> Iterator[list[object]]:
    for one in rounds:
        of = f"{study}#{one.mark}" if one.mark else study
        names = dict(zip(one.arms, one.names, strict=True))
        for arm in one.remaining:
            yield from ([of, one.id, names[arm], ""] for _ in range(one.replicates))


def read_sheet(
    path: Path,
    problem: Problem,
    study: str,
    rounds: bool = True,
    sep: str | None = None,
    decimal: str | None = None,
) -> ParsedTable:
    """Return the values in a file by round and arm; all of them under 0 if the table has no rounds.

    Parameters
    ----------
    path : Path
        CSV file or workbook. It need not name the study.
    problem : Problem
        Problem of the study.
    study : str
        Name of the study.
    rounds : bool, default=True
        True if the table should have rounds.
    sep, decimal : str, optional
        Separator of cells, and decimal separator. By default they are detected.
    """
    try:
        grid = read_file(path, known_column(problem), sep)
        return read_table(grid, problem, study, rounds, decimal)
    except CombGameError as error:
        raise error.with_context("{path}", path=str(path)) from None
