"""A heuristic: the chance that an answer is the best, if all means were thought equally likely
before the data.

It is what many people mean by "how sure are we", and no confidence: it takes the flat prior for
true, and knows nothing of how often one has looked.
"""

import math

import numpy as np

from ..game.callback import own_errors
from ..game.protocols import Game, Rewards
from ..game.records import Floats, Ints, Random, Seen, vector
from ..problem import Problem
from ..rewards import License
from ..rewards.base import claimed, spread_of
from ..structures import Arms
from .complexity import order_of

DRAWS, EFFORT = 4000, 200_000  # of means, at most; and times the number of arms
LEAST = 400


def variances(problem: Problem, seen: Seen, rewards: Rewards) -> Floats:
    """Of one value of each arm, as far as is known: stated, or estimated."""
    if not problem.rewards.known:
        believed: Floats = rewards.believed  # type: ignore[attr-defined]
        return believed.copy()
    spread = spread_of(problem.rewards, problem.d)
    stated = np.full(problem.d, np.nan) if spread is None else spread**2
    says = claimed(problem.rewards)
    if License.BINARY in says:
        share = (seen.sums + 1.0) / (seen.counts + 2.0)
        return np.asarray(share * (1.0 - share))
    if says & {License.GAUSSIAN, License.LEVELLED}:
        return stated
    seen_too: Floats = (seen.squares + stated) / np.maximum(seen.counts, 1.0)  # a bound, not a fact
    return seen_too


def posterior(
    problem: Problem, seen: Seen, rewards: Rewards, rng: Random, draws: int
) -> tuple[Floats, Floats]:
    """float64[draws, d]: means that would explain what was seen, and variances of one value. Arms
    draw in the order of their values, so their numbers change nothing.
    """
    order = order_of(problem, seen.mean, seen.counts, seen.squares)
    n, mean = seen.counts[order], seen.mean[order]
    variance = np.broadcast_to(variances(problem, seen, rewards)[order], (draws, problem.d)).copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        if License.BINARY in claimed(problem.rewards):
            ones = np.clip(seen.sums[order], 0.0, n)
            drawn = rng.beta(ones + 1.0, n - ones + 1.0, (draws, problem.d))
            variance = drawn * (1.0 - drawn)
        else:
            if not problem.rewards.known:
                variance *= _scaled(variance[0], n, rng, draws)
            if problem.rewards.levels():
                return _within(seen, variance, order, rng, draws)
            drawn = mean + np.sqrt(variance / n) * rng.standard_normal((draws, problem.d))
    means, spreads = np.empty_like(drawn), np.empty_like(drawn)
    means[:, order] = np.clip(drawn, np.array(problem.low)[order], np.array(problem.high)[order])
    spreads[:, order] = variance
    return means, spreads


def _within(
    seen: Seen, variance: Floats, order: Ints, rng: Random, draws: int
) -> tuple[Floats, Floats]:
    """The same where plays have levels: means differ as the least squares of all complete blocks
    have it, with their covariance.
    """
    joined = seen.blocks.joined[:, :-1][np.ix_(order, order)] * seen.blocks.precision[0] ** -1.0
    values, vectors = np.linalg.eigh(np.diag(joined.sum(axis=1)) - joined)
    blur = np.where(values > 1e-9 * max(values[-1], 1e-300), np.abs(values), np.inf) ** -0.5
    off = (rng.standard_normal((draws, order.size)) * blur) @ vectors.T
    means, spreads = np.empty((2, draws, order.size))
    means[:, order] = seen.mean[order] + np.sqrt(variance) * off
    spreads[:, order] = variance
    return means, spreads


def _scaled(believed: Floats, n: Floats, rng: Random, draws: int) -> Floats:
    """Factors by which variances may differ from their estimates: arms with the same estimate share
    one variance.
    """
    _, group = np.unique(believed, return_inverse=True)
    degrees = np.bincount(group, np.maximum(n - 1.0, 0.0)) + 2.0
    first = np.unique(group, return_index=True)[1]
    factor = np.empty((draws, degrees.size))
    for g in np.argsort(first):  # in the order of the arms
        factor[:, g] = degrees[g] / rng.chisquare(degrees[g], draws)
    return factor[:, group]


def chance(problem: Problem, game: Game, seen: Seen, best: Floats) -> float | None:
    """That `best` is the best answer; None while an arm that matters has no value. For two arms
    with a known sigma in closed form, else from draws with a fixed seed.
    """
    needed = vector(problem.answers.deciding(), problem.d) > 0.5
    if (seen.counts[needed] == 0.0).any():
        return None
    variance = variances(problem, seen, game.rewards)
    if not np.isfinite(variance).all():
        return None
    free = np.isinf(problem.low).all() and np.isinf(problem.high).all()
    normal = License.GAUSSIAN in claimed(problem.rewards)
    plain = isinstance(problem.answers, Arms) and problem.rewards.known and normal
    if problem.d == 2 and plain and free:
        lead = float((2.0 * best - 1.0) @ seen.mean)
        return 0.5 * math.erfc(-lead / math.sqrt(2.0 * float((variance / seen.counts).sum())))
    draws = max(min(DRAWS, EFFORT // problem.d), LEAST)
    rng, filled = np.random.default_rng(0), seen._replace(counts=np.maximum(seen.counts, 1e-9))
    means, _ = posterior(problem, filled, game.rewards, rng, draws)
    if isinstance(problem.answers, Arms):
        return float((means.argmax(axis=1) == int(best.argmax())).mean())
    trial, hits = np.zeros(problem.d), 0
    with own_errors():
        for one in means:
            game.answers.argmax(one, trial)
            hits += bool((trial == best).all())
    return hits / draws
