"""AdaHedge in product form: sums over all sets against enumeration, the learner and the rule
against their enumerated twins.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import combgame as cg
from combgame.engine.numba import compiled
from combgame.engine.state import arms_of
from combgame.learners.product_hedge import product_hedge
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER
from tests import naive
from tests.engine.test_engines import both
from tests.said import refused


def complete(n):
    return cg.SpanningTrees(list(itertools.combinations(range(n), 2)))


SQUARE = [
    ("s", "a"),
    ("s", "b"),
    ("a", "b"),
    ("a", "t"),
    ("b", "t"),
    ("s", "t"),
    ("a", "t"),
    ("b", "z"),
]  # "z" leads nowhere
STRUCTURES = {
    "arms": cg.Arms(5),
    "one arm": cg.Arms(1),
    "subsets": cg.Subsets(6, 3),
    "all but one": cg.Subsets(5, 4),
    "all": cg.Subsets(4, 4),
    "partition": cg.Partition([[0, 3, 5], [1], [2, 4, 6, 7], [8, 9]], [2, 1, 3, 0]),
    "paths": cg.Paths(SQUARE, "s", "t"),
    "grid": cg.grid_network(4),
    "line": cg.line_network(2, 3),
    "trees": cg.SpanningTrees(
        [(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (2, 3), (3, 4)]
    ),  # parallel edges, and a bridge
    "complete": complete(5),
    "two nodes": cg.SpanningTrees([(0, 1), (0, 1), (1, 0)]),
    "needle arm": cg.AlmostAllSets(5, needle=2),
    "needle": cg.AlmostAllSets(5, needle=[1, 3]),
    "needle of all": cg.AlmostAllSets(4, needle=range(4)),
    "two arms": cg.AlmostAllSets(2, needle=1),
    "listed": cg.Listed([[0, 1], [1, 2, 3], [2], [0, 3, 4], [0], [1, 5], [0, 2, 5], [1, 2]], 7),
}


def asked(structure, score):
    out = np.full(structure.d, math.nan)
    return structure.gibbs().marginals(np.asarray(score, dtype=float), out), out


KINDS = sorted({type(one) for one in STRUCTURES.values()}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=50)
def test_sums_and_marginals_are_those_of_all_sets(kind, data):
    ours = [one for one in STRUCTURES.values() if type(one) is kind]
    structure = data.draw(st.sampled_from(ours))
    scale = data.draw(st.sampled_from([1.0, 30.0, 700.0, 1e4]))
    score = [
        scale * x
        for x in data.draw(st.lists(st.floats(-1, 1), min_size=structure.d, max_size=structure.d))
    ]
    total, chance = asked(structure, score)
    exact, chances = naive.ensemble(structure.to_list(), score, structure.d)
    assert total == pytest.approx(exact, rel=1e-12, abs=1e-12)
    assert (
        np.abs(chance - chances).max() < 1e-15 * scale * structure.d + 1e-13
    )  # the scores are no better known than that
    again = np.zeros(structure.d)
    kernel = structure.gibbs()
    for _ in range(2):  # what the scratch arrays hold does not matter
        assert kernel.marginals(np.array(score), again) == total and np.array_equal(again, chance)


def test_any_finite_scores_give_finite_sums_and_none_the_number_of_sets():
    for name, structure in STRUCTURES.items():
        total, chance = asked(structure, np.zeros(structure.d))
        assert total == pytest.approx(math.log(structure.n_sets()), abs=1e-13), name
        assert np.all((chance >= 0) & (chance <= 1 + 1e-14)), name
        for scale in (1e-300, 1e30, 1e200):
            score = scale * np.random.default_rng(3).normal(size=structure.d)
            total, chance = asked(structure, score)
            assert math.isfinite(total), (name, scale)
            assert np.all((chance >= 0) & (chance <= 1 + 1e-12)), (name, scale)


SCORES = {
    "equal": lambda d, rng: np.full(d, 3.7),
    "ordinary": lambda d, rng: rng.normal(size=d),
    "700 apart": lambda d, rng: rng.choice([0.0, 700.0], size=d),
    "up to 700": lambda d, rng: rng.uniform(-350, 350, size=d),
    "1e4 apart": lambda d, rng: rng.choice([-1e4, 0.0, 1e4], size=d) + rng.normal(size=d),
    "up to 1e4": lambda d, rng: rng.uniform(-1e4, 1e4, size=d),
    "one stands out": lambda d, rng: np.where(np.arange(d) == 7, 1e4, rng.normal(size=d)),
    "one falls out": lambda d, rng: np.where(np.arange(d) == 7, -1e4, rng.normal(size=d)),
    "geometric": lambda d, rng: -10.0 * np.arange(d),
}


SIZES = (3, 10, 25, 47)


@pytest.mark.parametrize("kind", SCORES)
def test_sums_of_many_arms_are_stable(kind):
    """Fifty arms, and trees on nine nodes, against 60 digits; each kind of scores with two sizes of
    sets.
    """
    number = list(SCORES).index(kind)
    for k in (SIZES[number % 4], SIZES[(number + 1) % 4]):
        score = SCORES[kind](50, np.random.default_rng(k))
        total, chance = asked(cg.Subsets(50, k), score)
        exact, chances = naive.subset_chances(score, k)
        assert total == pytest.approx(exact, rel=1e-13, abs=1e-11), k
        assert np.abs(chance - chances).max() < 1e-11, k
        assert chance.sum() == pytest.approx(k, rel=1e-13)
        if kind == "equal":
            assert np.allclose(chance, k / 50, rtol=1e-13)
    edges = [(i, j) for i, j in itertools.combinations(range(9), 2) if (i * j) % 4 != 3]
    score = SCORES[kind](len(edges), np.random.default_rng(0))
    total, chance = asked(cg.SpanningTrees(edges), score)
    exact, chances = naive.tree_chances(9, edges, score)
    assert total == pytest.approx(exact, rel=1e-13, abs=1e-11)
    assert np.abs(chance - chances).max() < 1e-11 and chance.sum() == pytest.approx(8, abs=1e-10)
    assert np.all((chance >= 0) & (chance < 1 + 1e-11))


def test_flows_and_groups_and_trees_keep_their_totals_at_any_size():
    grid, trees = cg.grid_network(30), complete(25)
    groups = cg.Partition([range(40), range(40, 70), range(70, 71)], [17, 4, 1])
    needle = cg.AlmostAllSets(60, needle=[3, 5, 8])
    for kind, scores in SCORES.items():
        rng = np.random.default_rng(1)
        total, flow = asked(grid, scores(grid.d, rng))
        balance = np.zeros(len(grid._leaving))
        for a in range(grid.d):
            balance[grid._tail[a]] += flow[a]
            balance[grid._head[a]] -= flow[a]
        balance[0] -= 1.0
        balance[-1] += 1.0
        assert math.isfinite(total) and np.abs(balance).max() < 1e-12, kind
        total, chance = asked(groups, scores(71, rng))
        sums = [chance[:40].sum(), chance[40:70].sum(), chance[70]]
        assert math.isfinite(total) and sums == pytest.approx([17, 4, 1], rel=1e-12), kind
        total, chance = asked(trees, scores(trees.d, rng))
        assert math.isfinite(total) and chance.sum() == pytest.approx(24, abs=1e-9), kind
        assert np.all((chance >= 0) & (chance < 1 + 1e-9)), kind
        total, chance = asked(needle, scores(60, rng))
        assert math.isfinite(total) and np.all((chance >= 0) & (chance < 1 + 1e-12)), kind


def ask(kernel, score, out):
    return kernel.marginals(score, out)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["arms", "subsets", "partition", "trees", "needle", "listed"])
def test_both_engines_sum_alike_bit_for_bit(name):
    structure, fast, rng = STRUCTURES[name], compiled(ask, False), np.random.default_rng(5)
    slow, quick = structure.gibbs(), structure.gibbs()
    for kind in SCORES.values():
        score, a, b = kind(structure.d, rng), np.zeros(structure.d), np.zeros(structure.d)
        assert ask(slow, score, a) == fast(quick, score, b) and np.array_equal(a, b)


@pytest.mark.parametrize("name", ["subsets", "paths", "trees", "needle"])
def test_the_learner_is_enumerated_adahedge(name):
    """Marginals and mixability gaps, 150 rounds of rewards of changing size."""
    structure, rng = STRUCTURES[name], np.random.default_rng(0)
    d, oracle, learner, twin = (
        structure.d,
        structure.kernel(),
        product_hedge(structure),
        naive.AdaHedge(structure.to_list()),
    )
    arms = np.zeros(d)
    for t in range(150):
        learner.weigh(arms)
        assert np.abs(arms - naive.marginals(twin.act(), d)).max() < 1e-9
        reward = rng.exponential(size=d) * 10.0 ** rng.integers(-2, 2)
        learner.learn(oracle, arms, reward)
        twin.update(reward)
        assert learner.gap[0] == pytest.approx(twin.delta, rel=1e-9)
        assert t > 0 or learner.gap[0] > 0


def test_as_long_as_all_actions_are_tied_all_are_played():
    structure = STRUCTURES["partition"]
    learner, twin, arms, d = (
        product_hedge(structure),
        naive.AdaHedge(structure.to_list()),
        np.zeros(structure.d),
        structure.d,
    )
    uniform = naive.marginals(twin.act(), d)
    for t in range(20):
        learner.weigh(arms)
        assert np.abs(arms - uniform).max() < 1e-12 and learner.gap[0] == 0
        learner.learn(structure.kernel(), arms, np.full(d, 0.1 + t))
    reward = np.arange(d) + 1.0
    learner.weigh(arms)
    learner.learn(structure.kernel(), arms, reward)
    best = max(sum(reward[a] for a in s) for s in structure.to_list())
    assert learner.gap[0] == pytest.approx(best - uniform @ reward)


def test_a_single_action_is_played_for_ever():
    for name in ("one arm", "all"):
        structure = STRUCTURES[name]
        learner, arms = product_hedge(structure), np.zeros(structure.d)
        for t in range(5):
            learner.weigh(arms)
            assert np.allclose(arms, 1.0) and learner.gap[0] == 0, name
            learner.learn(structure.kernel(), arms, np.arange(structure.d) + 0.5 * t)


def test_rounding_does_not_add_up_in_long_runs():
    structure, rng = cg.Subsets(6, 3), np.random.default_rng(2)
    learner, twin, arms, oracle = (
        product_hedge(structure),
        naive.AdaHedge(structure.to_list()),
        np.zeros(6),
        structure.kernel(),
    )
    for _ in range(4_000):
        learner.weigh(arms)
        reward = 1.0 + rng.exponential(size=6)
        learner.learn(oracle, arms, reward)
        twin.act()
        twin.update(reward)
    assert learner.gap[0] == pytest.approx(twin.delta, rel=1e-9)


SIGMA, CLOSE = [0.3, 0.26, 0.35, 0.22, 0.31], np.array([0.32, 0.36, 0.31, 0.47, 0.45])


@pytest.mark.parametrize("bonus", ["stylised", "theory"])
def test_every_action_is_the_one_that_enumeration_would_play(bonus):
    """200 rounds. Ties are decided by rounding, so the twin goes along, and says how far from the
    best an action was.
    """
    from combgame.rules.bonuses import make_bonus

    structure, answers = cg.Subsets(5, 2), [(0, 1, 2), (3, 4)]
    problem, rule = (
        cg.Problem(structure, cg.Listed(answers, 5), cg.Gaussian(SIGMA)),
        cg.ProductAdaHedge(bonus),
    )
    run, played = (
        Run(InitialState(problem, rule.bind(problem), NEVER, 1, "python"), CLOSE, 9, 0),
        [],
    )
    for t in range(1, 201):
        run.advance(t)
        played.append(arms_of(run.state.action))
    rng = np.random.default_rng(np.random.SeedSequence(9, spawn_key=(0,)))
    f = make_bonus(bonus).bonus_at
    short, lead = naive.product_adahedge(
        structure.to_list(), 5, structure.covering(), answers, SIGMA, CLOSE, rng, f, played
    )
    assert max(short) < 1e-9
    assert np.mean(np.array(lead) > 1e-6) > 0.95  # there was something to get wrong
    assert len(set(played)) > 5


@pytest.mark.compiled
def test_both_engines_make_the_same_run_on_trees_of_coins():
    """With the other bonus; paths of normal values are in the matrix."""
    structure = STRUCTURES["trees"]
    problem = cg.Problem(structure, cg.Arms(7), cg.Bernoulli())
    both(problem, np.linspace(0.6, 0.2, structure.d), cg.ProductAdaHedge("theory"), 600)


@pytest.mark.parametrize("name", ["subsets", "partition", "complete"])
def test_counts_follow_the_weights(name):
    """|sum_s w~_s - N~| <= sqrt(K t), from the proof in rules/product_adahedge.py; in practice
    within a few plays.
    """
    structure = STRUCTURES[name]
    problem = (
        cg.Problem(structure, cg.Arms(structure.d), cg.Gaussian(0.3))
        if name != "partition"
        else cg.Problem(structure, None, cg.Gaussian(0.3))
    )
    rule = cg.ProductAdaHedge()
    run = Run(
        InitialState(problem, rule.bind(problem), NEVER, 1, "python"),
        np.linspace(0.6, 0.2, structure.d),
        1,
        0,
    )
    for t in range(100, 700, 100):
        run.advance(t)
        lag = run.rule.owed - run.stats.counts
        assert np.linalg.norm(lag) <= math.sqrt(structure.max_size() * t)
        assert np.abs(lag).max() < 5


def test_a_structure_without_a_closed_form_is_refused_and_can_be_listed():
    pairs, how = cg.Matchings(3, 3), {"rule": "product-adahedge", "delta": 0.1, "engine": "python"}
    for structure in (
        pairs,
        cg.Oracle(lambda s: [int(np.argmax(s))], 3),
        cg.IntegerProgram((np.ones((1, 3)), 1, 2), 3),
    ):
        problem = cg.Problem(structure, cg.Arms(structure.d), cg.Gaussian(0.1))
        with refused("no-closed-form", cg.InputError, structure=str(structure)):
            cg.simulate(problem, np.linspace(1, 0, structure.d), runs=1, threshold="proved", **how)
    problem = cg.Problem(cg.Listed(pairs.to_list(), pairs.d), cg.Arms(9), cg.Gaussian(0.1))
    found = cg.simulate(problem, np.linspace(1, 0, 9), runs=2, threshold="stylised", **how)
    assert found.correct.all()
    with refused("unknown", cg.UnknownNameError, kind="bonus", name="none"):
        cg.ProductAdaHedge("none")


@pytest.mark.compiled
def test_exponentially_many_actions_are_no_obstacle():
    problem = cg.Problem(cg.Subsets(60, 30), cg.Arms(60), cg.Gaussian(0.1))  # 1.2e17 actions
    found = cg.simulate(
        problem,
        np.r_[0.5, np.full(59, 0.2)],
        rule="product-adahedge",
        runs=5,
        threshold="stylised",
        delta=0.1,
    )
    assert found.correct.all()


@pytest.mark.slow
def test_as_many_rounds_as_enumerated_adahedge():
    """Means of 200 runs on the paper's instance d = 5, standard error below 5 % on either side: 20
    % apart is 3 standard errors.
    """
    from combgame.research.instances.alt2021 import matroid

    five = matroid(5)
    mean = {
        rule: cg.simulate(
            five.problem, five.means, rule=rule, runs=200, threshold="stylised", delta=0.1
        ).rounds.mean()
        for rule in ("adahedge", "product-adahedge")
    }
    assert mean["product-adahedge"] == pytest.approx(mean["adahedge"], rel=0.2)
