"""Algorithm 1 from beginning to end, against a twin that is written in dictionaries and knows
nothing of the package.
"""

import math

import numpy as np
import pytest

import combgame as cg
from combgame.engine.state import arms_of
from combgame.learners import LearnerBase
from combgame.rules.bonuses import make_bonus
from combgame.simulation import runner as numbering
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER
from tests import naive
from tests.said import refused

LEARNERS = {
    "Hedge": cg.Hedge(),
    "AdaHedge": cg.AdaHedge(),
    "OFW": cg.OFW(sparsify=False),
    "LLOO": cg.LLOO(sparsify=False),
}
MEANS = np.array([0.5, 0.46, 0.4, 0.33, 0.2])
SIGMA = [0.3, 0.26, 0.35, 0.22, 0.31]
CLOSE = np.array([0.32, 0.36, 0.31, 0.47, 0.45])  # 0.99 against 0.92: both answers lead at times


def actions_of(problem, rule, means, rounds, number):
    run = Run(InitialState(problem, rule.bind(problem), NEVER, 1, "python"), means, 9, number)
    found = []
    for t in range(1, rounds + 1):
        run.advance(t)
        found.append(arms_of(run.state.action))
    return found


FREE, BOX = None, (0.3, 0.48)
PLAYED = {  # all pairs of learner, bonus, seats and bounds
    "Hedge": ("Hedge", "stylised", False, FREE, "learner"),
    "Hedge per answer": ("Hedge", "theory", True, BOX, "learner"),
    "AdaHedge": ("AdaHedge", "theory", False, BOX, "learner"),
    "AdaHedge per answer": ("AdaHedge", "stylised", True, FREE, "learner"),
    "OFW": ("OFW", "theory", False, FREE, "learner"),
    "OFW per answer": ("OFW", "stylised", True, BOX, "learner"),
    "LLOO": ("LLOO", "stylised", False, BOX, "learner"),
    "LLOO per answer": ("LLOO", "theory", True, FREE, "learner"),
    "LLOO, simultaneous": ("LLOO", "stylised", False, FREE, "simultaneous"),
    "AdaHedge, simultaneous": ("AdaHedge", "stylised", False, FREE, "simultaneous"),
    "LLOO, nature first": ("LLOO", "stylised", False, FREE, "nature"),
}


@pytest.mark.parametrize("name", PLAYED)
def test_every_action_is_the_one_that_the_paper_would_play(name):
    """260 rounds: two doubling epochs. A wrong index, weight, estimate or seat anywhere would show
    in the first rounds that it touches, whatever the seed.

    The two answers differ in every arm, and every arm has its own sigma: otherwise equal counts
    would make equal rewards, and ties are decided by rounding.
    """
    kind, bonus, learner_per_answer, bounds, order = PLAYED[name]
    structure, answers = cg.Subsets(5, 2), [(0, 1, 2), (3, 4)]
    problem = cg.Problem(structure, cg.Listed(answers, 5), cg.Gaussian(SIGMA), bounds=bounds)
    rule = cg.CombGame(
        LEARNERS[kind], bonus=bonus, learner_per_answer=learner_per_answer, first_mover=order
    )
    f = math.log if bonus == "stylised" else make_bonus("theory").bonus_at
    rounds = 260 if order == "learner" else 150
    rng = np.random.default_rng(np.random.SeedSequence(9, spawn_key=(0,)))
    kernel = (
        kind,
        learner_per_answer,
        structure.to_list(),
        5,
        answers,
        SIGMA,
        CLOSE,
        rng,
        rounds,
        f,
    )
    expected = naive.combgame(*kernel, *(bounds or (-math.inf, math.inf)), order)
    assert actions_of(problem, rule, CLOSE, rounds, 0) == expected


def test_orders_say_what_they_need():
    with refused("unknown", cg.UnknownNameError, kind="first_mover", name="both"):
        cg.CombGame(first_mover="both")
    with refused("no-learner-plays", cg.InputError):
        cg.CombGame(first_mover="nature", learner_per_answer=True)


def test_runs_say_how_many_learners_were_called():
    problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.3))
    setup = cg.CombGame(learner_per_answer=True).bind(problem)
    run = Run(InitialState(problem, setup, NEVER, 1, "python"), MEANS, 9, 0)
    leaders = set()
    for t in range(1, 200):
        run.advance(t)
        if t > len(run.start):
            leaders.add(arms_of(run.state.leader))
    assert setup.diagnostics(run.rule)["learners"] == len(leaders) > 1


