"""Marks read by `engine/numba` when (and only when) something is compiled."""

from collections.abc import Callable
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
