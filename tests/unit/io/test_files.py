"""Problem files and rules as people write them: what they make, and what is wrong is said in one
sentence.
"""

import json
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

import jsonschema_rs
import pytest

import combgame as cg
from combgame.io import problem_from, read_problem, read_toml, rule_from
from combgame.io.models import STRUCTURES, problem_schema
from combgame.rules import RuleBase
from combgame.rules.presets import PRESETS
from tests.paths import ROOT
from tests.said import case, check_refusals, refused

SCHEMA = ROOT / "docs" / "problem.schema.json"
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
    assert one == other
    assert hash(one) == hash(other)
    assert (repr(one), one.names) == (repr(other), other.names)
    for mine, yours in ((one.actions, other.actions), (one.answers, other.answers)):
        assert mine.to_list() == yours.to_list()


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
            "high": [4, "inf"],
        },
        cg.IntegerProgram(([[3, 2, 2, 1], [1, 1, 0, 0]], -math.inf, [4, math.inf]), 4),
    ),
    "grid-network": ({"kind": "grid-network", "stages": 2}, cg.grid_network(2)),
    "line-network": ({"kind": "line-network", "width": 2, "layers": 3}, cg.line_network(2, 3)),
}


def test_every_kind_makes_its_structure():
    assert list(MADE) == list(STRUCTURES)
    for data, structure in MADE.values():
        names = NAMED["names"] if structure.d == 4 else None
        given = {**NAMED, "actions": data}
        found, _ = problem_from(given if names else {"actions": data, "rewards": given["rewards"]})
        same(found, cg.Problem(structure, None, cg.Bernoulli(), names))


def test_answers_take_the_number_of_arms_from_the_actions():
    data = {**NAMED, "actions": {"kind": "subsets", "arms": 4, "size": 3}}
    for answers in (
        {"kind": "arms"},
        {"kind": "subsets", "size": 2},
        {"kind": "almost-all"},
        {"kind": "listed", "sets": [["w"], ["x", "z"]]},
    ):
        left_out, _ = problem_from({**data, "answers": answers})
        same(left_out, problem_from({**data, "answers": {**answers, "arms": 4}})[0])
        assert left_out.answers.d == 4


def test_sigma_is_a_number_or_one_per_arm():
    for sigma in (1, 0.5, [0.1, 0.2, 0.3, 1e-9]):
        actions, rewards = {"kind": "arms", "arms": 4}, {"kind": "gaussian", "sigma": sigma}
        problem, _ = problem_from({"actions": actions, "rewards": rewards})
        assert repr(problem.rewards) == repr(cg.Gaussian(sigma))


# ---- sentences

BASE = {
    "actions": {"kind": "subsets", "arms": 4, "size": 2},
    "rewards": {"kind": "gaussian", "sigma": 0.1},
}
NET = {"kind": "paths", "edges": [["s", "a"], ["a", "t"], ["s", "t"]], "source": "s", "sink": "t"}
PROGRAMME = {"kind": "integer-program", "arms": 3, "A": [[1, 1, 1]], "high": 2}
ABCD = {"names": ["a", "b", "c", "d"]}


def bad(code, given, /, without="", **arguments):
    """Data with something wrong in them, or with a key left out."""
    data = given if isinstance(given, list) else {**BASE, **given}
    if without:
        del data[without]
    return case(code, lambda: problem_from(data, "p.toml"), **arguments)


def acts(code, kind, /, **arguments):
    return bad(code, {"actions": kind}, **arguments)


def answers(code, answers, /, names=None, **arguments):
    return bad(code, {"answers": answers, **({"names": names} if names else {})}, **arguments)


def pays(code, rewards, /, **arguments):
    return bad(code, {"rewards": rewards}, **arguments)


def subsets(**more):
    return {"kind": "subsets", "arms": 4, **more}


def groups(groups, sizes=1):
    return {"kind": "partition", "groups": groups, "sizes": sizes}


def listed(*sets):
    return {"kind": "listed", "sets": list(sets)}


def matchings(rows, **more):
    return {"kind": "matchings", "rows": rows, "columns": 2, **more}


