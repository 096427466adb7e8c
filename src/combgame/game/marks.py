"""Marks read by `game/numba` when (and only when) something is compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

PARTS: list[type] = []
FUNCTIONS: list[Callable[..., Any]] = []
Part = TypeVar("Part", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])


def compilable(part: Part) -> Part:
    """Mark a Protocol (or a NamedTuple): compiled code may call its public methods on
    NamedTuples.
    """
    PARTS.append(part)
    return part


def jitable(function: Function) -> Function:
    """Mark a function: compiled code may call it."""
    FUNCTIONS.append(function)
    return function
