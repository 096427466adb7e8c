"""What is no campaign gets a sentence: slips in campaign files, other files, wrong arguments."""

import math
import sqlite3
from contextlib import closing

import pytest

import combgame as cg
from tests.campaigns import MEANS, PROBLEM, TOML, command, tiny
from tests.said import refused

BAD = {
    "unknown key": (("runs = 5", "runs = 5\nspeed = 3"), "unknown-key", {"key": "speed"}),
    "no problems": (("[[problems]]", "[other]"), "unknown-key", {"key": "other"}),
    "problems left out": (
        (TOML[TOML.index("[[problems]]") :], ""),
        "must-be",
        {"name": "problems", "value": None},
    ),
    "no truth": (
        ("truth = {means = [0.5, 0.3, 0.2, 0.1]}", ""),
        "no-truth",
        {"key": "problems[0]"},
    ),
    "too few means": (
        ("[0.5, 0.3, 0.2, 0.1]", "[0.5, 0.3]"),
        "must-be",
        {"key": "problems[0].truth", "name": "means", "value": [0.5, 0.3], "d": 4},
    ),
    "a tie": (
        ("[0.5, 0.3, 0.2, 0.1]", "[0.5, 0.5, 0.2, 0.1]"),
        "tie",
        {"instance": "problem 1", "best": "0", "rival": "1"},
    ),
    "unknown rule": (
        ('["uniform"]', '["uniformly"]'),
        "unknown",
        {"kind": "rules[0]", "name": "uniformly"},
    ),
    "no rules": (('["uniform"]', "[]"), "must-be", {"name": "rules", "value": []}),
    "rules of a number": (('["uniform"]', "[3]"), "must-be", {"name": "rules[0]", "value": 3}),
    "two labels": (
        ('["uniform"]', '["uniform", {rule = "ofw", label = "uniform"}]'),
        "same-name",
        {"key": "rules", "name": "uniform"},
    ),
    "the same rule": (
        ('["uniform"]', '["uniform", {rule = "uniform", label = "b"}]'),
        "same-run",
        {"one": "b", "instance": "problem 1", "other": "uniform"},
    ),
    "two names": (
        ("[[problems]]", '[[problems]]\nfile = "other.toml"\nname = "p"\n[[problems]]\nname = "p"'),
        "same-name",
        {"key": "problems", "name": "p"},
    ),
    "x is a text": (
        ("[[problems]]", '[[problems]]\nx = "four"'),
        "must-be",
        {"name": "problems[0].x", "value": "four"},
    ),
    "x is not a number": (
        ("[[problems]]", "[[problems]]\nx = nan"),
        "must-be",
        {"name": "problems[0].x"},
    ),
    "delta": (("delta = 0.1", "delta = 1.5"), "must-be", {"name": "delta", "value": 1.5}),
    "delta is a text": (
        ("delta = 0.1", 'delta = "small"'),
        "must-be",
        {"name": "delta", "value": "small"},
    ),
    "no delta": (("delta = 0.1", "delta = []"), "must-be", {"name": "delta", "value": []}),
    "runs": (("runs = 5", "runs = 0"), "must-be", {"name": "runs", "value": 0, "least": 1}),
    "runs is a text": (("runs = 5", 'runs = "many"'), "must-be", {"name": "runs", "value": "many"}),
    "seed": (("runs = 5", "runs = 5\nseed = -1"), "must-be", {"name": "seed", "value": -1}),
    "max_rounds": (("runs = 5", "runs = 5\nmax_rounds = 0"), "must-be", {"name": "max_rounds"}),
    "relabel": (
        ("runs = 5", 'runs = 5\nrelabel = "yes"'),
        "must-be",
        {"name": "relabel", "value": "yes"},
    ),
    "threshold": (
        ('"stylised"', '"stylish"'),
        "unknown",
        {"kind": "threshold", "name": "stylish"},
    ),
    "threshold is a number": (('"stylised"', "3"), "must-be", {"name": "threshold", "value": 3}),
    "thresholds are numbers": (
        ('"stylised"', "[3]"),
        "must-be",
        {"name": "threshold", "value": [3]},
    ),
    "no threshold": (('"stylised"', "[]"), "must-be", {"name": "threshold", "value": []}),
    "no such problem file": (
        ("[[problems]]", '[[problems]]\nfile = "none.toml"\n[[problems]]'),
        "no-file-there",
        {},
    ),
    "file and more": (
        ("[[problems]]", '[[problems]]\nfile = "other.toml"'),
        "beside-file",
        {"other": "actions", "file": "other.toml", "key": "problems[0]"},
    ),
    "not TOML": (("runs = 5", "runs = five"), "not-toml", {}),
}


