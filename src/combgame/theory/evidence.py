"""The generalised likelihood ratio, the evidence for the leading answer against its closest rival.

It is also the scale on which evidence is displayed. Stopping rules compare evidence less penalties
with ln(M/delta), each in its own way. On the display scale the left-hand side is the likelihood
ratio against the rival, which is never negative, and the right-hand side is everything that is
required of it: have > needed exactly where evidence > threshold.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..engine.likelihood_ratio import against
from ..engine.protocols import ProblemKernel
from ..engine.state import Floats, RoundState, arms_of
from ..engine.statistics import Statistics
from ..engine.user_code import own_errors
from ..errors import InputError, error_from, invalid_argument
from ..problem import Problem, check_deltas
from ..rewards import Gaussian
from ..rewards.gaussian import GaussianKernel
from ..stopping.base import StoppingBase, Validity
from ..stopping.registry import make_stopping
from ..tables import is_frame, totals
from .complexity import order_of
from .stopping_time import simulate_statistics


class DisplayEvidence(NamedTuple):
    """The logarithm of the likelihood ratio, and the value that it must exceed."""

    have: float
    needed: float


def to_display_scale(
    problem: ProblemKernel,
    stats: Statistics,
    best: Floats,
    rival: Floats,
    evidence: float,
    level: float,
) -> DisplayEvidence:
    """Convert a stopping rule's evidence against a rival, and its threshold, to the display scale.

    Where the likelihood ratio is less than the evidence (because unknown standard deviations are
    estimated), the evidence replaces it; so `needed` is never below the threshold.
    """
    if evidence == math.inf or level == math.inf:  # no rival, or a rule that never stops
        return DisplayEvidence(float(max(evidence, 0.0)), float(level))
    d, nearest = best.size, np.zeros(best.size)
    arms, sign = np.zeros(d, np.int64), np.zeros(d)
    ratio = against(problem.rewards, stats.mean, stats.counts, best, arms, sign, rival, nearest)
    if isinstance(problem.rewards, GaussianKernel) and not problem.rewards.spreads.variance_known:
        ratio = _estimated(problem.rewards, stats, nearest)
    if evidence == -math.inf:  # an arm has no value, or the rival leads
        return DisplayEvidence(float(max(ratio, 0.0)), float(max(ratio, 0.0) + level))
    have = float(max(ratio if ratio < math.inf else 0.0, evidence, 0.0))
    return DisplayEvidence(have, float(have - (evidence - level)))


def restricted(ratio: float, degrees: float) -> float:
    """Return the likelihood ratio with sigma estimated from this many degrees of freedom.

    With few degrees of freedom any likelihood ratio at the estimate looks large.

    >>> round(restricted(245.9, 2), 2), round(restricted(245.9, 10**6), 1), restricted(3.0, 0)
    (5.51, 245.8, 0.0)
    """
    return 0.5 * degrees * math.log1p(2.0 * ratio / degrees) if degrees > 0.0 else 0.0


def _estimated(rewards: GaussianKernel, stats: Statistics, nearest: Floats) -> float:
    """Return the sum of `restricted` over all estimated sigmas, against given means."""
    spreads: Any = rewards.spreads
    alone = spreads.lean < math.inf
    ratio, degrees = np.zeros((2, nearest.size))
    for a, n in enumerate(stats.counts):
        group = a if alone else spreads.group[a]
        degrees[group] += max(n - 1.0, 0.0)
        if n > 0.0:
            ratio[group] += n * rewards.divergence(float(stats.mean[a]), float(nearest[a]), a)
    return sum(restricted(float(x), float(f)) for x, f in zip(ratio, degrees, strict=True))


class Evidence(NamedTuple):
    r"""The leading answer, its closest rival and the evidence between them.

    Attributes
    ----------
    answer : tuple of int
        Arms of the leading answer.
    rival : tuple of int
        Arms of its closest rival.
    value : float
        :math:`\min_J \inf_\lambda \sum_a N_a d(\hat\mu_a, \lambda_a)`, the generalised likelihood
        ratio.
    threshold : float, optional
        Value that the evidence must exceed at these counts for a confidence of 1 - delta; None if
        no delta was given.
    validity : Validity, optional
        Whether the threshold is proved, and why; None if no delta was given.
    """

    answer: tuple[int, ...]
    rival: tuple[int, ...]
    value: float
    threshold: float | None = None
    validity: Validity | None = None

    @property
    def certified(self) -> bool:
        """Whether the evidence exceeds the threshold.

        With a proved threshold, `answer` is then wrong with probability at most delta.
        """
        return self.threshold is not None and self.value > self.threshold

    def __str__(self) -> str:
        """Return the evidence in a sentence.

        >>> print(Evidence((0,), (1,), 1.25))
        {0} leads, the closest rival is {1}, and the evidence between them is 1.25.
        """
        sets = ["{" + ", ".join(map(str, arms)) + "}" for arms in (self.answer, self.rival)]
        text = f"{sets[0]} leads, the closest rival is {sets[1]}, and the evidence between them "
        if self.threshold is None:
            return f"{text}is {self.value:.2f}."
        enough = "enough" if self.certified else "not enough"
        return (
            f"{text}is {enough}: {self.value:.2f} of {self.threshold:.2f} needed. The threshold is "
            f"{self.validity}."
        )


def evidence(
    problem: Problem,
    estimates: Any,
    counts: Any = None,
    *,
    delta: float | None = None,
    threshold: str | StoppingBase = "mixture",
    sigmas: Any = None,
    weights: Any = None,
) -> Evidence:
    """Compute the evidence for the leading answer, exactly.

    Parameters
    ----------
    problem : Problem
        The problem.
    estimates : array_like, shape (d,), or data frame
        Sample mean of each arm; any number for an arm without values. Instead of estimates and
        counts, a data frame of all values can be given, with the columns ``arm`` and ``value``, or
        with one column per arm.
    counts : array_like of int, shape (d,), optional
        Number of values of each arm, 0 for an arm that was never observed.
    delta : float, optional
        Error probability. If given, the result has a threshold.
    threshold : str or StoppingBase, default="mixture"
        Name of a threshold, or a stopping rule.
    sigmas : array_like, shape (d,), optional
        Sample standard deviations (with N - 1) for rewards with unknown sigma, such as
        ``Gaussian()``. Each arm's own values alone then count, because a shared sigma can only be
        used by those who saw the values one by one, as a `Study` does.
    weights : array_like, shape (d,), optional
        Numbers in place of `counts` that need not be whole, such as
        ``complexity(...).allocation``. No values were observed then, so `delta` is not allowed.

    Returns
    -------
    Evidence
        The leading answer, its closest rival and the evidence.

    Raises
    ------
    InputError
        If the arguments are inconsistent or a value is impossible for the rewards, or if a delta is
        given for rewards with batch effects, where counts do not tell which values were in the same
        play.

    Notes
    -----
    The guarantee holds however the data were collected, and however often you look, as long as the
    choice of what to measure next never depended on values that are not counted here.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0))
    >>> seen = cg.evidence(problem, [0.5, 0.1, 0.0], [100, 100, 100])
    >>> seen.answer, seen.rival, round(seen.value, 12)
    ((0,), (1,), 4.0)
    >>> cg.evidence(problem, [0.9, 0.1, 0.0], [200, 200, 200], delta=0.05).certified
    True
    """
    if not isinstance(problem, Problem):
        raise invalid_argument(
            "problem", problem, "a Problem", remedy="it comes first", of="evidence"
        )
    if is_frame(estimates):
        if not (counts is weights is sigmas is None):
            raise InputError(
                "frame-says-all",
                "a data frame of values says counts and sigmas itself",
                remedy="leave them out",
            )
        estimates, counts, sigmas = totals(problem, estimates)
    if delta is not None and problem.rewards.has_batch_effect():
        raise InputError(
            "level-evidence",
            "evidence: where every play has a level of its own, means and counts per arm do not "
            "say which values were in the same play",
            remedy="tell the plays to a Study, which compares arms within plays",
        )
    mean, weight = (
        problem.check_vector(estimates, "estimates"),
        _weight(problem, counts, weights, delta),
    )
    low, high = problem.rewards.support(problem.d)
    if ((mean < low) | (mean > high)).any():
        what, rewards = "between {low} and {high} for {rewards}", str(problem.rewards)
        raise invalid_argument(
            "estimates", mean.tolist(), what, low=low, high=high, rewards=rewards
        )
    if delta is not None:
        for a, (x, n) in enumerate(zip(mean, weight, strict=True)):
            if n > 0.0 and (why := problem.precision_problem(a, x, n)) is not None:
                why = why.with_context("estimates: arm {arm}", arm=problem.label([a]))
                raise error_from(InputError, why)
    known, stated = problem.rewards.variance_known, str(problem.rewards)
    if isinstance(problem.rewards, Gaussian) and not known:
        problem = replace(
            problem, rewards=replace(problem.rewards, shared_sigma=False, batch_effect=False)
        )
    if known != (sigmas is None):
        raise InputError(
            "spreads-if-unknown",
            "sigmas, the sample standard deviations per arm, are for rewards whose sigma is not "
            "known, such as Gaussian(), and needed there; here the rewards are {rewards}",
            remedy="give one per arm, or leave them out",
            rewards=stated,
        )
    scatter = problem.sigma() if known else problem.check_vector(sigmas, "sigmas")
    if (scatter < 0.0).any():
        raise invalid_argument("sigmas", scatter.tolist(), "sample standard deviations, 0 or more")
    mean, problem = problem.to_internal(mean), problem.as_maximisation
    order = order_of(
        problem, mean, weight, scatter
    )  # sorted by value, so that the order of the arms does not matter
    mine = problem.permuted(order)
    if mine is None:
        mine, order = problem, np.arange(problem.d)
    mean, weight, scatter = mean[order], weight[order], scatter[order]
    kernel = mine.kernel()
    if not known:  # the likelihood ratio at the sample standard deviations
        estimated = Gaussian(np.where(scatter > 0.0, scatter, 1.0).tolist())
        kernel = kernel._replace(rewards=estimated.kernel(np.array(mine.low), np.array(mine.high)))
    best, rival, alternative = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    feasible = np.array([kernel.rewards.project(float(x), a) for a, x in enumerate(mean)])
    with own_errors():
        kernel.answers.argmax(feasible, best)
        value = kernel.answers.nearest_alternative(
            kernel.rewards, mean, weight, best, rival, alternative
        )
    level, validity = None, None
    # In the threshold, t K bounds the number of values, so that number itself can replace it.
    if delta is not None:
        rounds = math.ceil(float(weight.sum()) / problem.actions.max_size())
        stopping = make_stopping(threshold, mine, _one(delta))
        validity = stopping.validity
        level = stopping.threshold.critical_value(rounds, 0)
        if stopping.make_kernel is not None:  # penalties are part of what the value must exceed
            found = simulate_statistics(stopping, mine, mean, weight, scatter, best)
            value, level = _weighed(found, best, rival, level)
    answer, other = (tuple(sorted(order[list(arms_of(one))].tolist())) for one in (best, rival))
    return Evidence(answer, other, float(value), level, validity)


def _weighed(
    found: tuple[ProblemKernel, Statistics, RoundState], best: Floats, rival: Floats, level: float
) -> DisplayEvidence:
    """Write the rival with the least evidence after penalties; return its evidence."""
    problem, stats, state = found
    less, other = float(state.evidence[0]), np.zeros(best.size)
    with own_errors():
        least = problem.stopping.least_evidence(problem, stats, best, other, np.zeros(best.size))
    rival[:] = other if least < less else state.rival
    return to_display_scale(problem, stats, best, rival, min(least, less), level)


def _weight(problem: Problem, counts: Any, weights: Any, delta: float | None) -> Floats:
    """Return the number of values of each arm, or the weights given instead."""
    if (counts is None) == (weights is None):
        raise InputError(
            "counts-or-weights",
            "evidence takes either counts, the number of values per arm, or weights",
            remedy="give one of the two",
        )
    if weights is not None:
        if delta is not None:
            raise InputError(
                "delta-without-counts",
                "evidence: whether it is enough for a delta is a question about values that were "
                "seen, and weights are none",
                remedy="give counts, or leave delta out",
            )
        shares = problem.check_vector(weights, "weights")
        if (shares < 0).any():
            raise invalid_argument("weights", shares.tolist(), "0 or more")
        return shares
    numbers = problem.check_vector(counts, "counts")
    if (numbers < 0).any():
        raise invalid_argument("counts", numbers.tolist(), "numbers of values seen, 0 or more")
    broken = np.flatnonzero(numbers != np.floor(numbers))
    if broken.size:
        raise InputError(
            "count-not-whole",
            "counts: arm {arm} has {count:g}, which is not a whole number of values",
            remedy="estimates come first, then counts: they may be swapped. Weights that are no "
            "counts, such as an allocation, are given as weights",
            arm=problem.label(broken[:1]),
            count=numbers[broken[0]],
        )
    return numbers


def _one(delta: Any) -> list[float]:
    """Return a list with the only delta."""
    deltas = check_deltas(delta)
    if len(deltas) > 1:
        what = "one number, such as 0.05"
        raise invalid_argument(
            "delta", delta, what, remedy="ask once for each of several", of="evidence"
        )
    return deltas
