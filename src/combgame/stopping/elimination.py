"""Elimination: answers that have once lost to the leader by more than the threshold are discarded.

Elimination keeps the error probability at most delta: the proof of the paper's Theorem 2 bounds the
probability that the correct answer is *ever* beaten by more than beta(t, delta) in a pairwise
comparison, which is the only way in which it can be discarded. The paper mentions elimination in
its outlook. A run stops when a single answer is left: each rival must have been beaten at some
time, not all of them at the same time, and nature may only choose among the answers that are left.

With phases ("phases", in the spirit of Fiez et al. 2019, whom the paper's outlook cites), answers
are evaluated and discarded, and runs stop, only at the ends of phases that grow by the factor
PHASE. Between them a round costs nothing here, and the set of nature's choices shrinks with the
answers that are left. Fewer evaluations can only lower the probability of an error; a run may
continue until the end of a phase.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..engine.kernels import StoppingDefaults, kernel
from ..engine.likelihood_ratio import against, differ
from ..engine.protocols import ProblemKernel, Threshold
from ..engine.state import Floats, Ints, RoundState, vector
from ..engine.statistics import Statistics
from ..errors import InputError, invalid_argument
from ..problem import Problem
from ..structures.listed import ListedKernel, listed_part
from .base import Stopping

LIMIT = 20_000  # largest number of answers
PHASE = 1.1  # ratio of the ends of successive phases


def with_elimination(
    usual: Stopping, problem: Problem, deltas: Sequence[float], phases: bool = False
) -> Stopping:
    """Return the rule `usual` with elimination, in every round or at the ends of phases."""
    number = problem.answers.n_sets()
    if number is None or number > LIMIT:
        raise InputError(
            "too-many-to-eliminate",
            "elimination='always' lists the answers, at most {limit:,}, and {answers} has more, or "
            "an unknown number of them",
            remedy="drop elimination, or give the answers with Listed",
            limit=LIMIT,
            answers=str(problem.answers),
        )
    if len(deltas) > 1:
        what = "a single one with elimination='always', because what is discarded depends on it"
        raise invalid_argument("delta", list(deltas), what)

    def make_kernel(kernel: ProblemKernel, level: Threshold, stats: Statistics) -> ProblemKernel:
        members = np.array([vector(chosen, problem.d) for chosen in problem.answers.to_list(LIMIT)])
        left = listed_part(members)
        return kernel._replace(
            answers=left,
            stopping=EliminationKernel(level, left, PHASE if phases else 1.0, np.zeros(1)),
        )  # nature, too, may only choose among the answers that are left

    rests = usual.rests._replace(answers=("to_list", *usual.rests.answers[1:]))
    return usual._replace(make_kernel=make_kernel, rests=rests)


@kernel(StoppingDefaults)
class EliminationKernel(NamedTuple):
    """The likelihood ratio against the answers that are left.

    Answers are discarded before the nearest rival is sought.
    """

    threshold: Threshold
    listed: ListedKernel  # the answers; `alive` marks those that are left
    growth: float  # ratio of the ends of successive phases; 1 if every round is a phase
    due: Floats  # float64[1]: end of the phase

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Discard answers, then return the evidence; see `StoppingKernel.evaluate`."""
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
        """Return the likelihood ratio against a rival."""
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
        """Return the evidence against the nearest of the answers that are left.

        It is infinite if no other answer is left.
        """
        return self.listed.nearest_alternative(
            problem.rewards, stats.mean, stats.counts, best, rival, alternative
        )

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the likelihood ratio against a given rival."""
        this = self.listed
        return against(
            problem.rewards, stats.mean, stats.counts, best, this.arms, this.sign, rival, this.trial
        )
