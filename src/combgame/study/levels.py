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
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..game.records import Floats
from ..problem import Problem
from ..rewards.gaussian import Gaussian
from ..sentences import Sentence
from .entries import pulls
from .round import Record

LEVEL = 1e-4
INFLATED = 2.0 ** np.arange(1, 15)


@dataclass
class Opening:
    """The rounds of a start: those that no value has had a part in choosing."""

    rounds: list[int] = field(default_factory=list)
    lasts: bool = True  # more of them may come
    kept: dict[int, Record] = field(default_factory=dict)  # those that have ended

    def keep(self, record: Record) -> None:
        """One round has ended."""
        if record.number in self.rounds:
            self.kept[record.number] = record

    @property
    def over(self) -> bool:
        return len(self.kept) == len(self.rounds)

    def records(self) -> list[Record]:
        return [self.kept[number] for number in self.rounds]

    def plain(self) -> list[Any]:
        """As JSON can carry it."""
        return [self.rounds, self.lasts, [one.plain() for one in self.kept.values()]]

    @classmethod
    def of(cls, plain: list[Any]) -> "Opening":
        rounds, lasts, kept = plain
        return cls(rounds, lasts, {one["number"]: Record.of(one) for one in kept})


class Squares(NamedTuple):
    """Of the rounds of a start, over sigma^2: between rounds given the arms, and what both leave
    over, each with its degrees of freedom.
    """

    between: float
    degrees: int
    rest: float
    freedom: int


def squares_of(records: Iterable[Record], precision: Floats) -> Squares:
    """By least squares on arms, and on arms and rounds."""
    cells = [
        (t, arm, mean, n * precision[arm])
        for t, record in enumerate(records)
        for arm, told in record.told.items()
        if arm not in record.again
        for mean, n in pulls(told.entry)
    ]
    if not cells:
        return Squares(0.0, 0, 0.0, 0)
    rows, arms = (np.array([cell[k] for cell in cells]) for k in (0, 1))
    value, weight = (np.array([cell[k] for cell in cells]) for k in (2, 3))
    value = value - value[0]
    weights = np.zeros((rows.max() + 1, precision.size))
    sums = np.zeros(precision.size)
    np.add.at(weights, (rows, arms), weight)
    np.add.at(sums, arms, weight * value)
    every = weights.sum(axis=0)
    seen = every > 0.0
    share = weights[:, seen] / every[seen]
    totals = np.bincount(rows, weight * value, minlength=len(weights))
    off = totals - share @ sums[seen]  # of each round, from what its arms let expect
    joint = np.diag(weights.sum(axis=1)) - share @ weights[:, seen].T
    values, vectors = np.linalg.eigh(0.5 * (joint + joint.T))
    kept = values > 1e-9 * max(values[-1], 1e-300)
    apart, degrees = float(np.sum((vectors[:, kept].T @ off) ** 2 / values[kept])), int(kept.sum())
    about = value - (sums / np.where(seen, every, 1.0))[arms]  # what the arms leave over
    rest, freedom = float(weight @ about**2) - apart, value.size - int(seen.sum()) - degrees
    return Squares(apart, degrees, max(rest, 0.0), freedom)


def surprise(one: Squares, known: bool = True) -> float:
    """ln of the average over kappa. known: whether sigma is.

    >>> round(surprise(Squares(100.0, 10, 0.0, 0)), 2), round(surprise(Squares(10.0, 10, 0, 0)), 2)
    (31.35, -3.5)
    >>> round(surprise(Squares(100.0, 10, 20.0, 20), known=False), 2)
    9.61
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


def unstated(problem: Problem, records: Iterable[Record]) -> Sentence | None:
    """What to say of the rounds of the start: None, unless they contradict that rounds have no
    levels of their own.
    """
    rewards = problem.rewards
    if not isinstance(rewards, Gaussian) or rewards.levels():
        return None
    if not rewards.known and rewards.shared is not True:
        return None  # nothing is known of how arms compare
    sigma = problem.noise() if rewards.known else np.ones(problem.d)
    seen = squares_of(records, sigma**-2.0)
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
