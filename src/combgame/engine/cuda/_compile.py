"""Compilation of CUDA kernels from their source.

A compiled CUDA kernel is kept on disk, beside what numba compiles, until the source behaves
differently. numba-cuda keeps the compiled code of functions that stand in a file, so the source of
a CUDA kernel is written to a file.
"""

import contextlib
import functools
import hashlib
import importlib.util
import os
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ..action_table import longer
from ..jit import FUNCTIONS
from ..numba._identity import stripped
from ._kernel import record
from ._memory import strides

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 uses it; NumPy 2.5 has removed it
    setattr(np, "row_stack", np.vstack)  # noqa: B010

from numba import cuda

__all__ = ["SIMULATED", "compiled", "cuda", "plain_addresses", "quiet", "view"]
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
COMPILED = ("engine", "rewards", "structures", "learners", "stopping", "rules")  # folders
REGISTERS: int | None = None  # limit per thread; fewer registers let more threads run at a time
_KERNELS: dict[Any, Any] = {}
_REGISTERED: set[Any] = {longer}


def compiled(text: str, scope: dict[str, Any], ours: bool) -> Any:
    """Return the CUDA kernel of a source.

    Parameters
    ----------
    text : str
        The source.
    scope : dict
        The objects to which the source refers.
    ours : bool
        Whether all of them belong to this package, so that the CUDA kernel can be kept.
    """
    key = (text, REGISTERS, *(id(kind) for kind in scope.values() if isinstance(kind, type)))
    if key not in _KERNELS:
        scope = {**scope, "cuda": cuda, "record": record}
        if SIMULATED:
            _KERNELS[key] = _made(text, scope)
        else:
            register_kernels()
            _KERNELS[key] = _kept(text, scope) if ours else _made(text, scope)
    return _KERNELS[key]


@functools.cache
def _register_methods() -> None:
    """Register the methods of kernels with numba-cuda."""
    from numba.core import types
    from numba.cuda.cudadecl import registry as declared
    from numba.cuda.cudaimpl import registry as made
    from numba.cuda.extending import overload, register_jitable
    from numba.cuda.typing import templates

    from ..numba._methods import register_namedtuple_methods

    register_namedtuple_methods(
        types, templates, declared.register_attr, made.lower, register_jitable
    )
    overload(longer)(lambda x: lambda x: x)  # arrays cannot grow on a GPU


def register_kernels() -> None:
    """Register marked functions and the methods of kernels with numba-cuda."""
    from numba.cuda.extending import register_jitable

    _register_methods()
    for function in FUNCTIONS:
        if function not in _REGISTERED:
            _REGISTERED.add(function)
            register_jitable(function)


def _kept(text: str, scope: dict[str, Any]) -> Any:
    """Return a CUDA kernel that numba-cuda finds on disk if it was compiled before."""
    from ..numba.cache import root

    used = tuple(version(name) for name in ("numba", "numba-cuda", "numpy"))
    key = hashlib.sha256(repr((_sources(), used, REGISTERS, text)).encode()).hexdigest()[:24]
    try:
        file = Path(root()) / "cuda" / f"kernel_{key}.py"
        file.parent.mkdir(mode=0o700, exist_ok=True)
        if not file.exists():  # numba-cuda identifies a kernel by the age of its file, too
            private = file.with_suffix(f".{os.getpid()}")
            private.write_text(text, encoding="utf-8")
            private.replace(file)
        made = importlib.util.spec_from_file_location(file.stem, file)
        assert made is not None and made.loader is not None
        module = importlib.util.module_from_spec(made)
        vars(module).update(scope)
        made.loader.exec_module(module)
        return cuda.jit(cache=True, **_limits())(module.kernel)
    except OSError:  # for example, the disk is full
        return _made(text, scope)


@functools.cache
def _sources() -> str:
    """Return a hash of the modules whose functions may be in a CUDA kernel."""
    root, seal = Path(__file__).parents[2], hashlib.sha256()
    for folder in COMPILED:
        for path in sorted((root / folder).rglob("*.py")):
            seal.update(stripped(path.read_text(encoding="utf-8")).encode())
    return seal.hexdigest()


def _made(text: str, scope: dict[str, Any]) -> Any:
    exec(text, scope)
    return cuda.jit(**_limits())(scope["kernel"])


def _limits() -> dict[str, int]:
    return {} if REGISTERS is None else {"max_registers": REGISTERS}


@contextlib.contextmanager
def plain_addresses() -> Iterator[None]:
    """Compile CUDA kernels with simple addresses in this context.

    Indices are used as they are, because none is negative, and an address remains a pointer
    throughout. numba-cuda would make it from an integer, which hides from the compiler that it is
    on the GPU and that two addresses differ.
    """
    if SIMULATED:
        yield
        return
    from numba.cuda import cgutils
    from numba.cuda.np import arrayobj

    index, address = arrayobj.fix_integer_index, cgutils.pointer_add

    def kept(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        return context.cast(builder, index, kind, arrayobj.types.intp)

    def moved(builder: Any, pointer: Any, offset: Any, return_type: Any = None) -> Any:
        offset = cgutils.intp_t(offset) if isinstance(offset, int) else offset
        byte = builder.gep(builder.bitcast(pointer, cgutils.voidptr_t), [offset])
        return builder.bitcast(byte, return_type or pointer.type)

    arrayobj.fix_integer_index, cgutils.pointer_add = kept, moved
    try:
        yield
    finally:
        arrayobj.fix_integer_index, cgutils.pointer_add = index, address


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress the warning that few runs leave most of a GPU idle."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*low occupancy.*")
        yield


def view(shape: tuple[int, ...], words: int) -> Any:
    """Return a function that makes views of arrays of one shape.

    The words of an array are `words` words apart. The function takes an arena and the position of
    the first word.
    """
    apart = strides(shape, words)
    if SIMULATED:

        def seen(arena: Any, at: int) -> Any:
            whole = arena._item._ary
            return np.lib.stride_tricks.as_strided(whole[at:], shape, apart)

        return seen
    from numba.core import types
    from numba.cuda.extending import intrinsic
    from numba.cuda.np.arrayobj import make_array, populate_array

    @intrinsic  # type: ignore[untyped-decorator]
    def made(context: Any, arena: Any, at: Any) -> Any:
        kind = types.Array(arena.dtype, len(shape), "A")

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            whole = make_array(signature.args[0])(context, builder, args[0])
            out = make_array(kind)(context, builder)
            populate_array(
                out,
                data=builder.gep(whole.data, [args[1]]),
                shape=[context.get_constant(types.intp, n) for n in shape],
                strides=[context.get_constant(types.intp, n) for n in apart],
                itemsize=context.get_constant(types.intp, 8),
                meminfo=None,
            )
            return out._getvalue()

        return kind(arena, at), code

    return made
