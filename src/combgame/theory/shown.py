"""The one scale on which evidence is shown to people.

A judge compares evidence less fees with ln(M/delta), each in its own way. What is shown has the
likelihood ratio against the rival on the left, never negative, and all that is asked of it on the
right: have > needed exactly where evidence > level.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..game.callback import own_errors
from ..game.protocols import Game
from ..game.records import Floats, Seen
from ..game.rivals import against
from ..rewards.gaussian import GaussianPart


class Shown(NamedTuple):
    """The likelihood ratio (its logarithm), and what it must exceed."""

    have: float
    needed: float


def shown(
    game: Game, seen: Seen, best: Floats, rival: Floats, evidence: float, level: float
) -> Shown:
    """What a judge's evidence against a rival and its level are on this scale.

    Where the ratio is less than the evidence (spreads that are not stated are estimated), the
    evidence stands for it; so `needed` is never below the level.
    """
    if evidence == math.inf or level == math.inf:  # no rival, or a rule that never stops
        return Shown(float(max(evidence, 0.0)), float(level))
    d, nearest = best.size, np.zeros(best.size)
    with own_errors():
        ratio = against(
            game.rewards,
            seen.mean,
            seen.counts,
            best,
            np.zeros(d, np.int64),
            np.zeros(d),
            rival,
            nearest,
        )
    if isinstance(game.rewards, GaussianPart) and not game.rewards.spreads.known:
        ratio = _estimated(game.rewards, seen, nearest)
    if evidence == -math.inf:  # an arm has no value, or the rival leads
        return Shown(float(max(ratio, 0.0)), float(max(ratio, 0.0) + level))
    have = float(max(ratio if ratio < math.inf else 0.0, evidence, 0.0))
    return Shown(have, float(have - (evidence - level)))


def restricted(ratio: float, degrees: float) -> float:
    """The likelihood ratio where sigma is estimated, with so many degrees of freedom: few of them
    make any ratio at the estimate look large.

    >>> round(restricted(245.9, 2), 2), round(restricted(245.9, 10**6), 1), restricted(3.0, 0)
    (5.51, 245.8, 0.0)
    """
    return 0.5 * degrees * math.log1p(2.0 * ratio / degrees) if degrees > 0.0 else 0.0


def _estimated(rewards: GaussianPart, seen: Seen, nearest: Floats) -> float:
    """The same against the means at which a rival is as good, for every sigma that is estimated."""
    spreads: Any = rewards.spreads
    alone = spreads.lean < math.inf
    ratio, degrees = np.zeros((2, nearest.size))
    for a, n in enumerate(seen.counts):
        group = a if alone else spreads.group[a]
        degrees[group] += max(n - 1.0, 0.0)
        if n > 0.0:
            ratio[group] += n * rewards.divergence(float(seen.mean[a]), float(nearest[a]), a)
    return sum(restricted(float(x), float(f)) for x, f in zip(ratio, degrees, strict=True))
