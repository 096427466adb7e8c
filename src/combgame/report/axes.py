"""Colours that mean one thing in every picture, and numbers on axes as people write them."""

from typing import Any

BEST, RIVAL, OTHER, NEEDED = "#0072b2", "#d55e00", "#808080", "#b22222"
GRID = "#dddddd"


def plain_numbers(axis: Any) -> None:
    """0.52 or 1,200 on an x or y axis; no common factor in a corner."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))

    def said(x: float, _: int) -> str:
        ticks = axis.get_majorticklocs()
        return spoken(x, abs(ticks[1] - ticks[0]) if len(ticks) > 1 else abs(x) or 1.0)

    axis.set_major_formatter(FuncFormatter(said))


def spoken(x: float, step: float) -> str:
    """A number with as many digits as its neighbours, a step away, need.

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
    """Counts on an x or y axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=6, integer=True, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
