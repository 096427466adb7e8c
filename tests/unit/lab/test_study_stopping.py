"""When a study stops, what its decision says of how it came about, and what taking back does."""

import json
import math

import numpy as np
import pytest

import combgame as cg
from combgame.lab.decision import make_decision
from combgame.lab.policy import StudyState
from combgame.lab.snapshot import dump
from tests.said import refused, says
from tests.studies import HARD, PROBLEM, Past, measure, state_of

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for

# ---- taking back, and data from outside


def test_retracting_leaves_no_rounding_behind():
    study = cg.Study(PROBLEM)
    first = study.ask()
    study.tell(first, dict.fromkeys(first.arms, 0.3))
    number = study.observe({first.arms[0]: 2e7}, reason="a slip of the finger")
    study.retract(number, "typed the date")
    assert state_of(study).history.stats.sums[first.arms[0]] == 0.3
    with refused("round-not-told", cg.StudyError, round=number):
        study.retract(number, "again")
    with refused("from-outside", cg.StudyError, round=number):
        study.tell(number, {})
    study.retract(arm="ann", reason="contaminated")
    assert state_of(study).history.stats.counts.tolist() == [0, 1, 0, 0, 0]


def test_results_after_the_decision_are_no_part_of_it_and_a_retraction_opens_the_study_again():
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)), min_replicates=0)
    one, two, three = study.ask(3)
    study.tell(one, {0: 5.0})
    study.tell(two, {1: 0.0})
    before = study.decision
    study.tell(three, {three.arms[0]: 2.0})
    assert study.decision.certified and study.decision.evidence == before.evidence
    assert says(study.decision.assumptions, "results-late", n=1)
    assert study.events()[-1].kind == "told"
    study.retract(three, "wrong tube")
    study.retract(one, "wrong tube")
    assert not study.done and study.decision is None
    study.tell(one, {0: 0.0})
    while not study.done:
        todo = study.ask()
        study.tell(todo, {a: 3.0 if a else 0.0 for a in todo.arms})
    assert study.decision.answer == (1,)
    assert says(study.decision.assumptions, "retracted", retractions=2)


def test_what_touches_the_guarantee_is_in_the_assumptions():
    study = cg.Study(PROBLEM)
    first, second, third = study.ask(3)
    study.fail(first, "spilt")
    study.tell(second, {second.arms[0]: (0.5, 3)})
    study.observe({0: [0.5, 0.4]})
    study.tell(third, dict.fromkeys(third.arms, 0.1))
    study.retract(third, "wrong well")
    study.stop("out of money")
    rests = study.decision.assumptions
    for code, n in (
        ("rounds-failed", 1),
        ("values-missing", 1),
        ("values-outside", 2),
        ("means-told", 1),
    ):
        assert says(rests, code, n=n), code
    assert says(rests, "retracted", retractions=1) and "- 1 round failed:" in str(study.decision)
    assert (
        study.decision.reason == "by hand"
        and study.decision.headline.arguments["reason"] == "out of money"
        and not study.decision.certified
    )
    study.tell(first, dict.fromkeys(first.arms, 0.1))  # what comes now is kept
    assert study.decision.values == 5


def test_lateness_that_could_select_values_is_in_the_assumptions(monkeypatch):
    time = [1000.0]
    monkeypatch.setattr("combgame.storage.clock.now", lambda: time[0])
    problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1))
    study = cg.Study(problem, min_replicates=0)
    first, second = study.ask(client="me", lease=60), study.ask(client="you")
    study.ask(2, client="third")
    study.ask(client="me", lease=60)  # renewed in time: not worth a word
    time[0] = 1100.0
    assert study.ask(client="fourth").id == 1
    study.tell(second, {second.arms[0]: 0.0})
    study.tell(first, {first.arms[0]: 5.0})
    with refused("told-otherwise", cg.StudyError) as caught:
        study.tell(first, {first.arms[0]: 5.1})
    assert "measured twice, observe() adds the second" in caught.value.remedy
    assert study.decision.certified
    for code, n in (("values-out", 2), ("overtaken", 1), ("lease-ended", 1)):
        assert says(study.decision.assumptions, code, n=n), code
    for one in study.pending:
        study.tell(one, {one.arms[0]: 0.0})
    assert says(study.decision.assumptions, "values-out", n=2)

    study = cg.Study(problem, min_replicates=2)  # one at a time: nothing to say
    while not study.done:
        todo = study.ask(client="me")
        study.tell(todo, {a: 5.0 * a for a in todo.arms})
    assert {one.code for one in study.decision.assumptions} == {"threshold", "sigma-unchecked"}


