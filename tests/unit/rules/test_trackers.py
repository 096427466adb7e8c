"""Tracking: against the definition over all actions that ever had weight, and within the paper's
bounds.
"""

import math

import numpy as np
import pytest

import combgame as cg
from combgame.engine.action_table import make_action_table, make_sparse_weights
from combgame.engine.state import vector
from combgame.rules._trackers import make_tracker
from combgame.rules.presets import make_rule
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER


def mixtures(kind, n, rounds, rng):
    """Sequences of sparse distributions over n actions."""
    for t in range(rounds):
        w = np.zeros(n)
        if kind == "drifting":
            first = (t // 40) % n
            w[[first, (first + 1) % n, (first + 3) % n]] = rng.dirichlet([1, 1, 1])
        elif kind == "wild":
            chosen = rng.choice(n, rng.integers(1, 5), replace=False)
            w[chosen] = rng.dirichlet(np.full(len(chosen), 0.3))
        else:
            w[:] = rng.dirichlet(np.full(n, 0.2))
        yield w / w.sum()


@pytest.mark.parametrize("kind", ["drifting", "wild", "dense"])
def test_sparse_c_tracking_is_the_argmin_over_everything_that_ever_had_weight(kind):
    sets = cg.Subsets(6, 2).to_list()
    n, rng = len(sets), np.random.default_rng(1)
    table, weights, tracker = (
        make_action_table(64, 2),
        make_sparse_weights(64, 6),
        make_tracker("C", 64),
    )
    for s in sets:
        table.lookup(vector(s, 6))
    counts, total = np.zeros(n), np.zeros(n)
    table.n_plays[:3] = table.cumulative_weight[:3] = counts[:3] = total[:3] = (
        1.0  # a start of three actions
    )
    for w in mixtures(kind, n, 800, rng):
        ids = np.flatnonzero(w)
        weights.ids[: len(ids)], weights.values[: len(ids)], weights.size[0] = ids, w[ids], len(ids)
        table.add_weights(weights)
        total += w
        got = tracker.track(table, weights, rng)
        alive = total > 0
        ratio = np.where(alive, counts / np.where(alive, total, 1.0), np.inf)
        assert ratio[got] == ratio.min() and ratio[got] < 1.0
        assert got == np.flatnonzero(ratio == ratio.min())[0]  # ties by number
        counts[got] += 1
        table.n_plays[got] += 1
        assert np.all(counts - total <= 1 + 1e-9)  # the paper's lemma
        assert np.all(counts - total >= -(n - 1))


def test_d_tracking_and_sampling_follow_their_definitions():
    rng = np.random.default_rng(2)
    table, weights = make_action_table(8, 1), make_sparse_weights(8, 4)
    for a in range(4):
        table.lookup(vector([a], 4))
    table.n_plays[:4] = [5, 1, 2, 0]
    weights.ids[:3], weights.values[:3], weights.size[0] = [0, 1, 2], [0.7, 0.1, 0.2], 3
    assert make_tracker("D", 8).track(table, weights, rng) == 0  # 5/0.7 < 1/0.1 = 2/0.2
    weights.ids[:2], weights.values[:2], weights.size[0] = [2, 1], [0.2, 0.1], 2
    assert make_tracker("D", 8).track(table, weights, rng) == 1  # of equals the first number
    weights.ids[:3], weights.values[:3], weights.size[0] = [0, 1, 2], [0.7, 0.1, 0.2], 3
    sampler = make_tracker("sample", 8)
    share = (
        np.bincount([sampler.track(table, weights, rng) for _ in range(20_000)], minlength=4)
        / 20_000
    )
    assert share[:3] == pytest.approx([0.7, 0.1, 0.2], abs=0.02) and share[3] == 0


def long_run(rule):
    problem = cg.Problem(cg.Subsets(7, 3), cg.Arms(7), cg.Gaussian(0.1))
    setup, means = make_rule(rule).bind(problem), np.linspace(0.5, 0.2, 7)
    return Run(InitialState(problem, setup, NEVER, 1, "compiled"), means, 0, 0)


@pytest.mark.compiled
@pytest.mark.parametrize("rule", ["hedge", "lloo"])
def test_runs_keep_the_tracking_bounds(rule):
    run = long_run(rule)
    for last in (40, 100, 400, 2000, 20_000):
        run.advance(last)
        book = run.rule.table
        n = int(book.size[0])
        lag = book.n_plays[:n] - book.cumulative_weight[:n]
        assert lag.max() <= 1 + 1e-9 and lag.min() >= -(35 - 1)
        assert book.n_plays[:n].sum() == last
        assert book.cumulative_weight[:n].sum() == pytest.approx(last, rel=1e-9)
        per_arm = np.zeros(7)
        for i in range(n):
            per_arm[book.arms[i, : book.sizes[i]]] += book.n_plays[i]
        assert np.array_equal(per_arm, run.stats.counts)


@pytest.mark.compiled
def test_the_sharper_bound_that_the_paper_quotes_is_not_for_this_form_of_tracking():
    """-ln|A| <= N - sum w (Theorem 6 of Degenne et al. 2020) fails by a little when the ratio N /
    sum w is minimised.
    """
    run, least = long_run("adahedge"), 0.0
    for last in range(100, 20_001, 100):
        run.advance(last)
        book = run.rule.table
        least = min(least, float((book.n_plays[:35] - book.cumulative_weight[:35]).min()))
    assert -34 <= least < -math.log(35)
