"""Rules of somebody else's: what they play and what they write is looked at in every round."""

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

import combgame as cg
from combgame._fingerprint import foreign
from combgame.engine.block_effects import BatchEstimator
from combgame.engine.kernels import iter_leaves
from combgame.engine.round import STOPPED
from combgame.engine.statistics import Statistics
from combgame.lab.policy import StudyState
from combgame.rules import FixedBoundRule, padded
from combgame.rules.checks import READ, CheckedBoundRule, CheckedKernel, playable, trusted
from combgame.rules.uniform import UniformKernel
from combgame.simulation.runner import InitialState, Run, bind
from combgame.stopping.registry import make_stopping
from combgame.testing import check_rule
from tests import golden
from tests.said import refused

PROBLEM = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(0.3))
PLATES = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(0.3, batch_effect=True))
MEANS = [0.9, 0.6, 0.5, 0.4, 0.3, 0.2]
QUIET = 30  # rounds


class SlippingPart(NamedTuple):
    kind: int

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        if stats.n_rounds[0] < QUIET:
            return
        if self.kind == 1:
            for a in range(state.action.size):
                state.action[a] = 1.0
        elif self.kind == 2:
            state.action[0] = 0.5
        elif self.kind == 3:
            state.action[0] = np.nan
        elif self.kind == 4:
            stats.sums[5] += 1e6
        elif self.kind == 5:
            stats.weighted_sums[1, 2] += 1.0
        elif self.kind == 6:
            state.evidence[0] = 1e9
        elif self.kind == 7:
            stats.mean[3] = np.nan

    def needs_resize(self):
        return False


@dataclass(frozen=True)
class Slipping(cg.RuleBase):
    kind: int = 0

    def bind(self, problem):
        return FixedBoundRule(SlippingPart(self.kind), padded(problem.actions.covering()))


def a_run(problem, setup, means, engine="python"):
    """Under the given numbers."""
    threshold = "mixture" if problem.rewards.has_batch_effect() else "stylised"
    stopping = make_stopping(threshold, problem, [1e-3])
    return Run(InitialState(problem, setup, stopping, 1, engine), np.array(means), 0, 0)


SLIPS = {
    1: ("rule-played-no-action", {"n": 6, "actions": "Subsets(6, 2)"}),
    2: ("rule-wrote-no-set", {}),
    3: ("rule-wrote-no-set", {}),
    4: ("rule-wrote-what-was-seen", {"array": "stats.sums"}),
    5: ("rule-wrote-what-was-seen", {"array": "stats.weighted_sums"}),
    6: ("rule-wrote-what-was-seen", {"array": "state.evidence"}),
    7: ("rule-wrote-what-was-seen", {"array": "stats.mean"}),
}


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_slip_ends_the_run_in_a_sentence(engine):
    """Also in the last round: then the run is over before the rule is asked again."""
    for kind, (code, arguments) in SLIPS.items():
        for last in (10**6, QUIET + 1):
            how = {"delta": 1e-9, "runs": 1, "max_rounds": last, "engine": engine}
            with refused(code, cg.InputError, rule=f"Slipping(kind={kind})", t=QUIET, **arguments):
                cg.simulate(PROBLEM, MEANS, rule=Slipping(kind), **how)


def test_nothing_false_comes_of_a_slip():
    """What was written is put back, and what cannot be played is replaced, before anything is
    observed.
    """
    for kind in (0, *SLIPS):
        setup = CheckedBoundRule(Slipping(kind), PROBLEM)
        run = a_run(PROBLEM, Slipping().bind(PROBLEM), MEANS)
        run.advance(QUIET)
        kernel, _ = setup.start_run(run.rng)
        before = [
            leaf.copy() for leaf in (*iter_leaves(run.stats), run.state.leader, run.state.evidence)
        ]
        kernel.choose(run.kernel, run.stats, run.state, run.rng)
        after = *iter_leaves(run.stats), run.state.leader, run.state.evidence
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"kind {kind}")
        assert PROBLEM.actions.contains(tuple(np.flatnonzero(run.state.action))), kind
        assert kernel.needs_resize() == bool(kind)


