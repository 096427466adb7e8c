"""Templates filled in: every text is escaped, and the pictures of `lab/report/` are all that is
not.

What the addresses of the page share: who asks, the desk, and the way back.
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
DONE = {  # what was done, as the page after it says
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
    """Which role may do what."""

    read, measure, manage, create = "read", "measure", "admin", "admin"


def study_path(name: str) -> str:
    return f"/studies/{in_path(name)}"


def when(at: float, age: bool = False) -> Markup:
    """A moment, in UTC; a script turns it into the reader's zone, or into how long ago it was.

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
    """A page for somebody."""
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
    """What was done just now: a code and a number in the address, and nothing else of it."""
    said = DONE.get(request.query_params.get("done", ""), "")
    n = request.query_params.get("n", "0")[:12]
    if not said or not n.isdecimal():
        return ""
    return said.format(count(int(n), "value") if said == DONE["stored"] else int(n))


Reader = Annotated[User, Depends(allowed("read"))]
Measurer = Annotated[User, Depends(allowed("measure"))]
Admin = Annotated[User, Depends(allowed("admin"))]


def desk_of(request: Request) -> StudyPool:
    desk: StudyPool = request.app.state.desk
    return desk


At = Annotated[StudyPool, Depends(desk_of)]


def kept_of(request: Request) -> views.ViewCache:
    if not hasattr(request.app.state, "kept"):
        request.app.state.kept = views.ViewCache()
    kept: views.ViewCache = request.app.state.kept
    return kept


def back(name: str, done: str = "", n: int = 0) -> Response:
    """To the page of a study, after something was done."""
    return RedirectResponse(study_path(name) + (f"?done={done}&n={n}" if done else ""), 303)


def attached(content: str | bytes, kind: str, file: str) -> Response:
    """A file to keep, under a name that every system can have."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_. ") else "_" for c in file)
    whole = f"attachment; filename=\"{short(plain, 80)}\"; filename*=UTF-8''{quote(file, safe='')}"
    header = whole.encode("ascii", "ignore").decode()
    return Response(content, media_type=kind, headers={"content-disposition": header})


def once_of(request: Request, form: Any, person: User, said: str) -> Once | None:
    """The same form sent twice is done once."""
    key = str(form.get("once", ""))[:100]
    if not key:
        return None
    mine = hashlib.sha256(f"form\n{person.name}\n{key}".encode()).hexdigest()
    digest = hashlib.sha256(f"{request.url.path}\n{said}".encode()).hexdigest()
    return Once(mine, digest)


def whole_of(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None
