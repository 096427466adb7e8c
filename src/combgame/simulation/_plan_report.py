"""Reports of a plan: its table, one concluding sentence, and a plot of rounds against delta."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from .._display.html import inline, render
from .._display.plotting import figure, log_scale, style
from .._display.text import aligned
from .._messages import Message

Row = dict[str, Any]
SHOWN = 10  # number of arms and actions in the printed plan
COLUMNS = (
    "bound: no rule needs fewer rounds on average (-: not known for bounded rewards, or with "
    "epsilon); limit: where the optimal proportions stop without noise (no bound: real runs stop "
    "when noise helps, often before; -: not known where plays have levels); gaps: how "
    "the supposed ones are scaled."
)
AT_THE_END = (
    "right: the answer at the end, or the leader where the budget ended first, is the best "
    "(with epsilon: within it); certified: it was proved before that; lead: what one sees then, in "
    "the middle of the runs."
)
BETWEEN = (
    "1/D_nu, the characteristic time, lies between {low:,.1f} and {high:,.1f}; limits are for the "
    "latter."
)
ANOTHER = (
    "With gaps x {shrink:g} another answer is best: {answer} instead of {first}, because answers "
    "have different sizes."
)
SPENT = (
    "The optimal proportions spend the limit's {limit:,.0f} rounds ({threshold}, delta = "
    "{delta:g}) so:"
)

HEADS = {"shrink": "gaps", "label": ""}
IN_PAGES: dict[str, Callable[[Any], str]] = {  # columns in a notebook, with their formats
    "shrink": "x {:g}".format,
    "rule": str,
    "threshold": str,
    "label": str,
    "delta": "{:g}".format,
    **dict.fromkeys(("bound", "limit", "mean", "q25", "median", "q75", "q90"), "{:,.0f}".format),
    **dict.fromkeys(("errors", "capped"), str),
    **dict.fromkeys(("right", "certified"), "{:.0%}".format),
    "lead": "{:.3g}".format,
}


def expectation(rows: Sequence[Row], max_rounds: int) -> Message:
    """Return what to expect in one message, from the rows of one rule and threshold.

    Its arguments are messages with the numbers as arguments: `rounds` has one per delta, and
    `bounds` one per delta that has a bound.
    """
    bounds = [row for row in rows if row["bound"] is not None and row["bound"] >= 1.0]
    text = "Expect {rounds:list}"
    if rows[0]["rule"] is None:
        text += ", half or twice as many: without noise the optimal proportions take so many"
    if bounds:
        text += "; no rule can do it in fewer than {bounds:list}"
    return Message(
        "expect",
        text,
        rounds=[_rounds(row, max_rounds, _where(row, row is rows[0])) for row in rows],
        bounds=[_bound(row, row is bounds[0], len(rows) > 1) for row in bounds],
    )


def _rounds(row: Row, max_rounds: int, where: Message) -> Message:
    """Return the limit, or the mean of some runs with their quartiles."""
    if row["rule"] is None:
        return Message("rounds-of-limit", "some {limit:,.0f} {where}", where=where, **row)
    if row["capped"]:
        text = (
            "{max_rounds:,} {where} to be enough in {certified:.0%} of {runs} runs; the answer "
            "that leads at the end is "
        )
        text += "within {epsilon:g} of the best" if row["epsilon"] else "the best"
        text += " in {right:.0%} of them"
        if row["lead"] is not None:
            text += ", by {lead:.3g} as it looks then ({lead_q25:.3g} to {lead_q75:.3g} in half of "
            text += "them)"
        return Message("rounds-cut", text, where=where, max_rounds=max_rounds, **row)
    text = "about {mean:,.0f} {where} (half of the runs need between {q25:,.0f} and {q75:,.0f})"
    return Message("rounds-of-runs", text, where=where, **row)


def _where(row: Row, first: bool) -> Message:
    """Return the conditions of a number of rounds; only the first message has all of them."""
    if not first:
        return Message("at-delta", "at delta = {delta:g}", delta=row["delta"])
    text = "rounds" if row["rule"] is None else "rounds with {rule}"
    text += " at delta = {delta:g}"
    if row["epsilon"]:
        text += ", epsilon = {epsilon:g}"
    proved = row["label"] == "proved"
    text += " and the proved threshold" if proved else " and the {threshold} ({label}) threshold"
    about = {key: row[key] for key in ("rule", "delta", "epsilon", "threshold", "label")}
    return Message("with-threshold", text, **about)


def _bound(row: Row, first: bool, several: bool) -> Message:
    text = "{bound:,.0f}"
    if first:
        text += " on average"
    if several:
        text += " at delta = {delta:g}"
    return Message("least-rounds", text, bound=row["bound"], delta=row["delta"])


def text(plan: Row, limits: Sequence[Row]) -> str:
    """Return the printed plan.

    Parameters
    ----------
    plan : dict
        The result of `Plan.to_dict`.
    limits : sequence of dict
        One row per threshold and delta.
    """
    rows = plan["rows"]
    simulated = rows[0]["rule"] is not None
    head = ["gaps", "threshold", *(["rule"] if simulated else []), "delta", "bound", "limit"]
    more = ["runs", "mean", "q25", "median", "q75", "q90", "errors", "capped"] if simulated else []
    cut = any(row.get("capped") for row in rows)
    more += ["right", "certified", "lead"] if cut else []
    lines = [aligned(head + more, [_cells(row, cut) for row in rows], left=3 if simulated else 2)]
    if plan["gap"] > 1e-3:
        lines.append(BETWEEN.format(low=plan["time"] / (1.0 + plan["gap"]), high=plan["time"]))
    lines.append(COLUMNS)
    if cut:
        lines.append(AT_THE_END)
    lines += [f"{name} is {validity}." for name, validity in plan["validity"].items()]
    lines += [
        ANOTHER.format(shrink=shrink, answer=answer, first=plan["answer"])
        for shrink, answer in {row["shrink"]: row["answer"] for row in rows}.items()
        if answer != plan["answer"]
    ]
    if not limits:  # the rounds have batch effects
        return "\n".join([*lines, "", plan["sentence"]])
    first = limits[0]
    lines += ["", SPENT.format(**first)]
    arms = sorted(_of(plan["arms"], first), key=lambda row: -row["values"])
    cells = [
        [row["arm"], f"{row['mean']:g}", f"{row['per_round']:.3f}", f"{row['values']:,.0f}"]
        for row in arms
    ]
    lines.append(_shown(["arm", "mean", "per round", "values"], cells, "arms: plan.arms()"))
    cells = [
        [row["action"], f"{row['share']:.3f}", f"{row['plays']:,.0f}"]
        for row in _of(plan["support"], first)
    ]
    lines.append(_shown(["action", "share", "plays"], cells, "actions: plan.support()"))
    return "\n".join([*lines, "", plan["sentence"]])


def as_html(plan: Row, picture: Any) -> str:
    """Return the plan for a notebook, from the result of `Plan.to_dict` and a figure or None."""
    rows = plan["rows"]
    wanted = {key: said for key, said in IN_PAGES.items() if rows[0].get(key) is not None}
    cells = [
        ["-" if row[key] is None else said(row[key]) for key, said in wanted.items()]
        for row in rows
    ]
    return render(
        "fragment.html",
        lead=plan["sentence"],
        head=[HEADS.get(key, key) for key in wanted],
        rows=cells,
        left=list(wanted).index("delta"),
        picture=None if picture is None else inline(picture, "Rounds against delta"),
        notes=[COLUMNS, *(f"{name} is {one}." for name, one in plan["validity"].items())],
    )


def _of(rows: Sequence[Row], limit: Row) -> list[Row]:
    """Return the rows of one threshold and delta."""
    return [
        row
        for row in rows
        if (row["threshold"], row["delta"]) == (limit["threshold"], limit["delta"])
    ]


def _shown(head: list[str], cells: list[list[str]], rest: str) -> str:
    """Return the first lines of a table, and a note on where to find the others."""
    left = len(cells) - SHOWN
    return aligned(head, cells[:SHOWN]) + (f"\n... and {left} more {rest}" if left > 0 else "")


def _cells(row: Row, cut: bool) -> list[str]:
    """Return the cells of a row; with `cut`, also what runs had when their budget ended."""
    cells = [
        f"x {row['shrink']:g}",
        f"{row['threshold']} ({row['label']})",
        *([] if row["rule"] is None else [row["rule"]]),
        f"{row['delta']:g}",
        "-" if row["bound"] is None else f"{row['bound']:,.0f}",
        "-" if row["limit"] is None else f"{row['limit']:,.0f}",
    ]
    if row["rule"] is None:
        return cells
    return [
        *cells,
        str(row["runs"]),
        (">= " if row["capped"] else "") + f"{row['mean']:,.0f}",
        *(f"{row[q]:,.0f}" for q in ("q25", "median", "q75", "q90")),
        str(row["errors"]),
        str(row["capped"]),
        *(
            [
                f"{row['right']:.0%}",
                f"{row['certified']:.0%}",
                "-" if row["lead"] is None else f"{row['lead']:.3g}",
            ]
            if cut
            else []
        ),
    ]


def plot(rows: Sequence[Row], limits: Sequence[Row], proved: Collection[str]) -> Any:
    """Plot rounds against delta, one line per rule and threshold, with the limits and the bound.

    Lines are dashed unless their threshold is in `proved`, which has the thresholds that are
    proved, with or without conditions.
    """
    made, axis = figure(width=8.4)
    rows = sorted(rows, key=lambda row: row["delta"])
    runs = [row for row in rows if row["rule"] is not None]
    rules = list(dict.fromkeys(row["rule"] for row in runs))
    for rule, threshold in dict.fromkeys((row["rule"], row["threshold"]) for row in runs):
        own = [row for row in runs if (row["rule"], row["threshold"]) == (rule, threshold)]
        colour, mark = style(rule, rules.index(rule))
        x, label = [row["delta"] for row in own], own[0]["label"]
        axis.vlines(
            x,
            [row["q25"] for row in own],
            [row["q75"] for row in own],
            color=colour,
            linewidth=1.6,
            alpha=0.55,
        )
        axis.plot(
            x,
            [row["mean"] for row in own],
            "-" if threshold in proved else "--",
            color=colour,
            marker=mark,
            markersize=5,
            linewidth=1.2,
            label=f"{rule}, {threshold} ({label})",
        )
    for threshold, label in dict.fromkeys((row["threshold"], row["label"]) for row in limits):
        ends = sorted(
            (row["delta"], row["limit"]) for row in limits if row["threshold"] == threshold
        )
        axis.plot(
            *zip(*ends, strict=True),
            color="black",
            linewidth=1.2,
            marker=".",
            linestyle=":" if threshold in proved else (0, (1, 4)),
            label=f"limit, {threshold} ({label})",
        )
    bounds = [(row["delta"], row["bound"]) for row in rows if row["bound"]]
    if bounds:
        axis.plot(
            *zip(*bounds, strict=True),
            color="black",
            linestyle="-.",
            linewidth=1.2,
            marker=".",
            label="bound $\\ln(1/2.4\\delta)/D_\\nu$",
        )
    axis.set_xscale("log")
    log_scale(axis)
    deltas = sorted({row["delta"] for row in rows})
    axis.set_xticks(deltas, [f"{delta:g}" for delta in deltas])
    axis.set_xticks([], minor=True)
    axis.invert_xaxis()  # more certainty to the right
    axis.set_xlabel("delta")
    axis.set_ylabel("rounds: mean, quartiles")
    made.legend(loc="outside right upper", fontsize=8, frameon=False)
    return made
