"""Performance profile: the ratio of every rule to the best rule, instance by instance.

Dolan and More, *Benchmarking optimization software with performance profiles*, Mathematical
Programming 2002.
"""

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from scipy.special import stdtrit

from ..._display.plotting import OTHERS, STYLES, figure, style

Row = dict[str, Any]
NEAR = 1.1  # a rule within this factor of the best one counts as tied with it
FACTORS = (1.0, 1.05, NEAR, 1.25, 1.5, 2.0, 3.0, 5.0)
WIDEST = 5.0  # largest factor in the picture
LEVEL = 0.025  # probability of a wrong "yes", and of a wrong "no", on an instance


class ProfileEntry(NamedTuple):
    """The result of a rule on an instance.

    Attributes
    ----------
    instance, rule : str
        Their names.
    ratio : float
        Mean number of rounds over the least mean on the instance: infinite if the rule cannot be
        played there, a lower bound if runs were truncated.
    capped : bool
        True if runs were truncated.
    verdict : {"yes", "no", "open"}
        Verdict on being near the best rule; open if the runs cannot tell.
    against : tuple of str
        If the verdict is open, the rules from which this one cannot be distinguished.
    """

    instance: str
    rule: str
    ratio: float
    capped: bool
    verdict: str
    against: tuple[str, ...] = ()


def places(
    rows: Sequence[Row],
    rules: Sequence[str],
    unmade: Collection[tuple[str, str]] = (),
) -> list[ProfileEntry]:
    """Return the result of every rule on every instance.

    Pairs of a rule and an instance in `unmade` have no runs yet. Their verdicts are open, and so
    are those of rules that seem near the best one on such an instance.

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
    """Test whether a rule's true mean is at most NEAR times that of every other rule.

    Returns the verdict and, if it is open, the rules for which it is.

    The verdict is "yes" if this is significant for each of the other rules. Whichever of them is
    the best, a wrong "yes" is then wrong for that one, and its probability is at most LEVEL,
    however many rules there are (an intersection-union test: Berger, Technometrics 1982). The
    verdict is "no" if one of the other rules refutes it at LEVEL divided by their number. Means are
    treated as Student's t, with the degrees of freedom of the rule that has fewer runs, and runs of
    different rules as independent.
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
    """Return the share of instances on which a rule is within a factor of the best one.

    Instances whose runs are still to be made do not count; the share is 0 if no others exist.
    """
    own = [one for one in found if one.rule == rule and not unplayed(one)]
    return sum(one.ratio <= factor and not one.capped for one in own) / max(len(own), 1)


def unplayed(one: ProfileEntry) -> bool:
    """Return True if the runs of a result are still to be made."""
    return one.ratio == math.inf and one.verdict == "open"


def ranked(found: Sequence[ProfileEntry], rules: Sequence[str]) -> list[str]:
    """Sort the rules by how often they are near the best one, most often first."""
    return sorted(rules, key=lambda rule: [-share(found, rule, one) for one in (NEAR, 1.5, 3.0)])


def picture(found: Sequence[ProfileEntry], rules: Sequence[str], mine: str | None) -> Any:
    """Draw the share of instances against the factor, one step line per rule."""
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
