"""What users do: labelled data, their own labels, their own parts with mistakes in them."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import combgame as cg
from combgame.engine.jit import jitable
from combgame.learners import LearnerBase
from combgame.stopping.glr import c_gaussian
from combgame.testing import check_learner
from tests.said import refused

NAMES = ["a", "b", "c", "d"]
PROBLEM = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.2), names=NAMES)
MEANS = [0.9, 0.5, 0.3, 0.1]
HOW = {"runs": 2, "engine": "python", "delta": 0.1, "threshold": "proved"}


def test_values_with_labels_go_to_the_arms_of_those_labels():
    reverse = pd.Series(MEANS[::-1], index=NAMES[::-1])
    assert cg.evidence(PROBLEM, reverse, [5] * 4).answer == (0,)
    assert cg.evidence(
        PROBLEM, dict(zip(NAMES[::-1], MEANS[::-1], strict=True)), [5] * 4
    ).answer == (0,)
    assert cg.evidence(PROBLEM, {3: 0.1, 0: 0.9, 1: 0.5, 2: 0.3}, pd.Series([5] * 4)).answer == (0,)
    assert cg.evidence(PROBLEM, pd.Series(MEANS), np.full(4, 5)).answer == (0,)
    assert cg.simulate(PROBLEM, reverse, rule="ofw", **HOW).best == (0,)


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
    both = cg.compare(PROBLEM, MEANS, rules={"mine": "ofw", "theirs": "uniform"}, **HOW)
    assert len(both) == 2 and [s.rule for s in both] == ["mine", "theirs"]
    assert both[0] is both["mine"]
    assert "mine" in str(both) and "mine" in repr(both) and "2 runs of mine" in repr(both[0])
    with refused("unknown", cg.UnknownNameError, kind="rule", name="x", known=["mine", "theirs"]):
        both["x"]
    assert PROBLEM.label(None) == "none"
    wide = cg.simulate(PROBLEM, MEANS, rule=cg.CombGame(cg.OFW(), tracking="D"), **HOW)
    assert wide.rule == "CombGame(OFW(), tracking='D')"


def test_a_tie_that_is_run_can_be_printed():
    tied = {"rule": "lloo", "on_tie": "run", "max_rounds": 30}
    sim = cg.simulate(PROBLEM, [0.5, 0.5, 0.1, 0.1], **HOW, **tied)
    assert ">= 30" in str(sim) and sim.summary()[0]["limit"] == math.inf


class GreedyKernel(NamedTuple):
    """Writes more actions than there is room for."""

    many: int
    last: np.ndarray

    def act(self, learner, weights):
        for i in range(self.many):
            weights.ids[i] = 0
            weights.values[i] = 1.0 / self.many
        weights.size[0] = self.many

    def update(self, learner, weights, table, actions, reward):
        self.last[0] = reward[0]

    def needs_resize(self):
        return False


@dataclass(frozen=True)
class Greedy(LearnerBase):
    many: int = 500

    def kernel(self, seating):
        return GreedyKernel(self.many, np.zeros(1))


@pytest.mark.parametrize("engine", ["python", pytest.param("auto", marks=pytest.mark.compiled)])
def test_a_learner_that_writes_outside_its_arrays_is_stopped(engine):
    with refused("outside-arrays", cg.EngineError, kernel="GreedyKernel", method="act") as caught:
        cg.simulate(PROBLEM, MEANS, rule=cg.CombGame(Greedy()), **{**HOW, "engine": engine})
    assert "`LearnerBase.initial_capacity(d, n)`" in caught.value.remedy
    with pytest.raises(AssertionError, match=r"override LearnerBase\.initial_capacity"):
        check_learner(Greedy())


def test_conformance_checks_speak():
    class NoKernel(LearnerBase):
        pass

    class WrongName(GreedyKernel):
        def act(self, learner, m):
            m.ids[0], m.values[0], m.size[0] = 0, 1.0, 1

    class Named(LearnerBase):
        def kernel(self, seating):
            return WrongName(1, np.zeros(1))

    with pytest.raises(cg.InputError, match="not a class"):
        check_learner(Greedy)
    with pytest.raises(AssertionError, match="no method kernel"):
        check_learner(NoKernel())
    with pytest.raises(
        AssertionError, match=r"must have the parameters \(self, learner, weights\)"
    ):
        check_learner(Named(), rounds=20)


def single(helper):
    """A learner that plays one action and calls a function of its own: made twice, as in a
    notebook.
    """

    class Kernel(NamedTuple):
        last: np.ndarray

        def act(self, learner, weights):
            weights.ids[0], weights.values[0], weights.size[0] = 0, 1.0, 1

        def update(self, learner, weights, table, actions, reward):
            self.last[0] = helper(reward[0])

        def needs_resize(self):
            return False

    class Single(LearnerBase):
        def kernel(self, seating):
            return Kernel(np.zeros(1))

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
        how = {**HOW, "runs": 1, "max_rounds": 20, "engine": "compiled"}
        sim = cg.simulate(PROBLEM, MEANS, rule=cg.CombGame(single(helper)), **how)
        assert len(sim.stopping_times) == 1
