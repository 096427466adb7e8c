"""The method of mixtures."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..game.marks import compilable
from ..game.protocols import Game, Threshold
from ..game.records import Floats, Seen
from ..problem import Problem
from ..rewards import License
from ..rewards.base import spread_of
from ..rewards.gaussian import gaussian_part
from .base import Stopping, earned, single
from .bernoulli import BetaPart
from .fees import ConstantPart, charged, charging, log_union
from .pairs import PairJudgePart, PairsPart
from .sets import judging
from .variances import VARIANCE_SHARE, Spreads, spreads_of


@compilable
class MixturePart(NamedTuple):
    """The Gaussian mixture, with the scale that suits the last rival best: the bound holds for all
    of them at once.
    """

    spreads: Spreads
    prior: Floats  # float64[2, k]: c of the leader's arms and of the others, per scale
    cost: Floats  # ln 1/chance of each

    def assess(
        self, seen: Seen, mean: Floats, best: Floats, rival: Floats, weight: Floats, fee: Floats
    ) -> float:
        variance = self.spreads.bounds(seen)
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
        found, most = self.cost.size // 2, -math.inf
        for k in range(self.cost.size):
            lead, blur, fees = 0.0, 0.0, self.cost[k]
            for a in range(best.size):
                if best[a] != rival[a]:
                    n, c = seen.counts[a], self.prior[0 if best[a] > 0.5 else 1, k]
                    if n <= 0.0:
                        return found
                    lead += (best[a] - rival[a]) * mean[a]
                    blur += (n + c) * variance[a] / (n * n)
                    fees += 0.5 * math.log1p(n / c)
            if lead <= 0.0 or not blur < math.inf:
                return found
            if 0.5 * lead * lead / blur - fees > most:
                found, most = k, 0.5 * lead * lead / blur - fees
        return found


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


def _mixing(problem: Problem, deltas: Sequence[float], epsilon: float) -> Any:
    """How a game gets the judge of the Gaussian mixture: pair by pair where answers differ by
    exchanges.
    """
    d, swaps, scales = problem.d, problem.answers.exchange().swaps, len(SCALES)
    end = np.full(d, np.inf)
    low, high = (-end, end) if epsilon > 0.0 else (np.array(problem.low), np.array(problem.high))

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        spreads, rewards = spreads_of(problem, deltas, game), gaussian_part(np.ones(d), low, high)
        prior, cost = SCALES[:, :2].T.copy(), -np.log(SCALES[:, 4])
        sided = SCALES[:, 2:4].T * float(problem.rewards.known)
        if not swaps:
            return game._replace(
                judge=charged(
                    problem, threshold, MixturePart(spreads, prior, cost), rewards, epsilon
                )
            )
        pairs = PairsPart(
            seen,
            spreads.variance,
            low.copy(),
            high.copy(),
            prior,
            cost,
            sided,
            np.full((2, d), -1.0),
            np.zeros((2, d, scales)),
            np.zeros((2, d, scales)),
            np.zeros((6, scales)),
            np.zeros(1),
        )
        shift, floor = (
            epsilon / problem.answers.largest(),
            min(threshold.level(0, which) for which in range(len(deltas))),
        )
        mean, weight, sign, rival, alternative = np.zeros((5, d))
        part = PairJudgePart(
            threshold,
            rewards,
            spreads,
            pairs,
            shift,
            floor,
            mean,
            weight,
            np.zeros(d, np.int64),
            sign,
            rival,
            alternative,
        )
        return game._replace(judge=part)

    return watch


def mixture(problem: Problem, deltas: Sequence[float], epsilon: float = 0.0) -> Stopping:
    """The mixture threshold: proved for Gaussian rewards with known or unknown variance, for
    Bernoulli and for bounded rewards.
    """
    rewards, share, union = problem.rewards, 0.0, log_union(problem)
    if License.BINARY in rewards.licenses() and epsilon == 0.0:
        watch = charging(problem, lambda game: BetaPart(np.zeros(problem.d), np.zeros(problem.d)))
        needs = {License.BINARY: "independent values 0 or 1"}
    else:
        needs = {License.SUB_GAUSSIAN: "independent sub-Gaussian values"}
        if not rewards.known:
            share, needs = (
                VARIANCE_SHARE,
                {
                    License.NORMAL: "independent Gaussian values, with bounds on the unknown "
                    "variances"
                },
            )
            single(
                "unknown variances need a single delta, because their bounds depend on it", deltas
            )
        elif spread_of(rewards, problem.d) is None:
            kind = type(rewards).__name__
            raise InputError(
                "threshold = 'mixture' needs values that are sub-Gaussian with a known spread, "
                f"which {kind} does not give; use "
                "'sub-gaussian', which is for exponential families."
            )
        # a class that inherits its rivals may have other sets
        own = rewards.known and "rivals" in vars(type(problem.answers))
        rivals = problem.answers.rivals() if own else None
        if rivals is None:
            watch = _mixing(problem, deltas, epsilon)
        else:  # each rival has its share of delta
            watch, union = judging(problem, rivals, SCALES, deltas, epsilon), 0.0
    constant = ConstantPart(
        np.array([union - math.log1p(-share) - math.log(delta) for delta in deltas])
    )
    within = f"; any answer within {epsilon:g} of the best counts as correct" if epsilon else ""
    method = "the method of mixtures"
    over = f"{method} over the arms in which answers differ (docs/thresholds.md)"
    why = earned(
        method, {licence: f"{over}: {what}{within}" for licence, what in needs.items()}, rewards
    )
    return Stopping("mixture", constant, watch, why, constant=True, epsilon=epsilon)
