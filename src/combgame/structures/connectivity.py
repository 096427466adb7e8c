"""Which arms can be in one play: where plays have levels of their own, only those are compared."""

from collections.abc import Sequence
from itertools import combinations

from .._messages import Message
from .arms import Arms
from .base import StructureBase
from .listed import Listed
from .partition import Partition
from .subsets import Subsets


def check_comparable(
    actions: StructureBase, answers: StructureBase, names: Sequence[str] | None = None
) -> Message | None:
    """Why answers cannot be compared within plays; None if they can: they differ by exchanges of
    two arms, and of any two there is a play that has both.

    >>> print(apart(Arms(3), Arms(3)))
    no play has both arm 0 and arm 1, so nothing compares them; let plays have several arms.
    >>> apart(Subsets(3, 2), Arms(3)) is None
    True
    """
    if type(answers) not in (Arms, Subsets, Partition):
        return Message(
            "level-answers",
            "arms are exchanged one for one within a play, so answers must be Arms, Subsets or a "
            "Partition, and {answers} is not",
            remedy="ask for arms or for the best few",
            answers=str(answers),
        )
    if type(actions) not in (Arms, Subsets, Partition, Listed):
        return Message(
            "level-actions",
            "plays must be Subsets, a Partition or Listed, and {actions} is not",
            remedy="list the plays with Listed",
            actions=str(actions),
        )
    if isinstance(actions, Subsets) and actions.chosen > 1:
        return None
    pairs = None
    if isinstance(actions, Listed):
        pairs = {pair for chosen in actions.__iter__() for pair in combinations(chosen, 2)}
    for group in exchangeable(answers):
        for i, j in combinations(group, 2):
            if (i, j) in pairs if pairs is not None else _meet(actions, i, j):
                continue
            one, other = (f"arm {a}" if names is None else names[a] for a in (i, j))
            return Message(
                "level-apart",
                "no play has both {one} and {other}, so nothing compares them",
                remedy="let plays have several arms",
                one=one,
                other=other,
            )
    return None


def exchangeable(answers: StructureBase) -> list[tuple[int, ...]]:
    """The groups of arms inside which answers differ by exchanges."""
    if isinstance(answers, Partition):
        sizes = zip(answers.groups, answers.sizes, strict=True)
        return [group for group, size in sizes if 0 < size < len(group)]
    return [tuple(range(answers.d))]


def _meet(actions: StructureBase, i: int, j: int) -> bool:
    """Whether some play has both arms."""
    if not isinstance(actions, Partition):
        return False
    size = {a: k for group, k in zip(actions.groups, actions.sizes, strict=True) for a in group}
    same = any(i in group and j in group for group in actions.groups)
    return min(size[i], size[j]) > (1 if same else 0)