@pytest.mark.parametrize("slip", BAD)
def test_a_slip_in_a_campaign_file_gets_a_sentence(tmp_path, capsys, slip):
    (old, new), wrong, arguments = BAD[slip]
    assert old in TOML
    (tmp_path / "other.toml").write_text(TOML[TOML.index("actions") :])
    (tmp_path / "a.toml").write_text(TOML.replace(old, new))
    code, out, err = command(capsys, "campaign", "run", tmp_path / "a.toml")
    assert code == 2 and out == "" and err.startswith("combgame: ") and err.count("\n") == 1
    file = "none.toml" if wrong == "no-file-there" else "a.toml"
    with refused(wrong, where=str(tmp_path / file), **arguments):
        cg.read_campaign(tmp_path / "a.toml")
    assert file in err
    assert not list(tmp_path.glob("a.db*"))


def foreign(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
        db.commit()


def newer(path):
    tiny(runs=1).run(path, engine="python")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
        db.commit()


PLACES = {
    "a text": (lambda path: path.write_text("hello, this is no database"), "not-a-campaign", {}),
    "a foreign file": (foreign, "foreign-file", {}),
    "a newer file": (newer, "other-version", {"theirs": 99, "ours": 1}),
    "a folder": (lambda path: path.mkdir(), "is-folder", {}),
    "no folder": (lambda path: path.parent.rmdir(), "no-folder", {}),
}


@pytest.mark.parametrize("kind", PLACES)
def test_a_store_that_is_none_gets_a_sentence_and_is_left_alone(tmp_path, capsys, kind):
    make, said, arguments = PLACES[kind]
    (tmp_path / "a.toml").write_text(TOML)
    path = tmp_path / "deeper" / "a.db"
    path.parent.mkdir()
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with refused(said, **arguments) as caught:
        cg.read_campaign(tmp_path / "a.toml").run(path, engine="python")
    assert str(path) in caught.value.arguments.values()
    for line in (
        ["run", tmp_path / "a.toml", "--store", path],
        ["status", path],
        ["report", path],
        ["export", path],
        ["plot", path],
    ):
        code, out, err = command(capsys, "campaign", *line)
        assert code == 2 and out == "" and err.startswith("combgame: ") and err.count("\n") == 1, (
            line
        )
    assert before is None or path.read_bytes() == before


def test_what_a_campaign_cannot_keep_is_refused_and_what_it_means_is_said():
    four = cg.Instance(
        "four", cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1)), (0.5, 0.3, 0.2, 0.1)
    )
    with refused("record", cg.InputError):
        cg.Campaign.cross(
            "c", [four], [cg.CombGame(record=True)], runs=1, delta=0.1, threshold="proved"
        )
    tied = cg.Instance("tied", four.problem, (0.5, 0.5, 0.2, 0.1))
    with pytest.raises(cg.TieError) as caught:
        cg.Campaign.cross("c", [tied], ["ofw"], runs=1, delta=0.1, threshold="proved")
    assert caught.value.arguments["instance"] == "tied"
    labels = [
        c.label
        for c in cg.Campaign.cross(
            "c", [four], ["gcb-pe"], threshold=["stylised", "proved"], runs=1, delta=0.1
        ).configurations
    ]
    assert labels == ["gcb-pe, stylised, stopped by stylised", "gcb-pe, proved"]


@pytest.mark.parametrize(
    ("call", "code", "arguments"),
    [
        (
            lambda: cg.Instance("i", None, (0.5,)),
            "must-be",
            {"name": "problem", "value": None, "instance": "i"},
        ),
        (lambda: cg.Instance("i", PROBLEM, (math.nan, *MEANS[1:])), "not-finite", {"arm": "0"}),
        (
            lambda: cg.Campaign.cross("c", [PROBLEM], ["ofw"], delta=0.1, threshold="proved"),
            "must-be",
            {"name": "problems"},
        ),
        (
            lambda: cg.Campaign.cross(
                "c", [cg.Instance("i", PROBLEM, MEANS)], "ofw", delta=0.1, threshold="proved"
            ),
            "must-be",
            {"name": "rules", "value": "ofw"},
        ),
        (
            lambda: cg.Campaign.cross(
                "c", [cg.Instance("i", PROBLEM, MEANS)], [], delta=0.1, threshold="proved"
            ),
            "no-configurations",
            {"name": "c"},
        ),
        (
            lambda: cg.regret(None, MEANS, rule="lloo"),
            "must-be",
            {"of": "regret", "name": "problem", "value": None},
        ),
    ],
)
def test_what_is_no_campaign_is_said_in_a_sentence(call, code, arguments):
    with refused(code, cg.InputError, **arguments):
        call()
