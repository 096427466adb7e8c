"""What rules foresee of the stopping rule, and what a round may leave out: against naive twins."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

import combgame as cg
from combgame.engine.round import update_recommendation
from combgame.engine.state import RoundState
from combgame.rules import frank_wolfe
from combgame.simulation.runner import InitialState, Run
from combgame.stopping._penalty_forecast import LEAST, LONGEST
from combgame.stopping.base import NEVER
from combgame.stopping.mixture import APART, JOINT, OWN, SCALES
from combgame.stopping.mixture_pairs import height
from combgame.stopping.registry import make_stopping

MEANS = np.array([0.5, 0.46, 0.4, 0.35, 0.2])
SIGMA = [0.1, 0.12, 0.09, 0.11, 0.13]


def begun(rounds, threshold="mixture", answers=None, delta=1e-6, **options):
    problem = cg.Problem(cg.Subsets(5, 2), answers or cg.Arms(5), cg.Gaussian(SIGMA))
    stopping = make_stopping(threshold, problem, [delta])
    setup = cg.FrankWolfe(**options).bind(problem)
    run = Run(InitialState(problem, setup, stopping, 1, "python"), MEANS, 3, 0)
    run.advance(rounds)
    update_recommendation(run.kernel, run.stats, run.state)
    return run


def asked(stats, i, j, s):
    """The likelihood ratio at s times the counts, discounted, less fees: the best scale's."""
    values = []
    n, m = s * stats.counts[i], s * stats.counts[j]
    for even, chance in JOINT:  # one-sided at its best, by the inverse of the matrix of h and b
        c, v, w = OWN * even, SIGMA[i] ** 2, SIGMA[j] ** 2
        b, h = (
            np.array([n * c / (n + c), m * c / (m + c)]),
            [n * n / (v * (n + c)), m * m / (w * (m + c))],
        )
        q, base = v * b[0] + w * b[1], even * (v + w) / 2
        spread = np.linalg.inv(np.diag(h) + np.outer(b, b) / (q + base)).sum()
        fees = (math.log1p(n / c) + math.log1p(m / c) + math.log1p(q / base)) / 2 - math.log(chance)
        lead = max(stats.mean[i] - stats.mean[j], 0.0)
        values.append(lead**2 / (2 * spread) - fees + math.log(2))
    for (c, e, one, other, _), chance in zip(SCALES, APART, strict=True):
        spread = SIGMA[i] ** 2 * (1 / n + c / n**2) + SIGMA[j] ** 2 * (1 / m + e / m**2)
        fees = (math.log(1 + n / c) + math.log(1 + m / e)) / 2 - math.log(chance)
        lead = max(stats.mean[i] - stats.mean[j], 0.0)
        values.append(lead**2 / (2 * spread) - fees + (one + other) * math.log(2))
    return max(values)


@pytest.mark.parametrize("answers", [cg.Arms(5), cg.Subsets(5, 2)], ids=str)
def test_what_is_foreseen_is_the_likelihood_ratio_less_charges_at_the_expected_end(answers):
    run = begun(60, answers=answers)
    problem, stats, state = run.kernel, run.stats, run.state
    s = problem.stopping.expected_growth(problem, stats, state.leader, state.rival)
    assert 1.0 <= s <= LONGEST
    inside, outside = np.flatnonzero(state.leader > 0.5), np.flatnonzero(state.leader < 0.5)
    for i in inside:
        for j in outside:
            value = problem.stopping.projected_evidence(
                problem, stats, np.array([j, i]), np.array([1.0, -1.0]), 2
            )
            assert value == pytest.approx(asked(stats, i, j, s), rel=1e-9)


def test_the_expected_end_is_where_the_nearest_rival_would_be_beaten():
    run = begun(200)
    problem, stats, state = run.kernel, run.stats, run.state
    (i,), (j,) = np.flatnonzero(state.leader > 0.5), np.flatnonzero(state.rival > 0.5)
    lead = stats.mean[i] - stats.mean[j]
    spread = SIGMA[i] ** 2 / stats.counts[i] + SIGMA[j] ** 2 / stats.counts[j]
    assert lead > 0.0 and lead**2 / (2 * spread) > LEAST
    for _ in range(200):
        s = problem.stopping.expected_growth(problem, stats, state.leader, state.rival)
    assert 1.0 < s < LONGEST
    assert asked(stats, i, j, s) == pytest.approx(problem.stopping.critical_value(0, 0), rel=1e-6)


def test_rivals_are_weighed_by_what_will_be_asked():
    """Charges are asked for when they are due, and are constants in between."""
    run = begun(150)
    rule, stats, state = run.rule, run.stats, run.state
    rule.penalty_schedule[1] = 0
    best = state.leader.copy()
    rule.choose(run.kernel, stats, state, run.rng)
    (i,), s = np.flatnonzero(best > 0.5), rule.scale[0]
    assert s > 1.0 and rule.used[0] >= 2
    for k in range(rule.used[0]):
        (j,) = set(rule.arms[k, :2].tolist()) - {i}
        assert rule.value[k] == pytest.approx(asked(stats, i, j, s) / s, rel=1e-9)
    penalty = rule.penalty[: rule.used[0]].copy()
    run.advance(152)
    assert (rule.leader == best).all() and rule.penalty_schedule[1] > 152
    assert (rule.penalty[: penalty.size] == penalty).all()


