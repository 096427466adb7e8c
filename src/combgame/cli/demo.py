"""The demonstration: a screen of ten variants, three on a plate, watched while it makes up its
mind.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..game.records import arms_of
from ..game.round import CAPPED
from ..problem import Problem
from ..rewards import Gaussian
from ..simulate.bench import make_bench
from ..simulate.compare import simulate
from ..structures import Arms, Subsets
from ..theory.shown import shown

NAMES = ("wild type", "A12G", "K7R", "L3P", "T9S", "D5N", "F8Y", "S2C", "Q4E", "R6K")
MEANS = np.array([0.34, 0.52, 0.40, 0.495, 0.36, 0.485, 0.30, 0.38, 0.28, 0.33])
SIGMA, DELTA, RULE = 0.1, 0.05, "frank-wolfe"
CAP = 100_000


class Moment(NamedTuple):
    """How far a run has come."""

    rounds: int
    evidence: float
    threshold: float
    leader: str
    rival: str
    done: bool


def the_problem() -> Problem:
    return Problem(actions=Subsets(10, 3), answers=Arms(10), rewards=Gaussian(SIGMA), names=NAMES)


def watch(seed: int, step: int = 10) -> Iterator[Moment]:
    """A run, every few rounds (interpreted: there is nothing to compile)."""
    problem = the_problem()
    bench = make_bench(problem, MEANS, RULE, DELTA, "mixture", seed, CAP, "python")
    mine, threshold = bench.numbers(0), bench.stopping.threshold
    run, last = bench.run(0, mine), 0
    while True:
        last += step
        done = run.advance(last) != CAPPED or last >= CAP
        t, view = int(run.seen.clock[0]), run.view
        evidence = run.game.judge.versus(run.game, run.seen, view.best, view.rival)
        evidence = min(float(view.evidence[0]), evidence)
        now = shown(run.game, run.seen, view.best, view.rival, evidence, threshold.level(t, 0))
        leader, rival = (
            problem.label(arms_of(mine.theirs(chosen)))
            for chosen in (run.view.best, run.view.rival)
        )
        yield Moment(t, now.have, now.needed, leader, rival, done)
        if done:
            return


def uniform_rounds(runs: int = 100) -> float:
    """What uniform sampling needs on average for the same question (compiled)."""
    return float(
        simulate(
            the_problem(), MEANS, rule="uniform", delta=DELTA, runs=runs, seed=1, progress=False
        ).rounds.mean()
    )


def sentence(end: Moment, uniform: float) -> str:
    """The result, plainly."""
    return (
        f"The best variant is {end.leader}, with confidence {1 - DELTA:.0%} (proved for Gaussian "
        f"noise of {SIGMA:g}); "
        f"the closest rival was {end.rival}; it took {end.rounds:,} plates of 3, where uniform "
        "sampling needs "
        f"{uniform:,.0f} on average."
    )