def test_only_what_was_told_counts_for_stopping():
    for threshold in ("mixture", "proved"):
        one, other = (cg.Study(HARD, threshold=threshold) for _ in range(2))
        todo, rng = one.ask(60), np.random.default_rng(3)
        for here in todo[:10]:
            values = measure(here, rng, np.arange(6.0), 1.0)
            one.tell(here, values)
            other.observe(values)
        a, b = state_of(one), state_of(other)
        assert a.history.pending.sum() == 100 and b.history.pending.sum() == 0
        for what in ("evidence", "leader", "rival"):
            assert (
                getattr(a.monitor.told.state, what).tolist()
                == getattr(b.monitor.told.state, what).tolist()
            )
        assert one.status.threshold == other.status.threshold and a.history.stats.counts.sum() == 20


# ---- stopping without a certificate


def test_a_budget_stop_reports_the_confidence_that_was_reached():
    study, rng = cg.Study(PROBLEM, delta=1e-9, max_rounds=40), np.random.default_rng(0)
    for _ in range(35):
        todo = study.ask()
        study.tell(todo, measure(todo, rng))
    out = study.ask(30)
    assert len(out) == 5 and not study.done
    with refused("nothing-to-ask", cg.StudyError, state="running"):
        study.ask()
    study.fail(out[0], "spilt")
    assert [one.id for one in study.ask(5)] == [36]
    for one in out:
        study.tell(one, measure(one, rng))
    decision = study.decision
    assert decision.reason == "budget" and not decision.certified
    assert decision.headline.code == "not-certified"
    assert 1e-9 < decision.p_value < 0.5 and decision.confidence is None
    for share, enough in (
        (0.99, False),
        (1.01, True),
    ):  # it is the smallest delta at which this would have been enough
        level = study._setting.stopping_at(decision.p_value * share).threshold.critical_value(40, 0)
        assert (state_of(study).monitor.least_evidence()[0] > level) == enough
    study = cg.Study(PROBLEM, max_rounds=1)
    study.tell(study.ask(), {0: 0.1})
    assert study.decision.p_value == 1.0 and study.decision.lead is None


def test_a_heuristic_p_value_is_called_so():
    for threshold, proved in (("mixture", True), ("stylised", False)):
        study, rng = (
            cg.Study(PROBLEM, delta=1e-30, threshold=threshold, max_rounds=40),
            np.random.default_rng(0),
        )
        while not study.done:
            todo = study.ask()
            study.tell(todo, measure(todo, rng))
        decision = study.decision
        assert (
            decision.reason == "budget"
            and decision.p_value < 1.0
            and decision.proved is decision.to_dict()["proved"] is proved
        )
        assert (
            "by the heuristic threshold stylised, which is not proved" in str(decision.headline)
        ) is not proved


def test_a_deadline_ends_the_asking_and_a_result_that_was_out_may_certify(monkeypatch):
    clock = [1e9]
    monkeypatch.setattr("combgame.storage.clock.now", lambda: clock[0])
    study = cg.Study(PROBLEM, deadline="2999-01-01T00:00")
    todo = study.ask()
    clock[0] = 4e10
    assert study.state == "deadline" and study.ask(2) == []
    study.tell(todo, dict.fromkeys(todo.arms, 0.1))
    assert study.decision.reason == "deadline" and study.decision.values == 2
    assert str(study.decision.headline).endswith("extend(deadline=...) lets it go on.")
    clock[0] = 1e9
    study = cg.Study(
        cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)),
        deadline="2999-01-01T00:00",
        min_replicates=0,
    )
    one, two = study.ask(2)
    study.tell(one, {0: 0.0})
    clock[0] = 4e10
    assert study.decision.reason == "deadline"
    assert "results that still come are counted" in study.decision.headline.remedy()
    assert says(study.decision.assumptions, "values-out", n=1)
    study.tell(two, {1: 50.0})
    assert study.decision.certified and not study.decision.headline.remedy()


