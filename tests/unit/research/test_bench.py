"""combgame bench: who meets whom, the profile, the page, going on where it ended."""

import importlib
import linecache
import math
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import combgame as cg
from combgame.cli.app import app
from combgame.research import instances
from combgame.research.benchmark import RULES, bench, contest
from combgame.research.benchmark.contest import cap, imported_rule, imported_threshold
from combgame.research.benchmark.profile import places, ranked, share
from combgame.research.benchmark.report import as_html, as_markdown, comparison_verdict, undecided
from combgame.research.campaign.execution import ConfigurationProgress, Coordinator
from combgame.research.campaign.executors import WorkerPool
from combgame.research.campaign.store import open_store
from combgame.research.instances import PublishedInstance
from combgame.rules import Uniform
from tests.said import refused


def small(name="three arms", lead=1.0):
    problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(1.0))
    source = "made for a test"
    return PublishedInstance(name, problem, (lead, 0.0, -1.0), 3, "arms", source, "2026")


WHERE = [small(), small("three more", 2.0)]


def row(instance, rule, mean, error=1.0, capped=0):
    about = {"instance": instance, "rule": rule, "mean": mean, "standard_error": error}
    rest = {"threshold": "stylised", "label": "heuristic", "delta": 0.1, "runs": 300, "errors": 0}
    rest |= {"error_rate": 0.0, "time": 5.0, "limit": 20.0, "ratio": mean / 20.0}
    return {**about, **rest, "capped": capped, "us_per_round": 1.5}


def test_a_bench_runs_writes_a_page_and_goes_on(tmp_path):
    how = {"rules": ["uniform", "frank-wolfe"], "instances": WHERE}
    few, more = (contest("arms", runs=runs, **how) for runs in (2, 3))
    bench(few, tmp_path, engine="python", progress=False)
    with open_store(tmp_path / "bench.db")[0] as store:
        before = {c["key"]: list(store.rows(c["key"])) for c in store.configurations()}
    rows = bench(more, tmp_path, engine="python", progress=False)
    with open_store(tmp_path / "bench.db")[0] as store:
        after = {c["key"]: list(store.rows(c["key"])) for c in store.configurations()}
    assert len(before) == 4 and all(len(kept) == 2 for kept in before.values())
    assert all(after[key][:2] == kept and len(after[key]) == 3 for key, kept in before.items())
    text, page = (tmp_path / "bench.md").read_text(), (tmp_path / "bench.html").read_text()
    for said in ("2 rules on 2 instances", "3 runs each", "stylised (heuristic)", "three more"):
        assert said in text and said in page
    mean = next(r["mean"] for r in rows if (r["instance"], r["rule"]) == ("three arms", "uniform"))
    assert f"{mean:,.0f} ± " in text and "made for a test" in text and "profile.svg" in text
    assert "<svg" in page and "<script" not in page and not re.search('(src|href)="[^#]', page)
    assert (tmp_path / "profile.svg").exists() and (tmp_path / "bench.csv").exists()


def test_a_bench_so_far_makes_no_runs_and_says_which_lines_are_short(tmp_path):
    how = {"rules": ["uniform", "frank-wolfe"], "instances": WHERE}
    whole = contest("arms", runs=12, **how)
    keys = {c.key for c in whole.campaign.configurations[:2]}  # one instance is not begun
    some = [c if c.key in keys else replace(c, runs=1) for c in whole.campaign.configurations]
    some[0] = replace(some[0], runs=10)
    replace(whole.campaign, configurations=tuple(some)).run(
        tmp_path / "bench.db", engine="python", progress=False
    )
    with refused("bench-empty", cg.InputError, least=10):
        bench(contest("arms", ["ofw"], runs=3, instances=WHERE), tmp_path, so_far=True)
    with refused("bench-empty", cg.InputError):
        bench(whole, tmp_path / "nowhere", so_far=True)
    assert not (tmp_path / "nowhere").exists()
    rows = bench(whole, tmp_path, engine="python", progress=False, so_far=True)
    assert [(one["rule"], one["runs"]) for one in rows] == [("uniform", 10), ("frank-wolfe", 12)]
    text = (tmp_path / "bench.md").read_text()
    assert "10 to 12 runs each" in text
    assert "| uniform | three arms (10), three more (none) |" in text
    assert "| frank-wolfe | three more (none) |" in text
    assert "frank-wolfe, on 1 instance: within 1.1 of the best rule beyond doubt on" in text
    assert re.search(r"\| frank-wolfe \| .* \| 1 \|", text)  # what is not made is no failure
    assert "--so-far" not in text  # the command is the caller's
    with open_store(tmp_path / "bench.db")[0] as store:
        assert sum(len(store.rows(c["key"])) for c in store.configurations()) == 24


