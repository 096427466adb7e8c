"""combgame study create | ask | tell | observe | fail | retract | extend | stop | status | export |
plot | replay | copy | list.
"""

import json
import math
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import CombGameError, InputError, StoreError
from ..report.words import count
from ..study.entries import pulls
from ..study.retractions import judged
from ..study.sheet import read_sheet, write_sheet
from .options import AsJson

app = typer.Typer(
    help="A durable experiment: ask what to measure, tell what came out. Exit codes: 0 done as "
    "told, 2 refused (the sentence says why), "
    "and for `ask` and `status`: 3 the answer is certified, 4 it stopped without a certificate; "
    "for `ask`: 5 nothing to give just now; "
    "for `replay`: 1 it differs.",
    no_args_is_help=True,
)


CERTIFIED, STOPPED, NOTHING, DIFFERS = 3, 4, 5, 1
Where = Annotated[
    str,
    typer.Option(
        "--storage",
        "-s",
        envvar="COMBGAME_STORAGE",
        help="sqlite:///file.db or postgresql+psycopg://...",
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


SHELL = (  # what Python calls so, and how it is called here
    (r"`decision` says", "`combgame study status` says"),
    (r"\bretract\((\d+), reason\)", r"`combgame study retract \1 --reason ...`"),
    (r"\breplay\(head=\.\.\.\)", "`combgame study replay --head ...`"),
    (r"\bhead = '(.*?)'", r"--head \1"),
    (r" Until then, copy\(path\) saves what this process still has\.", ""),
    (r"\bexport\(path\)", "`combgame study export`"),
    (r"\bobserve\(\)", "`combgame study observe`"),
    (
        r"\bextend\(max_rounds=\.\.\., reason\)",
        "`combgame study extend --max-rounds ... --reason ...`",
    ),
    (r"\bextend\(deadline=\.\.\., reason\)", "`combgame study extend --deadline ... --reason ...`"),
    (r"\b(extend|stop)\(\)", r"`combgame study \1`"),
    (r"\bif_exists='(\w+)'", r"--if-exists \1"),
    (r"\bthreshold='(\w+)'", r"--threshold \1"),
    (r"\barm=\.\.\.", "--arm"),
    (
        r"give a share of n results as \(share, n\)",
        "give a share of n results as the value, with n in a column n",
    ),
    (r"give the share unrounded, such as .*\)\.", "give the share with ten digits."),
    (r"give the values as a list", "give each value a line of its own"),
    (r"None says that a value is missing", "a blank cell says that a value is missing"),
    (r"\bmax_rounds\b", "--max-rounds"),
    (r"\bdeadline(?= ?=)", "--deadline"),
    (r"(--max-rounds|--deadline) ?= ?", r"\1 "),
    (r"\bmin_pulls=(\d+)", r"`--min-pulls \1`"),
)


def shell(text: str) -> str:
    """A sentence for whoever is in a shell.

    >>> shell("round 1 has been told; retract(1, reason) takes that back.")
    'round 1 has been told; `combgame study retract 1 --reason ...` takes that back.'
    """
    for python, here in SHELL if "in Python" not in text else ():
        text = re.sub(python, here, text)
    return text


@contextmanager
def in_shell() -> Iterator[None]:
    try:
        yield
    except CombGameError as error:
        raise type(error)(shell(str(error))) from error


@contextmanager
def opened(storage: str, name: str | None, client: str | None = None) -> Iterator[Any]:
    from ..study.study import Study

    with (
        in_shell(),
        Study.open(storage, name or the_only(storage), client=client or whoami()) as study,
    ):
        yield study


def names_in(storage: str) -> list[str]:
    from ..storage.opening import open_storage

    storing: Any = open_storage(storage, "", 30.0)
    try:
        return list(storing.names())
    finally:
        storing.close()


def the_only(storage: str) -> str:
    """The study that is meant if none is named."""
    names = names_in(storage)
    if len(names) > 1 and "study" not in names:
        raise InputError(
            f"there are the studies {', '.join(map(repr, names))}; say which with --name (or "
            "COMBGAME_STUDY)."
        )
    return names[0] if len(names) == 1 else "study"


def named(name: str) -> str:
    return "" if name == "study" else f" --name {shlex.quote(name)}"


def whoami() -> str:
    """user@host: on the command line everybody is somebody."""
    import getpass
    import platform

    try:
        return f"{getpass.getuser()}@{platform.node()}"
    except (KeyError, OSError):
        return f"somebody@{platform.node()}"


def put(data: Any, text: str, as_json: bool) -> None:
    typer.echo(json.dumps(data) if as_json else shell(text))


def leave(state: str) -> None:
    if state != "running":
        raise typer.Exit(CERTIFIED if state == "certified" else STOPPED)


@app.command()
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
    min_pulls: Annotated[
        int,
        typer.Option(
            help="Every arm that matters gets so many values first; with 2 and a known sigma, a "
            "gross typing mistake shows."
        ),
    ] = 0,
    max_rounds: Annotated[int | None, typer.Option(help="Give up after so many rounds.")] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            help="Give up at this time, such as 2030-01-31T18:00 (local time, or with an offset: "
            "+01:00)."
        ),
    ] = None,
    if_exists: Annotated[str, typer.Option(help="error, resume or replace.")] = "error",
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Make a study of a problem file."""
    from ..data import read_problem
    from ..study.settings import now, read_time
    from ..study.study import Study

    end = read_time(deadline)
    if end is not None and end <= now() and if_exists != "resume":
        raise InputError(
            f"--deadline {deadline} is in the past, so nothing would ever be asked; give a time "
            "to come, or none."
        )
    with (
        in_shell(),
        Study(
            read_problem(file)[0],
            delta=delta,
            rule=rule,
            threshold=threshold,
            storage=storage,
            name=name,
            seed=seed,
            if_exists=if_exists,
            epsilon=epsilon,
            min_pulls=min_pulls,
            max_rounds=max_rounds,
            deadline=deadline,
            client=client or whoami(),
        ) as study,
    ):
        put(
            {"name": name, "state": study.state},
            f"study {name!r} is ready: `combgame study ask{named(name)}` says what to measure "
            "first.",
            as_json,
        )


@app.command()
def ask(
    storage: Where,
    name: Name = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Up to so many rounds.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the table to be filled in to this file."),
    ] = None,
    client: Client = None,
    lease: Annotated[
        float | None, typer.Option(help="Seconds after which somebody else may get the rounds.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite --out, even if it has values that were not told."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What to measure next, as a table to be filled in."""
    with opened(storage, name, client) as study:
        if out is not None and not force:
            spare(out, study)
        before = {one.id for one in study.pending if one.client == study.client}
        found = study.ask(n, lease=lease)
        told = [{**vars(one), "had": one.id in before} for one in found]
        had = sum(one.id in before for one in found)
        again = (
            f" ({f'{had} of them you had' if len(found) > 1 else 'you had it'} already)"
            if had
            else ""
        )
        if out is not None and found:
            write(out, write_sheet(found, study.name))
            put(
                told,
                f"wrote {count(len(found), 'round')}{again} to {out}: fill in the values, then "
                f"`combgame study tell {out}"
                f"{named(study.name)}`.",
                as_json,
            )
        elif as_json or found:
            put(told, write_sheet(found, study.name).rstrip("\n"), as_json)
            if again and not as_json:
                typer.echo(f"combgame: {count(len(found), 'round')}{again}.", err=True)
        if not found:
            status, decision = looked(study)
            for line in (
                status.next,
                *(warnings(status, decision) if status.state == "certified" else ()),
            ):
                typer.echo(f"combgame: {shell(line)}", err=True)
            leave(status.state)
            raise typer.Exit(NOTHING)


