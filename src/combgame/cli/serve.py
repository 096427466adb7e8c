"""The commands `combgame serve` and `combgame token`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ._common import AsJson, put
from .study._common import Where

tokens = typer.Typer(help="Who may use a service, and for what.", no_args_is_help=True)


def serve(
    storage: Where,
    host: Annotated[
        str,
        typer.Option(help="Where it listens; but for this machine it needs tokens."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate (PEM), for https; with --key.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the certificate (PEM).")] = None,
) -> None:
    """Serve the studies of a storage: a page for people, and an interface for programs.

    SIGTERM and Ctrl-C finish what runs, then end it.
    """
    from ..lab.server.run import serve as run

    try:
        run(
            storage,
            host,
            port,
            None if certificate is None else str(certificate),
            None if key is None else str(key),
        )
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def shelf_of(storage: str, make: bool) -> Any:
    """Open the registry of a storage."""
    from ..lab.server.registry import StudyRegistry

    return StudyRegistry(storage, make=make)


@tokens.command()
def make(
    name: Annotated[str, typer.Argument(help="Whose it is: a person, or an instrument.")],
    storage: Where,
    role: Annotated[
        str,
        typer.Option(
            help="read: look; measure: also ask, tell, fail, retract, observe; admin: also create, "
            "extend, stop."
        ),
    ] = "measure",
    as_json: AsJson = False,
) -> None:
    """Make a token. It is shown once: what is stored is its hash."""
    from ..lab.server.registry import make_token

    shelf = shelf_of(storage, make=True)
    try:
        token = make_token(shelf, name, role)
    finally:
        shelf.close()
    put({"name": name, "role": role, "token": token}, token, as_json)


@tokens.command("list")
def listed(storage: Where, as_json: AsJson = False) -> None:
    """List the names and roles of the tokens."""
    shelf = shelf_of(storage, make=False)
    try:
        known = [
            {
                "name": one.name,
                "role": one.role,
                "made": datetime.fromtimestamp(one.made, UTC).isoformat(timespec="seconds"),
            }
            for one in shelf.tokens()
        ]
    finally:
        shelf.close()
    lines = [f"{one['name']}: {one['role']}, made {one['made']}" for one in known]
    put(known, "\n".join(lines) or "there are no tokens yet.", as_json)


@tokens.command()
def revoke(
    name: Annotated[str, typer.Argument(help="Whose token.")],
    storage: Where,
    as_json: AsJson = False,
) -> None:
    """Take a token back: a server that runs refuses it after two seconds at most."""
    shelf = shelf_of(storage, make=False)
    try:
        shelf.remove_token(name)
    finally:
        shelf.close()
    put({"revoked": name}, f"the token of {name} is revoked.", as_json)
