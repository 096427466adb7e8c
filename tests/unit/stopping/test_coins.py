"""Values 0 or 1 in log-odds: the martingales, the least of the mixture to fifty digits, the judge
pair by pair.
"""

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import combgame as cg
from combgame.game.records import blank
from combgame.simulate.run import Run
from combgame.stopping.coins import (
    ALONG,
    CHANCES,
    FINEST,
    INSIDE,
    OUTSIDE,
    STEP,
    TOGETHER,
    alike,
    coin,
    coins,
)
from combgame.stopping.names import make_stopping
from tests import naive
from tests.unit.stopping.test_stopping import STRUCTURES, looked, watched


def mixture(x, y, n, ones, m, others):
    """ln of the mixture at means x of arm i and y of arm j, from its definition."""
    with mpmath.workdps(50):
        x, y, n, m = mpmath.mpf(x), mpmath.mpf(y), mpmath.mpf(n), mpmath.mpf(m)
        ones, others = mpmath.mpf(ones), mpmath.mpf(others)
        total = mpmath.mpf(0)
        for k, chance in enumerate(CHANCES[:-1]):
            first = second = mpmath.mpf(0)
            for node, weight in INSIDE:
                eta = mpmath.mpf(float(node * (FINEST * STEP**k)))
                first += weight * mpmath.exp(ones * eta - n * mpmath.log(1 - x + x * mpmath.e**eta))
            for node, weight in OUTSIDE:
                eta = -mpmath.mpf(float(node * (FINEST * STEP**k)))
                second += weight * mpmath.exp(
                    others * eta - m * mpmath.log(1 - y + y * mpmath.e**eta)
                )
            total += chance * (1 - TOGETHER) * first * second
            for node in ALONG:
                eta = mpmath.mpf(float(node * (FINEST * STEP**k)))
                both = ones * eta - n * mpmath.log(1 - x + x * mpmath.e**eta)
                both += -others * eta - m * mpmath.log(1 - y + y * mpmath.e**-eta)
                total += chance * TOGETHER / len(ALONG) * mpmath.exp(both)
        if 0 < x < 1 and 0 < y < 1:
            total += CHANCES[-1] * mpmath.exp(
                sum(
                    mpmath.loggamma(s + 0.5)
                    + mpmath.loggamma(c - s + 0.5)
                    - mpmath.loggamma(c + 1)
                    - mpmath.log(mpmath.pi)
                    - s * mpmath.log(z)
                    - (c - s) * mpmath.log(1 - z)
                    for c, s, z in ((n, ones, x), (m, others, y))
                )
            )
        return mpmath.log(total)


def taken(n, ones, m, others, low=(0.0, 0.0), high=(1.0, 1.0)):
    """What is claimed to be its minimum over a shared mean, and where."""
    seen = blank(2)
    seen.counts[:], seen.sums[:] = (n, m), (ones, others)
    seen.mean[:] = seen.sums / seen.counts
    part = coins(seen, np.array(low), np.array(high))
    part.ready(0, 0)
    part.ready(1, 1)
    return part.least(seen.mean, 0, 1, math.inf), float(part.at[0])


def claimed(*arms):
    return taken(*arms)[0]


def exactly(n, ones, m, others, at, low=0.0, high=1.0):
    """The mixture there, and the least of it there and at points on both sides, near and far."""
    steps = [math.sqrt((at * (1 - at) + 1 / count) / count) for count in (n, m)]
    points = [at, *(at + sign * by * z for sign in (-1, 1) for by in steps for z in (0.03, 0.5, 4))]
    values = [mixture(x, x, n, ones, m, others) for x in points if low <= x <= high]
    return float(values[0]), float(min(values))