def test_where_rivals_are_charged_alike_nothing_is_foreseen():
    for threshold in ("stylised", "gaussian", "gaussian-counts"):
        run = begun(60, threshold)
        assert (
            run.kernel.stopping.expected_growth(
                run.kernel, run.stats, run.state.leader, run.state.rival
            )
            == 0.0
        )
        assert (run.rule.scale == 0.0).all(), threshold
        arms, sign = np.array([1, 0]), np.array([1.0, -1.0])
        value = run.kernel.stopping.projected_evidence(run.kernel, run.stats, arms, sign, 2)
        spread = sum(SIGMA[a] ** 2 / run.stats.counts[a] for a in (0, 1))
        lead = max(run.stats.mean[0] - run.stats.mean[1], 0.0)
        assert value == pytest.approx(lead**2 / (2 * spread)), threshold
    problem = cg.Problem(
        cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(simulation_sigma=0.1, shared_sigma=False)
    )
    stopping = make_stopping("mixture", problem, [0.1])  # variances that are not known
    run = Run(
        InitialState(problem, cg.FrankWolfe().bind(problem), stopping, 1, "python"), MEANS, 3, 0
    )
    run.advance(100)
    assert (
        run.kernel.stopping.expected_growth(
            run.kernel, run.stats, run.state.leader, run.state.rival
        )
        == 0.0
    )


@pytest.mark.parametrize(("sharpness", "rounds"), [(2.0, 1500), (60.0, 500)])
def test_rivals_that_are_left_out_would_change_no_bit(sharpness, rounds, monkeypatch):
    problem = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(0.3))
    means = np.array([0.7, 0.69, 0.5, 0.4, 0.3, 0.2])

    def scores():
        rule = cg.FrankWolfe(sharpness=sharpness, exploration=8.0)  # far arms are seen often
        run = Run(InitialState(problem, rule.bind(problem), NEVER, 1, "python"), means, 1, 0)
        rows, skipped = [], 0
        for t in range(3, rounds):
            run.advance(t)
            kernel, n = run.rule, run.rule.used[0]
            rows.append(kernel.score.copy())
            if n:
                rate = sharpness / math.sqrt(1.0 + t / 1e6)
                bound = frank_wolfe.negligible_beyond(
                    kernel.value[:n].min(), rate, run.stats.counts, run.stats.effective_counts
                )
                skipped += int((kernel.value[:n] > bound).sum())
        return np.array(rows), skipped

    few, skipped = scores()
    monkeypatch.setattr(frank_wolfe, "negligible_beyond", lambda *arguments: math.inf)
    assert (few == scores()[0]).all()
    assert skipped > 100


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_cheap_bounds_are_above_the_mixture_of_a_pair(seed):
    rng = np.random.default_rng(seed)
    sigma = 10.0 ** rng.uniform(-2, 1, 3)
    problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(sigma.tolist()))
    run = Run(
        InitialState(
            problem,
            cg.Uniform().bind(problem),
            make_stopping("mixture", problem, [0.1]),
            1,
            "python",
        ),
        np.zeros(3),
        0,
        0,
    )
    run.stats.counts[:] = np.floor(10.0 ** rng.uniform(0, 5, 3))
    run.stats.mean[:] = rng.normal(size=3) * 10.0 ** rng.uniform(-2, 1)
    state, stopping_kernel = run.state, run.kernel.stopping
    run.kernel.answers.argmax(run.stats.mean, state.leader)
    value = stopping_kernel.evaluate(run.kernel, run.stats, RoundState(*state))
    exact = stopping_kernel.evidence_against(run.kernel, run.stats, state.leader, state.rival)
    assert exact <= value
    (i,), (j,) = np.flatnonzero(state.leader > 0.5), np.flatnonzero(state.rival > 0.5)
    stopping_kernel.pairs.prepare_arm(i, 0)
    stopping_kernel.pairs.prepare_arm(j, 1)
    stopping_kernel.pairs.minimise(run.stats.mean, i, j, math.inf)
    for x in rng.uniform(run.stats.mean[j], run.stats.mean[i], 5):
        here = height(
            stopping_kernel.pairs.row,
            stopping_kernel.pairs.sided,
            run.stats.mean[i] - x,
            x - run.stats.mean[j],
        )
        rows = stopping_kernel.pairs.row.copy()
        most = stopping_kernel.pairs.upper_bound(run.stats.mean, i, j, float(x))
        assert here[0] <= most + 1e-9 * max(1.0, abs(most))
        stopping_kernel.pairs.row[:] = rows


