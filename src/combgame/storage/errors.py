"""What databases and their drivers say, as sentences with a remedy: the same for studies and for
campaigns, but for what each of them advises.
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
UNOPENED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)  # and SQLite does not say why
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
WORDS = {  # in what a server's driver says; the first that fits
    "busy": ("locked", "lock timeout", "busy"),
    "unwritable": ("readonly", "read-only", "unable to open", "permission"),
    "full": ("full", "i/o", "no space"),
    "damaged": ("malformed", "not a database", "corrupt", "encrypted"),
    "unreachable": ("connection", "could not", "server"),
}
LEFT_OUT = "what it says is left out, because it quotes what may be secret"


class StorageAdvice(NamedTuple):
    """What to do about a failure; `{timeout}` and `{copy}` are spelt as people type them."""

    busy: str
    unwritable: str
    full: str
    damaged: str
    unreachable: str
    refused: str
    gone: str  # the file itself
    parted: str  # what SQLite has put beside it


def kind_of(error: BaseException, lost: bool = False) -> str:
    """busy, collided, spent (files), unwritable, full, damaged, unreachable, refused, or "other":
    then SQLite could not do what was asked with what stands in the file. lost: a connection was.
    """
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None:
            if code & 0xFF in UNOPENED and files_spent():
                return "spent"
            return KINDS.get(code & 0xFF, "other")
        misused = isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError)
        return "other" if misused else "damaged"  # Python cannot read what stands there
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
    """Whether this process, or the machine, has as many files open as it may."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def failure(
    where: str, kind: str, said: str, advice: StorageAdvice, seconds: float = 0.0
) -> StoreError:
    """where: what is shown of the file or the server. seconds: how long it was waited for. said: by
    the database, or LEFT_OUT.
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
    """A file that is no longer where it was opened, or (tail) what belongs beside it. stored: it
    was noticed after the transaction had ended.
    """
    so = ", so {stored:what was given just now counts as not stored|nothing was stored}"
    if tail:
        text = "{where}{tail} was deleted or replaced while {where} was in use" + so
        about = {"where": where, "tail": tail, "stored": stored}
        return StoreError("journal-gone", text, remedy=advice.parted, **about)
    text = "{where} was deleted, moved or replaced while it was open here" + so
    copy = PhraseHint("copy")
    return StoreError("file-gone", text, remedy=advice.gone, where=where, stored=stored, copy=copy)


def other_version(where: str, theirs: int, ours: int) -> StoreError:
    text = "{where} was made by another version of combgame (schema {theirs}, here {ours})"
    remedy = "install that version, or name another file"
    return StoreError("other-version", text, remedy=remedy, where=where, theirs=theirs, ours=ours)


def foreign(where: str) -> StoreError:
    text = "{where} is another program's SQLite file, or is for something else"
    return StoreError("foreign-file", text, remedy="name another file", where=where)
