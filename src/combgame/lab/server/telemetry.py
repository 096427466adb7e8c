"""Log and metrics of a service.

The log has one line of JSON per event, including the log records and warnings of other libraries.
It never contains secrets: no query string, no header, no body.
"""

import json
import logging
import traceback
import warnings
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ...errors import Notice

LOGGER = logging.getLogger("combgame.lab.server")
LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS")


def log(level: str, event: str, trace: BaseException | None = None, **fields: Any) -> None:
    """Write an event to the log, without the fields that are None.

    Of the exception `trace`, only the places of its last six frames are logged, no values.
    """
    if LOGGER.isEnabledFor(LEVELS[level]):
        known = {name: value for name, value in fields.items() if value is not None}
        if trace is not None:
            known["at"] = [
                f"{one.filename.rpartition('combgame/')[2]}:{one.lineno} {one.name}"
                for one in traceback.extract_tb(trace.__traceback__)[-6:]
            ]
        LOGGER.log(LEVELS[level], "%s", _line(level, event, known))


def _line(level: str, event: str, known: dict[str, Any]) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, "level": level, "event": event, **known}, default=str)


class Others(logging.Formatter):
    """Formatter for the log records of other libraries; of an exception it keeps the class only."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line of JSON."""
        kind = record.exc_info[0] if record.exc_info else None
        known = {"by": record.name, "text": record.getMessage()}
        if kind is not None:
            known["error"] = kind.__name__
        return _line(record.levelname.lower(), "logged", known)


def to_stderr() -> None:
    """Write the log, all other log records, and warnings to stderr."""
    for logger, formatter in (
        (LOGGER, logging.Formatter("%(message)s")),
        (logging.getLogger(), Others()),
    ):
        handler = logging.StreamHandler()
        handler.setFormatter(formatter)
        logger.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    warnings.showwarning = noticed


def noticed(message: Warning | str, category: type[Warning], *about: Any, **more: Any) -> None:
    """Log a warning of Python; a `Notice` of combgame is logged with its code."""
    if isinstance(message, Notice):
        sentence = message.sentence
        log("warning", "noticed", code=sentence.code, text=sentence.render())
    else:
        log("warning", "warned", category=category.__name__, text=str(message))


class Metrics:
    """Number and duration of the requests of one application, for Prometheus.

    Every instance has a registry of its own.
    """

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        name, text = "combgame_requests", "Requests by route and status."
        self._requests = Counter(name, text, ["method", "route", "status"], registry=own)
        name, text = "combgame_request_seconds", "How long requests took."
        self._seconds = Histogram(name, text, ["route"], registry=own)
        self._gauges: dict[str, Gauge] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request and the seconds that it took."""
        self._requests.labels(method if method in METHODS else "other", route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self, **gauges: float) -> bytes:
        """Return all metrics in the text format of Prometheus, with these values of gauges."""
        for name, value in gauges.items():
            if name not in self._gauges:
                text = name.replace("_", " ").capitalize() + "."
                self._gauges[name] = Gauge(f"combgame_{name}", text, registry=self._registry)
            self._gauges[name].set(value)
        return generate_latest(self._registry)
