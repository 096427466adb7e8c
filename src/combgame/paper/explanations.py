"""Why the findings came out as they did: each sentence is computed from the tables, tested by an
experiment on the page, or marked as a conjecture. What the numbers do not bear out is not said, or
its opposite is.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .measured import LEVEL, inside, propagated, ratio
from .measures import SIMPLEX, THREE, Column
from .results import Tables, digitised

COMPUTED, TESTED, CONJECTURE = "Computed", "Tested", "Conjecture"
READING = 150.0  # how exactly the marks of Figure 1 could be read
LEARNERS = ("adahedge", "hedge", "ofw", "lloo")


class Reason(NamedTuple):
    kind: str
    text: str

    def said(self) -> str:
        return f"*{self.kind}:* {self.text}"


Explain = Callable[[Tables], list[Reason]]


def marks() -> dict[int, dict[str, float]]:
    """The digitised marks of Figure 1(a), by d and rule."""
    return {
        int(row["d"]): {rule: float(row[rule]) for rule in ("uniform", *LEARNERS)}
        for row in digitised()
        if row["figure"] == "1a"
    }


def similar(tables: Tables) -> list[Reason]:
    """Finding 1: which of the three differ, how all grow, and the bonus."""
    mean = Column(tables["figure1"])
    xs = mean.have("uniform", *THREE)
    pairs = {
        x: propagated(lambda y: y[0] / y[1], [mean.at[x, rule] for rule in SIMPLEX]) for x in xs
    }
    far = max(pairs.values(), key=lambda one: abs(one.value - 1.0))
    differ = sum(inside(one, 1.0, 1.0, len(xs)) is False for one in pairs.values())
    out = [
        Reason(
            COMPUTED,
            f"Hedge's mean over AdaHedge's is {far:.2f} where it is furthest from 1, and differs "
            f"from 1 beyond doubt at {differ} of {len(xs)} sizes.",
        )
    ]
    powers = ", ".join(f"{rule} {mean.power(rule, xs):.2f}" for rule in ("uniform", *THREE))
    limits = sorted(row["limit"] for row in tables["figure1"] if row["limit"])
    out.append(
        Reason(
            COMPUTED,
            f"The means grow like d to the power {powers}; the limit goes from "
            f"{limits[0]:,.0f} to {limits[-1]:,.0f}.",
        )
    )
    return out + bonus(tables)


def bonus(tables: Tables) -> list[Reason]:
    """Whether the bonus makes the means grow with d: the same learners with a tenth of it."""
    mean = Column(tables["options"]) if tables["options"] else None
    out = []
    for rule in ("adahedge", "lloo"):
        other = f"{rule}, a tenth of the bonus"
        if mean is None or len(xs := mean.have(rule, other)) < 2:
            continue
        usual, less = mean.power(rule, xs), mean.power(other, xs)
        change = propagated(lambda y: y[0] - y[1], (usual, less))
        told = inside(change, 0.0, math.inf)
        verdict = {
            True: "the bonus explains part of the growth",
            False: "the bonus does not explain the growth",
            None: "whether the bonus explains the growth cannot be told from these runs",
        }[told]
        out.append(
            Reason(
                TESTED,
                f"f(t)/N_a keeps every arm attractive until it has of the order ln(t)/D_nu values. "
                f"With a tenth of the bonus {rule}'s means grow like d to the power {less:.2f} "
                f"instead of {usual:.2f} (d = {xs[0]:g} to {xs[-1]:g}): {verdict}.",
            )
        )
    return out


def beside_the_paper(tables: Tables) -> list[Reason]:
    """Which of the paper's marks our noise and the reading cannot explain."""
    mean, paper = Column(tables["figure1"]), marks()
    found, reach = [], NormalDist().inv_cdf(1.0 - LEVEL / (2.0 * 5 * len(paper)))
    for d in sorted(paper):
        for rule, mark in paper[d].items():
            if (d, rule) not in mean.at:
                continue
            ours = mean.at[d, rule]
            runs = next(r["runs"] for r in tables["figure1"] if (r["x"], r["rule"]) == (d, rule))
            # theirs is a mean of 750 runs, so its error is as ours would be
            error = math.hypot(ours.error, ours.error * math.sqrt(runs / 750), READING)
            found.append((mark / ours.value, abs(mark - ours.value) > reach * error, d, rule))
    if not found:
        return []
    beyond = [one for one in found if one[1]]
    out = [
        Reason(
            COMPUTED,
            f"{len(found) - len(beyond)} of {len(found)} marks lie within what the standard errors "
            f"of both (theirs taken as ours, for 750 runs) and the reading allow; {len(beyond)} do "
            f"not: "
            + "; ".join(
                f"{rule} at d = "
                + ", ".join(f"{d} (x {r:.2f})" for r, _, d, name in beyond if name == rule)
                for rule in ("uniform", *LEARNERS)
                if any(one[3] == rule for one in beyond)
            )
            + ", as mark over mean.",
        )
    ]
    rough = []
    for rule in ("uniform", *LEARNERS):
        y = [paper[d][rule] for d in sorted(paper)]
        falls = sum(b < a for a, b in pairwise(y))
        ours = [mean.at[d, rule] for d in sorted(paper) if (d, rule) in mean.at]
        mine = sum(b.value < a.value for a, b in pairwise(ours))
        rough.append(f"{rule} {falls} ({mine})")
    round_ones = sum(y % 10_000 == 0 for row in paper.values() for y in row.values())
    out.append(
        Reason(
            COMPUTED,
            "A mean that grows with d should not fall from one size to the next. The paper's marks "
            "fall so many times, of nine (ours in brackets): " + ", ".join(rough) + f". "
            f"{round_ones} of {5 * len(paper)} marks are whole multiples of 10,000.",
        )
    )
    if any(one[2:] == (10, "lloo") for one in beyond):
        ours, mark = mean.at[10, "lloo"], paper[10]["lloo"]
        out.append(
            Reason(
                CONJECTURE,
                f"LLOO at d = 10 is marked at {mark:,.0f}; ours is {ours:,.0f}, and the paper's "
                f"own marks beside it, at d = 5 and 15, are {paper[5]['lloo']:,.0f} and "
                f"{paper[15]['lloo']:,.0f}. Marks that jump so are not means of 750 runs with our "
                "spread; a few runs that were cut off at a cap, or a covering that happened to "
                "miss the best arm's neighbours under one fixed numbering, would look so. Nothing "
                "in the paper decides it.",
            )
        )
    return out


