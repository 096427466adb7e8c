"""Where in a file a value stands, and the sentences about what is wrong there."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .._messages import Message, ReprText, safe_repr
from ..errors import CombGameError, InputError, error_from, invalid_argument, unknown_name

LONG = 80  # characters of a value that a sentence shows


class Location(NamedTuple):
    """where: a file, or what else the data are of. key: such as actions.edges[2]; "" for all of
    them.
    """

    where: str
    key: str = ""

    def at(self, key: str | int) -> "Location":
        if isinstance(key, int):
            return self._replace(key=f"{self.key}[{key}]")
        plain = isinstance(key, str) and key.replace("-", "").replace("_", "").isalnum()
        word = key if plain else safe_repr(key)
        return self._replace(key=f"{self.key}.{word}" if self.key else word)

    def must_be(self, value: object, what: str, remedy: str = "", **more: Any) -> InputError:
        """A value that is wrong; what, remedy: with places for `more`."""
        error = invalid_argument(self.key or self.where, _shown(value), what, remedy, **more)
        return self._said(error.sentence)

    def unknown(self, value: object, known: Iterable[object]) -> InputError:
        """A name that is none of those that exist."""
        return self._said(unknown_name(self.key or self.where, _shown(value), known).sentence)

    def unknown_key(self, key: object, keys: Iterable[str]) -> InputError:
        """A key that nobody reads."""
        at, text, remedy = self.at(str(key)), "{key} is not known", "the keys are {keys:list}"
        return at._said(Message("unknown-key", text, remedy=remedy, key=at.key, keys=list(keys)))

    def missing(self, key: str, remedy: str, **more: object) -> InputError:
        """A key that must be there; remedy: with places for `more`."""
        at = self.at(key)
        return at._said(
            Message("missing-key", "{key} is missing", remedy=remedy, key=at.key, **more)
        )

    def within(self, error: CombGameError) -> InputError:
        """The error of a class that did not know where its values came from."""
        places = {name: one for name, one in self._asdict().items() if one}
        kind = type(error) if isinstance(error, InputError) else InputError
        return error_from(kind, error.sentence.with_context(**places))

    def _said(self, sentence: Message) -> InputError:
        placed = self.key and self.where
        return error_from(
            InputError, sentence.with_context(where=self.where) if placed else sentence
        )


def _shown(value: object) -> object:
    """The value, or how it begins."""
    text = safe_repr(value)
    return value if len(text) <= LONG else ReprText(text[: LONG - 3] + "...")


def keyed(
    value: Any, at: Location, required: Iterable[str], optional: Iterable[str] = ()
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


MOST = 10  # errors that are said at once


def together(errors: Sequence[InputError], where: str) -> InputError:
    """Return one error that says all of some errors, each with its own code and remedy."""
    if len(errors) == 1:
        return errors[0].with_context(where=where)
    parts, text = [error.sentence for error in errors[:MOST]], "{n} problems: {problems:by . }"
    return InputError("several-problems", text, n=len(errors), problems=parts).with_context(
        where=where
    )
