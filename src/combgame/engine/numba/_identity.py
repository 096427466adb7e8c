"""The behaviour of a function as a hash, by which compiled code is found again.

The hash covers the byte code of the function and of everything that compiled code can reach from
it: functions and methods, the fields of kernels, and the constants to which they refer. It ignores
docstrings, comments, annotations, positions, and everything that is not reached.
"""

import ast
import dis
import enum
import functools
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

# the contents of these modules are identified by their versions
BUILTIN = {*sys.stdlib_module_names, "numpy", "numba", "llvmlite", "scipy"}
# attributes of every NamedTuple
MADE = ("_make", "_replace", "_asdict", "_fields", "_field_defaults")
PLAIN = (int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype)


class Identity(NamedTuple):
    """The hash of a function.

    Attributes
    ----------
    digest : str or None
        The hash; None if something that is reached cannot be described.
    classes : tuple of type
        The classes that were reached, in an order that is the same wherever the hash is.
    """

    digest: str | None
    classes: tuple[type, ...]


class Description(NamedTuple):
    """The description of one object, and the objects to which it refers.

    Attributes
    ----------
    text : str or None
        The description; None if it is unknown.
    refers : tuple of (str, object)
        Names and objects.
    """

    text: str | None
    refers: tuple[tuple[str, Any], ...]


def identity(function: Callable[..., Any], classes: Iterable[type] = ()) -> Identity:
    """Return the identity of a function for arguments that contain these classes.

    >>> def twice(x):
    ...     return 2 * x
    >>> def other(x):
    ...     "Doubles a number."  # with a docstring, a comment
    ...
    ...     return 2 * x
    >>> other.__qualname__ = "twice"
    >>> identity(twice) == identity(other)
    True
    """
    queue: list[Any] = [function, *classes]
    numbers = {id(thing): k for k, thing in enumerate(queue)}
    seal, found, sure = hashlib.sha256(), list[type](), True
    for thing in queue:  # the queue grows
        text, refers = described(thing)
        sure = sure and text is not None
        if inspect.isclass(thing):
            found.append(thing)
        seal.update(repr(text).encode())
        for name, other in refers:
            if id(other) not in numbers:
                numbers[id(other)] = len(queue)
                queue.append(other)
            seal.update(f"{name} {numbers[id(other)]}\0".encode())
    return Identity(seal.hexdigest() if sure else None, tuple(found))


def stripped(source: str) -> str:
    """Return the behaviour of a module's source, without docstrings, comments and positions.

    >>> stripped("x = 1  # one") == stripped("x   = 1") != stripped("x = 2")
    True
    """
    tree = ast.parse(source)
    for one in ast.walk(tree):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef
        if isinstance(one, kinds) and ast.get_docstring(one, clean=False) is not None:
            del one.body[0]
    return ast.dump(tree)


def described(thing: Any) -> Description:
    """Return the description of an object."""
    inner = getattr(thing, "py_func", thing)  # if a user has compiled it with numba
    if isinstance(inner, FunctionType):
        options = "" if inner is thing else repr(getattr(thing, "targetoptions", None))
        if home(inner) in BUILTIN:
            return Description(f"{inner.__module__}.{inner.__qualname__}{options}", ())
        return _function(inner, options)
    if inspect.isclass(thing):
        return _class(thing)
    if isinstance(thing, enum.Enum):
        return Description(f"{type(thing).__qualname__} {thing.value!r}", ())
    if isinstance(thing, PLAIN):
        return Description(f"{type(thing).__name__} {thing!r}", ())
    if isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
        seal = hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()
        return Description(f"{thing.dtype.str} {thing.shape} {thing.flags.forc} {seal}", ())
    if isinstance(thing, tuple | frozenset):
        parts = sorted(thing, key=repr) if isinstance(thing, frozenset) else thing
        inside = tuple((str(k), kernel) for k, kernel in enumerate(parts))
        return Description(type(thing).__name__, (("class", type(thing)), *inside))
    if callable(thing) and home(thing) in BUILTIN and hasattr(thing, "__qualname__"):
        return Description(f"{thing.__module__}.{thing.__qualname__}", ())
    if isinstance(thing, np.ufunc):
        return Description(f"numpy.{thing.__name__}", ())
    return Description(None if _compilable(thing) else f"a {type(thing).__qualname__}", ())


def _compilable(thing: Any) -> bool:
    """Return whether numba takes an object for a constant of a kind unknown here."""
    from numba import typeof

    try:
        typeof(thing)
    except ValueError:
        return False
    return True


def home(thing: Any) -> str:
    """Return the package in which an object is defined."""
    return str(getattr(thing, "__module__", None) or "builtins").partition(".")[0]


def _function(function: FunctionType, options: str) -> Description:
    """Describe a function: its byte code, and the objects that its names mean."""
    code, spoken = _text(function.__code__)
    text: list[Any] = [function.__module__, function.__qualname__, options, code]
    refers: list[tuple[str, Any]] = []
    scope = function.__globals__
    for name in sorted(spoken & scope.keys()):
        refers += _meant(name, scope[name], spoken)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            refers += _meant(f"cell {name}", cell.cell_contents, spoken)
        except ValueError:  # it is empty
            text.append(name)
    refers += [(f"default {k}", x) for k, x in enumerate(function.__defaults__ or ())]
    refers += [(f"default {k}", x) for k, x in sorted((function.__kwdefaults__ or {}).items())]
    return Description(repr(text), tuple(refers))


def _meant(name: str, thing: Any, spoken: set[str]) -> Iterator[tuple[str, Any]]:
    """Yield what a name may mean; for a module, the objects in it that the code names."""
    if not isinstance(thing, ModuleType):
        yield name, thing
    elif thing.__name__.partition(".")[0] in BUILTIN:
        yield name, thing.__name__
    else:
        for kernel in sorted(spoken & vars(thing).keys()):
            yield from _meant(f"{name}.{kernel}", vars(thing)[kernel], spoken)


@functools.cache
def _text(whole: CodeType) -> tuple[str, set[str]]:
    """Return the byte code of a function as a hash, and the names in it."""
    text, spoken = list[Any](), set[str]()
    for code in _codes(whole):
        text.append((code.co_argcount, code.co_kwonlyargcount, code.co_flags, code.co_varnames))
        text.append((code.co_cellvars, code.co_freevars, code.co_exceptiontable))
        for one in dis.get_instructions(code):
            said = one.argval
            if isinstance(said, CodeType):
                said = said.co_name
            elif isinstance(said, frozenset):
                said = sorted(map(repr, said))
            text.append((one.opname, said))
        spoken.update(code.co_names)
    return hashlib.sha256(repr(text).encode()).hexdigest(), spoken


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the functions in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _class(kind: type) -> Description:
    """Describe a class: its name and fields, and the functions in it and in its bases."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    if home(kind) in BUILTIN:
        return Description(name, ())
    text = repr((name, getattr(kind, "_fields", ())))
    refers = list(getattr(kind, "_field_defaults", {}).items())
    for base in kind.__mro__:
        if home(base) not in BUILTIN:
            for word, thing in sorted(vars(base).items()):
                thing = thing.__func__ if isinstance(thing, staticmethod | classmethod) else thing
                plain = isinstance(thing, FunctionType) and not word.startswith("__")
                if plain and word not in MADE:
                    refers.append((word, thing))
    return Description(text, tuple(refers))
