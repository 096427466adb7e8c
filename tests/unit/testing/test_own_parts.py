"""Parts of one's own: stopping rules as objects, the checks that find what is wrong, the sentences
that say what cannot be compiled.
"""

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import combgame as cg
from combgame.engine.likelihood_ratio import LikelihoodRatioKernel
from combgame.engine.protocols import jitable
from combgame.lab.client._wire import status_data, status_from
from combgame.rewards.gaussian import GaussianKernel
from combgame.rules import FixedBoundRule, padded
from combgame.simulation.runner import Run
from combgame.stopping.registry import make_stopping
from combgame.testing import (
    check_learner,
    check_rewards,
    check_rule,
    check_stopping,
    check_structure,
)
from combgame.testing.learners import LearnerHarness, reward_sequences
from tests.said import case, check_refusals, refused

PROBLEM = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.3))
MEANS = [0.9, 0.6, 0.5, 0.4, 0.3]


class TablePart(NamedTuple):
    """Looks its level up: arrays inside."""

    table: np.ndarray
    constant: np.ndarray

    def critical_value(self, t, index):
        i = 0
        while i < self.table.size - 1 and 2 ** (i + 1) <= t:
            i += 1
        return self.table[i] + self.constant[index]


@dataclass(frozen=True)
class Table(cg.StoppingBase):
    validity: ClassVar[str] = "a union bound over powers of two."
    scale: float = 1.0

    def kernel(self, problem, deltas):
        return TablePart(self.scale * 2.0 * np.log(np.arange(1.0, 41.0)), np.log(1.7 / deltas))


@pytest.mark.compiled
def test_a_threshold_is_an_object_with_arrays_in_both_engines():
    how = {"threshold": Table(), "runs": 4, "delta": [0.1, 0.01], "shuffle_arms": True}
    one, other = (cg.simulate(PROBLEM, MEANS, engine=e, **how) for e in ("python", "compiled"))
    assert (one.stopping_times == other.stopping_times).all() and (
        one.stopping_times[:, 0] < one.stopping_times[:, 1]
    ).all()
    assert one.threshold == "Table()" and one.summary()[0]["limit"] > 0
    assert "Table() is stated by the user: a union bound over powers of two." in str(one)
    assert (one.validity.label, one.validity.proved) == ("stated by the user", False)


def test_it_stops_where_the_name_of_the_same_function_stops():
    class Same(cg.StoppingBase):
        def kernel(self, problem, deltas):
            return make_stopping("stylised", problem, deltas).threshold

    how = {"runs": 5, "engine": "python", "delta": 0.1}
    mine = cg.simulate(PROBLEM, MEANS, threshold=Same(), **how)
    assert (mine.rounds == cg.simulate(PROBLEM, MEANS, threshold="stylised", **how).rounds).all()
    assert mine.validity.label == "heuristic" and mine.validity.reason.code == "not-stated"


class HalfPart(NamedTuple):
    """A judge: half of the likelihood ratio is its evidence."""

    ratio: LikelihoodRatioKernel

    def evaluate(self, problem, stats, state):
        return 0.5 * self.ratio.evaluate(problem, stats, state)

    def critical_value(self, t, index):
        return self.ratio.critical_value(t, index)

    def expected_growth(self, problem, stats, best, rival):
        return 0.0

    def projected_evidence(self, problem, stats, arms, sign, n):
        return 0.5 * self.ratio.projected_evidence(problem, stats, arms, sign, n)

    def least_evidence(self, problem, stats, best, rival, alternative):
        return 0.5 * self.ratio.least_evidence(problem, stats, best, rival, alternative)

    def evidence_against(self, problem, stats, best, rival):
        return 0.5 * self.ratio.evidence_against(problem, stats, best, rival)


class Half(cg.StoppingBase):
    def kernel(self, problem, deltas):
        usual, d = make_stopping("stylised", problem, deltas).threshold, problem.actions.d
        return HalfPart(
            LikelihoodRatioKernel(usual, np.zeros(d, np.int64), np.zeros(d), np.zeros(d))
        )


def test_a_judge_of_ones_own_judges():
    how = {"runs": 5, "engine": "python", "delta": 0.1, "rule": "uniform"}
    half = cg.simulate(PROBLEM, MEANS, threshold=Half(), **how)
    usual = cg.simulate(PROBLEM, MEANS, threshold="stylised", **how)
    assert (half.rounds > usual.rounds).all() and math.isnan(half.summary()[0]["limit"])