def test_the_chances_add_up():
    assert CHANCES.sum() == pytest.approx(1.0, abs=1e-12) and (CHANCES > 0).all()
    for side in (INSIDE, OUTSIDE):
        assert side[:, 1].sum() == pytest.approx(1.0, abs=1e-12)
        assert (side[:, 0] >= 0).all() and (side[:, 1] > 0).all()  # one-sided


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("mu", [0.001, 0.3, 0.5, 0.99])
def test_every_scale_has_expectation_one(n, mu):
    part = coins(blank(2), np.zeros(2), np.ones(2))
    for side in (0, 1):
        for k in range(CHANCES.size - 1):
            total, before = 0.0, -math.inf
            for hits in range(n + 1):  # ones of an arm i, zeros of an arm j: mu is their chance
                value = coin(
                    part.nodes[side, k], part.more[side, k], part.chance[side], n, hits, mu
                )[0]
                assert value >= before  # and it rises in them
                before = value
                total += math.comb(n, hits) * mu**hits * (1 - mu) ** (n - hits) * math.exp(value)
            assert total == pytest.approx(1.0, abs=1e-9) and total < 1.0 + 1e-12


@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 2), (12, 30)])
@pytest.mark.parametrize("mu", [0.01, 0.3, 0.6])
def test_so_has_every_scale_that_moves_both_alike(n, m, mu):
    part = coins(blank(2), np.zeros(2), np.ones(2))
    for k in range(CHANCES.size - 1):
        total = 0.0
        for ones, zeros in product(range(n + 1), range(m + 1)):
            value = alike(part.along[0, k], part.along[1, k], n, ones, m, zeros, mu)[0]
            chance = math.comb(n, ones) * mu**ones * (1 - mu) ** (n - ones)
            chance *= math.comb(m, zeros) * (1 - mu) ** zeros * mu ** (m - zeros)
            total += chance * math.exp(value)
        assert total == pytest.approx(1.0, abs=1e-9) and total < 1.0 + 1e-12


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_slopes_and_curvatures(seed):
    rng = np.random.default_rng(seed)
    part, k, x = coins(blank(2), np.zeros(2), np.ones(2)), int(rng.integers(11)), rng.uniform(0, 1)
    n, m = rng.integers(1, 300, 2)
    arms = n, rng.integers(n + 1), m, rng.integers(m + 1)
    step = 1e-4 * min(x, 1 - x, 0.1)
    low, here, high = (
        alike(part.along[0, k], part.along[1, k], *arms, z) for z in (x - step, x, x + step)
    )
    assert (high[0] - low[0]) / (2 * step) == pytest.approx(here[1], rel=1e-3, abs=1e-3)
    assert (high[1] - low[1]) / (2 * step) == pytest.approx(here[2], rel=1e-2, abs=1e-2)


@pytest.mark.parametrize("seed", range(20))
def test_the_least_of_the_mixture_from_below(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 3000, 2)
    ones = round(rng.choice([0.0, 0.001, 0.1, 0.5, 0.9, 0.999, 1.0]) * n)
    others = round(rng.choice([0.0, 0.001, 0.1, 0.4, 0.6, 0.999, 1.0]) * m)
    box = [(0.0, 1.0), (0.0, 1.0), (0.3, 0.7), (0.45, 0.45)][rng.integers(4)]
    value, at = taken(n, ones, m, others, (box[0],) * 2, (box[1],) * 2)
    here, exact = exactly(n, ones, m, others, at, *box)
    # scales that are negligible are left out, which costs a little where the evidence is large
    assert value <= exact + 1e-9 and value >= here - 2e-3 - 1e-3 * abs(here)


@pytest.mark.parametrize(
    "n, p", [*product((1e4, 1e10, 2.0**53), (1e-3, 0.5)), (1e4, 1.0), (1e10, 1.0)]
)
@pytest.mark.parametrize("ratio", [1.0, 1e-4])
def test_any_count(n, ratio, p):
    """Gaps of a few standard errors, both ways round; never above, and below by what eight last
    digits of the sums are.
    """
    for count, other in ((n, max(1.0, round(n * ratio))), (max(1.0, round(n * ratio)), n)):
        for errors in (0.0, 8.0):
            gap = errors * math.sqrt(p * (1 - p) * (1 / count + 1 / other) + 1e-30)
            ones, others = float(round(p * count)), float(max(0, math.floor((p - gap) * other)))
            value, at = taken(count, ones, other, others)
            here, exact = exactly(count, ones, other, others, at)
            assert value <= exact + 1e-9
            assert value >= here - 2e-3 - 1e-3 * abs(here) - 1e-14 * (count + other)