class WritingPart:
    """Writes into one array, of those that it gets, named like "stats.batch.lead"."""

    def __init__(self, name):
        self.name = name

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        if stats.n_rounds[0] >= 6:
            found = {"stats": stats, "state": state}
            first, *rest = self.name.split(".")
            array = found[first]
            for name in rest:
                array = getattr(array, name)
            array.flat[array.size - 1] += 1

    def needs_resize(self):
        return False


class Writing(cg.RuleBase):
    def __init__(self, name):
        self.name = name

    def bind(self, problem):
        return FixedBoundRule(WritingPart(self.name), padded(problem.actions.covering()))


def test_whatever_a_rule_writes_of_what_was_seen_is_named():
    """All is looked at, but for what those who ask say of the next block, and scratch."""
    for name in READ:
        with refused("rule-wrote-what-was-seen", array=name):
            cg.simulate(PLATES, MEANS, rule=Writing(name), delta=1e-9, runs=1, max_rounds=40)
    free = {"wanted", "expected_information", "work", "order", "mark"}
    fields = {f"stats.{name}" for name in Statistics._fields} - {"stats.batch"}
    fields |= {f"stats.batch.{name}" for name in BatchEstimator._fields if name not in free}
    assert {*READ} == {*fields, "state.leader", "state.evidence"} and len(READ) == len({*READ})


class PlayingPart(NamedTuple):
    action: np.ndarray

    def choose(self, problem, stats, state, rng):
        state.action[:] = self.action

    def needs_resize(self):
        return False


class Playing(cg.RuleBase):
    def __init__(self, action):
        self.action = np.array(action)

    def bind(self, problem):
        return FixedBoundRule(PlayingPart(self.action), padded(problem.actions.covering()))


SMALL = {
    "subsets": cg.Subsets(6, 3),
    "partition": cg.Partition([[0, 1], [2, 3, 4]], [1, 2]),
    "paths": cg.Paths(golden.EDGES, "s", "t"),
    "trees": cg.SpanningTrees(golden.LINKS),
    "barred pairs": cg.Matchings(3, 3, forbidden=[(0, 1), (2, 2)]),
    "some pairs": cg.Matchings(2, 3, size=1),
    "almost all": cg.AlmostAllSets(5, [2, 4]),
    "listed": cg.Listed([(0, 1), (1, 2, 3), (3, 4), (0, 4), (2,), (0, 1, 2)], 5),
    "programme": cg.IntegerProgram(([[3.0, 2.0, 1.0, 1.5]], 0.0, 4.0), d=4),
}


def test_every_set_of_arms_is_judged_as_the_structure_says():
    """The structure is asked by its oracle alone; the list of all its sets is the twin."""
    for kind, actions in SMALL.items():
        problem = cg.Problem(actions, None, cg.Gaussian(0.3))
        run = a_run(problem, cg.Uniform().bind(problem), np.cos(1.0 + np.arange(actions.d)))
        run.advance(len(run.start))
        every, oracle, found = set(actions.__iter__()), actions.kernel(), 0
        for action in product([0.0, 1.0], repeat=actions.d):
            kernel, _ = CheckedBoundRule(Playing(action), problem).start_run(run.rng)
            kernel.choose(run.kernel, run.stats, run.state, run.rng)
            arms = tuple(np.flatnonzero(action).tolist())
            member = arms in every
            assert kernel.needs_resize() == (not member), (kind, action)
            assert playable(actions.d, oracle, arms) == member, (kind, action)
            found += member
        assert found == len(every) and 0 < found < 2**actions.d, kind


class Mine(cg.FrankWolfe):
    """Somebody else's by its module, ours in all that it does."""


class MyGame(cg.CombGame):
    pass