def test_campaigns_and_plans_tell_thresholds_apart(tmp_path):
    five = cg.Instance("five", PROBLEM, tuple(MEANS))
    given = [Table(), Table(2.0), "stylised"]
    campaign = cg.Campaign.cross("own", [five], ["uniform"], threshold=given, runs=2)
    assert len({c.key for c in campaign.configurations}) == 3
    rows = campaign.run(tmp_path / "own.db", engine="python", progress=False)
    assert [row["threshold"] for row in rows] == ["Table()", "Table(scale=2.0)", "stylised"]
    assert [row["label"] for row in rows] == ["stated by the user"] * 2 + ["heuristic"]
    again = cg.Campaign.cross("own", [five], ["uniform"], threshold=given, runs=2)
    assert [c.key for c in again.configurations] == [c.key for c in campaign.configurations]
    plan = cg.plan(PROBLEM, MEANS, thresholds=["mixture", Table()], rules=None, gap_scales=1.0)
    assert [row["label"] for row in plan.rows()] == ["proved", "stated by the user"]


def test_a_study_keeps_it_and_says_whose_it_is(tmp_path):
    storage = f"sqlite:///{tmp_path}/lab.db"
    study = cg.Study(PROBLEM, threshold=Table(), storage=storage, name="own", engine="python")
    rng = np.random.default_rng(1)
    while not study.done:
        todo = study.ask()
        study.tell(todo, {a: rng.normal(MEANS[a], 0.3) for a in todo.arms})
    assert "by the user's threshold Table() at delta = 0.05" in str(study.decision.headline)
    assert str(study.decision.assumptions[0]).startswith("The threshold is stated by the user")
    same = cg.Study.open(storage, "own", engine="python")
    assert same.decision.answer == study.decision.answer and "Table()" in str(same.status)
    stated = "The threshold is stated by the user: a union bound over powers of two"
    for status in (study.status, same.status, status_from(status_data(study.status))):
        lines = str(status).splitlines()
        assert lines[0] == "study own: certified (by a threshold that is stated by the user)"
        assert f"  validity     {stated}" in lines
        assert str(status.next_step).startswith(
            "Stop: the answer is certified by the user's threshold"
        )
        assert status.validity == study.decision.assumptions[0]
        assert status.to_dict()["validity"]["arguments"]["label"] == "stated by the user"
    report = study.report()
    assert "certified (by a threshold that is stated by the user)" in report
    assert "95% (stated by the user)" in report
    with refused("other-settings", cg.StudyError, key="threshold"):
        cg.Study(PROBLEM, threshold=Table(2.0), storage=storage, name="own", if_exists="resume")


def test_a_status_says_nothing_of_a_threshold_that_is_proved_but_in_its_data():
    status = cg.Study(PROBLEM, engine="python").status
    assert "validity" not in str(status) and status.label == "proved"
    heuristic = cg.Study(PROBLEM, threshold="stylised", engine="python").status
    assert str(heuristic).splitlines()[0].endswith(": running")
    assert "  validity     The threshold is heuristic: " in str(heuristic)


class NoLevel(cg.StoppingBase):
    def kernel(self, problem, deltas):
        return 3.0


class Boast(Table):
    validity = 7


def test_what_cannot_be_a_threshold_is_refused():
    def given(code, how, /, problem=PROBLEM, **arguments):
        usual = {"runs": 1, "engine": "python"}
        return case(code, lambda: cg.simulate(problem, MEANS, **usual, **how), **arguments)

    check_refusals(
        [
            given("must-be", {"threshold": Table}, name="threshold"),
            given("must-be", {"threshold": 3}, name="threshold", value=3),
            given("no-level", {"threshold": NoLevel()}, kernel="float"),
            given("must-be", {"threshold": Boast()}, name="Boast.validity", value=7),
            given("epsilon-needs-mixture", {"threshold": Table(), "epsilon": 0.1}),
            given("cannot-eliminate", {"threshold": Table(), "elimination": "always"}),
        ]
    )
    for rewards in (cg.Gaussian(simulation_sigma=0.3), cg.Gaussian(0.3, batch_effect=True)):
        problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), rewards)
        with pytest.raises(cg.InputError, match=r"Table\(\)"):  # known variances, and no levels
            cg.simulate(problem, MEANS, runs=1, threshold=Table())


