"""The start of a run (INIT in Algorithm 1): which actions are played before the rule begins to
choose.
"""

import numpy as np

from ..errors import unknown
from ..game.records import Ints, Random
from ..structures import StructureBase

STARTS = ("covering", "full", "random-covering")
FULL_LIMIT = 250_000


def start_sets(start: str, actions: StructureBase, rng: Random | None) -> list[tuple[int, ...]]:
    """covering: as few actions as see every arm; full: every action once; random-covering: at
    random until all are seen.
    """
    if start == "covering":
        return actions.covering()
    if start == "full":
        return actions.sets(FULL_LIMIT)
    if start == "random-covering":
        return actions.random_covering(rng if rng is not None else np.random.default_rng(0))
    raise unknown("start", start, STARTS)


def check_start(of: str, start: object) -> None:
    """Say in a sentence that there is no such start."""
    if not isinstance(start, str) or start not in STARTS:
        raise unknown("start", start, STARTS, of=of)


def padded(sets: list[tuple[int, ...]]) -> Ints:
    """One row of arms per set, filled up with -1: linear in the number of arms, which 0/1 rows
    would not be.
    """
    rows = np.full((len(sets), max(map(len, sets))), -1, dtype=np.int64)
    for row, chosen in zip(rows, sets, strict=True):
        row[: len(chosen)] = chosen
    return rows


def in_order(start: str, rows: Ints, rng: Random) -> Ints:
    """A full start goes through the actions in random order: the order of a listing would favour
    the first arms.
    """
    return rows[rng.permutation(len(rows))] if start == "full" else rows
