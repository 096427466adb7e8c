"""Studies: nothing told is lost, nothing asked is forgotten, and the same seed gives the same
experiment.
"""

import json
import math
import threading

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import combgame as cg
from combgame.presets import PRESETS
from combgame.simulate.bench import make_bench
from combgame.study.advisor import Advisor
from combgame.study.decision import decide
from combgame.study.snapshot import dump, load

from . import naive

MEANS = (0.5, 0.3, 0.2, 0.1, 0.0)
NAMES = ("ann", "bob", "cid", "dee", "eve")
PROBLEM = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1), names=NAMES)
HARD = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(1.0))
COINS = cg.Problem(cg.Arms(3), rewards=cg.Bernoulli())
UNKNOWN = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(1.0, known=False))
SAME = [(HARD, "mixture"), (HARD, "proved"), (COINS, "mixture"), (UNKNOWN, "mixture")]
RULES = [name for name in PRESETS if name != "gcb-pe"]


def measure(round, rng, means=MEANS, sigma=0.1):
    return {a: means[a] + sigma * rng.standard_normal() for a in round.left}


def advisor_of(study):
    with study._session.reading() as (advisor, _):
        return advisor


# ---- the experiment


def test_a_study_ends_with_the_best_answer_and_says_why():
    study, rng = cg.Study(PROBLEM, delta=0.05, seed=1), np.random.default_rng(1)
    while not study.done:
        assert study.decision is None
        todo = study.ask()
        study.tell(todo, measure(todo, rng))
    decision = study.decision
    assert (
        decision.names == ("ann",)
        and decision.answer == (0,)
        and decision.certified
        and decision.confidence == 0.95
    )
    assert (
        decision.evidence > decision.threshold
        and f"after {decision.rounds} rounds" in decision.sentence
    )
    assert study.ask(3) == [] and study.status.state == "certified" and "Stop" in study.status.next
    with pytest.raises(cg.StudyError, match="it has stopped"):
        study.ask()
    json.dumps([decision.to_dict(), study.status.to_dict()])


@pytest.mark.own_numbers
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("problem", "threshold"), SAME)
def test_a_study_reproduces_the_run_of_simulate_round_by_round(name, problem, threshold):
    """Rewards come from the study's own generator, as in a simulation, so that rules that draw
    numbers draw the same.
    """
    means = [0.9, 0.5, 0.3, 0.3, 0.2, 0.1][: problem.d]
    bench = make_bench(problem, means, name, 0.2, threshold, 7, 150, "python")
    study, game = (
        cg.Study(problem, delta=0.2, rule=name, threshold=threshold, seed=7, max_rounds=150),
        problem.game(),
    )
    rng, path = advisor_of(study).rng, []

    numbers = advisor_of(study).numbers  # the run draws in the order of its own numbers
    assert numbers.order.tolist() == bench.numbers(0).order.tolist()

    def look():
        advisor = advisor_of(study)
        path.append(
            [
                *(x.tolist() for x in advisor.ledger.seen),
                advisor.told.view.evidence[0],
                advisor.told.view.rival.tolist(),
            ]
        )

    look()
    while not study.done:
        todo = study.ask()
        mine = sorted(todo.arms, key=lambda a: numbers.order.tolist().index(a))
        study.tell(todo, {a: game.rewards.draw(means[a], a, rng) for a in mine})
        look()
    for t in [*range(0, len(path) - 1, 7), len(path) - 1]:
        run = bench.run(0)
        run.advance(t)
        theirs = [(numbers.theirs(x) if x.size > 1 else x).tolist() for x in run.seen]
        assert path[t][:-3] == theirs[:-1] and path[t][-3] == pytest.approx(
            theirs[-1], rel=1e-12
        )  # worth: by the judge
        evidence = float(run.view.evidence[0])
        assert path[t][-2] == pytest.approx(evidence, rel=1e-9, abs=1e-12)
        ties = (
            evidence <= 0.0 or problem.rewards == cg.Bernoulli()
        )  # which of two rivals that are equally near, is of no account
        assert ties or path[t][-1] == numbers.theirs(run.view.rival).tolist()
    assert len(path) > 10 and run.stops[0] == (
        study.decision.rounds if study.decision.certified else -1
    )
    assert not study.decision.certified or study.decision.answer == tuple(
        np.flatnonzero(numbers.theirs(run.winners[0]))
    )


def test_a_rule_that_stops_in_its_own_way_is_refused():
    with pytest.raises(cg.InputError, match="whole passes"):
        cg.Study(PROBLEM, rule="gcb-pe", threshold="proved")


def test_a_batch_does_not_clump():
    """Nothing is told between the rounds of a batch, and yet they differ, because what is pending
    counts.
    """
    study, rng = (
        cg.Study(cg.Problem(cg.Arms(8), rewards=cg.Gaussian(1.0))),
        np.random.default_rng(0),
    )
    for todo in study.ask(8):
        study.tell(todo, measure(todo, rng, np.zeros(8), 1.0))
    different = 0
    for _ in range(6):
        rounds = study.ask(8)
        different += len({one.arms for one in rounds})
        for one in rounds:
            study.tell(one, measure(one, rng, np.zeros(8), 1.0))
    assert different >= 12  # if nothing pending counted, there would be one in each of the six


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("problem", [cg.Problem(cg.Subsets(6, 3), rewards=cg.Gaussian(1.0)), HARD])
def test_the_first_batch_is_spread_evenly(problem, name):
    """Before anything is told there is nothing to go by. (Some rules begin with every action once,
    15 or 20 of them.)
    """
    counts = np.zeros(6)
    for one in cg.Study(problem, rule=name).ask(30):
        counts[list(one.arms)] += 1
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("name", RULES)
def test_an_arm_whose_values_went_missing_is_wanted_again(name):
    study, rng, lost = cg.Study(PROBLEM, rule=name, delta=0.2), np.random.default_rng(0), 0
    while not study.done:
        todo = study.ask()
        values = measure(todo, rng)
        if 3 in values and lost < 5:
            values[3], lost = math.nan, lost + 1
        study.tell(todo, values)
        assert todo.id < 3000
    assert (
        lost == 5
        and advisor_of(study).ledger.seen.counts[3] > 0
        and "5 values are missing" in str(study.decision)
    )


