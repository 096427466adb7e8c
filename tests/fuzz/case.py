"""One case, and what became of it."""

import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import combgame as cg
from combgame.errors import CombGameError


class Case(NamedTuple):
    """said: how one would type it. do: does it."""

    said: str
    do: Callable[[], Any]


Maker = Callable[[Random, Path], Case]  # the folder is the case's own, and empty


class Foreign(NamedTuple):
    """An exception that is not of this package's family."""

    kind: str
    number: int
    said: str
    error: str
    place: str  # the last line of this package that it came through


def tried(kind: str, make: Maker, seed: int, number: int, folder: Path) -> Foreign | str:
    """What became of a case: "made", the code of a refusal, or a foreign exception."""
    said = ""
    try:
        case = make(Random(f"{seed} {kind} {number}"), folder)
        said = case.said
        case.do()
    except CombGameError as error:
        return _refusal(error) or Foreign(kind, number, said, repr(error), "an empty sentence")
    except Exception as error:
        return Foreign(kind, number, said, f"{type(error).__name__}: {_text(error)}", _place(error))
    return "made"


def _refusal(error: CombGameError) -> str:
    """The code, if it says something: in one line, which any terminal can show."""
    text = str(error)
    text.encode()
    return error.code if text.strip() and text.isprintable() else ""


def _text(error: Exception) -> str:
    try:
        return ascii(str(error))[:200]
    except Exception:
        return "?"


def _place(error: Exception) -> str:
    """Where it left this package; without this folder, which has made the case."""
    package, here = str(Path(cg.__file__).parent), str(Path(__file__).parent)
    lines = [
        f"{Path(frame.filename).relative_to(package)}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(package) and not frame.filename.startswith(here)
    ]
    return lines[-1] if lines else "the fuzzer itself"
