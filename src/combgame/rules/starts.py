"""The start of a run (INIT in Algorithm 1): which actions are played before the rule begins to
choose.
"""

import numpy as np

from ..errors import unknown
from ..game.records import Ints, Random, arms_of
from ..structures import StructureBase
from ..structures.together import exchangeable

STARTS = ("covering", "full", "random-covering")
FULL_LIMIT = 250_000
TRIES, PATIENCE = 500, 100  # at a joining start: in all, and before another pass is added


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


def joining(actions: StructureBase, answers: StructureBase, rng: Random) -> list[tuple[int, ...]]:
    """Two random passes over the arms that together join all arms that are to be compared, so that
    within plays every two of them can be; a pass more where that does not come about.

    >>> import combgame as cg
    >>> plays = joining(cg.Subsets(6, 3), cg.Arms(6), np.random.default_rng(0))
    >>> len(plays), sorted(a for chosen in plays for a in chosen)
    (4, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    """
    plays = list[tuple[int, ...]]()
    for attempt in range(TRIES):
        passes = 2 + attempt // PATIENCE
        plays = [one for _ in range(passes) for one in _random_pass(actions, rng)]
        if _joined(plays, answers):
            break
    return plays


def _random_pass(actions: StructureBase, rng: Random) -> list[tuple[int, ...]]:
    part, out, missing = actions.part(), np.zeros(actions.d), np.zeros(actions.d)
    missing[sorted(actions.observable())] = 1.0
    plays = []
    while missing.any():
        part.argmax(float(actions.d) * missing + rng.random(actions.d), out)
        plays.append(arms_of(out))
        missing[out > 0.5] = 0.0
    return plays


def _joined(plays: list[tuple[int, ...]], answers: StructureBase) -> bool:
    """Whether plays join all arms of every group in which answers differ."""
    piece = np.arange(answers.d)
    for chosen in plays:
        met = np.unique(piece[list(chosen)])
        piece[np.isin(piece, met)] = met[0]
    return all(np.unique(piece[list(group)]).size == 1 for group in exchangeable(answers))
