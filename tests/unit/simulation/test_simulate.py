"""simulate and compare: seeds, deltas, caps, frames."""

import json
import math

import numpy as np
import pytest

import combgame as cg
from combgame.rules.presets import make_rule
from combgame.simulation.runner import (
    OWN,
    InitialState,
    Run,
    Runner,
    RunSpec,
    drawn,
    ordered_results,
)
from combgame.stopping.registry import make_stopping
from combgame.theory.stopping_time import root
from tests.said import refused
from tests.unit.simulation import test_planning

PROBLEM = cg.Problem(
    cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.2), names=["a", "b", "c", "d", "e"]
)
MEANS = [0.5, 0.35, 0.3, 0.2, 0.1]


@pytest.mark.compiled
def test_run_i_of_a_seed_is_the_same_whatever_the_runs_the_jobs_and_the_engine():
    many = cg.simulate(PROBLEM, MEANS, rule="ofw", runs=8, seed=4, delta=0.1, threshold="proved")
    few = cg.simulate(PROBLEM, MEANS, rule="ofw", runs=3, seed=4, delta=0.1, threshold="proved")
    side_by_side = cg.simulate(
        PROBLEM, MEANS, rule="ofw", runs=8, seed=4, jobs=2, delta=0.1, threshold="proved"
    )
    slow = cg.simulate(
        PROBLEM, MEANS, rule="ofw", runs=2, seed=4, engine="python", delta=0.1, threshold="proved"
    )
    assert (
        many.rounds[:3].tolist() == few.rounds.tolist()
        and many.rounds[:2].tolist() == slow.rounds.tolist()
    )
    assert many.rounds.tolist() == side_by_side.rounds.tolist()
    assert (
        many.rounds.tolist()
        != cg.simulate(
            PROBLEM, MEANS, rule="ofw", runs=8, seed=5, delta=0.1, threshold="proved"
        ).rounds.tolist()
    )


@pytest.mark.compiled
def test_several_deltas_come_from_the_same_runs():
    together = cg.simulate(
        PROBLEM, MEANS, rule="lloo", delta=[0.2, 0.001, 0.05], runs=20, threshold="proved"
    )
    assert together.stopping_times.shape == (20, 3)
    with refused("several-deltas", cg.InputError, n=3) as caught:
        together.rounds
    assert "such as at(0.2)" in caught.value.remedy
    with refused("unknown", kind="delta", name=0.3, known=[0.2, 0.001, 0.05]):
        together.at(0.3)
    for delta in [0.2, 0.001, 0.05]:
        alone = cg.simulate(PROBLEM, MEANS, rule="lloo", delta=delta, runs=20, threshold="proved")
        assert together.at(delta).rounds.tolist() == alone.rounds.tolist()
        assert (
            together.at(delta).answers == alone.answers
            and together.at(delta).summary() == alone.summary()
        )
        assert (
            together.at(delta).correct.tolist() == alone.correct.tolist()
            and together.at(delta).error_rate == alone.error_rate
        )
    assert np.all(together.stopping_times[:, 0] <= together.stopping_times[:, 2]) and np.all(
        together.stopping_times[:, 2] <= together.stopping_times[:, 1]
    )


@pytest.mark.compiled
def test_stopping_is_the_first_round_whose_evidence_passes_the_threshold():
    threshold, order = make_stopping("stylised", PROBLEM, [0.1]), drawn(PROBLEM.d, 0, 0, OWN)
    run = Run(
        InitialState(PROBLEM, make_rule("uniform").bind(PROBLEM), threshold, 1, "python"),
        np.array(MEANS)[order],
        0,
        0,
    )
    for t in range(1, 10_000):
        if run.advance(t) == 0:
            break
        value = cg.evidence(
            PROBLEM, run.stats.sums / np.maximum(run.stats.counts, 1), run.stats.counts
        ).value
        assert value == pytest.approx(
            float(run.state.evidence[0]), rel=1e-12
        )  # the arms are in another order there
        assert run.state.evidence[0] <= threshold.threshold.critical_value(t, 0)
    assert run.stopping_times[0] == t - 1 or run.stopping_times[0] == t
    assert run.state.evidence[0] > threshold.threshold.critical_value(int(run.stopping_times[0]), 0)
    assert (
        run.stopping_times[0]
        == cg.simulate(
            PROBLEM, MEANS, rule="uniform", threshold="stylised", runs=1, delta=0.1
        ).rounds[0]
    )


