"""The method of mixtures."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._messages import Sentence
from ..engine.protocols import Game, Rewards, Rivals, Threshold
from ..engine.state import Fixed, Floats
from ..engine.statistics import Seen
from ..errors import InputError, must_be
from ..problem import Problem
from ..rewards import License
from ..rewards.base import claimed, spread_of
from ..rewards.gaussian import gaussian_part
from ._penalty_forecast import ForesightPart, blind, foresight
from .base import ConstantPart, Rests, Stopping, also, earned, log_union
from .mixture_bernoulli import coins
from .mixture_pairs import PairJudgePart, Pairs, PairsPart
from .mixture_sets import judging
from .mixture_shared_variance import shared
from .mixture_unknown_variance import students
from .penalised import BetaPart, charged, charging
from .variance import VARIANCE_SHARE, Spreads, spreads_of


class MixturePart(NamedTuple):
    """The Gaussian mixture, with the scale that suits the last rival best: the bound holds for all
    of them at once.
    """

    spreads: Spreads
    prior: Fixed  # float64[2, k]: c of the leader's arms and of the others, per scale
    cost: Fixed  # ln 1/chance of each

    def assess(
        self, seen: Seen, mean: Floats, best: Floats, rival: Floats, weight: Floats, fee: Floats
    ) -> float:
        self.spreads.refresh(seen)
        variance = self.spreads.variance
        chosen = self.suit(seen, mean, variance, best, rival)
        for a in range(fee.size):
            n, c = seen.counts[a], self.prior[0 if best[a] > 0.5 else 1, chosen]
            weight[a] = n * n / ((n + c) * variance[a])
            seen.worth[a] = weight[a] * self.spreads.believed[a]
            fee[a] = 0.5 * math.log1p(n / c)
        return float(self.cost[chosen])

    def suit(self, seen: Seen, mean: Floats, variance: Floats, best: Floats, rival: Floats) -> int:
        """Where the evidence against the last rival, less its fees, is largest (of free means: it
        is only a choice).
        """
        scale, most = self.cost.size // 2, -math.inf
        for k in range(self.cost.size):
            lead, blur, fees = 0.0, 0.0, self.cost[k]
            for a in range(best.size):
                if best[a] != rival[a]:
                    n, c = seen.counts[a], self.prior[0 if best[a] > 0.5 else 1, k]
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


# c, chosen before the data: how many values the prior of an arm is worth. One row per scale of the
# mixture: c for arms of the leading answer and for the others, whether their priors are one-sided,
# and the chance of the scale. The last two are for arms that are known far more precisely than
# others, such as a leader that is in every play, against many rivals.
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


# of the pairs of an exchange: what the chances above are then, and more scales: c of a direction
# that both arms share, and the chance. Each arm is normal about it, with OWN times that c.
APART = np.array([0.16, 0.12, 0.08, 0.02, 0.14, 0.03])
JOINT = np.array([(5.0, 0.1), (50.0, 0.15), (500.0, 0.2)])
OWN = 30.0


def pair_scales() -> tuple[Floats, Floats, Floats, Floats]:
    """All scales of pairs: c of either arm, ln 1/chance, sides, and c of the shared direction."""
    prior = np.vstack([SCALES[:, :2], OWN * JOINT[:, :1].repeat(2, axis=1)]).T.copy()
    sided = np.vstack([SCALES[:, 2:4], np.zeros((len(JOINT), 2))]).T.copy()
    cost = -np.log(np.r_[APART, JOINT[:, 1]])
    return prior, cost, sided, np.r_[np.zeros(len(SCALES)), JOINT[:, 0]]


def _judge(
    problem: Problem,
    deltas: Sequence[float],
    threshold: Threshold,
    rewards: Rewards,
    pairs: Pairs,
    foresight: ForesightPart,
    epsilon: float = 0.0,
) -> PairJudgePart:
    mean, weight, sign, rival, other, alternative = np.zeros((6, problem.d))
    return PairJudgePart(
        threshold,
        rewards,
        pairs,
        foresight,
        epsilon / problem.answers.largest(),
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
    """Below it nothing stops."""
    return min(threshold.level(0, which) for which in range(len(deltas)))


def _box(problem: Problem, epsilon: float = 0.0) -> tuple[Floats, Floats]:
    """The means that are possible; all of them, if the leader's are lifted."""
    end = np.full(problem.d, np.inf)
    return (-end, end) if epsilon > 0.0 else (np.array(problem.low), np.array(problem.high))


