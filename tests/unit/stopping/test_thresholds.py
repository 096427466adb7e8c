"""Thresholds and bonuses, against numbers computed another way."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw, zeta

import combgame as cg
from combgame.engine.numerics import lambert_bar
from combgame.rules.bonuses import make_bonus
from combgame.stopping.glr import c_gaussian, h_tilde, t_function, validity
from combgame.stopping.registry import make_stopping, make_threshold
from tests.said import refused


def ten_arms(rewards):
    return cg.Problem(cg.Subsets(10, 3), cg.Arms(10), rewards)


def test_published_values():
    assert c_gaussian(5.0) == pytest.approx(6.7573, abs=5e-5)
    assert make_threshold("gaussian", ten_arms(cg.Gaussian(0.1)), [0.1]).critical_value(
        10_000, 0
    ) == pytest.approx(18.15, abs=5e-3)
    assert make_threshold("sub-gaussian", ten_arms(cg.Bernoulli()), [0.1]).critical_value(
        10_000, 0
    ) == pytest.approx(36.71, abs=5e-3)
    assert make_threshold("stylised", ten_arms(cg.Gaussian(0.1)), [0.1]).critical_value(
        10_000, 0
    ) == pytest.approx(math.log((1 + math.log(10_000)) / 0.1))


@given(x=st.floats(0.0, 200.0))
def test_c_gaussian_is_the_minimum_on_a_grid(x):
    y = 1 - np.geomspace(1e-9, 0.4999, 20_000)
    g = 2 * y - 2 * y * np.log(4 * y) + np.log(zeta(2 * y)) - 0.5 * np.log1p(-y)
    assert c_gaussian(x) <= ((g + x) / y).min() + 1e-9
    assert c_gaussian(x) == pytest.approx(((g + x) / y).min(), rel=1e-5)


@given(x=st.floats(1.0, 700.0))
def test_lambert_bar_inverts_h_and_agrees_with_scipy(x):
    y = lambert_bar(x)
    assert y >= 1 and y - math.log(y) == pytest.approx(x, rel=1e-12, abs=1e-9)
    if 1.0001 < x < 600:
        assert y == pytest.approx(float(-lambertw(-math.exp(-x), -1).real), rel=1e-6)


def test_h_tilde_and_T_are_continuous_and_the_printed_switch_would_jump():
    edge = 1 / math.log(1.5)
    switch = edge - math.log(edge)
    assert h_tilde(switch - 1e-9) == pytest.approx(h_tilde(switch + 1e-9), abs=1e-7)
    printed = lambert_bar(edge)  # the text switches at h^{-1}(1/ln z) instead of h(1/ln z)
    upper = math.exp(1 / lambert_bar(printed)) * lambert_bar(printed)
    assert abs(upper - 1.5 * (printed - math.log(math.log(1.5)))) > 0.1
    grid = np.arange(
        0.01, 20, 1e-3
    )  # at 0 the slope is infinite (like a root), so the grid starts a little later
    steps = np.diff([t_function(float(x)) for x in grid])
    assert (
        np.all(steps > 0)
        and steps.max() < 0.02
        and t_function(1e-12) == pytest.approx(t_function(0.0), abs=1e-5)
    )


@given(t=st.integers(1, 10**9), d0=st.integers(2, 40))
def test_theorem_two_covers_every_pair_of_answers(t, d0):
    """The threshold is at least the theorem's sum for any |I xor J| = x <= d0 and any counts that t
    rounds allow.
    """
    answers = cg.Subsets(40, d0 // 2)
    problem = cg.Problem(cg.Subsets(40, 5), answers, cg.Gaussian(1.0))
    rivals, top = math.log(answers.n_sets() - 1) + math.log(10), answers.max_difference()
    for name, scale, inside, function in (
        ("gaussian", 2, 4, c_gaussian),
        ("sub-gaussian", 3, 1, t_function),
    ):
        level = make_threshold(name, problem, [0.1]).critical_value(t, 0)
        for x in range(2, top + 1, 2):
            if t * 5 >= x:  # every arm of I xor J has been seen
                worst = scale * x * math.log(inside + math.log(max(t * 5 / x, 1.0))) + x * function(
                    rivals / x
                )
                assert level >= worst - 1e-6


def test_thresholds_rise_with_time_and_confidence():
    for name in ("stylised", "gaussian", "sub-gaussian"):
        threshold = make_threshold(name, ten_arms(cg.Gaussian(0.1)), [0.1, 0.01, 1e-12])
        assert (
            threshold.critical_value(10, 0)
            < threshold.critical_value(1000, 0)
            < threshold.critical_value(1000, 1)
            < threshold.critical_value(1000, 2)
        )
        assert math.isfinite(threshold.critical_value(1, 0))


def test_validity_is_proved_only_where_the_theorem_applies():
    gaussian, coin, bounded = cg.Gaussian(0.1), cg.Bernoulli(), cg.Bounded(0, 1)
    assert not validity("stylised", gaussian).proved
    assert validity("gaussian", gaussian).proved and validity("sub-gaussian", gaussian).proved
    assert not validity("gaussian", coin).proved and validity("sub-gaussian", coin).proved
    assert not validity("gaussian", bounded).proved and validity("sub-gaussian", bounded).proved
    for rewards in (gaussian, coin, bounded):
        assert make_stopping("proved", ten_arms(rewards), [0.1]).validity.label == "proved"
        assert make_stopping("mixture", ten_arms(rewards), [0.1]).validity.proved
    unknown = cg.Problem(cg.Arms(3), None, cg.Gaussian(shared_sigma=False))
    found = make_stopping("proved", unknown, [0.1])
    assert found.name == "mixture" and found.validity.proved
    assert not make_stopping("gaussian-counts", ten_arms(coin), [0.1]).validity.proved
    with refused("unknown", cg.UnknownNameError, kind="threshold", name="best"):
        make_stopping("best", ten_arms(gaussian), [0.1])


def test_bonuses():
    assert make_bonus("stylised").bonus_at(100) == pytest.approx(math.log(100))
    assert make_bonus("theory").bonus_at(100) == pytest.approx(lambert_bar(4 * math.log(100)))
    assert make_bonus("stylised").bonus_at(1) == 0.0 and make_bonus("theory").bonus_at(1) == 1.0
    with refused("must-be", of="theory_bonus", name="b", value=0.0):
        cg.theory_bonus(b=0.0)
    with refused("unknown", cg.UnknownNameError, kind="bonus", name="none"):
        cg.CombGame(bonus="none")