@pytest.mark.compiled
def test_caps_are_visible():
    sim = cg.simulate(
        PROBLEM, MEANS, rule="lloo", runs=5, max_rounds=12, delta=0.1, threshold="proved"
    )
    assert sim.capped.all() and sim.rounds.tolist() == [12] * 5 and sim.answers == [None] * 5
    assert not sim.correct.any() and sim.error_rate == 0.0
    assert ">= 12" in str(sim) and sim.summary()[0]["capped"] == 5


@pytest.mark.compiled
def test_a_tie_is_said_before_a_run_or_runs_to_the_cap():
    with refused("tie", cg.TieError, best="a", rival="b") as caught:
        cg.simulate(
            PROBLEM, [0.5, 0.5, 0.1, 0.1, 0.1], runs=1, rule="lloo", delta=0.1, threshold="proved"
        )
    assert caught.value.remedy == "change the means, or pass on_tie='run' to run to max_rounds"
    sim = cg.simulate(
        PROBLEM,
        [0.5, 0.5, 0.1, 0.1, 0.1],
        runs=3,
        on_tie="run",
        max_rounds=500,
        rule="lloo",
        delta=0.1,
        threshold="proved",
    )
    assert sim.capped.all()


@pytest.mark.compiled
def test_frames_and_reports():
    both = cg.compare(
        PROBLEM, MEANS, threshold="proved", rules=["lloo", "uniform"], delta=[0.1, 0.01], runs=4
    )
    frame = both.to_frame()
    assert len(frame) == 16 and set(frame.columns) == {
        "rule",
        "threshold",
        "delta",
        "run",
        "rounds",
        "answer",
        "correct",
        "capped",
    }
    assert set(frame["answer"]) == {"a"} and both["uniform"].rule == "uniform"
    text = str(both)
    assert "1/D_nu" in text and "proved: Theorem 2 (b)" in text and "mean/limit" in text
    assert "heuristic" in str(
        cg.simulate(PROBLEM, MEANS, threshold="stylised", runs=2, rule="lloo", delta=0.1)
    )


@pytest.mark.parametrize(
    ("rule", "threshold"),
    [
        ("lloo", "stylised"),
        ("frank-wolfe", "mixture"),
        ("uniform", "mixture"),
        ("gcb-pe", "proved"),
    ],
)
def test_runs_of_a_series_are_those_made_one_by_one(rule, threshold):
    problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.3))
    chosen = cg.GCBPE(0.0325) if rule == "gcb-pe" else rule
    means = [0.9, 0.6, 0.5, 0.3, 0.1]
    runner = Runner(RunSpec(problem, means, chosen, [0.1, 0.01], threshold, 3, 200, "python"))
    for number in range(3):
        together, mine = runner.run(number), runner.numbers(number)
        own = np.array(means)[mine.order]
        setup, told = runner.rule.bind(problem), runner.stopping
        alone = Run(InitialState(problem, setup, told, 2, "python"), own, 3, number)
        alone.advance(200)
        assert together.stopping_times.tolist() == alone.stopping_times.tolist()
        assert together.recommended.tolist() == mine.theirs(alone.recommended).tolist()


