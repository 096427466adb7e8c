"""LLOO's approximate projection against a twin in dictionaries, and the lemma that says how precise
it must be.
"""

import math
from itertools import combinations

import numpy as np
import pytest

import combgame as cg
from combgame.engine.action_table import fill_action_table
from combgame.engine.state import vector
from combgame.learners._support import make_support
from combgame.learners.lloo import make_approach, parameters, precision, radius
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER
from combgame.testing import check_learner
from tests.said import refused

D, K = 6, 2
ACTIONS = cg.Subsets(D, K)
SHAPE = ACTIONS.geometry()
RHO = SHAPE.mu * math.sqrt(D)


def point(weights, d=D):
    return sum((w * vector(one, d) for one, w in weights.items()), np.zeros(d))


def exchanged(weights, score, mass, step, best):
    """`step` of the worst mass goes to the best vertex (Algorithm 2 of the paper)."""
    out, left = dict(weights), mass
    for one in sorted(weights, key=lambda one: sum(score[a] for a in one)):
        taken = min(left, weights[one])
        out[one] -= step * taken
        left -= taken
    out[best] = out.get(best, 0.0) + 1.0 - sum(out.values())
    return {one: w for one, w in out.items() if w > 1e-16}


def approached(x, horizon, wanted=precision):
    """The twin: the mixture, and how many steps it took."""
    best = ACTIONS.argmax(x)
    weights, reach, steps = {best: 1.0}, SHAPE.diameter, 0
    while np.linalg.norm(off := x - point(weights)) > wanted(SHAPE.diameter, RHO, horizon):
        assert np.linalg.norm(off) <= reach * (1.0 + 1e-9)  # Theorem 2
        mass = min(RHO * reach / SHAPE.diameter, 1.0)
        weights = exchanged(weights, off, mass, 0.5 / RHO**2, ACTIONS.argmax(off))
        reach, steps = reach * math.exp(-0.125 / RHO**2), steps + 1
    return weights, steps


def thinned(weights, horizon, room=200, coarse=False):
    """A mixture of all pairs through `ApproachPart.sparsify`."""
    sets = ACTIONS.to_list()
    table = fill_action_table(sets, len(sets) + 1, K)
    support = make_support(D, np.arange(len(sets)), 1, room, 0)
    support.weight[0, : len(sets)] = weights
    kernel = make_approach(D, 1, room, RHO, SHAPE.diameter, 2, coarse)
    kernel.sparsify(support, 0, table, ACTIONS.kernel(), horizon)
    found = {sets[support.ids[0, i]]: support.weight[0, i] for i in range(support.used[0])}
    return found, kernel


def corner(rng, sets):
    """Weights of all pairs, most of it on few of them."""
    weights = 1e-3 * rng.dirichlet(np.ones(len(sets)))
    weights[rng.choice(len(sets), 3, replace=False)] += 0.999 * rng.dirichlet(np.ones(3))
    return weights / weights.sum()


def test_the_projection_is_its_twin_and_within_the_precision():
    sets, horizon = ACTIONS.to_list(), 40.0
    for seed in range(2):
        weights = corner(np.random.default_rng(seed), sets)
        x = point(dict(zip(sets, weights, strict=True)))
        wanted, steps = approached(x, horizon)
        found, _ = thinned(weights, horizon)
        assert len(wanted) < len(sets) and set(found) == set(wanted) and steps > 10
        assert all(found[one] == pytest.approx(wanted[one], abs=1e-9) for one in wanted)
        assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
        assert np.linalg.norm(point(found) - x) <= precision(SHAPE.diameter, RHO, horizon)


def test_the_coarse_projection_is_its_twin_and_within_r():
    sets, horizon = ACTIONS.to_list(), 4_000.0
    for seed in range(2):
        weights = corner(np.random.default_rng(seed), sets)
        x = point(dict(zip(sets, weights, strict=True)))
        wanted, steps = approached(x, horizon, radius)
        found, _ = thinned(weights, horizon, coarse=True)
        assert set(found) == set(wanted) and steps > 3
        assert all(found[one] == pytest.approx(wanted[one], abs=1e-9) for one in wanted)
        off = np.linalg.norm(point(found) - x)
        assert precision(SHAPE.diameter, RHO, horizon) < off <= radius(SHAPE.diameter, RHO, horizon)