def spare(path: Path, study: Any) -> None:
    """Refuse to overwrite values that were not told, and what is not a table of this study."""
    if not path.is_file() or not path.stat().st_size:
        return
    instead = "or name another --out, or --force to overwrite it"
    try:
        sheet = read_sheet(path, study.problem, study.name)
    except CombGameError as error:
        raise StoreError(
            f"{path} is there already, and is no table of this study; move it, {instead} ({error})"
        ) from None
    left = {one.id: one.left for one in study.pending}
    for number, values in sheet.items():
        if any(x is not None and arm in left.get(number, ()) for arm, x in values.items()):
            raise StoreError(
                f"{path} has values of round {number} that were not told: `combgame study tell "
                f"{path}{named(study.name)}` first, {instead}."
            )


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror}); choose another --out (your rounds are "
            "kept: ask again)."
        ) from error


@app.command()
def tell(
    file: Annotated[
        Path, typer.Argument(help="The table that `ask` wrote, filled in: blank cells are missing.")
    ],
    storage: Where,
    name: Name = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Blank cells are still to come, not missing.")
    ] = False,
    final: Annotated[
        bool,
        typer.Option(
            "--final", help="Rounds without any value are missing too, not still to come."
        ),
    ] = False,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Tell what came out: all of the table, or, if anything in it is refused, nothing. The same
    table again is harmless.
    """
    with opened(storage, name, client) as study:
        sheet = read_sheet(file, study.problem, study.name)
        left = {one.id: one.left for one in study.pending}
        if not partial:
            check_whole(file, sheet, left, study.problem)
        blank = (
            []
            if final
            else [
                number
                for number, values in sheet.items()
                if all(x is None for x in values.values())
            ]
        )
        told = {number: values for number, values in sheet.items() if number not in blank}
        if partial:
            told = {
                number: {arm: x for arm, x in values.items() if x is not None}
                for number, values in told.items()
            }
        new = study.tell_many(told, final=not partial)
        status, decision = looked(study)
        present = [
            sum(n for _, n in pulls(entry))
            for entries in new.values()
            for entry in entries.values()
        ]
        done: dict[str, Any] = {
            "stored": list(new),
            "already": [number for number in told if number not in new],
            "values": sum(present),
            "missing": present.count(0),
        }
        put(
            {
                "told": list(told),
                "blank": blank,
                **done,
                "state": status.state,
                "next": status.next,
                "doubts": [one._asdict() for one in status.doubts],
            },
            "\n".join(
                [f"{summary(**done, blank=blank)} {status.next}", *warnings(status, decision)]
            ),
            as_json,
        )


def looked(study: Any) -> tuple[Any, Any]:
    """Its status and its decision at one moment."""
    with study.moment() as now:
        return now.status, now.decision


def warnings(status: Any, decision: Any) -> list[str]:
    """What to look at before relying on the answer, whoever told it."""
    from ..study.decision import RESTS

    certified = decision is not None and decision.certified
    single = [one for one in decision.assumptions if one.startswith(RESTS)] if certified else []
    return [*map(str, status.doubts), *single]


def summary(
    stored: list[int], already: list[int], values: int, missing: int, blank: list[int]
) -> str:
    """
    >>> summary([1, 2], [3], 6, 1, [])
    '2 rounds, 6 values stored; 1 round was there already; 1 value missing.'
    """
    said = [f"{count(len(stored), 'round')}, {count(values, 'value')} stored"]
    if already:
        said.append(
            f"{count(len(already), 'round')} {'was' if len(already) == 1 else 'were'} there already"
        )
    if missing:
        said.append(f"{count(missing, 'value')} missing")
    if blank:
        one = len(blank) == 1
        said.append(
            f"{count(len(blank), 'round')} without any value {'stays' if one else 'stay'} open "
            f"(--final: {'it is' if one else 'they are'} "
            "missing)"
        )
    return "; ".join(said) + "."


def check_whole(
    path: Path, sheet: dict[int, dict[int, Any]], left: dict[int, tuple[int, ...]], problem: Any
) -> None:
    """Refuse a table that was cut off."""
    cut = [
        (number, arm)
        for number, values in sheet.items()
        for arm in left.get(number, ())
        if arm not in values
    ]
    if cut:
        (number, arm), rest = cut[0], f" ({len(cut) - 1} more are missing)" if cut[1:] else ""
        raise InputError(
            f"{path}: the table is incomplete: round {number} has no line for "
            f"{problem.label([arm])}{rest}; give the whole table (a "
            "blank value is missing), or --partial if the rest is still to come."
        )
    if not path.read_bytes().endswith((b"\n", b"\r")):
        raise InputError(
            f"{path}: the table is incomplete: its last line has no newline at its end, as if it "
            "were cut off; end it with one if it is "
            "whole, or --partial if the rest is still to come."
        )


@app.command()
def observe(
    file: Annotated[
        Path,
        typer.Argument(
            help="A table with the columns arm and value, and n where a value is the mean of n."
        ),
    ],
    storage: Where,
    name: Name = None,
    reason: Reason = "measured outside the study",
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Data that were measured outside the study."""
    with opened(storage, name, client) as study:
        number = study.observe(read_sheet(file, study.problem, study.name, rounds=False)[0], reason)
        status, decision = looked(study)
        put(
            {
                "number": number,
                "state": status.state,
                "next": status.next,
                "doubts": [one._asdict() for one in status.doubts],
            },
            "\n".join(
                [
                    f"stored as number {number}, by which it can be retracted. {status.next}",
                    *warnings(status, decision),
                ]
            ),
            as_json,
        )


