"""The sections of the page on the paper: pictures, tables made from the rows, and remarks."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from combgame.learners import SFTPL

from .experiments import FIVE, OURS, PUBLISHED, THREE
from .explanations import Explanation, beside_the_paper, discarding
from .gcb_pe import implied_scale
from .measured import ratio
from .measures import STYLISED, error_rows, mean_of
from .results import Rows, Tables, digitised
from .tables import growth


class FigureBlock(NamedTuple):
    """The picture of an experiment, under its title unless another text is given."""

    name: str
    text: str = ""


class GridBlock(NamedTuple):
    """The cells of a table on the page."""

    head: Sequence[str]
    cells: Sequence[Iterable[Any]]
    left: int = 1  # number of left-aligned columns


class ConditionalBlock(NamedTuple):
    """A part of a section; its text may have fields for the columns of the last row of `needs`."""

    needs: tuple[str, ...]  # tables without which the part is left out
    what: str | FigureBlock | Callable[[Tables], GridBlock | list[Explanation]]


class Section(NamedTuple):
    """A section of its own, after the findings."""

    title: str
    parts: tuple[ConditionalBlock, ...]


OPTIONS = ("proved threshold", "theory bonus", "theory bonus and proved threshold")
TIMED = ("adahedge", "hedge", "ofw", "lloo")  # in the paper's figure
CLAIMED = {
    "hedge": "O(ln t sqrt t)",
    "adahedge": "O(ln t sqrt t)",
    "ofw": "O((ln t)^2 t^(3/4))",
    "lloo": "O(ln t sqrt t)",
}
WORST = "{error_rate:.1%} [{error_low:.1%}, {error_high:.1%}] at {instance}"


def by_rule(rows: Rows) -> dict[tuple[Any, str], dict[str, Any]]:
    """Return the rows by x and rule."""
    return {(row["x"], row["rule"]): row for row in rows}


def named(rows: Rows, column: str) -> list[Any]:
    """Return the distinct values of a column in the order of the rows."""
    return list(dict.fromkeys(row[column] for row in rows))


def rounds(name: str, x: str, rules: Sequence[str]) -> Callable[[Tables], GridBlock]:
    """Return a table of means with standard errors (median; quartiles) per rule, and the limit."""

    def cell(row: dict[str, Any] | None) -> str:
        if row is None:
            return ""
        least = ">= " if row["capped"] else ""
        quartiles = f"{row['q25']:,.0f} to {row['q75']:,.0f}"
        return f"{least}{mean_of(row):,.0f} ({row['median']:,.0f}; {quartiles})"

    def grid(tables: Tables) -> GridBlock:
        rows, at, cells = tables[name], by_rule(tables[name]), []
        for value in sorted({row["x"] for row in rows}):
            mine = [row for row in rows if row["x"] == value]
            limits = [row["limit"] for row in mine if row["limit"]]
            runs = [row["runs"] for row in mine]
            cells.append(
                [
                    f"{value:g}",
                    *(cell(at.get((value, rule))) for rule in rules),
                    f"{limits[0]:,.0f}" if limits else "",
                    f"{runs[0]}" if min(runs) == max(runs) else f"{min(runs)} to {max(runs)}",
                ]
            )
        return GridBlock([x, *rules, "limit", "runs"], cells)

    return grid


def beside_the_marks(tables: Tables) -> GridBlock:
    """Return our means of Figure 1 beside the paper's marks."""
    at = by_rule(tables["figure1"])
    marks = {row["d"]: row for row in digitised() if row["figure"] == "1a"}
    cells = [
        [
            f"{d}",
            *(
                (f"{mean_of(at[d, rule]):,.0f}" if (d, rule) in at else "-")
                + f" / {marks[d][rule]:,.0f}"
                for rule in FIVE
            ),
        ]
        for d in sorted(marks)
        if any((d, rule) in at for rule in FIVE)
    ]
    return GridBlock(["d", *FIVE], cells)


def gcb_pe(tables: Tables) -> GridBlock:
    """Return GCB-PE's means beside the published ones, with the scale that those imply."""
    at, labels = by_rule(tables["gcb-pe"]), named(tables["gcb-pe"], "rule")
    cells = []
    for d in sorted({row["x"] for row in tables["gcb-pe"]}):
        published = PUBLISHED.get(int(d))
        cells.append(
            [
                f"{d:g}",
                f"{published:,}" if published else "",
                f"{implied_scale(int(d), published):.4f}" if published else "",
                *(
                    f"{mean_of(at[d, label]):,.0f} "
                    + "({runs} runs, {errors} errors)".format(**at[d, label])
                    if (d, label) in at
                    else ""
                    for label in labels
                ),
            ]
        )
    return GridBlock(["d", "published mean", "implied scale", *labels], cells)