def test_within_r_the_corrected_mass_is_all_of_it():
    """The lemma's R for moves of r is above the diameter, so that M = rho R / D is cut at 1."""
    for rho in (1.7, 3.0, 8.0, 20.0):
        for horizon in (10.0, 200.0, 1e4, 1e8):
            off = radius(2.0, rho, horizon)
            wide = math.sqrt(7.0 * rho**2 * 2.0 * (2.0 + math.sqrt(horizon) / (18.0 * rho)) * off)
            assert wide > 2.0
    problem = cg.Problem(ACTIONS, cg.Arms(D), cg.Gaussian(1.0))
    setup = cg.CombGame(cg.LLOO(projection="coarse")).bind(problem)
    run = Run(InitialState(problem, setup, NEVER, 1, "python"), np.linspace(0.5, 0.1, D), 0, 0)
    kernel = run.rule.learner
    assert kernel.parameters.mass == math.inf and kernel.approach.coarse
    assert kernel.parameters._replace(mass=0.0) == parameters(D, SHAPE)._replace(mass=0.0)


def test_without_room_nothing_changes():
    sets = ACTIONS.to_list()
    weights = np.random.default_rng(0).dirichlet(np.ones(len(sets)))
    found, kernel = thinned(weights, 1e6, room=len(sets) + 1)
    assert found == dict(zip(sets, weights, strict=True)) and kernel.limit[0] == 2 * len(sets)


def nearest_point(x, k):
    """The projection onto {0 <= y <= 1, sum y = k}, by bisection."""
    low, high = x.min() - 1.0, x.max()
    for _ in range(60):
        mid = 0.5 * (low + high)
        low, high = (mid, high) if np.clip(x - mid, 0.0, 1.0).sum() > k else (low, mid)
    return np.clip(x - low, 0.0, 1.0)


def test_the_lemma_holds_where_every_round_is_off_by_the_precision():
    """h_t = F_t(w~_t) - min F_t <= r^2 in all rounds of an epoch, although every round moves w~_t
    by the whole precision towards larger F_t.
    """
    d, k, horizon = 4, 2, 2000
    actions = cg.Subsets(d, k)
    shape = actions.geometry()
    rho, size = shape.mu * math.sqrt(d), shape.diameter
    made, rng = parameters(d, shape), np.random.default_rng(5)
    mass, eta = made.mass / math.sqrt(horizon), made.rate / math.sqrt(horizon)
    radius = size * mass / rho
    assert mass < 1.0  # the radius says something
    off = precision(size, rho, horizon)
    weights = dict.fromkeys(combinations(range(d), k), 1.0 / math.comb(d, k))
    centre, total, worst = point(weights, d), np.zeros(d), 0.0
    for t in range(horizon):
        reward = rng.standard_normal(d) + (t % 400 < 200) * np.array([3.0, 2.0, -1.0, 0.0])
        total += reward / np.linalg.norm(reward)  # max ||r|| = 1
        x = point(weights, d)
        least = nearest_point(centre + 0.5 * eta * total, k)
        slope = 2.0 * (x - centre) - eta * total
        gap = ((x - centre) ** 2).sum() - ((least - centre) ** 2).sum()
        worst = max(worst, gap - eta * total @ (x - least))
        weights = exchanged(weights, -slope, mass, made.gamma, actions.argmax(-slope))
        weights = moved(weights, slope, off, d, actions)
    assert 0.001 * radius**2 < worst <= radius**2


def moved(weights, slope, off, d, actions):
    """The mixture, moved by `off` towards the vertex at which F_t grows most."""
    worst = actions.argmax(slope)
    length = np.linalg.norm(vector(worst, d) - point(weights, d))
    share = min(off / length, 1.0) if length > 0.0 else 0.0
    out = {one: (1.0 - share) * w for one, w in weights.items()}
    out[worst] = out.get(worst, 0.0) + share
    return out


def test_where_it_saves_no_action_the_run_is_that_without_sparsification():
    """k = 3 of d = 10: the projection was tried, met most of 120 actions, and replaced nothing."""
    problem = cg.Problem(cg.Subsets(10, 3), cg.Arms(10), cg.Gaussian(1.0))
    plays, learners = [], []
    for learner in (cg.LLOO(projection="approximate"), cg.LLOO(sparsify=False)):
        setup = cg.CombGame(learner, tracking="sample").bind(problem)
        run = Run(InitialState(problem, setup, NEVER, 1, "python"), np.linspace(0.5, 0.1, 10), 0, 0)
        run.advance(260)
        plays.append(run.stats.counts.tolist())
        learners.append(run.rule.learner)
    tried, plain = learners
    used = plain.support.used[0]
    assert plays[0] == plays[1] and tried.approach.limit[0] > 2 * (10 + 1)
    assert tried.support.used[0] == used and used < tried.approach.limit[0]
    assert tried.support.weight[0, :used].tolist() == plain.support.weight[0, :used].tolist()


@pytest.mark.compiled
def test_it_is_the_same_in_both_engines(capsys):
    for how in ("approximate", "coarse"):
        check_learner(cg.LLOO(projection=how), rounds=150)


def test_there_are_three_projections():
    with refused("unknown", cg.UnknownNameError):
        cg.LLOO(projection="random")
    assert cg.LLOO(projection="exact") == cg.LLOO()