def ofw(tables: Tables) -> list[Reason]:
    mean, paper = Column(tables["figure1"]), marks()
    xs = [x for x in mean.have("ofw", "lloo") if x >= 20]
    ratios = [ratio(mean.at[x, "ofw"], mean.at[x, "lloo"]) for x in xs]
    more = sum(inside(one, -math.inf, 1.0, len(xs)) is False for one in ratios)
    theirs = [paper[int(x)]["ofw"] / paper[int(x)]["lloo"] for x in xs if int(x) in paper]
    out = [
        Reason(
            COMPUTED,
            f"OFW's mean is above LLOO's beyond doubt at {more} of {len(xs)} sizes from d = 20 on; "
            f"the paper's marks have it {min(theirs):.1f} to {max(theirs):.1f} times LLOO's there.",
        )
    ]
    late = [paper[d]["ofw"] for d in sorted(paper) if d >= 30]
    if max(late) / min(late) < 1.25:
        out.append(
            Reason(
                CONJECTURE,
                f"The paper's marks for OFW stay between {min(late):,.0f} and {max(late):,.0f} "
                "from d = 30 on although d grows by two thirds: they may be means of capped runs.",
            )
        )
    return out


def gcb_pe(tables: Tables) -> list[Reason]:
    gcb, mean = Column(tables["gcb-pe"]), Column(tables["figure1"])
    rule = next(rule for rule in gcb.rules if "scale 0" in rule and "random" not in rule)
    xs = gcb.have(rule)
    theory = [x * math.ceil(x / 3) for x in xs]
    predicted = float(np.polyfit(np.log(xs), np.log(theory), 1)[0])
    powers = {name: mean.power(name, mean.have(name)) for name in THREE if mean.have(name)}
    learned = ", ".join(f"{name} {power:.2f}" for name, power in powers.items())
    own = gcb.power(rule, xs)
    told = [
        inside(propagated(lambda y: y[0] - y[1], (own, power)), 0.0, math.inf, len(powers))
        for power in powers.values()
    ]
    out = [
        Reason(
            COMPUTED,
            f"GCB-PE's mean grows like d to the power {own:.2f}; its radius, with "
            "beta_sigma^2 = d, and its covering of ceil(d/3) actions give d ceil(d/3) and a "
            f"logarithm, a power of {predicted:.2f} and a little more. The learners' powers are "
            f"{learned}: the factor between them and GCB-PE "
            + ("grows with d." if told and all(told) else "does not grow with d beyond doubt."),
        )
    ]
    random = [name for name in gcb.rules if "random covering" in name]
    for name in random:
        both = gcb.have(rule, name)
        ratios = ", ".join(
            f"{ratio(gcb.at[x, name], gcb.at[x, rule]):.2f} (d = {x:g})" for x in both
        )
        out.append(
            Reason(
                TESTED,
                "The paper's global observer set is a random covering, drawn anew in every run. "
                f"With it, GCB-PE's mean over that with the minimal covering is {ratios}.",
            )
        )
    return out


