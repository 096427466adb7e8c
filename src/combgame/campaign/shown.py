"""How far a campaign is, while it runs: a bar on a terminal and in a notebook; elsewhere, if it is
asked for, a line every half a minute.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..report.progress import Say, shows_bar
from .store import Chunk

TRYING = "compiling and trying each configuration"
Stored = Callable[[Chunk, float | None], None]  # a chunk is; about so many seconds are left


@contextmanager
def bar(runs: int, done: int, name: str, progress: bool | None, tell: Say) -> Iterator[Stored]:
    """For a campaign of `runs` runs, of which `done` are stored. tell: for lines."""
    tell(_line(done, runs, None))
    if not shows_bar(progress):

        def counted(chunk: Chunk, left: float | None) -> None:
            nonlocal done
            done += len(chunk.rows)
            tell(_line(done, runs, left))

        yield counted
        return
    from tqdm.auto import tqdm

    form = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs, {elapsed}{postfix}"
    with tqdm(total=runs, initial=done, desc=name, unit="run", bar_format=form) as drawn:
        began, made = time.perf_counter(), 0
        drawn.set_postfix_str(TRYING)

        def stored(chunk: Chunk, left: float | None) -> None:
            nonlocal made
            made += len(chunk.rows)
            rate = made / (time.perf_counter() - began)
            drawn.set_postfix_str(f"{rate:,.1f} runs/s, {_rest(left)}", refresh=False)
            drawn.update(len(chunk.rows))

        yield stored


def _line(done: int, runs: int, left: float | None) -> str:
    return f"{done:,} of {runs:,} runs are stored ({done / runs:.0%}), {_rest(left)}"


def _rest(left: float | None) -> str:
    return TRYING if left is None else f"about {duration(left)} left"


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(3), duration(150), duration(7000)
    ('3 s', '2 min 30 s', '1 h 56 min')
    """
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    minutes, rest = divmod(whole_seconds, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