WHOLE = [
    bad("must-be", [1, 2], name="p.toml", value=[1, 2]),
    bad("missing-key", {}, "actions", key="actions"),
    bad("missing-key", {}, "rewards", key="rewards"),
    bad("unknown-key", {"action": 3}, key="action"),
    bad("unknown-key", {"a\nb": 3}, key=r"'a\nb'"),
    bad("must-be", {"names": "abcd"}, name="names", value="abcd"),
    bad("must-be", {"names": ["a", 3]}, name="names[1]", value=3),
    bad("must-be", {"names": ["a", "b"]}, of="Problem", name="names", value=["a", "b"]),
    bad("name-repeated", {"names": ["a", "b", "a", "c"]}, name="a"),
    bad("must-be", {"bounds": [1, 0]}, of="Problem", name="bounds", value=[1.0, 0.0]),
    bad("must-be", {"bounds": ["low", 1]}, name="bounds[0]", value="low"),
    bad("must-be", {"bounds": 1}, of="Problem", name="bounds", value=1.0),
]
KINDS = [
    acts("must-be", "arms", name="actions", value="arms"),
    acts("missing-key", {"arms": 4}, key="actions.kind"),
    acts("unknown", {"kind": "subset"}, kind="actions.kind", name="subset"),
    acts("unknown", {"kind": 3}, kind="actions.kind", name=3),
    acts("unknown", {"kind": []}, kind="actions.kind", name=[]),
    acts("unknown-key", {"kind": "arms", "arms": 4, "size": 2}, key="actions.size"),
    acts("missing-key", subsets(), key="actions.size"),
    acts("missing-key", {"kind": "arms"}, key="actions.arms"),
    acts("must-be", subsets(size=1.5), name="actions.size", value=1.5),
    acts("must-be", subsets(size=True), name="actions.size", value=True),
    acts("must-be", subsets(size=5), key="actions", of="Subsets", name="size", value=5),
]
STRUCTURED = [
    acts("must-be", groups(3), name="actions.groups", value=3),
    acts("must-be", groups([[0, 1.5]]), name="actions.groups[0][1]", value=1.5),
    acts("must-be", groups([[0, 1]], "1"), name="actions.sizes", value="1"),
    acts("not-a-partition", groups([[0, 2]]), key="actions", arms=[0, 2]),
    acts("must-be", {**NET, "edges": "s->t"}, name="actions.edges", value="s->t"),
    acts("must-be", {**NET, "edges": [["s", "t"], ["s"]]}, name="actions.edges[1]", value=["s"]),
    acts("must-be", {**NET, "edges": [["s", "t", 3]]}, name="actions.edges[0]"),
    acts("must-be", {**NET, "edges": [["s", 0.5]]}, name="actions.edges[0]", value=["s", 0.5]),
    acts("unknown", {**NET, "sink": "x"}, key="actions", of="Paths", kind="sink", name="x"),
    acts("must-be", {**NET, "sink": True}, name="actions.sink", value=True),
    acts("cycle", {**NET, "edges": [["s", "a"], ["a", "s"], ["a", "t"]]}, key="actions"),
    acts("not-connected", {"kind": "spanning-trees", "edges": [[0, 1], [2, 3]]}, key="actions"),
    acts("must-be", matchings("ab"), name="actions.rows", value="ab"),
    acts("must-be", matchings(2, forbidden=[[0, 1, 2]]), name="actions.forbidden[0]"),
    acts("no-such-pair", matchings(2, forbidden=[[0, 5]]), key="actions", pair=(0, 5)),
    acts("must-be", {**PROGRAMME, "A": [1, [1, 1, 1]]}, name="actions.A[0]", value=1),
    acts("must-be", {**PROGRAMME, "A": [[1, 1, 1], [1]]}, of="IntegerProgram", d=3),
    acts("infeasible", {**PROGRAMME, "low": 1.5, "high": 1.7}, key="actions"),
    acts("must-be", {**PROGRAMME, "high": "two"}, name="actions.high", value="two"),
    acts("must-be", {**PROGRAMME, "exact": "yes"}, name="actions.exact", value="yes"),
    acts("must-be", {**PROGRAMME, "time_limit": 0}, name="actions.time_limit", value=0),
    acts("must-be", {"kind": "grid-network", "stages": 3}, key="actions", name="n_s", value=3),
]
ANSWERS = [
    answers("arms-disagree", {"kind": "arms", "arms": 3}, actions=4, answers=3),
    answers("must-be", listed(["a"], ["e"]), [*"abcd"], name="answers.sets[1][0]", value="e"),
    answers("must-be", listed(["a"]), name="answers.sets[0][0]", value="a"),
    answers("must-be", listed("abc"), [*"abcd"], name="answers.sets[0]", value="abc"),
    answers("no-such-arm", listed([0], [4]), key="answers", number=1, arm=4),
    answers("must-be", {"kind": "almost-all", "needle": 7}, of="AlmostAllSets", name="needle"),
    answers("must-be", {"kind": "almost-all", "needle": True}, name="answers.needle", value=True),
]
REWARDS = [
    pays("unknown", {"kind": "poisson"}, kind="rewards.kind", name="poisson"),
    pays("must-be", {"kind": "gaussian", "sigma": "0.1"}, name="rewards.sigma", value="0.1"),
    pays("must-be", {"kind": "gaussian", "sigma": [1, "x"]}, name="rewards.sigma[1]", value="x"),
    pays("must-be", {"kind": "gaussian", "sigma": 0}, key="rewards", of="Gaussian", name="sigma"),
    pays("one-sigma-per-arm", {"kind": "gaussian", "sigma": [1, 2]}, sigmas=2, d=4),
    pays("must-be", {"kind": "bounded", "low": 1, "high": 0}, of="Bounded", name="(low, high)"),
]


