"""Rounds still to come: a heuristic, from what would explain the data.

Means are drawn from what a flat prior makes of the data (`theory.chance`), and with each of them
the values to come; from now on arms are played as suits these means. A path stops where the
mixture of Theorem 1 (docs/thresholds.md), moved by what the judge's own evidence differs from it
now, passes the threshold against the nearest rivals. Where answers are sets, every arm has a
one-sided mixture of its own, and every rival its share of delta: what the judge's evidence differs
from that now is mostly gone when it ends. The range has the middle 80 % of the paths: the more is
known, the narrower it is.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf

from ..engine.state import Floats, vector
from ..errors import CombGameError
from ..problem import Problem
from ..rewards import Gaussian
from ..stopping.mixture import SCALES
from ..theory.complexity import complexity, order_of
from ..theory.confidence import posterior, variances
from .policy import StudyState

MANY = 300  # arms; with more, they are taken to be played as they were so far
PATHS, TIMES = 200, 80
FARTHEST = 300.0  # times as many rounds as were played: what lasts longer is not forecast
LATER = 0.3  # sets: by how much the judge's evidence is at most below what is forecast at the end
UNHEARD = 50.0  # sets: odds of rivals that are never ruled out are no less than -this
RANGE = (0.06, 0.87)  # quantiles of the paths: real studies end a little sooner than paths do


def forecast_rounds(
    state: StudyState, rivals: Sequence[Any], epsilons: Sequence[float]
) -> list[tuple[int, int] | None]:
    """At least and at most so many rounds, in 80 % of the cases, if an answer within each of these
    epsilons will do; None while there is too little data to say. rivals: the nearest, as the status
    has them.
    """
    made: list[tuple[int, int] | None] = []
    for left in simulate_remaining(state, rivals, epsilons) or [np.full(1, math.inf)] * len(
        epsilons
    ):
        low, high = np.quantile(left, RANGE, method="nearest")
        made.append((int(low), max(int(high), int(low) + 1)) if high < math.inf else None)
    return made


CLEAR = 2.5  # the lead in standard errors, below which `forecast_with_batches` would be a guess


def forecast_with_batches(state: StudyState) -> tuple[int, int] | None:
    """The same where rounds have levels, if the evidence grows as it did so far and the lead is 1.3
    standard errors more or less: rounds go with 1/lead^2.
    """
    stats, stopping_kernel = state.history.stats, state.monitor.told.kernel.stopping
    ratio = state.monitor.within_rounds(state.monitor.told.state.rival)
    lead, now = math.sqrt(2.0 * max(ratio, 0.0)), float(stats.n_rounds[0])
    if not CLEAR <= lead < math.inf:
        return None
    end = (
        now * (stopping_kernel.critical_value(int(now), 0) + ratio - state.monitor.named()) / ratio
    )
    ends = [end / (1.0 + sign * 1.3 / lead) ** 2 - now for sign in (1.0, -1.0)]
    low = max(int(ends[0]), 1)
    return low, max(math.ceil(ends[1]), low + 1)


def simulate_remaining(
    state: StudyState, rivals: Sequence[Any], epsilons: Sequence[float]
) -> list[Floats] | None:
    """float64[paths] for each epsilon: the rounds still to come; infinity: more than can be
    said.
    """
    stats, side, problem = state.history.stats, state.monitor.told, state.problem
    now, largest = max(float(stats.n_rounds[0]), 1.0), problem.answers.max_size()
    if not rivals or (stats.counts[state.monitor.needed] < 2.0).any():
        return None
    variance = variances(problem, stats, side.kernel.rewards)
    if not np.isfinite(variance).all():
        return None
    answers = np.array([side.state.leader, *(vector(one.answer, problem.d) for one in rivals)])
    arms = np.flatnonzero((answers != answers[0]).any(axis=0))
    # in an order of the values: numbers mean nothing
    order = order_of(problem, stats.mean, stats.counts, stats.squares)
    arms = order[np.isin(order, arms)]
    later = np.unique(np.ceil(np.geomspace(1.0, FARTHEST * now, TIMES)))
    rng = np.random.default_rng(1)
    means, spreads = posterior(problem, stats, side.kernel.rewards, rng, PATHS)
    rate = _rates(problem, stats.counts, means, variance, now)
    if rate is None:
        return None
    counts = _counts(stats.counts, rate, now, later)[:, :, arms]
    n, blurred, mean = stats.counts[arms], variance[arms], stats.mean[arms]
    paths = _paths(n, mean, means[:, arms], spreads[:, arms], counts, rng)
    level = float(side.kernel.stopping.critical_value(int(now), 0))
    lifted = mean + state.setting.epsilon / largest * answers[0, arms]
    exact = [level + one.evidence - one.threshold for one in rivals]
    spread = _Pairs(answers[:, arms], blurred, _odds(side.kernel.stopping, answers))
    off = spread.beyond(lifted, n, exact)
    ends = [
        _first_passage(spread, paths, counts, off, level, epsilon / largest) for epsilon in epsilons
    ]
    return [np.append(later, math.inf)[one] for one in ends]


def _rates(
    problem: Problem, counts: Floats, means: Floats, variance: Floats, now: float
) -> Floats | None:
    """float64[paths, d]: values of each arm per round. For single arms and sets of some size, an
    arm is played the more, the nearer it is to the border between the best and the others, as far
    as that can be known; where answers differ by exchanges otherwise, as is best for the means of
    most paths; elsewhere as so far, because what is best in the long run leaves out arms of which
    few values are known, and a rule does not.
    """
    sized = {"Arms", "Subsets"}
    if {type(problem.answers).__name__, type(problem.actions).__name__} <= sized:
        m = problem.answers.max_size()
        ranked = np.sort(means, axis=1)
        above, below = ranked[:, -m, None], ranked[:, -m - 1, None]
        gap = np.where(means >= above, means - below, above - means)
        want = variance / (gap**2 + variance / counts)
        return _filled(want, float(problem.actions.max_size()))
    if problem.d > MANY or not problem.answers.neighbourhood().is_swap:
        return np.broadcast_to(counts / now, means.shape)
    rewards = (
        problem.rewards if problem.rewards.variance_known else Gaussian(np.sqrt(variance).tolist())
    )
    try:
        asked = Problem(problem.actions, problem.answers, rewards, problem.names, problem.bounds)
        best = complexity(asked, means.mean(axis=0), tolerance=5e-2, steps=50).allocation
    except CombGameError:
        return None  # two answers that lead alike
    return np.broadcast_to(best, means.shape)


def _filled(want: Floats, size: float) -> Floats:
    """Shares in proportion to `want`, at most 1 each, that add up to `n_sets` in each row."""
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


def _odds(stopping_kernel: Any, answers: Floats) -> Floats | None:
    """float64[answers, answers]: ln of a rival's share of delta, where a judge of sets has shares;
    None: it has none.
    """
    rivals = getattr(stopping_kernel, "rivals", None)
    if rivals is None:
        return None
    made = [[0.0 if i is j else float(rivals.log_weight(i, j)) for j in answers] for i in answers]
    shares: Floats = np.maximum(np.array(made), -UNHEARD)
    return shares


class _Pairs(NamedTuple):
    """Every pair of some answers, over the arms in which they differ."""

    answers: Floats  # float64[answers, arms]
    variance: Floats
    odds: Floats | None  # see `_odds`

    def evidence(self, i: int, j: int, lead: Floats, counts: Floats) -> Floats:
        """About that of a judge for a lead of i over j at these counts (float64[..., arms])."""
        best, rival = self.answers[i], self.answers[j]
        arms = np.flatnonzero(best != rival)
        n, spread, mine = counts[..., arms], self.variance[arms], best[arms] > rival[arms]
        if self.odds is None:
            return _mixture(lead, mine, spread, n)
        return _one_sided(lead, mine, spread, n) + float(self.odds[i, j])

    def beyond(self, mean: Floats, counts: Floats, exact: Sequence[float]) -> Floats:
        """float64[answers, answers]: what the judge's evidence for the leader against each rival
        is now beyond that, within limits.
        """
        off, leads = np.zeros((len(self.answers),) * 2), (self.answers[0] - self.answers) @ mean
        for j, value in enumerate(exact, 1):
            more = value - float(self.evidence(0, j, np.array(leads[j]), counts))
            off[0, j] = off[j, 0] = min(max(more, -3.0 if self.odds is None else -LATER), 3.0)
        return off


def _mixture(lead: Floats, mine: Any, spread: Floats, n: Floats) -> Floats:
    """The mixture of Theorem 1, one-sided, for arms that only one of two answers has. mine: which
    of them the leader has; n: float64[..., arms].
    """
    total = np.full(lead.shape, -math.inf)
    for c, e, _, _, chance in SCALES:
        prior = np.where(mine, c, e)
        blur = (spread * (n + prior) / n**2).sum(axis=-1)
        fee = 0.5 * np.log(np.prod(1.0 + n / prior, axis=-1))
        total = np.maximum(total, 0.5 * lead**2 / blur - fee + math.log(chance))
    return np.asarray(total + math.log(2.0) * (bool(mine.any()) + bool((~mine).any())))


def _one_sided(lead: Floats, mine: Any, spread: Floats, n: Floats) -> Floats:
    """The same for sets (`stopping.weighing`): every arm's mixture has one side, which gains ln(2
    Phi(z)), z being its part of a positive lead, in standard deviations.
    """
    total, ahead = np.full(lead.shape, -math.inf), np.maximum(lead, 0.0)
    for c, e, first, second, chance in SCALES:
        prior, sided = np.where(mine, c, e), np.where(mine, first, second)
        width = spread * (n + prior) / n**2
        blur = width.sum(axis=-1)
        z = (ahead / blur)[..., None] * np.sqrt(width)
        gain = (sided * np.log1p(erf(z / math.sqrt(2.0)))).sum(axis=-1)
        fee = 0.5 * np.log(np.prod(1.0 + n / prior, axis=-1))
        total = np.logaddexp(total, 0.5 * ahead**2 / blur + gain - fee + math.log(chance))
    return np.asarray(total - math.log(2.0))  # the other half is `joint`


def _first_passage(
    pairs: _Pairs, paths: Floats, counts: Floats, off: Floats, level: float, lift: float
) -> Any:
    """int[paths]: at which of the times a path stops; the number of times: it does not. off: what
    the judge's evidence is beyond what pairs have.
    """
    answers = pairs.answers
    scores = paths @ answers.T  # float64[paths, times, answers]
    leader = scores.argmax(axis=2)
    passed = np.zeros(leader.shape, dtype=bool)
    for i, best in enumerate(answers):
        where = np.nonzero(leader == i)
        for j, rival in enumerate(answers):
            if j != i and where[0].size:
                lead = scores[(*where, i)] - scores[(*where, j)] + lift * (best > rival).sum()
                enough = pairs.evidence(i, j, lead, counts[where]) + off[i, j] > level
                where = (where[0][enough], where[1][enough])
        passed[where] = True
    return np.where(passed.any(axis=1), passed.argmax(axis=1), passed.shape[1])
