"""Figures: colours, axes, and plots that several parts of the package draw.

Stopping times of a campaign are drawn in the style of the paper: means with error bars and
quartiles, one line per rule. Bars compare rules side by side. Colours have the same meaning in
every picture.
"""

import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import CombGameError, InputError, StoreError
from .files import make_private

Row = dict[str, Any]
MOST = 20  # number of arms whose names are legible in one picture


class DrawnFigure(NamedTuple):
    """The arms of a picture, the best first.

    `rest` has the arms with values that do not fit, `silent` those without values.
    """

    arms: list[Row]
    rest: list[Row]
    silent: list[Row]


def shown(arms: Sequence[Row], most: int = MOST, least_first: bool = False) -> DrawnFigure:
    """Choose the arms of a picture, sorted by mean.

    The leading arms come first, then those of the rival that is hardest to rule out, then the best
    means, up to `most` arms.

    >>> rows = [{"arm": x, "n": 1, "mean": m, "leads": x == "b"} for x, m in zip("abc", (3, 1, 2))]
    >>> chosen = shown(rows, most=2)
    >>> [one["arm"] for one in chosen.arms], [one["arm"] for one in chosen.rest]
    (['a', 'b'], ['c'])
    """
    sign = 1.0 if least_first else -1.0

    def place(one: Row) -> tuple[float, str]:
        return sign * one["mean"], str(one["arm"])

    known = sorted((one for one in arms if one["n"]), key=place)
    wanted = sorted(known, key=lambda one: (not one["leads"], not one.get("rival"), *place(one)))
    kept = {id(one) for one in wanted[:most]}
    return DrawnFigure(
        [one for one in known if id(one) in kept],
        [one for one in known if id(one) not in kept],
        [one for one in arms if not one["n"]],
    )


def short(name: Any, most: int = 28) -> str:
    """Shorten a name to fit beside an axis: one printable line, cut in the middle.

    >>> short("wild type"), short("a very long name of a varant, number 7")
    ('wild type', 'a very long na…ant, number 7')
    """
    text = "".join(
        " " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in str(name)
    )
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}…{text[len(text) - half + 1 :]}"


BEST, RIVAL, OTHER, NEEDED = "#0072b2", "#d55e00", "#808080", "#b22222"
GRID = "#dddddd"


def plain_numbers(axis: Any) -> None:
    """Format the ticks of an axis as 0.52 or 1,200, without a common factor."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))

    def said(x: float, _: int) -> str:
        ticks = axis.get_majorticklocs()
        return spoken(x, abs(ticks[1] - ticks[0]) if len(ticks) > 1 else abs(x) or 1.0)

    axis.set_major_formatter(FuncFormatter(said))


def spoken(x: float, step: float) -> str:
    """Format a number with as many digits as neighbours at distance `step` need.

    >>> spoken(0.30000000000000004, 0.1), spoken(1200.0, 200.0), spoken(1e-9, 2.5e-10)
    ('0.3', '1,200', '1e-09')
    >>> spoken(1000000.25, 0.25), spoken(-0.0, 0.5), spoken(3e18, 1e18)
    ('1,000,000.25', '0', '3e+18')
    """
    if abs(x) < 1e-9 * step:
        return "0"
    if abs(x) >= 1e15 or step < 1e-6:
        return f"{x:.10g}"
    digits = 0
    while digits < 9 and abs(round(step, digits) - step) > 1e-3 * step:
        digits += 1
    text = f"{x:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def whole_numbers(axis: Any) -> None:
    """Format the ticks of an axis as whole numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))


STYLES = {  # colour and marker of a rule, the same in every plot
    "uniform": ("#7f7f7f", "s"),
    "adahedge": ("#d62728", "o"),
    "hedge": ("#ff7f0e", "^"),
    "ofw": ("#2ca02c", "D"),
    "lloo": ("#1f77b4", "v"),
    "gcb-pe": ("#9467bd", "P"),
    "product-adahedge": ("#8c564b", "X"),
    "frank-wolfe": ("#000000", "*"),
}
OTHERS = (
    ("#c49c94", "x"),
    ("#e377c2", "<"),
    ("#bcbd22", ">"),
    ("#17becf", "h"),
    ("#9edae5", "d"),
    ("#aec7e8", "p"),
)


