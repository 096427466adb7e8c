"""What a rule is before a run: a description, which a problem turns into a set-up, which makes a
fresh part per run.
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

LARGER = 50  # times that arrays are made larger for one round
UNSAID = 0.1  # delta, where there is no run that says it, such as one that is only timed


class BoundRule(Protocol):
    """A rule that knows its problem.

    One that says `alike = True` makes all its fresh rules of arrays of the same types, so that they
    are looked at once.
    """

    def start_run(self, rng: Random) -> tuple[SamplingKernel, Ints]:
        """A rule at its beginning, and the actions of its start (a row of arms each, filled up with
        -1).
        """

    def resize(self, rule: Any) -> SamplingKernel:
        """The same state in larger arrays."""

    def diagnostics(self, rule: Any) -> dict[str, int]:
        """What a finished run tells of its rule, such as the size of the support."""


class FixedBoundRule:
    """A rule whose arrays never grow: every run begins with a copy of the part, after the actions
    of `rows`.
    """

    alike = True

    def __init__(self, kernel: SamplingKernel, rows: Ints) -> None:
        self.kernel, self.rows = LazyTemplate(kernel), rows

    def start_run(self, rng: Random) -> tuple[SamplingKernel, Ints]:
        return self.kernel.copy(), self.rows

    def resize(self, rule: SamplingKernel) -> SamplingKernel:
        return rule

    def diagnostics(self, rule: SamplingKernel) -> dict[str, int]:
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class RuleBase(Description):
    """Describes a rule; `bound` fits it to a problem."""

    symmetric: ClassVar[bool] = (
        False  # True: arms are only numbers to it, so that every run may draw its own
    )

    def bind(self, problem: ProblemLike) -> BoundRule:
        raise InputError(
            "no-setup",
            "{rule} has no method bind(problem), which makes its kernel and its start",
            remedy="write one that returns FixedBoundRule(kernel, start), as in docs/new-part.md",
            rule=type(self).__name__,
        )

    def permuted(self, order: Ints) -> "RuleBase | None":
        """The rule for the same arms with arm order[i] called i; None: that cannot be said, so the
        user's numbers stay.
        """
        return self if symmetric(self) else None

    def with_deltas(self, deltas: Sequence[float]) -> "RuleBase":
        """The rule as a run with these deltas plays it: what it takes from the run is filled in."""
        return self

    def stopping(self, problem: ProblemLike, deltas: Sequence[float]) -> Stopping | None:
        """The stopping rule that comes with the rule, if one does; it stands for "proved"."""
        return None


def is_trusted(rule: object) -> bool:
    """Return whether all parts of a rule are this package's.

    That is decided once for a description, which cannot be changed.

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
    """The rule as a run with these deltas plays it; one of your own that does not derive from
    `RuleBase` is as it is.
    """
    return rule.with_deltas(deltas) if isinstance(rule, RuleBase) else rule


def again_larger(last: int, often: int, now: int, rule: Any) -> tuple[int, int]:
    """Count how often a rule's arrays have been made larger in this round; a sentence where that
    does not end.
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
    """A rule in few words: what differs from its defaults.

    >>> from combgame import CombGame, LLOO
    >>> describe(CombGame(LLOO(sparsify=False), tracking="D"))
    "CombGame(LLOO(sparsify=False), tracking='D')"
    """
    return short_repr(rule) if is_value(rule) else type(rule).__name__


def brought(rule: RuleBase, problem: ProblemLike, deltas: Sequence[float]) -> Stopping | None:
    """The stopping rule that comes with a rule; none with one that does not derive from
    `RuleBase` and does not speak of it.
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
    """The stopping rule of a name or a user's object; that of the sampling rule, where it has one,
    stands for "proved".
    """
    named = isinstance(threshold, str) and threshold not in THRESHOLDS
    own = brought(rule, problem, deltas) if named else None
    return make_stopping(
        threshold, problem, deltas, own=own, elimination=elimination, epsilon=epsilon
    )
