"""Texts and tables in files: in which format, and what happens if they cannot be written."""

import os
from pathlib import Path
from typing import Any

from .._messages import ReprText
from ..errors import InputError, StoreError, invalid_argument, to_python_scalar, unknown_name

FORMS = ("csv", "json")


def form_of(path: Any, form: str | None) -> str:
    """ "csv" or "json": as it is said, or else as the file's name ends; JSON without a file."""
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
    """A path that a system can have, or a sentence."""
    if not isinstance(path, str | os.PathLike):
        raise invalid_argument(name, path, "the path of a file")
    try:
        made = Path(path)
        os.fsencode(made)
        fits = "\0" not in str(made) and bool(made.name)
    except Exception:  # no text, or half a character
        fits = False
    if not fits:
        raise invalid_argument(name, path, "the path of a file")
    return made


PRIVATE = 0o600  # what a new file allows: its owner, and nobody else
MODES = (0o600, 0o640, 0o660)  # and what it may allow: its group, too


def check_mode(mode: Any) -> int:
    """What a new file allows, or a sentence.

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
    """Make an empty file that only its owner can read and write, or its group too, as `mode` says;
    one that is there already stays as it is. (Windows has no such modes.)
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
    """Write a text to a file, as UTF-8, or the bytes of a workbook; kept: what is not lost if that
    is not possible; mode: what a new file allows.
    """
    try:
        target = check_path("path", path)
        make_private(target, check_mode(mode))
        # whatever the locale; half a character, which no UTF-8 has, as Python writes it
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
