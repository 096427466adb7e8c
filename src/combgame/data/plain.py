"""Anything that determines a run as plain data, and 16 hex digits that identify it."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from ..errors import InputError


def options(described: Any) -> dict[str, Any]:
    """The options of a rule or learner, with the values that they have now."""
    return {} if described is None else {item.name: getattr(described, item.name) for item in fields(described) if item.init}


def plain(value: Any) -> Any:
    """Dataclasses as tables with their kind, named tuples as lists that begin with it, NumPy's numbers as Python's."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufU":
        return plain(value.tolist())
    if isinstance(value, float) and math.isnan(value):
        raise InputError(
            "NaN cannot be part of a description, because it does not even equal itself; give a number, or leave it out."
        )
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(one) for key, one in value.items()}
    kind = _kind(type(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [*kind.values(), *map(plain, value)]
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if "__dataclass_fields__" not in vars(type(value)):  # one that is only inherited knows nothing of what the class adds
        raise InputError(f"{value!r} cannot be described by its options; make its class, {kind['kind']}, a frozen dataclass.")
    if set(kind) & set(options(value)):
        raise InputError(f"{value!r} has an option of the name kind, module or qualname, which describe its class; rename it.")
    foreign = "module" in kind  # its defaults may change without a new version of this package: all is written
    for item in fields(value):
        told = plain(_as_usual(getattr(value, item.name), item.default))
        if foreign or item.default is MISSING or told != plain(item.default):
            kind[item.name] = told
    return kind


def _as_usual(value: Any, usual: Any) -> Any:
    """200 where 200.0 is usual is the same option."""
    return float(value) if isinstance(usual, float) and isinstance(value, int) and not isinstance(value, bool) else value


def _kind(described: type) -> dict[str, Any]:
    """The name of a class; of one that is not ours, also where it comes from."""
    name, module = described.__name__, described.__module__
    return (
        {"kind": name}
        if module.split(".")[0] == "combgame"
        else {"kind": name, "module": module, "qualname": described.__qualname__}
    )


def identity(data: Any) -> str:
    """16 hex digits that are the same for the same data, on every machine, whatever the order of the keys.

    >>> identity({"rule": "lloo", "delta": 0.1}) == identity({"delta": 0.1, "rule": "lloo"})
    True
    """
    text = json.dumps(plain(data), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
