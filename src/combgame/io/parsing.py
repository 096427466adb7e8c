"""How a value in a file is read, by its kind; or the sentence that says what is wrong with it.

Where in a file a value stands, and the sentences about what is wrong there.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from .._messages import LONGEST, Sentence, Shown, looks
from ..errors import CombGameError, InputError, must_be, real, said_by, unknown, whole

LONG = 80  # characters of a value that a sentence shows


class Place(NamedTuple):
    """where: a file, or what else the data are of. key: such as actions.edges[2]; "" for all of
    them. names: what arms may be called there.
    """

    where: str
    key: str = ""
    names: tuple[str, ...] = ()

    def at(self, key: str | int) -> "Place":
        if isinstance(key, int):
            return self._replace(key=f"{self.key}[{key}]")
        plain = isinstance(key, str) and key.replace("-", "").replace("_", "").isalnum()
        word = key if plain else looks(key)
        return self._replace(key=f"{self.key}.{word}" if self.key else word)

    def must_be(self, value: object, what: str, remedy: str = "", **more: Any) -> InputError:
        """A value that is wrong; what, remedy: with places for `more`."""
        error = must_be(self.key or self.where, _shown(value), what, remedy, **more)
        return self._said(error.sentence)

    def unknown(self, value: object, known: Iterable[object]) -> InputError:
        """A name that is none of those that exist."""
        return self._said(unknown(self.key or self.where, _shown(value), known).sentence)

    def unknown_key(self, key: object, keys: Iterable[str]) -> InputError:
        """A key that nobody reads."""
        at, text, remedy = self.at(str(key)), "{key} is not known", "the keys are {keys:list}"
        return at._said(Sentence("unknown-key", text, remedy=remedy, key=at.key, keys=list(keys)))

    def missing(self, key: str, remedy: str, **more: object) -> InputError:
        """A key that must be there; remedy: with places for `more`."""
        at = self.at(key)
        return at._said(
            Sentence("missing-key", "{key} is missing", remedy=remedy, key=at.key, **more)
        )

    def within(self, error: CombGameError) -> InputError:
        """The error of a class that did not know where its values came from."""
        places = {"where": self.where, **({"key": self.key} if self.key else {})}
        kind = type(error) if isinstance(error, InputError) else InputError
        return said_by(kind, error.sentence.within(**places))

    def _said(self, sentence: Sentence) -> InputError:
        return said_by(InputError, sentence.within(where=self.where) if self.key else sentence)


def _shown(value: object) -> object:
    """The value, or how it begins."""
    text = looks(value)
    return value if len(text) <= LONG else Shown(text[: LONG - 3] + "...")


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
