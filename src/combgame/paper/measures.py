"""What the findings are judged by: numbers and rows of numbers, computed from the tables."""

import math
from typing import Any

import numpy as np

from .results import Rows, Tables

SIMPLEX, THREE = ("hedge", "adahedge"), ("hedge", "adahedge", "lloo")
STYLISED = ("figure1", "uniform-matroid-k2", "grid", "line2", "line3", "almost-all", "options")
Numbers = dict[str, Any]


class Column:
    """One column of a table by x and rule, of the runs with the stylised threshold or GCB-PE's."""

    def __init__(self, rows: Rows, name: str = "mean") -> None:
        used = [row for row in rows if row.get("threshold") in (None, "stylised", "gcb-pe")]
        self.at = {(row["x"], row["rule"]): row[name] for row in used}
        self.xs = sorted({row["x"] for row in used})
        self.rules = list(dict.fromkeys(row["rule"] for row in used))

    def have(self, *rules: str) -> list[float]:
        """The x at which all these rules were run."""
        return [x for x in self.xs if all((x, rule) in self.at for rule in rules)]


def learners_and_uniform(tables: Tables) -> Numbers:
    """How far Hedge's, AdaHedge's and LLOO's means lie apart, which are not below uniform
    sampling's, and how they go with d.
    """
    mean = Column(tables["figure1"])
    xs = mean.have("uniform", *THREE)
    sizes = []
    for x in xs:
        means = [mean.at[x, rule] for rule in THREE]
        sizes.append({"x": x, "ratio": max(means) / min(means)})
    worse = [
        {"x": x, "rule": rule}
        for x in xs
        for rule in THREE
        if mean.at[x, rule] >= mean.at[x, "uniform"]
    ]
    widest = max(sizes, key=lambda size: size["ratio"])
    return {
        "sizes": sizes,
        "closest": min(size["ratio"] for size in sizes),
        "widest": widest["ratio"],
        "widest_x": widest["x"],
        "worse": worse[:6],
        "not_below": len(worse),
        "means": len(xs) * len(THREE),
        "correlation": min(np.corrcoef(xs, [mean.at[x, rule] for x in xs])[0, 1] for rule in THREE),
    }


def ofw_and_the_others(tables: Tables) -> Numbers:
    """OFW's mean over the largest of the other three, from d = 20 on."""
    mean = Column(tables["figure1"])
    xs = [x for x in mean.have("ofw", *THREE) if x >= 20]
    largest = {x: max(mean.at[x, rule] for rule in THREE) for x in xs}
    return {"sizes": [{"x": x, "ratio": mean.at[x, "ofw"] / largest[x]} for x in xs]}


def gcb_pe_and_the_others(tables: Tables) -> Numbers:
    """GCB-PE's mean over the mean of the other five, with the scale that is implied; and how much
    more it needs with the one that is proved.
    """
    mean, gcb = Column(tables["figure1"]), Column(tables["gcb-pe"])
    rule = next(rule for rule in gcb.rules if "scale 0" in rule)
    others = [other for other in ("uniform", *THREE, "ofw") if other in mean.rules]
    sizes = [
        {
            "x": x,
            "ratio": gcb.at[x, rule]
            / np.mean([mean.at[x, other] for other in others if (x, other) in mean.at]),
        }
        for x in gcb.have(rule)
        if x in mean.xs
    ]
    proved = [other for other in gcb.rules if "proved" in other][:1]
    times = [gcb.at[x, p] / gcb.at[x, rule] for p in proved for x in gcb.have(rule, p)]
    return {
        "sizes": sizes,
        "of_the_paper": [size for size in sizes if size["x"] <= 20],
        "proved": [{"times": np.mean(times)} for _ in proved],
    }


def time_and_actions(tables: Tables) -> Numbers:
    """How the time per round goes with the number of actions: a power of it for the learners on the
    simplex, a factor for the others.
    """
    us: dict[str, dict[float, float]] = {}
    for row in tables["figure1-time"]:
        us.setdefault(row["rule"], {})[row["actions"]] = row["us_per_round"]
    powers = []
    for rule in SIMPLEX:
        n, t = zip(*((n, t) for n, t in us[rule].items() if n >= 1000), strict=True)
        powers.append({"rule": rule, "power": float(np.polyfit(np.log(n), np.log(t), 1)[0])})
    last = {rule: us[rule][max(us[rule])] for rule in (*SIMPLEX, "ofw", "lloo")}
    ofw, lloo = (last[rule] / us[rule][min(us[rule])] for rule in ("ofw", "lloo"))
    return {
        "powers": powers,
        "fewest": min(us["lloo"]),
        "most": max(us["lloo"]),
        "ofw": ofw,
        "lloo": lloo,
        "steepest": max(ofw, lloo),
        "last": [{"rule": rule, "us": t} for rule, t in last.items()],
    }


