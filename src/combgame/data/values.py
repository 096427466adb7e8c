"""How a value in a file is read, by its kind; or the sentence that says what is wrong with it."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from ..errors import InputError, real, said_by, whole
from ..sentences import LONGEST
from .places import Place

INFINITE = {"inf": math.inf, "-inf": -math.inf}  # as texts, because JSON has no infinity


Reader = Callable[[Any, Place], Any]


class Kind(NamedTuple):
    """What a kind makes, from the values of its keys in this order; keys with a default may be left
    out.
    """

    make: Callable[..., Any]
    keys: Mapping[str, Reader]
    defaults: Mapping[str, Any] = {}


def listed(value: Any, at: Place, items: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise at.must_be(value, "a list of {items}", items=items)
    return list(value)


def each(read: Reader, items: str) -> Reader:
    return lambda value, at: [read(one, at.at(k)) for k, one in enumerate(listed(value, at, items))]


def either(one: Reader, several: Reader) -> Reader:
    return lambda value, at: (
        several(value, at) if isinstance(value, list | tuple) else one(value, at)
    )


def by_name(other: Reader) -> Reader:
    """A table of names and numbers, or what `other` reads."""
    return lambda value, at: (
        {name: number(one, at.at(name)) for name, one in value.items()}
        if isinstance(value, Mapping)
        else other(value, at)
    )


def at_least(least: int) -> Reader:
    """A whole number of at least so much."""

    def read(value: Any, at: Place) -> int:
        try:
            return whole(at.key, value, least)
        except InputError as error:
            raise said_by(InputError, error.sentence.within(where=at.where)) from None

    return read


positive = at_least(1)


def number(value: Any, at: Place) -> Any:
    if not real(value):
        raise at.must_be(value, "a number")
    return value


def bound(value: Any, at: Place) -> float:
    if isinstance(value, str) and value in INFINITE:
        return INFINITE[value]
    if not real(value):
        raise at.must_be(value, "a number, inf or -inf")
    return float(value)


def seconds(value: Any, at: Place) -> Any:
    if not number(value, at) > 0:
        raise at.must_be(value, "a positive number of seconds, such as 60.0")
    return value


def truth(value: Any, at: Place) -> bool:
    if not isinstance(value, bool):
        raise at.must_be(value, "true or false")
    return value


def text(value: Any, at: Place) -> str:
    if not isinstance(value, str):
        raise at.must_be(value, "a text")
    return value


def arm(value: Any, at: Place) -> int:
    if isinstance(value, str) and value in at.names:
        return at.names.index(value)
    if isinstance(value, bool) or not isinstance(value, int):
        if not at.names:
            raise at.must_be(value, "an arm", "there are no names, so give its number, from 0")
        remedy = "the names are {names:quoted 10}"
        raise at.must_be(value, "an arm", remedy, names=list(at.names[:LONGEST]))
    return value


def node(value: Any, at: Place) -> Hashable:
    """A text or a whole number; a list of them is a tuple."""
    if isinstance(value, list | tuple):
        try:
            return tuple(node(one, at) for one in value)
        except RecursionError:
            raise at.must_be(value, "a text or a whole number") from None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise at.must_be(value, "a text or a whole number")
    return value


def edge(value: Any, at: Place) -> tuple[Hashable, ...]:
    if (
        not isinstance(value, list | tuple)
        or len(value) not in (2, 3)
        or not all(isinstance(x, str) for x in value[2:])
    ):
        raise at.must_be(value, "an edge [tail, head] or [tail, head, name], such as ['s', 'a']")
    return (*(node(end, at) for end in value[:2]), *value[2:])


def pair(value: Any, at: Place) -> tuple[Hashable, ...]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise at.must_be(value, "a pair [row, column]")
    return tuple(node(end, at) for end in value)


numbers = each(number, "numbers")
bounds = each(bound, "numbers")
arms = each(arm, "arms")
several_sets = each(arms, "lists of arms, such as [[0, 1], [2]]")
sizes = either(at_least(0), each(at_least(0), "whole numbers"))
edges = each(edge, "edges [tail, head]")
side = either(positive, each(node, "names"))
box = either(bound, each(either(bound, bounds), "numbers or pairs"))
limits = either(bound, bounds)


def keyed(
    value: Any, at: Place, required: Iterable[str], optional: Iterable[str] = ()
) -> Mapping[str, Any]:
    """A table that has the required keys, and no key beyond the optional ones."""
    required, optional = list(required), list(optional)
    keys = [*required, *optional]
    if not isinstance(value, Mapping):
        raise at.must_be(value, "a table", "the keys are {keys:list}", keys=keys)
    for key in value:
        if key not in keys:
            raise at.unknown_key(key, keys)
    for key in required:
        if key not in value:
            raise at.missing(key, "the keys are {keys:list}", keys=keys)
    return value
