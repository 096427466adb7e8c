"""Campaigns: the same rows wherever they are made, and nothing computed twice."""

import sqlite3

import pytest
from scipy.stats import binomtest

import combgame as cg
from combgame._display import progress
from combgame.research.campaign import execution as execute
from combgame.research.campaign.report import show
from combgame.research.campaign.store import open_store
from combgame.simulation.result import error_interval
from combgame.simulation.runner import Runner
from tests.campaigns import MEANS, PROBLEM, count, table, tiny, unmeasured, whole_table

# ---- the same rows everywhere


@pytest.mark.compiled
def test_rows_do_not_depend_on_the_engine_and_are_those_of_simulate(tmp_path):
    campaign = tiny()
    for engine in ("python", "compiled"):
        campaign.run(tmp_path / f"{engine}.db", engine=engine)
    found = table(tmp_path / "python.db")
    assert len(found) == 2 * 6 * 2 and found == table(tmp_path / "compiled.db")
    for rule in ("ofw", "uniform"):
        sim = cg.simulate(
            PROBLEM,
            MEANS,
            rule=rule,
            delta=[0.1, 0.01],
            threshold="stylised",
            runs=6,
            engine="python",
        )
        for delta in (0.1, 0.01):
            lines = [line for line in found if line["rule"] == rule and line["delta"] == delta]
            assert [line["rounds"] for line in lines] == sim.at(delta).rounds.tolist()
            assert [tuple(map(int, line["answer"].split())) for line in lines] == sim.at(
                delta
            ).answers
            assert [line["correct"] for line in lines] == sim.at(delta).correct.tolist()


def test_capped_runs_have_no_answer(tmp_path):
    lines = tiny(runs=3, rules=["uniform"], max_rounds=3, delta=(1e-8, 1e-9)).run(
        tmp_path / "a.db", engine="python"
    )
    assert [line["capped"] for line in lines] == [3, 3]
    assert [line["mean"] for line in lines] == [3.0, 3.0]
    assert {
        (line["answer"], line["correct"], line["capped"]) for line in table(tmp_path / "a.db")
    } == {("", False, True)}


def test_rows_do_not_depend_on_the_processes(tmp_path):
    campaign = tiny(runs=12)
    campaign.run(tmp_path / "two.db", jobs=2, engine="python")
    assert table(tmp_path / "two.db") == whole_table(campaign, tmp_path)


# ---- going on


@pytest.fixture
def made(monkeypatch):
    """The numbers of the runs that are made in this process, in their order."""
    numbers, one = [], Runner.run

    def counted(self, number):
        numbers.append(number)
        return one(self, number)

    monkeypatch.setattr(Runner, "run", counted)
    return numbers


def test_a_campaign_that_was_cut_off_anywhere_ends_with_the_same_table(tmp_path, monkeypatch, made):
    campaign, one = tiny(runs=5), Runner.run
    expected = whole_table(campaign, tmp_path)
    for end in range(10):
        path, calls = tmp_path / f"{end}.db", iter(range(end))

        def cut_off(self, number, calls=calls):
            if next(calls, None) is None:
                raise KeyboardInterrupt
            return one(self, number)

        with monkeypatch.context() as patch:
            patch.setattr(Runner, "run", cut_off)
            with pytest.raises(KeyboardInterrupt):
                campaign.run(path, engine="python")
        stored = count(path)
        assert stored <= end and (
            stored > 0 or end < 2
        )  # the first run of each rule is stored by itself
        made.clear()
        campaign.run(path, engine="python")
        assert len(made) == 10 - stored and table(path) == expected


def test_what_is_stored_is_not_made_again(tmp_path, made):
    tiny(runs=5).run(tmp_path / "a.db", engine="python")
    made.clear()
    before = tiny(runs=5).run(tmp_path / "a.db", engine="python")
    assert made == [] and [line["runs"] for line in before] == [5] * 4
    after = tiny(runs=9).run(tmp_path / "a.db", engine="python")
    assert sorted(made) == sorted([5, 6, 7, 8] * 2) and [line["runs"] for line in after] == [9] * 4
    assert table(tmp_path / "a.db") == whole_table(tiny(runs=9), tmp_path)
    fewer = tiny(runs=5).run(
        tmp_path / "a.db", engine="python"
    )  # of nine stored ones, the five that were asked for
    assert unmeasured(fewer) == unmeasured(before)