# ---- the checks find what is wrong


@dataclass(frozen=True)
class Off(cg.StoppingBase):
    part_of: type = TablePart

    def kernel(self, problem, deltas):
        return self.part_of(np.zeros(40), np.log(1.0 / deltas))


class RisingPart(TablePart):
    def critical_value(self, t, index):
        return 5.0 - self.constant[index]


class NothingPart(TablePart):
    def critical_value(self, t, index):
        return 0.05 + 0.01 * self.constant[index]


class NanPart(TablePart):
    def critical_value(self, t, index):
        return math.nan


class ArrayPart(TablePart):
    def critical_value(self, t, index):
        return self.constant


class LogPart(TablePart):
    def critical_value(self, t, index):
        return math.log(t)


class LatePart(TablePart):
    """Is a number up to round 20, and for the first delta."""

    def critical_value(self, t, index):
        if index == 1 and t > 20:
            return math.inf - math.inf
        return 1e3 + self.constant[index]


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (RisingPart, "a smaller delta must not ask for less"),
        pytest.param(NothingPart, "stopped with the wrong one", marks=pytest.mark.compiled),
        (NanPart, r"NanPart\.critical_value\(t=0, index=0\) returned nan, .*one number"),
        (ArrayPart, r"ArrayPart\.critical_value\(t=0, index=0\) returned array\(.*\[index\]"),
        (LogPart, r"LogPart\.critical_value\(t=0, index=0\) raised ValueError.* max\(t, 1\)"),
        (LatePart, r"LatePart\.critical_value\(t=\d+, index=1\) returned nan"),
    ],
)
def test_check_stopping_refutes(kernel, said):
    with pytest.raises(AssertionError, match=said):
        check_stopping(Off(kernel), runs=60, rounds=40)


def test_a_level_that_is_no_number_is_refused_before_anything_is_played():
    for kernel in (NanPart, ArrayPart, LogPart):
        about = {"kernel": kernel.__name__, "t": 0, "index": 0}
        with refused("level-not-a-number", cg.InputError, **about) as caught:
            cg.simulate(PROBLEM, MEANS, threshold=Off(kernel), runs=1, engine="python")
        assert "[index]" in caught.value.remedy
        with refused("level-not-a-number", cg.InputError, kernel=kernel.__name__):
            cg.Study(PROBLEM, threshold=Off(kernel))


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_level_that_is_no_number_later_ends_the_run(engine):
    how = {"threshold": Off(LatePart), "rule": "uniform", "runs": 1, "max_rounds": 40}
    with refused("level-not-a-number", cg.InputError, kernel="LatePart", t=21, index=1):
        cg.simulate(PROBLEM, MEANS, delta=[0.1, 0.01], engine=engine, **how)


def test_nor_is_it_compared_in_a_study():
    class First(TablePart):
        def critical_value(self, t, index):
            return 1e3 if t <= 20 else math.nan

    study = cg.Study(PROBLEM, threshold=Off(First), engine="python")
    with refused("level-not-a-number", cg.InputError, kernel="First", t=21, index=0):
        for _ in range(30):
            study.tell(study.ask(), {a: MEANS[a] for a in study.pending[0].arms})


class Own(cg.RuleBase):
    """A rule with a part of this kind, which is given some rows."""

    def __init__(self, kind):
        self.kind = kind

    def bind(self, problem):
        rows = padded(problem.actions.covering())
        return FixedBoundRule(self.kind(rows.astype(float)), rows)


class WrongRulePart(NamedTuple):
    kind: str

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        if self.kind == "action":
            state.action[:] = 1.0
        elif self.kind == "leader":
            state.leader[:] = 0.0
        else:
            getattr(stats, self.kind).flat[-1] += 1.0

    def needs_resize(self):
        return False


