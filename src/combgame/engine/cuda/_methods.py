"""For numba-cuda: methods of parts, and marked functions."""

from typing import Any

from numba.core import types
from numba.cuda.cudadecl import registry as declared
from numba.cuda.cudaimpl import registry as made
from numba.cuda.extending import overload, register_jitable
from numba.cuda.typing import templates

from .._methods import register_namedtuple_methods
from ..action_table import longer
from ..jit import FUNCTIONS

_TAUGHT: set[Any] = {longer}

register_namedtuple_methods(types, templates, declared.register_attr, made.lower, register_jitable)


overload(longer)(lambda x: lambda x: x)  # nothing grows on a card


def register_kernels() -> None:
    """Let kernels call marked functions; methods of parts they may call anyway."""
    for function in FUNCTIONS:
        if function not in _TAUGHT:
            _TAUGHT.add(function)
            register_jitable(function)
