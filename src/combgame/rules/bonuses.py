"""Exploration bonuses f(t)."""

import math
from typing import NamedTuple

from ..engine.numerics import lambert_bar
from ..engine.protocols import ExplorationBonus
from ..errors import check_positive, invalid_argument, unknown_name


class StylisedBonus(NamedTuple):
    """f(t) = ln t, as in the paper's experiments; its theorems do not cover it."""

    scale: float

    def bonus_at(self, t: int) -> float:
        """Return the scaled logarithm of t."""
        return self.scale * math.log(max(t, 1))


class TheoryBonus(NamedTuple):
    """f(t) = W-bar((1 + c)(1 + b) ln t), as in the paper's Theorem 3.

    It goes back to Degenne, Koolen and Ménard (2019).
    """

    b: float
    c: float

    def bonus_at(self, t: int) -> float:
        """Return the bonus of Theorem 3."""
        return lambert_bar((1.0 + self.c) * (1.0 + self.b) * math.log(max(t, 1)))

    def __repr__(self) -> str:
        return f"theory_bonus(b={self.b!r}, c={self.c!r})"


def theory_bonus(b: float = 1.0, c: float = 1.0) -> TheoryBonus:
    """Return the bonus under which Theorem 3 of the paper holds.

    Parameters
    ----------
    b, c : float, default=1
        Parameters of the bonus, positive.

    Returns
    -------
    TheoryBonus
        The bonus.

    Examples
    --------
    >>> round(theory_bonus(b=1.0, c=0.5).bonus_at(1000), 4)
    23.897
    """
    return TheoryBonus(
        float(check_positive("b", b, of="theory_bonus")),
        float(check_positive("c", c, of="theory_bonus")),
    )


def make_bonus(bonus: str | ExplorationBonus) -> ExplorationBonus:
    """Return the bonus of a name; a bonus is returned as it is."""
    if not isinstance(bonus, str):
        if isinstance(bonus, type) or not hasattr(bonus, "bonus_at"):
            raise invalid_argument(
                "bonus", bonus, "'stylised', 'theory', or a kernel with the method bonus_at(t)"
            )
        return bonus
    if bonus == "stylised":
        return StylisedBonus(1.0)
    if bonus == "theory":
        return theory_bonus()
    raise unknown_name("bonus", bonus, ("stylised", "theory", "theory_bonus(b, c)"))
