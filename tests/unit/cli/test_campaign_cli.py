"""Campaigns from the command line: run, status, report, export, plot."""

import csv
import io
import json
import shutil

import pytest

import combgame as cg
from combgame.research.campaign import execution as execute
from combgame.research.campaign.store import open_store
from tests.campaigns import MEANS, PROBLEM, TOML, command, table, tiny, unmeasured

# ---- the command line


@pytest.fixture
def shell(capsys):
    return lambda *words: command(capsys, "campaign", *words)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished campaign of two problems, one of them in a file of its own."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "five.toml").write_text(
        'names = ["a", "b", "c", "d", "e"]\nactions = {kind = "subsets", arms = 5, size = 2}\n'
        'answers = {kind = "arms"}\nrewards = {kind = "gaussian", sigma = 0.1}\n'
        "truth = {means = {a = 0.1, b = 0.2, c = 0.3, d = 0.4, e = 0.6}}\n"
    )
    (folder / "a.toml").write_text(
        TOML.replace(
            '["uniform"]',
            '["uniform", {rule = "uniform", start = "full", label = "all pairs first"}]',
        )
        .replace("0.1\nthr", "[0.1, 0.01]\nthr")
        .replace("[[problems]]\n", '[[problems]]\nname = "four arms"\nx = 4\n')
        + '\n[[problems]]\nfile = "five.toml"\nx = 5\n'
    )
    cg.read_campaign(folder / "a.toml").run(folder / "a.db", engine="python")
    return folder


@pytest.mark.compiled
def test_a_campaign_runs_from_the_command_line(tmp_path, finished, shell):
    for name in ("a.toml", "five.toml"):
        shutil.copy(finished / name, tmp_path)
    code, out, err = shell("run", tmp_path / "a.toml")
    assert code == 0
    assert "all 20 runs of" in err
    assert len(out.split("\n\n")[0].splitlines()) == 1 + 2 * 2 * 2
    words = ("four arms", "five", "all pairs first", "stylised (heuristic)")
    assert [one for one in words if one not in out] == []
    assert table(tmp_path / "a.db") == table(finished / "a.db")
    code, out, err = shell(
        "run", tmp_path / "a.toml", "--store", tmp_path / "b.db", "--runs", 3, "--json"
    )
    assert code == 0 and {line["runs"] for line in json.loads(out)} == {3}
    with (tmp_path / "b.db").open("r+b") as file:
        file.truncate(5000)
    code, out, err = shell("run", tmp_path / "a.toml", "--store", tmp_path / "b.db", "--runs", 3)
    assert code == 0 and f"{tmp_path / 'b.db'} was damaged" in err and err.count("\n") == 2


def test_status_says_how_far_a_campaign_is_and_one_without_runs_can_be_looked_at(
    tmp_path, finished, shell
):
    code, out, _ = shell("status", finished / "a.db")
    assert code == 0 and "a: 20 of 20 runs are stored" in out and "It is complete" in out
    assert "5 of 5       [####################] five: all pairs first" in out
    told = json.loads(shell("status", finished / "a.db", "--json")[1])
    assert told["campaign"] == "a" and told["running"] is None and len(told["made_by"]) == 1
    assert [c["stored"] for c in told["configurations"]] == [5] * 4
    campaign = tiny(runs=4)
    with open_store(tmp_path / "b.db", "b")[0] as file:
        file.register(campaign, execute.references(campaign.configurations, file))
    code, out, _ = shell("status", tmp_path / "b.db")
    assert code == 0 and "0 of 8 runs" in out and "Nobody is working on it" in out
    assert json.loads(shell("report", tmp_path / "b.db", "--json")[1]) == []
    assert shell("report", tmp_path / "b.db")[0] == shell("export", tmp_path / "b.db")[0] == 0
    code, _, err = shell("plot", tmp_path / "b.db")
    assert code == 2 and err.count("\n") == 1 and "no runs" in err
    with open_store(tmp_path / "b.db")[0] as file:
        file.add(execute.run_chunk(campaign.configurations[0], 0, 2, "python", execute.here()))
    assert "2 of 8 runs" in shell("status", tmp_path / "b.db")[1]


