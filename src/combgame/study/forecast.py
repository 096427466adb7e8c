"""Rounds still to come: a heuristic, from what would explain the data.

Means are drawn from what a flat prior makes of the data (`theory.chance`), and with each of them
the values to come; from now on arms are played as suits these means. A path stops where the
mixture of Theorem 1 (docs/thresholds.md), moved by what the judge's own evidence differs from it
now, passes the threshold against the nearest rivals. The range has the middle 80 % of the paths:
the more is known, the narrower it is.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import CombGameError
from ..game.records import Floats, vector
from ..problem import Problem
from ..rewards import Gaussian
from ..stopping.mixture import SCALES
from ..theory.chance import posterior, variances
from ..theory.complexity import complexity, order_of
from .advisor import Advisor

MANY = 300  # arms; with more, they are taken to be played as they were so far
PATHS, TIMES = 200, 80
FARTHEST = 300.0  # times as many rounds as were played: what lasts longer is not forecast
RANGE = (0.06, 0.87)  # quantiles of the paths: real studies end a little sooner than paths do


def forecast(
    advisor: Advisor, rivals: Sequence[Any], epsilons: Sequence[float]
) -> list[tuple[int, int] | None]:
    """At least and at most so many rounds, in 80 % of the cases, if an answer within each of these
    epsilons will do; None while there is too little data to say. rivals: the nearest, as the status
    has them.
    """
    made: list[tuple[int, int] | None] = []
    for left in lengths(advisor, rivals, epsilons) or [np.full(1, math.inf)] * len(epsilons):
        low, high = np.quantile(left, RANGE, method="nearest")
        made.append((int(low), max(int(high), int(low) + 1)) if high < math.inf else None)
    return made


CLEAR = 2.5  # the lead in standard errors, below which `along` would be a guess


def along(advisor: Advisor) -> tuple[int, int] | None:
    """The same where rounds have levels, if the evidence grows as it did so far and the lead is 1.3
    standard errors more or less: rounds go with 1/lead^2.
    """
    seen, judge = advisor.ledger.seen, advisor.told.game.judge
    ratio = advisor.within_rounds(advisor.told.view.rival)
    lead, now = math.sqrt(2.0 * max(ratio, 0.0)), float(seen.clock[0])
    if not CLEAR <= lead < math.inf:
        return None
    end = now * (judge.level(int(now), 0) + ratio - advisor.named()) / ratio
    ends = [end / (1.0 + sign * 1.3 / lead) ** 2 - now for sign in (1.0, -1.0)]
    low = max(int(ends[0]), 1)
    return low, max(math.ceil(ends[1]), low + 1)


def lengths(
    advisor: Advisor, rivals: Sequence[Any], epsilons: Sequence[float]
) -> list[Floats] | None:
    """float64[paths] for each epsilon: the rounds still to come; infinity: more than can be
    said.
    """
    seen, side, problem = advisor.ledger.seen, advisor.told, advisor.problem
    now, largest = max(float(seen.clock[0]), 1.0), problem.answers.largest()
    if not rivals or (seen.counts[advisor.needed] < 2.0).any():
        return None
    variance = variances(problem, seen, side.game.rewards)
    if not np.isfinite(variance).all():
        return None
    answers = np.array([side.view.best, *(vector(one.answer, problem.d) for one in rivals)])
    arms = np.flatnonzero((answers != answers[0]).any(axis=0))
    # in an order of the values: numbers mean nothing
    order = order_of(problem, seen.mean, seen.counts, seen.squares)
    arms = order[np.isin(order, arms)]
    later = np.unique(np.ceil(np.geomspace(1.0, FARTHEST * now, TIMES)))
    rng = np.random.default_rng(1)
    means, spreads = posterior(problem, seen, side.game.rewards, rng, PATHS)
    rate = _rates(problem, seen.counts, means, variance, now)
    if rate is None:
        return None
    counts = _counts(seen.counts, rate, now, later)[:, :, arms]
    n, blurred, mean = seen.counts[arms], variance[arms], seen.mean[arms]
    paths = _paths(n, mean, means[:, arms], spreads[:, arms], counts, rng)
    level = float(side.game.judge.level(int(now), 0))
    lifted = mean + advisor.setting.epsilon / largest * answers[0, arms]
    off = [
        _beyond(answers[0, arms], rival, lifted, n, blurred, level + one.evidence - one.threshold)
        for one, rival in zip(rivals, answers[1:, arms], strict=True)
    ]
    ends = [
        _ends(answers[:, arms], paths, counts, blurred, off, level, epsilon / largest)
        for epsilon in epsilons
    ]
    return [np.append(later, math.inf)[one] for one in ends]


def _rates(
    problem: Problem, counts: Floats, means: Floats, variance: Floats, now: float
) -> Floats | None:
    """float64[paths, d]: values of each arm per round. For single arms and sets of some size, an
    arm is played the more, the nearer it is to the border between the best and the others, as far
    as that can be known; elsewhere as is best for the means of most paths, or as so far.
    """
    sizes = {"Arms": 1, "Subsets": getattr(problem.answers, "size", 1)}
    kind = type(problem.answers).__name__
    if kind in sizes and type(problem.actions).__name__ in sizes:
        m = problem.answers.largest()
        ranked = np.sort(means, axis=1)
        above, below = ranked[:, -m, None], ranked[:, -m - 1, None]
        gap = np.where(means >= above, means - below, above - means)
        want = variance / (gap**2 + variance / counts)
        return _filled(want, float(problem.actions.largest()))
    if problem.d > MANY:
        return np.broadcast_to(counts / now, means.shape)
    rewards = problem.rewards if problem.rewards.known else Gaussian(np.sqrt(variance).tolist())
    try:
        asked = Problem(problem.actions, problem.answers, rewards, problem.names, problem.bounds)
        best = complexity(asked, means.mean(axis=0), tolerance=5e-2, steps=50).allocation
    except CombGameError:
        return None  # two answers that lead alike
    return np.broadcast_to(best, means.shape)


def _filled(want: Floats, size: float) -> Floats:
    """Shares in proportion to `want`, at most 1 each, that add up to `size` in each row."""
    share = np.zeros_like(want)
    for _ in range(20):
        open_ = share < 1.0
        room = size - np.where(open_, 0.0, share).sum(axis=1, keepdims=True)
        total = np.where(open_, want, 0.0).sum(axis=1, keepdims=True)
        share = np.where(open_, np.minimum(want * room / np.maximum(total, 1e-300), 1.0), share)
    return share


def _counts(counts: Floats, rate: Floats, now: float, later: Floats) -> Floats:
    """float64[paths, times, d]: values per arm then. What an arm has beyond its share is not asked
    for again until the others have caught up.
    """
    lack = np.maximum((now + later)[None, :, None] * rate[:, None, :] - counts, 0.0)
    room = later * rate.sum(axis=1)[:, None]
    part = np.minimum(room / np.maximum(lack.sum(axis=2), 1e-9), 1.0)
    return np.asarray(counts + lack * part[:, :, None])


def _paths(
    n: Floats, mean: Floats, truth: Floats, variance: Floats, counts: Floats, rng: Any
) -> Floats:
    """float64[paths, times, arms]: the means of the arms as they would be seen."""
    before = np.concatenate([np.broadcast_to(n, (len(counts), 1, n.size)), counts[:, :-1]], axis=1)
    grown = np.maximum(counts - before, 0.0)
    noise = rng.standard_normal(counts.shape)
    new = truth[:, None, :] * grown + np.sqrt(variance[:, None, :] * grown) * noise
    return np.asarray((n * mean + np.cumsum(new, axis=1)) / (n + np.cumsum(grown, axis=1)))


def _apart(best: Floats, rival: Floats) -> tuple[Floats, Floats]:
    """The arms that only the one has, and those that only the other has."""
    return np.where(best > rival, 1.0, 0.0), np.where(rival > best, 1.0, 0.0)


def _mixture(
    lead: Floats, ours: Floats, theirs: Floats, variance: Floats, counts: Floats
) -> Floats:
    """The mixture of Theorem 1, one-sided, for a lead at these counts (float64[..., arms]). ours,
    theirs: the arms that only one of two answers has.
    """
    arms = np.flatnonzero(ours + theirs)
    n, spread, mine = counts[..., arms], variance[arms], ours[arms] > 0.5
    total = np.full(lead.shape, -math.inf)
    for c, e, _, _, chance in SCALES:
        prior = np.where(mine, c, e)
        blur = (spread * (n + prior) / n**2).sum(axis=-1)
        fee = 0.5 * np.log(np.prod(1.0 + n / prior, axis=-1))
        total = np.maximum(total, 0.5 * lead**2 / blur - fee + math.log(chance))
    return np.asarray(total + math.log(2.0) * (ours.any() + theirs.any()))


def _ends(
    answers: Floats,
    paths: Floats,
    counts: Floats,
    variance: Floats,
    off: Sequence[float],
    level: float,
    lift: float,
) -> Any:
    """int[paths]: at which of the times a path stops; the number of times: it does not. off: what
    the judge's evidence is beyond that of the mixture, for the leader against each rival.
    """
    scores = paths @ answers.T  # float64[paths, times, answers]
    leader = scores.argmax(axis=2)
    passed = np.zeros(leader.shape, dtype=bool)
    for i, best in enumerate(answers):
        where = np.nonzero(leader == i)
        for j, rival in enumerate(answers):
            if j != i and where[0].size:
                ours, theirs = _apart(best, rival)
                lead = scores[(*where, i)] - scores[(*where, j)] + lift * ours.sum()
                more = off[max(i, j) - 1] if min(i, j) == 0 else 0.0
                value = _mixture(lead, ours, theirs, variance, counts[where])
                enough = value + more > level
                where = (where[0][enough], where[1][enough])
        passed[where] = True
    return np.where(passed.any(axis=1), passed.argmax(axis=1), passed.shape[1])


def _beyond(
    best: Floats, rival: Floats, mean: Floats, counts: Floats, variance: Floats, exact: float
) -> float:
    """What the judge's evidence against a rival is now beyond that of the mixture, at most 3."""
    ours, theirs = _apart(best, rival)
    lead = np.array((best - rival) @ mean)
    return min(max(exact - float(_mixture(lead, ours, theirs, variance, counts)), -3.0), 3.0)
