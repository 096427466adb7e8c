"""The generalised likelihood ratio: how strongly the data speak for the leading answer against its
closest rival.

The one scale on which evidence is shown to people.

A judge compares evidence less fees with ln(M/delta), each in its own way. What is shown has the
likelihood ratio against the rival on the left, never negative, and all that is asked of it on the
right: have > needed exactly where evidence > level.
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
    """The likelihood ratio (its logarithm), and what it must exceed."""

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
    """What a judge's evidence against a rival and its level are on this scale.

    Where the ratio is less than the evidence (spreads that are not stated are estimated), the
    evidence stands for it; so `needed` is never below the level.
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
    """The likelihood ratio where sigma is estimated, with so many degrees of freedom: few of them
    make any ratio at the estimate look large.

    >>> round(restricted(245.9, 2), 2), round(restricted(245.9, 10**6), 1), restricted(3.0, 0)
    (5.51, 245.8, 0.0)
    """
    return 0.5 * degrees * math.log1p(2.0 * ratio / degrees) if degrees > 0.0 else 0.0


def _estimated(rewards: GaussianKernel, stats: Statistics, nearest: Floats) -> float:
    """The same against the means at which a rival is as good, for every sigma that is estimated."""
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
    """The leading answer, its closest rival, and min_J inf_lambda sum_a N_a d(mean_a, lambda_a).

    `threshold` is what the value must exceed at these counts for a confidence of 1 - delta, and
    `validity` whether that is proved, and why (None if no delta was given).
    """

    answer: tuple[int, ...]
    rival: tuple[int, ...]
    value: float
    threshold: float | None = None
    validity: Validity | None = None

    @property
    def certified(self) -> bool:
        """Whether the evidence is enough. With a proved threshold, `answer` is then wrong with
        probability at most delta.
        """
        return self.threshold is not None and self.value > self.threshold

    def __str__(self) -> str:
        """
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
    """The evidence that `counts` observations per arm with means `estimates` give, exactly; with
    delta, whether it is enough.

    The guarantee holds however the data were collected, and however often you look, as long as what
    to measure next never depended on values that are not counted here. Instead of estimates and
    counts, a data frame of all values will do, with the columns arm and value, or a column per arm.
    An arm that was never
    observed has the count 0, and any estimate. sigmas: the sample standard deviations (with N -
    1), for `Gaussian()` and the like: each arm's own counts then, because what arms share may only
    be used by those who saw the values one by one, as a `Study` does. weights: instead of
    counts, numbers that need not be whole, such as an allocation (`complexity(...).allocation`);
    nothing was observed then, so there is no delta.

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
    )  # an order of the values, so that the given numbers change nothing
    mine = problem.permuted(order)
    if mine is None:
        mine, order = problem, np.arange(problem.d)
    mean, weight, scatter = mean[order], weight[order], scatter[order]
    kernel = mine.kernel()
    if not known:  # the likelihood ratio at the spreads that were seen
        stats = Gaussian(np.where(scatter > 0.0, scatter, 1.0).tolist())
        kernel = kernel._replace(rewards=stats.kernel(np.array(mine.low), np.array(mine.high)))
    best, rival, alternative = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    feasible = np.array([kernel.rewards.project(float(x), a) for a, x in enumerate(mean)])
    with own_errors():
        kernel.answers.argmax(feasible, best)
        value = kernel.answers.nearest_alternative(
            kernel.rewards, mean, weight, best, rival, alternative
        )
    level, validity = None, None
    # t K in the threshold bounds the number of values seen: that number itself will do
    if delta is not None:
        rounds = math.ceil(float(weight.sum()) / problem.actions.max_size())
        stopping = make_stopping(threshold, mine, _one(delta))
        validity = stopping.validity
        level = stopping.threshold.critical_value(rounds, 0)
        if stopping.make_kernel is not None:  # the fees are part of what the value must exceed
            found = simulate_statistics(stopping, mine, mean, weight, scatter, best)
            value, level = _weighed(found, best, rival, level)
    answer, other = (tuple(sorted(order[list(arms_of(one))].tolist())) for one in (best, rival))
    return Evidence(answer, other, float(value), level, validity)


def _weighed(
    found: tuple[ProblemKernel, Statistics, RoundState], best: Floats, rival: Floats, level: float
) -> DisplayEvidence:
    """Against the rival that is weakest after fees, which is written."""
    problem, stats, state = found
    less, other = float(state.evidence[0]), np.zeros(best.size)
    with own_errors():
        least = problem.stopping.least_evidence(problem, stats, best, other, np.zeros(best.size))
    rival[:] = other if least < less else state.rival
    return to_display_scale(problem, stats, best, rival, min(least, less), level)


def _weight(problem: Problem, counts: Any, weights: Any, delta: float | None) -> Floats:
    """How many values each arm has, or what stands for that."""
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
    deltas = check_deltas(delta)
    if len(deltas) > 1:
        what = "one number, such as 0.05"
        raise invalid_argument(
            "delta", delta, what, remedy="ask once for each of several", of="evidence"
        )
    return deltas
