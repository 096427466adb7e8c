"""Draw the figures from the rows of the tables, without new runs."""

from typing import Any

from combgame._display.plotting import figure, log_scale, stopping_times, style

from .experiments import DELTA, FIVE, PUBLISHED, Experiment, experiments
from .explanations import marks
from .measured import ratio
from .measures import mean_of
from .results import Rows, Tables

BEYOND = ("product-adahedge", "frank-wolfe")  # newer rules, drawn beside the limit


def drawn(name: str, tables: Tables) -> Any:
    """Draw the figure of an experiment; None if it has none or its tables are missing."""
    if name == "learners":
        both = tables["learners"], tables["regret"]
        return _learners(*both) if all(both) else None
    if name not in experiments() or not tables[name]:
        return None
    if name == "options":
        return _options(tables[name])
    rows = tables[name]
    if name == "gcb-pe":  # on the instances of Figure 1
        rows = rows + [row for row in tables["figure1"] if row["rule"] in BEYOND]
    return _rounds(experiments()[name], rows, tables[f"{name}-time"])


def _rounds(e: Experiment, report: Rows, times: Rows) -> Any:
    """Draw (a) stopping times and, if they were measured, (b) times per round."""
    made, axes = figure(1, 2 if times else 1)
    first = axes[0] if times else axes
    title = f"{'(a) ' if times else ''}{e.title}, delta = {DELTA:g}"
    stopping_times(first, report, e.x_label, title)
    if e.name == "gcb-pe":
        first.plot(
            list(PUBLISHED),
            list(PUBLISHED.values()),
            "kx",
            markersize=7,
            label="GCB-PE as published",
        )
        first.legend(fontsize=8, frameon=False)
    if e.name == "figure1":
        for place, rule in enumerate(FIVE):
            found = [(d, row[rule]) for d, row in marks().items()]
            first.plot(
                *zip(*found, strict=True),
                "x",
                color=style(rule, place)[0],
                markersize=7,
                markeredgewidth=1.6,
            )
        first.plot([], [], "x", color="#555555", label="the paper's marks (digitised)")
        first.legend(fontsize=7, frameon=False, ncols=2)
    if times:
        time_plot(axes[1], times, e.x_label, "(b) time per round, compiled, one core")
    return made


def time_plot(axis: Any, times: Rows, x_label: str, title: str) -> None:
    """Draw the times per round, one line per rule."""
    for place, rule in enumerate(dict.fromkeys(row["rule"] for row in times)):
        rows = [row for row in times if row["rule"] == rule]
        colour, mark = style(rule, place)
        x, y = [row["x"] for row in rows], [row["us_per_round"] for row in rows]
        axis.plot(x, y, marker=mark, color=colour, markersize=5, linewidth=1.2, label=rule)
    log_scale(axis)
    axis.set_xticks(sorted({row["x"] for row in times}))
    axis.set_xlabel(x_label)
    axis.set_ylabel("microseconds per round")
    axis.set_title(title, fontsize=10)
    axis.legend(fontsize=8, frameon=False)


def _options(report: Rows) -> Any:
    """Draw the ratios of the means with an option changed to those of the usual learner.

    Error bars are 95 % intervals.
    """
    made, axis = figure(1, 1, width=8.0, height=1.0 + 0.24 * len(report) / 3)
    usual = {(row["x"], row["rule"]): mean_of(row) for row in report}
    labels = [label for label in dict.fromkeys(row["rule"] for row in report) if "," in label]
    sizes = sorted({row["x"] for row in report})
    for place, x in enumerate(sizes):
        here = [label for label in labels if (x, label) in usual]
        ratios = [ratio(usual[x, label], usual[x, label.split(",")[0]]) for label in here]
        y = [len(labels) - labels.index(label) + 0.2 * (place - 1) for label in here]
        axis.errorbar(
            [one.value for one in ratios],
            y,
            xerr=[1.96 * one.error for one in ratios],
            fmt="osD"[place % 3],
            color=("#1f77b4", "#ff7f0e", "#2ca02c")[place % 3],
            markersize=5,
            label=f"d = {x:g}",
        )
    axis.axvline(1.0, color="black", linewidth=1.0)
    axis.axvspan(0.95, 1.05, color="#dddddd", alpha=0.6, label="within 5 %")
    axis.set_yticks([len(labels) - i for i in range(len(labels))], labels, fontsize=8)
    axis.set_xscale("log")
    axis.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    axis.minorticks_off()
    axis.set_xlabel("mean stopping time / that of the learner as usual")
    axis.legend(fontsize=8, frameon=False)
    return made


def _learners(costs: Rows, regrets: Rows) -> Any:
    """Draw the regret and its bound, the support, and the cost per round of the learners."""
    made, axes = figure(1, 3, width=5.4)
    for place, rule in enumerate(dict.fromkeys(row["rule"] for row in regrets)):
        colour, mark = style(rule, place)
        rows = [row for row in regrets if row["rule"] == rule]
        t = [row["t"] for row in rows]
        axes[0].plot(
            t, [max(row["regret"], 1e-2) for row in rows], color=colour, linewidth=1.4, label=rule
        )
        axes[0].plot(
            t,
            [row["bound"] for row in rows],
            color=colour,
            linewidth=1.0,
            linestyle="--",
            alpha=0.7,
        )
        axes[1].plot(
            t,
            [row["support"] for row in rows],
            color=colour,
            linewidth=3.0 if place == 0 else 1.4,
            label=rule,
        )
        cost = [row for row in costs if row["rule"] == rule]
        axes[2].plot(
            [row["actions"] for row in cost],
            [row["us_per_round"] for row in cost],
            marker=mark,
            color=colour,
            markersize=5,
            label=rule,
        )
    runs, arms = regrets[0]["runs"], regrets[0]["arms"]
    for axis, title, x, y in (
        (
            axes[0],
            f"regret, d = {arms}, mean of {runs} runs; dashed: bounds (LLOO: order)",
            "rounds t of the learner",
            "cumulative regret",
        ),
        (
            axes[1],
            f"support of the weights, d = {arms}",
            "rounds t of the learner",
            "actions in the mixture",
        ),
        (axes[2], "cost per round, d = 5 to 50", "number of actions |A|", "microseconds per round"),
    ):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(x)
        axis.set_ylabel(y)
        axis.legend(fontsize=8, frameon=False)
    return made
