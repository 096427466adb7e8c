"""Correlated values: the nearest alternative against a solver, and against independent values."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import combgame as cg
from tests import naive
from tests.said import refused

MEANS = [0.3, 0.29, 0.28, 0.23, 0.2]


def equal(d, rho, sigma=0.1):
    return sigma**2 * ((1 - rho) * np.eye(d) + rho * np.ones((d, d)))


def wishart(d, seed):
    x = np.random.default_rng(seed).normal(size=(d, 2 * d))
    return x @ x.T / (2 * d)


@pytest.mark.parametrize("seed", range(2))
def test_the_nearest_alternative_is_the_one_a_solver_finds(seed):
    rng = np.random.default_rng(seed)
    problem = cg.CorrelatedProblem(
        cg.Listed([(0, 1), (1, 2, 3), (0, 3), (2,)], 4),
        cg.Listed([(0, 1), (2,), (1, 3), (0, 2, 3)], 4),
        wishart(4, seed),
    )
    information = np.tensordot(rng.integers(1, 9, 4).astype(float), problem.information, 1)
    mean = rng.normal(size=4)
    found = problem.nearest_alternative(information, mean)
    best, least = set(found.best), math.inf
    for rival in [(0, 1), (2,), (1, 3), (0, 2, 3)]:
        z = np.array([(a in best) - (a in rival) for a in range(4)], dtype=float)
        if not z.any():
            continue
        solved = minimize(
            lambda y: 0.5 * (y - mean) @ information @ (y - mean),
            mean,
            constraints={"type": "eq", "fun": lambda y, z=z: z @ y},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        least = min(least, solved.fun)
    assert found.value == pytest.approx(least, rel=1e-5)
    moved = found.alternative - mean
    assert 0.5 * moved @ information @ moved == pytest.approx(found.value)
    assert sum(found.alternative[list(found.best)]) == pytest.approx(
        sum(found.alternative[list(found.rival)])
    )


def test_without_correlation_it_is_the_independent_problem():
    problem = cg.CorrelatedProblem(cg.Subsets(5, 3), cg.Arms(5), equal(5, 0.0))
    plain = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    counts = np.arange(1.0, 11.0)
    arms = sum(
        c * np.isin(range(5), chosen) for c, chosen in zip(counts, problem.plays, strict=True)
    )
    found = problem.nearest_alternative(np.tensordot(counts, problem.information, 1), MEANS)
    same = cg.evidence(plain, MEANS, arms)
    assert found.value == pytest.approx(same.value)
    solved = problem.characteristic_time(MEANS)
    assert solved.gap <= 0.011
    assert 400 * 0.98 <= solved.time <= 400 * 1.02
    assert solved.weights.sum() == pytest.approx(1.0)


def test_a_tolerance_that_is_not_met_is_said():
    problem = cg.CorrelatedProblem(cg.Subsets(4, 2), cg.Arms(4), wishart(4, 0))
    means = [1.0, 0.8, 0.7, 0.5]
    met = problem.characteristic_time(means)
    assert met.missed is None and 0.0 <= met.gap <= 0.01
    short = problem.characteristic_time(means, tolerance=0.01, steps=70)
    assert short.missed.code == "tolerance-missed" and short.gap > 0.01
    assert short.missed.arguments["steps"] == 70 and "after 70 steps the gap is" in str(short)
    assert short.time >= met.time / (1.0 + met.gap) and short.time <= met.time * (1.0 + short.gap)
    assert problem.characteristic_time(means, steps=1).missed is not None  # and not "tied"


def test_what_arms_share_need_not_be_told_apart():
    """Two arms in one play, correlation rho: the variance of their difference falls by 1 - rho."""
    times = [
        cg.CorrelatedProblem(cg.Subsets(2, 2), cg.Arms(2), equal(2, rho))
        .characteristic_time([0.3, 0.29])
        .time
        for rho in (0.0, 0.5, 0.9)
    ]
    assert times == pytest.approx([400.0, 200.0, 40.0])


def test_runs_find_the_answer():
    """delta = 0.1, 20 runs: more than 6 errors have a chance of 0.2 % if delta is kept."""
    problem = cg.CorrelatedProblem(cg.Subsets(4, 2), cg.Arms(4), equal(4, 0.6, 0.3))
    means = [0.8, 0.5, 0.4, 0.3]
    made = problem.simulate(means, runs=20, seed=3)
    assert np.isfinite(made.rounds).all() and sum(a == (0,) for a in made.answers) >= 14
    again = problem.simulate(means, runs=2, seed=3)
    assert again.rounds.tolist() == made.rounds[:2].tolist()
    assert math.isinf(problem.simulate(means, runs=1, cap=3).rounds[0])


class Watched(np.ndarray):
    """An array that remembers which of its matrices were taken."""

    taken: list

    def __getitem__(self, at):
        if isinstance(at, int):
            self.taken.append(at)
        return np.asarray(super().__getitem__(at))


def test_every_play_is_that_of_the_twin():
    problem = cg.CorrelatedProblem(cg.Subsets(4, 2), cg.Arms(4), wishart(4, 7))
    means = np.array([0.8, 0.5, 0.4, 0.3])
    information = problem.information
    for number in range(3):
        watched = information.view(Watched)
        watched.taken = []
        problem.__dict__["information"] = watched  # in place of the cached one
        plays, last, answer = naive.correlated_plays(problem, means, 0.1, 5, number, 300)
        found, best = problem._run(means, 0.1, 5, number, 300)
        assert watched.taken[::2] == plays and len(plays) > 20  # each takes its matrix twice
        assert (found, best) == (last, answer)


def test_rounds_do_not_depend_on_how_arms_are_listed():
    """The starts of many runs: every arm is as often in the play that a covering fills up."""
    problem, often = cg.CorrelatedProblem(cg.Subsets(5, 2), cg.Arms(5), equal(5, 0.5)), []
    for means in (np.linspace(0.9, 0.1, 5), np.linspace(0.1, 0.9, 5)):
        often.append(problem.simulate(means, runs=300, delta=0.5, seed=1).rounds)
    slack = math.sqrt(sum(one.var() / one.size for one in often))
    assert abs(often[0].mean() - often[1].mean()) < 3.5 * slack


def test_without_answers_the_best_action_is_asked_for():
    covariance = 0.5 * np.eye(3) + 0.5
    asked, same = (
        cg.CorrelatedProblem(cg.Subsets(3, 2), answers, covariance)
        for answers in (None, cg.Subsets(3, 2))
    )
    found, expected = (one.nearest_alternative(np.eye(3), [0.5, 0.4, 0.1]) for one in (asked, same))
    assert found.best == (0, 1) and (found.rival, found.value) == (expected.rival, expected.value)


def test_it_says_what_it_needs():
    for wrong in (np.ones((3, 3)), np.eye(4), "covariance", [[1, 2, 0], [0, 1, 0], [0, 0, 1]]):
        with refused("must-be", of="CorrelatedProblem", name="covariance"):
            cg.CorrelatedProblem(cg.Subsets(3, 2), cg.Arms(3), wrong)
    with refused("arms-unseen", cg.InputError):
        cg.CorrelatedProblem(cg.Listed([(0, 1)], 3), cg.Listed([(0,), (1,)], 3), np.eye(3))
    with refused("must-be", of="Problem", name="actions"):
        cg.CorrelatedProblem(3, cg.Arms(3), np.eye(3))
    with refused("must-be", of="Problem", name="answers"):
        cg.CorrelatedProblem(cg.Arms(3), "x", np.eye(3))
    with refused("correlated-lists", cg.TooManySetsError, limit=2000):
        cg.CorrelatedProblem(cg.Subsets(30, 5), cg.Arms(30), np.eye(30)).plays
    tied = cg.CorrelatedProblem(cg.Subsets(3, 2), cg.Arms(3), np.eye(3))
    with refused("tied-means", cg.InputError):
        tied.characteristic_time([0.5, 0.5, 0.1], steps=100)


def test_estimates_and_information_are_numbers_of_the_right_shape():
    problem = cg.CorrelatedProblem(cg.Subsets(3, 2), cg.Arms(3), np.eye(3))
    good = problem.information.sum(axis=0)
    assert problem.nearest_alternative(good, [0.5, 0.2, 0.1]).best == (0,)
    for wrong in (np.eye(2), np.zeros((3, 3)), np.full((3, 3), math.nan), "x", None, [[1], [1, 2]]):
        with refused("must-be", of="nearest_alternative", name="information"):
            problem.nearest_alternative(wrong, [0.5, 0.2, 0.1])
    calls = (
        lambda means: problem.nearest_alternative(good, means),
        lambda means: problem.characteristic_time(means, steps=50),
        lambda means: problem.simulate(means, runs=1, cap=5),
    )
    for call in calls:
        with refused("not-finite", cg.InputError):
            call([0.5, math.nan, 0.1])
        for wrong in ([0.5, 0.2], "abc", None, [[0.5], [0.2, 0.1]]):
            with refused("must-be", cg.InputError):
                call(wrong)
    for wrong in ({"delta": 1.0}, {"runs": 0}, {"cap": 0.5}, {"seed": -1}):
        with refused("must-be", of="simulate", name=next(iter(wrong))):
            problem.simulate([0.5, 0.2, 0.1], **wrong)
    with refused("must-be", of="characteristic_time", name="tolerance"):
        problem.characteristic_time([0.5, 0.2, 0.1], tolerance=math.nan)
