"""How far every rule is from the best one, instance by instance: a performance profile (Dolan and
More, Mathematical Programming 2002).
"""

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from ..report.figures import OTHERS, STYLES, figure, style

Row = dict[str, Any]
NEAR = 1.1  # within this of the best rule counts as tied with it
FACTORS = (1.0, 1.05, NEAR, 1.25, 1.5, 2.0, 3.0, 5.0)
WIDEST = 5.0  # of the picture
SURE = 1.96  # standard errors


class Place(NamedTuple):
    """A rule on an instance: its mean over the least mean there, which is the plain count; its mean
    over a fair yardstick; and whether it is near the best: "yes", "no", or "open" where the runs
    cannot tell.
    """

    instance: str
    rule: str
    ratio: float  # infinite where it cannot take part; at least this where runs were capped
    capped: bool
    fair: float
    verdict: str


def places(
    rows: Sequence[Row],
    rules: Sequence[str],
    unmade: Collection[tuple[str, str]] = (),
) -> list[Place]:
    """Every rule on every instance. unmade: rules and instances whose runs have not been made yet.
    What is not known of them is open, and so is whether anybody who looks near the best there is.

    >>> one = {"instance": "a", "standard_error": 0.1, "capped": 0}
    >>> slow, fast = ({"mean": x, "mean_even": x, "mean_odd": x} for x in (15.0, 10.0))
    >>> rows = [{**one, **fast, "rule": "x"}, {**one, **slow, "rule": "y"}]
    >>> [(p.ratio, p.verdict) for p in places(rows, "xyz")]
    [(1.0, 'yes'), (1.5, 'no'), (inf, 'no')]
    """
    made = []
    for instance in dict.fromkeys(row["instance"] for row in rows):
        here = {row["rule"]: row for row in rows if row["instance"] == instance}
        played = [row for row in here.values() if not row["capped"]] or list(here.values())
        least, winners = min(row["mean"] for row in played), _winners(played)
        for rule in rules:
            row = here.get(rule)
            if row is None:
                known = "open" if (rule, instance) in unmade else "no"
                made.append(Place(instance, rule, math.inf, False, math.inf, known))
                continue
            fair = row["mean"] / (_yardstick(winners) if winners else least)
            ratio, near = row["mean"] / least, _near(row, winners)
            if near == "yes" and (ratio > NEAR or any(where == instance for _, where in unmade)):
                near = "open"  # the winner of a half may not be the very best: both must say so
            made.append(Place(instance, rule, ratio, row["capped"] > 0, fair, near))
    return made


def _winners(rows: Sequence[Row]) -> list[tuple[Row, str]]:
    """The rule with the least mean on one half of the runs, and the other half; and the other way
    round. None, if a rule has a single run.

    The least of many noisy means is smaller than the best rule's true one, so it is no yardstick;
    on the runs that did not choose it, the mean of the chosen rule is its own.
    """
    if any(row["mean_odd"] is None for row in rows):
        return []
    return [
        (min(rows, key=lambda row: float(row[chosen])), other)
        for chosen, other in (("mean_even", "mean_odd"), ("mean_odd", "mean_even"))
    ]


def _yardstick(winners: Sequence[tuple[Row, str]]) -> float:
    return float(sum(best[half] for best, half in winners) / len(winners))


def _near(row: Row, winners: Sequence[tuple[Row, str]]) -> str:
    """Whether a mean is at most NEAR times the yardstick, if it is told apart from that by SURE
    standard errors. A half has twice the variance, and the average of both half of that.
    """
    if row["capped"]:
        return "no"
    if not winners:
        return "open"
    far, variance = 0.0, 0.0
    for best, half in winners:
        far += (row[half] - NEAR * best[half]) / 2.0
        if best is row:
            variance += ((1.0 - NEAR) * row["standard_error"]) ** 2 / 2.0
        else:
            errors = (row["standard_error"], NEAR * best["standard_error"])
            variance += math.hypot(*errors) ** 2 / 2.0
    if abs(far) <= SURE * math.sqrt(variance):
        return "open"
    return "yes" if far <= 0.0 else "no"


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
