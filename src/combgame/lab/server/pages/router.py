"""All routes of the web pages, with log-in, static files and error pages."""

from urllib.parse import quote

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse, RedirectResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ....errors import AccessError, CombGameError
from ..auth import Authenticator
from ..errors import code_of
from . import actions as reasons
from . import create_form as starting
from . import results as measuring
from . import studies as looking
from .rendering import HERE, STATIC, Reader, page
from .wording import PAGE

router = APIRouter(include_in_schema=False)
FILES = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


@router.get("/login")
async def log_in_page(request: Request, next: str = "/") -> Response:
    """Show the log-in form, or redirect if the user is logged in."""
    people: Authenticator = request.app.state.people
    if not people.needed or await people.who(request) is not None:
        return RedirectResponse(_inside(next), 303)
    return page(request, "login.html", None, next=_inside(next), error="")


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Log in with the token of the form."""
    form = await request.form()
    goal = _inside(str(form.get("next", "/")))
    try:
        session = await request.app.state.people.log_in(request, str(form.get("token", "")))
    except AccessError as error:
        return page(
            request, "login.html", None, code_of(error), next=goal, error=error.render(PAGE)
        )
    request.state.cookie = session
    return RedirectResponse(goal, 303)


@router.post("/logout")
async def log_out(request: Request, person: Reader) -> Response:
    """Log out."""
    await request.app.state.people.log_out(person.session)
    return RedirectResponse("/login", 303)


def _inside(address: str) -> str:
    """Return the address if it belongs to this service, otherwise the start page.

    >>> _inside("/studies/a"), _inside("//elsewhere"), _inside("https://elsewhere")
    ('/studies/a', '/', '/')
    """
    inside = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if inside and address.isprintable() else "/"


for one in (starting, looking, measuring, reasons):  # the last one matches every other address
    router.include_router(one.router)


async def refused(request: Request, error: CombGameError) -> Response | None:
    """Return an error as a page, or None if it must be sent as JSON."""
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
    return page(
        request, "error.html", person, code, error=error.render(PAGE), code=code, back=before
    )


def _here(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


@router.get(STATIC + "/{file}")
async def static(file: str) -> Response:
    """Return a static file."""
    if file not in FILES:
        raise HTTPException(404)
    return FileResponse(
        HERE / "static" / file,
        media_type=FILES[file],
        headers={"cache-control": "public, max-age=300"},
    )
