"""Values that nobody expects, and values that somebody might."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import combgame as cg

HUGE = 10**10_000  # it has more digits than Python writes
DEEP = 3000  # lists in lists; Python's own limit is lower


class Rude:
    """Raises whatever it is asked, even what it looks like."""

    def _refuse(self, *_: Any) -> Any:
        raise RuntimeError("rude")

    __repr__ = __str__ = __len__ = __iter__ = __float__ = __index__ = __bool__ = _refuse
    __eq__ = __lt__ = __gt__ = __getitem__ = __array__ = _refuse
    __hash__ = object.__hash__


class Liar(list[Any]):
    """A list that says that it is longer than it is."""

    def __len__(self) -> int:
        return 7


def circle() -> list[Any]:
    inner: list[Any] = [1]
    inner.append(inner)
    return inner


def well() -> list[Any]:
    """Lists in lists, deeper than Python's stack."""
    inner: list[Any] = []
    for _ in range(DEEP):
        inner = [inner]
    return inner


TEXTS: Sequence[str] = (
    "",
    " ",
    "a",
    "b",
    "s",
    "t",
    "1",
    " a",
    "a ",
    "a\tb",
    "a\nb",
    "a\rb",
    "a,b",
    'a"b',
    "=1+1",
    "+a",
    "-a",
    "@a",
    "a\0b",
    "\ud800",
    "\x1b[31mred\x1b[0m",
    "\u202eabc",
    "é",
    "e\u0301",
    "日本",
    "😀",
    "{a}",
    "{",
    "}",
    "{0!r:>9}",
    "%s",
    "'; DROP TABLE combgame_studies; --",
    "../../x",
    "nan",
    "inf",
    "1e999",
    "9" * 5000,
    "a" * 201,
    "a" * 10_000,
    "lloo",
    "mixture",
    "proved",
    "2030-01-31T18:00",
)
NUMBERS: Sequence[Any] = (
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    -1,
    True,
    False,
    0.0,
    -0.0,
    0.05,
    0.5,
    1.0,
    1.5,
    2.0,
    1e-320,
    1e-9,
    1e12,
    1e100,
    1e308,
    -1e308,
    math.nan,
    math.inf,
    -math.inf,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63) - 1,
    10**400,
    HUGE,
    -HUGE,
    1j,
    Decimal("0.1"),
    Decimal("NaN"),
    Fraction(1, 3),
)
OTHERS: Sequence[Callable[[], Any]] = (
    lambda: None,
    lambda: ...,
    object,
    Rude,
    circle,
    well,
    lambda: Liar([0, 1]),
    lambda: b"bytes",
    lambda: bytearray(b"a"),
    lambda: len,
    lambda: lambda *_: None,
    lambda: Path("a"),
    lambda: datetime(2030, 1, 1, tzinfo=UTC),
    lambda: iter([0, 1]),
    lambda: iter([]),
    lambda: (x for x in [[0], [1]]),
    lambda: range(3),
    lambda: slice(1),
    lambda: {"kind": "arms"},
    lambda: {"a": 1, "b": 2},
    lambda: {0: 0.5, 1: 0.25},
    dict,
    set,
    lambda: {0, 1},
    lambda: frozenset([1]),
    lambda: {None: None},
    lambda: np.array(3),
    lambda: np.array([0.1, 0.2, 0.3]),
    lambda: np.array([[0, 1], [1, 0]]),
    lambda: np.array([None, "a"], dtype=object),
    lambda: np.zeros((2, 0)),
    lambda: np.zeros((2, 2, 2)),
    lambda: np.array(["a", "b", "c"]),
    lambda: np.array(["2030-01-01"], dtype="datetime64[D]"),
    lambda: np.int64(2),
    lambda: np.float32(0.5),
    lambda: np.bool_(True),
    lambda: np.float64("nan"),
    lambda: np.longdouble(1),
    lambda: np.ma.masked,
    lambda: cg.Arms(3),
    lambda: cg.Gaussian(1.0),
    lambda: cg.LLOO(),
    lambda: cg.CombGame(),
    lambda: cg.Arms,
    lambda: [[0, 1], [2]],
    lambda: [(0, 1), (1, 2)],
    lambda: [("s", "a"), ("a", "t"), ("s", "t")],
    lambda: [("s", "a", "x"), ("a", "t", "x")],
    lambda: [[0], [0]],
    lambda: [0.1, [0.2]],
    lambda: [[0.1], [0.2, 0.3]],
    lambda: [(0.0, 1.0), (1.0, 0.0), (0.0, math.nan)],
    lambda: (0.0, 1.0),
    lambda: ["a", "b", "c"],
    lambda: ["a", "a", "b"],
    lambda: ["a ", "b\n", "c"],
    lambda: [0.05, 0.1],
    lambda: [0.3, 0.2, 0.1],
)


def odd(rng: Random, depth: int = 2) -> Any:
    """Any value; lists, tuples and dicts of them too."""
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(TEXTS)
    if kind < 0.5:
        return rng.choice(NUMBERS)
    if kind < 0.85 or depth == 0:
        return rng.choice(OTHERS)()
    some = [odd(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind < 0.93:
        return some
    if kind < 0.97:
        return tuple(some)
    return {rng.choice(TEXTS): one for one in some}


def mostly(rng: Random, good: Any) -> Any:
    """The value that was meant, or another one of its kind, or any."""
    chance = rng.random()
    if chance < 0.55:
        return good
    if chance < 0.75 and isinstance(good, list | tuple) and good:
        changed = list(good)
        changed[rng.randrange(len(changed))] = odd(rng, 1)
        return type(good)(changed) if type(good) in (list, tuple) else changed
    if chance < 0.75 and isinstance(good, str):
        return rng.choice(TEXTS)
    if chance < 0.8 and isinstance(good, int | float):
        return rng.choice(NUMBERS)
    return odd(rng)


def shown(value: Any, most: int = 300) -> str:
    """A value as a report shows it, whatever it is."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= most else text[:most] + "..."
