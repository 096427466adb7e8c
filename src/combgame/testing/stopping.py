"""Conformance check of stopping rules: the stopping time and the number of errors."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ..engine.likelihood_ratio import against
from ..engine.state import Floats, arms_of, vector
from ..errors import InputError
from ..problem import Problem
from ..rewards import Gaussian
from ..rules.presets import make_rule
from ..simulation.api import simulate
from ..simulation.result import error_interval
from ..simulation.runner import InitialState, Run
from ..stopping.base import LISTED, Stopping, StoppingBase, check_level
from ..stopping.registry import make_stopping
from ..structures import Arms, Subsets
from ._report import CheckReport, check_engines, check_numbers, check_part, named

PROBLEM = Problem(Subsets(5, 2), Arms(5), Gaussian(0.5))
MEANS = (1.0, 0.6, 0.5, 0.4, 0.3)
DELTAS = (0.2, 0.1, 0.01)
ROUNDS = tuple(round(t) for t in np.geomspace(1, 10**7, 40))
ALMOST = (0.5, 0.5 - 1e-4, 0.4, 0.3, 0.2)  # two answers almost tied: where errors are likeliest
RARE = 1e-4  # probability of refusing a stopping rule that errs with probability delta


def check_stopping(
    threshold: str | StoppingBase,
    problem: Problem | None = None,
    means: Floats | None = None,
    runs: int = 300,
    rounds: int = 1000,
    seed: int = 0,
) -> None:
    """Check a stopping rule and print what was checked.

    The threshold must rise as delta falls, a run must stop in the first round in which the evidence
    against every single rival is large enough, both engines must agree, and errors must not be more
    frequent than delta where they are likeliest.

    Parameters
    ----------
    threshold : str or StoppingBase
        The stopping rule.
    problem : Problem, optional
        The problem on which it is tried. Defaults to the best of five arms, two at a time.
    means : array-like of shape (d,), optional
        True means of the problem.
    runs : int, default=300
        Number of runs with two answers almost tied (or with `means`, if given), at delta = 0.2.
        So many runs refute a bad threshold; they prove nothing about a good one.
    rounds : int, default=1000
        Maximal length of such a run.
    seed : int, default=0
        Seed of the runs.

    Raises
    ------
    AssertionError
        If the stopping rule fails a check.
    """
    check_numbers("check_stopping", seed, runs=runs, rounds=rounds)
    where = PROBLEM if problem is None else problem
    check_part("problem", where, Problem, of="check_stopping")
    truth = where.to_internal(where.check_means(MEANS if means is None else means))
    report = CheckReport(named(threshold))
    with in_words():
        stopping = make_stopping(threshold, where, DELTAS)
    _check_levels(stopping, report)
    setup = make_rule("uniform").bind(where)
    initial = InitialState(where, setup, stopping, len(DELTAS), "python")
    _check_stops(stopping, where, Run(initial, truth, seed), report)
    check_engines(initial, truth, rounds, seed, report)
    if means is None and problem is None:
        truth = np.array(ALMOST)
    sim = simulate(
        where,
        truth,
        rule="uniform",
        threshold=threshold,
        delta=DELTAS[0],
        runs=runs,
        seed=seed,
        max_rounds=rounds,
        on_tie="run",
    )
    errors = int((~sim.capped & ~sim.correct).sum())
    assert not refuted(errors, runs, DELTAS[0]), (
        f"{errors} of {runs} runs with two answers almost tied stopped with the wrong one, at "
        f"delta = {DELTAS[0]}: that is no accident."
    )
    report.add(
        f"a run of at most {rounds:,} rounds with two answers almost tied, delta = {DELTAS[0]}: "
        f"{errors} wrong, {int(sim.capped.sum())} capped",
        runs,
    )
    report.show()


def refuted(errors: int, runs: int, delta: float) -> bool:
    """Return True if the errors refute an error probability of at most delta.

    This is the exact binomial test; it is wrong once in 1 / RARE checks.

    >>> refuted(5, 10, 0.1), refuted(7, 10, 0.1)
    (False, True)
    """
    return error_interval(errors, runs, 1.0 - 2.0 * RARE)[0] > delta


@contextmanager
def in_words() -> Iterator[None]:
    """Report a threshold that is not a number as a failed check."""
    try:
        yield
    except InputError as error:
        if error.code != "level-not-a-number":
            raise
        raise AssertionError(str(error)) from error


def _check_levels(stopping: Stopping, report: CheckReport) -> None:
    for t in ROUNDS:
        for index in range(len(DELTAS)):
            with in_words():
                check_level(stopping.name, stopping.threshold, t, index)
        levels = [stopping.threshold.critical_value(t, index) for index in range(len(DELTAS))]
        assert levels == sorted(levels), (
            f"critical_value({t}, ...) returned {levels} for the deltas {list(DELTAS)}: a smaller "
            "delta must not ask for less."
        )
        report.add("a number that does not fall with delta, after 1 to 10,000,000 rounds")


def _check_stops(stopping: Stopping, problem: Problem, run: Run, report: CheckReport) -> None:
    """Compare the evidence of every round with that against every rival, until the run stops."""
    d, stopping_kernel = problem.d, run.kernel.stopping
    answers = [vector(s, d) for s in problem.answers.to_list(LISTED)]
    arms, sign, spare = np.zeros(d, np.int64), np.zeros(d), np.zeros(d)
    start = len(run.start)
    for t in range(start, 100_000):
        run.advance(t)
        stats, state = run.stats, run.state
        others = [one for one in answers if (one != state.leader).any()]
        if stopping.make_kernel is None:
            values = [
                against(
                    run.kernel.rewards,
                    stats.mean,
                    stats.counts,
                    state.leader,
                    arms,
                    sign,
                    one,
                    spare,
                )
                for one in others
            ]
        else:
            values = [
                stopping_kernel.evidence_against(run.kernel, stats, state.leader, one)
                for one in others
            ]
        least, level = min(values), stopping_kernel.critical_value(t, 0)
        evidence = float(state.evidence[0])
        # a stopping kernel may return more while the run cannot stop
        if stopping.make_kernel is None or evidence > level:
            assert evidence <= least + 1e-9 * abs(least) + 1e-12, (
                f"after {t} rounds the evidence is said to be {evidence}, but against "
                f"{arms_of(others[int(np.argmin(values))])} it is {least}."
            )
            report.add(f"the evidence is not above that against any of {len(others):,} rivals")
        if (run.stopping_times[0] >= 0) != (evidence > level):
            raise AssertionError(f"after {t} rounds the evidence is {evidence} of {level}.")
        if run.stopping_times[0] >= 0:
            report.add(f"the stop at delta = {DELTAS[0]}, in the first round with enough evidence")
            return