def figure(
    rows: int = 1, columns: int = 1, width: float = 6.4, height: float = 4.4
) -> tuple[Any, Any]:
    """Return a matplotlib figure without a window, and its axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        remedy = "install it with pip install matplotlib"
        raise CombGameError("needs-matplotlib", "plots need matplotlib", remedy=remedy) from None
    made = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = made.subplots(rows, columns)
    for one in axes.flat if rows * columns > 1 else [axes]:
        one.grid(True, which="major", color="#dddddd", linewidth=0.6)
        one.set_axisbelow(True)
        one.spines[["top", "right"]].set_visible(False)
    return made, axes


def style(label: str, place: int) -> tuple[str, str]:
    """Return the colour and marker of a rule."""
    return STYLES.get(label) or OTHERS[place % len(OTHERS)]


def stopping_times(
    axis: Any, report: Sequence[dict[str, Any]], x_label: str, title: str = ""
) -> None:
    """Plot the mean stopping time against x with 95% error bars.

    Pale bars reach from the first to the third quartile. A hollow marker means that some runs were
    capped.
    """
    labels = list(dict.fromkeys(row["rule"] for row in report))
    xs = sorted({row["x"] for row in report})
    step = min((b - a for a, b in pairwise(xs)), default=1.0)
    for place, label in enumerate(labels):
        rows = sorted((row for row in report if row["rule"] == label), key=lambda row: row["x"])
        colour, mark = style(label, place)
        move = (place - (len(labels) - 1) / 2) * 0.08 * step
        x, mean = [row["x"] + move for row in rows], [row["mean"] for row in rows]
        axis.vlines(
            x,
            [row["q25"] for row in rows],
            [row["q75"] for row in rows],
            color=colour,
            linewidth=2.2,
            alpha=0.25,
        )
        reach = [1.96 * (row.get("standard_error") or 0.0) for row in rows]
        axis.errorbar(x, mean, reach, color=colour, linewidth=1.2, capsize=2.5, capthick=1.0)
        axis.plot([], [], color=colour, linewidth=1.2, marker=mark, markersize=5, label=label)
        for filled in (True, False):
            points = [
                (a, row["mean"])
                for a, row in zip(x, rows, strict=True)
                if (row["capped"] == 0) == filled
            ]
            if points:
                axis.plot(
                    *zip(*points, strict=True),
                    mark,
                    color=colour,
                    markerfacecolor=colour if filled else "white",
                    markersize=5,
                )
    thresholds = list(dict.fromkeys(row["threshold"] for row in report if row["limit"]))
    for place, threshold in enumerate(thresholds):
        limits = {
            row["x"]: row["limit"]
            for row in report
            if row["limit"] and row["threshold"] == threshold
        }
        label = "limit $t=\\beta(t,\\delta)/D_\\nu$" + (
            f", {threshold}" if len(thresholds) > 1 else ""
        )
        ends = ([x - 0.32 * step for x in limits], [x + 0.32 * step for x in limits])
        axis.hlines(
            list(limits.values()),
            *ends,
            color="black",
            linestyle=(":", "--", "-.")[place % 3],
            linewidth=1.3,
            label=label,
        )
    log_scale(axis)
    axis.set_xticks(xs)
    axis.set_xlabel(x_label)
    axis.set_ylabel("stopping time (rounds): mean, its 95 % error, quartiles")
    axis.set_title(title, fontsize=10)
    axis.legend(fontsize=8, frameon=False)


def log_scale(axis: Any) -> None:
    """Make the y axis logarithmic, with plain numbers.

    The ticks include 2 and 5 if the axis has few decades.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high / low < 1000 else (1.0,)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}" if y >= 1 else f"{y:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def plot(report: Sequence[dict[str, Any]], title: str) -> Any:
    """Plot the stopping times of a campaign; without x, the problems stand in their order."""
    if not report:
        raise InputError(
            "nothing-to-plot",
            "{title}: there are no runs yet, so there is nothing to plot",
            remedy="run the campaign first",
            title=title,
        )
    names = list(dict.fromkeys(row["instance"] for row in report))
    placed = all(row["x"] is not None for row in report)
    rows = [row if placed else {**row, "x": names.index(row["instance"])} for row in report]
    deltas = list(dict.fromkeys(row["delta"] for row in rows))
    made, axes = figure(1, len(deltas))
    for axis, delta in zip(axes if len(deltas) > 1 else [axes], deltas, strict=True):
        stopping_times(
            axis,
            [row for row in rows if row["delta"] == delta],
            "problem",
            f"{title}, delta = {delta:g}",
        )
        if len(names) <= 8 or not placed:  # show the names unless they are too many
            many = len(names) > 4
            at = {row["instance"]: row["x"] for row in rows}
            axis.set_xticks(
                list(at.values()),
                list(at),
                rotation=30 if many else 0,
                ha="right" if many else "center",
            )
    return made


@contextmanager
def drawing() -> Iterator[None]:
    """Configure matplotlib while a figure is written to a file.

    SVG keeps texts as texts, the same data give the same bytes, and warnings about glyphs that the
    font of matplotlib lacks are suppressed (SVG shows them anyway).
    """
    import matplotlib

    with (
        matplotlib.rc_context({"svg.hashsalt": "combgame", "svg.fonttype": "none"}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        yield


def save(made: Any, path: str | Path) -> list[Path]:
    """Write a figure as PNG and SVG; the same data give the same bytes."""
    base, written = Path(path), []
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        with drawing():
            for tail, extra in (
                (".png", {"dpi": 130, "metadata": {"Software": None}}),
                (".svg", {"metadata": {"Date": None}}),
            ):
                target = base.with_name(base.name + tail)
                make_private(target)
                made.savefig(target, **extra)
                written.append(target)
    except OSError as error:
        raise StoreError(
            "pictures-not-written",
            "{path}: the pictures cannot be written ({reason})",
            remedy="choose another place",
            path=str(base),
            reason=error.strerror,
        ) from error
    return written


def bars(axis: Any, rows: Sequence[Row], unit: str = "rounds") -> None:
    """Draw one bar per row, with `label`, `mean` and, if known, the quartiles `q25` and `q75`.

    Rows with `ours` are coloured. The labels of rows with `capped` runs begin with ">=".
    """
    most = max(max(row["mean"], row.get("q75") or 0.0) for row in rows)
    for place, row in enumerate(rows):
        colour = BEST if row.get("ours") else OTHER
        axis.barh([place], [row["mean"]], color=colour, height=0.62, alpha=0.8)
        end = row["mean"]
        if row.get("q25") is not None:
            axis.plot([row["q25"], row["q75"]], [place, place], color="black", linewidth=1.0)
            end = max(end, row["q75"])
        text = (">= " if row.get("capped") else "") + f"{row['mean']:,.0f}"
        axis.text(end + 0.015 * most, place, text, va="center", fontsize=10)
    axis.set_yticks(range(len(rows)), [short(row["label"], 44) for row in rows], parse_math=False)
    axis.set_ylim(len(rows) - 0.45, -0.55)
    axis.set_xlim(0.0, 1.16 * most)
    axis.tick_params(axis="y", length=0)
    axis.grid(False, axis="y")
    whole_numbers(axis.xaxis)
    axis.set_xlabel(f"{unit} needed (mean; line: the middle half of the runs)")


def picture(rows: Sequence[Row]) -> Any:
    """Draw the rows of a simulation's or a comparison's summary as bars."""
    made, axis = figure(height=1.2 + 0.4 * len(rows))
    bars(axis, labelled(rows))
    return made


def labelled(rows: Sequence[Row]) -> list[Row]:
    """Add labels with the words that distinguish the rows.

    >>> one = {"rule": "ofw", "delta": 0.1, "threshold": "mixture"}
    >>> [row["label"] for row in labelled([one, {**one, "delta": 0.05}])]
    ['ofw, delta 0.1', 'ofw, delta 0.05']
    """
    several = {key for key in ("threshold", "delta") if len({row[key] for row in rows}) > 1}
    made = []
    for row in rows:
        words = [row["rule"]]
        words += [row["threshold"]] if "threshold" in several else []
        words += [f"delta {row['delta']:g}"] if "delta" in several else []
        made.append({**row, "label": ", ".join(words), "ours": row is rows[0]})
    return made
