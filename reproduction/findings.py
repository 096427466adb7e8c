"""The paper's findings: claims, our reading of them, tests, and texts of the evidence."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from combgame.errors import InputError, is_real

from . import explanations, measures
from .experiments import SCALE
from .explanations import Explain
from .measured import inside
from .measures import FEW_PERCENT, SELDOM, SIMPLEX, STYLISED, THREE, Numbers
from .results import Rows, Tables

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "holds partly", "does not hold", "not measured"
OPEN = "cannot be told at this number of runs"


class Bound(NamedTuple):
    """The test that a number, or a column of rows as "rows.column", lies between two ends."""

    number: str
    low: float = -math.inf
    high: float = math.inf
    each: bool = False  # each row is a part of the finding, instead of all of them together

    def parts(self, numbers: Numbers) -> list[bool | None]:
        """Return which parts hold; None if that cannot be told.

        All rows are tested together, at one level.
        """
        name, _, column = self.number.partition(".")
        values = [row[column] for row in numbers[name]] if column else [numbers[name]]
        told = [inside(value, self.low, self.high, len(values)) for value in values]
        return told if self.each else [together(told)]


class Reported(NamedTuple):
    """The test that all of a list of earlier results (True, False, None) hold."""

    number: str

    def parts(self, numbers: Numbers) -> list[bool | None]:
        """Return the combined result as the only part."""
        return [together(numbers[self.number])]


def together(told: list[bool | None]) -> bool | None:
    """Combine results: False if one is False, else None if one is None, else True."""
    return False if False in told else None if None in told else True


class TableBlock(NamedTuple):
    """The requirement that `least` sizes of a table, between two ends, have all of these rules."""

    table: str
    rules: tuple[str, ...]
    low: float = -math.inf
    high: float = math.inf
    least: int = 1

    def missing(self, tables: Tables) -> str:
        """Return what to do if there are fewer sizes, or an empty text."""
        there = {(row["x"], row["rule"]) for row in tables[self.table]}
        xs = {x for x, _ in there if self.low <= x <= self.high}
        complete = sum(all((x, rule) in there for rule in self.rules) for x in xs)
        if complete >= self.least:
            return ""
        ends = [f"from {self.low:g} on"] * (self.low > -math.inf)
        ends += [f"up to {self.high:g}"] * (self.high < math.inf)
        return (
            f"{self.table}.csv has {', '.join(self.rules)} at {complete} sizes "
            + "".join(f"{end} " for end in ends)
            + f"and {self.least} are needed: run `python -m reproduction "
            f"{self.table.removesuffix('-time')}` first"
        )


class ListBlock(NamedTuple):
    """The text of a list of rows: a template of one row, and the texts around the list."""

    each: str
    between: str = ", "
    before: str = ""
    after: str = ""
    none: str = ""

    def said(self, rows: list[Numbers]) -> str:
        """Return the text of the rows."""
        parts = self.between.join(self.each.format(**row) for row in rows)
        return f"{self.before}{parts}{self.after}" if rows else self.none


@dataclass(frozen=True)
class Claim:
    """A finding of the paper.

    It holds if all parts of its tests do, and partly if some do and some do not. If no part fails
    and some cannot be decided, neither can the finding.
    """

    claim: str  # in the words of the paper
    test: str  # our reading of it
    tables: tuple[str, ...]
    measure: Callable[[Tables], Numbers]
    holds: tuple[Bound | Reported, ...]
    evidence: str  # template of the numbers behind the verdict
    explain: Explain  # explanations of the verdict
    several: Mapping[str, ListBlock] = field(default_factory=dict)  # rows in that template
    lines: tuple[TableBlock, ...] = ()  # rows without which it cannot be measured

    def verdict(self, numbers: Numbers) -> str:
        """Decide the finding."""
        parts = [part for test in self.holds for part in test.parts(numbers)]
        if False in parts:
            return PARTLY if True in parts else FAILS
        return OPEN if None in parts else HOLDS

    def said(self, numbers: Numbers) -> str:
        """Return the evidence with the numbers filled in."""
        rows = {name: how.said(numbers[name]) for name, how in self.several.items()}
        return self.evidence.format(**numbers | rows)


class ClaimResult(NamedTuple):
    """The verdict on a finding, with its evidence and explanations."""

    number: int
    claim: str
    test: str
    verdict: str
    evidence: str
    reasons: tuple[str, ...] = ()


def verdicts(tables: Tables) -> list[ClaimResult]:
    """Judge each finding; the verdict is "not measured" if its tables or rows are missing."""
    for name in dict.fromkeys(name for finding in FINDINGS for name in finding.tables):
        check(name, tables[name])
    return [_verdict(number, finding, tables) for number, finding in enumerate(FINDINGS, 1)]


def check(name: str, rows: Rows) -> None:
    """Raise an error if a mean or a time is not a positive number."""
    for row in rows:
        for column in ("mean", "us_per_round"):
            value = row.get(column, 1.0)
            if not is_real(value) or not 0.0 < value < math.inf:
                raise InputError(
                    "not-a-mean",
                    "{file} has {value!r} as the {column} of {rule} at {at}, which is no positive "
                    "number",
                    remedy="make it again: python -m reproduction {experiment}",
                    file=f"{name}.csv",
                    value=value,
                    column=column,
                    rule=str(row.get("rule")),
                    at=f"{row.get('x')}",
                    experiment=name.removesuffix("-time"),
                )


def _verdict(number: int, finding: Claim, tables: Tables) -> ClaimResult:
    missing = [name for name in finding.tables if not tables[name]]
    if missing:
        remedy = f"run `python -m reproduction {missing[0].removesuffix('-time')}` first"
        return ClaimResult(number, finding.claim, finding.test, UNKNOWN, remedy)
    short = next((said for lines in finding.lines if (said := lines.missing(tables))), "")
    if short:
        return ClaimResult(number, finding.claim, finding.test, UNKNOWN, short)
    numbers = finding.measure(tables)
    evidence = finding.said(numbers)
    capped = sum(1 for name in finding.tables for row in tables[name] if row.get("capped"))
    if capped:
        evidence += f"; {capped} lines have capped runs, whose means are too small"
    reasons = tuple(reason.said() for reason in finding.explain(tables))
    return ClaimResult(
        number, finding.claim, finding.test, finding.verdict(numbers), evidence, reasons
    )


FINDINGS = (
    Claim(
        claim="Hedge, AdaHedge and LLOO need similar numbers of rounds, fewer than uniform "
        "sampling, more as d grows (k = 3).",
        test="at every d the largest mean is at most 1.5 times the smallest; every mean is below "
        "uniform sampling's; means correlate with d above 0.9",
        tables=("figure1",),
        measure=measures.learners_and_uniform,
        holds=(
            Bound("sizes.ratio", high=1.5),
            Bound("beside.ratio", high=1.0),
            Bound("correlation", low=0.9),
        ),
        evidence="the largest of the three means is {closest:.2f} to {widest:.2f} times the "
        "smallest (most at d = {widest_x:g}); {below} of {means} means are below uniform "
        "sampling's beyond doubt, {above} above it{open}; the correlation of the mean with d is "
        "{correlation:.2f} at least",
        several={
            "open": ListBlock(
                "{rule} at d = {x:g} ({ratio:.2f} times uniform's)",
                before=", and not told apart from it are ",
            )
        },
        explain=explanations.similar,
        lines=(TableBlock("figure1", ("uniform", *THREE), least=2),),
    ),
    Claim(
        claim="OFW needs clearly more than those three from d = 20 on.",
        test="OFW's mean is at least 1.2 times the largest of the three at every d >= 20",
        tables=("figure1",),
        measure=measures.ofw_and_the_others,
        holds=(Bound("sizes.ratio", low=1.2, each=True),),
        evidence="OFW's mean over the largest of the other three: {sizes}",
        several={"sizes": ListBlock("{ratio:.2f} (d = {x:g})")},
        explain=explanations.ofw,
        lines=(TableBlock("figure1", ("ofw", *THREE), low=20),),
    ),
    Claim(
        claim="GCB-PE needs about ten times more.",
        test="its mean is 5 to 20 times the mean of the other five at every d of the paper, 5 to "
        "20",
        tables=("figure1", "gcb-pe"),
        measure=measures.gcb_pe_and_the_others,
        holds=(Bound("of_the_paper.ratio", low=5.0, high=20.0, each=True),),
        evidence="GCB-PE's mean over the mean of the other five, with the scale that was fitted to "
        "its published means: {sizes}{proved}",
        several={
            "sizes": ListBlock("{ratio:.0f} (d = {x:g})"),
            "proved": ListBlock(
                "; with the scale that is proved it needs {times:.0f} times more still"
            ),
        },
        explain=explanations.gcb_pe,
        lines=(
            TableBlock("gcb-pe", (f"gcb-pe, scale {SCALE}",), high=20, least=2),
            TableBlock("figure1", ("uniform", *THREE, "ofw"), high=20, least=2),
        ),
    ),
    Claim(
        claim="Time per round grows like |A| for Hedge and AdaHedge, and stays almost flat for OFW "
        "and LLOO.",
        test="exponents between 0.8 and 1.2; OFW and LLOO at most 4 times slower at d = 50 than at "
        "d = 5",
        tables=("figure1-time",),
        measure=measures.time_and_actions,
        holds=(Bound("powers.power", low=0.8, high=1.2), Bound("steepest", high=4.0)),
        evidence="time grows like |A| to the power {powers} from 1,000 actions on; from {fewest:,} "
        "to {most:,} actions OFW's grows {ofw:.1f} times and LLOO's {lloo:.1f} times; at "
        "d = {largest:g}: "
        "{last}",
        several={
            "powers": ListBlock("{power:.2f} ({rule})"),
            "last": ListBlock("{rule} {us:,.0f} us"),
        },
        explain=explanations.times,
        lines=(
            TableBlock("figure1-time", SIMPLEX, low=20, least=3),  # 1,000 actions and more
            TableBlock("figure1-time", ("ofw", "lloo"), least=2),
        ),
    ),
    Claim(
        claim="Grid networks: uniform sampling collapses as n_s grows; a learner on the simplex "
        "pays its full initialisation of |A| rounds.",
        test="uniform's mean grows ten times faster than LLOO's; AdaHedge's is at least 0.9 |A| on "
        "the largest grid",
        tables=("grid", "quantities"),
        measure=measures.growth_on_grids,
        holds=(Bound("faster", low=10.0), Bound("largest_share", low=0.9)),
        evidence="from n_s = {small:g} to {large:g} uniform sampling's mean grows {uniform:,.0f} "
        "times (to {uniform_mean:,.0f}), LLOO's {lloo:.1f} times (to {lloo_mean:,.0f}); AdaHedge's "
        "is {adahedge_mean:,.0f} at n_s = {large:g}, where |A| = {actions:,}, and at least 0.9 |A| "
        "at n_s = {paid}",
        several={"paid": ListBlock("{x:g}", none="none")},
        explain=explanations.grids,
        lines=(TableBlock("grid", ("uniform", "adahedge", "lloo"), least=2),),
    ),
    Claim(
        claim="Line networks and k = 2: LLOO is on a par with AdaHedge at low cost.",
        test="LLOO's mean is at most 1.5 times AdaHedge's everywhere, and its round is cheaper at "
        "the largest size",
        tables=(
            "uniform-matroid-k2",
            "line2",
            "line3",
            "uniform-matroid-k2-time",
            "line2-time",
            "line3-time",
        ),
        measure=measures.lloo_and_adahedge,
        holds=(
            Bound("experiments.most", high=1.5, each=True),
            Bound("experiments.cost", low=1.0, each=True),
        ),
        evidence="{experiments}",
        several={
            "experiments": ListBlock(
                "{name}: LLOO's mean is {least:.2f} to {most:.2f} times AdaHedge's, and a round "
                "costs AdaHedge {cost:.1f} times LLOO's at the largest size",
                between="; ",
            )
        },
        explain=explanations.lines,
        lines=(
            *(
                TableBlock(table, ("adahedge", "lloo"))
                for name in ("uniform-matroid-k2", "line2", "line3")
                for table in (name, f"{name}-time")
            ),
        ),
    ),
    Claim(
        claim="Almost all sets: LLOO works although there is one informative action in 2^(d-1).",
        test="no run is capped, and its mean stays below a quarter of AdaHedge's at d = 14",
        tables=("almost-all",),
        measure=measures.the_needle,
        holds=(Bound("share", high=0.25), Bound("capped", high=0)),
        evidence="LLOO's mean is {least:,.0f} to {most:,.0f} rounds for d = {small:g} to "
        "{large:g}; at d = {large:g} AdaHedge's is {adahedge:,.0f} (|A| = {actions:,}) and uniform "
        "sampling's {uniform:,.0f}",
        explain=explanations.needle,
        lines=(TableBlock("almost-all", ("uniform", "adahedge", "lloo"), least=2),),
    ),
    Claim(
        claim="C- and D-tracking, one learner and one per answer: within a few percent of each "
        "other.",
        test="the geometric mean of the ratios to the usual, over learners and sizes, is within "
        "5 %, and so is every single ratio",
        tables=("options",),
        measure=measures.options_and_the_usual,
        holds=(
            Bound("options.pooled", 1.0 - FEW_PERCENT, 1.0 + FEW_PERCENT, each=True),
            *(
                Bound(f"{option}.ratio", 1.0 - FEW_PERCENT, 1.0 + FEW_PERCENT)
                for option in measures.OPTIONS
            ),
        ),
        evidence="{options}",
        several={
            "options": ListBlock(
                "{option}: the geometric mean of {of} ratios is {pooled:.3f}; {within} are within "
                "5 % beyond doubt, {outside} outside, and {open} cannot be told; the furthest is "
                "{rule} at d = {x:g} ({ratio:.2f})",
                between="; ",
            )
        },
        explain=explanations.options,
        lines=(
            *(TableBlock("options", ("lloo", f"lloo, {option}")) for option in measures.OPTIONS),
        ),
    ),
    Claim(
        claim="Error rates are far below delta, with the stylised threshold too.",
        test="the pooled rate is below delta/5, and every line's exact interval, at a level of 5 % "
        "for all lines together, lies below delta",
        tables=STYLISED,
        measure=measures.pooled_errors,
        holds=(Bound("rate", high=SELDOM), Reported("told")),
        evidence="{errors:,} errors in {runs:,} runs with the stylised threshold ({rate:.2%}; "
        "delta is 10 %); {below} of {lines} lines have an exact interval below delta, {above} one "
        "above it; the worst is {worst}; with the proved threshold "
        "{proved_errors} errors in {proved_runs:,} runs (at most {proved_high:.2%}, with 97.5 % "
        "confidence)",
        several={
            "worst": ListBlock(
                "{rule}, {instance} ({experiment}): {error_rate:.1%} [{error_low:.1%}, "
                "{error_high:.1%}] in {runs} runs"
            )
        },
        explain=explanations.errors,
    ),
)
