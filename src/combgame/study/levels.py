"""A level of rounds that nobody stated: plates that lift all their wells, seen in the start.

The arms of the rounds of the start are chosen before any value is, so that arms which are repeated
in different rounds tell rounds apart. Given the arms, the squares between rounds over sigma^2 are a
chi^2 with f degrees of freedom if rounds have no levels, and kappa times one if levels inflate them
by kappa: kappa^{-f/2} exp((1 - 1/kappa) SS/2) has mean 1, and is averaged over kappa = 2, 4, ...,
2^14. Where sigma is not known, R, the squares that arms and rounds leave over, with g degrees,
stands for it: kappa^{-f/2} ((R + SS)/(R + SS/kappa))^{(f + g)/2}, the ratio of the densities of
SS/R. By Markov's inequality it exceeds 1/LEVEL with probability at most LEVEL; it is looked at,
once, when the start has been told.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import bmat, csr_matrix
from scipy.sparse.csgraph import connected_components

from ..game.records import Floats
from ..problem import Problem
from ..rewards.gaussian import Gaussian
from ..sentences import Sentence
from .round import Record, values_in

LEVEL = 1e-4
INFLATED = 2.0 ** np.arange(1, 15)


@dataclass
class Opening:
    """The rounds of a start: those that no value has had a part in choosing."""

    rounds: set[int] = field(default_factory=set)
    lasts: bool = True  # more of them may come
    # the values of those that have ended: rows of arms, means, and of how many values
    kept: dict[int, Floats] = field(default_factory=dict)
    found: "Squares | None" = None  # of them, when it was over

    def keep(self, record: Record) -> None:
        """One round has ended."""
        if record.number in self.rounds:
            self.kept[record.number] = values_in(record)

    def settle(self, problem: Problem) -> "Squares | None":
        """The squares of its rounds, once it is over, after which its rounds are forgotten."""
        if self.found is None and not self.lasts and len(self.kept) == len(self.rounds):
            self.found = Squares(0.0, 0, 0.0, 0)
            if may_lack_levels(problem):
                rounds = [self.kept[number] for number in sorted(self.rounds)]
                sigma = problem.noise() if problem.rewards.known else np.ones(problem.d)
                self.found = squares_of(rounds, sigma**-2.0)
            self.rounds, self.kept = set(), {}
        return self.found

    def plain(self) -> list[Any]:
        """All but its values, as JSON can carry it."""
        sizes = [(number, one.shape[1]) for number, one in self.kept.items()]
        return [sorted(self.rounds), self.lasts, sizes, self.found]

    def values(self) -> Floats:
        """Those of all its rounds, one after the other."""
        return np.concatenate([np.zeros((3, 0)), *self.kept.values()], axis=1)

    @classmethod
    def of(cls, plain: list[Any], values: Floats) -> "Opening":
        """What `plain` and `values` said."""
        rounds, lasts, sizes, found = plain
        parts = np.split(values, np.cumsum([n for _, n in sizes])[:-1], axis=1)
        kept = {number: part for (number, _), part in zip(sizes, parts, strict=False)}
        return cls(set(rounds), lasts, kept, found and Squares(*found))


def may_lack_levels(problem: Problem) -> bool:
    """Whether levels that nobody stated could be seen: nothing is known of how arms compare if
    each has an unknown sigma of its own.
    """
    rewards = problem.rewards
    if not isinstance(rewards, Gaussian) or rewards.levels():
        return False
    return rewards.known or rewards.shared is True


class Squares(NamedTuple):
    """Of the rounds of a start, over sigma^2: between rounds given the arms, and what both leave
    over, each with its degrees of freedom.
    """

    between: float
    degrees: int
    rest: float
    freedom: int


def squares_of(rounds: Sequence[Floats], precision: Floats) -> Squares:
    """By least squares on arms, and on arms and rounds; of each round, what `values_in` says."""
    which = np.repeat(np.arange(len(rounds)), [one.shape[1] for one in rounds])
    if not which.size:
        return Squares(0.0, 0, 0.0, 0)
    arm, value, n = np.concatenate(rounds, axis=1)
    rows, arms = (np.unique(one, return_inverse=True)[1] for one in (which, arm))
    weight, value = n * precision[arm.astype(int)], value - value[0]
    weights = csr_matrix((weight, (rows, arms)))
    within, every = (np.bincount(one, weight) for one in (rows, arms))
    totals, sums = (np.bincount(one, weight * value) for one in (rows, arms))
    # rounds that share arms, or arms that share rounds, are connected: each such part lacks one
    parts = connected_components(bmat([[None, weights], [weights.T, None]]), directed=False)[0]
    degrees = within.size - int(parts)
    if within.size <= every.size:
        apart = _explained(weights, within, every, totals, sums)
    else:  # the same, from the arms given the rounds, which are fewer
        apart = _explained(weights.T.tocsr(), every, within, sums, totals)
        apart += float(np.sum(totals**2 / within) - np.sum(sums**2 / every))
    apart = max(apart, 0.0) if degrees else 0.0
    about = value - (sums / every)[arms]  # what the arms leave over
    rest, freedom = float(weight @ about**2) - apart, value.size - every.size - degrees
    return Squares(apart, degrees, max(rest, 0.0), freedom)


def _explained(weights: Any, own: Any, other: Any, totals: Any, sums: Any) -> float:
    """Squares that the rows of a matrix of weights explain, given its columns: b' A^+ b by
    conjugate gradients, which come from below.
    """
    off = totals - weights @ (sums / other)  # of each row, from what its columns let expect
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


def surprise(one: Squares, known: bool = True) -> float:
    """ln of the average over kappa. known: whether sigma is.

    >>> round(surprise(Squares(100.0, 10, 0.0, 0)), 2), round(surprise(Squares(10.0, 10, 0, 0)), 2)
    (31.35, -3.5)
    >>> round(surprise(Squares(100.0, 10, 20.0, 20), known=False), 2)
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


def unstated(problem: Problem, seen: Squares) -> Sentence | None:
    """What to say of the rounds of the start: None, unless they contradict that rounds have no
    levels of their own.
    """
    rewards = problem.rewards
    if surprise(seen, rewards.known) <= -math.log(LEVEL):
        return None
    unit = 1.0 if rewards.known else seen.rest / seen.freedom
    sure = rewards.known
    return Sentence(
        "level-unstated",
        "the rounds of the start differ as a whole by {times:.2g} times what "
        + ("the stated sigma allows" if sure else "the values within them let expect")
        + ", so they seem to have levels of their own, as plates have, and a wrong answer may look "
        "best",
        remedy="state it with {stated}, which compares arms within rounds only"
        + ("; or state a larger sigma, if all values scatter more" if sure else ""),
        times=math.sqrt(seen.between / seen.degrees / unit),
        stated="Gaussian(sigma, level='per play')" if sure else "Gaussian(level='per play')",
    )
