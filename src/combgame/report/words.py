"""How numbers are said."""

import math


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