def test_check_rule_refutes():
    for kind, said in (
        ("action", "which is no action of"),
        ("counts", r"wrote into stats\.counts after \d rounds; write state\.action alone"),
        ("sums", r"wrote into stats\.sums after \d rounds; write state\.action alone"),
        ("mean", r"wrote into stats\.mean"),
        ("projected_mean", r"wrote into stats\.projected_mean"),
        ("n_rounds", r"wrote into stats\.n_rounds"),
        ("weighted_sums", r"wrote into stats\.weighted_sums"),
        ("leader", r"wrote into state\.leader"),
    ):
        with pytest.raises(AssertionError, match=said):
            check_rule(Own(lambda _, kind=kind: WrongRulePart(kind)), rounds=10)


class Later:
    """Lowers the threshold, which is not among what is watched."""

    def __init__(self, quiet):
        self.quiet = quiet

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        if stats.n_rounds[0] == self.quiet:
            problem.stopping.threshold.constant[:] = -1.0

    def needs_resize(self):
        return False


def test_check_rule_refuses_more_errors_than_a_proved_threshold_makes():
    with pytest.raises(AssertionError, match="with the proved threshold 'mixture', which holds"):
        lying = Own(lambda _: Later(10))
        check_rule(lying, rounds=10, problem=PROBLEM, means=[1.0, 0.99, 0.98, 0.97, 0.96])


class Favour:
    """Samples; every so often the play has an arm that it names."""

    def __init__(self, often, first):
        self.often, self.first = often, first

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        t = stats.n_rounds[0]
        if self.often and t % self.often == 0:
            state.action[:] = 0.0
            state.action[self.first : self.first + 2] = 1.0

    def needs_resize(self):
        return False


@dataclass(frozen=True)
class Partial(cg.RuleBase):
    symmetric: ClassVar[bool] = True
    often: int = 0
    first: int = 0

    def bind(self, problem):
        kernel = Favour(self.often, self.first)
        return FixedBoundRule(kernel, padded(problem.actions.covering()))


@pytest.mark.parametrize(("often", "first"), [(1, 0), (5, 3)])
def test_check_rule_refuses_an_impartial_rule_that_names_arms(often, first):
    with pytest.raises(AssertionError, match=r"arm \d is in \d+% of the plays .*`symmetric`"):
        check_rule(Partial(often, first), rounds=10)


def test_check_rule_says_that_numbers_are_kept_where_nobody_calls_it_impartial(capsys):
    class Honest(Partial):
        pass

    check_rule(Honest(4), rounds=10)
    assert "1 x  runs keep the given numbers" in capsys.readouterr().out
    check_rule(Partial(), rounds=10)
    assert "2 x  20 runs of 200 rounds with other numbers" in capsys.readouterr().out


class LeaderPart:
    """Plays the action that has brought most so far, or least."""

    def __init__(self, sign, number, whole):
        self.sign, self.gain, self.writes_all_weights = sign, np.zeros((4, number)), whole

    def act(self, learner, weights):
        chosen, n = int(np.argmax(self.sign * self.gain[learner])), self.gain.shape[1]
        weights.ids[:n], weights.values[:n], weights.size[0] = np.arange(n), 0.0, n
        weights.values[chosen] = 1.0
        if self.writes_all_weights:
            weights.arm_weights[:] = 0.9

    def update(self, learner, weights, table, actions, reward):
        for i in range(self.gain.shape[1]):
            self.gain[learner, i] += table.dot(i, reward)

    def needs_resize(self):
        return False


@dataclass(frozen=True)
class Follows(cg.LearnerBase):
    enumerates_actions: ClassVar[bool] = True
    sign: float = 1.0

    def kernel(self, context):
        return LeaderPart(self.sign, context.n_actions, self.writes_all_weights)


@dataclass(frozen=True)
class Whole(Follows):
    writes_all_weights: ClassVar[bool] = True


def test_check_learner_refutes():
    for learner, said in (
        (Follows(-1.0), r"where \(0, 1\) is the best action, it got .* equal weights get"),
        (Follows(1.0), r"where \(0, 1\) and \(2, 3\) take turns, it got .* equal weights get"),
        (Whole(), r"wrote weights\.arm_weights = \[0\.9, .* but the marginals of its weights are"),
    ):
        with pytest.raises(AssertionError, match=said):
            check_learner(learner, rounds=10)


