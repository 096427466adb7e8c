"""The layout of the arrays of many runs on a GPU: those of a warp together, word by word.

A *slot* is the place of one run. All arrays of one type that a run has lie one after another in an
arena, and word w of slot s lies at (s / 32) * 32 * words + 32 * w + s % 32: threads that do the
same at the same time read and write neighbouring addresses, and the arrays of a warp lie on few
pages. A CUDA kernel sees an array as a view whose shape and strides are constants of the kernel, so
that the compiler keeps none of them.
"""

import functools
import math
import typing
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..kernels import iter_leaves

WARP = 32
KINDS = (np.dtype(np.float64), np.dtype(np.int64))
SLOTS, FIXED = 2, 2  # arenas of slots, one for each kind; arenas of shared arrays


class Slot(NamedTuple):
    """The position of an array in its arena."""

    arena: int
    first: int  # word
    shape: tuple[int, ...]


class MemoryLayout(NamedTuple):
    """The layout of the arrays of some kernels."""

    places: tuple[Slot, ...]
    words: tuple[int, ...]  # per slot in each arena

    @property
    def bytes(self) -> int:
        """Return the number of bytes of a slot."""
        return 8 * sum(self.words[:SLOTS])


def arrays_of(kernels: Any) -> list[Any]:
    """Return the distinct arrays of some kernels."""
    leaves = [leaf for kernel in kernels for leaf in iter_leaves(kernel)]
    return list({id(x): x for x in leaves if isinstance(x, np.ndarray)}.values())


def widened(kernel: Any) -> Any:
    """Return a kernel whose small integers are int64."""
    if isinstance(kernel, np.ndarray) and kernel.dtype.kind in "iu" and kernel.itemsize < 8:
        return kernel.astype(np.int64)
    if isinstance(kernel, tuple) and hasattr(kernel, "_fields"):
        return type(kernel)(*map(widened, kernel))
    return kernel


def fixed_in(kernel: Any, fixed: bool = False) -> list[int]:
    """Return the ids of arrays that a kernel's classes declare as never written (`state.Fixed`)."""
    if isinstance(kernel, tuple) and hasattr(kernel, "_fields"):
        kept = _fixed_fields(type(kernel))
        return [
            one
            for name, x in zip(kernel._fields, kernel, strict=True)
            for one in fixed_in(x, name in kept)
        ]
    return [id(kernel)] if fixed else []


@functools.cache
def _fixed_fields(kind: type) -> frozenset[str]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return frozenset(
        name for name, hint in hints.items() if "fixed" in getattr(hint, "__metadata__", ())
    )


def plan(arrays: Sequence[Any], fixed: Collection[int] = ()) -> MemoryLayout | None:
    """Return the layout of some arrays.

    Return None if there are arrays of another type, or if some overlap. `fixed` holds the ids of
    the arrays that all runs share.
    """
    places, words = [], [0] * (len(KINDS) + FIXED)
    for x in arrays:
        if x.dtype not in KINDS or not x.flags.forc:
            return None
        arena = KINDS.index(x.dtype) + (SLOTS if id(x) in fixed else 0)
        places.append(Slot(arena, words[arena], x.shape))
        words[arena] += x.size
    spans = sorted((x.ctypes.data, x.nbytes) for x in arrays if x.nbytes)
    if any(a + size > b for (a, size), (b, _) in pairwise(spans)):
        return None
    return MemoryLayout(tuple(places), tuple(words))


def stacked(plan: MemoryLayout, many: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the arenas of several runs, [words, runs], and those of shared arrays, [words, 1].

    Slots begin with the contents of the former.
    """
    widths = (len(many), len(many), 1, 1)
    arenas = [
        np.zeros((max(n, 1), width), kind)
        for n, width, kind in zip(plan.words, widths, KINDS * 2, strict=True)
    ]
    for column, arrays in enumerate(many):
        for place, x in zip(plan.places, arrays, strict=True):
            if place.arena < SLOTS or column == 0:
                arenas[place.arena][place.first : place.first + x.size, column] = x.ravel()
    return arenas


def strides(shape: tuple[int, ...], apart: int) -> tuple[int, ...]:
    """Return the strides in bytes of an array whose words are `apart` words apart."""
    return tuple(8 * apart * math.prod(shape[k + 1 :]) for k in range(len(shape)))
