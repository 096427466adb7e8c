"""From the source of a kernel to a kernel.

What is compiled is kept on disk, beside what numba compiles, until a source does something else:
numba-cuda does that itself for a function that stands in a file, so the source of a kernel is put
into one.
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

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 looks for it, NumPy 2.5 has it no longer
    setattr(np, "row_stack", np.vstack)  # noqa: B010

from numba import cuda

__all__ = ["SIMULATED", "compiled", "cuda", "plain_addresses", "quiet", "view"]
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
COMPILED = ("engine", "rewards", "structures", "learners", "stopping", "rules")  # folders
REGISTERS: int | None = None  # of a thread, at most; fewer let more threads play at a time
_KERNELS: dict[Any, Any] = {}
_REGISTERED: set[Any] = {longer}


def compiled(text: str, scope: dict[str, Any], ours: bool) -> Any:
    """The kernel of a source. scope: what it refers to; ours: all of that is this package's, and
    the kernel can be kept.
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
    overload(longer)(lambda x: lambda x: x)  # arrays cannot grow on a card


def register_kernels() -> None:
    """Register marked functions and the methods of kernels with numba-cuda."""
    from numba.cuda.extending import register_jitable

    _register_methods()
    for function in FUNCTIONS:
        if function not in _REGISTERED:
            _REGISTERED.add(function)
            register_jitable(function)


def _kept(text: str, scope: dict[str, Any]) -> Any:
    """A kernel that numba-cuda finds on disk if it has been compiled before."""
    from ..numba.cache import root

    used = tuple(version(name) for name in ("numba", "numba-cuda", "numpy"))
    key = hashlib.sha256(repr((_sources(), used, REGISTERS, text)).encode()).hexdigest()[:24]
    try:
        file = Path(root()) / "cuda" / f"kernel_{key}.py"
        file.parent.mkdir(mode=0o700, exist_ok=True)
        if not file.exists():  # its age is part of what numba-cuda knows a kernel by
            private = file.with_suffix(f".{os.getpid()}")
            private.write_text(text, encoding="utf-8")
            private.replace(file)
        made = importlib.util.spec_from_file_location(file.stem, file)
        assert made is not None and made.loader is not None
        module = importlib.util.module_from_spec(made)
        vars(module).update(scope)
        made.loader.exec_module(module)
        return cuda.jit(cache=True, **_limits())(module.kernel)
    except OSError:  # a disk that is full, say
        return _made(text, scope)


@functools.cache
def _sources() -> str:
    """What the modules do whose functions may be in a kernel."""
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
    """While kernels are compiled: indices are taken as they are, for none is negative, and an
    address is a pointer from first to last. numba-cuda would make it of an integer, and then nobody
    knows that it is on the card, nor that two of them are apart.
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
    """Few runs leave most of a card idle, which need not be said."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*low occupancy.*")
        yield


def view(shape: tuple[int, ...], words: int) -> Any:
    """Makes views of arrays of one shape, whose words are `words` words apart: made(arena, place of
    the first word).
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