SAME = {
    "frank-wolfe": (PROBLEM, cg.FrankWolfe(), Mine()),
    "plates": (PLATES, cg.FrankWolfe(), Mine()),
    "a learner": (PROBLEM, cg.CombGame(), MyGame()),
}


@pytest.mark.parametrize(
    ("kind", "engine"), [*((kind, "python") for kind in SAME), ("plates", "compiled")]
)
def test_runs_that_are_watched_are_the_same_runs(kind, engine):
    problem, ours, mine = SAME[kind]
    assert not foreign(ours) and foreign(mine)
    assert isinstance(bind(mine, problem), CheckedBoundRule)
    setups = ours.bind(problem), CheckedBoundRule(mine, problem)
    one, two = (a_run(problem, setup, MEANS, engine) for setup in setups)
    assert isinstance(two.rule, CheckedKernel)
    assert one.advance(10_000) == two.advance(10_000) == STOPPED
    for here, there in zip(iter_leaves(one.stats), iter_leaves(two.stats), strict=True):
        np.testing.assert_array_equal(here, there)
    assert one.stopping_times == two.stopping_times and (one.recommended == two.recommended).all()


class Around(NamedTuple):
    """A rule that is a tuple, and so has no dictionary."""

    inner: cg.RuleBase

    def bind(self, problem):
        return self.inner.bind(problem)


@dataclass(frozen=True)
class MyLearner(cg.LLOO):
    pass


@dataclass(frozen=True, slots=True)
class Slotted:
    """A rule with slots, and so without a dictionary; and not even a RuleBase."""

    kind: int = 4

    def bind(self, problem):
        return FixedBoundRule(SlippingPart(self.kind), padded(problem.actions.covering()))

    def permuted(self, order):
        return None

    def stopping(self, problem, deltas):
        return None


def test_what_is_foreign_and_a_rule_with_slots_is_watched_too():
    assert foreign(cg.CombGame(MyLearner())) and foreign(Around(cg.Uniform()))
    assert foreign(Slotted()) and foreign({"a": Slotted()}) and foreign(frozenset([Slotted()]))
    assert foreign(a_run)
    assert not foreign(cg.CombGame(cg.LLOO(sparsify=False), tracking="D"))
    with refused("rule-wrote-what-was-seen", array="stats.sums"):
        cg.simulate(PROBLEM, MEANS, rule=Slotted(), delta=1e-9, runs=1, engine="python")


def test_what_is_made_of_our_parts_is_not_watched():
    """A description of one's own that makes them can do no harm, and keeps their blocks."""
    for rule in (Mine(), cg.CombGame(MyLearner())):
        kernel, _ = bind(rule, PLATES if rule == Mine() else PROBLEM).start_run(
            np.random.default_rng()
        )
        assert trusted(kernel) and not isinstance(kernel, CheckedKernel)
    kernel, _ = bind(Slipping(), PROBLEM).start_run(np.random.default_rng())
    assert isinstance(kernel, CheckedKernel) and not kernel.blocking
    with refused("rule-start-no-action"):
        bind(Badly(), PROBLEM).start_run(np.random.default_rng())


@dataclass(frozen=True)
class Badly(cg.RuleBase):
    """Our part, and a start that is no action."""

    def bind(self, problem):
        return FixedBoundRule(UniformKernel(problem.actions.d), padded([(0, 1, 2)]))


class CheatingPart:
    """Says that a block goes on, and chooses the rest of it by what its first plays showed."""

    def __init__(self):
        self.plays = 0

    def choose(self, problem, stats, state, rng):
        blocks = stats.batch
        weight = blocks.pending_equations[0, 2] if self.plays else 0.0
        lead = blocks.pending_equations[0, 3] / weight if weight > 0.0 else 0.0
        on = self.plays == 0 or (self.plays < 8 and lead < 3.3)
        state.action[:] = [on, not on, 1.0]
        blocks.left[0] = 2 if on else 1
        self.plays = self.plays + 1 if on else 0

    def needs_resize(self):
        return False


