"""What the report of a study holds, as plain data; `report/studies.py` makes pages of it."""

import math
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ..errors import must_be
from ..sentences import PYTHON, Surface
from ..storage.events import Event
from ..theory.complexity import Complexity
from ..theory.limit import limit
from ..version import __version__
from .doubts import among
from .forecast import MANY
from .networks import network
from .plots import arms_of, contradicted, drawn, estimated, solved, spread, unit_of
from .spoken import spoken

QUIET = ("asked", "told", "created")  # events that the table of rounds shows


def gathered(
    moment: Any, unit: str | None = None, plan: Any = None, surface: Surface = PYTHON
) -> dict[str, Any]:
    """All of a study at one moment, with its events. plan: what `combgame.plan` gave before it."""
    if plan is not None and not hasattr(plan, "cases"):
        raise must_be("plan", plan, "what plan() gave, or None", of="report")
    rows, best, data = moment.rows("round"), None, brief(moment, unit, surface, "overview")
    if data["drawn"] is not None:
        few = moment.problem.d <= MANY  # else it would take minutes
        best = solved(moment.problem, data["drawn"]["arms"]) if few else None
        spread(data["drawn"]["arms"], best)
    return {
        **data,
        "problem": spoken(moment.problem),
        "network": network(moment.problem, arms_of(moment, data["status"])),
        "margin": margin(moment),
        "rounds": rounds(rows, moment.events),
        "people": people(rows),
        "others": [_other(one) for one in moment.events if one.kind not in QUIET],
        "hindsight": None if best is None else hindsight(moment, data["drawn"]["arms"], best),
        "expects": moment.events[0].data.get("expects"),
        "plan": None if plan is None else against(plan, data["status"]["settings"]["delta"]),
        "made": minute(datetime.now(UTC).timestamp()),
        "version": __version__,
    }


def brief(
    moment: Any, unit: str | None = None, surface: Surface = PYTHON, kind: str = "estimates"
) -> dict[str, Any]:
    """Where it stands, and what a picture of that kind needs."""
    if unit is not None and not isinstance(unit, str):
        raise must_be("unit", unit, "a text, such as 'mg/l', or None")
    status, decision = moment.status, moment.decision
    plain = status.to_dict(surface)
    return {
        "name": moment.name,
        "unit": unit or unit_of(moment.problem),
        "status": plain,
        "weighed": status.weighed.spelt(surface),
        "contradicted": contradicted(plain),
        "among": among(moment.problem),
        "decision": None if decision is None else decision.to_dict(surface),
        "drawn": drawn(moment, kind, unit) if status.values else None,
    }


def minute(at: float) -> str:
    """
    >>> minute(0.0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def margin(moment: Any) -> dict[str, Any] | None:
    """The leader's lead over the rival that is hardest to rule out, as the estimates have it."""
    status = moment.status
    if not status.rivals or status.rivals[0].lead is None:
        return None
    mean = {one.arm: one.mean for one in status.estimates}
    leader, rival = set(status.leader), set(status.rivals[0].answer)
    if any(mean[a] is None for a in leader ^ rival):
        return None
    name = moment.problem.label
    return {
        "value": sum(mean[a] for a in leader - rival) - sum(mean[a] for a in rival - leader),
        "rival": status.rivals[0].name,
        "instead": [name(sorted(leader - rival)), name(sorted(rival - leader))],
        "exchange": len(leader) > 1,
    }


def rounds(rows: list[dict[str, Any]], events: list[Event]) -> list[dict[str, Any]]:
    """One row per round: what was measured, by whom, when; rows: one per round and arm."""
    tellers: dict[int, dict[str, None]] = {}
    for event in events:
        if event.kind == "told" and event.round is not None and event.client is not None:
            tellers.setdefault(event.round, {})[event.client] = None
    made: dict[int, dict[str, Any]] = {}
    for row in rows:
        number, asker = row["round"], row["client"]
        who = tellers.get(number) or ({asker: None} if asker else {})
        begun = {"round": number, "when": "", "who": ", ".join(who), "values": []}
        one = made.setdefault(number, {**begun, "outside": row["observed"] is not None})
        when = row["told"] or row["observed"] or row["asked"] or ""
        one["when"] = max(one["when"], when[:16].replace("T", " "))
        one["values"].append((row["arm"], row["mean"], row["n"], row["state"]))
    return list(made.values())


def people(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """Who asked for how many rounds, and how many values came of them."""
    values: Counter[str] = Counter()
    asked: dict[str, set[int]] = {}
    for row in rows:
        who = row["client"] or "(nobody was named)"
        values[who] += row["n"]
        asked.setdefault(who, set()).add(row["round"])
    return sorted((who, len(theirs), values[who]) for who, theirs in asked.items())


def _other(event: Event) -> dict[str, Any]:
    return {
        "when": minute(event.at),
        "what": event.kind,
        "round": event.round,
        "who": event.client,
        "reason": event.reason,
    }


def hindsight(moment: Any, arms: list[dict[str, Any]], best: Complexity) -> float | None:
    """The rounds that the best proportions take without noise if the estimates are the truth; None
    where that is not known.
    """
    problem = moment.problem
    if not problem.rewards.known:
        return None
    end = float(limit(moment.stopping, problem, np.array(estimated(problem, arms)), best))
    return end if end < math.inf else None


def against(plan: Any, delta: float) -> dict[str, Any]:
    """What was planned, at the delta of the study if it is among those of the plan."""
    first = plan.cases[0]
    rows = [row for row in plan.rows() if row["shrink"] == first.shrink]
    fitting = [row for row in rows if row["delta"] == delta] or rows
    return {
        "row": fitting[0],
        "sentence": str(plan.sentence),
        "arms": {plan.problem.label([a]): float(mean) for a, mean in enumerate(first.means)},
    }
