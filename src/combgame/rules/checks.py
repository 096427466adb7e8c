"""Checks of a user's rule in every round.

Certificates hold whatever a rule plays, as long as it plays actions of the structure and leaves the
statistics as they were.
"""

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.block_effects import MIRRORED
from ..engine.dispatch import ours
from ..engine.jit import jitable
from ..engine.protocols import LinearOracle, ProblemKernel, SamplingKernel
from ..engine.state import (
    Floats,
    Ints,
    Random,
    RoundState,
    arms_of,
    restore_array,
    restore_rows,
    vector,
)
from ..engine.statistics import Statistics, blank
from ..engine.user_code import SIGNATURE, own_bounds
from ..errors import InputError
from ..problem import Problem
from ..structures import StructureBase
from .base import FixedBoundRule, RuleBase, describe

# arrays that a rule may read and must not write, in the order of `restore_if_written`
READ = (
    *(
        "stats.counts",
        "stats.sums",
        "stats.compensation",
        "stats.squares",
        "stats.mean",
        "stats.projected_mean",
    ),
    *(
        "stats.effective_counts",
        "stats.n_rounds",
        "stats.in_initial_design",
        "stats.variance_group",
        "stats.weighted_sums",
        "stats.residuals",
    ),
    *(f"stats.batch.{name}" for name in MIRRORED),
    *("stats.batch.left", "state.leader", "state.evidence"),
)
NOT_A_SET, NO_ACTION = 98, 99  # faults of what it played


@jitable
def restore_if_written(stats: Statistics, was: Statistics, back: bool) -> int:
    """Copy the statistics to a backup, or restore them from there.

    Return the number in READ of the last array that had been changed, or 0.
    """
    which = 0
    which = max(which, 1 * restore_array(stats.counts, was.counts, back))
    which = max(which, 2 * restore_array(stats.sums, was.sums, back))
    which = max(which, 3 * restore_array(stats.compensation, was.compensation, back))
    which = max(which, 4 * restore_array(stats.squares, was.squares, back))
    which = max(which, 5 * restore_array(stats.mean, was.mean, back))
    which = max(which, 6 * restore_array(stats.projected_mean, was.projected_mean, back))
    which = max(which, 7 * restore_array(stats.effective_counts, was.effective_counts, back))
    which = max(which, 8 * restore_array(stats.n_rounds, was.n_rounds, back))
    which = max(which, 9 * restore_array(stats.in_initial_design, was.in_initial_design, back))
    which = max(which, 10 * restore_array(stats.variance_group, was.variance_group, back))
    which = max(which, 11 * restore_rows(stats.weighted_sums, was.weighted_sums, back))
    which = max(which, 12 * restore_rows(stats.residuals, was.residuals, back))
    inside = stats.batch.restore_if_written(was.batch, back)
    return max(which, 12 + inside) if inside > 0 else which


