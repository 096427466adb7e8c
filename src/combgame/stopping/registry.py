"""Stopping rules by name: the likelihood ratio against beta(t, delta), or evidence less penalties.

docs/thresholds.md has the theorems and their proofs. If an answer I is not best, some J is better
whose difference S = I xor J is one of M sets (`StructureBase.neighbourhood`). For each S a
supermartingale that begins at 1 bounds, with probability 1 - delta/M and for all t,

    sum over a in S of W_a d(mean_a, mu_a)  <=  ln(M / delta) + sum over a in S of penalty_a,

so it is safe to stop with I once the nearest alternative at the weights W, less the largest
penalties that an S can have, exceeds ln(M / delta).

    mixture               W_a = N_a^2 / (N_a + c), penalty_a = ln(1 + N_a/c) / 2: sub-Gaussian
                          values (Robbins 1970); where answers differ by exchanges, the mixture over
                          c itself, one-sided, pair by pair (`KnownVariancePairKernel`)
    mixture               W_a = N_a, penalty_a = the regret of the Beta(1/2, 1/2) mixture: Bernoulli
                          values, exactly
    gaussian-counts       W_a = N_a, penalty_a = 2 ln(4 + ln N_a): the paper's Theorem 2 (b), with
                          the counts
    sub-gaussian-counts   W_a = N_a, penalty_a = 3 ln(1 + ln N_a): the paper's Theorem 2 (a)
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine.protocols import Threshold
from ..engine.state import Floats
from ..errors import (
    InputError,
    UnknownNameError,
    invalid_argument,
    is_real,
    to_python_scalar,
    unknown_name,
)
from ..problem import Problem
from ..rewards import Assumption
from ..rewards.base import valid_assumptions
from .base import ProblemLike, Stopping, StoppingBase, own_stopping, with_conditions
from .block_effects import block_effect_stopping, only_mixture
from .elimination import with_elimination
from .glr import by_counts, gaussian, stylised, sub_gaussian, validity
from .mixture import mixture
from .variance import estimated_variance

THRESHOLDS: dict[
    str, Callable[[ProblemLike, Floats], Threshold] | None
] = {  # None: evidence with penalties
    "stylised": stylised,
    "gaussian": gaussian,
    "sub-gaussian": sub_gaussian,
    "gaussian-counts": None,
    "sub-gaussian-counts": None,
    "mixture": None,
}


def check_threshold(threshold: Any) -> None:
    """Raise an `InputError` unless the threshold is a name or a user's stopping rule."""
    if not isinstance(threshold, str | StoppingBase):
        raise invalid_argument(
            "threshold",
            threshold,
            "a name, such as 'mixture', or an object (not a class) that derives from StoppingBase",
        )


def resolve(name: str, problem: ProblemLike) -> str:
    """Return the name of the threshold that a name stands for.

    "proved" is the threshold of the paper's Theorem 2 for the rewards, or "mixture" if their
    variance is not known or if there are batch effects. Other names stand for themselves.
    """
    if isinstance(name, str) and name == "proved":
        if not problem.rewards.variance_known or problem.rewards.has_batch_effect():
            return "mixture"
        return (
            "gaussian"
            if Assumption.GAUSSIAN in valid_assumptions(problem.rewards)
            else "sub-gaussian"
        )
    if name not in THRESHOLDS:
        raise unknown_name("threshold", name, ("proved", *THRESHOLDS))
    return name


def make_threshold(name: str, problem: ProblemLike, deltas: Sequence[float]) -> Threshold:
    """Return the threshold of a name that is a function of t, for one or more deltas."""
    make = THRESHOLDS[resolve(name, problem)]
    if make is None:
        raise UnknownNameError(
            "not-of-rounds",
            "threshold = {name!r} is not a function of t alone",
            remedy="use make_stopping",
            name=name,
        )
    return make(problem, np.asarray(deltas, dtype=float))


