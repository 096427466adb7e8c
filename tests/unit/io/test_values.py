"""Descriptions are values: equal when their arguments are, frozen, typed by their repr, and the
same again after a trip through data.
"""

import json
import math
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import NamedTuple

import networkx
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import combgame as cg
from combgame._values import Description, arguments, is_value
from combgame.io import from_data, identity, same_description, to_data
from combgame.io.descriptions import all_subclasses
from combgame.io.models import STRUCTURES
from combgame.learners import LearnerBase
from combgame.rules import RuleBase
from combgame.rules.bonuses import StylisedBonus, TheoryBonus
from combgame.rules.presets import PRESETS
from combgame.structures import StructureBase
from tests.said import case, check_refusals, refused

INF = math.inf


def through_json(value):
    """Through strict JSON, which knows neither tuples nor infinity."""
    return from_data(json.loads(json.dumps(to_data(value), allow_nan=False)))


def check_value(value):
    """All that makes a value."""
    twins = [
        eval(repr(value), dict(vars(cg))),
        pickle.loads(pickle.dumps(value)),
        through_json(value),
    ]
    for other in twins:
        assert other is not value
        assert other == value
        assert hash(other) == hash(value)
        assert repr(other) == repr(value)
        assert to_data(other) == to_data(value) and type(other) is type(value)
    assert len({value, *twins}) == 1 and "inf, " not in str(value) and "\n" not in repr(value)
    return twins[-1]


# ---- whatever can be drawn


def try_to(make):
    try:
        return make()
    except cg.CombGameError:
        return assume(False)


texts = st.text(
    st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=5
).filter(str.strip)
nodes = st.one_of(
    texts, st.integers(-3, 3), st.tuples(st.integers(0, 2), texts), st.sampled_from([2.5, None])
)


@st.composite
def labels(draw, n):
    """Nodes of all sorts; sometimes plain numbers."""
    return (
        list(range(n))
        if draw(st.booleans())
        else draw(st.lists(nodes, min_size=n, max_size=n, unique_by=lambda x: (str(x), 0)))
    )


@st.composite
def structures(draw, kind):
    d = draw(st.integers(2, 6))
    arms = st.integers(0, d - 1)
    if kind == "arms":
        return cg.Arms(d)
    if kind == "subsets":
        return cg.Subsets(d, draw(st.integers(1, d)))
    if kind == "partition":
        order, cut = draw(st.permutations(range(d))), draw(st.integers(1, d - 1))
        groups = [order[:cut], order[cut:]]
        return try_to(lambda: cg.Partition(groups, [draw(st.integers(0, len(g))) for g in groups]))
    if kind == "paths":  # with edges beside every path, parallel ones and names
        at = draw(labels(d))
        pairs = st.sampled_from([(u, v) for u in range(d) for v in range(u + 1, d)])
        ends = [*((i, i + 1) for i in range(d - 1)), *draw(st.lists(pairs, max_size=6))]
        edges = [
            (at[u], at[v], *([draw(texts)] if draw(st.integers(0, 5)) == 0 else []))
            for u, v in draw(st.permutations(ends))
        ]
        source = draw(st.integers(0, d - 2))
        return cg.Paths(edges, at[source], at[draw(st.integers(source + 1, d - 1))])
    if kind == "spanning-trees":
        at = draw(labels(d))
        pairs = st.sampled_from([(u, v) for u in range(d) for v in range(d) if u != v])
        ends = [*((i, i + 1) for i in range(d - 1)), *draw(st.lists(pairs, max_size=4))]
        return cg.SpanningTrees([(at[u], at[v]) for u, v in draw(st.permutations(ends))])
    if kind == "matchings":
        rows, columns = draw(labels(draw(st.integers(1, 3)))), draw(labels(draw(st.integers(1, 3))))
        barred = draw(
            st.sets(
                st.tuples(st.sampled_from(range(len(rows))), st.sampled_from(range(len(columns)))),
                max_size=3,
            )
        )
        size = draw(st.one_of(st.none(), st.integers(1, 3)))
        return try_to(
            lambda: cg.Matchings(rows, columns, size, [(rows[i], columns[j]) for i, j in barred])
        )
    if kind == "almost-all":
        return cg.AlmostAllSets(d, draw(st.sets(arms, min_size=1)))
    if kind == "listed":
        sets = draw(st.lists(st.frozensets(arms, min_size=1), min_size=1, max_size=8, unique=True))
        return cg.Listed([sorted(one) for one in sets], d)
    if kind == "integer-program":
        d = min(d, 4)
        entries = st.sampled_from([0.0, 1.0, 2.0, -0.3, 7.0])
        rows = st.lists(st.lists(entries, min_size=d, max_size=d), min_size=1, max_size=2)
        several = draw(
            st.lists(
                st.tuples(
                    rows,
                    st.sampled_from([-math.inf, -1.0, 0.0]),
                    st.sampled_from([math.inf, 2.5, 4]),
                ),
                max_size=2,
            )
        )
        return try_to(
            lambda: cg.IntegerProgram(
                several, d, draw(st.booleans()), draw(st.sampled_from([10, 60.0]))
            )
        )
    return (
        cg.grid_network(draw(st.sampled_from([2, 4])))
        if kind == "grid-network"
        else cg.line_network(d, draw(st.integers(2, 3)))
    )


