"""A part that reaches outside its arrays, in one sentence: the part, the method, the line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

from ..errors import EngineError

LIBRARIES = ("combgame", "numba", "numpy")
CODE = "outside-arrays"


class Place(NamedTuple):
    """A line of a user's code, and the part that it belongs to, if it is a method."""

    kind: type | None
    method: str
    line: int
    file: str


@contextmanager
def own_bounds(*parts: Any, again: Callable[[], object] | None = None) -> Iterator[None]:
    """A part that reaches outside its arrays is said in a sentence (a user's parts are compiled
    with that check).

    parts: those at work. again: does the same interpreted, where compiled code did it, which does
    not say where it was.
    """
    try:
        yield
    except IndexError as error:
        place = _place(error.__traceback__)
        if place is None and again is not None:
            try:
                again()
            except EngineError as found:
                if found.code == CODE:
                    raise found from error
        raise _said(place, foreign_parts(parts), str(error)) from error


def _place(trace: TracebackType | None) -> Place | None:
    """The innermost line that is not a library's."""
    found = None
    while trace is not None:
        frame = trace.tb_frame
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in LIBRARIES:
            code, me = frame.f_code, frame.f_locals.get("self")
            kind = None if me is None else type(me)
            found = Place(kind, code.co_name, trace.tb_lineno, code.co_filename)
        trace = trace.tb_next
    return found


def foreign_parts(parts: Any) -> list[type]:
    """The classes in some parts that are not this package's, each once."""
    if not isinstance(parts, tuple):
        return []
    own = hasattr(parts, "_fields") and type(parts).__module__.partition(".")[0] not in LIBRARIES
    inner = [kind for field in parts for kind in foreign_parts(field)]
    return list(dict.fromkeys([*([type(parts)] if own else []), *inner]))


def _said(place: Place | None, kinds: list[type], reason: str) -> EngineError:
    text, named = "a part reached outside an array ({reason})", [kind.__name__ for kind in kinds]
    if place is not None:
        kinds = [] if place.kind is None else [place.kind]
        text = "{method} reached outside an array: line {line} of {file}: {reason}"
        if kinds:
            named = [kinds[0].__name__]
            text = "{part}.{method} reached outside an array: line {line} of {file}: {reason}"
    elif kinds:
        text = "{part} reached outside an array ({reason})"
    remedy = "arrays are as large as they were made: mend the index, or make them larger"
    if kinds and all(hasattr(kind, "act") and hasattr(kind, "feed") for kind in kinds):
        remedy = (
            "a learner's mixture has room for `LearnerBase.room(d, home)` actions: override it, or "
            "mend the index"
        )
    return EngineError(
        CODE,
        text,
        remedy=remedy,
        part=" or ".join(named),
        method="" if place is None else place.method,
        line=0 if place is None else place.line,
        file="" if place is None else place.file,
        reason=reason,
    )