def test_a_budget_can_be_extended_before_and_after_it_is_spent():
    """The run is that of a study that had the larger budget from the beginning."""
    ends = []
    for first, more in ((40, ()), (3, (5, 40))):
        study, rng, more = (
            cg.Study(PROBLEM, delta=1e-6, seed=2, max_rounds=first, client="ann"),
            np.random.default_rng(2),
            list(more),
        )
        while not study.done or more:
            if study.done:
                assert (
                    study.state == "budget" and not study.decision.certified and study.ask(1) == []
                )
                assert "max_rounds was reached after" in str(study.decision)
                assert study.status.next_step.code == "budget-spent"
                assert "extend(max_rounds=..., reason=...)" in study.status.next_step.remedy()
                study.extend(more.pop(0), reason="a grant")
                assert (
                    study.state == "running"
                    and study.decision is None
                    and study.status.next_step.code == "ask"
                )
            todo = study.ask()
            study.tell(todo, measure(todo, rng))
        ends.append(study)
    one, other = ends
    assert other.decision.certified and other.decision.rounds == one.decision.rounds > 5
    assert other.decision.headline == one.decision.headline and other.replay().same
    assert [e.data for e in one.events()[1:]] == [
        e.data for e in other.events()[1:] if e.kind != "extended"
    ]
    told = [e for e in other.events() if e.kind == "extended"]
    assert [(e.client, e.reason, e.data) for e in told] == [
        ("ann", "a grant", {"max_rounds": n}) for n in (5, 40)
    ]
    (new,) = set(other.decision.assumptions) - set(one.decision.assumptions)
    assert says([new], "extended", n=2)
    with refused("ended", cg.StudyError, why="certified"):
        other.extend(50, reason="more")


