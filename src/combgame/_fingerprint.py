"""Which sources this process runs: what is compiled and what is stored depends on them."""

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
    """Hash of the package's sources."""
    root, seal = pathlib.Path(__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        seal.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return seal.hexdigest()


def others(*values: Any) -> str | None:
    """Hash of the sources of parts that are not this package's, in whatever modules the classes of
    these descriptions, and of what is in them, stand; None: all are ours. What a module does beside
    defining classes and functions does not count, so that a script may go on after its parts.

    >>> others(3.0, "text") is None
    True
    """
    modules = sorted({name for value in values for name in _modules(value)})
    return hashlib.sha256("".join(map(_defined, modules)).encode()).hexdigest() if modules else None


def foreign(value: Any) -> bool:
    """Whether something in a description is not this package's.

    >>> from combgame import LLOO
    >>> foreign(LLOO())
    False
    """
    return bool(_modules(value))


def _modules(value: Any) -> set[str]:
    """The modules of others in which the classes and functions of a description and of its fields
    stand.
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
    """What a value is made of, if it is a container or has a dictionary or slots."""
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
    """The sources of the classes and functions that a module defines."""
    found = []
    for name, one in sorted(vars(sys.modules[module]).items()):
        if getattr(one, "__module__", None) == module and (
            inspect.isclass(one) or inspect.isfunction(one)
        ):
            try:
                found.append(inspect.getsource(one))
            except (OSError, TypeError):  # typed in, and so not to be had
                found.append(name)
    return "".join(found)
