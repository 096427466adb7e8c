"""Descriptions as immutable values: structures, rewards, learners, rules and problems.

Descriptions are equal if their arguments are. The arguments are those of the constructor, in a form
that does not depend on how they were given. A class states them by being a frozen dataclass, or
with a method `arguments`. Objects of other classes are no values: they equal only themselves.
"""

import inspect
import math
from collections.abc import Iterator
from dataclasses import MISSING, FrozenInstanceError, fields, is_dataclass
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ._messages import safe_repr
from .errors import InputError, to_python_scalar

LONG = 60  # maximal number of characters of an argument in a message
Class = TypeVar("Class", bound=type)


class Description:
    """Base class of descriptions; see `arguments`."""

    def __post_init__(self) -> None:
        """Convert NumPy numbers among the fields of a dataclass to Python numbers.

        They are then compared, written and checked as such. A class with more checks calls this
        method first.
        """
        for item in fields(self):  # type: ignore[arg-type]
            given = getattr(self, item.name)
            if (number := to_python_scalar(given)) is not given:
                object.__setattr__(self, item.name, number)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        mine = _key(self)
        return mine is not None and mine == _key(other)

    def __hash__(self) -> int:
        known = vars(self)
        if "_hash" not in known:
            mine = _key(self)
            known["_hash"] = object.__hash__(self) if mine is None else hash((type(self), mine))
        return int(known["_hash"])

    def __repr__(self) -> str:
        return _called(self, _typed) if is_value(self) else object.__repr__(self)

    def __str__(self) -> str:
        return short_repr(self)

    def __setattr__(self, name: str, value: Any) -> None:
        _refuse(self, name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _refuse(self, name)
        object.__delattr__(self, name)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without cached keys and hashes: hashes of texts differ by process."""
        return {name: value for name, value in vars(self).items() if name not in ("_key", "_hash")}

    def _compared(self) -> tuple[Any, ...] | None:
        """Return the arguments for comparison.

        Named tuples of different classes are different, although they are equal as tuples.
        """
        said = arguments(self).values() if is_value(self) else None
        return (
            None
            if said is None
            else tuple((type(x), x) if hasattr(x, "_fields") else x for x in said)
        )


def frozen(kind: Class) -> Class:
    """Make the objects of a class immutable once they are made.

    Objects of subclasses can be changed. NumPy numbers among the arguments become Python numbers.
    """
    begin: Any = kind.__init__  # type: ignore[misc]

    @wraps(begin)
    def init(self: Any, *args: Any, **options: Any) -> None:
        named = {name: to_python_scalar(value) for name, value in options.items()}
        begin(self, *map(to_python_scalar, args), **named)
        if type(self) is kind:
            vars(self)["_made"] = True

    kind.__init__ = init  # type: ignore[misc]
    return kind


def _refuse(described: Any, name: str) -> None:
    if "_made" in vars(described):
        raise FrozenInstanceError(
            f"cannot change {name!r}: {type(described).__name__} is a value; make another one."
        )


def is_value(described: Any) -> bool:
    """Return whether the class of an object itself states its arguments.

    An inherited statement does not cover what a subclass adds.
    """
    own = vars(type(described))
    return (
        "arguments" in own
        or "__dataclass_fields__" in own
        or (isinstance(described, tuple) and hasattr(described, "_fields"))
    )


def symmetric(described: object) -> bool:
    """Return whether a rule or learner declares that its arms are exchangeable.

    Its own class must declare it, because a subclass may name arms.
    """
    return bool(vars(type(described)).get("symmetric", False))


def arguments(described: Any) -> dict[str, Any]:
    """Return the arguments that make the same description, by the names of parameters.

    >>> from combgame import Gaussian, Subsets
    >>> arguments(Subsets(d=4, size=2)), arguments(Gaussian([1, 2]))["sigma"]
    ({'d': 4, 'size': 2}, (1.0, 2.0))
    """
    if not is_value(described):
        raise InputError(
            "not-describable",
            "{what} cannot be described by its arguments",
            remedy="make its class, {kind}, a frozen dataclass",
            what=short_repr(described),
            kind=type(described).__name__,
        )
    if getattr(described, "_original", None) is not None:
        raise InputError(
            "numbered-anew",
            "{what} has been numbered anew for a run",
            remedy="describe the original",
            what=str(described),
        )
    given: dict[str, Any]
    if "arguments" in vars(type(described)):
        given = described.arguments()
    elif is_dataclass(described):
        given = {
            item.name: getattr(described, item.name) for item in fields(described) if item.init
        }
    else:
        given = described._asdict()
    return given


class Argument(NamedTuple):
    """An argument of a description."""

    name: str
    value: Any
    placed: bool  # True if it can be given by position


def non_default_arguments(described: Any) -> Iterator[Argument]:
    """Yield the arguments that differ from their defaults, and all that are descriptions."""
    kind: type = type(described)
    known, placed = _parameters(kind), True
    for name, value in arguments(described).items():
        own, parameter = isinstance(value, Description), known.get(name)
        usual = inspect.Parameter.empty if parameter is None else parameter.default
        if not own and usual is not inspect.Parameter.empty and _same(value, usual):
            placed = False
            continue
        placed = placed and (own or usual is inspect.Parameter.empty)
        placed = placed and (
            parameter is None or parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        yield Argument(name, value, placed)


def short_repr(described: Any) -> str:
    """Return the repr for a message, in which long arguments are shortened.

    >>> from combgame import CombGame, LLOO, Listed
    >>> singles = Listed([[a] for a in range(99)], 99)
    >>> short_repr(CombGame(LLOO(sparsify=False), tracking="D")), short_repr(singles)
    ("CombGame(LLOO(sparsify=False), tracking='D')", 'Listed(<99 sets>, 99)')
    """
    if isinstance(described, tuple) or not is_value(described):
        return repr(described)
    return _called(described, _shortened)


@cache
def _parameters(kind: type) -> dict[str, inspect.Parameter]:
    known = dict(inspect.signature(kind).parameters)
    for item in fields(kind) if is_dataclass(kind) else ():
        if item.default_factory is not MISSING and item.name in known:
            known[item.name] = known[item.name].replace(default=item.default_factory())
    return known


def _same(value: Any, usual: Any) -> bool:
    return not isinstance(value, np.ndarray) and bool(value == usual)


def _key(described: Any) -> tuple[Any, ...] | None:
    """Return the cached key for comparison."""
    known = vars(described)
    if "_key" not in known:
        known["_key"] = described._compared()
    key: tuple[Any, ...] | None = known["_key"]
    return key


def _called(described: Any, word: Any) -> str:
    given = non_default_arguments(described)
    words = [
        word(one.name, one.value) if one.placed else f"{one.name}={word(one.name, one.value)}"
        for one in given
    ]
    return f"{type(described).__name__}({', '.join(words)})"


def _typed(name: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if type(value) in (tuple, list):
        inside = ", ".join(_typed(name, one) for one in value)
        return (
            f"[{inside}]"
            if isinstance(value, list)
            else f"({inside}{',' if len(value) == 1 else ''})"
        )
    return str(value.__name__) if inspect.isfunction(value) else safe_repr(value)


def _shortened(name: str, value: Any) -> str:
    if isinstance(value, Description):
        return str(value)
    text = _typed(name, value)
    many = len(text) > LONG and isinstance(value, tuple | list)
    return f"<{len(value):,} {name if name.endswith('s') else 'values'}>" if many else text
