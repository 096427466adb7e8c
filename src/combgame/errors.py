"""What goes wrong at the boundary, in sentences: the argument, the value, the remedy.

An error is a `Sentence`: a code, arguments, a text and a remedy with places for them. Three of them
recur, and are said alike everywhere: `must_be`, `unknown`, `needs_extra`.
"""

import math
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np

from .sentences import LONGEST, PYTHON, Sentence, Surface


class CombGameError(Exception):
    """The base of every error that combgame raises on purpose.

    >>> error = InputError("too-few", "{n} arms are too few", remedy="give two", n=1)
    >>> str(error), error.code, error.arguments, error.remedy
    ('1 arms are too few; give two.', 'too-few', {'n': 1}, 'give two')
    >>> print(InputError("a sentence of one's own").code)
    error
    """

    def __init__(self, code: str, text: str = "", /, *, remedy: str = "", **arguments: object):
        if not text:  # a sentence alone, as a part of one's own may say it
            code, text, arguments = "error", "{said}", {"said": code.removesuffix(".")}
        self.sentence = Sentence(code, text, remedy=remedy, **arguments)
        super().__init__(self.sentence.said())

    @property
    def code(self) -> str:
        return self.sentence.code

    @property
    def arguments(self) -> dict[str, Any]:
        return self.sentence.arguments

    @property
    def remedy(self) -> str:
        return self.sentence.remedy()

    def said(self, surface: Surface = PYTHON) -> str:
        """The sentence as a surface says it."""
        return self.sentence.said(surface)

    def within(self, place: str = "", /, **arguments: object) -> Self:
        """The same error, said of a place: a file, a line, a round."""
        return said_by(type(self), self.sentence.within(place, **arguments))

    def __str__(self) -> str:
        return self.said()

    def __reduce__(self) -> tuple[Callable[..., "CombGameError"], tuple[Any, ...]]:
        return said_by, (type(self), self.sentence)


Kind = TypeVar("Kind", bound=CombGameError)


def said_by(kind: type[Kind], sentence: Sentence) -> Kind:
    """An error of a kind that says this sentence."""
    error = kind.__new__(kind)
    Exception.__init__(error, sentence.said())
    error.sentence = sentence
    return error


class InputError(CombGameError, ValueError):
    """A value that cannot be used, with the remedy."""


class UnknownNameError(CombGameError, LookupError):
    """A name (of a rule, an arm, a threshold) that does not exist."""


class TieError(InputError):
    """Two answers are equally good, so that no number of plays can tell them apart."""


class OracleError(CombGameError, RuntimeError):
    """A user's oracle returned something that is not a set of its structure."""


class TooManySetsError(InputError):
    """An enumeration that was asked for is larger than its limit."""


class EngineError(CombGameError, RuntimeError):
    """A part cannot run on the engine that was asked for."""


class StoreError(CombGameError, OSError):
    """A file of results that cannot be read or written; what was stored is kept."""


class StudyError(CombGameError, RuntimeError):
    """What a study cannot do now, with what it can."""


def must_be(
    name: str, value: object, what: str, remedy: str = "", *, of: str = "", **more: Any
) -> InputError:
    """An argument that has the wrong value. what, remedy: with places for `more`; of: the class or
    function that takes the argument. `what` is an argument of the sentence too, filled in.

    >>> error = must_be("sigma", -1, "at least {least}", of="Gaussian", least=0)
    >>> print(error)
    Gaussian: sigma = -1 must be at least 0.
    >>> error.arguments
    {'of': 'Gaussian', 'name': 'sigma', 'value': -1, 'what': 'at least 0', 'least': 0}
    """
    text = "{name} = {value!r} must be " + what
    known: dict[str, Any] = {"name": name, "value": value}
    filled = Sentence("must-be", what, **known, **more).spelt(PYTHON)
    return _of(InputError("must-be", text, remedy=remedy, **known, what=filled, **more), of)


def unknown(kind: str, name: object, known: Iterable[object], *, of: str = "") -> UnknownNameError:
    """A name that is none of those that exist; of: the class or function that takes it.

    >>> error = unknown("rule", "loo", ["lloo", "ofw"])
    >>> print(error)
    rule = 'loo' is not known; use one of lloo, ofw.
    >>> error.arguments["known"]
    ['lloo', 'ofw']
    """
    text, names = "{kind} = {name!r} is not known", list(islice(known, LONGEST))
    remedy = "use one of {known:list 30}" if names else ""
    error = UnknownNameError("unknown", text, remedy=remedy, kind=kind, name=name, known=names)
    return _of(error, of)


def _of(error: Kind, of: str) -> Kind:
    """The error, said of the class or function that takes the argument, if one is named."""
    return error.within(of=of) if of else error


def needs_extra(what: str, extra: str) -> CombGameError:
    """Something that an optional dependency does.

    >>> print(needs_extra("to_frame()", "frames"))
    to_frame() needs the extra 'frames'; install it with pip install 'combgame[frames]'.
    """
    remedy = "install it with pip install 'combgame[{extra}]'"
    text = "{what} needs the extra {extra!r}"
    return CombGameError("needs-extra", text, remedy=remedy, what=what, extra=extra)


def unboxed(value: Any) -> Any:
    """A NumPy number, also an array of dimension 0, as the number it is; else the value itself.

    >>> unboxed(np.int64(3)), unboxed(np.array(0.5)), unboxed(np.bool_(True)), unboxed("x")
    (3, 0.5, True, 'x')
    """
    boxed = isinstance(value, np.generic | np.ndarray) and value.ndim == 0
    return value.item() if boxed and value.dtype.kind in "biuf" else value


def whole(name: str, value: object, least: int, *, of: str = "") -> int:
    """A whole number of at least `least`, or a sentence."""
    number = unboxed(value)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise must_be(name, value, "a whole number of at least {least}", of=of, least=least)
    return number


def positive(name: str, value: object, *, of: str = "") -> float:
    """A positive finite number, as it is, or a sentence."""
    number = unboxed(value)
    plain = isinstance(number, int | float) and not isinstance(number, bool)
    if not plain or not 0.0 < number < math.inf:
        raise must_be(name, value, "a positive number", of=of)
    return number  # type: ignore[no-any-return]


def either(name: str, value: object, *, of: str = "") -> bool:
    """True or False, or a sentence."""
    answer = unboxed(value)
    if not isinstance(answer, bool):
        raise must_be(name, value, "True or False", of=of)
    return answer
