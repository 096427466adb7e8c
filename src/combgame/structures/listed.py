"""An explicit list of sets of any sizes."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._validation import MATRIX, check_list, check_size, counted, numbers_of
from .._values import frozen
from ..engine.likelihood_ratio import against, differ
from ..engine.protocols import RewardKernel
from ..engine.state import Fixed, Floats, Ints, Random
from ..errors import InputError, invalid_argument
from ._gibbs import DiagramKernel, diagram, prefix_tree
from ._union_bound.listed import ListedUnionBound, by_size, differences
from .base import PolytopeGeometry, StructureBase, is_arm, sorted_arms
from .geometry import facets, greedy_psi
from .relabel import figure, renumbered

EXACT_COVER_SETS = 500  # sets up to which the covering is minimal
# facets are computed up to this dimension of the hull and this many sets; above, LLOO uses the
# geometry of the cube 0 <= x <= 1
EXACT_HULL = 9
EXACT_HULL_SETS = 200


class ListedKernel(NamedTuple):
    """The linear oracle for a list of sets, which looks at all of them."""

    members: Fixed  # float64[n, d]: 0/1
    alive: Floats  # float64[n]: 1, or 0 for a set that was eliminated
    arms: Ints  # scratch
    sign: Floats
    trial: Floats

    def argmax(self, score: Floats, out: Floats) -> None:
        """Write the set with the largest sum of scores, the first one among equals."""
        top, value = -1, 0.0
        for k in range(self.members.shape[0]):
            if self.alive[k] > 0.5:
                total = 0.0
                for a in range(score.size):
                    if self.members[k, a] > 0.5:
                        total += score[a]
                if top < 0 or total > value:
                    top, value = k, total
        for a in range(score.size):
            out[a] = self.members[top, a]

    def sample(self, rng: Random, out: Floats) -> None:
        """Draw a uniformly random set of the list."""
        n = self.members.shape[0]
        k = min(int(rng.random() * n), n - 1)
        for a in range(out.size):
            out[a] = self.members[k, a]

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Find the closest of all other sets of the list; return infinity if there is none."""
        closest, value = -1, math.inf
        for k in range(self.members.shape[0]):
            n = differ(best, self.members[k], self.arms, self.sign)
            if n > 0 and self.alive[k] > 0.5:
                cost = rewards.transportation_cost(
                    mean, weight, self.arms, self.sign, n, self.trial
                )
                if closest < 0 or cost < value:
                    closest, value = k, cost
        if closest < 0:
            return math.inf
        for a in range(best.size):
            rival[a] = self.members[closest, a]
        return against(rewards, mean, weight, best, self.arms, self.sign, rival, alternative)


def listed_part(members: Floats) -> ListedKernel:
    """Return the kernel for the rows of a 0/1 matrix."""
    n, d = members.shape
    return ListedKernel(members.copy(), np.ones(n), np.zeros(d, np.int64), np.zeros(d), np.zeros(d))


