"""The numbers by which the findings are judged, with standard errors, computed from the tables."""

import math
from typing import Any

import numpy as np

from combgame.simulation.result import error_interval

from .experiments import DELTA
from .measured import LEVEL, Estimate, inside, propagated, ratio
from .results import Rows, Tables

SIMPLEX, THREE = ("hedge", "adahedge"), ("hedge", "adahedge", "lloo")
STYLISED = ("figure1", "uniform-matroid-k2", "grid", "line2", "line3", "almost-all", "options")
FEW_PERCENT = 0.05  # our reading of the paper's "a few percent"
SELDOM = 0.02  # delta / 5: our reading of "far below delta"
Numbers = dict[str, Any]


class Column:
    """One column of a table by x and rule; means have their standard errors.

    Only runs with the stylised threshold or GCB-PE's are used.
    """

    def __init__(self, rows: Rows, name: str = "mean") -> None:
        used = [row for row in rows if row.get("threshold") in (None, "stylised", "gcb-pe")]
        self.at: dict[tuple[float, str], Any] = {
            (row["x"], row["rule"]): mean_of(row) if name == "mean" else row[name] for row in used
        }
        self.xs = sorted({row["x"] for row in used})
        self.rules = list(dict.fromkeys(row["rule"] for row in used))

    def have(self, *rules: str) -> list[float]:
        """Return the x at which all these rules were run."""
        return [x for x in self.xs if all((x, rule) in self.at for rule in rules)]

    def power(self, rule: str, xs: list[float]) -> Estimate:
        """Return the exponent with which the means of a rule grow with x."""
        logs = np.log(xs)
        return propagated(
            lambda y: float(np.polyfit(logs, np.log(y), 1)[0]), [self.at[x, rule] for x in xs]
        )


def mean_of(row: dict[str, Any]) -> Estimate:
    """Return the mean of a row with its standard error."""
    return Estimate(row["mean"], row.get("standard_error") or 0.0)


def learners_and_uniform(tables: Tables) -> Numbers:
    """Compare the means of Hedge, AdaHedge and LLOO with each other and with uniform sampling.

    Their correlations with d are computed too.
    """
    mean = Column(tables["figure1"])
    xs = mean.have("uniform", *THREE)
    sizes: Rows = [
        {
            "x": x,
            "ratio": propagated(lambda y: max(y) / min(y), [mean.at[x, rule] for rule in THREE]),
        }
        for x in xs
    ]
    beside: Rows = [
        {"x": x, "rule": rule, "ratio": ratio(mean.at[x, rule], mean.at[x, "uniform"])}
        for x in xs
        for rule in THREE
    ]
    told = [inside(one["ratio"], -math.inf, 1.0, len(beside)) for one in beside]
    widest = max(sizes, key=lambda size: size["ratio"].value)
    correlations = [
        propagated(
            lambda y: float(np.corrcoef(xs, y)[0, 1]) if np.std(y) > 0.0 else 0.0,
            [mean.at[x, rule] for x in xs],
        )
        for rule in THREE
    ]
    return {
        "sizes": sizes,
        "closest": min((size["ratio"] for size in sizes), key=lambda one: one.value),
        "widest": widest["ratio"],
        "widest_x": widest["x"],
        "beside": beside,
        "below": told.count(True),
        "above": told.count(False),
        "open": [one for one, known in zip(beside, told, strict=True) if known is None],
        "means": len(beside),
        "correlation": min(correlations, key=lambda one: one.value),
    }


def ofw_and_the_others(tables: Tables) -> Numbers:
    """Compute OFW's mean over the largest of the other three, from d = 20 on."""
    mean = Column(tables["figure1"])
    xs = [x for x in mean.have("ofw", *THREE) if x >= 20]
    return {
        "sizes": [
            {
                "x": x,
                "ratio": propagated(
                    lambda y: y[0] / max(y[1:]), [mean.at[x, rule] for rule in ("ofw", *THREE)]
                ),
            }
            for x in xs
        ]
    }


