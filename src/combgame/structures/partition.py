"""A given number of arms from each group (the partition matroid), and arms that share an action.

`check_comparable` and `exchangeable` concern problems with a batch effect, in which arms are
compared only within an action.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from .._messages import Message
from .._validation import check_list, check_size, counted, numbers_of
from .._values import frozen
from ..engine.heap import rise, sink
from ..engine.likelihood_ratio import exchange
from ..engine.protocols import RewardKernel
from ..engine.state import FixedInts, Floats, Ints, Random
from ..errors import MOST, InputError, check_int, invalid_argument
from ._gibbs import SymmetricKernel, symmetric
from .arms import Arms
from .base import Neighbourhood, PolytopeGeometry, StructureBase, is_arm, sorted_arms
from .listed import Listed
from .subsets import Subsets


class PartitionKernel(NamedTuple):
    """The linear oracle for a given number of arms from each group."""

    members: FixedInts  # the arms, group by group
    first: FixedInts  # int64[groups + 1]: the start of each group in `members`
    sizes: FixedInts  # the number of arms taken from each group
    group: FixedInts  # the group of an arm
    heap: Ints  # scratch
    place: Ints
    key: Floats
    taken: Floats
    arms: Ints
    sign: Floats
    value: Floats

    def argmax(self, score: Floats, out: Floats) -> None:
        """Write the largest scores of each group, found with a heap of the best so far."""
        last = score.size - 1
        for a in range(score.size):
            out[a] = 0.0
            # arms are numbered backwards, so that the first arms win among equal scores
            self.key[last - a] = score[a]
        for g in range(self.sizes.size):
            n = 0
            for k in range(self.first[g], self.first[g + 1]):
                item = last - self.members[k]
                if n < self.sizes[g]:
                    self.heap[n] = item
                    rise(self.heap, self.place, self.key, n)
                    n += 1
                elif self.key[item] > self.key[self.heap[0]]:
                    self.heap[0] = item
                    sink(self.heap, self.place, self.key, n, 0)
            for i in range(n):
                out[last - self.heap[i]] = 1.0

    def sample(self, rng: Random, out: Floats) -> None:
        """Draw a uniformly random set by Floyd's algorithm in every group."""
        for a in range(out.size):
            out[a] = 0.0
        for g in range(self.sizes.size):
            begin, number = self.first[g], self.first[g + 1] - self.first[g]
            for last in range(number - self.sizes[g], number):
                k = min(int(rng.random() * (last + 1)), last)
                if out[self.members[begin + k]] > 0.5:
                    k = last
                out[self.members[begin + k]] = 1.0

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Find the cheapest exchange inside a group: adjacent bases differ by one such exchange."""
        leaves, enters, least = -1, -1, math.inf
        for i in range(best.size):
            if best[i] > 0.5:
                g = self.group[i]
                for a in range(best.size):
                    self.taken[a] = 1.0
                for k in range(self.first[g], self.first[g + 1]):
                    self.taken[self.members[k]] = best[self.members[k]]
                j = rewards.cheapest_challenger(mean, weight, i, self.taken, self.value)
                if j >= 0 and (leaves < 0 or self.value[0] < least):
                    leaves, enters, least = i, j, self.value[0]
        return exchange(
            rewards, mean, weight, best, leaves, enters, self.arms, self.sign, rival, alternative
        )


@frozen
class Partition(StructureBase):
    """The sets with a given number of arms from each group.

    Parameters
    ----------
    groups : sequence of iterables of int or str
        The groups. Together they contain each of the arms 0..d-1 exactly once, or each name, in
        which case the order of the names is the order of the arms.
    sizes : int or sequence of int
        The number of arms taken from each group, or one number for all groups.

    Examples
    --------
    >>> Partition([[0, 1, 2], [3, 4]], sizes=[2, 1]).argmax([0.1, 0.5, 0.3, -1.0, -2.0])
    (1, 2, 3)
    """

    def __init__(self, groups: Sequence[Iterable[int | str]], sizes: int | Sequence[int]) -> None:
        wanted = "a list of groups of arms, such as [[0, 1], [2, 3]]"
        given = [
            check_list("groups", group, wanted, of="Partition")
            for group in check_list("groups", groups, wanted, of="Partition")
        ]
        if any(isinstance(a, str) for group in given for a in group):
            _, self.arm_names = counted([a for group in given for a in group], 1, "Partition")
            given = [numbers_of(group, self.arm_names, "Partition") for group in given]
        if not all(is_arm(a, MOST) for group in given for a in group):
            raise invalid_argument("groups", groups, wanted, of="Partition")
        self.groups = tuple(tuple(sorted(int(a) for a in group)) for group in given)
        every = sorted(a for group in self.groups for a in group)
        check_size(len(every), "arms", of="Partition")
        if not every or every != list(range(len(every))):
            raise InputError(
                "not-a-partition",
                "Partition: together the groups have the arms {arms}",
                remedy="they must contain each of the arms 0, 1, ... exactly once",
                arms=every[:12],
            )
        single = isinstance(sizes, int | np.integer) and not isinstance(sizes, bool)
        several = (
            [sizes] * len(self.groups)
            if single
            else check_list(
                "sizes", sizes, "a size, or a list of one size per group", of="Partition"
            )
        )
        if len(several) != len(self.groups):
            raise InputError(
                "one-size-per-group",
                "Partition: there are {sizes:count size} for {groups:count group}",
                remedy="give one size per group",
                sizes=len(several),
                groups=len(self.groups),
            )
        self.sizes = tuple(check_int("a size", size, 0, of="Partition") for size in several)
        for group, size in zip(self.groups, self.sizes, strict=True):
            if size > len(group):
                raise invalid_argument(
                    "a size",
                    size,
                    "at most {arms}, the number of arms of its group {group}",
                    arms=len(group),
                    group=group[:12],
                    of="Partition",
                )
        if sum(self.sizes) == 0:
            raise invalid_argument(
                "sizes",
                several,
                "at least 1 for some group, or the only set is empty",
                of="Partition",
            )
        self.d = len(every)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same structure."""
        groups: Any = self.groups
        if self.arm_names is not None:
            groups = tuple(tuple(self.arm_names[a] for a in group) for group in groups)
        return {"groups": groups, "sizes": self.sizes}

    def without_labels(self) -> "Partition":
        """Return the same sets without names of the arms."""
        return self if self.arm_names is None else Partition(self.groups, self.sizes)

    def kernel(self) -> PartitionKernel:
        """Return the linear oracle for the partition matroid."""
        d = self.d
        group = np.zeros(d, np.int64)
        for g, some in enumerate(self.groups):
            group[list(some)] = g
        first = np.cumsum([0, *(len(g) for g in self.groups)]).astype(np.int64)
        members = np.array([a for g in self.groups for a in g], dtype=np.int64)
        return PartitionKernel(
            members,
            first,
            np.array(self.sizes, dtype=np.int64),
            group,
            np.zeros(max(self.sizes), np.int64),
            np.zeros(d, np.int64),
            np.zeros(d),
            np.zeros(d),
            np.zeros(d, np.int64),
            np.zeros(d),
            np.zeros(1),
        )

    def gibbs(self) -> SymmetricKernel:
        """Return the sums over independent groups: products of symmetric polynomials."""
        return symmetric(self.groups, self.sizes)

    def permuted(self, order: Ints) -> "Partition":
        """Return the partition under a permutation, with its groups sorted."""
        called = np.argsort(order)
        groups = sorted(
            (sorted(called[list(group)].tolist()), size)
            for group, size in zip(self.groups, self.sizes, strict=True)
        )
        return Partition([group for group, _ in groups], [size for _, size in groups])

    def n_sets(self) -> int:
        """Return the product over the groups of the binomial coefficients."""
        return math.prod(math.comb(len(g), k) for g, k in zip(self.groups, self.sizes, strict=True))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        for chosen in product(
            *(combinations(g, k) for g, k in zip(self.groups, self.sizes, strict=True))
        ):
            yield tuple(sorted(a for some in chosen for a in some))

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether the given arms have the right number in every group."""
        chosen = sorted_arms(arms, self.d)
        if chosen is None:
            return False
        return tuple(len(set(chosen) & set(g)) for g in self.groups) == self.sizes

    def covering(self) -> list[tuple[int, ...]]:
        """Return a minimal covering: the maximum of ceil(group / size) over the groups."""
        rounds = max(
            math.ceil(len(g) / k) for g, k in zip(self.groups, self.sizes, strict=True) if k
        )
        return [
            tuple(
                sorted(
                    g[(t * k + i) % len(g)]
                    for g, k in zip(self.groups, self.sizes, strict=True)
                    for i in range(k)
                )
            )
            for t in range(rounds)
        ]

    def neighbourhood(self) -> Neighbourhood:
        """Return the exchanges of one arm inside a group."""
        return Neighbourhood(
            2, sum(k * (len(g) - k) for g, k in zip(self.groups, self.sizes, strict=True)), True
        )

    def relevant_arms(self) -> set[int]:
        """Return the arms of the groups from which some but not all arms are taken."""
        return {
            a for g, k in zip(self.groups, self.sizes, strict=True) if 0 < k < len(g) for a in g
        }

    def max_size(self) -> int:
        """Return the sum of the sizes."""
        return sum(self.sizes)

    def max_difference(self) -> int:
        """Return 2 times the sum over the groups of min(size, arms - size)."""
        return 2 * sum(min(k, len(g) - k) for g, k in zip(self.groups, self.sizes, strict=True))

    def geometry(self) -> PolytopeGeometry:
        """Return the geometry of {0 <= x <= 1, sum over each group = size}.

        The rows are +-e_a, so psi = phi = 1.
        """
        return PolytopeGeometry(math.sqrt(self.max_difference()), 1.0, 1.0, True)


def check_comparable(
    actions: StructureBase, answers: StructureBase, names: Sequence[str] | None = None
) -> Message | None:
    """Return why the answers cannot be compared within actions; None if they can.

    They can if they differ by exchanges of two arms, and some action contains both arms of each
    exchange.

    >>> print(check_comparable(Arms(3), Arms(3)))
    no play has both arm 0 and arm 1, so nothing compares them; let plays have several arms.
    >>> check_comparable(Subsets(3, 2), Arms(3)) is None
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
    """Return the groups of arms inside which answers differ by exchanges."""
    if isinstance(answers, Partition):
        sizes = zip(answers.groups, answers.sizes, strict=True)
        return [group for group, size in sizes if 0 < size < len(group)]
    return [tuple(range(answers.d))]


def _meet(actions: StructureBase, i: int, j: int) -> bool:
    """Return whether some action contains both arms."""
    if not isinstance(actions, Partition):
        return False
    size = {a: k for group, k in zip(actions.groups, actions.sizes, strict=True) for a in group}
    same = any(i in group and j in group for group in actions.groups)
    return min(size[i], size[j]) > (1 if same else 0)
