"""Exponential weights over all actions, one by one, as products over the arms.

w_A ~ exp(<1_A, score>) = prod over a in A of exp(score_a): d exponentials in all. Every action is a
*head* and an *end*, its last few arms, out of the *tail* of its head: all ends that the head goes
on with. Heads extend each other by an arm, and many share a tail, so that the sum over all actions,
the marginals and the range of <1_A, r> need the heads and the different tails alone; a weight is
then one product, in a loop that the compiler vectorises.

So that nothing over- or underflows, exp(score_a) = m_a exp(L q_a) with a whole q_a and 1 <= m_a <=
exp(L), L = ROOM / K for sets of at most K arms: products of the m lie between 1 and exp(ROOM), the
q add up, and what counts is how far a sum of them is below the largest.
"""

import math
from functools import lru_cache
from itertools import chain
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.action_table import SparseWeights
from ..engine.jit import jitable
from ..engine.kernels import deep_copy
from ..engine.state import Fixed, FixedInts, Floats, Ints
from ..structures import StructureBase
from ..structures.relabel import originally

Keys = NDArray[np.uint64]
FixedSmall = Annotated[NDArray[np.uint32], "fixed"]
# a weight is at least exp(-2 DEPTH - ROOM) / |A|, far from the slow denormal numbers, or 0; then it
# would be below exp(ROOM - DEPTH), 1e-52, of all
ROOM, DEPTH = 150.0, 270.0
FAR = 1e15  # of scores: beyond it, differences of 1 are rounded away


@jitable
def number(weights: SparseWeights, n: int) -> None:
    """The weights in a mixture are those of the actions 0, ..., n - 1."""
    if weights.size[0] != n:
        for i in range(n):
            weights.ids[i] = i
        weights.size[0] = n


@jitable
def largest(gain: Floats) -> float:
    most = 0.0
    for a in range(gain.size):
        most = max(most, abs(gain[a]))
    return most


@jitable
def tempered(rate: float, gain: Floats) -> float:
    """The rate, or as much of it as keeps all scores rate * gain within FAR. What leads beyond
    rounding has all the weight either way; clamped scores would make it equal to others.
    """
    most = largest(gain)
    return rate if rate * most <= FAR or not most > 0.0 else FAR / most


