"""Pages that show studies, and downloads of their data."""

import math
import time
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse
from starlette.requests import Request

from ...._display.text import as_csv
from ....errors import CombGameError
from ...history import History
from ...round import pulls
from ...study import Study
from ..validation import Name
from . import views
from .rendering import At, Reader, attached, kept_of, page, study_path, whole_of
from .wording import PAGE

router = APIRouter(include_in_schema=False)
LISTED = 30  # studies on a page
FRESH = 20.0  # seconds for which views that depend on the time are cached


@router.get("/")
async def studies(request: Request, desk: At, person: Reader) -> Response:
    """Show the list of studies."""
    names = await desk.names()
    pages = max(math.ceil(len(names) / LISTED), 1)
    which = min(max(whole_of(request.query_params.get("page", "1")) or 1, 1), pages)
    some = names[(which - 1) * LISTED : which * LISTED]
    last = await desk.run_in_pool(desk.shelf.last, some)
    kept, turn = kept_of(request), int(time.time() / FRESH)

    async def one(name: str) -> dict[str, Any]:
        def view(study: Study) -> dict[str, Any]:
            with study.view() as now:
                return views.summary(now)

        key = ("brief", name, last.get(name), turn)
        try:
            made: dict[str, Any] | None = kept.look(key)
            return made or kept.keep(key, await desk.look(name, view))
        except CombGameError as error:
            return {"name": name, "error": error.render(PAGE), "mood": "stopped"}

    return page(
        request,
        "studies.html",
        person,
        here="studies",
        studies=[await one(name) for name in some],
        total=len(names),
        page=which,
        pages=pages,
        watch="/api/v1/changes",
    )


@router.get("/studies/{name}")
async def study(request: Request, desk: At, person: Reader, name: Name) -> Response:
    """Show a study."""
    kept, turn = kept_of(request), int(time.time() / FRESH)

    def view(one: Study) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        with one.view() as now:
            key = ("study", name, now.head, now.state, turn)
            made = kept.look(key) or kept.keep(key, views.study(now, one.seq))
            events = one.events(max(one.seq - views.RECENT, 0))
        return made, views.logged(reversed(events), one.problem.label)

    made, events = await desk.look(name, view)
    mine = [one for one in made["open"] if one["client"] == person.name]
    return page(
        request,
        "study.html",
        person,
        it=made,
        events=events,
        mine=len(mine),
        watch=f"/api/v1{study_path(name)}/changes",
    )


@router.get("/studies/{name}/pictures")
async def pictures(request: Request, desk: At, person: Reader, name: Name) -> Response:
    """Show the figures of a study."""
    kept = kept_of(request)

    def head(one: Study) -> tuple[str, float | None]:
        with one.view() as now:
            return now.head, one.planned_rounds

    def view(one: Study) -> dict[str, Any]:
        with one.view(history=True) as now:
            return views.pictures(now)

    at, planned_rounds = await desk.look(name, head)
    key = ("pictures", name, at)
    made = kept.look(key) or kept.keep(key, await desk.aside(name, view))
    return page(request, "pictures.html", person, name=name, it=made, planned_rounds=planned_rounds)


@router.get("/studies/{name}/log")
async def log(request: Request, desk: At, person: Reader, name: Name) -> Response:
    """Show the events of a study."""
    before = whole_of(request.query_params.get("before", ""))

    def view(one: Study) -> tuple[list[dict[str, Any]], int]:
        with one.view():
            last = one.seq
        end = last if before is None else min(max(before - 1, 0), last)
        begin = max(end - views.EVENTS, 0)
        events = one.events(begin, end - begin) if end > begin else []
        return views.logged(reversed(events), one.problem.label), last

    events, last = await desk.look(name, view)
    return page(
        request,
        "log.html",
        person,
        name=name,
        events=events,
        older=events[-1]["seq"] if events and events[-1]["seq"] > 1 else None,
        newer=events[0]["seq"] + views.EVENTS + 1 if events and events[0]["seq"] < last else None,
        last=last,
    )


@router.get("/studies/{name}/decision")
async def decision(request: Request, desk: At, person: Reader, name: Name) -> Response:
    """Show the decision of a study."""

    def view(one: Study) -> dict[str, Any]:
        with one.view() as now:
            return views.study(now, one.seq)

    return page(request, "decision.html", person, it=await desk.look(name, view), now=time.time())


@router.get("/studies/{name}/report")
async def report(name: Name) -> Response:
    """Redirect to the report of a study."""
    return RedirectResponse(f"/api/v1{study_path(name)}/report", 303)


@router.get("/studies/{name}/export.json")
async def export(desk: At, person: Reader, name: Name) -> Response:
    """Download a study as JSON."""
    text = await desk.aside(name, lambda one: one.export())
    return attached(text, "application/json", f"{name}.json")


@router.get("/studies/{name}/values.csv")
async def values(desk: At, person: Reader, name: Name) -> Response:
    """Download the rows of all rounds as CSV."""

    def view(one: Study) -> str:
        with one.view(history=True) as now:
            return now.export(None, "round", "csv")

    return attached(await desk.aside(name, view), "text/csv; charset=utf-8", f"{name}.csv")


@router.get("/studies/{name}/arms.csv")
async def by_arm(desk: At, person: Reader, name: Name) -> Response:
    """Download all values that count as CSV, one per line.

    Another study can import the file as data from outside.
    """

    def view(one: Study) -> str:
        with one.view(history=True) as now:
            told = History.of(one.problem.d, now.events).counting(range(one.problem.d))
        return as_csv(
            [
                {"arm": one.problem.label([arm]), "value": value, "n": n}
                for _, arm, entry in told
                for value, n in pulls(entry)
            ]
        )

    return attached(await desk.aside(name, view), "text/csv; charset=utf-8", f"{name} by arm.csv")
