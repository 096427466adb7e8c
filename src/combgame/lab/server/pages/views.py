"""Data that the pages show of a study, as plain data of one moment."""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from ...._display.html import inline
from ...._display.plotting import shown
from ...._display.text import count, figure
from ....rewards import Gaussian
from ....stopping.base import STATED
from ....storage.events import Event
from ...forecast import MANY
from ...report import graphs as networks
from ...report import pages as bars
from ...report.content import (
    arms_of,
    contradicted,
    describe_problem,
    drawn,
    hindsight,
    network,
    solved,
    unit_of,
)
from ...report.figures import picture
from ...settings import ANOTHER
from .wording import PAGE, next_step

Data = dict[str, Any]
ROWS = 60  # arms in the table of estimates
EVENTS = 40  # events on a page of the log
RECENT = 6  # events on the page of a study
KEPT = 200  # views in the cache
CERTIFIED, DOUBTED, RUNNING, STOPPED = "certified", "doubted", "running", "stopped"
BADGES = {
    CERTIFIED: ("Certified", "✓"),
    DOUBTED: ("Certified only if the noise were as stated", "!"),
    RUNNING: ("Not yet certain", "…"),
    STOPPED: ("Stopped without a certified answer", "■"),
}
ENDS = {
    "budget": "all of its rounds are used up",
    "deadline": "its time is over",
    "by hand": "somebody stopped it",
}
LEVELS = "each may read high or low as a whole, so arms are compared within rounds only"
NOISE = {
    "fits": ("good", "Noise as stated"),
    "too small": ("bad", "Noise larger than stated"),
    "too large": ("fair", "Noise smaller than stated"),
    "not enough data": ("open", "Noise not checked yet"),
    "not stated": ("open", "Noise taken from the data"),
}