def time_per_round(tables: Tables) -> GridBlock:
    """Return the microseconds per round of Figure 1 beside the paper's milliseconds."""
    rows, at = tables["figure1-time"], by_rule(tables["figure1-time"])
    marks = {row["d"]: row for row in digitised() if row["figure"] == "1b"}
    actions = {row["x"]: row["actions"] for row in rows}
    cells = [
        [
            f"{d:g}",
            f"{actions[d]:,}",
            *(f"{at[d, rule]['us_per_round']:,.1f}" for rule in FIVE),
            *(f"{marks[d][rule]}" if d in marks else "" for rule in TIMED),
        ]
        for d in sorted(actions)
    ]
    ours, theirs = [f"{rule}, us" for rule in FIVE], [f"paper: {rule}, ms" for rule in TIMED]
    return GridBlock(["d", "\\|A\\|", *ours, *theirs], cells)


def options(tables: Tables) -> GridBlock:
    """Return the means with an option changed, and their ratios to the usual ones."""
    at, labels = by_rule(tables["options"]), named(tables["options"], "rule")
    sizes = sorted({row["x"] for row in tables["options"]})
    cells = []
    for label in labels:
        usual, mine = label.split(",")[0], [at[x, label] for x in sizes if (x, label) in at]

        def cell(row: dict[str, Any] | None, usual: str = usual, label: str = label) -> str:
            if row is None:
                return ""
            change = ratio(mean_of(row), mean_of(at[row["x"], usual]))
            more = "" if label == usual else f" (x {change:.2f})"
            return f"{mean_of(row):,.0f}{more}"

        cells.append(
            [
                label,
                *(cell(at.get((x, label))) for x in sizes),
                "; ".join(sorted({f"{row['runs']}" for row in mine})),
                f"{sum(row['errors'] for row in mine)} of {sum(row['runs'] for row in mine):,}",
            ]
        )
    return GridBlock(["", *(f"d = {x:g}" for x in sizes), "runs", "errors"], cells)


def errors(tables: Tables) -> GridBlock:
    """Return the errors of every rule in every experiment, with its worst instance."""
    cells = []
    for name in STYLISED:
        rows = error_rows(tables, name)
        for rule in named(rows, "rule"):
            mine = [row for row in rows if row["rule"] == rule]
            wrong, runs = sum(row["errors"] for row in mine), sum(row["runs"] for row in mine)
            worst = max(mine, key=lambda row: row["error_rate"])
            cells.append(
                [
                    name,
                    rule,
                    f"{wrong} of {runs:,}",
                    f"{wrong / runs:.2%}",
                    WORST.format(**worst),
                ]
            )
    return GridBlock(["experiment", "rule", "errors", "rate", "worst instance"], cells, left=2)


def proved(tables: Tables) -> GridBlock:
    """Return the factors on the means of the bonus and the threshold of the theory."""
    at = by_rule(tables["options"])
    sizes = sorted({row["x"] for row in tables["options"]})
    cells = []
    for option in OPTIONS:
        factors = [
            ratio(mean_of(at[x, f"{rule}, {option}"]), mean_of(at[x, rule]))
            for x in sizes
            for rule in ("adahedge", "lloo")
            if (x, f"{rule}, {option}") in at
        ]
        if factors:
            low, high = (pick(factors, key=lambda one: one.value) for pick in (min, max))
            cells.append([option, f"{low:.1f} to {high:.1f}"])
    return GridBlock(["with", "times the stylised"], cells)


def learners(tables: Tables) -> GridBlock:
    """Return the learners' support, cost and regret, and the paper's bound on the regret."""
    cells = []
    for rule in named(tables["regret"], "rule"):
        mine = [row for row in tables["regret"] if row["rule"] == rule]
        t, last = [row["t"] for row in mine], mine[-1]
        cost = {row["arms"]: row for row in tables["learners"] if row["rule"] == rule}
        low, high = min(cost), max(cost)
        broken = sum(row["exceeded"] for row in mine)
        cells.append(
            [
                rule,
                f"{growth(t, [row['support'] for row in mine]):z.2f} ({last['support']:,.0f})",
                f"{cost[low]['us_per_round']:.1f} to {cost[high]['us_per_round']:,.1f} us",
                f"{last['regret']:,.1f}",
                f"{growth(t, [row['regret'] for row in mine]):z.2f}",
                CLAIMED[rule],
                f"{last['bound']:,.0f}",
                "never" if not broken else f"at {broken} of {len(mine) * last['runs']} points",
            ]
        )
    head = [
        "learner",
        "support: exponent (last size)",
        "cost of a round, d = 5 to 50",
        "regret at the end",
        "regret: exponent",
        "claimed",
        "the paper's bound at the end",
        "bound exceeded",
    ]
    return GridBlock(head, cells)


