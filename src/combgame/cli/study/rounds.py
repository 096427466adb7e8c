"""combgame study ask | tell | observe | fail | retract | extend | stop.

The checks of tables keep values from being lost and from counting twice.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..._display.files import save
from ..._display.text import count
from ...errors import CombGameError, InputError, StoreError, error_from, invalid_argument
from ...lab.corrections import correction_note
from ...lab.exports import read_sheet, write_sheet, write_workbook
from ...lab.inputs import (
    Todo,
    check_todo,
    fingerprints,
    is_probably_chance,
    read_values,
    repeated_round,
)
from ...lab.round import gaps, pulls
from ...tables import ParsedTable
from .._common import SHELL, AsJson, say
from ._common import (
    NOTHING,
    Client,
    Name,
    Number,
    Reason,
    Where,
    leave,
    looked,
    named,
    opened,
    put,
)

Sep = Annotated[
    str | None,
    typer.Option(help="What stands between cells: comma, semicolon, tab.", show_default="detected"),
]
Decimal = Annotated[
    str | None,
    typer.Option(help="The decimal mark of numbers: . or a comma.", show_default="detected"),
]
Again = Annotated[
    bool,
    typer.Option(
        "--allow-duplicates", help="Values that seem to be there twice were measured twice."
    ),
]


def retract(
    storage: Where,
    reason: Reason,
    round: Annotated[int | None, typer.Argument(help="The round.")] = None,
    arm: Annotated[str | None, typer.Option(help="An arm, instead of a round.")] = None,
    name: Name = None,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Take back the results of a round, or of an arm."""
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
        changed = correction_note(now.retractions, now.corrections, now.delta).render_inline(SHELL)
        put(
            {
                "round": round,
                "arm": arm,
                "delta": now.delta,
                "retractions": now.retractions,
                "corrections": now.corrections,
            },
            f"{done} {changed.capitalize()}; what is told anew in one table counts as one "
            "correction.",
            as_json,
        )


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
    """Allow more rounds, or more time, also after the old ones have run out."""
    most: Any = max_rounds
    if max_rounds is not None:
        if max_rounds != "none" and not max_rounds.isdecimal():
            raise invalid_argument("--max-rounds", max_rounds, "a whole number of rounds, or none")
        most = math.inf if max_rounds == "none" else int(max_rounds)
    with opened(storage, name, client) as study:
        study.extend(most, math.inf if deadline == "none" else deadline, reason=reason)
        status = study.status
        put(
            {
                "max_rounds": max_rounds,
                "deadline": deadline,
                "state": status.state,
                "next_step": status.next_step.to_data(SHELL),
            },
            f"extended: {status.next_step.render(SHELL)}",
            as_json,
        )


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
        put(decision.to_dict(SHELL), decision.render(SHELL), as_json)


