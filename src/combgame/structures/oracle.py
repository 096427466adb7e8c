"""Structures given by a function that returns the best set for scores."""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._validation import arms as arms_in
from .._values import frozen
from ..engine.state import Floats, Ints, vector
from ..engine.user_code import CallbackKernel, callback_part
from ..errors import InputError, OracleError, check_bool, invalid_argument
from ._nearest.bracketing import BracketingStructure
from .base import greedy_covering
from .relabel import figure, renumbered, some_arms

Argmax = Callable[[Floats], Iterable[int]]


def _index(arm: Any) -> int:
    """Return a whole number; refuse the True and False of a mask."""
    if isinstance(arm, bool | np.bool_):
        raise TypeError("a mask")
    return operator.index(arm)


@frozen
class Oracle(BracketingStructure):
    """The sets that a user's function ``argmax(scores)`` can return.

    Parameters
    ----------
    argmax : callable
        A function from d scores to the arms of the best set.
    d : int
        The number of arms.
    contains : callable, optional
        A function from a frozenset of arms to True if it is one of the sets. Every returned set is
        then checked with it.
    covering : sequence of iterables of int, optional
        Sets that together contain every arm. By default a covering is found greedily with the
        function (at most ln(d) + 1 times as many sets as needed).
    exact : bool, default=False
        The structure as answers computes a certified bracket around the distance of the nearest
        alternative, and stopping uses its lower end. True closes the bracket by enumeration.

    Raises
    ------
    InputError
        If an argument is wrong, or the covering leaves out an arm.
    OracleError
        If the function returns something that is not one of the sets.

    Examples
    --------
    >>> pairs = Oracle(lambda scores: np.argsort(-scores, kind="stable")[:2], d=4)
    >>> pairs.argmax([1.0, 4.0, 2.0, 3.0])
    (1, 3)
    """

    def __init__(
        self,
        argmax: Argmax,
        d: int,
        contains: Callable[[frozenset[int]], bool] | None = None,
        covering: Sequence[Iterable[int]] | None = None,
        exact: bool = False,
    ) -> None:
        self.d = arms_in("d", d, 1, of="Oracle")
        if not callable(argmax):
            raise invalid_argument(
                "argmax",
                argmax,
                "a function from {d} scores to the arms of the best set",
                d=self.d,
                of="Oracle",
            )
        if contains is not None and not callable(contains):
            raise invalid_argument(
                "contains", contains, "a function from a set of arms to True or False", of="Oracle"
            )
        if covering is not None and not isinstance(covering, Sequence):
            raise invalid_argument(
                "covering", covering, "a list of sets that together see every arm", of="Oracle"
            )
        self._argmax, self._contains = argmax, contains
        self.exact = check_bool("exact", exact, of="Oracle")
        self._given: tuple[tuple[int, ...], ...] | None = None
        if covering is not None:
            self._given = tuple(self._check(chosen, "covering") for chosen in covering)
        self._covering = greedy_covering(self) if self._given is None else list(self._given)
        missing = 1.0 - vector({a for chosen in self._covering for a in chosen}, self.d)
        left_out = np.flatnonzero(self.ask(missing) * missing)
        if left_out.size:
            raise InputError(
                "covering-leaves-out",
                "Oracle: the covering leaves out the arms {arms}, which its sets have",
                remedy="add sets that see them",
                arms=left_out[:10].tolist(),
            )

    def permuted(self, order: Ints) -> "Oracle":
        """Return the same function, called with the scores in its own order of the arms.

        The function decides ties, so the covering stays its own.
        """
        called, mine, within = np.argsort(order), self._argmax, self._contains

        def argmax(score: Floats) -> Iterable[int]:
            arms = self._check(mine(score[called]), "argmax")
            return called[list(arms)].tolist()  # type: ignore[no-any-return]

        def contains(arms: frozenset[int]) -> bool:
            return within is None or bool(within(frozenset(order[list(arms)].tolist())))

        new: Oracle = renumbered(
            self,
            order,
            exact=self.exact,
            _argmax=argmax,
            _contains=None if within is None else contains,
        )
        new._covering = [tuple(sorted(called[list(chosen)].tolist())) for chosen in self.covering()]
        return new

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make the same structure."""
        return {
            "argmax": self._argmax,
            "d": self.d,
            "contains": self._contains,
            "covering": self._given,
            "exact": self.exact,
        }

    def _check(self, given: Any, what: str) -> tuple[int, ...]:
        try:
            arms = [_index(a) for a in given]
        except Exception:  # whatever was given
            raise self._not_arms(given, what) from None
        if not arms or len(set(arms)) < len(arms) or min(arms) < 0 or max(arms) >= self.d:
            raise self._not_arms(arms, what)
        if self._contains is not None and not self._contains(frozenset(arms)):
            raise OracleError(
                "not-its-set",
                "{structure}: {what} gave {arms}, which `contains` says is not one of its sets",
                remedy="correct one of the two",
                structure=str(self),
                what=what,
                arms=sorted(arms),
            )
        return tuple(sorted(arms))

    def _not_arms(self, given: object, what: str) -> OracleError:
        return OracleError(
            "not-arms",
            "{structure}: {what} gave {given!r}, not the arms of a set",
            remedy="it must give one or more distinct arms from 0 to {last}, such as [0, 2] (not "
            "a mask)",
            structure=str(self),
            what=what,
            given=given,
            last=self.d - 1,
        )

    def ask(self, score: Floats) -> Floats:
        """Return the checked answer of the user's function for these scores, as a 0/1 vector."""
        return vector(self._check(self._argmax(score.copy()), "argmax"), self.d)

    def kernel(self) -> CallbackKernel:
        """Return a kernel that calls the user's function."""
        return callback_part(self.ask, self.d)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        raise InputError(
            "cannot-list",
            "{structure} cannot list its sets",
            remedy="give them with Listed, or use OFW, LLOO or uniform sampling",
            structure=str(self),
        )

    def contains(self, arms: Iterable[int]) -> bool:
        """Return the answer of the user's function `contains`."""
        if self._contains is None:
            raise InputError(
                "membership-unknown",
                "{structure} was made without `contains`, so membership is not known",
                remedy="make it with contains",
                structure=str(self),
            )
        return bool(self._contains(frozenset(int(a) for a in arms)))

    def covering(self) -> list[tuple[int, ...]]:
        """Return the given covering, or the greedy one."""
        return list(self._covering)

    @some_arms
    def relevant_arms(self) -> set[int]:
        """Return the arms that are in some set but not in every set."""
        without = [a for a in self.observable_arms() if not self.ask(-vector([a], self.d))[a]]
        return set(without)

    @figure
    def max_size(self) -> int:
        """Return the size of the set for equal scores of 1."""
        return int(self.ask(np.ones(self.d)).sum())
