"""How many rounds something takes, as bars: rules side by side."""

from collections.abc import Sequence
from typing import Any

from .arms import Row, short
from .axes import BEST, OTHER, whole_numbers
from .figures import figure


def bars(axis: Any, rows: Sequence[Row], unit: str = "rounds") -> None:
    """One bar per row: `label`, `mean`, and, where they are known, the quartiles `q25` and `q75`;
    those with `ours` in colour, those with `capped` runs as "at least".
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
    """Of a simulation's or a comparison's report."""
    made, axis = figure(height=1.2 + 0.4 * len(rows))
    bars(axis, labelled(rows))
    return made


def labelled(rows: Sequence[Row]) -> list[Row]:
    """With the words that tell the rows apart.

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
