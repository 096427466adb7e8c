"""Errors of databases and their drivers, as messages with a remedy.

The messages are the same for studies and for campaigns; each of the two brings its own advice.
"""

import errno
import os
import sqlite3
from typing import NamedTuple

from .._messages import OptionHint, PhraseHint
from ..errors import StoreError

KINDS = {  # by SQLite's codes, without their details
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_READONLY: "unwritable",
    sqlite3.SQLITE_CANTOPEN: "unwritable",
    sqlite3.SQLITE_PERM: "unwritable",
    sqlite3.SQLITE_IOERR: "full",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_NOMEM: "refused",
    sqlite3.SQLITE_INTERRUPT: "refused",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
UNOPENED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)  # SQLite gives no reason with these
STATES = {  # by the first characters of PostgreSQL's codes
    "55P03": "busy",
    "40003": "unreachable",  # whether it was committed is not known
    "40": "collided",  # serialisation failures and deadlocks
    "25006": "unwritable",
    "42501": "unwritable",
    "53100": "full",
    "58030": "full",
    "XX001": "damaged",
    "XX002": "damaged",
    "08": "unreachable",
    "57P": "unreachable",
}
WORDS = {  # in the text of a server driver's error; the first that fits counts
    "busy": ("locked", "lock timeout", "busy"),
    "unwritable": ("readonly", "read-only", "unable to open", "permission"),
    "full": ("full", "i/o", "no space"),
    "damaged": ("malformed", "not a database", "corrupt", "encrypted"),
    "unreachable": ("connection", "could not", "server"),
}
LEFT_OUT = "what it says is left out, because it quotes what may be secret"


class StorageAdvice(NamedTuple):
    """Remedies by kind of failure; `{timeout}` and `{copy}` are rendered as users type them."""

    busy: str
    unwritable: str
    full: str
    damaged: str
    unreachable: str
    refused: str
    gone: str  # the file itself is gone
    parted: str  # a file that SQLite has put beside it is gone


def kind_of(error: BaseException, lost: bool = False) -> str:
    """Classify an error of a database or its driver.

    Parameters
    ----------
    error : BaseException
        The error of the driver.
    lost : bool
        True if the connection was lost.

    Returns
    -------
    str
        ``"busy"``, ``"collided"``, ``"spent"`` (no file descriptors are left), ``"unwritable"``,
        ``"full"``, ``"damaged"``, ``"unreachable"``, ``"refused"`` or ``"other"``: SQLite could
        not do what was asked with the content of the file.
    """
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None:
            if code & 0xFF in UNOPENED and files_spent():
                return "spent"
            return KINDS.get(code & 0xFF, "other")
        misused = isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError)
        return "other" if misused else "damaged"  # Python cannot read the content
    state = getattr(error, "sqlstate", None)
    if state:
        found = next((kind for code, kind in STATES.items() if state.startswith(code)), "refused")
        return "unreachable" if lost else found
    said = str(error).lower()
    for kind, words in WORDS.items():
        if any(word in said for word in words):
            return kind
    return "unreachable" if lost else "other"


def files_spent() -> bool:
    """Return True if this process, or the machine, has as many files open as it may."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def failure(
    where: str, kind: str, said: str, advice: StorageAdvice, seconds: float = 0.0
) -> StoreError:
    """Return the error for a failure.

    Parameters
    ----------
    where : str
        The file or server as it may be shown.
    kind : str
        Kind of the failure, see `kind_of`.
    said : str
        Text of the driver's error, or `LEFT_OUT` if it must not be shown.
    advice : StorageAdvice
        Remedies.
    seconds : float
        How long the call waited.
    """
    why = " ".join(said.split())
    if kind == "busy":
        text = "{where}: somebody else has been writing for {seconds:g} seconds ({why})"
        timeout = OptionHint("timeout")
        about = {"where": where, "seconds": seconds, "why": why}
        return StoreError("busy", text, remedy=advice.busy, timeout=timeout, **about)
    if kind == "spent":
        text = "{where}: this process has as many files and connections open as it may ({why})"
        remedy = (
            "close some and try again; `ulimit -n`, or LimitNOFILE in a systemd unit, allows more"
        )
        return StoreError("too-many-files", text, remedy=remedy, where=where, why=why)
    if kind == "unwritable":
        text = "{where}: it or its folder cannot be written ({why})"
        return StoreError("unwritable", text, remedy=advice.unwritable, where=where, why=why)
    if kind == "full":
        text = (
            "{where}: the disk or the quota is full, or the disk cannot be read or written ({why})"
        )
        return StoreError("disk-full", text, remedy=advice.full, where=where, why=why)
    if kind == "damaged":
        text = "{where} is damaged, or is not a database ({why})"
        return StoreError("damaged", text, remedy=advice.damaged, where=where, why=why)
    if kind == "unreachable":
        text = "{where}: the server cannot be reached ({why})"
        return StoreError("unreachable", text, remedy=advice.unreachable, where=where, why=why)
    if kind == "collided":
        text = "{where}: another transaction got in the way, and nothing was changed ({why})"
        return StoreError("collided", text, remedy=advice.refused, where=where, why=why)
    text = "{where}: the database refused, and nothing was changed ({why})"
    return StoreError("refused", text, remedy=advice.refused, where=where, why=why)


def gone(where: str, tail: str, stored: bool, advice: StorageAdvice) -> StoreError:
    """Return the error for a file that is no longer where it was opened.

    Parameters
    ----------
    where : str
        The file.
    tail : str
        Ending of the file beside it that is gone; empty if the file itself is gone.
    stored : bool
        True if this was noticed after the transaction had ended.
    advice : StorageAdvice
        Remedies.
    """
    so = ", so {stored:what was given just now counts as not stored|nothing was stored}"
    if tail:
        text = "{where}{tail} was deleted or replaced while {where} was in use" + so
        about = {"where": where, "tail": tail, "stored": stored}
        return StoreError("journal-gone", text, remedy=advice.parted, **about)
    text = "{where} was deleted, moved or replaced while it was open here" + so
    copy = PhraseHint("copy")
    return StoreError("file-gone", text, remedy=advice.gone, where=where, stored=stored, copy=copy)


def forked(where: str, in_use: bool = False) -> StoreError:
    """Return the error for a forked process; ``in_use`` if a transaction was open at the fork."""
    text = "{where} was opened in another process, from which this one was forked"
    remedy = "open it again in this process, with Study(...) or Study.open(...)"
    if in_use:
        text = "{where} was in use when this process was forked, so SQLite cannot be used here"
        remedy = "fork when no call is under way, or start processes anew (spawn)"
    return StoreError("forked", text, remedy=remedy, where=where)


# which versions wrote the formats that are refused, of studies and of campaigns
WRITERS = {1: "a development version of 0.1 or 0.2", 2: "a development version of 0.2"}


def other_version(where: str, theirs: int, ours: int) -> StoreError:
    """Return the error for a file of another version of the schema."""
    writer = WRITERS.get(theirs, "another version") if theirs < ours else "a later version"
    text = (
        "{where} was written by {writer} of combgame (format {theirs}, and this version has {ours})"
    )
    remedy = "install that version, or name another file"
    return StoreError(
        "other-version", text, remedy=remedy, where=where, writer=writer, theirs=theirs, ours=ours
    )


def foreign(where: str) -> StoreError:
    """Return the error for a file that this package did not write."""
    text = "{where} is another program's SQLite file, or is for something else"
    return StoreError("foreign-file", text, remedy="name another file", where=where)
