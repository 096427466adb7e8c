"""The learners against their naive twins; the sparse representation against the point it stands
for.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import combgame as cg
from combgame.engine.action_table import (
    enlarge_action_table,
    fill_action_table,
    make_action_table,
    make_sparse_weights,
)
from combgame.engine.numba import compiled
from combgame.engine.state import vector
from combgame.learners._exponential_weights import every, every_action
from combgame.learners._support import make_support
from combgame.learners.base import LearnerContext
from combgame.rules._trackers import make_tracker
from tests import naive

LEARNERS = [cg.Hedge(), cg.AdaHedge(), cg.OFW(), cg.LLOO()]
PLAIN = [cg.Hedge(), cg.AdaHedge(), cg.OFW(sparsify=False), cg.LLOO(sparsify=False)]
D, K = 5, 2
ACTIONS = cg.Subsets(D, K)


def NAME(learner):
    return type(learner).__name__


def make_kernel(learner, actions=ACTIONS, room=2000, n_learners=1):
    """A learner at its beginning: its part, a catalogue, a mixture, the start's sets."""
    d = actions.d
    table = make_action_table(20_000, actions.max_size())
    sets = actions.to_list() if learner.enumerates_actions else actions.covering()
    home = np.array([table.lookup(vector(s, d)) for s in sets], dtype=np.int64)
    centre = np.mean([vector(s, d) for s in sets], axis=0)
    kernel = learner.kernel(LearnerContext(actions, home, centre, len(sets), n_learners, room))
    return kernel, table, make_sparse_weights(room, d), sets


def played(kernel, table, weights):
    """What act() says, as a dictionary from sets to weights."""
    kernel.act(0, weights)
    table.add_weights(weights)
    found = {}
    for i in range(weights.size[0]):
        number = weights.ids[i]
        found[tuple(table.arms[number, : table.sizes[number]].tolist())] = weights.values[i]
    return found


def twin(learner, sets):
    geometry = ACTIONS.geometry()
    return {
        "Hedge": lambda: naive.Hedge(sets),
        "AdaHedge": lambda: naive.AdaHedge(sets),
        "OFW": lambda: naive.OFW(ACTIONS.to_list(), D, sets, geometry.diameter),
        "LLOO": lambda: naive.LLOO(ACTIONS.to_list(), D, sets, geometry.diameter),
    }[type(learner).__name__]()


def rewards_of(t, arms, rng):
    """Steady ones first, then random ones, and in the end those that punish what is played."""
    if t < 150:
        return np.array([0.5, 0.4, 0.31, 0.22, 0.13]) + 1e-3 * rng.random(D)
    if t < 350:
        return rng.exponential(size=D) * math.log(t + 2)
    return 1.0 - arms + 0.01 * rng.random(D)


@pytest.mark.parametrize("learner", PLAIN, ids=NAME)
def test_learners_play_what_their_naive_twins_play(learner):
    kernel, table, weights, sets = make_kernel(learner)
    other, rng, structure = twin(learner, sets), np.random.default_rng(7), ACTIONS.kernel()
    for t in range(600):  # into the third doubling epoch
        mine, theirs = played(kernel, table, weights), other.act()
        for s in set(mine) | set(theirs):
            assert mine.get(s, 0.0) == pytest.approx(theirs.get(s, 0.0), abs=1e-9), (t, s)
        assert np.allclose(weights.arm_weights, naive.marginals(theirs, D), atol=1e-9)
        reward = rewards_of(t, weights.arm_weights, rng)
        kernel.update(0, weights, table, structure, reward)
        other.update(reward)


@pytest.mark.parametrize("learner", LEARNERS, ids=NAME)
def test_two_seats_do_not_touch_each_other(learner):
    kernel, table, weights, _ = make_kernel(learner, n_learners=2)
    alone, its_table, its_weights, _ = make_kernel(learner)
    rng, structure = np.random.default_rng(3), ACTIONS.kernel()
    for _ in range(220):
        reward = rng.exponential(size=D)
        kernel.act(1, weights)
        table.add_weights(weights)
        kernel.update(1, weights, table, structure, rng.exponential(size=D))
        kernel.act(0, weights)
        table.add_weights(weights)
        alone.act(0, its_weights)
        its_table.add_weights(its_weights)
        assert np.allclose(weights.arm_weights, its_weights.arm_weights, atol=1e-9)
        kernel.update(0, weights, table, structure, reward)
        alone.update(0, its_weights, its_table, structure, reward)


