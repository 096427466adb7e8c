"""Convert descriptions to plain data and back, and identify data by 16 hex digits.

The plain data, which JSON can carry, are a table with the kind of a description and its arguments.
"""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

from .._values import Description, arguments, is_value, non_default_arguments, short_repr
from ..errors import CombGameError, InputError
from ..rules.bonuses import StylisedBonus, TheoryBonus
from ..structures import PolytopeGeometry
from .parsing import Location

CLASS = ("kind", "module", "qualname")  # keys of a table that name its class


def to_data(value: Any) -> Any:
    """Convert a description to plain data from which `from_data` makes an equal one.

    Parameters
    ----------
    value : Any
        A description, or numbers, texts, arrays, lists and tables.

    Returns
    -------
    Any
        Data that JSON can carry. A description is a table with its kind and the arguments that
        differ from their defaults. A class from outside this package is written with its module
        and with all arguments, because their defaults may change.

    Raises
    ------
    InputError
        If the value holds a NaN or a function, or if an argument has a reserved name.

    Examples
    --------
    >>> from combgame import Arms, Bernoulli, CombGame, Problem, Subsets
    >>> to_data(Problem(Subsets(3, 2), Arms(3), Bernoulli()))["answers"]
    {'kind': 'Arms', 'd': 3}
    >>> to_data(CombGame(tracking="D"))
    {'kind': 'CombGame', 'learner': {'kind': 'LLOO'}, 'tracking': 'D'}
    """
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufU":
        return to_data(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            text = "NaN cannot be part of a description, because it does not even equal itself"
            raise InputError("nan-described", text, remedy="give a number, or leave it out")
        return {"kind": "float", "value": str(value)}  # JSON has no infinity
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: to_data(one) for key, one in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [to_data(one) for one in value]
    return _table(value)


def _table(described: Any) -> dict[str, Any]:
    kind = type(described)
    ours = kind.__module__.split(".")[0] == "combgame"
    given = (
        {one.name: one.value for one in non_default_arguments(described)}
        if ours
        else arguments(described)
    )
    if set(CLASS) & set(given):
        text = "{what} has an argument of the name kind, module or qualname, which name its class"
        raise InputError("reserved-name", text, remedy="rename it", what=short_repr(described))
    function = next(
        (name for name, one in given.items() if callable(one) and not is_value(one)), None
    )
    if function is not None:
        text = (
            "{what} cannot be written as data, because its {argument} is a function, which no file "
            "can hold"
        )
        remedy = "list its sets with Listed, or use it from Python only"
        about = {"what": short_repr(described), "argument": function}
        raise InputError("function-described", text, remedy=remedy, **about)
    where = {} if ours else {"module": kind.__module__, "qualname": kind.__qualname__}
    return {"kind": kind.__name__, **where, **{name: to_data(one) for name, one in given.items()}}


def from_data(data: Any, where: str = "data") -> Any:
    """Make the description that `to_data` has written; lists become tuples.

    Parameters
    ----------
    data : Any
        Plain data.
    where : str
        Origin of the data, with which every error begins.

    Returns
    -------
    Any
        The description.

    Raises
    ------
    InputError
        If the data describe nothing that exists, or if their arguments are wrong.

    Notes
    -----
    A class from outside this package must have been imported before: data never make Python import
    a module.

    Examples
    --------
    >>> actions, rewards = {"kind": "Arms", "d": 3}, {"kind": "Gaussian", "sigma": 0.1}
    >>> from_data({"kind": "Problem", "actions": actions, "rewards": rewards})
    Problem(Arms(3), rewards=Gaussian(sigma=0.1))
    """
    try:
        return _make(data, Location(where))
    except RecursionError:
        raise Location(where).must_be(data, "tables and lists that are not in themselves") from None


def _make(data: Any, at: Location) -> Any:
    if isinstance(data, list | tuple):
        return tuple(_make(one, at) for one in data)
    if not isinstance(data, Mapping):
        return data
    if "kind" not in data:
        return {key: _make(one, at.at(key)) for key, one in data.items()}
    if isinstance(data["kind"], str) and data["kind"] == "float":
        try:
            return float(data["value"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise at.must_be(data, "a number", "write it as JSON does, or as inf or -inf") from None
    kind = _foreign_class(data, at) if "module" in data else _own_class(data["kind"], at)
    given = {key: _make(one, at.at(key)) for key, one in data.items() if key not in CLASS}
    try:
        return kind(**given)
    except CombGameError as error:
        raise at.within(error) from None
    except Exception as error:  # a class from outside the package may raise anything
        text = "{kind} cannot be made with these arguments ({why})"
        remedy = "they were changed, or written by another version of {kind}"
        about = {"kind": data["kind"], "why": str(error)}
        raise at.within(InputError("bad-arguments", text, remedy=remedy, **about)) from error


def _own_class(name: Any, at: Location) -> type:
    known = {
        kind.__name__: kind
        for kind in (*all_subclasses(Description), PolytopeGeometry, StylisedBonus, TheoryBonus)
    }
    if not isinstance(name, str) or name not in known:
        raise at.at("kind").unknown(name, sorted(known))
    return known[name]


def all_subclasses(base: type) -> Iterator[type]:
    """Iterate over the concrete classes of this package that derive from `base`."""
    kind: type
    for kind in base.__subclasses__():
        if kind.__module__.split(".")[0] == "combgame":
            yield from all_subclasses(kind)
            if not kind.__name__.endswith(("Base", "BracketingStructure")):
                yield kind


def _foreign_class(data: Mapping[str, Any], at: Location) -> Any:
    """Return a class from outside the package, if it was imported and is a description.

    Data must not be able to call an arbitrary object.
    """
    module, name = data["module"], str(data.get("qualname", data["kind"]))
    try:
        kind: Any = reduce(getattr, name.split("."), sys.modules[module])
    except (KeyError, TypeError, AttributeError):
        text = "it is of the class {name} of {module}, which is not here"
        remedy = "import {module} first, in a shell with combgame --import {module}"
        absent = InputError("class-absent", text, remedy=remedy, name=name, module=str(module))
        raise at.within(absent) from None
    plain = isinstance(kind, type) and (
        "__dataclass_fields__" in vars(kind)
        or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )
    if not plain and not (isinstance(kind, type) and issubclass(kind, Description)):
        text, remedy = "{name} of {module} describes nothing", "it must be a frozen dataclass"
        about = {"name": name, "module": str(module)}
        raise at.within(InputError("not-a-description", text, remedy=remedy, **about))
    return kind


def same_description(data: Any) -> Any:
    """Write equal numbers alike, 1.0 as 1, so that equal descriptions have the same data."""
    if isinstance(data, Mapping):
        return {key: same_description(one) for key, one in data.items()}
    if isinstance(data, list | tuple):
        return [same_description(one) for one in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def identity(data: Any) -> str:
    """Return 16 hex digits that identify data on every machine, whatever the order of the keys.

    >>> identity({"rule": "lloo", "delta": 0.1}) == identity({"delta": 0.1, "rule": "lloo"})
    True
    """
    return hashlib.sha256(canonical(to_data(data)).encode()).hexdigest()[:16]


def canonical(data: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Return the same JSON for the same data; `default` converts what JSON does not know."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=default)
