"""When to stop: the stopping rule, at the delta that is left after corrections.

The monitor judges the values of a history. It changes none of them, and it knows nothing of how
rounds are chosen.
"""

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ..engine.dispatch import choose_engine
from ..engine.kernels import copied
from ..engine.protocols import Game
from ..engine.round import recommend, settle
from ..engine.state import Floats, Ints, View, arms_of
from ..engine.statistics import Seen
from ..engine.user_code import own_bounds, own_errors
from ..problem import Problem
from ..rules import Stopping
from ..stopping.base import check_compared
from ..storage.events import Event
from ..structures.connectivity import exchangeable
from ..theory.evidence import Shown, restricted, shown
from .corrections import spent
from .history import EventEffect, History, certificate, given
from .settings import Setting

COMPILED_FROM = (
    500  # arms; with fewer, the interpreted round is fast enough not to wait for a compiler
)


class ProblemState:
    """A problem with its stopping rule, the statistics of the values, and what is estimated from
    them. `recommend()` brings the estimates up to date.
    """

    def __init__(self, problem: Problem, stopping: Stopping, seen: Seen, engine: str) -> None:
        d = problem.d
        self.seen = seen
        self.game: Game = stopping.on(problem.game(), seen)
        self.view = View(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(1), np.zeros(d))
        act = choose_engine(engine, (self.game,), recommend)
        self.recommend = partial(act, self.game, self.seen, self.view)


