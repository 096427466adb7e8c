"""The commands of `combgame study`."""

from collections.abc import Callable

import typer

from . import rounds, storage, views

app = typer.Typer(
    help="A durable experiment: ask what to measure, tell what came out. Exit codes: 0 done as "
    "told, 2 refused (the sentence says why), "
    "and for `ask`, `status` and `decision`: 3 the answer is certified, 4 it stopped without a "
    "certificate; "
    "for `ask`: 5 nothing to give just now; "
    "for `replay`: 1 it differs.",
    no_args_is_help=True,
)

COMMANDS: tuple[Callable[..., None], ...] = (
    storage.create,
    rounds.ask,
    rounds.tell,
    rounds.observe,
    rounds.fail,
    rounds.retract,
    rounds.extend,
    rounds.stop,
    views.status,
    views.decision,
    views.export,
    views.plot,
    views.report,
    views.replay,
    storage.copy,
)
for command in COMMANDS:
    app.command()(command)
app.command("list")(storage.listed)