def test_holes_are_filled(tmp_path, made):
    """Runs may be stored in any order."""
    campaign = tiny(runs=9, rules=["uniform"])
    expected = whole_table(campaign, tmp_path)
    with open_store(tmp_path / "a.db", "tiny")[0] as file:
        file.register(campaign, execute.references(campaign.configurations, file))
        for first in (1, 4, 7):
            file.add(
                execute.run_chunk(campaign.configurations[0], first, 2, "python", execute.here())
            )
    made.clear()
    campaign.run(tmp_path / "a.db", engine="python")
    assert sorted(made) == [0, 3, 6] and table(tmp_path / "a.db") == expected


def test_two_campaigns_may_share_a_file(tmp_path, made):
    first, second = (
        tiny(runs=4),
        tiny(runs=6, rules={"mine": "uniform", "hedge": "hedge"}, name="second"),
    )
    one = first.run(tmp_path / "a.db", engine="python")
    made.clear()
    two = second.run(tmp_path / "a.db", engine="python")
    assert len(made) == 2 + 6  # uniform has four runs already
    assert [line["rule"] for line in two] == ["mine"] * 2 + ["hedge"] * 2
    assert [line["runs"] for line in two] == [6] * 4
    made.clear()
    assert unmeasured(first.run(tmp_path / "a.db", engine="python")) == unmeasured(one)
    assert made == []
    assert {line["rule"] for line in table(tmp_path / "a.db")} == {"ofw", "uniform", "hedge"}
    both = first + second
    assert len(both.configurations) == 3


def test_a_chunk_that_comes_twice_is_stored_once(tmp_path):
    campaign = tiny(runs=4, rules=["uniform"])
    campaign.run(tmp_path / "a.db", engine="python")
    before = table(tmp_path / "a.db")
    with open_store(tmp_path / "a.db")[0] as file:
        file.add(execute.run_chunk(campaign.configurations[0], 2, 2, "python", execute.here()))
        file.add(execute.run_chunk(campaign.configurations[0], 3, 2, "python", execute.here()))
    after = table(tmp_path / "a.db")
    assert (
        after[: len(before)] == before and len(after) == len(before) + 2
    )  # run 4 is new, for two deltas


# ---- figures, identities, progress


def test_the_interval_of_the_error_rate_is_exact():
    several = [(e, n) for n in range(1, 13) for e in range(n + 1)] + [
        (0, 750),
        (3, 750),
        (49, 1000),
        (999, 1000),
        (10**4, 10**5),
    ]
    for errors, runs in several:
        exact = binomtest(errors, runs).proportion_ci(0.95, method="exact")
        assert error_interval(errors, runs) == pytest.approx(
            (exact.low, exact.high), rel=1e-9, abs=1e-12
        ), (errors, runs)


def key(problem=PROBLEM, means=MEANS, rule="ofw", name="four", x=None, **settings):
    instance, label = cg.Instance(name, problem, means, x), settings.pop("label", "label")
    campaign = cg.Campaign.cross(
        "c", [instance], {label: rule}, **{"delta": 0.1, "threshold": "stylised", **settings}
    )
    return campaign.configurations[0].key


def test_names_do_not_make_another_run():
    usual, alike = key(), key(rule=cg.CombGame(cg.OFW()))
    named = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1), names=["a", "b", "c", "d"])
    assert usual == key(named) == key(name="other", x=3.0) == key(label="mine") == alike
    assert usual == key(means=dict(enumerate(MEANS))) == key(delta=[0.1]) == key(runs=7)
    assert key(threshold="proved") == key(threshold="gaussian")


