"""Locations in a file, and the errors about values there."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .._messages import Message, ReprText, safe_repr
from ..errors import CombGameError, InputError, error_from, invalid_argument, unknown_name

LONG = 80  # characters of a value that a message shows


class Location(NamedTuple):
    """The place of a value in data.

    Attributes
    ----------
    where : str
        The file, or another origin of the data.
    key : str
        Path of the value, such as ``actions.edges[2]``; empty for all of the data.
    """

    where: str
    key: str = ""

    def at(self, key: str | int) -> "Location":
        """Return the location of a key or of an item of a list."""
        if isinstance(key, int):
            return self._replace(key=f"{self.key}[{key}]")
        plain = isinstance(key, str) and key.replace("-", "").replace("_", "").isalnum()
        word = key if plain else safe_repr(key)
        return self._replace(key=f"{self.key}.{word}" if self.key else word)

    def must_be(self, value: object, what: str, remedy: str = "", **more: Any) -> InputError:
        """Return the error for a wrong value; `what` and `remedy` may have fields for `more`."""
        error = invalid_argument(self.key or self.where, _shown(value), what, remedy, **more)
        return self._placed(error.sentence)

    def unknown(self, value: object, known: Iterable[object]) -> InputError:
        """Return the error for a name that is not among the known ones."""
        return self._placed(unknown_name(self.key or self.where, _shown(value), known).sentence)

    def unknown_key(self, key: object, keys: Iterable[str]) -> InputError:
        """Return the error for a key that has no meaning."""
        at, text, remedy = self.at(str(key)), "{key} is not known", "the keys are {keys:list}"
        return at._placed(Message("unknown-key", text, remedy=remedy, key=at.key, keys=list(keys)))

    def missing(self, key: str, remedy: str, **more: object) -> InputError:
        """Return the error for a missing key; `remedy` may have fields for `more`."""
        at = self.at(key)
        return at._placed(
            Message("missing-key", "{key} is missing", remedy=remedy, key=at.key, **more)
        )

    def within(self, error: CombGameError) -> InputError:
        """Add this location to an error of a class that did not know it."""
        places = {name: one for name, one in self._asdict().items() if one}
        kind = type(error) if isinstance(error, InputError) else InputError
        return error_from(kind, error.sentence.with_context(**places))

    def _placed(self, message: Message) -> InputError:
        placed = self.key and self.where
        return error_from(InputError, message.with_context(where=self.where) if placed else message)


def _shown(value: object) -> object:
    """Return the value, or its beginning if it is long."""
    text = safe_repr(value)
    return value if len(text) <= LONG else ReprText(text[: LONG - 3] + "...")


def keyed(
    value: Any, at: Location, required: Iterable[str], optional: Iterable[str] = ()
) -> Mapping[str, Any]:
    """Check that a table has the required keys and no key beyond the optional ones."""
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


MOST = 10  # errors in one message


def together(errors: Sequence[InputError], where: str) -> InputError:
    """Combine errors into one; each keeps its own code and remedy."""
    if len(errors) == 1:
        return errors[0].with_context(where=where)
    parts, text = [error.sentence for error in errors[:MOST]], "{n} problems: {problems:by . }"
    return InputError("several-problems", text, n=len(errors), problems=parts).with_context(
        where=where
    )
