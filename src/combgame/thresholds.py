"""When to stop: beta(t, delta), each threshold with its validity.

The proved ones are Theorem 2 of the paper, on the deviation inequalities of Kaufmann and Koolen, *Mixture martingales
revisited* (2018): Corollary 10 for Gaussian rewards (C^{g_G}) and Theorem 14 for one-parameter exponential families (T).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from .bonuses import lambert_bar
from .errors import UnknownNameError
from .protocols import Floats, Threshold
from .rewards import Bernoulli, Bounded, Gaussian
from .rewards.base import RewardsBase
from .structures import StructureBase


class Question(Protocol):
    """What a threshold must know of a problem."""

    @property
    def actions(self) -> StructureBase: ...
    @property
    def answers(self) -> StructureBase: ...
    @property
    def rewards(self) -> RewardsBase: ...


class Validity(NamedTuple):
    """Whether stopping at a threshold keeps the error probability below delta, and why."""

    proved: bool
    reason: str
    provided: str = ""  # what the proof takes for granted of a user's part

    @property
    def label(self) -> str:
        """In a word or two."""
        if not self.proved:
            return "heuristic"
        return f"proved if {self.provided}" if self.provided else "proved"

    def __str__(self) -> str:
        return f"{self.label}: {self.reason}"


class StylisedPart(NamedTuple):
    delta: Floats

    def level(self, t: int, which: int) -> float:
        return math.log((1.0 + math.log(max(t, 1))) / float(self.delta[which]))


class TheoremTwoPart(NamedTuple):
    """scale * d0 * ln(inside + ln(t K / d0)) + constant[delta]."""

    scale: float  # 2 d0 (Gaussian) or 3 d0 (sub-Gaussian)
    inside: float  # 4 or 1
    ratio: float  # K / d0
    floor: float  # t K / d0 is taken to be at least this
    constant: Floats

    def level(self, t: int, which: int) -> float:
        return self.scale * math.log(self.inside + math.log(max(t * self.ratio, self.floor))) + float(self.constant[which])


NEVER = TheoremTwoPart(0.0, 4.0, 1.0, 1.0, np.array([math.inf]))  # for tests and timings: a run that does not stop


def c_gaussian(x: float) -> float:
    """C^{g_G}(x) = min over y in (1/2, 1] of (g_G(y) + x) / y (Kaufmann and Koolen 2018, Corollary 10).

    >>> round(c_gaussian(5.0), 4)
    6.7573
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def ratio(y: float) -> float:
        g = 2 * y - 2 * y * math.log(4 * y) + math.log(float(zeta(2 * y))) - 0.5 * math.log1p(-y)
        return (g + x) / y

    # for large x the minimiser is near 1, at 1 - y of order 1 / (2x): search in ln(1 - y)
    found = minimize_scalar(
        lambda u: ratio(1.0 - math.exp(u)), bounds=(-700.0 if x > 1e15 else -40.0, math.log(0.4999999)),
        method="bounded", options={"xatol": 1e-10},
    )  # fmt: skip
    return float(found.fun)


def h_tilde(x: float, z: float = 1.5) -> float:
    """h~_z(x); its two branches meet at x = h(1 / ln z), where it switches (the text's h^{-1} is a slip: it would jump)."""
    edge = 1.0 / math.log(z)
    if x >= edge - math.log(edge):
        y = lambert_bar(x)  # h^{-1}(x)
        return math.exp(1.0 / y) * y
    return z * (x - math.log(math.log(z)))


def t_function(x: float) -> float:
    """T(x) = 2 h~_{3/2}((h^{-1}(1 + x) + ln(pi^2 / 3)) / 2) (Kaufmann and Koolen 2018, Theorem 14).

    >>> round(t_function(5.0), 4)
    15.1914
    """
    return 2.0 * h_tilde((lambert_bar(1.0 + x) + math.log(math.pi**2 / 3.0)) / 2.0)


def stylised(question: Question, deltas: Floats) -> StylisedPart:
    """ln((1 + ln t) / delta)."""
    return StylisedPart(deltas.copy())