def true(code, truth, /, **arguments):
    return bad(code, {**ABCD, "truth": truth}, **arguments)


TRUTHS = [
    true("must-be", [1, 2, 3, 4], name="truth", value=[1, 2, 3, 4]),
    true("missing-key", {}, key="truth.means"),
    true("must-be", {"means": 1}, name="truth.means", value=1),
    true("must-be", {"means": [1, 2, 3, "4"]}, name="truth.means[3]", value="4"),
    true("must-be", {"means": {"a": "4"}}, name="truth.means.a", value="4"),
    true("must-be", {"means": [1, 2]}, key="truth", name="means", value=[1, 2]),
    true("unknown", {"means": {"e": 1}}, key="truth", kind="arm", name="e"),
    true("not-each-arm", {"means": {"a": 1}}, key="truth", labels=["a"]),
    true("not-finite", {"means": [1, 2, 3, math.nan]}, key="truth", what="means", arm="d"),
]
BAD = {
    "the whole": WHOLE,
    "kinds": KINDS,
    "actions": STRUCTURED,
    "answers": ANSWERS,
    "rewards": REWARDS,
    "truth": TRUTHS,
}


@pytest.mark.parametrize("part", BAD)
def test_bad_data_get_one_sentence_that_names_the_place_the_value_and_the_remedy(part):
    check_refusals(BAD[part], cg.InputError, "p.toml")


def test_all_that_is_wrong_is_said_at_once_each_with_its_code_and_its_remedy():
    odd = {"kind": "subsets", "size": 0, "sice": 2}
    data = {"actions": odd, "rewards": {"kind": "gaussian", "sigma": ["x", 1, "y"]}, "goal": "best"}
    with refused("several-problems", cg.InputError, where="p.toml", n=5) as caught:
        problem_from(data, "p.toml")
    assert str(caught.value) == (
        "p.toml: 5 problems: actions.size = 0 must be at least 1. actions.sice is not known; the "
        "keys are kind, arms, size. rewards.sigma[0] = 'x' must be a number. rewards.sigma[2] = "
        "'y' must be a number. goal = 'best' is not known; use one of maximise, minimise."
    )
    codes = [one.code for one in caught.value.arguments["problems"]]
    assert codes == ["must-be", "unknown-key", "must-be", "must-be", "unknown"]
    data = {**BASE, "actions": subsets(size=5), "rewards": {"kind": "gaussian", "sigma": 0}}
    with refused("several-problems", cg.InputError, n=2):  # as the classes say
        problem_from(data)
    with refused("several-problems", cg.InputError, n=50) as caught:
        problem_from({**BASE, "names": [3] * 50})
    assert len(caught.value.arguments["problems"]) == 10


def test_the_committed_schema_is_that_of_the_model():
    """python -m tests.unit.io.test_files writes it anew."""
    assert json.loads(SCHEMA.read_text()) == problem_schema()


def test_an_editor_accepts_what_is_read_and_refuses_a_wrong_key():
    valid = jsonschema_rs.validator_for(problem_schema()).is_valid
    for data, _ in MADE.values():
        assert valid({"actions": data, "rewards": {"kind": "bernoulli"}}), data
    assert valid(tomllib.loads(DESIGN))
    assert not valid({**tomllib.loads(DESIGN), "goals": "maximise"})


def test_a_long_value_is_cut():
    with refused("must-be", cg.InputError, name="names") as caught:
        problem_from({**BASE, "names": "x" * 1000}, "p.toml")
    assert "xxx... must be" in str(caught.value) and len(str(caught.value)) < 200


SIZE = b'[actions]\nkind = "subsets"\narms = 5\nsize = "3"\n[rewards]\nkind = "bernoulli"'
FILES = [
    (b"names =\n[actions]\n", "not-toml", {"why": "Invalid value (at line 1, column 8)"}),
    (b"[actions]\nkind = arms\n", "not-toml", {"why": "Invalid value (at line 2, column 8)"}),
    (
        b"[a]\nx = 1\n[a]\n",
        "not-toml",
        {"why": "Cannot declare ('a',) twice (at line 3, column 3)"},
    ),
    ('names = ["a"]\n# café\n'.encode("latin-1"), "not-utf-8", {"line": 2, "byte": 0xE9}),
    (DESIGN.encode("utf-16"), "not-utf-8", {"line": 1}),
    (b"", "several-problems", {"n": 2}),
    (SIZE, "must-be", {"name": "actions.size", "value": "3"}),
]