QUANTITIES = {  # columns of the page with their templates
    "family": "{family}",
    "instance": "{instance}",
    "d": "{d}",
    "\\|A\\|": "{actions:,}",
    "\\|A*\\|": "{informative:,}",
    "share": "{share:.2g}",
    "n_0": "{n_0}",
    "1/D_nu": "{characteristic_time:,.1f}",
    "as the paper's formulas": "{agrees}",
}


def quantities(tables: Tables) -> GridBlock:
    """Return the central quantities of every instance."""
    rows = [{**row, "agrees": "yes" if row["agrees"] else "NO"} for row in tables["quantities"]]
    cells = [[cell.format(**row) for cell in QUANTITIES.values()] for row in rows]
    return GridBlock(list(QUANTITIES), cells, left=2)


def theorem3(tables: Tables) -> GridBlock:
    """Return Theorem 3's constants and its bound beside the measured mean."""
    at = by_rule(tables["figure1"])
    cells = [
        [
            f"{row['x']}",
            row["rule"],
            f"{row['chernoff']:.2g}",
            f"{row['constant']:.2g}",
            f"{row['t_0']:.2g}",
            f"{row['regret_share']:.0%}",
            f"{row['approximation_share']:.0%}",
            f"{row['threshold_share']:.0e}",
            f"{mean_of(at[row['x'], row['rule']]):,.0f}" if (row["x"], row["rule"]) in at else "",
        ]
        for row in tables["theorem3"]
    ]
    head = ["d", "rule", "epsilon_nu", "C_nu", "T_0(0.1)", "of it regret", "h(t)", "threshold"]
    return GridBlock([*head, "measured mean (stylised)"], cells, left=2)


def psi(tables: Tables) -> GridBlock:
    """Return psi by trying all choices of rows, greedily, and in closed form."""
    cells = [
        [
            row["structure"],
            f"{row['d']}",
            f"{row['psi']:.4f}",
            f"{row['greedy']:.4f}",
            f"{row['closed']:.4f}" if row["closed"] else "",
        ]
        for row in tables["psi"]
    ]
    return GridBlock(["structure", "d", "psi", "greedily", "1 + sqrt(d - 1)"], cells)


def correlated(tables: Tables) -> GridBlock:
    """Return the characteristic times and means with correlated values."""
    cells = [
        [
            f"{row['rho']:g}",
            f"{row['time']:,.1f} (at most {row['gap']:.1%} too long)",
            f"{mean_of(row):,.0f}",
            f"{row['errors']} of {row['runs']}",
        ]
        for row in tables["correlated"]
    ]
    return GridBlock(["correlation within a play", "1/D_nu", "AdaHedge, mean", "errors"], cells)


def elimination(tables: Tables) -> GridBlock:
    """Return the means and errors of runs that discard answers, and of those that do not."""
    rows = tables["elimination"]
    at = {(row["problem"], row["threshold"], row["rule"], row["discards"]): row for row in rows}
    ways, cells = named(rows, "discards"), []
    for problem, threshold, rule in dict.fromkeys(
        (row["problem"], row["threshold"], row["rule"]) for row in rows
    ):
        mine = [at.get((problem, threshold, rule, way)) for way in ways]
        cells.append(
            [
                problem,
                threshold,
                rule,
                *(f"{mean_of(row):,.0f}" if row else "" for row in mine),
                *("{errors} of {runs}".format(**row) if row else "" for row in mine),
            ]
        )
    head = ["question", "threshold", "rule", *ways, *(f"errors, {way}" for way in ways)]
    return GridBlock(head, cells, left=3)


def stopping_times(
    name: str, x: str, rules: Sequence[str] = THREE + OURS, text: str = ""
) -> list[ConditionalBlock]:
    """Return the picture and the table of an experiment."""
    return [
        ConditionalBlock((name,), FigureBlock(name, text)),
        ConditionalBlock((name,), rounds(name, x, rules)),
        ConditionalBlock((name,), "Mean ± its standard error (median; quartiles)."),
    ]


