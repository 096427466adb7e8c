"""Rendering of the pages' templates, and what the routes of the pages share.

Every text is escaped; only the figures of `lab/report/` are inserted as they are.
"""

import hashlib
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import Markup
from starlette.requests import Request

from ...._display.html import environment
from ...._display.plotting import short
from ...._display.text import count
from ...._version import __version__
from ....storage.transaction import IdempotencyKey as Once
from ..auth import User, allowed
from ..middleware import in_path
from ..workers import StudyPool
from . import views

HERE = Path(__file__).parent
STATIC = "/static"
DONE = {  # confirmations of actions
    "stored": "{} stored.",
    "outside": "Stored as number {}, by which it can be taken back.",
    "failed": "Round {} failed; it is asked again.",
    "given-up": "Round {} is given up.",
    "released": "Round {} is released: whoever takes the next round gets it.",
    "retracted": "Taken back.",
    "stopped": "The study is stopped.",
    "more": "The study may go on.",
    "created": "The study is made. Take the first round when you are ready.",
    "none": "There is no round to take now.",
}


class RoleContext:
    """Role that every action needs, for the templates."""

    read, measure, manage, create = "read", "measure", "admin", "admin"


def study_path(name: str) -> str:
    """Return the path of a study's page."""
    return f"/studies/{in_path(name)}"


def when(at: float, age: bool = False) -> Markup:
    """Return a time in UTC as an HTML element.

    A script shows it in the reader's time zone, or (`age`) as the time that has passed since then.

    >>> print(when(0.0))
    <time datetime="1970-01-01T00:00:00Z">1970-01-01 00:00 UTC</time>
    """
    moment = datetime.fromtimestamp(at, UTC)
    kind = Markup(" data-age") if age else ""
    return Markup('<time datetime="{}Z"{}>{} UTC</time>').format(
        moment.strftime("%Y-%m-%dT%H:%M:%S"), kind, moment.strftime("%Y-%m-%d %H:%M")
    )


TEMPLATES = environment(HERE / "templates")
TEMPLATES.filters |= {
    "study_path": study_path,
    "when": when,
    "counted": count,
    "thousands": "{:,}".format,
}
TEMPLATES.globals |= {"version": __version__, "static": STATIC, "roles": RoleContext}


def page(
    request: Request, template: str, person: User | None, status: int = 200, **known: Any
) -> HTMLResponse:
    """Return a page for a user."""
    field = Markup('<input type="hidden" name="csrf" value="{}">').format(
        "" if person is None else person.form_token
    )
    text = TEMPLATES.get_template(template).render(
        person=person,
        locked=request.app.state.people.needed,
        token=lambda: field,
        once=secrets.token_urlsafe(12),
        done=done(request),
        **{"here": "", **known},
    )
    return HTMLResponse(text, status)


def done(request: Request) -> str:
    """Return the confirmation of the last action.

    The address names it by a code and a number, and no other text of the address is shown.
    """
    said = DONE.get(request.query_params.get("done", ""), "")
    n = request.query_params.get("n", "0")[:12]
    if not said or not n.isdecimal():
        return ""
    return said.format(count(int(n), "value") if said == DONE["stored"] else int(n))


Reader = Annotated[User, Depends(allowed("read"))]
Measurer = Annotated[User, Depends(allowed("measure"))]
Admin = Annotated[User, Depends(allowed("admin"))]


def desk_of(request: Request) -> StudyPool:
    """Return the pool of studies."""
    desk: StudyPool = request.app.state.desk
    return desk


At = Annotated[StudyPool, Depends(desk_of)]


def kept_of(request: Request) -> views.ViewCache:
    """Return the cache of views."""
    if not hasattr(request.app.state, "kept"):
        request.app.state.kept = views.ViewCache()
    kept: views.ViewCache = request.app.state.kept
    return kept


def back(name: str, done: str = "", n: int = 0) -> Response:
    """Redirect to the page of a study after an action."""
    return RedirectResponse(study_path(name) + (f"?done={done}&n={n}" if done else ""), 303)


def attached(content: str | bytes, kind: str, file: str) -> Response:
    """Return a file to download, with a name that every system accepts."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_. ") else "_" for c in file)
    whole = f"attachment; filename=\"{short(plain, 80)}\"; filename*=UTF-8''{quote(file, safe='')}"
    header = whole.encode("ascii", "ignore").decode()
    return Response(content, media_type=kind, headers={"content-disposition": header})


def once_of(request: Request, form: Any, person: User, said: str) -> Once | None:
    """Return the idempotency key of a form, so that a form that is sent twice takes effect once."""
    key = str(form.get("once", ""))[:100]
    if not key:
        return None
    mine = hashlib.sha256(f"form\n{person.name}\n{key}".encode()).hexdigest()
    digest = hashlib.sha256(f"{request.url.path}\n{said}".encode()).hexdigest()
    return Once(mine, digest)


def whole_of(text: str) -> int | None:
    """Return the integer that a text consists of, or None."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None
