"""Forecasts of the number of rounds still to come: a heuristic.

Means are drawn from their posterior under a flat prior (`theory.confidence`), and with each draw
the values to come. From now on, arms are played as suits these means. A path stops when the mixture
of Theorem 1 (docs/thresholds.md) passes the threshold against the nearest rivals, after a
correction by the present difference from the evidence of the stopping rule. If answers are sets,
every arm has a one-sided mixture of its own, and every rival its share of delta; the present
difference mostly vanishes until the end of the run. The range contains the middle 80% of the paths,
and gets narrower as more is known.
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

MANY = 300  # arms; with more, the rates of playing are assumed to stay as they were
PATHS, TIMES = 200, 80
FARTHEST = 300.0  # largest forecast, as a multiple of the rounds so far
LATER = 0.3  # sets: the most by which evidence at the end is below the forecast
UNHEARD = 50.0  # sets: log shares of rivals that are never ruled out are at least -UNHEARD
RANGE = (0.06, 0.87)  # quantiles of the paths; studies end a little sooner than paths


def forecast_rounds(
    state: StudyState, rivals: Sequence[Any], epsilons: Sequence[float]
) -> list[tuple[int, int] | None]:
    """Return a range for the remaining rounds for each tolerance, which holds in 80% of the cases.

    Parameters
    ----------
    state : StudyState
        State of the study.
    rivals : sequence of Rival
        The nearest rivals, as in the status.
    epsilons : sequence of float
        Tolerances.

    Returns
    -------
    list of (int, int) or None
        One range per tolerance; None if there is too little data.
    """
    made: list[tuple[int, int] | None] = []
    for left in simulate_remaining(state, rivals, epsilons) or [np.full(1, math.inf)] * len(
        epsilons
    ):
        low, high = np.quantile(left, RANGE, method="nearest")
        made.append((int(low), max(int(high), int(low) + 1)) if high < math.inf else None)
    return made


CLEAR = 2.5  # lead in standard errors, below which `forecast_with_batches` would be a guess


def forecast_with_batches(state: StudyState) -> tuple[int, int] | None:
    """Return a range for the remaining rounds with batch effects; None with too little data.

    The evidence is assumed to grow as before, with a lead of 1.3 standard errors more or less: the
    number of rounds is proportional to 1/lead^2.
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
    """Return the remaining rounds of simulated paths, one array of shape (paths,) per tolerance.

    Infinity stands for more rounds than can be forecast. The result is None if there is too little
    data.
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
    # in an order of the values: the indices of arms are arbitrary
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
    """Return the number of values of each arm per round, of shape (paths, d).

    For single arms and for sets of a fixed size, an arm is played more often the nearer it is to
    the border between the best arms and the others, as far as the border can be known. For other
    answers that differ by exchanges, the rates are optimal for the means of most paths. Otherwise
    they are those so far: the asymptotically optimal rates omit arms with few values, and a rule
    does not.
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
        return None  # two answers are tied
    return np.broadcast_to(best, means.shape)


def _filled(want: Floats, size: float) -> Floats:
    """Return shares in proportion to ``want``, at most 1 each, with row sums ``size``."""
    share = np.zeros_like(want)
    for _ in range(20):
        open_ = share < 1.0
        room = size - np.where(open_, 0.0, share).sum(axis=1, keepdims=True)
        total = np.where(open_, want, 0.0).sum(axis=1, keepdims=True)
        share = np.where(open_, np.minimum(want * room / np.maximum(total, 1e-300), 1.0), share)
    return share


def _counts(counts: Floats, rate: Floats, now: float, later: Floats) -> Floats:
    """Return the number of values per arm at later times, of shape (paths, times, d).

    An arm that has more than its share is not played again until the others have caught up.
    """
    lack = np.maximum((now + later)[None, :, None] * rate[:, None, :] - counts, 0.0)
    room = later * rate.sum(axis=1)[:, None]
    part = np.minimum(room / np.maximum(lack.sum(axis=2), 1e-9), 1.0)
    return np.asarray(counts + lack * part[:, :, None])


