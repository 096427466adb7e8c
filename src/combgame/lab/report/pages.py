"""Pages of a study from plain data: the report to hand on, and the short one for notebooks.

Tables show every estimate with its interval as a small figure, on a scale that all rows share.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..._display.html import inline, render
from ..._display.plotting import MOST, shown
from ..._display.text import count, figure
from .figures import picture
from .graphs import drawn as draw_network

TEMPLATES = Path(__file__).parent / "templates"
WIDE, TALL = 200.0, 18.0


class AxisScale(NamedTuple):
    """Values at the left and the right edge of the small figures."""

    low: float
    high: float

    def at(self, x: float) -> float:
        """Return the position of a value, from 0 to the width; values outside lie at the edge."""
        share = (x - self.low) / (self.high - self.low)
        return round(4.0 + (WIDE - 8.0) * min(max(share, 0.0), 1.0), 1)


def scale(arms: Sequence[dict[str, Any]]) -> AxisScale:
    """Return the scale from the smallest to the largest mean, extended by the median half-width.

    An interval that is still very wide therefore does not compress the others.

    >>> scale([{"n": 1, "mean": 0.0, "low": -1.0, "high": 1.0}, {"n": 0, "mean": None}])
    AxisScale(low=-1.0, high=1.0)
    """
    known = [one for one in arms if one["n"]]
    if not known:
        return AxisScale(0.0, 1.0)
    means = [one["mean"] for one in known]
    widths = sorted(
        max(one["mean"] - one["low"], one["high"] - one["mean"])
        for one in known
        if one["low"] is not None and one["high"] is not None
    )
    beyond = widths[len(widths) // 2] if widths else 0.0
    low, high = min(means) - beyond, max(means) + beyond
    return AxisScale(low, high) if high > low else AxisScale(low - 1.0, high + 1.0)


def interval(one: dict[str, Any], on: AxisScale) -> str:
    """Return the <svg> element for the row of an arm.

    It is hidden from screen readers, because the numbers stand beside it.
    """
    if not one["n"]:
        return ""
    role = "best" if one["leads"] else "rival" if one.get("rival") else "other"
    colour = f"var(--{role})"
    ends = [one["mean"] if one[key] is None else one[key] for key in ("low", "high")]
    left, middle, right = on.at(ends[0]), on.at(one["mean"]), on.at(ends[1])
    marks = [
        f'<line x1="{left}" y1="9" x2="{right}" y2="9" stroke="{colour}" stroke-width="2"/>',
        *(
            f'<line x1="{x}" y1="5" x2="{x}" y2="13" stroke="{colour}" stroke-width="2"/>'
            for x, end in ((left, ends[0]), (right, ends[1]))
            if on.low <= end <= on.high
        ),
    ]
    if one["leads"]:
        marks.append(
            f'<rect x="{middle - 5:.1f}" y="4" width="10" height="10" fill="{colour}" '
            f'transform="rotate(45 {middle} 9)"/>'
        )
    else:
        marks.append(f'<circle cx="{middle}" cy="9" r="4.5" fill="{colour}"/>')
    return (
        f'<svg class="bar" aria-hidden="true" width="{WIDE:g}" height="{TALL:g}" '
        f'viewBox="0 0 {WIDE:g} {TALL:g}">' + "".join(marks) + "</svg>"
    )


Data = dict[str, Any]
STATES = {
    "running": "still running",
    "certified": "certified",
    "budget": "stopped: the budget is spent",
    "deadline": "stopped: the deadline has passed",
    "by hand": "stopped by hand",
}
LONG = 2000  # rounds that are listed
ROWS = 200  # arms in the table of estimates
LABELS = {
    "estimates": "Estimates of the arms, the best at the top",
    "evidence": "Evidence for the leader, and what is needed, over the rounds",
    "pulls": "Values per arm, and the best use of as many",
}


def report(data: Data) -> str:
    """Return the report as a page that needs no other files."""
    status, settings, drawn = data["status"], data["status"]["settings"], data["drawn"]
    network = None if data["network"] is None else draw_network(data["network"])
    labels = {} if drawn is None else LABELS
    decision = data["decision"]
    return render(
        "report.html",
        TEMPLATES,
        **_lead(data),
        **({"estimates": []} if drawn is None else _estimates(data)),
        **_plan(data),
        title=f"{data['name']}: report",
        decided=list(_decision(data)),
        pictures=[
            inline(picture({**drawn, "title": label, "warning": ""}, kind), label)
            for kind, label in labels.items()
        ],
        optimal=drawn is not None and any(one["optimal"] is not None for one in drawn["arms"]),
        network=network,
        unit=data["unit"],
        assumptions=[] if decision is None else [one["text"] for one in decision["assumptions"]],
        settings=[(key.replace("_", " "), one) for key, one in settings.items() if one],
        stated=data["problem"]["values"],
        noise=said(status.get("noise_check")),
        outliers=[one["text"] for one in status["outliers"]],
        among=data["among"],
        people=[(who, f"{asked:,}", f"{values:,}") for who, asked, values in data["people"]],
        rounds=_rounds(data["rounds"]),
        others=[
            [one["when"], one["what"], one["round"] or "", one["who"] or "-", one["reason"] or ""]
            for one in data["others"]
        ],
        head=status["audit_hash"],
        made=data["made"],
        version=data["version"],
    )


def short(data: Data) -> str:
    """Return the summary for notebooks: the status, the figure and the next step."""
    status, drawn = data["status"], data["drawn"]
    return render(
        "notebook.html",
        TEMPLATES,
        **_lead(data),
        picture=None
        if drawn is None
        else inline(picture({**drawn, "title": "", "warning": ""}, "estimates"), drawn["title"]),
        spent=f"{count(status['rounds'], 'round')}, {count(status['values'], 'value')}",
        pending=count(len(status["pending"]), "round"),
    )


def _state(data: Data) -> tuple[str, str]:
    """Return the state of the study in words, and their CSS class."""
    state = data["status"]["state"]
    if state == "certified" and data["contradicted"]:
        return "certified only if the noise were as stated", ""
    words = STATES.get(state, state)
    if state == "certified" and (label := _label(data)) != "proved":
        words += f" (by a threshold that is {label})"
    return words, state.split()[0]


def _label(data: Data) -> str:
    """Return the label of the certificate's threshold: "proved", or what it is instead."""
    if data["decision"] is None or data["decision"]["proved"]:
        return "proved"
    return str(data["status"]["validity"]["arguments"]["label"])


