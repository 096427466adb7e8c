"""The mixture threshold: the method of mixtures for all rewards and structures."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._messages import Message
from ..engine.protocols import ProblemKernel, RewardKernel, Threshold, UnionBound
from ..engine.state import Fixed, Floats
from ..engine.statistics import Statistics
from ..errors import InputError, invalid_argument
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import claimed_assumptions, spread_of
from ..rewards.gaussian import gaussian_part
from .base import (
    ConstantPenalty,
    ProofRequirements,
    Stopping,
    log_union,
    validity_from_assumptions,
    with_note,
)
from .mixture_bernoulli import coins
from .mixture_pairs import (
    KnownVariancePairKernel,
    PairEvidence,
    PairStoppingKernel,
    PenaltyForecastKernel,
    no_forecast,
    penalty_forecast,
)
from .mixture_sets import judging
from .mixture_shared_variance import shared
from .mixture_unknown_variance import students
from .penalised import BernoulliPenalty, penalised, penalised_kernel
from .variance import VARIANCE_SHARE, VarianceBound, spreads_of


class MixturePenalty(NamedTuple):
    """The penalties of the Gaussian mixture, at the scale that suits the last rival best.

    The bound holds for all scales at once (Theorem 1 of docs/thresholds.md), so the choice may
    depend on the data.
    """

    spreads: VarianceBound
    prior: Fixed  # float64[2, k]: c of the leader's arms and of the others, per scale
    cost: Fixed  # ln 1/p of each scale, p its weight

    def update_penalty(
        self,
        stats: Statistics,
        mean: Floats,
        best: Floats,
        rival: Floats,
        weight: Floats,
        fee: Floats,
    ) -> float:
        """Write weights and penalties of the chosen scale; return its ln 1/p."""
        self.spreads.update_bound(stats)
        variance = self.spreads.variance
        chosen = self.suit(stats, mean, variance, best, rival)
        for a in range(fee.size):
            n, c = stats.counts[a], self.prior[0 if best[a] > 0.5 else 1, chosen]
            weight[a] = n * n / ((n + c) * variance[a])
            stats.effective_counts[a] = weight[a] * self.spreads.believed[a]
            fee[a] = 0.5 * math.log1p(n / c)
        return float(self.cost[chosen])

    def suit(
        self, stats: Statistics, mean: Floats, variance: Floats, best: Floats, rival: Floats
    ) -> int:
        """Return the scale that suits the last rival best.

        The evidence against that rival, less its penalties, is largest at this scale. Bounds on the
        means are ignored, since this is only a choice.
        """
        scale, most = self.cost.size // 2, -math.inf
        for k in range(self.cost.size):
            lead, blur, fees = 0.0, 0.0, self.cost[k]
            for a in range(best.size):
                if best[a] != rival[a]:
                    n, c = stats.counts[a], self.prior[0 if best[a] > 0.5 else 1, k]
                    if n <= 0.0:
                        return scale
                    lead += (best[a] - rival[a]) * mean[a]
                    blur += (n + c) * variance[a] / (n * n)
                    fees += 0.5 * math.log1p(n / c)
            if lead <= 0.0 or not blur < math.inf:
                return scale
            if 0.5 * lead * lead / blur - fees > most:
                scale, most = k, 0.5 * lead * lead / blur - fees
        return scale


# The scales of the mixture, chosen before the data, one per row: c (the number of values that the
# prior of an arm is worth) for arms of the leading answer and for the others, whether their priors
# are one-sided, and the weight of the scale. The last two are for arms that are known far more
# precisely than others, such as a leader that is in every play against many rivals.
SCALES = np.array(
    [
        (3.0, 1.0, 1, 1, 0.25),
        (30.0, 10.0, 1, 1, 0.25),
        (300.0, 100.0, 1, 1, 0.25),
        (3000.0, 1000.0, 1, 1, 0.05),
        (100.0, 1.0, 0, 1, 0.17),
        (30.0, 30.0, 0, 0, 0.03),
    ]
)


# For the pairs of an exchange: the weights of the scales above, and further scales, with c of a
# direction that both arms share, and the weight. Each arm is normal about that direction, with OWN
# times that c.
APART = np.array([0.16, 0.12, 0.08, 0.02, 0.14, 0.03])
JOINT = np.array([(5.0, 0.1), (50.0, 0.15), (500.0, 0.2)])
OWN = 30.0


def pair_scales() -> tuple[Floats, Floats, Floats, Floats]:
    """Return the scales of pairs: c of either arm, ln 1/p, sides, and c of the shared direction."""
    prior = np.vstack([SCALES[:, :2], OWN * JOINT[:, :1].repeat(2, axis=1)]).T.copy()
    sided = np.vstack([SCALES[:, 2:4], np.zeros((len(JOINT), 2))]).T.copy()
    cost = -np.log(np.r_[APART, JOINT[:, 1]])
    return prior, cost, sided, np.r_[np.zeros(len(SCALES)), JOINT[:, 0]]


def _pair_kernel(
    problem: Problem,
    deltas: Sequence[float],
    threshold: Threshold,
    rewards: RewardKernel,
    pairs: PairEvidence,
    forecast: PenaltyForecastKernel,
    epsilon: float = 0.0,
) -> PairStoppingKernel:
    """Return the stopping kernel of exchanges with this evidence of pairs."""
    mean, weight, sign, rival, other, alternative = np.zeros((6, problem.d))
    return PairStoppingKernel(
        threshold,
        rewards,
        pairs,
        forecast,
        epsilon / problem.answers.max_size(),
        _floor(threshold, deltas),
        mean,
        weight,
        np.zeros(problem.d, np.int64),
        sign,
        rival,
        other,
        alternative,
    )


def _floor(threshold: Threshold, deltas: Sequence[float]) -> float:
    """Return the lowest threshold, below which nothing stops."""
    return min(threshold.critical_value(0, index) for index in range(len(deltas)))


def _box(problem: Problem, epsilon: float = 0.0) -> tuple[Floats, Floats]:
    """Return the bounds on the means; there are none if the leader's means are shifted."""
    end = np.full(problem.d, np.inf)
    return (-end, end) if epsilon > 0.0 else (np.array(problem.low), np.array(problem.high))


