"""What a rule is before a run: a description, which a problem turns into a set-up, which makes a fresh part per run."""

import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from ..protocols import Ints, Random, Rule
from ..structures.callback import SIGNATURE
from ..thresholds import Question

Part = TypeVar("Part")


class Setup(Protocol):
    """A rule that knows its problem."""

    def fresh(self, rng: Random) -> tuple[Rule, Ints]:
        """A rule at its beginning, and the actions of its start (a row of arms each, filled up with -1)."""

    def enlarge(self, rule: Any) -> Rule:
        """The same state in larger arrays."""


@dataclass(frozen=True)
class RuleBase:
    """Describes a rule; `setup` fits it to a problem."""

    def setup(self, problem: Question) -> Setup:
        raise NotImplementedError


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
