"""Every run numbers the arms for itself.

Coverings, ties, heaps and lists are decided by numbers. Those of the user must decide nothing, so a
run draws numbers of its own, and everything in it (problem, rule, stopping rule) is made and played
under those. By construction, then, relabelling the arms changes no distribution. docs/algorithms.md
names the places where it matters.
"""

from typing import NamedTuple

import numpy as np

from .._messages import Option
from ..engine.state import Floats, Ints
from ..errors import InputError
from ..problem import Problem
from ..rules import RuleBase

OWN, RELABELLED = 1, 2  # what is drawn, beside the run's noise, which is spawn key (run,)


class Numbering(NamedTuple):
    """A problem and a rule under a run's own numbers."""

    problem: Problem
    rule: RuleBase
    order: Ints  # order[i]: the arm of the user that the run calls i

    def theirs(self, mine: Floats) -> Floats:
        """Values per arm, in the last axis, in the order of the user."""
        out = np.empty_like(mine)
        out[..., self.order] = mine
        return out


def drawn(d: int, seed: int, run: int, what: int) -> Ints:
    """A random order of d arms for run `run` of a seed."""
    order: Ints = np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(run, what))
    ).permutation(d)
    return order


def own_numbers(
    problem: Problem, rule: RuleBase, seed: int, run: int, relabel: bool = False
) -> Numbering:
    """Those of a run. relabel: on top of it, the arms are relabelled at random, as if the user had
    listed them so.

    A structure, a rule or rewards of your own that do not say how they are numbered anew
    (`numbered`) keep the given numbers.
    """
    order = drawn(problem.d, seed, run, OWN)
    if relabel:
        order = drawn(problem.d, seed, run, RELABELLED)[order]
    other, alike = getattr(rule, "numbered", None), None
    mine = problem.numbered(order) if other is not None else None
    alike = other(order) if other is not None and mine is not None else None
    if mine is not None and alike is not None:
        return Numbering(mine, alike, order)
    if relabel:
        raise InputError(
            "not-numbered",
            "{part} does not say how its arms are numbered anew, so they cannot be relabelled",
            remedy="say `impartial = True` in a rule or learner that names no arm "
            "(docs/new-part.md), give others the method `numbered` (docs/new-structure.md), or "
            "leave {relabel} out",
            part=str(rule if mine is not None or other is None else problem),
            relabel=Option("relabel"),
        )
    return Numbering(problem, rule, np.arange(problem.d))
