"""What rules foresee of the stopping rule, and what a round may leave out: against naive twins."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr

import combgame as cg
from combgame.engine.round import recommend
from combgame.engine.state import View
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
    setup = cg.FrankWolfe(**options).setup(problem)
    run = Run(InitialState(problem, setup, stopping, 1, "python"), MEANS, 3, 0)
    run.advance(rounds)
    recommend(run.game, run.seen, run.view)
    return run


def asked(seen, i, j, s):
    """The likelihood ratio at s times the counts, discounted, less fees: the best scale's."""
    values = []
    n, m = s * seen.counts[i], s * seen.counts[j]
    for even, chance in JOINT:  # one-sided at its best, by the inverse of the matrix of h and b
        c, v, w = OWN * even, SIGMA[i] ** 2, SIGMA[j] ** 2
        b, h = (
            np.array([n * c / (n + c), m * c / (m + c)]),
            [n * n / (v * (n + c)), m * m / (w * (m + c))],
        )
        q, base = v * b[0] + w * b[1], even * (v + w) / 2
        spread = np.linalg.inv(np.diag(h) + np.outer(b, b) / (q + base)).sum()
        fees = (math.log1p(n / c) + math.log1p(m / c) + math.log1p(q / base)) / 2 - math.log(chance)
        lead = max(seen.mean[i] - seen.mean[j], 0.0)
        values.append(lead**2 / (2 * spread) - fees + math.log(2))
    for (c, e, one, other, _), chance in zip(SCALES, APART, strict=True):
        spread = SIGMA[i] ** 2 * (1 / n + c / n**2) + SIGMA[j] ** 2 * (1 / m + e / m**2)
        fees = (math.log(1 + n / c) + math.log(1 + m / e)) / 2 - math.log(chance)
        lead = max(seen.mean[i] - seen.mean[j], 0.0)
        values.append(lead**2 / (2 * spread) - fees + (one + other) * math.log(2))
    return max(values)


@pytest.mark.parametrize("answers", [cg.Arms(5), cg.Subsets(5, 2)], ids=str)
def test_what_is_foreseen_is_the_likelihood_ratio_less_charges_at_the_expected_end(answers):
    run = begun(60, answers=answers)
    game, seen, view = run.game, run.seen, run.view
    s = game.judge.foresee(game, seen, view.best, view.rival)
    assert 1.0 <= s <= LONGEST
    inside, outside = np.flatnonzero(view.best > 0.5), np.flatnonzero(view.best < 0.5)
    for i in inside:
        for j in outside:
            value = game.judge.foreseen(game, seen, np.array([j, i]), np.array([1.0, -1.0]), 2)
            assert value == pytest.approx(asked(seen, i, j, s), rel=1e-9)


def test_the_expected_end_is_where_the_nearest_rival_would_be_beaten():
    run = begun(200)
    game, seen, view = run.game, run.seen, run.view
    (i,), (j,) = np.flatnonzero(view.best > 0.5), np.flatnonzero(view.rival > 0.5)
    lead = seen.mean[i] - seen.mean[j]
    spread = SIGMA[i] ** 2 / seen.counts[i] + SIGMA[j] ** 2 / seen.counts[j]
    assert lead > 0.0 and lead**2 / (2 * spread) > LEAST
    for _ in range(200):
        s = game.judge.foresee(game, seen, view.best, view.rival)
    assert 1.0 < s < LONGEST
    assert asked(seen, i, j, s) == pytest.approx(game.judge.level(0, 0), rel=1e-6)


def test_rivals_are_weighed_by_what_will_be_asked():
    """Charges are asked for when they are due, and are constants in between."""
    run = begun(150)
    rule, seen, view = run.rule, run.seen, run.view
    rule.due[1] = 0
    best = view.best.copy()
    rule.choose(run.game, seen, view, run.rng)
    (i,), s = np.flatnonzero(best > 0.5), rule.scale[0]
    assert s > 1.0 and rule.used[0] >= 2
    for k in range(rule.used[0]):
        (j,) = set(rule.arms[k, :2].tolist()) - {i}
        assert rule.value[k] == pytest.approx(asked(seen, i, j, s) / s, rel=1e-9)
    charge = rule.charge[: rule.used[0]].copy()
    run.advance(152)
    assert (rule.leader == best).all() and rule.due[1] > 152
    assert (rule.charge[: charge.size] == charge).all()


def test_where_rivals_are_charged_alike_nothing_is_foreseen():
    for threshold in ("stylised", "gaussian", "gaussian-counts"):
        run = begun(60, threshold)
        assert run.game.judge.foresee(run.game, run.seen, run.view.best, run.view.rival) == 0.0
        assert (run.rule.scale == 0.0).all(), threshold
        arms, sign = np.array([1, 0]), np.array([1.0, -1.0])
        value = run.game.judge.foreseen(run.game, run.seen, arms, sign, 2)
        spread = sum(SIGMA[a] ** 2 / run.seen.counts[a] for a in (0, 1))
        lead = max(run.seen.mean[0] - run.seen.mean[1], 0.0)
        assert value == pytest.approx(lead**2 / (2 * spread)), threshold
    problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(supposed=0.1, shared=False))
    stopping = make_stopping("mixture", problem, [0.1])  # variances that are not known
    run = Run(
        InitialState(problem, cg.FrankWolfe().setup(problem), stopping, 1, "python"), MEANS, 3, 0
    )
    run.advance(100)
    assert run.game.judge.foresee(run.game, run.seen, run.view.best, run.view.rival) == 0.0