class AllActionWeights(NamedTuple):
    """All actions of a structure, by number; scores are within FAR."""

    parent: FixedInts  # int64[heads]: a head without its last arm; head 0 is empty and comes first
    arm: FixedInts  # int64[heads]: its last arm
    tail: FixedInts  # int64[heads]: its tail; tail 0 is empty
    first: FixedInts  # int64[tails + 1]: where the ends of a tail begin
    begin: FixedInts  # int64[ends + 1]: where the arms of an end begin
    last: FixedInts  # the arms of the ends
    head: FixedSmall  # uint32[|A|]: the head of an action
    place: FixedSmall  # uint32[|A|]: its end
    length: float  # L
    mantissa: Floats  # scratch: float64[d]: m
    power: Floats  # scratch: float64[d]: q
    below: Fixed  # exp(-L j)
    value: Floats  # scratch: float64[heads]: its product, over the sum over all actions
    height: Floats  # scratch: float64[heads]: its sum of q; then its share of the actions
    factor: Floats  # scratch: float64[ends]: its product; brought down like its tail
    depth: Floats  # scratch: float64[ends]: its sum of q
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
        """exp(score_a) = m_a exp(L q_a); and the products of the ends, brought down from the
        largest sum of q in their tail.
        """
        factor, depth = self.factor, self.depth
        for a in range(score.size):
            x = min(max(score[a], -FAR), FAR)
            self.power[a] = math.floor(x / self.length)
            self.mantissa[a] = math.exp(min(max(x - self.power[a] * self.length, 0.0), self.length))
        self.tops[0] = -math.inf  # nothing ends in the empty tail
        for t in range(1, self.sums.size):
            top, total = -math.inf, 0.0
            for k in range(self.first[t], self.first[t + 1]):
                a = self.last[self.begin[k]]  # no end is empty, and most have one arm
                product, low = self.mantissa[a], self.power[a]
                for j in range(self.begin[k] + 1, self.begin[k + 1]):
                    product *= self.mantissa[self.last[j]]
                    low += self.power[self.last[j]]
                factor[k], depth[k] = product, low
                if low > top:
                    top = low
            for k in range(self.first[t], self.first[t + 1]):
                if depth[k] < top:
                    factor[k] *= self.down(top - depth[k])
                total += factor[k]
            self.tops[t], self.sums[t] = top, total

    def multiply(self) -> float:
        """The products of the heads, brought down from the largest sum of q, which is returned."""
        value, height = self.value, self.height
        value[0], height[0] = 1.0, 0.0
        top = self.tops[self.tail[0]]
        for h in range(1, value.size):
            value[h] = value[self.parent[h]] * self.mantissa[self.arm[h]]
            height[h] = height[self.parent[h]] + self.power[self.arm[h]]
            high = height[h] + self.tops[self.tail[h]]
            if high > top:
                top = high
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
                share = self.factor[k] * self.tops[t]
                for j in range(self.begin[k], self.begin[k + 1]):
                    out[self.last[j]] += share

    def weights(self, out: Floats) -> None:
        """w_A of all actions; after `chances`."""
        for i in range(self.head.size):
            out[i] = self.value[self.head[i]] * self.factor[self.place[i]]

    def mean_range(self, reward: Floats) -> tuple[float, float]:
        """The smallest and the largest <1_A, reward>."""
        value, low, high = self.value, math.inf, -math.inf
        for t in range(1, self.sums.size):
            self.sums[t], self.tops[t] = math.inf, -math.inf
            for k in range(self.first[t], self.first[t + 1]):
                got = reward[self.last[self.begin[k]]]
                for j in range(self.begin[k] + 1, self.begin[k + 1]):
                    got += reward[self.last[j]]
                self.sums[t], self.tops[t] = min(self.sums[t], got), max(self.tops[t], got)
        for h in range(value.size):
            value[h] = value[self.parent[h]] + reward[self.arm[h]] if h > 0 else 0.0
            if self.tail[h] > 0:
                low = min(low, value[h] + self.sums[self.tail[h]])
                high = max(high, value[h] + self.tops[self.tail[h]])
        return low, high