class Leader:
    """A learner that is no NamedTuple: follow the leader."""

    def __init__(self, d, first):
        self.total, self.chosen = np.zeros(d), first

    def act(self, learner, weights):
        weights.ids[0], weights.values[0], weights.size[0] = self.chosen, 1.0, 1

    def update(self, learner, weights, table, actions, reward):
        self.total += reward
        out = np.zeros(len(reward))
        actions.argmax(self.total, out)
        self.chosen = table.lookup(out)

    def needs_resize(self):
        return False


class FollowTheLeader(LearnerBase):
    def kernel(self, context):
        return Leader(context.initial_marginals.size, int(context.initial_actions[0]))


def test_a_learner_that_is_a_plain_object_starts_afresh_in_every_run():
    problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.3))
    rule = cg.CombGame(FollowTheLeader())
    together = cg.simulate(
        problem, MEANS, rule=rule, runs=4, seed=3, threshold="stylised", delta=0.1
    )
    again = cg.simulate(
        problem, MEANS, rule=rule, runs=4, seed=3, threshold="stylised", jobs=2, delta=0.1
    )
    setup = rule.bind(problem)
    from combgame.stopping.registry import make_stopping

    threshold = make_stopping("stylised", problem, [0.1])
    for number in range(4):
        alone = Run(InitialState(problem, setup, threshold, 1, "auto"), MEANS, 3, number)
        alone.advance(10**6)
        assert alone.stopping_times[0] == together.rounds[number] == again.rounds[number]


def test_an_arm_that_no_action_observes_does_not_disturb_the_learners(monkeypatch):
    monkeypatch.setattr(
        numbering, "drawn", lambda d, seed, run, what: np.arange(d)
    )  # seven arms draw others than six
    sets = cg.Subsets(6, 2).to_list()
    with_it = cg.Problem(
        cg.Listed(sets, 7), cg.Listed([[a] for a in range(6)], 7), cg.Gaussian(0.1)
    )
    without = cg.Problem(
        cg.Listed(sets, 6), cg.Listed([[a] for a in range(6)], 6), cg.Gaussian(0.1)
    )
    means = [0.5, 0.45, 0.4, 0.35, 0.3, 0.25]
    shape = cg.Subsets(6, 2).geometry()
    for learner in (cg.OFW(sparsify=False), cg.LLOO(geometry=shape)):
        pair = [
            cg.simulate(
                p,
                m,
                rule=cg.CombGame(learner),
                threshold="stylised",
                runs=2,
                delta=0.1,
                engine="python",
            )
            for p, m in ((with_it, [*means, 9.0]), (without, means))
        ]
        if isinstance(learner, cg.OFW):
            assert pair[0].rounds.tolist() == pair[1].rounds.tolist()
        run = Run(
            InitialState(with_it, cg.CombGame(learner).bind(with_it), NEVER, 1, "python"),
            np.array([*means, 9.0]),
            0,
            0,
        )
        run.advance(60)
        assert run.rule.reward[6] == 0.0 and np.all(run.rule.reward[:6] > 0)


def test_labels_of_larger_grids_agree_with_the_search():
    """Two independent algorithms for the nearest path, on graphs whose label lists outgrow their
    first arrays.
    """
    from combgame.engine.likelihood_ratio import against
    from combgame.structures._nearest.paths import labels, search

    rng = np.random.default_rng(0)
    for n_s in (10, 14):
        net = cg.grid_network(n_s)
        kernel, d = net.kernel(), net.d
        rewards = cg.Gaussian(1.0).kernel(np.full(d, -np.inf), np.full(d, np.inf))
        for _ in range(3):
            mean, weight = rng.uniform(0, 1, d), rng.exponential(size=d) + 0.01
            best, found = np.zeros(d), []
            kernel.argmax(mean, best)
            for method in (labels, search):
                rival, alternative = np.zeros(d), np.zeros(d)
                if method is labels:
                    labels(
                        rewards,
                        kernel.first,
                        kernel.arm,
                        kernel.head,
                        mean,
                        weight,
                        best,
                        kernel.trail,
                        rival,
                    )
                else:
                    search(
                        rewards,
                        kernel.first,
                        kernel.arm,
                        kernel.head,
                        mean,
                        weight,
                        best,
                        kernel.arms,
                        kernel.sign,
                        alternative,
                        kernel.trail,
                        rival,
                    )
                assert net.contains(arms_of(rival))
                found.append(
                    against(
                        rewards, mean, weight, best, kernel.arms, kernel.sign, rival, alternative
                    )
                )
            assert found[0] == pytest.approx(found[1], rel=1e-9)
