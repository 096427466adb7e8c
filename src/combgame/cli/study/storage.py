"""The commands `combgame study create | list | copy`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..._display.text import count
from ...errors import CombGameError
from .._common import SHELL, AsJson, Mode, as_mode
from ._common import (
    Client,
    Where,
    is_service,
    named,
    names_in,
    open_study,
    put,
    service,
    whoami,
)


def create(
    file: Annotated[Path, typer.Argument(help="The problem (.toml).")],
    storage: Where,
    name: Annotated[
        str, typer.Option("--name", envvar="COMBGAME_STUDY", help="The study's name.")
    ] = "study",
    delta: Annotated[float, typer.Option(help="The probability of a wrong answer.")] = 0.05,
    rule: Annotated[str, typer.Option(help="Which rule chooses.")] = "frank-wolfe",
    threshold: Annotated[str, typer.Option(help="When it is enough.")] = "mixture",
    seed: Annotated[int, typer.Option(help="The same seed, the same experiment.")] = 0,
    epsilon: Annotated[
        float, typer.Option(help="Any answer within epsilon of the best will do.")
    ] = 0.0,
    min_replicates: Annotated[
        int,
        typer.Option(
            help="Every arm that matters gets so many values first; with 2, a gross typing mistake "
            "in one of them shows."
        ),
    ] = 2,
    replicates: Annotated[
        int,
        typer.Option(min=1, help="A round measures each of its arms so often."),
    ] = 1,
    max_rounds: Annotated[int | None, typer.Option(help="Give up after so many rounds.")] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            help="Give up at this time, such as 2030-01-31T18:00 (local time, or with an offset: "
            "+01:00)."
        ),
    ] = None,
    if_exists: Annotated[str, typer.Option(help="error, resume or replace.")] = "error",
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Carry over the data of this study, to which the problem adds arms.",
        ),
    ] = None,
    mode: Mode = "600",
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Make a study from a problem file."""
    from ...io import read_problem
    from ...lab.corrections import check_fits
    from ...lab.settings import past, read_time
    from ...lab.study import Study
    from ...storage import clock

    end = read_time(deadline)
    if end is not None and end <= clock.now() and if_exists != "resume":
        raise past(deadline)
    problem = read_problem(file)[0]
    if source is not None:  # checked before the study is created
        with open_study(storage, source) as old:
            check_fits(old.problem, problem, [one.id for one in old.pending])
    here: dict[str, Any] = {}
    if not is_service(storage):
        here = {"storage": storage, "mode": as_mode(mode)}
    with (service(storage).create if is_service(storage) else Study)(
        problem,
        delta=delta,
        rule=rule,
        threshold=threshold,
        name=name,
        seed=seed,
        if_exists=if_exists,
        epsilon=epsilon,
        min_replicates=min_replicates,
        replicates=replicates,
        max_rounds=max_rounds,
        deadline=deadline,
        client=client or whoami(),
        **here,
    ) as study:
        carried = 0
        if source is not None:
            with open_study(storage, source) as old:
                carried = study.transfer_from(old)
        taken = f"{count(carried, 'value')} of {source!r} carried over; " if carried else ""
        put(
            {"name": name, "state": study.state, "carried": carried},
            f"{taken}study {name!r} is ready: `combgame study ask{named(name)}` says what to "
            "measure first.",
            as_json,
        )


File = Annotated[
    str, typer.Argument(help="A file of studies, such as lab.db (or sqlite:///lab.db).")
]


def copy(source: File, destination: File, as_json: AsJson = False) -> None:
    """Copy a file of studies while others write to it.

    (`cp` would leave out what is in the -wal beside it.) Overwrites nothing.
    """
    from ...storage.base import open_storage
    from ...storage.files import path_of
    from ...storage.urls import url_of

    target = path_of(destination)
    storing = open_storage(source if "://" in source else url_of(source), "", 30.0)
    try:
        storing.copy(target)
    finally:
        storing.close()
    put({"out": str(target)}, f"wrote {target}.", as_json)


def listed(storage: Where, as_json: AsJson = False) -> None:
    """List the studies in a storage."""
    studies = []
    for one in names_in(storage):
        try:
            with open_study(storage, one) as study:
                studies.append({"name": one, "state": study.state})
        except CombGameError as error:
            studies.append({"name": one, "state": error.render(SHELL)})
    lines = [f"{one['name']}: {one['state']}" for one in studies]
    put(studies, "\n".join(lines) or "there are no studies yet.", as_json)
