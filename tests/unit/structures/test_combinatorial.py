"""What single structures promise: integer programmes, graphs, the paper's table, refusals, runs."""

import itertools
import math

import networkx
import numpy as np
import pytest
import rustworkx
import scipy.sparse

import combgame as cg
from combgame.engine.state import arms_of, vector
from combgame.simulation.runner import InitialState, Run, Runner, RunSpec
from combgame.stopping.base import NEVER
from combgame.stopping.registry import make_stopping
from combgame.structures._graphs import forests
from combgame.testing import check_structure, same
from tests.said import refused
from tests.unit.structures.test_structures import all_distances, listed_oracle, try_to


def test_integer_programmes():
    budget = cg.IntegerProgram(([[3.0, 2.0, 2.0, 1.0]], -np.inf, 4.0), d=4, exact=True)
    sets = [
        s
        for n in range(1, 5)
        for s in itertools.combinations(range(4), n)
        if sum([3, 2, 2, 1][a] for a in s) <= 4
    ]
    assert (
        sorted(budget.to_list()) == sorted(sets)
        and all(budget.contains(s) for s in sets)
        and not budget.contains((0, 1))
    )
    check_structure(budget, trials=20)
    rewards, rng = (
        cg.Gaussian(1.0).kernel(np.full(4, -np.inf), np.full(4, np.inf)),
        np.random.default_rng(0),
    )
    for _ in range(10):
        mean, weight = rng.uniform(0.1, 0.9, 4), rng.exponential(size=4) + 0.1
        best, kernel = budget.argmax(mean), budget.answer_kernel()
        value = kernel.nearest_alternative(
            rewards, mean, weight, vector(best, 4), np.zeros(4), np.zeros(4)
        )
        assert value == pytest.approx(
            min(all_distances(rewards, sets, mean, weight, best, 4).values()), rel=1e-6
        )
    with refused("infeasible", cg.InputError):
        cg.IntegerProgram(([[1.0, 1.0]], 3.0, 5.0), d=2)
    with refused("must-be", of="IntegerProgram", name="a constraint", d=2):
        cg.IntegerProgram(([[1.0, math.nan]], 0.0, 1.0), d=2)
    with refused("must-be", of="IntegerProgram", name="a constraint", value="x"):
        cg.IntegerProgram("x", d=2)
    rng = np.random.default_rng(1)
    hard = rng.integers(1, 1000, (8, 60)).astype(float)
    with refused("solver-unfinished", cg.OracleError, time_limit=0.05):
        cg.IntegerProgram(
            (hard, hard.sum(axis=1) // 2, hard.sum(axis=1) // 2), d=60, time_limit=0.05
        )
    sim = cg.simulate(
        cg.Problem(budget, cg.Arms(4), cg.Gaussian(0.2)),
        [0.9, 0.6, 0.4, 0.2],
        rule="ofw",
        runs=3,
        delta=0.1,
        threshold="proved",
    )
    assert sim.correct.all()


def test_the_papers_table_of_central_quantities():
    for d, k in ((10, 3), (20, 3), (9, 2)):
        uniform = cg.Subsets(d, k)
        assert (uniform.d, uniform.n_sets(), len(uniform.covering())) == (
            d,
            math.comb(d, k),
            math.ceil(d / k),
        )
        assert sum(0 in s for s in uniform.to_list()) == math.comb(d - 1, k - 1)
    for n_s in (6, 8, 10):
        grid = cg.grid_network(n_s)
        assert (grid.d, grid.n_sets(), len(grid.covering())) == (
            n_s * (n_s // 2 + 1),
            math.comb(n_s, n_s // 2),
            n_s,
        )
        assert sum(0 in s for s in grid.to_list()) == 1  # one path takes a*
    for n_n, n_l in ((2, 4), (2, 6), (3, 4)):
        line = cg.line_network(n_n, n_l)
        assert (line.d, line.n_sets(), len(line.covering())) == (
            2 * n_n + (n_l - 1) * n_n**2,
            n_n**n_l,
            n_n**2,
        )
        assert sum(0 in s for s in line.to_list()) == n_n ** (n_l - 2)
    for d in (7, 10):
        almost = cg.AlmostAllSets(d, 0)
        assert (almost.d, almost.n_sets(), len(almost.covering())) == (d, 2 ** (d - 1), 2)
        assert sum(0 in s for s in almost.to_list()) == 1


def test_counts_are_exact_where_enumeration_is_out_of_reach():
    complete = [(i, j) for i in range(30) for j in range(i)]
    assert cg.SpanningTrees(complete).n_sets() == 30**28  # Cayley
    assert cg.grid_network(60).n_sets() == math.comb(60, 30)
    assert cg.Matchings(12, 20).n_sets() == math.factorial(20) // math.factorial(8)
    derangements = [1, 0]
    for n in range(2, 11):
        derangements.append((n - 1) * (derangements[-1] + derangements[-2]))
    assert cg.Matchings(10, 10, forbidden=[(i, i) for i in range(10)]).n_sets() == derangements[10]
    assert cg.AlmostAllSets(100, [3, 4]).n_sets() == 2**100 - 2**98
    forced = cg.Matchings(3, 3, forbidden=[(0, 1), (0, 2)])
    assert forced.relevant_arms() == {2, 3, 5, 6}  # 0-0 is in all of them
    parallel = cg.SpanningTrees([(0, 1)] * 3 + [(1, 2), (2, 3)])
    assert len(parallel.covering()) == 3  # though two trees have as many edges


def test_graphs_of_other_libraries_are_read_with_their_names():
    edges = [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "t")]
    plain = cg.Paths(edges, "s", "t")
    assert (
        plain.names == ("s->a", "s->b", "a->t", "b->t", "a->t #2") and plain.n_sets() == 3
    )  # parallel edges
    multi = networkx.MultiDiGraph()
    multi.add_edges_from(edges)
    assert cg.Paths(multi, "s", "t").n_sets() == 3
    named = networkx.DiGraph()
    named.add_edge("s", "t", name="direct")
    named.add_edge("s", "m")
    named.add_edge("m", "t")
    assert cg.Paths(named, "s", "t").names == ("direct", "s->m", "m->t")
    rust = rustworkx.PyDiGraph()
    number = {x: rust.add_node(x) for x in "sabt"}
    rust.add_edges_from([(number[u], number[v], None) for u, v in edges])
    assert cg.Paths(rust, "s", "t").names == plain.names
    matrix = scipy.sparse.csr_matrix(
        np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]])
    )
    assert cg.Paths(matrix, 0, 3).n_sets() == 2
    both_ways = scipy.sparse.csr_matrix(np.ones((4, 4)) - np.eye(4))
    assert (
        cg.SpanningTrees(both_ways).n_sets()
        == cg.SpanningTrees(networkx.complete_graph(4)).n_sets()
        == 16
    )
    problem = cg.Problem(plain, None, cg.Gaussian(0.1))
    assert problem.label((1, 3)) == "s->b, b->t" and problem.arm_index("a->t") == 2
    assert cg.Matchings(["ann", "bob"], ["x", "y"]).names == ("ann-x", "ann-y", "bob-x", "bob-y")


