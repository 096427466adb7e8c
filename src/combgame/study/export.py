"""A study as tables: per round, per arm, per event; and as JSON."""

import csv
import io
import json
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..errors import InputError, StoreError, UnknownNameError
from ..storage.events import Event, head_of, seal
from .advisor import Advisor
from .settings import Setting
from .ledger import entries
from .entries import pulls

LEVELS = ("round", "arm", "event")


FORMS = ("csv", "json")


COLUMNS = ("round", "arm", "state", "n", "mean", "client", "asked", "observed", "told")


SURE = 1.92  # half the square of 1.96: the likelihood interval of 95% of one arm on its own


def rows(advisor: Advisor, events: list[Event], level: str) -> list[dict[str, Any]]:
    if level == "round":
        return _rounds(advisor, events)
    if level == "arm":
        return _arms(advisor)
    if level == "event":
        seals = accumulate(events, seal, initial="")
        next(seals)
        return [
            {**one._asdict(), "at": _moment(one.at), "data": json.dumps(one.data), "seal": sealed}
            for one, sealed in zip(events, seals, strict=True)
        ]
    raise UnknownNameError(f"level = {level!r} is not known; use one of {', '.join(map(repr, LEVELS))}.")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _rounds(advisor: Advisor, events: list[Event]) -> list[dict[str, Any]]:
    """One row per round and arm in it; what was retracted is no longer there."""
    problem = advisor.setting.problem
    found: dict[int, dict[int, dict[str, Any]]] = {}  # round -> arm -> row
    for event in events:
        own = found.setdefault(event.round, {}) if event.round is not None else {}
        if event.kind in ("asked", "observed"):
            for arm in event.data["arms"] if event.kind == "asked" else entries(event):
                row = own.setdefault(arm, {**dict.fromkeys(COLUMNS), "round": event.round, "arm": problem.label([arm]), "n": 0})
                row["client"], row[event.kind] = event.client, _moment(event.at)
                row["state"] = row["state"] if row["told"] else "open"
        for arm, entry in entries(event).items():
            told = list(pulls(entry))
            n = sum(k for _, k in told)
            mean = sum(x * k for x, k in told) / n if n else None
            own[arm].update(state=event.kind if n else "missing", n=n, mean=mean, told=_moment(event.at))
        if event.kind == "retracted":
            arm = event.data.get("arm")
            gone = list(own.values()) if arm is None else [rows[arm] for rows in found.values() if arm in rows]
            for row in gone:
                row.update(state="retracted" if row["told"] else row["state"], n=0, mean=None, told=None)
        elif event.kind == "failed" or event.data.get("final"):
            for row in own.values():
                if row["told"] is None:
                    row["state"] = "failed" if event.kind == "failed" else "missing"
    return [row for own in found.values() for row in own.values()]


def _arms(advisor: Advisor) -> list[dict[str, Any]]:
    """One row per arm: how often, how much, between what; `leads`: whether it is in the leading answer."""
    problem, seen, rewards = advisor.setting.problem, advisor.ledger.seen, advisor.told.game.rewards
    found = []
    for a in range(problem.d):
        n, mean = float(seen.counts[a]), float(seen.mean[a])
        ends = (rewards.lower(mean, SURE / n, a), rewards.upper(mean, SURE / n, a)) if n else (None, None)
        found.append({
            "arm": problem.label([a]), "n": int(n), "mean": mean if n else None, "low": ends[0], "high": ends[1],
            "pending": int(advisor.ledger.pending[a]), "leads": bool(advisor.told.view.best[a] > 0.5 and n),
        })  # fmt: skip
    return found


def history(setting: Setting, engine: str, events: list[Event]) -> list[dict[str, Any]]:
    """The evidence after everything that was told; nothing is chosen again for that."""
    advisor, found = Advisor(setting, engine), []
    for k, event in enumerate(events):
        advisor.apply(event, lambda k=k: events[:k], chosen=True)  # type: ignore[misc]
        if event.kind in ("told", "observed", "retracted") and not event.data.get("more"):
            facts = advisor.facts("running")
            kept = {key: facts[key] for key in ("rounds", "values", "evidence", "threshold", "delta")}
            found.append({"seq": event.seq, "at": event.at, "leader": setting.problem.label(facts["answer"]), **kept})
    return found


def as_text(table: list[dict[str, Any]], form: str) -> str:
    """Rows as "csv" or "json"."""
    if form == "json":
        return json.dumps(table, indent=1)
    out = io.StringIO()
    if table:
        writer = csv.DictWriter(out, list(table[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    return out.getvalue()


def form_of(path: Any, form: str | None) -> str:
    """ "csv" or "json": as it is said, or else as the file's name ends; JSON without a file."""
    if form is None:
        form = "json" if path is None else Path(path).suffix.lower()[1:]
        if form not in FORMS:
            raise InputError(
                f"{path} must end with .csv (the rows of a level) or .json (all of it); on the command line, --format says so too."
            )
    elif form not in FORMS:
        raise UnknownNameError(f"format = {form!r} is not known; use one of {', '.join(map(repr, FORMS))}.")
    return form


def export(study: Any, path: Any, level: str, form: str | None = None) -> str:
    if form_of(path, form) == "csv":
        text = as_text(study.rows(level), "csv")
    else:
        decision, events = study.decision, study.events()
        whole = {
            "name": study.name, "status": study.status.to_dict(), "decision": None if decision is None else decision.to_dict(),
            "arms": study.rows("arm"), "rounds": study.rows("round"), "head": head_of(events), "events": [one._asdict() for one in events],
        }  # fmt: skip
        text = json.dumps(whole, indent=1)
    if path is not None:
        try:
            Path(path).write_text(text)
        except OSError as error:
            raise StoreError(f"{path} cannot be written ({error.strerror}); choose another place.") from error
    return text
