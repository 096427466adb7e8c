"""Elimination: answers that have once lost to the leader by more than the threshold are no longer considered.

It keeps delta: the proof of Theorem 2 bounds the probability that the correct answer is *ever* beaten by more than beta(t, delta) in a
pairwise comparison, and that is the only way in which it can be discarded. The paper names it as an outlook. A run stops when a
single answer is left: each rival must have been beaten at some time, not all of them at the same time, and nature may only choose among
those that are left.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..game.protocols import Game, Rewards, Threshold
from ..game.records import Floats, Random, Seen, vector
from ..problem import Problem
from ..rewards.base import differ
from ..structures.base import StructureBase
from ..structures.listed import ListedPart, listed_part
from .base import Stopping, single


def discarding(usual: Stopping, problem: Problem, deltas: Sequence[float]) -> Stopping:
    number = problem.answers.size()
    if number is None or number > LIMIT:
        raise InputError(
            f"eliminate=True lists the answers, at most {LIMIT:,}, and {problem.answers} has {number or 'an unknown number of them'}: "
            "drop eliminate, or give the answers with Listed."
        )
    single("eliminate=True needs a single delta, because what is discarded depends on it", deltas)

    def watch(game: Game, level: Threshold, seen: Seen) -> Game:
        left = eliminating(problem.answers, game.rewards, level, seen)
        return game._replace(answers=left, judge=left)  # nature too may only choose among those that are left

    return usual._replace(watch=watch)


LIMIT = 20_000


class EliminatingPart(NamedTuple):
    """A list of answers that watches the run it belongs to: `argmax`, once a round, also discards."""

    listed: ListedPart
    rewards: Rewards
    threshold: Threshold
    seen: Seen

    def argmax(self, score: Floats, out: Floats) -> None:
        this = self.listed
        this.argmax(score, out)
        level = self.threshold.level(self.seen.clock[0], 0)
        for k in range(this.alive.size):
            n = differ(out, this.members[k], this.arms, this.sign)
            if n == 0 or this.alive[k] < 0.5:
                continue
            if self.rewards.distance(self.seen.mean, self.seen.counts, this.arms, this.sign, n, this.trial) > level:
                this.alive[k] = 0.0

    def sample(self, rng: Random, out: Floats) -> None:
        self.listed.sample(rng, out)

    def nearest(self, rewards: Rewards, mean: Floats, weight: Floats, best: Floats, rival: Floats, alternative: Floats) -> float:
        """The nearest of the answers that are left; infinity if there is none."""
        return self.listed.nearest(rewards, mean, weight, best, rival, alternative)


def eliminating(answers: StructureBase, rewards: Rewards, threshold: Threshold, seen: Seen) -> EliminatingPart:
    """The answers of a run that eliminates; they are listed, so there may be at most 20,000."""
    members = np.array([vector(chosen, answers.d) for chosen in answers.sets(LIMIT)])
    return EliminatingPart(listed_part(members), rewards, threshold, seen)