USUAL = {"rule": "lloo", "delta": 0.1, "threshold": "proved"}
MATRIX = np.ones((4, 4))
UNDIRECTED = networkx.Graph([("s", "t")]), rustworkx.generators.path_graph(3)
REFUSED = {
    "graph": [
        (lambda: cg.Paths([(0, 1), (1, 2), (2, 1), (2, 3)], 0, 3), "cycle", {"nodes": [1, 2]}),
        (lambda: cg.Paths([(0, 1), (2, 3)], 0, 3), "sink-unreachable", {"sink": 3, "source": 0}),
        (
            lambda: cg.Paths([(0, 1)], 7, 1),
            "unknown",
            {"of": "Paths", "kind": "source", "name": 7, "known": [0, 1]},
        ),
        (lambda: cg.Paths([(0, 1)], 0, 0), "must-be", {"of": "Paths", "name": "sink", "value": 0}),
        (lambda: cg.Paths([], 0, 1), "no-edges", {"what": "Paths"}),
        (lambda: cg.Paths(3, 0, 1), "not-edges", {"what": "Paths"}),
        (lambda: cg.Paths(UNDIRECTED[0], "s", "t"), "graph-undirected", {}),
        (lambda: cg.Paths(UNDIRECTED[1], 0, 2), "graph-undirected", {}),
        (lambda: cg.SpanningTrees(networkx.DiGraph([("s", "t")])), "graph-directed", {}),
        (lambda: cg.Paths([(0, 1, 1.5)], 0, 1), "not-edges", {}),  # weights are no names
        (lambda: cg.Paths(["st", "ab"], "s", "t"), "not-edges", {}),
        (lambda: cg.Paths(MATRIX, 0, 1), "not-edges", {}),
        (lambda: cg.Paths([([0], [1])], 0, 1), "not-edges", {}),  # nodes that cannot be hashed
        (lambda: cg.SpanningTrees([(0, 1), (2, 3)]), "not-connected", {}),
        (lambda: cg.SpanningTrees([(0, 1), (1, 1)]), "loop", {"edge": "1-1"}),
        (lambda: cg.grid_network(5), "must-be", {"of": "grid_network", "name": "n_s", "value": 5}),
    ],
    "group or pair": [
        (lambda: cg.Partition([[0, 1], [1, 2]], 1), "not-a-partition", {"arms": [0, 1, 1, 2]}),
        (
            lambda: cg.Partition([[0, 1], [2]], [3, 1]),
            "must-be",
            {"of": "Partition", "name": "a size", "value": 3, "arms": 2},
        ),
        (lambda: cg.Partition([[0, 1], [2]], [1]), "one-size-per-group", {"sizes": 1, "groups": 2}),
        (lambda: cg.Partition(3, 1), "must-be", {"of": "Partition", "name": "groups", "value": 3}),
        (
            lambda: cg.Partition([[0, 1]], 0),
            "must-be",
            {"of": "Partition", "name": "sizes", "value": [0]},
        ),
        (
            lambda: cg.Matchings(2, 2, forbidden=[3]),
            "must-be",
            {"of": "Matchings", "name": "forbidden", "value": [3]},
        ),
        (
            lambda: cg.Matchings(2, 3, size=3),
            "must-be",
            {"of": "Matchings", "name": "size", "value": 3, "most": 2},
        ),
        (lambda: cg.Matchings(2, 2, forbidden=[(0, 0), (1, 0)]), "no-matching", {"pairs": 2}),
        (lambda: cg.Matchings(2, 2, forbidden=[(5, 0)]), "no-such-pair", {"pair": (5, 0)}),
        (
            lambda: cg.AlmostAllSets(3, 5),
            "must-be",
            {"of": "AlmostAllSets", "name": "needle", "value": 5, "last": 2},
        ),
    ],
    "problem": [
        (
            lambda: cg.Problem(cg.Paths([(0, 1), (1, 2)], 0, 2), None, cg.Gaussian(1)),
            "single-answer",
            {},
        ),
        (
            lambda: cg.Problem(
                cg.Paths([("s", "t"), ("s", "t"), ("x", "t")], "s", "t"), cg.Arms(3), cg.Gaussian(1)
            ),
            "arms-unobserved",
            {"arms": [2]},
        ),
        (  # eliminating the answers of an oracle, too many of them, for several deltas
            lambda: cg.simulate(
                cg.Problem(cg.Arms(3), listed_oracle([(0,), (1,), (2,)], 3, False), cg.Gaussian(1)),
                [1, 0, 0.5],
                elimination="always",
                **USUAL,
            ),
            "too-many-to-eliminate",
            {"limit": 20_000},
        ),
        (
            lambda: cg.simulate(
                cg.Problem(cg.Subsets(30, 9), None, cg.Gaussian(1)),
                range(30),
                elimination="always",
                **USUAL,
            ),
            "too-many-to-eliminate",
            {"answers": "Subsets(30, 9)"},
        ),
        (
            lambda: cg.simulate(
                cg.Problem(cg.Arms(3), None, cg.Gaussian(1)),
                [1, 0, 0.5],
                elimination="always",
                **USUAL | {"delta": [0.1, 0.2]},
            ),
            "must-be",
            {"name": "delta", "value": [0.1, 0.2]},
        ),
    ],
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_structure_that_is_none_gets_a_sentence_of_its_own(what):
    failed = []
    for k, (call, code, arguments) in enumerate(REFUSED[what]):
        try:
            with refused(code, **arguments):
                call()
        except (AssertionError, pytest.fail.Exception) as why:
            failed.append((k, code, arguments, str(why)))
    assert not failed


def test_graphs_with_holes_and_lower_triangles_are_read_whole():
    rust = rustworkx.PyDiGraph()
    number = {x: rust.add_node(x) for x in "xsatq"}
    rust.add_edges_from([(number["s"], number["a"], "first"), (number["a"], number["t"], None)])
    rust.remove_node(number["x"])
    assert cg.Paths(rust, "s", "t").names == ("first", "a->t")
    lower = scipy.sparse.coo_matrix(([1, 1, 1], ([0, 2, 1], [1, 1, 0])), shape=(3, 3))
    assert cg.SpanningTrees(lower).d == 2 and cg.SpanningTrees(lower).n_sets() == 1
    with refused("not-connected"):
        cg.SpanningTrees(scipy.sparse.coo_matrix(([1], ([0], [1])), shape=(5, 5)))
    assert not cg.Paths([(0, 1), (1, 2), (0, 2)], 0, 2).contains([0, 0, 1])
    with refused("covering-leaves-out", arms=[2, 3]):
        cg.Oracle(lambda s: np.argsort(-s, kind="stable")[:2], 4, covering=[[0, 1]])


def test_integer_programmes_tell_close_scores_apart_and_never_overstate_the_distance():
    one = cg.IntegerProgram(([[1.0, 1.0, 1.0]], 1.0, 1.0), d=3)
    assert one.argmax([1.0, 1.0 + 1e-7, 1.0 - 1e-7]) == (1,) and one.argmax(
        [1e-3, 1e-3 * (1 + 1e-5), -5.0]
    ) == (1,)
    assert len(cg.IntegerProgram(([[1e-7] * 3], 0.0, 1e-7), d=3).argmax([1.0, 1.0, 1.0])) == 1
    two, rng = cg.IntegerProgram(([[1.0] * 6], 2.0, 2.0), d=6), np.random.default_rng(0)
    rewards, sets = (
        cg.Gaussian(0.1).kernel(np.full(6, -np.inf), np.full(6, np.inf)),
        list(itertools.combinations(range(6), 2)),
    )
    for offset in (0.0, 1e3, 1e5):
        for _ in range(3):
            mean, weight = offset + rng.uniform(0, 0.3, 6), rng.integers(5, 40, 6).astype(float)
            best = max(sets, key=lambda s: mean[list(s)].sum())
            value = two.answer_kernel().nearest_alternative(
                rewards, mean, weight, vector(best, 6), np.zeros(6), np.zeros(6)
            )
            assert value <= min(all_distances(rewards, sets, mean, weight, best, 6).values()) * (
                1 + 1e-9
            )


def test_a_very_uncertain_link_does_not_hide_the_others():
    net = cg.Paths([(0, 1), (1, 2), (1, 2), (2, 3), (2, 3), (2, 3)], 0, 3)
    mean, d = np.array([0, 1, 0.5, 1, 0.8, 0.7]), 6
    for sigma, first in ((1.0, 1.0), (1e5, 0.0), (1e9, 1.0)):
        rewards = cg.Gaussian([sigma, 1, 1, 1, 1, 1]).kernel(
            np.full(d, -np.inf), np.full(d, np.inf)
        )
        weight, best, rival = np.array([first, 1, 1, 1, 1, 40.0]), vector((0, 1, 3), d), np.zeros(d)
        assert net.kernel().nearest_alternative(
            rewards, mean, weight, best, rival, np.zeros(d)
        ) == pytest.approx(0.01, rel=1e-4)
        assert net.contains(arms_of(rival))


def test_forests_partition_as_many_edges_as_possible():
    complete = [(i, j) for i in range(6) for j in range(i)]
    tails, heads = [e[0] for e in complete], [e[1] for e in complete]
    assert [sum(map(len, forests(6, tails, heads, k))) for k in (1, 2, 3)] == [
        5,
        10,
        15,
    ]  # K6 is three disjoint trees
    found = forests(6, tails, heads, 3)
    assert all(networkx.is_tree(networkx.Graph([complete[a] for a in some])) for some in found)


def eight():
    return [(i, j) for i in range(8) for j in range(i + 1, 8)][:20]


INSTANCES = {
    "trees for the best tree": (cg.SpanningTrees(eight()), None, cg.Gaussian(0.3)),
    "paths for the best path": (cg.grid_network(6), None, cg.Gaussian(0.3)),
    "matchings for the best matching": (cg.Matchings(4, 4), None, cg.Gaussian(0.3)),
    "partition, Bernoulli": (cg.Partition([[0, 1, 2], [3, 4, 5, 6]], [1, 2]), None, cg.Bernoulli()),
    "paths, Bernoulli": (cg.line_network(2, 3), None, cg.Bernoulli()),
    "matchings, Bernoulli": (cg.Matchings(3, 4, size=2), None, cg.Bernoulli()),
    "almost all sets": (cg.AlmostAllSets(6, 0), cg.Arms(6), cg.Bounded(0, 1)),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", INSTANCES)
def test_both_engines_agree_on_every_compilable_structure(name):
    """Every structure as actions and as answers; Bernoulli rewards have nearest sets of their own.
    What is compiled for Gaussian ones is used below.
    """
    problem = cg.Problem(*INSTANCES[name])
    means, rule = np.random.default_rng(2).uniform(0.1, 0.9, problem.d), cg.CombGame(cg.OFW())
    stopping = NEVER
    if isinstance(problem.rewards, cg.Gaussian):
        stopping = make_stopping("stylised", problem, [1e-300])
    runs = [
        Run(InitialState(problem, rule.bind(problem), stopping, 1, engine), means, 0, 0)
        for engine in ("python", "compiled")
    ]
    for run in runs:
        run.advance(250)
    assert runs[0].stats.n_rounds[0] == 250
    assert same(tuple(runs[0].stats), tuple(runs[1].stats)) and same(runs[0].rule, runs[1].rule)
    assert runs[0].rng.bit_generator.state == runs[1].rng.bit_generator.state


@pytest.mark.compiled
def test_python_oracles_run_in_both_engines_and_their_errors_come_through():
    calls = []

    def pairs(score):
        calls.append(1)
        if len(calls) > 400:
            raise KeyError("out of paper")
        return np.argsort(-score, kind="stable")[:2]

    problem = cg.Problem(cg.Oracle(pairs, 5), cg.Arms(5), cg.Gaussian(0.3))
    means, found = np.array([0.9, 0.7, 0.5, 0.3, 0.1]), []
    for engine in ("python", "compiled"):
        run = Run(
            InitialState(problem, cg.CombGame(cg.OFW()).bind(problem), NEVER, 1, engine),
            means,
            0,
            0,
        )
        run.advance(120)
        found.append(run)
    assert same(tuple(found[0].stats), tuple(found[1].stats))
    for run in found:
        with pytest.raises(KeyError, match="out of paper"):
            run.advance(5000)


@pytest.mark.compiled
@pytest.mark.given_numbers  # it looks into a run
def test_elimination_agrees_in_both_engines_discards_rivals_and_saves_rounds():
    problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    means = np.array([0.3, 0.27, 0.26, 0.2, 0.1])
    runs = [
        Runner(
            RunSpec(
                problem, means, "ofw", 0.1, "stylised", 0, 100_000, engine, elimination="always"
            )
        ).begin(0)
        for engine in ("python", "compiled")
    ]
    for run in runs:
        run.advance(100_000)
        assert run.kernel.answers.alive.sum() == 1 and arms_of(run.recommended[0]) == (0,)
    assert same(tuple(runs[0].stats), tuple(runs[1].stats)) and same(
        runs[0].stopping_times, runs[1].stopping_times
    )
    plain = cg.simulate(problem, means, rule="uniform", runs=300, delta=0.1, threshold="proved")
    saving = cg.simulate(
        problem,
        means,
        rule="uniform",
        runs=300,
        elimination="always",
        delta=0.1,
        threshold="proved",
    )
    assert (
        np.all(saving.rounds <= plain.rounds) and saving.rounds.mean() < plain.rounds.mean()
    )  # the same plays, stopped earlier
    assert saving.error_rate <= 0.1


def test_elimination_in_phases_looks_at_their_ends_only():
    """Combinatorial answers. The plays of uniform sampling are the same; a run in phases discards
    and stops at the ends of phases alone, so never before the one that looks in every round.
    """
    problem = cg.Problem(cg.Subsets(5, 3), cg.Subsets(5, 2), cg.Gaussian(0.1))
    means = np.array([0.3, 0.27, 0.2, 0.15, 0.1])
    usual = {"rule": "uniform", "runs": 12, "delta": 0.1, "threshold": "gaussian"}
    each, phases = (
        cg.simulate(problem, means, elimination=how, engine="python", **usual)
        for how in ("always", "phases")
    )
    ends, t = set(), 1.0
    while t < 1e5:
        ends.add(math.ceil(t))
        t = max(1.1 * math.ceil(t), math.ceil(t) + 1.0)
    assert set(phases.rounds.tolist()) <= ends
    assert np.all(phases.rounds >= each.rounds)
    assert phases.rounds.mean() <= 1.25 * each.rounds.mean()
    assert phases.error_rate <= 0.2
    run = Runner(
        RunSpec(problem, means, "lloo", 0.1, "gaussian", 0, 100_000, "python", elimination="phases")
    ).begin(0)
    left = []
    for t in range(1, 400):
        run.advance(t)
        left.append(run.kernel.answers.alive.sum())
    changed = {t + 1 for t in range(1, len(left)) if left[t] != left[t - 1]}
    assert changed and changed <= ends
    with refused("must-be", cg.InputError, name="elimination", value="often"):
        cg.simulate(problem, means, elimination="often", **usual)


@pytest.mark.slow
def test_best_action_identification_finds_the_best_action():
    for problem, seed in (
        (cg.Problem(cg.SpanningTrees(eight()), None, cg.Gaussian(0.05)), 1),
        (cg.Problem(cg.grid_network(6), None, cg.Gaussian(0.05)), 1),
        (cg.Problem(cg.Matchings(4, 4), None, cg.Gaussian(0.05)), 1),
    ):
        rng = np.random.default_rng(seed)
        sim = cg.simulate(
            problem,
            rng.uniform(0, 1, problem.d),
            rule="ofw",
            delta=0.1,
            threshold="stylised",
            runs=30,
            max_rounds=300_000,
        )
        assert sim.error_rate <= 0.1 and sim.capped.mean() <= 0.1


def test_a_smallest_flow_is_shared_by_all_numberings_where_no_other_is_as_small():
    """Against all flows of small networks; the coverings are those of a flow of its own."""
    rng, lone = np.random.default_rng(1), []
    for _ in range(150):
        nodes = int(rng.integers(3, 6))
        ends = [sorted(rng.choice(nodes, 2, replace=False).tolist()) for _ in range(6)]
        net = try_to(lambda nodes=nodes, ends=ends: cg.Paths(ends, 0, nodes - 1))
        if net is None:
            continue
        flow = net._flow()
        most = sum(flow[a] for a in net._leaving[0])
        as_small = 0
        for values in itertools.product(range(1, most + 1), repeat=len(flow)):
            other = dict(zip(flow, values, strict=True))
            net_of = [0] * len(net._leaving)
            for a, x in other.items():
                net_of[net._tail[a]] -= x
                net_of[net._head[a]] += x
            as_small += net_of[0] == -most and not any(net_of[1:-1])
        lone.append(as_small == 1)
        assert (net._lone_flow() is not None) == lone[-1]
        mine = net.permuted(rng.permutation(net.d))
        shared, own = mine.covering(), mine._flow()
        assert np.bincount(np.concatenate(shared), minlength=net.d).sum() == sum(own.values())
        if lone[-1]:
            assert {a: sum(a in path for path in shared) for a in own} == own
    assert 0 < sum(lone) < len(lone)