@st.composite
def problems(draw, kind):
    actions = draw(structures(kind))
    d = actions.d
    answers = draw(st.sampled_from([None, cg.Arms(d), cg.Subsets(d, 1), actions]))
    deviation = st.floats(1e-3, 10)
    rewards = draw(
        st.one_of(
            st.builds(
                cg.Gaussian,
                st.one_of(
                    deviation, st.integers(1, 3), st.lists(deviation, min_size=d, max_size=d)
                ),
            ),
            st.just(cg.Bernoulli()),
            st.just(cg.Bounded(-1, 2.5)),
        )
    )
    low, high = st.sampled_from([-math.inf, 0, 0.25]), st.sampled_from([0.75, 1, math.inf])
    pairs = st.tuples(low, high)
    bounds = draw(st.one_of(st.none(), pairs, st.lists(pairs, min_size=d, max_size=d)))
    names = draw(st.one_of(st.none(), st.lists(texts, min_size=d, max_size=d, unique=True)))
    return try_to(lambda: cg.Problem(actions, answers, rewards, names, bounds))


@pytest.mark.parametrize("kind", STRUCTURES)
def test_a_problem_that_is_written_and_read_is_the_same(kind):
    @given(drawn=problems(kind))
    @settings(
        max_examples={"integer-program": 10, "grid-network": 6, "line-network": 10}.get(kind, 25),
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )
    def check(drawn):  # many graphs have a single path, or arms on none: no problem
        again = check_value(drawn)
        assert (again.names, again.low, again.high) == (drawn.names, drawn.low, drawn.high)
        for mine, yours in ((drawn.actions, again.actions), (drawn.answers, again.answers)):
            assert mine == yours
            assert mine.to_list() == yours.to_list()
            assert mine.covering() == yours.covering()
            assert getattr(mine, "names", None) == getattr(yours, "names", None)
            assert mine.without_labels().to_list() == mine.to_list()
        assert drawn.without_labels() == again.without_labels()
        assert check_value(drawn.without_labels()).without_labels() == drawn.without_labels()

    check()


@st.composite
def learners(draw):
    positive = st.floats(1.0, 1e6)
    geometry = st.builds(cg.PolytopeGeometry, positive, positive, positive, st.booleans())
    doubling = {
        "initial_horizon": st.one_of(positive, st.integers(1, 500)),
        "horizon_factor": st.floats(1.1, 9.0),
    }
    return draw(
        st.one_of(
            st.builds(cg.LLOO, sparsify=st.booleans(), geometry=st.none() | geometry, **doubling),
            st.builds(cg.Hedge, **doubling),
            st.builds(cg.OFW, st.booleans()),
            st.builds(cg.AdaHedge),
        )
    )


