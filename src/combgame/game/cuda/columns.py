"""Where the arrays of many runs lie on a card: those of a warp together, word by word, its runs side
by side.

A *slot* is a place for one run. All arrays of one type that a run has lie one after another in an
arena, and word w of slot s lies at (s / 32) * 32 * words + 32 * w + s % 32: threads that do the
same thing at the same time read and write neighbouring addresses, and what a warp has lies on few
pages. What a kernel sees of an array is a view whose shape and strides are constants of the kernel,
so that the compiler keeps none of them.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..parts import leaves_of

WARP = 32
ARENAS = (np.dtype(np.float64), np.dtype(np.int64))


class Place(NamedTuple):
    """Of an array in its arena."""

    arena: int
    first: int  # word
    shape: tuple[int, ...]


class Plan(NamedTuple):
    """Where the arrays of some parts are to lie."""

    places: tuple[Place, ...]
    words: tuple[int, ...]  # of a slot, in each arena

    @property
    def bytes(self) -> int:
        """Of a slot."""
        return 8 * sum(self.words)


def arrays_of(parts: Any) -> list[Any]:
    """The arrays of some parts, each once."""
    leaves = [leaf for part in parts for leaf in leaves_of(part)]
    return list({id(x): x for x in leaves if isinstance(x, np.ndarray)}.values())


def plan(arrays: Sequence[Any]) -> Plan | None:
    """None: there are arrays of another type, or some that overlap."""
    places, words = [], [0] * len(ARENAS)
    for x in arrays:
        if x.dtype not in ARENAS or (x.base is not None and not _owner(x)):
            return None
        arena = ARENAS.index(x.dtype)
        places.append(Place(arena, words[arena], x.shape))
        words[arena] += x.size
    spans = sorted((x.ctypes.data, x.nbytes) for x in arrays if x.nbytes)
    if any(a + size > b for (a, size), (b, _) in zip(spans, spans[1:], strict=False)):
        return None
    return Plan(tuple(places), tuple(words))


def _owner(x: Any) -> bool:
    return bool(x.flags.forc)


def stacked(plan: Plan, many: Sequence[Sequence[Any]]) -> list[Any]:
    """The arenas of several runs, as [words, runs]: what slots begin with."""
    arenas = [
        np.zeros((max(n, 1), len(many)), kind) for n, kind in zip(plan.words, ARENAS, strict=True)
    ]
    for column, arrays in enumerate(many):
        for place, x in zip(plan.places, arrays, strict=True):
            arenas[place.arena][place.first : place.first + x.size, column] = x.ravel()
    return arenas


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """In bytes, of an array whose words are those of one slot."""
    return tuple(8 * WARP * math.prod(shape[k + 1 :]) for k in range(len(shape)))