def growth_on_grids(tables: Tables) -> Numbers:
    """How many times the means grow from the smallest grid to the largest, and on which of the
    largest grids AdaHedge pays nearly |A| rounds.
    """
    mean = Column(tables["grid"])
    actions = {row["x"]: row["actions"] for row in tables["quantities"] if row["family"] == "grid"}
    xs = mean.have("uniform", "adahedge", "lloo")
    small, large = xs[0], xs[-1]
    uniform, lloo = (mean.at[large, rule] / mean.at[small, rule] for rule in ("uniform", "lloo"))
    paid: list[float] = []
    for x in reversed(xs):
        if x < 12 or mean.at[x, "adahedge"] < 0.9 * actions[x]:
            break
        paid.insert(0, x)
    return {
        "small": small,
        "large": large,
        "uniform": uniform,
        "lloo": lloo,
        "faster": uniform / lloo,
        "uniform_mean": mean.at[large, "uniform"],
        "lloo_mean": mean.at[large, "lloo"],
        "adahedge_mean": mean.at[large, "adahedge"],
        "actions": actions[large],
        "paid": [{"x": x} for x in paid],
        "grids_paid": len(paid),
    }


def lloo_and_adahedge(tables: Tables) -> Numbers:
    """LLOO's mean over AdaHedge's, and AdaHedge's time per round over LLOO's on the largest."""
    experiments = []
    for name in ("uniform-matroid-k2", "line2", "line3"):
        mean, time = Column(tables[name]), Column(tables[f"{name}-time"], "us_per_round")
        xs, top = mean.have("adahedge", "lloo"), time.xs[-1]
        ratios = [mean.at[x, "lloo"] / mean.at[x, "adahedge"] for x in xs]
        cost = time.at[top, "adahedge"] / time.at[top, "lloo"]
        experiments.append({"name": name, "least": min(ratios), "most": max(ratios), "cost": cost})
    return {"experiments": experiments}


def the_needle(tables: Tables) -> Numbers:
    """LLOO's means, and AdaHedge's and uniform sampling's at the largest d."""
    mean, capped = Column(tables["almost-all"]), Column(tables["almost-all"], "capped")
    xs = mean.have("adahedge", "lloo", "uniform")
    top, means = xs[-1], [mean.at[x, "lloo"] for x in xs]
    return {
        "least": min(means),
        "most": max(means),
        "small": xs[0],
        "large": top,
        "adahedge": mean.at[top, "adahedge"],
        "share": max(means) / mean.at[top, "adahedge"],
        "actions": 2 ** (int(top) - 1),
        "uniform": mean.at[top, "uniform"],
        "capped": sum(capped.at[x, "lloo"] for x in xs),
    }


def options_and_the_usual(tables: Tables) -> Numbers:
    """Means with an option changed, as a ratio to the usual: how many are near 1, and the
    furthest.
    """
    mean, error = Column(tables["options"]), Column(tables["options"], "standard_error")
    options = []
    for option in ("D-tracking", "one per answer"):
        ratios = []
        for x, rule in ((x, rule) for x in mean.xs for rule in (*SIMPLEX, "ofw", "lloo")):
            new, old = (x, f"{rule}, {option}"), (x, rule)
            if new not in mean.at:
                continue
            ratio = mean.at[new] / mean.at[old]
            errors = [(error.at[one] or 0.0) / mean.at[one] for one in (new, old)]
            standard_error = ratio * math.hypot(*errors)
            ratios.append({"x": x, "rule": rule, "ratio": ratio, "error": standard_error})
        close = sum(abs(one["ratio"] - 1.0) <= 0.05 for one in ratios)
        may = sum(abs(one["ratio"] - 1.0) <= 0.05 + 2.0 * one["error"] for one in ratios)
        far = max(ratios, key=lambda one: abs(np.log(one["ratio"])))
        counts = {"of": len(ratios), "close": close, "may": may, "share": may / len(ratios)}
        options.append({"option": option, **counts, **far, "change": far["ratio"] - 1})
    return {"options": options}


def error_rows(tables: Tables, name: str, threshold: str = "stylised") -> Rows:
    """The lines of a table with that threshold; of the options only those that are not in Figure 1
    too.
    """
    rows = [row for row in tables[name] if row["threshold"] == threshold]
    return [row for row in rows if name != "options" or "," in row["rule"]]


def pooled_errors(tables: Tables) -> Numbers:
    """Errors in all runs with the stylised threshold, the worst line, the exact intervals, and the
    errors with the proved threshold.
    """
    rows = [row for name in STYLISED for row in error_rows(tables, name)]
    proved = error_rows(tables, "options", "gaussian")
    errors, runs = sum(row["errors"] for row in rows), sum(row["runs"] for row in rows)
    worst = max(rows, key=lambda row: row["error_rate"])
    return {
        "errors": errors,
        "runs": runs,
        "rate": errors / runs,
        "lines": len(rows),
        "worst": [worst],
        "highest": max((row["error_high"] for row in rows if row["runs"] >= 300), default=math.inf),
        "lowest": max(row["error_low"] for row in rows),
        "proved_errors": sum(row["errors"] for row in proved),
        "proved_runs": sum(row["runs"] for row in proved),
    }