def test_adahedge_keeps_the_regret_of_its_lemma():
    kernel, table, weights, sets = make_kernel(cg.AdaHedge())
    rng, structure = np.random.default_rng(0), ACTIONS.kernel()
    gains, mine, spans = np.zeros(len(sets)), 0.0, []
    for _ in range(3000):
        kernel.act(0, weights)
        table.add_weights(weights)
        reward = rng.random(D) * np.array([1.0, 1.01, 1.0, 1.0, 0.99])
        got = np.array([reward[list(s)].sum() for s in sets])
        mine += float(weights.arm_weights @ reward)
        gains += got
        spans.append(np.ptp(got))
        kernel.update(0, weights, table, structure, reward)
    n = math.log(len(sets))
    bound = math.sqrt(sum(b * b for b in spans) * n) + (4 / 3 * n + 2) * max(spans)
    assert 0 < gains.max() - mine <= bound


@given(data=st.data())
@settings(max_examples=50)
def test_thinning_keeps_the_point_and_leaves_at_most_d_plus_one_actions(data):
    d = data.draw(st.integers(2, 8))
    sets = sorted(
        data.draw(
            st.sets(st.frozensets(st.integers(0, d - 1), min_size=1), min_size=2, max_size=40)
        ),
        key=sorted,
    )
    raw = data.draw(st.lists(st.floats(1e-6, 1.0), min_size=len(sets), max_size=len(sets)))
    weight = np.array(raw) / sum(raw)
    table = make_action_table(64, d)
    ids = np.array([table.lookup(vector(sorted(s), d)) for s in sets], dtype=np.int64)
    support = make_support(d, ids[:1], 1, 64, 1)
    support.ids[0, : len(ids)], support.weight[0, : len(ids)], support.used[0] = (
        ids,
        weight,
        len(ids),
    )
    before, after = make_sparse_weights(64, d), make_sparse_weights(64, d)
    support.write(0, before)
    table.add_weights(before)
    support.sparsify(0, table)
    support.write(0, after)
    table.add_weights(after)
    assert np.allclose(before.arm_weights, after.arm_weights, atol=1e-9)
    assert support.used[0] <= d + 1 and np.all(support.weight[0, : support.used[0]] > 0)
    assert support.weight[0, : support.used[0]].sum() == pytest.approx(1.0, abs=1e-12)


@given(data=st.data())
@settings(max_examples=50)
def test_reduce_is_algorithm_two_and_conserves_mass(data):
    n = data.draw(st.integers(2, 10))
    sets = ACTIONS.to_list()[:n]
    raw = data.draw(st.lists(st.floats(0.01, 1.0), min_size=n, max_size=n))
    weight = np.array(raw) / sum(raw)
    score = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=D, max_size=D)))
    score += np.arange(D) * 1e-7  # no ties: which of two equal actions gives way is arbitrary
    mass, step = data.draw(st.floats(0.01, 1.0)), data.draw(st.floats(0.01, 1.0))
    table = make_action_table(64, K)
    ids = np.array([table.lookup(vector(s, D)) for s in sets], dtype=np.int64)
    support = make_support(D, ids[:1], 1, 64, 0)
    support.ids[0, :n], support.weight[0, :n], support.used[0] = ids, weight, n
    support.reduce(0, table, score, mass, step)
    minus = naive.reduce(dict(zip(sets, weight, strict=True)), mass, -score)
    expected = [w - step * minus.get(s, 0.0) for s, w in zip(sets, weight, strict=True)]
    assert support.weight[0, :n] == pytest.approx(expected, abs=1e-12)
    assert support.weight[0, :n].sum() == pytest.approx(1.0 - step * mass, abs=1e-12)
    support.add_vertex(0, int(ids[0]))
    assert support.weight[0, : support.used[0]].sum() == pytest.approx(1.0, abs=1e-14)


