"""The one scale on which evidence is shown to people.

A judge compares evidence less fees with ln(M/delta), each in its own way. What is shown has the
likelihood ratio against the rival on the left, never negative, and all that is asked of it on the
right: have > needed exactly where evidence > level.
"""

import math
from typing import NamedTuple

import numpy as np

from ..game.callback import own_errors
from ..game.protocols import Game
from ..game.records import Floats, Seen
from ..game.rivals import against


class Shown(NamedTuple):
    """The likelihood ratio (its logarithm), and what it must exceed."""

    have: float
    needed: float


def shown(
    game: Game, seen: Seen, best: Floats, rival: Floats, evidence: float, level: float
) -> Shown:
    """What a judge's evidence against a rival and its level are on this scale.

    Where the ratio is less than the evidence (it is taken at the spreads that were seen, where they
    are not stated), the evidence stands for it; so `needed` is never below the level.
    """
    if evidence == math.inf or level == math.inf:  # no rival, or a rule that never stops
        return Shown(float(max(evidence, 0.0)), float(level))
    d = best.size
    with own_errors():
        ratio = against(
            game.rewards,
            seen.mean,
            seen.counts,
            best,
            np.zeros(d, np.int64),
            np.zeros(d),
            rival,
            np.zeros(d),
        )
    if evidence == -math.inf:  # an arm has no value, or the rival leads
        return Shown(float(max(ratio, 0.0)), float(max(ratio, 0.0) + level))
    have = float(max(ratio if ratio < math.inf else 0.0, evidence, 0.0))
    return Shown(have, float(have - (evidence - level)))
