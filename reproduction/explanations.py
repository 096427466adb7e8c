"""Explanations of the findings.

Each explanation is computed from the tables, tested by an experiment on the page, or marked as a
conjecture. If the numbers do not support an explanation, it is left out or its opposite is stated.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from combgame.simulation.result import error_interval

from .experiments import DELTA
from .measured import LEVEL, Estimate, inside, propagated, ratio
from .measures import (
    FEW_PERCENT,
    SELDOM,
    SIMPLEX,
    THREE,
    Column,
    options_and_the_usual,
    pooled_errors,
)
from .results import Tables, digitised

COMPUTED, TESTED, CONJECTURE = "Computed", "Tested", "Conjecture"
LONG = 0.25  # relative standard error from which a mean is dominated by a few long runs
READING = 150.0  # error in rounds with which the marks of Figure 1 could be read
LEARNERS = ("adahedge", "hedge", "ofw", "lloo")


class Explanation(NamedTuple):
    """A paragraph of the page, marked as computed, tested or a conjecture."""

    kind: str
    text: str

    def said(self) -> str:
        """Return the paragraph in Markdown."""
        return f"*{self.kind}:* {self.text}"


Explain = Callable[[Tables], list[Explanation]]


def marks() -> dict[int, dict[str, float]]:
    """Return the digitised marks of Figure 1(a), by d and rule."""
    return {
        int(row["d"]): {rule: float(row[rule]) for rule in ("uniform", *LEARNERS)}
        for row in digitised()
        if row["figure"] == "1a"
    }


def similar(tables: Tables) -> list[Explanation]:
    """Explain finding 1: differences of the three learners, growth with d, and the bonus."""
    mean = Column(tables["figure1"])
    xs = mean.have("uniform", *THREE)
    pairs = {
        x: propagated(lambda y: y[0] / y[1], [mean.at[x, rule] for rule in SIMPLEX]) for x in xs
    }
    far = max(pairs.values(), key=lambda one: abs(one.value - 1.0))
    differ = sum(inside(one, 1.0, 1.0, len(xs)) is False for one in pairs.values())
    out = [
        Explanation(
            COMPUTED,
            f"Hedge's mean over AdaHedge's is {far:.2f} where it is furthest from 1, and differs "
            f"from 1 beyond doubt at {differ} of {len(xs)} sizes.",
        )
    ]
    powers = ", ".join(f"{rule} {mean.power(rule, xs):.2f}" for rule in ("uniform", *THREE))
    limits = sorted(row["limit"] for row in tables["figure1"] if row["limit"])
    out.append(
        Explanation(
            COMPUTED,
            f"The means grow like d to the power {powers}; the limit "
            + (
                f"is {limits[0]:,.0f} at every d."
                if f"{limits[0]:,.0f}" == f"{limits[-1]:,.0f}"
                else f"goes from {limits[0]:,.0f} to {limits[-1]:,.0f}."
            ),
        )
    )
    return out + bonus(tables)


def bonus(tables: Tables) -> list[Explanation]:
    """Test whether the bonus makes the means grow with d, by learners with a tenth of it."""
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
            True: "the bonus explains part of the growth, as it would if f(t)/N_a kept every arm "
            "attractive until it has of the order ln(t)/D_nu values",
            False: "the bonus does not explain the growth",
            None: "whether the bonus explains the growth cannot be told from these runs",
        }[told]
        out.append(
            Explanation(
                TESTED,
                f"With a tenth of the bonus {rule}'s means grow like d to the power {less:.2f} "
                f"instead of {usual:.2f} (d = {xs[0]:g} to {xs[-1]:g}): {verdict}.",
            )
        )
    return out


def beside_the_paper(tables: Tables) -> list[Explanation]:
    """Find the marks of the paper that neither noise nor reading errors can explain."""
    mean, paper = Column(tables["figure1"]), marks()
    found, reach = [], NormalDist().inv_cdf(1.0 - LEVEL / (2.0 * 5 * len(paper)))
    for d in sorted(paper):
        for rule, mark in paper[d].items():
            if (d, rule) not in mean.at:
                continue
            ours = mean.at[d, rule]
            runs = next(r["runs"] for r in tables["figure1"] if (r["x"], r["rule"]) == (d, rule))
            # the mark is a mean of 750 runs, so its error is that of our mean for 750 runs
            error = math.hypot(ours.error, ours.error * math.sqrt(runs / 750), READING)
            found.append((mark / ours.value, abs(mark - ours.value) > reach * error, d, rule))
    if not found:
        return []
    beyond = [one for one in found if one[1]]
    out = [
        Explanation(
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
        Explanation(
            COMPUTED,
            "A mean that grows with d should not fall from one size to the next. The paper's marks "
            "fall so many times, of nine (ours in brackets): " + ", ".join(rough) + f". "
            f"{round_ones} of {5 * len(paper)} marks are whole multiples of 10,000.",
        )
    )
    if any(one[2:] == (10, "lloo") for one in beyond) and (15, "lloo") in mean.at:
        out.append(jump(mean, paper))
    return out


def jump(mean: Column, paper: dict[int, dict[str, float]]) -> Explanation:
    """Test whether our standard errors explain that LLOO's mark at d = 10 is above the next."""
    here, after = mean.at[10, "lloo"], mean.at[15, "lloo"]
    marks_fall = paper[10]["lloo"] - paper[15]["lloo"]
    fall = propagated(lambda y: y[0] - y[1], (here, after))
    said = (
        f"LLOO's mark falls by {marks_fall:,.0f} from d = 10 to 15, to {paper[15]['lloo']:,.0f}; "
        f"ours changes by {-fall.value:+,.0f} ± {fall.error:,.0f}"
    )
    if inside(fall, -math.inf, 0.0) is not True or marks_fall < 5.0 * fall.error:
        return Explanation(COMPUTED, f"{said}: our own means do not rule such a fall out.")
    return Explanation(
        CONJECTURE,
        f"{said}. A fall of {marks_fall / fall.error:,.0f} of our standard errors is not one of "
        "means of 750 runs; a few runs that were cut off at a cap, or a covering that happened to "
        "miss the best arm's neighbours under one fixed numbering, would look so. Nothing in the "
        "paper decides it.",
    )


