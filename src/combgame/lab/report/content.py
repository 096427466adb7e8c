"""Content of the report and the figures of a study, as plain data for `lab/report/pages.py`.

It includes the problem in words, and the structure of the problem as a graph.
"""

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ..._display.plotting import short
from ..._display.text import count
from ..._messages import PYTHON, Renderer, safe_str
from ..._version import __version__
from ...errors import CombGameError, StudyError, invalid_argument, unknown_name
from ...problem import Problem
from ...rewards import Bernoulli, Bounded, Gaussian
from ...storage.events import Event
from ...structures import Arms, Matchings, Partition, Paths, SpanningTrees, Subsets
from ...theory.complexity import Complexity, complexity
from ...theory.stopping_time import oracle_stopping_time
from ..forecast import MANY
from ..outliers import among
from . import figures as experiment
from .graphs import Network


def network(problem: Problem, arms: Sequence[dict[str, Any]]) -> Network | None:
    """Return the graph of the answers, or else of the actions; None if the arms are not edges.

    `arms` has one row per arm, as `rows("arm")` returns them.

    >>> import combgame as cg
    >>> paths = cg.Paths([("s", "a"), ("a", "t"), ("s", "t")], "s", "t")
    >>> rows = [{"arm": x, "n": 1, "leads": x == "s->t"} for x in paths.names]
    >>> made = network(cg.Problem(paths, rewards=cg.Bernoulli()), rows)
    >>> made.nodes, made.ends, made.edges[2]
    (['s', 'a', 't'], (0, 2), {'tail': 0, 'head': 2, 'arm': 's->t', 'n': 1, 'leads': True})
    """
    for one in (problem.answers, problem.actions):
        if isinstance(one, Paths):
            graph = one.graph
            ends = graph.nodes.index(one.source), graph.nodes.index(one.sink)
            joined = list(zip(graph.tails, graph.heads, strict=True))
            return Network("paths", list(map(safe_str, graph.nodes)), _edges(joined, arms), ends)
        if isinstance(one, SpanningTrees):
            joined = list(zip(one.tails, one.heads, strict=True))
            return Network("tree", list(map(safe_str, one.nodes)), _edges(joined, arms))
        if isinstance(one, Matchings):
            left = len(one.rows)
            joined = [(row, left + column) for row, column in one.where]
            nodes = list(map(safe_str, (*one.rows, *one.columns)))
            return Network("matching", nodes, _edges(joined, arms), left=left)
    return None


def _edges(
    joined: Sequence[tuple[int, int]], arms: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {
            "tail": tail,
            "head": head,
            "arm": one["arm"],
            "n": one["n"],
            "leads": bool(one["leads"] and one["n"]),
        }
        for (tail, head), one in zip(joined, arms, strict=True)
    ]


POINTS = 150  # points of the evidence; each is evaluated again
FINE = (None, "fits", "not enough data", "not stated")  # verdicts of the noise check
ALONE = "95% interval of the arm alone"
ALWAYS = "{:g}% interval at all times"
NONE = "no intervals: rounds have levels of their own, so that only differences are known"


def plot(moment: Any, kind: str, unit: str | None = None) -> Any:
    """Return a figure of a study at one moment with its events."""
    if kind not in experiment.KINDS:
        raise unknown_name("kind", kind, experiment.KINDS)
    return experiment.picture(drawn(moment, kind, unit), kind)


def drawn(moment: Any, kind: str = "overview", unit: str | None = None) -> dict[str, Any]:
    """Return the data of a figure of this kind."""
    problem, status = moment.problem, moment.status.to_dict()
    arms = arms_of(moment, status)
    if not any(one["n"] for one in arms):
        raise StudyError(
            "no-values",
            "study {name!r} has no values yet, so there is nothing to plot",
            remedy="tell something first",
            name=moment.name,
        )
    if kind == "pulls":
        spread(arms, solved(problem, arms))
    return {
        "arms": arms,
        "points": [] if kind in ("estimates", "pulls") else moment.history(most=POINTS),
        "ended": status["state"],
        "unit": unit or unit_of(problem),
        "interval": described(problem, status),
        "title": title(status, moment.decision),
        "warning": warning(status),
        "least_first": getattr(problem, "goal", "maximise") == "minimise",
    }


def described(problem: Problem, status: dict[str, Any]) -> str:
    """Return the description of the arms' intervals."""
    if problem.rewards.has_batch_effect():
        return NONE
    return (
        ALWAYS.format(100.0 * (1.0 - status["settings"]["delta"]))
        if status.get("estimates")
        else ALONE
    )


