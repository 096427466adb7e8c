"""The addresses of the page."""

import asyncio
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Response
from fastapi.responses import FileResponse, RedirectResponse
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ...errors import AccessError, CombGameError, InputError, must_be
from ...report.arms import short
from ...report.tables import as_csv
from ...storage.requests import Request as Once
from ...study.carrying import values_of
from ...study.entries import pulls
from ...study.repeats import prints_of
from ...study.round import Round
from ...study.sheet import write_sheet, write_workbook
from ...study.study import Study
from ...tables import Grid, known_column
from ...tables.files import read_bytes
from ..desk import Desk
from ..paths import Name
from ..people import People, Person, allowed
from ..refusals import code_of
from . import beginning, entering, views
from .entering import Known, Understood
from .rendering import HERE, STATIC, page, study_path
from .speech import PAGE

Reader = Annotated[Person, Depends(allowed("read"))]
Measurer = Annotated[Person, Depends(allowed("measure"))]
Admin = Annotated[Person, Depends(allowed("admin"))]
router = APIRouter(include_in_schema=False)
FILES = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
LISTED = 30  # studies on a page
SHOWN = 300  # rows of a preview
LARGEST = 1_500_000  # characters of a preview, which comes back to be stored
LOOKED = 5000  # events in which the same values are looked for
PLANNING = 20.0  # seconds that somebody waits for a plan
MANY = 96  # rounds that are taken at once
FRESH = 20.0  # seconds for which what depends on the time is kept
EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def desk_of(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


At = Annotated[Desk, Depends(desk_of)]


def kept_of(request: Request) -> views.Kept:
    if not hasattr(request.app.state, "kept"):
        request.app.state.kept = views.Kept()
    kept: views.Kept = request.app.state.kept
    return kept


def back(name: str, done: str = "", n: int = 0) -> Response:
    """To the page of a study, after something was done."""
    return RedirectResponse(study_path(name) + (f"?done={done}&n={n}" if done else ""), 303)


async def refused(request: Request, error: CombGameError) -> Response | None:
    """An error as a page; None: let it be said as JSON."""
    if request.url.path.startswith(("/api/", "/metrics", "/health", "/ready")):
        return None
    code = code_of(error)
    if code == 401 and request.method == "GET":
        return RedirectResponse(f"/login?next={quote(_here(request))}", 303)
    try:
        person = await request.app.state.people.who(request)
    except CombGameError:  # the database is away, or the token is wrong
        person = None
    before = request.headers.get("referer", "")
    before = before if before.startswith(str(request.base_url)) else "/"
    return page(request, "error.html", person, code, error=error.said(PAGE), code=code, back=before)


def _here(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


@router.get(STATIC + "/{file}")
async def static(file: str) -> Response:
    if file not in FILES:
        raise HTTPException(404)
    return FileResponse(
        HERE / "static" / file,
        media_type=FILES[file],
        headers={"cache-control": "public, max-age=300"},
    )


# ---- who


@router.get("/login")
async def log_in_page(request: Request, next: str = "/") -> Response:
    people: People = request.app.state.people
    if not people.needed or await people.who(request) is not None:
        return RedirectResponse(_inside(next), 303)
    return page(request, "login.html", None, next=_inside(next), error="")


@router.post("/login")
async def log_in(request: Request) -> Response:
    form = await request.form()
    goal = _inside(str(form.get("next", "/")))
    try:
        session = await request.app.state.people.log_in(request, str(form.get("token", "")))
    except AccessError as error:
        return page(request, "login.html", None, code_of(error), next=goal, error=error.said(PAGE))
    request.state.cookie = session
    return RedirectResponse(goal, 303)


@router.post("/logout")
async def log_out(request: Request, person: Reader) -> Response:
    await request.app.state.people.log_out(person.session)
    return RedirectResponse("/login", 303)


def _inside(address: str) -> str:
    """An address of this service, whatever was given.

    >>> _inside("/studies/a"), _inside("//elsewhere"), _inside("https://elsewhere")
    ('/studies/a', '/', '/')
    """
    inside = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if inside and address.isprintable() else "/"


# ---- studies


@router.get("/")
async def studies(request: Request, desk: At, person: Reader) -> Response:
    names = await desk.names()
    pages = max(math.ceil(len(names) / LISTED), 1)
    which = min(max(_whole(request.query_params.get("page", "1")) or 1, 1), pages)
    some = names[(which - 1) * LISTED : which * LISTED]
    last = await desk.work(desk.shelf.last, some)
    kept, turn = kept_of(request), int(time.time() / FRESH)

    async def one(name: str) -> dict[str, Any]:
        def view(study: Study) -> dict[str, Any]:
            with study.moment() as now:
                return views.brief(now)

        key = ("brief", name, last.get(name), turn)
        try:
            made: dict[str, Any] | None = kept.look(key)
            return made or kept.keep(key, await desk.look(name, view))
        except CombGameError as error:
            return {"name": name, "error": error.said(PAGE), "mood": "stopped"}

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
    kept, turn = kept_of(request), int(time.time() / FRESH)

    def view(one: Study) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        with one.moment() as now:
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
    kept = kept_of(request)

    def head(one: Study) -> tuple[str, float | None]:
        with one.moment() as now:
            return now.head, one.expects

    def view(one: Study) -> dict[str, Any]:
        with one.moment(history=True) as now:
            return views.pictures(now)

    at, expects = await desk.look(name, head)
    key = ("pictures", name, at)
    made = kept.look(key) or kept.keep(key, await desk.aside(name, view))
    return page(request, "pictures.html", person, name=name, it=made, expects=expects)


@router.get("/studies/{name}/log")
async def log(request: Request, desk: At, person: Reader, name: Name) -> Response:
    before = _whole(request.query_params.get("before", ""))

    def view(one: Study) -> tuple[list[dict[str, Any]], int]:
        with one.moment():
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
    def view(one: Study) -> dict[str, Any]:
        with one.moment() as now:
            return views.study(now, one.seq)

    return page(request, "decision.html", person, it=await desk.look(name, view), now=time.time())


@router.get("/studies/{name}/report")
async def report(name: Name) -> Response:
    return RedirectResponse(f"/api/v1{study_path(name)}/report", 303)


@router.get("/studies/{name}/export.json")
async def export(desk: At, person: Reader, name: Name) -> Response:
    text = await desk.aside(name, lambda one: one.export())
    return attached(text, "application/json", f"{name}.json")


@router.get("/studies/{name}/values.csv")
async def values(desk: At, person: Reader, name: Name) -> Response:
    def view(one: Study) -> str:
        with one.moment(history=True) as now:
            return now.export(None, "round", "csv")

    return attached(await desk.aside(name, view), "text/csv; charset=utf-8", f"{name}.csv")


@router.get("/studies/{name}/arms.csv")
async def by_arm(desk: At, person: Reader, name: Name) -> Response:
    """All values that count, a line each, as data from outside are given to another study."""

    def view(one: Study) -> str:
        with one.moment(history=True) as now:
            rounds = values_of(now.events, one.problem, one.problem)
        return as_csv(
            [
                {"arm": one.problem.label([arm]), "value": value, "n": n}
                for told in rounds
                for arm, entry in told.items()
                for value, n in pulls(entry)
            ]
        )

    return attached(await desk.aside(name, view), "text/csv; charset=utf-8", f"{name} by arm.csv")


def attached(content: str | bytes, kind: str, file: str) -> Response:
    """A file to keep, under a name that every system can have."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_. ") else "_" for c in file)
    whole = f"attachment; filename=\"{short(plain, 80)}\"; filename*=UTF-8''{quote(file, safe='')}"
    header = whole.encode("ascii", "ignore").decode()
    return Response(content, media_type=kind, headers={"content-disposition": header})


# ---- rounds


@router.post("/studies/{name}/ask")
async def ask(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    form = await request.form()
    more = min(max(_whole(str(form.get("n", "1"))) or 1, 1), MANY)

    def verb(one: Study) -> Any:
        have = sum(each.client == person.name for each in one.pending)
        return len(one.ask(have + more, person.name)) - have

    made = await desk.do(name, verb, _once(request, form, person, str(more)))
    if isinstance(made, int) and made < 1:
        return back(name, "none")
    return RedirectResponse(f"{study_path(name)}/enter", 303)


def rounds_of(study: Study, person: Person, which: int | None, everything: bool) -> list[Round]:
    """The rounds that are to be entered: one, those of somebody, or all that are open."""
    pending = study.pending
    if which is not None:
        return [one for one in pending if one.id == which]
    if everything:
        return pending
    return [one for one in pending if one.client == person.name]


@router.get("/studies/{name}/enter")
async def enter(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    which = _whole(request.query_params.get("round", ""))
    everything = bool(request.query_params.get("all"))
    return await _enter(request, desk, person, name, which, everything)


async def _enter(
    request: Request,
    desk: Desk,
    person: Person,
    name: str,
    which: int | None,
    everything: bool,
    error: str = "",
    given: Mapping[str, str] | None = None,
) -> Response:
    """The table of the round; error, given: what was wrong with what was entered."""
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
    which = _whole(request.query_params.get("round", ""))
    mine = bool(request.query_params.get("mine"))
    rounds = await desk.look(name, lambda one: rounds_of(one, person, which, not mine))
    file = name if which is None else f"{name} round {which}"
    if form == "xlsx":
        return attached(write_workbook(rounds, name), EXCEL, f"{file}.xlsx")
    return attached(write_sheet(rounds, name), "text/csv; charset=utf-8", f"{file}.csv")


@router.post("/studies/{name}/preview")
async def preview(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    form = await request.form()
    fields = {key: str(one) for key, one in form.items() if not isinstance(one, UploadFile)}
    which, everything = _whole(fields.get("round", "")), bool(fields.get("all"))
    outside, again = bool(fields.get("outside")), bool(fields.get("again"))
    upload = form.get("file")
    raw = await upload.read() if isinstance(upload, UploadFile) else b""
    decimal = fields.get("decimal") or None

    def view(one: Study) -> tuple[Understood, Known]:
        known = known_of(one)
        rounds = rounds_of(one, person, which, everything)
        grid = _grid(one, rounds if not outside else [], fields, raw, upload is not None)
        file = upload is not None
        return entering.understood(grid, known, decimal, outside, again, file), known

    try:
        read, known = await desk.look(name, view)
    except CombGameError as error:
        if outside:
            return await _outside(request, person, name, error.said(PAGE), fields)
        return await _enter(
            request, desk, person, name, which, everything, error.said(PAGE), fields
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
        blank=blank,
        left=any(row.entry is None for row in read.rows)
        or any(
            set(known.rounds[n].left) - set(t) for n, t in read.values.items() if n in known.rounds
        ),
        outside=outside,
        reason=fields.get("reason", ""),
        query=fields.get("query", ""),
        count=sum(k for row in read.rows for _, k in pulls(row.entry)),
    )


def _grid(
    study: Study, rounds: list[Round], fields: Mapping[str, str], raw: bytes, file: bool
) -> Grid:
    """What was typed, pasted or uploaded."""
    if file:
        if not raw:
            raise InputError("no-upload", "no file was chosen", remedy="choose one, or paste it")
        return read_bytes(raw, known_column(study.problem))
    if "paste" in fields:
        return entering.pasted(fields["paste"], study.problem, rounds)
    typed = {
        (one.id, name): fields.get(f"v-{one.id}-{arm}", "")
        for one in rounds
        for arm, name in zip(one.arms, one.names, strict=True)
        if arm in one.left
    }
    if not any(text.strip() for text in typed.values()):
        raise InputError("nothing-entered", "no value was entered", remedy="enter at least one")
    return entering.typed(typed)


def known_of(study: Study) -> Known:
    with study.moment() as now:
        status = now.status
        return Known(
            study.problem,
            study.name,
            status.estimates,
            status.noise,
            {one.id: one for one in now.pending},
            prints_of(study.events(max(study.seq - LOOKED, 0))),
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
    """What `preview` showed, as it comes back."""

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


@router.post("/studies/{name}/results")
async def results(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    form = await request.form()
    said = str(form.get("told", ""))
    told = _told(said)
    later = form.get("blanks") == "later"
    key = _once(request, form, person, said)
    if form.get("outside"):
        reason = str(form.get("reason", "")).strip() or "measured outside the study"
        number = await desk.do(
            name,
            lambda one: one.observe(told.get(0, {}), reason, person.name, bool(form.get("again"))),
            key,
        )
        return back(name, "outside", number if isinstance(number, int) else 0)
    some = {
        number: {arm: x for arm, x in values.items() if x is not None or not later}
        for number, values in told.items()
        if any(x is not None for x in values.values()) or form.get("blanks") == "missing"
    }
    await desk.do(name, lambda one: one.tell_many(some, not later, person.name), key)
    n = sum(_many(x) for values in some.values() for x in values.values())
    return back(name, "stored", n)


def _many(x: Any) -> int:
    if x is None:
        return 0
    return len(x) if isinstance(x, list) else int(x[1]) if isinstance(x, tuple) else 1


def _once(request: Request, form: Any, person: Person, said: str) -> Once | None:
    """The same form sent twice is done once."""
    key = str(form.get("once", ""))[:100]
    if not key:
        return None
    mine = hashlib.sha256(f"form\n{person.name}\n{key}".encode()).hexdigest()
    digest = hashlib.sha256(f"{request.url.path}\n{said}".encode()).hexdigest()
    return Once(mine, digest)


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None


# ---- what goes wrong


@router.get("/studies/{name}/{what}")
async def reason_page(
    request: Request, desk: At, person: Measurer, name: Name, what: str
) -> Response:
    """The pages that ask for a reason."""
    if what == "outside":
        return await _outside(request, person, name)
    return await _reason(request, desk, person, name, what)


async def _outside(
    request: Request,
    person: Person,
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


REASONS = ("fail", "release", "retract", "stop", "more")


async def _reason(
    request: Request,
    desk: Desk,
    person: Person,
    name: str,
    what: str,
    error: str = "",
    given: Mapping[str, str] | None = None,
) -> Response:
    if what not in REASONS:
        raise HTTPException(404)
    number = _whole(str((given or request.query_params).get("round", "")))

    def view(one: Study) -> dict[str, Any]:
        with one.moment(history=what == "retract") as now:
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

    look = desk.aside if what == "retract" else desk.look  # all rounds take longer
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


async def _done(
    request: Request,
    desk: Desk,
    person: Person,
    name: str,
    what: str,
    verb: Callable[[Study, Mapping[str, str]], Any],
    done: str,
) -> Response:
    """Do what a form with a reason says; or show it again, with what is wrong."""
    form = await request.form()
    fields = {key: str(one) for key, one in form.items()}
    try:
        await desk.do(
            name,
            lambda one: verb(one, fields),
            _once(request, form, person, json.dumps(sorted(fields.items()))),
        )
    except CombGameError as error:
        if code_of(error) == 503:
            raise
        return await _reason(request, desk, person, name, what, error.said(PAGE), fields)
    return back(name, done, _whole(fields.get("round", "")) or 0)


def _round(fields: Mapping[str, str]) -> int:
    number = _whole(fields.get("round", ""))
    if number is None:
        raise InputError("no-round", "no round was named", remedy="give its number")
    return number


def _why(fields: Mapping[str, str]) -> str:
    said = fields.get("reason", "").strip()
    if not said:
        raise InputError("no-reason", "no reason was given", remedy="say why; it is kept")
    return said


@router.post("/studies/{name}/fail")
async def fail(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    form = await request.form()
    retry = form.get("again") != "no"

    def verb(one: Study, fields: Mapping[str, str]) -> None:
        one.fail(_round(fields), _why(fields), retry, person.name)

    done = "failed" if retry else "given-up"
    return await _done(request, desk, person, name, "fail", verb, done)


@router.post("/studies/{name}/release")
async def release(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    def verb(one: Study, fields: Mapping[str, str]) -> None:
        one.fail(_round(fields), f"released: {_why(fields)}", True, person.name)

    return await _done(request, desk, person, name, "release", verb, "released")


@router.post("/studies/{name}/retract")
async def retract(request: Request, desk: At, person: Measurer, name: Name) -> Response:
    def verb(one: Study, fields: Mapping[str, str]) -> None:
        one.retract(_round(fields), _why(fields), client=person.name)

    return await _done(request, desk, person, name, "retract", verb, "retracted")


@router.post("/studies/{name}/stop")
async def stop(request: Request, desk: At, person: Admin, name: Name) -> Response:
    def verb(one: Study, fields: Mapping[str, str]) -> None:
        one.stop(_why(fields), person.name)

    return await _done(request, desk, person, name, "stop", verb, "stopped")


@router.post("/studies/{name}/more")
async def more(request: Request, desk: At, person: Admin, name: Name) -> Response:
    def verb(one: Study, fields: Mapping[str, str]) -> None:
        rounds = _whole(fields.get("max_rounds", "").strip())
        if fields.get("max_rounds", "").strip() and rounds is None:
            raise must_be("max_rounds", fields["max_rounds"], "a whole number")
        deadline = fields.get("deadline", "").strip() or None
        one.extend(rounds, deadline, reason=_why(fields), client=person.name)

    return await _done(request, desk, person, name, "more", verb, "more")


# ---- to begin


@router.get("/new")
async def new(request: Request, desk: At, person: Admin) -> Response:
    fields = dict(beginning.USUAL)
    like = request.query_params.get("like", "")
    if like:
        fields |= await desk.look(like, lambda one: beginning.fields_of(one.problem))
    for key in ("noise", "level"):
        fields[key] = request.query_params.get(key, fields[key])
    return _begin(request, person, beginning.Begun(fields))


@router.post("/new")
async def create(request: Request, desk: At, person: Admin) -> Response:
    form = await request.form()
    fields = {key: str(one) for key, one in form.items() if not isinstance(one, UploadFile)}
    upload = form.get("file")
    file = await upload.read() if isinstance(upload, UploadFile) else b""
    made = await desk.work(beginning.begun, fields, desk.limits, file)
    plan = None
    if made.fits:
        with suppress(TimeoutError):
            plan = await asyncio.wait_for(desk.work(beginning.expected, made), PLANNING)
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
            timeout=desk.limits.waiting,
            expects=None if plan is None else plan["rounds"],
            **made.settings,
        )

    try:
        if name in (".", ".."):
            raise must_be("name", name, "a text, such as 'plate-7'")
        await desk.create(make, name)
    except CombGameError as error:
        if code_of(error) == 503:
            raise
        made.wrong["name" if error.code in ("study-exists", "must-be") else "problem"] = error.said(
            PAGE
        )
        return _begin(request, person, made, plan, shown=True)
    return back(name, "created")


def _begin(
    request: Request,
    person: Person,
    made: beginning.Begun,
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
        said=None if made.problem is None else views.about_problem(made.problem),
        risks=beginning.RISKS,
        noises=beginning.NOISES,
        kinds=beginning.KINDS,
    )
