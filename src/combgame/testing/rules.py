"""Whether a rule of one's own plays sets of the structure, alike in both engines and whatever the
arms are called, and leaves what it is given as it was.
"""

from typing import Any

import numpy as np

from ..errors import InputError, either
from ..game.records import Floats, arms_of
from ..presets import make_rule
from ..problem import Problem
from ..rewards import Gaussian
from ..rules import RuleBase
from ..rules.guard import GuardedSetup
from ..simulate.compare import simulate
from ..simulate.result import Simulation
from ..simulate.run import Run
from ..stopping.base import LISTED
from ..stopping.names import make_stopping
from ..stopping.own import StoppingBase
from ..structures import Arms, Subsets
from .impartial import NEVER, check_impartial
from .stopping import refuted
from .tally import Tally, check_numbers, check_part, named
from .twins import check_engines

PROBLEM = Problem(Subsets(6, 2), Arms(6), Gaussian(0.3))
MEANS = tuple(np.linspace(1.0, 0.0, 6).tolist())
STOPPED = 10  # runs that are played to their end
LONGEST, SHORTER = 20_000, 2_000  # rounds of one of them, and interpreted
DELTA = 0.1


def check_rule(
    rule: "str | RuleBase",
    rounds: int = 400,
    seed: int = 0,
    problem: Problem | None = None,
    means: Floats | None = None,
    threshold: str | StoppingBase = "mixture",
    compiled: bool = False,
) -> None:
    """Whether a rule plays sets of the structure every round, changes nothing of what was seen,
    plays alike whatever the arms are called if it says so (`impartial`), and errs no more than a
    proved threshold lets it; prints that, and how often it finds the best answer.

    problem and means: another place to try it than two of six arms. threshold: for rewards that
    "mixture" is not for. compiled: also whether it makes the same run, bit for bit, interpreted and
    compiled, with more and longer runs; it is compiled first, once.

    >>> check_rule("uniform", rounds=50)
    'uniform' passes:
       50 x  the action is one of all 15, and was observed
       50 x  nothing else was written, bit for bit
        1 x  runs interpreted only: compiled=True compares the engines, and compiles first
        2 x  20 runs of 200 rounds with other numbers for the arms: the same plays
       10 x  a run to its end with 'mixture', delta = 0.1: 10 right, 0 wrong, 0 capped
    """
    if (problem is None) != (means is None):
        text = "check_rule: a problem without means, or means without a problem"
        raise InputError("half-an-instance", text, remedy="give both, or neither")
    make_rule(rule)  # or a sentence
    check_numbers("check_rule", seed, rounds=rounds)
    either("compiled", compiled, of="check_rule")
    if problem is not None:
        check_part("problem", problem, Problem, of="check_rule")
    tally = Tally(named(rule))
    where, truth = (PROBLEM, np.array(MEANS)) if problem is None else (problem, means)
    check_plays(rule, rounds, seed, tally, where, truth, threshold, compiled)
    place: dict[str, Any] = {} if problem is None else {"where": problem, "means": means}
    check_impartial(make_rule(rule), seed, tally, **place, threshold=threshold, compiled=compiled)
    sim = simulate(
        where,
        truth,
        rule=rule,
        threshold=threshold,
        delta=DELTA,
        runs=STOPPED,
        seed=seed,
        max_rounds=LONGEST if compiled else SHORTER,
        engine="auto" if compiled else "python",
    )
    _check_answers(sim, named(threshold), tally)
    tally.tell()


def _check_answers(sim: Simulation, threshold: str, tally: Tally) -> None:
    """How often runs ended right; under a proved threshold, not too often wrong."""
    right, capped = int((sim.correct & ~sim.capped).sum()), int(sim.capped.sum())
    wrong = STOPPED - right - capped
    assert not (sim.validity.proved and refuted(wrong, STOPPED, DELTA)), (
        f"{wrong} of {STOPPED} runs stopped with the wrong answer, at delta = {DELTA} and with the "
        f"proved threshold {threshold}, which holds whatever is played: that is no accident. Look "
        "for what the rule writes: it may only write view.action."
    )
    tally.add(
        f"a run to its end with {threshold}, delta = {DELTA}: {right} right, {wrong} wrong, "
        f"{capped} capped",
        STOPPED,
    )


def check_plays(
    rule: "str | RuleBase",
    rounds: int,
    seed: int,
    tally: Tally,
    where: Problem = PROBLEM,
    means: Any = MEANS,
    threshold: str | StoppingBase = "mixture",
    compiled: bool = True,
) -> None:
    """Every play against all sets, or what the structure says of it; both engines."""
    truth = where.inside(where.means(means))
    stopping = make_stopping(threshold, where, [NEVER])
    watched, actions = GuardedSetup(make_rule(rule), where), where.actions
    sets = set(actions.sets(LISTED)) if (actions.size() or LISTED + 1) <= LISTED else None
    known = "one of all " + f"{len(sets):,}" if sets is not None else "a set of the structure"
    run = Run(where, watched, stopping, truth, 1, seed, 0, "python")
    for t in range(rounds):
        before = run.seen.counts.copy()
        try:
            run.advance(t + 1)
        except InputError as error:
            raise AssertionError(str(error)) from error
        played = arms_of(run.view.action)
        assert sets is None or played in sets, (
            f"in round {t} the rule played {played}, not an action."
        )
        assert np.array_equal(run.seen.counts - before, run.view.action), (
            f"in round {t} something else was observed than what the rule played."
        )
        tally.add(f"the action is {known}, and was observed")
        tally.add("nothing else was written, bit for bit")
    check_engines(where, watched.setup, stopping, truth, 1, rounds, seed, tally, compiled)
