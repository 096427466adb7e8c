"""combgame study retract | extend | stop: what is changed by hand."""

import math
from typing import Annotated, Any

import typer

from ...errors import must_be
from ...study.retractions import level
from ..options import AsJson
from ..speech import SHELL
from .base import Client, Name, Reason, Where, opened, put


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
        changed = level(now.retractions, now.corrections, now.delta).spelt(SHELL)
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
    """More rounds, or more time, also after the old ones have run out."""
    most: Any = max_rounds
    if max_rounds is not None:
        if max_rounds != "none" and not max_rounds.isdecimal():
            raise must_be("--max-rounds", max_rounds, "a whole number of rounds, or none")
        most = math.inf if max_rounds == "none" else int(max_rounds)
    with opened(storage, name, client) as study:
        study.extend(most, math.inf if deadline == "none" else deadline, reason=reason)
        status = study.status
        put(
            {
                "max_rounds": max_rounds,
                "deadline": deadline,
                "state": status.state,
                "next": status.next.to_data(SHELL),
            },
            f"extended: {status.next.said(SHELL)}",
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
        put(decision.to_dict(SHELL), decision.said(SHELL), as_json)