def test_when_every_round_fails_the_rule_goes_on():
    study = cg.Study(PROBLEM)
    for todo in study.ask(7):
        study.fail(todo, "power cut", retry=False)
    assert len(study.ask(5)) == 5


def test_the_largest_studies_are_asked_in_time_and_linear_memory():
    import time
    import tracemalloc

    study = cg.Study(
        cg.Problem(cg.Subsets(1000, 50), cg.Arms(1000), cg.Gaussian(1.0)), engine="python"
    )
    tracemalloc.start()
    for todo in study.ask(22):
        study.tell(todo, dict.fromkeys(todo.arms, 0.0))
    began = time.process_time()
    study.ask()
    assert time.process_time() - began < 1.0
    assert tracemalloc.get_traced_memory()[1] < 1000 * 5000
    tracemalloc.stop()


def test_both_engines_ask_the_same():
    problem = cg.Problem(cg.Subsets(20, 3), cg.Arms(20), cg.Gaussian(0.1))
    asked = []
    for engine in ("python", "compiled"):
        study, rng = cg.Study(problem, engine=engine), np.random.default_rng(3)
        for _ in range(60):
            todo = study.ask()
            study.tell(todo, {a: rng.normal(0.5 - 0.02 * a, 0.1) for a in todo.arms})
        asked.append(
            ([event.data for event in study.events()[1:]], advisor_of(study).told.view.evidence[0])
        )
    assert asked[0] == asked[1]


# ---- asking


def test_a_client_that_asks_again_gets_its_rounds_back_first():
    study = cg.Study(PROBLEM)
    mine = study.ask(2, client="me")
    assert study.ask(1, client="you") != mine[:1]
    assert study.ask(2, client="me") == mine and len(study.events()) == 4
    assert [one.id for one in study.ask(3, client="me")] == [1, 2, 4]
    assert study.ask().id == 5 and study.ask().id == 6  # nobody in particular
    assert [one.id for one in study.pending] == [1, 2, 3, 4, 5, 6]


def test_a_lease_that_ends_is_given_to_somebody_else(monkeypatch):
    time = [1000.0]
    monkeypatch.setattr("combgame.study.session.now", lambda: time[0])
    monkeypatch.setattr("combgame.study.queries.now", lambda: time[0])
    study = cg.Study(PROBLEM)
    first = study.ask(client="me", lease=60)
    assert first.until == 1060.0 and study.ask(client="you", lease=60).id == 2
    time[0] = 1060.0
    assert study.status.expired == (1, 2) and "overdue" in study.status.next
    again = study.ask(client="third", lease=60)
    assert (again.id, again.arms, again.client, again.until) == (1, first.arms, "third", 1120.0)
    assert study.ask(client="me").id == 2
    study.tell(1, dict.fromkeys(first.arms, 0.0))  # whoever comes first
    assert study.ask(client="third").id == 3


def test_a_failed_round_is_asked_again_unless_it_is_given_up():
    study = cg.Study(PROBLEM)
    first, second = study.ask(2, client="me")
    study.fail(first, "spilt")
    study.fail(first, "spilt")  # harmless
    study.fail(second, "dropped", retry=False)
    again = study.ask(client="you")
    assert (again.id, again.arms) == (1, first.arms) and study.ask(client="you").id == 1
    assert [e.kind for e in study.events()] == [
        "created",
        "asked",
        "asked",
        "failed",
        "failed",
        "asked",
    ]
    with pytest.raises(cg.StudyError, match="given up"):
        study.tell(second, {})
    study.tell(1, dict.fromkeys(first.arms, 0.0))
    with pytest.raises(cg.StudyError, match="has been told"):
        study.fail(1, "late")


# ---- telling


def test_values_come_in_many_shapes():
    study = cg.Study(PROBLEM)
    todo = study.ask()
    study.tell(todo, {NAMES[todo.arms[0]]: [1.0, 2.0, math.nan], todo.arms[1]: (0.5, 4)})
    seen = advisor_of(study).ledger.seen
    assert seen.counts[list(todo.arms)].tolist() == [2.0, 4.0] and seen.sums[
        list(todo.arms)
    ].tolist() == [3.0, 2.0]
    pandas = pytest.importorskip("pandas")
    todo = study.ask()
    study.tell(todo, pandas.Series([np.float32(1.0), None], index=list(todo.names)))
    assert advisor_of(study).ledger.notes == {"averaged": 1, "missing": 1}


def test_a_round_may_be_told_in_pieces_and_twice_but_not_differently():
    study = cg.Study(PROBLEM)
    todo = study.ask()
    one, two = todo.arms
    study.tell(todo, {one: 0.5}, final=False)
    study.tell(todo, {one: 0.5}, final=False)
    assert [r.left for r in study.pending] == [(two,)]
    with pytest.raises(
        cg.StudyError, match=r"was told to be 0\.5, and now 0\.6.*retract\(1, reason\)"
    ):
        study.tell(todo, {one: 0.6, two: 0.0})
    study.tell(todo, {one: 0.5, two: None})
    study.tell(todo.id, {two: math.nan})
    with pytest.raises(cg.StudyError, match="was told to be missing"):
        study.tell(todo, {two: 0.1})
    assert len(study.events()) == 4 and study.pending == []
    study.retract(todo, "misread")
    assert [r.left for r in study.pending] == [todo.arms] and advisor_of(
        study
    ).ledger.seen.counts.sum() == 0
    study.tell(todo, {one: 0.6, two: 0.1})
    assert advisor_of(study).ledger.seen.sums[[one, two]].tolist() == [0.6, 0.1]
    assert advisor_of(study).ledger.told == 1 and advisor_of(study).ledger.pending.sum() == 0