@app.command()
def fail(
    round: Number,
    storage: Where,
    reason: Reason,
    name: Name = None,
    give_up: Annotated[bool, typer.Option("--give-up", help="Do not ask it again.")] = False,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """A round did not work; it is asked again."""
    with opened(storage, name, client) as study:
        study.fail(round, reason, retry=not give_up)
        put(
            {"round": round, "retry": not give_up},
            f"round {round} is {'given up' if give_up else 'asked again'}.",
            as_json,
        )


@app.command()
def retract(
    storage: Where,
    reason: Reason,
    round: Annotated[int | None, typer.Argument(help="The round.")] = None,
    arm: Annotated[str | None, typer.Option(help="An arm, instead of a round.")] = None,
    name: Name = None,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Take back what was told of a round, or of an arm."""
    with opened(storage, name, client) as study:
        which = arm if arm is None or study.problem.names or not arm.isdigit() else int(arm)
        study.retract(round, reason, arm=which)
        if arm is not None:
            done = (
                f"all values of arm {arm} are taken back: tell those that are right, or were "
                "mistyped, anew in their rounds "
                "(`combgame study tell`); data from outside, observe anew."
            )
        elif any(one.id == round for one in study.pending):
            done = f"round {round} is open again: tell it anew, or fail it."
        else:
            done = (
                f"number {round}, data from outside, is taken back; observe it anew if it was "
                "mistyped."
            )
        now = study.status
        level = judged(now.retractions, now.corrections, now.delta)
        put(
            {
                "round": round,
                "arm": arm,
                "delta": now.delta,
                "retractions": now.retractions,
                "corrections": now.corrections,
            },
            f"{done} {level.capitalize()}; what is told anew in one table counts as one "
            "correction.",
            as_json,
        )


@app.command()
def extend(
    storage: Where,
    reason: Reason,
    max_rounds: Annotated[
        str | None, typer.Option(help="So many rounds in all, or none: no limit.")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(help="A later time, such as 2030-01-31T18:00, or none: no limit.")
    ] = None,
    name: Name = None,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """More rounds, or more time, also after the old ones have run out."""
    most: Any = max_rounds
    if max_rounds is not None:
        if max_rounds != "none" and not max_rounds.isdecimal():
            raise InputError(
                f"--max-rounds {max_rounds} must be a whole number of rounds, or none."
            )
        most = math.inf if max_rounds == "none" else int(max_rounds)
    with opened(storage, name, client) as study:
        study.extend(most, math.inf if deadline == "none" else deadline, reason=reason)
        status = study.status
        put(
            {
                "max_rounds": max_rounds,
                "deadline": deadline,
                "state": status.state,
                "next": status.next,
            },
            f"extended: {status.next}",
            as_json,
        )


@app.command()
def stop(
    storage: Where,
    reason: Reason,
    name: Name = None,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """End the study by hand."""
    with opened(storage, name, client) as study:
        study.stop(reason)
        decision = study.decision
        put(decision.to_dict(), str(decision), as_json)