class Cheating(cg.RuleBase):
    def bind(self, problem):
        return FixedBoundRule(CheatingPart(), padded(problem.actions.covering()))


WELLS = cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(1.0, batch_effect=True))


def test_plays_of_a_block_cannot_be_chosen_by_its_values():
    """Of runs of this rule that were proved with delta = 0.05, all were wrong."""
    with refused("rule-wrote-what-was-seen", array="stats.batch.left"):
        cg.simulate(WELLS, [0.0, 0.05, -3.0], rule=Cheating(), delta=0.05, runs=2, engine="python")
    study = cg.Study(WELLS, rule=Cheating(), engine="python")
    for _ in range(12):
        one = study.ask()
        study.tell(one, dict.fromkeys(one.arms, 0.5))
    blocks = [event.data.get("block") for event in study.events() if event.kind == "asked"]
    assert len(blocks) == 12 and all(size == 1 for _, size in blocks[2:])


def test_rules_that_grow_are_watched_as_they_grow():
    square = cg.Problem(cg.Subsets(6, 3), None, cg.Gaussian(0.3))
    rule = cg.FrankWolfe(max_rivals=1)
    setups = rule.bind(square), CheckedBoundRule(rule, square)
    one, two = (a_run(square, setup, [0.5, 0.45, 0.4, 0.35, 0.3, 0.2]) for setup in setups)
    first = two.rule
    assert one.advance(300) == two.advance(300)
    assert two.rule is not first  # it was made larger
    for here, there in zip(iter_leaves(one.stats), iter_leaves(two.stats), strict=True):
        np.testing.assert_array_equal(here, there)


def test_what_a_rule_does_to_the_problem_stays_in_its_own_side_of_a_study():
    edges = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("s", "t"), ("a", "b")]
    for problem in (
        cg.Problem(cg.Paths(edges, "s", "t"), None, cg.Gaussian(0.3)),
        cg.Problem(cg.Listed([(0, 1), (1, 2), (2, 0)], 3), None, cg.Bernoulli()),
        cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.3)),
        cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian()),
        PLATES,
    ):
        state = StudyState(cg.Study(problem, engine="python")._setting, "python")
        certified = iter_leaves(state.monitor.told.kernel) + iter_leaves(state.history.stats)
        chosen = iter_leaves(state.policy.ahead.kernel) + iter_leaves(state.policy.ahead.stats)
        for one in certified:
            for other in chosen:
                arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
                assert not (arrays and one.size and np.shares_memory(one, other)), str(problem)


class Unwritten(NamedTuple):
    d: int

    def choose(self, problem, stats, state, rng):
        pass

    def needs_resize(self):
        return False


class Idle(cg.RuleBase):
    def bind(self, problem):
        return FixedBoundRule(Unwritten(problem.actions.d), padded(problem.actions.covering()))


def test_a_rule_that_writes_no_action_is_found():
    """What is in view.action from the round before is no choice."""
    with pytest.raises(AssertionError, match=r"Idle left something else .* write all of it"):
        check_rule(Idle(), rounds=10)
    with refused("rule-wrote-no-set", rule="Idle"):
        cg.simulate(PROBLEM, MEANS, rule=Idle(), runs=1, engine="python")


class Beginning(cg.RuleBase):
    def __init__(self, start):
        self.start = start

    def bind(self, problem):
        return FixedBoundRule(SlippingPart(0), padded(self.start))


def test_a_start_that_cannot_be_played():
    for start in [(0, 1, 2)], [(0, 1), (2, 6)], [(0, 1), (5,)]:
        with refused("rule-start-no-action", rule="Beginning", n=len(start[-1])):
            cg.simulate(PROBLEM, MEANS, rule=Beginning(start), runs=1, engine="python")


