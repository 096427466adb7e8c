"""The covering matrix: every structure, reward, rule, learner, tracking and stopping rule once, in
both engines, bit for bit. These combinations stand for the rest: what compiles in them compiles
elsewhere.
"""

import numpy as np
import pytest

import combgame as cg
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.registry import make_stopping
from combgame.testing import same

STEPS = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("s", "t")]
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)]
SETS = [[0, 1], [1, 2, 3], [2], [0, 3, 4], [4, 5], [1, 5], [0, 2, 5], [3], [1, 4]]
PAIRS = [(0, 1), (2, 3), (4, 5)]


def second(score):
    return np.argsort(-score, kind="stable")[:2]


MATRIX = {  # actions, answers, rewards, rule, threshold
    "best arm of sets": (
        cg.Subsets(7, 3),
        cg.Arms(7),
        cg.Gaussian(0.3),
        cg.FrankWolfe(),
        "mixture",
    ),
    "sets of coins": (
        cg.Subsets(6, 2),
        cg.Subsets(6, 2),
        cg.Bernoulli(),
        cg.CombGame(cg.LLOO(), tracking="C"),
        "mixture",
    ),
    "paths": (
        cg.Paths(STEPS, "s", "t"),
        None,
        cg.Gaussian(0.3),
        cg.CombGame(cg.OFW(), tracking="D"),
        "mixture",
    ),
    "matchings, sigmas not known": (
        cg.Matchings(3, 3),
        None,
        cg.Gaussian(simulation_sigma=0.3),
        cg.FrankWolfe(),
        "mixture",
    ),
    "trees, bounded values": (
        cg.SpanningTrees(EDGES),
        cg.Arms(6),
        cg.Bounded(-1.0, 2.0),
        cg.CombGame(cg.Hedge(), tracking="sample"),
        "sub-gaussian",
    ),
    "parts, one sigma": (
        cg.Partition([[0, 1, 2], [3, 4, 5]], 1),
        None,
        cg.Gaussian(simulation_sigma=0.3, shared_sigma=True),
        cg.TopTwo(),
        "mixture",
    ),
    "a list, each its own sigma": (
        cg.Listed(SETS, 6),
        None,
        cg.Gaussian([0.2, 0.3, 0.2, 0.4, 0.3, 0.2]),
        cg.CombGame(cg.AdaHedge(), learner_per_answer=True),
        "stylised",
    ),
    "almost all sets": (
        cg.AlmostAllSets(6),
        cg.Arms(6),
        cg.Gaussian(0.3),
        cg.CombGame(cg.OFW(), initialization="full"),
        "gaussian",
    ),
    "product form": (
        cg.Paths(STEPS, "s", "t"),
        cg.Arms(6),
        cg.Gaussian(0.3),
        cg.ProductAdaHedge(),
        "gaussian-counts",
    ),
    "plates": (
        cg.Subsets(6, 3),
        cg.Arms(6),
        cg.Gaussian(0.3, batch_effect=True),
        cg.FrankWolfe(),
        "mixture",
    ),
    "arms": (cg.Arms(6), None, cg.Gaussian(0.3), cg.TrackAndStop(), "mixture"),
    "an oracle": (
        cg.Oracle(second, 6, covering=PAIRS),
        cg.Arms(6),
        cg.Bernoulli(),
        cg.FWS(),
        "sub-gaussian-counts",
    ),
}
RULES = {  # the others, where the first combination is
    "clucb": cg.CLUCB(),
    "p-fws": cg.PFWS(),
    "thompson": cg.Thompson(),
    "csar": cg.CSAR(),
    "gcb-pe": cg.GCBPE(),
    "sftpl": cg.CombGame(cg.SFTPL()),
    "uniform": cg.Uniform(),
}
MEANS = np.array([0.9, 0.8, 0.75, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2])
ROUNDS = 150


def instance(name):
    actions, answers, rewards, rule, threshold = MATRIX[name]
    problem = cg.Problem(actions, answers, rewards)
    deltas = [0.2, 1e-300] if rewards.variance_known else [1e-300]
    stopping = make_stopping(threshold, problem, deltas)
    return problem, MEANS[: problem.d], rule, stopping, len(deltas)


def agree(problem, means, rule, stopping, deltas, rounds=ROUNDS):
    """The whole state of both runs, bit for bit; in two pieces, so that going on is tested, too."""
    one, other = (
        Run(InitialState(problem, rule.bind(problem), stopping, deltas, engine), means, 42, 3)
        for engine in ("python", "compiled")
    )
    for run in (one, other):
        run.advance(rounds // 3)
        run.advance(rounds)
    assert one.stats.n_rounds[0] == rounds
    assert same(tuple(one.stats), tuple(other.stats)), "counts and estimates"
    assert same(tuple(one.state), tuple(other.state)), "answer, rival, evidence, action"
    assert same(one.rule, other.rule), "learner, tracker and catalogue"
    assert same(one.stopping_times, other.stopping_times) and same(
        one.recommended, other.recommended
    )
    assert one.rng.bit_generator.state == other.rng.bit_generator.state, "random stream"


@pytest.mark.parametrize("name", MATRIX)
def test_both_engines_make_the_same_run_bit_for_bit(name):
    agree(*instance(name))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_so_does_every_other_rule(rule):
    problem, means, _, stopping, deltas = instance("best arm of sets")
    agree(problem, means, RULES[rule], stopping, deltas, rounds=60)


def test_the_matrix_has_everything():
    """Every structure, rewards, rule, learner, tracking and threshold that the package has."""
    from combgame.learners.base import LearnerBase
    from combgame.rewards.base import RewardsBase
    from combgame.rules.base import RuleBase
    from combgame.stopping.registry import THRESHOLDS
    from combgame.structures.base import StructureBase

    def there(base):
        mine = {one for one in vars(cg).values() if isinstance(one, type) and issubclass(one, base)}
        return mine - {base, StructureBase, RewardsBase, RuleBase, LearnerBase}

    used = [kernel for row in MATRIX.values() for kernel in row] + list(RULES.values())
    learners = [kernel.learner for kernel in used if isinstance(kernel, cg.CombGame)]
    kinds = {type(kernel) for kernel in (*used, *learners)}
    left = (there(StructureBase) | there(RewardsBase) | there(RuleBase)) - kinds
    # a solver in Python, and what knows the means
    assert {one.__name__ for one in left} <= {"IntegerProgram", "FixedAllocation"}
    assert there(LearnerBase) <= kinds
    assert {row[-1] for row in MATRIX.values()} == set(THRESHOLDS)
    trackings = {kernel.tracking for kernel in used if isinstance(kernel, cg.CombGame)}
    assert trackings == {"C", "D", "sample"}