def test_gaps_that_are_finer_than_every_scale_are_found_in_the_end():
    """By the Beta mixture: without it nothing would ever be certified."""
    n = 1e14
    assert claimed(n, 0.5 * n, n, (0.5 - 2e-6) * n) > 100.0


def test_an_arm_that_is_known_far_better_than_the_other():
    """One-sided mixtures without 0 among their nodes lose all: x goes just beyond that arm's
    mean.
    """
    for counts in ((1e6, 100.0), (100.0, 1e6)):
        value = claimed(counts[0], 0.6 * counts[0], counts[1], 0.2 * counts[1])
        few, x = (0.2, 0.6) if counts[1] < counts[0] else (0.6, 0.2)
        assert 0.75 < value / (100.0 * naive.divergence("bernoulli", few, x)) < 1.0


@pytest.mark.parametrize("seed", range(8))
def test_no_pair_of_different_means_gives_less(seed):
    """Means in boxes, that of j at least that of i."""
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(size=(2, 2)), axis=0)
    n, m = rng.integers(1, 60, 2)
    ones, others = rng.integers(0, n + 1), rng.integers(0, m + 1)
    feasible = np.clip([ones / n, others / m], low, high)
    if feasible[0] < feasible[1]:
        n, m, ones, others, low, high = m, n, others, ones, low[::-1], high[::-1]
    value = claimed(n, ones, m, others, low, high)
    for x in np.linspace(low[0], high[0], 8):
        for y in np.linspace(low[1], high[1], 8):
            if y >= x:
                assert value <= float(mixture(x, y, n, ones, m, others)) + 1e-6


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(["arms", "pairs", "groups", "trees"]), seed=st.integers(0, 10**6))
def test_the_judge_takes_the_least_of_all_exchanges(kind, seed):
    structure, rng = STRUCTURES[kind], np.random.default_rng(seed)
    d, problem = structure.d, cg.Problem(structure, None, cg.Bernoulli())
    counts = np.floor(10.0 ** rng.uniform(0.3, 4, d))
    ones = rng.binomial(counts.astype(int), rng.uniform(0.0, 1.0, d) ** rng.integers(1, 4))
    stopping, game, seen = watched(problem, "mixture", ones / counts, counts)
    seen.sums[:] = ones
    best, rival, _, value = looked(game, seen, ones / counts, counts)
    leader, each = set(np.flatnonzero(best)), {}
    for s in structure.sets():
        if len(leader ^ set(s)) == 2:
            (i,), (j,) = leader - set(s), set(s) - leader
            each[s] = claimed(counts[i], ones[i], counts[j], ones[j])
    level, (weakest, lowest) = stopping.threshold.level(1, 0), (None, min(each.values()))
    if value > level:
        assert value == lowest
    else:
        assert value == each[rival] and lowest <= level
    spare = np.zeros((2, d))
    weakest = game.judge.weakest(game, seen, best, spare[0], spare[1])
    assert weakest == lowest and each[tuple(np.flatnonzero(spare[0]))] == lowest
    assert game.judge.versus(game, seen, best, spare[0]) == lowest


def test_a_scan_that_leaves_pairs_early_finds_the_least():
    rng = np.random.default_rng(2)
    for _ in range(40):
        d, seen = 15, blank(15)
        seen.counts[:] = rng.integers(5, 2000, d)
        seen.sums[:] = rng.binomial(seen.counts.astype(int), rng.uniform(0, 0.7, d))
        seen.mean[:] = seen.sums / seen.counts
        i = int(np.argmax(seen.mean))
        part, out, taken = coins(seen, np.zeros(d), np.ones(d)), np.zeros(1), np.eye(d)[i]
        j = part.closest(seen.mean, seen.counts, i, taken, out)
        each = {k: part.least(seen.mean, i, k, math.inf) for k in range(d) if k != i}
        assert out[0] == min(each.values()) and each[j] == out[0]