REFUSED = [
    ({"zoe": 1.0}, "'zoe' is not known"),
    ({9: 1.0}, "9 is not known"),
    ({4: 1.0}, "eve is not in the round"),
    ({0: math.inf}, "finite"),
    ({0: 1e101}, "finite"),
    ({0: "1.0"}, "must be a number"),
    ({0: (0.5, 0)}, "whole n"),
    ({0: (0.5, 1.5)}, "whole n"),
    ({0: 1.0, "ann": 1.0}, "given twice"),
    ([0.5, 0.5], "values by arm"),
    ({0: {}}, "must be a number"),
]


@pytest.mark.parametrize(("values", "sentence"), REFUSED)
def test_what_is_refused_leaves_no_trace(values, sentence):
    study = cg.Study(PROBLEM)
    assert study.ask().arms == (0, 1)
    with pytest.raises(cg.CombGameError, match=sentence):
        study.tell(1, values)
    assert len(study.events()) == 2 and study.replay().same


@pytest.mark.parametrize("value", [0.5, 2, -1, (1.1, 3), [0, 3]])
def test_a_coin_shows_0_or_1(value):
    study = cg.Study(COINS)
    todo = study.ask()
    with pytest.raises(cg.InputError, match=r"must be 0 or 1|outside \[0, 1\]"):
        study.tell(todo, {todo.arms[0]: value})
    study.tell(todo, {todo.arms[0]: (0.5, 4)})
    study.tell(study.ask(), {todo.arms[0] + 1: True})


def test_a_share_of_coins_is_a_whole_number_of_them():
    study = cg.Study(COINS)
    for share, n in ((0.5, 3), (0.33, 3), (0.1, 5), (1e-6, 1000)):
        with pytest.raises(cg.InputError, match="not a whole number; give the share unrounded"):
            study.observe({0: (share, n)})
    for share, n in ((1 / 3, 3), (0.1, 10), (0.7, 10), (2 / 7, 7_000_000), (0.0, 5), (1.0, 2**53)):
        study.observe({0: (share, n)})
    for one in (study, cg.Study(PROBLEM)):
        with pytest.raises(cg.InputError, match=r"more than 2\*\*53"):
            one.observe({0: (1.0, 2**53 + 1)})
    cg.Study(PROBLEM).observe({0: (0.5, 3)})


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda s: s.tell(7, {}), "round 7 is not known; the last one is 1"),
        (lambda s: s.tell("1", {}), "round"),
        (lambda s: s.fail(1, ""), "says why"),
        (lambda s: s.retract(1, "wrong"), "nothing to retract"),
        (lambda s: s.retract(arm="bob", reason="wrong"), "nothing to retract"),
        (lambda s: s.retract(reason="wrong"), "a round, or arm="),
        (lambda s: s.retract(1, "both", arm=0), "a round, or arm="),
        (lambda s: s.observe({}), "no value"),
        (lambda s: s.observe({0: None}), "no value"),
        (lambda s: s.ask(0), "ask: n"),
        (lambda s: s.ask(lease=-1), "lease = -1"),
        (lambda s: s.ask(client=""), "client = ''"),
        (lambda s: s.stop(""), "says why"),
        (lambda s: s.tell_many({1.0: {}}), "round = 1.0"),
        (lambda s: s.tell_many([(1, {}), (1, {})]), "round 1 is given twice"),
        (lambda s: s.tell_many([1, 2]), r"tell_many: told = \[1, 2\] must be values by round"),
        (lambda s: s.tell_many(7), "tell_many: told = 7 must be values by round"),
        (lambda s: s.tell_many({True: {}}), "round = True"),
        (lambda s: s.tell_many({1: {}, s.pending[0]: {}}), "round 1 is given twice"),
        (lambda s: s.observe({0: 1.0}, reason=5), "reason = 5"),
        (lambda s: s.observe({0: 1.0}, reason=True), "reason = True"),
        (lambda s: setattr(s, "client", 5) or s.ask(), "client = 5"),
    ],
)
def test_other_refusals(act, sentence):
    study = cg.Study(PROBLEM)
    study.ask()
    with pytest.raises(cg.CombGameError, match=sentence):
        act(study)
    assert len(study.events()) == 2


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"delta": 1.5}, "delta"),
        ({"delta": [0.1, 0.2]}, "one number"),
        ({"rule": "nobody"}, "rule"),
        ({"threshold": "nobody"}, "threshold"),
        ({"seed": -1}, "seed"),
        ({"if_exists": "perhaps"}, "if_exists"),
        ({"name": ""}, "name"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"min_pulls": -1}, "min_pulls"),
        ({"deadline": "soon"}, "deadline"),
        ({"engine": "warp"}, "engine"),
    ],
)
def test_settings_that_make_no_study(settings, sentence):
    with pytest.raises(cg.CombGameError, match=sentence):
        cg.Study(PROBLEM, **settings)


# ---- taking back, and data from outside


def test_retracting_leaves_no_rounding_behind():
    study = cg.Study(PROBLEM)
    first = study.ask()
    study.tell(first, dict.fromkeys(first.arms, 0.3))
    number = study.observe({first.arms[0]: 2e7}, reason="a slip of the finger")
    study.retract(number, "typed the date")
    assert advisor_of(study).ledger.seen.sums[first.arms[0]] == 0.3
    with pytest.raises(cg.StudyError, match="nothing to retract"):
        study.retract(number, "again")
    with pytest.raises(cg.StudyError, match="data from outside"):
        study.tell(number, {})
    study.retract(arm="ann", reason="contaminated")
    assert advisor_of(study).ledger.seen.counts.tolist() == [0, 1, 0, 0, 0]


def test_a_retraction_after_the_decision_opens_the_study_again():
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
    one, two = study.ask(2)
    study.tell(one, {0: 5.0})
    study.tell(two, {1: 0.0})
    assert study.decision.certified
    study.retract(one, "wrong tube")
    assert not study.done and study.decision is None
    study.tell(one, {0: 0.0})
    while not study.done:
        todo = study.ask()
        study.tell(todo, {a: 3.0 if a else 0.0 for a in todo.arms})
    assert study.decision.answer == (1,) and "retracted 1 time" in str(study.decision)


