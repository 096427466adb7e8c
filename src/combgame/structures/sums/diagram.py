"""Sums over the paths of a diagram: a structure whose sets are the ways from a source to a sink,
each step with one arm or none.

Z = sum over paths of exp(sum of scores), backwards in logs: V(v) = ln sum_e exp(score_e +
V(head_e)). The chance of a step, given that the path is at its tail, is exp(score_e + V(head_e) -
V(v)); forwards, chances multiply.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...game.records import Floats, Ints


class DiagramPart(NamedTuple):
    """Nodes are numbered in topological order, source first, sink last."""

    first: Ints  # int64[nodes + 1]: where the steps that leave a node begin
    arm: Ints  # int64[steps]: the arm of a step; -1 for none
    head: Ints  # int64[steps]
    value: Floats  # scratch: float64[nodes]: V
    chance: Floats  # scratch: float64[steps]
    flow: Floats  # scratch: float64[nodes]: the chance that a path meets the node

    def marginals(self, score: Floats, out: Floats) -> float:
        last = self.first.size - 2
        for a in range(out.size):
            out[a] = 0.0
        self.value[last] = self.flow[last] = 0.0
        for v in range(last - 1, -1, -1):
            top, total, self.flow[v] = -math.inf, 0.0, 0.0
            for k in range(self.first[v], self.first[v + 1]):
                self.chance[k] = self.value[self.head[k]]
                if self.arm[k] >= 0:
                    self.chance[k] += score[self.arm[k]]
                top = max(top, self.chance[k])
            for k in range(self.first[v], self.first[v + 1]):
                self.chance[k] = math.exp(self.chance[k] - top)
                total += self.chance[k]
            for k in range(self.first[v], self.first[v + 1]):
                self.chance[k] /= total
            self.value[v] = top + math.log(total)  # V(v)
        self.flow[0] = 1.0
        for v in range(last):
            for k in range(self.first[v], self.first[v + 1]):
                through = self.flow[v] * self.chance[k]
                self.flow[self.head[k]] += through
                if self.arm[k] >= 0:
                    out[self.arm[k]] += through
        return float(self.value[0])


def diagram(leaving: Sequence[Sequence[tuple[int, int]]]) -> DiagramPart:
    """From the steps (arm, head) that leave each node.

    >>> marginal = np.zeros(2)
    >>> total = diagram([[(0, 1), (1, 1)], []]).marginals(np.log([1.0, 3.0]), marginal)
    >>> round(math.exp(total), 9), marginal.round(9).tolist()
    (4.0, [0.25, 0.75])
    """
    nodes, steps = len(leaving), [step for some in leaving for step in some]
    return DiagramPart(
        np.cumsum([0, *map(len, leaving)]).astype(np.int64),
        np.array([arm for arm, _ in steps], dtype=np.int64),
        np.array([head for _, head in steps], dtype=np.int64),
        np.zeros(nodes),
        np.zeros(len(steps)),
        np.zeros(nodes),
    )


def prefix_tree(sets: Iterable[tuple[int, ...]]) -> list[list[tuple[int, int]]]:
    """Listed sets as a diagram: a node for every beginning of a set.

    >>> prefix_tree([(0, 1), (0, 2), (0,)])
    [[(0, 1), (0, 2)], [(1, 2), (2, 2)], []]
    """
    listed = list(sets)
    starts = sorted(
        {chosen[:n] for chosen in listed for n in range(len(chosen))},
        key=lambda start: (len(start), start),
    )
    number = {start: v for v, start in enumerate(starts)}
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(len(starts) + 1)]
    for start in starts[1:]:
        leaving[number[start[:-1]]].append((start[-1], number[start]))
    for chosen in listed:
        leaving[number[chosen[:-1]]].append((chosen[-1], len(starts)))
    return leaving
