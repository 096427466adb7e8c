"""Slips of the pen do not fill the memory; what is meant can be asked for."""

import random

import numpy as np

import combgame as cg
from combgame._validation import VARIABLE, limit
from combgame.errors import OracleError
from combgame.io import problem_from
from combgame.structures import integer_program as integer
from combgame.structures import paths, trees
from tests.said import case, check_refusals, refused


def test_what_is_too_large_is_refused_at_once():
    actions = {"kind": "arms", "arms": 10**9}
    check_refusals(
        case("too-large", make, variable=VARIABLE)
        for make in (
            lambda: cg.Arms(10**8),
            lambda: cg.Subsets(10**9, 3),
            lambda: cg.AlmostAllSets(10**7),
            lambda: cg.Partition([range(10**12)], 1),
            lambda: cg.Matchings(10**4, 10**4),
            lambda: cg.Listed([[k] for k in range(200)], 10**6),
            lambda: cg.Oracle(lambda scores: [0], 10**9),
            lambda: cg.IntegerProgram([], 10**9),
            lambda: cg.grid_network(3000),
            lambda: cg.line_network(1000, 1000),
            lambda: problem_from({"actions": actions, "rewards": {"kind": "bernoulli"}}),
        )
    )


def test_the_limit_can_be_raised_and_lowered(monkeypatch):
    assert limit() == 10**6
    monkeypatch.setenv(VARIABLE, "10")
    assert cg.Arms(10).d == 10
    with refused("too-large", number=11, most=10, enough=11):
        cg.Arms(11)
    monkeypatch.setenv(VARIABLE, "2000000")
    assert cg.Arms(2 * 10**6).d == 2 * 10**6
    for wrong in ("many", "-1", "0", "1e6", "9" * 5000, "٣"):
        monkeypatch.setenv(VARIABLE, wrong)
        with refused("must-be", name=VARIABLE):
            cg.Arms(3)


def test_a_programme_that_takes_long_is_given_up(monkeypatch):
    monkeypatch.setattr(integer, "CALLS", 0)
    with refused("solver-slow", OracleError):
        cg.IntegerProgram(([[1.0, 1.0, 1.0]], 0.0, 2.0), 3)


def test_two_paths_of_a_large_graph_differ_at_most_as_much_as_is_said(monkeypatch):
    net = cg.grid_network(6)
    exact = net.max_difference()
    monkeypatch.setattr(paths, "EXACT_NODES", 3)
    bound = cg.grid_network(6)
    assert exact <= bound.max_difference() <= bound.d
    assert not bound.geometry().exact


def test_large_graphs_have_at_most_as_many_trees_as_is_said(monkeypatch):
    usual = trees.EXACT_NODES
    for seed in range(12):
        rng = random.Random(seed)
        n = rng.randrange(2, 7)
        edges = [(k, rng.randrange(k)) for k in range(1, n)]
        pairs = [(a, b) for a in range(n) for b in range(a)]
        edges += [rng.choice(pairs) for _ in range(rng.randrange(4))]
        monkeypatch.setattr(trees, "EXACT_NODES", usual)
        number = sum(1 for _ in cg.SpanningTrees(edges).__iter__())
        assert cg.SpanningTrees(edges).n_sets() == number
        monkeypatch.setattr(trees, "EXACT_NODES", 0)
        large = cg.SpanningTrees(edges)
        assert large.n_sets() == (1 if len(edges) == n - 1 else None)
        assert number <= large.n_sets_bound()


def test_a_repeated_name_among_many_is_told_quickly():
    names = [f"arm {k}" for k in range(50_000)]
    names[-1] = "arm 0"
    with refused("name-repeated", name="arm 0"):
        cg.Problem(cg.Arms(50_000), rewards=cg.Gaussian(1.0), names=names)
    sets = [[k] for k in range(5000)] + [[0]]
    with refused("set-repeated", arms=[0]):
        cg.Listed(sets, 5000)


def test_values_by_name_are_put_in_order():
    rng = np.random.default_rng(0)
    names = [f"a{k}" for k in range(50)]
    problem = cg.Problem(cg.Arms(50), rewards=cg.Gaussian(1.0), names=names)
    values = dict(zip(names, rng.random(50).tolist(), strict=True))
    shuffled = {name: values[name] for name in rng.permutation(names).tolist()}
    assert problem.check_means(shuffled).tolist() == list(values.values())