def make_stopping(
    threshold: str | StoppingBase,
    problem: Problem,
    deltas: Sequence[float],
    *,
    own: Stopping | None = None,
    elimination: str | None = None,
    epsilon: float = 0.0,
) -> Stopping:
    """Return the stopping rule of a name or of a user's object.

    Parameters
    ----------
    threshold : str or StoppingBase
        Name of a threshold, or a user's stopping rule.
    problem : Problem
        The problem.
    deltas : sequence of float
        Error probabilities.
    own : Stopping, optional
        The stopping rule of the sampling rule, if it has one; it replaces "proved".
    elimination : {"always", "phases"}, optional
        Whether answers are eliminated, in every round or at the ends of phases.
    epsilon : float
        An answer that is worse than the best by at most this much counts as correct.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1))
    >>> make_stopping("stylised", problem, [0.1]).validity.label
    'heuristic'
    """
    check_threshold(threshold)
    stopping = _make(threshold, problem, deltas, own, elimination, _epsilon(epsilon))
    return stopping._replace(validity=with_conditions(stopping, problem))


def _make(
    threshold: str | StoppingBase,
    problem: Problem,
    deltas: Sequence[float],
    own: Stopping | None,
    elimination: str | None,
    epsilon: float,
) -> Stopping:
    if problem.rewards.has_batch_effect():
        own = None  # the stopping rule of a sampling rule is for plays without batch effects
    if isinstance(threshold, StoppingBase):
        own = own_stopping(threshold, problem, deltas)
    mine = own is not None and (own.own is not None or threshold in ("proved", own.name))
    name = own.name if own is not None and mine else resolve(str(threshold), problem)
    if problem.rewards.has_batch_effect() and name != "mixture":
        raise only_mixture(name)
    if epsilon and name != "mixture":
        raise InputError(
            "epsilon-needs-mixture",
            "epsilon = {epsilon:g} needs the threshold 'mixture', not {threshold!r}",
            remedy="use that, or leave epsilon out",
            epsilon=epsilon,
            threshold=name,
        )
    if elimination not in (None, "always", "phases"):
        raise invalid_argument("elimination", elimination, "'always', 'phases' or None")
    if elimination and (mine or THRESHOLDS[name] is None or not problem.rewards.variance_known):
        raise InputError(
            "cannot-eliminate",
            "elimination='always' needs 'stylised', 'gaussian' or 'sub-gaussian' and known "
            "variances; here the threshold is {threshold!r}",
            remedy="use one of them, or leave elimination out",
            threshold=name,
        )
    if own is not None and own.own is not None and not problem.rewards.variance_known:
        raise _needs_variances(name)
    if own is not None and mine:
        return own
    if problem.rewards.has_batch_effect():
        return block_effect_stopping(problem, deltas, epsilon)
    if name == "mixture":
        return mixture(problem, deltas, epsilon)
    if not problem.rewards.variance_known:
        if name != "stylised":
            raise _needs_variances(name)
        return estimated_variance(problem, make_threshold(name, problem, deltas))
    if THRESHOLDS[name] is None:
        return by_counts(name, problem, deltas)
    usual = Stopping(
        name, make_threshold(name, problem, deltas), None, validity(name, problem.rewards)
    )
    if not elimination:
        return usual
    return with_elimination(usual, problem, deltas, phases=elimination == "phases")


def _needs_variances(name: str) -> InputError:
    return InputError(
        "needs-variances",
        "threshold = {threshold!r} needs known variances",
        remedy="use 'mixture' (or 'stylised', a heuristic), or give Gaussian a sigma",
        threshold=name,
    )


def _epsilon(epsilon: Any) -> float:
    number = to_python_scalar(epsilon)
    if not is_real(number) or not 0.0 <= number < math.inf:
        raise invalid_argument(
            "epsilon",
            epsilon,
            "a number of at least 0: by how much an answer may be worse than the best",
        )
    return float(number)
