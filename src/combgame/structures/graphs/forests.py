"""Matroid partition for graphs (Edmonds 1965): as many edges as possible in k forests."""

from collections import deque
from collections.abc import Sequence


def forests(nodes: int, tails: Sequence[int], heads: Sequence[int], k: int) -> list[set[int]]:
    """k edge-disjoint forests with as many edges as possible together: augmenting paths of
    exchanges.
    """
    held: list[set[int]] = [set() for _ in range(k)]
    for new in range(len(tails)):
        # edge -> (edge that pushes it out, the forest it leaves)
        came: dict[int, tuple[int, int] | None] = {new: None}
        queue, done = deque([new]), False
        while queue and not done:
            e = queue.popleft()
            for f in range(k):
                if e in held[f]:
                    continue
                circuit = _way(nodes, tails, heads, held[f], tails[e], heads[e])
                if circuit is None:  # e fits into forest f: shift everything along the path
                    target: int = f
                    step: int | None = e
                    while step is not None:
                        before = came[step]
                        held[target].add(step)
                        if before is None:
                            step = None
                        else:
                            held[before[1]].discard(step)
                            target, step = before[1], before[0]
                    done = True
                    break
                for other in circuit:
                    if other not in came:
                        came[other] = (e, f)
                        queue.append(other)
    return held


def _way(
    nodes: int, tails: Sequence[int], heads: Sequence[int], forest: set[int], u: int, v: int
) -> list[int] | None:
    """The edges between two nodes in a forest; None if they are not joined."""
    at: dict[int, list[tuple[int, int]]] = {}
    for a in forest:
        at.setdefault(tails[a], []).append((heads[a], a))
        at.setdefault(heads[a], []).append((tails[a], a))
    came: dict[int, tuple[int, int] | None] = {u: None}
    queue = deque([u])
    while queue:
        x = queue.popleft()
        if x == v:
            way = []
            while (before := came[x]) is not None:
                way.append(before[1])
                x = before[0]
            return way
        for y, a in at.get(x, []):
            if y not in came:
                came[y] = (x, a)
                queue.append(y)
    return None
