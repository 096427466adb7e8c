"""Actions that need a reason: fail, release, retract, stop, extend."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ....errors import CombGameError, InputError, invalid_argument
from ...inputs import Todo, mark_of
from ...study import Study
from ..auth import User
from ..errors import code_of, role_missing
from ..validation import Name
from ..workers import StudyPool
from .rendering import Admin, At, Measurer, Reader, RoleContext, back, once_of, page, whole_of
from .wording import PAGE

router = APIRouter(include_in_schema=False)


REASONS = {  # role that each action needs
    "fail": RoleContext.measure,
    "release": RoleContext.measure,
    "retract": RoleContext.measure,
    "stop": RoleContext.manage,
    "more": RoleContext.manage,
}


async def _reason(
    request: Request,
    desk: StudyPool,
    person: User,
    name: str,
    what: str,
    error: str = "",
    given: Mapping[str, str] | None = None,
) -> Response:
    number = whole_of(str((given or request.query_params).get("round", "")))

    def view(one: Study) -> dict[str, Any]:
        with one.view(history=what == "retract") as now:
            status = now.status
            told: list[dict[str, Any]] = []
            if what == "retract":
                told = [row for row in now.rows("round") if row["state"] in ("told", "observed")]
            return {
                "told": told,
                "settings": status.settings,
                "delta": status.delta,
                "retractions": status.retractions,
                "corrections": status.corrections,
                "spent": status.rounds,
                "open": {one["round"]: one for one in now.open_rounds()},
            }

    look = desk.aside if what == "retract" else desk.look  # reading all rounds takes longer
    it = await look(name, view)
    last: dict[int, list[dict[str, Any]]] = {}
    for row in it["told"]:
        last.setdefault(row["round"], []).append(row)
    chosen = last.get(number, []) if number is not None else []
    return page(
        request,
        f"{what}.html" if what != "release" else "fail.html",
        person,
        422 if error else 200,
        name=name,
        it=it,
        what=what,
        round=number,
        chosen=chosen,
        recent=sorted(last.items(), reverse=True)[:30],
        error=error,
        given=given or {},
    )


@router.get("/studies/{name}/{what}")
async def reason_page(
    request: Request, desk: At, person: Reader, name: Name, what: str
) -> Response:
    """Show the form of an action."""
    if what not in REASONS:
        raise HTTPException(404)
    if not person.may(REASONS[what]):
        raise role_missing(person.role, REASONS[what])
    return await _reason(request, desk, person, name, what)


async def _done(
    request: Request,
    desk: StudyPool,
    person: User,
    name: str,
    what: str,
    verb: Callable[[Study, Mapping[str, str]], Any],
    done: str,
) -> Response:
    """Do what a form says, or show the form again with the error."""
    form = await request.form()
    fields = {key: str(one) for key, one in form.items()}
    try:
        await desk.do(
            name,
            lambda one: verb(one, fields),
            once_of(request, form, person, json.dumps(sorted(fields.items()))),
        )
    except CombGameError as error:
        if code_of(error) >= 500:
            raise
        return await _reason(request, desk, person, name, what, error.render(PAGE), fields)
    return back(name, done, whole_of(fields.get("round", "")) or 0)


def _round(fields: Mapping[str, str]) -> Todo:
    """Return the round of a form, with the mark that it had when the form was shown."""
    number = whole_of(fields.get("round", ""))
    if number is None:
        raise InputError("no-round", "no round was named", remedy="give its number")
    return Todo(number, mark_of(fields.get("mark") or None))


def _why(fields: Mapping[str, str]) -> str:
    said = fields.get("reason", "").strip()
    if not said:
        raise InputError("no-reason", "no reason was given", remedy="say why; it is kept")
    return said


@router.post("/studies/{name}/fail")
async def fail(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    """Report that a round failed."""
    form = await request.form()
    retry = form.get("again") != "no"

    def verb(one: Study, fields: Mapping[str, str]) -> None:
        one.fail(_round(fields), _why(fields), retry, person.name)

    done = "failed" if retry else "given-up"
    return await _done(request, desk, person, name, "fail", verb, done)


@router.post("/studies/{name}/release")
async def release(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    """Release a round, so that the next user who asks gets it."""

    def verb(one: Study, fields: Mapping[str, str]) -> None:
        one.fail(_round(fields), f"released: {_why(fields)}", True, person.name)

    return await _done(request, desk, person, name, "release", verb, "released")


@router.post("/studies/{name}/retract")
async def retract(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    """Retract the results of a round."""

    def verb(one: Study, fields: Mapping[str, str]) -> None:
        one.retract(_round(fields), _why(fields), client=person.name)

    return await _done(request, desk, person, name, "retract", verb, "retracted")


@router.post("/studies/{name}/stop")
async def stop(request: Request, desk: At, person: Admin, name: Name) -> Response:
    """Stop the study."""

    def verb(one: Study, fields: Mapping[str, str]) -> None:
        one.stop(_why(fields), person.name)

    return await _done(request, desk, person, name, "stop", verb, "stopped")


@router.post("/studies/{name}/more")
async def more(request: Request, desk: At, person: Admin, name: Name) -> Response:
    """Raise the limits of the study."""

    def verb(one: Study, fields: Mapping[str, str]) -> None:
        rounds = whole_of(fields.get("max_rounds", "").strip())
        if fields.get("max_rounds", "").strip() and rounds is None:
            raise invalid_argument("max_rounds", fields["max_rounds"], "a whole number")
        deadline = fields.get("deadline", "").strip() or None
        one.extend(rounds, deadline, reason=_why(fields), client=person.name)

    return await _done(request, desk, person, name, "more", verb, "more")
