"""Options, exit codes and functions that the commands of studies share."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import typer

from ...errors import InputError
from .. import _common as options
from .._common import SHELL

CERTIFIED, STOPPED, NOTHING, DIFFERS = 3, 4, 5, 1
Where = Annotated[
    str,
    typer.Option(
        "--storage",
        "-s",
        envvar="COMBGAME_STORAGE",
        help="sqlite:///file.db, postgresql+psycopg://..., or a service, https://... (its token in "
        "COMBGAME_TOKEN).",
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        envvar="COMBGAME_STUDY",
        help="The study's name, if there are several in the storage.",
    ),
]
Client = Annotated[
    str | None,
    typer.Option(
        envvar="COMBGAME_CLIENT",
        help="Who you are (user@host): asking again gives your open rounds back.",
    ),
]


Reason = Annotated[str, typer.Option("--reason", "-r", help="Why; it is kept.")]
Number = Annotated[int, typer.Argument(help="The round.")]


put = partial(options.put, indent=None)  # one line, for programs that read line by line


@contextmanager
def opened(storage: str, name: str | None, client: str | None = None) -> Iterator[Any]:
    """Open the study of a command."""
    # before the study is opened, so that hints in its errors have the name
    SHELL.study, SHELL.named = name or the_only(storage), name is not None
    with open_study(storage, SHELL.study, client or whoami()) as study:
        yield study


def open_study(storage: str, name: str, client: str | None = None) -> Any:
    """Open a study of a storage or of a service."""
    if is_service(storage):
        return service(storage).open(name, client=client)
    from ...lab.study import Study

    return Study.open(storage, name, client=client)


def is_service(storage: str) -> bool:
    """Return True for the URL of a service."""
    return storage.startswith(("http://", "https://"))


def service(url: str) -> Any:
    """Connect to a service with the token in COMBGAME_TOKEN.

    URLs and options are visible to other users of the machine, so a token must not be among them.
    """
    from ...lab.client import Client

    return Client(url, os.environ.get("COMBGAME_TOKEN") or None)


def names_in(storage: str) -> list[str]:
    """Return the names of the studies in a storage or a service."""
    if is_service(storage):
        with service(storage) as there:
            return list(there.list())
    from ...storage.base import open_storage

    storing: Any = open_storage(storage, "", 30.0)
    try:
        return list(storing.names())
    finally:
        storing.close()


def the_only(storage: str) -> str:
    """Return the name of the study that is meant if none is named."""
    names = names_in(storage)
    if len(names) > 1:
        raise InputError(
            "several-studies",
            "there are the studies {names:list}",
            remedy="say which with --name (or COMBGAME_STUDY)",
            names=names,
        )
    return names[0] if len(names) == 1 else "study"


def named(name: str) -> str:
    """Return the option --name for a hint, if it is needed."""
    return "" if name == "study" and not SHELL.named else f" --name {shlex.quote(name)}"


def whoami() -> str:
    """Return user@host, the default client on the command line."""
    import getpass
    import platform

    try:
        return f"{getpass.getuser()}@{platform.node()}"
    except (KeyError, OSError):
        return f"somebody@{platform.node()}"


def leave(state: str) -> None:
    """Exit with the code of a study that has stopped."""
    if state != "running":
        raise typer.Exit(CERTIFIED if state == "certified" else STOPPED)


def looked(study: Any) -> tuple[Any, Any]:
    """Return the status and the decision of a study at one moment."""
    with study.view() as now:
        return now.status, now.decision
