"""From a URL to a connection whose tables are up to date."""

import os
import sqlite3
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    create_engine,
    delete,
    event,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from ..errors import InputError, UnknownNameError, needs_extra
from ..report.files import PRIVATE, check_path, make_private
from .failures import foreign, other_version
from .files import check_one_name, check_place
from .postgres import postgres_engine
from .same_file import SameFile
from .sqlite import begin, set_up
from .tables import SCHEMA, UPGRADES, metadata, schema
from .unchanging import check_legible, unchanging
from .urls import file_of, shown


def is_there(url: URL) -> bool:
    """Whether connecting would not make a file."""
    path = file_of(url)
    return path is None or os.path.exists(path)  # noqa: PTH110  (no error for a name too long)


def check_there(url: URL, name: str, make: bool, mode: int = PRIVATE) -> None:
    """Only making a study may make a file, and nothing makes folders. mode: what a new one
    allows.
    """
    file = file_of(url)
    if file is None:
        return
    path = check_path("storage", file).absolute()
    check_place(path)
    check_legible(file)
    if unchanging(file) is None:
        check_one_name(path)
    if not make and not path.exists():
        text = "there is no study{study}: the file {file} does not exist in {folder}"
        remedy = "check the path, or make a study there first"
        about = {"file": path.name, "folder": str(path.parent), "name": name}
        study = f" {name!r}" if name else ""
        raise UnknownNameError("no-study-file", text, remedy=remedy, study=study, **about)
    if make:
        with suppress(OSError):  # then SQLite says why
            make_private(path, mode)


def _unmake(url: URL) -> None:
    """Take away the empty file that `check_there` made for a connection that cannot be."""
    file = file_of(url)
    with suppress(OSError):
        if file is not None and Path(file).stat().st_size == 0:
            Path(file).unlink()


def connect(url: URL, timeout: float, fixed: bool = False) -> Engine:
    """An engine that is connected; fixed: to a file that can only be looked at (`unchanging`)."""
    postgres = url.get_backend_name() == "postgresql"
    try:
        made = postgres_engine(url, timeout) if postgres else sqlite_engine(url, timeout, fixed)
        with made.connect():
            return made
    except (ModuleNotFoundError, NoSuchModuleError):
        _unmake(url)
        if not postgres:
            text, remedy = "SQLite needs no driver of its own", "write sqlite:///{file}"
            file = str(url.database)
            raise InputError("sqlite-driver", text, remedy=remedy, file=file) from None
        raise needs_extra("PostgreSQL (postgresql+psycopg://...)", "postgres") from None
    except (ArgumentError, TypeError, ValueError, OverflowError):  # what it says may quote the URL
        _unmake(url)
        text = "storage {where} cannot be opened with what else its URL says (after ?, before @)"
        remedy = "leave that out, or correct it"
        raise InputError("url-options", text, remedy=remedy, where=shown(url)) from None


def sqlite_engine(url: URL, timeout: float, fixed: bool) -> Engine:
    path, how = file_of(url), {"timeout": timeout, "check_same_thread": False}
    looks: dict[str, Any] = {"connect_args": how}
    if fixed and path is not None:
        where = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        looks = {"creator": partial(sqlite3.connect, where, uri=True, **how)}
    made = create_engine(url, poolclass=StaticPool, **looks)

    @event.listens_for(made, "connect")
    def begun(connection: Any, record: Any) -> None:
        set_up(connection, synchronous="FULL", journal=None if fixed else "WAL")
        # `Database.checkpoint` does it, outside the calls that write; if not, they do
        connection.execute("PRAGMA wal_autocheckpoint = 20000")
        record.info["file"] = None if path is None else SameFile(path)

    @event.listens_for(made, "begin")
    def begins(connection: Connection) -> None:
        options = connection.get_execution_options()
        write, patience = bool(options.get("write")), options.get("patience", timeout)
        if patience is not None:
            begin(connection.exec_driver_sql, write, patience)

    return made


def prepare(engine: Engine) -> None:
    """Make the tables if there are none; bring older ones up to date."""
    with engine.connect().execution_options(write=False) as connection, connection.begin():
        names = inspect(connection).get_table_names()
        made = _version(connection)
    if made == SCHEMA:
        return
    if made is not None and (
        made > SCHEMA or any(step not in UPGRADES for step in range(made, SCHEMA))
    ):
        raise other_version(shown(engine.url), made, SCHEMA)
    if made is None and engine.dialect.name == "sqlite" and names:
        raise foreign(shown(engine.url))
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            # two that begin at once
            connection.execute(text("SELECT pg_advisory_xact_lock(1129336165)"))
        version = _version(connection)
        for step in range(version or SCHEMA, SCHEMA):
            for statement in UPGRADES[step]:
                connection.execute(text(statement))
        metadata.create_all(connection)
        if version != SCHEMA:
            connection.execute(delete(schema))
            connection.execute(insert(schema).values(version=SCHEMA))


def _version(connection: Connection) -> int | None:
    """Of the tables that are there, if any are."""
    if not inspect(connection).has_table(schema.name):
        return None
    version: int | None = connection.execute(select(schema.c.version)).scalar()
    return version