def arms_of(moment: Any, status: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the arms, with a mark on those that only the closest rival has.

    If the study has ended, the rows are as they were then. An arm with later values also has
    `later`: the number and the mean of all its values.
    """
    arms: list[dict[str, Any]] = moment.rows("arm")
    if status["n_late"]:
        for one, then in zip(arms, status["estimates"], strict=True):
            if one["n"] != then["n"]:
                one["later"] = {"n": one["n"], "mean": one["mean"]}
            one.update({key: then[key] for key in ("n", "mean", "low", "high", "leads")})
    leader = set(status["leader"])
    rival = set(status["rivals"][0]["answer"]) - leader if status["rivals"] else set()
    for number, one in enumerate(arms):
        one["rival"] = number in rival and bool(one["n"])
    return arms


def unit_of(problem: Problem) -> str:
    """Return the label of an axis of values."""
    usual = "share of successes" if isinstance(problem.rewards, Bernoulli) else "value"
    return getattr(problem, "unit", None) or usual


def title(status: dict[str, Any], decision: Any) -> str:
    """Return the state of a study as the title of a figure."""
    leader, name = short(status["leader_name"], 50), status["name"]
    if decision is not None and decision.certified and contradicted(status):
        return f"{name}: {leader}, certified only if the noise were as stated"
    if decision is not None and decision.certified:
        sure = "by a threshold that is not proved"
        if decision.proved:
            sure = f"{100 * decision.confidence:g}%"
        be = "is" if len(status["leader"]) == 1 else "are"
        return f"{name}: {leader} {be} best, certified ({sure})"
    end = "" if decision is None else ", stopped"
    if not status["leader"]:
        return f"{name}: nobody leads after {count(status['rounds'], 'round')}{end}"
    leads = "leads" if len(status["leader"]) == 1 else "lead"
    return f"{name}: {leader} {leads} after {count(status['rounds'], 'round')}{end}, not certified"


def contradicted(status: dict[str, Any]) -> bool:
    """Return True if the data contradict an assumption of the certificate.

    A stated sigma that is too large does not: it only costs rounds.
    """
    return (status.get("noise_check") or {}).get("verdict") not in (*FINE, "too large")


def warning(status: dict[str, Any]) -> str:
    """Return the warning that the data contradict the stated noise, or an empty text."""
    noise = status.get("noise_check") or {}
    if noise.get("verdict") in FINE:
        return ""
    said = noise.get("text") or noise.get("sentence") or ""
    return str(said["text"] if isinstance(said, dict) else said)


def solved(problem: Problem, arms: list[dict[str, Any]]) -> Complexity | None:
    """Return the complexity if the estimates are taken as the true means.

    The result is None while an arm has no value, or if two answers are equally good.
    """
    if not all(one["n"] for one in arms):
        return None
    try:
        return complexity(problem, estimated(problem, arms), tolerance=1e-2, steps=200)
    except CombGameError:
        return None


def estimated(problem: Problem, arms: list[dict[str, Any]]) -> list[float]:
    """Return the estimates, clipped to the bounds of the means."""
    return [
        float(min(max(one["mean"], problem.low[k]), problem.high[k])) for k, one in enumerate(arms)
    ]


def spread(arms: list[dict[str, Any]], best: Complexity | None) -> None:
    """Add to every row how many of all values its arm has in the optimal proportions."""
    total = sum(one["n"] for one in arms)
    for number, one in enumerate(arms):
        share = None if best is None else best.allocation[number] / best.allocation.sum()
        one["optimal"] = None if share is None else float(total * share)


def describe_problem(problem: Problem) -> dict[str, str]:
    """Return the actions, the answers and the rewards of a problem in words.

    >>> import combgame as cg
    >>> describe_problem(cg.Problem(cg.Subsets(10, 3), cg.Arms(10), cg.Gaussian(0.1)))
    {'together': 'any 3 of 10 arms', 'asked': 'the best of 10 arms',
     'values': 'normal, standard deviation 0.1'}
    """
    asked = _best(problem.answers)
    if problem.answers == problem.actions and not isinstance(problem.actions, Arms):
        asked += ", which can be measured as a whole"
    words = {"together": _sets(problem.actions), "asked": asked, "values": _values(problem.rewards)}
    return {key: short(text, 160) for key, text in words.items()}


def _sets(one: Any) -> str:
    if isinstance(one, Arms):
        return f"one of {one.d:,} arms at a time"
    if isinstance(one, Subsets):
        return f"any {one.chosen:,} of {one.d:,} arms"
    if isinstance(one, Partition):
        return f"so many arms of each group: {one}"
    if isinstance(one, Paths):
        return f"a path through a network of {one.d:,} links"
    if isinstance(one, SpanningTrees):
        return f"a spanning tree of {one.d:,} edges"
    if isinstance(one, Matchings):
        return f"a matching of {one.d:,} pairs"
    return f"{one}"


def _best(one: Any) -> str:
    if isinstance(one, Arms):
        return f"the best of {one.d:,} arms"
    if isinstance(one, Subsets):
        return f"the best {one.chosen:,} of {one.d:,} arms"
    return f"the best of: {_sets(one)}"


def _values(one: Any) -> str:
    if isinstance(one, Bernoulli):
        return "0 or 1"
    if isinstance(one, Bounded):
        return f"between {one.low:g} and {one.high:g}"
    if isinstance(one, Gaussian):
        about = f"normal, standard deviation {_sigma(one)}"
        if one.has_batch_effect():
            about += ", within a round; every round may read high or low as a whole"
        return about
    return f"{one}"


def _sigma(one: Gaussian) -> str:
    if isinstance(one.sigma, int | float):
        return f"{one.sigma:g}"
    if one.variance_known:
        return "known for every arm"
    if isinstance(one.shared_sigma, tuple):
        return "not known, the same within each group of arms"
    return f"not known, {'the same for all arms' if one.shared_sigma else 'another for every arm'}"


QUIET = ("asked", "told", "created")  # events that the table of rounds includes


def report_data(
    moment: Any, unit: str | None = None, plan: Any = None, surface: Renderer = PYTHON
) -> dict[str, Any]:
    """Return the data of the report on a study at one moment with its events.

    `plan` is what `combgame.plan` returned before the study.
    """
    if plan is not None and not hasattr(plan, "scenarios"):
        raise invalid_argument("plan", plan, "what plan() gave, or None", of="report")
    rows, best, data = moment.rows("round"), None, summary(moment, unit, surface, "overview")
    if data["drawn"] is not None:
        few = moment.problem.d <= MANY  # more arms would take minutes
        best = solved(moment.problem, data["drawn"]["arms"]) if few else None
        spread(data["drawn"]["arms"], best)
    return {
        **data,
        "problem": describe_problem(moment.problem),
        "network": network(moment.problem, arms_of(moment, data["status"])),
        "margin": margin(moment),
        "rounds": rounds(rows, moment.events),
        "people": people(rows),
        "others": [_other(one) for one in moment.events if one.kind not in QUIET],
        "hindsight": None if best is None else hindsight(moment, data["drawn"]["arms"], best),
        "planned_rounds": moment.events[0].data.get("planned_rounds"),
        "plan": None if plan is None else against(plan, data["status"]["settings"]["delta"]),
        "made": format_time(datetime.now(UTC).timestamp()),
        "version": __version__,
    }


def summary(
    moment: Any, unit: str | None = None, surface: Renderer = PYTHON, kind: str = "estimates"
) -> dict[str, Any]:
    """Return the status and the decision, and the data of a figure of this kind."""
    if unit is not None and not isinstance(unit, str):
        raise invalid_argument("unit", unit, "a text, such as 'mg/l', or None")
    status, decision = moment.status, moment.decision
    plain = status.to_dict(surface)
    return {
        "name": moment.name,
        "unit": unit or unit_of(moment.problem),
        "status": plain,
        "weighed": status.weighed.render_inline(surface),
        "contradicted": contradicted(plain),
        "among": among(moment.problem),
        "decision": None if decision is None else decision.to_dict(surface),
        "drawn": drawn(moment, kind, unit) if status.values else None,
    }


def format_time(at: float) -> str:
    """Return a time in UTC.

    >>> format_time(0.0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def margin(moment: Any) -> dict[str, Any] | None:
    """Return the estimated lead over the closest rival."""
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
    """Return one row per round with its values, people and time."""
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
    """Return the number of rounds and values of every person or instrument."""
    values: Counter[str] = Counter()
    asked: dict[str, set[int]] = {}
    for row in rows:
        who = row["client"] or "(nobody was named)"
        values[who] += row["n"]
        asked.setdefault(who, set()).add(row["round"])
    return sorted((who, len(theirs), values[who]) for who, theirs in asked.items())


def _other(event: Event) -> dict[str, Any]:
    return {
        "when": format_time(event.timestamp),
        "what": event.kind,
        "round": event.round,
        "who": event.client,
        "reason": event.reason,
    }


def hindsight(moment: Any, arms: list[dict[str, Any]], best: Complexity) -> float | None:
    """Return how many rounds the optimal proportions take without noise at the estimated means.

    The result is None if the variances are not known or the proportions never stop.
    """
    problem = moment.problem
    if not problem.rewards.variance_known:
        return None
    end = float(
        oracle_stopping_time(moment.stopping, problem, np.array(estimated(problem, arms)), best)
    )
    return end if end < math.inf else None


def against(plan: Any, delta: float) -> dict[str, Any]:
    """Return the plan, at the delta of the study if the plan has it."""
    first = plan.scenarios[0]
    rows = [row for row in plan.rows() if row["shrink"] == first.shrink]
    fitting = [row for row in rows if row["delta"] == delta] or rows
    return {
        "row": fitting[0],
        "sentence": str(plan.sentence),
        "arms": {plan.problem.label([a]): float(mean) for a, mean in enumerate(first.means)},
    }