@frozen
class Listed(StructureBase):
    """An explicit list of sets.

    Parameters
    ----------
    sets : sequence of iterables of int or str
        The sets, each given by its arms.
    d : int or sequence of str
        The number of arms, or their names.

    Examples
    --------
    >>> Listed([[0, 1], [1, 2], [2]], d=3).argmax([0.0, 1.0, 2.0])
    (1, 2)
    """

    def __init__(self, sets: Sequence[Iterable[int | str]], d: int | Sequence[str]) -> None:
        self.d, self.arm_names = counted(d, 1, "Listed")
        kept: list[tuple[int, ...]] = []
        wanted = "a list of sets of arms, such as [[0, 1], [2]]"
        given = check_list("sets", sets, wanted, of="Listed")
        if any(isinstance(one, int | float | np.number) for one in given):
            raise invalid_argument("sets", sets, wanted, of="Listed")
        listed = [
            numbers_of(
                check_list("a set", one, "a list of arms, such as [0, 1]", of="Listed"),
                self.arm_names,
                "Listed",
            )
            for one in given
        ]
        check_size(len(listed) * self.d, "arms in all its sets", of="Listed", times=MATRIX)
        for number, arms in enumerate(listed):
            if not arms:
                raise InputError(
                    "empty-set",
                    "Listed: set number {number} is empty",
                    remedy="leave it out; docs/problems.md says how 'none' can be an answer",
                    number=number,
                )
            for a in arms:
                if not is_arm(a, self.d):
                    raise InputError(
                        "no-such-arm",
                        "Listed: set number {number} has the arm {arm!r}",
                        remedy="arms are 0 to {last}",
                        number=number,
                        arm=a,
                        last=self.d - 1,
                    )
            if len(set(arms)) < len(arms):
                raise InputError(
                    "arm-repeated",
                    "Listed: set number {number}, {arms}, repeats an arm",
                    remedy="name each arm once (arms, not a row of 0 and 1)",
                    number=number,
                    arms=arms,
                )
            kept.append(tuple(sorted(int(a) for a in arms)))
        if not kept:
            raise InputError(
                "no-sets", "Listed: the list of sets is empty", remedy="give at least one set"
            )
        if len(set(kept)) < len(kept):
            twice = Counter(kept).most_common(1)[0][0]
            raise InputError(
                "set-repeated",
                "Listed: the set {arms} is in the list twice",
                remedy="leave one out",
                arms=list(twice),
            )
        self._arrange(kept)

    def _arrange(self, sets: list[tuple[int, ...]]) -> None:
        self._sets, self._known = tuple(sets), set(sets)
        self._matrix = np.zeros((len(sets), self.d))
        for row, chosen in zip(self._matrix, sets, strict=True):
            row[list(chosen)] = 1.0

    def permuted(self, order: Ints) -> "Listed":
        """Return the permuted sets in sorted order, since the order of the list decides ties."""
        called, new = np.argsort(order), renumbered(self, order)
        new._arrange(sorted(tuple(sorted(called[list(chosen)].tolist())) for chosen in self._sets))
        return new  # type: ignore[no-any-return]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same structure."""
        return {"sets": self._sets, "d": self.arm_names or self.d}

    def without_labels(self) -> "Listed":
        """Return the same sets without names of the arms."""
        return self if self.arm_names is None else Listed(self._sets, self.d)

    def kernel(self) -> ListedKernel:
        """Return the linear oracle for the list."""
        return listed_part(self._matrix)

    def gibbs(self) -> DiagramKernel:
        """Return the sums over all sets, with common prefixes counted once."""
        return diagram(prefix_tree(self._sets))

    def union_bound(self) -> ListedUnionBound:
        """Return the differences to every other set."""
        chance, d = by_size(self._differences(), max(self.n_sets() - 1.0, 1.0)), self.d
        return ListedUnionBound(self._matrix, chance, np.zeros(d, np.int64), np.zeros(d))

    @figure
    def _differences(self) -> Floats:
        return differences(self._matrix)

    def n_sets(self) -> int:
        """Return the length of the list."""
        return len(self._sets)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(self._sets)

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether the given arms are a set of the list."""
        return sorted_arms(arms, self.d) in self._known

    def observable_arms(self) -> set[int]:
        """Return the arms of the listed sets."""
        return set(np.flatnonzero(self._matrix.any(axis=0)).tolist())

    def covering(self) -> list[tuple[int, ...]]:
        """Return a covering that is minimal up to 500 sets, by integer programming.

        Above, it is greedy, with at most ln(d) + 1 times as many sets as the smallest one.
        """
        if len(self._sets) <= EXACT_COVER_SETS:
            from scipy.optimize import Bounds, LinearConstraint, milp

            observable = self._matrix[:, self._matrix.any(axis=0)]
            n = len(self._sets)
            solved = milp(
                np.ones(n),
                integrality=np.ones(n),
                bounds=Bounds(0, 1),
                constraints=LinearConstraint(observable.T, lb=1.0),
                options={"time_limit": 10.0},
            )
            if solved.status == 0:
                return [self._sets[k] for k in np.flatnonzero(np.asarray(solved.x) > 0.5)]
        missing, cover = self.observable_arms(), []
        while missing:
            gains = [len(missing.intersection(s)) for s in self._sets]
            cover.append(self._sets[int(np.argmax(gains))])
            missing -= set(cover[-1])
        return cover

    def relevant_arms(self) -> set[int]:
        """Return the arms that are in some set but not in every set."""
        return set(np.flatnonzero(self._matrix.min(axis=0) != self._matrix.max(axis=0)).tolist())

    def max_size(self) -> int:
        """Return the size of the largest set."""
        return int(self._matrix.sum(axis=1).max())

    @figure
    def max_difference(self) -> int:
        """Return the largest difference between two sets, computed for all pairs."""
        sizes = self._matrix.sum(axis=1)
        most = 0.0
        for k in range(len(self._sets)):
            most = max(most, float((sizes[k] + sizes - 2 * self._matrix @ self._matrix[k]).max()))
        return int(most)

    @figure
    def geometry(self) -> PolytopeGeometry:
        """Return psi and phi from the facets if the hull is small, else those of the cube.

        psi is computed greedily, so it is not exact.
        """
        diameter = math.sqrt(self.max_difference())
        if len(self._sets) <= EXACT_HULL_SETS:
            rows, slack = facets(self._matrix, EXACT_HULL)
            if rows is not None and slack is not None:
                return PolytopeGeometry(
                    diameter, greedy_psi(rows), float(slack[slack > 1e-6].min()), False
                )
        return PolytopeGeometry(diameter, 1.0, 1.0, False)