def _gaussian_mixture(problem: Problem, deltas: Sequence[float], epsilon: float) -> Any:
    """Return the function that installs the stopping kernel of the Gaussian mixture.

    If answers differ by exchanges, the kernel evaluates pairs of arms.
    """
    d, swaps = problem.d, problem.answers.neighbourhood().is_swap
    low, high = _box(problem, epsilon)

    def make_kernel(
        kernel: ProblemKernel, threshold: Threshold, stats: Statistics
    ) -> ProblemKernel:
        rewards = gaussian_part(np.ones(d), low, high)
        if not swaps:
            prior, cost = SCALES[:, :2].T.copy(), -np.log(SCALES[:, 4])
            fees = MixturePenalty(spreads_of(problem, deltas, kernel), prior, cost)
            return kernel._replace(
                stopping=penalised_kernel(problem, threshold, fees, rewards, epsilon)
            )
        if problem.rewards.variance_known:
            variance, (prior, cost, sided, joint) = (
                problem.rewards.sub_gaussian_scale(d) ** 2,
                pair_scales(),
            )
            scales = cost.size
            pairs: PairEvidence = KnownVariancePairKernel(
                stats.counts,
                variance,
                low.copy(),
                high.copy(),
                prior,
                cost,
                sided,
                joint,
                np.full((2, d), -1.0),
                np.zeros((2, d, scales)),
                np.zeros((2, d, scales)),
                np.full(1, np.inf),
                0.0,
                np.zeros((8, scales)),
                np.zeros(1),
            )
            forecast = penalty_forecast(
                variance, prior, cost, sided, joint, _floor(threshold, deltas)
            )
        elif problem.rewards.variance_shared:
            prior, cost, sided, joint = pair_scales()
            pairs = shared(stats, low, high, prior, cost, sided, joint)
            believed = kernel.rewards.spreads.believed  # type: ignore[attr-defined]
            forecast = penalty_forecast(
                believed, prior, cost, sided, joint, _floor(threshold, deltas)
            )
        else:
            pairs = students(stats, kernel.rewards.spreads.believed, low, high)  # type: ignore[attr-defined]
            forecast = no_forecast(d)
        stopping_kernel = _pair_kernel(
            problem, deltas, threshold, rewards, pairs, forecast, epsilon
        )
        return kernel._replace(stopping=stopping_kernel)

    return make_kernel


def _bernoulli_mixture(problem: Problem, deltas: Sequence[float]) -> Any:
    """Return the function that installs the stopping kernel for values 0 or 1."""
    if not problem.answers.neighbourhood().is_swap:
        return penalised(
            problem, lambda kernel: BernoulliPenalty(np.zeros(problem.d), np.zeros(problem.d))
        )

    def make_kernel(
        kernel: ProblemKernel, threshold: Threshold, stats: Statistics
    ) -> ProblemKernel:
        pairs = coins(stats, *_box(problem))
        stopping_kernel = _pair_kernel(
            problem, deltas, threshold, kernel.rewards, pairs, no_forecast(problem.d)
        )
        return kernel._replace(stopping=stopping_kernel)

    return make_kernel