def gcb_pe_and_the_others(tables: Tables) -> Numbers:
    """Compute GCB-PE's mean over the mean of the other five, with the implied scale.

    The factor by which it needs more with the proved scale is computed too.
    """
    mean, gcb = Column(tables["figure1"]), Column(tables["gcb-pe"])
    rule = next(rule for rule in gcb.rules if "scale 0" in rule and "random" not in rule)
    others = [other for other in ("uniform", *THREE, "ofw") if other in mean.rules]
    sizes: Rows = [
        {
            "x": x,
            "ratio": propagated(
                lambda y: y[0] / float(np.mean(y[1:])),
                [
                    gcb.at[x, rule],
                    *(mean.at[x, other] for other in others if (x, other) in mean.at),
                ],
            ),
        }
        for x in gcb.have(rule)
        if x in mean.xs
    ]
    proved = [other for other in gcb.rules if "proved" in other][:1]
    times = [gcb.at[x, p].value / gcb.at[x, rule].value for p in proved for x in gcb.have(rule, p)]
    return {
        "sizes": sizes,
        "of_the_paper": [size for size in sizes if size["x"] <= 20],
        "proved": [{"times": np.mean(times)} for _ in proved],
    }


def time_and_actions(tables: Tables) -> Numbers:
    """Compute how the time per round grows with the number of actions.

    The growth is an exponent with the error of the fit for the learners on the simplex, and a
    factor for the others.
    """
    us: dict[str, dict[float, float]] = {}
    for row in tables["figure1-time"]:
        us.setdefault(row["rule"], {})[row["actions"]] = row["us_per_round"]
    powers = []
    for rule in SIMPLEX:
        n, t = zip(*((n, t) for n, t in us[rule].items() if n >= 1000), strict=True)
        fit, spread = np.polyfit(np.log(n), np.log(t), 1, cov=True)
        powers.append(
            {"rule": rule, "power": Estimate(float(fit[0]), math.sqrt(float(spread[0, 0])))}
        )
    last = {rule: us[rule][max(us[rule])] for rule in (*SIMPLEX, "ofw", "lloo")}
    ofw, lloo = (last[rule] / us[rule][min(us[rule])] for rule in ("ofw", "lloo"))
    return {
        "powers": powers,
        "fewest": min(us["lloo"]),
        "most": max(us["lloo"]),
        "largest": max(row["x"] for row in tables["figure1-time"]),
        "ofw": ofw,
        "lloo": lloo,
        "steepest": max(ofw, lloo),
        "last": [{"rule": rule, "us": t} for rule, t in last.items()],
    }


def growth_on_grids(tables: Tables) -> Numbers:
    """Compute the growth of the means from the smallest to the largest grid.

    The largest grids on which AdaHedge needs nearly |A| rounds are found too.
    """
    mean = Column(tables["grid"])
    actions = {row["x"]: row["actions"] for row in tables["quantities"] if row["family"] == "grid"}
    xs = mean.have("uniform", "adahedge", "lloo")
    small, large = xs[0], xs[-1]
    grown = {
        rule: ratio(mean.at[large, rule], mean.at[small, rule]) for rule in ("uniform", "lloo")
    }
    shares = {x: ratio(mean.at[x, "adahedge"], Estimate(actions[x], 0.0)) for x in xs}
    paid: list[float] = []
    for x in reversed(xs):
        if x < 12 or inside(shares[x], 0.9, math.inf) is False:
            break
        paid.insert(0, x)
    return {
        "small": small,
        "large": large,
        "uniform": grown["uniform"],
        "lloo": grown["lloo"],
        "faster": ratio(grown["uniform"], grown["lloo"]),
        "uniform_mean": mean.at[large, "uniform"],
        "lloo_mean": mean.at[large, "lloo"],
        "adahedge_mean": mean.at[large, "adahedge"],
        "actions": actions[large],
        "paid": [{"x": x} for x in paid],
        "shares": [{"x": x, "share": shares[x]} for x in xs],
        "largest_share": shares[large],
    }


def lloo_and_adahedge(tables: Tables) -> Numbers:
    """Compute LLOO's mean over AdaHedge's, and AdaHedge's time over LLOO's on the largest."""
    experiments = []
    for name in ("uniform-matroid-k2", "line2", "line3"):
        mean, time = Column(tables[name]), Column(tables[f"{name}-time"], "us_per_round")
        xs, top = mean.have("adahedge", "lloo"), time.xs[-1]
        ratios = [ratio(mean.at[x, "lloo"], mean.at[x, "adahedge"]) for x in xs]
        cost = time.at[top, "adahedge"] / time.at[top, "lloo"]
        experiments.append(
            {
                "name": name,
                "least": min(ratios, key=lambda one: one.value),
                "most": max(ratios, key=lambda one: one.value),
                "cost": cost,
            }
        )
    return {"experiments": experiments}


