"""Frank-Wolfe on the counts: what it promises. Its twin is in test_rules.py."""

import math

import numpy as np
import pytest

import combgame as cg
from combgame.engine.round import update_recommendation
from combgame.research.instances.alt2021 import line, matroid
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER
from combgame.stopping.registry import make_stopping
from combgame.theory.complexity import complexity
from tests.said import refused

SIGMA = [0.1, 0.12, 0.09, 0.11, 0.13]
MEANS = [0.5, 0.47, 0.4, 0.35, 0.2]
LISTS = (
    cg.Listed([(0, 1), (1, 2), (2, 3, 4), (0, 4)], 5),
    cg.Listed([(0, 1, 2), (3, 4), (0, 4), (1,)], 5),
)


def tie(problem, means, counts):
    """A run in which each arm has shown a mean, in so many values 0 and 1."""
    setup = cg.FrankWolfe(exploration=1e-6).bind(problem)
    run = Run(InitialState(problem, setup, NEVER, 1, "python"), np.array(means), 0, 0)
    run.advance(problem.d)
    stats, n = run.stats, np.array(counts, dtype=float)
    stats.counts[:], stats.sums[:], stats.n_rounds[0] = n, n * means, int(n.sum())
    stats.mean[:] = stats.projected_mean[:] = means
    stats.compensation[:], stats.squares[:] = 0.0, n * stats.mean * (1.0 - stats.mean)
    update_recommendation(run.kernel, stats, run.state)
    run.rule.choose(run.kernel, stats, run.state, run.rng)
    return run


def test_arms_that_are_tied_are_told_apart():
    """Two arms with the same mean: their evidence has no gradient, and all plays went elsewhere
    until all others had as many values.
    """
    s, n = np.array([0.25, 0.25]), np.array([50.0, 40.0])
    gain = s / n**2 / (2.0 * (s / n).sum())
    for rewards in (cg.Bernoulli(), cg.Bounded(0, 1), cg.Gaussian([0.5, 0.3, 0.4, 0.2])):
        run = tie(cg.Problem(cg.Arms(4), None, rewards), [0.5, 0.5, 0.2, 0.2], [50, 40, 10, 10])
        assert run.rule.score[:2] == pytest.approx(gain + 1e-9 / n**2), rewards
        assert np.flatnonzero(run.state.action).tolist() == [1], rewards


def test_sums_are_tied_that_differ_by_rounding():
    """0.1 + 0.3 is not 0.2 + 0.2 in floats; nor are arms without variation told apart."""
    problem = cg.Problem(
        cg.Arms(5), cg.Listed([(0, 1), (2, 3), (4,)], 5), cg.Bounded(0, 1), bounds=(0.0, 1.0)
    )
    run = tie(problem, [1 / 10, 3 / 10, 2 / 10, 2 / 10, 0.0], [30, 30, 30, 30, 5])
    s = np.array([0.09, 0.21, 0.16, 0.16])
    gain = s / 30**2 / (2.0 * s.sum() / 30)
    assert run.rule.score[:4] == pytest.approx(gain, rel=1e-6)
    assert np.flatnonzero(run.state.action).tolist() == [1]


def test_tied_arms_that_always_show_the_same_are_played_alike():
    """Coins that have all shown 0: one more value of two of them would hardly part them, and the
    best may be any.
    """
    problem = cg.Problem(cg.Arms(6), None, cg.Bernoulli())
    setup = cg.FrankWolfe().bind(problem)
    for shown in (0.0, 1.0):
        run = Run(InitialState(problem, setup, NEVER, 1, "python"), np.full(6, shown), 0, 0)
        run.advance(120)
        assert run.stats.counts.tolist() == [20.0] * 6, shown


def test_distances_are_taken_at_what_the_counts_are_worth():
    """Where a judge discounts them: bounds on unknown variances."""
    rewards = cg.Gaussian(simulation_sigma=SIGMA, shared_sigma=False)
    problem = cg.Problem(*LISTS, rewards)
    stopping = make_stopping("mixture", problem, [1e-6])
    run = Run(
        InitialState(problem, cg.FrankWolfe().bind(problem), stopping, 1, "python"),
        np.array(MEANS),
        0,
        0,
    )
    run.advance(600)
    stats, rule = run.stats, run.rule
    update_recommendation(run.kernel, stats, run.state)
    rule.choose(run.kernel, stats, run.state, run.rng)
    assert (stats.effective_counts < stats.counts).all() and rule.used[0] >= 2
    for k in range(rule.used[0]):
        arms = rule.arms[k, : rule.number[k]]
        lead = -(rule.sign[k, : rule.number[k]] * stats.mean[arms]).sum()
        spread = (run.kernel.rewards.spreads.believed[arms] / stats.effective_counts[arms]).sum()
        assert rule.value[k] == pytest.approx(max(lead, 0.0) ** 2 / (2 * spread))


def test_other_rewards_and_bounds_are_no_trouble():
    for rewards, bounds in (
        (cg.Bernoulli(), None),
        (cg.Bounded(0, 1), None),
        (cg.Gaussian(0.3), (0.0, 1.0)),
    ):
        problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), rewards, bounds=bounds)
        found = cg.simulate(
            problem,
            [0.9, 0.5, 0.4, 0.3, 0.1],
            rule="frank-wolfe",
            runs=5,
            engine="python",
            threshold="stylised",
            delta=0.1,
        )
        assert not found.capped.any() and found.error_rate <= 0.2


@pytest.mark.compiled
def test_no_arm_is_forgotten():
    """Every arm has at least what `explore` and `ease` ask for, but for the one play that it may
    take to catch up.
    """
    i = line(3, 4)
    rule = cg.FrankWolfe(exploration=1.0, exploration_delay=1e-6)
    run = Run(
        InitialState(i.problem, rule.bind(i.problem), NEVER, 1, "auto"), np.array(i.means), 0, 0
    )
    for t in (200, 1000, 5000):
        run.advance(t)
        assert (
            run.stats.counts.min()
            >= math.sqrt(t * i.problem.actions.max_size() / i.problem.d) - 1.0 - i.problem.d / 10
        )


@pytest.mark.compiled
def test_the_counts_follow_the_optimal_allocation():
    """The evidence grows at D_nu per round: 100,000 rounds, within 3 %. (With the true means; there
    it must.)
    """
    i = matroid(20)
    problem, means = i.problem, np.array(i.means)
    run = Run(InitialState(problem, cg.FrankWolfe().bind(problem), NEVER, 1, "auto"), means, 0, 0)
    run.advance(100_000)
    found = cg.evidence(problem, means, run.stats.counts).value / 100_000
    assert found == pytest.approx(1.0 / complexity(problem, means).characteristic_time, rel=0.03)


def test_wrong_options_are_refused():
    for name, value in (
        ("sharpness", 0.0),
        ("anneal_after", -1.0),
        ("exploration", math.inf),
        ("sharpness", "x"),
        ("max_rivals", 0),
        ("max_rivals", True),
    ):
        with refused("must-be", of="FrankWolfe", name=name, value=value):
            cg.FrankWolfe(**{name: value})
