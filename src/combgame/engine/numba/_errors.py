"""What numba refuses in a user's part, in one sentence: the part, the method, the line, the reason.
Its own text, which is long, is the error's `__cause__`.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..._messages import OptionHint
from ...errors import EngineError

LONG = 300  # characters of a reason
NOISE = ("Failed in ", "During:", "File ", "- Resolution failure", ">>>")  # how other lines begin
PLACE = re.compile(r"(?:File \"(.+?)\", line |(?:Raised from|, defined at) (.+?) \()(\d+)\)?")
NAMED = re.compile(r"<(?:function|class) '?([\w.<>]+)'?(?: at 0x[0-9a-f]+)?>")
CALLED = re.compile(r"Function\((.*?)\) found for signature")
KINDS = re.compile(r"\b([A-Z]\w*)\([^()]*(?:\([^()]*\)[^()]*)*\)")  # a part, with all its fields
UNMARKED = "Untyped global name"


class CompileFailure(NamedTuple):
    """A function that could not be compiled; depth: how many others were waiting for it."""

    depth: int
    function: Callable[..., Any]
    error: BaseException


FAILED: list[CompileFailure] = []  # in the compilation at hand, what was called before its caller
_DEPTH = [0]


@contextmanager
def noted(function: Callable[..., Any]) -> Iterator[None]:
    """Around the compilation of a function."""
    depth = _DEPTH[0]
    _DEPTH[0] += 1
    try:
        yield
    except Exception as error:
        FAILED.append(CompileFailure(depth, function, error))
        raise
    finally:
        _DEPTH[0] = depth


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """Around a compilation of a user's parts."""
    FAILED.clear()
    try:
        yield
    except Exception as error:
        found = _innermost()
        if found is None:
            raise
        raise _said(found) from error
    finally:
        FAILED.clear()


def _innermost() -> CompileFailure | None:
    """Where it began: from the outermost function that failed to the one it failed for."""
    found: CompileFailure | None = None
    for one in reversed(FAILED):
        if found is None or (one.depth == found.depth + 1 and _within(one.error, found.error)):
            found = one
    return found


def _within(error: BaseException, outer: BaseException) -> bool:
    """Whether an error is told by that of the caller, whose lines are indented."""
    return error is outer or _line(error) in [line.strip() for line in str(outer).splitlines()]


def _said(failure: CompileFailure) -> EngineError:
    code, reason = failure.function.__code__, _reason(failure.error)
    kernel, _, method = code.co_qualname.rpartition("<locals>.")[2].rpartition(".")
    remedy = "mend it (docs/new-part.md has the rules for compiled kernels), or use {python}"
    if reason.startswith(UNMARKED):
        remedy = "mark it with @jitable (from combgame.engine.protocols), or use {python}"
    text = "{method} cannot be compiled: line {line} of {file}: {reason}"
    if kernel:
        text = "{kernel}.{method} cannot be compiled: line {line} of {file}: {reason}"
    return EngineError(
        "not-compilable",
        text,
        remedy=remedy,
        kernel=kernel,
        method=method,
        line=_place(failure.error, code.co_filename) or code.co_firstlineno,
        file=code.co_filename,
        reason=reason,
        python=OptionHint("engine", "python"),
    )


def _place(error: BaseException, file: str) -> int | None:
    """The line of a file that numba's text names, or its error."""
    for first, second, line in PLACE.findall(str(error)):
        if file in (first, second):
            return int(line)
    place = getattr(error, "loc", None)
    return int(place.line) if place is not None and place.filename == file else None


def _line(error: BaseException) -> str:
    """The line of numba's text that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line and not line.startswith(NOISE)), str(error).strip())


def _reason(error: BaseException) -> str:
    """The same, fit for a sentence."""
    text = NAMED.sub(r"\1", PLACE.sub("", _line(error)))
    text = KINDS.sub(r"\1", CALLED.sub(r"\1 for these arguments", text)).strip(" .:")
    return text if len(text) <= LONG else text[:LONG] + " ..."