def _paths(
    n: Floats, mean: Floats, truth: Floats, variance: Floats, counts: Floats, rng: Any
) -> Floats:
    """Return the means of the arms that will be observed, of shape (paths, times, arms)."""
    before = np.concatenate([np.broadcast_to(n, (len(counts), 1, n.size)), counts[:, :-1]], axis=1)
    grown = np.maximum(counts - before, 0.0)
    noise = rng.standard_normal(counts.shape)
    new = truth[:, None, :] * grown + np.sqrt(variance[:, None, :] * grown) * noise
    return np.asarray((n * mean + np.cumsum(new, axis=1)) / (n + np.cumsum(grown, axis=1)))


def _odds(stopping_kernel: Any, answers: Floats) -> Floats | None:
    """Return the logarithms of the rivals' shares of delta, of shape (answers, answers).

    The result is None for a stopping rule that has no shares.
    """
    rivals = getattr(stopping_kernel, "rivals", None)
    if rivals is None:
        return None
    made = [[0.0 if i is j else float(rivals.log_weight(i, j)) for j in answers] for i in answers]
    shares: Floats = np.maximum(np.array(made), -UNHEARD)
    return shares


class _Pairs(NamedTuple):
    """All pairs of some answers, on the arms in which they differ.

    Attributes
    ----------
    answers : ndarray of shape (answers, arms)
        Indicator vectors.
    variance : ndarray of shape (arms,)
        Variances of the values.
    odds : ndarray of shape (answers, answers), or None
        Result of `_odds`.
    """

    answers: Floats
    variance: Floats
    odds: Floats | None

    def evidence(self, i: int, j: int, lead: Floats, counts: Floats) -> Floats:
        """Return an approximation of the evidence for a lead of answer i over answer j.

        ``counts`` has the shape (..., arms).
        """
        best, rival = self.answers[i], self.answers[j]
        arms = np.flatnonzero(best != rival)
        n, spread, mine = counts[..., arms], self.variance[arms], best[arms] > rival[arms]
        if self.odds is None:
            return _mixture(lead, mine, spread, n)
        return _one_sided(lead, mine, spread, n) + float(self.odds[i, j])

    def beyond(self, mean: Floats, counts: Floats, exact: Sequence[float]) -> Floats:
        """Return the rule's evidence minus its approximation, of shape (answers, answers).

        Only differences between the leader and its rivals are computed; they are clipped.
        """
        off, leads = np.zeros((len(self.answers),) * 2), (self.answers[0] - self.answers) @ mean
        for j, value in enumerate(exact, 1):
            more = value - float(self.evidence(0, j, np.array(leads[j]), counts))
            off[0, j] = off[j, 0] = min(max(more, -3.0 if self.odds is None else -LATER), 3.0)
        return off


def _mixture(lead: Floats, mine: Any, spread: Floats, n: Floats) -> Floats:
    """Return the one-sided mixture of Theorem 1 for the arms in which two answers differ.

    ``mine`` marks those of them that the leader has, and ``n`` has the shape (..., arms).
    """
    total = np.full(lead.shape, -math.inf)
    for c, e, _, _, chance in SCALES:
        prior = np.where(mine, c, e)
        blur = (spread * (n + prior) / n**2).sum(axis=-1)
        fee = 0.5 * np.log(np.prod(1.0 + n / prior, axis=-1))
        total = np.maximum(total, 0.5 * lead**2 / blur - fee + math.log(chance))
    return np.asarray(total + math.log(2.0) * (bool(mine.any()) + bool((~mine).any())))


def _one_sided(lead: Floats, mine: Any, spread: Floats, n: Floats) -> Floats:
    """Return the one-sided mixture for answers that are sets (`stopping.weighing`).

    The mixture of every arm has one side, which gains ln(2 Phi(z)), where z is the arm's part of a
    positive lead in standard deviations.
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
    """Return the index of the time at which each path stops; the number of times if it does not.

    ``off`` is the result of `_Pairs.beyond`.
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
