"""Messages to users: a code for programs, arguments, and a template.

Errors, outliers, assumptions and next steps are `Message` objects. Advice in a message is a `Term`
(a call, an option, a phrase), which each surface spells as its users type it: Python as
`extend(max_rounds=..., reason)`, the shell as `combgame study extend --max-rounds ... --reason
...`. So no program has to parse a text.
"""

import re
import string
import unicodedata
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

PLAIN = (str, int, float, bool, type(None))
LONGEST = 1000  # items of a list argument; a longer list is kept as its repr
BITS = 3300  # bits of an integer that is shown; Python refuses to write much longer ones
# line and paragraph separators, and characters that change the direction of writing
UNSEEN = frozenset("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class ReprText(str):
    """The repr of a value that is not plain data; its own repr is itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def is_control(character: str) -> bool:
    """Return whether a terminal would obey a character, or a file may not keep it.

    These are control characters, surrogates, and characters that separate lines or change the
    direction of writing.
    """
    return unicodedata.category(character) in ("Cc", "Cs") or character in UNSEEN


def escape_control(text: str, kept: str = "") -> str:
    r"""Return the text with `is_control` characters escaped as in Python, except those in `kept`.

    >>> escape_control("a\x1b[31m\n"), escape_control("a\tb\n", kept="\n")
    ('a\\x1b[31m\\n', 'a\\tb\n')
    """
    if text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode() if one not in kept and is_control(one) else one
        for one in text
    )


def safe_repr(value: object) -> ReprText:
    """Return the repr of any object in one line, even if its class raises an error.

    >>> safe_repr(10**5000)
    <a number of about 5,001 digits>
    """
    if isinstance(value, int) and value.bit_length() > BITS:
        return ReprText(f"<a number of about {int(value.bit_length() * 0.30103) + 1:,} digits>")
    try:
        text = repr(value)
    except Exception:  # from its class, a recursive or deep list, or a long integer inside
        text = f"<{type(value).__name__}>"
    return ReprText(re.sub(r"\s*\n\s*", " ", text))


def safe_str(value: object) -> str:
    """Return the str of any object, even if its class raises an error."""
    try:
        return safe_repr(value) if isinstance(value, int) else str(value)
    except Exception:
        return safe_repr(value)


class CallHint:
    """A call that a message advises: ``CallHint("extend", "reason", max_rounds=...)``.

    Positional arguments are values that the reader has at hand. Keyword arguments are named in the
    call, with ``...`` for a value that the reader chooses.
    """

    def __init__(self, verb: str, *given: object, **named: object) -> None:
        self.verb, self.given, self.named = verb, given, named

    def render_inline(self, surface: "Renderer") -> str:
        """Return the call as a surface spells it."""
        return surface.call(self.verb, self.given, self.named)


class OptionHint:
    """An option, with its value if that is known: ``OptionHint("max_rounds", 40)``."""

    def __init__(self, name: str, value: object = ...) -> None:
        self.name, self.value = name, value

    def render_inline(self, surface: "Renderer") -> str:
        """Return the option as a surface spells it."""
        return surface.option(self.name, self.value)


class PhraseHint:
    """A phrase that differs between surfaces, for example how a missing value is given."""

    def __init__(self, key: str, **arguments: object) -> None:
        self.key, self.arguments = key, arguments

    def render_inline(self, surface: "Renderer") -> str:
        """Return the phrase of a surface."""
        return surface.phrase(self.key).format(**self.arguments)


Term = CallHint | OptionHint | PhraseHint


class Renderer(Protocol):
    """How a surface spells the advice in a message."""

    def call(self, verb: str, given: tuple[object, ...], named: Mapping[str, object]) -> str: ...

    def option(self, name: str, value: object) -> str: ...

    def phrase(self, key: str) -> str: ...


class PythonRenderer:
    """The renderer for Python.

    >>> str(Message("x", "{more} gives it more rounds", more=CallHint("extend", max_rounds=...)))
    'extend(max_rounds=...) gives it more rounds.'
    """

    PHRASES: Mapping[str, str] = {
        "missing value": "None says that a value is missing",
        "several values": "give the values as a list",
        "share of n": "give a share of n results as (share, n)",
        "share unrounded": "give the share unrounded, such as {share}",
        "decision says": "`decision` says",
        "again": "allow_duplicates=True",
        "copy": "copy(path)",
    }

    def call(self, verb: str, given: tuple[object, ...], named: Mapping[str, object]) -> str:
        words = [_shown(one) if not isinstance(one, str) else one for one in given]
        words += [f"{name}={_shown(value)}" for name, value in named.items()]
        return f"{verb}({', '.join(words)})"

    def option(self, name: str, value: object) -> str:
        return name if value is ... else f"{name}={_shown(value)}"

    def phrase(self, key: str) -> str:
        return self.PHRASES[key]

    def __repr__(self) -> str:
        return "PYTHON"


PYTHON = PythonRenderer()


class Message:
    """A message with a code for programs and arguments for its templates.

    Parameters
    ----------
    code : str
        The code that programs use.
    text : str
        Template of the text, without the final period.
    remedy : str, optional
        Template of the advice, without the final period.
    **arguments : object
        Values for the templates. They may be messages themselves.

    Notes
    -----
    Templates have the syntax of `str.format`. In addition, ``{n:count round}`` gives "2 rounds",
    ``{n:was|were}`` chooses by the number, ``{names:list}``, ``{names:quoted}``, ``{names:and}``
    and ``{names:or}`` give "a, b", "'a', 'b'", "a, and b" and "a or b", ``{names:by / }`` gives "a
    / b", ``{names:list 9}`` stops after nine items, and ``{part:capital}`` begins with a capital
    letter.

    Examples
    --------
    >>> text, remedy = "{n:count result} {n:was|were} late", "tell {n:it|them}"
    >>> late = Message("late", text, remedy=remedy, n=2)
    >>> str(late), late.code, late.arguments
    ('2 results were late; tell them.', 'late', {'n': 2})
    >>> str(Message("sigma", "{name} = {value!r} must be positive", name="sigma", value=-1))
    'sigma = -1 must be positive.'
    """

    def __init__(self, code: str, text: str, /, *, remedy: str = "", **arguments: object) -> None:
        self.code, self.text, self.advice = code, text, remedy
        self.arguments = {name: _plain(value) for name, value in arguments.items()}

    def render(self, surface: Renderer = PYTHON) -> str:
        """Return the text and the remedy, as a surface renders them.

        Parameters
        ----------
        surface : Renderer, default=PYTHON
            The renderer for calls and options.

        Returns
        -------
        str
            The message, with a final period.
        """
        whole, advice = self._filled(self.text, surface), self.remedy(surface)
        if advice:
            whole += (". " if advice[:1].isupper() else "; ") + advice
        return whole if not whole or whole[-1] in ".!?:" else whole + "."

    def render_inline(self, surface: Renderer) -> str:
        """Return the message without its final period, for use in another message."""
        said = self.render(surface)
        return said if said.endswith("...") else said.removesuffix(".")

    def with_context(self, place: str = "", /, **arguments: object) -> "Message":
        """Return the same message with a prefix that names a place: a file, a line, a round.

        Parameters
        ----------
        place : str, optional
            Template of the prefix. By default it consists of the arguments.
        **arguments : object
            Values for the template.

        Returns
        -------
        Message
            The prefixed message.

        Examples
        --------
        >>> message = Message("empty", "{what} is empty", what="a cell")
        >>> print(message.with_context("line {line}", line=2))
        line 2: a cell is empty.
        >>> print(Message("late", "{n} is late", n=2).with_context(where="a.toml", key="runs"))
        a.toml: runs: 2 is late.
        """
        text, advice = self.text, self.advice
        if not self.arguments:  # then the text is not a template, so braces are escaped
            text, advice = (one.replace("{", "{{").replace("}", "}}") for one in (text, advice))
        if not place:  # arguments of an inner place keep their names
            arguments = {
                f"outer_{name}" if name in self.arguments else name: one
                for name, one in arguments.items()
            }
            place = ": ".join(f"{{{name}}}" for name in arguments)
        known = {**arguments, **self.arguments}
        return Message(self.code, f"{place}: {text}", remedy=advice, **known)

    def remedy(self, surface: Renderer = PYTHON) -> str:
        """Return the advice as a surface renders it; an empty text if there is none."""
        return self._filled(self.advice, surface)

    def _filled(self, text: str, surface: Renderer) -> str:
        if not self.arguments:
            return text
        spelt = {name: _spelt(value, surface) for name, value in self.arguments.items()}
        return escape_control(_WORDS.vformat(text, (), spelt))

    def to_data(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """Return the message as plain data for JSON.

        Returns
        -------
        dict
            The keys are "code", "arguments", "text" and "remedy".
        """
        arguments = {name: _data(value, surface) for name, value in self.arguments.items()}
        said = {"text": self.render(surface), "remedy": self.remedy(surface)}
        return {"code": self.code, "arguments": arguments, **said}

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"<{self.code}: {self.render()}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return (self.code, self.render()) == (other.code, other.render())

    def __hash__(self) -> int:
        return hash((self.code, self.render()))


def join_truncated(parts: list[str], most: int = 10, between: str = ", ") -> str:
    """Join some texts, cut off after `most`.

    >>> join_truncated(["a", "b", "c"], most=2)
    'a, b, ...'
    """
    return between.join(parts[:most]) + f"{between}..." * (len(parts) > most)


class _Words(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, ReprText):  # it is not a number or list any more
            return str(value)
        if format_spec.startswith("count "):
            return f"{value:,} {format_spec[6:]}{'s' * (value != 1)}"
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return one if value == 1 else many
        form, _, cut = format_spec.partition(" ")
        if form in ("list", "quoted", "and", "or") and isinstance(value, str):
            return value  # a list that was too long to be kept as data
        if form in ("list", "quoted"):
            show = str if form == "list" else repr
            parts = [show(one) for one in value]
            return join_truncated(parts, int(cut or len(parts)))
        if form == "or":
            return " or ".join(map(str, value))
        if format_spec == "and":
            *most, last = map(str, value)
            return f"{', '.join(most)}, and {last}" if most else last
        if format_spec.startswith("by "):
            return format_spec[3:].join(map(str, value))
        if format_spec == "capital":
            return f"{value}"[:1].upper() + f"{value}"[1:]
        return str(super().format_field(value, format_spec))


_WORDS = _Words()
Rich = CallHint | OptionHint | PhraseHint | Message  # values that a renderer spells


def _plain(value: object) -> Any:
    """Return data for JSON: a NumPy number as a number, any other object as its repr."""
    try:
        return _data_of(value, ())
    except Exception:  # a value that is nested too deeply, or an object that raises an error
        return safe_repr(value)


def _data_of(value: Any, around: tuple[int, ...]) -> Any:
    """Return plain data; `around` has the ids of the containers around the value."""
    if isinstance(value, Rich):
        return value
    # np.float64 is a float too
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        return _data_of(value.item(), around) if value.dtype.kind in "biufU" else safe_repr(value)
    if isinstance(value, PLAIN):
        return safe_repr(value) if isinstance(value, int) and value.bit_length() > BITS else value
    if type(value) in (list, tuple, dict) and len(value) <= LONGEST and id(value) not in around:
        inside = (*around, id(value))
        if isinstance(value, dict):
            keys = [key if isinstance(key, PLAIN) else safe_repr(key) for key in value]
            return {
                key: _data_of(one, inside) for key, one in zip(keys, value.values(), strict=True)
            }
        return type(value)(_data_of(one, inside) for one in value)
    return safe_repr(value)


def _spelt(value: Any, surface: Renderer) -> Any:
    """Render terms and messages, also in a list."""
    if isinstance(value, list | tuple):
        return type(value)(_spelt(one, surface) for one in value)
    return value.render_inline(surface) if isinstance(value, Term | Message) else value


def _data(value: Any, surface: Renderer) -> Any:
    """Return rendered terms and messages as plain data."""
    if isinstance(value, list | tuple):
        return [_data(one, surface) for one in value]
    return value.to_data(surface) if isinstance(value, Message) else _spelt(value, surface)


def _shown(value: object) -> str:
    return "..." if value is ... else safe_repr(value)
