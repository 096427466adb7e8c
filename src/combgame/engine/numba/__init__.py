"""Everything this package asks of numba, in one place; imported when something is compiled."""

import gc
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from numba import config, njit, typeof

from ..compile_log import telling
from ..jit import FUNCTIONS
from ..kernels import type_key
from . import cache, compiler
from ._errors import in_a_sentence
from ._methods import callable_inside, options

# thresholds of Python's garbage collector while numba makes millions of objects: with the default
# ones, collecting them takes a fifth of the time
SELDOM = (100_000, 20, 50)

_SETTINGS = threading.RLock()
_TAUGHT: set[Any] = set()


def compiled(function: Callable[..., Any], ours: bool) -> Callable[..., Any]:
    """Compile `function`, or take from the disk what was compiled before.

    What has a user's parts in it is compiled with checks of array bounds. (A setting of the
    process: numba does not pass the option on to the functions that are called.)
    """
    register_kernels()
    body = callable_inside(function)

    def called(*args):  # type: ignore[no-untyped-def]
        return body(*args)

    called.kept = function  # type: ignore[attr-defined]
    entry = njit(nogil=True, error_model="numpy", **options())(called)
    usual = "10 to 20 s" if compiler.ACTIVE else "half a minute to a minute"
    known: dict[Any, Callable[..., Any]] = {}  # faster than numba's own dispatcher, twenty times

    def code_for(args: tuple[Any, ...]) -> Callable[..., Any]:
        key = type_key(args)
        if key is None or key not in known:
            with telling(function, args, usual), nullcontext() if ours else in_a_sentence():
                known[key] = _made(entry, typeof(args), ours)
        return known[key]

    def call(*args: Any) -> Any:
        return code_for(args)(args)

    def alike() -> Callable[..., Any]:
        """For calls whose arguments all have the types of the first one's, which are looked at
        once.
        """
        code: list[Callable[..., Any]] = []

        def again(*args: Any) -> Any:
            if not code:
                code.append(code_for(args))
            return code[0](args)

        return again

    def ready(args: tuple[Any, ...]) -> bool:
        """Whether it need not be compiled for these arguments."""
        key = type_key(args)
        return (key is not None and key in known) or cache.is_kept(
            function, typeof(args), compiler.ACTIVE, _checks(ours)
        )

    call.entry, call.alike, call.ready = entry, alike, ready  # type: ignore[attr-defined]
    return call


def _made(entry: Any, kind: Any, ours: bool) -> Callable[..., Any]:
    """The machine code for arguments of a type."""
    with _SETTINGS:  # of the process: one thread at a time, as numba compiles anyway
        before, config.BOUNDSCHECK = config.BOUNDSCHECK, _checks(ours)
        often = gc.get_threshold()
        if often[0] > 0:
            gc.set_threshold(*SELDOM)
        try:
            with compiler.accelerator.deferred_codegen() if compiler.ACTIVE else nullcontext():
                entry.compile((kind,))
        finally:
            config.BOUNDSCHECK = before
            gc.set_threshold(*often)
    code: Callable[..., Any] = entry.get_overload((kind,))
    return code


def _checks(ours: bool) -> Any:
    """Whether array bounds are checked, as numba is told."""
    return config.BOUNDSCHECK if ours else 1


def register_kernels() -> None:
    """Let compiled code call marked functions; methods of parts it may call anyway."""
    for function in FUNCTIONS:
        if function not in _TAUGHT:
            _TAUGHT.add(function)
            callable_inside(function)
