"""Values that stand out within plays, where plays have levels of their own.

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
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..game.records import Floats, Ints
from ..problem import Problem

FREE = 1e-6  # share of a value that its residual has, from which on it is compared
TIED = 1e-6  # by less than that of their standard errors, values are equally far
NEAR = 10.0  # of values of which nothing tells which is off, those that much nearer are believed
MOST = 20  # values that are named
EVERY = 10  # degrees of freedom of the residuals, for each value after the first that is left out


class Outlier(NamedTuple):
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
) -> list[Outlier]:
    """The values that stand out, in the order in which they were left out.

    known: whether sigma is; least: by how much values vary at least, in 1/sqrt(weight), if it is
    not; alarm: the chance with which each value may be named though all are right; alone: see
    `Outlier`; enough: other values that are needed for that, if sigma is not known.
    """
    from scipy.special import ndtri, stdtrit

    left, found, sure, most = np.arange(values.x.size), list[Outlier](), 0, MOST
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
            found.append(Outlier(int(place), float(errors[k]), False, expected, instead))
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
) -> list[Outlier]:
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
        made.append(Outlier(int(kept[k]), times, True, float(np.median(one.x[rest])), instead))
    return sorted(made, key=lambda each: (-each.errors, each.at))
