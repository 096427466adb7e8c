"""What is no campaign gets a sentence: slips in campaign files, other files, wrong arguments."""

import math
import sqlite3
from contextlib import closing

import pytest

import combgame as cg
from tests.campaigns import MEANS, PROBLEM, TOML, command, tiny
from tests.said import case, check_refusals, refused

TRUTH = "[0.5, 0.3, 0.2, 0.1]"
TWICE = '[[problems]]\nfile = "other.toml"\nname = "p"\n[[problems]]\nname = "p"'
OTHER = {"other": "actions", "file": "other.toml", "key": "problems[0]"}


def slip(code, old, new, /, **arguments):
    assert old in TOML
    return code, TOML.replace(old, new), arguments


def more(code, line, /, **arguments):
    return slip(code, "runs = 5", f"runs = 5\n{line}", **arguments)


def rules(code, new, /, **arguments):
    return slip(code, '["uniform"]', new, **arguments)


def deltas(new, **arguments):
    return slip("must-be", "delta = 0.1", f"delta = {new}", name="delta", **arguments)


def threshold(code, new, /, **arguments):
    return slip(code, '"stylised"', new, **arguments)


def first(code, new, /, **arguments):
    return slip(code, "[[problems]]", f"[[problems]]\n{new}", **arguments)


BAD = [
    more("unknown-key", "speed = 3", key="speed"),
    slip("unknown-key", "[[problems]]", "[other]", key="other"),
    slip("must-be", TOML[TOML.index("[[problems]]") :], "", name="problems", value=None),
    slip("no-truth", f"truth = {{means = {TRUTH}}}", "", key="problems[0]"),
    slip("must-be", TRUTH, "[0.5, 0.3]", key="problems[0].truth", value=[0.5, 0.3], d=4),
    slip("tie", TRUTH, "[0.5, 0.5, 0.2, 0.1]", instance="problem 1", best="0", rival="1"),
    rules("unknown", '["uniformly"]', kind="rules[0]", name="uniformly"),
    rules("must-be", "[]", name="rules", value=[]),
    rules("must-be", "[3]", name="rules[0]", value=3),
    rules(
        "same-name", '["uniform", {rule = "ofw", label = "uniform"}]', key="rules", name="uniform"
    ),
    rules(
        "same-run",
        '["uniform", {rule = "uniform", label = "b"}]',
        one="b",
        instance="problem 1",
        other="uniform",
    ),
    slip("same-name", "[[problems]]", TWICE, key="problems", name="p"),
    first("must-be", 'x = "four"', name="problems[0].x", value="four"),
    first("must-be", "x = nan", name="problems[0].x"),
    deltas("1.5", value=1.5),
    deltas('"small"', value="small"),
    deltas("[]", value=[]),
    slip("must-be", "runs = 5", "runs = 0", name="runs", value=0, least=1),
    slip("must-be", "runs = 5", 'runs = "many"', name="runs", value="many"),
    more("must-be", "seed = -1", name="seed", value=-1),
    more("must-be", "max_rounds = 0", name="max_rounds"),
    more("must-be", 'shuffle_arms = "yes"', name="shuffle_arms", value="yes"),
    threshold("unknown", '"stylish"', kind="threshold", name="stylish"),
    threshold("must-be", "3", name="threshold", value=3),
    threshold("must-be", "[3]", name="threshold", value=[3]),
    threshold("must-be", "[]", name="threshold", value=[]),
    first("no-file-there", 'file = "none.toml"\n[[problems]]'),
    first("beside-file", 'file = "other.toml"', **OTHER),
    slip("not-toml", "runs = 5", "runs = five"),
]


def test_a_slip_in_a_campaign_file_gets_a_sentence(tmp_path, capsys):
    (tmp_path / "other.toml").write_text(TOML[TOML.index("actions") :])
    path, shown = tmp_path / "a.toml", {"unknown-key", "tie", "no-file-there", "not-toml"}
    for wrong, text, arguments in BAD:
        path.write_text(text)
        file = "none.toml" if wrong == "no-file-there" else "a.toml"
        with refused(wrong, where=str(tmp_path / file), **arguments) as caught:
            cg.read_campaign(path)
        assert "\n" not in str(caught.value), wrong
        if wrong in shown:  # by the command too
            code, out, err = command(capsys, "campaign", "run", path)
            assert code == 2 and out == "" and err.startswith("combgame: "), wrong
            assert err.count("\n") == 1 and file in err, wrong
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
    "a newer file": (newer, "other-version", {"theirs": 99, "ours": 2}),
    "a folder": (lambda path: path.mkdir(), "is-folder", {}),
    "no folder": (lambda path: path.parent.rmdir(), "no-folder", {}),
}


def test_a_store_that_is_none_gets_a_sentence_and_is_left_alone(tmp_path, capsys):
    file = tmp_path / "a.toml"
    file.write_text(TOML)
    for kind, (make, said, arguments) in PLACES.items():
        path = tmp_path / kind / "a.db"
        path.parent.mkdir()
        make(path)
        before = path.read_bytes() if path.is_file() else None
        with refused(said, **arguments) as caught:
            cg.read_campaign(file).run(path, engine="python")
        assert str(path) in caught.value.arguments.values(), kind
        verbs = [[verb, path] for verb in ("status", "report", "export", "plot")]
        for line in (["run", file, "--store", path], *verbs):
            code, out, err = command(capsys, "campaign", *line)
            assert code == 2 and out == "" and err.startswith("combgame: "), line
            assert err.count("\n") == 1, line
        assert before is None or path.read_bytes() == before, kind


def test_what_a_campaign_cannot_keep_is_refused_and_what_it_means_is_said():
    four = cg.Instance(
        "four", cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1)), (0.5, 0.3, 0.2, 0.1)
    )
    with refused("record", cg.InputError):
        cg.Campaign.cross(
            "c", [four], [cg.CombGame(track_regret=True)], runs=1, delta=0.1, threshold="proved"
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


def test_what_is_no_campaign_is_said_in_a_sentence():
    def cross(problems, rules):
        return cg.Campaign.cross("c", problems, rules, delta=0.1, threshold="proved")

    def instance(problem=PROBLEM, means=MEANS):
        return cg.Instance("i", problem, means)

    check_refusals(
        [
            case("must-be", lambda: instance(None), name="problem", value=None, instance="i"),
            case("not-finite", lambda: instance(means=(math.nan, *MEANS[1:])), arm="0"),
            case("must-be", lambda: cross([PROBLEM], ["ofw"]), name="problems"),
            case("must-be", lambda: cross([instance()], "ofw"), name="rules", value="ofw"),
            case("no-configurations", lambda: cross([instance()], []), name="c"),
        ],
        cg.InputError,
    )
