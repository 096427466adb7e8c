"""An estimate with its interval as a small picture beside its name, on a scale that all rows of a
table share.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

WIDE, TALL = 200.0, 18.0


class Scale(NamedTuple):
    """What the left and the right edge of the small pictures stand for."""

    low: float
    high: float

    def at(self, x: float) -> float:
        """Where a value lies, from 0 to the width; outside it, at the edge."""
        share = (x - self.low) / (self.high - self.low)
        return round(4.0 + (WIDE - 8.0) * min(max(share, 0.0), 1.0), 1)


def scale(arms: Sequence[dict[str, Any]]) -> Scale:
    """From the least mean to the largest, and as far beyond as the middle intervals reach: one
    that is not known yet does not flatten the rest.

    >>> scale([{"n": 1, "mean": 0.0, "low": -1.0, "high": 1.0}, {"n": 0, "mean": None}])
    Scale(low=-1.0, high=1.0)
    """
    known = [one for one in arms if one["n"]]
    if not known:
        return Scale(0.0, 1.0)
    means = [one["mean"] for one in known]
    widths = sorted(
        max(one["mean"] - one["low"], one["high"] - one["mean"])
        for one in known
        if one["low"] is not None and one["high"] is not None
    )
    beyond = widths[len(widths) // 2] if widths else 0.0
    low, high = min(means) - beyond, max(means) + beyond
    return Scale(low, high) if high > low else Scale(low - 1.0, high + 1.0)


def interval(one: dict[str, Any], on: Scale) -> str:
    """An <svg> element for the row of an arm. The numbers stand beside it, so it is hidden from
    those who have them read out.
    """
    if not one["n"]:
        return ""
    role = "best" if one["leads"] else "rival" if one.get("rival") else "other"
    colour = f"var(--{role})"
    ends = [one["mean"] if one[key] is None else one[key] for key in ("low", "high")]
    left, middle, right = on.at(ends[0]), on.at(one["mean"]), on.at(ends[1])
    marks = [
        f'<line x1="{left}" y1="9" x2="{right}" y2="9" stroke="{colour}" stroke-width="2"/>',
        *(
            f'<line x1="{x}" y1="5" x2="{x}" y2="13" stroke="{colour}" stroke-width="2"/>'
            for x, end in ((left, ends[0]), (right, ends[1]))
            if on.low <= end <= on.high
        ),
    ]
    if one["leads"]:
        marks.append(
            f'<rect x="{middle - 5:.1f}" y="4" width="10" height="10" fill="{colour}" '
            f'transform="rotate(45 {middle} 9)"/>'
        )
    else:
        marks.append(f'<circle cx="{middle}" cy="9" r="4.5" fill="{colour}"/>')
    return (
        f'<svg class="bar" aria-hidden="true" width="{WIDE:g}" height="{TALL:g}" '
        f'viewBox="0 0 {WIDE:g} {TALL:g}">' + "".join(marks) + "</svg>"
    )
