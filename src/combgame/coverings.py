"""The start of a run (INIT in Algorithm 1): which actions are played before the rule begins to choose."""

import numpy as np

from .errors import UnknownNameError
from .protocols import Floats, Random
from .structures import StructureBase
from .structures.base import vector

STARTS = ("covering", "full", "random-covering")
FULL_LIMIT = 250_000


def start_sets(start: str, actions: StructureBase, rng: Random | None) -> list[tuple[int, ...]]:
    """covering: as few actions as see every arm; full: every action once; random-covering: at random until all are seen."""
    if start == "covering":
        return actions.covering()
    if start == "full":
        return actions.sets(FULL_LIMIT)
    if start == "random-covering":
        return actions.random_covering(rng if rng is not None else np.random.default_rng(0))
    raise UnknownNameError(f"start = {start!r} is not known; use one of {', '.join(map(repr, STARTS))}.")


def matrix(sets: list[tuple[int, ...]], d: int) -> Floats:
    """One 0/1 row per set."""
    return np.array([vector(chosen, d) for chosen in sets]).reshape(len(sets), d)


def in_order(start: str, rows: Floats, rng: Random) -> Floats:
    """A full start goes through the actions in random order: the order of a listing would favour the first arms."""
    return rows[rng.permutation(len(rows))] if start == "full" else rows
