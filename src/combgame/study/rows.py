"""The rows of a study: per round, per arm, per event; and how its evidence grew."""

import json
import math
from bisect import bisect_left
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate
from typing import Any

from ..errors import unknown
from ..problem import Problem
from ..storage.events import Event, no_collecting, seal
from .advisor import Advisor
from .entries import pulls
from .ledger import Effect, Ledger
from .round import Record
from .settings import Setting

LEVELS = ("round", "arm", "event")


def rows(problem: Problem, events: list[Event], level: str) -> list[dict[str, Any]]:
    """One row per round and arm in it, or per event; the events are all of them."""
    if level == "round":
        records = Ledger.of(problem.d, events).records.values()
        names = {arm: problem.label([arm]) for arm in {a for one in records for a in one.arms}}
        with no_collecting():
            return [_row(names[arm], one, arm) for one in records for arm in one.arms]
    if level == "event":
        seals = accumulate(events, seal, initial="")
        next(seals)
        return [
            {**one._asdict(), "at": _moment(one.at), "data": json.dumps(one.data), "seal": sealed}
            for one, sealed in zip(events, seals, strict=True)
        ]
    raise unknown("level", level, LEVELS)


@lru_cache(maxsize=100)  # what was asked or told together has one moment
def _moment(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):  # a clock beyond all calendars
        return f"{at:g} seconds after 1970"


def _row(name: str, record: Record, arm: int) -> dict[str, Any]:
    """An arm of a round, by its name; what was retracted is no longer there."""
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


def arm_rows(advisor: Advisor) -> list[dict[str, Any]]:
    """One row per arm: how often, how much, between what, at all times with probability 1 - delta;
    `leads`: whether it is in the leading answer.
    """
    return [
        {
            "arm": one.name,
            "n": one.n,
            "mean": one.mean,
            "low": one.low,
            "high": one.high,
            "pending": int(advisor.ledger.pending[one.arm]),
            "leads": one.leads,
        }
        for one in advisor.estimates()
    ]


def history(
    setting: Setting, engine: str, events: list[Event], most: int | None = None
) -> list[dict[str, Any]]:
    """The evidence after everything that was told; nothing is chosen again for that. most: at so
    many moments, evenly, with the last one and that of the certificate. `late`: it came after the
    study had ended, and is not part of its result.
    """
    advisor, points, wanted = Advisor(setting, engine, whole=True), [], _some(events, most)
    for event in events:
        effect = advisor.apply(event, chosen=True)
        judged = wanted is None or event.seq in wanted
        if effect in (Effect.VALUES, Effect.CHANGE) and not event.data.get("more") and judged:
            facts = advisor.facts("running")
            kept = {
                key: facts[key] for key in ("rounds", "values", "evidence", "threshold", "delta")
            }
            points.append(
                {
                    "seq": event.seq,
                    "at": event.at,
                    "leader": setting.problem.label(facts["answer"]),
                    **kept,
                }
            )
    end = math.inf if advisor.ended is None else advisor.ended["seq"]
    return [{**one, "late": one["seq"] > end} for one in points]


TELLING = ("told", "observed", "retracted")  # after which other values count


def _some(events: list[Event], most: int | None) -> set[int] | None:
    """The numbers of some of the events that told something, among them the last one and those on
    which a certificate was given; None: all.
    """
    telling = [one.seq for one in events if one.kind in TELLING and not one.data.get("more")]
    if most is None or len(telling) <= most:
        return None
    ends = [bisect_left(telling, one.seq) - 1 for one in events if one.kind == "certified"]
    return {telling[len(telling) * (k + 1) // most - 1] for k in range(most)} | {
        telling[place] for place in ends if place >= 0
    }
