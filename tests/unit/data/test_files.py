"""Problem files and rules as people write them: what they make, and what is wrong is said in one
sentence.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import pytest

import combgame as cg
from combgame.data import STRUCTURES, problem_from, read_problem, read_toml, rule_from
from combgame.presets import PRESETS
from combgame.rules import RuleBase
from tests.said import refused

DESIGN = """
names = ["wt", "A12G", "K7R", "L3P", "T9S"]
[actions]
kind = "subsets"
arms = 5
size = 3
[answers]
kind = "arms"
[rewards]
kind = "gaussian"
sigma = 0.1
"""


def written(tmp_path, text):
    path = tmp_path / "problem.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def same(one, other):
    """The same value, and the same in what shows."""
    assert (
        one == other
        and hash(one) == hash(other)
        and (repr(one), one.names) == (repr(other), other.names)
    )
    for mine, yours in ((one.actions, other.actions), (one.answers, other.answers)):
        assert mine.sets() == yours.sets()


# ---- problem files


def test_the_file_of_the_design_is_read(tmp_path):
    problem, means = read_problem(written(tmp_path, DESIGN))
    same(
        problem,
        cg.Problem(
            cg.Subsets(5, 3),
            cg.Arms(5),
            cg.Gaussian(0.1),
            names=["wt", "A12G", "K7R", "L3P", "T9S"],
        ),
    )
    assert means is None


@pytest.mark.parametrize(
    "means",
    ["[0.1, 0.5, 0.3, 0.2, 0.4]", "{ T9S = 0.4, wt = 0.1, L3P = 0.2, A12G = 0.5, K7R = 0.3 }"],
)
def test_true_means_come_in_order_or_by_name(tmp_path, means):
    _, truth = read_problem(written(tmp_path, f"{DESIGN}[truth]\nmeans = {means}"))
    assert truth.tolist() == [0.1, 0.5, 0.3, 0.2, 0.4]


def test_an_editor_may_add_a_byte_order_mark_and_carriage_returns(tmp_path):
    assert read_toml(
        written(tmp_path, b"\xef\xbb\xbf" + DESIGN.replace("\n", "\r\n").encode())
    ) == read_toml(written(tmp_path, DESIGN))


NAMED = {"names": ["w", "x", "y", "z"], "rewards": {"kind": "bernoulli"}}
MADE = {
    "arms": ({"kind": "arms", "arms": 4}, cg.Arms(4)),
    "subsets": ({"kind": "subsets", "arms": 4, "size": 2}, cg.Subsets(4, 2)),
    "partition": (
        {"kind": "partition", "groups": [["x", 0], ["y", "z"]], "sizes": 1},
        cg.Partition([[0, 1], [2, 3]], 1),
    ),
    "paths": (
        {
            "kind": "paths",
            "edges": [["s", 1], ["s", 2, "low"], [1, "t"], [2, "t"]],
            "source": "s",
            "sink": "t",
        },
        cg.Paths([("s", 1), ("s", 2, "low"), (1, "t"), (2, "t")], "s", "t"),
    ),
    "spanning-trees": (
        {"kind": "spanning-trees", "edges": [["a", "b"], ["b", "c"], ["c", "a"], ["a", "b"]]},
        cg.SpanningTrees([("a", "b"), ("b", "c"), ("c", "a"), ("a", "b")]),
    ),
    "matchings": (
        {
            "kind": "matchings",
            "rows": ["p", "q"],
            "columns": 3,
            "size": 1,
            "forbidden": [["p", 0], ["q", 1]],
        },
        cg.Matchings(["p", "q"], 3, 1, [("p", 0), ("q", 1)]),
    ),
    "almost-all": (
        {"kind": "almost-all", "arms": 4, "needle": ["z", "x"]},
        cg.AlmostAllSets(4, [1, 3]),
    ),
    "listed": (
        {"kind": "listed", "arms": 4, "sets": [["w", "z"], [1, 2], ["x", "w", "y"]]},
        cg.Listed([[0, 3], [1, 2], [0, 1, 2]], 4),
    ),
    "integer-program": (
        {
            "kind": "integer-program",
            "arms": 4,
            "A": [[3.0, 2, 2, 1], [1, 1, 0, 0]],
            "low": "-inf",
            "high": [4, math.inf],
        },
        cg.IntegerProgram(([[3, 2, 2, 1], [1, 1, 0, 0]], -math.inf, [4, math.inf]), 4),
    ),
    "grid-network": ({"kind": "grid-network", "stages": 2}, cg.grid_network(2)),
    "line-network": ({"kind": "line-network", "width": 2, "layers": 3}, cg.line_network(2, 3)),
}


def test_every_kind_has_an_example():
    assert list(MADE) == list(STRUCTURES)


@pytest.mark.parametrize("kind", MADE)
def test_a_kind_makes_its_structure(kind):
    data, structure = MADE[kind]
    names = NAMED["names"] if structure.d == 4 else None
    found, _ = problem_from(
        {**NAMED, "actions": data} if names else {"rewards": NAMED["rewards"], "actions": data}
    )
    same(found, cg.Problem(structure, None, cg.Bernoulli(), names))


@pytest.mark.parametrize(
    "answers",
    [
        {"kind": "arms"},
        {"kind": "subsets", "size": 2},
        {"kind": "almost-all"},
        {"kind": "listed", "sets": [["w"], ["x", "z"]]},
    ],
    ids=lambda answers: answers["kind"],
)
def test_answers_take_the_number_of_arms_from_the_actions(answers):
    data = {**NAMED, "actions": {"kind": "subsets", "arms": 4, "size": 3}}
    left_out, _ = problem_from({**data, "answers": answers})
    same(left_out, problem_from({**data, "answers": {**answers, "arms": 4}})[0])
    assert left_out.answers.d == 4


@pytest.mark.parametrize("sigma", [1, 0.5, [0.1, 0.2, 0.3, 1e-9]])
def test_sigma_is_a_number_or_one_per_arm(sigma):
    problem, _ = problem_from(
        {"actions": {"kind": "arms", "arms": 4}, "rewards": {"kind": "gaussian", "sigma": sigma}}
    )
    assert repr(problem.rewards) == repr(cg.Gaussian(sigma))


# ---- sentences

BASE = {
    "actions": {"kind": "subsets", "arms": 4, "size": 2},
    "rewards": {"kind": "gaussian", "sigma": 0.1},
}
NET = {"kind": "paths", "edges": [["s", "a"], ["a", "t"], ["s", "t"]], "source": "s", "sink": "t"}
PROGRAMME = {"kind": "integer-program", "arms": 3, "A": [[1, 1, 1]], "high": 2}
ABCD = {"names": ["a", "b", "c", "d"]}


def playing(actions):
    return {**BASE, "actions": actions}


def asking(answers, **more):
    return {**BASE, **more, "answers": answers}


BAD = {
    "no table": ([1, 2], "must-be", {"name": "p.toml", "value": [1, 2]}),
    "no actions": ({"rewards": BASE["rewards"]}, "missing-key", {"key": "actions"}),
    "no rewards": ({"actions": BASE["actions"]}, "missing-key", {"key": "rewards"}),
    "unknown key": ({**BASE, "action": 3}, "unknown-key", {"key": "action"}),
    "a key of two lines": ({**BASE, "a\nb": 3}, "unknown-key", {"key": r"'a\nb'"}),
    "actions as text": (playing("arms"), "must-be", {"name": "actions", "value": "arms"}),
    "no kind": (playing({"arms": 4}), "missing-key", {"key": "actions.kind"}),
    "unknown kind": (
        playing({"kind": "subset"}),
        "unknown",
        {"kind": "actions.kind", "name": "subset"},
    ),
    "kind as number": (playing({"kind": 3}), "unknown", {"kind": "actions.kind", "name": 3}),
    "kind as list": (playing({"kind": []}), "unknown", {"kind": "actions.kind", "name": []}),
    "unknown rewards": (
        {**BASE, "rewards": {"kind": "poisson"}},
        "unknown",
        {"kind": "rewards.kind", "name": "poisson"},
    ),
    "unknown key of a kind": (
        playing({"kind": "arms", "arms": 4, "size": 2}),
        "unknown-key",
        {"key": "actions.size"},
    ),
    "missing key of a kind": (
        playing({"kind": "subsets", "arms": 4}),
        "missing-key",
        {"key": "actions.size"},
    ),
    "actions without arms": (playing({"kind": "arms"}), "missing-key", {"key": "actions.arms"}),
    "half a size": (
        playing({"kind": "subsets", "arms": 4, "size": 1.5}),
        "must-be",
        {"name": "actions.size", "value": 1.5},
    ),
    "a size of true": (
        playing({"kind": "subsets", "arms": 4, "size": True}),
        "must-be",
        {"name": "actions.size", "value": True},
    ),
    "too large a size": (
        playing({"kind": "subsets", "arms": 4, "size": 5}),
        "must-be",
        {"key": "actions", "of": "Subsets", "name": "size", "value": 5},
    ),
    "groups as number": (
        playing({"kind": "partition", "groups": 3, "sizes": 1}),
        "must-be",
        {"name": "actions.groups", "value": 3},
    ),
    "half an arm": (
        playing({"kind": "partition", "groups": [[0, 1.5]], "sizes": 1}),
        "must-be",
        {"name": "actions.groups[0][1]", "value": 1.5},
    ),
    "sizes as text": (
        playing({"kind": "partition", "groups": [[0, 1]], "sizes": "1"}),
        "must-be",
        {"name": "actions.sizes", "value": "1"},
    ),
    "groups with a gap": (
        playing({"kind": "partition", "groups": [[0, 2]], "sizes": 1}),
        "not-a-partition",
        {"key": "actions", "arms": [0, 2]},
    ),
    "set with an unknown name": (
        asking({"kind": "listed", "sets": [["a"], ["e"]]}, **ABCD),
        "must-be",
        {"name": "answers.sets[1][0]", "value": "e"},
    ),
    "name without names": (
        asking({"kind": "listed", "sets": [["a"]]}),
        "must-be",
        {"name": "answers.sets[0][0]", "value": "a"},
    ),
    "set as text": (
        asking({"kind": "listed", "sets": ["abc"]}, **ABCD),
        "must-be",
        {"name": "answers.sets[0]", "value": "abc"},
    ),
    "no such arm": (
        asking({"kind": "listed", "sets": [[0], [4]]}),
        "no-such-arm",
        {"key": "answers", "number": 1, "arm": 4},
    ),
    "needle": (
        asking({"kind": "almost-all", "needle": 7}),
        "must-be",
        {"key": "answers", "of": "AlmostAllSets", "name": "needle", "value": 7},
    ),
    "needle true": (
        asking({"kind": "almost-all", "needle": True}),
        "must-be",
        {"name": "answers.needle", "value": True},
    ),
    "edges as text": (
        playing({**NET, "edges": "s->t"}),
        "must-be",
        {"name": "actions.edges", "value": "s->t"},
    ),
    "edge of one": (
        playing({**NET, "edges": [["s", "t"], ["s"]]}),
        "must-be",
        {"name": "actions.edges[1]", "value": ["s"]},
    ),
    "edge named by a number": (
        playing({**NET, "edges": [["s", "t", 3]]}),
        "must-be",
        {"name": "actions.edges[0]", "value": ["s", "t", 3]},
    ),
    "node of a fraction": (
        playing({**NET, "edges": [["s", 0.5]]}),
        "must-be",
        {"name": "actions.edges[0]", "value": 0.5},
    ),
    "unknown sink": (
        playing({**NET, "sink": "x"}),
        "unknown",
        {"key": "actions", "of": "Paths", "kind": "sink", "name": "x"},
    ),
    "sink true": (
        playing({**NET, "sink": True}),
        "must-be",
        {"name": "actions.sink", "value": True},
    ),
    "cycle": (
        playing({**NET, "edges": [["s", "a"], ["a", "s"], ["a", "t"]]}),
        "cycle",
        {"key": "actions"},
    ),
    "graph in pieces": (
        playing({"kind": "spanning-trees", "edges": [[0, 1], [2, 3]]}),
        "not-connected",
        {"key": "actions"},
    ),
    "rows as text": (
        playing({"kind": "matchings", "rows": "ab", "columns": 2}),
        "must-be",
        {"name": "actions.rows", "value": "ab"},
    ),
    "forbidden triple": (
        playing({"kind": "matchings", "rows": 2, "columns": 2, "forbidden": [[0, 1, 2]]}),
        "must-be",
        {"name": "actions.forbidden[0]", "value": [0, 1, 2]},
    ),
    "forbidden elsewhere": (
        playing({"kind": "matchings", "rows": 2, "columns": 2, "forbidden": [[0, 5]]}),
        "no-such-pair",
        {"key": "actions", "pair": (0, 5)},
    ),
    "rows of numbers": (
        playing({**PROGRAMME, "A": [1, 1, 1]}),
        "must-be",
        {"name": "actions.A[0]", "value": 1},
    ),
    "ragged rows": (
        playing({**PROGRAMME, "A": [[1, 1, 1], [1]]}),
        "must-be",
        {"key": "actions", "of": "IntegerProgram", "name": "a constraint", "d": 3},
    ),
    "infeasible": (
        playing({**PROGRAMME, "low": 1.5, "high": 1.7}),
        "infeasible",
        {"key": "actions"},
    ),
    "a bound of text": (
        playing({**PROGRAMME, "high": "two"}),
        "must-be",
        {"name": "actions.high", "value": "two"},
    ),
    "exact as text": (
        playing({**PROGRAMME, "exact": "yes"}),
        "must-be",
        {"name": "actions.exact", "value": "yes"},
    ),
    "no time": (
        playing({**PROGRAMME, "time_limit": 0}),
        "must-be",
        {"name": "actions.time_limit", "value": 0},
    ),
    "odd stages": (
        playing({"kind": "grid-network", "stages": 3}),
        "must-be",
        {"key": "actions", "of": "grid_network", "name": "n_s", "value": 3},
    ),
    "other number of arms": (
        asking({"kind": "arms", "arms": 3}),
        "arms-disagree",
        {"actions": 4, "answers": 3},
    ),
    "sigma as text": (
        {**BASE, "rewards": {"kind": "gaussian", "sigma": "0.1"}},
        "must-be",
        {"name": "rewards.sigma", "value": "0.1"},
    ),
    "sigma in words": (
        {**BASE, "rewards": {"kind": "gaussian", "sigma": [1, "x"]}},
        "must-be",
        {"name": "rewards.sigma[1]", "value": "x"},
    ),
    "sigma of 0": (
        {**BASE, "rewards": {"kind": "gaussian", "sigma": 0}},
        "must-be",
        {"key": "rewards", "of": "Gaussian", "name": "sigma", "value": 0},
    ),
    "sigmas for others": (
        {**BASE, "rewards": {"kind": "gaussian", "sigma": [1, 2]}},
        "one-sigma-per-arm",
        {"sigmas": 2, "d": 4},
    ),
    "bounded upside down": (
        {**BASE, "rewards": {"kind": "bounded", "low": 1, "high": 0}},
        "must-be",
        {"key": "rewards", "of": "Bounded", "name": "(low, high)", "value": (1, 0)},
    ),
    "names as text": ({**BASE, "names": "abcd"}, "must-be", {"name": "names", "value": "abcd"}),
    "a name of 3": ({**BASE, "names": ["a", 3]}, "must-be", {"name": "names[1]", "value": 3}),
    "too few names": (
        {**BASE, "names": ["a", "b"]},
        "must-be",
        {"of": "Problem", "name": "names", "value": ["a", "b"]},
    ),
    "a name twice": ({**BASE, "names": ["a", "b", "a", "c"]}, "name-repeated", {"name": "a"}),
    "bounds upside down": (
        {**BASE, "bounds": [1, 0]},
        "must-be",
        {"of": "Problem", "name": "bounds", "value": [1.0, 0.0]},
    ),
    "bounds in words": (
        {**BASE, "bounds": ["low", 1]},
        "must-be",
        {"name": "bounds[0]", "value": "low"},
    ),
    "one bound": (
        {**BASE, "bounds": 1},
        "must-be",
        {"of": "Problem", "name": "bounds", "value": 1.0},
    ),
    "truth as list": (
        {**BASE, "truth": [1, 2, 3, 4]},
        "must-be",
        {"name": "truth", "value": [1, 2, 3, 4]},
    ),
    "no means": ({**BASE, "truth": {}}, "missing-key", {"key": "truth.means"}),
    "means as number": (
        {**BASE, "truth": {"means": 1}},
        "must-be",
        {"name": "truth.means", "value": 1},
    ),
    "a mean of text": (
        {**BASE, "truth": {"means": [1, 2, 3, "4"]}},
        "must-be",
        {"name": "truth.means[3]", "value": "4"},
    ),
    "a named mean of text": (
        {**BASE, **ABCD, "truth": {"means": {"a": "4"}}},
        "must-be",
        {"name": "truth.means.a", "value": "4"},
    ),
    "too few means": (
        {**BASE, "truth": {"means": [1, 2]}},
        "must-be",
        {"key": "truth", "name": "means", "value": [1, 2]},
    ),
    "means of others": (
        {**BASE, **ABCD, "truth": {"means": {"e": 1}}},
        "unknown",
        {"key": "truth", "kind": "arm", "name": "e"},
    ),
    "means of some": (
        {**BASE, **ABCD, "truth": {"means": {"a": 1}}},
        "not-each-arm",
        {"key": "truth", "labels": ["a"]},
    ),
    "mean nan": (
        {**BASE, "truth": {"means": [1, 2, 3, math.nan]}},
        "not-finite",
        {"key": "truth", "what": "means", "arm": "3"},
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_get_one_sentence_that_names_the_place_the_value_and_the_remedy(case):
    data, code, arguments = BAD[case]
    with refused(code, cg.InputError, **arguments) as caught:
        problem_from(data, "p.toml")
    said = str(caught.value)
    assert "\n" not in said and said.startswith("p.toml") and said.endswith(".")


def test_a_long_value_is_cut():
    with refused("must-be", cg.InputError, name="names") as caught:
        problem_from({**BASE, "names": "x" * 1000}, "p.toml")
    assert "xxx... must be" in str(caught.value) and len(str(caught.value)) < 200


FILES = {
    "no value": (
        b"names =\n[actions]\n",
        "not-toml",
        {"why": "Invalid value (at line 1, column 8)"},
    ),
    "no quotes": (
        b"[actions]\nkind = arms\n",
        "not-toml",
        {"why": "Invalid value (at line 2, column 8)"},
    ),
    "a key twice": (
        b"[a]\nx = 1\n[a]\n",
        "not-toml",
        {"why": "Cannot declare ('a',) twice (at line 3, column 3)"},
    ),
    "latin-1": (
        'names = ["a"]\n# caf\u00e9\n'.encode("latin-1"),
        "not-utf-8",
        {"line": 2, "byte": 0xE9},
    ),
    "utf-16": (DESIGN.encode("utf-16"), "not-utf-8", {"line": 1}),
    "nothing": (b"", "missing-key", {"key": "actions"}),
    "wrong place": (
        b'[actions]\nkind = "subsets"\narms = 5\nsize = "3"\n[rewards]\nkind = "bernoulli"',
        "must-be",
        {"name": "actions.size", "value": "3"},
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_gets_one_sentence_that_names_the_file_and_the_line(tmp_path, case):
    text, code, arguments = FILES[case]
    path = written(tmp_path, text)
    with refused(code, cg.InputError, where=str(path), **arguments) as caught:
        read_problem(path)
    said = str(caught.value)
    assert "\n" not in said and said.startswith(str(path)) and said.endswith(".")


def test_a_file_that_is_not_there_or_is_a_folder_or_cannot_be_read_is_named(tmp_path, monkeypatch):
    with refused("no-file-there", cg.InputError, where=str(tmp_path / "none.toml")):
        read_toml(tmp_path / "none.toml")
    with refused("folder-given", cg.InputError, where=str(tmp_path)):
        read_toml(str(tmp_path))

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with refused("unreadable", cg.InputError, where="x.toml", why="Permission denied"):
        read_toml("x.toml")


# ---- rules


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_its_name_or_a_table_of_it(name):
    assert rule_from(name) == rule_from({"rule": name, "label": "any text"}) == PRESETS[name]


GEOMETRY = {"diameter": 2, "psi": 1.0, "phi": 0.5, "exact": True}
RULES = {
    "learner": ({"learner": "lloo"}, cg.CombGame(cg.LLOO())),
    "both": (
        {
            "learner": "lloo",
            "tracking": "D",
            "per_answer": True,
            "sparsify": False,
            "start": "full",
            "bonus": "theory",
        },
        cg.CombGame(cg.LLOO(sparsify=False), "D", "theory", True, "full"),
    ),
    "preset": (
        {"rule": "hedge", "first": 50, "tracking": "sample"},
        cg.CombGame(cg.Hedge(first=50.0), "sample"),
    ),
    "preset with another learner": (
        {"rule": "hedge", "learner": "ofw", "sparsify": False},
        cg.CombGame(cg.OFW(False)),
    ),
    "uniform": ({"rule": "uniform", "start": "random-covering"}, cg.Uniform("random-covering")),
    "geometry": (
        {"learner": "lloo", "geometry": GEOMETRY},
        cg.CombGame(cg.LLOO(geometry=cg.Geometry(2.0, 1.0, 0.5, True))),
    ),
    "bonus": (
        {"learner": "ofw", "bonus": {"c": 0.5}},
        cg.CombGame(cg.OFW(), bonus=cg.theory_bonus(c=0.5)),
    ),
}


@pytest.mark.parametrize("case", RULES)
def test_a_table_makes_its_rule(case):
    data, rule = RULES[case]
    assert rule_from(data) == rule and repr(rule_from(data)) == repr(rule)


BAD_RULES = {
    "unknown": ("best", "unknown", {"kind": "r", "name": "best"}),
    "number": (3, "must-be", {"name": "r", "value": 3}),
    "nothing": ({}, "missing-key", {"key": "learner"}),
    "only a label": ({"label": "x", "tracking": "D"}, "missing-key", {"key": "learner"}),
    "unknown rule": ({"rule": "best"}, "unknown", {"kind": "rule", "name": "best"}),
    "unknown learner": ({"learner": "best"}, "unknown", {"kind": "learner", "name": "best"}),
    "learner as list": ({"learner": ["lloo"]}, "unknown", {"kind": "learner", "name": ["lloo"]}),
    "a learner for uniform": (
        {"rule": "uniform", "learner": "ofw"},
        "unknown-key",
        {"key": "learner", "keys": ["label", "rule", "start"]},
    ),
    "unknown key": ({"learner": "ofw", "first": 3}, "unknown-key", {"key": "first"}),
    "sparsify as text": (
        {"learner": "ofw", "sparsify": "no"},
        "must-be",
        {"name": "sparsify", "value": "no"},
    ),
    "first as text": ({"learner": "lloo", "first": "3"}, "must-be", {"name": "first"}),
    "first true": (
        {"learner": "lloo", "first": True},
        "must-be",
        {"name": "first", "value": True},
    ),
    "first of 0": (
        {"learner": "lloo", "first": 0},
        "must-be",
        {"of": "doubling", "name": "first", "value": 0.0},
    ),
    "tracking": (
        {"learner": "lloo", "tracking": "E"},
        "unknown",
        {"of": "CombGame", "kind": "tracking", "name": "E"},
    ),
    "tracking as number": (
        {"learner": "lloo", "tracking": 1},
        "must-be",
        {"name": "tracking", "value": 1, "usual": "C"},
    ),
    "start": (
        {"learner": "lloo", "start": "none"},
        "unknown",
        {"of": "CombGame", "kind": "start", "name": "none"},
    ),
    "bonus": ({"learner": "lloo", "bonus": "much"}, "unknown", {"kind": "bonus", "name": "much"}),
    "bonus below 0": (
        {"learner": "lloo", "bonus": {"b": -1}},
        "must-be",
        {"key": "bonus", "of": "theory_bonus", "name": "b", "value": -1},
    ),
    "bonus of something": (
        {"learner": "lloo", "bonus": {"x": 1}},
        "unknown-key",
        {"key": "bonus.x", "keys": ["b", "c"]},
    ),
    "geometry": (
        {"learner": "lloo", "geometry": [1, 1, 1, True]},
        "must-be",
        {"of": "LLOO", "name": "geometry", "value": (1, 1, 1, True)},
    ),
    "half a geometry": (
        {"learner": "lloo", "geometry": {"psi": 1}},
        "missing-key",
        {"key": "geometry.diameter"},
    ),
}


@pytest.mark.parametrize("case", BAD_RULES)
def test_a_bad_rule_gets_one_sentence(case):
    data, code, arguments = BAD_RULES[case]
    with refused(code, cg.InputError, **arguments) as caught:
        rule_from(data, "r")
    said = str(caught.value)
    assert "\n" not in said and said.startswith("r") and said.endswith(".")


@dataclass(frozen=True)
class Greedy(RuleBase):
    """A rule from outside, registered as a preset."""

    steps: int = 3
    rate: float = 0.5
    weights: tuple[float, ...] | None = None

    def __post_init__(self):
        if self.weights is not None and not self.weights[0] > 0:
            raise cg.InputError("Greedy: weights must be positive.")


def test_a_rule_from_outside_works_by_its_fields(monkeypatch):
    monkeypatch.setitem(PRESETS, "greedy", Greedy())
    assert rule_from({"rule": "greedy", "steps": 5, "rate": 1, "weights": [1.0, 2.0]}) == Greedy(
        5, 1.0, (1.0, 2.0)
    )
    with refused("must-be", cg.InputError, where="r", name="steps", value=2.5):
        rule_from({"rule": "greedy", "steps": 2.5}, "r")
    with refused("wrong-type", cg.InputError, where="r", keys=["weights"]):
        rule_from({"rule": "greedy", "weights": "x"}, "r")
