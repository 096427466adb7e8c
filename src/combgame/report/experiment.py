"""Pictures of a study, from its rows: evidence over the rounds, estimates with intervals, pulls
against the optimal allocation.
"""

import math
from collections.abc import Sequence
from typing import Any

from .figures import figure

BLUE, RED = "#1f77b4", "#d62728"
Rows = Sequence[dict[str, Any]]


def evidence(points: Rows, title: str) -> Any:
    """Evidence and threshold over the rounds."""
    made, axis = figure()
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
    axis.set_title(title, fontsize=10)
    axis.legend(fontsize=8, frameon=False)
    return made


def _range(points: Rows) -> tuple[float, float]:
    """From 0 to the threshold, or to where the evidence is now: what was retracted does not flatten
    the rest.
    """
    evidence = [one["evidence"] for one in points if math.isfinite(one["evidence"])]
    thresholds = [one["threshold"] for one in points if math.isfinite(one["threshold"])]
    high = max([1.0, *thresholds[-1:], *evidence[-1:]])
    return 0.0, 1.1 * high


def estimates(arms: Rows, title: str) -> Any:
    """The mean of every arm with its interval."""
    made, axis = _over_arms(arms, title)
    for leads, colour, label in ((True, RED, "leading answer"), (False, BLUE, "other arms")):
        theirs = [(k, one) for k, one in enumerate(arms) if one["leads"] == leads and one["n"]]
        means = [one["mean"] for _, one in theirs]
        ends = [
            [one["mean"] - one["low"] for _, one in theirs],
            [one["high"] - one["mean"] for _, one in theirs],
        ]
        axis.errorbar(
            [k for k, _ in theirs],
            means,
            ends,
            fmt="o",
            color=colour,
            markersize=4,
            capsize=2,
            label=label,
        )
    axis.set_ylabel("estimate, interval that holds at all times")
    axis.legend(fontsize=8, frameon=False)
    return made


def pulls(arms: Rows, optimal: Sequence[float] | None, title: str) -> Any:
    """How many values every arm has; optimal: how many they would be, if that is known."""
    made, axis = _over_arms(arms, title)
    places = range(len(arms))
    axis.bar(places, [one["n"] for one in arms], color=BLUE, alpha=0.7, label="values told")
    if optimal is not None:
        axis.plot(
            places,
            optimal,
            "_",
            color=RED,
            markersize=14,
            label="as many, optimally for the estimates",
        )
    axis.set_ylabel("values")
    made.legend(fontsize=8, frameon=False, loc="outside lower center", ncols=2)  # off the bars
    return made


def _over_arms(arms: Rows, title: str) -> tuple[Any, Any]:
    made, axis = figure()
    wide = len(arms) <= 40  # more arms than that have no room for their names
    axis.set_xticks(
        range(len(arms)) if wide else [],
        [one["arm"] for one in arms] if wide else [],
        rotation=45,
        ha="right",
    )
    axis.set_title(title, fontsize=10)
    return made, axis
