"""Log in and log out."""

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse
from starlette.requests import Request

from ....errors import AccessError
from ..auth import Authenticator
from ..errors import code_of
from .rendering import Reader, page
from .wording import PAGE

router = APIRouter(include_in_schema=False)


@router.get("/login")
async def log_in_page(request: Request, next: str = "/") -> Response:
    people: Authenticator = request.app.state.people
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
        return page(
            request, "login.html", None, code_of(error), next=goal, error=error.render(PAGE)
        )
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