def test_results_that_come_after_the_decision_are_kept_but_not_part_of_it():
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
    one, two, three = study.ask(3)
    study.tell(one, {0: 5.0})
    study.tell(two, {1: 0.0})
    before = study.decision
    study.tell(three, {three.arms[0]: 2.0})
    assert study.decision.evidence == before.evidence and "1 result came after the decision" in str(
        study.decision
    )
    assert study.events()[-1].kind == "told"


def test_what_touches_the_guarantee_is_in_the_assumptions():
    study = cg.Study(PROBLEM)
    first, second, third = study.ask(3)
    study.fail(first, "spilt")
    study.tell(second, {second.arms[0]: (0.5, 3)})
    study.observe({0: [0.5, 0.4]})
    study.tell(third, dict.fromkeys(third.arms, 0.1))
    study.retract(third, "wrong well")
    study.stop("out of money")
    found = str(study.decision)
    for words in (
        "1 round failed",
        "1 value is missing",
        "2 values were measured outside",
        "retracted 1 time",
        "1 entry was told as means",
    ):
        assert words in found
    assert (
        study.decision.why == "by hand"
        and "out of money" in study.decision.sentence
        and not study.decision.certified
    )
    study.tell(first, dict.fromkeys(first.arms, 0.1))  # what comes now is kept
    assert study.decision.values == 5


def test_lateness_that_could_select_values_is_in_the_assumptions(monkeypatch):
    time = [1000.0]
    monkeypatch.setattr("combgame.study.session.now", lambda: time[0])
    problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1))
    study = cg.Study(problem)
    first, second = study.ask(client="me", lease=60), study.ask(client="you")
    study.ask(2, client="third")
    study.ask(client="me", lease=60)  # renewed in time: not worth a word
    time[0] = 1100.0
    assert study.ask(client="fourth").id == 1
    study.tell(second, {second.arms[0]: 0.0})
    study.tell(first, {first.arms[0]: 5.0})
    with pytest.raises(cg.StudyError, match=r"measured twice, observe\(\) adds the second"):
        study.tell(first, {first.arms[0]: 5.1})
    assert study.decision.certified
    for words in (
        "2 values were still out when it stopped",
        "1 round was told before others",
        "1 round was asked again because",
    ):
        assert words in str(study.decision)
    for one in study.pending:
        study.tell(one, {one.arms[0]: 0.0})
    assert "2 values were still out when it stopped" in str(study.decision)

    study = cg.Study(problem, min_pulls=2)  # one at a time: nothing to say
    while not study.done:
        todo = study.ask(client="me")
        study.tell(todo, {a: 5.0 * a for a in todo.arms})
    assert len(study.decision.assumptions) == 1


@pytest.mark.parametrize("threshold", ["mixture", "proved"])
def test_only_what_was_told_counts_for_stopping(threshold):
    one, other = (cg.Study(HARD, threshold=threshold) for _ in range(2))
    todo, rng = one.ask(60), np.random.default_rng(3)
    for here in todo[:10]:
        values = measure(here, rng, np.arange(6.0), 1.0)
        one.tell(here, values)
        other.observe(values)
    a, b = advisor_of(one), advisor_of(other)
    assert a.ledger.pending.sum() == 100 and b.ledger.pending.sum() == 0
    for what in ("evidence", "best", "rival"):
        assert getattr(a.told.view, what).tolist() == getattr(b.told.view, what).tolist()
    assert one.status.threshold == other.status.threshold and a.ledger.seen.counts.sum() == 20


# ---- stopping without a certificate


def test_a_budget_stop_reports_the_confidence_that_was_reached():
    study, rng = cg.Study(PROBLEM, delta=1e-9, max_rounds=40), np.random.default_rng(0)
    for _ in range(35):
        todo = study.ask()
        study.tell(todo, measure(todo, rng))
    out = study.ask(30)
    assert len(out) == 5 and not study.done
    with pytest.raises(cg.StudyError, match="budget is out"):
        study.ask()
    study.fail(out[0], "spilt")
    assert [one.id for one in study.ask(5)] == [36]
    for one in out:
        study.tell(one, measure(one, rng))
    decision = study.decision
    assert (
        decision.why == "budget" and not decision.certified and "Not certified" in decision.sentence
    )
    assert 0.5 < decision.confidence < 1 - 1e-9
    for share, enough in (
        (0.99, False),
        (1.01, True),
    ):  # it is the smallest delta at which this would have been enough
        level = study._setting.stopping_at((1 - decision.confidence) * share).threshold.level(40, 0)
        assert (decision.evidence > level) == enough
    study = cg.Study(PROBLEM, max_rounds=1)
    study.tell(study.ask(), {0: 0.1})
    assert study.decision.confidence == 0.0 and "too weak" in study.decision.sentence


@pytest.mark.parametrize(("threshold", "proved"), [("mixture", True), ("stylised", False)])
def test_a_heuristic_confidence_is_called_so(threshold, proved):
    study, rng = (
        cg.Study(PROBLEM, delta=1e-30, threshold=threshold, max_rounds=40),
        np.random.default_rng(0),
    )
    while not study.done:
        todo = study.ask()
        study.tell(todo, measure(todo, rng))
    decision = study.decision
    assert (
        decision.why == "budget"
        and decision.confidence > 0.0
        and decision.proved is decision.to_dict()["proved"] is proved
    )
    assert (
        "by the heuristic threshold stylised, which is not proved" in decision.sentence
    ) is not proved


