"""For numba-cuda: a method of a part is that of the part's own class, and marked functions may be
called. (`game/numba/methods.py` says the same to numba, whose registries are others.)
"""

import functools
import inspect
from types import FunctionType
from typing import Any

from numba.core import types as kinds
from numba.cuda.cudadecl import registry as declared
from numba.cuda.cudaimpl import registry as made
from numba.cuda.extending import register_jitable
from numba.cuda.typing.templates import AbstractTemplate, AttributeTemplate

from ..marks import FUNCTIONS

types: Any = kinds  # whose stubs lack most of it
_TAUGHT: set[Any] = set()


@declared.register_attr
class Methods(AttributeTemplate):  # type: ignore[misc]
    key = types.BaseNamedTuple

    def generic_resolve(self, part: Any, name: str) -> Any:
        method = inspect.getattr_static(part.instance_class, name, None)
        if name in part.fields or not isinstance(method, FunctionType):
            return None
        bound = _bound(method)
        self.context.refresh()  # it may be new
        return types.BoundFunction(bound, part)


@functools.cache
def _bound(method: FunctionType) -> Any:
    """What numba-cuda asks about a method: its type for some arguments, and its code."""
    function = FunctionType(
        method.__code__,
        method.__globals__,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )
    register_jitable(function)
    words = inspect.signature(function)

    class Bound(AbstractTemplate):  # type: ignore[misc]
        key = (Methods, method)

        def generic(self, args: Any, kws: Any) -> Any:
            kind = self.context.resolve_value_type(function)
            signature = kind.get_call_type(self.context, (self.this, *args), kws)
            return signature.replace(pysig=words).as_method()

    @made.lower(Bound.key, types.BaseNamedTuple, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.typing_context.resolve_value_type(function)
        signature = kind.get_call_type(context.typing_context, signature.args, {})
        call = context.get_function(kind, signature)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, args)

    return Bound


def teach() -> None:
    """Let kernels call marked functions; methods of parts they may call anyway."""
    for function in FUNCTIONS:
        if function not in _TAUGHT:
            _TAUGHT.add(function)
            register_jitable(function)
