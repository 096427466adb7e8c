"""The state of a round, the results of a batch of runs, and sets of arms as vectors."""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import jitable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# fields of kernels that are never written: runs on a GPU that begin alike share them
Fixed = Annotated[Floats, "fixed"]
FixedInts = Annotated[Ints, "fixed"]
Random = np.random.Generator


class BatchResult(NamedTuple):
    """The results of a batch of runs."""

    stopping_times: Ints  # int64[runs, deltas]
    recommended: Any  # uint8[runs, deltas, d]
    final_leaders: Any  # uint8[runs, d]
    final_leads: Floats  # float64[runs]
    rounds: Ints  # int64[runs]
    status: Ints  # int64[runs]: how it ended, as `round.play` returns it


class RoundState(NamedTuple):
    """The decisions of a round.

    Attributes
    ----------
    leader : float64[d]
        I_t, the recommended answer.
    rival : float64[d]
        J, the closest other answer.
    alternative_means : float64[d]
        lambda, the closest means under which another answer is best.
    evidence : float64[1]
        The stopping statistic: the evidence in favour of the leader.
    action : float64[d]
        A_t, the next action.
    """

    leader: Floats
    rival: Floats
    alternative_means: Floats
    evidence: Floats
    action: Floats


def arms_of(chosen: Floats) -> tuple[int, ...]:
    """Return the arms of a 0/1 vector, ascending."""
    return tuple(int(a) for a in np.flatnonzero(chosen > 0.5))


def vector(arms: Iterable[int], d: int) -> Floats:
    """Return arms as a 0/1 vector of d entries."""
    out = np.zeros(d)
    out[list(arms)] = 1.0
    return out


@jitable
def restore_array(now: Any, was: Any, back: bool) -> int:
    """Copy an array to its backup, or restore it from there.

    Return 1 if `back` is true and the array had been changed, otherwise 0.
    """
    written = 0
    for i in range(now.size):
        if not back:
            was[i] = now[i]
        elif now[i] != was[i] and (now[i] == now[i] or was[i] == was[i]):
            now[i] = was[i]
            written = 1
    return written


@jitable
def restore_rows(now: Floats, was: Floats, back: bool) -> int:
    """Apply `restore_array` to every row."""
    written = 0
    for i in range(now.shape[0]):
        written = max(written, restore_array(now[i], was[i], back))
    return written
