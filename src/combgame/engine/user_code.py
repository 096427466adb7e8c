"""What a user's own code does wrong, said in one sentence: oracles that are called back, and parts
that reach outside their arrays.

A part of a user's that raises, or reaches outside its arrays, in one sentence: the part, the
method, the line.

A structure whose oracle is a Python function, as a part for both engines: a C pointer to the
function is one of its fields.

Compiled code calls it like any other function (and it takes the GIL back while it runs). What it
raises is kept and raised again, unchanged, by `own_errors`: an exception cannot pass through C.
"""

import ctypes
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from ..errors import CombGameError, EngineError
from .protocols import RewardKernel
from .state import Floats, Random

SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
FAILURES: list[BaseException] = []  # what a callback raised, until somebody picks it up


class CallbackKernel(NamedTuple):
    call: Any  # SIGNATURE: (address of the scores, address of the set, d) -> 0 if all is well
    scores: Floats  # scratch

    def argmax(self, score: Floats, out: Floats) -> None:
        if self.call(score.ctypes, out.ctypes, score.size) != 0:
            raise RuntimeError("the oracle failed")

    def sample(self, rng: Random, out: Floats) -> None:
        """The best set for random scores: every extreme set has a chance, but the chances are not
        equal.
        """
        for a in range(self.scores.size):
            self.scores[a] = rng.standard_normal()
        if self.call(self.scores.ctypes, out.ctypes, self.scores.size) != 0:
            raise RuntimeError("the oracle failed")

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        return math.nan  # asked about through `answer_kernel`


def _view(address: int, n: int) -> Floats:
    """n doubles at an address, as an array."""
    return np.ctypeslib.as_array((ctypes.c_double * n).from_address(address))


def callback_part(solve: Callable[[Floats], Floats], d: int) -> CallbackKernel:
    """A part that calls `solve`, a function from scores to a 0/1 vector."""

    def call(score: int, out: int, n: int) -> int:
        try:
            _view(out, n)[:] = solve(_view(score, n))
        except BaseException as error:
            FAILURES.append(error)
            return 1
        return 0

    return CallbackKernel(SIGNATURE(call), np.zeros(d))


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise what a callback raised, instead of the news that it did."""
    try:
        yield
    except RuntimeError:
        if FAILURES:
            raise FAILURES.pop() from None
        raise


LIBRARIES = ("combgame", "numba", "numpy")
CODE, RAISED = "outside-arrays", "part-raised"


class UserCodeLocation(NamedTuple):
    """A line of a user's code, and the part that it belongs to, if it is a method."""

    kind: type | None
    method: str
    line: int
    file: str


@contextmanager
def own_bounds(*parts: Any, again: Callable[[], object] | None = None) -> Iterator[None]:
    """What a user's part raises is said in a sentence, and that one reaches outside its arrays (a
    user's parts are compiled with that check).

    parts: those at work. again: does the same interpreted, where compiled code did it, which does
    not say where it was.
    """
    try:
        yield
    except CombGameError:
        raise
    except Exception as error:
        kinds, outside = foreign_parts(parts), isinstance(error, IndexError)
        if FAILURES:  # a Python oracle's
            raise
        place = _owned(_place(error.__traceback__), kinds)
        if place is None and again is not None and (kinds or outside):
            try:
                again()
            except EngineError as found:
                if found.code in (CODE, RAISED):
                    raise found from error
        if outside:
            raise _said(place, kinds, str(error)) from error
        if place is None:
            raise
        raise _raised(place, error) from error


def _place(trace: TracebackType | None) -> UserCodeLocation | None:
    """The innermost line that is not a library's."""
    found = None
    while trace is not None:
        frame = trace.tb_frame
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in LIBRARIES:
            code, me = frame.f_code, frame.f_locals.get("self")
            kind = None if me is None else type(me)
            found = UserCodeLocation(kind, code.co_name, trace.tb_lineno, code.co_filename)
        trace = trace.tb_next
    return found


def _owned(place: UserCodeLocation | None, kinds: list[type]) -> UserCodeLocation | None:
    """The same, with the part if that is among some: compiled code does not say which it was."""
    if place is None or place.kind is not None:
        return place
    codes = [(kind, getattr(getattr(kind, place.method, None), "__code__", None)) for kind in kinds]
    found = [
        (code.co_firstlineno, kind)
        for kind, code in codes
        if code is not None and code.co_filename == place.file and code.co_firstlineno <= place.line
    ]
    return place._replace(kind=max(found, key=lambda one: one[0])[1]) if found else place


def _raised(place: UserCodeLocation, error: Exception) -> EngineError:
    text = "{method} raised {error}: line {line} of {file}"
    if place.kind is not None:
        text = "{kernel}.{method} raised {error}: line {line} of {file}"
    said = f"{type(error).__name__} ({error})" if str(error) else type(error).__name__
    return EngineError(
        RAISED,
        text,
        remedy="mend it; docs/new-part.md says what parts of your own are given, and may write",
        kernel="" if place.kind is None else place.kind.__name__,
        method=place.method,
        error=" ".join(said.split()),
        line=place.line,
        file=place.file,
    )


def foreign_parts(parts: Any) -> list[type]:
    """The classes in some parts that are not this package's, each once."""
    if not isinstance(parts, tuple):
        return []
    own = hasattr(parts, "_fields") and type(parts).__module__.partition(".")[0] not in LIBRARIES
    inner = [kind for field in parts for kind in foreign_parts(field)]
    return list(dict.fromkeys([*([type(parts)] if own else []), *inner]))


def _said(place: UserCodeLocation | None, kinds: list[type], reason: str) -> EngineError:
    text, named = "a part reached outside an array ({reason})", [kind.__name__ for kind in kinds]
    if place is not None:
        kinds = [] if place.kind is None else [place.kind]
        text = "{method} reached outside an array: line {line} of {file}: {reason}"
        if kinds:
            named = [kinds[0].__name__]
            text = "{kernel}.{method} reached outside an array: line {line} of {file}: {reason}"
    elif kinds:
        text = "{kernel} reached outside an array ({reason})"
    remedy = "arrays are as large as they were made: mend the index, or make them larger"
    if kinds and all(hasattr(kind, "act") and hasattr(kind, "update") for kind in kinds):
        remedy = (
            "a learner's weights have room for `LearnerBase.initial_capacity(d, n)` actions: "
            "override it, or mend the index"
        )
    return EngineError(
        CODE,
        text,
        remedy=remedy,
        kernel=" or ".join(named),
        method="" if place is None else place.method,
        line=0 if place is None else place.line,
        file="" if place is None else place.file,
        reason=reason,
    )