def test_a_bad_file_gets_one_sentence_that_names_the_file_and_the_line(tmp_path):
    path = str(written(tmp_path, b""))
    check_refusals(
        (
            case(code, lambda text=text: read_problem(written(tmp_path, text)), **arguments)
            for text, code, arguments in FILES
        ),
        cg.InputError,
        path,
    )


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


def test_a_preset_is_its_name_or_a_table_of_it():
    for name, rule in PRESETS.items():
        assert rule_from(name) == rule_from({"rule": name, "label": "any text"}) == rule


GEOMETRY = {"diameter": 2, "psi": 1.0, "phi": 0.5, "exact": True}
BOTH = {
    "tracking": "D",
    "learner_per_answer": True,
    "sparsify": False,
    "initialization": "full",
    "bonus": "theory",
}
RULES = [
    ({"learner": "lloo"}, cg.CombGame(cg.LLOO())),
    (
        {"learner": "lloo", **BOTH},
        cg.CombGame(cg.LLOO(sparsify=False), "D", "theory", True, "full"),
    ),
    (
        {"rule": "hedge", "initial_horizon": 50, "tracking": "sample"},
        cg.CombGame(cg.Hedge(initial_horizon=50.0), "sample"),
    ),
    ({"rule": "hedge", "learner": "ofw", "sparsify": False}, cg.CombGame(cg.OFW(False))),
    ({"rule": "uniform", "start": "random-covering"}, cg.Uniform("random-covering")),
    (
        {"learner": "lloo", "geometry": GEOMETRY},
        cg.CombGame(cg.LLOO(geometry=cg.PolytopeGeometry(2.0, 1.0, 0.5, True))),
    ),
    ({"learner": "ofw", "bonus": {"c": 0.5}}, cg.CombGame(cg.OFW(), bonus=cg.theory_bonus(c=0.5))),
]


def test_a_table_makes_its_rule():
    for data, rule in RULES:
        assert rule_from(data) == rule and repr(rule_from(data)) == repr(rule), data


def no_rule(code, data, /, **arguments):
    return case(code, lambda: rule_from(data, "r"), **arguments)


def lloo(code, /, given, **arguments):
    return no_rule(code, {"learner": "lloo", **given}, **arguments)


BAD_RULES = [
    no_rule("unknown", "best", kind="r", name="best"),
    no_rule("must-be", 3, name="r", value=3),
    no_rule("missing-key", {}, key="learner"),
    no_rule("missing-key", {"label": "x", "tracking": "D"}, key="learner"),
    no_rule("unknown", {"rule": "best"}, kind="rule", name="best"),
    no_rule("unknown", {"learner": "best"}, kind="learner", name="best"),
    no_rule("unknown", {"learner": ["lloo"]}, kind="learner", name=["lloo"]),
    no_rule(
        "unknown-key",
        {"rule": "uniform", "learner": "ofw"},
        key="learner",
        keys=["label", "rule", "start"],
    ),
    no_rule("unknown-key", {"learner": "ofw", "initial_horizon": 3}, key="initial_horizon"),
    no_rule("must-be", {"learner": "ofw", "sparsify": "no"}, name="sparsify", value="no"),
    lloo("must-be", {"initial_horizon": "3"}, name="initial_horizon"),
    lloo("must-be", {"initial_horizon": True}, name="initial_horizon", value=True),
    lloo("must-be", {"initial_horizon": 0}, of="doubling", name="initial_horizon", value=0.0),
    lloo("unknown", {"tracking": "E"}, of="CombGame", kind="tracking", name="E"),
    lloo("must-be", {"tracking": 1}, name="tracking", value=1, usual="C"),
    lloo("unknown", {"initialization": "none"}, of="CombGame", kind="initialization", name="none"),
    lloo("unknown", {"bonus": "much"}, kind="bonus", name="much"),
    lloo("must-be", {"bonus": {"b": -1}}, key="bonus", of="theory_bonus", name="b", value=-1),
    lloo("unknown-key", {"bonus": {"x": 1}}, key="bonus.x", keys=["b", "c"]),
    lloo("must-be", {"geometry": [1, 1, 1, True]}, of="LLOO", value=(1, 1, 1, True)),
    lloo("missing-key", {"geometry": {"psi": 1}}, key="geometry.diameter"),
]


def test_a_bad_rule_gets_one_sentence():
    check_refusals(BAD_RULES, cg.InputError, "r")


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


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(problem_schema(), indent=1) + "\n")
