"""Everything this package asks of numba, in one place; imported when something is first compiled.

COMBGAME_COMPILER=plain compiles as numba does, and so does a version of numba that was not tried;
otherwise functions borrow what they are given (`borrow.py`), machine code is made once for a whole
call (`lazy.py`), and functions are kept on disk one by one (`disk.py`), not only entry points. The
results are the same, to the last bit.
"""

import inspect
import os
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import config, njit, typeof, types
from numba.extending import overload_method, register_jitable

from ..marks import FUNCTIONS, PARTS
from ..telling import telling
from .borrow import Borrowing, plain
from .lazy import lazily

TRIED = (
    "0.68.",
)  # versions of numba whose private parts are as `borrow.py` and `lazy.py` need them
INNER = {"no_cfunc_wrapper": True, "pipeline_class": Borrowing}  # of what only compiled code calls
LAYOUT = (
    0x1 | 0x2 | 0x100 | 0x400
)  # contiguous (C, F), aligned, writeable: with the dtype and ndim, all that numba looks at
SIMPLE = (bool, int, float, np.random.Generator)
_TAUGHT: dict[str, list[str]] = {}  # verb -> its parameter names
_REGISTERED: set[Any] = set()
_SEEN = [0, 0]


if os.environ.get("COMBGAME_COMPILER") == "plain" or not numba.__version__.startswith(TRIED):
    plain.add(True)


def compiled(function: Callable[..., Any], ours: bool) -> Callable[..., Any]:
    """Compile `function`; for our own parts, kept on disk until a file in one of these folders
    changes.

    A user's parts are not kept, because the key knows nothing of their sources, and are compiled
    with checks of array bounds. (A setting of the process: numba does not pass the option on to the
    functions that are called.)
    """
    teach()
    body = register_jitable(**INNER)(function)

    def called(*args):  # type: ignore[no-untyped-def]
        return body(*args)

    called.kept = function if ours else None  # type: ignore[attr-defined]
    entry = njit(nogil=True, error_model="numpy", **INNER)(called)
    known: dict[
        Any, Callable[..., Any]
    ] = {}  # by what numba's own dispatcher looks at, in twenty times the time

    def call(*args):  # type: ignore[no-untyped-def]
        try:
            key = tuple(_key(args, []))
        except TypeError:
            key = None
        run = known.get(key) if key is not None else None
        if run is None:
            with telling(function, args):
                run = _made(entry, typeof(args), ours)
            if key is not None:
                known[key] = run
        return run(args)

    call.entry = entry  # type: ignore[attr-defined]
    return call


def _made(entry: Any, kind: Any, ours: bool) -> Callable[..., Any]:
    """The machine code for arguments of a type; what cannot be compiled our way is compiled in
    numba's.
    """
    before, config.BOUNDSCHECK = config.BOUNDSCHECK, config.BOUNDSCHECK if ours else 1
    try:
        with lazily():
            try:
                entry.compile((kind,))
            except Exception as error:
                if plain:
                    raise
                plain.add(True)
                try:
                    entry.compile((kind,))
                except Exception:
                    plain.clear()  # it cannot be compiled at all
                    raise
                warnings.warn(
                    "combgame compiles in numba's own way from here on, which is slower: "
                    f"{error!r}",
                    stacklevel=4,
                )
    finally:
        config.BOUNDSCHECK = before
    found: Callable[..., Any] = entry.get_overload((kind,))
    return found


def _key(values: tuple[Any, ...], found: list[Any]) -> list[Any]:
    """All that numba's type of the arguments depends on; TypeError: something else is in them."""
    for x in values:
        kind = type(x)
        found.append(kind)
        if kind is np.ndarray:
            found += x.dtype, x.ndim, x.flags.num & LAYOUT
        elif isinstance(x, tuple):
            _key(x, found)
        elif kind not in SIMPLE and not isinstance(x, np.generic):
            raise TypeError
    return found


def teach() -> None:
    """Let compiled code call marked functions, and the verbs of marked protocols on NamedTuples."""
    if [len(FUNCTIONS), len(PARTS)] == _SEEN:
        return
    _SEEN[:] = [len(FUNCTIONS), len(PARTS)]
    for function in FUNCTIONS:
        if function not in _REGISTERED:
            _REGISTERED.add(function)
            register_jitable(**INNER)(function)
    for part in PARTS:
        for name, method in vars(part).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                _teach_verb(name, inspect.signature(method))


def _teach_verb(name: str, signature: inspect.Signature) -> None:
    words = list(signature.parameters)
    if name in _TAUGHT:
        if _TAUGHT[name] != words:
            raise TypeError(
                f"the verb {name!r} is declared twice with different parameters: {_TAUGHT[name]} "
                f"and {words}"
            )
        return
    _TAUGHT[name] = words
    bare = inspect.Signature(
        [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    )
    for kind in (types.NamedTuple, types.NamedUniTuple):

        def resolve(self, *args):  # type: ignore[no-untyped-def]
            method = getattr(self.instance_class, name, None)
            return None if method is None else _bare(method)

        resolve.__signature__ = bare  # type: ignore[attr-defined]
        overload_method(kind, name, jit_options=INNER)(resolve)


def _bare(method: FunctionType) -> FunctionType:
    """The method without its annotations: numba compares those too, and a user's need not be
    ours.
    """
    return FunctionType(
        method.__code__,
        method.__globals__,
        method.__name__,
        method.__defaults__,
        method.__closure__,
    )
