"""Asking and telling: nothing told is lost, nothing asked is forgotten, what is refused leaves no
trace.
"""

import math

import numpy as np
import pytest

import combgame as cg
from tests.said import refused
from tests.studies import COINS, NAMES, PROBLEM, state_of

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for

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
    monkeypatch.setattr("combgame.storage.clock.now", lambda: time[0])
    study = cg.Study(PROBLEM)
    first = study.ask(client="me", lease=60)
    assert first.lease_until == 1060.0 and study.ask(client="you", lease=60).id == 2
    time[0] = 1060.0
    assert study.status.expired == (1, 2) and study.status.next_step.code == "overdue"
    again = study.ask(client="third", lease=60)
    assert (again.id, again.arms, again.client, again.lease_until) == (
        1,
        first.arms,
        "third",
        1120.0,
    )
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
    with refused("round-given-up", cg.StudyError, round=2):
        study.tell(second, {})
    study.tell(1, dict.fromkeys(first.arms, 0.0))
    with refused("round-told", cg.StudyError, round=1):
        study.fail(1, "late")


# ---- telling


def test_values_come_in_many_shapes():
    study = cg.Study(PROBLEM)
    todo = study.ask()
    study.tell(todo, {NAMES[todo.arms[0]]: [1.0, 2.0, math.nan], todo.arms[1]: (0.5, 4)})
    stats = state_of(study).history.stats
    assert stats.counts[list(todo.arms)].tolist() == [2.0, 4.0] and stats.sums[
        list(todo.arms)
    ].tolist() == [3.0, 2.0]
    pandas = pytest.importorskip("pandas")
    todo = study.ask()
    study.tell(todo, pandas.Series([np.float32(1.0), None], index=list(todo.names)))
    assert state_of(study).history.happened == {"averaged": 1, "missing": 2}


def test_a_round_may_be_told_in_pieces_and_twice_but_not_differently():
    study = cg.Study(PROBLEM)
    todo = study.ask()
    one, two = todo.arms
    study.tell(todo, {one: 0.5}, final=False)
    study.tell(todo, {one: 0.5}, final=False)
    assert [r.remaining for r in study.pending] == [(two,)]
    with refused("told-otherwise", cg.StudyError, round=1, before=0.5, now=0.6) as caught:
        study.tell(todo, {one: 0.6, two: 0.0})
    assert "retract(1, reason) first" in caught.value.remedy
    study.tell(todo, {one: 0.5, two: None})
    study.tell(todo.id, {two: math.nan})
    with refused("told-otherwise", cg.StudyError, before="missing"):
        study.tell(todo, {two: 0.1})
    assert len(study.events()) == 4 and study.pending == []
    study.retract(todo, "misread")
    assert [r.remaining for r in study.pending] == [todo.arms] and state_of(
        study
    ).history.stats.counts.sum() == 0
    study.tell(todo, {one: 0.6, two: 0.1})
    assert state_of(study).history.stats.sums[[one, two]].tolist() == [0.6, 0.1]
    assert state_of(study).history.n_told == 1 and state_of(study).history.pending.sum() == 0


VALUES = [
    ({"zoe": 1.0}, "unknown", {"kind": "arm", "name": "zoe"}),
    ({9: 1.0}, "unknown", {"kind": "arm", "name": 9}),
    ({4: 1.0}, "not-in-round", {"round": 1, "arm": "eve", "arms": "ann, bob"}),
    ({0: math.inf}, "must-be", {"round": 1, "arm": "ann", "value": math.inf}),
    ({0: 1e101}, "must-be", {"arm": "ann", "value": 1e101}),
    ({0: "1.0"}, "must-be", {"arm": "ann", "value": "1.0"}),
    ({0: (0.5, 0)}, "must-be", {"arm": "ann", "value": (0.5, 0)}),
    ({0: (0.5, 1.5)}, "must-be", {"arm": "ann", "value": (0.5, 1.5)}),
    ({0: 1.0, "ann": 1.0}, "arm-twice", {"arm": "ann"}),
    ([0.5, 0.5], "must-be", {"name": "values", "value": [0.5, 0.5]}),
    ({0: {}}, "must-be", {"arm": "ann", "value": {}}),
]