def test_the_characteristic_time_of_known_instances():
    two = cg.Problem(cg.Arms(2), None, cg.Gaussian(1.0))
    found = cg.complexity(two, [0.5, 0.0])
    assert found.characteristic_time == pytest.approx(
        8 / 0.25, rel=1e-4
    ) and found.allocation == pytest.approx([0.5, 0.5], abs=1e-2)
    k3 = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    assert cg.complexity(k3, [0.3, 0.29, 0.28, 0.23, 0.2]).characteristic_time == pytest.approx(
        400.0, rel=1e-4
    )
    threshold = make_stopping("stylised", k3, [0.1])
    assert root(
        lambda t: t >= 400.0 * threshold.threshold.critical_value(int(t), 0)
    ) == pytest.approx(1776, abs=2)
    k2 = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.035))
    assert cg.complexity(k2, [0.3, 0.29, 0.28, 0.23, 0.2]).characteristic_time == pytest.approx(
        52.87, rel=2e-4
    )


def test_evidence_is_taken_at_the_counts():
    value = cg.evidence(PROBLEM, MEANS, [10, 20, 5, 5, 5])
    assert value.answer == (0,) and value.rival == (2,)
    pair = 0.2**2 / (2 * 0.04 * (1 / 10 + 1 / 5))
    assert value.value == pytest.approx(min(pair, 0.15**2 / (2 * 0.04 * (1 / 10 + 1 / 20))))
    assert cg.evidence(PROBLEM, MEANS, np.array([10, 20, 5, 5, 5]) * 3).value == pytest.approx(
        3 * value.value
    )
    assert cg.evidence(PROBLEM, MEANS, [10, 0, 5, 5, 5]).value == 0.0


def test_bounds_on_the_means_are_used():
    """Known to lie in [0, 1], so an estimate of 1.4 counts as 1 when the answer is recommended."""
    problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(1.0), bounds=(0.0, 1.0))
    assert cg.evidence(problem, [1.4, 1.2, 0.2], [4, 4, 4]).answer == (
        0,
    )  # both are projected on 1: the larger estimate first
    usual = {"rule": "lloo", "delta": 0.1, "threshold": "proved", "engine": "python"}
    sim = cg.simulate(problem, [0.9, 0.4, 0.1], runs=4, **usual)
    assert sim.error_rate <= 0.1 and not sim.capped.any()
    with refused("mean-outside", cg.InputError, arm="0", mean=1.9, low=0.0, high=1.0):
        cg.simulate(problem, [1.9, 0.4, 0.1], runs=1, **usual)


def test_every_kind_of_answer_is_found():
    several = {
        cg.Arms(6): (0,),
        cg.Subsets(6, 2): (0, 1),
        cg.Listed([[0, 5], [1, 2], [2, 3]], 6): (1, 2),
        None: (0, 1, 2),
    }
    for answers, truth in several.items():
        problem = cg.Problem(cg.Subsets(6, 3), answers, cg.Gaussian(0.3))
        sim = cg.simulate(
            problem,
            [0.9, 0.75, 0.5, 0.35, 0.2, 0.0],
            runs=2,
            rule="lloo",
            delta=0.1,
            threshold="stylised",
            engine="python",
        )
        assert sim.best == truth and sim.correct.all() and not sim.capped.any(), answers


def test_an_answer_that_is_as_good_is_no_error():
    problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(1.0))
    sim = cg.simulate(
        problem,
        [2.0, 2.0, 0.0],
        rule="uniform",
        delta=0.2,
        threshold="stylised",
        runs=30,
        max_rounds=400,
        on_tie="run",
        engine="python",
    )
    assert (1,) in sim.answers and sim.error_rate == 0.0


def test_one_action_and_one_arm_are_handled():
    single = cg.Problem(cg.Subsets(3, 3), cg.Arms(3), cg.Gaussian(0.1))
    for rule in ("hedge", "adahedge", "ofw", "lloo", "uniform"):
        usual = {"runs": 3, "delta": 0.1, "threshold": "proved", "engine": "python"}
        sim = cg.simulate(single, [0.5, 0.3, 0.1], rule=rule, **usual)
        assert sim.correct.all(), rule
    with refused("single-answer", cg.InputError, answers="Arms(1)"):
        cg.Problem(cg.Arms(1), None, cg.Gaussian(0.1))


