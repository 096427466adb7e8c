"""Elimination: answers that have once lost to the leader by more than the threshold are no longer considered.

It keeps delta: the proof of Theorem 2 bounds the probability that the correct answer is *ever* beaten by more than beta(t, delta) in a
pairwise comparison, and that is the only way in which it can be discarded. The paper names it as an outlook. A run stops when a
single answer is left: each rival must have been beaten at some time, not all of them at the same time, and nature may only choose among
those that are left.
"""

import math
from typing import NamedTuple

import numpy as np

from ..protocols import Floats, Ints, Random, Rewards, Seen, Threshold
from ..rewards.base import differ
from .base import StructureBase, vector
from .rivals import against

LIMIT = 20_000


class EliminatingPart(NamedTuple):
    """Answers by list. It watches the run it belongs to: `argmax`, once a round, also discards."""

    members: Floats  # float64[n, d]
    alive: Floats  # float64[n]: 1 while it is considered
    rewards: Rewards
    threshold: Threshold
    seen: Seen
    arms: Ints  # scratch
    sign: Floats
    trial: Floats

    def argmax(self, score: Floats, out: Floats) -> None:
        top, value = -1, 0.0
        for k in range(self.members.shape[0]):
            if self.alive[k] > 0.5:
                total = 0.0
                for a in range(score.size):
                    if self.members[k, a] > 0.5:
                        total += score[a]
                if top < 0 or total > value:
                    top, value = k, total
        for a in range(score.size):
            out[a] = self.members[top, a]
        level = self.threshold.level(self.seen.clock[0], 0)
        for k in range(self.members.shape[0]):
            if self.alive[k] > 0.5 and k != top:
                n = differ(out, self.members[k], self.arms, self.sign)
                if self.rewards.distance(self.seen.mean, self.seen.counts, self.arms, self.sign, n, self.trial) > level:
                    self.alive[k] = 0.0

    def sample(self, rng: Random, out: Floats) -> None:
        n = self.members.shape[0]
        k = min(int(rng.random() * n), n - 1)
        for a in range(out.size):
            out[a] = self.members[k, a]

    def nearest(self, rewards: Rewards, mean: Floats, weight: Floats, best: Floats, rival: Floats, alternative: Floats) -> float:
        """The nearest of the answers that are left; infinity if there is none."""
        closest, value = -1, math.inf
        for k in range(self.members.shape[0]):
            if self.alive[k] > 0.5:
                n = differ(best, self.members[k], self.arms, self.sign)
                if n > 0:
                    found = rewards.distance(mean, weight, self.arms, self.sign, n, self.trial)
                    if closest < 0 or found < value:
                        closest, value = k, found
        if closest < 0:
            return math.inf
        for a in range(best.size):
            rival[a] = self.members[closest, a]
        return against(rewards, mean, weight, best, self.arms, self.sign, rival, alternative)


def eliminating(answers: StructureBase, rewards: Rewards, threshold: Threshold, seen: Seen) -> EliminatingPart:
    """The answers of a run that eliminates; they are listed, so there may be at most 20,000."""
    d = answers.d
    members = np.array([vector(chosen, d) for chosen in answers.sets(LIMIT)])
    return EliminatingPart(
        members, np.ones(len(members)), rewards, threshold, seen, np.zeros(d, np.int64), np.zeros(d), np.zeros(d)
    )
