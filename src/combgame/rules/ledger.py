"""What a learner was offered and what it took: the figures of its regret and of the bounds on it,
kept if asked for.
"""

import math
from typing import NamedTuple

import numpy as np

from ..game.catalogue import Mixture
from ..game.protocols import Structure
from ..game.records import Floats

ROUNDS, TAKEN, LONGEST, WIDEST, SQUARES, TOPS = range(6)  # the places of `figures`


class NoLedger(NamedTuple):
    """In the place of `Ledger`, where nothing is kept."""

    kept: bool

    def book(self, actions: Structure, mixture: Mixture, reward: Floats) -> None:
        pass


class Ledger(NamedTuple):
    kept: bool
    total: (
        Floats  # sum_s r_s: max_A <1_A, total> is what the best action in hindsight would have got
    )
    scaled: Floats  # sum_s r_s / b_s, b_s = max_A <1_A, r_s> - min_A <1_A, r_s>
    # t; sum_s <w~_s, r_s>; max ||r_s||; max b_s; sum b_s^2; sum_s max_A <1_A, r_s> / b_s
    figures: Floats
    score: Floats  # scratch
    vertex: Floats

    def book(self, actions: Structure, mixture: Mixture, reward: Floats) -> None:
        actions.argmax(reward, self.vertex)
        top, low, taken, length = 0.0, 0.0, 0.0, 0.0
        for a in range(reward.size):
            top += self.vertex[a] * reward[a]
            taken += mixture.arms[a] * reward[a]
            length += reward[a] * reward[a]
            self.score[a] = -reward[a]
        actions.argmax(self.score, self.vertex)
        for a in range(reward.size):
            low += self.vertex[a] * reward[a]
        span = top - low
        figures = self.figures
        figures[ROUNDS] += 1.0
        figures[TAKEN] += taken
        figures[LONGEST] = max(figures[LONGEST], math.sqrt(length))
        figures[WIDEST] = max(figures[WIDEST], span)
        figures[SQUARES] += span * span
        # a round in which every action gets the same: no loss
        share = 1.0 / span if span > 0.0 else 0.0
        figures[TOPS] += top * share
        for a in range(reward.size):
            self.total[a] += reward[a]
            self.scaled[a] += reward[a] * share


def make_ledger(d: int, kept: bool) -> Ledger | NoLedger:
    if not kept:
        return NoLedger(False)
    return Ledger(True, np.zeros(d), np.zeros(d), np.zeros(6), np.zeros(d), np.zeros(d))
