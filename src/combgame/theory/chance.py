"""A heuristic: the chance that an answer is the best, if the means were thought before the data to
be normal about some value, with some spread.

It is what many people mean by "how sure are we", and no confidence: it takes a prior for true, and
knows nothing of how often one has looked. All means equally likely, a flat prior, would be simpler;
but among many arms that are nearly alike the one that looks best is hardly ever the best, and a
flat prior does not know that they are alike. So their spread tau is drawn from what the data say of
it, p(tau) being flat, and given tau the means are shrunk towards each other (Gelman et al.,
*Bayesian Data Analysis*, 3rd ed. 2013, section 5.4). Of two arms nothing can be said of tau, and
the prior is flat. `benchmarks/chance.py` compares what is stated with what is true.
"""

import math
from typing import Any

import numpy as np

from ..game.callback import own_errors
from ..game.protocols import Game, Rewards
from ..game.records import Floats, Ints, Random, Seen, vector
from ..problem import Problem
from ..rewards import License
from ..rewards.base import claimed, spread_of
from ..rewards.gaussian import LEAN
from ..structures import Arms
from ..structures.together import exchangeable
from .complexity import order_of

DRAWS, EFFORT = 4000, 200_000  # of means, at most; and times the number of arms
LEAST = 400
GRID, NARROW, WIDE = 60, 1e-2, 30.0  # spreads of the means, in units of what was seen


def variances(problem: Problem, seen: Seen, rewards: Rewards) -> Floats:
    """Of one value of each arm, as far as is known: stated, or estimated."""
    if not problem.rewards.known:
        believed: Floats = rewards.spreads.believed  # type: ignore[attr-defined]
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
                variance *= _scaled(variance[0], n, rng, draws, LEAN)
            drawn = mean + np.sqrt(variance / n) * rng.standard_normal((draws, problem.d))
    means, spreads = np.empty_like(drawn), np.empty_like(drawn)
    means[:, order] = np.clip(drawn, np.array(problem.low)[order], np.array(problem.high)[order])
    spreads[:, order] = variance
    return means, spreads


def _lean(problem: Problem) -> float:
    """Values as if by which an estimated variance is pulled to that of other arms."""
    return 0.0 if problem.rewards.pooled else LEAN


def _scaled(believed: Floats, n: Floats, rng: Random, draws: int, lean: float) -> Floats:
    """Factors by which variances may differ from their estimates: arms with the same estimate share
    one variance. lean: degrees of freedom that it has beside those of its values.
    """
    _, group = np.unique(believed, return_inverse=True)
    degrees = np.bincount(group, np.maximum(n - 1.0, 0.0)) + lean
    first = np.unique(group, return_index=True)[1]
    factor = np.empty((draws, degrees.size))
    for g in np.argsort(first):  # in the order of the arms
        factor[:, g] = degrees[g] / rng.chisquare(degrees[g], draws)
    return factor[:, group]


