"""Whether a rule of one's own plays sets of the structure, alike in both engines and whatever the
arms are called, and leaves what it is given as it was.

Whether arms are only numbers to a rule that says so (`numbered`).
"""

from typing import Any, NamedTuple

import numpy as np

from ..engine.state import Floats, Ints, arms_of
from ..errors import InputError, check_bool
from ..problem import Problem
from ..rewards import Gaussian
from ..rules import RuleBase
from ..rules.checks import CheckedBoundRule
from ..rules.presets import make_rule
from ..simulation.api import simulate
from ..simulation.result import Simulation
from ..simulation.runner import InitialState, Run
from ..stopping.base import LISTED, StoppingBase
from ..stopping.registry import make_stopping
from ..structures import Arms, Subsets
from ._report import CheckReport, check_engines, check_numbers, check_part, named
from .stopping import refuted

NUMBERED = Problem(Subsets(6, 2), Arms(6), Gaussian(0.1))
APART = (0.83, 0.61, 0.52, 0.37, 0.24, 0.06)  # no two of them, nor their differences, alike
NEVER = 1e-300  # a delta at which nothing stops that is checked here
RUNS, FEWER, ROUNDS = 60, 20, 200  # under each numbering, and interpreted; after the start
OFF = 0.05  # of the rounds: what starts and ties, which go by numbers, may change of an arm's plays
FAR = 5.0  # standard errors beyond that: less than once in 10^4 checks


class Trial(NamedTuple):
    """Where a rule is tried."""

    problem: Problem
    means: Any
    threshold: str | StoppingBase = "mixture"

    def truth(self) -> Floats:
        """Return the means as the problem that is maximised has them."""
        return self.problem.to_internal(self.problem.check_means(self.means))


DISTINCT = Trial(NUMBERED, APART)


def check_symmetric(
    rule: RuleBase,
    seed: int,
    tally: CheckReport,
    trial: Trial = DISTINCT,
    compiled: bool = True,
) -> None:
    """Runs with the arms numbered from the best to the worst, and with the worst ones moved to the
    front, so that no arm keeps its number: each must be played as often. Numbers may decide how a
    run begins and between ties, so not every single play; but those between good arms, which may be
    played for long because of a tie, fall as before.
    """
    ranked = np.argsort(-trial.truth(), kind="stable")
    how: Any = (seed, RUNS if compiled else FEWER, "auto" if compiled else "python")
    usual = _plays(rule, trial, ranked, *how)
    if usual is None:
        tally.add("runs keep the given numbers: it does not say that arms are only numbers to it")
        return
    for order in (np.roll(ranked, 1), np.roll(ranked, 2)):
        other = _plays(rule, trial, order, *how)
        assert other is not None
        off = np.abs(usual.mean(axis=0) - other.mean(axis=0))
        error = np.sqrt((usual.var(axis=0) + other.var(axis=0)) / len(usual))
        arm = int(np.argmax(off - FAR * error))
        assert off[arm] <= OFF + FAR * error[arm], (
            f"arm {arm} is in {usual[:, arm].mean():.0%} of the plays where it is called "
            f"{int(np.argsort(ranked)[arm])}, but in {other[:, arm].mean():.0%} of them where it "
            f"is called {int(np.argsort(order)[arm])}: leave `symmetric` (or `numbered`) out of a "
            "rule that names arms, so that its runs keep the given numbers."
        )
        tally.add(
            f"{len(usual)} runs of {ROUNDS} rounds with other numbers for the arms: the same plays"
        )


def _plays(
    rule: RuleBase, trial: Trial, order: Ints, seed: int, runs: int, engine: str
) -> Floats | None:
    """In every run, the share of plays that have each arm, with arm order[i] called i; None: that
    cannot be done.
    """
    numbered = getattr(rule, "permuted", None)
    made, means = trial.problem.permuted(order), trial.truth()[order]
    alike = numbered(order) if numbered is not None and made is not None else None
    if made is None or alike is None:
        return None
    stopping = make_stopping(trial.threshold, made, [NEVER])
    setup, shares = alike.bind(made), np.zeros((runs, order.size))
    initial = InitialState(made, setup, stopping, 1, engine)
    for number in range(runs):
        run = Run(initial, means, seed, number)
        first = len(run.start)
        run.advance(first)
        before = run.stats.counts.copy()
        run.advance(first + ROUNDS)
        played = max(int(run.stats.n_rounds[0]) - first, 1)
        shares[number, order] = (run.stats.counts - before) / played
    return shares


PROBLEM = Problem(Subsets(6, 2), Arms(6), Gaussian(0.3))
MEANS = tuple(np.linspace(1.0, 0.0, 6).tolist())
STOPPED = 10  # runs that are played to their end
LONGEST, SHORTER = 20_000, 2_000  # rounds of one of them, and interpreted
USUAL = Trial(PROBLEM, MEANS)
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
    plays alike whatever the arms are called if it says so (`symmetric`), and errs no more than a
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
    check_bool("compiled", compiled, of="check_rule")
    if problem is not None:
        check_part("problem", problem, Problem, of="check_rule")
    tally = CheckReport(named(rule))
    where, truth = (PROBLEM, np.array(MEANS)) if problem is None else (problem, means)
    check_plays(rule, rounds, seed, tally, Trial(where, truth, threshold), compiled)
    place = DISTINCT if problem is None else Trial(problem, means)
    trial = place._replace(threshold=threshold)
    check_symmetric(make_rule(rule), seed, tally, trial, compiled)
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


def _check_answers(sim: Simulation, threshold: str, tally: CheckReport) -> None:
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
    tally: CheckReport,
    trial: Trial = USUAL,
    compiled: bool = True,
) -> None:
    """Every play against all sets, or what the structure says of it; both engines."""
    where, truth = trial.problem, trial.truth()
    stopping = make_stopping(trial.threshold, where, [NEVER])
    watched, actions = CheckedBoundRule(make_rule(rule), where), where.actions
    sets = set(actions.to_list(LISTED)) if (actions.n_sets() or LISTED + 1) <= LISTED else None
    known = "one of all " + f"{len(sets):,}" if sets is not None else "a set of the structure"
    run = Run(InitialState(where, watched, stopping, 1, "python"), truth, seed, 0)
    for t in range(rounds):
        before = run.stats.counts.copy()
        try:
            run.advance(t + 1)
        except InputError as error:
            raise AssertionError(str(error)) from error
        played = arms_of(run.state.action)
        assert sets is None or played in sets, (
            f"in round {t} the rule played {played}, not an action."
        )
        assert np.array_equal(run.stats.counts - before, run.state.action), (
            f"in round {t} something else was observed than what the rule played."
        )
        tally.add(f"the action is {known}, and was observed")
        tally.add("nothing else was written, bit for bit")
    initial = InitialState(where, watched.bound, stopping)
    check_engines(initial, truth, rounds, seed, tally, compiled)