def times(tables: Tables) -> list[Reason]:
    us = {(row["x"], row["rule"]): row["us_per_round"] for row in tables["figure1-time"]}
    factors = [
        1000.0 * float(row[rule]) / us[row["d"], rule]
        for row in digitised()
        if row["figure"] == "1b"
        for rule in LEARNERS
        if row[rule] is not None and (row["d"], rule) in us
    ]
    if not factors:
        return []
    grown = [
        (rule, float(np.polyfit(np.log(xs), np.log([us[x, rule] for x in xs]), 1)[0]))
        for rule in ("uniform", "ofw", "lloo")
        if len(xs := sorted(x for x, known in us if known == rule)) > 1
    ]
    return [
        Reason(
            COMPUTED,
            "d grows beside |A|. In terms of d, times grow like its power "
            + ", ".join(f"{power:.2f} ({rule})" for rule, power in grown)
            + ".",
        ),
        Reason(
            COMPUTED,
            f"The paper's times per round are {min(factors):,.0f} to {max(factors):,.0f} times "
            "ours (interpreted against compiled code). Our Hedge and AdaHedge make d exponentials "
            "and one product per action, where the definition has an exponential per action.",
        ),
    ]


def grids(tables: Tables) -> list[Reason]:
    mean = Column(tables["grid"])
    actions = {row["x"]: row["actions"] for row in tables["quantities"] if row["family"] == "grid"}
    xs = [x for x in mean.have("adahedge") if x in actions and actions[x] >= 500]
    after = ", ".join(
        f"{mean.at[x, 'adahedge'].value - actions[x]:+,.0f} (n_s = {x:g})" for x in xs
    )
    plays = ", ".join(
        f"{mean.at[x, 'uniform'].value / actions[x]:,.0f} (n_s = {x:g})"
        for x in mean.have("uniform")
        if x in actions
    )
    return [
        Reason(
            COMPUTED,
            f"AdaHedge's start is every action once. Its mean less |A| is {after} rounds, where "
            "|A| is 500 or more.",
        ),
        Reason(
            COMPUTED,
            f"Uniform sampling's mean over |A|, which is how often it plays the one informative "
            f"action, is {plays}.",
        ),
    ]


