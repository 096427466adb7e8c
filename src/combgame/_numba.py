"""Everything this package asks of numba, in one place; imported when something is first compiled."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import config, njit, types
from numba.extending import overload_method, register_jitable

from ._marks import FUNCTIONS, PARTS
from ._sources import digest

UNCOMPILED = frozenset(  # nothing in these is compiled
    {"campaign", "paper", "cli.py", "demo.py", "files", "planning.py", "plan_cli.py", "regrets.py", "study", "testing.py"}
)
_TAUGHT: dict[str, list[str]] = {}  # verb -> its parameter names
_REGISTERED: set[Any] = set()
_SEEN = [0, 0]


def compiled(function: Callable[..., Any], ours: bool) -> Callable[..., Any]:
    """Compile `function`; for our own parts, kept on disk until any file of the package changes.

    A user's parts are not kept, because the key knows nothing of their sources, and are compiled with checks of array bounds.
    (A setting of the process: numba does not pass the option on to the functions that are called.)
    """
    teach()
    body, sources = register_jitable(function), digest(UNCOMPILED)  # numba itself only looks at the file of the entry point

    @njit(nogil=True, error_model="numpy", cache=ours)
    def entry(*args):  # type: ignore[no-untyped-def]
        sources  # noqa: B018  (a closure variable is part of numba's key; other files are not)
        return body(*args)

    def checked(*args):  # type: ignore[no-untyped-def]
        before, config.BOUNDSCHECK = config.BOUNDSCHECK, 1
        try:
            return entry(*args)
        finally:
            config.BOUNDSCHECK = before

    return entry if ours else checked


def teach() -> None:
    """Let compiled code call marked functions, and the verbs of marked protocols on NamedTuples."""
    if [len(FUNCTIONS), len(PARTS)] == _SEEN:
        return
    _SEEN[:] = [len(FUNCTIONS), len(PARTS)]
    for function in FUNCTIONS:
        if function not in _REGISTERED:
            _REGISTERED.add(function)
            register_jitable(function)
    for part in PARTS:
        for name, method in vars(part).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                _teach_verb(name, inspect.signature(method))


def _teach_verb(name: str, signature: inspect.Signature) -> None:
    words = list(signature.parameters)
    if name in _TAUGHT:
        if _TAUGHT[name] != words:
            raise TypeError(f"the verb {name!r} is declared twice with different parameters: {_TAUGHT[name]} and {words}")
        return
    _TAUGHT[name] = words
    bare = inspect.Signature([p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()])
    for kind in (types.NamedTuple, types.NamedUniTuple):

        def resolve(self, *args):  # type: ignore[no-untyped-def]
            method = getattr(self.instance_class, name, None)
            return None if method is None else _bare(method)

        resolve.__signature__ = bare  # type: ignore[attr-defined]
        overload_method(kind, name)(resolve)


def _bare(method: FunctionType) -> FunctionType:
    """The method without its annotations: numba compares those too, and a user's need not be ours."""
    return FunctionType(method.__code__, method.__globals__, method.__name__, method.__defaults__, method.__closure__)
