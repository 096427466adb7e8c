"""The characteristic time against a generic convex solver, structure by structure, and its
certified gap.
"""

import itertools

import numpy as np
import pytest

import combgame as cg
from combgame.research.instances import alt2021 as instances
from tests import naive
from tests.said import refused


def two_best(scores):
    return np.argsort(-scores, kind="stable")[:2]


def budget(exact):
    return cg.IntegerProgram(([[3.0, 2.0, 2.0, 1.0]], 0.0, 4.0), d=4, exact=exact)


STRUCTURES = {
    "arms": cg.Arms(4),
    "subsets": cg.Subsets(5, 2),
    "partition": cg.Partition([[0, 1, 2], [3, 4]], [2, 1]),
    "listed": cg.Listed([[0, 1], [1, 2, 3], [3, 4], [0, 4]], 5),
    "paths": cg.Paths([("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b")], "s", "t"),
    "trees": cg.SpanningTrees([(0, 1), (1, 2), (2, 0), (2, 3), (3, 1)]),
    "matchings": cg.Matchings(2, 3),
    "almost all": cg.AlmostAllSets(5, 0),
    "integer programme": budget(exact=True),
    "oracle": cg.Oracle(two_best, 5, exact=True),
}
MEANS = np.array([0.62, 0.55, 0.41, 0.48, 0.3, 0.26])
SIGMAS = (0.2, 0.15, 0.25, 0.1, 0.3, 0.2)


def sets_of(structure):
    return cg.Subsets(5, 2).to_list() if isinstance(structure, cg.Oracle) else structure.to_list()


def by_solver(problem, means):
    sigma = np.broadcast_to(getattr(problem.rewards, "sigma", 1.0), problem.d)
    actions, answers = sets_of(problem.actions), sets_of(problem.answers)
    return naive.characteristic_time(
        type(problem.rewards).__name__.lower(),
        actions,
        answers,
        means,
        sigma,
        problem.low,
        problem.high,
    )


def check(problem, means):
    """The solver's time is at least the true one, so the certified lower end lies below it; and
    ours is attained by our allocation.
    """
    found = cg.complexity(problem, means)
    solver = by_solver(problem, means)
    assert found.duality_gap <= 1e-4
    assert found.characteristic_time / (1 + found.duality_gap) <= solver * (
        1 + 1e-9
    ) and found.characteristic_time == pytest.approx(solver, rel=1e-3)
    assert cg.evidence(problem, means, weights=found.allocation).value == pytest.approx(
        1 / found.characteristic_time, rel=1e-6
    )
    sigma = np.broadcast_to(getattr(problem.rewards, "sigma", 1.0), problem.d)
    answers = sets_of(problem.answers)
    best = naive.best_set(answers, means)
    stats = np.maximum(found.allocation, 1e-9)
    value, _ = naive.nearest(
        type(problem.rewards).__name__.lower(),
        answers,
        means,
        stats,
        best,
        sigma,
        problem.low,
        problem.high,
    )
    assert value == pytest.approx(1 / found.characteristic_time, rel=1e-4)
    played = np.zeros(problem.d)
    for chosen, weight in found.support:
        assert (
            problem.actions.contains(chosen)
            if not isinstance(problem.actions, cg.Oracle)
            else len(chosen) == 2
        )
        played[list(chosen)] += weight
    assert played == pytest.approx(found.allocation, abs=1e-9) and sum(
        w for _, w in found.support
    ) == pytest.approx(1.0)


REWARDS = {
    "gaussian": lambda d: (cg.Gaussian(SIGMAS[:d]), None),
    "bernoulli": lambda d: (cg.Bernoulli(), None),
    "bounded": lambda d: (cg.Bounded(0.0, 1.0), None),
    "boxed": lambda d: (cg.Gaussian(SIGMAS[:d]), [(0.15, 0.65)] * d),
}


ACTIONS = [  # every structure, and every reward; all pairs where the solver works on its own parts
    *((name, "gaussian") for name in STRUCTURES),
    *(("subsets", one) for one in ("bernoulli", "bounded", "boxed")),
    *(("paths", one) for one in ("bernoulli", "bounded")),
    ("partition", "boxed"),
    ("trees", "bernoulli"),
    ("matchings", "bernoulli"),
    ("almost all", "boxed"),
]


@pytest.mark.parametrize(("structure", "rewards"), ACTIONS)
def test_the_time_of_the_best_action_is_that_of_a_convex_solver(structure, rewards):
    made = STRUCTURES[structure]
    noise, bounds = REWARDS[rewards](made.d)
    check(cg.Problem(made, None, noise, bounds=bounds), MEANS[: made.d])


@pytest.mark.parametrize("structure", ["subsets", "paths", "oracle"])
def test_the_time_of_the_best_arm_is_that_of_a_convex_solver(structure):
    made = STRUCTURES[structure]
    check(cg.Problem(made, cg.Arms(made.d), cg.Gaussian(0.2)), MEANS[: made.d])


def test_boxes_that_bind_are_used():
    own = [(0.5, 0.7), (0.3, 0.6), (0.3, 0.45), (0.2, 0.9)]
    for bounds, rewards in itertools.product([(0.0, 0.7), own], [cg.Gaussian(0.2), cg.Bernoulli()]):
        check(cg.Problem(cg.Subsets(4, 2), cg.Subsets(4, 2), rewards, bounds=bounds), MEANS[:4])