ACTS = [
    (lambda s: s.tell(7, {}), "unknown-round", {"round": 7, "last": 1}),
    (lambda s: s.tell("1", {}), "must-be", {"name": "round", "value": "1"}),
    (lambda s: s.fail(1, ""), "must-be", {"name": "reason", "value": ""}),
    (lambda s: s.retract(1, "wrong"), "round-not-told", {"round": 1}),
    (lambda s: s.retract(arm="bob", reason="wrong"), "arm-not-told", {"arm": "bob"}),
    (lambda s: s.retract(reason="wrong"), "round-or-arm", {}),
    (lambda s: s.retract(1, "both", arm=0), "round-or-arm", {}),
    (lambda s: s.observe({}), "no-value", {"values": {}}),
    (lambda s: s.observe({0: None}), "no-value", {"values": {0: None}}),
    (lambda s: s.ask(0), "must-be", {"name": "n", "value": 0}),
    (lambda s: s.ask(lease=-1), "must-be", {"name": "lease", "value": -1}),
    (lambda s: s.ask(client=""), "must-be", {"name": "client", "value": ""}),
    (lambda s: s.stop(""), "must-be", {"name": "reason", "value": ""}),
    (lambda s: s.tell_many({1.0: {}}), "must-be", {"name": "round", "value": 1.0}),
    (lambda s: s.tell_many([(1, {}), (1, {})]), "round-twice", {"round": 1}),
    (lambda s: s.tell_many([1, 2]), "must-be", {"name": "told", "value": [1, 2]}),
    (lambda s: s.tell_many(7), "must-be", {"name": "told", "value": 7}),
    (lambda s: s.tell_many({True: {}}), "must-be", {"name": "round", "value": True}),
    (lambda s: s.tell_many({1: {}, s.pending[0]: {}}), "round-twice", {"round": 1}),
    (lambda s: s.observe({0: 1.0}, reason=5), "must-be", {"name": "reason", "value": 5}),
    (lambda s: s.observe({0: 1.0}, reason=True), "must-be", {"name": "reason", "value": True}),
    (lambda s: setattr(s, "client", 5) or s.ask(), "must-be", {"name": "client", "value": 5}),
]


def test_coins_show_0_or_1_and_a_share_is_a_whole_number_of_them():
    study = cg.Study(COINS)
    todo = study.ask()
    for value, code, wrong in (
        (0.5, "not-0-or-1", 0.5),
        (2, "value-outside", 2.0),
        (-1, "value-outside", -1.0),
        ((1.1, 3), "value-outside", 1.1),
        ([0, 3], "value-outside", 3.0),
    ):
        with refused(code, cg.InputError, round=1, arm="0", value=wrong):
            study.tell(todo, {todo.arms[0]: value})
    study.tell(todo, {todo.arms[0]: (0.5, 4)})
    study.tell(study.ask(), {todo.arms[0] + 1: True})
    for share, n in ((0.5, 3), (0.33, 3), (0.1, 5), (1e-6, 1000)):
        with refused("not-a-share", cg.InputError, arm="0", value=share, n=n) as caught:
            study.observe({0: (share, n)})
        assert f"the share unrounded, such as ({round(share * n)} / {n}, {n})" in (
            caught.value.remedy
        )
    for share, n in ((1 / 3, 3), (0.1, 10), (0.7, 10), (2 / 7, 7_000_000), (0.0, 5), (1.0, 2**53)):
        study.observe({0: (share, n)})
    for one in (study, cg.Study(PROBLEM)):
        with refused("n-too-large", cg.InputError, n=2**53 + 1):
            one.observe({0: (1.0, 2**53 + 1)})
    cg.Study(PROBLEM).observe({0: (0.5, 3)})


def test_what_is_refused_leaves_no_trace():
    def tell(values):
        return lambda study: study.tell(1, values)

    study = cg.Study(PROBLEM)
    assert study.ask().arms == (0, 1)
    for act, code, arguments in [(tell(values), *more) for values, *more in VALUES] + ACTS:
        with refused(code, **arguments):
            act(study)
        study.client = None
        assert len(study.events()) == 2, (code, arguments)
    assert study.replay().same


def test_settings_that_make_no_study():
    for setting, value in (
        ("delta", 1.5),
        ("delta", [0.1, 0.2]),
        ("seed", -1),
        ("name", ""),
        ("epsilon", -1.0),
        ("max_rounds", 0),
        ("min_replicates", -1),
        ("deadline", "soon"),
    ):
        with refused("must-be", cg.InputError, name=setting, value=value):
            cg.Study(PROBLEM, **{setting: value})
    for setting in ("rule", "threshold", "if_exists", "engine"):
        with refused("unknown", cg.UnknownNameError, kind=setting, name="nobody"):
            cg.Study(PROBLEM, **{setting: "nobody"})
