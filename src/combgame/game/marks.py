"""Marks read by `game/numba` when (and only when) something is compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

PARTS: list[type] = []
FUNCTIONS: list[Callable[..., Any]] = []
Part = TypeVar("Part", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])


def compilable(part: Part) -> Part:
    """Mark a Protocol: its public methods are verbs, which have the same parameters in all parts,
    and no part has a field of that name.
    """
    PARTS.append(part)
    return part


def jitable(function: Function) -> Function:
    """Mark a function: compiled code may call it."""
    FUNCTIONS.append(function)
    return function
