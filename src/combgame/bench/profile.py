"""How far every rule is from the best one, instance by instance: a performance profile (Dolan and
More, Mathematical Programming 2002).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..report.figures import OTHERS, STYLES, figure, style

Row = dict[str, Any]
NEAR = 1.1  # within this of the best rule counts as tied with it
FACTORS = (1.0, 1.05, NEAR, 1.25, 1.5, 2.0, 3.0, 5.0)
WIDEST = 5.0  # of the picture
SURE = 1.96  # standard errors


class Place(NamedTuple):
    """A rule on an instance: its mean over the least mean there, and the standard error of that."""

    instance: str
    rule: str
    ratio: float  # infinite where it cannot take part; at least this where runs were capped
    error: float
    capped: bool

    @property
    def verdict(self) -> str:
        """Whether it is near the best: "yes", "no", or "open" where the runs cannot tell."""
        if self.capped:
            return "no"
        if abs(self.ratio - NEAR) <= SURE * self.error:
            return "open"
        return "yes" if self.ratio <= NEAR else "no"


def places(rows: Sequence[Row], rules: Sequence[str]) -> list[Place]:
    """Every rule on every instance.

    >>> one = {"instance": "a", "mean": 10.0, "standard_error": 1.0, "capped": 0}
    >>> [p.ratio for p in places([{**one, "rule": "x"}, {**one, "rule": "y", "mean": 15.0}], "xyz")]
    [1.0, 1.5, inf]
    """
    made = []
    for instance in dict.fromkeys(row["instance"] for row in rows):
        here = {row["rule"]: row for row in rows if row["instance"] == instance}
        best = min(here.values(), key=lambda row: (row["capped"] > 0, row["mean"]))
        for rule in rules:
            row = here.get(rule)
            if row is None:
                made.append(Place(instance, rule, math.inf, 0.0, False))
                continue
            ratio = row["mean"] / best["mean"]
            error = 0.0 if row is best else ratio * math.hypot(_relative(row), _relative(best))
            made.append(Place(instance, rule, ratio, error, row["capped"] > 0))
    return made


def _relative(row: Row) -> float:
    """The standard error of a mean, as a part of it; unknown from a single run."""
    error = row["standard_error"]
    return math.inf if error is None else float(error / row["mean"])


def share(found: Sequence[Place], rule: str, factor: float) -> float:
    """The share of instances on which a rule is within a factor of the best one."""
    own = [one for one in found if one.rule == rule]
    return sum(one.ratio <= factor and not one.capped for one in own) / len(own)


def ranked(found: Sequence[Place], rules: Sequence[str]) -> list[str]:
    """The rules, those that are near the best most often first."""
    return sorted(rules, key=lambda rule: [-share(found, rule, one) for one in (NEAR, 1.5, 3.0)])


def picture(found: Sequence[Place], rules: Sequence[str], mine: str | None) -> Any:
    """Share of instances against the factor, one step line per rule."""
    made, axis = figure(width=7.2, height=4.6)
    others = [rule for rule in rules if rule not in STYLES]
    for rule in rules:
        place = others.index(rule) if rule in others else 0
        at = sorted({1.0, WIDEST, *(p.ratio for p in found if p.rule == rule and p.ratio < WIDEST)})
        colour, _ = style(rule, place)
        axis.step(
            at,
            [share(found, rule, factor) for factor in at],
            where="post",
            color=colour,
            linewidth=2.6 if rule in (mine, "frank-wolfe") else 1.3,
            linestyle="--" if place >= len(OTHERS) else "-",
            label=rule,
        )
    axis.axvline(NEAR, color="#808080", linewidth=0.8, linestyle=":")
    axis.set_xscale("log")
    axis.set_xlim(1.0, WIDEST)
    axis.set_xticks(
        [one for one in FACTORS if one != 1.05], [f"{f:g}" for f in FACTORS if f != 1.05]
    )
    axis.minorticks_off()
    axis.set_ylim(0.0, 1.02)
    axis.set_xlabel("mean rounds, as a multiple of those of the best rule on the instance")
    axis.set_ylabel("share of instances")
    axis.legend(fontsize=8, frameon=False, loc="lower right", ncols=2)
    return made
