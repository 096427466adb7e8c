"""A study agrees with a naive model of it, and a snapshot with the fold of its events."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import combgame as cg
from combgame.lab.decision import make_decision
from combgame.lab.snapshot import dump, load
from tests.studies import HARD, RULES, measure, state_of
from tests.study_machine import Machine

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for

# ---- snapshots


def test_a_snapshot_is_the_fold_whatever_the_rule():
    for name in RULES:
        study, rng = cg.Study(HARD, rule=name, seed=4), np.random.default_rng(2)
        for _ in range(30):
            todo = study.ask()
            study.tell(todo, measure(todo, rng, np.zeros(6), 1.0))
        study.ask(3)
        state = state_of(study)
        other = load(study._setting, "auto", (state.history.seq, dump(state)))
        assert dump(other) == dump(state), name
        chosen = [[one.policy.choose() for _ in range(5)] for one in (other, state)]
        assert chosen[0] == chosen[1], name


def test_a_snapshot_keeps_the_end():
    for by_hand in (False, True):
        study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)), min_replicates=0)
        study.ask(3)
        study.tell(1, {0: 0.0})
        if by_hand:
            study.stop("enough")
        study.tell(2, {1: 50.0})
        study.observe({0: 1.0})
        state = state_of(study)
        other = load(study._setting, "auto", (state.history.seq, dump(state)))
        assert (
            state.monitor.ended is not None
            and other.monitor.ended == state.monitor.ended
            and other.monitor.n_late == state.monitor.n_late == 1 + by_hand
        )
        assert make_decision(other, other.monitor.ended) == study.decision


def test_the_clocks():
    """Replicates are values too: of K arms, t rounds bring at most t K. What is pending has been
    played.
    """
    study = cg.Study(HARD, threshold="stylised")
    todo = study.ask()
    study.tell(todo, {a: [0.0, 1.0] * 25 for a in todo.arms})
    level = study._setting.stopping.threshold.critical_value
    assert study.status.rounds == 1 and study.status.threshold == level(50, 0) > level(1, 0)
    study.ask(6)
    assert state_of(study).policy.ahead.stats.n_rounds[0] == 6  # before the last of them


def test_any_order_of_anything_agrees_with_a_naive_model():
    run_state_machine_as_test(
        Machine,
        settings=settings(max_examples=80, stateful_step_count=40, report_multiple_bugs=False),
    )
