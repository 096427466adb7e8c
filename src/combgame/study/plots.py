"""Pictures of a study: evidence over the rounds, estimates with intervals, pulls against the
optimal allocation.
"""

import math
from typing import Any

from ..errors import StudyError, UnknownNameError
from ..report.figures import figure
from ..theory.complexity import complexity

KINDS = ("evidence", "estimates", "pulls")
BLUE, GREY, RED = "#1f77b4", "#7f7f7f", "#d62728"


def plot(moment: Any, kind: str) -> Any:
    """Of a study at one moment, with its events."""
    if kind not in KINDS:
        raise UnknownNameError(
            f"plot: kind = {kind!r} is not known; use one of {', '.join(map(repr, KINDS))}."
        )
    arms = moment.rows("arm")
    if not any(one["n"] for one in arms):
        raise StudyError(
            f"study {moment.name!r} has no values yet, so there is nothing to plot; tell "
            "something first."
        )
    made, axis = figure()
    if kind == "evidence":
        _evidence(axis, moment.history())
    else:
        wide = len(arms) <= 40  # more arms than that have no room for their names
        axis.set_xticks(
            range(len(arms)) if wide else [],
            [one["arm"] for one in arms] if wide else [],
            rotation=45,
            ha="right",
        )
        draw = _estimates if kind == "estimates" else _pulls
        draw(axis, arms, moment)
    axis.set_title(f"{moment.name}: {moment.state}", fontsize=10)
    if kind == "pulls":
        made.legend(fontsize=8, frameon=False, loc="outside lower center", ncols=2)  # off the bars
    else:
        axis.legend(fontsize=8, frameon=False)
    return made


def _evidence(axis: Any, points: list[dict[str, Any]]) -> None:
    rounds = [one["rounds"] for one in points]
    axis.plot(
        rounds, [one["evidence"] for one in points], color=BLUE, linewidth=1.4, label="evidence"
    )
    axis.plot(
        rounds,
        [one["threshold"] for one in points],
        color=RED,
        linestyle="--",
        linewidth=1.2,
        label="threshold",
    )
    axis.set_ylim(*_range(points))
    axis.set_xlabel("rounds told")
    axis.set_ylabel("evidence for the leader")


def _range(points: list[dict[str, Any]]) -> tuple[float, float]:
    """From the least evidence to the threshold, or to where the evidence is now: what was retracted
    does not flatten the rest.
    """
    evidence = [one["evidence"] for one in points if math.isfinite(one["evidence"])]
    thresholds = [one["threshold"] for one in points if math.isfinite(one["threshold"])]
    low, high = min([0.0, *evidence]), max([1.0, *thresholds, *evidence[-1:]])
    low = max(low, min([-high, *evidence[-1:]]))
    return low - 0.05 * (high - low), high + 0.1 * (high - low)


def _estimates(axis: Any, arms: list[dict[str, Any]], moment: Any) -> None:
    for leads, colour, label in ((True, RED, "leading answer"), (False, BLUE, "other arms")):
        found = [(k, one) for k, one in enumerate(arms) if one["leads"] == leads and one["n"]]
        means = [one["mean"] for _, one in found]
        ends = [
            [one["mean"] - one["low"] for _, one in found],
            [one["high"] - one["mean"] for _, one in found],
        ]
        axis.errorbar(
            [k for k, _ in found],
            means,
            ends,
            fmt="o",
            color=colour,
            markersize=4,
            capsize=2,
            label=label,
        )
    axis.set_ylabel("estimate, 95% interval of the arm alone")


def _pulls(axis: Any, arms: list[dict[str, Any]], moment: Any) -> None:
    places, total = range(len(arms)), sum(one["n"] for one in arms)
    axis.bar(places, [one["n"] for one in arms], color=BLUE, alpha=0.7, label="values told")
    if all(one["n"] for one in arms):
        best = complexity(
            moment.problem,
            [_inside(moment, k, one["mean"]) for k, one in enumerate(arms)],
            tolerance=1e-2,
            steps=200,
        ).allocation
        axis.plot(
            places,
            best * total / best.sum(),
            "_",
            color=RED,
            markersize=14,
            label="as many, optimally for the estimates",
        )
    axis.set_ylabel("values")


def _inside(moment: Any, arm: int, mean: float) -> float:
    return float(min(max(mean, moment.problem.low[arm]), moment.problem.high[arm]))
