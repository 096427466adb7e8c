"""Many cases of every kind, and a table of what became of them."""

import platform
import signal
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from combgame._display.text import aligned, markdown

from .case import Foreign, Maker, tried
from .constructors import constructor, problem_verb, structure_verb
from .files import campaign_file, plain_data, problem_file, table
from .operations import opening, operations
from .stored import campaign_bytes, forget, study_bytes, study_cells

KINDS: dict[str, tuple[Maker, int]] = {  # and how many of a hundred cases are of it
    "constructors": (constructor, 40),
    "structures": (structure_verb, 9),
    "problems": (problem_verb, 7),
    "data": (plain_data, 14),
    "problem files": (problem_file, 9),
    "campaign files": (campaign_file, 5),
    "tables": (table, 8),
    "operations": (operations, 3),
    "storages": (opening, 1),
    "bytes of studies": (study_bytes, 2),
    "cells of studies": (study_cells, 1),
    "bytes of campaigns": (campaign_bytes, 1),
}
PATIENCE = 120.0  # seconds for one case, on a busy machine too; nobody waits for ever


class EndlessError(Exception):
    """A case that does not come to an end."""


@dataclass
class Tally:
    """What became of the cases of a kind."""

    cases: int = 0
    made: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    foreign: list[Foreign] = field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0


def fuzz(
    cases: int,
    seed: int = 0,
    kinds: Sequence[str] = (),
    said: Callable[[Foreign], Any] = lambda one: None,
) -> dict[str, Tally]:
    """So many cases, shared among the kinds. said: called with every foreign exception.

    >>> tallies = fuzz(20, kinds=["constructors"])
    >>> tallies["constructors"].cases, tallies["constructors"].foreign
    (20, [])
    """
    chosen = {name: KINDS[name] for name in kinds or KINDS}
    whole = sum(share for _, share in chosen.values())
    tallies: dict[str, Tally] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, (make, share) in chosen.items():
            tallies[name] = tally = Tally()
            with tempfile.TemporaryDirectory() as place:
                for number in range(round(cases * share / whole)):
                    _one(tally, name, make, seed, number, Path(place), said)
    forget()
    return tallies


def again(kind: str, seed: int, number: int, folder: Path) -> Foreign | str:
    """One case, as it was made before."""
    return tried(kind, KINDS[kind][0], seed, number, folder)


def _one(
    tally: Tally, kind: str, make: Maker, seed: int, number: int, place: Path, said: Any
) -> None:
    folder = place / str(number)
    folder.mkdir()
    began = time.perf_counter()
    with _limited(PATIENCE):
        outcome = tried(kind, make, seed, number, folder)
    lasted = time.perf_counter() - began
    tally.cases += 1
    tally.seconds += lasted
    tally.slowest = max(tally.slowest, lasted)
    if isinstance(outcome, Foreign):
        tally.foreign.append(outcome)
        said(outcome)
    elif outcome == "made":
        tally.made += 1
    else:
        tally.codes[outcome] += 1
    _empty(folder)


def _empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """An exception after so many seconds, where the system has alarms."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def late(*_: Any) -> None:
        raise EndlessError(f"not finished after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


HEAD = ["kind", "cases", "done", "refused", "codes", "foreign", "seconds", "slowest"]
Table = Callable[[list[str], list[list[str]]], str]


def summary(tallies: dict[str, Tally], table: Table = aligned) -> str:
    """A table: what was tried, what was made, what was refused and how, what was foreign."""
    cells = [
        [
            name,
            f"{one.cases:,}",
            f"{one.made:,}",
            f"{one.codes.total():,}",
            str(len(one.codes)),
            str(len(one.foreign)),
            f"{one.seconds:.1f}",
            f"{one.slowest:.2f}",
        ]
        for name, one in tallies.items()
    ]
    return table(HEAD, cells)


def page(tallies: dict[str, Tally], command: str) -> str:
    """The table in Markdown, with the command that made it and what there was in all."""
    every = tallies.values()
    cases, foreign = sum(one.cases for one in every), sum(len(one.foreign) for one in every)
    codes = set[str]().union(*(one.codes for one in every))
    return (
        f"Made by `{command}`, Python {platform.python_version()}.\n\n"
        f"{cases:,} cases in {sum(one.seconds for one in every) / 60.0:.0f} minutes: {foreign:,} "
        f"exceptions that are not of this package, refusals with {len(codes):,} codes.\n\n"
        f"{summary(tallies, markdown)}\n"
    )
