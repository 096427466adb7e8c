"""A method of a part is that of the part's own class: no name has to mean the same in two parts.

Compiled code may call any plain method of a NamedTuple. A field has precedence over a method, as in
Python, so that a name can be a method of one part and a field of another.
"""

import functools
import inspect
from types import FunctionType
from typing import Any

from numba.core import types as kinds
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr
from numba.extending import lower_builtin, register_jitable

from .borrow import Borrowing

types: Any = kinds  # whose stubs lack most of it
INNER = {"no_cfunc_wrapper": True, "pipeline_class": Borrowing}  # of what only compiled code calls


@infer_getattr
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
    """What numba asks about a method: its type for some arguments, and its code."""
    function = _bare(method)
    register_jitable(**INNER)(function)
    words = inspect.signature(function)

    class Bound(AbstractTemplate):  # type: ignore[misc]
        key = (Methods, method)

        def generic(self, args: Any, kws: Any) -> Any:
            kind = self.context.resolve_value_type(function)
            signature = kind.get_call_type(self.context, (self.this, *args), kws)
            return signature.replace(pysig=words).as_method()

    several = types.VarArg(types.Any)

    @lower_builtin(Bound.key, types.BaseNamedTuple, several)  # type: ignore[untyped-decorator]
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.typing_context.resolve_value_type(function)
        signature = kind.get_call_type(context.typing_context, signature.args, {})
        call = context.get_function(kind, signature)
        context.add_linking_libs(getattr(call, "libs", ()))
        return call(builder, args)

    return Bound


def _bare(method: FunctionType) -> FunctionType:
    """The method without its annotations, which numba would look at."""
    return FunctionType(
        method.__code__,
        method.__globals__,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )
