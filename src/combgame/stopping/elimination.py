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
from ..engine.protocols import ProblemKernel, StoppingDefaults, Threshold, kernel
from ..engine.state import Floats, Ints, RoundState, vector
from ..engine.statistics import Statistics
from ..errors import InputError, invalid_argument
from ..problem import Problem
from ..structures.listed import ListedKernel, listed_part
from .base import Stopping

LIMIT = 20_000
PHASE = 1.1  # how much longer a phase ends than the one before


def with_elimination(
    usual: Stopping, problem: Problem, deltas: Sequence[float], phases: bool = False
) -> Stopping:
    """`usual`, with answers discarded for good, in every round or at the ends of phases."""
    number = problem.answers.n_sets()
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
        raise invalid_argument("delta", list(deltas), what)

    def make_kernel(kernel: ProblemKernel, level: Threshold, stats: Statistics) -> ProblemKernel:
        members = np.array([vector(chosen, problem.d) for chosen in problem.answers.to_list(LIMIT)])
        left = listed_part(members)
        return kernel._replace(
            answers=left,
            stopping=EliminationKernel(level, left, PHASE if phases else 1.0, np.zeros(1)),
        )  # nature too may only choose among those that are left

    rests = usual.rests._replace(answers=("sets", *usual.rests.answers[1:]))
    return usual._replace(make_kernel=make_kernel, rests=rests)


@kernel(StoppingDefaults)
class EliminationKernel(NamedTuple):
    """The likelihood ratio against the answers that are left; before it looks for the nearest, it
    discards.
    """

    threshold: Threshold
    listed: ListedKernel  # the answers of the game: `alive` says which are left
    growth: float  # of the phases; 1: every round is one
    due: Floats  # float64[1]: the end of the phase

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        if stats.n_rounds[0] < self.due[0]:
            return 0.0
        self.due[0] = max(self.growth * stats.n_rounds[0], stats.n_rounds[0] + 1.0)
        this, level = self.listed, self.threshold.critical_value(stats.n_rounds[0], 0)
        for k in range(this.alive.size):
            n = differ(state.leader, this.members[k], this.arms, this.sign)
            if n == 0 or this.alive[k] < 0.5:
                continue
            if (
                problem.rewards.transportation_cost(
                    stats.mean, stats.counts, this.arms, this.sign, n, this.trial
                )
                > level
            ):
                this.alive[k] = 0.0
        return self.least_evidence(
            problem, stats, state.leader, state.rival, state.alternative_means
        )

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        return problem.rewards.transportation_cost(
            stats.mean, stats.counts, arms, sign, n, self.listed.trial
        )

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Against the nearest of the answers that are left; infinity if there is none."""
        return self.listed.nearest_alternative(
            problem.rewards, stats.mean, stats.counts, best, rival, alternative
        )

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        this = self.listed
        return against(
            problem.rewards, stats.mean, stats.counts, best, this.arms, this.sign, rival, this.trial
        )