def test_our_learners_get_more_than_equal_weights():
    """SFTPL draws; it got at least 0.1 of the range more than that with every seed tried."""
    for learner in (cg.Hedge(), cg.AdaHedge(), cg.OFW(), cg.LLOO(), cg.SFTPL(1)):
        rng = np.random.default_rng(1)
        for _, rewards in reward_sequences(rng):
            pupil, got = LearnerHarness(learner, 1, rng), 0.0
            for t, reward in enumerate(rewards):
                pupil.act(0, t)
                got += pupil.weights.arm_weights @ reward
                pupil.update(0, reward)
            assert got > rewards.sum() / 3.0, learner


class SlantedPart(GaussianKernel):
    fault: ClassVar[str] = ""

    def divergence(self, x, y, arm):
        return GaussianKernel.divergence(self, x, y, arm) * (
            3.0 if self.fault == "divergence" else 1
        )

    def draw(self, mean, arm, rng):
        if self.fault == "one arm" and arm == 2:
            return mean
        if self.fault == "constant" and arm == 3:
            return 0.1
        off = 0.1 * (self.fault == "draw") + 3.0 * (self.fault == "last arm" and arm == 3)
        return GaussianKernel.draw(self, mean + off, arm, rng)

    def transportation_cost(self, mean, weight, arms, sign, n, alternative):
        far = GaussianKernel.transportation_cost(self, mean, weight, arms, sign, n, alternative)
        return far * (1.01 if self.fault == "distance" else 1.0)

    def cheapest_challenger(self, mean, weight, i, taken, value):
        j = GaussianKernel.cheapest_challenger(self, mean, weight, i, taken, value)
        value[0] *= 1.5 if self.fault == "closest" else 1.0
        return j

    def best_shift_with_gradient(self, x, weight, slope, arm):
        off, cost, rate = GaussianKernel.best_shift_with_gradient(self, x, weight, slope, arm)
        return off, cost, rate * (2.0 if self.fault == "step" else 1.0)

    def kl_ucb(self, x, level, arm):
        return GaussianKernel.kl_ucb(self, x, level * (2.0 if self.fault == "upper" else 1.0), arm)


def test_check_rewards_refutes():
    for fault, said in (
        ("divergence", "best_shift|kl_ucb|kl_lcb|variance"),
        ("draw", "have the mean"),
        ("last arm", r"draw\(0\.2, 3\) have the mean"),
        ("one arm", r"draw\(0\.2, 2\) are all 0\.2"),
        ("constant", r"draw\(0\.2, 3\) have the mean"),
        ("distance", "stops runs too early"),
        ("closest", "cheapest_challenger says"),
        ("step", "per slope"),
        ("upper", "kl_ucb"),
    ):
        kind = type("Slanted", (SlantedPart,), {"fault": fault})

        class Slanted(cg.Gaussian):
            def kernel(self, low, high, kind=kind):
                return kind(*cg.Gaussian.kernel(self, low, high))

        with pytest.raises(AssertionError, match=said):
            check_rewards(Slanted(0.5), trials=3)


class Stuck(cg.Gaussian):
    """Keeps the sigmas of arms where they are."""

    def permuted(self, order):
        return self


class Swapping(cg.Bernoulli):
    def permuted(self, order):
        return cg.Gaussian(0.3)


def test_check_rewards_refuses_arms_that_keep_their_place_under_other_numbers():
    with pytest.raises(
        AssertionError, match=r"sub_gaussian_scale\(\) is .*, but .* with arm order\[i\] called"
    ):
        check_rewards(Stuck((0.2, 0.3, 0.4, 0.5)), trials=1)
    with pytest.raises(AssertionError, match=r"mean_range\(\) is"):
        check_rewards(Swapping(), trials=1)


class OddPart(GaussianKernel):
    """Arm 0 is noisier than its divergence says."""

    def draw(self, mean, arm, rng):
        return GaussianKernel.draw(self, mean, arm, rng) + (rng.normal() if arm == 0 else 0.0)


class Odd(cg.Gaussian):
    def kernel(self, low, high):
        return OddPart(*cg.Gaussian.kernel(self, low, high))

    def permuted(self, order):
        return self


def test_nor_what_is_drawn_of_them():
    with pytest.raises(AssertionError, match="do not have the same variance"):
        check_rewards(Odd(0.5), trials=1)


