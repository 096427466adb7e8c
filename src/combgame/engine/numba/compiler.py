"""numba's compiler; it loads from disk what was compiled before, and counts the rest."""

import contextlib
import os
import warnings
from importlib import import_module
from typing import Any

import numba
from numba.core import ir
from numba.core import types as kinds
from numba.core.compiler import Compiler as NumbaCompiler

from ...errors import unknown_name
from ..compile_log import COUNT, idle, tried, unaccelerated
from . import cache
from ._errors import noted
from ._identity import home

types: Any = kinds  # whose stubs lack most of it
accelerator: Any
try:
    accelerator = import_module(f"{__package__}._private")
    MOVED = ""
except (ImportError, AttributeError) as error:  # numba lacks a private part
    accelerator, MOVED = None, f"{type(error).__name__}: {error}"


WAY = os.environ.get("COMBGAME_COMPILER", "")
PLAIN = WAY == "plain"
if WAY not in ("", "plain"):
    warnings.warn(str(unknown_name("COMBGAME_COMPILER", WAY, ["plain"]).sentence), stacklevel=2)


def _missing() -> str:
    """Return the reason why the accelerator is not used, or "" if it is.

    The accelerator is tested once for each folder on disk.
    """
    if PLAIN:
        return "COMBGAME_COMPILER=plain leaves it out"
    if not tried(numba.__version__):
        return "it was not tried with this version"
    mark = cache.folder(cache.root(), True) / "probed"
    if accelerator is None or mark.exists():
        return MOVED
    why = str(accelerator.failure())
    if not why:
        with contextlib.suppress(OSError):
            mark.touch()
    return why


MISSING = _missing()
ACTIVE = not MISSING
if MISSING and not PLAIN and not idle():
    warnings.warn(str(unaccelerated(numba.__version__, MISSING)), stacklevel=2)


class Compiler(NumbaCompiler):  # type: ignore[misc]
    """numba's compiler, extended through its public hook."""

    def compile_extra(self, func: Any) -> Any:
        """Load a function from disk, or compile and save it."""
        state, context = self.state, self.state.targetctx
        file = cache.file_of(func, state, ACTIVE)
        found = None if file is None else cache.load(file, context)
        if found is not None:
            context.insert_user_function(found.entry_point, found.fndesc, [found.library])
            return found
        with noted(func):
            result = (
                self._compile(func) if home(func) == "combgame" else self._compile_foreign(func)
            )
        if file is not None:
            cache.save(file, result)
        return result

    def _compile(self, func: Any) -> Any:
        COUNT[0] += 1
        if ACTIVE:
            accelerator.into_lazy(self.state, func)
        return super().compile_extra(func)

    def _compile_foreign(self, func: Any) -> Any:
        """Compile a function that is not this package's.

        References are counted in it if it makes arrays.
        """
        state = self.state

        def attempt(counts: bool) -> tuple[Any, Any]:
            flags = state.flags.copy()
            flags.nrt = counts
            one = type(self)(
                state.typingctx, state.targetctx, None, state.args, None, flags, state.locals
            )
            return one.state, one._compile(func)

        tried, result = attempt(True)
        return result if _makes_arrays(tried) else attempt(False)[1]


def _makes_arrays(state: Any) -> bool:
    """Return whether a function makes reference-counted objects.

    Arguments, fields and views of them exist already and do not count.
    """
    context, typemap = state.targetctx, state.typemap
    return any(
        isinstance(line, ir.Assign)
        and isinstance(line.value, ir.Expr)
        and not _exists_already(line.value, typemap)
        and _counted(context, typemap[line.target.name])
        for block in state.func_ir.blocks.values()
        for line in block.body
    )


def _exists_already(value: Any, typemap: Any) -> bool:
    if value.op in ("cast", "phi", "getattr"):
        return True
    if value.op not in ("getitem", "static_getitem"):
        return False
    if isinstance(typemap[value.value.name], types.BaseTuple):
        return True
    index = value.index if value.op == "getitem" else value.index_var
    kind = types.intp if index is None else typemap[index.name]
    parts = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
    return all(isinstance(kernel, types.Integer | types.SliceType) for kernel in parts)


def _counted(context: Any, kind: Any) -> bool:
    if isinstance(kind, types.Callable | types.Module | types.Dummy):
        return False
    return bool(context.data_model_manager[kind].contains_nrt_meminfo())