def ask(
    storage: Where,
    name: Name = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Up to so many rounds.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the table to be filled in to this file (.csv, .tsv, .xlsx).",
        ),
    ] = None,
    client: Client = None,
    lease: Annotated[
        float | None, typer.Option(help="Seconds after which somebody else may get the rounds.")
    ] = None,
    replicates: Annotated[
        int | None,
        typer.Option(
            min=1, help="Measure each arm of a new round so often, if not as the study has it."
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite --out, even if it has values that were not told."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask what to measure next, as a table to be filled in."""
    with opened(storage, name, client) as study:
        if out is not None and not force:
            spare(out, study)
        before = {one.id for one in study.pending if one.client == study.client}
        rounds = study.ask(n, lease=lease, replicates=replicates)
        data = [{**vars(one), "had": one.id in before} for one in rounds]
        had, some = sum(one.id in before for one in rounds), count(len(rounds), "round")
        if had:
            mine = f"{had} of them you had" if len(rounds) > 1 else "you had it"
            some += f" ({mine} already)"
        if out is not None and rounds:
            save(out, table(rounds, study.name, out), "your rounds are kept: ask again")
            next_step = f"`combgame study tell {out}{named(study.name)}`"
            put(data, f"wrote {some} to {out}: fill in the values, then {next_step}.", as_json)
        elif as_json or rounds:
            put(data, write_sheet(rounds, study.name).rstrip("\n"), as_json)
            if had and not as_json:
                say(f"{some}.")
        if not rounds:
            status, decision = looked(study)
            say(status.next_step.render(SHELL))
            for line in warnings(status, decision) if status.state == "certified" else ():
                say(line)
            leave(status.state)
            raise typer.Exit(NOTHING)


def tell(
    file: Annotated[
        Path,
        typer.Argument(
            help="The table that `ask` wrote, filled in (text or .xlsx; a line per value, or a "
            "column per arm): blank cells are missing."
        ),
    ],
    storage: Where,
    name: Name = None,
    sep: Sep = None,
    decimal: Decimal = None,
    again: Again = False,
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
    """Tell what came out: all of the table, or, if anything in it is refused, nothing.

    The same table again is harmless.
    """
    with opened(storage, name, client) as study:
        read = taken(file, study, True, sep, decimal, again)
        sheet = read.values
        pending = study.pending
        todos = {number: Todo(number, read.marks.get(number, "")) for number in sheet}
        for one in pending:
            check_todo(todos.get(one.id, Todo(one.id)), one.mark, study.name)
        left, asked = (
            {one.id: getattr(one, x) for one in pending} for x in ("remaining", "replicates")
        )
        if not partial:
            check_whole(file, read, left, study.problem)
        blank = [
            number
            for number, values in sheet.items()
            if not final and all(x is None for x in values.values())
        ]
        skipped = set(blank)
        told = {number: values for number, values in sheet.items() if number not in skipped}
        if partial:
            told = {
                number: {arm: x for arm, x in values.items() if complete(x)}
                for number, values in told.items()
            }
        if not again:
            check_repeats(study, {number: told[number] for number in told if number in left})
        by_todo = [(todos[number], values) for number, values in told.items()]
        new = study.tell_many(by_todo, final=not partial)
        status, decision = looked(study)
        stored = [(number, entry) for number, one in new.items() for entry in one.values()]
        done: dict[str, Any] = {
            "stored": list(new),
            "already": [number for number in told if number not in new],
            "values": sum(n for _, entry in stored for _, n in pulls(entry)),
            "missing": sum(gaps(entry, asked.get(number, 1)) for number, entry in stored),
        }
        put(
            {
                "told": list(told),
                "blank": blank,
                "read": read.form._asdict(),
                **done,
                **standing(status),
            },
            "\n".join(
                [
                    f"{summary(**done, blank=blank)} {status.next_step.render(SHELL)}",
                    *warnings(status, decision),
                ]
            ),
            as_json,
        )


def complete(value: Any) -> bool:
    """Return True if no replicate of a value is still to come."""
    return value is not None and not (isinstance(value, list) and None in value)


def warnings(status: Any, decision: Any) -> list[str]:
    """Return the warnings to check before relying on the answer."""
    certified = decision is not None and decision.certified
    single = (
        [one for one in decision.assumptions if one.code == "single-values"] if certified else []
    )
    return [one.render(SHELL) for one in [*status.outliers, *single]]


def standing(status: Any) -> dict[str, Any]:
    """Return the state of a study for programs."""
    return {
        "state": status.state,
        "next_step": status.next_step.to_data(SHELL),
        "outliers": [one.to_dict(SHELL) for one in status.outliers],
    }


def summary(
    stored: list[int], already: list[int], values: int, missing: int, blank: list[int]
) -> str:
    """Return a summary of what was stored.

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


def observe(
    file: Annotated[
        Path,
        typer.Argument(
            help="A table with the columns arm and value, and n where a value is the mean of n; "
            "or with a column per arm."
        ),
    ],
    storage: Where,
    name: Name = None,
    reason: Reason = "measured outside the study",
    sep: Sep = None,
    decimal: Decimal = None,
    allow_duplicates: Again = False,
    planned: Annotated[
        bool,
        typer.Option(
            "--planned",
            help="Which arms were measured, and how often, was decided before any of the values "
            "was seen.",
        ),
    ] = False,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Add data that were measured outside the study."""
    with opened(storage, name, client) as study:
        read = taken(file, study, False, sep, decimal, allow_duplicates)
        number = study.observe(
            read.values[0], reason, allow_duplicates=allow_duplicates, planned=planned
        )
        status, decision = looked(study)
        put(
            {"number": number, "read": read.form._asdict(), **standing(status)},
            "\n".join(
                [
                    f"stored as number {number}, by which it can be retracted. "
                    f"{status.next_step.render(SHELL)}",
                    *warnings(status, decision),
                ]
            ),
            as_json,
        )


def fail(
    round: Number,
    storage: Where,
    reason: Reason,
    name: Name = None,
    give_up: Annotated[bool, typer.Option("--give-up", help="Do not ask it again.")] = False,
    client: Client = None,
    as_json: AsJson = False,
) -> None:
    """Report that a round did not work; it is asked again."""
    with opened(storage, name, client) as study:
        study.fail(round, reason, retry=not give_up)
        put(
            {"round": round, "retry": not give_up},
            f"round {round} is {'given up' if give_up else 'asked again'}.",
            as_json,
        )


# ---- the tables that `ask` writes and `tell` reads


def table(rounds: Any, study: str, out: Path) -> str | bytes:
    """Return the table to fill in, in the format of the file's ending."""
    if out.suffix.lower() == ".xlsx":
        return write_workbook(rounds, study)
    return write_sheet(rounds, study, "\t" if out.suffix.lower() in (".tsv", ".tab") else ",")


def taken(
    path: Path,
    study: Any,
    rounds: bool,
    sep: str | None,
    decimal: str | None,
    again: bool,
) -> ParsedTable:
    """Read a table, and report its format unless it is the one that `ask` writes."""
    sheet = read_sheet(path, study.problem, study.name, rounds, sep, decimal)
    if not sheet.form.plain:
        say(f"{path}: {sheet.form.sentence.render(SHELL)}")
    if sheet.repeated is not None and not again:
        raise error_from(InputError, sheet.repeated.with_context("{path}", path=str(path)))
    return sheet


def check_repeats(study: Any, sheet: Mapping[int, Mapping[int, Any]]) -> None:
    """Refuse a round with exactly the values of another: most likely it is the other's table."""
    entries = {
        number: read_values(study.problem, values, round=number)
        for number, values in sorted(sheet.items())
    }
    if all(is_probably_chance(study.problem, values) for values in entries.values()):
        return
    with study.view(history=True) as now:
        before = fingerprints(one for one in now.events if one.round not in entries)
    error = repeated_round(study.problem, entries, before)
    if error is not None:
        raise error


def spare(path: Path, study: Any) -> None:
    """Refuse to overwrite values that were not told, and files that are no table of this study."""
    if not path.is_file() or not path.stat().st_size:
        return
    try:
        try:
            sheet = read_sheet(path, study.problem, study.name).values
        except CombGameError as error:
            if error.code != "ambiguous-number":
                raise
            # only whether cells have a value matters here
            sheet = read_sheet(path, study.problem, study.name, decimal=",").values
    except CombGameError as error:
        raise StoreError(
            "no-table",
            "{path} is there already, and is no table of this study ({why})",
            remedy="move it, or name another --out, or --force to overwrite it",
            path=str(path),
            why=error.sentence,
        ) from None
    left = {one.id: one.remaining for one in study.pending}
    for number, values in sheet.items():
        if any(x is not None and arm in left.get(number, ()) for arm, x in values.items()):
            raise StoreError(
                "values-not-told",
                "{path} has values of round {round} that were not told",
                remedy="`combgame study tell {path}{named}` first, or name another --out, or "
                "--force to overwrite it",
                path=str(path),
                round=number,
                named=named(study.name),
            )


def check_whole(
    path: Path, sheet: ParsedTable, left: dict[int, tuple[int, ...]], problem: Any
) -> None:
    """Refuse a table that was cut off."""
    cut = [
        (number, arm)
        for number, values in sheet.values.items()
        for arm in left.get(number, ())
        if arm not in values and not sheet.form.wide
    ]
    if cut:
        (number, arm), *rest = cut
        text = "{path}: the table is incomplete: round {round} has no line for {arm}"
        if rest:
            text += " ({more} more {more:is|are} missing)"
        raise InputError(
            "line-missing",
            text,
            remedy="give the whole table (a blank value is missing), or --partial if the rest is "
            "still to come",
            path=str(path),
            round=number,
            arm=problem.label([arm]),
            more=len(rest),
        )
    if not sheet.whole:
        raise InputError(
            "no-newline",
            "{path}: the table is incomplete: its last line has no newline at its end, as if it "
            "were cut off",
            remedy="end it with one if it is whole, or --partial if the rest is still to come",
            path=str(path),
        )
