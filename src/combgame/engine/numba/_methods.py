"""Methods of kernels in compiled code: a method of a kernel is that of the kernel's own class.

No name has to mean the same in two kernels. Compiled code may call any plain method of a
NamedTuple. A field has precedence over a method, as in Python, so that a name can be a method of
one kernel and a field of another. numba and numba-cuda have separate registries; the same function
registers the methods with both.
"""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba.core import types
from numba.core.typing import templates
from numba.extending import lower_builtin, register_jitable

from ..jit import ALLOCATING
from .compiler import ACTIVE, Compiler


def register_namedtuple_methods(
    types: Any,
    templates: Any,
    declare: Callable[[Any], Any],
    lower: Callable[..., Any],
    jitable: Callable[[FunctionType], Any],
) -> None:
    """Register the methods of kernels with a compiler.

    Parameters
    ----------
    types, templates : modules
        The compiler's modules.
    declare, lower : Callable
        They register what an attribute is, and how it is called.
    jitable : Callable
        Lets compiled code call a function.
    """

    @functools.cache
    def bound(method: FunctionType) -> Any:
        """Return the template of a method: its type for given arguments, and its code."""
        function = _bare(method)
        jitable(function)
        words = inspect.signature(function)

        class Bound(templates.AbstractTemplate):  # type: ignore[misc]
            key = (Methods, method)

            def generic(self, args: Any, kws: Any) -> Any:
                kind = self.context.resolve_value_type(function)
                signature = kind.get_call_type(self.context, (self.this, *args), kws)
                return signature.replace(pysig=words).as_method()

        several = types.VarArg(types.Any)

        @lower(Bound.key, types.BaseNamedTuple, several)  # type: ignore[untyped-decorator]
        def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.typing_context.resolve_value_type(function)
            signature = kind.get_call_type(context.typing_context, signature.args, {})
            made = context.get_function(kind, signature)
            context.add_linking_libs(getattr(made, "libs", ()))
            return made(builder, args)

        return Bound

    @declare
    class Methods(templates.AttributeTemplate):  # type: ignore[misc]
        key = types.BaseNamedTuple

        def generic_resolve(self, kernel: Any, name: str) -> Any:
            method = inspect.getattr_static(kernel.instance_class, name, None)
            if name in kernel.fields or not isinstance(method, FunctionType):
                return None
            found = bound(method)
            self.context.refresh()  # the template may be new
            return types.BoundFunction(found, kernel)


def _bare(method: FunctionType) -> FunctionType:
    """Return a method without its annotations, which a compiler would evaluate."""
    return FunctionType(
        method.__code__,
        method.__globals__,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )


def options(allocates: bool = False) -> dict[str, Any]:
    """Return the options with which numba compiles functions that only compiled code calls.

    Functions that make no array count no references, because their arguments outlive the call.
    Where functions are compiled one by one, all of them are inlined: passing a problem, which has
    some hundred arrays, takes longer than most of what is done with it. (The accelerator links
    functions before it optimises, and LLVM then inlines them by itself.)
    """
    made = {"no_cfunc_wrapper": True, "pipeline_class": Compiler, "_nrt": allocates}
    return made if ACTIVE else {**made, "forceinline": True}


def callable_inside(function: Callable[..., Any]) -> Any:
    """Let compiled code call a function."""
    return register_jitable(**options(function in ALLOCATING))(function)


register_namedtuple_methods(
    types, templates, templates.infer_getattr, lower_builtin, callable_inside
)
