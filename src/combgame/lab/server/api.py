"""HTTP interface for programs, version 1: the routes below /api/v1."""

import hashlib
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Annotated, Any, NamedTuple, get_type_hints

from fastapi import APIRouter, Depends, Header, Query, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.requests import Request as Asked

from ...errors import InputError, check_text, invalid_argument, unknown_name
from ...io import to_data
from ...storage.transaction import IdempotencyKey
from ..client._wire import (
    decision_data,
    event_data,
    finite,
    replay_data,
    round_data,
    status_data,
    told_from,
)
from ..inputs import Todo, mark_of
from ..round import Entry
from ..study import Study, nothing_to_ask
from . import schemas as bodies
from .auth import FRESH, User, allowed, people_of
from .errors import half_character
from .validation import InPath, Name, described, named, problem_of, tables, within
from .workers import StudyPool

Reader = Annotated[User, Depends(allowed("read"))]
Admin = Annotated[User, Depends(allowed("admin"))]
PAGE = 1000  # maximum number of events in a response

REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": bodies.ErrorResponse, "description": text}
    for code, text in {
        400: "The body is not JSON, or there is not one header Host.",
        401: "No token, or one that is not known.",
        403: "The role of the token does not suffice, or what is stored can only be looked at.",
        404: "There is no such study.",
        409: "What the study cannot do now.",
        413: "The body is too large.",
        422: "A value that cannot be used.",
        500: "What is stored is damaged, or of another version: ask whoever runs the service.",
        429: "Too many log-ins have failed, or too many watch.",
        503: "The database is busy or away, or too much is sent: try again; nothing is lost.",
    }.items()
}
router = APIRouter(prefix="/api/v1", responses=REFUSALS)


async def desk_of(asked: Asked) -> StudyPool:
    """Return the pool of studies.

    The dependency is async, because FastAPI would call it in a thread otherwise.
    """
    desk: StudyPool = asked.app.state.desk
    return desk


At = Annotated[StudyPool, Depends(desk_of)]


LONGEST = 150  # characters of an Idempotency-Key
KEY = Header(
    description="A text of your own for this request: the same request again, with the same key, "
    "does nothing twice and is answered alike.",
    max_length=LONGEST,
)


class RequestContext(NamedTuple):
    """A request to change a study: the pool, the sender, the study, and the idempotency key."""

    desk: StudyPool
    person: User
    name: str
    key: IdempotencyKey | None

    async def do(self, verb: Callable[[Study], Any]) -> Any:
        """Run a verb of the study once."""
        return await self.desk.do(self.name, verb, self.key)


def calling(role: str) -> Any:
    """Return a dependency that gives the context of a request, if the sender's role suffices."""
    check = allowed(role)

    async def call(
        asked: Asked, name: InPath, idempotency_key: Annotated[str | None, KEY] = None
    ) -> RequestContext:
        person = await check(asked)
        key = await keyed(asked, person, idempotency_key)
        return RequestContext(asked.app.state.desk, person, await named(name), key)

    return Depends(call)


