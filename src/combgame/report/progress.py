"""Progress bars."""

import sys
from collections.abc import Iterator
from typing import Any

from ..errors import either


def shows_bar(progress: bool | None) -> bool:
    """Whether to show a progress bar: as asked, and on a terminal if nothing is."""
    return sys.stderr.isatty() if progress is None else either("progress", progress)


def bar(outcomes: Iterator[Any], runs: int, label: str, progress: bool | None) -> Iterator[Any]:
    if not shows_bar(progress):
        return outcomes
    from tqdm.auto import tqdm

    return iter(tqdm(outcomes, total=runs, desc=label[:40], unit="run", delay=2.0))
