"""All addresses of the page; what was refused, as a page; and its own files."""

from urllib.parse import quote

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse, RedirectResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ....errors import CombGameError
from ..errors import code_of
from . import actions as reasons
from . import create as starting
from . import login as entrance
from . import results as measuring
from . import studies as looking
from .rendering import HERE, STATIC, page
from .wording import PAGE

router = APIRouter(include_in_schema=False)
FILES = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
for part in (entrance, starting, looking, measuring, reasons):  # the last takes what is left
    router.include_router(part.router)


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
    return page(
        request, "error.html", person, code, error=error.render(PAGE), code=code, back=before
    )


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