def ofw(tables: Tables) -> list[Explanation]:
    """Explain finding 2: OFW beside LLOO, and the paper's marks for OFW."""
    mean, paper = Column(tables["figure1"]), marks()
    xs = [x for x in mean.have("ofw", "lloo") if x >= 20]
    ratios = [ratio(mean.at[x, "ofw"], mean.at[x, "lloo"]) for x in xs]
    more = sum(inside(one, -math.inf, 1.0, len(xs)) is False for one in ratios)
    theirs = [paper[int(x)]["ofw"] / paper[int(x)]["lloo"] for x in xs if int(x) in paper]
    marked = (
        f"; the paper's marks have it {min(theirs):.1f} to {max(theirs):.1f} times LLOO's there"
        if theirs
        else ""
    )
    out = [
        Explanation(
            COMPUTED,
            f"OFW's mean is above LLOO's beyond doubt at {more} of {len(xs)} sizes from d = 20 on"
            f"{marked}.",
        )
    ]
    late = [paper[d]["ofw"] for d in sorted(paper) if d >= 30]
    ends = [mean.at[x, "ofw"] for x in (30, 50) if (x, "ofw") in mean.at]
    grown = ratio(ends[1], ends[0]) if len(ends) == 2 else None
    flat = max(late) / min(late)
    if flat < 1.25 and grown is not None and inside(grown, flat, math.inf) is True:
        out.append(
            Explanation(
                CONJECTURE,
                f"The paper's marks for OFW stay between {min(late):,.0f} and {max(late):,.0f} "
                f"from d = 30 on, where our mean grows {grown:.2f} times: they may be means of "
                "capped runs.",
            )
        )
    return out