def test_a_deadline_can_be_extended_and_lifted(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("combgame.storage.clock.now", lambda: clock[0])
    study = cg.Study(PROBLEM, deadline=200.0, max_rounds=7)
    clock[0] = 300.0
    assert study.state == "deadline" and study.status.next_step.code == "deadline-passed"
    assert "extend(deadline=..., reason=...)" in study.status.next_step.remedy()
    for late, code in ((150.0, "not-more"), (250.0, "past"), ("soon", "must-be")):
        with refused(code):
            study.extend(deadline=late, reason="late")
    study.extend(deadline=400.0, reason="the plates came late")
    assert study.state == "running" and len(study.ask(9)) == 7
    clock[0] = 500.0
    assert study.state == "deadline"
    study.extend(math.inf, math.inf, reason="no hurry")
    clock[0] = 1e12
    assert study.state == "running" and len(study.ask(9)) == 9 and study.replay().same
    with refused("no-limit", cg.StudyError):
        study.extend(10**9, reason="more")
    with refused("extend-nothing"):
        study.extend(reason="more")
    for bad in (2.5, -math.inf):
        with refused("must-be", name="max_rounds", value=bad):
            study.extend(bad, reason="more")
    with refused("must-be", cg.InputError, name="reason"):
        study.extend(10, reason=" ")
    study.stop("enough")
    with refused("ended", cg.StudyError, why="by hand"):
        study.extend(deadline=math.inf, reason="more")


def test_a_study_that_was_stopped_by_hand_stays_so_and_a_certified_one_cannot_be():
    study = cg.Study(PROBLEM)
    todo = study.ask()
    study.tell(todo, dict.fromkeys(todo.arms, 0.1))
    study.stop("out of money")
    assert not study.decision.headline.remedy()
    study.retract(todo, "wrong plate")
    assert study.state == "by hand" and study.decision.values == 0 and study.ask(1) == []
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
    number = study.observe({0: [0.0, 0.1], 1: [50.0, 50.1]})
    events = len(study.events())
    with refused("certified-already", cg.StudyError, name="study"):
        study.stop("the end of the year")
    assert len(study.events()) == events
    study.retract(number, "mistyped")
    assert study.state == "running"
    study.stop("enough")
    study.stop("really")
    assert study.state == "by hand"


def test_the_status_of_a_study_that_has_stopped_is_of_then():
    study = cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.1), names=["a", "b", "c"]))
    study.observe({"a": [0.0, 0.1], "b": [1.0, 1.1], "c": [0.2, 0.3]})
    before = study.status
    assert (
        study.state == "certified"
        and before.rivals[0].answer == study.decision.rival == (2,)
        and len(before.rivals) == 2
    )
    study.observe({"a": [0.9] * 20})
    study.observe({"a": 2.0})
    after = study.status
    assert (after.leader, after.evidence, after.n_late) == (before.leader, before.evidence, 2)
    assert after.rivals == before.rivals[
        :1
    ] and "later        2 results: stored, but not part of this" in str(after)
    assert (
        after.rivals[0].evidence == after.evidence
        and study.decision.headline.arguments["rival"] == "c"
        and before.n_late == 0
    )
    study.close()


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_decision_is_of_then_whoever_looks_first(by_hand):
    """Nothing is computed for it before somebody looks, or before something else happens."""
    problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.1))
    decisions, computed = [], []
    for look in (True, False):
        study = cg.Study(problem)
        study.observe({0: [0.0, 0.1], 1: [0.25, 0.2] if by_hand else [1.0, 1.1], 2: [0.2, 0.3]})
        if by_hand:
            study.stop("enough")
        if look:
            assert study.decision.values == 6
        computed.append("margin" in state_of(study).monitor.ended)
        study.observe({0: [0.9] * 20, 1: [-3.0, 8.0]})
        decisions.append(study.decision.to_dict())
    assert computed == [True, False]
    assert decisions[0] == decisions[1] and decisions[0]["values"] == 6
    assert [one["n"] for one in decisions[0]["estimates"]] == [2, 2, 2]


def test_a_decision_is_made_at_once_for_those_who_listen():
    heard, problem = [], cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1))
    study = cg.Study(problem, on_certify=heard.append)
    study.observe({0: [0.0, 0.1], 1: [50.0, 50.1]})
    assert heard == [study.decision] and heard[0].lead is not None


def test_rounds_that_are_told_together_are_judged_together():
    problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1))
    values = {1: {0: 0.0}, 2: {1: 50.0}, 3: {0: 0.1}, 4: {1: 50.1}}
    apart, whole = cg.Study(problem, min_replicates=0), cg.Study(problem, min_replicates=0)
    for study in (apart, whole):
        assert [one.arms for one in study.ask(4)] == [(0,), (1,), (0,), (1,)]
    for number, said in values.items():
        apart.tell(number, said)
    assert (apart.decision.rounds, state_of(apart).monitor.n_late) == (2, 2)
    called = []
    whole._calls = (None, called.append, called.append)
    whole.tell_many({**values, 4: {}}, final=False)
    whole.tell_many(values)  # the first three again, and the last
    assert [one for one in called if isinstance(one, int)] == [1, 2, 3, 4] and called[
        3
    ].rounds == whole.decision.rounds == 3
    study = cg.Study(problem, min_replicates=0)
    study.ask(4)
    study.tell_many(values)
    decision = study.decision
    assert decision.certified and (
        decision.rounds,
        decision.values,
        state_of(study).monitor.n_late,
    ) == (
        4,
        4,
        0,
    )
    assert "still out" not in str(decision) and "came after" not in str(decision)
    assert [one.data.get("more", False) for one in study.events() if one.kind == "told"] == [
        True,
        True,
        True,
        False,
    ]
    assert [one["rounds"] for one in study.history()] == [4] and study.replay().same
    again = StudyState(study._setting, "auto")
    for k, event in enumerate(study.events()):
        again.apply(event, Past(again, study.events()[:k]))
    again.history.seal = state_of(study).history.seal
    assert (
        dump(again) == dump(state_of(study))
        and make_decision(again, again.ending("certified")) == decision
    )
    # they may be told as pairs
    study = cg.Study(PROBLEM, min_replicates=0)
    one, two = study.ask(2)
    study.tell_many([(one, dict.fromkeys(one.arms, 0.1)), (two.id, dict.fromkeys(two.arms, 0.2))])
    assert study.status.rounds == 2 and study.status.values == 4