bonuses = st.one_of(
    st.sampled_from(["stylised", "theory"]),
    st.builds(cg.theory_bonus, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3) | st.integers(1, 9)),
)
starts = st.sampled_from(["covering", "full", "random-covering"])
rules = st.one_of(
    st.builds(
        cg.CombGame, learners(), st.sampled_from("CD"), bonuses, st.booleans(), st.none() | starts
    ),
    st.builds(
        cg.FrankWolfe,
        sharpness=st.floats(0.1, 9.0) | st.integers(1, 9),
        max_rivals=st.none() | st.integers(1, 99),
    ),
    st.builds(cg.GCBPE, st.none() | st.floats(1e-3, 1e3) | st.integers(1, 3)),
    st.builds(cg.ProductAdaHedge, bonuses),
    st.builds(cg.Uniform, starts),
    st.builds(
        cg.FixedAllocation,
        st.lists(
            st.tuples(st.sets(st.integers(0, 5), min_size=1), st.floats(1e-3, 1e3)), min_size=1
        ),
    ),
)


@given(rule=rules)
@settings(max_examples=60)
def test_a_rule_that_is_written_and_read_is_the_same(rule):
    check_value(rule)


@given(learner=learners())
@settings(max_examples=40)
def test_and_so_is_a_learner(learner):
    check_value(learner)


REWARDS = [
    cg.Gaussian(0.1),
    cg.Gaussian([0.1, 2, 1e-9]),
    cg.Gaussian(shared_sigma=False),
    cg.Gaussian(simulation_sigma=3, shared_sigma=False),
    cg.Gaussian(),
    cg.Gaussian(shared_sigma=[[0, 2], [1]], simulation_sigma=[1, 2, 1]),
    cg.Bernoulli(),
    cg.Bounded(-1, 2),
]


def test_and_so_are_rewards():
    for rewards in REWARDS:
        check_value(rewards)


def test_every_class_that_describes_says_its_arguments_and_has_a_name_of_its_own():
    """Whoever adds a structure or a rule makes it a value, or this says so."""
    kinds = list(all_subclasses(Description))
    assert len({kind.__name__ for kind in kinds}) == len(kinds) >= 20
    for kind in kinds:
        assert "arguments" in vars(kind) or "__dataclass_fields__" in vars(kind), kind
        assert kind.__eq__ is Description.__eq__ and kind.__hash__ is Description.__hash__, kind


# ---- what is the same, and what is not

EDGES = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("s", "t")]
SAME = {
    "numbers of NumPy": (cg.Subsets(np.int64(4), np.int32(2)), cg.Subsets(4, 2)),
    "one size for all": (cg.Partition([[1, 0], [2, 3]], 1), cg.Partition(([0, 1], (3, 2)), [1, 1])),
    "a needle": (cg.AlmostAllSets(4, 2), cg.AlmostAllSets(4, [np.int64(2)])),
    "sets in any order of arms": (cg.Listed([[1, 0], {2}], 3), cg.Listed([(0, 1), (2,)], 3)),
    "a graph": (
        cg.Paths(networkx.DiGraph(EDGES), "s", "t"),
        cg.Paths([EDGES[k] for k in (0, 1, 4, 2, 3)], "s", "t"),
    ),
    "usual names": (
        cg.Paths([(*EDGES[0], "s->a"), *EDGES[1:]], "s", "t"),
        cg.Paths(EDGES, "s", "t"),
    ),
    "an undirected graph": (
        cg.SpanningTrees(networkx.cycle_graph(3)),
        cg.SpanningTrees([(0, 1), (0, 2), (1, 2)]),
    ),
    "sides": (
        cg.Matchings([0, 1], (0, 1, 2), 2, [(1, 0), (0, 2)]),
        cg.Matchings(2, 3, None, [(0, 2), (1, 0)]),
    ),
    "constraints": (
        cg.IntegerProgram([([[1, 1, 0]], 0, 1), ([0.0, 1.0, 1.0], [0], np.ones(1))], 3),
        cg.IntegerProgram(([[1, 1, 0], [0, 1, 1]], 0, 1), 3, time_limit=60),
    ),
    "no constraints": (cg.IntegerProgram([], 3), cg.IntegerProgram((), 3)),
    "sigma": (cg.Gaussian(1), cg.Gaussian(np.float64(1.0))),
    "sigmas": (cg.Gaussian([1, 2]), cg.Gaussian(np.array([1.0, 2.0]))),
    "ends": (cg.Bounded(0, 1), cg.Bounded(0.0, np.float64(1.0))),
    "defaults": (
        cg.CombGame(),
        cg.CombGame(cg.LLOO(initial_horizon=200), "C", "stylised", False, None),
    ),
    "a bonus": (cg.CombGame(bonus=cg.theory_bonus(1, 1)), cg.CombGame(bonus=cg.theory_bonus())),
    "shares": (
        cg.FixedAllocation([((0,), 1), ((1,), 3)]),
        cg.FixedAllocation([([0], 0.25), ([1], 0.75)]),
    ),
    "answers": (
        cg.Problem(cg.Arms(3), None, cg.Bernoulli()),
        cg.Problem(cg.Arms(3), cg.Arms(3), cg.Bernoulli()),
    ),
    "bounds": (
        cg.Problem(cg.Arms(2), None, cg.Gaussian(1), bounds=(0, INF)),
        cg.Problem(cg.Arms(2), None, cg.Gaussian(1), bounds=[(0, INF)] * 2),
    ),
    "bounds that say nothing": (
        cg.Problem(cg.Arms(2), None, cg.Bernoulli(), bounds=(-3, 3)),
        cg.Problem(cg.Arms(2), None, cg.Bernoulli()),
    ),
    "the names of a graph": (
        cg.Problem(
            cg.Paths(EDGES, "s", "t"),
            None,
            cg.Gaussian(1),
            names=["s->a", "s->b", "a->t", "b->t", "s->t"],
        ),
        cg.Problem(cg.Paths(EDGES, "s", "t"), None, cg.Gaussian(1)),
    ),
}


