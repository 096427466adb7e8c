"""What a rule is before a run: a description, which a problem turns into a set-up, which makes a fresh part per run."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from ..learners.base import impartial
from ..protocols import Game, Ints, Random, Rule, Seen, Threshold
from ..structures.callback import SIGNATURE
from ..thresholds import Question, Validity

Part = TypeVar("Part")


class Setup(Protocol):
    """A rule that knows its problem."""

    def fresh(self, rng: Random) -> tuple[Rule, Ints]:
        """A rule at its beginning, and the actions of its start (a row of arms each, filled up with -1)."""

    def enlarge(self, rule: Any) -> Rule:
        """The same state in larger arrays."""

    def figures(self, rule: Any) -> dict[str, int]:
        """What a finished run tells of its rule, such as the size of the support."""


class FixedSetup(NamedTuple):
    """A rule whose arrays never grow: every run begins with a copy of the part, after the actions of `rows`."""

    part: Rule
    rows: Ints

    def fresh(self, rng: Random) -> tuple[Rule, Ints]:
        return copied(self.part), self.rows

    def enlarge(self, rule: Rule) -> Rule:
        return rule

    def figures(self, rule: Rule) -> dict[str, int]:
        return {}


class Stopping(NamedTuple):
    """When a run stops: its evidence passes the threshold."""

    name: str
    threshold: Threshold
    watch: Callable[[Game, Threshold, Seen], Game] | None  # gives the game a judge of its own; None: the answers judge
    validity: Validity
    likelihood: bool = True  # the evidence is the generalised likelihood ratio, so that t = beta(t, delta) / D_nu is its limit
    epsilon: float = 0.0  # an answer that is worse than the best by no more counts as correct


@dataclass(frozen=True)
class RuleBase:
    """Describes a rule; `setup` fits it to a problem."""

    impartial: ClassVar[bool] = False  # True: arms are only numbers to it, so that every run may draw its own

    def setup(self, problem: Question) -> Setup:
        raise NotImplementedError

    def numbered(self, order: Ints) -> "RuleBase | None":
        """The rule for the same arms with arm order[i] called i; None: that cannot be said, so the user's numbers stay."""
        return self if impartial(self) else None

    def stopping(self, problem: Question, deltas: Sequence[float]) -> Stopping | None:
        """The stopping rule that comes with the rule, if one does; it stands for "proved"."""
        return None


def copied(part: Part) -> Part:
    """A part with arrays of its own."""
    if isinstance(part, np.ndarray):
        return part.copy()
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        return type(part)(*(copied(field) for field in part))
    return part if isinstance(part, SIGNATURE) else copy.deepcopy(part)


def grown(old: Part, new: Part) -> Part:
    """`new`, a part of the same kind with larger arrays, with the state of `old` in their leading blocks."""
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        new[tuple(slice(0, n) for n in old.shape)] = old
        return new
    if isinstance(old, tuple) and hasattr(old, "_fields"):
        return type(old)(*(grown(a, b) for a, b in zip(old, new, strict=True)))  # type: ignore[call-overload]
    return old