def test_the_status_has_the_settings():
    study = cg.Study(PROBLEM, delta=0.1, max_rounds=3)
    assert (
        "\n  settings     delta 0.1, rule frank-wolfe, threshold mixture, at least 2 values of "
        "every arm, at most 3 rounds\n" in str(study.status)
    )
    study.extend(7, reason="a grant")
    assert "at most 7 rounds" in str(study.status)
    study = cg.Study(
        PROBLEM,
        epsilon=0.2,
        min_replicates=2,
        deadline="2999-01-31T18:00",
        rule=cg.CombGame(learner=cg.LLOO()),
    )
    assert (
        study.status.settings["deadline"].startswith("2999-01-31T18:00:00")
        and "LLOO" in study.status.settings["rule"]
    )
    text = str(study.status)
    assert (
        "epsilon 0.2, at least 2 values of every arm, until 2999-01-31T18:00:00" in text
        and "rounds\n  spent" not in text
    )
    assert json.loads(json.dumps(study.status.to_dict()))["settings"]["min_replicates"] == 2


def test_which_rounds_are_spent_and_an_arm_told_anew_is_noted_like_any_other():
    study = cg.Study(PROBLEM, delta=1e-9)
    told, taken, dropped, spoilt, _ = study.ask(5)
    for todo in (told, taken, spoilt):
        study.tell(todo, dict.fromkeys(todo.arms, 0.1))
    study.fail(dropped, "dropped", retry=False)
    study.retract(taken, "wrong plate")
    study.retract(spoilt, "spoilt")
    study.fail(spoilt, "spoilt", retry=False)
    assert study.status.rounds == 3 and "spent        3 rounds, 2 values" in str(study.status)
    study.stop("enough")
    assert study.decision.rounds == 3
    study = cg.Study(PROBLEM)
    todo = study.ask()
    study.tell(todo, {0: 1000.0, 1: 0.3})
    study.retract(arm=0, reason="a point was lost")
    study.tell(todo, {0: (1.0, 4)})
    study.retract(arm=1, reason="contaminated")
    study.tell(todo, {1: None})
    study.stop("enough")
    rests = study.decision.assumptions
    assert says(rests, "means-told", n=1) and says(rests, "values-missing", n=1)
    assert study.decision.values == 4 and study.decision.rounds == 1 and study.replay().same


def test_min_pulls_come_first():
    study = cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.1)), min_replicates=4)
    while not study.done:
        todo = study.ask()
        study.tell(todo, {a: 5.0 if a == 2 else 0.0 for a in todo.arms})
    assert study.decision.answer == (2,) and state_of(study).history.stats.counts.tolist() == [
        4,
        4,
        4,
    ]


def test_the_forecast_is_hidden_until_there_is_something_to_say_and_then_about_right():
    study, rng, said = cg.Study(HARD, delta=0.05, seed=3), np.random.default_rng(5), {}
    while not study.done:
        todo = study.ask()
        study.tell(todo, measure(todo, rng, [1.0, 0.0, 0.0, -0.2, -0.3, -0.4], 1.0))
        if todo.id % 5 == 1:
            said[todo.id] = study.status.forecast
    assert said[1] is None
    told = [
        (t + low, t + high) for t, (low, high) in ((t, x) for t, x in said.items() if x is not None)
    ]
    end = study.decision.rounds
    assert len(told) > 3 and sum(low / 2 <= end <= 2 * high for low, high in told) >= 0.8 * len(
        told
    )