def test_what_is_the_same_is_equal_however_it_was_given():
    for how, (one, other) in SAME.items():
        assert one == other and hash(one) == hash(other) and repr(one) == repr(other), how
        told, again = to_data(one), to_data(other)
        assert told == again and identity(same_description(told)) == identity(
            same_description(again)
        ), how
        check_value(one)


def test_what_differs_in_anything_is_different():
    paths = [
        cg.Paths(edges, "s", end)
        for edges in (EDGES, EDGES[::-1], [(*EDGES[0], "x"), *EDGES[1:]])
        for end in "tb"
    ]
    found = [
        *(cg.Arms(d) for d in (2, 3)),
        *(cg.Subsets(4, size) for size in (1, 2)),
        *paths,
        *REWARDS,
        *(cg.Listed(sets, 3) for sets in ([[0], [1]], [[1], [0]], [[0], [2]])),
        cg.Listed([[0], [1]], 4),
        *(
            cg.Partition(groups, sizes)
            for groups, sizes in (([[0], [1, 2]], 1), ([[1, 2], [0]], 1), ([[0], [1, 2]], [0, 1]))
        ),
        *(
            cg.IntegerProgram(([[1, 1]], 0, 1), 2, exact, seconds)
            for exact in (False, True)
            for seconds in (60.0, 5.0)
        ),
        *(cg.Matchings(2, 3, size, barred) for size in (1, 2) for barred in ([], [(0, 0)])),
        cg.Matchings("ab", 3),
        *PRESETS.values(),
        cg.CombGame(tracking="D"),
        cg.CombGame(cg.LLOO(initial_horizon=201.0)),
        cg.Hedge(),
        cg.AdaHedge(),
        *(
            cg.CombGame(bonus=bonus)
            for bonus in ("theory", cg.theory_bonus(2.0), TheoryBonus(1.0, 1.0))
        ),
        *(
            cg.Problem(cg.Subsets(4, size), answers, cg.Gaussian(sigma), names, bounds)
            for size in (1, 2)
            for sigma in (1.0, 2.0)
            for answers in (None, cg.Arms(4))
            for names in (None, list("abcd"))
            for bounds in (None, (0, 1))
        ),
    ]
    assert (
        len(set(found))
        == len(found)
        == len({identity(same_description(to_data(one))) for one in found})
    )


