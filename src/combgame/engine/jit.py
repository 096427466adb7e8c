"""Marks read by `engine/numba` when (and only when) something is compiled."""

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, overload

PARTS: list[type] = []
FUNCTIONS: list[Callable[..., Any]] = []
ALLOCATING: set[Callable[..., Any]] = set()  # of these
Part = TypeVar("Part", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])


def compilable(kernel: Part) -> Part:
    """Mark a Protocol: its public methods are verbs, which have the same parameters in all parts,
    and no part has a field of that name.
    """
    PARTS.append(kernel)
    return kernel


@overload
def jitable(function: Function, *, allocates: bool = False) -> Function: ...


@overload
def jitable(function: None = None, *, allocates: bool) -> Callable[[Function], Function]: ...


def jitable(function: Any = None, *, allocates: bool = False) -> Any:
    """Mark a function: compiled code may call it.

    allocates: it makes arrays. Compiled code counts references only where that is marked; without
    the mark it does not compile.
    """
    if function is None:
        return lambda function: jitable(function, allocates=allocates)
    FUNCTIONS.append(function)
    if allocates:
        ALLOCATING.add(function)
    return function


def kernel(defaults: type) -> Callable[[Part], Part]:
    """Give a NamedTuple the methods of a default class that it does not define itself.

    A NamedTuple cannot inherit methods, so they are copied onto the class. Compiled code and the
    hash of what is compiled find them there like methods that were written out.

    Parameters
    ----------
    defaults : type
        Class with the default methods, such as `protocols.FixedSizeDefaults`.

    Returns
    -------
    Callable
        Class decorator for a NamedTuple.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from combgame.engine.protocols import FixedSizeDefaults
    >>> @kernel(FixedSizeDefaults)
    ... class Mine(NamedTuple):
    ...     d: int
    >>> Mine(3).needs_resize()
    False
    """

    def complete(kernel: Part) -> Part:
        for name, method in vars(defaults).items():
            if isinstance(method, FunctionType) and not hasattr(kernel, name):
                setattr(kernel, name, method)
        return kernel

    return complete