def test_what_is_open_is_decided_with_more_runs_of_those_who_may_be_best(tmp_path):
    problem = cg.Problem(cg.Arms(8), None, cg.Gaussian(1.0))  # of which uniform wastes most rounds
    wide = PublishedInstance(
        "wide", problem, (1.0, 0.0, *[-3.0] * 6), 8, "arms", "a test's", "2026"
    )
    how = {"rules": ["uniform", "frank-wolfe", "clucb"], "instances": [WHERE[0], wide]}
    made = contest("arms", runs=12, **how)
    first = bench(made, tmp_path, engine="python", progress=False)
    assert "could not tell" not in (tmp_path / "bench.md").read_text()
    want = undecided(made, first, 30)
    found = [one for one in places(first, made.rules) if one.rule == "frank-wolfe"]
    known = {(one.instance, rule) for one in found for rule in (one.rule, *one.against)}
    assert {(c.instance.name, c.label) for c in want} == known and all(c.runs == 30 for c in want)
    assert [one.verdict for one in found] == ["open", "open"] and len(want) < len(first)
    again = bench(made, tmp_path, engine="python", progress=False, decide=30)
    runs = {row["key"]: row["runs"] for row in again}
    assert [row["key"] for row in again] == [row["key"] for row in first]
    assert all(runs[c.key] == 30 for c in want)
    assert sum(runs.values()) == 12 * len(first) + 18 * len(want)
    text = (tmp_path / "bench.md").read_text()
    some = f"{len(want)} lines of {len(first)} have more than 12 runs, because so many could not"
    assert "12 to 30 runs each" in text and some in text
    assert "fewer runs" not in text
    assert bench(made, tmp_path, progress=False, so_far=True, decide=30) == again
    assert undecided(made, first, 12) == ()  # they have these
    with refused("must-be", cg.InputError, name="decide", least=13):
        bench(made, tmp_path, progress=False, decide=12)


def test_only_rules_that_the_page_asks_about_are_decided():
    made = contest("arms", ["uniform", "clucb"], runs=2, instances=WHERE)
    rows = [row("three arms", "uniform", 100.0, 9.0), row("three arms", "clucb", 105.0, 9.0)]
    assert undecided(made, rows, 3000) == ()


def test_a_campaign_makes_first_what_is_nearly_complete():
    cheap, dear, new = (
        ConfigurationProgress(None, [0] * 10, 0.1),
        ConfigurationProgress(None, [0], 2.0),
        ConfigurationProgress(None, [0, 1]),
    )
    driver = Coordinator(None, WorkerPool(1, None), [dear, cheap, new], "python", None)
    assert driver._next([])[0] is cheap
    cheap.missing = []
    assert driver._next([])[0] is dear


def test_runs_are_relabelled_and_capped_by_the_characteristic_time():
    made = contest("arms", ["uniform"], runs=1, instances=WHERE)
    one = made.campaign.configurations[0]
    assert one.shuffle_arms and one.max_rounds == cap(WHERE[0]) >= 1000
    far = instances.find("linear, d = 30")
    assert 100 * far.time <= cap(far) <= 110 * far.time


def test_the_profile_counts_who_is_near_the_best():
    rows = [row("a", "x", 100.0), row("a", "y", 109.0), row("b", "x", 300.0), row("b", "y", 100.0)]
    rows.append(row("b", "z", 50.0, capped=3))  # no mean at all: its runs did not end
    found = places(rows, "xyz")
    ratios = {(one.instance, one.rule): one.ratio for one in found}
    assert ratios["a", "z"] == math.inf and ratios["b", "y"] == 1.0 and ratios["b", "x"] == 3.0
    assert [share(found, rule, 1.1) for rule in "xyz"] == [0.5, 1.0, 0.0]
    assert ranked(found, "xyz")[0] == "y"