def test_bonuses_of_different_kinds_are_different_although_they_are_equal_as_tuples():
    class Other(NamedTuple):
        b: float
        c: float

        def bonus_at(self, t):
            return 1.0

    assert Other(1.0, 1.0) == TheoryBonus(1.0, 1.0)
    assert cg.CombGame(bonus=Other(1.0, 1.0)) != cg.CombGame(bonus=TheoryBonus(1.0, 1.0))
    assert through_json(cg.CombGame(bonus=StylisedBonus(2.0))) == cg.CombGame(
        bonus=StylisedBonus(2.0)
    )


def test_a_problem_is_typed_without_what_nobody_types():
    problem = cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(0.1))
    assert repr(problem) == "Problem(Subsets(3, 2), Arms(3), Gaussian(sigma=0.1))"
    named = cg.Problem(cg.Arms(2), None, cg.Gaussian(1), ["a", "b"], (0, INF))
    assert (
        repr(named)
        == "Problem(Arms(2), rewards=Gaussian(sigma=1.0), names=('a', 'b'), bounds=(0.0, "
        "float('inf')))"
    )
    assert repr(cg.CombGame(cg.LLOO(), tracking="D")) == "CombGame(LLOO(), tracking='D')"


def test_a_sentence_about_a_large_structure_is_short():
    large = cg.Problem(
        cg.line_network(5, 20), cg.Listed([[a] for a in range(485)], 485), cg.Gaussian([0.1] * 485)
    )
    assert (
        str(large)
        == "Problem(Paths(<485 edges>, 's', 't'), Listed(<485 sets>, 485), Gaussian(sigma=<485 "
        "values>))"
    )
    with refused("too-many-sets", cg.TooManySetsError, structure="Paths(<485 edges>, 's', 't')"):
        large.actions.to_list()


def test_a_value_is_frozen():
    problem = cg.Problem(cg.Arms(3), None, cg.Bernoulli())
    for value in (
        cg.Arms(3),
        cg.grid_network(4),
        cg.Gaussian(1),
        cg.LLOO(),
        cg.CombGame(),
        problem,
    ):
        for name in (next(iter(arguments(value)), "sparsify"), "d", "another"):
            with pytest.raises(FrozenInstanceError):
                setattr(value, name, 3)
        with pytest.raises(FrozenInstanceError):
            del value.d


def test_what_is_compared_is_made_once(monkeypatch):
    """Graphs of a million edges are compared and hashed as often as one likes."""
    one, other = cg.line_network(3, 5), cg.line_network(3, 5)
    asked, arguments_of = [], cg.Paths.arguments
    monkeypatch.setattr(cg.Paths, "arguments", lambda self: asked.append(1) or arguments_of(self))
    for _ in range(5):
        assert one == other and hash(one) == hash(other)
    assert len(asked) == 2


def test_what_a_structure_has_found_out_is_no_part_of_it():
    one, other = cg.grid_network(6), cg.grid_network(6)
    before = pickle.dumps(one)
    assert (
        one.max_difference() == 12
        and one.geometry()
        and one.relevant_arms()
        and hash(one) == hash(other)
    )
    assert one == other == pickle.loads(before) == pickle.loads(pickle.dumps(one))
    assert to_data(one) == to_data(other)


# ---- structures under other numbers

NUMBERED = [
    cg.grid_network(2),
    cg.SpanningTrees([(0, 1), (1, 2), (2, 0), (0, 1)]),
    cg.Matchings(2, 2),
    cg.Listed([[0, 1], [2, 3], [1]], 4),
    cg.IntegerProgram(([[3, 2, 2, 1]], 0, 4), 4),
    cg.Partition([[0, 1], [2, 3]], 1),
]


def test_a_structure_under_other_numbers_is_the_value_of_both():
    order, other = np.array([2, 0, 3, 1]), np.array([1, 0, 2, 3])
    for structure in NUMBERED:
        one, two = structure.permuted(order), structure.permuted(order.copy())
        assert one == two and hash(one) == hash(two), structure
        assert one not in (structure, structure.permuted(other)), structure
        assert pickle.loads(pickle.dumps(one)) == one == eval(repr(one), dict(vars(cg)))
        problem = cg.Problem(structure, cg.Arms(4), cg.Gaussian([1, 2, 3, 4]))
        renamed = problem.permuted(order)
        assert renamed == problem.permuted(order.copy()) != problem and str(renamed)
        if not isinstance(structure, cg.Partition):  # which is made anew
            with refused("numbered-anew", cg.InputError):
                to_data(one)


