"""The paper's needle in a haystack: every non-empty set that does not contain the needle, and the
needle itself.
"""

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
    needle: Fixed  # 0/1
    size: int  # of the needle
    flips: FlipWorkspace  # scratch

    def argmax(self, score: Floats, out: Floats) -> None:
        """All positive scores; if that contains the needle, without the needle's least arm, or the
        needle alone.
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
        if held == self.size:  # the positive ones contain the needle
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
        """Uniform: fair coins, again if they show no set of the structure."""
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
        """One arm joins or leaves, two change places, or the needle is one of the two: a search
        pruned by a certified bound.
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
        """Whether a set is at no distance because it differs in an arm that has no weight and may
        go anywhere; it is written.
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
    """Every non-empty set of d arms that does not contain the needle (an arm or a set of arms), and
    the needle; d: how many arms there are, or their names.

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
        return {
            "d": self.arm_names or self.d,
            "needle": self.needle if len(self.needle) > 1 else self.needle[0],
        }

    def kernel(self) -> AlmostAllSetsKernel:
        needle = np.zeros(self.d)
        needle[list(self.needle)] = 1.0
        return AlmostAllSetsKernel(needle, len(self.needle), make_flips(needle))

    def without_labels(self) -> "AlmostAllSets":
        return self if self.arm_names is None else AlmostAllSets(self.d, self.needle)

    def gibbs(self) -> DiagramKernel:
        """Arm after arm, the needle's first, in at most three states: its arms are all taken so
        far, none is taken, or neither.
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
        """Every other set, if they are few."""
        return every(self.to_list(), self.d) if self.n_sets() <= SOME else None

    def permuted(self, order: Ints) -> "AlmostAllSets":
        return AlmostAllSets(self.d, np.argsort(order)[list(self.needle)].tolist())

    def n_sets(self) -> int:
        return (1 << self.d) - (1 << (self.d - len(self.needle)))

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        for n in range(1, self.d + 1):
            for chosen in combinations(range(self.d), n):
                if not set(self.needle) <= set(chosen) or chosen == self.needle:
                    yield chosen

    def contains(self, arms: Iterable[int]) -> bool:
        chosen = sorted_arms(arms, self.d)
        if not chosen:
            return False
        return chosen == self.needle or not set(self.needle) <= set(chosen)

    def covering(self) -> list[tuple[int, ...]]:
        """Two sets: all but one arm of the needle, and the needle."""
        if len(self.needle) == self.d:
            return [self.needle]
        return [tuple(a for a in range(self.d) if a != self.needle[0]), self.needle]

    def relevant_arms(self) -> set[int]:
        return set(range(self.d))

    def max_size(self) -> int:
        return max(self.d - 1, len(self.needle))

    def max_difference(self) -> int:
        """The needle against all the others."""
        return self.d

    def geometry(self) -> PolytopeGeometry:
        """Exact with one needle; with more, psi and phi are those of the cube, a placeholder
        (docs/algorithms.md).
        """
        exact = len(self.needle) == 1
        psi = needle_psi(self.d) if exact else 1.0
        return PolytopeGeometry(math.sqrt(self.max_difference()), psi, 1.0, exact)
