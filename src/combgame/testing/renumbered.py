"""Whether rewards are those of the same arms when these get other numbers (`numbered`)."""

import math
from typing import Any

import numpy as np

from ..errors import CombGameError
from ..game.records import Floats, Ints
from ..rewards.base import RewardsBase, licensed, spread_of
from .tally import Tally

D = 4
DRAWN = 20_000  # values of an arm
FAR = 6.0  # standard errors that an average may be off: once in 10^9 checks
CLOSE = 1e-6  # of what a number may be off


def check_numbered(rewards: RewardsBase, low: float, high: float, rng: Any, tally: Tally) -> None:
    """Arm by arm, figures and verbs."""
    order = np.roll(np.arange(D), 1)  # no arm keeps its number
    other = rewards.numbered(order)
    if other is None:
        tally.add("runs keep the given numbers of arms: `numbered` does not say how to change them")
        return
    _check_figures(rewards, other, order)
    least, most = rewards.range(D)
    one, two = rewards.part(least, most), other.part(least[order], most[order])
    for i, arm in enumerate(order.tolist()):
        x, y = rng.uniform(low, high, 2)
        _check_verbs(one, two, arm, i, (float(x), float(y), high, 10.0 ** rng.uniform(-1.0, 2.0)))
        _check_draws(one, two, arm, i, float(x), rng)
    tally.add("an arm under another number (`numbered`), verb by verb and by what is drawn", D)


def _check_figures(rewards: RewardsBase, other: RewardsBase, order: Ints) -> None:
    """What a description says of its arms."""
    (low, high), (lower, higher) = rewards.range(D), other.range(D)
    mine, theirs = _spread(rewards), _spread(other)
    group, moved = rewards.groups(D), other.groups(D)
    for what, a, b, alike in (
        ("range", low, lower, np.array_equal(low[order], lower)),
        ("range", high, higher, np.array_equal(high[order], higher)),
        ("spread", mine, theirs, np.array_equal(mine[order], theirs)),
        ("groups", group, moved, np.array_equal(_pairs(group[order]), _pairs(moved))),
        ("licenses", sorted(licensed(rewards)), sorted(licensed(other)), None),
        ("values", rewards.values(D), other.values(D), None),
    ):
        assert a == b if alike is None else alike, (
            f"{what}() is {a}, but {b} with arm order[i] called i, order = {order.tolist()}: "
            "numbered() moves what is said of single arms with them."
        )


def _pairs(group: Ints) -> Any:
    """Which arms vary alike, whatever the groups are called."""
    return group[:, None] == group


def _spread(rewards: RewardsBase) -> Floats:
    """-1 where there is none, or it is not known."""
    try:
        known = spread_of(rewards, D)
    except CombGameError:
        known = None
    return np.full(D, -1.0) if known is None else known


def _check_verbs(
    one: Any, two: Any, arm: int, i: int, at: tuple[float, float, float, float]
) -> None:
    """The verbs of `arm`, which `two` calls i; at: two means, one above them, and a weight."""
    x, y, high, weight = at
    level = 0.5 * one.divergence(x, 0.5 * (x + high), arm)
    for name, given in (
        ("divergence", (x, y)),
        ("project", (x,)),
        ("upper", (x, level)),
        ("lower", (x, level)),
        ("move", (x, weight, 0.5 * weight * level)),
        ("step", (x, weight, 0.5 * weight * level)),
        ("blur", (weight,)),
    ):
        mine, theirs = getattr(one, name)(*given, arm), getattr(two, name)(*given, i)
        assert np.allclose(mine, theirs, rtol=CLOSE, atol=1e-12), (
            f"{name} of arm {arm} is {mine}, but {theirs} where numbered() calls it {i}, for "
            f"{given}: numbered() moves what is said of single arms with them."
        )


def _check_draws(one: Any, two: Any, arm: int, i: int, mean: float, rng: Any) -> None:
    """What is drawn of an arm varies alike, whatever its number."""
    mine = np.array([one.draw(mean, arm, rng) for _ in range(DRAWN)]) - mean
    theirs = np.array([two.draw(mean, i, rng) for _ in range(DRAWN)]) - mean
    for power, what in ((1, "mean"), (2, "variance")):
        a, b = mine**power, theirs**power
        error = FAR * math.sqrt((float(a.var()) + float(b.var())) / DRAWN)
        assert abs(a.mean() - b.mean()) <= error + 1e-12, (
            f"{DRAWN:,} values of arm {arm} and as many where numbered() calls it {i} do not have "
            f"the same {what}: numbered() moves what is said of single arms with them."
        )