# ---- classes of somebody else's


class Steps(NamedTuple):
    width: float
    many: int


@dataclass(frozen=True)
class Greedy(RuleBase):
    """A rule from outside."""

    steps: int = 3
    rate: float = 0.5
    shape: Steps | None = None
    weights: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Pairs(cg.Subsets):
    """A structure from outside; its fields are its arguments."""

    d: int

    def __post_init__(self):
        vars(self)["chosen"] = 2


class Mine(cg.Subsets):
    """Another structure, although it is a kind of Subsets."""


def test_a_class_from_outside_says_where_it_comes_from():
    rule = Greedy(5, 1.0, Steps(0.5, 2), (1.0, 2.0))
    named = {"module": __name__, "qualname": "Greedy"}
    shape = {"kind": "Steps", "module": __name__, "qualname": "Steps", "width": 0.5, "many": 2}
    assert to_data(rule) == {
        "kind": "Greedy",
        **named,
        "steps": 5,
        "rate": 1.0,
        "shape": shape,
        "weights": [1.0, 2.0],
    }
    for value in (rule, Pairs(4), cg.Problem(Pairs(4), cg.Arms(4), cg.Gaussian(1))):
        again = through_json(value)
        assert again == value and hash(again) == hash(value) and type(again) is type(value)


def test_a_class_that_is_not_here_is_named():
    told = to_data(Greedy())
    for change in (
        {"module": "their.rules"},
        {"qualname": "Sleepy"},
        {"module": 3},
        {"qualname": "test.<locals>.Greedy"},
    ):
        with refused("class-absent", cg.InputError, where="r") as error:
            from_data(told | change, "r")
        assert "\n" not in str(error.value) and "--import" in error.value.remedy


def from_outside(kind, module, **more):
    data = {"kind": kind, "module": module, "qualname": kind, **more}
    return case("not-a-description", lambda: from_data(data), name=kind, module=module)


def test_data_do_not_call_what_they_like():
    check_refusals(
        [
            from_outside("Popen", "subprocess", args=["true"]),
            from_outside("system", "os", command="true"),
            from_outside("list", "builtins"),
        ],
        cg.InputError,
    )


def nothing(code, data, /, **arguments):
    return case(code, lambda: from_data(data, "x"), **arguments)


def test_data_that_describe_nothing_get_one_sentence():
    inside = {"kind": "Problem", "actions": {"kind": "Arms", "d": "3"}}
    check_refusals(
        [
            nothing("unknown", {"kind": "Arm", "d": 3}, kind="kind", name="Arm"),
            nothing("unknown", {"kind": "StructureBase"}, name="StructureBase"),
            nothing("unknown", {"kind": ["Arms"], "d": 3}, name=["Arms"]),
            nothing("bad-arguments", {"kind": "Subsets", "d": 3}, kind="Subsets"),
            nothing("bad-arguments", {"kind": "Arms", "d": 3, "e": 4}, kind="Arms"),
            nothing("must-be", {"kind": "Arms", "d": 0}, of="Arms", name="d", value=0),
            nothing("must-be", inside, key="actions", of="Arms", name="d", value="3"),
            nothing("must-be", {"kind": "float", "value": "many"}, name="x"),
        ],
        cg.InputError,
        "x",
    )


def test_a_function_is_refused_in_a_sentence():
    best = cg.Oracle(lambda scores: np.argsort(-scores)[:2], d=4)
    for value in (best, cg.Problem(best, cg.Arms(4), cg.Gaussian(1))):
        with refused("function-described", cg.InputError, argument="argmax") as error:
            to_data(value)
        assert "\n" not in str(error.value)


def top_two(scores):
    return np.argsort(-scores, kind="stable")[:2]