def test_reports_in_every_format(finished, shell, tmp_path):
    path = finished / "a.db"
    lines = json.loads(shell("report", path, "--json")[1])
    assert lines == json.loads(shell("report", path, "--format", "json")[1])
    assert len(lines) == 8
    for line in lines:
        assert line["q25"] <= line["median"] <= line["q75"] and line["q25"] <= line["mean"]
        assert line["runs"] == 5 and line["error_rate"] == line["error_low"] == 0.0
        assert line["error_high"] == pytest.approx(0.5218, abs=1e-4)
        assert line["ratio"] == pytest.approx(line["mean"] / line["limit"])
        assert 0 < line["bound"] < line["limit"]
    sim = cg.simulate(
        PROBLEM, MEANS, rule="uniform", delta=0.1, threshold="stylised", runs=5, engine="python"
    ).summary()[0]
    assert all(
        lines[0][name] == pytest.approx(sim[name])
        for name in ("mean", "median", "q25", "q75", "bound", "limit", "ratio")
    )
    text = shell("report", path)[1]
    head = "problem rule threshold delta seed runs mean q25 median q75 errors capped bound limit"
    assert text.splitlines()[0].split() == [*head.split(), "mean/limit", "us/round"]
    assert "0.0% [0.0%, 52.2%]" in text and len(text.splitlines()) == 11
    marked = shell("report", path, "-f", "markdown")[1].splitlines()
    assert marked[1].startswith("| --- | --- | --- | ---: |") and "Clopper-Pearson" in marked[-1]
    assert {line.count("|") for line in marked[:10]} == {17}
    table_ = list(csv.DictReader(io.StringIO(shell("report", path, "-f", "csv")[1])))
    assert len(table_) == 8
    assert [float(line["mean"]) for line in table_] == [line["mean"] for line in lines]
    code, out, err = shell("report", path, "-f", "csv", "-o", tmp_path / "r.csv")
    assert code == 0 and out == "" and err == f"combgame: wrote {tmp_path / 'r.csv'}.\n"
    assert list(csv.DictReader((tmp_path / "r.csv").open())) == table_
    code, out, err = shell("report", path, "-f", "excel")
    assert code == 2
    assert "format = 'excel' is not known; use one of text, markdown, csv, json." in err


def test_exports_have_a_line_per_run_and_delta(finished, shell, tmp_path):
    path = finished / "a.db"
    lines = list(csv.DictReader(io.StringIO(shell("export", path)[1])))
    assert len(lines) == 2 * 2 * 5 * 2
    assert len({(line["identity"], line["delta"]) for line in lines}) == len(lines)
    assert {line["answer"] for line in lines if line["instance"] == "five"} == {"4"}
    told = json.loads(shell("export", path, "--json")[1])
    assert unmeasured(told) == table(path)
    assert [str(line["rounds"]) for line in told] == [line["rounds"] for line in lines]
    assert shell("export", path, "-f", "json", "-o", tmp_path / "e.json")[0] == 0
    assert json.loads((tmp_path / "e.json").read_text()) == told
    code, _, err = shell("export", path, "-f", "markdown")
    assert code == 2 and "format = 'markdown'" in err


def test_plots_have_the_rules_the_axes_and_the_problems(finished, shell, tmp_path):
    code, out, err = shell("plot", finished / "a.db", "-o", tmp_path / "new" / "p")
    assert code == 0 and out == "" and "p.png" in err and "p.svg" in err
    png, svg = (tmp_path / "new" / f"p.{tail}" for tail in ("png", "svg"))
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert png.stat().st_size > 10_000
    assert svg.stat().st_size > 5_000
    for words in (
        "uniform",
        "all pairs first",
        "stopping time (rounds): mean, its 95 % error, quartiles",
        "problem",
        "delta = 0.1",
        "delta = 0.01",
    ):
        assert words in svg.read_text()
    first = svg.read_bytes(), png.read_bytes()
    shell("plot", finished / "a.db", "-o", tmp_path / "new" / "p")
    assert (svg.read_bytes(), png.read_bytes()) == first
    tiny(runs=2, delta=0.1).run(tmp_path / "b.db", engine="python")  # without x
    assert shell("plot", tmp_path / "b.db")[0] == 0
    assert "four" in (tmp_path / "b.svg").read_text() and (tmp_path / "b.png").exists()


def test_a_report_that_cannot_be_written_gets_a_sentence(finished, tmp_path, shell):
    (tmp_path / "file").touch()
    for line in (
        ["report", "-o", tmp_path / "none" / "a.txt"],
        ["export", "-o", tmp_path],
        ["plot", "-o", tmp_path / "file" / "p"],
    ):
        code, out, err = shell(line[0], finished / "a.db", *line[1:])
        assert code == 2 and out == "" and err.startswith("combgame: ") and err.count("\n") == 1, (
            line
        )