def test_a_deadline_ends_the_asking(monkeypatch):
    study = cg.Study(PROBLEM, deadline="2999-01-01T00:00")
    todo = study.ask()
    monkeypatch.setattr("combgame.study.queries.now", lambda: 4e10)
    monkeypatch.setattr("combgame.study.session.now", lambda: 4e10)
    assert study.state == "deadline" and study.ask(2) == []
    study.tell(todo, dict.fromkeys(todo.arms, 0.1))
    assert study.decision.why == "deadline" and study.decision.values == 2
    assert study.decision.sentence.endswith(
        "Results that still come are counted and may yet certify it."
    )


def test_a_result_that_was_out_at_the_deadline_may_certify(monkeypatch):
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)), deadline="2999-01-01T00:00")
    one, two = study.ask(2)
    study.tell(one, {0: 0.0})
    monkeypatch.setattr("combgame.study.queries.now", lambda: 4e10)
    assert study.decision.why == "deadline" and "may yet certify" in study.decision.sentence
    assert "1 value was still out when it stopped" in str(study.decision)
    study.tell(two, {1: 50.0})
    assert study.decision.certified and "may yet" not in study.decision.sentence


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
                assert "max_rounds was reached after" in study.decision.sentence
                assert "extend(max_rounds=..., reason) gives it more rounds" in study.status.next
                study.extend(more.pop(0), reason="a grant")
                assert (
                    study.state == "running"
                    and study.decision is None
                    and "Ask for the next round" in study.status.next
                )
            todo = study.ask()
            study.tell(todo, measure(todo, rng))
        ends.append(study)
    one, other = ends
    assert other.decision.certified and other.decision.rounds == one.decision.rounds > 5
    assert other.decision.sentence == one.decision.sentence and other.replay().same
    assert [e.data for e in one.events()[1:]] == [
        e.data for e in other.events()[1:] if e.kind != "extended"
    ]
    told = [e for e in other.events() if e.kind == "extended"]
    assert [(e.client, e.reason, e.data) for e in told] == [
        ("ann", "a grant", {"max_rounds": n}) for n in (5, 40)
    ]
    assert set(other.decision.assumptions) - set(one.decision.assumptions) == {
        "The budget was extended 2 times: nothing rests on that, because the threshold allows "
        "for a look after every round, however many "
        "there are."
    }
    with pytest.raises(cg.StudyError, match=r"has ended \(certified\)"):
        other.extend(50, reason="more")


def test_a_deadline_can_be_extended_and_lifted(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("combgame.study.queries.now", lambda: clock[0])
    monkeypatch.setattr("combgame.study.session.now", lambda: clock[0])
    study = cg.Study(PROBLEM, deadline=200.0, max_rounds=7)
    clock[0] = 300.0
    assert study.state == "deadline" and "extend(deadline=..., reason)" in study.status.next
    for late, sentence in (
        (150.0, "is not more than 200.0"),
        (250.0, "in the past"),
        ("soon", "extend: deadline = 'soon' must be"),
    ):
        with pytest.raises(cg.CombGameError, match=sentence):
            study.extend(deadline=late, reason="late")
    study.extend(deadline=400.0, reason="the plates came late")
    assert study.state == "running" and len(study.ask(9)) == 7
    clock[0] = 500.0
    assert study.state == "deadline"
    study.extend(math.inf, math.inf, reason="no hurry")
    clock[0] = 1e12
    assert study.state == "running" and len(study.ask(9)) == 9 and study.replay().same
    with pytest.raises(cg.StudyError, match="has no max_rounds"):
        study.extend(10**9, reason="more")
    for bad, sentence in (
        ({}, "give max_rounds"),
        ({"max_rounds": 2.5}, "max_rounds"),
        ({"max_rounds": -math.inf}, "max_rounds"),
    ):
        with pytest.raises(cg.CombGameError, match=sentence):
            study.extend(**bad, reason="more")
    with pytest.raises(cg.InputError, match="reason"):
        study.extend(10, reason=" ")
    study.stop("enough")
    with pytest.raises(cg.StudyError, match=r"has ended \(by hand\)"):
        study.extend(deadline=math.inf, reason="more")


def test_a_study_that_was_stopped_by_hand_stays_so():
    study = cg.Study(PROBLEM)
    todo = study.ask()
    study.tell(todo, dict.fromkeys(todo.arms, 0.1))
    study.stop("out of money")
    assert "may yet" not in study.decision.sentence
    study.retract(todo, "wrong plate")
    assert study.state == "by hand" and study.decision.values == 0 and study.ask(1) == []


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
    assert (after.leader, after.evidence, after.late) == (before.leader, before.evidence, 2)
    assert after.rivals == before.rivals[
        :1
    ] and "later        2 results: stored, but not part of this" in str(after)
    assert (
        after.rivals[0].evidence == after.evidence
        and "against c" in study.decision.sentence
        and before.late == 0
    )
    study.close()


def test_rounds_that_are_told_together_are_judged_together():
    problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1))
    values = {1: {0: 0.0}, 2: {1: 50.0}, 3: {0: 0.1}, 4: {1: 50.1}}
    apart, whole = cg.Study(problem), cg.Study(problem)
    for study in (apart, whole):
        assert [one.arms for one in study.ask(4)] == [(0,), (1,), (0,), (1,)]
    for number, said in values.items():
        apart.tell(number, said)
    assert (apart.decision.rounds, advisor_of(apart).late) == (2, 2)
    called = []
    whole._calls = (None, called.append, called.append)
    whole.tell_many({**values, 4: {}}, final=False)
    whole.tell_many(values)  # the first three again, and the last
    assert [one for one in called if isinstance(one, int)] == [1, 2, 3, 4] and called[
        3
    ].rounds == whole.decision.rounds == 3
    study = cg.Study(problem)
    study.ask(4)
    study.tell_many(values)
    decision = study.decision
    assert decision.certified and (decision.rounds, decision.values, advisor_of(study).late) == (
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
    again = Advisor(study._setting, "auto")
    for k, event in enumerate(study.events()):
        again.apply(event, lambda k=k: study.events()[:k])
    again.ledger.seal = advisor_of(study).ledger.seal
    assert dump(again) == dump(advisor_of(study)) and decide(again, again.ended) == decision


def test_rounds_may_be_told_as_pairs():
    study = cg.Study(PROBLEM)
    one, two = study.ask(2)
    study.tell_many([(one, dict.fromkeys(one.arms, 0.1)), (two.id, dict.fromkeys(two.arms, 0.2))])
    assert study.status.rounds == 2 and study.status.values == 4


def test_the_status_has_the_settings():
    study = cg.Study(PROBLEM, delta=0.1, max_rounds=3)
    assert (
        "\n  settings     delta 0.1, rule frank-wolfe, threshold mixture, at most 3 rounds\n"
        in str(study.status)
    )
    study.extend(7, reason="a grant")
    assert "at most 7 rounds" in str(study.status)
    study = cg.Study(
        PROBLEM,
        epsilon=0.2,
        min_pulls=2,
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
    assert json.loads(json.dumps(study.status.to_dict()))["settings"]["min_pulls"] == 2


def test_a_certified_study_cannot_be_stopped():
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
    number = study.observe({0: [0.0, 0.1], 1: [50.0, 50.1]})
    events = len(study.events())
    with pytest.raises(
        cg.StudyError, match=r"stop: study 'study' is certified; there is nothing to stop\."
    ):
        study.stop("the end of the year")
    assert len(study.events()) == events
    study.retract(number, "mistyped")
    assert study.state == "running"
    study.stop("enough")
    study.stop("really")
    assert study.state == "by hand"


def test_an_arm_told_anew_is_noted_like_any_other():
    study = cg.Study(PROBLEM)
    todo = study.ask()
    study.tell(todo, {0: 1000.0, 1: 0.3})
    study.retract(arm=0, reason="a point was lost")
    study.tell(todo, {0: (1.0, 4)})
    study.retract(arm=1, reason="contaminated")
    study.tell(todo, {1: None})
    study.stop("enough")
    assert "1 entry was told as means" in str(study.decision) and "1 value is missing" in str(
        study.decision
    )
    assert study.decision.values == 4 and study.decision.rounds == 1 and study.replay().same


def test_which_rounds_are_spent():
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


def test_min_pulls_come_first():
    study = cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.1)), min_pulls=4)
    while not study.done:
        todo = study.ask()
        study.tell(todo, {a: 5.0 if a == 2 else 0.0 for a in todo.arms})
    assert study.decision.answer == (2,) and advisor_of(study).ledger.seen.counts.tolist() == [
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


def test_callbacks_are_called_after_the_event_is_stored():
    heard = []
    study = cg.Study(
        cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)),
        on_asked=lambda todo: heard.append(("asked", todo.id)),
        on_told=lambda number: heard.append(("told", number)),
        on_certified=lambda decision: heard.append(("certified", decision.answer)),
    )
    for todo in study.ask(2):
        study.tell(todo, {a: float(a) * 50 for a in todo.arms})
        study.tell(todo, {a: float(a) * 50 for a in todo.arms})
    assert heard == [("asked", 1), ("asked", 2), ("told", 1), ("told", 2), ("certified", (1,))]


