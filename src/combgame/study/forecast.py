"""Rounds still to come: a heuristic, from what would explain the data.

Means are drawn from what a flat prior makes of the data (`theory.chance`), and with each of them
the values to come; from now on arms are played as is best for the estimates. A path stops where the
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
PATHS, TIMES = 400, 120
FARTHEST = 300.0  # times as many rounds as were played: what lasts longer is not forecast
RANGE = (0.1, 0.9)  # the quantiles of the paths between which the range lies


def forecast(
    advisor: Advisor, rivals: Sequence[Any], epsilon: float | None = None
) -> tuple[int, int] | None:
    """At least and at most so many rounds, in 80 % of the cases; None while there is too little
    data to say. rivals: the nearest, as the status has them; epsilon: if that were enough.
    """
    left = lengths(advisor, rivals, epsilon)
    if left is None:
        return None
    low, high = np.quantile(left, RANGE, method="nearest")
    return (int(low), max(int(high), int(low) + 1)) if high < math.inf else None


def lengths(advisor: Advisor, rivals: Sequence[Any], epsilon: float | None = None) -> Floats | None:
    """float64[paths]: the rounds still to come, of each path; infinity: more than can be said."""
    seen, side, problem = advisor.ledger.seen, advisor.told, advisor.setting.problem
    enough = advisor.setting.epsilon if epsilon is None else epsilon
    now, largest = max(float(seen.clock[0]), 1.0), problem.answers.largest()
    if not rivals or (seen.counts[advisor.needed] < 2.0).any():
        return None
    variance = variances(problem, seen, side.game.rewards)
    rate = _rate(problem, seen, variance, now)
    if rate is None or not np.isfinite(variance).all():
        return None
    answers = np.array([side.view.best, *(vector(one.answer, problem.d) for one in rivals)])
    arms = np.flatnonzero((answers != answers[0]).any(axis=0))
    # in an order of the values: numbers mean nothing
    order = order_of(problem, seen.mean, seen.counts, seen.squares)
    arms = order[np.isin(order, arms)]
    later = np.unique(np.ceil(np.geomspace(1.0, FARTHEST * now, TIMES)))
    counts = _counts(seen.counts, rate, now, later)[:, arms]
    rng = np.random.default_rng(1)
    means, spreads = posterior(problem, seen, side.game.rewards, rng, PATHS)
    paths = _paths(
        seen.counts[arms], seen.mean[arms], means[:, arms], spreads[:, arms], counts, rng
    )
    level = float(side.game.judge.level(int(now), 0))
    lifted = seen.mean[arms] + advisor.setting.epsilon / largest * answers[0, arms]
    n, blurred = seen.counts[arms], variance[arms]
    off = [
        _beyond(answers[0, arms], rival, lifted, n, blurred, level + one.evidence - one.threshold)
        for one, rival in zip(rivals, answers[1:, arms], strict=True)
    ]
    ends = _ends(answers[:, arms], paths, counts, blurred, off, level, enough / largest)
    return np.where(ends < later.size, later[np.minimum(ends, later.size - 1)], math.inf)


def _rate(problem: Problem, seen: Any, variance: Floats, now: float) -> Floats | None:
    """Values of each arm per round, as is best for the estimates."""
    if problem.d > MANY:
        return np.asarray(seen.counts / now)
    rewards = problem.rewards
    if not rewards.known:
        rewards = Gaussian(np.sqrt(variance).tolist())
    try:
        asked = Problem(
            problem.actions,
            problem.answers,
            rewards,
            problem.names,
            problem.bounds,
        )
        return complexity(asked, seen.feasible, tolerance=5e-2, steps=50).allocation
    except CombGameError:
        return None  # two answers that lead alike


def _counts(counts: Floats, rate: Floats, now: float, later: Floats) -> Floats:
    """float64[times, d]: values per arm then. What an arm has beyond its share is not asked for
    again until the others have caught up.
    """
    lack = np.maximum((now + later)[:, None] * rate - counts, 0.0)
    room = (later * rate.sum())[:, None]
    return np.asarray(
        counts + lack * np.minimum(room / np.maximum(lack.sum(1), 1e-9)[:, None], 1.0)
    )


def _paths(
    n: Floats, mean: Floats, truth: Floats, variance: Floats, counts: Floats, rng: Any
) -> Floats:
    """float64[paths, times, arms]: the means of the arms as they would be seen."""
    grown = np.diff(counts, axis=0, prepend=n[None, :])
    grown = np.maximum(grown, 0.0)[None, :, :]
    noise = rng.standard_normal((len(truth), *counts.shape))
    new = truth[:, None, :] * grown + np.sqrt(variance[:, None, :] * grown) * noise
    return np.asarray((n * mean + np.cumsum(new, axis=1)) / (n + np.cumsum(grown, axis=1)))


def _apart(best: Floats, rival: Floats) -> tuple[Floats, Floats]:
    """The arms that only the one has, and those that only the other has."""
    return np.where(best > rival, 1.0, 0.0), np.where(rival > best, 1.0, 0.0)


def _scales(
    ours: Floats, theirs: Floats, variance: Floats, counts: Floats
) -> tuple[Floats, Floats]:
    """Per time and scale of the mixture of Theorem 1: the blur of a lead at these counts
    (float64[times, arms]), and its fee, one-sided. ours, theirs: the arms that only one answer has.
    """
    either, one_sided = ours + theirs, math.log(2.0) * (ours.any() + theirs.any())
    blurs, fees = [], []
    for c, e, _, _, chance in SCALES:
        prior = np.where(ours > 0.5, c, e)
        blurs.append((either * variance * (counts + prior) / counts**2).sum(axis=1))
        fee = (either * 0.5 * np.log1p(counts / prior)).sum(axis=1)
        fees.append(fee - math.log(chance) - one_sided)
    return np.array(blurs).T, np.array(fees).T


def _needed(blur: Floats, fee: Floats, level: float) -> Floats:
    """float64[times]: the lead at which the mixture reaches a level."""
    low: Floats = np.zeros(len(blur))
    high: Floats = np.sqrt(2.0 * blur * np.maximum(level + fee, 0.0)).min(axis=1)
    for _ in range(30):
        middle = 0.5 * (low + high)
        value = np.logaddexp.reduce(0.5 * middle[:, None] ** 2 / blur - fee, axis=1)
        low, high = np.where(value > level, low, middle), np.where(value > level, middle, high)
    return high


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
        leads = leader == i
        for j, rival in enumerate(answers):
            if j == i or not leads.any():
                continue
            ours, theirs = _apart(best, rival)
            more = off[max(i, j) - 1] if min(i, j) == 0 else 0.0
            needed = _needed(*_scales(ours, theirs, variance, counts), level - more)
            lead = scores[:, :, i] - scores[:, :, j] + lift * ours.sum()
            leads &= lead > needed
        passed |= leads
    return np.where(passed.any(axis=1), passed.argmax(axis=1), passed.shape[1])


def _beyond(
    best: Floats, rival: Floats, mean: Floats, counts: Floats, variance: Floats, exact: float
) -> float:
    """What the judge's evidence against a rival is now beyond that of the mixture, at most 3."""
    ours, theirs = _apart(best, rival)
    blur, fee = _scales(ours, theirs, variance, counts[None, :])
    present = float(np.logaddexp.reduce(0.5 * ((best - rival) @ mean) ** 2 / blur[0] - fee[0]))
    return min(max(exact - present, -3.0), 3.0)
