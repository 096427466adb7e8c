"""Thresholds beta(t, delta) for the generalised likelihood ratio, with their validity.

The proved thresholds are Theorem 2 of the paper, based on the deviation inequalities of Kaufmann
and Koolen, *Mixture martingales revisited* (2018): Corollary 10 for Gaussian rewards (C^{g_G}) and
Theorem 14 for one-parameter exponential families (T).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._messages import Message
from ..engine.numerics import lambert_bar
from ..engine.state import Floats
from ..engine.statistics import Statistics
from ..problem import Problem
from ..rewards.base import Assumption, RewardsBase
from .base import (
    ConstantPenalty,
    ProblemLike,
    ProofRequirements,
    Stopping,
    Validity,
    log_union,
    validity_from_assumptions,
    with_note,
)
from .penalised import penalised


class StylisedThreshold(NamedTuple):
    """The heuristic threshold ln((1 + ln t) / delta) of the paper's experiments."""

    delta: Floats

    def critical_value(self, t: int, index: int) -> float:
        """Return ln((1 + ln t) / delta)."""
        return math.log((1.0 + math.log(max(t, 1))) / float(self.delta[index]))


class KaufmannKoolenThreshold(NamedTuple):
    """The threshold scale * ln(inside + ln(t K / d0)) + constant[delta]."""

    scale: float  # 2 d0 (Gaussian) or 3 d0 (sub-Gaussian)
    inside: float  # 4 or 1
    ratio: float  # K / d0
    floor: float  # lower bound imposed on t K / d0
    constant: Floats

    def critical_value(self, t: int, index: int) -> float:
        """Return the threshold after t rounds."""
        return self.scale * math.log(
            self.inside + math.log(max(t * self.ratio, self.floor))
        ) + float(self.constant[index])


