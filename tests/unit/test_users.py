"""What users do: labelled data, their own labels, their own parts with mistakes in them."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import combgame as cg
from combgame.game.marks import jitable
from combgame.learners import LearnerBase
from combgame.report.figures import plot
from combgame.report.tables import rendered
from combgame.stopping.theorem2 import c_gaussian
from combgame.testing import check_learner
from tests.said import refused

NAMES = ["a", "b", "c", "d"]
PROBLEM = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.2), names=NAMES)
MEANS = [0.9, 0.5, 0.3, 0.1]


def test_values_with_labels_go_to_the_arms_of_those_labels():
    reverse = pd.Series(MEANS[::-1], index=NAMES[::-1])
    assert cg.evidence(PROBLEM, reverse, [5] * 4).answer == (0,)
    assert cg.evidence(
        PROBLEM, dict(zip(NAMES[::-1], MEANS[::-1], strict=True)), [5] * 4
    ).answer == (0,)
    assert cg.evidence(PROBLEM, {3: 0.1, 0: 0.9, 1: 0.5, 2: 0.3}, pd.Series([5] * 4)).answer == (0,)
    assert cg.evidence(PROBLEM, pd.Series(MEANS), np.full(4, 5)).answer == (0,)
    assert cg.simulate(
        PROBLEM, reverse, rule="ofw", runs=2, engine="python", delta=0.1, threshold="proved"
    ).best == (0,)


@pytest.mark.parametrize(
    "values",
    [set(MEANS), "1234", ["1", "2", "3", "4"], [1j, 2, 3, 4], 0.5, None],
    ids=["set", "text", "texts", "complex", "number", "nothing"],
)
def test_means_are_one_number_per_arm(values):
    with refused("must-be", cg.InputError, name="means", d=4) as caught:
        cg.simulate(PROBLEM, values, runs=1, rule="lloo", delta=0.1, threshold="proved")
    assert repr(caught.value.arguments["value"]) == repr(values)


@pytest.mark.parametrize(
    ("values", "code", "arguments"),
    [
        ({"a": 1, "b": 2, "c": 3}, "not-each-arm", {"what": "means", "missing": "d", "d": 4}),
        ({"a": 1, "b": 2, "c": 3, "x": 4}, "unknown", {"kind": "arm", "name": "x"}),
        ([1e300, 0, 0, 0], "must-be", {"name": "means", "value": [1e300, 0, 0, 0]}),
    ],
    ids=["too few", "another label", "too large"],
)
def test_values_that_cannot_be_placed_are_refused(values, code, arguments):
    with refused(code, **arguments):
        cg.simulate(PROBLEM, values, runs=1, rule="lloo", delta=0.1, threshold="proved")


@pytest.mark.parametrize(
    ("call", "of", "name", "value"),
    [
        (lambda: cg.compare(PROBLEM, None, rules=["ofw"]), None, "means", None),
        (lambda: cg.CombGame(cg.LLOO), "CombGame", "learner", repr(cg.LLOO)),
        (lambda: cg.CombGame(bonus=3), None, "bonus", 3),
        (lambda: cg.CombGame(per_answer="yes"), "CombGame", "per_answer", "yes"),
        (lambda: cg.LLOO(geometry=3), "LLOO", "geometry", 3),
        (lambda: cg.Hedge(first=-1), "doubling", "first", -1),
        (lambda: cg.Hedge(ratio=0.5), "doubling", "ratio", 0.5),
        (lambda: cg.Bounded("a", 1), "Bounded", "(low, high)", ("a", 1)),
        (lambda: cg.Gaussian("0.1"), "Gaussian", "sigma", "0.1"),
        (lambda: cg.Gaussian(1e200), "Gaussian", "sigma", 1e200),
        (lambda: cg.Listed([0, 1], 3), "Listed", "sets", [0, 1]),
        (
            lambda: cg.Problem(cg.Arms(2), None, cg.Gaussian(1), names={1: "a", 2: "b"}),
            "Problem",
            "names",
            {1: "a", 2: "b"},
        ),
        (lambda: cg.Subsets(3, 1).argmax(None), "argmax", "scores", None),
        (lambda: cg.Subsets(3, 1).sets(limit="a"), "sets", "limit", "a"),
        (lambda: cg.Oracle(lambda s: [0], 2, contains=3), "Oracle", "contains", 3),
        (lambda: cg.Oracle(lambda s: [0], 2, covering=3), "Oracle", "covering", 3),
        (lambda: cg.theory_bonus("a", "b"), "theory_bonus", "b", "a"),
    ],
)
def test_slips_are_named_with_what_was_given(call, of, name, value):
    with refused("must-be", cg.InputError, of=of, name=name, value=value):
        call()


@pytest.mark.parametrize(
    ("call", "code", "arguments"),
    [
        (lambda: PROBLEM.label(["q"]), "unknown", {"kind": "arm", "name": "q"}),
        (lambda: cg.Oracle(lambda s: [0.7, 1.2], 2), "not-arms", {"given": [0.7, 1.2]}),
        (lambda: cg.Oracle(lambda s: [True, False], 2), "not-arms", {"given": [True, False]}),
        (
            lambda: cg.evidence(None, MEANS, [1] * 4),
            "must-be",
            {"of": "evidence", "name": "problem", "value": None},
        ),
        (lambda: cg.complexity(MEANS, PROBLEM), "must-be", {"of": "complexity", "name": "problem"}),
        (
            lambda: cg.complexity(PROBLEM, MEANS, tolerance=0.0),
            "must-be",
            {"of": "complexity", "name": "tolerance", "value": 0.0},
        ),
        (
            lambda: cg.complexity(PROBLEM, MEANS, steps=0),
            "must-be",
            {"of": "complexity", "name": "steps", "value": 0, "least": 1},
        ),
        (
            lambda: cg.compare(PROBLEM, MEANS, rules=cg.CombGame()),
            "must-be",
            {"of": "compare", "name": "rules"},
        ),
        (
            lambda: cg.compare(PROBLEM, MEANS, rules=["ofw", "bogus"]),
            "unknown",
            {"kind": "rule", "name": "bogus"},
        ),
        (lambda: cg.simulate(PROBLEM, MEANS, rule=cg.CombGame), "not-a-rule", {}),
        (lambda: cg.simulate(PROBLEM, MEANS, rule=cg.LLOO()), "not-a-rule", {}),
        (lambda: cg.regret(PROBLEM, MEANS, rule="uniform"), "no-learner", {"rule": "uniform"}),
        (
            lambda: cg.evidence(PROBLEM, MEANS, [9] * 4, spreads=[1.0] * 4),
            "spreads-if-unknown",
            {},
        ),
        (lambda: plot([], "mine"), "nothing-to-plot", {"title": "mine"}),
        (lambda: rendered([], "excel", {}), "unknown", {"kind": "format", "name": "excel"}),
    ],
)
def test_what_is_wrong_has_a_code_and_arguments(call, code, arguments):
    with refused(code, **arguments):
        call()


def test_a_class_in_place_of_a_rule_is_answered_with_how_a_rule_is_made():
    with refused("not-a-rule", cg.UnknownNameError) as caught:
        cg.simulate(PROBLEM, MEANS, rule=cg.CombGame)
    assert "CombGame(learner=LLOO())" in caught.value.remedy


def test_a_class_in_place_of_a_learner_is_answered_with_the_brackets():
    with refused("must-be", cg.InputError, of="CombGame", name="learner") as caught:
        cg.CombGame(cg.LLOO)
    assert "such as LLOO() (with the brackets)" in str(caught.value)


def test_evidence_says_whether_it_is_enough():
    counts = np.array([60, 60, 60, 60])
    little, much = (
        cg.evidence(PROBLEM, MEANS, counts // by, delta=0.05, threshold="proved") for by in (20, 1)
    )
    assert not little.certified and much.certified
    assert cg.evidence(PROBLEM, MEANS, counts).threshold is None
    assert much.threshold == pytest.approx(
        2 * 2 * math.log(4 + math.log(240 / 2)) + 2 * c_gaussian(math.log(3 / 0.05) / 2)
    )


def test_comparisons_can_be_labelled_indexed_and_counted():
    both = cg.compare(
        PROBLEM,
        MEANS,
        delta=0.1,
        threshold="proved",
        rules={"mine": "ofw", "theirs": "uniform"},
        runs=2,
        engine="python",
    )
    assert (
        len(both) == 2 and [s.rule for s in both] == ["mine", "theirs"] and both[0] is both["mine"]
    )
    assert "mine" in str(both) and "mine" in repr(both) and "2 runs of mine" in repr(both[0])
    with refused("unknown", cg.UnknownNameError, kind="rule", name="x", known=["mine", "theirs"]):
        both["x"]
    assert PROBLEM.label(None) == "none"
    wide = cg.simulate(
        PROBLEM,
        MEANS,
        rule=cg.CombGame(cg.OFW(), tracking="D"),
        runs=1,
        engine="python",
        delta=0.1,
        threshold="proved",
    )
    assert wide.rule == "CombGame(OFW(), tracking='D')"


def test_a_tie_that_is_run_can_be_printed():
    sim = cg.simulate(
        PROBLEM,
        [0.5, 0.5, 0.1, 0.1],
        runs=2,
        ties="run",
        max_rounds=30,
        engine="python",
        rule="lloo",
        delta=0.1,
        threshold="proved",
    )
    assert ">= 30" in str(sim) and sim.report()[0]["limit"] == math.inf


class GreedyPart(NamedTuple):
    """Writes more actions than there is room for."""

    many: int
    last: np.ndarray

    def act(self, seat, mixture):
        for i in range(self.many):
            mixture.ids[i] = 0
            mixture.weight[i] = 1.0 / self.many
        mixture.size[0] = self.many

    def feed(self, seat, mixture, catalogue, actions, reward):
        self.last[0] = reward[0]

    def full(self):
        return False


@dataclass(frozen=True)
class Greedy(LearnerBase):
    many: int = 500

    def part(self, seating):
        return GreedyPart(self.many, np.zeros(1))


@pytest.mark.parametrize("engine", ["python", pytest.param("auto", marks=pytest.mark.compiled)])
def test_a_learner_that_writes_outside_its_arrays_is_stopped(engine):
    with refused("outside-arrays", cg.EngineError, part="GreedyPart", method="act") as caught:
        cg.simulate(
            PROBLEM,
            MEANS,
            rule=cg.CombGame(Greedy()),
            runs=1,
            engine=engine,
            delta=0.1,
            threshold="proved",
        )
    assert "`LearnerBase.room(d, home)`" in caught.value.remedy
    with pytest.raises(AssertionError, match=r"override LearnerBase\.room"):
        check_learner(Greedy())


def test_conformance_checks_speak():
    class NoPart(LearnerBase):
        pass

    class WrongName(GreedyPart):
        def act(self, seat, m):
            m.ids[0], m.weight[0], m.size[0] = 0, 1.0, 1

    class Named(LearnerBase):
        def part(self, seating):
            return WrongName(1, np.zeros(1))

    with pytest.raises(cg.InputError, match="not a class"):
        check_learner(Greedy)
    with pytest.raises(AssertionError, match="no method part"):
        check_learner(NoPart())
    with pytest.raises(AssertionError, match=r"must have the parameters \(self, seat, mixture\)"):
        check_learner(Named(), rounds=20)


def single(helper):
    """A learner that plays one action and calls a function of its own: made twice, as in a
    notebook.
    """

    class Part(NamedTuple):
        last: np.ndarray

        def act(self, seat, mixture):
            mixture.ids[0], mixture.weight[0], mixture.size[0] = 0, 1.0, 1

        def feed(self, seat, mixture, catalogue, actions, reward):
            self.last[0] = helper(reward[0])

        def full(self):
            return False

    class Single(LearnerBase):
        def part(self, seating):
            return Part(np.zeros(1))

    return Single()


@pytest.mark.compiled
def test_functions_that_are_marked_later_are_compiled_too():
    @jitable
    def half(x):
        return x / 2

    @jitable
    def third(x):
        return x / 3

    for helper in (half, third):
        sim = cg.simulate(
            PROBLEM,
            MEANS,
            rule=cg.CombGame(single(helper)),
            runs=1,
            max_rounds=20,
            engine="compiled",
            delta=0.1,
            threshold="proved",
        )
        assert len(sim.stops) == 1
