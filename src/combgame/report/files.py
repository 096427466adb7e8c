"""Texts and tables in files: in which format, and what happens if they cannot be written."""

from pathlib import Path
from typing import Any

from ..errors import InputError, StoreError, unknown

FORMS = ("csv", "json")


def form_of(path: Any, form: str | None) -> str:
    """ "csv" or "json": as it is said, or else as the file's name ends; JSON without a file."""
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
        raise unknown("format", form, FORMS)
    return form


def save(path: Any, text: str, kept: str = "") -> None:
    """Write a text to a file; kept: what is not lost if that is not possible."""
    try:
        Path(path).write_text(text, encoding="utf-8")
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
