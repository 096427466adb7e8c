"""What the pictures of a study show."""

from typing import Any

from ..errors import StudyError, unknown
from ..problem import Problem
from ..report import experiment
from ..theory.complexity import complexity

KINDS = ("evidence", "estimates", "pulls")


def plot(moment: Any, kind: str) -> Any:
    """Of a study at one moment, with its events."""
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    arms, title = moment.rows("arm"), f"{moment.name}: {moment.state}"
    if not any(one["n"] for one in arms):
        raise StudyError(
            "no-values",
            "study {name!r} has no values yet, so there is nothing to plot",
            remedy="tell something first",
            name=moment.name,
        )
    if kind == "evidence":
        return experiment.evidence(moment.history(), title)
    if kind == "estimates":
        return experiment.estimates(arms, title)
    return experiment.pulls(arms, optimal(moment.problem, arms), title)


def optimal(problem: Problem, arms: list[dict[str, Any]]) -> Any:
    """As many values, spread over the arms as is optimal for the estimates; None while an arm has
    none.
    """
    if not all(one["n"] for one in arms):
        return None
    means = [
        float(min(max(one["mean"], problem.low[k]), problem.high[k])) for k, one in enumerate(arms)
    ]
    best = complexity(problem, means, tolerance=1e-2, steps=200).allocation
    return best * sum(one["n"] for one in arms) / best.sum()