def test_a_verdict_accounts_for_the_noise():
    for mean, error, said in (
        (105.0, 1.0, "yes"),
        (130.0, 5.0, "no"),
        (112.0, 2.0, "open"),
        (None, 0.0, "no"),
    ):
        rows = [row("a", "y", 100.0)]
        if mean is not None:
            rows.append(row("a", "x", mean, error))
        one = next(one for one in places(rows, "xy") if one.rule == "x")
        assert one.verdict == said, mean
        text, counts = comparison_verdict([one], "x"), {"yes": 0, "no": 0, "open": 0, said: 1}
        assert f"beyond doubt on {counts['yes']}, not so on {counts['no']}" in text
        assert f"on {counts['open']} these runs cannot tell" in text and "2.5%" in text


@pytest.mark.parametrize(("rivals", "runs"), [(1, 300), (3, 12), (16, 300)])
def test_on_the_border_a_verdict_is_seldom_wrong(rivals, runs):
    """One rule whose true mean is 110, and others of 100, of stopping times as skewed as ours: it
    is on the border, so that "yes" and "no" are both to be rare. 2.5 % of each are expected at most
    (of the mean of 12 such times a few more, for it is not quite normal); with 1,000 trials, more
    than 5 % (8 %) have a chance below 1e-5. By the least mean and 1.96 errors it was "no" in 16 %.
    """
    rng, found = np.random.default_rng(3), []
    true = np.r_[110.0, np.full(rivals, 100.0)]
    for _ in range(1000):
        times = (
            rng.gamma(1.8, 1 / 1.8, (runs, rivals + 1)) * true
        )  # a deviation of 0.75 of the mean
        means, errors = times.mean(axis=0), times.std(axis=0, ddof=1) / math.sqrt(runs)
        rows = [row("a", str(i), means[i], errors[i]) | {"runs": runs} for i in range(rivals + 1)]
        found.append(places(rows, ["0"])[0].verdict)
    most = 50 if runs == 300 else 80
    assert found.count("yes") <= most and found.count("no") <= most


def test_a_lucky_win_is_not_beyond_doubt():
    """The least mean of all is not near the best by that alone: a rival within the noise may be
    much better.
    """
    rows = [row("a", "x", 100.0, 8.0), row("a", "y", 104.0, 8.0), row("a", "z", 300.0, 8.0)]
    one = places(rows, "x")[0]
    assert (one.ratio, one.verdict, one.against) == (1.0, "open", ("y",))


def test_what_has_not_been_run_is_open_and_makes_nobody_near():
    """Nor is a rule whose runs were given up a yardstick."""
    rows = [row("a", "x", 100.0), row("a", "y", 200.0), row("b", "y", 100.0)]
    found = {(one.rule, one.instance): one.verdict for one in places(rows, "xy", {("x", "b")})}
    assert found == {("x", "a"): "yes", ("y", "a"): "no", ("x", "b"): "open", ("y", "b"): "open"}
    assert [one.verdict for one in places(rows, "xy", {("z", "a")})][:2] == ["open", "no"]
    rows = [row("a", "x", 100.0), row("a", "y", 20.0, capped=2)]
    assert [one.verdict for one in places(rows, "xy")] == ["yes", "no"]


def test_a_single_run_says_no_more_than_it_can():
    rows = [row("a", "x", 10.0, None), row("a", "y", 11.5, None)]
    assert [one.verdict for one in places(rows, "xy")] == ["open", "open"]
    text = as_markdown(contest_of(rows), rows, "c", "s", "p.svg")
    assert "| 10 | 12 |" in text and not re.search(r"\d ± ", text)


def contest_of(rows):
    made = contest("arms", ["uniform"], runs=1, instances=[small("a")])
    return made._replace(rules=tuple(dict.fromkeys(one["rule"] for one in rows)))


def test_who_cannot_take_part_is_named_with_the_reason():
    sets = [instances.find("matchings 3 x 3, seed 1"), instances.find("E25")]
    made = contest("sets", ["product-adahedge", "adahedge"], runs=1, instances=sets)
    gone = {(one.rule, one.instance): one.why for one in made.absent}
    assert set(gone) == {
        ("product-adahedge", "matchings 3 x 3, seed 1"),
        ("adahedge", "E25"),
    }
    assert "more than 20,000" in gone["adahedge", "E25"]
    rows = [row("matchings 3 x 3, seed 1", "adahedge", 9.0), row("E25", "product-adahedge", 9.0)]
    text = as_markdown(made, rows, "c", "s", "p.svg")
    assert "Who could not take part" in text and "no closed form" in text
    assert "P-FWS" in text and "1,501" in as_html(made, rows, "c", "s")


