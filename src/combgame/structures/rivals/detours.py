"""Rivals of a path: single detours, which leave it once and rejoin it."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...game.marks import jitable
from ...game.protocols import Weigher
from ...game.records import Floats, Ints
from ...game.rivals import rebuild
from ..nearest.detours import walk
from .shares import log_share

FEW = 2_000  # paths whose detours are counted one by one


class DetoursPart(NamedTuple):
    first: Ints  # as in `PathsPart`
    arm: Ints
    head: Ints
    chance: Floats  # float64[nodes, nodes]: of detours, by the nodes where they begin and end
    along: Ints  # scratch: int64[nodes]
    on: Ints
    place: Ints
    via: Ints
    option: Ints
    arms: Ints  # scratch: d
    sign: Floats

    def odds(self, best: Floats, rival: Floats) -> float:
        """By where the paths part first, and meet last."""
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

    def scan(self, weigher: Weigher, best: Floats, floor: float, rival: Floats) -> float:
        """All detours, depth first."""
        first, arm, head, via, option = self.first, self.arm, self.head, self.via, self.option
        for v in range(first.size - 1):
            self.on[v] = 0
        steps = walk(first, arm, head, best, self.along, self.on, self.place)
        least, begin = math.inf, 0
        for i in range(steps):
            depth, option[0] = 0, first[begin]
            while depth >= 0:
                v = begin if depth == 0 else head[via[depth - 1]]
                k = option[depth]
                if k >= first[v + 1]:
                    depth -= 1
                    continue
                option[depth] += 1
                if best[arm[k]] > 0.5:
                    continue
                via[depth] = k
                if self.on[head[k]] == 0:
                    depth += 1
                    option[depth] = first[head[k]]
                    continue
                n = around(self, begin, depth + 1)
                value = weigher.confront(best, self.arms, self.sign, n)
                value += self.chance[begin, head[k]]
                if value < least:
                    least = value
                    rebuild(best, self.arms, self.sign, n, rival)
                    if least <= floor:
                        return least
            begin = head[self.along[i]]
        return least


@jitable
def around(part: DetoursPart, begin: int, length: int) -> int:
    """The arms of a detour and of what it goes around; how many."""
    n = 0
    for j in range(length):
        part.arms[n], part.sign[n] = part.arm[part.via[j]], 1.0
        n += 1
    for i in range(part.place[begin], part.place[part.head[part.via[length - 1]]]):
        part.arms[n], part.sign[n] = part.arm[part.along[i]], -1.0
        n += 1
    return n


def detours(leaving: Sequence[Sequence[tuple[int, int]]], figures: tuple[int, int], d: int) -> DetoursPart:
    """Of a graph: the edges (arm, head) that leave each node, in topological order; figures: see
    `counted`.
    """
    nodes, (number, classes) = len(leaving), figures
    ways = np.zeros((nodes, nodes))  # from one node to another
    for v in range(nodes - 1, -1, -1):
        ways[v, v] = 1.0
        for _, head in leaving[v]:
            ways[v] += ways[head]
    chance = np.full((nodes, nodes), -math.inf)
    for u, v in np.argwhere(ways > 1.5).tolist():
        chance[u, v] = log_share(number, classes, (ways[u, v] - 1.0) * (1.0 + 1e-12))
    flat = [edge for out in leaving for edge in out]
    scratch = np.zeros((5, nodes + 1), np.int64)
    return DetoursPart(
        np.cumsum([0, *map(len, leaving)]).astype(np.int64),
        np.array([arm for arm, _ in flat], np.int64),
        np.array([head for _, head in flat], np.int64),
        chance,
        *(one.copy() for one in scratch),
        np.zeros(d, np.int64),
        np.zeros(d),
    )


def counted(leaving: Sequence[Sequence[tuple[int, int]]], size: int) -> tuple[int, int]:
    """The most detours that a path has, and the most pairs of nodes at which they begin and end;
    not less, if there are many paths.
    """
    nodes, most = len(leaving), size - 1
    entering = [0] * nodes
    for out in leaving:
        for _, head in out:
            entering[head] += 1
    # pairs: of a node that has a choice, and a later one that has another way to it
    ends: list[dict[int, int]] = [{} for _ in range(nodes)]  # choices so far -> pairs, at most
    ends[0][0] = 0
    for v, out in enumerate(leaving):
        for choices, pairs in ends[v].items():
            there = pairs + (choices if entering[v] > 1 else 0)
            now = choices + (len(out) > 1)
            for _, head in out:
                ends[head][now] = max(ends[head].get(now, 0), there)
    classes = max(
        pairs + (choices if entering[-1] > 1 else 0) for choices, pairs in ends[-1].items()
    )
    if size <= FEW:
        most = max(_around(leaving, path) for path in _paths(leaving, 0))
    return most, max(classes, 1)


def _paths(leaving: Sequence[Sequence[tuple[int, int]]], v: int) -> Iterator[list[tuple[int, int]]]:
    """All paths from a node to the last, as (node, arm) in order."""
    if v == len(leaving) - 1:
        yield []
    for arm, head in leaving[v]:
        for rest in _paths(leaving, head):
            yield [(v, arm), *rest]


def _around(leaving: Sequence[Sequence[tuple[int, int]]], path: list[tuple[int, int]]) -> int:
    """How many detours a path has."""
    on, back, found = {v for v, _ in path} | {len(leaving) - 1}, [1] * len(leaving), 0
    taken = {arm for _, arm in path}
    for v in range(len(leaving) - 2, -1, -1):  # ways back to the path
        away = sum(back[head] for arm, head in leaving[v] if arm not in taken)
        if v in on:
            found += away
        else:
            back[v] = away
    return found
