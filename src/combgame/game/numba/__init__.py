"""Everything this package asks of numba, in one place; imported when something is first compiled.

COMBGAME_COMPILER=plain compiles as numba does, and so does a version of numba that was not tried,
which is said once; otherwise functions borrow what they are given (`borrow.py`), machine code is
made once for a whole call (`lazy.py`), and functions are kept on disk one by one (`disk.py`), not
only entry points. The results are the same, to the last bit.
"""

import os
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numba
from numba import config, njit, typeof
from numba.extending import register_jitable

from ...sentences import Sentence
from ..marks import FUNCTIONS
from ..numba_versions import tried, untried
from ..parts import layout
from ..telling import telling
from .borrow import plain
from .failures import in_a_sentence
from .lazy import lazily
from .methods import INNER

_TAUGHT: set[Any] = set()


if os.environ.get("COMBGAME_COMPILER") == "plain":
    plain.add(True)
elif not tried(numba.__version__):
    plain.add(True)
    warnings.warn(str(untried(numba.__version__)), stacklevel=2)


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
            with telling(function, args), nullcontext() if ours else in_a_sentence():
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
                said = Sentence(
                    "compiled-plainly",
                    "combgame compiles in numba's own way from here on, which is slower: {reason}",
                    reason=repr(error),
                )
                warnings.warn(str(said), stacklevel=4)
    finally:
        config.BOUNDSCHECK = before
    code: Callable[..., Any] = entry.get_overload((kind,))
    return code


def teach() -> None:
    """Let compiled code call marked functions; methods of parts it may call anyway."""
    for function in FUNCTIONS:
        if function not in _TAUGHT:
            _TAUGHT.add(function)
            register_jitable(**INNER)(function)
