"""Outliers: values that are hard to believe, among all values of an arm and within plays.

Values that stand out within plays, where plays have levels of their own.

A value is mu_a + b_t + noise, where nothing is known of the levels b_t. So it is compared with what
all others let expect, by least squares on arms and plays: its residual without itself, in standard
errors. A level takes up none of that, however high it is. Where the noise is Gaussian, this is
standard normal for a stated sigma, and Student's t for one that is not known, with the residuals'
degrees of freedom less one (R. D. Cook and S. Weisberg, *Residuals and Influence in Regression*,
1982, section 2.2). The one that is farthest is left out, and the others are compared anew.

Where sigma is not known, one mistake hides another in it, so several are left out before it is said
that none stands out (B. Rosner, Technometrics 25, 1983).

Of some values nothing tells which is off: of the two of a play that has no others, for one. Then
all are named that are about as far from the others of their play. A value without which an arm, or
a play, would not be connected with the rest fits anything; it is compared with the other values of
its play alone, and so are all while no residual tells of a sigma that is not known.

Values that are hard to believe. A heuristic for people to look at: it says so, and has no part
in stopping.

Of every arm the smallest and the largest value are kept (`far`), each with how many values it is
the mean of and its round. Each is compared with the mean of the arm's other values. Without any
mistake, and for Gaussian values, some value is doubted at a given look with probability at most
`ALARM`, whatever their number N:

    sigma known      |x - mean| > sqrt(2 ln(2 N / ALARM)) standard errors, a union bound over the
                     N values
    sigma unknown    |x - mean| > the quantile of Student's t with the others' degrees of freedom,
                     in standard errors that are estimated from the others, or, if that is more,
                     from the median arm. An arm with two values has one other: then the variance
                     is the median arm's alone, with 0.4 times all arms' degrees of freedom (the
                     median of k arms is about as likely to be far too small as a variance with half
                     of them)

Of two values that do not fit either may be wrong; the one that is far from the other arms' means,
where only one is, is named alone.

The only value of an arm has no others of its own, and its mean may be anything. It is doubted all
the same, at once, if it is more than `ALONE` times as far from the middle of what the other arms
have as these are apart, or from 0, or as sigma is large: 1e9 beside 0.4 and 0.6. If sigma is not
known, that takes `ENOUGH` other arms with values: of fewer, all may be near 0 by chance, and then
any other one looks far away. No rate is known for it.

Where plays have levels, values are compared within plays (`outliers`), with the same `ALARM`.
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

FREE = 1e-6  # share of a value that its residual has, from which on it is compared
TIED = 1e-6  # by less than that of their standard errors, values are equally far
NEAR = 10.0  # of values of which nothing tells which is off, those that much nearer are believed
MOST = 20  # values that are named
EVERY = 10  # degrees of freedom of the residuals, for each value after the first that is left out


class OutlierRule(NamedTuple):
    """A value that stands out. errors: standard errors from what others let expect, or, if `alone`,
    how many times as far from the others of its play as values within plays are apart.
    """

    at: int  # its place among the values
    errors: float
    alone: bool
    expected: float
    instead: tuple[int, ...]  # others that may be the one that is off


class Values(NamedTuple):
    """Those of all plays: numbers of plays from 0 on, arms, means, and of how many values; what
    tells of noise with weight 1/sigma^2.
    """

    play: Ints
    arm: Ints
    x: Floats
    n: Floats
    weight: Floats

    def only(self, which: Ints) -> "Values":
        """Some of them, by their places."""
        return Values(
            self.play[which], self.arm[which], self.x[which], self.n[which], self.weight[which]
        )


def gathered(problem: Problem, plays: Mapping[int, Floats]) -> Values:
    """plays: by number, rows of arms, means, and of how many values."""
    precision = problem.precision()
    if precision is None or not plays:
        none = np.zeros(0)
        return Values(none.astype(int), none.astype(int), none, none, none)
    play = np.repeat(np.arange(len(plays)), [one.shape[1] for one in plays.values()])
    arm, x, n = np.concatenate(list(plays.values()), axis=1)
    return Values(play, arm.astype(int), x, n, n * precision[arm.astype(int)])


class _Fit(NamedTuple):
    rest: Floats  # the residuals
    free: Floats  # the share of each value that is left in its residual
    degrees: float


def _fit(one: Values, d: int) -> _Fit:
    """Least squares on arms and plays."""
    plays = int(one.play.max()) + 1
    shares, total = np.zeros((plays, d)), np.bincount(one.play, one.weight, plays)
    np.add.at(shares, (one.play, one.arm), one.weight)
    shares /= np.maximum(total, 1e-300)[:, None]  # of an arm in the mean of a play
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
    """The values that stand out, in the order in which they were left out.

    known: whether sigma is; least: by how much values vary at least, in 1/sqrt(weight), if it is
    not; alarm: the chance with which each value may be named though all are right; alone: see
    `OutlierRule`; enough: other values that are needed for that, if sigma is not known.
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
    """How far a value is from the middle of the others of its play, how far these are apart, and
    how many they are.
    """
    others = one.x[(one.play == one.play[k]) & (np.arange(one.x.size) != k)]
    if not others.size:
        return 0.0, 0.0, 0
    return abs(float(one.x[k] - np.median(others))), float(np.ptp(others)), others.size