class StudyRoute(APIRoute):
    """Route of a verb that FastAPI describes but does not call.

    FastAPI needs as long to resolve the dependencies of a call as a study needs to store a value,
    so the handler of this class calls the endpoint itself.
    """

    def get_route_handler(self) -> Callable[[Asked], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        (depends,) = self.dependant.dependencies
        begin, verb, kind = depends.call, self.endpoint, get_type_hints(self.endpoint)["body"]
        assert begin is not None

        async def handle(asked: Asked) -> Response:
            given = asked.headers.get("idempotency-key")
            call = await begin(asked, asked.path_params["name"], given)
            raw = await asked.body()
            try:
                body = kind.model_validate_json(raw)
            except ValidationError as error:
                check_characters(raw)
                raise RequestValidationError(
                    [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]
                ) from None
            answer: Response = await verb(call, body)
            return answer

        return handle


class WholeNumber(APIRoute):
    """Route that refuses JSON with unpaired surrogates, as `StudyRoute` does."""

    def get_route_handler(self) -> Callable[[Asked], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        usual = super().get_route_handler()

        async def handle(asked: Asked) -> Response:
            check_characters(await asked.body())
            return await usual(asked)

        return handle


def check_characters(body: bytes) -> None:
    """Raise an error if a text in the JSON cannot be encoded again."""
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise half_character() from None
    except (ValueError, RecursionError):  # not JSON, which is reported elsewhere
        pass


verbs = APIRouter(prefix="/api/v1", responses=REFUSALS, route_class=StudyRoute)
making = APIRouter(prefix="/api/v1", responses=REFUSALS, route_class=WholeNumber)
Measuring = Annotated[RequestContext, calling("measure")]
Leading = Annotated[RequestContext, calling("admin")]


async def keyed(asked: Asked, person: User, given: str | None) -> IdempotencyKey | None:
    """Return the idempotency key of a request, with the sender and a digest of the request."""
    if given is None:
        return None
    key = check_text("Idempotency-Key", given, "a text", most=LONGEST)
    said = f"{asked.url.path}\n".encode() + await asked.body()
    digest = hashlib.sha256(said).hexdigest()
    mine = hashlib.sha256(f"{person.name}\n{key}".encode()).hexdigest()
    return IdempotencyKey(mine, digest)


class ApiResponse(JSONResponse):
    """Response with plain data as JSON."""

    def render(self, content: Any) -> bytes:
        """Return the data as JSON."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


# ---- studies


@router.get("/me", summary="Whose token this is.")
async def me(person: Reader) -> Response:
    """Return the name and the role of the token."""
    return ApiResponse({"name": person.name, "role": person.role})


@router.get("/studies", summary="The studies, and the number of each one's last event.")
async def studies(desk: At, person: Reader, state: bool = False) -> Response:
    """List all studies; with `state`, the state of each of them too."""
    names = await desk.names()
    last = await desk.run_in_pool(desk.shelf.last, names)
    listed: list[dict[str, Any]] = [{"name": one, "seq": last.get(one, 0)} for one in names]
    if state:
        for one in listed:
            one["state"] = await desk.look(one["name"], lambda study: study.state)
    return ApiResponse({"studies": listed})


@making.post("/studies", status_code=201, summary="Make a study.")
async def create(
    desk: At,
    person: Admin,
    asked: Asked,
    body: bodies.Create,
    idempotency_key: Annotated[str | None, KEY] = None,
) -> Response:
    """Make a study and return its overview."""
    if body.name in (".", "..") or len(body.name) > 200:
        raise invalid_argument("name", body.name[:40], "a text, such as 'plate-7'")
    given = body.model_dump(exclude={"problem", "rule", "client"})
    who = body.client or person.name

    def make(storage: str) -> Study:
        problem = problem_of(body.problem, desk.limits)
        rule = described(body.rule, desk.limits)
        return Study(
            problem,
            rule=rule,
            storage=storage,
            engine=desk.engine,
            timeout=desk.limits.lock_timeout_s,
            client=who,
            **given,
        )

    await desk.create(make, body.name, await keyed(asked, person, idempotency_key))
    return ApiResponse(await desk.look(body.name, overview), 201)


def overview(study: Study, arms: bool = False) -> dict[str, Any]:
    """Return all data of a study at one moment; with `arms`, one row per arm too."""
    with study.view() as now:
        return {
            "name": study.name,
            "state": now.state,
            "seq": study.seq,
            "problem": to_data(study.problem),
            "status": status_data(now.status),
            "decision": decision_data(now.decision),
            "pending": [round_data(one) for one in now.pending],
            "arms": finite(now.rows("arm")) if arms else None,
        }


@router.get("/studies/{name}", summary="A study at one moment: status, decision, pending rounds.")
async def study(desk: At, person: Reader, name: Name, arms: bool = False) -> Response:
    """Return the problem, the status, the decision and the pending rounds, all of one moment."""
    return ApiResponse(await desk.look(name, lambda one: overview(one, arms)))


# ---- rounds


@verbs.post("/studies/{name}/ask", summary="What to measure next.")
async def ask(call: Measuring, body: bodies.Ask) -> Response:
    """Return up to `n` rounds to measure. Open rounds of the same client come first."""
    who, n = body.client or call.person.name, body.n
    within(n or 0, "rounds", call.desk.limits.rounds)

    def verb(study: Study) -> Any:
        most = 1 if n is None else n
        return [round_data(one) for one in study.ask(most, who, body.lease, body.replicates)]

    rounds = await call.do(verb)
    if n is None and not rounds:
        state = await call.desk.look(call.name, lambda study: study.state)
        raise nothing_to_ask(call.name, state)
    return ApiResponse({"rounds": rounds})


@verbs.post("/studies/{name}/tell", summary="What came out of rounds.")
async def tell(call: Measuring, body: bodies.Tell) -> Response:
    """Store the results of rounds, all or none, and return what was new."""
    who = body.client or call.person.name
    within(len(body.rounds), "rounds", call.desk.limits.rounds)

    def verb(study: Study) -> dict[int, dict[int, Entry]]:
        told = [(meant(one), values_of(study, one.values)) for one in body.rounds]
        return study.tell_many(told, body.final, who)

    return ApiResponse({"stored": await call.do(verb)})


def meant(body: Any) -> Todo:
    """Return the round that a body names."""
    return Todo(body.round, mark_of(body.mark))


def values_of(study: Study, values: Mapping[str, Any]) -> dict[str | int, Any]:
    """Return the values by arm; an arm is a number where it is not a name."""
    for _ in tables(values, 4):
        pass
    names = set(study.problem.names or ())
    return {arm_of(arm, names): told_from(value) for arm, value in values.items()}


def arm_of(arm: str, names: set[str]) -> str | int:
    """Return an arm as a number, unless it is a name."""
    number = arm.isascii() and arm.isdecimal() and len(arm) < 16
    return int(arm) if number and arm not in names else arm


@verbs.post("/studies/{name}/fail", summary="A round did not work.")
async def fail(call: Measuring, body: bodies.Fail) -> Response:
    """Report that a round failed."""
    who = body.client or call.person.name
    await call.do(lambda one: one.fail(meant(body), body.reason, body.retry, who))
    return ApiResponse({})


@verbs.post("/studies/{name}/observe", summary="Data that were measured outside the study.")
async def observe(call: Measuring, body: bodies.Observe) -> Response:
    """Store data that were measured outside the study, and return their number."""
    who = body.client or call.person.name

    def verb(study: Study) -> int:
        values = values_of(study, body.values)
        return study.observe(values, body.reason, who, body.allow_duplicates, body.planned)

    return ApiResponse({"number": await call.do(verb)})


@verbs.post("/studies/{name}/retract", summary="Take back what was told of a round or an arm.")
async def retract(call: Measuring, body: bodies.Retract) -> Response:
    """Retract the results of a round or of an arm."""
    who = body.client or call.person.name

    def verb(study: Study) -> None:
        names = set(study.problem.names or ())
        arm = arm_of(body.arm, names) if isinstance(body.arm, str) else body.arm
        which = None if body.round is None else meant(body)
        study.retract(which, body.reason, arm=arm, client=who)

    await call.do(verb)
    return ApiResponse({})


# ---- limits and the end


@verbs.post("/studies/{name}/extend", summary="More rounds, or more time.")
async def extend(call: Leading, body: bodies.Extend) -> Response:
    """Raise the limits of a study."""
    who = body.client or call.person.name
    rounds = math.inf if body.max_rounds == "none" else body.max_rounds
    end = math.inf if body.deadline == "none" else body.deadline

    def verb(study: Study) -> None:
        study.extend(rounds, end, reason=body.reason, client=who)  # type: ignore[arg-type]

    await call.do(verb)
    return ApiResponse({})


@verbs.post("/studies/{name}/stop", summary="End the study by hand.")
async def stop(call: Leading, body: bodies.Stop) -> Response:
    """End a study by hand."""
    who = body.client or call.person.name
    await call.do(lambda study: study.stop(body.reason, who))
    return ApiResponse({})


# ---- views


@router.get("/studies/{name}/status", summary="Where it stands, and what to do next.")
async def status(desk: At, person: Reader, name: Name) -> Response:
    """Return the status of a study."""
    return ApiResponse(await desk.look(name, lambda study: status_data(study.status)))


@router.get("/studies/{name}/decision", summary="Why it stopped; null while it runs.")
async def decision(desk: At, person: Reader, name: Name) -> Response:
    """Return the decision of a study, or null while it runs."""
    return ApiResponse(await desk.look(name, lambda study: decision_data(study.decision)))


@router.get("/studies/{name}/state", summary="running, certified, budget, deadline or by hand.")
async def state(desk: At, person: Reader, name: Name) -> Response:
    """Return the state of a study."""
    return ApiResponse({"state": await desk.look(name, lambda study: study.state)})


@router.get("/studies/{name}/pending", summary="The rounds that are out.")
async def pending(desk: At, person: Reader, name: Name) -> Response:
    """Return the pending rounds."""
    rounds = await desk.look(name, lambda study: [round_data(one) for one in study.pending])
    return ApiResponse({"rounds": rounds})


@router.get("/studies/{name}/estimates", summary="One row per arm, with its interval.")
async def estimates(desk: At, person: Reader, name: Name) -> Response:
    """Return the estimates of all arms with their intervals."""
    rows = await desk.look(name, lambda study: [x._asdict() for x in study.status.estimates])
    return ApiResponse({"estimates": finite(rows)})


@router.get("/studies/{name}/events", summary="What has happened, page by page.")
async def events(
    desk: At,
    person: Reader,
    name: Name,
    after: Annotated[int, Query(ge=0, lt=2**53)] = 0,
    most: Annotated[int, Query(ge=1, le=PAGE)] = 100,
) -> Response:
    """Return the events after a number, and the number to continue from."""
    some = await desk.look(name, lambda study: study.events(after, most + 1))
    page = [event_data(one) for one in some[:most]]
    return ApiResponse({"events": page, "next": page[-1]["seq"] if len(some) > most else None})


@router.get("/studies/{name}/rows", summary="One row per round and arm, per arm, or per event.")
async def rows(desk: At, person: Reader, name: Name, level: str = "round") -> Response:
    """Return the rows of the level "round", "arm" or "event"."""
    return ApiResponse({"rows": finite(await desk.aside(name, lambda study: study.rows(level)))})


@router.get("/studies/{name}/history", summary="The evidence after everything that was told.")
async def history(desk: At, person: Reader, name: Name) -> Response:
    """Return the evidence after every reported round."""
    return ApiResponse({"history": finite(await desk.aside(name, lambda one: one.history()))})


@router.get("/studies/{name}/replay", summary="Decide everything again, from the events alone.")
async def replay(desk: At, person: Reader, name: Name, head: str | None = None) -> Response:
    """Decide the whole study again from its events, and return the differences."""
    return ApiResponse(await desk.aside(name, lambda study: replay_data(study.replay(head))))


FORMS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


@router.get("/studies/{name}/export", summary="All of it as JSON, or the rows of a level as CSV.")
async def export(
    desk: At, person: Reader, name: Name, form: str = "json", level: str = "event"
) -> Response:
    """Return the whole study as JSON, or the rows of a level as CSV."""
    if form not in FORMS:
        raise unknown_name("form", form, FORMS)

    def view(study: Study) -> str:
        with study.view(history=True) as now:
            return now.export(None, level, form)

    return Response(await desk.aside(name, view), media_type=FORMS[form])


PRINTED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


@router.get("/studies/{name}/report", summary="A page to hand on.")
async def report(desk: At, person: Reader, name: Name, unit: str | None = None) -> Response:
    """Return the report of a study as an HTML page."""
    if unit is not None:
        check_text("unit", unit, "a text, such as 'mg/l'")

    headers = {"content-security-policy": PRINTED}
    text = await desk.aside(name, lambda study: study.report(unit=unit))
    return Response(text, media_type="text/html; charset=utf-8", headers=headers)


# ---- live


EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}
}


@router.get("/changes", summary="Live changes of all studies.", responses=EVENTS)
async def all_changes(asked: Asked, person: Reader) -> Response:
    """Stream the changes of all studies as server-sent events."""
    return await streamed(asked, person, None, None)


@router.get("/studies/{name}/changes", summary="Live changes of a study.", responses=EVENTS)
async def changes(
    asked: Asked,
    person: Reader,
    name: Name,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Stream the changes of a study as server-sent events."""
    return await streamed(asked, person, name, last_event_id)


async def streamed(asked: Asked, person: User, name: str | None, last: str | None) -> Response:
    """Return a stream of `change` events with data {"name": ..., "seq": ...}.

    The stream of one study begins with its current event, unless the client knows that one already.
    It ends when the token is revoked or the log-in is over.
    """
    desk, people = await desk_of(asked), people_of(asked)
    desk.changes.check_room()
    if name is not None:
        await desk.look(name, lambda study: study.state)  # raises an error if there is no study

    async def lines() -> AsyncIterator[str]:
        looked = time.monotonic()
        with desk.changes.subscribe(name) as queue:
            yield "retry: 2000\n\n"
            begins = {} if name is None else await desk.run_in_pool(desk.shelf.last, [name])
            for one, seq in begins.items():
                if str(seq) != last:
                    yield line(one, seq)
            async for change in desk.changes.stream(queue):
                if time.monotonic() - looked > FRESH:
                    if not await people.knows(person):
                        return
                    looked = time.monotonic()
                yield ": still here\n\n" if change is None else line(*change)

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(lines(), media_type="text/event-stream", headers=headers)


def line(name: str, seq: int) -> str:
    """Return a change as a server-sent event."""
    return f"event: change\nid: {seq}\ndata: {json.dumps({'name': name, 'seq': seq})}\n\n"


def bad_body(place: str, why: str) -> InputError:
    """Return the error that a part of a request is invalid."""
    text = "{place}: {why}"
    remedy = "the interface is described in /api/v1/openapi.json"
    return InputError("bad-request", text, remedy=remedy, place=place, why=why)
