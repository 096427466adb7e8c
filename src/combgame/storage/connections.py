"""From a URL to a connection whose tables are up to date; and what databases say, as sentences."""

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
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from ..errors import InputError, StoreError, UnknownNameError
from .same_file import SameFile
from .tables import SCHEMA, UPGRADES, metadata, schema
from .urls import file_of, quotes_secret, shown


def is_there(url: URL) -> bool:
    """Whether connecting would not make a file."""
    path = file_of(url)
    return path is None or Path(path).exists()


def check_there(url: URL, name: str, make: bool) -> None:
    """Only making a study may make a file, and nothing makes folders."""
    if is_there(url):
        return
    path = Path(str(url.database)).absolute()
    if not path.parent.is_dir():
        raise StoreError(
            f"{path}: the folder {path.parent} does not exist, so it cannot be written or read; "
            "check the path, or make the folder."
        )
    if not make:
        what = f"no study {name!r}" if name else "no study"
        raise UnknownNameError(
            f"there is {what}: the file {path.name} does not exist in {path.parent}; check the "
            "path, or make a study there first."
        )


def connect(url: URL, timeout: float) -> Engine:
    """An engine that is connected."""
    postgres = url.get_backend_name() == "postgresql"
    try:
        made = (postgres_engine if postgres else sqlite_engine)(url, timeout)
        with made.connect():
            return made
    except (ModuleNotFoundError, NoSuchModuleError):
        if not postgres:
            raise InputError(
                f"SQLite needs no driver of its own: write sqlite:///{url.database}."
            ) from None
        raise InputError(
            "PostgreSQL needs psycopg: pip install 'combgame[postgres]', with a URL "
            "postgresql+psycopg://..."
        ) from None
    except (ArgumentError, TypeError, ValueError, OverflowError):  # what it says may quote the URL
        raise InputError(
            f"storage {shown(url)} cannot be opened with what else its URL says (after a ?, or "
            "before an @); leave that out, or correct it."
        ) from None


def postgres_engine(url: URL, timeout: float) -> Engine:
    own = url.query.get("options", "")
    settings = (
        f"{own} -c lock_timeout={int(1000 * timeout)} -c synchronous_commit=on -c "
        "client_min_messages=warning"
    )
    return create_engine(
        url,
        poolclass=StaticPool,
        connect_args={"options": settings, "connect_timeout": max(int(timeout), 1)},
    )


def sqlite_engine(url: URL, timeout: float) -> Engine:
    made = create_engine(
        url, poolclass=StaticPool, connect_args={"timeout": timeout, "check_same_thread": False}
    )

    @event.listens_for(made, "connect")
    def begun(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin as we say
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        path = file_of(url)
        record.info["file"] = None if path is None else SameFile(path)

    @event.listens_for(made, "begin")
    def begins(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        driver.execute(
            "PRAGMA shrink_memory"
        )  # pages that it remembers may be of another file, if somebody has copied one over it
        connection.exec_driver_sql(
            "BEGIN IMMEDIATE" if connection.get_execution_options().get("write") else "BEGIN"
        )

    return made


def prepare(engine: Engine) -> None:
    """Make the tables if there are none; bring older ones up to date."""
    with engine.connect().execution_options(write=False) as connection, connection.begin():
        names = inspect(connection).get_table_names()
        found = (
            connection.execute(select(schema.c.version)).scalar() if schema.name in names else None
        )
    if found == SCHEMA:
        return
    if found is not None and (
        found > SCHEMA or any(step not in UPGRADES for step in range(found, SCHEMA))
    ):
        raise StoreError(
            f"{shown(engine.url)} was made by a newer version of combgame (schema {found}, here "
            f"{SCHEMA}); install that version, or name "
            "another storage."
        )
    if found is None and engine.dialect.name == "sqlite" and names:
        raise StoreError(
            f"{shown(engine.url)} is another program's SQLite file; name another storage."
        )
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(
                text("SELECT pg_advisory_xact_lock(1129336165)")
            )  # two that begin at once
        version = (
            connection.execute(select(schema.c.version)).scalar()
            if inspect(connection).has_table(schema.name)
            else None
        )
        for step in range(version or SCHEMA, SCHEMA):
            for statement in UPGRADES[step]:
                connection.execute(text(statement))
        metadata.create_all(connection)
        if version != SCHEMA:
            connection.execute(delete(schema))
            connection.execute(insert(schema).values(version=SCHEMA))


def sentence(url: URL, error: DBAPIError, timeout: float) -> StoreError:
    said = " ".join(str(error.orig).split())
    low = said.lower()
    if "locked" in low or "lock timeout" in low or "busy" in low:
        why = (
            f"somebody else has been writing for {timeout:g} seconds; try again, or give a "
            "longer timeout"
        )
    elif "readonly" in low or "read-only" in low or "unable to open" in low or "permission" in low:
        why = "it or its folder cannot be written; change the permissions, or name another storage"
    elif "full" in low or "i/o" in low or "no space" in low:
        why = (
            "the disk or the quota is full, or the disk cannot be written; make room, then try "
            "again: what was told is kept"
        )
    elif "malformed" in low or "not a database" in low or "corrupt" in low or "encrypted" in low:
        why = (
            "the file is damaged, or is not a database; go back to a copy, or name another storage"
        )
    elif (
        error.connection_invalidated or "connection" in low or "could not" in low or "server" in low
    ):
        why = (
            "the server cannot be reached; try again: telling the same twice is harmless, and "
            "a client gets its open rounds back"
        )
    else:
        why = "the database refused; nothing was changed"
    if quotes_secret(url, error):
        said = "what it says is left out, because it quotes what may be secret"
    return StoreError(f"{shown(url)}: {why} ({said}).")