def chance(problem: Problem, game: Game, seen: Seen, best: Floats) -> float | None:
    """That `best` is the best answer; None while too little is known to say: an arm that matters
    has no value, nothing tells of an unknown sigma, or, where plays have levels, arms that could be
    exchanged are not joined by complete blocks. For two arms with a known sigma in closed form,
    else from draws with a fixed seed.
    """
    needed = vector(problem.answers.deciding(), problem.d) > 0.5
    if (seen.counts[needed] == 0.0).any():
        return None
    variance = variances(problem, seen, game.rewards)
    if not np.isfinite(variance).all() or not told_of_sigma(problem, seen):
        return None
    levels = problem.rewards.levels()
    if levels and not joined(problem, seen):
        return None
    free = np.isinf(problem.low).all() and np.isinf(problem.high).all()
    normal = License.GAUSSIAN in claimed(problem.rewards)
    plain = isinstance(problem.answers, Arms) and problem.rewards.known and normal
    if problem.d == 2 and plain and free:
        lead = float((2.0 * best - 1.0) @ seen.mean)
        return 0.5 * math.erfc(-lead / math.sqrt(2.0 * float((variance / seen.counts).sum())))
    draws = max(min(DRAWS, EFFORT // problem.d), LEAST)
    order = order_of(problem, seen.mean, seen.counts, seen.squares)
    make = _within if levels else _shrunk
    means = make(problem, seen, variance, order, np.random.default_rng(0), draws)
    if isinstance(problem.answers, Arms):
        return float((means.argmax(axis=1) == int(best.argmax())).mean())
    trial, hits = np.zeros(problem.d), 0
    with own_errors():
        for one in means:
            game.answers.argmax(one, trial)
            hits += bool((trial == best).all())
    return hits / draws


def told_of_sigma(problem: Problem, seen: Seen) -> bool:
    """Whether some value tells of sigma, if it is not known."""
    if problem.rewards.known:
        return True
    if problem.rewards.levels():
        return bool(seen.blocks.noise[:, 0].max() > 0.0)
    if problem.rewards.pooled and seen.start[0]:
        return False  # a part of the start tells nothing
    return bool((seen.counts > 1.0).any())


def joined(problem: Problem, seen: Seen) -> bool:
    """Whether complete blocks join all arms that could be exchanged for each other."""
    blocks = seen.blocks
    return blocks.done[0] > 0 and all(
        bool((blocks.piece[list(arms)] == blocks.piece[arms[0]]).all())
        for arms in exchangeable(problem.answers)
    )


def _shrunk(
    problem: Problem, seen: Seen, variance: Floats, order: Ints, rng: Random, draws: int
) -> Floats:
    """float64[draws, d]: means that would explain what was seen."""
    n, mean, own = seen.counts[order], seen.mean[order], variance[order]
    blur = np.where(n > 0.0, own / np.maximum(n, 1.0), math.inf)
    if License.BINARY in claimed(problem.rewards):
        mean = (seen.sums[order] + 1.0) / (n + 2.0)
        blur = np.where(n > 0.0, mean * (1.0 - mean) / (n + 3.0), math.inf)
    factor: Any = 1.0
    if not problem.rewards.known:
        factor = _scaled(own, n, rng, draws, _lean(problem))
    drawn = _drawn(mean, blur, factor, True, rng, draws)
    means = np.empty_like(drawn)
    means[:, order] = np.clip(drawn, np.array(problem.low)[order], np.array(problem.high)[order])
    return means


def _within(
    problem: Problem, seen: Seen, variance: Floats, order: Ints, rng: Random, draws: int
) -> Floats:
    """The same where plays have levels: what the least squares of all complete blocks say of
    differences, in directions in which they are independent. A prior that is alike for all arms is
    alike in these.
    """
    blocks, d = seen.blocks, order.size
    weights = blocks.joined[:, :-1][np.ix_(order, order)]
    values, vectors = np.linalg.eigh(np.diag(weights.sum(axis=1)) - weights)
    told = values > 1e-9 * values[-1]  # but for the means of arms that are joined
    unit, factor = 1.0, np.ones((draws, 1))
    if not problem.rewards.known:
        after = int(blocks.noise[1, 0] > 0.5 * blocks.noise[0, 0])  # as `Blocks.variance` has it
        degrees = float(blocks.noise[after, 0])
        unit, factor = blocks.variance(), degrees / rng.chisquare(degrees, (draws, 1))
    along, blur = vectors[:, told], unit / values[told]
    drawn = _drawn(along.T @ seen.mean[order], blur, factor, False, rng, draws)
    rest = vectors[:, ~told] @ (vectors[:, ~told].T @ seen.mean[order])
    means = np.empty((draws, d))
    means[:, order] = rest + drawn @ along.T
    return means


def _drawn(x: Floats, blur: Floats, factor: Any, about: bool, rng: Random, draws: int) -> Floats:
    """float64[draws, len(x)]: means of x with variances blur times factor, if they are normal
    about an unknown value (or, not `about`, about 0) with a spread that is drawn from what x says
    of it.
    """
    noise, told = rng.standard_normal((draws, x.size)), np.isfinite(blur)
    scale = math.sqrt(blur[told].max()) + float(np.ptp(x[told]))
    if told.sum() < 2 + about or not scale > 0.0:  # nothing tells of a spread
        return np.asarray(x + np.sqrt(blur * factor) * noise)
    seen, own = x[told], blur[told]
    tau = scale * np.geomspace(NARROW, WIDE, GRID)
    weight = 1.0 / (tau[:, None] ** 2 + own)
    total = weight.sum(axis=1)
    middle = weight @ seen / total if about else np.zeros(GRID)
    log = np.log(tau / scale) + 0.5 * np.log(weight * scale**2).sum(axis=1)
    log -= 0.5 * (weight * (seen - middle[:, None]) ** 2).sum(axis=1)
    log -= 0.5 * about * np.log(total * scale**2)
    odds = np.exp(log - log.max())
    at = rng.choice(GRID, draws, p=odds / odds.sum())
    centre = (middle[at] + about * rng.standard_normal(draws) / np.sqrt(total[at]))[:, None]
    square = tau[at, None] ** 2
    share = square / (square + blur * factor)  # of what was seen; the rest is the centre's
    return np.asarray(share * x + (1.0 - share) * centre + np.sqrt((1.0 - share) * square) * noise)
