"""Write texts and tables to files: their formats, and errors if they cannot be written."""

import os
from pathlib import Path
from typing import Any

from .._messages import ReprText
from ..errors import InputError, StoreError, invalid_argument, to_python_scalar, unknown_name

FORMS = ("csv", "json")


def form_of(path: Any, form: str | None) -> str:
    """Return "csv" or "json": the given format, or the ending of the file; JSON without a file."""
    if path is not None:
        check_path("path", path)
    if form is None:
        form = "json" if path is None else Path(path).suffix.lower()[1:]
        if form not in FORMS:
            raise InputError(
                "unknown-ending",
                "{path} must end with .csv (the rows of a level) or .json (all of it)",
                remedy="on the command line, --format says so too",
                path=str(path),
            )
    elif form not in FORMS:
        raise unknown_name("format", form, FORMS)
    return form


def check_path(name: str, path: Any) -> Path:
    """Return a path; raise an error if the system cannot have it."""
    if not isinstance(path, str | os.PathLike):
        raise invalid_argument(name, path, "the path of a file")
    try:
        made = Path(path)
        os.fsencode(made)
        fits = "\0" not in str(made) and bool(made.name)
    except Exception:  # not a text, or a lone surrogate
        fits = False
    if not fits:
        raise invalid_argument(name, path, "the path of a file")
    return made


PRIVATE = 0o600  # default mode of a new file: only its owner can read and write
MODES = (0o600, 0o640, 0o660)  # allowed modes, which may include its group


def check_mode(mode: Any) -> int:
    """Return the mode of a new file; raise an error if it is not allowed.

    >>> check_mode(0o644)
    Traceback (most recent call last):
    combgame.errors.InputError: mode = 0o644 must be 0o600, 0o640 or 0o660: nobody beyond the group.
    """
    number = to_python_scalar(mode)
    if isinstance(number, bool) or number not in MODES:
        shown = ReprText(oct(number)) if type(number) is int and abs(number) < 2**63 else mode
        raise invalid_argument("mode", shown, "0o600, 0o640 or 0o660: nobody beyond the group")
    return int(number)


def make_private(path: Path, mode: int = PRIVATE) -> None:
    """Make an empty file with the given mode; an existing file stays as it is.

    Windows has no such modes.
    """
    try:
        made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE)
    except FileExistsError:
        return
    try:
        if mode != PRIVATE and hasattr(os, "fchmod"):
            os.fchmod(made, mode)
    finally:
        os.close(made)


def save(path: Any, text: str | bytes, kept: str = "", mode: int = PRIVATE) -> None:
    """Write a text as UTF-8, or bytes, to a file.

    Parameters
    ----------
    path : path-like
        The file.
    text : str or bytes
        The content.
    kept : str
        For the error message: what is not lost if the file cannot be written.
    mode : int
        The mode of a new file.
    """
    try:
        target = check_path("path", path)
        make_private(target, check_mode(mode))
        # independent of the locale; lone surrogates are escaped, because UTF-8 has none
        target.write_bytes(
            text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text
        )
    except OSError as error:
        remedy = "choose another place"
        if kept:
            remedy += " ({kept})"
        raise StoreError(
            "file-unwritable",
            "{path} cannot be written ({why})",
            remedy=remedy,
            path=str(path),
            why=error.strerror,
            kept=kept,
        ) from error
