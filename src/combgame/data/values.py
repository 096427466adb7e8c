"""How a value in a file is read: where it stands, of which kind it is, and the sentence if it is
wrong.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import InputError, whole

INFINITE = {"inf": math.inf, "-inf": -math.inf}  # as texts, because JSON has no infinity


class Place(NamedTuple):
    """Where in a file a value stands, and the names that arms may have there."""

    path: str
    names: tuple[str, ...] = ()

    def at(self, key: str | int) -> "Place":
        if isinstance(key, int):
            return self._replace(path=f"{self.path}[{key}]")
        word = key if key.replace("-", "").replace("_", "").isalnum() else repr(key)
        return self._replace(path=f"{self.path}{' ' if self.path.endswith(':') else '.'}{word}")

    def wrong(self, value: object, remedy: str) -> InputError:
        text = repr(value)
        return InputError(
            f"{self.path} = {text if len(text) <= 80 else text[:77] + '...'} {remedy}"
        )

    def within(self, error: Exception) -> InputError:
        """The error of a class that did not know where its values came from."""
        return InputError(
            f"{self.path.removesuffix(':')}: "
            f"{' '.join(str(error).split()).removeprefix('Problem: ')}"
        )


Reader = Callable[[Any, Place], Any]


class Kind(NamedTuple):
    """What a kind makes, from the values of its keys in this order; keys with a default may be left
    out.
    """

    make: Callable[..., Any]
    keys: Mapping[str, Reader]
    defaults: Mapping[str, Any] = {}


def listed(value: Any, at: Place, of: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise at.wrong(value, f"must be a list of {of}.")
    return list(value)


def each(read: Reader, of: str) -> Reader:
    return lambda value, at: [read(one, at.at(k)) for k, one in enumerate(listed(value, at, of))]


def either(one: Reader, several: Reader) -> Reader:
    return lambda value, at: (
        several(value, at) if isinstance(value, list | tuple) else one(value, at)
    )


def positive(value: Any, at: Place) -> int:
    return whole(at.path, value, 1)


def number(value: Any, at: Place) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise at.wrong(value, "must be a number.")
    return value


def bound(value: Any, at: Place) -> float:
    if isinstance(value, str) and value in INFINITE:
        return INFINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise at.wrong(value, "must be a number, inf or -inf.")
    return float(value)


def seconds(value: Any, at: Place) -> Any:
    if not number(value, at) > 0:
        raise at.wrong(value, "must be a positive number of seconds, such as 60.0.")
    return value


def truth(value: Any, at: Place) -> bool:
    if not isinstance(value, bool):
        raise at.wrong(value, "must be true or false.")
    return value


def arm(value: Any, at: Place) -> int:
    if isinstance(value, str) and value in at.names:
        return at.names.index(value)
    if isinstance(value, bool) or not isinstance(value, int):
        known = (
            f"the names are {', '.join(map(repr, at.names[:10]))}"
            if at.names
            else "there are no names, so give its number, from 0"
        )
        raise at.wrong(value, f"is not an arm; {known}.")
    return value


def node(value: Any, at: Place) -> Hashable:
    """A text or a whole number; a list of them is a tuple."""
    if isinstance(value, list | tuple):
        return tuple(node(one, at) for one in value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise at.wrong(value, "must be a text or a whole number.")
    return value


def edge(value: Any, at: Place) -> tuple[Hashable, ...]:
    if (
        not isinstance(value, list | tuple)
        or len(value) not in (2, 3)
        or not all(isinstance(x, str) for x in value[2:])
    ):
        raise at.wrong(
            value, "must be an edge [tail, head] or [tail, head, name], such as ['s', 'a']."
        )
    return (*(node(end, at) for end in value[:2]), *value[2:])


def pair(value: Any, at: Place) -> tuple[Hashable, ...]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise at.wrong(value, "must be a pair [row, column].")
    return tuple(node(end, at) for end in value)


numbers = each(number, "numbers")
bounds = each(bound, "numbers")
arms = each(arm, "arms")
several_sets = each(arms, "lists of arms, such as [[0, 1], [2]]")
sizes = either(
    lambda value, at: whole(at.path, value, 0),
    each(lambda value, at: whole(at.path, value, 0), "whole numbers"),
)
edges = each(edge, "edges [tail, head]")
side = either(positive, each(node, "names"))
box = either(bound, each(either(bound, bounds), "numbers or pairs"))
limits = either(bound, bounds)


def keyed(
    value: Any, at: Place, required: Iterable[str], optional: Iterable[str] = ()
) -> Mapping[str, Any]:
    """A table that has the required keys, and no key beyond the optional ones."""
    required, optional = list(required), list(optional)
    known = f"the keys are {', '.join([*required, *optional])}"
    if not isinstance(value, Mapping):
        raise at._replace(path=at.path.removesuffix(":")).wrong(value, f"must be a table; {known}.")
    for key in value:
        if key not in (*required, *optional):
            raise at.at(str(key)).wrong(value[key], f"is not known; {known}.")
    for key in required:
        if key not in value:
            raise InputError(f"{at.at(key).path} is missing; {known}.")
    return value
