"""Exponential weights over all actions, one by one, as products over the arms.

w_A ~ exp(<1_A, score>) = prod over a in A of exp(score_a): d exponentials in all. Every action is a
*head*, all its arms but the last, and a last arm out of the *tail* of its head, the last arms that
the head goes on with. Heads extend each other by an arm, and many share a tail, so that the sum
over all actions, the marginals and the range of <1_A, r> need the heads and the different tails
alone; a weight is then one product, in a loop that the compiler vectorises.

So that nothing over- or underflows, exp(score_a) = m_a exp(L q_a) with a whole q_a and 1 <= m_a <=
exp(L), L = ROOM / K for sets of at most K arms: products of the m lie between 1 and exp(ROOM), the
q add up, and what counts is how far a sum of them is below the largest.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..game.catalogue import Mixture
from ..game.marks import jitable
from ..game.records import Floats, Ints

# a weight is at least exp(-2 DEPTH - ROOM) / |A|, far from the slow denormal numbers, or 0; then it
# would be below exp(ROOM - DEPTH), 1e-52, of all
ROOM, DEPTH = 150.0, 270.0
FAR = 1e15  # scores beyond it are as good as infinite


@jitable
def number(mixture: Mixture, n: int) -> None:
    """The weights in a mixture are those of the actions 0, ..., n - 1."""
    if mixture.size[0] != n:
        for i in range(n):
            mixture.ids[i] = i
        mixture.size[0] = n


class Every(NamedTuple):
    """All actions of a structure, by number."""

    parent: Ints  # int64[heads]: a head without its last arm; head 0 is empty and comes first
    arm: Ints  # int64[heads]: its last arm
    tail: Ints  # int64[heads]: its tail; tail 0 is empty
    first: Ints  # int64[tails + 1]: where the arms of a tail begin
    last: Ints  # int64[places]: the arms of the tails
    head: NDArray[np.uint32]  # uint32[|A|]: the head of an action
    place: NDArray[np.uint32]  # uint32[|A|]: its last arm, as a place in the tails
    length: float  # L
    mantissa: Floats  # scratch: float64[d]: m
    power: Floats  # scratch: float64[d]: q
    below: Floats  # scratch: exp(-L j)
    value: Floats  # scratch: float64[heads]: its product, over the sum over all actions
    height: Floats  # scratch: float64[heads]: its sum of q; then its share of the actions
    factor: Floats  # scratch: float64[places]
    sums: Floats  # scratch: float64[tails]
    tops: Floats  # scratch: float64[tails]
    scale: Floats  # float64[1]: what the products are still to be multiplied by, 1 / Z

    def total(self, score: Floats) -> float:
        """ln Z, Z = sum_A exp(<1_A, score>); `chances` and `weights` may follow."""
        self.split(score)
        top, total = self.multiply(), 0.0
        for h in range(self.value.size):
            total += self.value[h] * self.sums[self.tail[h]]
        self.scale[0] = 1.0 / total
        return math.log(total) + self.length * top

    def split(self, score: Floats) -> None:
        """exp(score_a) = m_a exp(L q_a); and what the last arms multiply a head by, brought down
        from the largest q in the tail.
        """
        for a in range(score.size):
            x = min(max(score[a], -FAR), FAR)
            self.power[a] = math.floor(x / self.length)
            self.mantissa[a] = math.exp(min(max(x - self.power[a] * self.length, 0.0), self.length))
        self.tops[0] = -math.inf  # nothing ends in the empty tail
        for t in range(1, self.sums.size):
            top, total = -math.inf, 0.0
            for k in range(self.first[t], self.first[t + 1]):
                top = max(top, self.power[self.last[k]])
            for k in range(self.first[t], self.first[t + 1]):
                a = self.last[k]
                self.factor[k] = self.mantissa[a]
                if self.power[a] < top:
                    self.factor[k] *= self.down(top - self.power[a])
                total += self.factor[k]
            self.tops[t], self.sums[t] = top, total

    def multiply(self) -> float:
        """The products of the heads, brought down from the largest sum of q, which is returned."""
        value, height = self.value, self.height
        value[0], height[0] = 1.0, 0.0
        top = self.tops[self.tail[0]]
        for h in range(1, value.size):
            value[h] = value[self.parent[h]] * self.mantissa[self.arm[h]]
            height[h] = height[self.parent[h]] + self.power[self.arm[h]]
            top = max(top, height[h] + self.tops[self.tail[h]])
        for h in range(value.size):
            low = height[h] + self.tops[self.tail[h]]
            if low < top:
                value[h] *= self.down(top - low)
        return float(top)

    def down(self, powers: float) -> float:
        """exp(-L powers); 0 if that is too small."""
        return self.below[int(powers)] if powers < self.below.size else 0.0

    def chances(self, out: Floats) -> None:
        """out_a = the chance that the set has arm a."""
        scale = self.scale[0]
        for t in range(self.sums.size):
            self.tops[t] = 0.0  # from here on: the products of the heads with this tail
        for a in range(out.size):
            out[a] = 0.0
        for h in range(self.value.size):
            self.value[h] *= scale
            self.tops[self.tail[h]] += self.value[h]
            self.height[h] = self.value[h] * self.sums[self.tail[h]]
        self.scale[0] = 1.0
        for h in range(self.value.size - 1, 0, -1):
            self.height[self.parent[h]] += self.height[h]
            out[self.arm[h]] += self.height[h]
        for t in range(self.sums.size):
            for k in range(self.first[t], self.first[t + 1]):
                out[self.last[k]] += self.factor[k] * self.tops[t]

    def weights(self, out: Floats) -> None:
        """w_A of all actions; after `chances`."""
        for i in range(self.head.size):
            out[i] = self.value[self.head[i]] * self.factor[self.place[i]]

    def range(self, reward: Floats) -> tuple[float, float]:
        """The smallest and the largest <1_A, reward>."""
        value, low, high = self.value, math.inf, -math.inf
        for t in range(1, self.sums.size):
            self.sums[t], self.tops[t] = math.inf, -math.inf
            for k in range(self.first[t], self.first[t + 1]):
                self.sums[t] = min(self.sums[t], reward[self.last[k]])
                self.tops[t] = max(self.tops[t], reward[self.last[k]])
        for h in range(value.size):
            value[h] = value[self.parent[h]] + reward[self.arm[h]] if h > 0 else 0.0
            if self.tail[h] > 0:
                low = min(low, value[h] + self.sums[self.tail[h]])
                high = max(high, value[h] + self.tops[self.tail[h]])
        return low, high


def every(sets: list[tuple[int, ...]], d: int) -> Every:
    """Of sets with ascending arms, none empty, numbered in their order.

    >>> from combgame import Subsets
    >>> actions, arms, weight = every(Subsets(3, 2).sets(), 3), np.zeros(3), np.zeros(3)
    >>> total = actions.total(np.log([1.0, 2.0, 3.0]))
    >>> actions.chances(arms)
    >>> actions.weights(weight)
    >>> round(math.exp(total), 9), (11 * weight).round(9).tolist(), (11 * arms).round(9).tolist()
    (11.0, [2.0, 3.0, 6.0], [5.0, 8.0, 9.0])
    """
    heads: dict[tuple[int, ...], int] = {(): 0}
    follow: list[list[int]] = [[]]  # the last arms of a head
    head, position = [0] * len(sets), [0] * len(sets)
    for i, chosen in enumerate(sets):
        start = chosen[:-1]
        at = heads.get(start)
        if at is None:
            for n in range(1, len(chosen)):
                if chosen[:n] not in heads:
                    heads[chosen[:n]] = len(heads)
                    follow.append([])
            at = heads[start]
        head[i], position[i] = at, len(follow[at])
        follow[at].append(chosen[-1])
    tails: dict[tuple[int, ...], int] = {(): 0}
    tail = np.array([tails.setdefault(tuple(arms), len(tails)) for arms in follow], np.int64)
    first = np.cumsum([0, *map(len, tails)]).astype(np.int64)
    length = ROOM / max(map(len, sets))
    numbered = np.array(head, np.int64)
    return Every(
        np.array([heads[start[:-1]] for start in heads], np.int64),
        np.array([start[-1] if start else 0 for start in heads], np.int64),
        tail,
        first,
        np.array([a for arms in tails for a in arms], np.int64),
        numbered.astype(np.uint32),
        (first[tail[numbered]] + np.array(position, np.int64)).astype(np.uint32),
        length,
        np.zeros(d),
        np.zeros(d),
        np.exp(-length * np.arange(math.ceil(DEPTH / length) + 1)),
        np.zeros(len(heads)),
        np.zeros(len(heads)),
        np.zeros(int(first[-1])),
        np.zeros(len(tails)),
        np.zeros(len(tails)),
        np.ones(1),
    )