def rounds_with(kernel, table, weights, structure, rewards, worst):
    for t in range(rewards.shape[0]):
        kernel.act(0, weights)
        table.add_weights(weights)
        total = 0.0
        for i in range(weights.size[0]):
            total += weights.values[i]
            worst[0] = min(worst[0], weights.values[i])
        worst[1] = max(worst[1], abs(total - 1.0))
        arms = 0.0
        for a in range(weights.arm_weights.size):
            arms += weights.arm_weights[a]
            worst[2] = max(worst[2], weights.arm_weights[a])
            worst[3] = min(worst[3], weights.arm_weights[a])
        worst[4] = max(worst[4], arms)
        worst[5] = min(worst[5], arms)
        worst[6] = max(worst[6], weights.size[0])
        if table.is_full():
            return t
        kernel.update(0, weights, table, structure, rewards[t])
    return rewards.shape[0]


@pytest.mark.compiled
@pytest.mark.parametrize("learner", LEARNERS, ids=NAME)
def test_weights_stay_in_the_polytope_over_a_hundred_thousand_extreme_rounds(learner):
    d, k, rounds = 12, 3, 100_000
    actions, rng = cg.Subsets(d, k), np.random.default_rng(5)
    kernel, table, weights, _ = make_kernel(learner, actions)
    rewards = rng.exponential(size=(rounds, d)) * 10.0 ** rng.uniform(-12, 12, size=(rounds, 1))
    rewards[::7] = 0.0
    rewards[5::11, 0] = 1e15
    worst = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1e9, 0.0])
    done = compiled(rounds_with, ours=False)(
        kernel, table, weights, actions.kernel(), rewards, worst
    )
    assert done == rounds
    assert worst[0] >= 0 and worst[1] < 1e-9  # a distribution
    assert worst[2] <= 1 + 1e-9 and worst[3] >= -1e-12  # 0 <= w~ <= 1
    assert worst[4] == pytest.approx(k, abs=1e-8) and worst[5] == pytest.approx(
        k, abs=1e-8
    )  # sum w~ = k
    if not learner.enumerates_actions:
        assert worst[6] <= 2 * (d + 1) + 1  # the support stays of order d


def test_a_catalogue_finds_what_it_knows_and_survives_growth():
    rng, table = np.random.default_rng(0), make_action_table(300, 5)
    sets = list(
        {
            tuple(sorted(rng.choice(12, rng.integers(1, 6), replace=False).tolist()))
            for _ in range(250)
        }
    )
    numbers = [table.lookup(vector(s, 12)) for s in sets]
    assert (
        numbers == list(range(len(sets))) and [table.lookup(vector(s, 12)) for s in sets] == numbers
    )
    table.n_plays[:3] = [3, 1, 2]
    larger = enlarge_action_table(table, 900)
    assert [larger.lookup(vector(s, 12)) for s in sets] == numbers and larger.n_plays[
        :3
    ].tolist() == [
        3,
        1,
        2,
    ]
    assert larger.lookup(vector([0, 1, 2, 3, 11], 12)) in (len(sets), *numbers)


# ---- all actions, as products over the arms

ENUMERATED = {
    "subsets": cg.Subsets(9, 3),
    "almost all": cg.AlmostAllSets(7, 2),  # sets of all sizes, some the beginnings of others
    "listed": cg.Listed([(0, 5), (3,), (1, 2, 4), (0, 1), (3, 5), (0,)], 6),  # in no order
    "paths": cg.grid_network(6),
    "one": cg.Listed([(0, 1)], 2),
}
SPREADS = {"tied": 0.0, "usual": 3.0, "wide": 300.0, "too wide for doubles": 1e5, "absurd": 1e12}


@pytest.mark.parametrize("name", ENUMERATED)
def test_weights_as_products_are_the_exponentials_of_the_sums(name):
    actions = ENUMERATED[name]
    sets, d = actions.to_list(), actions.d
    mine, arms, weight = every(sets, d), np.zeros(d), np.zeros(len(sets))
    rng = np.random.default_rng(5)
    for kind, spread in SPREADS.items():
        score = spread * (rng.normal(size=d) + rng.choice([0.0, -0.3, 0.7]))
        sums = np.array([math.fsum(score[list(s)]) for s in sets])
        exact = np.exp(sums - sums.max())
        total = mine.total(score)
        wanted = sums.max() + math.log(exact.sum())
        assert total == pytest.approx(wanted, rel=1e-12, abs=1e-9), kind
        mine.chances(arms)
        mine.weights(weight)
        assert np.isfinite(weight).all() and weight.sum() == pytest.approx(1.0, abs=1e-12), kind
        rough = 1e-15 * max(1.0, np.abs(sums).max())  # what the sums themselves are rounded by
        assert np.allclose(weight, exact / exact.sum(), rtol=10 * rough, atol=1e-50), kind
        chance = [sum(w for w, s in zip(weight, sets, strict=True) if a in s) for a in range(d)]
        assert np.allclose(arms, chance, rtol=0.0, atol=1e-12), kind
        ends = (sums.min(), sums.max())
        assert mine.mean_range(score) == pytest.approx(ends, rel=1e-12, abs=1e-12), kind


