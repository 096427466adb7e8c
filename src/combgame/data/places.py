"""Where in a file a value stands, and the sentences about what is wrong there."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..errors import CombGameError, InputError, must_be, said_by, unknown
from ..sentences import Sentence, Shown, looks

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
