"""How far every rule is from the best one, instance by instance: a performance profile (Dolan and
More, Mathematical Programming 2002).
"""

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from scipy.special import stdtrit

from ..._display.plotting import OTHERS, STYLES, figure, style

Row = dict[str, Any]
NEAR = 1.1  # within this of the best rule counts as tied with it
FACTORS = (1.0, 1.05, NEAR, 1.25, 1.5, 2.0, 3.0, 5.0)
WIDEST = 5.0  # of the picture
LEVEL = 0.025  # the probability of a wrong "yes", and of a wrong "no", on an instance


class ProfileEntry(NamedTuple):
    """A rule on an instance: its mean over the least mean there, and whether it is near the best:
    "yes", "no", or "open" where the runs cannot tell.
    """

    instance: str
    rule: str
    ratio: float  # infinite where it cannot take part; at least this where runs were capped
    capped: bool
    verdict: str
    against: tuple[str, ...] = ()  # if it is open: the rules that it is not told apart from


def places(
    rows: Sequence[Row],
    rules: Sequence[str],
    unmade: Collection[tuple[str, str]] = (),
) -> list[ProfileEntry]:
    """Every rule on every instance. unmade: rules and instances whose runs have not been made yet.
    What is not known of them is open, and so is whether anybody who looks near the best there is.

    >>> one = {"instance": "a", "runs": 50, "standard_error": 0.1, "capped": 0}
    >>> rows = [{**one, "mean": 10.0, "rule": "x"}, {**one, "mean": 15.0, "rule": "y"}]
    >>> [(p.ratio, p.verdict) for p in places(rows, "xyz")]
    [(1.0, 'yes'), (1.5, 'no'), (inf, 'no')]
    """
    made = []
    for instance in dict.fromkeys(row["instance"] for row in rows):
        here = {row["rule"]: row for row in rows if row["instance"] == instance}
        played = [row for row in here.values() if not row["capped"]] or list(here.values())
        least = min(row["mean"] for row in played)
        missing = any(where == instance for _, where in unmade)
        for rule in rules:
            row = here.get(rule)
            if row is None:
                known = "open" if (rule, instance) in unmade else "no"
                made.append(ProfileEntry(instance, rule, math.inf, False, known))
                continue
            near, against = _near(row, [other for other in played if other is not row])
            if near == "yes" and missing:
                near = "open"
            ratio, capped = row["mean"] / least, row["capped"] > 0
            made.append(ProfileEntry(instance, rule, ratio, capped, near, against))
    return made


def _near(row: Row, others: Sequence[Row]) -> tuple[str, tuple[str, ...]]:
    """Whether a rule's true mean is at most NEAR times that of the best, which is to say of every
    other rule; if that is open, against whom.

    "yes": it is beyond doubt for each of them. Whichever is the best, a wrong "yes" is then wrong
    of that one, and has the probability LEVEL at most, however many there are (an
    intersection-union test: Berger, Technometrics 1982). "no": it is refuted beyond doubt by one of
    them, at LEVEL divided by their number. Means are taken as Student's, with the degrees of the
    line that has fewer runs, and runs of different rules as independent.
    """
    if row["capped"]:
        return "no", ()
    unknown = []
    for other in others:
        if row["standard_error"] is None or other["standard_error"] is None:
            unknown.append(other["rule"])
            continue
        far = row["mean"] - NEAR * other["mean"]
        error = math.hypot(row["standard_error"], NEAR * other["standard_error"])
        degrees = min(row["runs"], other["runs"]) - 1
        if far > stdtrit(degrees, 1.0 - LEVEL / len(others)) * error:
            return "no", ()
        if not far < stdtrit(degrees, LEVEL) * error:
            unknown.append(other["rule"])
    return ("open", tuple(unknown)) if unknown else ("yes", ())


def share(found: Sequence[ProfileEntry], rule: str, factor: float) -> float:
    """The share of instances on which a rule is within a factor of the best one, of those that it
    has been played on or cannot be; 0 if there are none yet.
    """
    own = [one for one in found if one.rule == rule and not unplayed(one)]
    return sum(one.ratio <= factor and not one.capped for one in own) / max(len(own), 1)


def unplayed(one: ProfileEntry) -> bool:
    """Whether its runs are still to be made."""
    return one.ratio == math.inf and one.verdict == "open"


def ranked(found: Sequence[ProfileEntry], rules: Sequence[str]) -> list[str]:
    """The rules, those that are near the best most often first."""
    return sorted(rules, key=lambda rule: [-share(found, rule, one) for one in (NEAR, 1.5, 3.0)])


def picture(found: Sequence[ProfileEntry], rules: Sequence[str], mine: str | None) -> Any:
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