@pytest.mark.compiled
def test_both_engines_give_the_same_evidence():
    """And a run in steps is the run in one go. What is compiled here, the test of errors uses."""
    problem, ends = cg.Problem(cg.Arms(6), None, cg.Bernoulli()), []
    for engine, steps in (("python", [800]), ("python", range(100, 801, 100)), ("compiled", [800])):
        stopping = make_stopping("mixture", problem, [0.1, 0.001])
        means = np.array([0.9, 0.6, 0.5, 0.02, 0.01, 0.001])
        run = Run(problem, cg.FrankWolfe().setup(problem), stopping, means, 2, 4, 0, engine)
        for last in steps:
            run.advance(last)
        ends.append((run.stops.tolist(), run.seen.counts.tolist(), run.view.evidence.tolist()))
    assert ends[0] == ends[1] == ends[2] and ends[0][0][0] > 0


def test_a_study_of_shares_late_and_retracted_values():
    """What counts is how many of the values are 1, however they came."""
    problem = cg.Problem(cg.Arms(3), None, cg.Bernoulli())
    study = cg.Study(problem, delta=0.05, rule="uniform", seed=1)
    study.observe({0: (0.9, 50), 1: (0.2, 50), 2: [1, 0, 0, 1]})
    study.observe({2: (0.0, 100)})
    study.retract(arm=2, reason="another batch")
    study.observe({2: (0.1, 60), 0: [1] * 5, 1: [0] * 5})
    again = cg.evidence(
        problem, [50 / 55, 10 / 55, 0.1], [55, 55, 60], delta=0.05 / 12, threshold="mixture"
    )
    assert study.done and study.decision.answer == (0,) and again.certified


@pytest.mark.slow
def test_never_more_than_for_bounded_values_and_far_fewer_near_the_ends():
    """The limits of two coins and of four, as shares of those of the same values in [0, 1]."""
    for means, most in (
        ([0.5, 0.4], 1.0),
        ([0.5, 0.4, 0.4, 0.4], 1.0),
        ([0.9, 0.85, 0.85, 0.85], 0.5),
        ([0.1, 0.05], 0.35),
        ([0.6, 0.59], 1.0),
    ):
        limits = [
            cg.plan(cg.Problem(cg.Arms(len(means)), None, one), means, rules=None, shrink=1).rows()[
                0
            ]["limit"]
            for one in (cg.Bernoulli(), cg.Bounded(0, 1))
        ]
        assert limits[0] <= most * limits[1]


@pytest.mark.compiled
def test_errors_stay_below_delta_where_coins_are_tied():
    """About half of the runs that stop are wrong: of 600 at delta = 0.2, 150 wrong or more have a
    chance of 2e-3 if the rate is 0.2 itself.
    """
    for p in (0.5, 0.02):
        found = cg.simulate(
            cg.Problem(cg.Arms(2), None, cg.Bernoulli()),
            [p + 1e-6, p],
            rule="frank-wolfe",
            delta=0.2,
            threshold="mixture",
            runs=600,
            max_rounds=400,
            ties="run",
            engine="compiled",
        )
        assert 0 < found.report()[0]["errors"] < 150


def test_nothing_is_known_of_an_arm_without_values():
    seen = blank(2)
    seen.counts[:], seen.sums[:], seen.mean[:] = (5, 0), (5, 0), (1, 0)
    part = coins(seen, np.zeros(2), np.ones(2))
    assert part.least(seen.mean, 0, 1, math.inf) == 0.0
    apart = coins(seen, np.array([0.6, 0.0]), np.array([1.0, 0.5]))
    assert apart.least(seen.mean, 0, 1, math.inf) == math.inf
    other = coins(seen, np.array([0.0, 0.6]), np.array([0.5, 1.0]))
    assert other.least(seen.mean, 0, 1, math.inf) == 0.0
