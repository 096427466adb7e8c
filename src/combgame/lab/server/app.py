"""ASGI application of the service."""

import importlib
import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ..._version import __version__
from ...errors import CombGameError, UnknownNameError, missing_extra
from ..client._wire import error_data
from .settings import ServerSettings

try:
    from fastapi import Depends, FastAPI, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from prometheus_client import CONTENT_TYPE_LATEST
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
except ImportError:
    raise missing_extra("the service", "server") from None

from .api import bad_body, making, router, verbs
from .auth import Authenticator, allowed
from .errors import code_of, served
from .middleware import SecurityMiddleware
from .telemetry import Metrics
from .workers import StudyPool


def create_app(
    storage: str,
    *,
    tokens: bool | None = None,
    limits: ServerSettings | None = None,
    engine: str = "auto",
    local: bool = True,
) -> FastAPI:
    """Return the ASGI application for a storage.

    Parameters
    ----------
    storage : str
        URL of the storage.
    tokens : bool, optional
        If True, every request needs a token. By default, requests need one if any exists.
    limits : ServerSettings, optional
        Limits of the service.
    engine : str, default="auto"
        Engine of the studies.
    local : bool, default=True
        If True, and if no tokens are needed, only requests to a name of this machine are accepted.

    Returns
    -------
    FastAPI
        The application.
    """
    desk, metrics = StudyPool(storage, limits or ServerSettings(), engine), Metrics()
    needed = bool(desk.shelf.tokens()) if tokens is None else tokens

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await desk.start()
        yield
        await desk.stop()

    app = FastAPI(
        title="combgame",
        version=__version__,
        description="Studies that say what to measure next, and when the answer is certain.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # the page of FastAPI loads scripts from other sites
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.desk, app.state.people, app.state.metrics = desk, Authenticator(desk, needed), metrics
    app.state.local = local and not needed
    app.include_router(verbs)  # first, because these routes are used most
    app.include_router(making)
    app.include_router(router)
    app.state.pages = None
    if importlib.util.find_spec(f"{__package__}.pages") is not None:
        app.state.pages = importlib.import_module(f"{__package__}.pages")
        app.include_router(app.state.pages.router)
    _look_after(app)
    app.add_exception_handler(CombGameError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _none)
    app.add_middleware(
        SecurityMiddleware, limits=desk.limits, metrics=metrics, local=app.state.local
    )
    return app


def _look_after(app: FastAPI) -> None:
    desk: StudyPool = app.state.desk

    @app.get("/health", include_in_schema=False)
    async def health() -> dict[str, str]:
        return {"state": "alive"}

    @app.get("/ready", include_in_schema=False)
    async def ready() -> dict[str, str]:
        await desk.run_in_pool(desk.shelf.last, [])  # raises an error if the database is away
        return {"state": "ready"}

    @app.get("/metrics", include_in_schema=False, dependencies=[Depends(allowed("read"))])
    async def metrics() -> Response:
        gauges = {"watchers": len(desk.changes), "open_studies": desk.open}
        return Response(app.state.metrics.text(**gauges), media_type=CONTENT_TYPE_LATEST)


async def _refused(request: Request, error: Any) -> Response:
    """Answer with an error: as a page for browsers, as JSON for programs."""
    error = served(error)
    shown = getattr(request.app.state.pages, "refused", None)
    if shown is not None and "text/html" in request.headers.get("accept", ""):
        page: Response | None = await shown(request, error)
        if page is not None:
            return page
    code = code_of(error)
    headers = {"www-authenticate": "Bearer"} if code == 401 else {}
    if code in (429, 503):
        headers["retry-after"] = "5"
    return JSONResponse({"error": error_data(error)}, code, headers)


async def _invalid(request: Request, error: Any) -> Response:
    first = error.errors()[0]
    place = ".".join(str(one) for one in first["loc"])
    if first["type"] == "json_invalid":
        place = "body"
    return await _refused(request, bad_body(place, first["msg"]))


async def _none(request: Request, error: Any) -> Response:
    if error.status_code == 405:
        text = "this address does not take {method}"
        said = CombGameError("no-method", text, method=request.method)
    elif error.status_code == 404:
        said = UnknownNameError("no-page", "there is nothing at this address")
    else:
        said = bad_body("body", str(error.detail))
    return await _refused(request, said)
