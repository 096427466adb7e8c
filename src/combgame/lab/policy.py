"""The choice of the next round: the sampling rule, with the pending rounds, on permuted arms.

Each choice is a function of the events before it, so every process that applies the same events
has the same rule in the same state. `StudyState` applies events to a history, a policy and a
monitor.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._fingerprint import foreign
from ..engine.dispatch import choose_engine
from ..engine.round import next_action
from ..engine.state import Floats, Random, vector
from ..engine.statistics import blank
from ..engine.user_code import own_bounds, own_errors
from ..problem import Problem
from ..rules.base import again_larger
from ..rules.checks import check_action, trusted
from ..simulation.runner import draw_permutation
from ..storage.events import Event
from .analysis import snapshot_at_end
from .block_effects import awaited, unfinished
from .diagnostics import VarianceComponents, may_lack_levels, squares_of
from .history import EventEffect, History, HistoryReader, new_round
from .monitor import COMPILED_FROM, Monitor, ProblemState
from .round import RoundRecord, values_in
from .settings import StudySettings


@dataclass
class InitialDesign:
    """The rounds of the initial design, which were chosen before any value was seen.

    Attributes
    ----------
    rounds : set of int
        Numbers of the rounds.
    lasts : bool
        True if more rounds may belong to the initial design.
    kept : dict of int to ndarray
        Values of the rounds that have ended, as `values_in` returns them.
    found : VarianceComponents or None
        Variance components of the rounds, once all have ended.
    """

    rounds: set[int] = field(default_factory=set)
    lasts: bool = True
    kept: dict[int, Floats] = field(default_factory=dict)
    found: VarianceComponents | None = None

    def keep(self, record: RoundRecord) -> None:
        """Keep the values of a round that has ended."""
        if record.number in self.rounds:
            self.kept[record.number] = values_in(record)

    def settle(self, problem: Problem) -> VarianceComponents | None:
        """Return the variance components, once all rounds have ended, and forget the rounds."""
        if self.found is None and not self.lasts and len(self.kept) == len(self.rounds):
            self.found = VarianceComponents(0.0, 0, 0.0, 0)
            if may_lack_levels(problem):
                rounds = [self.kept[number] for number in sorted(self.rounds)]
                sigma = problem.sigma() if problem.rewards.variance_known else np.ones(problem.d)
                self.found = squares_of(rounds, sigma**-2.0)
            self.rounds, self.kept = set(), {}
        return self.found

    def plain(self) -> list[Any]:
        """Return everything but the values, as data that JSON can represent."""
        sizes = [(number, one.shape[1]) for number, one in self.kept.items()]
        return [sorted(self.rounds), self.lasts, sizes, self.found]

    def values(self) -> Floats:
        """Return the values of all rounds, concatenated, as an array of shape (3, n)."""
        return np.concatenate([np.zeros((3, 0)), *self.kept.values()], axis=1)

    @classmethod
    def of(cls, plain: list[Any], values: Floats) -> "InitialDesign":
        """Return the design that `plain` and `values` describe."""
        rounds, lasts, sizes, found = plain
        parts = np.split(values, np.cumsum([n for _, n in sizes])[:-1], axis=1)
        kept = {number: part for (number, _), part in zip(sizes, parts, strict=False)}
        return cls(set(rounds), lasts, kept, found and VarianceComponents(*found))


class Policy:
    """The sampling rule of a study.

    Attributes
    ----------
    ahead : ProblemState
        Statistics that the rule uses: the reported and the pending values, with permuted arms.
    block : list of int
        If plays have batch effects: the block of the last chosen round, as its first round and its
        size.
    """

    def __init__(self, setting: StudySettings, history: History, engine: str) -> None:
        self.setting, self.history, self.engine = setting, history, engine
        problem = setting.problem.as_maximisation
        self.initial_design = InitialDesign()
        self.block: list[int] = []
        self.rng: Random = np.random.default_rng(
            np.random.SeedSequence(setting.seed, spawn_key=(0,))
        )  # run 0 of `simulate`
        self.numbers = draw_permutation(
            problem, setting.chosen, setting.seed, 0
        )  # rounds are chosen under these
        self.bound = self.numbers.rule.bind(self.numbers.problem)
        self.rule, self.start = self.bound.start_run(self.rng)
        self._ours, self._foreign = trusted(self.rule), foreign(setting.chosen)
        self._wrote: Floats | None = None  # the last action of a user's own rule
        self.reset_stopping(setting.delta)

    def reset_stopping(self, delta: float) -> None:
        """Choose rounds for a stopping rule at another delta."""
        problem = self.numbers.problem
        stats = blank(problem.d, problem.rewards.variance_groups(problem.d), problem.precision())
        stopping = self.setting.stopping_at(delta, problem)
        self.ahead = ProblemState(problem, stopping, stats, self.engine)
        self._advise = choose_engine(self.engine, (self.ahead.kernel, self.rule), next_action)

    def choose(self, wanted: int = 1, most: int | None = None) -> tuple[int, ...]:
        """Choose the action of the next new round.

        Pending rounds count as observed, with the current means of their arms.

        Parameters
        ----------
        wanted : int, default=1
            Number of rounds that are asked for together, this one included. They become a block if
            plays have batch effects.
        most : int, optional
            Maximal number of rounds in a block. Defaults to the remaining budget.

        Returns
        -------
        tuple of int
            Arms of the round, ascending.
        """
        try:
            return self._choose(wanted, most)
        except Exception:  # errors of a user's own code get a message
            with own_errors(), own_bounds(self.ahead.kernel, self.rule):
                raise

    def _choose(self, wanted: int, most: int | None) -> tuple[int, ...]:
        history, order = self.history, self.numbers.order
        self._see_pending()
        self._wrote = None
        current = self._plan_block(wanted, most)
        if history.asked < len(self.start) and not history.prior:
            self._mark_initial()
            self.ahead.recommend()  # a stopping rule may remember the last rival
            self._commit_block(current, max(len(self.start) - history.asked, wanted))
            row = [int(a) for a in self.start[history.asked] if a >= 0]
            if self._foreign:
                self._wrote = vector(row, len(order))
            return tuple(sorted(int(order[a]) for a in row))  # line 1 of Algorithm 1
        if (lack := self._missing()).any():
            self._mark_initial()
            self.ahead.kernel.actions.argmax(lack, self.ahead.state.action)
            self._commit_block(None if history.n_told else current, 1)
        else:
            self.initial_design.lasts = False
            self._ask_rule()
            self._commit_block(current, int(self.ahead.stats.batch.left[0]))
        return tuple(sorted(order[self.ahead.state.action > 0.5].tolist()))

    def check_choice(self) -> None:
        """Raise an error if a user's own rule has just chosen an action that cannot be played.

        Rounds that it chose earlier stay as they were assigned.
        """
        if self._wrote is not None:
            mine, plays = self.numbers, self.history.plays
            check_action(mine.rule, mine.problem.actions, self._wrote, plays)

    def variance_components(self) -> VarianceComponents | None:
        """Return the variance components of the initial design, once it is over.

        After a retraction the result is None: the remaining rounds may have been selected by their
        values.
        """
        return None if self.history.n_changes else self.initial_design.settle(self.setting.problem)

    def _see_pending(self) -> None:
        """Write the reported and the pending values into `ahead`."""
        told, stats, order = self.history.stats, self.ahead.stats, self.numbers.order
        counts, pending = told.counts[order], self.history.pending[order]
        stats.counts[:], stats.sums[:], stats.compensation[:] = (
            counts,
            told.sums[order],
            told.compensation[order],
        )
        stats.squares[:] = told.squares[order]
        stats.weighted_sums[:] = told.weighted_sums[:, order]
        if self.setting.problem.rewards.variance_shared:
            stats.residuals[:], stats.in_initial_design[:] = told.residuals, told.in_initial_design
        if pending.any():
            stats.counts[:] += pending
            waiting = (pending > 0.0) & (counts > 0.0)
            for now in (stats.sums, stats.compensation, stats.squares, stats.weighted_sums[:3]):
                now[..., waiting] *= stats.counts[waiting] / counts[waiting]
        stats.n_rounds[0] = self.history.plays

    def _missing(self) -> Floats:
        """Return the number of values of each arm that are missing before the rule may choose.

        The reasons are missing results, `min_replicates`, or an initial design that old data
        shorten.
        """
        history, order, counts = self.history, self.numbers.order, self.ahead.stats.counts
        needed = history.required[order] > 0.0
        if history.starting:  # values beyond those that were asked for do not shorten it
            lack = np.maximum(history.required - history.n_received, 0.0)[order]
        else:
            lack = np.maximum(max(self.setting.min_replicates, 1) - counts, 0.0) * needed
        if not lack.any() and (history.stats.counts[order][needed] == 0.0).any():
            # nothing is known yet: the first batch is spread evenly over the arms
            lack = np.where(needed, counts[needed].max() - counts + 1.0, 0.0)
        return lack

    def _ask_rule(self) -> None:
        stats, state = self.ahead.stats, self.ahead.state
        larger = (0, 0)
        if not self._ours:
            state.action[:] = np.nan
        while not self._advise(self.ahead.kernel, self.rule, stats, state, self.rng):
            larger = again_larger(*larger, 0, self.rule)
            self.rule = self.bound.resize(self.rule)
        if not self._ours:  # a user's own rule may not fix the plays of a block
            stats.batch.left[0] = 0
            self._wrote = state.action.copy()

    def _mark_initial(self) -> None:
        """Add the round that is being chosen to the initial design, if that lasts."""
        if self.initial_design.lasts:
            self.initial_design.rounds.add(self.history.last + 1)

    def _plan_block(self, wanted: int, most: int | None) -> list[int] | None:
        """Prepare the batch estimator, and return the block that is being assigned, if any."""
        history, order, blocks = self.history, self.numbers.order, self.ahead.stats.batch
        if blocks.precision.size == 0:
            return None
        if (current := unfinished(history.blocks)) is not None:
            return current
        counted, pairs = history.stats.batch, np.ix_(order, order)
        blocks.score_matrix[:], blocks.information[:] = (
            counted.score_matrix[pairs],
            counted.information[pairs],
        )
        blocks.expected_information[:] = awaited(counted, {**history.held_back, **history.open})[
            pairs
        ]
        blocks.offset[:], blocks.component[:] = counted.offset[order], counted.component[order]
        blocks.done[0], blocks.left[0] = counted.done[0], 0
        blocks.noise[:], blocks.largest[0] = counted.noise, counted.largest[0]
        if most is None:
            limit = history.max_rounds
            left = math.inf if limit is None else limit - history.plays
            most = int(min(max(left, 1), 10**9))
        blocks.wanted[:] = min(wanted, most), most
        return None

    def _commit_block(self, current: list[int] | None, size: int) -> None:
        """Set the block of the chosen round: the one that is being assigned, or a new one."""
        blocks = self.ahead.stats.batch
        if blocks.precision.size > 0:
            fresh = [self.history.last + 1, min(max(size, 1), int(blocks.wanted[1]) or 1)]
            self.block = current[:2] if current is not None else fresh


class StudyState:
    """History, policy and monitor of a study, which process its events together.

    Parameters
    ----------
    setting : StudySettings
        Settings of the study.
    engine : str, default="auto"
        "python" or "compiled"; "auto" compiles only large problems.
    whole : bool, default=False
        If True, the history keeps the rounds that have ended.

    Attributes
    ----------
    history : History
        The results and rounds.
    policy : Policy
        The sampling rule.
    monitor : Monitor
        The stopping rule.
    differences : list of dict
        Assigned rounds that the policy would not choose now.
    """

    def __init__(self, setting: StudySettings, engine: str = "auto", whole: bool = False) -> None:
        problem = setting.problem.as_maximisation
        self.setting, self.problem = setting, problem  # as a maximisation
        self.engine = "python" if engine == "auto" and problem.d < COMPILED_FROM else engine
        group, pivot = problem.rewards.variance_groups(problem.d), setting.problem.reflection
        self.history = History(problem.d, whole, group, setting.first(), pivot, problem.precision())
        self.policy = Policy(setting, self.history, self.engine)
        self.monitor = Monitor(setting, self.history, self.engine)
        self.differences: list[dict[str, Any]] = []

    def apply(
        self, event: Event, past: HistoryReader | None = None, chosen: bool = False
    ) -> EventEffect:
        """Process one event.

        Parameters
        ----------
        event : Event
            The next event.
        past : HistoryReader, optional
            Access to the events before it.
        chosen : bool, default=False
            True if `policy.choose` has just chosen the round that the event assigns.

        Returns
        -------
        EventEffect
            What the event requires of the stopping rule.
        """
        history, monitor = self.history, self.monitor
        if not chosen and (asked := new_round(event)) is not None:
            self._choose_again(event, asked)
        self.complete_end()
        before, record = (history.n_changes, history.share), history.open.get(event.round or 0)
        effect = history.apply(event, past)
        if record is not None and record.over:
            self.policy.initial_design.keep(record)
        if (history.n_changes, history.share) != before:
            self.reset_stopping()
        monitor.n_late += monitor.ended is not None and effect is EventEffect.VALUES
        if event.kind == "certified":
            monitor.certify(event)
        elif effect is not EventEffect.NOTHING and not event.data.get("more"):
            monitor.evaluate(event, effect)
            if monitor.due and not event.version:  # early versions stored no certificates
                monitor.certify(event._replace(data=monitor.certificate()))
        return effect

    def _choose_again(self, event: Event, asked: list[int]) -> None:
        """Bring the policy to the state after an assigned round, and note a different choice."""
        first, size = event.data.get("block") or (0, 1)
        block = (size, size) if first == event.round else ()
        now = self.policy.choose(*block)
        if list(now) != asked:
            self.differences.append({"round": event.round, "asked": tuple(asked), "now": now})

    def reset_stopping(self) -> None:
        """Evaluate and choose at the delta that is left after the changes so far."""
        self.monitor.reset_stopping()
        self.policy.reset_stopping(self.monitor.delta)

    def phase(self, at: float) -> str:
        """Return "running", "certified", "budget", "deadline" or "by hand" at a time."""
        history, deadline = self.history, self.history.limits["deadline"]
        if self.monitor.ended is not None:
            return str(self.monitor.ended["why"])
        if not history.affordable and not history.open:
            return "budget"
        return "deadline" if deadline is not None and at >= deadline else "running"

    def complete_end(self) -> dict[str, Any] | None:
        """Return what was known when the study stopped, or None.

        Details that take long to compute are added on the first call, at the latest before the next
        event, after which they could not be computed any more.
        """
        ended = self.monitor.ended
        if ended is not None and "margin" not in ended:
            ended |= self._details(ended)
        return ended

    def ending(self, why: str) -> dict[str, Any]:
        """Return what was known at the end; if a limit stopped the study, what is known now."""
        if (ended := self.complete_end()) is not None:
            return ended
        facts = self.monitor.facts(why)
        return facts | self._details(facts)

    def _details(self, facts: dict[str, Any]) -> dict[str, Any]:
        return snapshot_at_end(self.monitor, self.policy.variance_components(), facts)