def _lead(data: Data) -> Data:
    """Return the name, the first sentences and the warnings."""
    status, decision = data["status"], data["decision"]
    first = [] if decision is None else [decision["headline"]["text"]]
    if decision is None and status["leader"]:
        first.append(
            f"{status['leader_name']} {'leads' if len(status['leader']) == 1 else 'lead'}; that is "
            "not certified yet."
        )
    if decision is None or not decision["certified"]:
        first.append(status["next_step"]["text"])
    warned = [] if data["drawn"] is None else [data["drawn"]["warning"]]
    warned += [one["text"] for one in status["notes"] + status["outliers"]]
    return {
        "name": data["name"],
        "stands": _state(data),
        "first": first,
        "warned": [text for text in warned if text],
    }


def _decision(data: Data) -> Iterator[tuple[str, Any]]:
    status, decision, unit = data["status"], data["decision"], data["unit"]
    certified = decision is not None and decision["certified"]
    yield "Best answer" if certified else "Leading", status["leader_name"]
    if certified and data["contradicted"]:
        sure = f"{100 * decision['confidence']:g}%"
        yield "Confidence", f"{sure} only if the noise were as stated, which the values contradict"
    elif certified:
        sure = f"{100 * decision['confidence']:g}%"
        yield "Confidence", f"{sure} ({_label(data)})"
    elif status.get("proof_so_far"):
        text = said(status["proof_so_far"])
        yield "Not certified", text[:1].upper() + text[1:]
    else:
        yield "Confidence", f"not certified; {100 * (1 - status['settings']['delta']):g}% is asked"
    yield from _margin(data, unit)
    yield "Evidence", data["weighed"]
    if status["settings"].get("epsilon"):
        yield "Accepted", f"any answer within {status['settings']['epsilon']:g} of the best"
    yield "Spent", f"{count(status['rounds'], 'round')}, {count(status['values'], 'value')}"
    if status["forecast"] is not None:
        low, high = status["forecast"]
        yield "Still to come", f"about {low:,} to {high:,} rounds (a forecast)"
    about = data["problem"]
    yield "Asked for", about["asked"]
    yield "Measured together", about["together"]
    yield "Values", about["values"]


def _margin(data: Data, unit: str) -> Iterator[tuple[str, Any]]:
    """Yield the lead in the unit of the values, with its interval if the status has one."""
    lead, margin = data["status"].get("lead"), data["margin"]
    if lead:
        for place, one in enumerate(lead.get("sentences") or [said(lead)]):
            text = said(one)
            yield "Margin" if place == 0 else " ", text[:1].upper() + text[1:]
    elif margin is not None:
        value = f"{margin['value']:.4g}" + ("" if unit == "value" else f" {unit}")
        over = (
            "{} instead of {}".format(*margin["instead"])
            if margin["exchange"] and all(margin["instead"])
            else f"over {margin['rival']}"
        )
        yield "Margin", f"{value}: {over} (estimates)"


