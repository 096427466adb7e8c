"""The exploration bonus f(t)."""

import math
from typing import NamedTuple

from ._marks import jitable
from .errors import InputError, UnknownNameError
from .protocols import Bonus


@jitable
def lambert_bar(x: float) -> float:
    """W-bar(x) = -W_{-1}(-e^{-x}), the y >= 1 with y - ln y = x, for x >= 1 (and 1 below).

    >>> round(lambert_bar(5.0), 6)
    6.936847
    """
    if x <= 1.0:
        return 1.0
    y = x + math.log(x) + (math.sqrt(2.0 * (x - 1.0)) if x < 2.0 else 0.5)  # to the right of the root
    for _ in range(100):
        new = y * (x - 1.0 + math.log(y)) / (y - 1.0)  # Newton on y - ln y: convex, so it falls to the root
        if new <= 1.0 or new >= y:
            break
        y = new
    return y


class StylisedBonus(NamedTuple):
    """f(t) = ln t, as in the paper's experiments: not licensed by its theorems."""

    scale: float

    def explore(self, t: int) -> float:
        return self.scale * math.log(max(t, 1))


class TheoryBonus(NamedTuple):
    """f(t) = W-bar((1 + c)(1 + b) ln t), as in the paper's Theorem 3 (after Degenne, Koolen, Menard 2019)."""

    factor: float

    def explore(self, t: int) -> float:
        return lambert_bar(self.factor * math.log(max(t, 1)))


def theory_bonus(b: float = 1.0, c: float = 1.0) -> TheoryBonus:
    """The bonus under which Theorem 3 holds, for any b > 0 and c > 0.

    >>> round(theory_bonus(b=1.0, c=0.5).explore(1000), 4)
    23.897
    """
    if not all(isinstance(x, int | float) and x > 0 and math.isfinite(x) for x in (b, c)):
        raise InputError(f"theory bonus: b = {b!r} and c = {c!r} must be positive and finite.")
    return TheoryBonus((1.0 + c) * (1.0 + b))


def make_bonus(bonus: str | Bonus) -> Bonus:
    if not isinstance(bonus, str):
        if isinstance(bonus, type) or not hasattr(bonus, "explore"):
            raise InputError(f"bonus = {bonus!r} must be 'stylised', 'theory', or a part with the verb explore(t).")
        return bonus
    if bonus == "stylised":
        return StylisedBonus(1.0)
    if bonus == "theory":
        return theory_bonus()
    raise UnknownNameError(f"bonus = {bonus!r} is not known; use 'stylised', 'theory' or theory_bonus(b, c).")