def _lonely(
    values: Values, kept: Ints, d: int, least: float, enough: int, alone: float
) -> list[OutlierRule]:
    """Of values that fit anything, those that are far from the others of their play."""
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
    """A value that is implausible under the model, and by how many standard errors."""

    round: int  # or the number of data from outside
    arm: int
    name: str
    value: float
    n_reference: (
        int  # values of the arm that it is compared with; 0: it is compared with other arms
    )
    z_score: float  # standard errors; how many times as far as others, if it is the only one
    external: bool = False  # whether it is data from outside
    within: bool = False  # compared within its round, because rounds have levels of their own
    instead: tuple[str, ...] = ()  # arms of which a value may be the one that is off

    @property
    def sentence(self) -> Message:
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
        """The same where rounds have levels of their own."""
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
        """What is doubted, and what to do, as a surface says it."""
        return self.sentence.render(surface)

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """As plain data: its fields, and what is said of it."""
        return {**self._asdict(), **self.sentence.to_data(surface)}

    def __str__(self) -> str:
        return self.render()


def _believed(doubtful: Any, stats: Statistics, value: Floats) -> Any:
    """bool[2, d]: of an arm both of whose ends are doubtful, the end that is near the other arms'
    means, if the other is ten times as far from them.
    """
    near, both = np.zeros_like(doubtful), doubtful.all(axis=0)
    for a in np.flatnonzero(both):
        rest = (stats.counts > 0.0) & (np.arange(both.size) != a)
        if rest.any():
            away = np.abs(value[:, a] - np.median(stats.sums[rest] / stats.counts[rest]))
            near[:, a] = 10.0 * away < away.max()
    return near


def _alone(problem: Problem, stats: Statistics, value: Floats, only: Any) -> Floats:
    """float64[d]: how many times as far from the other arms as these are from each other; 0 for
    arms with several values. value: of arms with one; only: which they are.
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
    """With which values each is compared: those of its "arm" or "round"; "": with none."""
    if problem.rewards.has_batch_effect():
        return "round"
    return "arm" if Assumption.NORMAL in claimed_assumptions(problem.rewards) else ""


def doubts(
    problem: Problem, stats: Statistics, far: Floats, most: int = SHOWN, scale: float = 1.0
) -> tuple[Outlier, ...]:
    """The values that are hard to believe, the hardest first; of an arm only the harder of its
    ends. scale: by how much values vary more than stated.
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
    # NaN: an arm all of whose values are equal
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


def doubts_within(
    problem: Problem, plays: Mapping[int, Floats], known: bool, most: int = SHOWN
) -> tuple[Outlier, ...]:
    """The same where plays have levels. plays: see `outliers.gathered`; known: whether sigma is
    stated, and nothing contradicts it.
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
