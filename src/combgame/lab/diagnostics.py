r"""Checks of assumptions: how much values vary, and whether plays have batch effects.

**The stated sigma.** Two e-processes at the stated sigma are averaged: one grows if the values vary
less, the other if they vary more (docs/thresholds.md, "Stated sigma against what is seen"). If the
stated sigma is correct, their average ever exceeds 1/ALARM with probability at most ALARM, no
matter how often it is evaluated. It has no influence on the stopping rule.

**Batch effects that the problem does not declare**, for example plates that shift all their wells,
are looked for in the initial design. The arms of its rounds are chosen before any value is seen, so
arms that are repeated in different rounds distinguish rounds. Given the arms, the sum of squares
between rounds over sigma^2, SS, is a chi^2 with f degrees of freedom if rounds have no batch
effects, and kappa times one if batch effects inflate it by kappa: kappa^{-f/2} exp((1 - 1/kappa)
SS/2) has mean 1, and is averaged over kappa = 2, 4, ..., 2^14. If sigma is unknown, the residual
sum of squares R, with g degrees of freedom, replaces it: kappa^{-f/2} ((R + SS)/(R + SS/kappa))^{(f
+ g)/2}, the ratio of the densities of SS/R. By Markov's inequality the average exceeds 1/LEVEL with
probability at most LEVEL. It is evaluated once, when the initial design has been reported.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import bmat, csr_matrix
from scipy.sparse.csgraph import connected_components

from .._messages import PYTHON, CallHint, Message, Renderer
from ..engine.block_effects import BatchEstimator
from ..engine.state import Floats
from ..engine.statistics import Statistics
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import claimed_assumptions
from ..rewards.gaussian import Gaussian

LEVEL = 1e-4
INFLATED = 2.0 ** np.arange(1, 15)


def may_lack_levels(problem: Problem) -> bool:
    """Return True if batch effects that are not declared could be detected.

    They cannot if each arm has an unknown sigma of its own, because nothing is known of differences
    between arms then.
    """
    rewards = problem.rewards
    if not isinstance(rewards, Gaussian) or rewards.has_batch_effect():
        return False
    return rewards.variance_known or rewards.shared_sigma is True


class VarianceComponents(NamedTuple):
    """Sums of squares of the initial design over sigma^2, with their degrees of freedom.

    Attributes
    ----------
    between : float
        Between rounds, given the arms.
    degrees : int
        Its degrees of freedom.
    rest : float
        Residual sum of squares, given arms and rounds.
    freedom : int
        Its degrees of freedom.
    """

    between: float
    degrees: int
    rest: float
    freedom: int


def squares_of(rounds: Sequence[Floats], precision: Floats) -> VarianceComponents:
    """Return the sums of squares by least squares on arms, and on arms and rounds.

    Each round is given as `values_in` returns it, and ``precision`` is 1/sigma^2 of each arm.
    """
    which = np.repeat(np.arange(len(rounds)), [one.shape[1] for one in rounds])
    if not which.size:
        return VarianceComponents(0.0, 0, 0.0, 0)
    arm, value, n = np.concatenate(rounds, axis=1)
    rows, arms = (np.unique(one, return_inverse=True)[1] for one in (which, arm))
    weight, value = n * precision[arm.astype(int)], value - value[0]
    weights = csr_matrix((weight, (rows, arms)))
    within, every = (np.bincount(one, weight) for one in (rows, arms))
    totals, sums = (np.bincount(one, weight * value) for one in (rows, arms))
    # each connected component of rounds and arms takes one degree of freedom
    parts = connected_components(bmat([[None, weights], [weights.T, None]]), directed=False)[0]
    degrees = within.size - int(parts)
    if within.size <= every.size:
        apart = _explained(weights, within, every, totals, sums)
    else:  # the same from the arms given the rounds, because there are fewer arms
        apart = _explained(weights.T.tocsr(), every, within, sums, totals)
        apart += float(np.sum(totals**2 / within) - np.sum(sums**2 / every))
    apart = max(apart, 0.0) if degrees else 0.0
    about = value - (sums / every)[arms]  # residuals given the arms
    rest, freedom = float(weight @ about**2) - apart, value.size - every.size - degrees
    return VarianceComponents(apart, degrees, max(rest, 0.0), freedom)


def _explained(weights: Any, own: Any, other: Any, totals: Any, sums: Any) -> float:
    """Return the sum of squares that the rows of a matrix of weights explain, given its columns.

    This is b' A^+ b by conjugate gradients, which approach it from below.
    """
    off = totals - weights @ (sums / other)  # of each row, from the prediction by its columns
    found, rest = 0.0, off.copy()
    step, size = rest.copy(), float(rest @ rest)
    tiny = 1e-24 * float(totals @ totals + off @ off)
    for _ in range(2 * off.size + 10):
        if size <= tiny:
            break
        along = own * step - weights @ ((weights.T @ step) / other)
        curve = float(step @ along)
        if curve <= 0.0:
            break
        found += size * size / curve
        rest -= size / curve * along
        size, before = float(rest @ rest), size
        step = rest + size / before * step
    return found


def surprise(one: VarianceComponents, known: bool = True) -> float:
    """Return the logarithm of the average over kappa; ``known`` is True if sigma is known.

    >>> stats = VarianceComponents(100.0, 10, 0.0, 0), VarianceComponents(10.0, 10, 0, 0)
    >>> [round(surprise(one), 2) for one in stats]
    [31.35, -3.5]
    >>> round(surprise(VarianceComponents(100.0, 10, 20.0, 20), known=False), 2)
    7.35
    """
    f, squares, every = one.degrees, one.between, one.degrees + one.freedom
    if f == 0 or (not known and not one.rest > 1e-24 * squares):
        return 0.0
    each = -0.5 * f * np.log(INFLATED)
    if known:
        each += 0.5 * (1.0 - 1.0 / INFLATED) * squares
    else:
        each += 0.5 * every * np.log((one.rest + squares) / (one.rest + squares / INFLATED))
    return float(np.logaddexp.reduce(each) - math.log(INFLATED.size))


def unstated(problem: Problem, stats: VarianceComponents) -> Message | None:
    """Return a warning if the initial design shows batch effects, otherwise None."""
    rewards = problem.rewards
    if surprise(stats, rewards.variance_known) <= -math.log(LEVEL):
        return None
    unit = 1.0 if rewards.variance_known else stats.rest / stats.freedom
    sure = rewards.variance_known
    return Message(
        "level-unstated",
        "the rounds of the start differ as a whole by {times:.2g} times what "
        + ("the stated sigma allows" if sure else "the values within them let expect")
        + ", so they seem to have levels of their own, as plates have, and a wrong answer may look "
        "best",
        remedy="state it with {stated}, which compares arms within rounds only"
        + ("; or state a larger sigma, if all values scatter more" if sure else ""),
        times=math.sqrt(stats.between / stats.degrees / unit),
        stated="Gaussian(sigma, batch_effect=True)" if sure else "Gaussian(batch_effect=True)",
    )


ALARM = 1e-4
FEW = 8  # least degrees of freedom for a verdict
# sigma^2 by the stated one, and the stated one by sigma^2 minus 1
MORE = np.concatenate((1.25 ** np.arange(1.0, 16.0), 10.0 ** np.arange(2.0, 7.0)))
LESS = np.concatenate(([0.1, 0.25, 0.5, 1.0, 2.0, 4.0], 10.0 ** np.arange(1.0, 7.0)))


class NoiseCheck(NamedTuple):
    """A comparison of the stated sigma with the variation of the values.

    Attributes
    ----------
    verdict : {"fits", "too small", "too large", "not enough data", "not stated"}
        Judgement of the stated sigma; "not stated" if sigma is estimated from the data.
    stated_sigma : float or None
        The stated sigma; None if it is unknown or differs between arms.
    estimated_sigma : float or None
        The estimated sigma; None with too little data, or if stated sigmas differ.
    ratio : float or None
        Estimated by stated sigma.
    dof : int
        Degrees of freedom of the estimate.
    evidence : float
        Logarithm of the e-process. The stated sigma is contradicted above ln(1/ALARM).
    levels : bool
        True if plays have batch effects, so that sigma is the variation within plays.
    """

    verdict: str
    stated_sigma: float | None
    estimated_sigma: float | None
    ratio: float | None
    dof: int
    evidence: float = 0.0
    levels: bool = False

    @property
    def contradicted(self) -> bool:
        """Return True if the stated sigma is too small."""
        return self.verdict == "too small"

    @property
    def clause(self) -> Message:
        """Return a message, as a part of a sentence, that says what does not fit."""
        text = (
            "the stated sigma of {stated_sigma:g} does not fit the values, which vary by "
            "{estimated_sigma:.3g}"
        )
        if self.stated_sigma is None:
            text = "the stated sigmas do not fit the values, which vary {ratio:.3g} times as much"
        return Message("sigma-misfit", text, **self._asdict())

    @property
    def sentence(self) -> Message:
        """Return a message about the result."""
        about = self._asdict()
        unknown = "Gaussian(batch_effect=True)" if self.levels else "Gaussian()"
        if self.verdict == "not stated":
            text = "Sigma is taken from the data"
            if self.estimated_sigma is not None:
                text += ", which vary by {estimated_sigma:.3g} ({dof:count degree} of freedom)"
            return Message("sigma-estimated", text, **about)
        if self.verdict == "not enough data":
            text = (
                "There are too few values to compare how they vary with the stated sigma, which is "
                "taken on trust"
            )
            return Message("sigma-unchecked", text, **about)
        if self.verdict == "fits":
            text = "The values vary {ratio:.3g} times as much as stated, which fits"
            if self.stated_sigma is not None:
                text = (
                    "The values vary by {estimated_sigma:.3g}, which fits the stated sigma of "
                    "{stated_sigma:g}"
                )
            return Message("sigma-fits", text, **about)
        if self.verdict == "too small":
            remedy = "make a study with {unknown}, which takes sigma from the data"
            if not self.levels:
                remedy += ", and give it these values with {observe}"
            return Message(
                "sigma-too-small",
                "No confidence can rest on this sigma: {clause}",
                remedy=remedy + "; if some are mistakes, retract those first",
                clause=self.clause,
                unknown=unknown,
                observe=CallHint("observe"),
                **about,
            )
        return Message(
            "sigma-too-large",
            "The stated sigma is larger than it need be: the values vary {ratio:.2g} times as much "
            "as stated"
            + (
                ", so this takes about {times:,.0f} times the plays that would do"
                if self.ratio and self.ratio < 0.5
                else ", so this takes {times:.2g} times the plays that would do"
                if self.ratio
                else ""
            ),
            remedy="the next study may state less, or have {unknown}, which takes sigma from the "
            "data",
            times=self.ratio**-2 if self.ratio else math.inf,
            unknown=unknown,
            **about,
        )

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """Return the attributes and the message as plain data."""
        return {**self._asdict(), **self.sentence.to_data(surface)}


def log_misfit(low: tuple[float, float], high: tuple[float, float]) -> tuple[float, float]:
    """Return the logarithms of the two e-processes at the stated sigma.

    Parameters
    ----------
    low, high : (float, float)
        Degrees of freedom and sum of squares of innovations in stated variances, for the e-process
        of values that vary less and of values that vary more.
    """
    degrees, squares = low
    less = np.logaddexp.reduce(0.5 * (degrees * np.log1p(LESS) - LESS * squares)) - math.log(
        LESS.size
    )
    degrees, squares = high
    grown = 0.5 * ((1.0 - 1.0 / MORE) * squares - degrees * np.log(MORE))
    return float(less), float(np.logaddexp.reduce(grown) - math.log(MORE.size))


def noise(problem: Problem, stats: Statistics, late: Floats, early: Floats) -> NoiseCheck | None:
    """Compare the stated sigma with the values; None if the reward model has no sigma.

    Parameters
    ----------
    problem : Problem
        Problem of the study.
    stats : Statistics
        Statistics of the values.
    late : ndarray of shape (4, d)
        Result of `History.late_stats`.
    early : ndarray of shape (2, groups)
        Result of `History.initial_residuals`.
    """
    if problem.rewards.has_batch_effect():
        return within_plays(problem, stats.batch)
    if Assumption.NORMAL not in claimed_assumptions(problem.rewards):
        return None
    known = problem.rewards.variance_known
    sigma = problem.rewards.sub_gaussian_scale(problem.d) if known else np.ones(problem.d)
    group, unit = np.ones(stats.residuals.shape[1]), sigma[0]
    group[stats.variance_group] = sigma
    if stats.in_initial_design[
        0
    ]:  # the part of the initial design so far may have been selected by looking
        early = np.zeros_like(early)
        stats = stats._replace(residuals=np.zeros_like(stats.residuals))
    after = float((late[2] / sigma**2).sum())
    exact = float(early[0].sum()), float((early[1] / group**2).sum())
    degrees = exact[0] + float(np.maximum(late[3] - 1.0, 0.0).sum())
    ratio = math.sqrt((exact[1] + after) / degrees) if degrees else None
    same = bool((sigma == unit).all())
    stated = float(unit) if known and same else None
    observed = ratio * float(unit) if ratio is not None and same else None
    if not known:
        if not problem.rewards.variance_shared or problem.rewards.variance_groups(problem.d).any():
            observed = None
        return NoiseCheck("not stated", None, observed, None, round(degrees))
    low = float(stats.residuals[0].sum()), float((stats.residuals[1] / group**2).sum())
    high = exact[0] + float(late[3].sum()), exact[1] + after
    verdict, evidence = verdict_of(low, high, degrees)
    return NoiseCheck(verdict, stated, observed, ratio, round(degrees), evidence)


def verdict_of(
    low: tuple[float, float], high: tuple[float, float], degrees: float
) -> tuple[str, float]:
    """Return the verdict on a stated sigma, and the logarithm of the average of the e-processes."""
    less, more = log_misfit(low, high)
    evidence = float(np.logaddexp(less, more)) - math.log(2.0)
    verdict = "fits" if degrees >= FEW else "not enough data"
    if evidence > -math.log(ALARM) and (more > less or degrees >= FEW):
        verdict = "too small" if more > less else "too large"
    return verdict, evidence


def within_plays(problem: Problem, blocks: BatchEstimator) -> NoiseCheck:
    """Compare the stated sigma with the residuals of complete blocks (batch effects)."""
    low, high = [(float(n), float(squares)) for n, squares in blocks.noise]
    degrees = high[0] if high[0] > 0.5 * low[0] else low[0]
    ratio = math.sqrt(blocks.variance()) if degrees else None
    if not problem.rewards.variance_known:
        return NoiseCheck("not stated", None, ratio, None, round(degrees), levels=True)
    sigma = problem.rewards.sub_gaussian_scale(problem.d)
    same = bool((sigma == sigma[0]).all())
    verdict, evidence = verdict_of(low, high, degrees)
    stated = float(sigma[0]) if same else None
    observed = ratio * float(sigma[0]) if ratio is not None and same else None
    return NoiseCheck(verdict, stated, observed, ratio, round(degrees), evidence, True)


def typical(problem: Problem, stats: Statistics, far: Floats) -> float:
    """Return the variation of the median arm in units of the stated sigma, but at least 1.

    A single outlier does not change it. With two arms or fewer, the farthest value of each is left
    out (``far`` as for `doubts`).
    """
    several = stats.counts > 1.0
    if not problem.rewards.variance_known or not several.any():
        return 1.0
    squares, degrees = stats.squares, stats.counts - 1.0
    if several.sum() < 3:
        with np.errstate(all="ignore"):
            off = np.abs(far[:, 0] - stats.sums / stats.counts).max(axis=0)
            squares = squares - off * off * stats.counts / degrees  # of the other values
        degrees = degrees - 1.0
        several = degrees > 0.0
        if not several.any():
            return 1.0
    degrees, sigma = degrees[several], problem.rewards.sub_gaussian_scale(problem.d)[several]
    middle = degrees * (1.0 - 2.0 / (9.0 * degrees)) ** 3  # approximate median of chi^2
    each = np.sort(np.maximum(squares[several], 0.0) / sigma**2 / middle)
    return max(math.sqrt(float(each[(each.size - 1) // 2])), 1.0)
