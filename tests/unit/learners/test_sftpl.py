"""SFTPL against a twin in plain Python, and what it says of itself."""

import math

import numpy as np
import pytest

import combgame as cg
from combgame.engine.action_table import make_action_table, make_sparse_weights
from combgame.engine.state import vector
from combgame.learners.base import LearnerContext
from combgame.learners.sftpl import MODULI
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER
from combgame.testing import check_learner
from tests.said import refused


def seated(actions, samples, n_learners=1):
    table, sets, d = make_action_table(2000, actions.max_size()), actions.covering(), actions.d
    home = np.array([table.lookup(vector(s, d)) for s in sets], dtype=np.int64)
    learner = cg.SFTPL(samples)
    room = learner.initial_capacity(d, len(home))
    centre = np.mean([vector(s, d) for s in sets], axis=0)
    return learner.kernel(LearnerContext(actions, home, centre, len(sets), n_learners, room)), table


def generator():
    state = [1, 2, 3]
    while True:
        state = [
            171 * state[0] % 30269,
            172 * state[1] % 30307,
            170 * state[2] % 30323,
        ]
        yield max(
            (state[0] / 30269.0 + state[1] / 30307.0 + state[2] / 30323.0) % 1.0,
            1e-12,
        )


def test_the_learner_plays_what_its_definition_says():
    actions, samples, d = cg.Subsets(5, 2), 7, 5
    kernel, table = seated(actions, samples)
    weights, structure, rng = make_sparse_weights(50, d), actions.kernel(), np.random.default_rng(0)
    draws, total, longest = generator(), np.zeros(d), 0.0
    for t in range(1, 200):
        kernel.act(0, weights)
        reward = rng.exponential(size=d) * [1.0, 1.0, 0.9, 0.8, 0.7]
        kernel.update(0, weights, table, structure, reward)
        total, longest = total + reward, max(longest, math.sqrt((reward**2).sum()))
        expected = {}
        for _ in range(samples):
            pairs = [
                math.sqrt(-2 * math.log(next(draws))) * np.exp(2j * math.pi * next(draws))
                for _ in range((d + 1) // 2)
            ]
            v = np.array([kernel for z in pairs for kernel in (z.real, z.imag)])[:d]
            radius = next(draws) ** (1 / d)
            score = total + longest * math.sqrt(d * t) * radius * v / math.sqrt((v**2).sum())
            best = tuple(sorted(np.argsort(-score, kind="stable")[:2].tolist()))
            expected[best] = expected.get(best, 0.0) + 1 / samples
        kernel.act(0, weights)
        found = {
            tuple(table.arms[i, : table.sizes[i]].tolist()): w
            for i, w in zip(
                weights.ids[: weights.size[0]], weights.values[: weights.size[0]], strict=True
            )
        }
        assert found == pytest.approx(expected)


def test_perturbations_are_uniform_in_the_ball():
    """The radius to the power d is uniform, and every direction has mean 0: 4,000 draws, a chance
    of about 1e-4 to fail if the generator were another one.
    """
    kernel, _ = seated(cg.Subsets(3, 1), 1)
    normal = np.zeros((4000, 3))
    length = [kernel.normals(row) for row in normal]
    assert length == pytest.approx((normal**2).sum(axis=1))
    assert np.abs(normal.mean(axis=0)).max() < 4 / math.sqrt(4000)
    assert np.abs(normal.T @ normal / 4000 - np.eye(3)).max() < 4 * math.sqrt(2 / 4000)
    uniform = np.sort([kernel.uniform() for _ in range(4000)])
    assert np.abs(uniform - np.linspace(0, 1, 4000)).max() < 2.2 / math.sqrt(4000)


def test_every_run_has_perturbations_of_its_own():
    """Drawn from the run's generator: the same for the same run, and others for other runs."""
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.3))
    setup, means = cg.CombGame(cg.SFTPL()).bind(problem), np.linspace(1, 0.5, 4)
    streams = []
    for number in (0, 1, 2, 0):
        run = Run(InitialState(problem, setup, NEVER, 1, "python"), means, 0, number)
        streams.append(tuple(run.rule.learner.stream.tolist()))
        assert all(0 < x < most for x, most in zip(streams[-1], MODULI, strict=True))
    assert streams[0] == streams[3] and len(set(streams)) == 3
    random = cg.CombGame(cg.SFTPL(), initialization="random-covering").bind(problem)
    runs = [Run(InitialState(problem, random, NEVER, 1, "python"), means, 0, i) for i in (0, 1)]
    assert not np.array_equal(*(run.rule.learner.stream for run in runs))


def test_a_run_that_meets_many_actions_at_once_grows():
    """The catalogue has room for all that one round may meet."""
    problem = cg.Problem(cg.Subsets(12, 5), cg.Arms(12), cg.Gaussian(0.3))
    rule = cg.CombGame(cg.SFTPL(200))
    run = Run(
        InitialState(problem, rule.bind(problem), NEVER, 1, "python"),
        np.linspace(1, 0.5, 12),
        0,
        0,
    )
    run.advance(12)
    assert run.rule.table.size[0] > 300


@pytest.mark.compiled
def test_it_conforms_and_says_what_it_needs():
    check_learner(cg.SFTPL())
    with refused("must-be", of="SFTPL", name="n_samples", value=0):
        cg.SFTPL(0)
