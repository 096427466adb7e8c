"""Kernels: their default methods, copies of them, and their state in larger arrays.

A kernel is a NamedTuple of numbers, arrays and other kernels.
"""

import copy
from collections.abc import Callable
from itertools import count, pairwise
from operator import itemgetter
from types import FunctionType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from .protocols import ProblemKernel, Threshold
from .state import Floats, Ints
from .statistics import Statistics
from .user_code import SIGNATURE

Kernel = TypeVar("Kernel")
Class = TypeVar("Class", bound=type)
UNSHARED = (float, int, bool)  # immutable
SHARED = (*UNSHARED, np.generic, SIGNATURE)
SIMPLE = (*UNSHARED, np.random.Generator)
# flags: contiguous (C, F), aligned, writeable; numba's type depends on them, dtype and ndim
LAYOUT = 0x1 | 0x2 | 0x100 | 0x400


def kernel(defaults: type) -> Callable[[Class], Class]:
    """Give a NamedTuple the methods of a default class that it does not define itself.

    A NamedTuple cannot inherit methods, so they are copied onto the class. Compiled code and the
    hash of what is compiled find them there like methods that were written out.

    Parameters
    ----------
    defaults : type
        Class with the default methods, such as `FixedSizeDefaults`.

    Returns
    -------
    Callable
        Class decorator for a NamedTuple.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from combgame.engine.kernels import FixedSizeDefaults
    >>> @kernel(FixedSizeDefaults)
    ... class Mine(NamedTuple):
    ...     d: int
    >>> Mine(3).needs_resize()
    False
    """

    def complete(kernel: Class) -> Class:
        for name, method in vars(defaults).items():
            if isinstance(method, FunctionType) and not hasattr(kernel, name):
                setattr(kernel, name, method)
        return kernel

    return complete


class FixedSizeDefaults:
    """Default methods of a rule or a learner whose arrays never grow."""

    def needs_resize(self) -> bool:
        """Return False: the next call always fits."""
        return False


class StoppingDefaults:
    """Default methods of a stopping rule that has a threshold and forecasts nothing."""

    threshold: Threshold

    def critical_value(self, t: int, index: int) -> float:
        """Return the value of the threshold."""
        return self.threshold.critical_value(t, index)

    def expected_growth(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return 0: the likelihood ratio alone tells rivals apart."""
        return 0.0

    def projected_evidence(
        self, problem: ProblemKernel, stats: Statistics, arms: Ints, sign: Floats, n: int
    ) -> float:
        """Return 0; it is not called as long as `expected_growth` returns 0."""
        return 0.0


def deep_copy(kernel: Kernel) -> Kernel:
    """Return a kernel with arrays of its own."""
    kind = type(kernel)
    if isinstance(kernel, np.ndarray):
        return kernel.copy()
    if kind in UNSHARED:
        return kernel
    if isinstance(kernel, tuple) and hasattr(kind, "_fields"):
        fields: list[Any] = [deep_copy(field) for field in kernel]
        made: Kernel = tuple.__new__(kind, fields)  # type: ignore[type-var]
        return made
    return kernel if isinstance(kernel, SIGNATURE) else copy.deepcopy(kernel)


class KernelTemplate(NamedTuple):
    """A maker of copies of a kernel.

    What is one array in the kernel is one array in each copy.
    """

    arrays: list[Any]
    others: list[Any]  # numbers and callbacks, which copies share
    tuples: list[tuple[Any, Callable[[Any], Any]]]  # classes and fields, the inner ones first

    def copy(self) -> Any:
        """Return another copy."""
        values = [x.copy("K") for x in self.arrays] + self.others
        for kind, fields in self.tuples:
            values.append(tuple.__new__(kind, fields(values)))
        return values[-1]


def make_template(kernel: Any) -> KernelTemplate | None:
    """Return the template of a kernel.

    Return None if arrays of the kernel overlap or have gaps, or if it holds anything but numbers
    and arrays.

    >>> from combgame.engine.statistics import blank
    >>> template = make_template(blank(2))
    >>> one, two = template.copy(), template.copy()
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


class LazyTemplate(Generic[Kernel]):
    """A kernel of which copies are wanted; they are cheap from the second on."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._copies = kernel, 0
        self._template: KernelTemplate | None = None

    def copy(self) -> Kernel:
        """Return another copy."""
        self._copies += 1
        if self._copies == 2:
            self._template = make_template(self._kernel)
        made: Kernel = deep_copy(self._kernel) if self._template is None else self._template.copy()
        return made


def _apart(arrays: list[Any]) -> bool:
    """Return whether no array has gaps and no two arrays share memory."""
    if not all(x.flags.forc for x in arrays):
        return False
    spans = sorted((x.ctypes.data, x.nbytes) for x in arrays if x.nbytes)
    return all(here + size <= there for (here, size), (there, _) in pairwise(spans))


def iter_leaves(kernel: Any) -> list[Any]:
    """Return the numbers, arrays and other objects of which a kernel is made."""
    if isinstance(kernel, tuple) and hasattr(kernel, "_fields"):
        return [leaf for field in kernel for leaf in iter_leaves(field)]
    return [kernel]


def type_key(values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return everything on which numba's types of some values depend.

    Return None if the values hold anything but numbers, arrays and generators.
    """
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


def copy_into(old: Kernel, new: Kernel) -> Kernel:
    """Copy the state of a kernel into one of the same kind with larger arrays.

    Each array of `old` becomes the leading block of the array of `new`, which is returned.
    """
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        new[tuple(slice(0, n) for n in old.shape)] = old
        return new
    if isinstance(old, tuple) and hasattr(old, "_fields"):
        pairs: Any = zip(old, new, strict=True)  # type: ignore[call-overload]
        made: Kernel = type(old)(*(copy_into(a, b) for a, b in pairs))
        return made
    return old