def every(sets: list[tuple[int, ...]], d: int) -> AllActionWeights:
    """Of sets with ascending arms, none empty, numbered in their order.

    >>> from combgame import Subsets
    >>> actions, arms, weight = every(Subsets(3, 2).to_list(), 3), np.zeros(3), np.zeros(3)
    >>> total = actions.total(np.log([1.0, 2.0, 3.0]))
    >>> actions.chances(arms)
    >>> actions.weights(weight)
    >>> round(math.exp(total), 9), (11 * weight).round(9).tolist(), (11 * arms).round(9).tolist()
    (11.0, [2.0, 3.0, 6.0], [5.0, 8.0, 9.0])
    """
    longest, order = max(map(len, sets)), _order(sets, d)
    ordered = [tuple(sorted(chosen, key=order.__getitem__)) for chosen in sets]
    found = min((_cut(ordered, n) for n in {1, max(longest // 2, 1)}), key=lambda cut: cut.cost)
    heads, tails, tail, head, position, _ = found
    ends = [end for tail in tails for end in tail]
    first = np.cumsum([0, *map(len, tails)]).astype(np.int64)
    length = ROOM / longest
    return AllActionWeights(
        np.array([heads[start[:-1]] for start in heads], np.int64),
        np.array([start[-1] if start else 0 for start in heads], np.int64),
        tail,
        first,
        np.cumsum([0, *map(len, ends)]).astype(np.int64),
        np.array([a for end in ends for a in end], np.int64),
        head.astype(np.uint32),
        (first[tail[head]] + position).astype(np.uint32),
        length,
        np.zeros(d),
        np.zeros(d),
        np.exp(-length * np.arange(math.ceil(DEPTH / length) + 1)),
        np.zeros(len(heads)),
        np.zeros(len(heads)),
        np.zeros(len(ends)),
        np.zeros(len(ends)),
        np.zeros(len(tails)),
        np.zeros(len(tails)),
        np.ones(1),
    )


def every_action(actions: StructureBase, number: int) -> AllActionWeights:
    """Of all `number` actions of a structure, in its order. Under other numbers the heads and tails
    are the same, with other names: they are sought once.
    """
    original, called = originally(actions)
    made, keys, sums = _sought(original, number)
    if called is None:
        return deep_copy(made)
    mine = np.empty_like(keys)
    mine[called] = keys
    order = np.argsort(sums)
    at = order[np.searchsorted(sums, _sums(actions.to_list(number), mine), sorter=order)]
    other = deep_copy(made)
    other.arm[:], other.last[:] = called[made.arm], called[made.last]
    other.head[:], other.place[:] = made.head[at], made.place[at]
    return other


@lru_cache(maxsize=8)
def _sought(actions: StructureBase, number: int) -> tuple[AllActionWeights, Keys, Keys]:
    """A structure's heads and tails; a random key for each arm; and the sums of the keys of its
    sets, by which they are known under any numbers.
    """
    sets, rng = actions.to_list(number), np.random.default_rng(0)
    while True:
        keys = rng.integers(0, 2**63, actions.d, dtype=np.uint64)
        sums = _sums(sets, keys)
        if len(np.unique(sums)) == len(sets):
            return every(sets, actions.d), keys, sums


def _sums(sets: list[tuple[int, ...]], keys: Keys) -> Keys:
    """The sum of the keys of each set, modulo 2^64."""
    arms = np.fromiter(chain.from_iterable(sets), np.int64)
    ends = np.cumsum([len(chosen) for chosen in sets])
    upto: Keys = np.cumsum(keys[arms], dtype=np.uint64)[ends - 1]
    sums: Keys = np.diff(upto, prepend=np.uint64(0))
    return sums


def _order(sets: list[tuple[int, ...]], d: int) -> list[int]:
    """The place of each arm in an order in which many sets begin alike: those first that change
    least from set to set, as the sets were listed.
    """
    member = np.zeros((len(sets), d), bool)
    rows = np.repeat(np.arange(len(sets)), [len(chosen) for chosen in sets])
    member[rows, [a for chosen in sets for a in chosen]] = True
    changes = (member[1:] != member[:-1]).sum(axis=0)
    places = np.empty(d, np.int64)
    places[np.argsort(changes, kind="stable")] = np.arange(d)
    return places.tolist()


class _Cut(NamedTuple):
    heads: dict[tuple[int, ...], int]
    tails: dict[tuple[tuple[int, ...], ...], int]
    tail: Ints
    head: Ints
    position: Ints  # of the end in its tail
    cost: int


def _cut(sets: list[tuple[int, ...]], last: int) -> _Cut:
    """Heads and tails where an end has the `last` last arms of a set, or all of a smaller one."""
    heads: dict[tuple[int, ...], int] = {(): 0}
    follow: list[list[tuple[int, ...]]] = [[]]  # the ends of a head
    head, position = [0] * len(sets), [0] * len(sets)
    for i, chosen in enumerate(sets):
        start = chosen[:-last]
        at = heads.get(start)
        if at is None:
            for n in range(1, len(start) + 1):
                if start[:n] not in heads:
                    heads[start[:n]] = len(heads)
                    follow.append([])
            at = heads[start]
        head[i], position[i] = at, len(follow[at])
        follow[at].append(chosen[-last:])
    tails: dict[tuple[tuple[int, ...], ...], int] = {(): 0}
    tail = np.array([tails.setdefault(tuple(ends), len(tails)) for ends in follow], np.int64)
    cost = len(heads) + sum(len(end) for ends in tails for end in ends)
    return _Cut(heads, tails, tail, np.array(head), np.array(position), cost)