def said(thing: Any) -> str:
    """Return a part of a status as text: its message, or its fields."""
    if isinstance(thing, dict):
        if "text" in thing:
            return str(thing["text"])
        if isinstance(thing.get("sentence"), dict | str):
            return said(thing["sentence"])
        pairs = ((key.replace("_", " "), said(one)) for key, one in thing.items())
        return "; ".join(f"{key}: {one}" for key, one in pairs if one)
    if isinstance(thing, float):
        return figure(thing)
    if isinstance(thing, list | tuple):
        return " to ".join(map(said, thing)) if len(thing) == 2 else ", ".join(map(said, thing))
    return "" if thing is None else str(thing)


def _estimates(data: Data) -> Data:
    """Return the rows of the estimates, their CSS classes, and the notes below."""
    drawn = data["drawn"]
    some = shown(drawn["arms"], ROWS, drawn["least_first"])
    rows = [
        [one["arm"], one["n"], *(figure(one[key]) for key in ("mean", "low", "high"))]
        for one in some.arms
    ]
    kinds = ["best" if one["leads"] else "rival" if one.get("rival") else "" for one in some.arms]
    given = any(one["low"] is not None or one["high"] is not None for one in some.arms)
    what = drawn["interval"]
    notes = [f"From, to: {what}." if given else f"{what[:1].upper()}{what[1:]}."]
    if late := data["status"]["n_late"]:
        notes.insert(
            0,
            f"As it was when the study ended: {count(late, 'result')} came later and "
            f"{'is' if late == 1 else 'are'} not part of it.",
        )
    if some.rest:
        means = [one["mean"] for one in some.rest]
        notes.append(
            f"{count(len(means), 'more arm')} with means from {figure(min(means))} to "
            f"{figure(max(means))}."
        )
    if some.silent:
        names = ", ".join(str(one["arm"]) for one in some.silent[:MOST])
        notes.append(f"No value: {names}{', ...' if len(some.silent) > MOST else ''}.")
    return {"estimates": rows, "kinds": kinds, "notes": notes}


def _plan(data: Data) -> Data:
    """Return the plan beside what happened."""
    status, plan, planned_rounds = data["status"], data["plan"], data["planned_rounds"]
    used = count(status["rounds"], "round") if status["values"] else ""
    known: Data = {"planned": None, "supposed": [], "compared": [], "used": used}
    known["hindsight"] = data["hindsight"]
    spent = f"used {count(status['rounds'], 'round')}"
    if plan is None:
        if planned_rounds is not None:
            known["supposed"] = [("Rounds", f"planned about {planned_rounds:,.0f}; {spent}")]
        return known
    row = plan["row"]
    expected = (
        f"{row['mean']:,.0f} rounds (half of the runs: {row['q25']:,.0f} to {row['q75']:,.0f})"
        if row["rule"] is not None
        else "some " + figure(row["limit"]) + " rounds"
    )
    known["planned"] = plan["sentence"]
    known["supposed"] = [
        ("Rounds", f"planned {expected}; {spent}"),
        ("Best answer", f"supposed {row['answer']}; leading {status['leader_name']}"),
    ]
    if data["drawn"] is not None:
        some = shown(data["drawn"]["arms"], MOST, data["drawn"]["least_first"])
        known["compared"] = [
            [one["arm"], figure(plan["arms"].get(one["arm"])), figure(one["mean"])]
            for one in some.arms
        ]
    return known


def _rounds(rounds: Sequence[Data]) -> list[list[Any]]:
    """Return the rows of the rounds; of many rounds, the first and the last."""
    left = len(rounds) - LONG
    listed = rounds if left <= 0 else [*rounds[: LONG // 2], *rounds[-LONG // 2 :]]
    rows = [
        [one["round"], one["when"], one["who"] or "-", _values(one["values"], one["outside"])]
        for one in listed
    ]
    if left > 0:
        rows.insert(LONG // 2, ["...", "", "", f"{left:,} rounds left out: an export has them"])
    return rows


def _values(values: list[Any], outside: bool) -> str:
    """Return the values of a round as text.

    >>> _values([("wt", 0.5, 1, "told"), ("A1", None, 0, "missing"), ("B", 0.25, 4, "told")], False)
    'wt 0.5; A1 (missing); B 0.25 (mean of 4)'
    """
    parts = []
    for arm, mean, n, state in values:
        if mean is None:
            parts.append(f"{arm} ({state})")
        else:
            parts.append(f"{arm} {figure(mean)}" + (f" (mean of {n:,})" if n > 1 else ""))
    return "; ".join(parts) + (" (measured outside the study)" if outside else "")