def gcb_pe(tables: Tables) -> list[Explanation]:
    """Explain finding 3: the growth of GCB-PE's mean, its scale, and its covering."""
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
        Explanation(
            COMPUTED,
            f"GCB-PE's mean grows like d to the power {own:.2f}; its radius, with "
            "beta_sigma^2 = d, and its covering of ceil(d/3) actions give d ceil(d/3) and a "
            f"logarithm, a power of {predicted:.2f} and a little more. The learners' powers are "
            f"{learned}: the factor between them and GCB-PE "
            + ("grows with d." if told and all(told) else "does not grow with d beyond doubt."),
        )
    ]
    published = {row["d"]: row["gcb_pe"] for row in digitised() if row["figure"] == "1a"}
    fitted = [gcb.at[x, rule].value / published[x] for x in xs if published.get(x)]
    if fitted:
        out.append(
            Explanation(
                COMPUTED,
                "The paper does not give the scale inside GCB-PE's radius. Ours is near those that "
                f"its published means imply (our means are {min(fitted):.3f} to "
                f"{max(fitted):.3f} times the published ones), so that GCB-PE's part of the factor "
                "is fitted, and only the other rules' is measured.",
            )
        )
    random = [name for name in gcb.rules if "random covering" in name]
    for name in random:
        both = gcb.have(rule, name)
        ratios = ", ".join(
            f"{ratio(gcb.at[x, name], gcb.at[x, rule]):.2f} (d = {x:g})" for x in both
        )
        out.append(
            Explanation(
                TESTED,
                "The paper's global observer set is a random covering, drawn anew in every run. "
                f"With it, GCB-PE's mean over that with the minimal covering is {ratios}.",
            )
        )
    return out


def times(tables: Tables) -> list[Explanation]:
    """Explain finding 4: times per round, and the paper's times."""
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
    sizes = {rule: sorted(x for x, known in us if known == rule) for _, rule in us}
    steps = [us[b, rule] < us[a, rule] for rule, xs in sizes.items() for a, b in pairwise(xs)]
    falls, pairs = sum(steps), len(steps)
    grown = [
        (rule, float(np.polyfit(np.log(xs), np.log([us[x, rule] for x in xs]), 1)[0]))
        for rule in ("uniform", "ofw", "lloo")
        if len(xs := sorted(x for x, known in us if known == rule)) > 1
    ]
    return [
        Explanation(
            COMPUTED,
            "d grows beside |A|. In terms of d, times grow like its power "
            + ", ".join(f"{power:.2f} ({rule})" for rule, power in grown)
            + ".",
        ),
        *_beside_their_times(us),
        Explanation(
            COMPUTED,
            f"The paper's times per round are {min(factors):,.0f} to {max(factors):,.0f} times "
            f"ours. Ours are without standard errors; {falls} of {pairs} are less than at the size "
            "before: by the machine's noise, or by how many actions LLOO happened to hold.",
        ),
    ] + (
        [
            Explanation(
                CONJECTURE,
                "That may be what interpreted code costs beside compiled code, and for Hedge and "
                "AdaHedge what an exponential per action costs beside d of them and a product per "
                "action, which is how ours are computed: nothing here tests it.",
            )
        ]
        if min(factors) > 10.0
        else []
    )