def test_trees_count_no_pair_too_few():
    """The pairs of an edge and another of the cycle that it closes, for the worst tree, by
    enumeration; and fewer than all pairs in a graph that is not small.
    """
    for seed in range(60):
        rng = random.Random(seed)
        n = rng.randint(2, 6)
        edges = [(i, rng.randrange(i)) for i in range(1, n)]
        edges += [tuple(rng.sample(range(n), 2)) for _ in range(rng.randint(0, 5))]
        trees = cg.SpanningTrees(edges)
        sets = {frozenset(one) for one in trees.to_list()}
        most = max(
            sum((best - {b}) | {a} in sets for a in set(range(trees.d)) - best for b in best)
            for best in sets
        )
        assert most <= trees.neighbourhood().n_differences <= trees.n_gaining_differences()
    ladder = [(i, i + 1) for i in range(19)] + [(i, i + 2) for i in range(18)]
    trees = cg.SpanningTrees(ladder)
    assert trees.neighbourhood().n_differences < 0.7 * trees.n_gaining_differences()


def test_epsilon_keeps_the_pairs_of_the_bijection():
    trees = cg.SpanningTrees([(i, i + 1) for i in range(9)] + [(i, i + 2) for i in range(8)])
    problem = cg.Problem(trees, None, cg.Gaussian(1.0))
    for epsilon, number in (
        (0.0, trees.neighbourhood().n_differences),
        (0.1, trees.n_gaining_differences()),
    ):
        level = make_stopping("mixture", problem, [0.1], epsilon=epsilon).threshold.critical_value(
            1, 0
        )
        assert level == pytest.approx(math.log(number / 0.1))
    assert trees.neighbourhood().n_differences < trees.n_gaining_differences()


def asked_of_sets(stopping_kernel, stats, arms, sign, s):
    """The larger of every arm's own mixture and the one with a shared direction, at s times the
    counts, plus the odds: `own` two-sided, `joint` by the formula of docs/thresholds.md.
    """
    v, w = stopping_kernel.weigher.variance[arms], stats.weighted_sums[:, arms]
    n, lead = s * stats.counts[arms], max(-(sign * stats.mean[arms]).sum(), 0.0)
    even = max(-(sign * (w[3] + w[2] / w[0])).sum(), 0.0)
    values = []
    for c, e, _, _, chance in SCALES:
        prior = np.where(sign < 0.0, c, e)
        fees = np.log1p(n / prior).sum() / 2 - math.log(chance)
        values.append(lead**2 / (2 * (v * (n + prior) / n**2).sum()) - fees + 1.0)
    total, square = s * w[0], s * w[1]
    for c in stopping_kernel.weigher.steady:
        a, own, every = v * square, c * v, c / 100.0 * v.mean()
        b, h = total * own / (a + own), total**2 / (a + own)
        q, z = (a * own / (a + own)).sum(), np.linspace(-30, 300, 400_001)
        # min over X of psi(X/sd) + the least sum of h u^2/2 with sum u = lead, sum b u = X
        blur, pull, both = (1 / h).sum(), (b / h).sum(), (b * b / h).sum()
        sd, loose = math.sqrt(q + every), both - pull**2 / blur
        ridge = (z * sd - even * pull / blur) ** 2 / (2 * loose) if loose > 0 else 0.0
        psi = z * z / 2 + log_ndtr(z) + math.log(2.0)
        fees = math.log1p(q / every) / 2 + np.log1p(a / own).sum() / 2
        values.append((psi + ridge).min() + even**2 / (2 * blur) - fees - math.log(5.0))
    return max(values)


def test_what_is_foreseen_of_best_sets():
    structure = cg.grid_network(4)
    means = np.random.default_rng(3).uniform(0.0, 1.0, structure.d)
    sigma = np.random.default_rng(4).uniform(0.1, 0.3, structure.d)
    problem = cg.Problem(structure, None, cg.Gaussian(sigma.tolist()))
    stopping = make_stopping("mixture", problem, [1e-6])
    run = Run(
        InitialState(problem, cg.FrankWolfe().bind(problem), stopping, 1, "python"), means, 3, 0
    )
    run.advance(60)
    update_recommendation(run.kernel, run.stats, run.state)
    kernel, stats, state, stopping_kernel = run.kernel, run.stats, run.state, run.kernel.stopping
    s = stopping_kernel.expected_growth(kernel, stats, state.leader, state.rival)
    assert 1.0 < s <= LONGEST
    compared = 0
    for path in structure.to_list():
        rival = np.zeros(structure.d)
        rival[list(path)] = 1.0
        arms = np.flatnonzero(rival != state.leader)
        if arms.size:
            sign = rival[arms] - state.leader[arms]
            value = stopping_kernel.projected_evidence(kernel, stats, arms, sign, arms.size)
            exact = asked_of_sets(
                stopping_kernel, stats, arms, sign, s
            ) + stopping_kernel.rivals.log_weight(state.leader, rival)
            assert value == pytest.approx(exact, abs=2e-3)
            compared += 1
    assert compared > 3