def c_gaussian(x: float) -> float:
    """Return C^{g_G}(x) of Corollary 10 of Kaufmann and Koolen (2018).

    C^{g_G}(x) = min over y in (1/2, 1] of (g_G(y) + x) / y.

    >>> round(c_gaussian(5.0), 4)
    6.7573
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def ratio(y: float) -> float:
        g = 2 * y - 2 * y * math.log(4 * y) + math.log(float(zeta(2 * y))) - 0.5 * math.log1p(-y)
        return (g + x) / y

    # For large x the minimiser is near 1, at 1 - y of order 1 / (2x), so search in ln(1 - y).
    least = minimize_scalar(
        lambda u: ratio(1.0 - math.exp(u)),
        bounds=(-700.0 if x > 1e15 else -40.0, math.log(0.4999999)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(least.fun)


def h_tilde(x: float, z: float = 1.5) -> float:
    """Return h~_z(x), whose two branches meet at x = h(1 / ln z).

    The text switches branches at h^{-1}(1 / ln z), which is a slip: the function would jump there.
    """
    edge = 1.0 / math.log(z)
    if x >= edge - math.log(edge):
        y = lambert_bar(x)  # h^{-1}(x)
        return math.exp(1.0 / y) * y
    return z * (x - math.log(math.log(z)))


def t_function(x: float) -> float:
    """Return T(x) of Theorem 14 of Kaufmann and Koolen (2018).

    T(x) = 2 h~_{3/2}((h^{-1}(1 + x) + ln(pi^2 / 3)) / 2).

    >>> round(t_function(5.0), 4)
    15.1914
    """
    return 2.0 * h_tilde((lambert_bar(1.0 + x) + math.log(math.pi**2 / 3.0)) / 2.0)


def stylised(problem: ProblemLike, deltas: Floats) -> StylisedThreshold:
    """Return the threshold ln((1 + ln t) / delta)."""
    return StylisedThreshold(deltas.copy())


def gaussian(problem: ProblemLike, deltas: Floats) -> KaufmannKoolenThreshold:
    """Return the threshold of Theorem 2 (b) of the paper.

    At t K < d0 the logarithm is taken at 1: counts are at least 1 where anything can stop.
    """
    d0, log_rivals = float(problem.answers.max_difference_bound()), _log_rivals(problem)
    constant = np.array([d0 * c_gaussian((log_rivals - math.log(delta)) / d0) for delta in deltas])
    return KaufmannKoolenThreshold(2.0 * d0, 4.0, problem.actions.max_size() / d0, 1.0, constant)


def sub_gaussian(problem: ProblemLike, deltas: Floats) -> KaufmannKoolenThreshold:
    """Return the threshold of Theorem 2 (a) of the paper.

    x ln(1 + ln(tK/x)) rises in x only up to tK/2.1452, so tK/d0 is taken to be at least 2.1452.
    """
    d0, log_rivals = float(problem.answers.max_difference_bound()), _log_rivals(problem)
    constant = np.array([d0 * t_function((log_rivals - math.log(delta)) / d0) for delta in deltas])
    return KaufmannKoolenThreshold(3.0 * d0, 1.0, problem.actions.max_size() / d0, 2.1452, constant)


def _log_rivals(problem: ProblemLike) -> float:
    """Return ln(|I| - 1), or an upper bound on it.

    A union bound over more answers than there are is valid, too.
    """
    return math.log(problem.answers.n_sets_bound() - 1)


THEOREMS = {
    "gaussian": (
        "Theorem 2 (b)",
        {
            Assumption.GAUSSIAN: Message(
                "theorem-2b", "Theorem 2 (b): independent Gaussian arms with the stated sigma"
            )
        },
    ),
    "sub-gaussian": (
        "Theorem 2 (a)",
        {
            Assumption.EXPONENTIAL: Message(
                "theorem-2a",
                "Theorem 2 (a): independent arms from a one-parameter exponential family",
            ),
            Assumption.SURROGATE: Message(
                "theorem-2a-bounded",
                "Theorem 2 (a), carried over to bounded values as in docs/algorithms.md: "
                "independent values in [low, high]",
            ),
        },
    ),
}


def validity(name: str, rewards: RewardsBase) -> Validity:
    """Return the validity of a threshold that is a function of t."""
    if name == "stylised":
        why = Message(
            "stylised",
            "ln((1 + ln t)/delta) is the paper's choice for its experiments; no theorem covers it",
        )
        return Validity(False, why)
    what, theorems = THEOREMS[name]
    return validity_from_assumptions(what, theorems, rewards)


class IteratedLogThreshold(NamedTuple):
    """The penalty scale * ln(inside + ln N_a) of Kaufmann and Koolen (2018)."""

    scale: float
    inside: float

    def update_penalty(
        self,
        stats: Statistics,
        mean: Floats,
        best: Floats,
        rival: Floats,
        weight: Floats,
        fee: Floats,
    ) -> float:
        """Write the counts as weights, and the penalties."""
        for a in range(fee.size):
            weight[a] = stats.counts[a]
            fee[a] = self.scale * math.log(self.inside + math.log(max(stats.counts[a], 1.0)))
        return 0.0


def by_counts(name: str, problem: Problem, deltas: Sequence[float]) -> Stopping:
    """Return Theorem 2 of the paper with the counts of the arms in question.

    The counts replace their average t K / d_0. The union bound is over adjacent answers only.
    """
    size, union, normal = (
        float(problem.answers.neighbourhood().max_size),
        log_union(problem),
        name == "gaussian-counts",
    )
    function = c_gaussian if normal else t_function
    constant = ConstantPenalty(
        np.array([size * function((union - math.log(delta)) / size) for delta in deltas])
    )
    fees = IteratedLogThreshold(2.0, 4.0) if normal else IteratedLogThreshold(3.0, 1.0)
    base = validity(name.removesuffix("-counts"), problem.rewards)
    why = with_note(base, "with the counts themselves (docs/thresholds.md)")
    rests = ProofRequirements(("nearest_alternative", "neighbourhood"), ())
    return Stopping(name, constant, penalised(problem, lambda kernel: fees), why, rests=rests)
