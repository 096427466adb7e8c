"""One run."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..engine.dispatch import choose_engine
from ..engine.kernels import layout, mould
from ..engine.protocols import Game, Rule
from ..engine.round import FULL, play
from ..engine.state import Floats, Ints, View
from ..engine.statistics import Seen, blank
from ..engine.user_code import own_bounds, own_errors
from ..problem import Problem
from ..rules import Setup
from ..rules.base import again_larger
from ..rules.checks import GuardedSetup
from ..stopping.base import Stopping, check_compared

REPLAYED = 2_000  # rounds that are played again to find a mistake


class Scene(NamedTuple):
    """What a run begins with, but for its rule."""

    game: Game
    seen: Seen
    view: View
    stops: Ints
    winners: Floats


def scene(problem: Problem, stopping: Stopping, deltas: int, level_sd: float = 0.0) -> Scene:
    d = problem.d
    seen = blank(d, problem.rewards.groups(d), problem.precision())
    seen.blocks.lifted[1] = level_sd
    return Scene(
        stopping.on(problem.game(), seen),
        seen,
        View(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(1), np.zeros(d)),
        np.full(deltas, -1, np.int64),
        np.zeros((deltas, d)),
    )


class Series:
    """Runs of one set-up on one problem: what they begin with is made once, and copied; what plays
    them is chosen once.
    """

    def __init__(
        self,
        problem: Problem,
        stopping: Stopping,
        deltas: int,
        engine: str,
        level_sd: float = 0.0,
    ) -> None:
        self._made, self._engine = (problem, stopping, deltas, level_sd), engine
        self._mould = mould(scene(*self._made))
        self._play: dict[Any, Callable[..., int]] = {}  # by what a rule and its start look like

    def scene(self) -> Scene:
        return scene(*self._made) if self._mould is None else self._mould.cast()

    def play(self, run: "Run") -> Callable[..., int]:
        key: Any = None
        if self._mould is not None:
            key = getattr(run.setup, "alike", False) or layout((run.rule, run.start))
        if key is not None and key in self._play:
            return self._play[key]
        chosen = choose_engine(self._engine, (run.game, run.rule))
        if key is not None:
            self._play[key] = chosen = getattr(chosen, "alike", lambda: chosen)()
        return chosen


def twice(start: Ints) -> Ints:
    """A start that sees every arm twice, if it saw each: from one value each nobody could tell how
    values vary.
    """
    often = np.bincount(start[start >= 0])
    return np.concatenate((start, start)) if often[often > 0].min() < 2 else start


class Run:
    """One run, which can be played on in steps. Run i of seed s is the same whatever the engine or
    the workers.
    """

    def __init__(
        self,
        problem: Problem,
        setup: Setup,
        stopping: Stopping,
        means: Floats,
        deltas: int,
        seed: int,
        number: int,
        engine: str,
        series: Series | None = None,
        level_sd: float = 0.0,
    ) -> None:
        self.rng: Any = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        self.setup, self.means, self._engine = setup, means, engine
        self._stopping, self._begin = stopping, (problem, setup, stopping, means, deltas)
        self._noise = (seed, number, "python", None, level_sd)
        self.rule: Rule
        self.rule, self.start = setup.fresh(self.rng)
        if problem.rewards.pooled:
            self.start = twice(self.start)
        begin = scene(problem, stopping, deltas, level_sd) if series is None else series.scene()
        self.game, self.seen, self.view, self.stops, self.winners = begin
        self._play: Callable[..., int] = (
            choose_engine(engine, (self.game, self.rule)) if series is None else series.play(self)
        )

    def lead(self) -> float:
        """The estimated lead of the leading answer over the nearest rival; NaN if there is none."""
        best, rival = self.view.best, self.view.rival
        if not rival.any() or (self.seen.counts[best != rival] == 0.0).any():
            return math.nan
        return float((best - rival) @ self.seen.mean)

    @property
    def compiled(self) -> bool:
        return self._play is not play

    def advance(self, last: int) -> int:
        """Play until every delta has stopped or `last` rounds have been played; how it ended
        (`round.STOPPED`, ...).
        """
        larger = (-1, 0)  # the round in which the rule's arrays were made larger, and how often
        while True:
            with own_errors(), own_bounds(self.game, self.rule, again=self._interpret):
                ended = self._play(*self._given(last))
            if isinstance(self.setup, GuardedSetup):
                self.setup.check(self.rule)
            if ended != FULL:
                check_compared(self._stopping, self.stops)
                return int(ended)
            larger = again_larger(*larger, int(self.seen.clock[0]), self.rule)
            self.rule = self.setup.enlarge(self.rule)
            if self.compiled:  # larger arrays may be of other types
                self._play = choose_engine(self._engine, (self.game, self.rule))

    def _given(self, last: int) -> tuple[Any, ...]:
        """What a round is played with."""
        before = self.game, self.rule, self.start, self.means, self.rng, int(last)
        return *before, self.seen, self.view, self.stops, self.winners

    def ready(self) -> bool:
        """Whether it can be played without compiling first."""
        chosen = choose_engine(self._engine, (self.game, self.rule))
        known: Callable[[tuple[Any, ...]], bool] | None = getattr(chosen, "ready", None)
        return known is None or known(self._given(0))

    def _interpret(self) -> None:
        """The same rounds once more, interpreted, where they were compiled and few."""
        last = int(self.seen.clock[0]) + 1
        if self.compiled and last <= REPLAYED:
            Run(*self._begin, *self._noise).advance(last)


class Outcome(NamedTuple):
    """What a finished run leaves: the first four are the same wherever it ran, the last is
    measured.
    """

    stops: Ints  # int64[deltas]: the stopping round, -1 if it was capped
    winners: Floats  # float64[deltas, d]
    rounds: int  # rounds played
    figures: dict[str, int]  # what the rule tells of itself
    seconds: float  # spent on the rounds
    labels: Ints | None = (
        None  # with relabel=True: the given arms in the order in which the run had them
    )
    leader: Floats | None = None  # float64[d]: the leading answer after the last round
    lead: float = math.nan  # its estimated lead over the nearest rival then