def _beside_their_times(us: dict[tuple[float, str], float]) -> list[Explanation]:
    """Compare the growth of times with the paper's, over the sizes whose times it gives."""
    paper = [row for row in digitised() if row["figure"] == "1b"]
    sizes = [
        row["d"] for row in paper if all(row[rule] and (row["d"], rule) in us for rule in LEARNERS)
    ]
    if len(sizes) < 2:
        return []
    small, large = sizes[0], sizes[-1]
    at = {row["d"]: row for row in paper}
    grown = ", ".join(
        f"{rule} {us[large, rule] / us[small, rule]:.1f} ({at[large][rule] / at[small][rule]:.1f})"
        for rule in LEARNERS
    )
    actions = math.comb(int(large), 3) / math.comb(int(small), 3)
    return [
        Explanation(
            COMPUTED,
            f"From d = {small:g} to {large:g}, where |A| grows {actions:.1f} times, times grow so "
            f"many times (the paper's in brackets): {grown}.",
        )
    ]


def grids(tables: Tables) -> list[Explanation]:
    """Explain finding 5: AdaHedge's initial design, and plays of the informative action."""
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
        Explanation(
            COMPUTED,
            f"AdaHedge's start is every action once. Its mean less |A| is {after} rounds, where "
            "|A| is 500 or more.",
        ),
        Explanation(
            COMPUTED,
            f"Uniform sampling's mean over |A|, which is how often it plays the one informative "
            f"action, is {plays}.",
        ),
    ]


def lines(tables: Tables) -> list[Explanation]:
    """Explain finding 6: uniform sampling beside LLOO."""
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
    return [Explanation(COMPUTED, ". ".join(one[0].upper() + one[1:] for one in out) + ".")]


def needle(tables: Tables) -> list[Explanation]:
    """Explain finding 7: AdaHedge's initial design, uniform sampling, and LLOO's growth."""
    mean = Column(tables["almost-all"])
    xs = mean.have("adahedge", "lloo", "uniform")
    sets = {x: 2.0 ** (x - 1) for x in xs}
    paid = [mean.at[x, "adahedge"].value / sets[x] for x in xs]
    met = [mean.at[x, "uniform"].value / sets[x] for x in xs]
    return [
        Explanation(
            COMPUTED,
            f"AdaHedge's mean over |A| = 2^(d-1), its start, goes from {paid[0]:.2f} at "
            f"d = {xs[0]:g} to {paid[-1]:.2f} at d = {xs[-1]:g}. Uniform sampling meets the needle "
            f"once in |A| rounds, {min(met):,.0f} to {max(met):,.0f} times before it stops. LLOO's "
            f"mean grows like d to the power {mean.power('lloo', xs):.2f}.",
        )
    ]


def options(tables: Tables) -> list[Explanation]:
    """Explain finding 8: the number of learners that are called, and the other options."""
    mean, out = Column(tables["options"]), decidable(tables)
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
        out.append(Explanation(COMPUTED, text))
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
            "With Garber and Hazan's approximate projection in place of the exact thinning, as "
            "precise as LLOO's own parameters need it, the means over the usual are {}.",
        ),
        (
            "coarse sparsification",
            "With the same projection within r, as the paper's text has it, and M = 1, which is "
            "what the parameters become for it, the means over the usual are {}.",
        ),
    ):
        ratios = [
            f"{ratio(mean.at[x, label], mean.at[x, rule]):.2f} ({rule}, d = {x:g})"
            for rule in ("adahedge", "lloo")
            for label in (f"{rule}, {option}",)
            for x in mean.have(rule, label)
        ]
        if ratios:
            idle = option == "approximate sparsification" and _idle(mean)
            text += " It removed nothing: every mean is the one without any." if idle else ""
            out.append(Explanation(TESTED, text.format(", ".join(ratios))))
    return out


def _idle(mean: Column) -> bool:
    """Return True if the means with the approximate projection are those without any."""
    thinned, plain = "lloo, approximate sparsification", "lloo, no sparsification"
    xs = mean.have(thinned)
    return bool(xs) and all(mean.at.get((x, plain)) == mean.at[x, thinned] for x in xs)