class Monitor:
    """The stopping rule of a study.

    Attributes
    ----------
    told : ProblemState
        The values that were told, judged at `delta`.
    delta : float
        What is left of the study's delta after corrections, and after data were transferred.
    due : bool
        The evidence is enough, and no certificate was given yet.
    ended : dict or None
        What was known when the study was certified or stopped by hand. `StudyState.ending` adds
        what takes long to compute.
    n_late : int
        Number of results that came after that.
    """

    def __init__(self, setting: Setting, history: History, engine: str) -> None:
        self.setting, self.history, self.engine = setting, history, engine
        self.problem = setting.problem.maximised  # that of the game
        self.needed = history.required > 0.0
        self.largest = self.problem.actions.largest()
        self.ended: dict[str, Any] | None = None
        self.n_late = 0
        self.due = False
        self._known: dict[str, Any] | None = None  # what is known then, until it is given
        self.reset_stopping()

    def reset_stopping(self) -> None:
        """Judge at the delta that is left after the changes so far."""
        self.delta = spent(self.setting.delta, self.history.n_changes) * self.history.share
        same = self.delta == self.setting.delta
        self.stopping = self.setting.stopping if same else self.setting.stopping_at(self.delta)
        self.told = ProblemState(self.problem, self.stopping, self.history.seen, self.engine)

    def evaluate(self, event: Event, effect: EventEffect) -> None:
        """Evaluate the evidence of what was told. The study stops the first time it is enough."""
        history, state = self.history, self.told
        if effect is EventEffect.CHANGE:
            self.ended, self.n_late = None, 0
        self.due = False
        t = max(
            history.n_told, math.ceil(float(history.seen.counts.sum()) / self.largest)
        )  # t K bounds the number of values
        try:
            for history.seen.clock[0] in (
                (t,) if state.view.best.any() else (t - 1, t)
            ):  # a new judge may want to know a rival
                state.recommend()
        except Exception:  # perhaps of a user's own code, which is then said in a sentence
            with own_errors(), own_bounds(state.game):
                raise
        if self.ended is None:
            if history.stopped is not None:
                self.ended = {**self.facts("by hand"), "seq": event.seq}
            elif effect is not EventEffect.LOOK and self.passed(t):
                self.due = True

    def passed(self, t: int) -> bool:
        """Return whether the evidence passes the threshold."""
        counts = self.history.seen.counts
        if self.setting.min_pulls and (counts[self.needed] < self.setting.min_pulls).any():
            return False
        stops: Ints = np.full(1, -1, np.int64)
        winners: Floats = np.zeros((1, counts.size))
        enough = settle(self.told.game.judge, t, self.told.view, stops, winners)
        if enough and stops[0] < 0:  # the threshold is no number
            check_compared(self.stopping, stops)
        return enough

    def would_pass(self, delta: float, epsilon: float | None = None) -> bool:
        """Return whether the evidence would be enough now for another delta or epsilon."""
        stopping, clock = self.setting.stopping_at(delta, epsilon=epsilon), self.clock
        state = ProblemState(self.problem, stopping, copied(self.history.seen), self.engine)
        for state.seen.clock[0] in (clock - 1, clock):  # a judge may want to know the rival before
            state.recommend()
        return bool(state.view.evidence[0] > state.game.judge.level(clock, 0))

    def certificate(self) -> dict[str, Any]:
        """Return what the certificate says that is due."""
        self._known = self.facts("certified")
        return certificate(self._known)

    def certify(self, event: Event) -> None:
        """Note that a certificate was given, which stays given.

        Where this version would not have given it, nothing is derived from it.
        """
        known, says = self._known or self.facts("certified"), given(event, self.problem.d)
        short = None if self.due else {name: known[name] for name in ("evidence", "threshold")}
        self.ended = {
            **known,
            **says,
            "seq": event.seq,
            "single": self.single_replicate_arms(set(says["answer"]) ^ set(says["rival"])),
            "version": event.version,
            "short": short,
        }
        self.due, self._known = False, None

    # ---- what is known now

    @property
    def clock(self) -> int:
        """The number of rounds at which the stopping rule looked last."""
        return int(self.history.seen.clock[0])

    @property
    def compared(self) -> bool:
        """Whether anything is known of how arms compare. Where plays have levels, nothing is before
        the first block is complete: which value is the largest says which level is.
        """
        blocks = self.history.seen.blocks
        return bool(blocks.precision.size == 0 or blocks.done[0] > 0)

    def comparable(self, rival: Floats) -> bool:
        """Whether anything is known of how the leader compares with a rival: the arms in which they
        differ have values, and complete blocks join those that could be exchanged.
        """
        seen = self.history.seen
        differ = self.told.view.best != rival
        if not self.compared or (seen.counts[differ] == 0.0).any():
            return False
        groups = exchangeable(self.problem.answers) if self.problem.rewards.levels() else []
        parts = (seen.blocks.piece[[a for a in one if differ[a]]] for one in groups)
        return all(np.unique(one).size < 2 for one in parts)

    def weakest(self) -> tuple[float, Floats]:
        """The evidence, and the rival that it is least against. (Below the threshold a run may have
        looked at the nearest pair only.)
        """
        view, judge = self.told.view, self.told.game.judge
        rival, alternative = np.zeros((2, view.best.size))
        if view.best.size < COMPILED_FROM:
            try:
                least = judge.weakest(self.told.game, self.told.seen, view.best, rival, alternative)
            except RuntimeError:  # perhaps of an oracle that is called back
                with own_errors():
                    raise
            if least < view.evidence[0]:
                return least, rival
            return float(view.evidence[0]), view.rival
        return self.named(), view.rival

    def named(self) -> float:
        """The evidence against the rival that the judge named. (While nothing can stop, what it
        says may be more.)
        """
        state = self.told
        with own_errors():
            value = state.game.judge.versus(
                state.game, state.seen, state.view.best, state.view.rival
            )
        return min(float(state.view.evidence[0]), value)

    def shown(self, evidence: float, rival: Floats) -> Shown:
        """The evidence against a rival on the scale that people see."""
        state = self.told
        level, best = float(state.game.judge.level(self.clock, 0)), state.view.best
        if self.problem.rewards.levels() and math.isfinite(evidence):
            have = max(self.within_rounds(rival), evidence, 0.0)
            return Shown(have, have - (evidence - level))
        return shown(state.game, state.seen, best, rival, evidence, level)

    def within_rounds(self, rival: Floats) -> float:
        """The likelihood ratio against a rival that is an exchange away, where rounds have
        levels.
        """
        best, blocks = self.told.view.best, self.history.seen.blocks
        i, j = (arms_of(one)[:1] for one in (best - rival, rival - best))
        if not (i and j and blocks.sure[i[0], j[0]] > 0.0):
            return 0.0
        lead = float(max(blocks.lead[i[0], j[0]], 0.0))
        ratio = 0.5 * lead * lead / float(blocks.sure[i[0], j[0]])
        if self.problem.rewards.known:
            return ratio
        ahead, after = blocks.noise[:, 0]  # of which `variance` takes one
        degrees = after if after > 0.5 * ahead else ahead
        return restricted(ratio / blocks.variance(), float(degrees))

    def single_replicate_arms(self, arms: Iterable[int]) -> list[list[Any]]:
        """Of some arms, those that have one value: the arm, the value, its round, and whether it is
        data from outside.
        """
        one = [int(a) for a in sorted(arms) if self.history.seen.counts[a] == 1.0]
        if not one:
            return []
        outside = {number for number, *_ in self.history.outside}
        far = self.history.extremes
        values = self.setting.problem.inside(far[0, 0])
        numbers = [int(far[0, 2, a]) for a in one]
        return [
            [a, float(values[a]), number, number in outside]
            for a, number in zip(one, numbers, strict=True)
        ]

    def leader(self) -> list[int]:
        """The arms of the leading answer; none while nothing is known."""
        known = self.compared and self.history.seen.counts.any()
        return np.flatnonzero(self.told.view.best > 0.5).tolist() if known else []

    def facts(self, why: str = "running") -> dict[str, Any]:
        """Return what is known now, as plain data."""
        history, best = self.history, self.told.view.best
        evidence, rival = self.weakest()
        have, needed = self.shown(evidence, rival)
        return {
            "why": why,
            "answer": self.leader(),
            "rival": np.flatnonzero(rival > 0.5).tolist() if self.compared else [],
            "evidence": have,
            "threshold": needed,
            "rounds": history.n_told,
            "values": int(history.seen.counts.sum()),
            "clock": self.clock,
            "pending": int(history.pending.sum()),
            "seq": history.seq,
            "outside": sum(n for _, _, n, _ in history.outside),
            "unplanned": sum(n for _, _, n, kind in history.outside if kind == 0),
            "planned": sum(n for _, _, n, kind in history.outside if kind == 1),
            "single": self.single_replicate_arms(np.flatnonzero(best != rival)),
            "retractions": history.retractions,
            "corrections": history.corrections,
            "delta": self.delta,
        }
