"""Elimination: answers that have once lost to the leader by more than the threshold are no longer
considered.

It keeps delta: the proof of Theorem 2 bounds the probability that the correct answer is *ever*
beaten by more than beta(t, delta) in a pairwise comparison, and that is the only way in which it
can be discarded. The paper names it as an outlook. A run stops when a single answer is left: each
rival must have been beaten at some time, not all of them at the same time, and nature may only
choose among those that are left.

In phases ("phases"; in the spirit of Fiez et al. 2019, which the paper's outlook names): only at
the ends of phases that grow by PHASE is anything looked at, discarded or stopped, so that between
them a round costs nothing here, and nature's part shrinks with the answers that are left. Fewer
looks can only lower the chance of an error; a run may play on to the end of a phase.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..engine.likelihood_ratio import against, differ
from ..engine.protocols import Game, StoppingDefaults, Threshold, kernel
from ..engine.state import Floats, Ints, View, vector
from ..engine.statistics import Seen
from ..errors import InputError, must_be
from ..problem import Problem
from ..structures.listed import ListedPart, listed_part
from .base import Stopping

LIMIT = 20_000
PHASE = 1.1  # how much longer a phase ends than the one before


def discarding(
    usual: Stopping, problem: Problem, deltas: Sequence[float], phases: bool = False
) -> Stopping:
    """`usual`, with answers discarded for good, in every round or at the ends of phases."""
    number = problem.answers.size()
    if number is None or number > LIMIT:
        raise InputError(
            "too-many-to-eliminate",
            "eliminate=True lists the answers, at most {limit:,}, and {answers} has more, or an "
            "unknown number of them",
            remedy="drop eliminate, or give the answers with Listed",
            limit=LIMIT,
            answers=str(problem.answers),
        )
    if len(deltas) > 1:
        what = "a single one with eliminate=True, because what is discarded depends on it"
        raise must_be("delta", list(deltas), what)

    def watch(game: Game, level: Threshold, seen: Seen) -> Game:
        members = np.array([vector(chosen, problem.d) for chosen in problem.answers.sets(LIMIT)])
        left = listed_part(members)
        return game._replace(
            answers=left, judge=EliminatingPart(level, left, PHASE if phases else 1.0, np.zeros(1))
        )  # nature too may only choose among those that are left

    rests = usual.rests._replace(answers=("sets", *usual.rests.answers[1:]))
    return usual._replace(watch=watch, rests=rests)


@kernel(StoppingDefaults)
class EliminatingPart(NamedTuple):
    """The likelihood ratio against the answers that are left; before it looks for the nearest, it
    discards.
    """

    threshold: Threshold
    listed: ListedPart  # the answers of the game: `alive` says which are left
    growth: float  # of the phases; 1: every round is one
    due: Floats  # float64[1]: the end of the phase

    def look(self, game: Game, seen: Seen, view: View) -> float:
        if seen.clock[0] < self.due[0]:
            return 0.0
        self.due[0] = max(self.growth * seen.clock[0], seen.clock[0] + 1.0)
        this, level = self.listed, self.threshold.level(seen.clock[0], 0)
        for k in range(this.alive.size):
            n = differ(view.best, this.members[k], this.arms, this.sign)
            if n == 0 or this.alive[k] < 0.5:
                continue
            if (
                game.rewards.distance(seen.mean, seen.counts, this.arms, this.sign, n, this.trial)
                > level
            ):
                this.alive[k] = 0.0
        return self.weakest(game, seen, view.best, view.rival, view.alternative)

    def foreseen(self, game: Game, seen: Seen, arms: Ints, sign: Floats, n: int) -> float:
        return game.rewards.distance(seen.mean, seen.counts, arms, sign, n, self.listed.trial)

    def weakest(
        self, game: Game, seen: Seen, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        """Against the nearest of the answers that are left; infinity if there is none."""
        return self.listed.nearest(game.rewards, seen.mean, seen.counts, best, rival, alternative)

    def versus(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        this = self.listed
        return against(
            game.rewards, seen.mean, seen.counts, best, this.arms, this.sign, rival, this.trial
        )
