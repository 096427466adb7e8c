"""Data -> 16 hex digits that identify them."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from .described import to_data


def identity(data: Any) -> str:
    """16 hex digits that are the same for the same data, on every machine, whatever the order of
    the keys.

    >>> identity({"rule": "lloo", "delta": 0.1}) == identity({"delta": 0.1, "rule": "lloo"})
    True
    """
    return hashlib.sha256(canonical(to_data(data)).encode()).hexdigest()[:16]


def canonical(data: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Data as JSON that is the same for the same data; default: for what JSON does not know."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), default=default)