def lines(tables: Tables) -> list[Reason]:
    out = []
    for name in ("uniform-matroid-k2", "line2", "line3"):
        mean = Column(tables[name])
        ratios = [
            ratio(mean.at[x, "uniform"], mean.at[x, "lloo"]) for x in mean.have("uniform", "lloo")
        ]
        if not ratios:
            continue
        shares = [row["share"] for row in tables["quantities"] if row["family"] == name]
        beyond = sum(inside(one, -math.inf, 1.0, len(ratios)) is False for one in ratios)
        low, high = (pick(ratios, key=lambda one: one.value) for pick in (min, max))
        out.append(
            f"{name}: uniform sampling's mean is {low:.2f} to {high:.2f} times LLOO's, above it "
            f"beyond doubt at {beyond} of {len(ratios)} sizes"
            + (
                f"; {min(shares):.0%} to {max(shares):.0%} of the actions are informative"
                if shares
                else ""
            )
        )
    return [Reason(COMPUTED, ". ".join(one[0].upper() + one[1:] for one in out) + ".")]


def needle(tables: Tables) -> list[Reason]:
    mean = Column(tables["almost-all"])
    xs = mean.have("adahedge", "lloo", "uniform")
    sets = {x: 2.0 ** (x - 1) for x in xs}
    paid = [mean.at[x, "adahedge"].value / sets[x] for x in xs]
    met = [mean.at[x, "uniform"].value / sets[x] for x in xs]
    return [
        Reason(
            COMPUTED,
            f"AdaHedge's mean over |A| = 2^(d-1), its start, goes from {paid[0]:.2f} at "
            f"d = {xs[0]:g} to {paid[-1]:.2f} at d = {xs[-1]:g}. Uniform sampling meets the needle "
            f"once in |A| rounds, {min(met):,.0f} to {max(met):,.0f} times before it stops. LLOO's "
            f"mean grows like d to the power {mean.power('lloo', xs):.2f}.",
        )
    ]


def options(tables: Tables) -> list[Reason]:
    """Finding 8: how many learners are called, and the other options."""
    mean, out = Column(tables["options"]), []
    rows = [row for row in tables["options"] if row.get("learners") and "per answer" in row["rule"]]
    if rows:
        called = ", ".join(
            f"{row['rule'].split(',')[0]} at d = {row['x']:g}: {row['learners']:.1f}"
            for row in rows
        )
        text = (
            "With one learner per answer, so many of the d learners are called before a run stops, "
            f"on average: {called}."
        )
        out.append(Reason(COMPUTED, text))
    for option, text in (
        (
            "nobody first",
            "Players that move at the same time: nature answers the sum of the past weights, "
            "without knowing w_t. Means over the usual: {}.",
        ),
        (
            "nature first",
            "The reversed order: nature follows the leader, and the action is the best answer to "
            "its move, without a learner. Means over LLOO's: {}.",
        ),
        (
            "no sparsification",
            "Without any sparsification the means over the usual are {}.",
        ),
        (
            "approximate sparsification",
            "With Garber and Hazan's approximate projection in place of the exact thinning, the "
            "means over the usual are {}.",
        ),
    ):
        ratios = [
            f"{ratio(mean.at[x, label], mean.at[x, rule]):.2f} ({rule}, d = {x:g})"
            for rule in ("adahedge", "lloo")
            for label in (f"{rule}, {option}",)
            for x in mean.have(rule, label)
        ]
        if ratios:
            out.append(Reason(TESTED, text.format(", ".join(ratios))))
    return out


def errors(tables: Tables) -> list[Reason]:
    return [
        Reason(
            CONJECTURE,
            "That the stylised threshold errs so seldom is an observation on these instances: no "
            "theorem covers it.",
        )
    ]
