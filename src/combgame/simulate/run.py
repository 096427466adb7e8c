"""One run."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..game.callback import own_errors
from ..game.engines import choose_engine, own_bounds
from ..game.protocols import Game, Rule
from ..game.records import Floats, Ints, Random, View, blank
from ..game.round import FULL, play
from ..problem import Problem
from ..rules import Setup
from ..stopping.base import Stopping


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
    ) -> None:
        d = problem.d
        self.rng: Random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        self.setup, self.means = setup, means
        self.rule: Rule
        self.rule, self.start = setup.fresh(self.rng)
        self.seen = blank(d)
        self.game: Game = stopping.on(problem.game(), self.seen)
        self.view = View(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(1), np.zeros(d))
        self.stops: Ints = np.full(deltas, -1, np.int64)
        self.winners: Floats = np.zeros((deltas, d))
        self._play: Callable[..., int] = choose_engine(engine, (self.game, self.rule))

    @property
    def compiled(self) -> bool:
        return self._play is not play

    def advance(self, last: int) -> int:
        """Play until every delta has stopped or `last` rounds have been played; how it ended
        (`round.STOPPED`, ...).
        """
        while True:
            with own_errors(), own_bounds():
                ended = self._play(
                    self.game,
                    self.rule,
                    self.start,
                    self.means,
                    self.rng,
                    last,
                    self.seen,
                    self.view,
                    self.stops,
                    self.winners,
                )
            if ended != FULL:
                return int(ended)
            self.rule = self.setup.enlarge(self.rule)


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
