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
    "no table": ([1, 2], "p.toml = [1, 2] must be a table; the keys are actions, rewards, answers"),
    "no actions": (
        {"rewards": BASE["rewards"]},
        "p.toml: actions is missing; the keys are actions, rewards",
    ),
    "no rewards": ({"actions": BASE["actions"]}, "p.toml: rewards is missing"),
    "unknown key": ({**BASE, "action": 3}, "p.toml: action = 3 is not known; the keys are actions"),
    "a key of two lines": ({**BASE, "a\nb": 3}, r"p.toml: 'a\nb' = 3 is not known"),
    "actions as text": (
        playing("arms"),
        "p.toml: actions = 'arms' must be a table with a kind, one of 'arms', 'subsets'",
    ),
    "no kind": (playing({"arms": 4}), "p.toml: actions.kind is missing; use one of 'arms'"),
    "unknown kind": (
        playing({"kind": "subset"}),
        "p.toml: actions.kind = 'subset' is not known; use one of 'arms', 'subsets'",
    ),
    "kind as number": (playing({"kind": 3}), "p.toml: actions.kind = 3 is not known"),
    "kind as list": (playing({"kind": []}), "p.toml: actions.kind = [] is not known"),
    "unknown rewards": (
        {**BASE, "rewards": {"kind": "poisson"}},
        "rewards.kind = 'poisson' is not known; use one of 'gaussian', 'bernoulli'",
    ),
    "unknown key of a kind": (
        playing({"kind": "arms", "arms": 4, "size": 2}),
        "actions.size = 2 is not known; the keys are kind, arms.",
    ),
    "missing key of a kind": (
        playing({"kind": "subsets", "arms": 4}),
        "actions.size is missing; the keys are kind, arms, size.",
    ),
    "actions without arms": (playing({"kind": "arms"}), "actions.arms is missing"),
    "half a size": (
        playing({"kind": "subsets", "arms": 4, "size": 1.5}),
        "actions.size = 1.5 must be a whole number of at least 1",
    ),
    "a size of true": (
        playing({"kind": "subsets", "arms": 4, "size": True}),
        "actions.size = True must be a whole number",
    ),
    "too large a size": (
        playing({"kind": "subsets", "arms": 4, "size": 5}),
        "p.toml: actions: Subsets: size = 5 is more than",
    ),
    "groups as number": (
        playing({"kind": "partition", "groups": 3, "sizes": 1}),
        "actions.groups = 3 must be a list of lists of arms",
    ),
    "half an arm": (
        playing({"kind": "partition", "groups": [[0, 1.5]], "sizes": 1}),
        "actions.groups[0][1] = 1.5 is not an arm; there are no names",
    ),
    "sizes as text": (
        playing({"kind": "partition", "groups": [[0, 1]], "sizes": "1"}),
        "actions.sizes = '1' must be a whole number",
    ),
    "groups with a gap": (
        playing({"kind": "partition", "groups": [[0, 2]], "sizes": 1}),
        "actions: Partition: the groups must contain each",
    ),
    "set with an unknown name": (
        asking({"kind": "listed", "sets": [["a"], ["e"]]}, **ABCD),
        "answers.sets[1][0] = 'e' is not an arm; the names are 'a', 'b'",
    ),
    "name without names": (
        asking({"kind": "listed", "sets": [["a"]]}),
        "answers.sets[0][0] = 'a' is not an arm; there are no names",
    ),
    "set as text": (
        asking({"kind": "listed", "sets": ["abc"]}, **ABCD),
        "answers.sets[0] = 'abc' must be a list of arms",
    ),
    "no such arm": (
        asking({"kind": "listed", "sets": [[0], [4]]}),
        "answers: Listed: set number 1 has the arm 4; arms are 0 to 3",
    ),
    "needle": (asking({"kind": "almost-all", "needle": 7}), "answers: AlmostAllSets: needle = 7"),
    "needle true": (
        asking({"kind": "almost-all", "needle": True}),
        "answers.needle = True is not an arm",
    ),
    "edges as text": (
        playing({**NET, "edges": "s->t"}),
        "actions.edges = 's->t' must be a list of edges [tail, head]",
    ),
    "edge of one": (
        playing({**NET, "edges": [["s", "t"], ["s"]]}),
        "actions.edges[1] = ['s'] must be an edge [tail, head]",
    ),
    "edge named by a number": (
        playing({**NET, "edges": [["s", "t", 3]]}),
        "actions.edges[0] = ['s', 't', 3] must be an edge",
    ),
    "node of a fraction": (
        playing({**NET, "edges": [["s", 0.5]]}),
        "actions.edges[0] = 0.5 must be a text or a whole number",
    ),
    "unknown sink": (playing({**NET, "sink": "x"}), "actions: Paths: sink = 'x' is not a node"),
    "sink true": (
        playing({**NET, "sink": True}),
        "actions.sink = True must be a text or a whole number",
    ),
    "cycle": (
        playing({**NET, "edges": [["s", "a"], ["a", "s"], ["a", "t"]]}),
        "actions: Paths: the graph has a cycle",
    ),
    "graph in pieces": (
        playing({"kind": "spanning-trees", "edges": [[0, 1], [2, 3]]}),
        "actions: SpanningTrees: the graph is not connected",
    ),
    "rows as text": (
        playing({"kind": "matchings", "rows": "ab", "columns": 2}),
        "actions.rows = 'ab' must be a whole number",
    ),
    "forbidden triple": (
        playing({"kind": "matchings", "rows": 2, "columns": 2, "forbidden": [[0, 1, 2]]}),
        "actions.forbidden[0] = [0, 1, 2] must be a pair [row, column]",
    ),
    "forbidden elsewhere": (
        playing({"kind": "matchings", "rows": 2, "columns": 2, "forbidden": [[0, 5]]}),
        "actions: Matchings: the forbidden pair (0, 5)",
    ),
    "rows of numbers": (
        playing({**PROGRAMME, "A": [1, 1, 1]}),
        "actions.A[0] = 1 must be a list of numbers",
    ),
    "ragged rows": (
        playing({**PROGRAMME, "A": [[1, 1, 1], [1]]}),
        "actions: IntegerProgram: a constraint must be",
    ),
    "infeasible": (
        playing({**PROGRAMME, "low": 1.5, "high": 1.7}),
        "actions: IntegerProgram(<1 constraints>, 3): no set",
    ),
    "a bound of text": (
        playing({**PROGRAMME, "high": "two"}),
        "actions.high = 'two' must be a number, inf or -inf",
    ),
    "exact as text": (
        playing({**PROGRAMME, "exact": "yes"}),
        "actions.exact = 'yes' must be true or false",
    ),
    "no time": (
        playing({**PROGRAMME, "time_limit": 0}),
        "actions.time_limit = 0 must be a positive number of seconds",
    ),
    "odd stages": (
        playing({"kind": "grid-network", "stages": 3}),
        "actions: grid_network: n_s = 3 must be even",
    ),
    "other number of arms": (
        asking({"kind": "arms", "arms": 3}),
        "p.toml: the actions have 4 arms but the answers have 3",
    ),
    "sigma as text": (
        {**BASE, "rewards": {"kind": "gaussian", "sigma": "0.1"}},
        "rewards.sigma = '0.1' must be a number",
    ),
    "sigma in words": (
        {**BASE, "rewards": {"kind": "gaussian", "sigma": [1, "x"]}},
        "rewards.sigma[1] = 'x' must be a number",
    ),
    "sigma of 0": (
        {**BASE, "rewards": {"kind": "gaussian", "sigma": 0}},
        "p.toml: rewards: Gaussian: sigma = 0 must be positive",
    ),
    "sigmas for others": (
        {**BASE, "rewards": {"kind": "gaussian", "sigma": [1, 2]}},
        "p.toml: Gaussian: sigma has 2 values but there are 4 arms",
    ),
    "bounded upside down": (
        {**BASE, "rewards": {"kind": "bounded", "low": 1, "high": 0}},
        "rewards: Bounded: low = 1 and high = 0",
    ),
    "names as text": (
        {**BASE, "names": "abcd"},
        "p.toml: names = 'abcd' must be a list of texts, one per arm",
    ),
    "a name of 3": ({**BASE, "names": ["a", 3]}, "p.toml: names[1] = 3 must be a text"),
    "too few names": ({**BASE, "names": ["a", "b"]}, "p.toml: names must be 4 non-empty texts"),
    "a name twice": (
        {**BASE, "names": ["a", "b", "a", "c"]},
        "p.toml: the name 'a' is used for two arms",
    ),
    "bounds upside down": (
        {**BASE, "bounds": [1, 0]},
        "p.toml: bounds = [1.0, 0.0]: each low must be below its high",
    ),
    "bounds in words": (
        {**BASE, "bounds": ["low", 1]},
        "p.toml: bounds[0] = 'low' must be a number, inf or -inf",
    ),
    "one bound": ({**BASE, "bounds": 1}, "p.toml: bounds = 1.0 must be (low, high)"),
    "truth as list": (
        {**BASE, "truth": [1, 2, 3, 4]},
        "p.toml: truth = [1, 2, 3, 4] must be a table; the keys are means",
    ),
    "no means": ({**BASE, "truth": {}}, "p.toml: truth.means is missing"),
    "means as number": (
        {**BASE, "truth": {"means": 1}},
        "truth.means = 1 must be a list of numbers, one per arm, or a table",
    ),
    "a mean of text": (
        {**BASE, "truth": {"means": [1, 2, 3, "4"]}},
        "truth.means[3] = '4' must be a number",
    ),
    "a named mean of text": (
        {**BASE, **ABCD, "truth": {"means": {"a": "4"}}},
        "truth.means.a = '4' must be a number",
    ),
    "too few means": (
        {**BASE, "truth": {"means": [1, 2]}},
        "p.toml: truth: means must be 4 numbers",
    ),
    "means of others": (
        {**BASE, **ABCD, "truth": {"means": {"e": 1}}},
        "p.toml: truth: the arm 'e' is not known; the arms are a, b, c, d",
    ),
    "means of some": (
        {**BASE, **ABCD, "truth": {"means": {"a": 1}}},
        "p.toml: truth: means: the labels ['a'] must name each of the 4 arms",
    ),
    "mean nan": (
        {**BASE, "truth": {"means": [1, 2, 3, math.nan]}},
        "truth: means: arm 3 has the value nan",
    ),
    "a long value": ({**BASE, "names": "x" * 1000}, "xxx... must be a list of texts"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_get_one_sentence_that_names_the_place_the_value_and_the_remedy(case):
    data, words = BAD[case]
    with pytest.raises(cg.InputError) as error:
        problem_from(data, "p.toml")
    said = str(error.value)
    assert words in said and "\n" not in said and said.startswith("p.toml") and said.endswith(".")


FILES = {
    "no value": (
        b"names =\n[actions]\n",
        "is not TOML: Invalid value (at line 1, column 8); write key = value",
    ),
    "no quotes": (b"[actions]\nkind = arms\n", "(at line 2, column 8)"),
    "a key twice": (b"[a]\nx = 1\n[a]\n", "is not TOML: Cannot declare ('a',) twice (at line 3"),
    "latin-1": (
        'names = ["a"]\n# caf\u00e9\n'.encode("latin-1"),
        "is not UTF-8: line 2 has the byte 0xe9; save it with the encoding UTF-8",
    ),
    "utf-16": (DESIGN.encode("utf-16"), "is not UTF-8: line 1 has the byte"),
    "nothing": (b"", "actions is missing; the keys are actions, rewards"),
    "wrong place": (
        b'[actions]\nkind = "subsets"\narms = 5\nsize = "3"\n[rewards]\nkind = "bernoulli"',
        "problem.toml: actions.size = '3' must be a whole",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_gets_one_sentence_that_names_the_file_and_the_line(tmp_path, case):
    text, words = FILES[case]
    path = written(tmp_path, text)
    with pytest.raises(cg.InputError) as error:
        read_problem(path)
    said = str(error.value)
    assert words in said and "\n" not in said and said.startswith(str(path)) and said.endswith(".")


def test_a_file_that_is_not_there_or_is_a_folder_or_cannot_be_read_is_named(tmp_path, monkeypatch):
    with pytest.raises(cg.InputError, match=r"none\.toml does not exist; check the name"):
        read_toml(tmp_path / "none.toml")
    with pytest.raises(cg.InputError, match="is a folder; give the TOML file in it"):
        read_toml(str(tmp_path))

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(
        cg.InputError, match=r"x\.toml cannot be read \(Permission denied\); check its permissions"
    ):
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
    "unknown": ("best", "r = 'best' is not known; use one of 'hedge', 'adahedge'"),
    "number": (3, "r = 3 must be one of 'hedge'"),
    "nothing": (
        {},
        "r.learner is missing; name a learner, one of 'hedge', 'adahedge', 'ofw', 'lloo'",
    ),
    "only a label": ({"label": "x", "tracking": "D"}, "r.learner is missing"),
    "unknown rule": ({"rule": "best"}, "r.rule = 'best' is not known; use one of"),
    "unknown learner": ({"learner": "best"}, "r.learner = 'best' is not known; use one of 'hedge'"),
    "learner as list": ({"learner": ["lloo"]}, "r.learner = ['lloo'] is not known"),
    "a learner for uniform": (
        {"rule": "uniform", "learner": "ofw"},
        "r.learner = 'ofw' is not known; the keys are label, rule, start.",
    ),
    "unknown key": (
        {"learner": "ofw", "first": 3},
        "r.first = 3 is not known; the keys are label, rule, learner, tracking",
    ),
    "sparsify as text": (
        {"learner": "ofw", "sparsify": "no"},
        "r.sparsify = 'no' must be true or false",
    ),
    "first as text": ({"learner": "lloo", "first": "3"}, "r.first = '3' must be a number"),
    "first true": ({"learner": "lloo", "first": True}, "r.first = True must be a number"),
    "first of 0": (
        {"learner": "lloo", "first": 0},
        "r: doubling: first = 0.0 must be at least 1 round",
    ),
    "tracking": (
        {"learner": "lloo", "tracking": "E"},
        "r: CombGame: tracking = 'E' is not known; use one of 'C'",
    ),
    "tracking as number": (
        {"learner": "lloo", "tracking": 1},
        "r.tracking = 1 must be a text, such as 'C'",
    ),
    "start": ({"learner": "lloo", "start": "none"}, "r: CombGame: start = 'none' is not known"),
    "bonus": ({"learner": "lloo", "bonus": "much"}, "r: bonus = 'much' is not known"),
    "bonus below 0": ({"learner": "lloo", "bonus": {"b": -1}}, "r.bonus: theory bonus: b = -1"),
    "bonus of something": (
        {"learner": "lloo", "bonus": {"x": 1}},
        "r.bonus.x = 1 is not known; the keys are b, c",
    ),
    "geometry": (
        {"learner": "lloo", "geometry": [1, 1, 1, True]},
        "r: LLOO: geometry = (1, 1, 1, True) must be a Geometry",
    ),
    "half a geometry": (
        {"learner": "lloo", "geometry": {"psi": 1}},
        "r.geometry.diameter is missing",
    ),
}


@pytest.mark.parametrize("case", BAD_RULES)
def test_a_bad_rule_gets_one_sentence(case):
    data, words = BAD_RULES[case]
    with pytest.raises(cg.InputError) as error:
        rule_from(data, "r")
    said = str(error.value)
    assert words in said and "\n" not in said and said.startswith("r") and said.endswith(".")


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
    for bad, words in (
        ({"steps": 2.5}, "r.steps = 2.5 must be a whole number"),
        ({"weights": "x"}, "r: a value has the wrong type ('>' not supported"),
    ):
        with pytest.raises(cg.InputError) as error:
            rule_from({"rule": "greedy", **bad}, "r")
        assert str(error.value).startswith(words)