def the_needle(tables: Tables) -> Numbers:
    """Compute LLOO's means, and those of AdaHedge and uniform sampling at the largest d."""
    mean, capped = Column(tables["almost-all"]), Column(tables["almost-all"], "capped")
    xs = mean.have("adahedge", "lloo", "uniform")
    top, means = xs[-1], [mean.at[x, "lloo"] for x in xs]
    return {
        "least": min(means, key=lambda one: one.value),
        "most": max(means, key=lambda one: one.value),
        "small": xs[0],
        "large": top,
        "adahedge": mean.at[top, "adahedge"],
        "share": propagated(lambda y: max(y[1:]) / y[0], [mean.at[top, "adahedge"], *means]),
        "actions": 2 ** (int(top) - 1),
        "uniform": mean.at[top, "uniform"],
        "capped": sum(capped.at[x, "lloo"] for x in xs),
    }


OPTIONS = ("D-tracking", "one per answer")


def options_and_the_usual(tables: Tables) -> Numbers:
    """Compute the ratios of the means with an option changed to the usual ones.

    The result has each ratio, their geometric mean over learners and sizes, the number of ratios
    that differ significantly by more than a few percent, and the furthest one.
    """
    mean, low, high = Column(tables["options"]), 1.0 - FEW_PERCENT, 1.0 + FEW_PERCENT
    options, single = [], {}
    for option in OPTIONS:
        found = [
            (x, rule)
            for x in mean.xs
            for rule in (*SIMPLEX, "ofw", "lloo")
            if x in mean.have(rule, f"{rule}, {option}")
        ]
        ratios: Rows = [
            {
                "x": x,
                "rule": rule,
                "ratio": ratio(mean.at[x, f"{rule}, {option}"], mean.at[x, rule]),
            }
            for x, rule in found
        ]
        n = len(ratios)
        pooled = propagated(
            lambda y: math.exp(float(np.mean(np.log(y)))), [one["ratio"] for one in ratios]
        )
        told = [inside(one["ratio"], low, high, n) for one in ratios]
        single[option] = ratios
        far = max(ratios, key=lambda one: abs(math.log(one["ratio"].value)))
        options.append(
            {
                "option": option,
                "of": n,
                "pooled": pooled,
                "within": told.count(True),
                "outside": told.count(False),
                "open": told.count(None),
                **far,
            }
        )
    return {"options": options, **single}


def error_rows(tables: Tables, name: str, threshold: str = "stylised") -> Rows:
    """Return the rows of a table with that threshold, without those that Figure 1 has too."""
    rows = [row for row in tables[name] if row["threshold"] == threshold]
    there = {(row["x"], row["rule"]) for row in tables["figure1"]} if name == "options" else set()
    return [row for row in rows if (row["x"], row["rule"]) not in there]


def pooled_errors(tables: Tables) -> Numbers:
    """Count the errors in all runs with the stylised threshold and with the proved one.

    The result also has the worst row and the exact intervals.
    """
    rows = [row | {"experiment": name} for name in STYLISED for row in error_rows(tables, name)]
    proved = error_rows(tables, "options", "gaussian")
    errors, runs = sum(row["errors"] for row in rows), sum(row["runs"] for row in rows)
    worst = max(rows, key=lambda row: row["error_rate"])
    share = errors / runs
    exact = [error_interval(row["errors"], row["runs"], 1.0 - LEVEL / len(rows)) for row in rows]
    other, others = sum(row["errors"] for row in proved), sum(row["runs"] for row in proved)
    return {
        "errors": errors,
        "runs": runs,
        "rate": Estimate(share, math.sqrt(share * (1.0 - share) / runs)),
        "lines": len(rows),
        "worst": [worst],
        "above": sum(low > DELTA for low, _ in exact),
        "below": sum(high < DELTA for _, high in exact),
        "told": [False if low > DELTA else True if high < DELTA else None for low, high in exact],
        "proved_errors": other,
        "proved_runs": others,
        "proved_high": error_interval(other, others)[1] if others else 1.0,
    }
