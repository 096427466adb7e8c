"""The log of a service: a line of JSON for everything that happens. No secret is ever in it: no
query, no header, no body.
"""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("combgame.server")
LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def log(level: str, event: str, trace: BaseException | None = None, **fields: Any) -> None:
    """What has happened, with what is known of it."""
    if LOGGER.isEnabledFor(LEVELS[level]):
        known = {name: value for name, value in fields.items() if value is not None}
        if trace is not None:  # where, and not with what
            known["at"] = [
                f"{one.filename.rpartition('combgame/')[2]}:{one.lineno} {one.name}"
                for one in traceback.extract_tb(trace.__traceback__)[-6:]
            ]
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, "level": level, "event": event, **known}
        LOGGER.log(LEVELS[level], "%s", json.dumps(line, default=str))


def to_stderr() -> None:
    """Lines of JSON, one for each event."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
