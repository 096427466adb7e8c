"""Parts are NamedTuples of numbers and arrays: a copy with arrays of its own, and the same state in
larger ones.
"""

import copy
from typing import Any, TypeVar

import numpy as np

from .callback import SIGNATURE

Part = TypeVar("Part")
UNSHARED = (float, int, bool)  # nobody can change them


def copied(part: Part) -> Part:
    """A part with arrays of its own."""
    kind = type(part)
    if kind in UNSHARED:
        return part
    if isinstance(part, np.ndarray):
        return part.copy()
    if isinstance(part, tuple) and hasattr(kind, "_fields"):
        return kind(*[copied(field) for field in part])
    return part if isinstance(part, SIGNATURE) else copy.deepcopy(part)


def leaves_of(part: Any) -> list[Any]:
    """The numbers, arrays and other things that a part is made of."""
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        return [leaf for field in part for leaf in leaves_of(field)]
    return [part]


def grown(old: Part, new: Part) -> Part:
    """`new`, a part of the same kind with larger arrays, with the state of `old` in their leading
    blocks.
    """
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        new[tuple(slice(0, n) for n in old.shape)] = old
        return new
    if isinstance(old, tuple) and hasattr(old, "_fields"):
        return type(old)(*(grown(a, b) for a, b in zip(old, new, strict=True)))  # type: ignore[call-overload]
    return old
