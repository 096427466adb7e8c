"""The stopping of a study: the stopping rule, at the delta that is left after corrections.

The monitor evaluates the values of a history. It changes none of them, and it does not know how
rounds are chosen.
"""

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from ..engine.dispatch import choose_engine
from ..engine.kernels import deep_copy
from ..engine.protocols import ProblemKernel
from ..engine.round import check_stopping, update_recommendation
from ..engine.state import Floats, Ints, RoundState, arms_of
from ..engine.statistics import Statistics
from ..engine.user_code import own_bounds, own_errors
from ..problem import Problem
from ..rules import Stopping
from ..stopping.base import check_compared
from ..storage.events import Event
from ..structures.partition import exchangeable
from ..theory.evidence import DisplayEvidence, restricted, to_display_scale
from .corrections import delta_after_corrections
from .history import EventEffect, History, certificate, given
from .settings import StudySettings

COMPILED_FROM = 500  # arms; with fewer, interpreting a round takes less time than compiling


class ProblemState:
    """A compiled problem with its stopping rule, statistics, and the estimates from them.

    Attributes
    ----------
    stats : Statistics
        Statistics of the values.
    kernel : ProblemKernel
        Compiled problem.
    state : RoundState
        Recommended answer, nearest rival and evidence.
    recommend : callable
        Brings ``state`` up to date with ``stats``.
    """

    def __init__(
        self, problem: Problem, stopping: Stopping, stats: Statistics, engine: str
    ) -> None:
        d = problem.d
        self.stats = stats
        self.kernel: ProblemKernel = stopping.on(problem.kernel(), stats)
        self.state = RoundState(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(1), np.zeros(d))
        act = choose_engine(engine, (self.kernel,), update_recommendation)
        self.recommend = partial(act, self.kernel, self.stats, self.state)