SECTIONS: dict[int, list[ConditionalBlock]] = {  # under the findings, by their numbers
    1: [
        *stopping_times(
            "figure1", "d", FIVE + OURS, "Figure 1: stopping times and time per round against d"
        ),
        ConditionalBlock(
            ("figure1",), "Our mean ± its standard error / the paper's mark (digitised):"
        ),
        ConditionalBlock(("figure1",), beside_the_marks),
        ConditionalBlock(("figure1",), beside_the_paper),
    ],
    2: [ConditionalBlock((), "The numbers are in the table of finding 1.")],
    3: [
        ConditionalBlock(("gcb-pe",), FigureBlock("gcb-pe", "GCB-PE's stopping times")),
        ConditionalBlock(("gcb-pe",), gcb_pe),
    ],
    4: [
        ConditionalBlock(("figure1-time",), time_per_round),
        ConditionalBlock(
            ("figure1-time",),
            "The picture is (b) of [Figure 1]({finding_1}) above; each time is the best of five "
            "stretches of about 0.1 s after the start (the paper gives averages).",
        ),
    ],
    5: stopping_times("grid", "n_s"),
    6: [
        *stopping_times("uniform-matroid-k2", "d"),
        *stopping_times("line2", "n_l"),
        *stopping_times("line3", "n_l"),
    ],
    7: stopping_times("almost-all", "d"),
    8: [
        ConditionalBlock(("options",), FigureBlock("options", "Options, as a ratio")),
        ConditionalBlock(("options",), options),
        ConditionalBlock(
            ("options",),
            f"SFTPL, the learner of the paper's outlook, plays the uniform mixture of "
            f"{SFTPL().n_samples} perturbed leaders argmax_A <1_A, sum_s r_s + rho_t v_j>, the v_j "
            "drawn anew in every round, independent and uniform in the unit ball of R^d (a "
            "Gaussian direction, a radius u^(1/d)), rho_t = max_s ||r_s|| sqrt(d t).",
        ),
    ],
    9: [ConditionalBlock((), errors)],
}

AFTER = (  # the findings
    Section(
        "Stylised against proved",
        (
            ConditionalBlock(
                ("options",),
                "What the choices that theory licenses cost, as a factor on the mean stopping time "
                "(d = 5, 10, 20, AdaHedge and LLOO; the single numbers are in the table of finding "
                "8):",
            ),
            ConditionalBlock(("options",), proved),
        ),
    ),
    Section(
        "The learners compared, by measurement",
        (
            ConditionalBlock(
                ("learners", "regret"),
                FigureBlock("learners", "Regret, support and cost of the learners"),
            ),
            ConditionalBlock(
                ("learners", "regret"),
                "k = 3, d = {arms}, {t:,} rounds of the learner without stopping, {runs} runs. "
                "Regret is max_A sum <1_A, r_s> - sum <w_s, r_s>; exponents are slopes on "
                "logarithmic scales over the last decade of rounds. The bounds are the paper's "
                "lemmas with the constants printed there (for LLOO the lemma gives an order only: "
                "its constant is taken as 1); for Hedge and LLOO they are for a known horizon, "
                "while ours double.",
            ),
            ConditionalBlock(("learners", "regret"), learners),
        ),
    ),
    Section(
        "Theorem 3, evaluated",
        (
            ConditionalBlock(
                ("theorem3",),
                "E[tau] <= T_0(delta) + 2 e d / c^2 with T_0 = max {{t: t <= beta(t, delta) / D_nu "
                "+ C_nu (R_t + h(t))}}, b = c = 1, the threshold of Theorem 2 and means in [0, 1]: "
                "`cg.upper_bound(problem, means, rule=..., delta=0.1)`. The shares are those of "
                "the three terms at T_0. epsilon_nu is by its definition, ch(x, y) = inf_u (d(u, "
                "x) + d(u, y)) = (x - y)^2 / (4 sigma^2); the text prints 8 sigma^2, a slip that "
                "nearly doubles C_nu.",
            ),
            ConditionalBlock(("theorem3",), theorem3),
        ),
    ),
    Section(
        "psi",
        (
            ConditionalBlock(
                ("psi",),
                "The largest spectral norm of independent rows of A2, over all choices of rows and "
                "by the greedy choice that the paper uses where there are many.",
            ),
            ConditionalBlock(("psi",), psi),
        ),
    ),
    Section(
        "Correlated values, the outlook's second avenue",
        (
            ConditionalBlock(
                ("correlated",),
                "k = 3, d = 5, all actions listed, every two values of a play equally correlated, "
                "and the covariance known: `cg.CorrelatedProblem(actions, answers, covariance)`. "
                "The nearest alternative is exact; threshold and bonus are the stylised ones, "
                "which no theorem covers here.",
            ),
            ConditionalBlock(("correlated",), correlated),
        ),
    ),
    Section(
        "Discarding answers, the outlook's phases",
        (
            ConditionalBlock(
                ("elimination",),
                '`cg.simulate(..., elimination="always")` discards an answer for good once it has '
                'lost to the leader by more than the threshold, `elimination="phases"` looks only '
                "at the ends of phases that grow by a tenth; both stop when one answer is left. "
                "Such a run needs every rival beaten at some time, and not all of them at the same "
                "time. The k = 3 matroids; {runs} runs of each, relabelled; `python "
                "benchmarks/elimination.py` has more sizes.",
            ),
            ConditionalBlock(("elimination",), elimination),
            ConditionalBlock(("elimination",), discarding),
        ),
    ),
    Section("Central quantities", (ConditionalBlock(("quantities",), quantities),)),
)