class CheckedKernel(NamedTuple):
    """A user's kernel, with a backup of what it was given.

    What the kernel must not write is restored, and an action that cannot be played is replaced, so
    that neither makes a result false; `needs_resize` ends the run in the next round.

    Attributes
    ----------
    watched : SamplingKernel
        The user's kernel.
    blocking : bool
        Whether it may set the number of plays of a block; all of them are then fixed
        (docs/plates.md).
    was : Statistics
        Backup of the statistics.
    leader, evidence : float64[d], float64[1]
        Backup of the state.
    score : float64[d]
        Scratch.
    member : float64[d]
        The action that has most in common with what the rule plays.
    wrote : float64[d]
        ``state.action`` when the rule was at fault.
    fault : int64[2]
        What was wrong, as a number in READ from 1, or 0; and after how many rounds.
    """

    watched: SamplingKernel
    blocking: bool
    was: Statistics
    leader: Floats
    evidence: Floats
    score: Floats
    member: Floats
    wrote: Floats
    fault: Ints

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Let the kernel choose, and check what it has written."""
        restore_if_written(stats, self.was, False)
        restore_array(stats.batch.left, self.was.batch.left, False)
        restore_array(state.leader, self.leader, False)
        restore_array(state.evidence, self.evidence, False)
        for a in range(state.action.size):
            state.action[a] = np.nan
        self.watched.choose(problem, stats, state, rng)
        wrong = restore_if_written(stats, self.was, True)
        if not self.blocking:
            wrong = max(wrong, 29 * restore_array(stats.batch.left, self.was.batch.left, True))
        wrong = max(wrong, 30 * restore_array(state.leader, self.leader, True))
        wrong = max(wrong, 31 * restore_array(state.evidence, self.evidence, True))
        for a in range(state.action.size):
            self.wrote[a] = here = state.action[a]
            self.score[a] = 2.0 * here - 1.0
            if here != 0.0 and here != 1.0:
                self.score[a], wrong = 0.0, NOT_A_SET
        # an action has the largest score against itself
        problem.actions.argmax(self.score, self.member)
        if restore_array(state.action, self.member, True) > 0 and wrong != NOT_A_SET:
            wrong = NO_ACTION
        if wrong > 0:
            self.fault[0], self.fault[1] = wrong, stats.n_rounds[0]

    def needs_resize(self) -> bool:
        """Return whether the kernel was at fault, or needs larger arrays."""
        return self.fault[0] > 0 or self.watched.needs_resize()


class CheckedBoundRule:
    """A bound rule whose kernels are checked.

    Parameters
    ----------
    rule : RuleBase
        The rule.
    problem : Problem
        The problem.
    every : bool, default=True
        Whether kernels that consist of this package's classes are checked, too.
    """

    def __init__(self, rule: RuleBase, problem: Problem, every: bool = True) -> None:
        self.name, self.problem, self._every = describe(rule), problem, every
        with own_bounds():
            self.bound = rule.bind(problem)
        if not callable(getattr(self.bound, "start_run", None)):
            raise InputError(
                "setup-makes-no-rules",
                "{rule}: bind(problem) returned {kind}, which has no method start_run",
                remedy="return FixedBoundRule(kernel, start), as in docs/new-part.md",
                rule=self.name,
                kind=f"an object of the class {type(self.bound).__name__}",
            )
        # other bound rules of this package take their initial designs from the structure
        own = type(self.bound).__module__.startswith("combgame.")
        self._given = isinstance(self.bound, FixedBoundRule) or not own
        self._known = set[bytes]()  # rows of initial designs that are actions

    @property
    def same_types(self) -> bool:
        """Return whether all kernels have arrays of the same types."""
        return getattr(self.bound, "alike", False)

    def start_run(self, rng: Random) -> tuple[SamplingKernel, Ints]:
        """Return a checked kernel, and a checked initial design."""
        with own_bounds():
            kernel, start = self.bound.start_run(rng)
        self._check_verbs(kernel)
        if self._given:
            self._check_start(start)
        own, d = trusted(kernel), self.problem.d
        if own and not self._every:
            return kernel, start
        was = blank(d, self.problem.rewards.variance_groups(d), self.problem.precision())
        best, score, member, wrote = np.zeros((4, d))
        fault = np.zeros(2, np.int64)
        evidence = np.zeros(1)
        return CheckedKernel(kernel, own, was, best, evidence, score, member, wrote, fault), start

    def resize(self, rule: Any) -> SamplingKernel:
        """Return the kernel with larger arrays."""
        if not isinstance(rule, CheckedKernel):
            return self.bound.resize(rule)
        return rule._replace(watched=self.bound.resize(rule.watched))

    def diagnostics(self, rule: Any) -> dict[str, int]:
        """Return the figures of the rule."""
        tell = getattr(self.bound, "diagnostics", None)
        inner = rule.watched if isinstance(rule, CheckedKernel) else rule
        return tell(inner) if tell else {}

    def check(self, rule: Any) -> None:
        """Raise an error if the rule has done what it must not do.

        Arms have the run's own numbers here, so the message does not name them.
        """
        if not isinstance(rule, CheckedKernel):
            return
        wrong, t = int(rule.fault[0]), int(rule.fault[1])
        if wrong == NOT_A_SET:
            raise _no_set(self.name, t)
        if wrong == NO_ACTION:
            raise _no_action(self.name, int(rule.wrote.sum()), t, self.problem.actions)
        if wrong > 0:
            raise InputError(
                "rule-wrote-what-was-seen",
                "{rule} wrote into {array} after {t:,} rounds",
                remedy="write state.action alone, and use state.rival and state.alternative_means "
                "as you like: nothing could be certified otherwise",
                rule=self.name,
                array=READ[wrong - 1],
                t=t,
            )

    def _check_verbs(self, kernel: SamplingKernel) -> None:
        for verb, given in (("choose", 4), ("needs_resize", 0)):
            method: Any = getattr(kernel, verb, None)
            try:
                inspect.signature(method).bind(*range(given))
            except (TypeError, ValueError):
                raise InputError(
                    "rule-verb",
                    "{rule}: {kernel} has no method {verb} that can be called with {given} "
                    "arguments",
                    remedy="a rule's kernel has choose(self, problem, stats, state, rng) and "
                    "needs_resize(self)",
                    rule=self.name,
                    kernel=type(kernel).__name__,
                    verb=verb,
                    given=given,
                ) from None

    def _check_start(self, start: Any) -> None:
        actions, kind = self.problem.actions, type(start).__name__
        if not isinstance(start, np.ndarray) or start.ndim != 2 or start.dtype.kind not in "iu":
            if isinstance(start, np.ndarray):
                kind = f"{start.ndim}-dimensional array of {start.dtype}"
            raise InputError(
                "rule-start",
                "{rule} begins with a {kind} instead of rows of the numbers of arms",
                remedy="make it with padded(...) of a list of sets, such as "
                "padded(problem.actions.covering())",
                rule=self.name,
                kind=kind,
            )
        oracle = actions.kernel()
        for row in start:
            known = row.tobytes()
            if known in self._known:
                continue
            arms = tuple(sorted(int(a) for a in row if a >= 0))
            if not playable(actions.d, oracle, arms):
                raise InputError(
                    "rule-start-no-action",
                    "{rule} begins with {n} arms together, which is no action of {actions}",
                    remedy="begin with sets of it, such as padded(problem.actions.covering())",
                    rule=self.name,
                    n=len(arms),
                    actions=str(actions),
                )
            self._known.add(known)


def trusted(kernel: Any) -> bool:
    """Return whether everything in a kernel belongs to this package.

    >>> from combgame.rules.uniform import UniformKernel
    >>> trusted(UniformKernel(3)), trusted([3])
    (True, False)
    """
    if isinstance(kernel, tuple) and hasattr(kernel, "_fields"):
        return ours(kernel) and all(trusted(field) for field in kernel)
    return isinstance(kernel, np.ndarray | bool | int | float | np.generic | SIGNATURE)


def playable(d: int, oracle: LinearOracle, arms: Sequence[int]) -> bool:
    """Return whether a set of arms is an action, by the oracle alone.

    An action has the largest score against itself.

    >>> from combgame import Subsets
    >>> pairs = Subsets(4, 2).kernel()
    >>> playable(4, pairs, (0, 3)), playable(4, pairs, (0, 1, 3))
    (True, False)
    """
    if any(a >= d for a in arms):
        return False
    chosen, out = vector(arms, d), np.zeros(d)
    oracle.argmax(2.0 * chosen - 1.0, out)
    return bool(np.array_equal(chosen, out))


def check_action(rule: RuleBase, actions: StructureBase, wrote: Floats, t: int) -> None:
    """Raise an error if a rule has not written an action to ``state.action`` in a study."""
    if not ((wrote == 0.0) | (wrote == 1.0)).all():
        raise _no_set(describe(rule), t)
    if not playable(actions.d, actions.kernel(), arms_of(wrote)):
        raise _no_action(describe(rule), int(wrote.sum()), t, actions)


def _no_set(rule: str, t: int) -> InputError:
    return InputError(
        "rule-wrote-no-set",
        "{rule} left something else than a 0 or a 1 for every arm in state.action, after {t:,} "
        "rounds",
        remedy="write all of it in every round",
        rule=rule,
        t=t,
    )


def _no_action(rule: str, n: int, t: int, actions: StructureBase) -> InputError:
    return InputError(
        "rule-played-no-action",
        "{rule} played {n} arms together after {t:,} rounds, which is no action of {actions}",
        remedy="write one of its sets to state.action, such as problem.actions.argmax "
        "and problem.actions.sample write",
        rule=rule,
        n=n,
        t=t,
        actions=str(actions),
    )