@pytest.mark.parametrize(("kappa", "rounds"), [(2.0, 1500), (60.0, 500)])
def test_rivals_that_are_left_out_would_change_no_bit(kappa, rounds, monkeypatch):
    problem = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(0.3))
    means = np.array([0.7, 0.69, 0.5, 0.4, 0.3, 0.2])

    def scores():
        rule = cg.FrankWolfe(kappa=kappa, explore=8.0)  # far arms are seen often
        run = Run(InitialState(problem, rule.setup(problem), NEVER, 1, "python"), means, 1, 0)
        rows, skipped = [], 0
        for t in range(3, rounds):
            run.advance(t)
            part, n = run.rule, run.rule.used[0]
            rows.append(part.score.copy())
            if n:
                rate = kappa / math.sqrt(1.0 + t / 1e6)
                bound = frank_wolfe.reach(
                    part.value[:n].min(), rate, run.seen.counts, run.seen.worth
                )
                skipped += int((part.value[:n] > bound).sum())
        return np.array(rows), skipped

    few, skipped = scores()
    monkeypatch.setattr(frank_wolfe, "reach", lambda *arguments: math.inf)
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
            cg.Uniform().setup(problem),
            make_stopping("mixture", problem, [0.1]),
            1,
            "python",
        ),
        np.zeros(3),
        0,
        0,
    )
    run.seen.counts[:] = np.floor(10.0 ** rng.uniform(0, 5, 3))
    run.seen.mean[:] = rng.normal(size=3) * 10.0 ** rng.uniform(-2, 1)
    view, judge = run.view, run.game.judge
    run.game.answers.argmax(run.seen.mean, view.best)
    value = judge.look(run.game, run.seen, View(*view))
    exact = judge.versus(run.game, run.seen, view.best, view.rival)
    assert exact <= value
    (i,), (j,) = np.flatnonzero(view.best > 0.5), np.flatnonzero(view.rival > 0.5)
    judge.pairs.ready(i, 0)
    judge.pairs.ready(j, 1)
    judge.pairs.least(run.seen.mean, i, j, math.inf)
    for x in rng.uniform(run.seen.mean[j], run.seen.mean[i], 5):
        here = height(
            judge.pairs.row, judge.pairs.sided, run.seen.mean[i] - x, x - run.seen.mean[j]
        )
        rows = judge.pairs.row.copy()
        most = judge.pairs.above(run.seen.mean, i, j, float(x))
        assert here[0] <= most + 1e-9 * max(1.0, abs(most))
        judge.pairs.row[:] = rows


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
        sets = {frozenset(one) for one in trees.sets()}
        most = max(
            sum((best - {b}) | {a} in sets for a in set(range(trees.d)) - best for b in best)
            for best in sets
        )
        assert most <= trees.exchange().number <= trees.gaining()
    ladder = [(i, i + 1) for i in range(19)] + [(i, i + 2) for i in range(18)]
    trees = cg.SpanningTrees(ladder)
    assert trees.exchange().number < 0.7 * trees.gaining()


def test_epsilon_keeps_the_pairs_of_the_bijection():
    trees = cg.SpanningTrees([(i, i + 1) for i in range(9)] + [(i, i + 2) for i in range(8)])
    problem = cg.Problem(trees, None, cg.Gaussian(1.0))
    for epsilon, number in ((0.0, trees.exchange().number), (0.1, trees.gaining())):
        level = make_stopping("mixture", problem, [0.1], epsilon=epsilon).threshold.level(1, 0)
        assert level == pytest.approx(math.log(number / 0.1))
    assert trees.exchange().number < trees.gaining()


def asked_of_sets(judge, seen, arms, sign, s):
    """The larger of every arm's own mixture and the one with a shared direction, at s times the
    counts, plus the odds: `own` two-sided, `joint` by the formula of docs/thresholds.md.
    """
    v, w = judge.weigher.variance[arms], seen.weighed[:, arms]
    n, lead = s * seen.counts[arms], max(-(sign * seen.mean[arms]).sum(), 0.0)
    even = max(-(sign * (w[3] + w[2] / w[0])).sum(), 0.0)
    values = []
    for c, e, _, _, chance in SCALES:
        prior = np.where(sign < 0.0, c, e)
        fees = np.log1p(n / prior).sum() / 2 - math.log(chance)
        values.append(lead**2 / (2 * (v * (n + prior) / n**2).sum()) - fees + 1.0)
    total, square = s * w[0], s * w[1]
    for c in judge.weigher.steady:
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
        InitialState(problem, cg.FrankWolfe().setup(problem), stopping, 1, "python"), means, 3, 0
    )
    run.advance(60)
    recommend(run.game, run.seen, run.view)
    game, seen, view, judge = run.game, run.seen, run.view, run.game.judge
    s = judge.foresee(game, seen, view.best, view.rival)
    assert 1.0 < s <= LONGEST
    compared = 0
    for path in structure.sets():
        rival = np.zeros(structure.d)
        rival[list(path)] = 1.0
        arms = np.flatnonzero(rival != view.best)
        if arms.size:
            sign = rival[arms] - view.best[arms]
            value = judge.foreseen(game, seen, arms, sign, arms.size)
            exact = asked_of_sets(judge, seen, arms, sign, s) + judge.rivals.odds(view.best, rival)
            assert value == pytest.approx(exact, abs=2e-3)
            compared += 1
    assert compared > 3