def gaussian(question: Question, deltas: Floats) -> TheoremTwoPart:
    """Theorem 2 (b). At t K < d0 the logarithm is taken at 1: counts are at least 1 where anything can stop."""
    d0, log_rivals = float(question.answers.difference_bound()), _log_rivals(question)
    constant = np.array([d0 * c_gaussian((log_rivals - math.log(delta)) / d0) for delta in deltas])
    return TheoremTwoPart(2.0 * d0, 4.0, question.actions.largest() / d0, 1.0, constant)


def sub_gaussian(question: Question, deltas: Floats) -> TheoremTwoPart:
    """Theorem 2 (a). x ln(1 + ln(tK/x)) rises in x only up to tK/2.1452, so tK/d0 is taken at 2.1452 at least."""
    d0, log_rivals = float(question.answers.difference_bound()), _log_rivals(question)
    constant = np.array([d0 * t_function((log_rivals - math.log(delta)) / d0) for delta in deltas])
    return TheoremTwoPart(3.0 * d0, 1.0, question.actions.largest() / d0, 2.1452, constant)


def _log_rivals(question: Question) -> float:
    """ln(|I| - 1), or of an upper bound on it: the union bound over more answers than there are holds too."""
    return math.log(question.answers.size_bound() - 1)


THRESHOLDS: dict[str, Callable[[Question, Floats], Threshold] | None] = {  # None: evidence with fees, in `stopping.py`
    "stylised": stylised,
    "gaussian": gaussian,
    "sub-gaussian": sub_gaussian,
    "gaussian-counts": None,
    "sub-gaussian-counts": None,
    "mixture": None,
}


def resolve(name: str, question: Question) -> str:
    """'proved' is Theorem 2's for the rewards at hand ('mixture' if their variance is not known); other names stand for themselves."""
    if name == "proved":
        if not question.rewards.known:
            return "mixture"
        return "gaussian" if question.rewards.family == "gaussian" else "sub-gaussian"
    if name not in THRESHOLDS:
        known = ", ".join(map(repr, ("proved", *THRESHOLDS)))
        raise UnknownNameError(f"threshold = {name!r} is not known; use one of {known}.")
    return name


COVERED = (Gaussian, Bernoulli, Bounded)  # the rewards that the proofs are about: these very classes


def uncovered(rewards: RewardsBase) -> Validity:
    kind = type(rewards).__name__
    return Validity(
        False, f"the proofs are for Gaussian, Bernoulli and Bounded rewards; nothing is known of {kind}, a class of your own"
    )


def validity(name: str, question: Question) -> Validity:
    """What a threshold guarantees on a problem.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1))
    >>> str(validity("stylised", problem))
    "heuristic: ln((1 + ln t)/delta) is the paper's choice for its experiments; no theorem covers it"
    """
    name, family = resolve(name, question), question.rewards.family
    if name == "stylised":
        return Validity(False, "ln((1 + ln t)/delta) is the paper's choice for its experiments; no theorem covers it")
    if type(question.rewards) not in COVERED:
        return uncovered(question.rewards)
    if name == "gaussian":
        if family == "gaussian":
            return Validity(True, "Theorem 2 (b): independent Gaussian arms with the stated sigma")
        return Validity(False, f"Theorem 2 (b) is for Gaussian rewards, these are {family}; use 'sub-gaussian'")
    if family == "bounded":
        return Validity(
            True, "Theorem 2 (a), carried over to bounded values as in docs/algorithms.md: independent values in [low, high]"
        )
    return Validity(True, "Theorem 2 (a): independent arms from a one-parameter exponential family")


def make_threshold(name: str, question: Question, deltas: Sequence[float]) -> Threshold:
    """The threshold of a name for a problem and one or more deltas; one that is a function of t."""
    make = THRESHOLDS[resolve(name, question)]
    if make is None:
        raise UnknownNameError(f"threshold = {name!r} is not a function of t alone; use stopping.make_stopping.")
    return make(question, np.asarray(deltas, dtype=float))