def test_a_study_asks_for_nothing_that_cannot_be_played():
    """And wants all of an action written."""
    for rule, rounds, code, arguments in (
        (Slipping(1), QUIET, "rule-played-no-action", {"rule": "Slipping(kind=1)", "n": 6}),
        (Idle(), 3, "rule-wrote-no-set", {"rule": "Idle"}),
    ):
        study = cg.Study(PROBLEM, rule=rule, min_replicates=1, engine="python")
        for _ in range(rounds):
            study.tell(study.ask(), dict.fromkeys(study.pending[0].arms, 0.5))
        with refused(code, t=rounds, **arguments):
            study.ask()
        assert study.status.rounds == rounds and not study.pending


# ---- what is no rule, and rules that raise


class FullPart(NamedTuple):
    d: int

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)

    def needs_resize(self):
        return True


class RaisingPart(NamedTuple):
    late: int

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        if stats.n_rounds[0] >= self.late:
            raise ValueError("boom")

    def needs_resize(self):
        return False


class FewPart(NamedTuple):
    d: int

    def choose(self, problem, stats):
        pass

    def needs_resize(self):
        return False


class NoFullPart(NamedTuple):
    d: int

    def choose(self, problem, stats, state, rng):
        pass


class Makes(cg.RuleBase):
    """A rule with any part and any start."""

    def __init__(self, kernel, start=((0, 1), (2, 3), (4, 5))):
        self.kernel, self.start = kernel, start

    def bind(self, problem):
        rows = padded(list(self.start)) if isinstance(self.start, tuple) else self.start
        return FixedBoundRule(self.kernel, rows)


class Bare(cg.RuleBase):
    pass


class Returns(cg.RuleBase):
    def bind(self, problem):
        return UniformKernel(problem.actions.d)


class Failing(cg.RuleBase):
    def bind(self, problem):
        return problem.colour


def simulated(rule, engine="python"):
    return cg.simulate(PROBLEM, MEANS, rule=rule, delta=1e-9, runs=2, max_rounds=60, engine=engine)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_arrays_are_not_made_larger_for_ever(engine):
    with refused("full-for-ever", cg.InputError, kernel="FullPart"):
        simulated(Makes(FullPart(6)), engine)
    study = cg.Study(PROBLEM, rule=Makes(FullPart(6)), min_replicates=1, engine="python")
    for _ in range(3):
        one = study.ask()
        study.tell(one, dict.fromkeys(one.arms, 0.5))
    with refused("full-for-ever", cg.InputError, kernel="FullPart"):
        study.ask()


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_what_a_rule_raises_is_said_with_its_line(engine):
    said = {"kernel": "RaisingPart", "method": "choose", "error": "ValueError (boom)"}
    with refused("part-raised", cg.EngineError, **said) as caught:
        simulated(Makes(RaisingPart(20)), engine)
    assert caught.value.arguments["file"].endswith("test_guard.py")
    assert isinstance(caught.value.__cause__, ValueError)


def test_what_is_no_rule_is_said_before_anything_is_played():
    for rule, code in (
        (Bare(), "no-setup"),
        (Returns(), "setup-makes-no-rules"),
        (Failing(), "part-raised"),
        (Makes(FewPart(6)), "rule-verb"),
        (Makes(NoFullPart(6)), "rule-verb"),
        (Makes(SlippingPart(0), [(0, 1), (2, 3)]), "rule-start"),
        (Makes(SlippingPart(0), None), "rule-start"),
        (Makes(SlippingPart(0), np.eye(6)), "rule-start"),
        (Makes(SlippingPart(0), np.eye(6) > 0), "rule-start"),
        (Makes(SlippingPart(0), np.array([0, 1])), "rule-start"),
    ):
        with refused(code):
            simulated(rule)


def test_a_campaign_takes_a_rule_that_derives_from_nothing():
    made = cg.Campaign.cross(
        "x", [cg.Instance("six", PROBLEM, MEANS)], [Around(cg.Uniform())], runs=2
    )
    assert len(made.configurations) == 1
