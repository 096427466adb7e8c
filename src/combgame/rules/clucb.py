"""CLUCB, Algorithm 1 of Chen et al. (2014): as a sampling rule, and with its own stopping rule.

After t rounds arm a has the radius rad_a = sigma_a sqrt(2 ln(4 n t^3 / delta) / N_a), where n is
the number of arms. M is the best answer at the estimates, and M~ the best answer if the arms of M
are taken at their lower bounds and the others at their upper bounds. If M~ = M, CLUCB stops;
otherwise the arm of M xor M~ with the largest radius is played.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from .._messages import Message
from ..engine.kernels import FixedSizeDefaults, StoppingDefaults, kernel
from ..engine.likelihood_ratio import alike
from ..engine.protocols import ProblemKernel, Threshold
from ..engine.state import Floats, Random, RoundState
from ..engine.statistics import Statistics
from ..errors import InputError, invalid_argument, is_real
from ..rewards import Assumption
from ..stopping.base import ProblemLike, ProofRequirements, Stopping, validity_from_assumptions
from ._exploration import padded, start_sets
from .base import UNSAID, FixedBoundRule, RuleBase

# score, relative to the largest radius, by which room in an action that M xor M~ leaves goes to the
# arms with fewest values
TINY = 1e-9


@kernel(FixedSizeDefaults)
class CLUCBKernel(NamedTuple):
    """Kernel of `CLUCB`."""

    base: float  # ln(4 n / delta)
    sigma: Floats  # float64[d]
    trial: Floats  # M~
    radius: Floats  # rad, up to a common factor
    score: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play the arm of M xor M~ with the largest radius."""
        level = self.base + 3.0 * math.log(max(stats.n_rounds[0], 1))
        for a in range(self.score.size):
            count = max(stats.counts[a], 0.5)  # 0.5 for an arm whose values are missing
            self.radius[a] = self.sigma[a] * math.sqrt(2.0 * level / count)
            sign = -1.0 if state.leader[a] > 0.5 else 1.0
            self.score[a] = stats.mean[a] + sign * self.radius[a]
        problem.answers.argmax(self.score, self.trial)
        if alike(self.trial, state.leader):  # CLUCB would have stopped; take the rival
            for a in range(self.trial.size):
                self.trial[a] = state.rival[a]
        widest, most, total = -1, 0.0, 0.0
        for a in range(self.score.size):
            if self.trial[a] != state.leader[a] and self.radius[a] > most:
                widest, most = a, self.radius[a]
        for a in range(self.score.size):  # in units of the largest radius, whatever sigma is
            count = max(stats.counts[a], 0.5)
            self.score[a] = TINY / (count * count)
            if widest >= 0 and self.trial[a] != state.leader[a]:
                self.score[a] += self.radius[a] / most
            total += self.score[a]
        if widest >= 0:
            self.score[widest] += 2.0 * total + 1.0
        problem.actions.argmax(self.score, state.action)


class RadiiKernel(NamedTuple):
    """Threshold ln(4 n t^3 / delta): half the square of a radius in units of sigma / sqrt(N)."""

    arms: float  # n
    delta: Floats

    def critical_value(self, t: int, index: int) -> float:
        """Return the threshold after t rounds."""
        return math.log(4.0 * self.arms / self.delta[index]) + 3.0 * math.log(max(t, 1))


