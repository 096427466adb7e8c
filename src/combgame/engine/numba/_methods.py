"""For numba: methods of parts."""

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.typing import templates
from numba.extending import lower_builtin, register_jitable

from .._methods import register_namedtuple_methods
from ..jit import ALLOCATING
from .compiler import ACTIVE, Compiler


def options(allocates: bool = False) -> dict[str, Any]:
    """How numba compiles what only compiled code calls.

    Functions that make no array count no references: what they are given outlives the call. Where
    functions are compiled one by one, all are inlined: handing over a game, which is some hundred
    arrays, takes longer than most of what is done with it. (The accelerator links them before it
    optimises, and LLVM sees that by itself.)
    """
    made = {"no_cfunc_wrapper": True, "pipeline_class": Compiler, "_nrt": allocates}
    return made if ACTIVE else {**made, "forceinline": True}


def callable_inside(function: Callable[..., Any]) -> Any:
    """Let compiled code call a function."""
    return register_jitable(**options(function in ALLOCATING))(function)


register_namedtuple_methods(
    types, templates, templates.infer_getattr, lower_builtin, callable_inside
)
