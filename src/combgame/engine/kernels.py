"""Parts are NamedTuples of numbers and arrays: a copy with arrays of its own, many such copies, and
the same state in larger ones.
"""

import copy
from collections.abc import Callable
from itertools import count, pairwise
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from .user_code import SIGNATURE

Part = TypeVar("Part")
UNSHARED = (float, int, bool)  # nobody can change them
SHARED = (*UNSHARED, np.generic, SIGNATURE)
SIMPLE = (*UNSHARED, np.random.Generator)
# contiguous (C, F), aligned, writeable: with the dtype and ndim, all that numba looks at
LAYOUT = 0x1 | 0x2 | 0x100 | 0x400


def deep_copy(kernel: Part) -> Part:
    """A part with arrays of its own."""
    kind = type(kernel)
    if isinstance(kernel, np.ndarray):
        return kernel.copy()
    if kind in UNSHARED:
        return kernel
    if isinstance(kernel, tuple) and hasattr(kind, "_fields"):
        fields: list[Any] = [deep_copy(field) for field in kernel]
        made: Part = tuple.__new__(kind, fields)  # type: ignore[type-var]
        return made
    return kernel if isinstance(kernel, SIGNATURE) else copy.deepcopy(kernel)


class KernelTemplate(NamedTuple):
    """Makes copies of a part. What is one array in the part is one array in a copy."""

    arrays: list[Any]
    others: list[Any]  # what can be shared
    tuples: list[tuple[Any, Callable[[Any], Any]]]  # their kinds and fields, the inner ones first

    def copy(self) -> Any:
        """Another copy."""
        values = [x.copy("K") for x in self.arrays] + self.others
        for kind, fields in self.tuples:
            values.append(tuple.__new__(kind, fields(values)))
        return values[-1]


def make_template(kernel: Any) -> KernelTemplate | None:
    """Return the template of a kernel; None, where its arrays overlap or have gaps, or something
    else is in it than numbers and arrays.

    >>> from combgame.engine.statistics import blank
    >>> form = make_template(blank(2))
    >>> one, two = form.copy(), form.copy()
    >>> one.counts[0] = 1.0
    >>> one.counts.tolist(), two.counts.tolist()
    ([1.0, 0.0], [0.0, 0.0])
    """
    leaves = iter_leaves(kernel)
    arrays = {id(x): x for x in leaves if isinstance(x, np.ndarray)}
    others = [x for x in leaves if not isinstance(x, np.ndarray)]
    if not (_apart(list(arrays.values())) and all(isinstance(x, SHARED) for x in others)):
        return None
    places = {name: place for place, name in enumerate(arrays)}
    rest, tuples = count(len(arrays)), list[tuple[Any, Callable[[Any], Any]]]()

    def put(x: Any) -> int:
        if isinstance(x, np.ndarray):
            return places[id(x)]
        if not (isinstance(x, tuple) and hasattr(x, "_fields")):
            return next(rest)
        at = [put(field) for field in x]
        few = slice(at[0], at[0] + 1) if at else slice(0)
        tuples.append((type(x), itemgetter(*at) if len(at) > 1 else itemgetter(few)))
        return len(arrays) + len(others) + len(tuples) - 1

    put(kernel)
    return KernelTemplate([x.copy("K") for x in arrays.values()], others, tuples)


class LazyTemplate(Generic[Part]):
    """A part of which copies are wanted; from the second on they are cheap."""

    def __init__(self, kernel: Part) -> None:
        self.part, self._asked = kernel, 0
        self._mould: KernelTemplate | None = None

    def copy(self) -> Part:
        self._asked += 1
        if self._asked == 2:
            self._mould = make_template(self.part)
        made: Part = deep_copy(self.part) if self._mould is None else self._mould.copy()
        return made


def _apart(arrays: list[Any]) -> bool:
    """Whether no two of some arrays have a number in common, nor any of them a gap."""
    if not all(x.flags.forc for x in arrays):
        return False
    spans = sorted((x.ctypes.data, x.nbytes) for x in arrays if x.nbytes)
    return all(here + size <= there for (here, size), (there, _) in pairwise(spans))


def iter_leaves(kernel: Any) -> list[Any]:
    """The numbers, arrays and other things that a part is made of."""
    if isinstance(kernel, tuple) and hasattr(kernel, "_fields"):
        return [leaf for field in kernel for leaf in iter_leaves(field)]
    return [kernel]


def type_key(values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """All that numba's types of some values depend on; None: something else is in them."""
    try:
        return tuple(_layout(values, []))
    except TypeError:
        return None


def _layout(values: tuple[Any, ...], kinds: list[Any]) -> list[Any]:
    for x in values:
        kind = type(x)
        kinds.append(kind)
        if kind is np.ndarray:
            kinds += x.dtype, x.ndim, x.flags.num & LAYOUT
        elif isinstance(x, tuple):
            _layout(x, kinds)
        elif kind not in SIMPLE and not isinstance(x, np.generic):
            raise TypeError
    return kinds


def copy_into(old: Part, new: Part) -> Part:
    """`new`, a part of the same kind with larger arrays, with the state of `old` in their leading
    blocks.
    """
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        new[tuple(slice(0, n) for n in old.shape)] = old
        return new
    if isinstance(old, tuple) and hasattr(old, "_fields"):
        pairs: Any = zip(old, new, strict=True)  # type: ignore[call-overload]
        made: Part = type(old)(*(copy_into(a, b) for a, b in pairs))
        return made
    return old