def test_a_callback_that_fails_keeps_no_other_from_being_called():
    heard = []

    def broken(number):
        heard.append(number)
        raise ValueError(f"no lamp {number}")

    study = cg.Study(
        cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)), on_told=broken, on_certified=heard.append
    )
    study.ask(2)
    with pytest.raises(ValueError, match="no lamp 1"):
        study.tell_many({1: {0: 0.0}, 2: {1: 50.0}})
    assert heard[:2] == [1, 2] and heard[2].answer == (1,) and study.done


def test_a_retraction_that_leaves_a_certificate_is_told():
    heard = []
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)), on_certified=heard.append)
    study.observe({0: [0.0] * 9, 1: [0.4] * 9})
    slip = study.observe({1: 30.0})
    assert len(heard) == 1  # a result after the decision is not part of it
    study.retract(slip, "typed the date")
    assert [one.values for one in heard] == [18, 18] and study.decision == heard[1]
    study.retract(arm=0, reason="contaminated")
    assert len(heard) == 2 and not study.done


def test_the_decision_that_is_called_back_is_the_one_that_was_made():
    """Another process may retract before the callback is called."""
    heard = []
    study = cg.Study(
        cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)),
        on_told=lambda number: study.retract(number, "on second thoughts"),
        on_certified=heard.append,
    )
    study.observe({1: 50.0})
    study.tell(study.ask(), {0: 0.0})
    assert not study.done and [one.answer for one in heard] == [(1,)]