def _mixing(problem: Problem, deltas: Sequence[float], epsilon: float) -> Any:
    """How a game gets the judge of the Gaussian mixture: pair by pair where answers differ by
    exchanges.
    """
    d, swaps = problem.d, problem.answers.exchange().swaps
    low, high = _box(problem, epsilon)

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        rewards = gaussian_part(np.ones(d), low, high)
        if not swaps:
            prior, cost = SCALES[:, :2].T.copy(), -np.log(SCALES[:, 4])
            fees = MixturePart(spreads_of(problem, deltas, game), prior, cost)
            return game._replace(judge=charged(problem, threshold, fees, rewards, epsilon))
        if problem.rewards.known:
            variance, (prior, cost, sided, joint) = problem.rewards.spread(d) ** 2, pair_scales()
            scales = cost.size
            pairs: Pairs = PairsPart(
                seen.counts,
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
            ahead = foresight(variance, prior, cost, sided, joint, _floor(threshold, deltas))
        elif problem.rewards.pooled:
            prior, cost, sided, joint = pair_scales()
            pairs = shared(seen, low, high, prior, cost, sided, joint)
            believed = game.rewards.spreads.believed  # type: ignore[attr-defined]
            ahead = foresight(believed, prior, cost, sided, joint, _floor(threshold, deltas))
        else:
            pairs = students(seen, game.rewards.spreads.believed, low, high)  # type: ignore[attr-defined]
            ahead = blind(d)
        judge = _judge(problem, deltas, threshold, rewards, pairs, ahead, epsilon)
        return game._replace(judge=judge)

    return watch


def _tossing(problem: Problem, deltas: Sequence[float]) -> Any:
    """How a game of values 0 or 1 gets its judge."""
    if not problem.answers.exchange().swaps:
        return charging(problem, lambda game: BetaPart(np.zeros(problem.d), np.zeros(problem.d)))

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        pairs = coins(seen, *_box(problem))
        judge = _judge(problem, deltas, threshold, game.rewards, pairs, blind(problem.d))
        return game._replace(judge=judge)

    return watch


POOLED = Sentence(
    "mixture-shared-variance",
    "the method of mixtures over the arms in which answers differ (docs/thresholds.md): "
    "independent Gaussian values with one variance for all arms, or for all of a group, that "
    "nobody need know",
)
PROVED = {
    License.BINARY: Sentence(
        "mixture-binary",
        "the method of mixtures over the arms in which answers differ (docs/thresholds.md): "
        "independent values 0 or 1",
    ),
    License.SUB_GAUSSIAN: Sentence(
        "mixture-sub-gaussian",
        "the method of mixtures over the arms in which answers differ (docs/thresholds.md): "
        "independent sub-Gaussian values",
    ),
    License.NORMAL: Sentence(
        "mixture-unknown-variances",
        "the method of mixtures over the arms in which answers differ (docs/thresholds.md): "
        "independent Gaussian values of any variances",
    ),
}


def _rivals(problem: Problem, epsilon: float) -> Rivals | None:
    """The rivals, each with a share of delta, if they are known one by one. (A class that inherits
    its rivals may have other sets.)
    """
    known = _counted(problem, epsilon) and "rivals" in vars(type(problem.answers))
    return problem.answers.rivals() if known else None


def _counted(problem: Problem, epsilon: float) -> bool:
    """Whether there is one unit in which the means of all arms can be counted: then less evidence
    comes of a larger one.
    """
    if problem.rewards.known:
        return True
    free = not any(np.isfinite(end).any() for end in _box(problem, epsilon))
    return free and problem.rewards.pooled and not problem.rewards.groups(problem.d).any()


def mixture(problem: Problem, deltas: Sequence[float], epsilon: float = 0.0) -> Stopping:
    """The mixture threshold: proved for Gaussian rewards with known or unknown variance, for
    Bernoulli and for bounded rewards.
    """
    rewards, share, union = problem.rewards, 0.0, log_union(problem, epsilon)
    swaps, rivals = problem.answers.exchange().swaps, _rivals(problem, epsilon)
    needs = License.SUB_GAUSSIAN
    if License.BINARY in claimed(rewards) and epsilon == 0.0:
        needs = License.BINARY
    elif not rewards.known:
        needs = License.NORMAL
        if not swaps:
            share = VARIANCE_SHARE
            if len(deltas) > 1:
                what = "a single one with unknown variances, because their bounds depend on it"
                raise must_be("delta", list(deltas), what)
    elif spread_of(rewards, problem.d) is None:
        raise InputError(
            "needs-spread",
            "threshold = 'mixture' needs values that are sub-Gaussian with a known spread, "
            "which {rewards} does not give",
            remedy="use 'sub-gaussian', which is for exponential families",
            rewards=type(rewards).__name__,
        )
    if rivals is not None:  # each has its share of delta
        watch, union = judging(problem, rivals, SCALES, deltas, epsilon), 0.0
        if not rewards.known:  # weighed means may lead where means do not (docs/thresholds.md)
            union = -math.log1p(-0.5 * deltas[0])
    elif needs is License.BINARY:
        watch = _tossing(problem, deltas)
    else:
        watch = _mixing(problem, deltas, epsilon)
    constant = ConstantPart(
        np.array([union - math.log1p(-share) - math.log(delta) for delta in deltas])
    )
    reason = POOLED if rewards.pooled else PROVED[needs]
    why = earned("the method of mixtures", {needs: reason}, rewards)
    if epsilon and why.proved:
        why = also(
            why, "any answer within {epsilon:g} of the best counts as correct", epsilon=epsilon
        )
    answers = ("nearest", "exchange", "largest") if epsilon else ("nearest", "exchange")
    rests = Rests(answers, (), ("licenses", "divergence", "spread"))
    return Stopping("mixture", constant, watch, why, epsilon=epsilon, rests=rests)