def in_high_precision(sets, rewards):
    """AdaHedge's weights before each round and its gap after the last, with 60 digits."""
    mp.dps, number = 60, len(sets)
    gains, gap, weights = [mp.mpf(0)] * number, mp.mpf(0), []
    for reward in rewards:
        rate, top = mp.log(number) / gap if gap else mp.mpf(0), max(gains)
        shares = [mp.exp(rate * (gain - top)) for gain in gains]
        shares = [share / sum(shares) for share in shares]
        weights.append([float(share) for share in shares])
        got = [sum(mp.mpf(float(reward[a])) for a in chosen) for chosen in sets]
        mix = max(got)
        if gap:
            inside = (w * mp.exp(rate * (x - mix)) for w, x in zip(shares, got, strict=True))
            mix += mp.log(sum(inside)) / rate
        gap += max(mp.mpf(0), mix - sum(w * x for w, x in zip(shares, got, strict=True)))
        gains = [gain + x for gain, x in zip(gains, got, strict=True)]
    return weights, float(gap)


GROWING = {  # rewards that grow by so much that the rate is far too high at first
    "from 1e-12": [1e-12] + [1.0] * 12,
    "from 1e-16": [1e-16] + [1.0] * 12,
    "from 1e-300": [1e-300] + [1.0] * 12,
    "twice": [1e-200] * 2 + [1.0] * 6 + [1e100] * 6,
}


def test_adahedge_follows_rewards_that_grow_by_any_factor():
    rng, sets = np.random.default_rng(1), ACTIONS.to_list()
    for name, scales in GROWING.items():
        rewards = [scale * rng.random(D) for scale in scales]
        kernel, table, weights, _ = make_kernel(cg.AdaHedge())
        exact, gap = in_high_precision(sets, rewards)
        for reward, expected in zip(rewards, exact, strict=True):
            kernel.act(0, weights)
            found = weights.values[: len(sets)]
            assert np.allclose(found, expected, rtol=0.0, atol=1e-12), name
            kernel.update(0, weights, table, ACTIONS, reward)
        assert kernel.gap[0] == pytest.approx(gap, rel=1e-9), name


def test_heads_and_tails_under_other_numbers():
    rng = np.random.default_rng(1)
    for name, actions in ENUMERATED.items():
        if name == "one":
            continue
        other = actions.permuted(rng.permutation(actions.d))
        sets, score = other.to_list(), rng.normal(size=actions.d)
        found = []
        for kernel in (every_action(other, len(sets)), every(sets, actions.d)):
            arms, weight = np.zeros(actions.d), np.zeros(len(sets))
            kernel.total(score)
            kernel.chances(arms)
            kernel.weights(weight)
            found.append((arms, weight))
        assert np.allclose(found[0][0], found[1][0]), name
        assert np.allclose(found[0][1], found[1][1]), name


@given(data=st.data())
@settings(max_examples=40)
def test_tracking_all_actions_in_blocks_is_the_argmin(data):
    n = data.draw(st.integers(1, 600))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    table = fill_action_table([(a,) for a in range(n)], n + 2, 1)
    table.n_plays[:n] = rng.integers(0, 5, n)
    table.cumulative_weight[:n] = rng.choice([0.0, 1.0, 2.0, 1e-300, rng.random()], n)
    table.cumulative_weight[rng.integers(n)] = 1.0
    ratios = [
        table.n_plays[i] / table.cumulative_weight[i]
        if table.cumulative_weight[i] > 0.0
        else math.inf
        for i in range(n)
    ]
    found = make_tracker("C", n + 2, full=True).track(table, make_sparse_weights(n, n), rng)
    assert found == int(np.argmin(ratios))
