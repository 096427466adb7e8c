"""Pages that take rounds and enter results, which are shown before they are stored."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import UploadFile
from starlette.requests import Request

from ....errors import CombGameError, InputError, StudyError
from ....tables import RawTable, known_column
from ....tables.reader import read_bytes
from ...exports import write_sheet, write_workbook
from ...inputs import Todo, fingerprints, mark_of
from ...round import Round, pulls
from ...study import Study
from ..auth import User
from ..validation import Name
from ..workers import StudyPool
from . import results_form as entering
from .rendering import At, Measurer, attached, back, once_of, page, study_path, whole_of
from .results_form import ParsedResults, StudyContext
from .wording import PAGE

router = APIRouter(include_in_schema=False)
SHOWN = 300  # rows of a preview
LARGEST = 1_500_000  # characters of the values in a preview, which the form sends back
LOOKED = 5000  # events that are searched for the same values
MANY = 96  # rounds that one request may take
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@router.post("/studies/{name}/ask")
async def ask(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    """Take rounds in addition to those that the user has."""
    form = await request.form()
    more = min(max(whole_of(str(form.get("n", "1"))) or 1, 1), MANY)

    def verb(one: Study) -> Any:
        have = sum(each.client == person.name for each in one.pending)
        return len(one.ask(have + more, person.name)) - have

    made = await desk.do(name, verb, once_of(request, form, person, str(more)))
    if isinstance(made, int) and made < 1:
        return back(name, "none")
    return RedirectResponse(f"{study_path(name)}/enter", 303)


def rounds_of(study: Study, person: User, which: int | None, everything: bool) -> list[Round]:
    """Return the open rounds to enter: one of them, those of the user, or all."""
    pending = study.pending
    if which is not None:
        return [one for one in pending if one.id == which]
    if everything:
        return pending
    return [one for one in pending if one.client == person.name]


@router.get("/studies/{name}/enter")
async def enter(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    """Show the form for results."""
    which = whole_of(request.query_params.get("round", ""))
    everything = bool(request.query_params.get("all"))
    return await _enter(request, desk, person, name, which, everything)


async def _enter(
    request: Request,
    desk: StudyPool,
    person: User,
    name: str,
    which: int | None,
    everything: bool,
    error: str = "",
    given: Mapping[str, str] | None = None,
) -> Response:
    """Return the form for results, after an error with what was entered."""
    rounds = await desk.look(name, lambda one: rounds_of(one, person, which, everything))
    query = f"round={which}" if which is not None else "all=1" if everything else ""
    return page(
        request,
        "enter.html",
        person,
        422 if error else 200,
        name=name,
        rounds=rounds,
        which=which,
        everything=everything,
        query=query,
        error=error,
        given=given or {},
    )


@router.get("/studies/{name}/sheet.{form}")
async def sheet(request: Request, desk: At, person: Measurer, name: Name, form: str) -> Response:
    """Download a sheet for the results, as xlsx or CSV."""
    which = whole_of(request.query_params.get("round", ""))
    mine = bool(request.query_params.get("mine"))
    rounds = await desk.look(name, lambda one: rounds_of(one, person, which, not mine))
    file = name if which is None else f"{name} round {which}"
    if form == "xlsx":
        return attached(write_workbook(rounds, name), EXCEL, f"{file}.xlsx")
    return attached(write_sheet(rounds, name), "text/csv; charset=utf-8", f"{file}.csv")


@router.post("/studies/{name}/preview")
async def preview(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    """Show the results of a form, a paste or a file before they are stored."""
    form = await request.form()
    fields = {key: str(one) for key, one in form.items() if not isinstance(one, UploadFile)}
    which, everything = whole_of(fields.get("round", "")), bool(fields.get("all"))
    outside, again = bool(fields.get("outside")), bool(fields.get("again"))
    upload = form.get("file")
    raw = await upload.read() if isinstance(upload, UploadFile) else b""
    decimal = fields.get("decimal") or None

    def view(one: Study) -> tuple[ParsedResults, StudyContext]:
        known = known_of(one)
        rounds = rounds_of(one, person, which, everything)
        file = upload is not None
        if file:
            grid = _uploaded(one, raw, desk.limits.unpacked)
        else:
            grid = _written(one, [] if outside else rounds, fields)
        marks = marks_of(fields)
        return entering.understood(grid, known, decimal, outside, again, file, marks), known

    try:
        read, known = await desk.look(name, view)
    except CombGameError as error:
        if outside:
            return await _outside(request, person, name, error.render(PAGE), fields)
        return await _enter(
            request, desk, person, name, which, everything, error.render(PAGE), fields
        )
    text = json.dumps(
        {
            str(number): {str(arm): _json(x) for arm, x in told.items()}
            for number, told in read.values.items()
        }
    )
    if len(text) > LARGEST:
        raise InputError(
            "too-many-values",
            "{n:,} values are too many for a page",
            remedy="give them in parts, or with `combgame study tell`",
            n=len(read.rows),
        )
    blank = [
        number
        for number, told in read.values.items()
        if all(x is None for x in told.values()) and not outside
    ]
    return page(
        request,
        "preview.html",
        person,
        name=name,
        read=read,
        rows=sorted(read.rows, key=lambda row: not row.odd)[:SHOWN]
        if len(read.rows) > SHOWN
        else read.rows,
        told=text,
        marks=json.dumps(read.marks),
        blank=blank,
        left=any(_blank(row.entry) for row in read.rows)
        or any(
            set(known.rounds[n].remaining) - set(t)
            for n, t in read.values.items()
            if n in known.rounds
        ),
        outside=outside,
        reason=fields.get("reason", ""),
        query=fields.get("query", ""),
        count=sum(k for row in read.rows for _, k in pulls(row.entry)),
    )


def _uploaded(study: Study, raw: bytes, most: int) -> RawTable:
    if not raw:
        raise InputError("no-upload", "no file was chosen", remedy="choose one, or paste it")
    return read_bytes(raw, known_column(study.problem), most=most)


def _written(study: Study, rounds: list[Round], fields: Mapping[str, str]) -> RawTable:
    """Return the table of what was typed or pasted."""
    if "paste" in fields:
        return entering.pasted(fields["paste"], study.problem, rounds)
    typed = {
        (one.id, name): fields.get(f"v-{one.id}-{arm}", "")
        for one in rounds
        for arm, name in zip(one.arms, one.names, strict=True)
        if arm in one.remaining
    }
    if not any(text.strip() for text in typed.values()):
        gone = _gone(rounds, fields)
        if gone:
            raise StudyError(
                "not-open",
                "{n:round|rounds} {rounds:list} {n:is|are} not open any more, so that nothing can "
                "be entered for {n:it|them}",
                remedy="look at what happened last: somebody else has entered it, or an older copy "
                "of the study was put back",
                n=len(gone),
                rounds=gone,
            )
        raise InputError("nothing-entered", "no value was entered", remedy="enter at least one")
    return entering.typed(typed)


def _gone(rounds: list[Round], fields: Mapping[str, str]) -> list[int]:
    """Return the rounds for which something was typed and that are not open any more."""
    typed = {
        int(parts[1])
        for key, text in fields.items()
        if len(parts := key.split("-")) == 3 and parts[0] == "v" and text.strip()
        if whole_of(parts[1]) is not None
    }
    return sorted(typed - {one.id for one in rounds})


def marks_of(fields: Mapping[str, str]) -> dict[int, str]:
    """Return the marks that the rounds had when the form was shown."""
    marks = {whole_of(key[5:]): text for key, text in fields.items() if key.startswith("mark-")}
    return {number: mark_of(text or None) for number, text in marks.items() if number is not None}


def known_of(study: Study) -> StudyContext:
    """Return the data of a study that new values are compared with."""
    with study.view() as now:
        status = now.status
        return StudyContext(
            study.problem,
            study.name,
            status.estimates,
            status.noise_check,
            {one.id: one for one in now.pending},
            fingerprints(study.events(max(study.seq - LOOKED, 0))),
            now.within(),
        )


def _json(entry: Any) -> Any:
    return (
        list(entry)
        if isinstance(entry, list)
        else {"mean": entry[0], "n": entry[1]}
        if isinstance(entry, tuple)
        else entry
    )


def _told(text: str) -> dict[int, dict[int, Any]]:
    """Return the values that `preview` put into the form."""

    def entry(x: Any) -> Any:
        return (x["mean"], x["n"]) if isinstance(x, dict) else x

    try:
        return {
            int(number): {int(arm): entry(x) for arm, x in told.items()}
            for number, told in json.loads(text).items()
        }
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        text = "what came back is not what was shown"
        raise InputError("not-as-shown", text, remedy="enter it again") from None


def _marks(text: str) -> dict[int, str]:
    """Return the marks that `preview` put into the form."""
    try:
        return {int(number): mark_of(mark or None) for number, mark in json.loads(text).items()}
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        return {}


@router.post("/studies/{name}/results")
async def results(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    """Store the results that `preview` has shown."""
    form = await request.form()
    said = str(form.get("told", ""))
    told, marks = _told(said), _marks(str(form.get("marks", "")))
    later = form.get("blanks") == "later"
    key = once_of(request, form, person, said)
    if form.get("outside"):
        reason = str(form.get("reason", "")).strip() or "measured outside the study"
        number = await desk.do(
            name,
            lambda one: one.observe(told.get(0, {}), reason, person.name, bool(form.get("again"))),
            key,
        )
        return back(name, "outside", number if isinstance(number, int) else 0)
    some = {
        Todo(number, marks.get(number, "")): {
            arm: x for arm, x in values.items() if not (later and _blank(x))
        }
        for number, values in told.items()
        if any(x is not None for x in values.values()) or form.get("blanks") == "missing"
    }
    await desk.do(name, lambda one: one.tell_many(some, not later, person.name), key)
    n = sum(_many(x) for values in some.values() for x in values.values())
    return back(name, "stored", n)


def _blank(x: Any) -> bool:
    """Return True if a value, or one of its replicates, is missing."""
    return x is None or (isinstance(x, list) and None in x)


def _many(x: Any) -> int:
    if x is None:
        return 0
    return (
        sum(one is not None for one in x)
        if isinstance(x, list)
        else int(x[1])
        if isinstance(x, tuple)
        else 1
    )


async def _outside(
    request: Request,
    person: User,
    name: str,
    error: str = "",
    given: Mapping[str, str] | None = None,
) -> Response:
    return page(
        request,
        "outside.html",
        person,
        422 if error else 200,
        name=name,
        error=error,
        given=given or {},
    )


@router.get("/studies/{name}/outside")
async def outside_page(request: Request, person: Measurer, name: Name) -> Response:
    """Show the form for data from outside."""
    return await _outside(request, person, name)
