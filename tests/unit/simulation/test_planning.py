"""plan: what to expect before an experiment, from Python and on the command line."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import combgame as cg
from combgame.cli.app import app
from combgame.simulation.runner import Runner, RunSpec
from combgame.stopping.registry import make_threshold
from tests.said import refused

PROBLEM = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1), names=["w", "x", "y", "z"])
MEANS = [0.5, 0.4, 0.3, 0.1]
FILE = """
names = ["w", "x", "y", "z"]
[actions]
kind = "subsets"
arms = 4
size = 2
[answers]
kind = "arms"
[rewards]
kind = "gaussian"
sigma = 0.1
"""
TRUTH = "[truth]\nmeans = [0.5, 0.4, 0.3, 0.1]\n"


@pytest.fixture(scope="module")
def found():
    return cg.plan(
        PROBLEM,
        MEANS,
        delta=[0.1, 0.01],
        rules=["ofw", "uniform"],
        thresholds=["proved", "stylised"],
        runs=6,
        gap_scales=(1.0, 0.5),
        engine="python",
    )


def test_rows_have_the_bound_the_limit_the_figures_and_the_label(found):
    rows = found.rows()
    assert len(rows) == 2 * 2 * 2 * 2 and {row["label"] for row in rows} == {"proved", "heuristic"}
    assert all((row["threshold"] == "gaussian") == (row["label"] == "proved") for row in rows)
    time = cg.complexity(PROBLEM, MEANS).characteristic_time
    for row in rows[:8]:
        level = make_threshold(row["threshold"], PROBLEM, [row["delta"]])
        assert row["shrink"] == 1.0 and row["answer"] == "w"
        end = row["limit"]
        assert (
            level.critical_value(int(end), 0) * time <= end
            and level.critical_value(int(end - 0.5), 0) * time > end - 0.5
        )
        assert row["bound"] == pytest.approx(math.log(1 / (2.4 * row["delta"])) * time, rel=1e-4)
        assert (
            row["q25"] <= row["median"] <= row["q75"] <= row["q90"]
            and row["errors"] == row["capped"] == 0
            and row["runs"] == 6
        )
    assert len(found.to_frame()) == len(rows)


@pytest.mark.compiled
def test_the_runs_are_those_of_simulate(found):
    sim = cg.simulate(
        PROBLEM, MEANS, rule="uniform", delta=[0.1, 0.01], threshold="stylised", runs=6
    )
    own = [
        row
        for row in found.rows()
        if (row["rule"], row["threshold"], row["shrink"]) == ("uniform", "stylised", 1.0)
    ]
    assert [row["mean"] for row in own] == sim.stopping_times.mean(axis=0).tolist()
    assert (
        cg.plan(
            PROBLEM,
            MEANS,
            delta=0.1,
            rules="uniform",
            thresholds="stylised",
            runs=6,
            jobs=2,
            gap_scales=1,
        ).rows()[0]["mean"]
        == own[0]["mean"]
    )


def test_smaller_gaps_take_their_inverse_square(found):
    one, half = found.scenarios
    assert half.complexity.characteristic_time == pytest.approx(
        4 * one.complexity.characteristic_time, rel=1e-3
    ) and half.means.mean() == pytest.approx(0.325)
    first, last = (next(r for r in found.rows() if r["shrink"] == s) for s in (1.0, 0.5))
    assert 2.0 < last["mean"] / first["mean"] < 8.0


def test_the_allocation_adds_up(found):
    arms, played = found.arms(), found.support()
    assert [row["arm"] for row in arms[:4]] == ["w", "x", "y", "z"] and len(arms) == 4 * 4
    assert sum(row["per_round"] for row in arms[:4]) == pytest.approx(2.0)
    own = [row for row in played if (row["threshold"], row["delta"]) == ("gaussian", 0.1)]
    assert sum(row["share"] for row in own) == pytest.approx(1.0)
    assert sum(row["plays"] for row in own) == pytest.approx(found.rows()[0]["limit"])
    assert arms[0]["values"] == pytest.approx(
        sum(row["plays"] for row in own if "w" in row["action"])
    )


def test_it_prints_a_table_and_one_sentence(found):
    text, rows = str(found), found.rows()
    assert text.splitlines()[-1] == str(found.sentence)
    own = [row for row in rows[:8] if (row["rule"], row["threshold"]) == ("ofw", "gaussian")]
    assert [row["delta"] for row in own] == [0.1, 0.01]
    runs = "half of the runs need between {q25:,.0f} and {q75:,.0f}"
    parts = (
        f"Expect about {{mean:,.0f}} rounds with ofw at delta = 0.1 and the proved threshold "
        f"({runs}), ",
        f"about {{mean:,.0f}} at delta = 0.01 ({runs}); ",
        "no rule can do it in fewer than {bound:,.0f} on average at delta = 0.1, ",
        "{bound:,.0f} at delta = 0.01.",
    )
    assert str(found.sentence) == "".join(
        part.format(**row) for part, row in zip(parts, own * 2, strict=True)
    )
    for words in (
        "x 0.5",
        "gaussian (proved)",
        "stylised (heuristic)",
        "Theorem 2 (b)",
        "w, x",
        "per round",
    ):
        assert words in text
    assert str(found.sentence) in repr(found)


def test_without_rules_nothing_is_simulated():
    for settings in ({"rules": None}, {"runs": 0, "thresholds": "stylised"}):
        plan = cg.plan(PROBLEM, MEANS, **settings)
        rows = plan.rows()
        assert len(rows) == 3 and {row["rule"] for row in rows} == {None} and "mean" not in rows[0]
        assert (
            plan.sentence.arguments["rounds"][0].code == "rounds-of-limit"
            and "runs" not in str(plan).splitlines()[0]
        )
        assert "at best" not in str(
            plan
        ) and "half or twice as many: without noise the optimal proportions take so many" in str(
            plan.sentence
        )
        json.dumps(plan.to_dict(), allow_nan=False)
        assert plan.plot().axes[0].lines


def test_coins_need_fewer_rounds_than_bounded_values():
    """As docs/thresholds.md says: least where both are near 1/2."""
    for pair, share in (([0.5, 0.4], 0.96), ([0.3, 0.2], 0.7), ([0.1, 0.05], 0.25)):
        bounded, coins = (
            cg.plan(cg.Problem(cg.Arms(2), None, rewards), pair, rules=None, gap_scales=1.0).rows()[
                0
            ]["limit"]
            for rewards in (cg.Bounded(0, 1), cg.Bernoulli())
        )
        assert coins / bounded == pytest.approx(share, abs=0.01)


def test_the_sentence_names_the_deltas_that_were_asked_and_no_other():
    alone = cg.plan(PROBLEM, MEANS, delta=0.1, rules="ofw", runs=3, gap_scales=1.0, engine="python")
    assert str(alone.sentence) == (
        "Expect about {mean:,.0f} rounds with ofw at delta = 0.1 and the proved threshold (half of "
        "the runs need between {q25:,.0f} and {q75:,.0f}); no rule can do it in fewer than "
        "{bound:,.0f} on average."
    ).format(**alone.rows()[0])
    several = str(cg.plan(PROBLEM, MEANS, delta=[0.1, 0.5], rules=None).sentence)
    assert ", some 16 at delta = 0.5, half or twice as many" in several
    assert several.endswith("fewer than 6 on average at delta = 0.1.")  # none is known at 0.5


@pytest.mark.compiled
def test_caps_and_heuristics_are_in_the_sentence():
    plan = cg.plan(
        PROBLEM,
        MEANS,
        delta=0.05,
        rules={"mine": cg.Uniform()},
        thresholds="stylised",
        runs=4,
        max_rounds=5,
        gap_scales=[1.0],
    )
    assert plan.rows()[0]["capped"] == 4 and plan.rows()[0]["rule"] == "mine"
    row, said = plan.rows()[0], str(plan.sentence)
    assert "Expect 5 rounds with mine" in said and "to be enough in 0% of 4 runs; the" in said
    assert f"leads at the end is the best in {row['right']:.0%} of them" in said
    assert row["certified"] == 0.0 and f"by {row['lead']:.3g} as it looks then" in said
    assert "certified" in str(plan).splitlines()[0]
    assert "the stylised (heuristic) threshold" in str(plan.sentence) and ">= 5" in str(plan)
    assert "fewer than" not in str(
        cg.plan(PROBLEM, MEANS, delta=0.5, rules=None).sentence
    )  # ln(1/(2.4 delta)) < 0: there is no bound


def test_a_rule_with_its_own_stopping_has_no_limit():
    plan = cg.plan(
        PROBLEM,
        MEANS,
        delta=0.1,
        rules=["gcb-pe"],
        thresholds=["proved"],
        runs=2,
        gap_scales=1.0,
        engine="python",
        max_rounds=3000,
    )
    row = plan.rows()[0]
    assert (
        row["limit"] is None
        and row["threshold"] != "gaussian"
        and row["label"] in ("proved", "heuristic")
    )
    assert row["threshold"] in plan.to_dict()["validity"] and str(plan) and plan.plot()


def test_bounded_rewards_do_not_claim_a_bound_for_every_rule():
    plan = cg.plan(
        cg.Problem(cg.Arms(3), None, cg.Bounded(0.0, 1.0)),
        [0.1, 0.05, 0.01],
        rules=None,
        gap_scales=1.0,
    )
    assert (
        "no rule" not in str(plan.sentence)
        and plan.rows()[0]["bound"] is None
        and str(plan)
        and plan.plot()
    )
    sim = cg.simulate(
        plan.problem,
        [0.9, 0.3, 0.1],
        rule="ofw",
        runs=2,
        engine="python",
        threshold="stylised",
        delta=0.1,
    )
    assert math.isnan(sim.summary()[0]["bound"]) and "no rule can" not in str(sim)


def test_another_best_answer_after_shrinking_is_said():
    problem = cg.Problem(cg.Listed([[0], [1, 2]], 3), None, cg.Gaussian(0.1))
    plan = cg.plan(
        problem, [1.0, 0.4, 0.4], rules=None, thresholds="stylised", gap_scales=[1.0, 0.1]
    )
    assert [case.answer for case in plan.scenarios] == [
        (0,),
        (1, 2),
    ] and "another answer is best: 1, 2 instead of 0" in str(plan)


def test_the_plot_has_a_line_per_rule_and_threshold_the_limits_and_the_bound(found):
    axis = found.plot().axes[0]
    labels = [line.get_label() for line in axis.lines]
    assert (
        len(labels) == 4 + 2 + 1
        and "ofw, gaussian (proved)" in labels
        and "limit, stylised (heuristic)" in labels
    )
    assert axis.get_xscale() == "log" and axis.get_yscale() == "log"


def test_with_epsilon_the_proportions_are_the_best_for_the_stopping_rule():
    """Against all proportions on a grid: Gaussian values with the spread of coins, and the leader
    lifted by epsilon.
    """
    problem, means, epsilon = cg.Problem(cg.Arms(3), rewards=cg.Bernoulli()), [0.6, 0.55, 0.3], 0.3
    found = cg.plan(problem, means, delta=0.05, rules=None, gap_scales=1.0, epsilon=epsilon)

    def evidence(a, b, c):
        return min(
            (means[0] + epsilon - x) ** 2 / (2 * 0.25 * (1 / a + 1 / w))
            for w, x in ((b, means[1]), (c, means[2]))
        )

    most = max(
        evidence(a / 60, b / 60, (60 - a - b) / 60) for a in range(1, 60) for b in range(1, 60 - a)
    )
    assert most <= 1 / found.scenarios[0].complexity.characteristic_time * (1 + 1e-6) <= 1.02 * most
    assert evidence(*found.scenarios[0].complexity.allocation) >= 0.999 * most
    (row,) = found.rows()
    assert row["bound"] is None and row["epsilon"] == epsilon
    assert (
        row["limit"]
        < 0.5
        * cg.plan(problem, means, delta=0.05, rules=None, gap_scales=1.0, epsilon=0.05).rows()[0][
            "limit"
        ]
    )
    assert "delta = 0.05, epsilon = 0.3 and the proved threshold" in str(
        found.sentence
    ) and "no rule can" not in str(found.sentence)


def test_with_epsilon_the_runs_are_those_of_simulate_and_ties_are_allowed():
    means, options = [0.5, 0.5, 0.1, 0.1], {"epsilon": 0.2, "seed": 3, "engine": "python"}
    found = cg.plan(
        PROBLEM, means, delta=0.1, runs=4, gap_scales=[1.0, 0.5], progress=False, **options
    )
    runs = cg.simulate(
        PROBLEM, means, rule="frank-wolfe", delta=0.1, threshold="mixture", runs=4, **options
    )
    assert found.scenarios[0].simulations[0].rounds.ravel().tolist() == runs.rounds.tolist()
    first = found.rows()[0]
    quartiles = [first[name] for name in ("q25", "median", "q75")]
    assert quartiles == np.percentile(runs.rounds, [25, 50, 75]).tolist()
    assert [row["errors"] for row in found.rows()] == [0, 0] and all(
        row["limit"] < math.inf for row in found.rows()
    )


def test_what_cannot_be_planned_is_said_in_a_sentence():
    must_be = {
        "rules": [],
        "thresholds": [],
        "runs": -1,
        "jobs": 0,
        "max_rounds": 0,
        "seed": -1,
        "gap_scales": 0.0,
        "epsilon": -1.0,
        "delta": 1.5,
    }
    for name, value in must_be.items():
        with refused("must-be", name=name, value=value):
            cg.plan(PROBLEM, MEANS, **{name: value})
    with refused("must-be", of="plan", name="gap_scales", value="half"):
        cg.plan(PROBLEM, MEANS, gap_scales="half")
    with refused("must-be", of="plan", name="problem"):
        cg.plan(MEANS, PROBLEM)
    for kind, how in (
        ("rule", {"rules": "best"}),
        ("threshold", {"thresholds": "sure"}),
        ("engine", {"engine": "gpu", "runs": 1}),
    ):
        (name, *_) = how.values()
        with refused("unknown", cg.UnknownNameError, kind=kind, name=name):
            cg.plan(PROBLEM, MEANS, **how)
    with refused("tie", cg.TieError, best="w", rival="x"):
        cg.plan(PROBLEM, [0.5, 0.5, 0.1, 0.1])
    with refused("epsilon-needs-mixture", epsilon=0.1, threshold="stylised"):
        cg.plan(PROBLEM, MEANS, thresholds="stylised", epsilon=0.1)
    wide = {"what": "means with gaps x 3", "arm": "0", "low": 0.0, "high": 1.0}
    with refused("mean-outside", **wide) as caught:
        coins = cg.Problem(cg.Arms(2), None, cg.Bernoulli())
        cg.plan(coins, [0.9, 0.2], rules=None, gap_scales=[3.0])
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.compiled
def test_the_command_line_prints_the_same(tmp_path):
    path = tmp_path / "four.toml"
    path.write_text(FILE + TRUTH)
    options = [
        "--delta",
        "0.1",
        "--delta",
        "0.01",
        "--rule",
        "uniform",
        "--threshold",
        "stylised",
        "--runs",
        "5",
        "--gap-scales",
        "1",
    ]
    expected = cg.plan(
        PROBLEM,
        MEANS,
        delta=[0.1, 0.01],
        rules="uniform",
        thresholds="stylised",
        runs=5,
        gap_scales=1.0,
    )
    result = CliRunner().invoke(
        app, ["plan", str(path), *options, "--plot", str(tmp_path / "picture")]
    )
    assert result.exit_code == 0 and str(expected) in result.output
    assert (tmp_path / "picture.png").exists() and (tmp_path / "picture.svg").exists()
    told = json.loads(CliRunner().invoke(app, ["plan", str(path), *options, "--json"]).stdout)
    assert told == json.loads(json.dumps(expected.to_dict()))
    loose = CliRunner().invoke(app, ["plan", str(path), "--runs", "0", "--epsilon", "0.1"])
    assert (
        loose.exit_code == 0
        and str(cg.plan(PROBLEM, MEANS, rules=None, epsilon=0.1)) in loose.output
    )
    quick = CliRunner().invoke(app, ["plan", str(path), "--runs", "0"])
    assert quick.exit_code == 0 and "Expect some" in quick.output


def test_the_command_line_ends_with_a_sentence_and_2_on_errors(tmp_path):
    path = tmp_path / "four.toml"
    path.write_text(FILE + TRUTH)
    command = [sys.executable, "-c", "from combgame.cli.app import main; main()"]
    ended = subprocess.run(
        [*command, "plan", str(path), "--rule", "best"], capture_output=True, text=True
    )
    assert ended.returncode == 2 and ended.stderr.startswith("combgame: ")
    assert ended.stderr.count("\n") == 1
    path.write_text(FILE)
    with refused("truth-missing", cg.InputError, path=str(path)):
        CliRunner().invoke(app, ["plan", str(path)], catch_exceptions=False)


def test_who_leads_when_the_budget_ends_is_counted_by_hand():
    settings = {"rule": "uniform", "delta": [0.1, 0.01], "runs": 12, "seed": 3, "engine": "python"}
    sim = cg.simulate(PROBLEM, MEANS, max_rounds=12, **settings)
    for delta in (0.1, 0.01):
        one = sim.at(delta)
        runner = Runner(RunSpec(PROBLEM, MEANS, "uniform", [0.1, 0.01], "mixture", 3, 12, "python"))
        right = []
        for i in range(12):
            mine = runner.numbers(i)
            run = runner.begin(i, mine)
            run.advance(12)
            leads = np.flatnonzero(mine.theirs(run.state.leader)).tolist() == [
                int(np.argmax(MEANS))
            ]
            right.append(bool(one.correct[i]) if not one.capped[i] else leads)
            if one.capped[i]:
                means = mine.theirs(run.stats.mean)
                gap = np.sort(means)[-1] - means[np.flatnonzero(mine.theirs(run.state.rival))[0]]
                assert sim.final_leads[i] == pytest.approx(gap)
        assert one.leader_correct.tolist() == right
        capped = one.capped
        if capped.any():
            assert one.leader_accuracy == pytest.approx(np.array(right)[capped].mean())
            assert f"of the {capped.sum()} runs that were capped" in str(one)
