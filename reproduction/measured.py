"""Numbers with standard errors, and tests about them."""

import math
import re
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.05  # largest probability that some part of a test is decided wrongly
DIGITS, MOST = re.compile(r"\.(\d+)([f%])"), 9  # digits after the point
STEP = 1e-4  # step of a finite difference, as a share of a standard error


class Estimate(NamedTuple):
    """A number and its standard error.

    It is formatted with its error, and with more digits if rounding would change the error by more
    than a quarter.

    >>> f"{Estimate(1.234, 0.056):.2f}", f"{Estimate(2.0, 0.0):.1f}", f"{Estimate(7.84, 0.2):,.0f}"
    ('1.23 ± 0.06', '2.0', '7.8 ± 0.2')
    >>> f"{Estimate(38.3, 0.508):.0f}", f"{Estimate(3.0, 0.3):+.0f}", f"{Estimate(3.0, 1e-15):.1f}"
    ('38.3 ± 0.5', '+3.0 ± 0.3', '3.0')
    """

    value: float
    error: float

    def __format__(self, form: str) -> str:
        found = DIGITS.search(form)
        if not self.error > 0.0:
            return format(self.value, form)
        if found is None:
            return f"{format(self.value, form)} ± {format(self.error, form)}"
        shown = self.error * (100.0 if found[2] == "%" else 1.0)
        for digits in range(int(found[1]), MOST):
            if abs(round(shown, digits) - shown) <= 0.25 * shown:
                new = form[: found.start(1)] + str(digits) + form[found.end(1) :]
                return f"{format(self.value, new)} ± {format(self.error, new.replace('+', ''))}"
        return format(self.value, form)  # the error is below the last digit


def propagated(
    function: Callable[[Sequence[float]], float], numbers: Sequence[Estimate]
) -> Estimate:
    """Propagate the errors of independent numbers through a function, to first order.

    >>> ratio = propagated(lambda x: x[0] / x[1], [Estimate(2.0, 0.2), Estimate(1.0, 0.1)])
    >>> round(ratio.value, 6), round(ratio.error, 4)
    (2.0, 0.2828)
    """
    at = [number.value for number in numbers]
    total = 0.0
    for i, number in enumerate(numbers):
        if number.error > 0.0:
            low, high = list(at), list(at)
            low[i] -= STEP * number.error
            high[i] += STEP * number.error
            total += ((function(high) - function(low)) / (2.0 * STEP)) ** 2
    return Estimate(float(function(at)), math.sqrt(total))


def ratio(one: Estimate, other: Estimate) -> Estimate:
    """Return the ratio of two independent numbers."""
    return propagated(lambda x: x[0] / x[1], (one, other))


def inside(number: Estimate | float, low: float, high: float, tests: int = 1) -> bool | None:
    """Test whether a number lies between two ends; None if its error is too large to decide.

    `tests` is the number of such tests that are made together, at LEVEL in all.

    >>> inside(Estimate(1.0, 0.1), 0.0, 2.0), inside(Estimate(1.9, 0.1), 0.0, 2.0), inside(3, 0, 2)
    (True, None, False)
    """
    value, error = number if isinstance(number, Estimate) else (float(number), 0.0)
    reach = NormalDist().inv_cdf(1.0 - LEVEL / (2.0 * tests)) * error
    if low <= value - reach and value + reach <= high:
        return True
    return False if value + reach < low or high < value - reach else None
