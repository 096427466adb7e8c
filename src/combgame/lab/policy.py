"""What to ask next: the sampling rule, under a permutation of the arms, with the rounds that are
out.

What is chosen is a function of the events before it, so every process that folds the same events
has the same rule in the same state. `StudyState` takes a history, a policy and a monitor from event
to event.
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
    """The rounds of a start: those that no value has had a part in choosing."""

    rounds: set[int] = field(default_factory=set)
    lasts: bool = True  # more of them may come
    # the values of those that have ended: rows of arms, means, and of how many values
    kept: dict[int, Floats] = field(default_factory=dict)
    found: VarianceComponents | None = None  # of them, when it was over

    def keep(self, record: RoundRecord) -> None:
        """Keep the values of a round that has ended."""
        if record.number in self.rounds:
            self.kept[record.number] = values_in(record)

    def settle(self, problem: Problem) -> VarianceComponents | None:
        """Return the squares of its rounds, once it is over, after which its rounds are
        forgotten.
        """
        if self.found is None and not self.lasts and len(self.kept) == len(self.rounds):
            self.found = VarianceComponents(0.0, 0, 0.0, 0)
            if may_lack_levels(problem):
                rounds = [self.kept[number] for number in sorted(self.rounds)]
                sigma = problem.sigma() if problem.rewards.variance_known else np.ones(problem.d)
                self.found = squares_of(rounds, sigma**-2.0)
            self.rounds, self.kept = set(), {}
        return self.found

    def plain(self) -> list[Any]:
        """All but its values, as JSON can carry it."""
        sizes = [(number, one.shape[1]) for number, one in self.kept.items()]
        return [sorted(self.rounds), self.lasts, sizes, self.found]

    def values(self) -> Floats:
        """Those of all its rounds, one after the other."""
        return np.concatenate([np.zeros((3, 0)), *self.kept.values()], axis=1)

    @classmethod
    def of(cls, plain: list[Any], values: Floats) -> "InitialDesign":
        """What `plain` and `values` said."""
        rounds, lasts, sizes, found = plain
        parts = np.split(values, np.cumsum([n for _, n in sizes])[:-1], axis=1)
        kept = {number: part for (number, _), part in zip(sizes, parts, strict=False)}
        return cls(set(rounds), lasts, kept, found and VarianceComponents(*found))


class Policy:
    """The sampling rule of a study.

    Attributes
    ----------
    ahead : ProblemState
        What the rule looks at: the values that were told and those that are pending, under the
        permutation.
    block : list of int
        Where plays have levels: the block of the round that was chosen last, by its first round
        and its size.
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
        self._wrote: Floats | None = None  # by a rule of the user's, when it chose last
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

        Pending rounds count as seen, with the means that their arms have now.

        Parameters
        ----------
        wanted : int, default=1
            Number of rounds that are asked for together, this one included. They become a block if
            plays have levels.
        most : int, optional
            The most rounds that a block may have. Defaults to those that the budget leaves.
        """
        try:
            return self._choose(wanted, most)
        except Exception:  # perhaps of a user's own code, which is then said in a sentence
            with own_errors(), own_bounds(self.ahead.kernel, self.rule):
                raise

    def _choose(self, wanted: int, most: int | None) -> tuple[int, ...]:
        history, order = self.history, self.numbers.order
        self._see_pending()
        self._wrote = None
        current = self._plan_block(wanted, most)
        if history.asked < len(self.start) and not history.prior:
            self._mark_initial()
            self.ahead.recommend()  # a judge may remember the last rival
            self._commit_block(current, max(len(self.start) - history.asked, wanted))
            row = [int(a) for a in self.start[history.asked] if a >= 0]
            if self._foreign:
                self._wrote = vector(row, len(order))
            return tuple(sorted(int(order[a]) for a in row))  # line 1: INIT
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
        """A sentence where a rule of the user's has just chosen what cannot be played. (What it
        chose before is as it was asked.)
        """
        if self._wrote is not None:
            mine, plays = self.numbers, self.history.plays
            check_action(mine.rule, mine.problem.actions, self._wrote, plays)

    def variance_components(self) -> VarianceComponents | None:
        """Return those of the start, once it is over; None also after a retraction, when what is
        left of it was perhaps chosen by its values.
        """
        return None if self.history.n_changes else self.initial_design.settle(self.setting.problem)

    def _see_pending(self) -> None:
        """Write what was told and what is pending into `ahead`."""
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
        """How many values of each arm are missing before the rule may choose: values that went
        missing, `min_replicates`, or a start that old data shorten.
        """
        history, order, counts = self.history, self.numbers.order, self.ahead.stats.counts
        needed = history.required[order] > 0.0
        if history.starting:  # what came beyond what was asked for changes nothing of the start
            lack = np.maximum(history.required - history.n_received, 0.0)[order]
        else:
            lack = np.maximum(max(self.setting.min_replicates, 1) - counts, 0.0) * needed
        if not lack.any() and (history.stats.counts[order][needed] == 0.0).any():
            # nothing to go by yet: the first batch goes evenly over the arms
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
        if not self._ours:  # plays of a block must be fixed, and who knows
            stats.batch.left[0] = 0
            self._wrote = state.action.copy()

    def _mark_initial(self) -> None:
        """The round that is chosen belongs to the start, if that lasts."""
        if self.initial_design.lasts:
            self.initial_design.rounds.add(self.history.last + 1)

    def _plan_block(self, wanted: int, most: int | None) -> list[int] | None:
        """Where plays have levels: what the rule is to know of blocks; the one that is being
        asked.
        """
        history, order, blocks = self.history, self.numbers.order, self.ahead.stats.batch
        if blocks.precision.size == 0:
            return None
        if (current := unfinished(history.blocks)) is not None:
            return current
        counted, pairs = history.stats.batch, np.ix_(order, order)
        blocks.lead[:], blocks.sure[:] = counted.lead[pairs], counted.sure[pairs]
        blocks.awaited[:] = awaited(counted, {**history.held_back, **history.open})[pairs]
        blocks.offset[:], blocks.piece[:] = counted.offset[order], counted.piece[order]
        blocks.done[0], blocks.left[0] = counted.done[0], 0
        blocks.noise[:], blocks.largest[0] = counted.noise, counted.largest[0]
        if most is None:
            limit = history.max_rounds
            left = math.inf if limit is None else limit - history.plays
            most = int(min(max(left, 1), 10**9))
        blocks.wanted[:] = min(wanted, most), most
        return None

    def _commit_block(self, current: list[int] | None, size: int) -> None:
        """The block of the round that was chosen: the one that is being asked, or a new one."""
        blocks = self.ahead.stats.batch
        if blocks.precision.size > 0:
            fresh = [self.history.last + 1, min(max(size, 1), int(blocks.wanted[1]) or 1)]
            self.block = current[:2] if current is not None else fresh


class StudyState:
    """History, policy and monitor of a study, which go from event to event together.

    Parameters
    ----------
    setting : Setting
        What determines the study.
    engine : str, default="auto"
        "python" or "compiled"; "auto" compiles only large problems.
    whole : bool, default=False
        Whether the history keeps the rounds that have ended.
    """

    def __init__(self, setting: StudySettings, engine: str = "auto", whole: bool = False) -> None:
        problem = setting.problem.as_maximisation
        self.setting, self.problem = setting, problem  # that of the game
        self.engine = "python" if engine == "auto" and problem.d < COMPILED_FROM else engine
        group, pivot = problem.rewards.variance_groups(problem.d), setting.problem.reflection
        self.history = History(problem.d, whole, group, setting.first(), pivot, problem.precision())
        self.policy = Policy(setting, self.history, self.engine)
        self.monitor = Monitor(setting, self.history, self.engine)
        self.differences: list[dict[str, Any]] = []  # asked rounds that it would not have chosen

    def apply(
        self, event: Event, past: HistoryReader | None = None, chosen: bool = False
    ) -> EventEffect:
        """Go on by one event.

        Parameters
        ----------
        chosen : bool, default=False
            Whether `policy.choose` has just chosen what the event asks.
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
            if monitor.due and not event.version:  # from before certificates were events
                monitor.certify(event._replace(data=monitor.certificate()))
        return effect

    def _choose_again(self, event: Event, asked: list[int]) -> None:
        """Bring the policy where it was when it chose a round, and note what it would ask now."""
        first, size = event.data.get("block") or (0, 1)
        block = (size, size) if first == event.round else ()
        now = self.policy.choose(*block)
        if list(now) != asked:
            self.differences.append({"round": event.round, "asked": tuple(asked), "now": now})

    def reset_stopping(self) -> None:
        """Judge, and choose, at the delta that is left after the changes so far."""
        self.monitor.reset_stopping()
        self.policy.reset_stopping(self.monitor.delta)

    def phase(self, at: float) -> str:
        """ "running", "certified", "budget", "deadline" or "by hand", at a moment."""
        history, deadline = self.history, self.history.limits["deadline"]
        if self.monitor.ended is not None:
            return str(self.monitor.ended["why"])
        if not history.affordable and not history.open:
            return "budget"
        return "deadline" if deadline is not None and at >= deadline else "running"

    def complete_end(self) -> dict[str, Any] | None:
        """Return what was known when the study stopped, or None.

        What takes long to compute is left out until somebody asks for it, but not for longer than
        until the next event, after which it could not be told any more.
        """
        ended = self.monitor.ended
        if ended is not None and "margin" not in ended:
            ended |= self._details(ended)
        return ended

    def ending(self, why: str) -> dict[str, Any]:
        """Return what was known when the study stopped; or what is known now, of one that a limit
        has stopped.
        """
        if (ended := self.complete_end()) is not None:
            return ended
        facts = self.monitor.facts(why)
        return facts | self._details(facts)

    def _details(self, facts: dict[str, Any]) -> dict[str, Any]:
        return snapshot_at_end(self.monitor, self.policy.variance_components(), facts)
