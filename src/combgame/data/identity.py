"""Data -> 16 hex digits that identify them."""

import hashlib
import json
from typing import Any

from .described import to_data


def identity(data: Any) -> str:
    """16 hex digits that are the same for the same data, on every machine, whatever the order of
    the keys.

    >>> identity({"rule": "lloo", "delta": 0.1}) == identity({"delta": 0.1, "rule": "lloo"})
    True
    """
    text = json.dumps(to_data(data), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