class Monitor:
    """The stopping rule of a study.

    Attributes
    ----------
    told : ProblemState
        Statistics of the reported values, evaluated at `delta`.
    delta : float
        Error probability that is left after corrections and transfers.
    due : bool
        True if the evidence is enough and no certificate was given yet.
    ended : dict or None
        What was known when the study was certified or stopped by hand. `StudyState.ending` adds
        details that take long to compute.
    n_late : int
        Number of results that arrived after the end.
    """

    def __init__(self, setting: StudySettings, history: History, engine: str) -> None:
        self.setting, self.history, self.engine = setting, history, engine
        self.problem = setting.problem.as_maximisation
        self.needed = history.required > 0.0
        self.largest = self.problem.actions.max_size()
        self.ended: dict[str, Any] | None = None
        self.n_late = 0
        self.due = False
        self._known: dict[str, Any] | None = None  # facts of the certificate that is due
        self.reset_stopping()

    def reset_stopping(self) -> None:
        """Evaluate at the delta that is left after the changes so far."""
        self.delta = (
            delta_after_corrections(self.setting.delta, self.history.n_changes) * self.history.share
        )
        same = self.delta == self.setting.delta
        self.stopping = self.setting.stopping if same else self.setting.stopping_at(self.delta)
        self.told = ProblemState(self.problem, self.stopping, self.history.stats, self.engine)

    def evaluate(self, event: Event, effect: EventEffect) -> None:
        """Evaluate the evidence; the study stops the first time it is enough."""
        history, state = self.history, self.told
        if effect is EventEffect.CHANGE:
            self.ended, self.n_late = None, 0
        self.due = False
        t = max(
            history.n_told, math.ceil(float(history.stats.counts.sum()) / self.largest)
        )  # t K bounds the number of values
        try:
            for history.stats.n_rounds[0] in (
                (t,) if state.state.leader.any() else (t - 1, t)
            ):  # a new stopping rule may need a rival
                state.recommend()
        except Exception:  # errors of a user's own code get a message
            with own_errors(), own_bounds(state.kernel):
                raise
        if self.ended is None:
            if history.stopped is not None:
                self.ended = {**self.facts("by hand"), "seq": event.seq}
            elif effect is not EventEffect.LOOK and self.passed(t):
                self.due = True

    def passed(self, t: int) -> bool:
        """Return True if the evidence after ``t`` rounds passes the threshold."""
        counts = self.history.stats.counts
        if (
            self.setting.min_replicates
            and (counts[self.needed] < self.setting.min_replicates).any()
        ):
            return False
        stops: Ints = np.full(1, -1, np.int64)
        winners: Floats = np.zeros((1, counts.size))
        enough = check_stopping(self.told.kernel.stopping, t, self.told.state, stops, winners)
        if enough and stops[0] < 0:  # the threshold is NaN
            check_compared(self.stopping, stops)
        return enough

    def would_pass(self, delta: float, epsilon: float | None = None) -> bool:
        """Return True if the evidence would be enough now for another delta or epsilon."""
        stopping, clock = self.setting.stopping_at(delta, epsilon=epsilon), self.clock
        state = ProblemState(self.problem, stopping, deep_copy(self.history.stats), self.engine)
        for state.stats.n_rounds[0] in (
            clock - 1,
            clock,
        ):  # a stopping rule may need the rival of the round before
            state.recommend()
        return bool(state.state.evidence[0] > state.kernel.stopping.critical_value(clock, 0))

    def certificate(self) -> dict[str, Any]:
        """Return the contents of the certificate that is due."""
        self._known = self.facts("certified")
        return certificate(self._known)

    def certify(self, event: Event) -> None:
        """Note that a certificate was given, which stays given.

        If this version would not have given it, nothing is derived from it.
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
        """Return the number of rounds at the last evaluation."""
        return int(self.history.stats.n_rounds[0])

    @property
    def compared(self) -> bool:
        """Return True if anything is known about differences between arms.

        If plays have batch effects, this requires a complete block: before, the largest value only
        shows which batch effect is the largest.
        """
        blocks = self.history.stats.batch
        return bool(blocks.precision.size == 0 or blocks.done[0] > 0)

    def comparable(self, rival: Floats) -> bool:
        """Return True if the leader can be compared with a rival.

        The arms in which they differ need values. If plays have batch effects, complete blocks must
        also connect those of these arms that are exchangeable.
        """
        stats = self.history.stats
        differ = self.told.state.leader != rival
        if not self.compared or (stats.counts[differ] == 0.0).any():
            return False
        groups = (
            exchangeable(self.problem.answers) if self.problem.rewards.has_batch_effect() else []
        )
        parts = (stats.batch.component[[a for a in one if differ[a]]] for one in groups)
        return all(np.unique(one).size < 2 for one in parts)

    def least_evidence(self) -> tuple[float, Floats]:
        """Return the least evidence of the leader against any rival, and that rival.

        Below the threshold, a run may have evaluated the nearest pair only, so the minimum is
        computed here if the problem has fewer than `COMPILED_FROM` arms.
        """
        state, stopping_kernel = self.told.state, self.told.kernel.stopping
        rival, alternative = np.zeros((2, state.leader.size))
        if state.leader.size < COMPILED_FROM:
            try:
                least = stopping_kernel.least_evidence(
                    self.told.kernel, self.told.stats, state.leader, rival, alternative
                )
            except RuntimeError:  # of a user's oracle, perhaps
                with own_errors():
                    raise
            if least < state.evidence[0]:
                return least, rival
            return float(state.evidence[0]), state.rival
        return self.named(), state.rival

    def named(self) -> float:
        """Return the evidence against the rival that the stopping rule reported.

        While the run cannot stop, the rule itself may report more.
        """
        state = self.told
        with own_errors():
            value = state.kernel.stopping.evidence_against(
                state.kernel, state.stats, state.state.leader, state.state.rival
            )
        return min(float(state.state.evidence[0]), value)

    def shown(self, evidence: float, rival: Floats) -> DisplayEvidence:
        """Return the evidence against a rival, and the threshold, on the scale that users see."""
        state = self.told
        level, best = float(state.kernel.stopping.critical_value(self.clock, 0)), state.state.leader
        if self.problem.rewards.has_batch_effect() and math.isfinite(evidence):
            have = max(self.within_rounds(rival), evidence, 0.0)
            return DisplayEvidence(have, have - (evidence - level))
        return to_display_scale(state.kernel, state.stats, best, rival, evidence, level)

    def within_rounds(self, rival: Floats) -> float:
        """Return the log-likelihood ratio against a rival that is one exchange away.

        This is the ratio for plays with batch effects; 0 if no complete block connects the two
        arms.
        """
        best, blocks = self.told.state.leader, self.history.stats.batch
        i, j = (arms_of(one)[:1] for one in (best - rival, rival - best))
        if not (i and j and blocks.information[i[0], j[0]] > 0.0):
            return 0.0
        lead = float(max(blocks.score_matrix[i[0], j[0]], 0.0))
        ratio = 0.5 * lead * lead / float(blocks.information[i[0], j[0]])
        if self.problem.rewards.variance_known:
            return ratio
        ahead, after = blocks.noise[:, 0]  # `variance` uses one of them
        degrees = after if after > 0.5 * ahead else ahead
        return restricted(ratio / blocks.variance(), float(degrees))

    def single_replicate_arms(self, arms: Iterable[int]) -> list[list[Any]]:
        """Return those of some arms that have a single value.

        Returns
        -------
        list of list
            For each arm: the arm, the value, its round, and True for data from outside.
        """
        one = [int(a) for a in sorted(arms) if self.history.stats.counts[a] == 1.0]
        if not one:
            return []
        outside = {number for number, *_ in self.history.outside}
        far = self.history.extremes
        values = self.setting.problem.to_internal(far[0, 0])
        numbers = [int(far[0, 2, a]) for a in one]
        return [
            [a, float(values[a]), number, number in outside]
            for a, number in zip(one, numbers, strict=True)
        ]

    def leader(self) -> list[int]:
        """Return the arms of the leading answer; none while nothing is known."""
        known = self.compared and self.history.stats.counts.any()
        return np.flatnonzero(self.told.state.leader > 0.5).tolist() if known else []

    def facts(self, why: str = "running") -> dict[str, Any]:
        """Return what is known now as plain data, with the reason for the end of the study."""
        history, best = self.history, self.told.state.leader
        evidence, rival = self.least_evidence()
        have, needed = self.shown(evidence, rival)
        return {
            "why": why,
            "answer": self.leader(),
            "rival": np.flatnonzero(rival > 0.5).tolist() if self.compared else [],
            "evidence": have,
            "threshold": needed,
            "rounds": history.n_told,
            "values": int(history.stats.counts.sum()),
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