def test_nor_do_names_of_nodes_and_edges():
    def key_of(actions, sigma=1.0):
        problem = cg.Problem(actions, None, cg.Gaussian(sigma))
        return key(problem, (0.5, 0.4, 0.3), threshold="proved")

    plain = cg.Paths([("s", "a"), ("a", "t"), ("s", "t")], "s", "t")
    named = cg.Paths([(1, 2, "x"), (2, 9, "y"), (1, 9, "z")], 1, 9)
    other = cg.Paths([("s", "t"), ("s", "a"), ("a", "t")], "s", "t")
    assert key_of(plain) == key_of(named) != key_of(other)
    trees = [
        cg.SpanningTrees(edges)
        for edges in ([("a", "b"), ("b", "c"), ("a", "c")], [(5, 4), (4, 3), (5, 3)])
    ]
    assert key_of(trees[0]) == key_of(trees[1])
    assert key_of(cg.Arms(3)) == key_of(cg.Arms(3), 1)


def test_whatever_determines_a_run_makes_another():
    sigma = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.2))
    boxed = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1), bounds=(0.0, 1.0))
    others = [
        key(),
        key(delta=0.05),
        key(delta=[0.1, 0.05]),
        key(seed=1),
        key(threshold="proved"),
        key(means=(0.5, 0.3, 0.2, 0.15)),
        key(sigma),
        key(boxed),
        key(cg.Problem(cg.Subsets(4, 3), cg.Arms(4), cg.Gaussian(0.1))),
        key(cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))),
        key(max_rounds=10),
        key(rule="uniform"),
        key(rule=cg.CombGame(cg.OFW(), tracking="D")),
        key(rule=cg.CombGame(cg.OFW(sparsify=False))),
    ]
    assert len(set(others)) == len(others)


def test_progress_says_the_rate_and_the_time_left(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_terminal", lambda: True)
    tiny(runs=30).run(tmp_path / "a.db", engine="python", progress=True)
    err = capsys.readouterr().err
    assert "tiny: 100%" in err and "60/60 runs" in err and "runs/s" in err and "left" in err
    tiny(runs=40).run(tmp_path / "a.db", engine="python", progress=True)
    assert "tiny:  75%" in capsys.readouterr().err  # what is stored counts
    monkeypatch.undo()
    tiny(runs=41).run(tmp_path / "a.db", engine="python")
    tiny(runs=42).run(tmp_path / "a.db", engine="python", progress=False)
    assert capsys.readouterr().err == ""  # not a terminal


def test_runs_made_by_other_sources_are_mentioned(tmp_path):
    campaign, said = tiny(runs=2), []
    campaign.run(tmp_path / "a.db", engine="python")
    with sqlite3.connect(tmp_path / "a.db") as db:
        db.execute("UPDATE chunks SET sources = '0.0.1 (somewhere else)'")
    db.close()
    tiny(runs=3).run(tmp_path / "a.db", engine="python", say=said.append)
    assert len(said) == 1
    assert "has runs that were made by 0.0.1 (somewhere else)" in said[0]
    assert execute.here() in said[0]


def one_report(problem, means, folder):
    how = {"runs": 2, "delta": 0.1, "threshold": "proved"}
    campaign = cg.Campaign.cross("c", [cg.Instance("i", problem, means)], ["uniform"], **how)
    return campaign.run(folder / "a.db", engine="python")


def test_bounds_that_decide_the_answer_are_no_trouble(tmp_path):
    problem = cg.Problem(cg.Arms(2), None, cg.Gaussian(1.0), bounds=[(0.6, 1.0), (0.0, 0.5)])
    assert one_report(problem, (0.8, 0.2), tmp_path)[0]["ratio"] is None
    how = {"runs": 2, "engine": "python", "delta": 0.1, "threshold": "proved"}
    assert str(cg.simulate(problem, [0.8, 0.2], rule="uniform", **how))


def test_bounded_rewards_have_no_bound_that_holds_for_every_rule(tmp_path):
    problem = cg.Problem(cg.Arms(2), None, cg.Bounded(0.0, 1.0))
    report = one_report(problem, (0.9, 0.1), tmp_path)
    assert report[0]["bound"] is None
    assert all(show(report, form) for form in ("text", "markdown", "csv", "json"))