POOLED = Message(
    "mixture-shared-variance",
    "the method of mixtures over the arms in which answers differ (docs/thresholds.md): "
    "independent Gaussian values with one variance for all arms, or for all of a group, that "
    "nobody need know",
)
PROVED = {
    Assumption.BINARY: Message(
        "mixture-binary",
        "the method of mixtures over the arms in which answers differ (docs/thresholds.md): "
        "independent values 0 or 1",
    ),
    Assumption.SUB_GAUSSIAN: Message(
        "mixture-sub-gaussian",
        "the method of mixtures over the arms in which answers differ (docs/thresholds.md): "
        "independent sub-Gaussian values",
    ),
    Assumption.NORMAL: Message(
        "mixture-unknown-variances",
        "the method of mixtures over the arms in which answers differ (docs/thresholds.md): "
        "independent Gaussian values of any variances",
    ),
}


def _rivals(problem: Problem, epsilon: float) -> UnionBound | None:
    """Return the rivals, each with its share of delta, if they are known one by one.

    A class that inherits the method from a structure may have other sets.
    """
    known = _counted(problem, epsilon) and "union_bound" in vars(type(problem.answers))
    return problem.answers.union_bound() if known else None


def _counted(problem: Problem, epsilon: float) -> bool:
    """Return whether the means of all arms can be counted in one unit.

    A larger unit then gives less evidence.
    """
    if problem.rewards.variance_known:
        return True
    free = not any(np.isfinite(end).any() for end in _box(problem, epsilon))
    return (
        free
        and problem.rewards.variance_shared
        and not problem.rewards.variance_groups(problem.d).any()
    )


def mixture(problem: Problem, deltas: Sequence[float], epsilon: float = 0.0) -> Stopping:
    """Return the mixture threshold.

    It is proved for Gaussian rewards with known or unknown variance, for Bernoulli and for bounded
    rewards.
    """
    rewards, share, union = problem.rewards, 0.0, log_union(problem, epsilon)
    swaps, rivals = problem.answers.neighbourhood().is_swap, _rivals(problem, epsilon)
    needs = Assumption.SUB_GAUSSIAN
    if Assumption.BINARY in claimed_assumptions(rewards) and epsilon == 0.0:
        needs = Assumption.BINARY
    elif not rewards.variance_known:
        needs = Assumption.NORMAL
        if not swaps:
            share = VARIANCE_SHARE
            if len(deltas) > 1:
                what = "a single one with unknown variances, because their bounds depend on it"
                raise invalid_argument("delta", list(deltas), what)
    elif spread_of(rewards, problem.d) is None:
        raise InputError(
            "needs-spread",
            "threshold = 'mixture' needs values that are sub-Gaussian with a known spread, "
            "which {rewards} does not give",
            remedy="use 'sub-gaussian', which is for exponential families",
            rewards=type(rewards).__name__,
        )
    if rivals is not None:  # each rival has its share of delta
        make_kernel, union = judging(problem, rivals, SCALES, deltas, epsilon), 0.0
        if (
            not rewards.variance_known
        ):  # weighted means may lead where means do not (docs/thresholds.md)
            union = -math.log1p(-0.5 * deltas[0])
    elif needs is Assumption.BINARY:
        make_kernel = _bernoulli_mixture(problem, deltas)
    else:
        make_kernel = _gaussian_mixture(problem, deltas, epsilon)
    constant = ConstantPenalty(
        np.array([union - math.log1p(-share) - math.log(delta) for delta in deltas])
    )
    reason = POOLED if rewards.variance_shared else PROVED[needs]
    why = validity_from_assumptions("the method of mixtures", {needs: reason}, rewards)
    if epsilon and why.proved:
        why = with_note(
            why, "any answer within {epsilon:g} of the best counts as correct", epsilon=epsilon
        )
    answers = (
        ("nearest_alternative", "neighbourhood", "max_size")
        if epsilon
        else ("nearest_alternative", "neighbourhood")
    )
    rests = ProofRequirements(answers, (), ("assumptions", "divergence", "sub_gaussian_scale"))
    return Stopping("mixture", constant, make_kernel, why, epsilon=epsilon, rests=rests)
