"""A structure whose oracle is a Python function, as a part for both engines: a C pointer to the
function is one of its fields.

Compiled code calls it like any other function (and it takes the GIL back while it runs). What it
raises is kept and raised again, unchanged, by `own_errors`: an exception cannot pass through C.
"""

import ctypes
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .protocols import Rewards
from .records import Floats, Random

SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
FAILURES: list[BaseException] = []  # what a callback raised, until somebody picks it up


class CallbackPart(NamedTuple):
    call: Any  # SIGNATURE: (address of the scores, address of the set, d) -> 0 if all is well
    scores: Floats  # scratch

    def argmax(self, score: Floats, out: Floats) -> None:
        if self.call(score.ctypes, out.ctypes, score.size) != 0:
            raise RuntimeError("the oracle failed")

    def sample(self, rng: Random, out: Floats) -> None:
        """The best set for random scores: every extreme set has a chance, but the chances are not
        equal.
        """
        for a in range(self.scores.size):
            self.scores[a] = rng.standard_normal()
        if self.call(self.scores.ctypes, out.ctypes, self.scores.size) != 0:
            raise RuntimeError("the oracle failed")

    def nearest(
        self,
        rewards: Rewards,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        return math.nan  # asked about through `answer_part`


def _view(address: int, n: int) -> Floats:
    """n doubles at an address, as an array."""
    return np.ctypeslib.as_array((ctypes.c_double * n).from_address(address))


def callback_part(solve: Callable[[Floats], Floats], d: int) -> CallbackPart:
    """A part that calls `solve`, a function from scores to a 0/1 vector."""

    def call(score: int, out: int, n: int) -> int:
        try:
            _view(out, n)[:] = solve(_view(score, n))
        except BaseException as error:
            FAILURES.append(error)
            return 1
        return 0

    return CallbackPart(SIGNATURE(call), np.zeros(d))


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise what a callback raised, instead of the news that it did."""
    try:
        yield
    except RuntimeError:
        if FAILURES:
            raise FAILURES.pop() from None
        raise
