"""The union bound over single detours of a path, which leave it once and rejoin it.

A depth-first search is pruned by prices of arms (`SetEvidence.price_arms`): for each reference, the
cheapest way back to the path is known from every node. So the largest of the sums bounds every
detour that begins like the one so far.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...engine.likelihood_ratio import REFERENCES, differ, rebuild
from ...engine.protocols import SetEvidence
from ...engine.state import Fixed, FixedInts, Floats, Ints
from .._nearest.paths import LIMIT, walk
from .listed import HUGE, log_share

FEW = 1_000  # number of paths up to which their detours are counted one by one


class PathUnionBound(NamedTuple):
    """The union bound over the detours of a path."""

    first: FixedInts  # as in `PathsKernel`
    arm: FixedInts
    head: FixedInts
    chance: Fixed  # float64[nodes, nodes]: log shares by the first and last node of the detour
    arms: Ints  # scratch: d
    sign: Floats
    steps: Ints  # scratch: int64[5, nodes]
    price: Floats  # scratch: float64[references, edges]
    ahead: Floats  # scratch: float64[references, nodes]
    spent: Floats

    def log_weight(self, best: Floats, rival: Floats) -> float:
        """Return the log share for the nodes at which the paths part first and meet last."""
        begin, end, v = -1, -1, 0
        while v < self.first.size - 2:
            for k in range(self.first[v], self.first[v + 1]):
                if best[self.arm[k]] > 0.5:
                    if rival[self.arm[k]] < 0.5:
                        begin = v if begin < 0 else begin
                        end = self.head[k]
                    v = self.head[k]
                    break
        return float(self.chance[begin, end])

    def minimise_evidence(
        self, weigher: SetEvidence, best: Floats, floor: float, least: float, rival: Floats
    ) -> float:
        """Search the detours from each node of the path."""
        first, arm, head, arms, sign = self.first, self.arm, self.head, self.arms, self.sign
        weigher.price_arms(best, arms, sign, differ(best, rival, arms, sign))
        base, tries, lowest, begin = weigher.price_offset, 0, math.inf, 0
        along, on, place, via, option = (
            self.steps[0],
            self.steps[1],
            self.steps[2],
            self.steps[3],
            self.steps[4],
        )
        price, ahead, spent = self.price, self.ahead, self.spent
        steps = walk(first, arm, head, best, along, on, place)
        self.pay(weigher.arm_prices, best, along, place)
        for i in range(steps):
            self.look_back(best, on, begin)
            bound = -math.inf
            for r in range(base.size):
                spent[r, 0] = base[r]
                bound = max(bound, base[r] + ahead[r, begin])
            if tries > LIMIT:  # detours from here are not searched any more: use their bound
                lowest, begin = min(lowest, bound), head[along[i]]
                continue
            depth, option[0], whole = -1 if bound >= least else 0, first[begin], bound
            while depth >= 0:
                v = begin if depth == 0 else head[via[depth - 1]]
                k = option[depth]
                if k >= first[v + 1]:
                    depth -= 1
                    continue
                option[depth] += 1
                if best[arm[k]] > 0.5:
                    continue
                tries += 1
                if tries > LIMIT:
                    lowest = min(lowest, whole)
                    break
                u, bound = head[k], -math.inf
                for r in range(base.size):
                    spent[r, depth + 1] = spent[r, depth] + price[r, k]
                    rest = self.chance[begin, u] if on[u] == 1 else ahead[r, u]
                    bound = max(bound, spent[r, depth + 1] + rest)
                if bound >= least:
                    continue
                via[depth] = k
                if on[u] == 0:
                    depth += 1
                    option[depth] = first[u]
                    continue
                n = self.list_detour(along, place, begin, via, depth + 1)
                value = weigher.evidence_against_set(best, arms, sign, n) + self.chance[begin, u]
                if not value >= least:
                    least = value
                    rebuild(best, arms, sign, n, rival)
                    if not least > floor:
                        return least
            begin = head[along[i]]
        return min(least, lowest)

    def pay(self, offer: Floats, best: Floats, along: Ints, place: Ints) -> None:
        """Compute the cost of each edge for each reference.

        It is the cost of taking the edge and leaving out the path up to the place of its head.
        """
        first, arm, head, price = self.first, self.arm, self.head, self.price
        for r in range(offer.shape[0]):
            for v in range(first.size - 2):
                for k in range(first[v], first[v + 1]):
                    if best[arm[k]] < 0.5:
                        price[r, k] = offer[r, arm[k]]
                        for i in range(place[v], place[head[k]]):
                            price[r, k] += offer[r, arm[along[i]]]

    def look_back(self, best: Floats, on: Ints, begin: int) -> None:
        """Compute the cheapest way from each node back to the path, for detours from one node.

        It includes the log share for the node at which the detour ends.
        """
        first, arm, head, price, ahead = self.first, self.arm, self.head, self.price, self.ahead
        chance = self.chance[begin]
        for r in range(ahead.shape[0]):
            for v in range(first.size - 3, begin - 1, -1):
                ahead[r, v] = math.inf
                for k in range(first[v], first[v + 1]):
                    if best[arm[k]] < 0.5:
                        u = head[k]
                        rest = chance[u] if on[u] == 1 else ahead[r, u]
                        ahead[r, v] = min(ahead[r, v], price[r, k] + rest)

    def list_detour(self, along: Ints, place: Ints, begin: int, via: Ints, length: int) -> int:
        """List the arms of a detour and of the bypassed path; return their number."""
        n = 0
        for j in range(length):
            self.arms[n], self.sign[n] = self.arm[via[j]], 1.0
            n += 1
        for i in range(place[begin], place[self.head[via[length - 1]]]):
            self.arms[n], self.sign[n] = self.arm[along[i]], -1.0
            n += 1
        return n


def detours(
    leaving: Sequence[Sequence[tuple[int, int]]],
    most: int,
    classes: int,
    within: dict[tuple[int, int], int] | None,
    d: int,
) -> PathUnionBound:
    """Return the union bound of a graph.

    Parameters
    ----------
    leaving : sequence
        The edges (arm, head) that leave each node, in topological order.
    most : int
        Upper bound on the number of detours of a path (see `counted`).
    classes : int
        Upper bound on the number of pairs of ends that detours of a path have.
    within : dict or None
        Upper bounds on the number of detours between two ends; None if they are not known.
    d : int
        The number of arms.
    """
    nodes = len(leaving)
    ways = np.zeros((nodes, nodes))  # from one node to another
    if within is None:
        for v in range(nodes - 1, -1, -1):
            ways[v, v] = 1.0
            for _, head in leaving[v]:
                ways[v] = np.minimum(ways[v] + ways[head], HUGE)
        ways = np.maximum(ways - 1.0, 1.0) * (1.0 + 1e-12)  # without the path itself
    else:
        ways[:] = 1.0
        for ends, number in within.items():
            ways[ends] = number
    flat = [edge for out in leaving for edge in out]
    return PathUnionBound(
        np.cumsum([0, *map(len, leaving)]).astype(np.int64),
        np.array([arm for arm, _ in flat], np.int64),
        np.array([head for _, head in flat], np.int64),
        log_share(most, classes, ways),
        np.zeros(d, np.int64),
        np.zeros(d),
        np.zeros((5, nodes), np.int64),
        np.zeros((REFERENCES, len(flat))),
        np.zeros((REFERENCES, nodes)),
        np.zeros((REFERENCES, nodes)),
    )


def counted(
    leaving: Sequence[Sequence[tuple[int, int]]], size: int
) -> tuple[int, int, dict[tuple[int, int], int] | None]:
    """Return the most detours of a path, the most pairs of ends, and the most detours by ends.

    If there are many paths, the first two are upper bounds and the third is None.
    """
    if size > FEW:
        return size - 1, _pairs(leaving), None
    most, classes, within = 1, 1, dict[tuple[int, int], int]()
    for path in _paths(leaving, 0):
        ends = _around(leaving, path)
        most, classes = max(most, sum(ends.values())), max(classes, len(ends))
        for pair, number in ends.items():
            within[pair] = max(within.get(pair, 0), number)
    return most, classes, within


def _pairs(leaving: Sequence[Sequence[tuple[int, int]]]) -> int:
    """Return an upper bound on the number of pairs of ends of detours of a path.

    A detour can begin at a node with a choice and end at a node with another way to it. The best
    number of pairs is computed for each number of choices so far, node by node.
    """
    nodes = len(leaving)
    entering = [0] * nodes
    for out in leaving:
        for _, head in out:
            entering[head] += 1
    best: list[dict[int, int]] = [{} for _ in range(nodes)]
    best[0][0] = 0
    for v, out in enumerate(leaving):
        for choices, pairs in best[v].items():
            there = pairs + (choices if entering[v] > 1 else 0)
            now = choices + (len(out) > 1)
            for _, head in out:
                best[head][now] = max(best[head].get(now, 0), there)
    return max(pairs + (choices if entering[-1] > 1 else 0) for choices, pairs in best[-1].items())


def _paths(leaving: Sequence[Sequence[tuple[int, int]]], v: int) -> Iterator[list[tuple[int, int]]]:
    """Yield all paths from a node to the last one, as (node, arm) in order."""
    if v == len(leaving) - 1:
        yield []
    for arm, head in leaving[v]:
        for rest in _paths(leaving, head):
            yield [(v, arm), *rest]


def _around(
    leaving: Sequence[Sequence[tuple[int, int]]], path: list[tuple[int, int]]
) -> dict[tuple[int, int], int]:
    """Return the number of detours of a path, by their ends."""
    on, taken = {v for v, _ in path} | {len(leaving) - 1}, {arm for _, arm in path}
    found = dict[tuple[int, int], int]()
    for begin, _ in path:
        ways = {begin: 1}
        for v in range(begin, len(leaving) - 1):
            for arm, head in leaving[v] if v in ways else ():
                if arm not in taken:
                    if head in on:
                        found[begin, head] = found.get((begin, head), 0) + ways[v]
                    else:
                        ways[head] = ways.get(head, 0) + ways[v]
    return found
