"""CSAR, Algorithm 2 of Chen et al. (2014): a fixed budget of T values.

There are as many phases as arms, n. At the end of phase t every undecided arm has T_t = ceil((T -
n) / ((1 + 1/2 + ... + 1/n) (n - t + 1))) values; then one arm is decided. It is the arm for which
the best set among those that agree with the decisions so far has the largest lead over the best of
those that disagree in this arm. The arm is accepted if it is in the former set, and rejected
otherwise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from .._messages import Message
from ..engine.kernels import FixedSizeDefaults, StoppingDefaults, kernel
from ..engine.likelihood_ratio import ConstantThreshold
from ..engine.protocols import ProblemKernel, Threshold
from ..engine.state import Floats, Ints, Random, RoundState, vector
from ..engine.statistics import Statistics
from ..errors import InputError, check_int
from ..stopping.base import ProblemLike, Stopping, Validity
from ._exploration import padded, start_sets
from .base import FixedBoundRule, RuleBase

TINY = 1e-9


@kernel(FixedSizeDefaults)
class CSARKernel(NamedTuple):
    """Kernel of `CSAR`."""

    budget: float  # T
    arms: float  # n
    sum_of: float  # 1 + 1/2 + ... + 1/n
    visible: Floats  # 1 for arms that some action observes
    decided: Floats  # float64[d]: 1 accepted, -1 rejected, 0 neither
    phase: Ints  # int64[1]: 0, 1, ..., n
    score: Floats
    best: Floats
    trial: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play arms that lack values in this phase; decide an arm if none does."""
        while self.phase[0] < self.arms:
            wanted = self.support(self.phase[0] + 1)
            lacking = False
            for a in range(self.score.size):
                count = max(stats.counts[a], 0.5)
                self.score[a] = TINY / (count * count)
                if self.open(a) and stats.counts[a] < wanted:
                    self.score[a] += wanted - stats.counts[a]
                    lacking = True
            if lacking:
                problem.actions.argmax(self.score, state.action)
                return
            self.decide(problem, stats)
            self.phase[0] += 1
        for a in range(self.score.size):
            count = max(stats.counts[a], 0.5)
            self.score[a] = 1.0 / (count * count)
        problem.actions.argmax(self.score, state.action)

    def support(self, t: int) -> float:
        """Return T_t."""
        return math.ceil((self.budget - self.arms) / (self.sum_of * (self.arms - t + 1.0)))

    def open(self, a: int) -> bool:
        """Return whether an arm is observed and undecided."""
        return bool(self.visible[a] > 0.5 and self.decided[a] == 0.0)

    def decide(self, problem: ProblemKernel, stats: Statistics) -> None:
        """Decide the arm for which a wrong decision would cost most."""
        self.agreeing(problem, stats, -1, 0.0, self.best)
        top = 0.0
        for a in range(self.best.size):
            top += self.best[a] * stats.mean[a]
        chosen, most = -1, -1.0
        for a in range(self.best.size):
            if not self.open(a):
                continue
            gap = math.inf  # no set disagrees
            if self.agreeing(problem, stats, a, -1.0 if self.best[a] > 0.5 else 1.0, self.trial):
                gap = top
                for b in range(self.trial.size):
                    gap -= self.trial[b] * stats.mean[b]
                gap = max(gap, 0.0)
            if gap > most:
                chosen, most = a, gap
        if chosen >= 0:
            self.decided[chosen] = 1.0 if self.best[chosen] > 0.5 else -1.0

    def agreeing(
        self, problem: ProblemKernel, stats: Statistics, arm: int, way: float, out: Floats
    ) -> bool:
        """Write the best set that agrees with the decisions and has, or lacks, an arm.

        `way` is 1 if the set must contain the arm, and -1 if it must lack it. Return whether there
        is such a set.
        """
        force = 1.0
        for a in range(self.score.size):
            force += 2.0 * abs(stats.mean[a])
        for a in range(self.score.size):
            forced = way if a == arm else self.decided[a]
            self.score[a] = stats.mean[a] + forced * force
        problem.answers.argmax(self.score, out)
        found = True
        for a in range(self.score.size):
            forced = way if a == arm else self.decided[a]
            if (forced > 0.0 and out[a] < 0.5) or (forced < 0.0 and out[a] > 0.5):
                found = False
        return found


@kernel(StoppingDefaults)
class SpentKernel(NamedTuple):
    """A stopping rule that stops when the budget is spent; no error probability is known."""

    threshold: Threshold
    budget: int

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Return 0 before the budget is spent, and infinity afterwards."""
        self.least_evidence(problem, stats, state.leader, state.rival, state.alternative_means)
        return math.inf if stats.n_rounds[0] >= self.budget else 0.0

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Return the distance of the nearest alternative."""
        return problem.answers.nearest_alternative(
            problem.rewards, stats.mean, stats.counts, best, rival, alternative
        )

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True, eq=False, repr=False)
class CSAR(RuleBase):
    """Successive accepts and rejects [1]_ within a budget of values.

    If plays are sets, the rest of the budget in rounds goes to the arms with fewest values. The
    threshold "csar" ends a run with the leader after `budget` rounds; nothing is proved about it.

    Parameters
    ----------
    budget : int, default=1000
        Number of values.

    References
    ----------
    .. [1] Chen, Lin, King, Lyu and Chen. *Combinatorial Pure Exploration of Multi-Armed Bandits*.
       NIPS 2014.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(4), None, cg.Gaussian(0.1))
    >>> how = {"threshold": "csar", "runs": 3, "engine": "python"}
    >>> sim = cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=CSAR(60), **how)
    >>> sim.answers, sim.rounds.tolist()
    ([(0,), (0,), (0,)], [60, 60, 60])
    """

    symmetric: ClassVar[bool] = True
    budget: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("budget", self.budget, 1, of="CSAR")

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        """Return the rule bound to a problem."""
        d, seen_arms = problem.actions.d, problem.actions.observable_arms()
        n = len(seen_arms)
        if self.budget < 2 * n:
            raise InputError(
                "budget-too-small",
                "CSAR: a budget of {budget} values is not enough for {arms:count arm}",
                remedy="give it two values an arm at least",
                budget=self.budget,
                arms=n,
            )
        kernel = CSARKernel(
            float(self.budget),
            float(n),
            sum(1.0 / i for i in range(1, n + 1)),
            vector(seen_arms, d),
            np.zeros(d),
            np.zeros(1, np.int64),
            *np.zeros((3, d)),
        )
        return FixedBoundRule(kernel, padded(start_sets("covering", problem.actions, None)))

    def stopping(self, problem: ProblemLike, deltas: Sequence[float]) -> Stopping | None:
        """Return the stopping rule that stops when the budget is spent."""
        if not problem.rewards.variance_known:
            return None

        def watch(kernel: ProblemKernel, threshold: Threshold, stats: Statistics) -> ProblemKernel:
            return kernel._replace(stopping=SpentKernel(threshold, self.budget))

        why = Message("fixed-budget", "a fixed budget: nothing bounds the chance of an error")
        return Stopping(
            "csar", ConstantThreshold(1.0), watch, Validity(False, why), likelihood=False
        )
