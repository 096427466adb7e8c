"""Hashes of the source code that this process runs.

What is compiled and what is stored depend on them.
"""

import functools
import hashlib
import inspect
import pathlib
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any


@functools.cache
def digest() -> str:
    """Return a hash of the sources of the package."""
    root, seal = pathlib.Path(__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        seal.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return seal.hexdigest()


def others(*values: Any) -> str | None:
    """Return a hash of source code outside the package; None if there is none.

    The hash covers the modules of the classes of some descriptions and of the values in them. Only
    the classes and functions that a module defines count, so a script may change after them.

    >>> others(3.0, "text") is None
    True
    """
    modules = sorted({name for value in values for name in _modules(value)})
    return hashlib.sha256("".join(map(_defined, modules)).encode()).hexdigest() if modules else None


def foreign(value: Any) -> bool:
    """Return whether something in a description is not from this package.

    >>> from combgame import LLOO
    >>> foreign(LLOO())
    False
    """
    return bool(_modules(value))


def _modules(value: Any) -> set[str]:
    """Return the modules outside the package that define the classes and functions of a value.

    The fields of the value are searched too.
    """
    if isinstance(value, FunctionType):
        module, fields = value.__module__, []
    else:
        module, fields = type(value).__module__, _fields(value)
    home = module.partition(".")[0]
    inside = {name for one in fields for name in _modules(one)}
    known = home in ("combgame", "numpy") or home in sys.stdlib_module_names
    return inside if known and module != "__main__" else inside | {module}


def _fields(value: Any) -> list[Any]:
    """Return the items of a container, or the values of the attributes of an object."""
    if isinstance(value, Mapping):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    slots = (
        name
        for kind in type(value).__mro__
        for name in vars(kind).get("__slots__", ())
        if not name.startswith("__")
    )
    found = [getattr(value, name) for name in slots if hasattr(value, name)]
    plain = type(value).__module__.partition(".")[0] in ("builtins", "numpy")
    return found if plain else [*found, *getattr(value, "__dict__", {}).values()]


def _defined(module: str) -> str:
    """Return the sources of the classes and functions that a module defines."""
    found = []
    for name, one in sorted(vars(sys.modules[module]).items()):
        if getattr(one, "__module__", None) == module and (
            inspect.isclass(one) or inspect.isfunction(one)
        ):
            try:
                found.append(inspect.getsource(one))
            except (OSError, TypeError):  # defined at a prompt, so the source is not available
                found.append(name)
    return "".join(found)
