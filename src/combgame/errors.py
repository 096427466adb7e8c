"""Errors, and checks of arguments that raise them.

An error contains a `Message`: a code, arguments, and templates for a text and a remedy. Three kinds
of errors recur and have functions of their own: `invalid_argument`, `unknown_name` and
`missing_extra`.
"""

import math
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np

from ._messages import LONGEST, PYTHON, Message, Renderer, ReprText, is_control

MOST = 2**63 - 1  # largest integer that arrays and databases represent
SEED = 2**128 - 1  # largest seed; the entropy that NumPy draws has 128 bits
NAME, REASON = 200, 10_000  # maximal number of characters of a name, and of a longer text


class CombGameError(Exception):
    """Base class of the errors that combgame raises on purpose.

    Parameters
    ----------
    code : str
        A short code for programs. If `text` is missing, this is the message and the code is
        "error".
    text : str, optional
        Template of the message without the final period; see `Message`.
    remedy : str, optional
        Template of the advice that follows the text.
    **arguments : object
        Values for the templates.

    Examples
    --------
    >>> error = InputError("too-few", "{n} arms are too few", remedy="give two", n=1)
    >>> str(error), error.code, error.arguments, error.remedy
    ('1 arms are too few; give two.', 'too-few', {'n': 1}, 'give two')
    >>> print(InputError("a sentence of one's own").code)
    error
    """

    def __init__(self, code: str, text: str = "", /, *, remedy: str = "", **arguments: object):
        if not text:  # a message alone, as user code may raise it
            code, text, arguments = "error", "{said}", {"said": code.removesuffix(".")}
        self.sentence = Message(code, text, remedy=remedy, **arguments)
        super().__init__(self.sentence.render())

    @property
    def code(self) -> str:
        """Return the code of the message."""
        return self.sentence.code

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the message."""
        return self.sentence.arguments

    @property
    def remedy(self) -> str:
        """Return the advice on what to do."""
        return self.sentence.remedy()

    def render(self, surface: Renderer = PYTHON) -> str:
        """Return the message as a surface renders it.

        Parameters
        ----------
        surface : Renderer, default=PYTHON
            The renderer for calls and options that the message mentions.

        Returns
        -------
        str
            The text and the remedy.
        """
        return self.sentence.render(surface)

    def with_context(self, place: str = "", /, **arguments: object) -> Self:
        """Return the same error with a prefix that names a place: a file, a line, a round.

        Parameters
        ----------
        place : str, optional
            Template of the prefix. By default it consists of the arguments.
        **arguments : object
            Values for the template.

        Returns
        -------
        CombGameError
            A new error of the same class.
        """
        return error_from(type(self), self.sentence.with_context(place, **arguments))

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[Callable[..., "CombGameError"], tuple[Any, ...]]:
        return error_from, (type(self), self.sentence)


Kind = TypeVar("Kind", bound=CombGameError)


def error_from(kind: type[Kind], sentence: Message) -> Kind:
    """Return an error of a class with a given message."""
    error = kind.__new__(kind)
    Exception.__init__(error, sentence.render())
    error.sentence = sentence
    return error


class InputError(CombGameError, ValueError):
    """A value cannot be used; the message says what to change."""


class UnknownNameError(CombGameError, LookupError):
    """A name (of a rule, an arm, a threshold) does not exist."""


class TieError(InputError):
    """Two answers are equally good, so no number of rounds can distinguish them."""


class OracleError(CombGameError, RuntimeError):
    """A user's oracle returned something that is not a set of its structure."""


class TooManySetsError(InputError):
    """A requested enumeration is larger than its limit."""


class EngineError(CombGameError, RuntimeError):
    """A kernel cannot run on the requested engine."""


class StoreError(CombGameError, OSError):
    """A file of results cannot be read or written; stored data are kept."""


class StudyError(CombGameError, RuntimeError):
    """A study cannot do something now; the message says what it can do."""


class AccessError(CombGameError, PermissionError):
    """A service does not permit a request."""


class Notice(UserWarning):
    """A Python warning with a message, for computations that continue."""

    def __init__(self, sentence: Message) -> None:
        super().__init__(sentence.render())
        self.sentence = sentence


def invalid_argument(
    name: str, value: object, what: str, remedy: str = "", *, of: str = "", **more: Any
) -> InputError:
    """Return an error for an argument with a wrong value.

    Parameters
    ----------
    name, value
        The argument.
    what : str
        Template of the requirement. It is an argument of the message too, filled in.
    remedy : str, optional
        Template of the advice.
    of : str, optional
        The class or function that takes the argument.
    **more
        Values for the templates.

    Examples
    --------
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
    """Return an error for a name that does not exist.

    Parameters
    ----------
    kind, name
        The kind of the name (an argument), and the unknown name.
    known : iterable
        The names that exist.
    of : str, optional
        The class or function that takes the name.

    Examples
    --------
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
    """Return the error with the class or function that takes the argument as a prefix."""
    return error.with_context(of=of) if of else error


def missing_extra(what: str, extra: str) -> CombGameError:
    """Return an error for a feature that needs an optional dependency.

    >>> print(missing_extra("to_frame()", "frames"))
    to_frame() needs the extra 'frames'; install it with pip install 'combgame[frames]'.
    """
    remedy = "install it with pip install 'combgame[{extra}]'"
    text = "{what} needs the extra {extra!r}"
    return CombGameError("needs-extra", text, remedy=remedy, what=what, extra=extra)


def to_python_scalar(value: Any) -> Any:
    """Convert a NumPy scalar or array of dimension 0 to a Python number; return others unchanged.

    >>> tuple(to_python_scalar(x) for x in (np.int64(3), np.array(0.5), np.bool_(True), "x"))
    (3, 0.5, True, 'x')
    """
    boxed = isinstance(value, np.generic | np.ndarray) and value.ndim == 0
    return value.item() if boxed and value.dtype.kind in "biuf" else value


def check_int(name: str, value: object, least: int, *, of: str = "", most: int = MOST) -> int:
    """Return a whole number of at least `least` and at most `most`; raise an error for others."""
    number = to_python_scalar(value)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise invalid_argument(
            name, value, "a whole number of at least {least}", of=of, least=least
        )
    if number > most:
        raise invalid_argument(name, value, "a whole number of at most {most}", of=of, most=most)
    return int(number)


def check_positive(name: str, value: object, *, of: str = "") -> float:
    """Return a positive finite number unchanged; raise an error for others."""
    number = to_python_scalar(value)
    if not is_real(number) or not 0.0 < number < math.inf:
        raise invalid_argument(name, value, "a positive number", of=of)
    return number  # type: ignore[no-any-return]


def is_real(value: object) -> bool:
    """Return whether a value is a Python number that a float can represent.

    Infinity and NaN are allowed.

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
    """Return a text that tables, terminals and databases keep unchanged; raise an error for others.

    With ``lines=True`` the text may have several lines, and tabs.

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
    """Return an error that names what would be lost of a text."""
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
    """Return True or False; raise an error for other values."""
    answer = to_python_scalar(value)
    if not isinstance(answer, bool):
        raise invalid_argument(name, value, "True or False", of=of)
    return answer