@pytest.mark.compiled
def test_bounds_of_the_report():
    row = cg.simulate(PROBLEM, MEANS, runs=3, rule="lloo", delta=0.1, threshold="proved").summary()[
        0
    ]
    assert (
        row["bound"] == pytest.approx(math.log(1 / 0.24) * row["time"], rel=1e-4)
        and row["limit"] > row["bound"]
    )
    assert row["bound"] <= math.log(1 / 0.24) * row["time"]  # the certified end of the gap


def command(*words):
    from typer.testing import CliRunner

    from combgame.cli.app import app

    return CliRunner().invoke(app, list(map(str, words)))


@pytest.mark.compiled
def test_simulate_and_compare_on_the_command_line(tmp_path):
    file = tmp_path / "p.toml"
    file.write_text(test_planning.FILE + test_planning.TRUTH)
    problem, means = test_planning.PROBLEM, test_planning.MEANS
    one = command(
        "simulate",
        file,
        "--runs",
        4,
        "--delta",
        0.1,
        "--delta",
        0.01,
        "--threshold",
        "stylised",
        "--rule",
        "uniform",
        "--json",
    )
    told = cg.simulate(
        problem, means, rule="uniform", delta=[0.1, 0.01], threshold="stylised", runs=4
    )
    assert one.exit_code == 0 and [row["mean"] for row in json.loads(one.output)] == [
        row["mean"] for row in told.summary()
    ]
    both = command(
        "compare",
        file,
        "--runs",
        3,
        "--threshold",
        "stylised",
        "--rule",
        "uniform",
        "--rule",
        "ofw",
    )
    told = cg.compare(problem, means, rules=["uniform", "ofw"], threshold="stylised", runs=3)
    assert both.exit_code == 0 and both.output.strip() == str(told).strip()


def test_a_file_without_means_cannot_be_simulated(tmp_path):
    file = tmp_path / "p.toml"
    file.write_text(test_planning.FILE)
    for verb in ("simulate", "compare", "plan"):
        with refused("truth-missing", cg.InputError, path=str(file)):
            raise command(verb, file).exception


def test_the_command_line_does_not_advise_what_it_lacks(tmp_path):
    file = tmp_path / "p.toml"
    file.write_text(test_planning.FILE + "[truth]\nmeans = [0.5, 0.5, 0.3, 0.1]\n")
    for verb in ("simulate", "compare"):
        with refused("tie", cg.TieError) as caught:
            raise command(verb, file).exception
        assert caught.value.remedy == "change the means"


def test_threads_play_the_same_runs_in_the_same_order():
    runner = Runner(RunSpec(PROBLEM, MEANS, "uniform", 0.3, "stylised", 1, 300, "python"))
    one, three = (list(ordered_results(runner, 12, jobs)) for jobs in (1, 3))
    assert len({result.rounds for result in one}) > 1
    for a, b in zip(one, three, strict=True):
        assert a.stopping_times.tolist() == b.stopping_times.tolist() and a.lead == b.lead
        assert a.recommended.tolist() == b.recommended.tolist()


@pytest.mark.parametrize("end", ["an error", "nobody wants more"])
def test_whatever_ends_a_simulation_in_threads_ends_its_runs(end, monkeypatch):
    runner = Runner(RunSpec(PROBLEM, MEANS, "uniform", 1e-300, "stylised", 1, 10**8, "python"))
    played, play = [], Runner.run

    def run(self, number, wanted=None):
        if number == 1 and end == "an error":
            raise ValueError("a run failed")
        if number < 2:
            return number
        played.append(play(self, number, wanted).rounds)
        return number

    monkeypatch.setattr(Runner, "run", run)
    results = ordered_results(runner, 9, 2)
    assert next(results) == 0
    if end == "an error":
        with pytest.raises(ValueError, match="a run failed"):
            next(results)
    else:
        assert next(results) == 1
        results.close()
    assert played and all(rounds < 10**8 for rounds in played)
