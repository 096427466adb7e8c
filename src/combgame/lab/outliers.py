r"""Outliers: a heuristic for people to look at, which has no influence on stopping.

**Values compared with those of the same arm.** The smallest and the largest value of each arm are
kept (`far`), each with the number of values of which it is the mean, and its round. Each is
compared with the mean of the arm's other values. Without errors, and for Gaussian values, some
value is named at a given look with probability at most `ALARM`, whatever the number N of values:

    sigma known      |x - mean| > sqrt(2 ln(2 N / ALARM)) standard errors, a union bound over the
                     N values
    sigma unknown    |x - mean| > the quantile of Student's t with the others' degrees of freedom,
                     in standard errors that are estimated from the others or, if that is more,
                     from the median arm. An arm with two values has one other: then the variance
                     is the median arm's alone, with 0.4 times all arms' degrees of freedom (the
                     median of k arms is about as likely to be far too small as a variance with
                     half of them)

If two values do not fit, either may be wrong; if only one of them is far from the other arms'
means, that one alone is named.

The only value of an arm has no others of its own, and its mean may be anything. It is named
nevertheless if its distance from the median of the other arms' means is more than `ALONE` times the
largest of three scales: the range of these means, their distance from 0, and sigma (for example 1e9
beside 0.4 and 0.6). If sigma is unknown, this requires `ENOUGH` other arms with values: fewer may
all be near 0 by chance, and then any other one looks far away. No error rate is known for this
rule.

**Values within plays.** If plays have batch effects, values are compared within plays, with the
same `ALARM`. A value is mu_a + b_t + noise, where nothing is known of the batch effects b_t. It is
compared with the prediction from all other values, by least squares on arms and plays: its residual
without itself, in standard errors. A batch effect does not change it, however large it is. For
Gaussian noise, the residual is standard normal if sigma is stated, and has Student's t distribution
with the residuals' degrees of freedom less one if sigma is unknown [1]_. The farthest value is left
out, and the others are compared anew.

If sigma is unknown, one outlier hides another by inflating the estimate, so several are left out
before it is decided that none stands out [2]_.

Some data do not show which value is wrong: for example, which of the two values of a play without
others. Then all values are named that are about as far from the others of their play. A value
without which an arm or a play would not be connected with the rest fits anything; it is compared
with the other values of its play alone. So are all values as long as no residual contributes to an
unknown sigma.

References
----------
.. [1] R. D. Cook and S. Weisberg. *Residuals and Influence in Regression*. 1982, section 2.2.
.. [2] B. Rosner. Technometrics 25, 1983.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._messages import PYTHON, CallHint, Message, Renderer
from ..engine.state import Floats, Ints
from ..engine.statistics import Statistics
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import claimed_assumptions

FREE = 1e-6  # least share of a value in its residual with which it is compared
TIED = 1e-6  # relative difference below which values are equally far
NEAR = 10.0  # of tied values, those nearer by this factor are considered correct
MOST = 20  # values that are named
EVERY = 10  # degrees of freedom of the residuals per value that is left out after the first


class OutlierRule(NamedTuple):
    """A value that stands out within its play.

    Attributes
    ----------
    at : int
        Index of the value.
    errors : float
        Distance from the prediction in standard errors or, if ``alone``, the distance from the
        others of its play as a multiple of the usual distance within plays.
    alone : bool
        True if the value was compared with the others of its play only.
    expected : float
        Prediction from the other values.
    instead : tuple of int
        Other values that may be the wrong one.
    """

    at: int
    errors: float
    alone: bool
    expected: float
    instead: tuple[int, ...]


class Values(NamedTuple):
    """The values of all plays.

    Attributes
    ----------
    play : ndarray of int
        Plays, numbered from 0 on.
    arm : ndarray of int
        Arms.
    x : ndarray
        Means.
    n : ndarray
        Number of values of each mean.
    weight : ndarray
        Weights ``n / sigma^2``.
    """

    play: Ints
    arm: Ints
    x: Floats
    n: Floats
    weight: Floats

    def only(self, which: Ints) -> "Values":
        """Return some of the values, by their indices."""
        return Values(
            self.play[which], self.arm[which], self.x[which], self.n[which], self.weight[which]
        )


def gathered(problem: Problem, plays: Mapping[int, Floats]) -> Values:
    """Return the values of plays by number, each an array with rows of arms, means, and numbers."""
    precision = problem.precision()
    if precision is None or not plays:
        none = np.zeros(0)
        return Values(none.astype(int), none.astype(int), none, none, none)
    play = np.repeat(np.arange(len(plays)), [one.shape[1] for one in plays.values()])
    arm, x, n = np.concatenate(list(plays.values()), axis=1)
    return Values(play, arm.astype(int), x, n, n * precision[arm.astype(int)])


class _Fit(NamedTuple):
    rest: Floats  # residuals
    free: Floats  # share of each value that remains in its residual
    degrees: float


def _fit(one: Values, d: int) -> _Fit:
    """Fit arms and plays by least squares."""
    plays = int(one.play.max()) + 1
    shares, total = np.zeros((plays, d)), np.bincount(one.play, one.weight, plays)
    np.add.at(shares, (one.play, one.arm), one.weight)
    shares /= np.maximum(total, 1e-300)[:, None]  # of arms in the means of plays
    middle = np.bincount(one.play, one.weight * one.x, plays) / np.maximum(total, 1e-300)
    y = one.x - middle[one.play]
    network = np.diag(np.bincount(one.arm, one.weight, d)) - (shares.T * total) @ shares
    values, vectors = np.linalg.eigh(network)
    told = values > 1e-9 * max(values[-1], 1e-300)
    known = (vectors[:, told] / values[told]) @ vectors[:, told].T
    mean = known @ np.bincount(one.arm, one.weight * y, d)
    rest = y - mean[one.arm]
    rest -= (np.bincount(one.play, one.weight * rest, plays) / np.maximum(total, 1e-300))[one.play]
    across = shares @ known
    doubt = known[one.arm, one.arm] - 2.0 * across[one.play, one.arm]
    doubt += np.einsum("ta,ta->t", across, shares)[one.play]
    free = 1.0 - one.weight * (doubt + 1.0 / total[one.play])
    return _Fit(rest, np.maximum(free, 0.0), max(round(float(free.sum())), 0.0))


def outliers(
    values: Values, d: int, known: bool, least: float, alarm: float, alone: float, enough: int
) -> list[OutlierRule]:
    """Return the values that stand out, in the order in which they were left out.

    Parameters
    ----------
    values : Values
        Values of all plays.
    d : int
        Number of arms.
    known : bool
        True if sigma is known.
    least : float
        Lower bound of the variation, in 1/sqrt(weight), if sigma is unknown.
    alarm : float
        Probability with which each value may be named although all are correct.
    alone : float
        Multiple of the usual distance beyond which a value stands out in its play.
    enough : int
        Number of other values that this requires if sigma is unknown.
    """
    from scipy.special import ndtri, stdtrit

    left, found, sure, most = np.arange(values.x.size), list[OutlierRule](), 0, MOST
    least = 1.0 if known else least
    while left.size > 2 and len(found) < most:
        one = values.only(left)
        fit = _fit(one, d)
        open_ = fit.free > FREE
        if not open_.any():
            break
        apart = np.where(open_, fit.rest, 0.0) / np.sqrt(np.where(open_, fit.free, 1.0))
        errors, bar = np.abs(apart) * np.sqrt(one.weight), -float(ndtri(0.5 * alarm))
        if not known:
            if fit.degrees < 2.0:
                break
            if not found:
                most = min(1 + int(fit.degrees) // EVERY, MOST)
            squares = float(one.weight @ fit.rest**2)
            others = np.maximum(squares - errors**2, 1e-12 * squares) / (fit.degrees - 1.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                errors = np.nan_to_num(errors / np.maximum(np.sqrt(others), least), nan=0.0)
            bar = -float(stdtrit(fit.degrees - 1.0, 0.5 * alarm))
        tied = np.flatnonzero(errors >= errors.max() * (1.0 - TIED))
        far = np.array([_apart(one, int(k))[0] for k in tied])
        tied = tied[NEAR * far >= far.max()]
        where = left[tied]
        for k, place in zip(tied.tolist(), where.tolist(), strict=True):
            expected = float(one.x[k] - fit.rest[k] / fit.free[k])
            instead = tuple(int(other) for other in where if other != place)
            found.append(OutlierRule(int(place), float(errors[k]), False, expected, instead))
        if errors.max() > bar:
            sure = len(found)
        elif known:
            break
        left = np.delete(left, tied)
    del found[sure:]
    kept = np.setdiff1d(np.arange(values.x.size), [one.at for one in found])
    return found + _lonely(values, kept, d, least, 0 if known else enough, alone)


def _apart(one: Values, k: int) -> tuple[float, float, int]:
    """Return a value's distance from the others of its play, their range and number.

    The distance is that from their median.
    """
    others = one.x[(one.play == one.play[k]) & (np.arange(one.x.size) != k)]
    if not others.size:
        return 0.0, 0.0, 0
    return abs(float(one.x[k] - np.median(others))), float(np.ptp(others)), others.size


def _lonely(
    values: Values, kept: Ints, d: int, least: float, enough: int, alone: float
) -> list[OutlierRule]:
    """Return the values that fit anything and are far from the others of their play."""
    if kept.size < 2:
        return []
    one = values.only(kept)
    fit = _fit(one, d)
    closed = np.flatnonzero((fit.free <= FREE) | (fit.degrees < 2.0 and enough > 0))
    widths = {int(t): float(np.ptp(one.x[one.play == t])) for t in np.unique(one.play)}
    found: dict[int, float] = {}
    for k in closed.tolist():
        far, wide, others = _apart(one, k)
        elsewhere = int((one.play != one.play[k]).sum())
        if not others or others + elsewhere < enough:
            continue
        usual = max([wide, *(x for t, x in widths.items() if t != one.play[k])])
        usual = max(usual, least / math.sqrt(float(one.weight[k])))
        if usual > 0.0 and far > alone * usual:
            found[k] = far / usual
    made = []
    for k, times in found.items():
        rest = (one.play == one.play[k]) & (np.arange(one.x.size) != k)
        instead = tuple(int(kept[m]) for m in found if rest[m])
        made.append(OutlierRule(int(kept[k]), times, True, float(np.median(one.x[rest])), instead))
    return sorted(made, key=lambda each: (-each.errors, each.at))


ENOUGH = 3
ALARM = 1e-3
SHOWN = 5
ALONE = 100.0


class Outlier(NamedTuple):
    """A value that is hard to believe; print it to read it.

    Attributes
    ----------
    round : int
        Round, or number of the data from outside.
    arm : int
        Index of the arm.
    name : str
        Name of the arm.
    value : float
        The value.
    n_reference : int
        Number of values with which it is compared; 0 if it is the only value of its arm, and
        compared with other arms.
    z_score : float
        Distance in standard errors; for an only value, a multiple of the usual distance.
    external : bool
        True for data from outside.
    within : bool
        True if it was compared within its round, because plays have batch effects.
    instead : tuple of str
        Arms whose value may be the wrong one instead.
    """

    round: int
    arm: int
    name: str
    value: float
    n_reference: int
    z_score: float
    external: bool = False
    within: bool = False
    instead: tuple[str, ...] = ()

    @property
    def sentence(self) -> Message:
        """Return a message about the value, and what to do if it is wrong."""
        if self.within:
            return self._within
        text = "Data from outside, number {round}" if self.external else "Round {round}"
        text += ", arm {name}: {value:g} is "
        if self.n_reference:
            text += "{z_score:,.3g}" if self.z_score < 1000.0 else "more than 1,000"
            text += " standard errors from the "
            text += (
                "mean of the arm's {n_reference:,} other values"
                if self.n_reference > 1
                else ("arm's only other value")
            )
        else:
            text += "the only value of this arm, and far from the values of all others"
        text += " (a heuristic; it counts as it was told)"
        remedy = "if it is a mistake, {retract}, and "
        remedy += "observe it anew" if self.external else "tell it anew"
        retract = CallHint("retract", self.round, "reason")
        return Message("doubtful", text, remedy=remedy, **self._asdict(), retract=retract)

    @property
    def _within(self) -> Message:
        """Return the message for a value that was compared within its round."""
        text = "Round {round}, arm {name}: {value:g} is "
        if self.n_reference:
            text += "{z_score:,.3g}" if self.z_score < 1000.0 else "more than 1,000"
            text += " standard errors from what the other values of its round, and those of other "
            text += "rounds, let expect"
        else:
            text += "far from the other values of its round: values differ much less elsewhere"
        if self.instead:
            text += "; or {instead:or} is off, because nothing tells which"
        text += " (a heuristic; it counts as it was told)"
        remedy = "if it is a mistake, {retract}, and tell it anew"
        retract = CallHint("retract", self.round, "reason")
        known = {**self._asdict(), "instead": list(self.instead)}
        return Message("doubtful-within", text, remedy=remedy, **known, retract=retract)

    def render(self, surface: Renderer = PYTHON) -> str:
        """Return the message as text."""
        return self.sentence.render(surface)

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """Return the attributes and the message as plain data."""
        return {**self._asdict(), **self.sentence.to_data(surface)}

    def __str__(self) -> str:
        return self.render()


def _believed(doubtful: Any, stats: Statistics, value: Floats) -> Any:
    """Return the ends that are correct where both ends of an arm are doubtful, of shape (2, d).

    An end is considered correct if the other one is ten times as far from the other arms' means.
    """
    near, both = np.zeros_like(doubtful), doubtful.all(axis=0)
    for a in np.flatnonzero(both):
        rest = (stats.counts > 0.0) & (np.arange(both.size) != a)
        if rest.any():
            away = np.abs(value[:, a] - np.median(stats.sums[rest] / stats.counts[rest]))
            near[:, a] = 10.0 * away < away.max()
    return near


def _alone(problem: Problem, stats: Statistics, value: Floats, only: Any) -> Floats:
    """Return the distance of arms with an only value from the other arms, of shape (d,).

    The unit is the usual distance. The result is 0 for arms with several values. ``value`` has the
    only values, and ``only`` marks their arms.
    """
    times, told = np.zeros(only.size), stats.counts > 0.0
    spread = (
        problem.rewards.sub_gaussian_scale(problem.d)
        if problem.rewards.variance_known
        else np.zeros(only.size)
    )
    for a in np.flatnonzero(only & told):
        rest = told & (np.arange(only.size) != a)
        if rest.sum() >= (1 if problem.rewards.variance_known else ENOUGH):
            means = stats.sums[rest] / stats.counts[rest]
            usual = max(float(np.ptp(means)), float(np.abs(means).max()), float(spread[a]))
            away = abs(float(value[a]) - float(np.median(means)))
            times[a] = away / usual if usual > 0.0 else 0.0
    return times


def among(problem: Problem) -> str:
    """Return the unit within which values are compared: "arm", "round", or "" for none."""
    if problem.rewards.has_batch_effect():
        return "round"
    return "arm" if Assumption.NORMAL in claimed_assumptions(problem.rewards) else ""


def find_outliers(
    problem: Problem, stats: Statistics, far: Floats, most: int = SHOWN, scale: float = 1.0
) -> tuple[Outlier, ...]:
    """Return values that are hard to believe, the most extreme first, at most one per arm.

    Parameters
    ----------
    problem : Problem
        Problem of the study.
    stats : Statistics
        Statistics of the values.
    far : ndarray of shape (2, 3, d)
        Result of `History.extremes`.
    most : int
        Maximal number of outliers.
    scale : float, default=1.0
        Factor by which values vary more than stated.
    """
    if among(problem) != "arm":
        return ()
    value, n, number = far[:, 0], far[:, 1], far[:, 2]
    others = np.where(n > 0.0, stats.counts - n, 0.0)
    total = float(stats.counts.sum())
    with np.errstate(all="ignore"):
        off = np.abs(value - (stats.sums - value * n) / others)
        if problem.rewards.variance_known:
            sigma = scale * problem.rewards.sub_gaussian_scale(problem.d)
            errors = off / (sigma * np.sqrt(1.0 / n + 1.0 / others))
            bar = np.full(far[:, 0].shape, math.sqrt(2.0 * math.log(2.0 * max(total, 1.0) / ALARM)))
        else:
            from scipy.special import chdtri, stdtrit

            left = np.maximum(
                stats.squares - off * off * others / (others + 1.0), 1e-12 * stats.squares
            )  # of the others
            variance = np.where(others > 1.0, left / (others - 1.0), math.inf)
            low = np.sort(np.min(variance, axis=0))
            low = low[np.isfinite(low)]
            several = stats.counts > 1.0
            degrees = stats.counts[several] - 1.0
            each = np.sort(stats.squares[several] / chdtri(degrees, 0.5))
            usual = each[(each.size - 1) // 2] if each.size else math.nan
            variance = np.where(
                others > 1.0,
                np.maximum(variance, low[(low.size - 1) // 2] if low.size else 0.0),
                usual,
            )
            errors = off / np.sqrt(variance * (1.0 + 1.0 / others))
            freedom = np.where(others > 1.0, others - 1.0, 0.4 * degrees.sum())
            bar = -stdtrit(np.maximum(freedom, 0.4), 0.5 * ALARM / max(total, 1.0))
    # NaN for an arm whose values are all equal
    errors = np.where((others > 0.0) & (errors == errors), errors, 0.0)
    doubtful = (errors > bar) & (errors >= errors.max(axis=0) * (1.0 - 1e-9))
    doubtful &= ~_believed(doubtful, stats, value)
    far_out = _alone(problem, stats, value[0], (others <= 0.0).all(axis=0))
    errors[0] = np.where(far_out > ALONE, far_out, errors[0])
    doubtful[0] |= far_out > ALONE
    order = sorted(
        zip(*np.nonzero(doubtful), strict=True), key=lambda at: (-errors[at], number[at])
    )
    return tuple(
        Outlier(
            int(number[at]),
            int(at[1]),
            problem.label([int(at[1])]),
            float(problem.to_internal(value[at])),
            int(others[at]),
            float(errors[at]),
        )
        for at in order[:most]
    )


def find_outliers_within(
    problem: Problem, plays: Mapping[int, Floats], known: bool, most: int = SHOWN
) -> tuple[Outlier, ...]:
    """Return values that are hard to believe within their plays, if plays have batch effects.

    Parameters
    ----------
    problem : Problem
        Problem of the study.
    plays : mapping of int to ndarray
        Values by round; see `gathered`.
    known : bool
        True if sigma is stated and not contradicted.
    most : int
        Maximal number of outliers.
    """
    values, numbers = gathered(problem, plays), list(plays)
    alarm = ALARM / max(float(values.n.sum()), 1.0)
    least = 1.0 if problem.rewards.variance_known else 0.0
    found = outliers(values, problem.d, known, least, alarm, ALONE, ENOUGH)
    sizes = np.bincount(values.play) if found else values.play
    return tuple(
        Outlier(
            numbers[values.play[one.at]],
            int(values.arm[one.at]),
            problem.label([int(values.arm[one.at])]),
            float(values.x[one.at]),
            0 if one.alone else int(sizes[values.play[one.at]] - 1),
            one.errors,
            within=True,
            instead=tuple(problem.label([int(values.arm[k])]) for k in one.instead),
        )
        for one in found[:most]
    )
