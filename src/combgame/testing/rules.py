"""Conformance check of rules.

A rule must play sets of the structure, write only what it may write, and make the same run in both
engines; a rule that says so must not depend on the order of the arms.
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
APART = (0.83, 0.61, 0.52, 0.37, 0.24, 0.06)  # all means and all differences are distinct
NEVER = 1e-300  # a delta at which no run of these checks stops
RUNS, FEWER, ROUNDS = 60, 20, 200  # runs, interpreted runs, rounds after the initial design
OFF = 0.05  # share of the plays that the initial design and ties, which go by index, may change
FAR = 5.0  # standard errors beyond OFF: exceeded less than once in 10^4 checks


class Trial(NamedTuple):
    """A problem with its true means and a threshold, on which a rule is tried."""

    problem: Problem
    means: Any
    threshold: str | StoppingBase = "mixture"

    def truth(self) -> Floats:
        """Return the means of the maximisation problem."""
        return self.problem.to_internal(self.problem.check_means(self.means))


DISTINCT = Trial(NUMBERED, APART)


def check_symmetric(
    rule: RuleBase,
    seed: int,
    report: CheckReport,
    trial: Trial = DISTINCT,
    compiled: bool = True,
) -> None:
    """Check that a rule plays each arm equally often under permutations of the arms.

    The arms are ordered from the best to the worst, and then with the worst ones moved to the
    front, so that no arm keeps its index. Indices may decide how a run begins and how ties are
    broken, so single plays may differ; ties between good arms, which may be played for long because
    of a tie, are broken as before.
    """
    ranked = np.argsort(-trial.truth(), kind="stable")
    how: Any = (seed, RUNS if compiled else FEWER, "auto" if compiled else "python")
    usual = _plays(rule, trial, ranked, *how)
    if usual is None:
        report.add("runs keep the given numbers: it does not say that arms are only numbers to it")
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
            f"is called {int(np.argsort(order)[arm])}: leave `symmetric` (or `permuted`) out of a "
            "rule that names arms, so that its runs keep the given numbers."
        )
        report.add(
            f"{len(usual)} runs of {ROUNDS} rounds with other numbers for the arms: the same plays"
        )


def _plays(
    rule: RuleBase, trial: Trial, order: Ints, seed: int, runs: int, engine: str
) -> Floats | None:
    """Return the share of plays that contain each arm, shape (runs, d), with arm order[i] as arm i.

    The result is None if the problem or the rule cannot be permuted.
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
LONGEST, SHORTER = 20_000, 2_000  # rounds of such a run, and of an interpreted one
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
    """Check a rule and print what was checked and how often it finds the best answer.

    The rule must play a set of the structure in every round, leave the statistics unchanged, not
    depend on the order of the arms if it says so (``symmetric``), and err no more often than a
    proved threshold allows.

    Parameters
    ----------
    rule : str or RuleBase
        The rule.
    rounds : int, default=400
        Number of rounds that are compared play by play.
    seed : int, default=0
        Seed of the runs.
    problem : Problem, optional
        The problem on which the rule is tried. Defaults to two of six arms.
    means : array-like of shape (d,), optional
        True means of that problem. Required with `problem`.
    threshold : str or StoppingBase, default="mixture"
        Stopping rule, for rewards that do not support the default.
    compiled : bool, default=False
        If True, the rule is compiled, both engines are compared bit for bit, and more and longer
        runs are made.

    Raises
    ------
    AssertionError
        If the rule fails a check.

    Examples
    --------
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
    make_rule(rule)  # raises an error for an unknown rule
    check_numbers("check_rule", seed, rounds=rounds)
    check_bool("compiled", compiled, of="check_rule")
    if problem is not None:
        check_part("problem", problem, Problem, of="check_rule")
    report = CheckReport(named(rule))
    where, truth = (PROBLEM, np.array(MEANS)) if problem is None else (problem, means)
    check_plays(rule, rounds, seed, report, Trial(where, truth, threshold), compiled)
    place = DISTINCT if problem is None else Trial(problem, means)
    trial = place._replace(threshold=threshold)
    check_symmetric(make_rule(rule), seed, report, trial, compiled)
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
    _check_answers(sim, named(threshold), report)
    report.show()


def _check_answers(sim: Simulation, threshold: str, report: CheckReport) -> None:
    """Count the correct answers, and check the errors under a proved threshold."""
    right, capped = int((sim.correct & ~sim.capped).sum()), int(sim.capped.sum())
    wrong = STOPPED - right - capped
    assert not (sim.validity.proved and refuted(wrong, STOPPED, DELTA)), (
        f"{wrong} of {STOPPED} runs stopped with the wrong answer, at delta = {DELTA} and with the "
        f"proved threshold {threshold}, which holds whatever is played: that is no accident. Look "
        "for what the rule writes: it may only write state.action."
    )
    report.add(
        f"a run to its end with {threshold}, delta = {DELTA}: {right} right, {wrong} wrong, "
        f"{capped} capped",
        STOPPED,
    )


def check_plays(
    rule: "str | RuleBase",
    rounds: int,
    seed: int,
    report: CheckReport,
    trial: Trial = USUAL,
    compiled: bool = True,
) -> None:
    """Check that every play is a set of the structure, and compare both engines."""
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
        report.add(f"the action is {known}, and was observed")
        report.add("nothing else was written, bit for bit")
    initial = InitialState(where, watched.bound, stopping)
    check_engines(initial, truth, rounds, seed, report, compiled)
