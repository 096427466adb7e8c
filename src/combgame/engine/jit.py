"""Marks of what compiled code may call. `engine/numba` reads them when something is compiled."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

PARTS: list[type] = []
FUNCTIONS: list[Callable[..., Any]] = []
ALLOCATING: set[Callable[..., Any]] = set()  # marked functions that make arrays
Class = TypeVar("Class", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])


def compilable(protocol: Class) -> Class:
    """Mark a Protocol whose public methods are verbs.

    A verb has the same parameters in all kernels, and no kernel has a field of its name.
    """
    PARTS.append(protocol)
    return protocol


@overload
def jitable(function: Function, *, allocates: bool = False) -> Function: ...


@overload
def jitable(function: None = None, *, allocates: bool) -> Callable[[Function], Function]: ...


def jitable(function: Any = None, *, allocates: bool = False) -> Any:
    """Mark a function that compiled code may call.

    Parameters
    ----------
    function : Callable
        The function.
    allocates : bool, default=False
        True if the function makes arrays. Compiled code counts references only in such functions;
        without the mark, a function that makes arrays does not compile.
    """
    if function is None:
        return lambda function: jitable(function, allocates=allocates)
    FUNCTIONS.append(function)
    if allocates:
        ALLOCATING.add(function)
    return function
