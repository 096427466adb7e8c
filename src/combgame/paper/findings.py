"""The paper's findings, each judged from the tables in a folder by a stated test."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .results import read

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "holds partly", "does not hold", "not measured"
SIMPLEX, THREE = ("hedge", "adahedge"), ("hedge", "adahedge", "lloo")


class Finding(NamedTuple):
    number: int
    claim: str  # as the paper says it
    test: str  # what we take it to mean
    verdict: str
    evidence: str  # the numbers behind the verdict


class Table:
    """The rows of a table by x and rule."""

    def __init__(self, out: Path, name: str, value: str = "mean") -> None:
        self.rows = [
            row for row in read(out, name) if row.get("threshold") in (None, "stylised", "gcb-pe")
        ]
        self.at = {(row["x"], row["rule"]): row[value] for row in self.rows}
        self.xs = sorted({row["x"] for row in self.rows})
        self.rules = list(dict.fromkeys(row["rule"] for row in self.rows))

    def have(self, *rules: str) -> list[float]:
        """The x at which all these rules were run."""
        return [x for x in self.xs if all((x, rule) in self.at for rule in rules)]


def verdict(parts: list[bool]) -> str:
    return HOLDS if all(parts) else PARTLY if any(parts) else FAILS


def first(out: Path) -> tuple[str, str]:
    m = Table(out, "figure1")
    xs = m.have("uniform", *THREE)
    spread = {x: max(m.at[x, r] for r in THREE) / min(m.at[x, r] for r in THREE) for x in xs}
    worse = [(x, r) for x in xs for r in THREE if m.at[x, r] >= m.at[x, "uniform"]]
    grows = [np.corrcoef(xs, [m.at[x, r] for x in xs])[0, 1] for r in THREE]
    widest = max(spread, key=lambda x: spread[x])
    text = (
        f"the largest of the three means is {min(spread.values()):.2f} to {spread[widest]:.2f} "
        "times the smallest "
        f"(most at d = {widest:g}); {len(worse)} of {len(xs) * 3} means are not below uniform "
        "sampling's"
        + (f" ({', '.join(f'{r} at d = {x:g}' for x, r in worse[:6])})" if worse else "")
        + f"; the correlation of the mean with d is {min(grows):.2f} at least"
    )
    return verdict([max(spread.values()) <= 1.5, not worse, min(grows) > 0.9]), text


def second(out: Path) -> tuple[str, str]:
    m = Table(out, "figure1")
    xs = [x for x in m.have("ofw", *THREE) if x >= 20]
    ratios = {x: m.at[x, "ofw"] / max(m.at[x, r] for r in THREE) for x in xs}
    more = [x for x in xs if ratios[x] >= 1.2]
    text = "OFW's mean over the largest of the other three: " + ", ".join(
        f"{ratios[x]:.2f} (d = {x:g})" for x in xs
    )
    return (HOLDS if len(more) == len(xs) else PARTLY if more else FAILS), text


def third(out: Path) -> tuple[str, str]:
    m, g = Table(out, "figure1"), Table(out, "gcb-pe")
    rule = next(r for r in g.rules if "scale 0" in r)
    others = [r for r in ("uniform", *THREE, "ofw") if r in m.rules]
    ratios = {
        x: g.at[x, rule] / np.mean([m.at[x, r] for r in others if (x, r) in m.at])
        for x in g.have(rule)
        if x in m.xs
    }
    paper = [5.0 <= ratio <= 20.0 for x, ratio in ratios.items() if x <= 20]
    text = (
        "GCB-PE's mean over the mean of the other five, with the scale that its published means "
        "imply: " + ", ".join(f"{ratios[x]:.0f} (d = {x:g})" for x in ratios)
    )
    proved = next((r for r in g.rules if "proved" in r), None)
    if proved:
        times = [g.at[x, proved] / g.at[x, rule] for x in g.have(rule, proved)]
        text += f"; with the scale that is proved it needs {np.mean(times):.0f} times more still"
    return verdict(paper), text


def fourth(out: Path) -> tuple[str, str]:
    rows = read(out, "figure1-time")

    def us(rule: str) -> dict[float, float]:
        return {row["actions"]: row["us_per_round"] for row in rows if row["rule"] == rule}

    slopes = {}
    for rule in SIMPLEX:
        big = {n: t for n, t in us(rule).items() if n >= 1000}
        slopes[rule] = float(np.polyfit(np.log(list(big)), np.log(list(big.values())), 1)[0])
    flat = {rule: (t := us(rule))[max(t)] / t[min(t)] for rule in ("ofw", "lloo")}
    text = (
        "time grows like |A| to the power "
        + ", ".join(f"{s:.2f} ({r})" for r, s in slopes.items())
        + f" from 1,000 actions on; from {min(us('lloo')):,} to {max(us('lloo')):,} actions "
        "OFW's grows "
        + f"{flat['ofw']:.1f} times and LLOO's {flat['lloo']:.1f} times; at d = 50: "
        + ", ".join(
            f"{rule} {us(rule)[max(us(rule))]:,.0f} us" for rule in (*SIMPLEX, "ofw", "lloo")
        )
    )
    return verdict([all(0.7 <= s <= 1.5 for s in slopes.values()), max(flat.values()) <= 4.0]), text


def fifth(out: Path) -> tuple[str, str]:
    m, quantities = (
        Table(out, "grid"),
        {row["x"]: row["actions"] for row in read(out, "quantities") if row["family"] == "grid"},
    )
    xs = m.have("uniform", "adahedge", "lloo")
    small, large = xs[0], xs[-1]
    factor = {r: m.at[large, r] / m.at[small, r] for r in ("uniform", "adahedge", "lloo")}
    paid: list[float] = []
    for x in reversed(xs):
        if x < 12 or m.at[x, "adahedge"] < 0.9 * quantities[x]:
            break
        paid.insert(0, x)
    text = (
        f"from n_s = {small:g} to {large:g} uniform sampling's mean grows "
        f"{factor['uniform']:,.0f} times "
        f"(to {m.at[large, 'uniform']:,.0f}), LLOO's {factor['lloo']:.1f} times (to "
        f"{m.at[large, 'lloo']:,.0f}); AdaHedge's is "
        f"{m.at[large, 'adahedge']:,.0f} at n_s = {large:g}, where |A| = {quantities[large]:,}, "
        "and at least 0.9 |A| "
        f"at n_s = {', '.join(f'{x:g}' for x in paid) or 'none'}"
    )
    return verdict([factor["uniform"] >= 10 * factor["lloo"], bool(paid)]), text


def sixth(out: Path) -> tuple[str, str]:
    parts, words = [], []
    for name in ("uniform-matroid-k2", "line2", "line3"):
        m, t = Table(out, name), Table(out, f"{name}-time", "us_per_round")
        xs = m.have("adahedge", "lloo")
        ratios = [m.at[x, "lloo"] / m.at[x, "adahedge"] for x in xs]
        top = t.xs[-1]
        cost = t.at[top, "adahedge"] / t.at[top, "lloo"]
        parts += [max(ratios) <= 1.5, cost > 1.0]
        words.append(
            f"{name}: LLOO's mean is {min(ratios):.2f} to {max(ratios):.2f} times AdaHedge's, "
            "and a round costs AdaHedge "
            f"{cost:.1f} times LLOO's at the largest size"
        )
    return verdict(parts), "; ".join(words)


def seventh(out: Path) -> tuple[str, str]:
    m, capped = Table(out, "almost-all"), Table(out, "almost-all", "capped")
    xs = m.have("adahedge", "lloo", "uniform")
    top = xs[-1]
    lloo = [m.at[x, "lloo"] for x in xs]
    text = (
        f"LLOO's mean is {min(lloo):,.0f} to {max(lloo):,.0f} rounds for d = {xs[0]:g} to "
        f"{top:g}; at d = {top:g} "
        f"AdaHedge's is {m.at[top, 'adahedge']:,.0f} (|A| = {2 ** (int(top) - 1):,}) and uniform "
        f"sampling's {m.at[top, 'uniform']:,.0f}"
    )
    return verdict(
        [max(lloo) <= 0.25 * m.at[top, "adahedge"], all(capped.at[x, "lloo"] == 0 for x in xs)]
    ), text


def eighth(out: Path) -> tuple[str, str]:
    m, error = Table(out, "options"), Table(out, "options", "standard_error")
    words, shares = [], []
    for option in ("D-tracking", "one per answer"):
        pairs = [
            (x, r) for x in m.xs for r in (*SIMPLEX, "ofw", "lloo") if (x, f"{r}, {option}") in m.at
        ]
        ratios, spread = {}, {}
        for x, r in pairs:
            new, old = (x, f"{r}, {option}"), (x, r)
            ratios[x, r] = m.at[new] / m.at[old]
            spread[x, r] = ratios[x, r] * math.hypot(
                (error.at[new] or 0.0) / m.at[new], (error.at[old] or 0.0) / m.at[old]
            )
        close = sum(abs(ratios[p] - 1.0) <= 0.05 for p in pairs)
        may = sum(abs(ratios[p] - 1.0) <= 0.05 + 2.0 * spread[p] for p in pairs)
        far = max(ratios, key=lambda k: abs(np.log(ratios[k])))
        shares.append(may / len(pairs))
        words.append(
            f"{option}: {close} of {len(pairs)} means are within 5 % of the usual, and {may} "
            "within 5 % and two standard errors; "
            f"the furthest is {far[1]} at d = {far[0]:g} ({ratios[far] - 1:+.0%}, standard error "
            f"{spread[far]:.0%})"
        )
    return (HOLDS if min(shares) >= 0.9 else PARTLY if max(shares) >= 0.5 else FAILS), "; ".join(
        words
    )


STYLISED = ("figure1", "uniform-matroid-k2", "grid", "line2", "line3", "almost-all", "options")


def error_rows(out: Path, name: str, threshold: str = "stylised") -> list[dict[str, Any]]:
    """The lines of a table with that threshold; of the options only those that are not in Figure 1
    too.
    """
    rows = [row for row in read(out, name) if row["threshold"] == threshold]
    return [row for row in rows if name != "options" or "," in row["rule"]]


def ninth(out: Path) -> tuple[str, str]:
    rows = [row for name in STYLISED for row in error_rows(out, name)]
    proved = error_rows(out, "options", "gaussian")
    errors, runs = sum(row["errors"] for row in rows), sum(row["runs"] for row in rows)
    worst = max(rows, key=lambda row: row["error_rate"])
    many = [row for row in rows if row["runs"] >= 300]
    text = (
        f"{errors:,} errors in {runs:,} runs with the stylised threshold ({errors / runs:.2%}; "
        "delta is 10 %); the worst of "
        f"{len(rows)} lines is {worst['rule']}, {worst['instance']}: {worst['error_rate']:.1%} "
        f"[{worst['error_low']:.1%}, {worst['error_high']:.1%}] in {worst['runs']} runs; with "
        "the proved threshold "
        f"{sum(row['errors'] for row in proved)} errors in "
        f"{sum(row['runs'] for row in proved):,} runs"
    )
    below = [
        bool(many) and all(row["error_high"] < 0.1 for row in many),
        all(row["error_low"] < 0.1 for row in rows),
    ]
    return (HOLDS if all(below) and errors / runs < 0.02 else PARTLY if below[1] else FAILS), text


JUDGES: list[tuple[str, str, tuple[str, ...], Callable[[Path], tuple[str, str]]]] = [
    (
        "Hedge, AdaHedge and LLOO need similar numbers of rounds, fewer than uniform sampling, "
        "more as d grows (k = 3).",
        "at every d the largest mean is at most 1.5 times the smallest; every mean is below "
        "uniform sampling's; means correlate with d "
        "above 0.9",
        ("figure1",),
        first,
    ),
    (
        "OFW needs clearly more than those three from d = 20 on.",
        "OFW's mean is at least 1.2 times the largest of the three at every d >= 20",
        ("figure1",),
        second,
    ),
    (
        "GCB-PE needs about ten times more.",
        "its mean is 5 to 20 times the mean of the other five at every d of the paper, 5 to 20",
        ("figure1", "gcb-pe"),
        third,
    ),
    (
        "Time per round grows like |A| for Hedge and AdaHedge, and stays almost flat for OFW and "
        "LLOO.",
        "exponents between 0.7 and 1.5; OFW and LLOO at most 4 times slower at d = 50 than at d "
        "= 5",
        ("figure1-time",),
        fourth,
    ),
    (
        "Grid networks: uniform sampling collapses as n_s grows; a learner on the simplex pays "
        "its full initialisation of |A| rounds.",
        "uniform's mean grows ten times faster than LLOO's; AdaHedge's is at least 0.9 |A| from "
        "some n_s >= 12 on to the largest",
        ("grid", "quantities"),
        fifth,
    ),
    (
        "Line networks and k = 2: LLOO is on a par with AdaHedge at low cost.",
        "LLOO's mean is at most 1.5 times AdaHedge's everywhere, and its round is cheaper at the "
        "largest size",
        (
            "uniform-matroid-k2",
            "line2",
            "line3",
            "uniform-matroid-k2-time",
            "line2-time",
            "line3-time",
        ),
        sixth,
    ),
    (
        "Almost all sets: LLOO works although there is one informative action in 2^(d-1).",
        "no run is capped, and its mean stays below a quarter of AdaHedge's at d = 14",
        ("almost-all",),
        seventh,
    ),
    (
        "C- and D-tracking, one learner and one per answer: within a few percent of each other.",
        "at least nine in ten means are within 5 % of the usual, give or take two standard "
        "errors of the ratio",
        ("options",),
        eighth,
    ),
    (
        "Error rates are far below delta, with the stylised threshold too.",
        "every exact interval of 300 runs or more lies below delta, none with fewer runs lies "
        "above it, and the pooled rate is below delta/5",
        STYLISED,
        ninth,
    ),
]


def judge(out: Path) -> list[Finding]:
    """A verdict on each finding; "not measured" where its tables are missing."""
    found = []
    for number, (claim, test, needed, decide) in enumerate(JUDGES, 1):
        missing = [name for name in needed if not read(out, name)]
        told, text = (
            (UNKNOWN, f"run `combgame paper {missing[0].removesuffix('-time')}` first")
            if missing
            else decide(out)
        )
        capped = sum(1 for name in needed for row in read(out, name) if row.get("capped"))
        if capped and not missing:
            text += f"; {capped} lines have capped runs, whose means are too small"
        found.append(Finding(number, claim, test, told, text))
    return found
