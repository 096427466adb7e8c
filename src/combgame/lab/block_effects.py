"""Blocks of rounds, for studies whose plays have batch effects (docs/plates.md).

A block is a number of rounds whose arms and replicates were fixed before the first value of any of
them: the initial design of a study, rounds that were asked for together, or rounds that the rule
fixed ahead. It counts when each of its rounds was reported or abandoned, and all blocks before it
count. Missing values drop out of its least squares, and so do readings beyond the replicates that
were asked for.

Blocks that do not count yet are kept as lists: the number of the first round, the number of rounds,
how many of them were assigned, and their replicates.
"""

from collections.abc import Collection, Mapping

import numpy as np

from .._messages import Message, OptionHint
from ..engine.block_effects import BatchEstimator
from ..engine.state import Floats
from ..errors import StudyError
from ..problem import Problem
from .round import RoundRecord, split


def commit(waiting: list[list[int]], block: list[int], replicates: int) -> None:
    """Note that a round of a block was assigned; all rounds of a block have as many replicates."""
    number, size = block
    known = next((one for one in waiting if one[0] == number), None)
    if known is None:
        waiting.append([number, size, 1, replicates])
    else:
        known[2] += 1


def unfinished(waiting: list[list[int]]) -> list[int] | None:
    """Return the block of which rounds are still to be assigned, if there is one."""
    return next((one for one in waiting if one[2] < one[1]), None)


def replicates_of(waiting: list[list[int]], number: int, usual: int, asked: int | None) -> int:
    """Return the replicates of a new round. In a block they were fixed with its first round.

    Parameters
    ----------
    waiting : list
        Blocks that do not count yet.
    number : int
        Number of the new round.
    usual : int
        Replicates of the study.
    asked : int, optional
        Replicates that the caller asks for.
    """
    current = unfinished(waiting)
    if current is None:
        return usual if asked is None else asked
    _, size, had, fixed = current
    if asked not in (None, fixed):
        raise StudyError(
            "replicates-fixed",
            "{rounds:count round} of the present block {rounds:is|are} still to be asked, and all "
            "rounds of a block have the same number of replicates, here {fixed}, because it was "
            "fixed before the first value",
            remedy="leave out {option}; another number is possible from round {then} on",
            rounds=size - had,
            fixed=fixed,
            option=OptionHint("replicates", asked),
            then=number + size - had,
        )
    return fixed


def count_blocks(
    blocks: BatchEstimator,
    waiting: list[list[int]],
    held: dict[int, RoundRecord],
    open_rounds: Mapping[int, RoundRecord],
    pivot: float | None = None,
) -> None:
    """Add the rounds of complete blocks to the estimator, in the order in which blocks were fixed.

    Parameters
    ----------
    blocks : BatchEstimator
        Estimator of the study. Updated.
    waiting : list
        Blocks that do not count yet. Those that are added are removed.
    held : dict of int to RoundRecord
        Rounds of these blocks that have ended. Those that are added are removed.
    open_rounds : mapping of int to RoundRecord
        Rounds that have not ended.
    pivot : float, optional
        See `History`.
    """
    while waiting:
        number, size, asked, _ = waiting[0]
        if asked < size or any(one.block[:1] == [number] for one in open_rounds.values()):
            return
        rounds = [one for one in held.values() if one.block[0] == number]
        blocks.left[0] = len(rounds)
        for record in sorted(rounds, key=lambda one: one.number):
            enter(blocks, record, pivot)
            del held[record.number]
        del waiting[0]


def enter(blocks: BatchEstimator, record: RoundRecord, pivot: float | None) -> None:
    """Add a play, with at most as many values of an arm as were asked for.

    Further readings do not count, because they may have been taken on account of the values.
    """
    for arm, told in sorted(record.told.items()):
        if arm not in record.again:
            parts, _ = split(told.entry, record.replicates)
            n = sum(number for _, number in parts)
            if n:
                first = parts[0][0]
                off = sum((mean - first) * number for mean, number in parts) / n
                x = first + off
                blocks.add_value(arm, x if pivot is None else pivot - x, float(n))
                weight = float(blocks.precision[arm])
                squares = sum((mean - x) ** 2 * number for mean, number in parts)
                blocks.add_squares(len(parts) - 1.0, weight * squares)
    blocks.end_play()


def recount(
    blocks: BatchEstimator,
    waiting: list[list[int]],
    held: dict[int, RoundRecord],
    records: Mapping[int, RoundRecord],
    pivot: float | None = None,
) -> None:
    """Repeat the estimation with all rounds; the parameters are those of `count_blocks`."""
    blocks.clear()
    waiting.clear()
    held.clear()
    rounds = [one for one in records.values() if one.block]
    for record in rounds:
        commit(waiting, record.block, record.replicates)
        if record.over:
            held[record.number] = record
    still = {one.number: one for one in rounds if not one.over}
    count_blocks(blocks, waiting, held, still, pivot)


NAMED = 5  # arms that a message lists


def apart(
    problem: Problem,
    blocks: BatchEstimator,
    waiting: list[list[int]],
    held: Mapping[int, RoundRecord],
    leader: Collection[int],
) -> Message | None:
    """Return a message about the arms that cannot be compared with the leader yet, otherwise None.

    While no block is complete, these are all arms; later, those that no complete block connects
    with the leader.
    """
    if not blocks.done[0]:
        number, size = waiting[0][:2] if waiting else (0, 0)
        over = sum(one.block[0] == number for one in held.values())
        return Message(
            "nothing-compared",
            "No two arms have been compared yet: rounds count in blocks"
            + (
                ", and {over:,} of the {size:,} rounds of the first one {over:has|have} been told "
                "or given up"
                if size
                else ""
            ),
            over=over,
            size=size,
        )
    others = set(range(problem.d)) - set(leader)
    away = sorted(a for a in others if any(not blocks.information[i, a] > 0.0 for i in leader))
    if not away:
        return None
    return Message(
        "arms-apart",
        "{arms:list}"
        + (" and {more:,} more" if len(away) > NAMED else "")
        + " {n:has|have} not been compared with {leader} yet: no complete block of rounds joins "
        "them",
        arms=[problem.label([a]) for a in away[:NAMED]],
        more=max(len(away) - NAMED, 0),
        n=len(away),
        leader=problem.label(sorted(leader)),
    )


def awaited(blocks: BatchEstimator, records: Mapping[int, RoundRecord]) -> Floats:
    """Return the information on pairs of arms that plays will add which do not count yet.

    The result has the shape (d, d). Sampling rules use it.
    """
    d = blocks.precision.size
    made = np.zeros((d, d))
    for record in records.values():
        for a in record.arms:
            for b in record.arms:
                if a != b:
                    first, second = record.replicates * blocks.precision[[a, b]]
                    made[a, b] += first / (first + second) * second
    return made