MINE = """
from dataclasses import dataclass, replace
from typing import NamedTuple
import combgame as cg
from combgame.rules import Uniform

@dataclass(frozen=True)
class Mine(Uniform):
    pass

@dataclass(frozen=True)
class Fixed(cg.RuleBase):
    def bind(self, problem):
        return Uniform().bind(problem)

class Needy(Uniform):
    def __init__(self, number):
        pass

class Plain:
    pass

class Level(NamedTuple):
    base: float

    def critical_value(self, t, index):
        return self.base

@dataclass(frozen=True)
class Late(cg.StoppingBase):
    def kernel(self, problem, deltas):
        return Level(5.0)

broken = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "my_bench_rules.py").write_text(MINE)
    (tmp_path / "my_bench_slip.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "my_bench_rules"
    for name in ("my_bench_rules", "my_bench_slip"):
        sys.modules.pop(name, None)


def test_a_rule_of_ones_own_is_imported_and_comes_first(module):
    rule = imported_rule(f"{module}:Mine")
    made = contest("arms", ["uniform"], rule, runs=1, instances=WHERE)
    assert made.rules == ("Mine()", "uniform") and made.mine == "Mine()"


def test_an_edited_rule_has_no_runs_yet(module, tmp_path):
    def keys():
        sys.modules.pop(module, None)
        linecache.clearcache()
        importlib.invalidate_caches()
        mine = imported_rule(f"{module}:Mine")
        made = contest("arms", ["uniform"], mine, runs=1, instances=WHERE)
        return [c.key for c in made.campaign.configurations]

    first = keys()
    (tmp_path / f"{module}.py").write_text(MINE + "\nprint()  # nothing that it defines\n")
    assert keys() == first
    (tmp_path / f"{module}.py").write_text(MINE.replace("pass", "sharp = 1", 1))
    now = keys()
    assert now[0] != first[0] and now[1] == first[1]  # ours is what it was


def test_what_cannot_be_imported_is_said(module):
    for path, code in (
        ("my_bench_rules", "must-be"),
        ("my_bench_rules:Other", "unknown"),
        ("my_bench_rules:broken", "not-of-its-kind"),
        ("my_bench_rules:Plain", "not-of-its-kind"),
        ("my_bench_rules:Needy", "needs-arguments"),
        ("my_bench_slip:Mine", "not-imported"),
        ("my_bench_nowhere:Mine", "not-imported"),
    ):
        with refused(code, cg.CombGameError):
            imported_rule(path)


def test_a_stopping_rule_of_ones_own_is_imported(module):
    made = imported_threshold(f"{module}:Late")
    assert isinstance(made, cg.StoppingBase) and imported_threshold("mixture") == "mixture"
    played = contest("arms", ["uniform"], threshold=made, runs=1, instances=WHERE)
    assert all(c.threshold == made for c in played.campaign.configurations)
    with refused("not-of-its-kind", what="threshold"):
        imported_threshold(f"{module}:Mine")
    with refused("not-imported", what="threshold"):
        imported_threshold("my_bench_nowhere:Late")


def test_the_shell_imports_what_a_study_was_stored_with(module, tmp_path):
    made, there = imported_threshold(f"{module}:Late"), f"sqlite:///{tmp_path / 'lab.db'}"
    problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(0.3))
    cg.Study(problem, threshold=made, storage=there, name="mine").close()
    shell = [sys.executable, "-c", "from combgame.cli.app import main; main()"]
    asked = [*shell, "study", "status", "-s", there, "--name", "mine"]
    done = subprocess.run(asked, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and f"combgame --import {module}" in done.stderr
    asked[3:3] = ["--import", module]
    done = subprocess.run(asked, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "threshold Late()" in done.stdout, done.stderr


@dataclass(frozen=True)
class Picky(Uniform):
    def bind(self, problem):
        raise cg.InputError("only for trees.")


def test_a_rule_of_ones_own_that_does_not_fit_is_refused():
    with refused("cannot-take-part", cg.InputError, instance="three arms", rule="Picky()"):
        contest("arms", ["uniform"], Picky(), runs=1, instances=WHERE)


def test_unknown_names_are_refused_and_every_rule_for_a_confidence_takes_part():
    for how, kind in (({"name": "nowhere"}, "suite"), ({"rules": ["csar"]}, "rule")):
        with refused("unknown", cg.UnknownNameError, kind=kind):
            contest(**how)
    assert "frank-wolfe" in RULES and "uniform" in RULES and "csar" not in RULES


@pytest.mark.compiled
def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys.modules["combgame.research.benchmark.contest"], "suite", lambda name: WHERE
    )
    given = ["bench", "--suite", "arms", "--rules", "uniform", "--runs", "2", "--out"]
    result = CliRunner().invoke(app, [*given, str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "1 rule on 2 instances" in result.output and "uniform" in result.output
    text = Path(tmp_path / "out" / "bench.md").read_text()
    assert "combgame bench --suite arms --runs 2" in text and str(tmp_path) not in text


def test_published_figures_stand_beside_what_was_played_to_the_end():
    """Nothing, where no rule of the page can play; and no mean of runs that were given up."""
    known = replace(small("E", 3.0), published=(("theirs", 10.0), ("P-FWS", 9.0)))
    made = contest("arms", ["uniform", "frank-wolfe"], runs=1, instances=[*WHERE, known])
    rows = [row("three arms", "uniform", 30.0)]
    assert "Published figures" not in as_markdown(made, rows, "c", "s", "p.svg")
    rows += [row("E", "uniform", 5.0, capped=3), row("E", "frank-wolfe", 20.0)]
    text = as_markdown(made, rows, "c", "s", "p.svg")
    table = text[text.index("Published figures") :]
    assert "theirs | 10 |  | frank-wolfe: 20" in table
    assert "P-FWS | 9 |  | frank-wolfe: 20" in table  # which did not play here
    rows.append(row("E", "p-fws", 40.0))
    made = contest("arms", ["uniform", "frank-wolfe", "p-fws"], runs=1, instances=[*WHERE, known])
    text = as_markdown(made, rows, "c", "s", "p.svg")
    assert re.search(r"P-FWS \| 9 \| p-fws: 40.* \| frank-wolfe: 20", text)


def test_who_is_watched_and_who_keeps_its_numbers_is_said(module):
    rows = [row("three arms", "Fixed()", 30.0), row("three arms", "uniform", 30.0)]
    ours = contest("arms", ["uniform"], cg.CombGame(tracking="D"), runs=1, instances=WHERE)
    text = as_markdown(ours, rows, "c", "s", "p.svg")
    assert "is watched" not in text and "the arms are relabelled in every run. A run" in text
    mine = imported_rule(f"{module}:Fixed")
    made = contest("arms", ["uniform"], mine, runs=1, instances=WHERE)
    text = as_markdown(made, rows, "c", "s", "p.svg")
    assert "Fixed() is watched in every round" in text
    assert "relabelled in every run, but for Fixed(), which may go by their numbers" in text


def test_where_runs_were_given_up_no_test_is_claimed():
    made = contest("arms", ["uniform", "frank-wolfe"], runs=1, instances=WHERE)
    rows = [row("three arms", "frank-wolfe", 30.0, capped=1), row("three arms", "uniform", 29.0)]
    text = as_markdown(made, rows, "c", "s", "p.svg")
    assert "where runs were given up, *not so* is said without a test." in text
    rows[0] = row("three arms", "frank-wolfe", 30.0)
    assert "without a test" not in as_markdown(made, rows, "c", "s", "p.svg")


@pytest.mark.slow
def test_nothing_else_comes_from_the_current_folder(module, tmp_path):
    (tmp_path / "rich.py").write_text("raise SystemExit('nobody asked for this')\n")
    shell = [sys.executable, "-c", "import sys; sys.path.remove(''); "]
    shell[-1] += "from combgame.cli.app import main; main()"
    asked = [*shell, "--import", module, "demo", "--json"]
    done = subprocess.run(asked, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and '"answer"' in done.stdout, done.stderr


def test_one_rule_of_ones_own_at_a_time(module):
    result = CliRunner().invoke(
        app, ["bench", "--mine", f"{module}:Mine", "--mine", f"{module}:Fixed"]
    )
    assert isinstance(result.exception, cg.InputError) and result.exception.code == "must-be"