class ViewCache:
    """Cache of views; the least recently used ones are dropped."""

    def __init__(self, most: int = KEPT) -> None:
        self.most, self._made = most, OrderedDict[tuple[Any, ...], Any]()
        self._lock = Lock()

    def look(self, key: tuple[Any, ...]) -> Any:
        """Return the view of a key, or None."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
            return self._made.get(key)

    def keep(self, key: tuple[Any, ...], made: Any) -> Any:
        """Store a view and return it."""
        with self._lock:
            self._made[key] = made
            while len(self._made) > self.most:
                self._made.popitem(last=False)
        return made


def summary(moment: Any) -> Data:
    """Return the data of a line in the list of studies."""
    status = moment.status
    waiting = [one for one in moment.open_rounds() if not one["waiting"]]
    mood = status_class(status)
    who: dict[str, int] = {}
    for one in waiting:
        who[one["client"] or "nobody named"] = who.get(one["client"] or "nobody named", 0) + 1
    return {
        "name": moment.name,
        "mood": mood,
        "badge": BADGES[mood],
        "leader": status.leader_name if status.leader else "",
        "values": status.values,
        "progress": progress(status),
        "rounds": status.rounds,
        "left": left(status),
        "next": next_step(status.next_step),
        "who": sorted(who.items()),
        "failed": len(status.waiting),
        "doubts": len(status.outliers),
    }


def status_class(status: Any) -> str:
    """Return the class of a status, which sets the colour and the badge of the page."""
    if status.state == "running":
        return RUNNING
    if status.state != "certified":
        return STOPPED
    return (
        DOUBTED if status.noise_check is not None and status.noise_check.contradicted else CERTIFIED
    )


def progress(status: Any) -> int:
    """Return the evidence as a percentage of the threshold; 100 only if the answer is certified."""
    if status.state == "certified":
        return 100
    if not status.values or not math.isfinite(status.evidence) or status.threshold <= 0.0:
        return 0
    return min(max(int(100.0 * status.evidence / status.threshold), 0), 99)


def left(status: Any) -> str:
    """Return the forecast as text."""
    if status.state != "running":
        return ""
    if status.forecast is None:
        return "too early to say how many rounds are left"
    low, high = status.forecast
    return f"about {low:,} to {high:,} more rounds"


def headline(status: Any, decision: Any) -> str:
    """Return the headline of a study."""
    if not status.values:
        return "Nothing has been measured yet"
    if not status.leader:
        return "Nobody leads yet: arms are compared once a block of rounds is complete"
    names, many = status.leader_name, len(status.leader) > 1
    if status.state == "certified":
        be = "are the best" if many else "is the best"
        if status_class(status) == DOUBTED:
            return f"{names} {be}, but only if the noise were as stated, and it is not"
        if not decision.proved:
            ways = "the user's own threshold" if status.label == STATED else "a rule of thumb"
            if status.label == ANOTHER:
                ways = "the certificate of another version of combgame"
            return f"{names} {be}, by {ways}"
        return f"{names} {be}, with {100 * decision.confidence:g}% confidence"
    return f"{names} {'lead' if many else 'leads'}, not certified" + (
        " yet" if status.state == "running" else ""
    )


def study(moment: Any, seq: int) -> Data:
    """Return the data of the page of a study, without what depends on the user."""
    status, decision, problem = moment.status, moment.decision, moment.problem
    plain = status.to_dict(PAGE)
    arms = arms_of(moment, plain)
    unit = unit_of(problem)
    mood = status_class(status)
    comparable = bool(status.leader) or not status.values
    graph = network(problem, arms)
    return {
        "name": moment.name,
        "seq": seq,
        "mood": mood,
        "badge": BADGES[mood],
        "state": status.state,
        "ended": ENDS.get(status.state, ""),
        "headline": headline(status, decision),
        "next": next_step(status.next_step),
        "code": status.next_step.code,
        "running": status.state == "running",
        "values": status.values,
        "rounds": status.rounds,
        "spent": f"{count(status.rounds, 'round')}, {count(status.values, 'value')}",
        "progress": progress(status),
        "weighed": status.weighed.render_inline(PAGE),
        "needs": None if plain["threshold_note"] is None else plain["threshold_note"]["text"],
        "left": left(status),
        "forecast": status.forecast,
        "lead": [] if plain["lead"] is None or not comparable else lead(plain["lead"]),
        "proof": None if plain["proof_so_far"] is None else capital(plain["proof_so_far"]["text"]),
        "enough": None if plain["early_stop"] is None else plain["early_stop"]["text"],
        "noise": noise(status.noise_check),
        "levels": None if plain["batch_warning"] is None else plain["batch_warning"],
        "doubts": plain["outliers"],
        "notes": [one["text"] for one in plain["notes"]],
        "contradicted": contradicted(plain),
        "open": moment.open_rounds(),
        "unit": unit,
        "arms": estimates(arms, problem.goal == "minimise"),
        "within": problem.rewards.has_batch_effect(),
        "comparable": comparable,
        "compared": None if plain["compared"] is None else plain["compared"]["text"],
        "network": "" if graph is None else networks.drawn(graph),
        "large": graph is not None and not networks.drawn(graph),
        "about": about(problem, plain["settings"]),
        "limited": [key for key in ("max_rounds", "deadline") if plain["settings"].get(key)],
        "decision": None if decision is None else decided(decision),
        "retractions": status.retractions,
        "head": status.audit_hash,
        "late": status.n_late,
    }


def lead(plain: Data) -> list[str]:
    """Return the messages about the lead as sentences; the first one begins with a name."""
    first, *rest = (one["text"] for one in plain["sentences"])
    return [first, *map(capital, rest)]


def capital(text: str) -> str:
    """Return the text with a capital letter."""
    return text[:1].upper() + text[1:]


def noise(one: Any) -> Data | None:
    """Return the badge of the noise check, or None."""
    if one is None:
        return None
    kind, title = NOISE[one.verdict]
    seen = "" if one.estimated_sigma is None else f"{one.estimated_sigma:.3g}"
    stated = "" if one.stated_sigma is None else f"{one.stated_sigma:g}"
    text, remedy = "", ""
    if one.verdict == "not enough data":
        text = "Too few values to say whether they vary as much as stated."
    elif one.verdict == "not stated":
        text = f"Single values vary by {seen}." if seen else "Nobody had to state it."
    elif stated and seen:
        text = f"Stated: {stated}. Seen: {seen}."
    else:
        text = f"Values vary {one.ratio:.3g} times as much as stated."
    if one.verdict == "too small":
        text = f"The values vary more than was stated, so no confidence can rest on that. {text}"
        remedy = (
            "If some values are mistakes, take those back. Otherwise begin a study that takes the "
            "noise from the data"
            + ("." if one.levels else ", and give it these values as data from outside.")
        )
    elif one.verdict == "too large" and one.ratio:
        text += f" So this takes about {one.ratio**-2:.2g} times the rounds that would do."
    return {"kind": kind, "title": title, "text": text, "remedy": remedy}


def estimates(arms: list[Data], least_first: bool) -> Data:
    """Return the rows of the table of estimates, each with its small figure."""
    some, on = shown(arms, ROWS, least_first), bars.scale(arms)
    rest = [one["mean"] for one in some.rest]
    return {
        "rows": [
            {
                "name": one["arm"],
                "n": one["n"],
                "mean": figure(one["mean"]),
                "between": "-"
                if one["low"] is None or one["high"] is None
                else f"{figure(one['low'])} … {figure(one['high'])}",
                "pending": one["pending"],
                "leads": one["leads"],
                "rival": bool(one.get("rival")),
                "bar": bars.interval(one, on),
            }
            for one in some.arms
        ],
        "unsure": any(one["low"] is None or one["high"] is None for one in some.arms),
        "scale": (f"{on.low:.2g}", f"{on.high:.2g}"),
        "rest": f"{count(len(rest), 'more arm')} with means from {figure(min(rest))} to "
        f"{figure(max(rest))}"
        if rest
        else "",
        "silent": [one["arm"] for one in some.silent],
    }


def about_problem(problem: Any) -> list[tuple[str, str]]:
    """Return the description of a problem as pairs of title and text."""
    said = describe_problem(problem)
    values, rewards = said["values"], problem.rewards
    if isinstance(rewards, Gaussian):
        within = " within a round" if rewards.has_batch_effect() else ""
        if isinstance(rewards.sigma, int | float):
            values = f"numbers that vary by {rewards.sigma:g}{within}"
        else:
            how = "was stated for every arm" if rewards.variance_known else "is taken from the data"
            values = f"numbers; how much they vary{within} {how}"
    known = [
        ("Looked for", said["asked"]),
        ("Measured together", said["together"]),
        ("Values", values),
        ("Better are", "small values" if problem.goal == "minimise" else "large values"),
    ]
    if rewards.has_batch_effect():
        known.insert(3, ("Rounds", LEVELS))
    return known


def about(problem: Any, settings: Data) -> list[tuple[str, str]]:
    """Return the description of a study as pairs of title and text."""
    known = about_problem(problem)
    known.append(("May be wrong", f"in at most {100 * settings['delta']:g}% of such studies"))
    if settings.get("epsilon"):
        known.append(("Good enough", f"whatever is within {settings['epsilon']:g} of the best"))
    if settings.get("min_replicates"):
        known.append(("At least", count(settings["min_replicates"], "value") + " of every arm"))
    if settings.get("replicates"):
        known.append(("Replicates", f"{settings['replicates']} of every arm in a round"))
    if settings.get("max_rounds"):
        known.append(("At most", count(settings["max_rounds"], "round")))
    if settings.get("deadline"):
        known.append(("Until", settings["deadline"]))
    return known


def decided(decision: Any) -> Data:
    """Return the data of the decision."""
    plain = decision.to_dict(PAGE)
    return {
        "certified": decision.certified,
        "sentence": plain["headline"]["text"],
        "names": list(decision.names),
        "confidence": f"{100 * decision.confidence:.4g}%" if decision.certified else "",
        "proved": decision.proved,
        "assumptions": [one["text"] for one in plain["assumptions"]],
        "rounds": decision.rounds,
        "values": decision.values,
        "head": decision.audit_hash,
    }


WHAT = {
    "created": "began the study",
    "asked": "took round {}",
    "told": "entered results of round {}",
    "failed": "said that round {} failed",
    "observed": "added data from outside, number {}",
    "retracted": "took back what was entered of round {}",
    "extended": "gave the study more",
    "closed": "stopped the study",
    "certified": "certified the answer, by what had been entered",
    "ended": "the study ended",
}


def logged(events: Iterable[Event], label: Callable[[list[int]], str]) -> list[Data]:
    """Return the lines of the log."""
    return [
        {
            "seq": one.seq,
            "at": one.timestamp,
            "who": one.client or "somebody",
            "what": _what(one, label),
            "reason": one.reason or "",
            "told": _values(one, label),
            "round": one.round,
            "kind": one.kind,
        }
        for one in events
    ]


def _what(event: Event, label: Callable[[list[int]], str]) -> str:
    if event.kind == "retracted" and event.round is None:
        return f"took back all values of {label([event.data['arm']])}"
    if event.kind == "failed" and not event.data.get("retry", True):
        return f"gave up round {event.round}"
    if event.kind == "asked" and event.data.get("again"):
        return f"took round {event.round} again"
    return WHAT.get(event.kind, event.kind).format(event.round)


def _values(event: Event, label: Callable[[list[int]], str], most: int = 8) -> str:
    """Return the reported values as one line."""
    from .results_form import shown as entry_shown

    given = event.data.get("values") if event.kind in ("told", "observed") else None
    if not given:
        return ""
    parts = [
        f"{label([int(arm)])} {entry_shown(entry) or '(missing)'}" for arm, entry in given.items()
    ]
    return ", ".join(parts[:most]) + (", ..." if len(parts) > most else "")


DRAWING = Lock()  # the settings of matplotlib belong to the whole process


def pictures(moment: Any) -> Data:
    """Return the evidence figure and the number of rounds in hindsight, which take longer."""
    if not moment.status.values:
        return {"evidence": "", "hindsight": None, "rounds": 0}
    data = {**drawn(moment, "evidence"), "title": "", "warning": ""}
    with DRAWING:
        made = inline(picture(data, "evidence"), "Evidence for the leader over the rounds")
    best = solved(moment.problem, data["arms"]) if moment.problem.d <= MANY else None
    return {
        "evidence": made,
        "hindsight": None if best is None else hindsight(moment, data["arms"], best),
        "rounds": moment.status.rounds,
    }