@kernel(StoppingDefaults)
class OverlapKernel(NamedTuple):
    """Stopping rule of CLUCB: the evidence for M is the largest threshold at which M~ is still M.

    Notes
    -----
    This is the smallest r^2 over rivals J, where r is the lead over J divided by the sum over M xor
    J of sigma_a sqrt(2 / N_a). One oracle call decides whether r is below the least threshold,
    which mostly suffices; otherwise the least r is found by Dinkelbach's method.
    """

    threshold: Threshold
    deltas: int
    sigma: Floats
    score: Floats
    trial: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Return the evidence for the leader, exactly if it could stop the run."""
        least, t = math.inf, stats.n_rounds[0]
        for a in range(state.leader.size):
            state.alternative_means[a] = stats.mean[a]
            state.rival[a] = state.leader[a]
            if self.sigma[a] > 0.0 and stats.counts[a] < 0.5:
                return 0.0
        for index in range(self.deltas):
            least = min(least, self.threshold.critical_value(t, index))
        r = self.meet(problem, stats, state.leader, state.rival, math.sqrt(least))
        if r >= 0.0:
            return r * r
        return self.least_evidence(
            problem, stats, state.leader, state.rival, state.alternative_means
        )

    def meet(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats, r: float
    ) -> float:
        """Write M~ at radii of r and return its own r, or return -1 if M~ = M."""
        for a in range(best.size):
            wide = r * self.sigma[a] * math.sqrt(2.0 / max(stats.counts[a], 0.5))
            self.score[a] = stats.mean[a] + (-wide if best[a] > 0.5 else wide)
        problem.answers.argmax(self.score, self.trial)
        own = self.overlap(stats, best, self.trial)
        if own >= 0.0:
            for a in range(best.size):
                rival[a] = self.trial[a]
        return own

    def overlap(self, stats: Statistics, best: Floats, rival: Floats) -> float:
        """Return the r of two answers.

        Return -1 if they are equal, or if the arms in which they differ are known exactly.
        """
        lead, wide = 0.0, 0.0
        for a in range(best.size):
            if rival[a] != best[a]:
                lead += (best[a] - rival[a]) * stats.mean[a]
                wide += self.sigma[a] * math.sqrt(2.0 / max(stats.counts[a], 0.5))
        return float(max(lead, 0.0) / wide) if wide > 0.0 else -1.0

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Return the smallest r^2, by Dinkelbach's method."""
        r, found = 1.0, -1.0
        while found < 0.0 and r < 1e12:
            r *= 2.0
            found = self.meet(problem, stats, best, rival, r)
        if found < 0.0:
            return math.inf
        while 0.0 <= found < r:
            r = found
            found = self.meet(problem, stats, best, rival, r)
        return r * r

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return r^2 of the rival."""
        r = max(self.overlap(stats, best, rival), 0.0)
        return r * r


@dataclass(frozen=True, eq=False, repr=False)
class CLUCB(RuleBase):
    """CLUCB [1]_ with its own stopping rule, which is used for the threshold "proved".

    Parameters
    ----------
    delta : float, optional
        delta in the radii of the sampling rule. Defaults to the (smallest) delta of the run, which
        the stopping rule always uses.

    References
    ----------
    .. [1] Chen, Lin, King, Lyu and Chen. *Combinatorial Pure Exploration of Multi-Armed Bandits*.
       NIPS 2014.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=CLUCB(), runs=3, engine="python").answers
    [(0, 1), (0, 1), (0, 1)]
    """

    symmetric: ClassVar[bool] = True
    delta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is None:
            return
        if not (is_real(self.delta) and 0.0 < self.delta < 1.0):
            raise invalid_argument("delta", self.delta, "between 0 and 1, or None", of="CLUCB")
        object.__setattr__(self, "delta", float(self.delta))

    def with_deltas(self, deltas: Sequence[float]) -> "CLUCB":
        """Return the rule with the smallest delta, if it has none."""
        return self if self.delta is not None else replace(self, delta=min(deltas))

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        """Return the rule bound to a problem."""
        d, sigma, delta = problem.actions.d, _known(problem), self.delta or UNSAID
        n = len(problem.actions.observable_arms())
        kernel = CLUCBKernel(
            math.log(4.0 * n / delta), sigma, np.zeros(d), np.zeros(d), np.zeros(d)
        )
        return FixedBoundRule(kernel, padded(start_sets("covering", problem.actions, None)))

    def stopping(self, problem: ProblemLike, deltas: Sequence[float]) -> Stopping | None:
        """Return CLUCB's stopping rule, or None if variances are unknown."""
        if not problem.rewards.variance_known:
            return None
        d, seen_arms = problem.actions.d, problem.actions.observable_arms()
        sigma = _known(problem)
        sigma[[a for a in range(d) if a not in seen_arms]] = 0.0

        def watch(kernel: ProblemKernel, threshold: Threshold, stats: Statistics) -> ProblemKernel:
            stopping_kernel = OverlapKernel(
                threshold, len(deltas), sigma.copy(), np.zeros(d), np.zeros(d)
            )
            return kernel._replace(stopping=stopping_kernel)

        radii = Message(
            "clucb-radii",
            "CLUCB's radii for independent sub-Gaussian values with the stated spread (Chen et al. "
            "2014; docs/algorithms.md)",
        )
        return Stopping(
            "clucb",
            RadiiKernel(float(len(seen_arms)), np.asarray(deltas, dtype=float)),
            watch,
            validity_from_assumptions(
                "CLUCB's radii", {Assumption.SUB_GAUSSIAN: radii}, problem.rewards
            ),
            likelihood=False,
            rests=ProofRequirements(
                ("argmax",),
                ("observable_arms",),
                ("assumptions", "divergence", "sub_gaussian_scale"),
            ),
        )


def _known(problem: ProblemLike) -> Floats:
    """Return the sub-Gaussian scale of every arm; raise an error if variances are unknown."""
    if not problem.rewards.variance_known:
        raise InputError(
            "clucb-needs-variances",
            "CLUCB needs known variances, which {rewards} has not",
            remedy="use the rule 'frank-wolfe' or 'top-two', or give Gaussian a sigma",
            rewards=str(problem.rewards),
        )
    return problem.rewards.sub_gaussian_scale(problem.actions.d).astype(float)
