"""Oracles, coverings and nearest alternatives, against enumeration."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import combgame as cg
from combgame.game.records import arms_of, vector
from combgame.structures.polytope import facets
from combgame.testing import check_structure
from tests import naive
from tests.said import refused


@st.composite
def structures(draw, max_d=6):
    d = draw(st.integers(2, max_d))
    kind = draw(st.sampled_from(["arms", "subsets", "listed"]))
    if kind == "arms":
        return cg.Arms(d)
    if kind == "subsets":
        return cg.Subsets(d, draw(st.integers(1, d - 1)))
    sets = draw(st.sets(st.frozensets(st.integers(0, d - 1), min_size=1), min_size=2, max_size=10))
    return cg.Listed([sorted(s) for s in sets], d)


scores = st.one_of(st.floats(-5, 5), st.sampled_from([0.0, 1.0, -1.0]))


@given(data=st.data())
@settings(max_examples=400)
def test_argmax_is_the_best_of_all_sets_with_ties_and_negative_scores(data):
    structure = data.draw(structures())
    score = np.array(data.draw(st.lists(scores, min_size=structure.d, max_size=structure.d)))
    got = structure.argmax(score)
    assert structure.contains(got)
    assert sum(score[list(got)]) == pytest.approx(
        max(sum(score[list(s)]) for s in structure.sets()), abs=1e-12
    )


@given(d=st.integers(1, 60), data=st.data())
def test_subsets_keep_the_first_of_equal_scores(d, data):
    size = data.draw(st.integers(1, d))
    score = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=d, max_size=d)))
    expected = sorted(sorted(range(d), key=lambda a: (-score[a], a))[:size])
    assert list(cg.Subsets(d, size).argmax(score)) == expected


@given(data=st.data())
@settings(max_examples=60)
def test_counts_differences_and_coverings_against_enumeration(data):
    structure = data.draw(structures())
    sets = structure.sets()
    assert structure.size() == len(sets) == len(set(sets))
    assert structure.largest() == max(map(len, sets))
    assert structure.difference() == max(len(set(a) ^ set(b)) for a in sets for b in sets)
    assert structure.deciding() == set().union(*(set(a) ^ set(b) for a in sets for b in sets))
    assert len(structure.covering()) == naive.smallest_cover(sets, structure.d)
    assert (
        {a for s in structure.covering() for a in s}
        == structure.observable()
        == set().union(*map(set, sets))
    )
    check_structure(structure, trials=10)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_nearest_alternative_against_all_answers_and_a_convex_solver(family, data):
    structure = data.draw(structures(max_d=5))
    d = structure.d
    mean = np.array(data.draw(st.lists(st.floats(0.05, 0.95), min_size=d, max_size=d)))
    weight = np.array(
        data.draw(st.lists(st.one_of(st.just(0.0), st.floats(0.1, 20)), min_size=d, max_size=d))
    )
    sigma = (
        data.draw(st.lists(st.floats(0.3, 2), min_size=d, max_size=d))
        if family == "gaussian"
        else [1.0] * d
    )
    low, high = (
        (np.full(d, -np.inf), np.full(d, np.inf))
        if family == "gaussian"
        else (np.zeros(d), np.ones(d))
    )
    rewards = (cg.Gaussian(sigma) if family == "gaussian" else cg.Bernoulli()).part(low, high)
    best, rival, alternative = vector(structure.argmax(mean), d), np.zeros(d), np.zeros(d)
    value = structure.part().nearest(rewards, mean, weight, best, rival, alternative)
    expected, _ = naive.nearest(
        family, structure.sets(), mean, weight, arms_of(best), sigma, low, high
    )
    assume(math.isfinite(expected))
    assert value == pytest.approx(expected, rel=2e-5, abs=2e-6)
    assert structure.contains(arms_of(rival)) and arms_of(rival) != arms_of(best)
    assert (rival - best) @ alternative >= -1e-7


def test_random_sets_are_uniform():
    rng, out = np.random.default_rng(0), np.zeros(5)
    for structure in (cg.Subsets(5, 3), cg.Arms(5), cg.Listed([[0, 1], [2], [2, 3, 4], [4]], 5)):
        part, tally = structure.part(), dict.fromkeys(structure.sets(), 0)
        for _ in range(8000):
            part.sample(rng, out)
            tally[arms_of(out)] += 1
        expected = 8000 / len(tally)
        chi2 = sum((n - expected) ** 2 / expected for n in tally.values())
        assert chi2 < len(tally) + 6 * math.sqrt(2 * len(tally))  # chance of failing: below 1e-5


def test_oracle_is_checked_and_covers_its_arms():
    pairs = cg.Oracle(
        lambda s: np.argsort(-s, kind="stable")[:2], 5, contains=lambda s: len(s) == 2
    )
    check_structure(pairs)
    assert pairs.observable() == set(range(5)) and len(pairs.covering()) == 3
    assert pairs.difference() == 4 and pairs.largest() == 2
    with refused("not-its-set", cg.OracleError, what="argmax", arms=[0]):
        cg.Oracle(lambda s: [0], 3, contains=lambda s: len(s) == 2)
    with refused("not-arms", cg.OracleError, given=[0, 7], last=2):
        cg.Oracle(lambda s: [0, 7], 3)
    with refused("not-arms", cg.OracleError, given=None):
        cg.Oracle(lambda s: None, 3)
    blind = cg.Oracle(lambda s: [0, 1] if s[0] + s[1] > s[2] else [2], 4)
    assert blind.observable() == {0, 1, 2}  # arm 3 is in no set


def test_geometry_of_known_polytopes():
    g = cg.Subsets(10, 3).geometry()
    assert (g.diameter, g.psi, g.phi, g.exact) == (
        math.sqrt(6),
        1.0,
        1.0,
        True,
    ) and g.mu == math.sqrt(6)
    assert cg.Arms(7).geometry().diameter == math.sqrt(2)
    assert cg.Subsets(5, 4).geometry().diameter == math.sqrt(2)
    segment = cg.Listed([[0, 1], [1, 2]], 3).geometry()
    assert segment.diameter == pytest.approx(math.sqrt(2)) and segment.phi == pytest.approx(
        math.sqrt(2)
    )
    # the square {0,1}^2 lifted by a constant arm: facets +-e, slack 1
    square = cg.Listed([[2], [0, 2], [1, 2], [0, 1, 2]], 3)
    assert square.geometry()[:3] == pytest.approx((math.sqrt(2), 1.0, 1.0))


@given(data=st.data())
@settings(max_examples=40)
def test_facets_contain_every_vertex_and_touch_some(data):
    structure = data.draw(structures(max_d=5))
    rows, slack = facets(np.array([vector(s, structure.d) for s in structure.sets()]), 9)
    if rows is not None:
        assert np.all(slack > -1e-7) and np.all(slack.min(axis=0) < 1e-7)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)


def test_large_coverings_are_found():
    rng = np.random.default_rng(0)
    sets = {tuple(sorted(rng.choice(30, 4, replace=False).tolist())) for _ in range(900)}
    big = cg.Listed(sorted(sets), 30)
    assert {a for s in big.covering() for a in s} == set(range(30))


def test_random_covering_sees_every_arm_without_repeating():
    found = cg.Subsets(9, 2).random_covering(np.random.default_rng(1))
    assert set().union(*map(set, found)) == set(range(9)) and len(set(found)) == len(found)


def test_almost_all_sets_have_more_facets_than_the_cube():
    """With x_a + x_needle <= 1 and sum x >= 1, psi is 1 + sqrt 6 at d = 7; with several needles
    LLOO is given that of the cube, a placeholder (docs/algorithms.md).
    """
    d = 7
    rows = np.vstack([-np.eye(d), np.eye(d)[1:] + np.eye(d)[0], -np.ones((1, d))])
    bound = np.r_[np.zeros(d), np.ones(d - 1), -1.0]
    corners = np.array(
        [np.isin(np.arange(d), s).astype(float) for s in cg.AlmostAllSets(d, 0).sets()]
    )
    slack = bound - corners @ rows.T
    assert slack.min() == 0.0 and all(
        np.linalg.matrix_rank(corners[slack[:, k] == 0.0]) >= d - 1 for k in range(len(rows))
    )
    found = [rows[list(some)] for some in combinations(range(len(rows)), d)]
    psi = max(np.linalg.norm(some, 2) for some in found if abs(np.linalg.det(some)) > 0.5)
    assert psi == pytest.approx(1.0 + np.sqrt(6.0))
    assert cg.AlmostAllSets(d, 0).geometry().psi == pytest.approx(psi)
    geometry = cg.AlmostAllSets(d, [0, 1]).geometry()
    assert geometry.psi == 1.0 and not geometry.exact
