"""The base class of rules, and rules bound to a problem.

A rule is an immutable description. `RuleBase.bind` returns a bound rule, which makes a fresh kernel
for each run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from .._fingerprint import foreign
from .._values import Description, is_value, short_repr, symmetric
from ..engine.kernels import LazyTemplate
from ..engine.protocols import SamplingKernel
from ..engine.state import Ints, Random
from ..errors import InputError
from ..problem import Problem
from ..stopping.base import ProblemLike, Stopping, StoppingBase
from ..stopping.registry import THRESHOLDS, make_stopping

LARGER = 50  # how often arrays are made larger for one round, at most
UNSAID = 0.1  # delta if no run states it, for example if rounds are only timed


class BoundRule(Protocol):
    """A rule that knows its problem.

    A bound rule with ``alike = True`` makes all its kernels of arrays of the same types, so that
    the types are examined once.
    """

    def start_run(self, rng: Random) -> tuple[SamplingKernel, Ints]:
        """Return the kernel of a new run, and its initial design.

        Parameters
        ----------
        rng : numpy.random.Generator
            The run's generator.

        Returns
        -------
        kernel : SamplingKernel
            The sampling rule at its beginning.
        start : int64[n_0, K]
            The actions of the initial design: a row of arms each, filled up with -1.
        """

    def resize(self, rule: Any) -> SamplingKernel:
        """Return a kernel with the same state in larger arrays.

        Parameters
        ----------
        rule : SamplingKernel
            The kernel.

        Returns
        -------
        SamplingKernel
            The larger kernel.
        """

    def diagnostics(self, rule: Any) -> dict[str, int]:
        """Return figures of a finished run, such as the size of the support.

        Parameters
        ----------
        rule : SamplingKernel
            The kernel.

        Returns
        -------
        dict of str to int
            The figures by name.
        """


class FixedBoundRule:
    """A bound rule whose arrays never grow.

    Every run begins with a copy of one kernel.

    Parameters
    ----------
    kernel : SamplingKernel
        The kernel.
    rows : int64[n_0, K]
        The initial design; see `padded`.
    """

    same_types = True

    def __init__(self, kernel: SamplingKernel, rows: Ints) -> None:
        self.kernel, self.rows = LazyTemplate(kernel), rows

    def start_run(self, rng: Random) -> tuple[SamplingKernel, Ints]:
        """Return a copy of the kernel, and the initial design."""
        return self.kernel.copy(), self.rows

    def resize(self, rule: SamplingKernel) -> SamplingKernel:
        """Return the kernel itself."""
        return rule

    def diagnostics(self, rule: SamplingKernel) -> dict[str, int]:
        """Return no figures."""
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class RuleBase(Description):
    """Base class of rules. Its method `bind` fits a rule to a problem.

    Attributes
    ----------
    symmetric : bool
        True if the rule treats arms as exchangeable labels, so that every run may permute them.
    """

    symmetric: ClassVar[bool] = False

    def bind(self, problem: ProblemLike) -> BoundRule:
        """Return the rule bound to a problem.

        Parameters
        ----------
        problem : ProblemLike
            The problem.

        Returns
        -------
        BoundRule
            The bound rule.

        Raises
        ------
        InputError
            If the class does not define the method, or the rule does not fit the problem.
        """
        raise InputError(
            "no-setup",
            "{rule} has no method bind(problem), which makes its kernel and its start",
            remedy="write one that returns FixedBoundRule(kernel, start), as in docs/new-part.md",
            rule=type(self).__name__,
        )

    def permuted(self, order: Ints) -> "RuleBase | None":
        """Return the rule for permuted arms.

        Parameters
        ----------
        order : int64[d]
            Arm ``order[i]`` becomes arm i.

        Returns
        -------
        RuleBase or None
            The rule; None if it cannot be permuted, so that arms keep their numbers.
        """
        return self if symmetric(self) else None

    def with_deltas(self, deltas: Sequence[float]) -> "RuleBase":
        """Return the rule with the parameters that it takes from a run filled in.

        Parameters
        ----------
        deltas : sequence of float
            The deltas of the run.

        Returns
        -------
        RuleBase
            The rule.
        """
        return self

    def stopping(self, problem: ProblemLike, deltas: Sequence[float]) -> Stopping | None:
        """Return the stopping rule that belongs to the rule; it is used for the threshold "proved".

        Parameters
        ----------
        problem : ProblemLike
            The problem.
        deltas : sequence of float
            The deltas of the run.

        Returns
        -------
        Stopping or None
            The stopping rule; None if the rule has none of its own.
        """
        return None


def is_trusted(rule: object) -> bool:
    """Return whether all parts of a rule belong to this package.

    A rule is immutable, so this is decided once.

    >>> from combgame import Uniform
    >>> is_trusted(Uniform())
    True
    """
    if not isinstance(rule, RuleBase):
        return not foreign(rule)
    known = vars(rule)
    if "_trusted" not in known:
        known["_trusted"] = not foreign(rule)
    return bool(known["_trusted"])


def settled(rule: RuleBase, deltas: Sequence[float]) -> RuleBase:
    """Return the rule as a run with these deltas plays it.

    A rule that does not derive from `RuleBase` is returned as it is.
    """
    return rule.with_deltas(deltas) if isinstance(rule, RuleBase) else rule


def again_larger(last: int, often: int, now: int, rule: Any) -> tuple[int, int]:
    """Count how often a rule's arrays have been made larger in this round.

    An error is raised if that does not end.
    """
    often = often + 1 if now == last else 1
    if often > LARGER:
        kernel = getattr(rule, "watched", rule)
        raise InputError(
            "full-for-ever",
            "{kernel}.needs_resize() is still true after its arrays have been made larger {often} "
            "times",
            remedy="let it return False where the next choose fits (always, if arrays never grow), "
            "and let the set-up's `resize` make them larger",
            kernel=type(kernel).__name__,
            often=LARGER,
        )
    return now, often


def describe(rule: RuleBase) -> str:
    """Describe a rule by the arguments that differ from their defaults.

    >>> from combgame import CombGame, LLOO
    >>> describe(CombGame(LLOO(sparsify=False), tracking="D"))
    "CombGame(LLOO(sparsify=False), tracking='D')"
    """
    return short_repr(rule) if is_value(rule) else type(rule).__name__


def brought(rule: RuleBase, problem: ProblemLike, deltas: Sequence[float]) -> Stopping | None:
    """Return the stopping rule that belongs to a rule, or None.

    A rule that does not derive from `RuleBase` need not have the method.
    """
    made = getattr(rule, "stopping", None)
    found: Stopping | None = None if made is None else made(problem, deltas)
    return found


def stopping_of(
    rule: RuleBase,
    threshold: str | StoppingBase,
    problem: Problem,
    deltas: Sequence[float],
    elimination: str | None = None,
    epsilon: float = 0.0,
) -> Stopping:
    """Return the stopping rule for a threshold.

    The threshold is a name or a user's object. The stopping rule of the sampling rule, if it has
    one, is used for "proved".
    """
    named = isinstance(threshold, str) and threshold not in THRESHOLDS
    own = brought(rule, problem, deltas) if named else None
    return make_stopping(
        threshold, problem, deltas, own=own, elimination=elimination, epsilon=epsilon
    )
