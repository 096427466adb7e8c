"""Variances: stated, or bounded from the data."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ..game.marks import compilable, jitable
from ..game.numerics import HALF_LOG_TWO_PI, excess, stirling
from ..game.protocols import Game, Threshold
from ..game.records import Floats, Seen
from ..problem import Problem
from ..rewards.gaussian import FINE, resolved
from ..sentences import Sentence
from .base import Stopping, Validity
from .fees import charging
from .pooled import PooledPart, pooled

SPREAD = 0.5  # the mixture for a variance: 1/variance ~ Gamma(SPREAD, SPREAD) around the true one


@compilable
class Spreads(Protocol):
    """Upper bounds on the variances."""

    @property
    def believed(self) -> Floats:
        """Those with which the rules work: the rewards' own."""

    @property
    def variance(self) -> Floats:
        """One per arm; infinity where nothing is known yet."""

    def refresh(self, seen: Seen) -> None:
        """Bring `variance` up to date."""


class KnownPart(NamedTuple):
    """Variances that are known."""

    variance: Floats
    believed: Floats

    def refresh(self, seen: Seen) -> None:
        pass

    def unit(self, seen: Seen) -> float:
        """In what means are counted."""
        return 1.0


class UnknownPart(NamedTuple):
    """Upper bounds on variances, for all t at once.

    V = sum (x - mean)^2 of N values, V / variance = v, m = N - 1: exp(v/2) Gamma(h + m/2) h^h /
    (Gamma(h) (h + v/2)^(h + m/2)) is a martingale that begins at 1, so v is below the root at which
    it equals d / delta with probability delta / d only.
    """

    bar: float  # ln(d / delta)
    done: Floats  # N for which `root` is right
    root: Floats  # v
    variance: Floats
    believed: Floats

    def refresh(self, seen: Seen) -> None:
        for a in range(self.variance.size):
            if seen.counts[a] != self.done[a]:
                self.done[a] = seen.counts[a]
                self.root[a] = least_chi_square(seen.counts[a] - 1.0, self.bar)
            known = self.root[a] > 0.0 and resolved(seen, a)
            self.variance[a] = (
                (1.0 + 4.0 / FINE) * seen.squares[a] / self.root[a] if known else math.inf
            )


class PluginPart(NamedTuple):
    """No fee: the likelihood ratio at the estimated variances; an arm counts from its second value
    on.
    """

    few: float  # with so many values or fewer, an arm does not count

    def assess(
        self, seen: Seen, mean: Floats, best: Floats, rival: Floats, weight: Floats, fee: Floats
    ) -> float:
        for a in range(fee.size):
            weight[a] = seen.counts[a] if seen.counts[a] > self.few else 0.0
            fee[a] = 0.0
        return 0.0


@jitable
def least_chi_square(m: float, level: float) -> float:
    """The v below m at which the martingale of a variance passes exp(level); 0 if there is none
    yet, never above the root.

    With p = h + m/2 and h + v/2 = p (1 - y) its logarithm is p (-y - ln(1 - y)) less what does not
    depend on v: nothing cancels.
    """
    if m <= 0.0:
        return 0.0
    h = SPREAD
    power = h + 0.5 * m
    rest = stirling(power) - 0.5 * math.log(power) + HALF_LOG_TWO_PI  # ln Gamma(p) - p ln p + p
    goal = (level + h - h * math.log(h) + math.lgamma(h) - rest) / power
    edge = 1.0 - h / power  # v = 0
    if goal <= 0.0 or excess(-edge, 1.0 - edge) <= goal:
        return 0.0
    y = min(math.sqrt(2.0 * goal), edge)  # beyond the root
    for _ in range(
        200
    ):  # Newton on a convex, rising function from the right: it stays on the right
        step = (excess(-y, 1.0 - y) - goal) * (1.0 - y) / y
        if not step > 1e-13 * y:
            break
        y -= step
    return max(2.0 * (power * (1.0 - y) - h) * (1.0 - 1e-13), 0.0)


VARIANCE_SHARE = 0.1  # of delta, for the variances where they are not known


def spreads_of(
    problem: Problem, deltas: Sequence[float], game: Game
) -> KnownPart | UnknownPart | PooledPart:
    d = problem.d
    if problem.rewards.known:
        variance = problem.rewards.spread(d) ** 2
        return KnownPart(variance, variance)
    believed = game.rewards.spreads.believed  # type: ignore[attr-defined]
    if problem.rewards.pooled:
        groups = int(problem.rewards.groups(d).max()) + 1
        return pooled(groups, believed, VARIANCE_SHARE * deltas[0])
    level = math.log(d / (VARIANCE_SHARE * deltas[0]))
    return UnknownPart(level, np.zeros(d), np.zeros(d), np.full(d, math.inf), believed)


def plugged(problem: Problem, threshold: Threshold) -> Stopping:
    """The stylised threshold, with estimated variances."""
    watch = charging(problem, lambda game: PluginPart(1.0))
    why = Sentence(
        "stylised-variances",
        "ln((1 + ln t)/delta) on the likelihood ratio at estimated variances; no theorem covers it",
    )
    return Stopping("stylised", threshold, watch, Validity(False, why))