def test_where_the_nearest_alternative_is_a_bound_the_gap_says_so():
    for answers in (budget(exact=False), cg.Oracle(two_best, 5)):
        problem = cg.Problem(answers, None, cg.Gaussian(0.2))
        means = MEANS[: answers.d]
        found, solver = cg.complexity(problem, means), by_solver(problem, means)
        assert found.characteristic_time / (1 + found.duality_gap) <= solver * (1 + 1e-9)
        assert solver <= found.characteristic_time * (1 + 1e-3)


def test_the_gap_is_honest_at_every_tolerance():
    problem = cg.Problem(cg.Subsets(8, 3), None, cg.Bernoulli())
    means = [0.7, 0.62, 0.6, 0.55, 0.5, 0.35, 0.3, 0.2]
    times = {
        tolerance: cg.complexity(problem, means, tolerance=tolerance)
        for tolerance in (0.3, 0.1, 1e-2, 1e-4, 1e-6)
    }
    sharp = times[1e-6].characteristic_time
    for tolerance, found in times.items():
        assert found.duality_gap <= tolerance
        assert (
            found.characteristic_time / (1 + found.duality_gap) <= sharp * (1 + 1e-6)
            and sharp / (1 + 1e-6) <= found.characteristic_time
        )
    cut = cg.complexity(problem, means, steps=5)
    assert (
        cut.duality_gap > 1e-4
        and cut.characteristic_time / (1 + cut.duality_gap) <= sharp * (1 + 1e-6)
        and sharp <= cut.characteristic_time * (1 + 1e-6)
    )


def test_the_paper_s_uniform_matroids():
    """As published, of the smallest and the largest."""
    for d, published in ((5, 52.87), (50, 59.20)):
        assert d in instances.DIMENSIONS
        three, two = instances.matroid(d, 3), instances.matroid(d, 2)
        assert cg.complexity(three.problem, three.means).characteristic_time == pytest.approx(
            400.0, rel=1e-4
        )
        assert cg.complexity(two.problem, two.means).characteristic_time == pytest.approx(
            published, rel=2e-4
        )


def test_many_arms_do_not_stop_it_before_its_time():
    """The first alternatives only discover one arm after another: a hundred steps without progress
    are no sign of the end.
    """
    found = cg.complexity(
        cg.Problem(cg.Subsets(110, 3), None, cg.Gaussian(0.1)),
        np.linspace(1.0, 0.0, 110),
        tolerance=0.05,
    )
    assert found.duality_gap <= 0.05


def test_an_answer_that_the_bounds_decide_takes_no_time():
    problem = cg.Problem(cg.Arms(2), None, cg.Gaussian(1.0), bounds=[(0.6, 1.0), (0.0, 0.5)])
    found = cg.complexity(problem, [0.8, 0.2])
    assert found.characteristic_time == 0.0 and found.duality_gap == 0.0


def test_a_tie_names_the_answers_also_where_rounding_hides_it():
    problem = cg.Problem(
        cg.Listed([[0, 1], [2], [3]], 4), None, cg.Gaussian(1.0), names=list("abcd")
    )
    with refused("tie", cg.TieError) as caught:
        cg.complexity(problem, [0.1, 0.2, 0.3, 0.0])
    assert {caught.value.arguments[name] for name in ("best", "rival")} == {"a, b", "c"}


def test_the_error_of_an_oracle_is_its_own():
    def sulky(scores):
        if scores.max() > 5.0:
            raise KeyError("my own bug")
        return two_best(scores)

    problem = cg.Problem(cg.Oracle(sulky, 4), cg.Arms(4), cg.Gaussian(0.01))
    with pytest.raises(KeyError, match="my own bug"):
        cg.complexity(problem, [0.9, 0.5, 0.2, 0.1])


def test_a_solver_that_gives_up_is_replaced_or_the_gap_says_so(monkeypatch):
    """On this instance HiGHS's own choice of method once ended with the status "Not Set"."""
    net = cg.grid_network(10)
    problem = cg.Problem(net, None, cg.Gaussian(0.05))
    means = np.random.default_rng(1).uniform(0.0, 1.0, net.d)
    whole = cg.complexity(problem, means)
    assert whole.duality_gap <= 1e-4
    import scipy.optimize

    usual, calls = scipy.optimize.linprog, []

    def moody(*args, **options):
        calls.append(options["method"])
        solved = usual(*args, **options)
        if len(calls) > 20 or options["method"] == "highs":
            solved.status = 4
        return solved

    monkeypatch.setattr(scipy.optimize, "linprog", moody)
    found = cg.complexity(problem, means)
    assert set(calls) == {"highs", "highs-ds", "highs-ipm"} and found.duality_gap > 1e-4
    assert found.characteristic_time / (1.0 + found.duality_gap) <= whole.characteristic_time * (
        1.0 + 1e-9
    ) and whole.characteristic_time / (1.0 + whole.duality_gap) <= found.characteristic_time * (
        1.0 + 1e-9
    )
