"""What is said to people: a code for programs, arguments, and a sentence with places for them.

Errors, doubts, assumptions and next steps are all `Message`s. What a sentence advises is a `Term`
(a call, an option, a phrase), and each surface spells it as its users type it: Python as
`extend(max_rounds=..., reason)`, the shell as `combgame study extend --max-rounds ... --reason
...`. So nothing is ever parsed out of a sentence.
"""

import re
import string
import unicodedata
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

PLAIN = (str, int, float, bool, type(None))
LONGEST = 1000  # items of a list that is an argument; a longer one is a text
BITS = 3300  # of a whole number that is shown; Python refuses to write much longer ones
# line and paragraph separators, and what turns the direction of writing
UNSEEN = frozenset("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class ReprText(str):
    """A value that is no plain data, as it looked: its repr is itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def is_control(character: str) -> bool:
    """Whether a character is a control character, half of a pair of code units, or turns what is
    around it: a terminal would obey it, and a file or a database may not keep it.
    """
    return unicodedata.category(character) in ("Cc", "Cs") or character in UNSEEN


def escape_control(text: str, kept: str = "") -> str:
    """The text, with `is_control` characters written as Python writes them, but for those in `kept`.

    >>> legible("a\\x1b[31m\\n"), legible("a\\tb\\n", kept="\\n")
    ('a\\\\x1b[31m\\\\n', 'a\\\\tb\\n')
    """
    if text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode() if one not in kept and is_control(one) else one
        for one in text
    )


def safe_repr(value: object) -> ReprText:
    """Any object as it looks, in one line, whatever its class does when it is asked.

    >>> looks(10**5000)
    <a number of about 5,001 digits>
    """
    if isinstance(value, int) and value.bit_length() > BITS:
        return ReprText(f"<a number of about {int(value.bit_length() * 0.30103) + 1:,} digits>")
    try:
        text = repr(value)
    except Exception:  # its own, or a list in itself or too deep, or with such a number in it
        text = f"<{type(value).__name__}>"
    return ReprText(re.sub(r"\s*\n\s*", " ", text))


def safe_str(value: object) -> str:
    """What an object is called, whatever its class does when it is asked."""
    try:
        return safe_repr(value) if isinstance(value, int) else str(value)
    except Exception:
        return safe_repr(value)


class CallHint:
    """A verb that people call, and with what: `CallHint("extend", "reason", max_rounds=...)`.

    given: the arguments whose values the reader has at hand, in order; named: those that are
    named, `...` for a value that the reader chooses.
    """

    def __init__(self, verb: str, *given: object, **named: object) -> None:
        self.verb, self.given, self.named = verb, given, named

    def render_inline(self, surface: "Renderer") -> str:
        return surface.call(self.verb, self.given, self.named)


class OptionHint:
    """A setting by its name, with its value where that is said: `OptionHint("max_rounds", 40)`."""

    def __init__(self, name: str, value: object = ...) -> None:
        self.name, self.value = name, value

    def render_inline(self, surface: "Renderer") -> str:
        return surface.option(self.name, self.value)


class PhraseHint:
    """Words that differ from surface to surface: what a missing value looks like, say."""

    def __init__(self, key: str, **arguments: object) -> None:
        self.key, self.arguments = key, arguments

    def render_inline(self, surface: "Renderer") -> str:
        return surface.phrase(self.key).format(**self.arguments)


Term = CallHint | OptionHint | PhraseHint


class Renderer(Protocol):
    """How one surface spells what a sentence advises."""

    def call(self, verb: str, given: tuple[object, ...], named: Mapping[str, object]) -> str: ...

    def option(self, name: str, value: object) -> str: ...

    def phrase(self, key: str) -> str: ...


class PythonRenderer:
    """As one types it in Python.

    >>> str(Message("x", "{more} gives it more rounds", more=Call("extend", max_rounds=...)))
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
    """code: what programs go by. text, remedy: what is the case and what to do, without the full
    stop, with places for the arguments as `str.format` has them; besides, `{n:count round}` is "2
    rounds", `{n:was|were}` chooses by the number, `{names:list}`, `{names:quoted}`, `{names:and}`
    and `{names:or}` are "a, b", "'a', 'b'", "a, and b" and "a or b", `{names:by / }` is "a / b",
    `{names:list 9}` stops after nine, and `{part:capital}` begins with a capital letter. An
    argument may be a sentence.

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
        """The whole sentence, with its remedy, as a surface says it."""
        whole, advice = self._filled(self.text, surface), self.remedy(surface)
        if advice:
            whole += (". " if advice[:1].isupper() else "; ") + advice
        return whole if not whole or whole[-1] in ".!?:" else whole + "."

    def render_inline(self, surface: Renderer) -> str:
        """As a part of another sentence."""
        said = self.render(surface)
        return said if said.endswith("...") else said.removesuffix(".")

    def with_context(self, place: str = "", /, **arguments: object) -> "Message":
        """The same, said of a place (a file, a line, a round), which has places for arguments too;
        without one, of the arguments themselves.

        >>> print(Message("empty", "{what} is empty", what="a cell").within("line {line}", line=2))
        line 2: a cell is empty.
        >>> print(Message("late", "{n} is late", n=2).within(where="a.toml", key="runs"))
        a.toml: runs: 2 is late.
        """
        text, advice = self.text, self.advice
        if not self.arguments:  # then braces are braces
            text, advice = (one.replace("{", "{{").replace("}", "}}") for one in (text, advice))
        if not place:  # an inner place keeps its name
            arguments = {
                f"outer_{name}" if name in self.arguments else name: one
                for name, one in arguments.items()
            }
            place = ": ".join(f"{{{name}}}" for name in arguments)
        known = {**arguments, **self.arguments}
        return Message(self.code, f"{place}: {text}", remedy=advice, **known)

    def remedy(self, surface: Renderer = PYTHON) -> str:
        """What to do about it, as a surface says it; nothing where nothing is to be done."""
        return self._filled(self.advice, surface)

    def _filled(self, text: str, surface: Renderer) -> str:
        if not self.arguments:
            return text
        spelt = {name: _spelt(value, surface) for name, value in self.arguments.items()}
        return escape_control(_WORDS.vformat(text, (), spelt))

    def to_data(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """As plain data, which JSON can carry."""
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
    """A list in a sentence, cut where it is long.

    >>> several(["a", "b", "c"], most=2)
    'a, b, ...'
    """
    return between.join(parts[:most]) + f"{between}..." * (len(parts) > most)


class _Words(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, ReprText):  # which is no number or list any more
            return str(value)
        if format_spec.startswith("count "):
            return f"{value:,} {format_spec[6:]}{'s' * (value != 1)}"
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return one if value == 1 else many
        form, _, cut = format_spec.partition(" ")
        if form in ("list", "quoted", "and", "or") and isinstance(value, str):
            return value  # a list that is too long to be data
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
Rich = CallHint | OptionHint | PhraseHint | Message  # what a surface spells


def _plain(value: object) -> Any:
    """As data that can be sent: a NumPy number as a number, another object as it looks."""
    try:
        return _data_of(value, ())
    except Exception:  # too deep, or an object that refuses to be looked at
        return safe_repr(value)


def _data_of(value: Any, around: tuple[int, ...]) -> Any:
    """around: the lists that it is in."""
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
    """Terms and sentences as a surface says them, in a list too."""
    if isinstance(value, list | tuple):
        return type(value)(_spelt(one, surface) for one in value)
    return value.render_inline(surface) if isinstance(value, Term | Message) else value


def _data(value: Any, surface: Renderer) -> Any:
    """The same as plain data."""
    if isinstance(value, list | tuple):
        return [_data(one, surface) for one in value]
    return value.to_data(surface) if isinstance(value, Message) else _spelt(value, surface)


def _shown(value: object) -> str:
    return "..." if value is ... else safe_repr(value)
