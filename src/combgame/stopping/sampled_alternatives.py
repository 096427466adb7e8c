"""The stopping rule of the public code of P-FWS, with sampled alternatives.

The code is that of Tzeng, Wang, Proutiere and Lu (NeurIPS 2023; repository
rctzeng/NeurIPS2023-PerturbedFWS, read 2026-11-16). The rule is a heuristic, which explains the
table of that paper (docs/peers.md). Do not stop a real study with it.

Rivals are the leaders under exponential noise plus a learned term, which is small beside the noise
(a perturbed leader with a rate of one over a very large constant); the least f_J of the sampled
rivals estimates the cost of the nearest alternative *from above*. The statistic is t F(N / sum N),
which is smaller than the likelihood ratio F(N) by the number of arms in a play.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.kernels import StoppingDefaults, kernel
from ..engine.likelihood_ratio import LikelihoodRatioKernel, against, alike, ratio
from ..engine.philox import LOW, Philox, philox
from ..engine.protocols import ProblemKernel
from ..engine.state import Floats, Ints, Random, RoundState
from ..engine.statistics import Statistics
from ..errors import InputError, check_int
from .base import ProblemLike, StoppingBase
from .glr import StylisedThreshold

NEVER = 1e9  # subtracted from the score of an arm that must not be chosen
SLACK = 1.001  # 1 + epsilon, with the precision epsilon = 1e-3 that the search aims at


class SampledSearch(NamedTuple):
    """The search for the nearest alternative by sampling."""

    n_draws: int
    largest: float  # D: the largest number of arms in an answer
    losses: Floats  # cumulative loss of each arm
    score: Floats
    trial: Floats
    other: Floats

    def seek(
        self,
        problem: ProblemKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rng: Random | Philox,
        rival: Floats,
    ) -> float:
        """Write the rival J with the least f_J of `n_draws`, at weights that may be negative.

        Returns that f_J.
        """
        d, least, top, heavy = mean.size, math.inf, -math.inf, 0.0
        for a in range(d):
            self.losses[a] = 0.0
            top = max(top, mean[a])
            if weight[a] > 1e-10:
                heavy += problem.rewards.quadratic_variance(1.0, a) / weight[a]
        scale = 4.0 * self.largest * self.largest * d * top * top * heavy  # L
        rate = math.sqrt(d * (math.log(d) + 1.0) / 2.0) / scale if scale > 0.0 else 0.0
        for s in range(1, self.n_draws + 1):
            for a in range(d):
                noise = -math.log(1.0 - rng.random())
                self.score[a] = -(rate / math.sqrt(s) * self.losses[a] + noise)
            problem.answers.argmax(self.score, self.trial)
            if alike(self.trial, best) and not self.second(problem, best):
                continue
            lead, spread = 0.0, 0.0
            for a in range(d):
                if self.trial[a] != best[a]:
                    lead += (best[a] - self.trial[a]) * mean[a]
                    spread += problem.rewards.quadratic_variance(1.0, a) / weight[a]
            alpha = lead / spread
            for a in range(d):
                half = 0.5 * alpha * alpha * problem.rewards.quadratic_variance(1.0, a) / weight[a]
                self.losses[a] -= alpha * mean[a] + half * (1.0 - 2.0 * best[a])
            if 0.5 * alpha * lead < least:
                least = 0.5 * alpha * lead
                for a in range(d):
                    rival[a] = self.trial[a]
        return least

    def second(self, problem: ProblemKernel, best: Floats) -> bool:
        """Write the answer with the largest score that lacks an arm of `best` to `trial`.

        Returns whether there is such an answer.
        """
        most = -math.inf
        for a in range(best.size):
            if best[a] > 0.5:
                kept = self.score[a]
                self.score[a] = kept - NEVER
                problem.answers.argmax(self.score, self.other)
                self.score[a] = kept
                total = 0.0
                for b in range(best.size):
                    total += self.other[b] * self.score[b]
                if self.other[a] < 0.5 and total > most:
                    most = total
                    for b in range(best.size):
                        self.trial[b] = self.other[b]
        return most > -math.inf


def make_search(of: str, draws: int, problem: ProblemLike) -> SampledSearch:
    """Return the search of a problem, or raise an `InputError` if it is not defined."""
    d, rewards = problem.answers.d, problem.rewards
    open_ended = np.full(d, np.inf)
    kernel = rewards.kernel(-open_ended, open_ended)
    if (
        rewards.has_batch_effect()
        or not rewards.variance_known
        or not kernel.quadratic_variance(1.0, 0) > 0.0
    ):
        raise InputError(
            "draws-gaussian",
            "{of}: n_draws = {draws} needs Gaussian values with a stated sigma, as the public code "
            "of P-FWS has them",
            remedy="give Gaussian a sigma, or use what is proved for these values",
            of=of,
            draws=draws,
        )
    return SampledSearch(draws, float(problem.answers.max_size()), *np.zeros((4, d)))


@kernel(StoppingDefaults)
class SampledRatioKernel(NamedTuple):
    """The likelihood ratio with a sampled nearest alternative."""

    ratio: LikelihoodRatioKernel  # the exact one, for evidence against single rivals
    search: SampledSearch
    rng: Philox  # seeded by the first values; each round has its own numbers
    share: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Return t F(N / sum N), estimated by sampling once each arm has a value."""
        total, sums = 0.0, 0.0
        for a in range(self.share.size):
            total += stats.counts[a]
            sums += stats.sums[a]
            if stats.counts[a] == 0.0:  # the initial design is not complete
                return self.ratio.evaluate(problem, stats, state)
        if self.rng.place[0] == 0:
            self.rng.place[0] = 1 + (int(abs(sums) * 1e6) & LOW)
        self.rng.place[1], self.rng.place[2], self.rng.block[4] = stats.n_rounds[0], 0, 0
        for a in range(self.share.size):
            self.share[a] = stats.counts[a] / total
        value = self.search.seek(
            problem, stats.mean, self.share, state.leader, self.rng, state.rival
        )
        against(
            problem.rewards,
            stats.mean,
            self.share,
            state.leader,
            self.ratio.arms,
            self.ratio.sign,
            state.rival,
            state.alternative_means,
        )
        return float(stats.n_rounds[0] * value)

    def critical_value(self, t: int, index: int) -> float:
        """Return the threshold, raised by the factor SLACK."""
        return SLACK * self.ratio.critical_value(t, index)

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        """Return the exact likelihood ratio against a rival."""
        return self.ratio.projected_evidence(problem, stats, arms, sign, n)

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Return the exact least evidence, on the scale of this rule."""
        return self.rounds(stats) * self.ratio.least_evidence(
            problem, stats, best, rival, alternative
        )

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the exact evidence against a rival, on this scale."""
        return self.rounds(stats) * self.ratio.evidence_against(problem, stats, best, rival)

    def rounds(self, stats: Statistics) -> float:
        """Return t / sum N, the ratio of the statistic to the likelihood ratio."""
        total = 0.0
        for a in range(stats.counts.size):
            total += stats.counts[a]
        return stats.n_rounds[0] / total if total > 0.0 else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class SampledAlternatives(StoppingBase):
    """The stopping rule of the public code of P-FWS, a heuristic.

    Parameters
    ----------
    n_draws : int, default=4999
        Number of rivals that are sampled in each round.

    Raises
    ------
    InputError
        If `n_draws` is not a positive integer, or, when a run begins, if the rewards are not
        Gaussian with a stated sigma.

    Notes
    -----
    A run stops when t F(N / sum N) exceeds 1.001 ln((1 + ln t) / delta), where F is estimated from
    above by the least of `n_draws` rivals drawn at random. The error probability may exceed delta.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))
    >>> how = {"rule": cg.PFWS(n_draws=20), "threshold": SampledAlternatives(20)}
    >>> means = [0.5, 0.3, 0.2, 0.1]
    >>> cg.simulate(problem, means, runs=3, engine="python", **how).validity.label
    'heuristic'
    """

    validity: ClassVar[str] = ""
    n_draws: int = 4999

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("n_draws", self.n_draws, 1, of="SampledAlternatives")

    def kernel(self, problem: ProblemLike, deltas: Floats) -> SampledRatioKernel:
        """Return the stopping kernel; see `StoppingBase.kernel`."""
        d = problem.answers.d
        search = make_search("SampledAlternatives", self.n_draws, problem)
        return SampledRatioKernel(
            ratio(StylisedThreshold(deltas), d), search, philox(0, 0), np.zeros(d)
        )
