"""Functions that make no array count no references: what they are given outlives the call.

Half of a round was counting references to the arrays in the parts. `Borrow` leaves that out of
functions that return nothing that is counted, whose counted variables are all arguments, their
fields, or views of them, and that assign no array into another.
"""

from typing import Any

from numba.core import ir
from numba.core import types as kinds
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import IRLegalization

from ..telling import COUNT
from . import disk
from .failures import noted
from .lazy import LazyLibrary

types: Any = kinds  # whose stubs lack most of it
plain: set[bool] = set()  # not empty: compile as numba does


def _counted(context: Any, kind: Any) -> bool:
    if isinstance(kind, types.Callable | types.Module | types.Dummy):
        return False
    return bool(context.data_model_manager[kind].contains_nrt_meminfo())


def _borrowed(value: Any, typemap: Any) -> bool:
    """Whether the value of an assignment is part of something that exists already."""
    if isinstance(value, ir.Arg | ir.Var | ir.Const | ir.Global | ir.FreeVar):
        return True
    if not isinstance(value, ir.Expr):
        return False
    if value.op in ("cast", "phi"):
        return True
    if value.op in ("getattr", "getitem", "static_getitem"):
        whole = typemap[value.value.name]
        if isinstance(whole, types.BaseTuple):
            return True
        # a view, unless the index is an array
        if isinstance(whole, types.Array) and value.op != "getattr":
            index = value.index if value.op == "getitem" else value.index_var
            kind = types.intp if index is None else typemap[index.name]
            parts = kind.types if isinstance(kind, types.BaseTuple) else (kind,)
            return all(isinstance(part, types.Integer | types.SliceType) for part in parts)
    return False


def _lends(state: Any) -> bool:
    """Whether a function gives back all that is counted as it got it."""
    context, typemap = state.targetctx, state.typemap
    # Python calls it: its wrapper counts
    if not state.flags.no_cpython_wrapper or _counted(context, state.return_type):
        return False
    for block in state.func_ir.blocks.values():
        for line in block.body:
            if isinstance(line, ir.SetItem | ir.StaticSetItem) and _counted(
                context, typemap[line.value.name]
            ):
                return False  # numba may copy the array that is assigned
            if (
                isinstance(line, ir.Assign)
                and not _borrowed(line.value, typemap)
                and _counted(context, typemap[line.target.name])
            ):
                return False
    return True


@register_pass(mutates_CFG=True, analysis_only=False)
class Borrow(LoweringPass):  # type: ignore[misc]
    _name = "combgame_borrow"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        if plain:
            return False
        # numba's own are compiled as ever
        state.library = LazyLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        if _lends(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
            return True
        return False


class Borrowing(CompilerBase):  # type: ignore[misc]
    """numba's pipeline, and that; what has been compiled before is taken from the disk."""

    def compile_extra(self, func: Any) -> Any:
        context, file = self.state.targetctx, disk.file_of(func, self.state, bool(plain))
        result = disk.load(file, context) if file is not None else None
        if result is not None:
            context.insert_user_function(result.entry_point, result.fndesc, [result.library])
            return result
        COUNT[0] += 1
        with noted(func):
            result = super().compile_extra(func)
        if file is not None:
            disk.save(file, result)
        return result

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(Borrow, IRLegalization)
        passes.finalize()
        return [passes]
