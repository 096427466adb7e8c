"""What a round decides, what many runs leave, sets of arms as vectors."""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .jit import jitable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# fields of parts that nobody writes: on a card, runs that begin alike have one in common
Fixed = Annotated[Floats, "fixed"]
FixedInts = Annotated[Ints, "fixed"]
Random = np.random.Generator


class BatchResult(NamedTuple):
    """What many runs left."""

    stopping_times: Ints  # int64[runs, deltas]
    recommended: Any  # uint8[runs, deltas, d]
    final_leaders: Any  # uint8[runs, d]
    final_leads: Floats  # float64[runs]
    rounds: Ints  # int64[runs]
    status: Ints  # int64[runs]: how, as `round.play` says it


class RoundState(NamedTuple):
    """What is thought of it, and what to do next."""

    leader: Floats  # I_t
    rival: Floats  # J: the closest answer
    alternative_means: Floats  # lambda: the closest means with another answer
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


@jitable
def restore_array(now: Any, was: Any, back: bool) -> int:
    """Copy an array; back: the other way round, if something was written: then 1 is returned."""
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
    written = 0
    for i in range(now.shape[0]):
        written = max(written, restore_array(now[i], was[i], back))
    return written
