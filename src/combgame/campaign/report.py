"""What a campaign has shown so far: one line per configuration and delta, as a table for a
terminal, CSV, Markdown or JSON.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..report.tables import Column, rendered
from ..simulate.numbering import RELABELLED, drawn
from ..simulate.result import summary
from .store import Row, Store
from .twins import marked


def report(store: Store, wanted: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
    """Per configuration and delta: rounds, errors with their exact 95 % interval, the bound, the
    limit and the ratio to it.

    wanted: only these configurations (their keys), and only so many runs of each.
    """
    configurations = [c for c in store.configurations() if wanted is None or c["key"] in wanted]
    if wanted is not None:
        configurations = [{**c, "runs": wanted[c["key"]]} for c in configurations]
    rows = {
        c["key"]: [row for row in store.rows(c["key"]) if row.run < c["runs"]]
        for c in configurations
    }
    shown = marked([c for c in configurations if rows[c["key"]]])
    return [
        line(c, rows[c["key"]], k) for c in shown for k in range(len(c["description"]["deltas"]))
    ]


def line(c: dict[str, Any], rows: list[Row], k: int) -> dict[str, Any]:
    described, reference = c["description"], c["reference"]
    stops, correct = (
        np.array([row.stops[k] for row in rows]),
        np.array([row.correct[k] for row in rows]),
    )
    figures = summary(stops, correct, described["max_rounds"])
    end = reference["limits"][k]
    return {
        "instance": c["instance"],
        "x": c["x"],
        "rule": c["label"],
        "threshold": described["threshold"],
        "seed": described["seed"],
        "delta": described["deltas"][k],
        **figures,
        "planned": c["runs"],
        "standard_error": float(
            np.where(stops < 0, described["max_rounds"], stops).std(ddof=1) / math.sqrt(len(rows))
        )
        if len(rows) > 1
        else None,
        "time": reference["time"],
        "bound": reference["bounds"][k],
        "limit": end,
        "ratio": None if not end else figures["mean"] / end,
        "us_per_round": 1e6
        * sum(row.seconds for row in rows)
        / max(sum(row.rounds for row in rows), 1),
        **{name: float(np.mean([row.figures[name] for row in rows])) for name in rows[0].figures},
        "proved": reference["proved"],
        "label": reference["validity"].partition(":")[0],
        "key": c["key"],
    }


def rows(store: Store) -> list[dict[str, Any]]:
    """One line per run and delta. All but `seconds` is the same whatever engine, workers or order
    made them.
    """
    lines = []
    for c in marked(store.configurations()):
        described = c["description"]
        for row in store.rows(c["key"]):
            labels = None  # a function of the seed and the run, so not stored
            if described.get("relabel"):
                means = (
                    described["means"]
                    if "means" in described
                    else described["problem"]["truth"]["means"]
                )  # as 0.1.0 had it
                labels = drawn(len(means), described["seed"], row.run, RELABELLED)
            for k, delta in enumerate(described["deltas"]):
                stop = row.stops[k]
                lines.append(
                    {
                        "identity": f"{c['key']}-{row.run}",
                        "instance": c["instance"],
                        "rule": c["label"],
                        "threshold": described["threshold"],
                        "seed": described["seed"],
                        "delta": delta,
                        "run": row.run,
                        "rounds": stop if stop >= 0 else described["max_rounds"],
                        "answer": " ".join(map(str, row.answers[k])),
                        "correct": row.correct[k],
                        "capped": stop < 0,
                        **row.figures,
                        "played": row.rounds,
                        **({"labels": " ".join(map(str, labels))} if labels is not None else {}),
                        "rounds_per_second": row.rounds / max(row.seconds, 1e-9),
                        "seconds": row.seconds,
                    }
                )
    return lines


COLUMNS: dict[str, Column] = {
    "problem": lambda r: r["instance"],
    "rule": lambda r: r["rule"],
    "threshold": lambda r: r["threshold"] + ("" if r["label"] == "proved" else f" ({r['label']})"),
    "delta": lambda r: f"{r['delta']:g}",
    "seed": lambda r: str(r["seed"]),
    "runs": lambda r: (
        f"{r['runs']:,}" + (f" of {r['planned']:,}" if r["runs"] < r["planned"] else "")
    ),
    "mean": lambda r: (">= " if r["capped"] else "") + f"{r['mean']:,.0f}",
    "q25": lambda r: f"{r['q25']:,.0f}",
    "median": lambda r: f"{r['median']:,.0f}",
    "q75": lambda r: f"{r['q75']:,.0f}",
    "errors": lambda r: f"{r['error_rate']:.1%} [{r['error_low']:.1%}, {r['error_high']:.1%}]",
    "capped": lambda r: str(r["capped"]),
    "bound": lambda r: "-" if r["bound"] is None else f"{r['bound']:,.0f}",
    "limit": lambda r: "-" if r["limit"] is None else f"{r['limit']:,.0f}",
    "mean/limit": lambda r: (
        "-" if r["ratio"] is None else (">= " if r["capped"] else "") + f"{r['ratio']:.2f}"
    ),
    "us/round": lambda r: f"{r['us_per_round']:,.1f}",
}


EXPLANATION = (
    "rounds: mean and quartiles of the stopping time; capped runs count with their cap. errors: "
    "share of runs that stopped with a wrong "
    "answer, with the exact 95 % interval (Clopper-Pearson). bound: ln(1/(2.4 delta))/D_nu, "
    "below which no rule can go on average "
    "(- for bounded rewards, whose divergence is a surrogate). "
    "limit: the root of t = beta(t, delta)/D_nu, at which the optimal proportions stop without "
    "noise. us/round: measured on whichever "
    "machine, start included (which is cheap for learners on the simplex)."
)


def show(
    rows: list[dict[str, Any]],
    form: str = "text",
    without: Sequence[str] = (),
    below: Sequence[str] = (),
) -> str:
    """A report in one of the formats; a table for people without some columns, and with more
    sentences below it.
    """
    columns = {name: column for name, column in COLUMNS.items() if name not in without}
    return rendered(rows, form, columns, 3, (EXPLANATION, *below))
