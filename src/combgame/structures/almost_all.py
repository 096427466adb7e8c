"""The needle in a haystack of the paper: every non-empty set without the needle, and the needle."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from .._validation import check_list, counted, numbers_of
from .._values import frozen
from ..engine.likelihood_ratio import against
from ..engine.protocols import RewardKernel
from ..engine.state import Fixed, Floats, Ints, Random
from ..errors import invalid_argument
from ..rewards.base import WEIGHTLESS
from ._gibbs import DiagramKernel, diagram
from ._nearest.almost_all import FlipWorkspace, make_flips, search
from ._union_bound.listed import SOME, ListedUnionBound, every
from .base import PolytopeGeometry, StructureBase, is_arm, sorted_arms
from .geometry import needle_psi


class AlmostAllSetsKernel(NamedTuple):
    """The linear oracle for almost all sets."""

    needle: Fixed  # 0/1
    size: int  # number of arms of the needle
    flips: FlipWorkspace  # scratch

    def argmax(self, score: Floats, out: Floats) -> None:
        """Write all positive scores, unless they contain the needle.

        If they do, write the better of two sets: the positive scores without the arm of the needle
        that has the least score, and the needle alone.
        """
        d, total, pin, weakest, held, top = score.size, 0.0, 0.0, -1, 0, -1
        for a in range(d):
            out[a] = 1.0 if score[a] > 0.0 else 0.0
            total += max(score[a], 0.0)
            if self.needle[a] > 0.5:
                pin += score[a]
                if score[a] > 0.0:
                    held += 1
                if weakest < 0 or score[a] < score[weakest]:
                    weakest = a
            if (self.needle[a] < 0.5 or self.size > 1) and (top < 0 or score[a] > score[top]):
                top = a  # the best single arm that is not the needle
        some = total > 0.0
        if held == self.size:  # the positive scores contain the needle
            out[weakest] = 0.0
            total -= score[weakest]
            some = False
            for a in range(d):
                some = some or out[a] > 0.5
        if not some:
            total = -math.inf
            if top >= 0:
                for a in range(d):
                    out[a] = 0.0
                out[top] = 1.0
                total = score[top]
        if pin > total:
            for a in range(d):
                out[a] = self.needle[a]

    def sample(self, rng: Random, out: Floats) -> None:
        """Draw a uniformly random set: toss a fair coin per arm until the result is a set."""
        while True:
            held, others = 0, 0
            for a in range(out.size):
                out[a] = 1.0 if rng.random() < 0.5 else 0.0
                if out[a] > 0.5:
                    if self.needle[a] > 0.5:
                        held += 1
                    else:
                        others += 1
            if (held < self.size and held + others > 0) or (held == self.size and others == 0):
                return

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Find the nearest set by a search that a certified bound prunes.

        Adjacent sets differ in that one arm joins or leaves or two arms change places, or the
        needle is one of the two.
        """
        most, arms, sign = math.inf, self.flips.arms, self.flips.sign
        if not self.free(rewards, mean, weight, best, rival, alternative):
            most = search(self.flips, rewards, mean, weight, best, alternative, rival)
        return min(against(rewards, mean, weight, best, arms, sign, rival, alternative), most)

    def free(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> bool:
        """Write a set at distance zero, and return whether there is one.

        Such a set differs from the best one in an arm that has no weight and may take any mean.
        """
        d, score, large = best.size, self.flips.price, 0.0
        for a in range(d):
            score[a] = rewards.project(mean[a], a)
            large += 4.0 * abs(score[a])
        large = large if large > 0.0 else 1.0
        for a in range(d):
            sign = 1.0 - 2.0 * best[a]
            far = math.copysign(math.inf, sign)
            if weight[a] < WEIGHTLESS and rewards.project(far, a) == far:
                score[a] += sign * large
                self.argmax(score, rival)
                score[a] = rewards.project(mean[a], a)
                arms, signs = self.flips.arms, self.flips.sign
                if rival[a] != best[a] and not (
                    against(rewards, mean, weight, best, arms, signs, rival, alternative) > 0.0
                ):
                    return True
        return False


@frozen
class AlmostAllSets(StructureBase):
    """Every non-empty set of arms that does not contain the needle, and the needle itself.

    Parameters
    ----------
    d : int or sequence of str
        The number of arms, or their names.
    needle : int, str or iterable of these, default=0
        The needle: an arm or a set of arms.

    Examples
    --------
    >>> AlmostAllSets(7, needle=0).n_sets()
    64
    """

    def __init__(self, d: int | Sequence[str], needle: int | str | Iterable[int | str] = 0) -> None:
        self.d, self.arm_names = counted(d, 2, "AlmostAllSets")
        wanted, last = "an arm from 0 to {last}, or a set of such arms", self.d - 1
        some: list[Any] = [needle]
        if not isinstance(needle, int | str | np.integer):
            some = check_list("needle", needle, wanted, of="AlmostAllSets", last=last)
        pins = numbers_of(some, self.arm_names, "AlmostAllSets")
        if not pins or not all(is_arm(a, self.d) for a in pins) or len(set(pins)) < len(pins):
            raise invalid_argument("needle", needle, wanted, of="AlmostAllSets", last=last)
        self.needle = tuple(sorted(int(a) for a in pins))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same structure."""
        return {
            "d": self.arm_names or self.d,
            "needle": self.needle if len(self.needle) > 1 else self.needle[0],
        }

    def kernel(self) -> AlmostAllSetsKernel:
        """Return the linear oracle for almost all sets."""
        needle = np.zeros(self.d)
        needle[list(self.needle)] = 1.0
        return AlmostAllSetsKernel(needle, len(self.needle), make_flips(needle))

    def without_labels(self) -> "AlmostAllSets":
        """Return the same sets without names of the arms."""
        return self if self.arm_names is None else AlmostAllSets(self.d, self.needle)

    def gibbs(self) -> DiagramKernel:
        """Return the sums by a diagram over the arms, the arms of the needle first.

        At each arm the diagram has at most three states: all arms of the needle so far are taken,
        no arm is taken, or neither.
        """
        pins, d = len(self.needle), self.d
        order = [*self.needle, *(a for a in range(d) if a not in self.needle)]
        states = [(0, "all")]
        for i in range(1, d):
            states += [
                (i, state)
                for state in ("all", "none", "some")
                if (state != "all" or i <= pins) and (state, i) != ("some", 1)
            ]
        states += [(d, "all")] * (pins == d)
        number, end = {state: v for v, state in enumerate(states)}, len(states)
        leaving: list[list[tuple[int, int]]] = [[] for _ in range(end + 1)]
        for (i, state), v in number.items():
            if state == "all" and i == pins:
                leaving[v].append((-1, end))  # the needle itself, and no other arm
                continue
            without = "none" if i == 0 else "some" if state == "all" else state
            for arm, then in ((order[i], "all" if state == "all" else "some"), (-1, without)):
                if (i + 1, then) in number:
                    leaving[v].append((arm, number[i + 1, then]))
                elif i + 1 == d and then == "some":
                    leaving[v].append((arm, end))
        return diagram(leaving)

    def union_bound(self) -> ListedUnionBound | None:
        """Return the differences to every other set, if there are at most SOME sets."""
        return every(self.to_list(), self.d) if self.n_sets() <= SOME else None

    def permuted(self, order: Ints) -> "AlmostAllSets":
        """Return the structure with the permuted needle."""
        return AlmostAllSets(self.d, np.argsort(order)[list(self.needle)].tolist())

    def n_sets(self) -> int:
        """Return 2^d - 2^(d - size of the needle)."""
        return (1 << self.d) - (1 << (self.d - len(self.needle)))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        for n in range(1, self.d + 1):
            for chosen in combinations(range(self.d), n):
                if not set(self.needle) <= set(chosen) or chosen == self.needle:
                    yield chosen

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether the given arms are the needle, or a non-empty set without it."""
        chosen = sorted_arms(arms, self.d)
        if not chosen:
            return False
        return chosen == self.needle or not set(self.needle) <= set(chosen)

    def covering(self) -> list[tuple[int, ...]]:
        """Return two sets: the needle, and all arms but one arm of the needle."""
        if len(self.needle) == self.d:
            return [self.needle]
        return [tuple(a for a in range(self.d) if a != self.needle[0]), self.needle]

    def relevant_arms(self) -> set[int]:
        """Return all arms."""
        return set(range(self.d))

    def max_size(self) -> int:
        """Return the larger of d - 1 and the size of the needle."""
        return max(self.d - 1, len(self.needle))

    def max_difference(self) -> int:
        """Return d: the needle and the set of all other arms differ in every arm."""
        return self.d

    def geometry(self) -> PolytopeGeometry:
        """Return the geometry, which is exact if the needle is a single arm.

        Otherwise psi and phi are those of the cube, as a placeholder (docs/algorithms.md).
        """
        exact = len(self.needle) == 1
        psi = needle_psi(self.d) if exact else 1.0
        return PolytopeGeometry(math.sqrt(self.max_difference()), psi, 1.0, exact)