def test_a_check_says_what_it_cannot_check():
    named = ((check_structure, "structure"), (check_rewards, "rewards"), (check_learner, "learner"))
    check_refusals(
        case("must-be", lambda check=check, x=x: check(x), of=check.__name__, name=name)
        for check, name in named
        for x in ("x", None, 3, cg.Arms)
    )

    def one(name, check, given, **how):
        return case("must-be", lambda: check(given, **how), of=check.__name__, name=name)

    check_refusals(
        [
            one("trials", check_structure, cg.Arms(3), trials=0),
            one("seed", check_rewards, cg.Bernoulli(), seed="x"),
            one("problem", check_stopping, "mixture", problem=3),
            one("problem", check_rule, "lloo", problem=3, means=[0.1]),
            case("must-be", lambda: check_rewards(cg.Bernoulli(), low=0.8, high=0.2)),
        ],
        cg.InputError,
    )


def test_checks_print_what_they_checked(capsys):
    check_structure(cg.Subsets(4, 2), trials=7)
    printed = capsys.readouterr().out
    assert printed.startswith("Subsets(4, 2) passes:\n")
    assert "    7 x  argmax is a set, and the best of 6, all there are" in printed


# ---- a part that reaches outside its arrays


class BeyondPart(NamedTuple):
    score: np.ndarray

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        if stats.n_rounds[0] > 6:
            self.score[stats.n_rounds[0]] = 1.0  # beyond

    def needs_resize(self):
        return False


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_rule_that_reaches_outside_its_arrays_is_named_with_the_line(engine):
    how = {"rule": Own(lambda _: BeyondPart(np.zeros(5))), "runs": 1, "threshold": "stylised"}
    with refused("outside-arrays", cg.EngineError, kernel="BeyondPart", method="choose") as caught:
        cg.simulate(PROBLEM, MEANS, engine=engine, **how)
    error = caught.value
    assert "# beyond" in Path(__file__).read_text().splitlines()[error.arguments["line"] - 1]
    assert str(error).startswith("BeyondPart.choose reached outside an array: line ")
    assert "index 7 is out of bounds" in str(error) and "learner" not in str(error)


@pytest.mark.compiled
def test_what_cannot_be_played_again_names_the_part_alone(monkeypatch):
    monkeypatch.setattr(sys.modules[Run.__module__], "REPLAYED", 0)
    with refused("outside-arrays", cg.EngineError, kernel="BeyondPart", method="") as caught:
        how = {"rule": Own(lambda _: BeyondPart(np.zeros(5))), "runs": 1, "threshold": "stylised"}
        cg.simulate(PROBLEM, MEANS, engine="compiled", **how)
    assert str(caught.value).startswith("BeyondPart reached outside an array (")


# ---- what numba refuses


def unmarked(x):
    return x + 1.0


@jitable
def marked(x):
    return x.gone


class GonePart(NamedTuple):
    rows: np.ndarray

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        self.rows[0, 0] = self.missing

    def needs_resize(self):
        return False


class UnmarkedPart(GonePart):
    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        self.rows[0, 0] = unmarked(1.0)


class InnerPart(GonePart):
    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        self.inner(stats)

    def inner(self, stats):
        return f"{stats.mean[0]:3f}"


class HelperPart(GonePart):
    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        self.rows[0, 0] = marked(stats.mean[0])


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("kind", "where", "line", "reason"),
    [
        (GonePart, "GonePart.choose", "self.missing", "Unknown attribute 'missing' of type Gone"),
        (UnmarkedPart, "UnmarkedPart.choose", "unmarked(1.0)", "Untyped global name 'unmarked'"),
        (InnerPart, "InnerPart.inner", 'f"{stats', "f-strings not supported"),
        (HelperPart, "marked", "x.gone", "Unknown attribute 'gone' of type float64"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_cannot_be_compiled_is_one_sentence(kind, where, line, reason):
    with refused("not-compilable", cg.EngineError) as caught:
        how = {"threshold": "stylised", "max_rounds": 9, "engine": "compiled"}
        cg.simulate(PROBLEM, MEANS, rule=Own(kind), runs=1, **how)
    error = caught.value
    assert line in Path(__file__).read_text().splitlines()[error.arguments["line"] - 1]
    text = str(error)
    assert text.startswith(f"{where} cannot be compiled: line ") and reason in text
    assert len(text) < 500 and "\n" not in text
    assert type(error.__cause__).__module__.startswith("numba.") and str(error.__cause__)
    assert ("@jitable" in error.remedy) is (kind is UnmarkedPart)
