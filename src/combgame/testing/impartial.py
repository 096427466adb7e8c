"""Whether arms are only numbers to a rule that says so (`numbered`)."""

from typing import Any

import numpy as np

from ..game.records import Floats, Ints
from ..problem import Problem
from ..rewards import Gaussian
from ..rules import RuleBase
from ..simulate.run import Run, Series
from ..stopping.names import make_stopping
from ..stopping.own import StoppingBase
from ..structures import Arms, Subsets
from .tally import Tally

NUMBERED = Problem(Subsets(6, 2), Arms(6), Gaussian(0.1))
APART = (0.83, 0.61, 0.52, 0.37, 0.24, 0.06)  # no two of them, nor their differences, alike
NEVER = 1e-300  # a delta at which nothing stops that is checked here
RUNS, FEWER, ROUNDS = 60, 20, 200  # under each numbering, and interpreted; after the start
OFF = 0.05  # of the rounds: what starts and ties, which go by numbers, may change of an arm's plays
FAR = 5.0  # standard errors beyond that: less than once in 10^4 checks


def check_impartial(
    rule: RuleBase,
    seed: int,
    tally: Tally,
    where: Problem = NUMBERED,
    means: Any = APART,
    threshold: str | StoppingBase = "mixture",
    compiled: bool = True,
) -> None:
    """Runs with the arms numbered from the best to the worst, and with the worst ones moved to the
    front, so that no arm keeps its number: each must be played as often. Numbers may decide how a
    run begins and between ties, so not every single play; but those between good arms, which may be
    played for long because of a tie, fall as before.
    """
    truth = where.inside(where.means(means))
    ranked = np.argsort(-truth, kind="stable")
    how: Any = (threshold, seed, RUNS if compiled else FEWER, "auto" if compiled else "python")
    usual = _plays(rule, where, truth, ranked, *how)
    if usual is None:
        tally.add("runs keep the given numbers: it does not say that arms are only numbers to it")
        return
    for order in (np.roll(ranked, 1), np.roll(ranked, 2)):
        other = _plays(rule, where, truth, order, *how)
        assert other is not None
        off = np.abs(usual.mean(axis=0) - other.mean(axis=0))
        error = np.sqrt((usual.var(axis=0) + other.var(axis=0)) / len(usual))
        arm = int(np.argmax(off - FAR * error))
        assert off[arm] <= OFF + FAR * error[arm], (
            f"arm {arm} is in {usual[:, arm].mean():.0%} of the plays where it is called "
            f"{int(np.argsort(ranked)[arm])}, but in {other[:, arm].mean():.0%} of them where it "
            f"is called {int(np.argsort(order)[arm])}: leave `impartial` (or `numbered`) out of a "
            "rule that names arms, so that its runs keep the given numbers."
        )
        tally.add(
            f"{len(usual)} runs of {ROUNDS} rounds with other numbers for the arms: the same plays"
        )


def _plays(
    rule: RuleBase,
    problem: Problem,
    means: Floats,
    order: Ints,
    threshold: str | StoppingBase,
    seed: int,
    runs: int,
    engine: str,
) -> Floats | None:
    """In every run, the share of plays that have each arm, with arm order[i] called i; None: that
    cannot be done.
    """
    numbered = getattr(rule, "numbered", None)
    made = problem.numbered(order)
    alike = numbered(order) if numbered is not None and made is not None else None
    if made is None or alike is None:
        return None
    stopping = make_stopping(threshold, made, [NEVER])
    setup, shares = alike.setup(made), np.zeros((runs, problem.d))
    series = Series(made, stopping, 1, engine)
    for number in range(runs):
        run = Run(made, setup, stopping, means[order], 1, seed, number, engine, series)
        first = len(run.start)
        run.advance(first)
        before = run.seen.counts.copy()
        run.advance(first + ROUNDS)
        played = max(int(run.seen.clock[0]) - first, 1)
        shares[number, order] = (run.seen.counts - before) / played
    return shares
