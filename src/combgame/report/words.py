"""How numbers are said."""

import math

from ..sentences import Sentence


def count(n: int, what: str) -> str:
    """
    >>> count(1, "round"), count(2000, "value")
    ('1 round', '2,000 values')
    """
    return f"{n:,} {what}{'s' * (n != 1)}"


def figure(x: float | None) -> str:
    """A measured number, with the digits that people read.

    >>> figure(0.123456), figure(12345.6), figure(2.0), figure(1e-12), figure(None)
    ('0.1235', '12,346', '2', '1e-12', '-')
    """
    if x is None or math.isnan(x):
        return "-"
    if math.isinf(x) or 0.0 < abs(x) < 1e-4 or abs(x) >= 1e15:
        return f"{x:.4g}"
    return f"{x:,.0f}" if abs(x) >= 1e4 else f"{x:.4g}"


def weighed(have: float, needed: float, least: int = 0) -> Sentence:
    """How much evidence there is, and how much is needed, with as many digits as tell the two
    apart. least: the values that every arm must have first, where a study waits for that alone.

    >>> print(weighed(1.418, 6.349))
    1.42 of 6.35 needed.
    >>> print(weighed(245.941, 241.832))
    245.9, more than the 241.8 needed.
    >>> print(weighed(8.1842, 8.1839, least=2))
    8.1842, more than the 8.1839 needed, but every arm must have 2 values first.
    """
    digits = 2 if needed < 100.0 else 1
    while digits < 6 and f"{have:.{digits}f}" == f"{needed:.{digits}f}":
        digits += 1
    text = "{have} of {needed} needed"
    if have > needed:
        text = "{have}, more than the {needed} needed"
        if least:
            text += ", but every arm must have {least:count value} first"
    shown = {"have": f"{have:,.{digits}f}", "needed": f"{needed:,.{digits}f}"}
    return Sentence("evidence", text, least=least, **shown)
