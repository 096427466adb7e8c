"""What goes wrong at the boundary, in sentences: the argument, the value, the remedy.

An error is a `Message`: a code, arguments, a text and a remedy with places for them. Three of them
recur, and are said alike everywhere: `invalid_argument`, `unknown_name`, `missing_extra`.
"""

import math
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np

from ._messages import LONGEST, PYTHON, Message, Renderer, ReprText, is_control

MOST = 2**63 - 1  # of whole numbers: beyond it, neither arrays nor databases count
SEED = 2**128 - 1  # of seeds, which NumPy draws with so many
NAME, REASON = 200, 10_000  # characters of a name, and of a longer text


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
        self.sentence = Message(code, text, remedy=remedy, **arguments)
        super().__init__(self.sentence.render())

    @property
    def code(self) -> str:
        return self.sentence.code

    @property
    def arguments(self) -> dict[str, Any]:
        return self.sentence.arguments

    @property
    def remedy(self) -> str:
        return self.sentence.remedy()

    def render(self, surface: Renderer = PYTHON) -> str:
        """The sentence as a surface says it."""
        return self.sentence.render(surface)

    def with_context(self, place: str = "", /, **arguments: object) -> Self:
        """The same error, said of a place: a file, a line, a round."""
        return error_from(type(self), self.sentence.with_context(place, **arguments))

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[Callable[..., "CombGameError"], tuple[Any, ...]]:
        return error_from, (type(self), self.sentence)


Kind = TypeVar("Kind", bound=CombGameError)


def error_from(kind: type[Kind], sentence: Message) -> Kind:
    """An error of a kind that says this sentence."""
    error = kind.__new__(kind)
    Exception.__init__(error, sentence.render())
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


class AccessError(CombGameError, PermissionError):
    """What a service does not let somebody do."""


class Notice(UserWarning):
    """A sentence about something that goes on nevertheless, as a warning of Python's."""

    def __init__(self, sentence: Message) -> None:
        super().__init__(sentence.render())
        self.sentence = sentence


def invalid_argument(
    name: str, value: object, what: str, remedy: str = "", *, of: str = "", **more: Any
) -> InputError:
    """An argument that has the wrong value. what, remedy: with places for `more`; of: the class or
    function that takes the argument. `what` is an argument of the sentence too, filled in.

    >>> error = invalid_argument("sigma", -1, "at least {least}", of="Gaussian", least=0)
    >>> print(error)
    Gaussian: sigma = -1 must be at least 0.
    >>> error.arguments
    {'of': 'Gaussian', 'name': 'sigma', 'value': -1, 'what': 'at least 0', 'least': 0}
    """
    text = "{name} = {value!r} must be " + what
    known: dict[str, Any] = {"name": name, "value": value}
    filled = Message("must-be", what, **known, **more).render_inline(PYTHON)
    return _of(InputError("must-be", text, remedy=remedy, **known, what=filled, **more), of)


def unknown_name(
    kind: str, name: object, known: Iterable[object], *, of: str = ""
) -> UnknownNameError:
    """A name that is none of those that exist; of: the class or function that takes it.

    >>> error = unknown_name("rule", "loo", ["lloo", "ofw"])
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
    return error.with_context(of=of) if of else error


def missing_extra(what: str, extra: str) -> CombGameError:
    """Something that an optional dependency does.

    >>> print(missing_extra("to_frame()", "frames"))
    to_frame() needs the extra 'frames'; install it with pip install 'combgame[frames]'.
    """
    remedy = "install it with pip install 'combgame[{extra}]'"
    text = "{what} needs the extra {extra!r}"
    return CombGameError("needs-extra", text, remedy=remedy, what=what, extra=extra)


def to_python_scalar(value: Any) -> Any:
    """A NumPy number, also an array of dimension 0, as the number it is; else the value itself.

    >>> to_python_scalar(np.int64(3)), to_python_scalar(np.array(0.5)), to_python_scalar(np.bool_(True)), to_python_scalar("x")
    (3, 0.5, True, 'x')
    """
    boxed = isinstance(value, np.generic | np.ndarray) and value.ndim == 0
    return value.item() if boxed and value.dtype.kind in "biuf" else value


def check_int(name: str, value: object, least: int, *, of: str = "", most: int = MOST) -> int:
    """A whole number of at least `least`, or a sentence."""
    number = to_python_scalar(value)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise invalid_argument(
            name, value, "a whole number of at least {least}", of=of, least=least
        )
    if number > most:
        raise invalid_argument(name, value, "a whole number of at most {most}", of=of, most=most)
    return int(number)


def check_positive(name: str, value: object, *, of: str = "") -> float:
    """A positive finite number, as it is, or a sentence."""
    number = to_python_scalar(value)
    if not is_real(number) or not 0.0 < number < math.inf:
        raise invalid_argument(name, value, "a positive number", of=of)
    return number  # type: ignore[no-any-return]


def is_real(value: object) -> bool:
    """Whether it is a number of Python's that a float can be: finite, infinite or NaN.

    >>> is_real(1), is_real(math.inf), is_real(10**400), is_real(True), is_real("1")
    (True, True, False, False, False)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**1023
    return isinstance(value, float)


def check_text(
    name: str,
    value: object,
    what: str,
    remedy: str = "",
    *,
    of: str = "",
    most: int = NAME,
    lines: bool = False,
) -> str:
    """A text that every table, terminal and database keeps as it is, or a sentence. lines: it may
    have several, and tabs.

    >>> check_text("name", "plate-7", "a text")
    'plate-7'
    >>> try:
    ...     check_text("name", "plate 7 ", "a text")
    ... except InputError as error:
    ...     print(error)
    name = 'plate 7 ' begins or ends with a space; leave it out, because tables lose it.
    """
    if not isinstance(value, str) or not value.strip():
        raise invalid_argument(name, value, what, remedy, of=of)
    wrong = _lost(name, value, most, lines)
    if wrong is not None:
        raise _of(wrong, of)
    return str(value)


def _lost(name: str, value: str, most: int, lines: bool) -> InputError | None:
    """What would not be kept of a text."""
    if len(value) > most:
        begins, what = (
            ReprText(repr(value[:40] + "...")),
            "at most {most} characters long, not {n:,}",
        )
        return invalid_argument(name, begins, what, most=most, n=len(value))
    kept = "\n\r\t" if lines else ""
    strange = next((one for one in value if is_control(one) and one not in kept), None)
    if strange is not None:
        return InputError(
            "strange-character",
            "{name} = {value!r} has the character {character!r}, which not every table, terminal "
            "and database keeps",
            remedy="leave it out",
            name=name,
            value=value,
            character=strange,
        )
    if not lines and value != value.strip():
        return InputError(
            "space-around",
            "{name} = {value!r} begins or ends with a space",
            remedy="leave it out, because tables lose it",
            name=name,
            value=value,
        )
    return None


def check_bool(name: str, value: object, *, of: str = "") -> bool:
    """True or False, or a sentence."""
    answer = to_python_scalar(value)
    if not isinstance(answer, bool):
        raise invalid_argument(name, value, "True or False", of=of)
    return answer
