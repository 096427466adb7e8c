"""The choice between the interpreted and the compiled engine."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .._messages import Message, OptionHint
from ..errors import EngineError, error_from, unknown_name
from .compile_log import idle
from .jit import FUNCTIONS, PARTS
from .kernels import iter_leaves
from .round import play
from .user_code import SIGNATURE

ENGINES = ("auto", "compiled", "python")
_CHOSEN: dict[tuple[Any, ...], Callable[..., Any]] = {}


def choose_engine(
    engine: str, kernels: tuple[Any, ...], function: Callable[..., Any] = play
) -> Callable[..., Any]:
    """Return a function for given kernels, compiled where possible.

    A function is compiled if every kernel is a NamedTuple of numbers, arrays and such. Compiled
    code can also call a Python oracle, but it is then compiled anew in every process; this is done
    only if the engine is "compiled".
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if engine == "python":
        return function
    # everything on which the choice depends
    key = (engine, function, len(PARTS), len(FUNCTIONS), *_classes(kernels, []))
    if key not in _CHOSEN:
        _CHOSEN[key] = _choose(engine, kernels, function)
    return _CHOSEN[key]


def _choose(
    engine: str, kernels: tuple[Any, ...], function: Callable[..., Any]
) -> Callable[..., Any]:
    check_verbs(kernels)
    leaves = [leaf for kernel in kernels for leaf in iter_leaves(kernel)]
    foreign = next(
        (
            x
            for x in leaves
            if not isinstance(x, np.ndarray | bool | int | float | np.generic | SIGNATURE)
        ),
        None,
    )
    callback = any(isinstance(x, SIGNATURE) for x in leaves)
    why = idle()
    if foreign is None and not why and (engine == "compiled" or not callback):
        kept = compiled_entry(function, not callback and all(ours(kernel) for kernel in kernels))
        from .numba import register_kernels

        register_kernels()  # functions marked since the last call
        return kept
    if engine == "compiled":
        ways = {"auto": OptionHint("engine", "auto"), "python": OptionHint("engine", "python")}
        remedy = "use {auto} or {python}"
        if foreign is None:
            text = "engine = 'compiled' cannot be used: {why}"
            raise EngineError("no-numba", text, remedy=remedy, why=why, **ways)
        text, kind = (
            "engine = 'compiled' cannot be used: {kernel} is not a NamedTuple part",
            foreign,
        )
        raise EngineError("foreign-part", text, remedy=remedy, kernel=type(kind).__name__, **ways)
    return function


@functools.cache
def compiled_entry(function: Callable[..., Any], ours: bool) -> Callable[..., Any]:
    """Return the compiled function and register what is marked so far."""
    from .numba import compiled

    return compiled(function, ours)  # registers what is marked so far


@functools.cache
def _verbs(marked: int) -> dict[str, list[str]]:
    """Return the parameters of every verb of a protocol."""
    return {
        name: list(inspect.signature(method).parameters)
        for kernel in PARTS[:marked]
        if getattr(kernel, "_is_protocol", False)
        for name, method in vars(kernel).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }


def check_verbs(kernels: tuple[Any, ...]) -> None:
    """Raise an error if compiled code would not find a verb of a kernel."""
    for kernel in kernels:
        if (said := _misfit(kernel)) is not None:
            raise error_from(EngineError, said)


def _misfit(kernel: Any) -> Message | None:
    """Return the reason why compiled code would not find a verb of a kernel.

    The reason is a field that hides the verb, or other parameters.
    """
    if not (isinstance(kernel, tuple) and hasattr(kernel, "_fields")):
        return None
    own = _class_misfit(type(kernel), len(PARTS))
    return own or next((said for field in kernel if (said := _misfit(field)) is not None), None)


@functools.cache
def _class_misfit(kind: Any, marked: int) -> Message | None:
    verbs = _verbs(marked)
    for field in kind._fields:
        if field in verbs:
            return Message(
                "field-hides-verb",
                "the field {kernel}.{field} has the name of a verb, so that compiled code cannot "
                "tell them apart",
                remedy="rename it",
                kernel=kind.__name__,
                field=field,
            )
    for name, words in verbs.items():
        method = getattr(kind, name, None)
        if inspect.isfunction(method) and list(inspect.signature(method).parameters) != words:
            return Message(
                "verb-parameters",
                "the method {kernel}.{verb} must have the parameters ({parameters})",
                kernel=kind.__name__,
                verb=name,
                parameters=", ".join(words),
            )
    return None


def _classes(values: tuple[Any, ...], kinds: list[type]) -> list[type]:
    """Collect the class of everything in some kernels.

    The class of a NamedTuple determines how many classes follow.
    """
    for x in values:
        kind = type(x)
        kinds.append(kind)
        if isinstance(x, tuple) and hasattr(kind, "_fields"):
            _classes(x, kinds)
    return kinds


def ours(kernel: Any) -> bool:
    """Return whether every class in a kernel belongs to this package.

    If so, the compiled round can be kept on disk.
    """
    if isinstance(kernel, tuple) and hasattr(kernel, "_fields"):
        return type(kernel).__module__.partition(".")[0] == "combgame" and all(
            ours(field) for field in kernel
        )
    return True
