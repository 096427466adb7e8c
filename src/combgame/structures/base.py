"""The base class of structures (collections of sets of arms) and helpers that structures share.

A structure describes its sets; its `kernel` does the work in the rounds.
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
    """Constants of the polytope conv{1_A} that determine the step sizes of LLOO.

    The polytope is written as {A1 x = b1, A2 x <= b2} [1]_.

    Parameters
    ----------
    diameter : float
        The largest Euclidean distance between two vertices.
    psi : float
        The largest spectral norm of a matrix of rank(A2) independent rows of A2.
    phi : float
        The smallest positive slack b2 - A2 x at a vertex.
    exact : bool
        False if the diameter or psi come from a greedy approximation.

    References
    ----------
    .. [1] Garber and Hazan. *A Linearly Convergent Variant of the Conditional Gradient Algorithm
       under Strong Convexity, with Applications to Online and Stochastic Optimization*.
       arXiv:1301.4666, 2015.
    """

    diameter: float
    psi: float
    phi: float
    exact: bool

    @property
    def mu(self) -> float:
        """Return psi * diameter / phi."""
        return self.psi * self.diameter / self.phi


class Neighbourhood(NamedTuple):
    """The differences that a proved threshold must cover.

    If a set I is not the best set B, there is a better set J for which I xor J is one of some sets
    that B fixes.
    """

    max_size: int  # upper bound on the number of arms of such a difference
    n_differences: int  # upper bound on the number of differences
    is_swap: bool  # each consists of one arm of I that B lacks and one arm of B that I lacks


class StructureBase(Description):
    """The base class of structures: collections of sets of the arms 0..d-1.

    A subclass describes its sets; the kernel that `kernel` returns computes with them. A subclass
    implements at least `kernel`, `n_sets`, `__iter__`, `contains`, `covering`, `relevant_arms`,
    `max_size`, `max_difference` and `geometry`.

    Attributes
    ----------
    d : int
        The number of arms.
    arm_names : tuple of str or None
        The names of the arms, if names were given instead of a number of arms.
    """

    d: int
    arm_names: tuple[str, ...] | None = None

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
        """Return a kernel with the verbs of `LinearOracle` and fresh scratch arrays.

        Returns
        -------
        LinearOracle
            The kernel for the structure as a collection of actions.
        """
        raise NotImplementedError

    def n_sets(self) -> int | None:
        """Return the exact number of sets.

        Returns
        -------
        int or None
            The number of sets; None if it is not known.
        """
        raise NotImplementedError

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Iterate over all sets, each with its arms in ascending order."""
        raise NotImplementedError

    def contains(self, arms: Iterable[int]) -> bool:
        """Return whether some arms form one of the sets.

        Parameters
        ----------
        arms : iterable of int
            The indices of the arms, in any order.

        Returns
        -------
        bool
            True if the arms are one of the sets.
        """
        raise NotImplementedError

    def covering(self) -> list[tuple[int, ...]]:
        """Return sets that together contain every arm that any set contains.

        Returns
        -------
        list of tuple of int
            As few sets as possible, each with its arms in ascending order.
        """
        raise NotImplementedError

    def observable_arms(self) -> set[int]:
        """Return the arms that are in at least one set."""
        return {a for chosen in self.covering() for a in chosen}

    def relevant_arms(self) -> set[int]:
        """Return the arms in which two sets differ.

        These are the arms that matter if the sets are the answers of a problem.
        """
        raise NotImplementedError

    def max_size(self) -> int:
        """Return K, the size of the largest set."""
        raise NotImplementedError

    def max_difference(self) -> int:
        """Return d_0, the largest number of arms in which two sets differ."""
        raise NotImplementedError

    def geometry(self) -> PolytopeGeometry:
        """Return the constants of the polytope that LLOO needs."""
        raise NotImplementedError

    def answer_kernel(self) -> LinearOracle:
        """Return the kernel for the structure as a collection of answers.

        It is the same as `kernel` unless answers need another one.
        """
        return self.kernel()

    def gibbs(self) -> GibbsDistribution:
        """Return a kernel with the verb of `GibbsDistribution` and fresh scratch arrays.

        Returns
        -------
        GibbsDistribution
            The kernel.

        Raises
        ------
        InputError
            If sums over all sets have no closed form.

        Examples
        --------
        >>> from combgame import Arms
        >>> chance = np.zeros(2)
        >>> total = Arms(2).gibbs().marginals(np.log([1.0, 3.0]), chance)
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
        """Return the same sets with arm ``order[i]`` called i, as if they had been given like that.

        Ties and coverings are decided by indices. A run draws a permutation of the arms, so that
        the indices of the user decide nothing. A subclass must override this method again, even if
        its parent does.

        Parameters
        ----------
        order : ndarray of int64, shape (d,)
            A permutation of the arms.

        Returns
        -------
        StructureBase or None
            The permuted structure; None if the structure cannot be permuted.
        """
        return None

    def without_labels(self) -> "StructureBase":
        """Return the same sets without names, such as those of arms or nodes.

        Returns
        -------
        StructureBase
            The structure itself if it has no names.
        """
        return self

    def n_sets_bound(self) -> int:
        """Return an upper bound on the number of sets, for a proved threshold."""
        number = self.n_sets()
        return 2**self.d if number is None else number

    def max_difference_bound(self) -> int:
        """Return an upper bound on d_0, for a proved threshold."""
        return self.max_difference()

    def neighbourhood(self) -> Neighbourhood:
        """Return the differences that a proved threshold must cover.

        The default takes J = B, the best set: one difference for every other set.
        """
        return Neighbourhood(self.max_difference_bound(), self.n_sets_bound() - 1, False)

    def n_gaining_differences(self) -> int:
        """Return an upper bound on the number of differences in which J gains its share.

        The share is that of the arms that I lacks. `epsilon` needs this number.
        """
        return self.neighbourhood().n_differences

    def union_bound(self) -> UnionBound | None:
        """Return the differences of `Neighbourhood` one by one, each with a share of delta.

        Returns
        -------
        UnionBound or None
            None if the differences are not known or too many.
        """
        return None

    # ---- methods that follow from those above

    def to_list(self, limit: int = 100_000) -> list[tuple[int, ...]]:
        """Return all sets.

        Parameters
        ----------
        limit : int, default=100_000
            The largest number of sets to return.

        Returns
        -------
        list of tuple of int
            The sets, each with its arms in ascending order.

        Raises
        ------
        TooManySetsError
            If there are more than `limit` sets.

        Examples
        --------
        >>> from combgame import Subsets
        >>> Subsets(3, 2).to_list()
        [(0, 1), (0, 2), (1, 2)]
        """
        number, limit = (
            self.n_sets(),
            check_int("limit", limit, 1, of="to_list", most=sys.maxsize - 1),
        )
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
        """Return the set with the largest sum of scores.

        Parameters
        ----------
        scores : iterable of float, shape (d,)
            One finite score per arm.

        Returns
        -------
        tuple of int
            The arms in ascending order. Ties are decided by the indices of the arms.

        Examples
        --------
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
        """Draw random sets without replacement until every observable arm is covered.

        This is the random covering of the paper.

        Parameters
        ----------
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        list of tuple of int
            The sets, in the order in which they were drawn.

        Raises
        ------
        InputError
            If random sets do not reach an arm.
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
    """Return a set of arms in ascending order; None if it is not a set of the arms 0..d-1.

    >>> sorted_arms([2, 0], 3), sorted_arms([0, 0], 3), sorted_arms([3], 3), sorted_arms([True], 3)
    ((0, 2), None, None, None)
    """
    given = check_list("arms", arms, "a list of arms, such as [0, 2]", of="contains")
    if not all(is_arm(a, d) for a in given):
        return None
    chosen = tuple(sorted(int(a) for a in given))
    return chosen if len(set(chosen)) == len(chosen) else None


def is_arm(arm: Any, d: int) -> bool:
    """Return whether a value is one of the arms 0..d-1."""
    whole_number = isinstance(arm, int | np.integer) and not isinstance(arm, bool)
    return whole_number and 0 <= int(arm) < d


def hypersimplex(d: int, size: int) -> PolytopeGeometry:
    """Return the geometry of {0 <= x <= 1, sum x = size}.

    The rows are +-e_a, so psi = phi = 1. Two sets differ in at most 2 min(size, d - size) arms.
    """
    return PolytopeGeometry(math.sqrt(2 * min(size, d - size)), 1.0, 1.0, True)


def greedy_covering(
    structure: StructureBase, go_on: Callable[[], object] = bool
) -> list[tuple[int, ...]]:
    """Return a covering with at most ln(d) + 1 times as many sets as needed.

    Each step takes the set with the most arms that are still missing.

    Parameters
    ----------
    structure : StructureBase
        The structure to cover.
    go_on : callable
        It is called before each step and may raise an error.
    """
    kernel, missing, out = structure.kernel(), np.ones(structure.d), np.zeros(structure.d)
    sets = []
    while missing.any():
        go_on()
        with own_errors():
            kernel.argmax(missing, out)
        if not (out * missing).any():
            break  # no set contains any of the remaining arms
        sets.append(arms_of(out))
        missing[out > 0.5] = 0.0
    return sets


def max_difference_estimate(structure: StructureBase) -> int:
    """Return a lower estimate of d_0 by hill climbing.

    One oracle call finds the set that differs most from a given set (scores 1 outside it, -1
    inside).
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
