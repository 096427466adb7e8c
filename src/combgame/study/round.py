"""A round as whoever measures it sees it."""

from dataclasses import dataclass

from ..problem import Problem
from .ledger import Open


@dataclass(frozen=True)
class Round:
    """What to measure: `arms`, which are called `names`. `left` are those of which nothing has been told yet."""

    id: int
    arms: tuple[int, ...]
    names: tuple[str, ...]
    left: tuple[int, ...]
    client: str | None = None
    until: float | None = None  # the end of the lease, in seconds since 1970


def as_round(problem: Problem, number: int, known: Open) -> Round:
    names = tuple(problem.names[a] if problem.names else str(a) for a in known.arms)
    return Round(number, tuple(known.arms), names, tuple(known.left), known.client, known.until)
