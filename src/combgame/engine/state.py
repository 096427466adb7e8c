"""What a run knows: values seen, what is thought of them, sets of arms as vectors."""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .block_effects import Blocks, make_blocks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# fields of parts that nobody writes: on a card, runs that begin alike have one in common
Fixed = Annotated[Floats, "fixed"]
FixedInts = Annotated[Ints, "fixed"]
Random = np.random.Generator


class Seen(NamedTuple):
    """What has been observed."""

    counts: Floats  # N~_{t-1}: values seen per arm
    sums: Floats  # their sums
    mean: Floats  # mu_{t-1}
    feasible: Floats  # mu~_{t-1}: its projection on M
    clock: Ints  # int64[1]: t - 1, the rounds played
    squares: Floats  # sums of (value - mean)^2
    rest: Floats  # what rounding has left out of the sums
    # what the counts are worth to the stopping rule, written by its judge; the counts where there
    # is none
    worth: Floats
    # float64[4, d], of values x with weights v that were fixed before x was seen: sum v, sum v^2,
    # sum v (x - origin), and the origin, which is the first value
    weighed: Floats
    group: Ints  # int64[d]: arms that vary alike have the same number
    # float64[3, groups], how the values of a group vary (`round.scatter`): how many squares of
    # deviations were added up, their sum, and how many there were when the play was chosen
    noise: Floats
    # int64[1]: 1 while what is played was fixed before any value was seen
    start: Ints
    blocks: Blocks  # differences within plays, where every play has a level of its own


def blank(d: int, group: Ints | None = None, precision: Floats | None = None) -> Seen:
    """Nothing seen yet of d arms. group: see `Seen`; precision: their 1/sigma^2, where plays have
    levels.
    """
    counts, sums, mean, feasible, squares, rest, worth = np.zeros((7, d))
    clock, weighed = np.zeros(1, np.int64), np.zeros((4, d))
    alike = np.zeros(d, np.int64) if group is None else group.copy()
    noise, start = np.zeros((3, int(alike.max(initial=0)) + 1)), np.ones(1, np.int64)
    blocks: Any = make_blocks(np.zeros(0) if precision is None else precision)
    return Seen(
        counts,
        sums,
        mean,
        feasible,
        clock,
        squares,
        rest,
        worth,
        weighed,
        alike,
        noise,
        start,
        blocks,
    )


class Found(NamedTuple):
    """What many runs left."""

    stops: Ints  # int64[runs, deltas]
    winners: Any  # uint8[runs, deltas, d]
    leaders: Any  # uint8[runs, d]
    leads: Floats  # float64[runs]
    rounds: Ints  # int64[runs]
    ended: Ints  # int64[runs]: how, as `round.play` says it


class View(NamedTuple):
    """What is thought of it, and what to do next."""

    best: Floats  # I_t
    rival: Floats  # J: the closest answer
    alternative: Floats  # lambda: the closest means with another answer
    evidence: Floats  # float64[1]: the generalised likelihood ratio at the counts
    action: Floats  # A_t


def arms_of(chosen: Floats) -> tuple[int, ...]:
    """A 0/1 vector as ascending arms."""
    return tuple(int(a) for a in np.flatnonzero(chosen > 0.5))


def vector(arms: Iterable[int], d: int) -> Floats:
    """Arms as a 0/1 vector."""
    out = np.zeros(d)
    out[list(arms)] = 1.0
    return out
