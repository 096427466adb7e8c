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
from combgame.engine.statistics import blank
from combgame.stopping.mixture_bernoulli import (
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
from tests import naive


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
    stats = blank(2)
    stats.counts[:], stats.sums[:] = (n, m), (ones, others)
    stats.mean[:] = stats.sums / stats.counts
    kernel = coins(stats, np.array(low), np.array(high))
    kernel.prepare_arm(0, 0)
    kernel.prepare_arm(1, 1)
    return kernel.minimise(stats.mean, 0, 1, math.inf), float(kernel.argmin[0])


def claimed(*arms):
    return taken(*arms)[0]


def exactly(n, ones, m, others, at, low=0.0, high=1.0):
    """The mixture there, and the least of it there and at points on both sides, near and far."""
    steps = [math.sqrt((at * (1 - at) + 1 / count) / count) for count in (n, m)]
    points = [at, *(at + sign * by * z for sign in (-1, 1) for by in steps for z in (0.03, 0.5, 4))]
    values = [mixture(x, x, n, ones, m, others) for x in points if low <= x <= high]
    return float(values[0]), float(min(values))


def test_every_scale_has_expectation_one():
    kernel = coins(blank(2), np.zeros(2), np.ones(2))
    for n, mu, side in product((1, 7, 40), (0.001, 0.3, 0.99), (0, 1)):
        for k in range(CHANCES.size - 1):
            total, before = 0.0, -math.inf
            for hits in range(n + 1):  # ones of an arm i, zeros of an arm j: mu is their chance
                value = coin(
                    kernel.nodes[side, k], kernel.more[side, k], kernel.chance[side], n, hits, mu
                )[0]
                assert value >= before  # and it rises in them
                before = value
                total += math.comb(n, hits) * mu**hits * (1 - mu) ** (n - hits) * math.exp(value)
            assert total == pytest.approx(1.0, abs=1e-9) and total < 1.0 + 1e-12, (n, mu, side, k)


def test_so_has_every_scale_that_moves_both_alike():
    kernel = coins(blank(2), np.zeros(2), np.ones(2))
    for (n, m, mu), k in product(
        ((1, 1, 0.3), (7, 2, 0.01), (7, 2, 0.6), (12, 20, 0.3)), range(CHANCES.size - 1)
    ):
        total = 0.0
        for ones, zeros in product(range(n + 1), range(m + 1)):
            value = alike(kernel.along[0, k], kernel.along[1, k], n, ones, m, zeros, mu)[0]
            chance = math.comb(n, ones) * mu**ones * (1 - mu) ** (n - ones)
            chance *= math.comb(m, zeros) * (1 - mu) ** zeros * mu ** (m - zeros)
            total += chance * math.exp(value)
        assert total == pytest.approx(1.0, abs=1e-9) and total < 1.0 + 1e-12, (n, m, mu, k)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_slopes_and_curvatures(seed):
    rng = np.random.default_rng(seed)
    kernel, k, x = (
        coins(blank(2), np.zeros(2), np.ones(2)),
        int(rng.integers(11)),
        rng.uniform(0, 1),
    )
    n, m = rng.integers(1, 300, 2)
    arms = n, rng.integers(n + 1), m, rng.integers(m + 1)
    step = 1e-4 * min(x, 1 - x, 0.1)
    low, here, high = (
        alike(kernel.along[0, k], kernel.along[1, k], *arms, z) for z in (x - step, x, x + step)
    )
    assert (high[0] - low[0]) / (2 * step) == pytest.approx(here[1], rel=1e-3, abs=1e-3)
    assert (high[1] - low[1]) / (2 * step) == pytest.approx(here[2], rel=1e-2, abs=1e-2)


def test_the_least_of_the_mixture_from_below():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(1, 3000, 2)
        ones = round(rng.choice([0.0, 0.001, 0.1, 0.5, 0.9, 0.999, 1.0]) * n)
        others = round(rng.choice([0.0, 0.001, 0.1, 0.4, 0.6, 0.999, 1.0]) * m)
        box = [(0.0, 1.0), (0.0, 1.0), (0.3, 0.7), (0.45, 0.45)][rng.integers(4)]
        value, at = taken(n, ones, m, others, (box[0],) * 2, (box[1],) * 2)
        here, exact = exactly(n, ones, m, others, at, *box)
        # scales that are negligible are left out, which costs a little where evidence is large
        assert value <= exact + 1e-9 and value >= here - 2e-3 - 1e-3 * abs(here), seed


def test_any_count():
    """Gaps of a few standard errors, both ways round; never above, and below by what eight last
    digits of the sums are.
    """
    for n, p, ratio in (
        (1e4, 1e-3, 1.0),
        (1e4, 0.5, 1e-4),
        (1e4, 1.0, 1e-4),
        (1e10, 1e-3, 1e-4),
        (1e10, 1.0, 1.0),
        (2.0**53, 1e-3, 1e-4),
        (2.0**53, 0.5, 1.0),
    ):
        for count, other in ((n, max(1.0, round(n * ratio))), (max(1.0, round(n * ratio)), n)):
            for errors in (0.0, 8.0):
                gap = errors * math.sqrt(p * (1 - p) * (1 / count + 1 / other) + 1e-30)
                ones, others = float(round(p * count)), float(max(0, math.floor((p - gap) * other)))
                value, at = taken(count, ones, other, others)
                here, exact = exactly(count, ones, other, others, at)
                assert value <= exact + 1e-9, (n, p, ratio)
                loose = 2e-3 + 1e-3 * abs(here) + 1e-14 * (count + other)
                assert value >= here - loose, (n, p, ratio)


def test_other_values_as_many_give_another_least():
    stats = blank(2)
    stats.counts[:] = 1e14
    kernel = coins(stats, np.zeros(2), np.ones(2))
    for ones in (1e14, 5e13 + 2e8):
        stats.sums[:], stats.mean[:] = (ones, 5e13), (ones / 1e14, 0.5)
        kernel.prepare_arm(0, 0)
        kernel.prepare_arm(1, 1)
        value = kernel.minimise(stats.mean, 0, 1, math.inf)
        assert value == pytest.approx(claimed(1e14, ones, 1e14, 5e13), rel=1e-9)


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
            cg.plan(
                cg.Problem(cg.Arms(len(means)), None, one), means, rules=None, gap_scales=1
            ).rows()[0]["limit"]
            for one in (cg.Bernoulli(), cg.Bounded(0, 1))
        ]
        assert limits[0] <= most * limits[1]
