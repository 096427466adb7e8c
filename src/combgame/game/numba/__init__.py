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
from numba import config, njit, typeof, types
from numba.extending import overload_method, register_jitable

from ..marks import FUNCTIONS, PARTS
from ..parts import layout
from ..telling import telling
from .borrow import Borrowing, plain
from .lazy import lazily

TRIED = (
    "0.68.",
)  # versions of numba whose private parts are as `borrow.py` and `lazy.py` need them
INNER = {"no_cfunc_wrapper": True, "pipeline_class": Borrowing}  # of what only compiled code calls
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
    known: dict[Any, Callable[..., Any]] = {}  # faster than numba's own dispatcher, twenty times

    def code_for(args: tuple[Any, ...]) -> Callable[..., Any]:
        key = layout(args)
        if key is None or key not in known:
            with telling(function, args):
                known[key] = _made(entry, typeof(args), ours)
        return known[key]

    def call(*args: Any) -> Any:
        return code_for(args)(args)

    def alike() -> Callable[..., Any]:
        """For calls whose arguments all have the types of the first one's, which are looked at
        once.
        """
        code: list[Callable[..., Any]] = []

        def again(*args: Any) -> Any:
            if not code:
                code.append(code_for(args))
            return code[0](args)

        return again

    call.entry, call.alike = entry, alike  # type: ignore[attr-defined]
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