def test_an_oracle_is_the_value_of_its_function():
    one = cg.Oracle(top_two, 4, covering=[[0, 1], [2, 3]])
    assert (
        one == eval(repr(one), {**vars(cg), "top_two": top_two}) == pickle.loads(pickle.dumps(one))
    )
    assert one != cg.Oracle(top_two, 4) == cg.Oracle(top_two, 4)
    assert len({one, cg.Oracle(top_two, 4), cg.Oracle(top_two, 4)}) == 2


def test_a_class_that_says_nothing_of_its_arguments_is_no_value():
    class Plain(RuleBase):
        """It inherits the fields of RuleBase, of which there are none: its own would be
        forgotten.
        """

        def __init__(self, secret):
            self.secret = secret

    class Sets(StructureBase):
        d = 4

    class Learner(LearnerBase):
        pass

    for one, other in (
        (Plain(3), Plain(3)),
        (Mine(4, 2), Mine(4, 2)),
        (Sets(), Sets()),
        (Learner(), Learner()),
    ):
        assert one == one and one != other and len({one, other}) == 2 and not is_value(one)
    for value in (
        Plain(3),
        cg.CombGame(Learner()),
        Greedy(weights=(1.0, object())),
        Mine(4, 2),
        {1, 2},
    ):
        with refused("not-describable", cg.InputError) as error:
            to_data(value)
        assert "\n" not in str(error.value) and "a frozen dataclass" in error.value.remedy
    changed = Mine(4, 2)
    changed.more = 3  # a class of one's own may add to what it inherits


def test_an_argument_must_not_be_called_like_what_describes_its_class():
    @dataclass(frozen=True)
    class Kind(RuleBase):
        kind: str = "x"

    with refused("reserved-name", cg.InputError):
        to_data(Kind())


BOXED = [
    (cg.Gaussian(np.int64(1)), cg.Gaussian(1)),
    (cg.Gaussian(np.float32(0.5)), cg.Gaussian(0.5)),
    (cg.Gaussian(np.array(0.5)), cg.Gaussian(0.5)),
    (cg.Gaussian(shared_sigma=np.bool_(False)), cg.Gaussian(shared_sigma=False)),
    (cg.Gaussian(shared_sigma=[[1, 0], [2]]), cg.Gaussian(shared_sigma={"a": (0, 1), "b": [2]})),
    (cg.Bounded(np.array(0), np.int8(2)), cg.Bounded(0, 2)),
    (cg.FrankWolfe(max_rivals=np.int64(3)), cg.FrankWolfe(max_rivals=3)),
    (cg.FrankWolfe(sharpness=np.array(2)), cg.FrankWolfe(sharpness=2)),
    (cg.LLOO(initial_horizon=np.array(300.0)), cg.LLOO(initial_horizon=300.0)),
    (cg.LLOO(sparsify=np.bool_(False)), cg.LLOO(sparsify=False)),
    (cg.GCBPE(np.float32(0.5)), cg.GCBPE(0.5)),
    (cg.CombGame(track_regret=np.bool_(True)), cg.CombGame(track_regret=True)),
    (cg.Subsets(np.array(4), size=np.int32(2)), cg.Subsets(4, 2)),
]


def test_a_number_of_numpy_is_the_number_that_it_is():
    for value, plain in BOXED:
        assert value == plain and hash(value) == hash(plain) and repr(value) == repr(plain)
        for name, argument in arguments(value).items():
            assert type(argument) is type(arguments(plain)[name]), (plain, name)
        assert check_value(value) == plain


def test_a_sigma_of_numpy_is_that_of_all_arms():
    assert cg.Problem(cg.Arms(3), rewards=cg.Gaussian(np.array(0.5))).sigma().tolist() == [0.5] * 3


def test_a_problem_can_be_made_with_something_replaced():
    problem = cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(1.0), list("abc"), (0.0, 2.0))
    assert replace(problem) == problem
    other = replace(problem, rewards=cg.Gaussian(2.0))
    assert other == cg.Problem(
        cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(2.0), list("abc"), (0.0, 2.0)
    )
    assert (other.low, other.high) == ((0.0,) * 3, (2.0,) * 3)
    free = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0))
    assert replace(free, rewards=cg.Bernoulli()).high == (1.0,) * 3
