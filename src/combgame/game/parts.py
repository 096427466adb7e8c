"""Parts are NamedTuples of numbers and arrays: a copy with arrays of its own, and the same state in larger ones."""

import copy
from typing import TypeVar

import numpy as np

from .callback import SIGNATURE

Part = TypeVar("Part")


def copied(part: Part) -> Part:
    """A part with arrays of its own."""
    if isinstance(part, np.ndarray):
        return part.copy()
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        return type(part)(*(copied(field) for field in part))
    return part if isinstance(part, bool | int | float | SIGNATURE) else copy.deepcopy(part)


def grown(old: Part, new: Part) -> Part:
    """`new`, a part of the same kind with larger arrays, with the state of `old` in their leading blocks."""
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        new[tuple(slice(0, n) for n in old.shape)] = old
        return new
    if isinstance(old, tuple) and hasattr(old, "_fields"):
        return type(old)(*(grown(a, b) for a, b in zip(old, new, strict=True)))  # type: ignore[call-overload]
    return old
