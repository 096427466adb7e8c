"""What the addresses of the page share: who asks, the desk, and the way back."""

import hashlib
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Response
from fastapi.responses import RedirectResponse
from starlette.requests import Request

from ...report.arms import short
from ...storage.requests import Request as Once
from ..desk import Desk
from ..people import Person, allowed
from . import views
from .rendering import study_path

Reader = Annotated[Person, Depends(allowed("read"))]
Measurer = Annotated[Person, Depends(allowed("measure"))]
Admin = Annotated[Person, Depends(allowed("admin"))]


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


def attached(content: str | bytes, kind: str, file: str) -> Response:
    """A file to keep, under a name that every system can have."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_. ") else "_" for c in file)
    whole = f"attachment; filename=\"{short(plain, 80)}\"; filename*=UTF-8''{quote(file, safe='')}"
    header = whole.encode("ascii", "ignore").decode()
    return Response(content, media_type=kind, headers={"content-disposition": header})


def once_of(request: Request, form: Any, person: Person, said: str) -> Once | None:
    """The same form sent twice is done once."""
    key = str(form.get("once", ""))[:100]
    if not key:
        return None
    mine = hashlib.sha256(f"form\n{person.name}\n{key}".encode()).hexdigest()
    digest = hashlib.sha256(f"{request.url.path}\n{said}".encode()).hexdigest()
    return Once(mine, digest)


def whole_of(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None
