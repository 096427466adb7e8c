"""The formulas of the rewards, against generic solvers, bisection and the paper's lemmas."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import combgame as cg
from combgame.engine.likelihood_ratio import differ
from combgame.engine.statistics import blank
from combgame.rewards.bernoulli import EDGE
from combgame.rules.combgame import optimism
from tests import naive

D = 4
FREE = (np.full(D, -np.inf), np.full(D, np.inf))
UNIT = (np.zeros(D), np.ones(D))
PAIRS = [((0,), (1,)), ((0, 1), (2, 3)), ((0, 1), (1, 2)), ((0, 1, 2), (2, 3)), ((0,), (1, 2, 3))]
BONUS = st.one_of(st.just(0.0), st.floats(1e-6, 10))
probability = st.floats(0.02, 0.98)
weights = st.lists(st.one_of(st.just(0.0), st.floats(0.05, 50.0)), min_size=D, max_size=D)


def part_of(family, sigma, low, high):
    rewards = {
        "gaussian": cg.Gaussian(sigma),
        "bernoulli": cg.Bernoulli(),
        "bounded": cg.Bounded(0.0, 1.0),
    }[family]
    return rewards.kernel(low, high)


def measure(kernel, mean, weight, best, rival):
    b, r, out = np.zeros(D), np.zeros(D), np.array(mean, dtype=float)
    b[list(best)], r[list(rival)] = 1.0, 1.0
    arms, sign = np.zeros(D, np.int64), np.zeros(D)
    n = differ(b, r, arms, sign)
    return kernel.transportation_cost(np.array(mean), np.array(weight), arms, sign, n, out), out


@given(x=st.floats(-3, 3), level=st.floats(0, 5), sigma=st.floats(0.1, 3))
def test_gaussian_interval_is_where_the_divergence_reaches_the_level(x, level, sigma):
    kernel = cg.Gaussian(sigma).kernel(*FREE)
    for end in (kernel.kl_lcb(x, level, 0), kernel.kl_ucb(x, level, 0)):
        assert kernel.divergence(x, end, 0) == pytest.approx(level, abs=1e-9)


@given(
    x=st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-9, 1 - 1e-9)),
    level=st.one_of(st.just(0.0), st.floats(1e-7, 6)),
)
def test_bernoulli_interval_against_bisection(x, level):
    kernel = cg.Bernoulli().kernel(*UNIT)
    alpha, beta = naive.interval("bernoulli", x, level) if 0 < x < 1 else (None, None)
    low, high = kernel.kl_lcb(x, level, 0), kernel.kl_ucb(x, level, 0)
    assert 0 <= low <= x + 1e-12 and x - 1e-12 <= high <= 1
    if alpha is not None:
        assert low == pytest.approx(alpha, abs=1e-9) and high == pytest.approx(beta, abs=1e-9)
    elif x == 0.0:
        assert high == pytest.approx(1 - math.exp(-level), abs=1e-12)


def test_bernoulli_interval_in_high_precision():
    """Within 8 units of the last digit of 1, for small and large means and levels, also beside the
    end at 1 - 1e-12.
    """
    kernel, rng = cg.Bernoulli().kernel(*UNIT), np.random.default_rng(0)
    mpmath.mp.dps = 40
    end, tried = mpmath.mpf(1) - mpmath.mpf(EDGE), 0
    for k in range(300):
        x = (rng.uniform(), 10 ** rng.uniform(-16, 0), 1.0 - 10 ** rng.uniform(-11, 0))[k % 3]
        level, exact, c = 10 ** rng.uniform(-16, 1.6), mpmath.mpf(x), 1 - mpmath.mpf(x)
        if k % 5 == 0:  # near where the end is reached
            level = float((27.6 * c - 0.5) * rng.uniform(0.97, 1.03))
        if not (0.0 < x < 1.0 and level > 0.0):
            continue

        def over(y, x=exact, c=c, level=level):
            return x * mpmath.log(x / y) + c * mpmath.log(c / (1 - y)) - level

        low, high = exact, end
        if over(end) <= 0:
            low = end
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (low, middle) if over(middle) > 0 else (middle, high)
        assert abs(kernel.kl_ucb(x, level, 0) - low) <= 8 * mpmath.mpf(2) ** -53
        tried += 1
    assert tried > 250 and kernel.kl_ucb(0.5, 5e-324, 0) == 0.5


@given(x=probability, y=probability)
def test_bernoulli_divergence(x, y):
    assert cg.Bernoulli().kernel(*UNIT).divergence(x, y, 0) == pytest.approx(
        naive.divergence("bernoulli", x, y), abs=1e-12
    )


@given(x=probability, weight=st.floats(0.01, 100), slope=st.floats(-50, 50))
def test_bernoulli_move_solves_its_stationarity_equation(x, weight, slope):
    y = cg.Bernoulli().kernel(*UNIT).best_shift(x, weight, slope, 0)
    assert weight * (y - x) == pytest.approx(
        slope * y * (1 - y), abs=1e-9 * (1 + weight + abs(slope))
    )


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "bounded"])
@given(data=st.data(), box=st.sampled_from(["free", "box"]))
@settings(max_examples=150)
def test_distance_to_one_rival_against_a_convex_solver(family, data, box):
    mean = data.draw(st.lists(probability, min_size=D, max_size=D))
    weight = data.draw(weights)
    sigma = (
        [0.5] * D
        if family == "bounded"
        else data.draw(st.lists(st.floats(0.3, 2), min_size=D, max_size=D))
    )
    low, high = (
        (UNIT if family != "gaussian" else FREE)
        if box == "free"
        else (np.full(D, 0.05), np.full(D, 0.9))
    )
    best, rival = data.draw(st.sampled_from(PAIRS))
    kernel = part_of(family, sigma, low, high)
    value, alternative = measure(kernel, mean, weight, best, rival)
    kind = "bernoulli" if family == "bernoulli" else "gaussian"
    expected = naive.distance(kind, mean, weight, best, rival, sigma, low, high)
    assert value == pytest.approx(expected, rel=2e-5, abs=2e-6)
    if math.isfinite(expected):  # the point it returns is feasible and has that cost
        assert alternative[list(rival)].sum() >= alternative[list(best)].sum() - 1e-7
        assert np.all(alternative >= np.minimum(low, mean) - 1e-12) and np.all(
            alternative <= np.maximum(high, mean) + 1e-12
        )
        arms = sorted(set(best) ^ set(rival))
        cost = sum(
            weight[a] * naive.divergence(kind, mean[a], alternative[a], sigma[a]) for a in arms
        )
        assert cost == pytest.approx(value, rel=1e-6, abs=1e-9)


@given(data=st.data())
@settings(max_examples=150)
def test_closest_arm_is_the_cheapest_of_all_pairs(data):
    family = data.draw(st.sampled_from(["gaussian", "bernoulli", "bounded"]))
    mean = np.array(
        data.draw(st.lists(st.one_of(probability, st.just(0.5)), min_size=D, max_size=D))
    )
    weight = np.array(data.draw(weights))
    low, high = data.draw(st.sampled_from([UNIT, (np.full(D, 0.1), np.full(D, 0.8))]))
    kernel = part_of(family, [0.4, 0.7, 1.0, 1.3], low, high)
    taken, value = np.array([1.0, 0.0, 1.0, 0.0]), np.zeros(1)
    j = kernel.cheapest_challenger(mean, weight, 0, taken, value)
    costs = {k: measure(kernel, mean, weight, (0,), (k,))[0] for k in (1, 3)}
    assert value[0] == pytest.approx(min(costs.values()), rel=1e-9, abs=1e-12)
    assert costs[j] == pytest.approx(min(costs.values()), rel=1e-9, abs=1e-12)


def test_the_three_cases_of_the_lemma_on_explicit_solutions():
    kernel = cg.Gaussian(1.0).kernel(*FREE)
    value, out = measure(kernel, [0.1, 0.5, 0.0, 0.0], [1.0] * 4, (0,), (1,))
    assert value == 0 and out.tolist() == [0.1, 0.5, 0.0, 0.0]  # case 1: the rival leads already
    value, out = measure(kernel, [0.5, 0.1, 0.0, 0.0], [1.0, 0.0, 1.0, 1.0], (0,), (1,))
    assert value == 0 and out.tolist() == [
        0.5,
        0.5,
        0.0,
        0.0,
    ]  # case 2: the arm without weight moves alone
    value, out = measure(kernel, [0.5, 0.1, 0.0, 0.0], [1.0, 3.0, 1.0, 1.0], (0,), (1,))
    assert value == pytest.approx(0.4**2 / (2 * (1 + 1 / 3))) and out[0] == pytest.approx(
        0.2
    )  # case 3: the weighted mean


@given(
    mean=st.floats(-2, 2),
    y=st.floats(-2, 2),
    n=st.integers(1, 50),
    f=BONUS,
    sigma=st.floats(0.1, 3),
)
def test_gaussian_optimism_has_its_closed_form_and_the_clipping_vanishes(mean, y, n, f, sigma):
    kernel, reward = cg.Gaussian(sigma).kernel(*FREE), np.zeros(D)
    stats = blank(D)._replace(counts=np.full(D, float(n)), mean=np.full(D, mean))
    optimism(kernel, stats, np.full(D, y), f, np.ones(D), reward)
    lemma = (
        (mean - y) ** 2 / (2 * sigma**2) + f / n + math.sqrt(2 * f / (sigma**2 * n)) * abs(mean - y)
    )
    assert reward[0] == pytest.approx(lemma, rel=1e-9, abs=1e-12)
    assert max(
        kernel.divergence(kernel.kl_lcb(mean, f / n, 0), y, 0),
        kernel.divergence(kernel.kl_ucb(mean, f / n, 0), y, 0),
    ) >= f / n * (1 - 1e-9)


@given(mean=probability, y=probability, n=st.integers(1, 50), f=st.floats(0, 10))
def test_bernoulli_optimism_against_the_definition(mean, y, n, f):
    kernel, reward = cg.Bernoulli().kernel(*UNIT), np.zeros(D)
    stats = blank(D)._replace(counts=np.full(D, float(n)), mean=np.full(D, mean))
    optimism(kernel, stats, np.full(D, y), f, np.ones(D), reward)
    assert reward[0] == pytest.approx(
        naive.optimistic("bernoulli", mean, n, f, y), rel=1e-6, abs=1e-9
    )


def test_the_clipping_is_needed_for_bernoulli():
    kernel = cg.Bernoulli().kernel(*UNIT)
    ends = [kernel.kl_lcb(0.9, 0.5, 0), kernel.kl_ucb(0.9, 0.5, 0)]
    found = [
        y
        for y in np.linspace(0.5, 0.9999, 500)
        if max(kernel.divergence(e, y, 0) for e in ends) < 0.5
    ]
    assert found, (
        "d(phi, lambda) < f/N for some lambda: without the clipping, optimism would be lost there"
    )


@given(x=st.floats(-2, 3), level=st.floats(0.0, 2.0))
def test_projection_on_M_and_the_confidence_box_is_the_projection_on_M(x, level):
    """argmin of d(x, .) over M meets [alpha, beta]; where they do not meet the paper takes any
    point, we the nearest of M.
    """
    kernel = cg.Gaussian(0.5).kernel(np.zeros(D), np.ones(D))
    grid = np.linspace(
        max(0.0, kernel.kl_lcb(x, level, 0)), min(1.0, kernel.kl_ucb(x, level, 0)), 2001
    )
    y = kernel.project(x, 0)
    assert 0 <= y <= 1
    if grid[0] <= grid[-1]:
        assert (
            kernel.divergence(x, y, 0)
            <= min(kernel.divergence(x, float(g), 0) for g in grid) + 1e-12
        )


def test_extreme_numbers_stay_finite():
    for rewards, box in (
        (cg.Gaussian(1e-6), FREE),
        (cg.Gaussian(1e6), FREE),
        (cg.Bernoulli(), UNIT),
    ):
        kernel = rewards.kernel(*box)
        for mean in ([0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]):
            for weight in ([1e-300] * 4, [1e12] * 4, [0.0, 1e12, 1e-90, 1.0]):
                value, out = measure(kernel, mean, weight, (0, 1), (2, 3))
                assert math.isfinite(value) and np.all(np.isfinite(out))


def test_simulated_rewards_have_their_mean_and_spread():
    rng = np.random.default_rng(0)
    for rewards, box, sigma in (
        (cg.Gaussian([0.5] * D), FREE, 0.5),
        (cg.Bernoulli(), UNIT, 0.4),
        (cg.Bounded(0, 1), UNIT, 0.4),
    ):
        kernel = rewards.kernel(*box)
        got = np.array([kernel.draw(0.2, 1, rng) for _ in range(20_000)])
        assert abs(got.mean() - 0.2) < 5 * sigma / math.sqrt(20_000)  # chance of failing: 6e-7 each
        assert abs(got.std() - sigma) < 0.02


@given(data=st.data())
def test_the_nearest_swap_is_that_of_all_pairs(data):
    """Whole arms are passed over at once: the first pair of the least cost must be the same, bit
    for bit, as if none were.
    """
    d = data.draw(st.integers(2, 8))
    few = st.sampled_from([0.0, 0.1, 0.1 + 1e-16, 0.3, 1.0, -2.0])
    mean = np.array(data.draw(st.lists(st.one_of(few, st.floats(-3, 3)), min_size=d, max_size=d)))
    weight = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 7.0, 1e6]), min_size=d, max_size=d))
    )
    sigma = data.draw(st.lists(st.sampled_from([0.1, 1.0, 30.0]), min_size=d, max_size=d))
    size = data.draw(st.integers(1, d - 1))
    best = np.zeros(d)
    best[
        np.argsort(-mean, kind="stable")[:size] if data.draw(st.booleans()) else np.arange(size)
    ] = 1.0
    kernel, value = cg.Gaussian(sigma).kernel(np.full(d, -np.inf), np.full(d, np.inf)), np.zeros(3)
    kernel.cheapest_exchange(mean, weight, best, value)
    costs = []
    for j in np.flatnonzero(best < 0.5):
        for i in np.flatnonzero(best > 0.5):
            lead, cost = mean[i] - mean[j], 0.0
            if lead > 0.0 and min(weight[i], weight[j]) > 0.0:
                cost = (
                    0.5
                    * lead
                    * lead
                    / (sigma[j] * sigma[j] / weight[j] + sigma[i] * sigma[i] / weight[i])
                )
            costs.append((cost, i, j))
    assert value[2] == pytest.approx(min(costs)[0], rel=1e-14, abs=0.0)
    assert (value[2], value[0], value[1]) in costs
