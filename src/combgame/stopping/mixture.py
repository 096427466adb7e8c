"""The method of mixtures."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..game.marks import compilable
from ..game.protocols import Game, Rewards, Threshold
from ..game.records import Floats, Seen
from ..problem import Problem
from ..rewards import License
from ..rewards.base import spread_of
from ..rewards.gaussian import gaussian_part
from .base import Stopping, earned, single
from .bernoulli import BetaPart
from .coins import coins
from .fees import ConstantPart, charged, charging, log_union
from .pairs import PairJudgePart, Pairs, PairsPart
from .students import students
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


def _judge(
    problem: Problem,
    deltas: Sequence[float],
    threshold: Threshold,
    rewards: Rewards,
    pairs: Pairs,
    epsilon: float = 0.0,
) -> PairJudgePart:
    mean, weight, sign, rival, alternative, leader = np.zeros((6, problem.d))
    return PairJudgePart(
        threshold,
        rewards,
        pairs,
        epsilon / problem.answers.largest(),
        min(threshold.level(0, which) for which in range(len(deltas))),
        not isinstance(pairs, PairsPart),  # whose pairs cost little
        mean,
        weight,
        np.zeros(problem.d, np.int64),
        sign,
        rival,
        alternative,
        leader,
    )


def _box(problem: Problem, epsilon: float = 0.0) -> tuple[Floats, Floats]:
    """The means that are possible; all of them, if the leader's are lifted."""
    end = np.full(problem.d, np.inf)
    return (-end, end) if epsilon > 0.0 else (np.array(problem.low), np.array(problem.high))


def _mixing(problem: Problem, deltas: Sequence[float], epsilon: float) -> Any:
    """How a game gets the judge of the Gaussian mixture: pair by pair where answers differ by
    exchanges.
    """
    d, swaps, scales = problem.d, problem.answers.exchange().swaps, len(SCALES)
    low, high = _box(problem, epsilon)

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        rewards = gaussian_part(np.ones(d), low, high)
        prior, cost = SCALES[:, :2].T.copy(), -np.log(SCALES[:, 4])
        if not swaps:
            fees = MixturePart(spreads_of(problem, deltas, game), prior, cost)
            return game._replace(judge=charged(problem, threshold, fees, rewards, epsilon))
        if problem.rewards.known:
            pairs: Pairs = PairsPart(
                seen,
                problem.rewards.spread(d) ** 2,
                low.copy(),
                high.copy(),
                prior,
                cost,
                SCALES[:, 2:4].T.copy(),
                np.full((2, d), -1.0),
                np.zeros((2, d, scales)),
                np.zeros((2, d, scales)),
                np.zeros((6, scales)),
                np.zeros(1),
            )
        else:
            pairs = students(seen, game.rewards.believed, low, high)  # type: ignore[attr-defined]
        return game._replace(judge=_judge(problem, deltas, threshold, rewards, pairs, epsilon))

    return watch


def _tossing(problem: Problem, deltas: Sequence[float]) -> Any:
    """How a game of values 0 or 1 gets its judge."""
    if not problem.answers.exchange().swaps:
        return charging(problem, lambda game: BetaPart(np.zeros(problem.d), np.zeros(problem.d)))

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        pairs = coins(seen, *_box(problem))
        return game._replace(judge=_judge(problem, deltas, threshold, game.rewards, pairs))

    return watch


def mixture(problem: Problem, deltas: Sequence[float], epsilon: float = 0.0) -> Stopping:
    """The mixture threshold: proved for Gaussian rewards with known or unknown variance, for
    Bernoulli and for bounded rewards.
    """
    rewards, share = problem.rewards, 0.0
    if License.BINARY in rewards.licenses() and epsilon == 0.0:
        watch = _tossing(problem, deltas)
        needs = {License.BINARY: "independent values 0 or 1"}
    else:
        needs = {License.SUB_GAUSSIAN: "independent sub-Gaussian values"}
        if not rewards.known:
            needs = {License.NORMAL: "independent Gaussian values of any variances"}
            if not problem.answers.exchange().swaps:
                share = VARIANCE_SHARE
                single(
                    "unknown variances need a single delta, because their bounds depend on it",
                    deltas,
                )
        elif spread_of(rewards, problem.d) is None:
            kind = type(rewards).__name__
            raise InputError(
                "threshold = 'mixture' needs values that are sub-Gaussian with a known spread, "
                f"which {kind} does not give; use "
                "'sub-gaussian', which is for exponential families."
            )
        watch = _mixing(problem, deltas, epsilon)
    constant = ConstantPart(
        np.array([log_union(problem) - math.log1p(-share) - math.log(delta) for delta in deltas])
    )
    within = f"; any answer within {epsilon:g} of the best counts as correct" if epsilon else ""
    method = "the method of mixtures"
    over = f"{method} over the arms in which answers differ (docs/thresholds.md)"
    why = earned(
        method, {licence: f"{over}: {what}{within}" for licence, what in needs.items()}, rewards
    )
    return Stopping("mixture", constant, watch, why, constant=True, epsilon=epsilon)
