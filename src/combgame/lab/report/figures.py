"""Figures of a study: estimates, evidence over the rounds, and values per arm.

Each is drawn on an axis, so that several may share a figure.
"""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from ..._display.plotting import (
    BEST,
    NEEDED,
    OTHER,
    RIVAL,
    DrawnFigure,
    figure,
    plain_numbers,
    short,
    shown,
    whole_numbers,
)
from ..._display.text import count

Rows = Sequence[dict[str, Any]]
KINDS = ("overview", "estimates", "evidence", "pulls")
WIDTH = 6.4  # inches
WIDER = 3.0  # multiples of the usual threshold that are still on the scale
POINTS = 1500  # points of a curve; more cannot be distinguished
ENDED = "ended"
ENDS = {"certified": "certified", "by hand": "stopped by hand"}  # labels of the end
LATER_MEAN = "mean with the results that came later"
LATER_EVIDENCE = "with the results that came later"
LATER_LOOKS: dict[str, Any] = {
    "marker": "D",
    "linestyle": "",
    "color": OTHER,
    "markerfacecolor": "none",
    "markersize": 5,
}


def picture(data: dict[str, Any], kind: str = "overview") -> Any:
    """Return a matplotlib figure of one of the `KINDS`.

    Parameters
    ----------
    data : dict
        The rows of the arms (`arms`), the points of the evidence (`points`), the state in which the
        study ended (`ended`), `unit`, `interval`, `title`, `warning`, and whether the smallest
        value is best (`least_first`).
    kind : str, default="overview"
        Kind of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    arms = shown(data["arms"], least_first=data["least_first"])
    panels = ("estimates", "evidence") if kind == "overview" else (kind,)
    lines = len(arms.arms) + bool(arms.rest) + bool(arms.silent)
    tall = 3.6 if kind == "evidence" else max(1.6 + 0.24 * lines, 3.6 * (kind == "overview"))
    made, axes = figure(1, len(panels), WIDTH if len(panels) == 1 else 5.6, tall)
    for axis, panel in zip(axes if len(panels) > 1 else [axes], panels, strict=True):
        if panel == "estimates":
            estimates(axis, arms, data["unit"], data["interval"])
        elif panel == "pulls":
            pulls(axis, arms)
        else:
            evidence(axis, data["points"], ENDS.get(data.get("ended", ""), ENDED))
    keys: dict[str, Any] = {}
    for axis in made.axes:
        keys |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    made.legend(keys.values(), keys, fontsize=8, frameon=False, loc="outside lower center", ncols=5)
    room = 62 * len(panels)  # characters
    made.suptitle(textwrap.fill(short(data["title"], 160), room), fontsize=11, parse_math=False)
    if data["warning"]:
        made.axes[0].set_title(
            textwrap.fill(data["warning"], room),
            fontsize=9,
            color=NEEDED,
            loc="left",
            parse_math=False,
        )
    return made


def estimates(axis: Any, arms: DrawnFigure, unit: str, interval: str) -> None:
    """Draw the mean of every arm with its interval, the best at the top.

    `interval` describes the intervals.
    """
    lines: list[tuple[str, str]] = []
    for place, one in enumerate(arms.arms):
        colour, weight = _looks(one)
        low, high = (one["mean"] if one[end] is None else one[end] for end in ("low", "high"))
        ends = [[max(one["mean"] - low, 0.0)], [max(high - one["mean"], 0.0)]]
        axis.errorbar(
            [one["mean"]],
            [place],
            xerr=ends,
            fmt="o",
            color=colour,
            markersize=5.5 if one["leads"] else 4,
            capsize=2,
        )
        if one.get("later"):
            axis.plot([one["later"]["mean"]], [place], label=LATER_MEAN, **LATER_LOOKS)
        lines.append((short(one["arm"]), weight))
    if arms.rest:
        means = [one["mean"] for one in arms.rest]
        axis.plot([min(means), max(means)], [len(lines)] * 2, color=OTHER, linewidth=5, alpha=0.35)
        n = len(arms.rest)
        lines.append((f"{n:,} more arm{'s' * (n != 1)} (means)", "normal"))
    _names(axis, lines, arms)
    plain_numbers(axis.xaxis)
    given = any(one["low"] is not None or one["high"] is not None for one in arms.arms)
    what = f"{unit} (estimate, {interval})" if given else f"{unit} (estimate; {interval})"
    axis.set_xlabel(textwrap.fill(what, 60), parse_math=False)
    _keys(axis, arms.arms)


def pulls(axis: Any, arms: DrawnFigure) -> None:
    """Draw the number of values of every arm, and the optimal number where the rows have it."""
    lines: list[tuple[str, str]] = []
    for place, one in enumerate(arms.arms):
        colour, weight = _looks(one)
        axis.barh([place], [one["n"]], color=colour, height=0.6, alpha=0.8)
        if one.get("optimal") is not None:
            axis.plot([one["optimal"]], [place], "|", color=NEEDED, markersize=12, mew=2)
        lines.append((short(one["arm"]), weight))
    if arms.rest:
        n, each = len(arms.rest), [one["n"] for one in arms.rest]
        axis.barh([len(lines)], [sum(each) / n], color=OTHER, height=0.6, alpha=0.35)
        lines.append((f"{n:,} more arm{'s' * (n != 1)} (each)", "normal"))
    _names(axis, lines, arms)
    whole_numbers(axis.xaxis)
    axis.set_xlim(left=0.0)
    axis.set_xlabel("values measured")
    _keys(axis, arms.arms)
    if any(one.get("optimal") is not None for one in arms.arms):
        axis.plot([], [], "|", color=NEEDED, markersize=12, mew=2, label="best use of as many")


def evidence(axis: Any, points: Rows, ended: str = "certified") -> None:
    """Draw the evidence and the threshold over the rounds.

    Evidence off the scale (from a mistake that was retracted) is drawn at the edge with a mark; a
    threshold off the scale is not drawn. The dot is the current state of the study, or the state
    when it ended, which the word `ended` labels. Later results, which are not part of it, follow in
    grey.
    """
    low, high = scale(points)
    part = [one for one in points if not one.get("late")]
    late = points[len(part) :]
    kept = [*part[:: max(len(part) // POINTS, 1)], *part[-1:]]
    rounds = [one["rounds"] for one in kept]
    have = [min(max(one["evidence"], low), high) for one in kept]
    needed = [one["threshold"] if one["threshold"] <= high else math.nan for one in kept]
    axis.plot(rounds, have, color=BEST, linewidth=1.8, label="evidence")
    axis.plot(rounds, needed, color=NEEDED, linestyle="--", linewidth=1.4, label="needed")
    axis.plot(rounds[-1:], have[-1:], "o", color=BEST, markersize=5)
    if late:
        after = [*part[-1:], *late[:: max(len(late) // POINTS, 1)], late[-1]]
        axis.plot(
            [one["rounds"] for one in after],
            [min(max(one["evidence"], low), high) for one in after],
            color=OTHER,
            linewidth=1.2,
            label=LATER_EVIDENCE,
        )
        axis.plot(
            [one["rounds"] for one in after],
            [one["threshold"] if one["threshold"] <= high else math.nan for one in after],
            color=OTHER,
            linestyle="--",
            linewidth=1.0,
        )
        end = part[-1]["rounds"] if part else 0
        axis.axvline(end, color=OTHER, linewidth=0.8, linestyle=":")
        axis.text(
            end,
            0.02,
            f" {ended} after {count(end, 'round')}",
            transform=axis.get_xaxis_transform(),
            fontsize=8,
            color=BEST,
        )
    for edge, mark, off in ((high, "^", 1.0), (low, "v", -1.0)):
        beyond = [
            one["rounds"]
            for one in points
            if one["evidence"] > -math.inf  # -inf stands for no evidence yet
            and one["evidence"] * off > edge * off + 1e-9 * abs(edge)
        ]
        if beyond:
            beyond = beyond[:: max(len(beyond) // 50, 1)]
            axis.plot(
                beyond, [edge] * len(beyond), mark, color=BEST, markersize=6, label="off the scale"
            )
    pad = 0.06 * (high - low)
    axis.set_ylim(low - 0.4 * pad, high + pad)
    whole_numbers(axis.xaxis)
    plain_numbers(axis.yaxis)
    axis.set_xlabel("rounds measured")
    axis.set_ylabel("evidence for the leader")


def scale(points: Rows) -> tuple[float, float]:
    """Return the limits of the axis of the evidence.

    They include the usual threshold and the last evidence, so that retracted results do not
    compress the rest.
    """
    last = [one["evidence"] for one in points if not one.get("late")][-1:]
    have = [one["evidence"] for one in points if math.isfinite(one["evidence"])]
    needed = [one["threshold"] for one in points if math.isfinite(one["threshold"])]
    ends = [x for x in (*last, *have[-1:]) if math.isfinite(x)]
    high = max([1.0, *needed[-1:], *sorted(needed)[len(needed) // 2 :][:1], *ends])
    high = max([high, *(x for x in [*have, *needed] if x <= WIDER * high)])
    low = min([0.0, *(x for x in have if x >= -high), *ends])
    return low, high


def _looks(one: dict[str, Any]) -> tuple[str, str]:
    """Return the colour of an arm, and the weight of its name."""
    if one["leads"]:
        return BEST, "bold"
    return (RIVAL if one.get("rival") else OTHER), "normal"


def _names(axis: Any, lines: list[tuple[str, str]], arms: DrawnFigure) -> None:
    """Write the names beside the axis, the first at the top."""
    if arms.silent:
        n = len(arms.silent)
        named = short(arms.silent[0]["arm"], 16) if n == 1 else f"{n:,} arms"
        lines.append((f"{named}: no value", "normal"))
    axis.set_yticks(range(len(lines)), [text for text, _ in lines], parse_math=False)
    for label, (_, weight) in zip(axis.get_yticklabels(), lines, strict=True):
        label.set_fontweight(weight)
    axis.set_ylim(len(lines) - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.grid(False, axis="y")


KEYS = (("leads", BEST, "leading"), ("rival", RIVAL, "hardest to rule out"))


def _keys(axis: Any, arms: Rows) -> None:
    """Add the colours to the legend."""
    for key, colour, label in KEYS:
        if any(one.get(key) for one in arms):
            axis.plot([], [], "o", color=colour, markersize=5, label=label)