def test_threads_share_a_study():
    study, given = cg.Study(HARD), []

    def work():
        for _ in range(20):
            todo = study.ask()
            given.append(todo.id)
            study.tell(todo, dict.fromkeys(todo.arms, 0.1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(given) == list(range(1, 81)) and advisor_of(study).ledger.seen.counts.sum() == 160
    assert study.replay().same


def test_an_oracle_that_fails_loses_nothing():
    broken = []

    def best(scores):
        if broken:
            raise ValueError("no solver")
        return [int(np.argmax(scores))]

    study = cg.Study(cg.Problem(cg.Oracle(best, 3), cg.Arms(3), cg.Gaussian(1.0)))
    for todo in study.ask(4):
        study.tell(todo, dict.fromkeys(todo.arms, 0.0))
    broken.append(1)
    with pytest.raises(ValueError, match="no solver"):
        study.ask()
    broken.clear()
    assert study.ask().id == 5 and study.replay().same


@pytest.mark.parametrize("name", ["uniform", "lloo"])
def test_what_could_not_be_stored_has_not_happened(name, monkeypatch):
    study, other = (cg.Study(HARD, rule=name, seed=2) for _ in range(2))
    for one in (study, other):
        for todo in one.ask(4):
            one.tell(todo, dict.fromkeys(todo.arms, 0.1))

    def full(self, events):
        raise cg.StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("combgame.storage.memory.Memory.append", full)
        for act in (
            lambda: study.ask(3),
            lambda: study.observe({0: 1.0}),
            lambda: study.stop("enough"),
        ):
            with pytest.raises(cg.StoreError, match="full"):
                act()
    assert not study.done and len(study.events()) == 9
    assert [one.arms for one in study.ask(5)] == [one.arms for one in other.ask(5)]


# ---- snapshots


@pytest.mark.parametrize("name", RULES)
def test_a_snapshot_is_the_fold(name):
    study, rng = cg.Study(HARD, rule=name, seed=4), np.random.default_rng(2)
    for _ in range(30):
        todo = study.ask()
        study.tell(todo, measure(todo, rng, np.zeros(6), 1.0))
    study.ask(3)
    advisor = advisor_of(study)
    other = load(study._setting, "auto", (advisor.ledger.seq, dump(advisor)))
    assert dump(other) == dump(advisor)
    assert [other.choose() for _ in range(5)] == [advisor.choose() for _ in range(5)]


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_snapshot_keeps_the_end(by_hand):
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
    study.ask(3)
    study.tell(1, {0: 0.0})
    if by_hand:
        study.stop("enough")
    study.tell(2, {1: 50.0})
    study.observe({0: 1.0})
    advisor = advisor_of(study)
    other = load(study._setting, "auto", (advisor.ledger.seq, dump(advisor)))
    assert (
        advisor.ended is not None
        and other.ended == advisor.ended
        and other.late == advisor.late == 1 + by_hand
    )
    assert decide(other, other.ended) == study.decision


def test_the_clocks():
    """Replicates are values too: of K arms, t rounds bring at most t K. What is pending has been
    played.
    """
    study = cg.Study(HARD, threshold="stylised")
    todo = study.ask()
    study.tell(todo, {a: [0.0, 1.0] * 25 for a in todo.arms})
    level = study._setting.stopping.threshold.level
    assert study.status.rounds == 1 and study.status.threshold == level(50, 0) > level(1, 0)
    study.ask(6)
    assert advisor_of(study).plan.seen.clock[0] == 6  # before the last of them


# ---- any order of anything, against a naive model


class NaiveRound:
    def __init__(self, arms, state="open", owner=None):
        self.arms, self.state, self.owner, self.said, self.again = arms, state, owner, {}, set()


class Naive:
    """What a study is, without a thought for speed: all that was told, in a list."""

    def __init__(self):
        self.rounds, self.told = {}, []  # number -> NaiveRound; (number, arm, values)

    def mean(self, arm):
        return [x for _, a, xs in self.told if a == arm for x in xs]

    def values(self, number):
        return {a: xs for n, a, xs in self.told if n == number}


BUDGET = 9


class Machine(RuleBasedStateMachine):
    """ask, tell, fail, retract, observe and reopen in any order."""

    def make(self):
        return cg.Study(HARD, seed=1, max_rounds=BUDGET)

    def reopen_study(self):
        return self.study

    @initialize()
    def begin(self):
        self.study, self.naive, self.budget = self.make(), Naive(), BUDGET

    def those(self, *states):
        return [n for n, one in self.naive.rounds.items() if one.state in states]

    def pick(self, data, *states):
        found = self.those(*states)
        return data.draw(st.sampled_from(found)) if found else None

    @rule(n=st.integers(1, 4), client=st.sampled_from([None, "me", "you"]))
    def ask(self, n, client):
        mine = [k for k in self.those("open") if client and self.naive.rounds[k].owner == client][
            :n
        ]
        free = max(self.budget - len(self.those("open", "told")), 0)
        again = self.those("waiting")[: min(free, n - len(mine))]
        got = self.study.ask(n, client=client)
        if self.study.done:
            assert got == []
            return
        assert [one.id for one in got[: len(mine + again)]] == mine + again
        assert len(got) == min(n, len(mine) + free)
        for one in got:
            if one.id in self.naive.rounds:
                assert list(one.arms) == self.naive.rounds[one.id].arms
            else:
                assert one.id > max(self.naive.rounds, default=0) and HARD.actions.contains(
                    one.arms
                )
                self.naive.rounds[one.id] = NaiveRound(list(one.arms))
            self.naive.rounds[one.id].state, self.naive.rounds[one.id].owner = "open", client

    @rule(data=st.data(), final=st.booleans())
    def tell(self, data, final):
        number = self.pick(data, "open", "waiting")
        if number is None:
            return
        one, known = self.naive.rounds[number], self.naive.values(number)
        arms = one.arms
        chosen = data.draw(st.lists(st.sampled_from(arms), unique=True))
        values = {
            a: data.draw(st.sampled_from([None, 0.1, -1.5, [1.0, 2.5], (0.25, 3)]))
            for a in chosen
            if a not in known
        }
        self.study.tell(number, values, final=final)
        for a, x in values.items():
            one.said[a] = x
            xs = (
                []
                if x is None
                else x
                if isinstance(x, list)
                else [x[0]] * x[1]
                if isinstance(x, tuple)
                else [x]
            )
            self.naive.told.append((number, a, xs))
        if final:
            self.naive.told += [(number, a, []) for a in arms if a not in self.naive.values(number)]
        if len(self.naive.values(number)) == len(arms):
            one.state = "told"

    @rule(data=st.data())
    def tell_again(self, data):
        number = self.pick(data, "told")
        if number is None:
            return
        events = len(self.study.events())
        self.study.tell(number, self.naive.rounds[number].said)
        for a in set(self.naive.rounds[number].arms) - self.naive.rounds[number].again:
            with pytest.raises(cg.StudyError, match="retract"):
                self.study.tell(number, {a: 77.0})
        assert len(self.study.events()) == events

    @rule(data=st.data(), final=st.booleans())
    def tell_anew(self, data, final):
        """An arm that was retracted after its round had ended."""
        found = [n for n in self.those("told") if self.naive.rounds[n].again]
        if found:
            number = data.draw(st.sampled_from(found))
            one = self.naive.rounds[number]
            arm, x = (
                data.draw(st.sampled_from(sorted(one.again))),
                data.draw(st.sampled_from([0.1, 0.75, None])),
            )
            assert self.study.tell_many({number: {**one.said, arm: x}}, final) == {number: {arm: x}}
            one.said[arm] = x
            one.again.remove(arm)
            self.naive.told.append((number, arm, [] if x is None else [x]))

    @rule(data=st.data(), retry=st.booleans())
    def fail(self, data, retry):
        number = self.pick(data, "open", "waiting")
        if number is None:
            return
        self.study.fail(number, "spilt", retry=retry)
        one = self.naive.rounds[number]
        if retry:
            one.state = "waiting"
        elif self.naive.values(number):
            one.state = "told"
            self.naive.told += [
                (number, a, []) for a in one.arms if a not in self.naive.values(number)
            ]
        else:
            one.state = "gone"

    @rule(data=st.data())
    def retract_round(self, data):
        found = sorted({n for n, _, _ in self.naive.told})
        if not found:
            return
        number = data.draw(st.sampled_from(found))
        self.study.retract(number, "wrong")
        self.naive.told = [one for one in self.naive.told if one[0] != number]
        self.naive.rounds[number].said, self.naive.rounds[number].again = {}, set()
        if self.naive.rounds[number].state == "told":
            self.naive.rounds[number].state = "open"

    @rule(arm=st.integers(0, 5))
    def retract_arm(self, arm):
        if not self.naive.mean(arm):
            return
        self.study.retract(arm=arm, reason="contaminated")
        for n in self.those("open", "waiting"):
            self.naive.told = [one for one in self.naive.told if one[:2] != (n, arm)]
            self.naive.rounds[n].said.pop(arm, None)
        for n in self.those("told"):
            if self.naive.rounds[n].said.get(arm) is not None:
                self.naive.rounds[n].again.add(arm)
                del self.naive.rounds[n].said[arm]
        self.naive.told = [(n, a, [] if a == arm else xs) for n, a, xs in self.naive.told]

    @rule(arm=st.integers(0, 5), x=st.sampled_from([0.5, [1.0, 1.0]]))
    def observe(self, arm, x):
        number = self.study.observe({arm: x})
        assert number > max(self.naive.rounds, default=0)
        self.naive.rounds[number] = NaiveRound([], "observed")
        self.naive.told.append((number, arm, x if isinstance(x, list) else [x]))

    @rule(more=st.integers(-1, 2))
    def extend(self, more):
        events = len(self.study.events())
        if more <= 0 or self.study.state == "certified":
            with pytest.raises(cg.StudyError, match=r"is not more than|has ended"):
                self.study.extend(self.budget + more, reason="a grant")
            assert len(self.study.events()) == events
            return
        self.study.extend(self.budget + more, reason="a grant")
        self.budget += more

    @rule()
    def reopen(self):
        self.study = self.reopen_study()

    @invariant()
    def everything_told_is_there(self):
        if not hasattr(self, "study"):
            return
        ledger = advisor_of(self.study).ledger
        for arm in range(6):
            xs = self.naive.mean(arm)
            assert ledger.seen.counts[arm] == len(xs) and ledger.seen.sums[arm] == pytest.approx(
                sum(xs), abs=1e-9
            )
            for k, end in enumerate((min(xs, default=math.inf), max(xs, default=-math.inf))):
                assert ledger.far[k, 0, arm] == end
                assert not xs or (int(ledger.far[k, 2, arm]), arm) in {
                    (n, a) for n, a, told in self.naive.told if end in told
                }
        assert list(ledger.open) == sorted(self.those("open", "waiting"))
        assert ledger.waiting == len(self.those("waiting"))
        assert sorted(n for n, one in ledger.open.items() if one.waiting) == sorted(
            self.those("waiting")
        )
        open_rounds = {n: self.naive.rounds[n].arms for n in self.those("open")}
        pending = [
            sum(a in arms and a not in self.naive.values(n) for n, arms in open_rounds.items())
            for a in range(6)
        ]
        assert ledger.pending.tolist() == pending

    @precondition(lambda self: hasattr(self, "study"))
    @rule()
    def replaying_changes_nothing(self):
        assert self.study.replay().same
        assert advisor_of(self.study).changes == naive.changes(self.study.events())

    def teardown(self):
        if hasattr(self, "study"):
            self.study.close()


def test_any_order_of_anything_agrees_with_a_naive_model():
    run_state_machine_as_test(
        Machine,
        settings=settings(max_examples=80, stateful_step_count=40, report_multiple_bugs=False),
    )


def test_the_spread_need_not_be_known():
    study, rng = (
        cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(known=False)), delta=0.1),
        np.random.default_rng(0),
    )
    while not study.done:
        todo = study.ask()
        with pytest.raises(cg.InputError, match="give the values as a list"):
            study.tell(todo, {todo.arms[0]: (0.5, 2)})
        study.tell(
            todo, {a: [float(a) + 0.2 * rng.standard_normal() for _ in range(2)] for a in todo.arms}
        )
        assert study.status.next
    assert study.decision.answer == (2,)
    study = cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(known=False)), max_rounds=9)
    while not study.done:
        todo = study.ask()
        study.tell(todo, {a: 0.1 * a + 0.2 * rng.standard_normal() for a in todo.arms})
    assert not study.decision.certified


def test_an_answer_within_epsilon_will_do():
    problem, ends = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.5)), []
    for epsilon in (0.0, 0.3):
        study, rng = (
            cg.Study(problem, delta=0.1, epsilon=epsilon, max_rounds=2000),
            np.random.default_rng(1),
        )
        while not study.done:
            for todo in study.ask(10):
                study.tell(todo, measure(todo, rng, [0.5, 0.49, 0.0], 0.5))
        ends.append(study.decision)
    assert (
        ends[1].certified
        and "to within 0.3" in ends[1].sentence
        and ends[1].rounds < ends[0].rounds / 4
    )
    with pytest.raises(cg.InputError, match="needs the threshold 'mixture'"):
        cg.Study(problem, threshold="stylised", epsilon=0.1)
