"""What the pictures of a study show."""

from typing import Any

from ..errors import CombGameError, StudyError, unknown
from ..problem import Problem
from ..report import experiment
from ..report.arms import short
from ..report.words import count
from ..rewards import Bernoulli
from ..theory.complexity import Complexity, complexity

POINTS = 150  # of the evidence: each is judged anew
FINE = (None, "fits", "not enough data", "not stated")  # what the check of the noise may say
ALONE = "95% interval of the arm alone"
ALWAYS = "{:g}% interval at all times"
NONE = "no intervals: rounds have levels of their own, so that only differences are known"


def plot(moment: Any, kind: str, unit: str | None = None) -> Any:
    """Of a study at one moment, with its events."""
    if kind not in experiment.KINDS:
        raise unknown("kind", kind, experiment.KINDS)
    return experiment.picture(drawn(moment, kind, unit), kind)


def drawn(moment: Any, kind: str = "overview", unit: str | None = None) -> dict[str, Any]:
    """What a picture needs, as plain data; kind: only what that one needs."""
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
    """What the intervals of the arms are."""
    if problem.rewards.levels():
        return NONE
    return (
        ALWAYS.format(100.0 * (1.0 - status["settings"]["delta"]))
        if status.get("estimates")
        else ALONE
    )


def arms_of(moment: Any, status: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the arms, with those marked in which the rival that is hardest to rule out
    differs from the leader. Of a study that has ended they are as they were then; `later` has the
    number and the mean of the values of an arm with those that came afterwards, where any did.
    """
    arms: list[dict[str, Any]] = moment.rows("arm")
    if status["late"]:
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
    """What stands on an axis of values."""
    usual = "share of successes" if isinstance(problem.rewards, Bernoulli) else "value"
    return getattr(problem, "unit", None) or usual


def title(status: dict[str, Any], decision: Any) -> str:
    """Where the study stands, in a line."""
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
    """Whether the data contradict what a certificate rests on. (A stated sigma that is too large
    only costs rounds.)
    """
    return (status.get("noise") or {}).get("verdict") not in (*FINE, "too large")


def warning(status: dict[str, Any]) -> str:
    """That the data contradict the stated noise, where they do; nothing otherwise."""
    noise = status.get("noise") or {}
    if noise.get("verdict") in FINE:
        return ""
    said = noise.get("text") or noise.get("sentence") or ""
    return str(said["text"] if isinstance(said, dict) else said)


def solved(problem: Problem, arms: list[dict[str, Any]]) -> Complexity | None:
    """What would be best if the estimates were the truth; None where that is not known: while an
    arm has no value, or two answers are equally good.
    """
    if not all(one["n"] for one in arms):
        return None
    try:
        return complexity(problem, estimated(problem, arms), tolerance=1e-2, steps=200)
    except CombGameError:
        return None


def estimated(problem: Problem, arms: list[dict[str, Any]]) -> list[float]:
    """The estimates, moved to where means can be."""
    return [
        float(min(max(one["mean"], problem.low[k]), problem.high[k])) for k, one in enumerate(arms)
    ]


def spread(arms: list[dict[str, Any]], best: Complexity | None) -> None:
    """To every row: of as many values, how many this arm has in the best proportions."""
    total = sum(one["n"] for one in arms)
    for number, one in enumerate(arms):
        share = None if best is None else best.allocation[number] / best.allocation.sum()
        one["optimal"] = None if share is None else float(total * share)