def decidable(tables: Tables) -> list[Explanation]:
    """Compute the number of runs from which every single ratio could be decided, if it were 1."""
    numbers = options_and_the_usual(tables)
    out = []
    for option in numbers["options"]:
        ratios = numbers[option["option"]]
        error = max(one["ratio"].error for one in ratios)
        reach = NormalDist().inv_cdf(1.0 - LEVEL / (2.0 * len(ratios)))
        runs = max(row["runs"] for row in tables["options"] if option["option"] in row["rule"])
        needed = runs * (reach * error / FEW_PERCENT) ** 2
        if option["open"] and needed > runs:
            out.append(
                f"{option['option']}: {len(ratios)} ratios with errors up to {error:.2f} reach "
                f"{reach * error:.0%} each way together, so that 5 % could be decided for each of "
                f"them from about {_rounded(needed):,} runs on, not from {runs:,}"
            )
    return [Explanation(COMPUTED, "; ".join(out) + ".")] if out else []


def _rounded(number: float) -> int:
    """Round up to two digits."""
    digits = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return int(math.ceil(number / digits) * digits)


def errors(tables: Tables) -> list[Explanation]:
    """Explain finding 9: no theorem covers a low error rate; or the rate is not low."""
    numbers = pooled_errors(tables)
    told = inside(numbers["rate"], 0.0, SELDOM)
    if told is True and numbers["above"] == 0:
        return [
            Explanation(
                CONJECTURE,
                f"No theorem covers the stylised threshold: that it errs as seldom elsewhere as "
                f"in the {numbers['lines']} lines here, {numbers['rate'].value:.2%} of the runs, "
                "is a guess. Runs that discard answers are not among them: they are in the section "
                "on elimination.",
            )
        ]
    return [
        Explanation(
            COMPUTED,
            f"No theorem covers the stylised threshold, and here it errs in "
            f"{numbers['rate']:.2%} of the runs, {numbers['above']} of {numbers['lines']} lines "
            "above delta beyond doubt.",
        )
    ]


def discarding(tables: Tables) -> list[Explanation]:
    """Test by threshold whether runs that discard answers err more often (pooled proportions)."""
    rows, out = tables["elimination"], []
    long = [
        f"{row['rule']}, {row['discards']}, {row['problem']}: {row['mean']:,.0f} ± "
        f"{row['standard_error']:,.0f}"
        for row in rows
        if row["discards"] != "never" and row["standard_error"] > LONG * row["mean"]
    ]
    for threshold in dict.fromkeys(row["threshold"] for row in rows):
        pooled = {}
        for how in ("never", "every round", "phases"):
            mine = [row for row in rows if (row["threshold"], row["discards"]) == (threshold, how)]
            wrong, runs = sum(row["errors"] for row in mine), sum(row["runs"] for row in mine)
            rate = wrong / max(runs, 1)
            error = math.sqrt(rate * (1.0 - rate) / max(runs, 1))
            pooled[how] = (wrong, runs, Estimate(rate, error))
        never = pooled["never"]
        for how, when in (("every round", "in every round"), ("phases", "at the ends of phases")):
            wrong, runs, rate = pooled[how]
            more = propagated(lambda y: y[0] - y[1], (rate, never[2]))
            told = "more often" if inside(more, -math.inf, 0.0, 4) is False else "not more often"
            low, high = error_interval(wrong, runs, 1.0 - LEVEL / 4)
            kept = False if low > DELTA else True if high < DELTA else None
            out.append(
                f"With the {threshold} threshold, runs that discard answers {when} err in {wrong} "
                f"of {runs:,} runs, {told} beyond doubt than the {never[0]} of {never[1]:,} that "
                "never do" + {True: " (below delta)", False: " (above delta)", None: ""}[kept]
            )
    reasons = [Explanation(COMPUTED, ". ".join(out) + ".")] if out else []
    if long:
        reasons.append(
            Explanation(
                CONJECTURE,
                f"A few long runs make some of the means ({'; '.join(long)}). A run that has "
                "discarded the best answer, and has to tell apart what is left, would be one.",
            )
        )
    return reasons
