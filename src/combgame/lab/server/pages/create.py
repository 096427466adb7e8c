"""Addresses to begin a study."""

import asyncio
import math
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Response
from starlette.datastructures import UploadFile
from starlette.requests import Request

from ....errors import CombGameError, invalid_argument
from ...study import Study
from ..auth import User
from ..errors import code_of
from . import create_form as beginning
from . import views
from .rendering import Admin, At, back, page
from .wording import PAGE

router = APIRouter(include_in_schema=False)
PLANNING = 20.0  # seconds that somebody waits for a plan


@router.get("/new")
async def new(request: Request, desk: At, person: Admin) -> Response:
    fields = dict(beginning.USUAL)
    like = request.query_params.get("like", "")
    if like:
        fields |= await desk.look(like, lambda one: beginning.fields_of(one.problem))
    for key in ("noise", "level"):
        fields[key] = request.query_params.get(key, fields[key])
    return _begin(request, person, beginning.StudyForm(fields))


@router.post("/new")
async def create(request: Request, desk: At, person: Admin) -> Response:
    form = await request.form()
    fields = {key: str(one) for key, one in form.items() if not isinstance(one, UploadFile)}
    upload = form.get("file")
    file = await upload.read() if isinstance(upload, UploadFile) else b""
    made = await desk.run_in_pool(beginning.begun, fields, desk.limits, file)
    plan = None
    if made.fits:
        with suppress(TimeoutError):
            plan = await asyncio.wait_for(desk.run_in_pool(beginning.expected, made), PLANNING)
    if not made.fits or made.problem is None or form.get("do") != "create":
        return _begin(request, person, made, plan, shown=True)
    name, problem = fields["name"].strip(), made.problem

    def make(storage: str) -> Study:
        return Study(
            problem,
            storage=storage,
            name=name,
            client=person.name,
            engine=desk.engine,
            timeout=desk.limits.lock_timeout_s,
            planned_rounds=None if plan is None else min(plan["rounds"], plan["most"] or math.inf),
            **made.settings,
        )

    try:
        if name in (".", ".."):
            raise invalid_argument("name", name, "a text, such as 'plate-7'")
        await desk.create(make, name)
    except CombGameError as error:
        if code_of(error) == 503:
            raise
        made.wrong["name" if error.code in ("study-exists", "must-be") else "problem"] = (
            error.render(PAGE)
        )
        return _begin(request, person, made, plan, shown=True)
    return back(name, "created")


def _begin(
    request: Request,
    person: User,
    made: beginning.StudyForm,
    plan: Any = None,
    shown: bool = False,
) -> Response:
    return page(
        request,
        "new.html",
        person,
        422 if made.wrong else 200,
        here="new",
        made=made,
        plan=plan,
        shown=shown and made.fits,
        said=views.about(made.problem, made.settings) if made.fits else None,
        risks=beginning.RISKS,
        noises=beginning.NOISES,
        kinds=beginning.KINDS,
    )
