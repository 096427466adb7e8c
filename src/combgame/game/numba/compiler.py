"""numba's compiler, which counts what it compiles, and takes from the disk what was compiled before."""

import contextlib
import os
import warnings
from typing import Any

import numba
from numba.core import ir, types
from numba.core.compiler import Compiler as NumbaCompiler

from ..identity import home
from ..telling import COUNT
from . import disk
from ..numba_versions import tried, unaccelerated
from .accelerator import LazyLibrary, failure
from .failures import noted


def _active() -> bool:
    """Whether the accelerator is used; if not, a warning says why, unless somebody left it out."""
    if os.environ.get("COMBGAME_COMPILER") == "plain":
        return False
    why = "" if tried(numba.__version__) else "it was not tried with this version"
    if not why:
        mark = disk.folder(disk.root(), True) / "probed"
        if mark.exists():
            return True
        why = failure()
        if not why:
            with contextlib.suppress(OSError):
                mark.touch()
            return True
    warnings.warn(str(unaccelerated(numba.__version__, why)), stacklevel=2)
    return False


ACTIVE = _active()


class Compiler(NumbaCompiler):  # type: ignore[misc]
    """numba's own, around its public hook."""

    def compile_extra(self, func: Any) -> Any:
        state, context = self.state, self.state.targetctx
        file = disk.file_of(func, state, ACTIVE)
        found = None if file is None else disk.load(file, context)
        if found is not None:
            context.insert_user_function(found.entry_point, found.fndesc, [found.library])
            return found
        with noted(func):
            result = self._own(func) if home(func) == "combgame" else self._tried(func)
        if file is not None:
            disk.save(file, result)
        return result

    def _own(self, func: Any) -> Any:
        COUNT[0] += 1
        state = self.state
        if ACTIVE:
            state.library = LazyLibrary(state.targetctx.codegen(), func.__qualname__)
            state.library.enable_object_caching()
        return super().compile_extra(func)

    def _tried(self, func: Any) -> Any:
        """A function of somebody else's: if it makes arrays, or is given some that were made for
        it, references are counted in it.
        """
        state = self.state
        counted = state.flags.copy()
        counted.nrt = True
        try:
            result = self._own(func)
            if state.flags.nrt or not _receives(result, state.targetctx):
                return result
        except Exception as error:
            if state.flags.nrt or "NRT required" not in str(error):
                raise
        again = type(self)(
            state.typingctx, state.targetctx, None, state.args, None, counted, state.locals
        )
        return again._own(func)


def _receives(result: Any, context: Any) -> bool:
    """Whether something that it calls returns arrays."""
    return any(
        isinstance(line, ir.Expr)
        and line.op == "call"
        and not isinstance(found.return_type, types.Callable | types.Module | types.Dummy)
        and context.data_model_manager[found.return_type].contains_nrt_meminfo()
        for line, found in result.fndesc.calltypes.items()
        if found is not None
    )
