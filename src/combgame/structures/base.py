"""What a structure tells about itself before anything is played; its `part` does the work in the
round.
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from .._validation import check_list
from .._values import Description
from ..engine.protocols import GibbsDistribution, LinearOracle, UnionBound
from ..engine.state import Ints, Random, arms_of, vector
from ..engine.user_code import own_errors
from ..errors import InputError, TooManySetsError, check_int, invalid_argument


class PolytopeGeometry(NamedTuple):
    """The polytope conv{1_A} as LLOO sees it (Garber and Hazan 2015): mu = psi * diameter / phi.

    With the polytope written as {A1 x = b1, A2 x <= b2}: phi is the smallest positive slack b2 - A2
    x at a vertex, psi the largest spectral norm of a matrix of rank(A2) independent rows of A2.
    """

    diameter: float
    psi: float
    phi: float
    exact: bool  # False: the diameter or psi come from a greedy approximation

    @property
    def mu(self) -> float:
        return self.psi * self.diameter / self.phi


class Neighbourhood(NamedTuple):
    """If a set I is not the best, B, there is a better J for which I xor J is one of some sets that
    B fixes.
    """

    max_size: int  # arms of such a difference, at most
    n_differences: int  # of differences, at most
    is_swap: bool  # each is one arm of I, which B lacks, and one that I lacks, which B has


class StructureBase(Description):
    """A collection of sets of the arms 0..d-1. Subclasses describe; `part` computes."""

    d: int
    arm_names: tuple[str, ...] | None = None  # the arms, where names were given instead of a number

    def __repr__(self) -> str:
        original = vars(self).get("_original")
        return (
            super().__repr__()
            if original is None
            else f"{original!r}.permuted({np.argsort(vars(self)['_called']).tolist()})"
        )

    def __str__(self) -> str:
        original = vars(self).get("_original")
        return super().__str__() if original is None else str(original)

    def _compared(self) -> tuple[Any, ...] | None:
        original = vars(self).get("_original")
        return (
            super()._compared() if original is None else (original, vars(self)["_called"].tobytes())
        )

    def kernel(self) -> LinearOracle:
        """The verbs of `protocols.LinearOracle`, with fresh scratch arrays."""
        raise NotImplementedError

    def n_sets(self) -> int | None:
        """The number of sets, exactly; None where it is not known."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """All sets, each as ascending arms."""
        raise NotImplementedError

    def contains(self, arms: Iterable[int]) -> bool:
        """Whether this is one of the sets."""
        raise NotImplementedError

    def covering(self) -> list[tuple[int, ...]]:
        """As few sets as possible that together observe every arm that any set observes."""
        raise NotImplementedError

    def observable_arms(self) -> set[int]:
        """The arms that are in some set."""
        return {a for chosen in self.covering() for a in chosen}

    def relevant_arms(self) -> set[int]:
        """The arms in which two sets differ: those that matter when the structure is asked
        about.
        """
        raise NotImplementedError

    def max_size(self) -> int:
        """K: the size of the largest set."""
        raise NotImplementedError

    def max_difference(self) -> int:
        """d_0: the largest number of arms in which two sets differ."""
        raise NotImplementedError

    def geometry(self) -> PolytopeGeometry:
        raise NotImplementedError

    def answer_kernel(self) -> LinearOracle:
        """The part that is used when the structure is asked about; the same one unless the two need
        different things.
        """
        return self.kernel()

    def gibbs(self) -> GibbsDistribution:
        """The verb of `protocols.GibbsDistribution`, with fresh scratch arrays; a sentence where sums over
        all sets have no closed form.

        >>> from combgame import Arms
        >>> chance = np.zeros(2)
        >>> total = Arms(2).ensemble().marginals(np.log([1.0, 3.0]), chance)
        >>> round(math.exp(total), 9), chance.round(9).tolist()
        (4.0, [0.25, 0.75])
        """
        raise InputError(
            "no-closed-form",
            "{structure} has no closed form for sums over all its sets, which the rule "
            "'product-adahedge' needs",
            remedy="use the rule 'lloo' or 'ofw', or, if its sets are few, give them with Listed",
            structure=str(self),
        )

    def permuted(self, order: Ints) -> "StructureBase | None":
        """The same sets with arm order[i] called i, made as if they had been given so; None: that
        cannot be done.

        Ties and coverings are decided by numbers. A run draws its numbers at random, so that those
        of the user decide nothing. A subclass has to say it anew.
        """
        return None

    def without_labels(self) -> "StructureBase":
        """The same sets of the same arms, without what is only a name, such as those of nodes:
        itself, where there are none.
        """
        return self

    def n_sets_bound(self) -> int:
        """At least the number of sets: what a proved threshold needs to know."""
        number = self.n_sets()
        return 2**self.d if number is None else number

    def max_difference_bound(self) -> int:
        """At least d_0: what a proved threshold needs to know."""
        return self.max_difference()

    def neighbourhood(self) -> Neighbourhood:
        """What a proved threshold must cover. Here J = B, the best: one difference for every other
        set.
        """
        return Neighbourhood(self.max_difference_bound(), self.n_sets_bound() - 1, False)

    def n_gaining_differences(self) -> int:
        """The number of differences, at most, if J must gain its share of what I lacks: what
        `epsilon` needs.
        """
        return self.neighbourhood().n_differences

    def union_bound(self) -> UnionBound | None:
        """The differences of `Neighbourhood` one by one, each with a share of delta; None: not known, or
        too many.
        """
        return None

    # ---- what follows from the above

    def to_list(self, limit: int = 100_000) -> list[tuple[int, ...]]:
        """All sets, unless there are more than `limit`.

        >>> from combgame import Subsets
        >>> Subsets(3, 2).sets()
        [(0, 1), (0, 2), (1, 2)]
        """
        number, limit = self.n_sets(), check_int("limit", limit, 1, of="sets", most=sys.maxsize - 1)
        if number is None or number <= limit:
            sets = list(islice(self.__iter__(), limit + 1))
            if len(sets) <= limit:
                return sets
        raise TooManySetsError(
            "too-many-sets",
            "{structure} has at least {sets:,} sets, over the limit of {limit:,}",
            remedy="raise the limit, or use what needs no enumeration (the learners OFW and LLOO)",
            structure=str(self),
            sets=limit + 1 if number is None else number,
            limit=limit,
        )

    def argmax(self, scores: Iterable[float]) -> tuple[int, ...]:
        """The set with the largest sum of scores, ties by index.

        >>> from combgame import Subsets
        >>> Subsets(4, 2).argmax([0.1, -2.0, 0.5, 0.3])
        (2, 3)
        """
        wanted = "{d} finite numbers, one per arm"
        try:
            given = check_list("scores", scores, wanted, of="argmax", d=self.d)
            score = np.asarray(given, dtype=float)
        except InputError:
            raise
        except Exception:  # whatever was given
            score = np.zeros(0)
        if score.shape != (self.d,) or not np.all(np.isfinite(score)):
            shown = score.tolist() if score.size else scores
            raise invalid_argument("scores", shown, wanted, d=self.d, of="argmax")
        out = np.zeros(self.d)
        with own_errors():
            self.kernel().argmax(score, out)
        return arms_of(out)

    def random_covering(self, rng: Random) -> list[tuple[int, ...]]:
        """Random sets without replacement until every observable arm has been seen (the paper's
        random covering).
        """
        missing, sets, kernel, out = (
            self.observable_arms(),
            list[tuple[int, ...]](),
            self.kernel(),
            np.zeros(self.d),
        )
        seen: set[tuple[int, ...]] = set()
        tries = 0
        while missing:
            kernel.sample(rng, out)
            chosen = arms_of(out)
            tries = tries + 1 if chosen in seen else 0
            if tries > 100_000:
                raise InputError(
                    "arms-out-of-reach",
                    "{structure}: random sets do not reach the arms {arms}",
                    remedy="use the start 'covering'",
                    structure=str(self),
                    arms=sorted(missing)[:10],
                )
            if chosen not in seen:
                seen.add(chosen)
                sets.append(chosen)
                missing -= set(chosen)
        return sets


def sorted_arms(arms: Any, d: int) -> tuple[int, ...] | None:
    """What was given as a set of arms, ascending; None if it is none of the arms 0..d-1.

    >>> distinct([2, 0], 3), distinct([0, 0], 3), distinct([3], 3), distinct([True], 3)
    ((0, 2), None, None, None)
    """
    given = check_list("arms", arms, "a list of arms, such as [0, 2]", of="contains")
    if not all(is_arm(a, d) for a in given):
        return None
    chosen = tuple(sorted(int(a) for a in given))
    return chosen if len(set(chosen)) == len(chosen) else None


def is_arm(arm: Any, d: int) -> bool:
    whole_number = isinstance(arm, int | np.integer) and not isinstance(arm, bool)
    return whole_number and 0 <= int(arm) < d


def hypersimplex(d: int, size: int) -> PolytopeGeometry:
    """{0 <= x <= 1, sum x = size}: rows +-e_a, so psi = phi = 1; two sets differ in at most 2
    min(size, d - size) arms.
    """
    return PolytopeGeometry(math.sqrt(2 * min(size, d - size)), 1.0, 1.0, True)


def greedy_covering(
    structure: StructureBase, go_on: Callable[[], object] = bool
) -> list[tuple[int, ...]]:
    """Again and again the set with the most arms that are still missing: at most ln(d) + 1 times as
    many as needed. go_on: called before each, and may raise.
    """
    kernel, missing, out = structure.kernel(), np.ones(structure.d), np.zeros(structure.d)
    sets = []
    while missing.any():
        go_on()
        with own_errors():
            kernel.argmax(missing, out)
        if not (out * missing).any():
            break  # no set has any of the arms that are left
        sets.append(arms_of(out))
        missing[out > 0.5] = 0.0
    return sets


def max_difference_estimate(structure: StructureBase) -> int:
    """A lower estimate of d_0 by climbing: from a set, the farthest one is one oracle call away
    (scores 1 outside, -1 inside).
    """
    kernel, most, there = structure.kernel(), 0, np.zeros(structure.d)
    for start in structure.covering()[:8]:
        here, last = vector(start, structure.d), -1
        while True:
            with own_errors():
                kernel.argmax(1.0 - 2.0 * here, there)
            apart = int(np.abs(there - here).sum())
            if apart <= last:
                break
            here, last = there.copy(), apart
        most = max(most, last)
    return most
