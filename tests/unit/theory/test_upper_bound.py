"""Theorem 3's terms against their definitions, and psi against trying all choices of rows."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import combgame as cg
from combgame.structures.geometry import exact_psi, needle_psi, needle_rows, tree_rows
from tests.said import refused

MEANS = [0.3, 0.29, 0.28, 0.23, 0.2]
PROBLEM = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))


def test_t_0_is_the_last_round_at_which_the_inequality_holds():
    for rule in ("hedge", "adahedge", "lloo"):
        bound = cg.upper_bound(PROBLEM, MEANS, rule=rule)

        def rest(t, bound=bound):
            h = bound.approximation(t)
            return bound.critical_value(t) * bound.time + bound.constant * (bound.regret(t) + h)

        t = bound.last
        assert rest(0.999 * t) >= 0.999 * t, rule
        assert all(rest(factor * t) < factor * t for factor in (1.001, 2.0, 10.0, 1e6)), rule


def test_the_constants_are_the_papers_formulas():
    sigma = (0.1, 0.2, 0.1, 0.3, 0.1)
    problem = cg.Problem(cg.Subsets(5, 2), cg.Subsets(5, 2), cg.Gaussian(sigma), bounds=(-0.5, 1.0))
    bound = cg.upper_bound(problem, MEANS, rule="adahedge", c=0.5)
    d_m = sum(1.5**2 / (2 * s * s) for s in sigma)
    assert (bound.lipschitz, bound.width) == pytest.approx((1.5 / 0.01, d_m))
    assert (bound.actions, bound.answers, bound.largest, bound.variance) == (10, 10, 2, 0.3**2)
    assert bound.constant == pytest.approx(bound.time + 2 * 9 / (bound.chernoff / 6))
    t, f = 1e5, bound.bonus(1e5)
    drift = bound.lipschitz * math.sqrt(2 * 0.09 * f)
    ratios, roots = 5 * 100 + 10 * math.log(2e5 / 5), 5 * 100 + 2 * math.sqrt(2 * 5 * 2e5)
    slack = f * ratios + 2 * drift * roots
    c_t = drift * roots + 100 * d_m + drift * math.sqrt(1e6) + slack
    h = (
        c_t * bound.time + 2 * math.sqrt(t) + 1 + 2 / (bound.chernoff / 6) * (slack + f * ratios)
    ) / bound.constant
    assert bound.approximation(t) == pytest.approx(h)


def test_h_is_two_roots_of_t_and_one_where_nothing_else_costs():
    """Constants that leave C_nu h(t) = c_t / D_nu + 2 t_b + 1 + ... with t_b = sqrt(t) alone."""
    bound = replace(cg.upper_bound(PROBLEM, MEANS), time=1e-12, chernoff=1e18)
    for t, roots in ((100.0, 21.0), (10_000.0, 201.0), (1e6, 2001.0)):
        assert bound.constant * bound.approximation(t) == pytest.approx(roots, abs=1e-3)


def test_after_t_0_the_bound_adds_two_e_d_over_c_squared():
    """5 arms; numbers from a pocket calculator, at constants that make T_0 small."""
    for c, late in ((1.0, 27.182818), (0.5, 108.731273), (2.0, 6.795705)):
        bound = cg.upper_bound(PROBLEM, MEANS, c=c)
        small = replace(bound, time=1e-9, chernoff=1e12, width=1e-9, lipschitz=0.0)
        assert small.last < 1e4
        assert small.rounds - small.last == pytest.approx(late, abs=1e-5), c


def halfway(x):
    """inf over u of d(u, 0) + d(u, x) at sigma = 1, tried."""
    u = np.linspace(-abs(x), 2 * abs(x), 30_001)
    return float((u**2 / 2 + (u - x) ** 2 / 2).min())


def test_the_chernoff_constant_by_linear_programmes():
    """min over lambda of max_a |lambda_a - mu_a| / sigma_a, for each rival one linear programme;
    then ch by its definition, inf_u d(u, x) + d(u, y), on a grid of u.
    """
    sigma = np.array([0.1, 0.2, 0.1, 0.3, 0.1])
    problem = cg.Problem(cg.Subsets(5, 2), cg.Subsets(5, 2), cg.Gaussian(tuple(sigma)))
    best, least = {0, 1}, math.inf
    for rival in itertools.combinations(range(5), 2):
        if set(rival) == best:
            continue
        z = np.array([(a in rival) - (a in best) for a in range(5)], dtype=float)
        # variables: the moves, and their largest size in units of sigma
        rows = [[*(-z), 0.0]]
        limits = [float(z @ MEANS)]
        for a in range(5):
            for sign in (1.0, -1.0):
                rows.append([*(sign * np.eye(5)[a]), -sigma[a]])
                limits.append(0.0)
        solved = linprog([0.0] * 5 + [1.0], rows, limits, bounds=[(None, None)] * 6)
        least = min(least, halfway(solved.fun))
    assert cg.upper_bound(problem, MEANS).chernoff == pytest.approx(least)


def test_it_says_what_it_needs():
    with refused("not-a-game", cg.InputError, rule="uniform"):
        cg.upper_bound(PROBLEM, MEANS, rule="uniform")
    for rule in (
        "sftpl",
        cg.CombGame(first_mover="nature"),
        cg.CombGame(tracking="sample"),
        cg.CombGame(cg.LLOO(projection="coarse")),
    ):
        with refused("not-covered", cg.InputError):
            cg.upper_bound(PROBLEM, MEANS, rule=rule)
    with refused("must-be", name="threshold", of="upper_bound"):
        cg.upper_bound(PROBLEM, MEANS, threshold="mixture")
    coins = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Bernoulli())
    with refused("must-be", of="upper_bound", name="rewards"):
        cg.upper_bound(coins, MEANS)


def test_psi_of_almost_all_sets_by_trying_all_rows():
    for d in (3, 4, 5):
        assert exact_psi(needle_rows(d)) == pytest.approx(needle_psi(d)), d
        assert cg.AlmostAllSets(d, 1).geometry().psi == needle_psi(d), d


@pytest.mark.parametrize("d", [7, 20])
def test_psi_of_almost_all_sets_up_to_a_permutation(d):
    """For each arm but the needle: both of its rows, one of the two, or neither; with or without
    the two rows of the needle.
    """
    n, best = d - 1, 0.0
    for both in (0, 1, 2):  # more leave arms without a row, and their columns empty
        for upper in range(n + 1):
            for sum_row, needle in itertools.product((0, 1), repeat=2):
                lower = d - 2 * both - upper - sum_row - needle
                if lower < 0 or both + upper + lower > n:
                    continue
                rows = []
                for a in range(both + upper + lower):
                    if a < both + upper:
                        rows.append([*np.eye(n)[a], 1.0])
                    if a < both or a >= both + upper:
                        rows.append([*-np.eye(n)[a], 0.0])
                rows += [[-1.0] * d] * sum_row + [[0.0] * n + [-1.0]] * needle
                if np.linalg.matrix_rank(np.array(rows)) == d:
                    best = max(best, float(np.linalg.norm(rows, 2)))
    assert best == pytest.approx(needle_psi(d))


def test_the_rows_of_almost_all_sets_describe_them():
    """All sets satisfy them, and nothing else of the cube does; each is met with equality."""
    d, rows = 5, needle_rows(5)
    limits = np.array([0.0] * d + [1.0] * (d - 1) + [-1.0])
    for point in itertools.product((0.0, 1.0), repeat=d):
        inside = cg.AlmostAllSets(d, d - 1).contains([a for a in range(d) if point[a]])
        assert bool((rows @ np.array(point) <= limits + 1e-9).all()) == inside


def test_rows_of_the_trees_of_a_small_graph():
    edges = list(itertools.combinations(range(4), 2))
    rows = tree_rows(4, edges)
    assert len(rows) == 6 + 4 and sorted(rows.sum(axis=1).tolist()) == [1.0] * 6 + [3.0] * 4
    # a square with no chord: no three nodes are connected without a cut
    assert len(tree_rows(4, [(0, 1), (1, 2), (2, 3), (0, 3)])) == 4


def test_it_says_what_it_cannot_bound():
    with refused("must-be", of="upper_bound", name="problem"):
        cg.upper_bound(3, MEANS)
    for wrong in (0, 1, math.nan, "x", None, [0.1, 0.2]):
        with refused("must-be", cg.InputError):
            cg.upper_bound(PROBLEM, MEANS, delta=wrong)
    for wrong in (3, (1.0, 0.0), (0.0, math.inf), (0.0, math.nan), "ab"):
        with refused("must-be", of="upper_bound", name="bounds"):
            cg.upper_bound(PROBLEM, MEANS, bounds=wrong)
    with refused("not-finite", cg.InputError):
        cg.upper_bound(PROBLEM, [math.nan] * 5)
    with refused("tie", cg.TieError):
        cg.upper_bound(PROBLEM, [0.3, 0.3, 0.1, 0.1, 0.1])
    with refused("must-be", of="upper_bound", name="means"):
        cg.upper_bound(PROBLEM, MEANS, bounds=(0.25, 1.0))  # the theorem is on means in the box
