"""Frank-Wolfe on the counts, against a twin in dictionaries; and what it promises."""

import math
from fractions import Fraction

import numpy as np
import pytest

import combgame as cg
from combgame.game.round import recommend
from combgame.paper.instances import line, matroid
from combgame.simulate.run import Run
from combgame.stopping.base import NEVER
from combgame.stopping.names import make_stopping
from combgame.testing import check_rule
from combgame.theory.complexity import complexity
from tests import naive
from tests.said import refused

SIGMA = [0.1, 0.12, 0.09, 0.11, 0.13]
MEANS = [0.5, 0.47, 0.4, 0.35, 0.2]
CASES = {
    "three of five, best arm": (cg.Subsets(5, 3), cg.Arms(5)),
    "two of five, best pair": (cg.Subsets(5, 2), cg.Subsets(5, 2)),
    "a list, another list": (
        cg.Listed([(0, 1), (1, 2), (2, 3, 4), (0, 4)], 5),
        cg.Listed([(0, 1, 2), (3, 4), (0, 4), (1,)], 5),
    ),
}


def twin(sets, answers, rng, rounds, rule, places, draw):
    """Written from the description: the rivals met so far with the round in which each was last
    nearest.
    """
    d, start = 5, None
    largest = max(map(len, sets))
    counts, sums, rivals, played = [0.0] * d, [0.0] * d, {}, []
    while len(played) < rounds:
        t = len(played)
        mean = [s / n if n else 0.0 for s, n in zip(sums, counts, strict=True)]
        if start is None:
            start = list(cg.Listed(sets, d).covering()) if draw is None else draw["start"]
        if t < len(start):
            chosen = start[t]
        else:
            best = naive.best_set(answers, mean)
            near = {j: pair(mean, counts, best, j) for j in answers if j != best}
            nearest = min(near, key=lambda j: (near[j][0], answers.index(j)))
            rivals.pop(best, None) if best in rivals else None
            even = t * largest / d
            floor = max(rule.explore * math.sqrt(even) * even / (even + rule.ease), 0.5)
            if min(counts) < floor:
                score = [max(0.0, floor - n) for n in counts]
            else:
                rivals[nearest] = t
                while len(rivals) > places:
                    rivals.pop(min(rivals, key=rivals.get))
                rate = rule.kappa / math.sqrt(1.0 + t / rule.slow)
                least = min(near[j][0] for j in rivals)
                score = [1e-9 / n**2 for n in counts]
                for j in rivals:
                    value, alternative = near[j]
                    for a in set(best) ^ set(j):
                        gain = (mean[a] - alternative[a]) ** 2 / (2 * SIGMA[a] ** 2)
                        score[a] += math.exp(-rate * (value - least)) * gain
            value = [draw["number"](x) for x in score]
            chosen = max(
                sets, key=lambda s: (sum(value[a] for a in sorted(s)), tuple(-a for a in s))
            )
        for a in sorted(chosen):
            sums[a] += draw["draw"](MEANS[a], a, rng)
            counts[a] += 1.0
        played.append(tuple(sorted(chosen)))
    return played


def pair(mean, counts, best, rival):
    """f_J at the counts and its alternative, in closed form."""
    arms = {a: (1.0 if a in rival else -1.0) for a in set(best) ^ set(rival)}
    lead = -sum(sign * mean[a] for a, sign in arms.items())
    if lead <= 0.0:
        return 0.0, dict(enumerate(mean))
    spread = sum(SIGMA[a] ** 2 / counts[a] for a in arms)
    moved = dict(enumerate(mean))
    for a, sign in arms.items():
        moved[a] += sign * lead / spread * SIGMA[a] ** 2 / counts[a]
    return lead**2 / (2 * spread), moved


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "options",
    [{}, {"kappa": 0.5, "slow": 50.0, "explore": 2.0, "ease": 1.0}, {"pool": 1}, {"pool": 2}],
    ids=["usual", "other", "pool of one", "pool of two"],
)
def test_every_action_is_the_one_that_the_description_gives(case, options):
    actions, answers = CASES[case]
    problem = cg.Problem(actions, answers, cg.Gaussian(SIGMA))
    rule = cg.FrankWolfe(**options)
    for number in range(3):
        run = Run(problem, rule.setup(problem), NEVER, np.array(MEANS), 1, 5, number, "python")
        found = []
        for t in range(1, 301):
            run.advance(t)
            found.append(tuple(np.flatnonzero(run.view.action > 0.5).tolist()))
        rng = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(number,)))
        game = {
            "draw": problem.game().rewards.draw,
            "start": actions.covering(),
            "number": float if isinstance(actions, cg.Listed) else Fraction,
        }  # the best k are found without adding
        places = rule.pool or 16
        expected = twin(actions.sets(), answers.sets(), rng, 300, rule, places, game)
        assert found == expected


def tie(problem, means, counts):
    """A run in which each arm has shown a mean, in so many values 0 and 1."""
    setup = cg.FrankWolfe(explore=1e-6).setup(problem)
    run = Run(problem, setup, NEVER, np.array(means), 1, 0, 0, "python")
    run.advance(problem.d)
    seen, n = run.seen, np.array(counts, dtype=float)
    seen.counts[:], seen.sums[:], seen.clock[0] = n, n * means, int(n.sum())
    seen.mean[:] = seen.feasible[:] = means
    seen.rest[:], seen.squares[:] = 0.0, n * seen.mean * (1.0 - seen.mean)
    recommend(run.game, seen, run.view)
    run.rule.choose(run.game, seen, run.view, run.rng)
    return run


@pytest.mark.parametrize(
    "rewards",
    [cg.Bernoulli(), cg.Bounded(0, 1), cg.Gaussian([0.5, 0.3, 0.4, 0.2])],
    ids=["coins", "bounded", "Gaussian"],
)
def test_arms_that_are_tied_are_told_apart(rewards):
    """Two arms with the same mean: their evidence has no gradient, and all plays went elsewhere
    until all others had as many values.
    """
    run = tie(cg.Problem(cg.Arms(4), None, rewards), [0.5, 0.5, 0.2, 0.2], [50, 40, 10, 10])
    s, n = np.array([0.25, 0.25]), np.array([50.0, 40.0])
    gain = s / n**2 / (2.0 * (s / n).sum())
    assert run.rule.score[:2] == pytest.approx(gain + 1e-9 / n**2)
    assert np.flatnonzero(run.view.action).tolist() == [1]


def test_sums_are_tied_that_differ_by_rounding():
    """0.1 + 0.3 is not 0.2 + 0.2 in floats; nor are arms without variation told apart."""
    problem = cg.Problem(
        cg.Arms(5), cg.Listed([(0, 1), (2, 3), (4,)], 5), cg.Bounded(0, 1), bounds=(0.0, 1.0)
    )
    run = tie(problem, [1 / 10, 3 / 10, 2 / 10, 2 / 10, 0.0], [30, 30, 30, 30, 5])
    s = np.array([0.09, 0.21, 0.16, 0.16])
    gain = s / 30**2 / (2.0 * s.sum() / 30)
    assert run.rule.score[:4] == pytest.approx(gain, rel=1e-6)
    assert np.flatnonzero(run.view.action).tolist() == [1]


@pytest.mark.parametrize("shown", [0.0, 1.0])
def test_tied_arms_that_always_show_the_same_are_played_alike(shown):
    """Coins that have all shown 0: one more value of two of them would hardly part them, and the
    best may be any.
    """
    problem = cg.Problem(cg.Arms(6), None, cg.Bernoulli())
    setup = cg.FrankWolfe().setup(problem)
    run = Run(problem, setup, NEVER, np.full(6, shown), 1, 0, 0, "python")
    run.advance(120)
    assert run.seen.counts.tolist() == [20.0] * 6


def test_distances_are_taken_at_what_the_counts_are_worth():
    """Where a judge discounts them: bounds on unknown variances."""
    rewards = cg.Gaussian(supposed=SIGMA, shared=False)
    problem = cg.Problem(*CASES["a list, another list"], rewards)
    stopping = make_stopping("mixture", problem, [1e-6])
    run = Run(problem, cg.FrankWolfe().setup(problem), stopping, np.array(MEANS), 1, 0, 0, "python")
    run.advance(600)
    seen, rule = run.seen, run.rule
    recommend(run.game, seen, run.view)
    rule.choose(run.game, seen, run.view, run.rng)
    assert (seen.worth < seen.counts).all() and rule.used[0] >= 2
    for k in range(rule.used[0]):
        arms = rule.arms[k, : rule.number[k]]
        lead = -(rule.sign[k, : rule.number[k]] * seen.mean[arms]).sum()
        spread = (run.game.rewards.spreads.believed[arms] / seen.worth[arms]).sum()
        assert rule.value[k] == pytest.approx(max(lead, 0.0) ** 2 / (2 * spread))


@pytest.mark.compiled
def test_the_engines_agree_on_lists_and_paths():
    """With the threshold with which test_best_sets compiles them too."""
    edges = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t")]
    for actions, answers in (CASES["a list, another list"], (cg.Paths(edges, "s", "t"), None)):
        problem = cg.Problem(actions, answers, cg.Gaussian(0.1))
        both = [
            cg.simulate(
                problem,
                MEANS,
                rule="frank-wolfe",
                runs=3,
                engine=engine,
                threshold="mixture",
                delta=0.1,
            ).rounds.tolist()
            for engine in ("python", "compiled")
        ]
        assert both[0] == both[1]


def test_other_rewards_and_bounds_are_no_trouble():
    for rewards, bounds in (
        (cg.Bernoulli(), None),
        (cg.Bounded(0, 1), None),
        (cg.Gaussian(0.3), (0.0, 1.0)),
    ):
        problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), rewards, bounds=bounds)
        found = cg.simulate(
            problem,
            [0.9, 0.5, 0.4, 0.3, 0.1],
            rule="frank-wolfe",
            runs=5,
            engine="python",
            threshold="stylised",
            delta=0.1,
        )
        assert not found.capped.any() and found.error_rate <= 0.2


@pytest.mark.compiled
def test_no_arm_is_forgotten():
    """Every arm has at least what `explore` and `ease` ask for, but for the one play that it may
    take to catch up.
    """
    i = line(3, 4)
    rule = cg.FrankWolfe(explore=1.0, ease=1e-6)
    run = Run(i.problem, rule.setup(i.problem), NEVER, np.array(i.means), 1, 0, 0, "auto")
    for t in (200, 1000, 5000):
        run.advance(t)
        assert (
            run.seen.counts.min()
            >= math.sqrt(t * i.problem.actions.largest() / i.problem.d) - 1.0 - i.problem.d / 10
        )


@pytest.mark.compiled
def test_the_counts_follow_the_optimal_allocation():
    """The evidence grows at D_nu per round: 100,000 rounds, within 3 %. (With the true means; there
    it must.)
    """
    i = matroid(20)
    problem, means = i.problem, np.array(i.means)
    run = Run(problem, cg.FrankWolfe().setup(problem), NEVER, means, 1, 0, 0, "auto")
    run.advance(100_000)
    found = cg.evidence(problem, means, run.seen.counts).value / 100_000
    assert found == pytest.approx(1.0 / complexity(problem, means).time, rel=0.03)


@pytest.mark.compiled
def test_it_passes_the_conformance_check():
    check_rule(cg.FrankWolfe())


@pytest.mark.parametrize(
    "options",
    [
        {"kappa": 0.0},
        {"slow": -1.0},
        {"explore": math.inf},
        {"kappa": "x"},
        {"pool": 0},
        {"pool": True},
    ],
)
def test_wrong_options_are_refused(options):
    ((name, value),) = options.items()
    with refused("must-be", of="FrankWolfe", name=name, value=value):
        cg.FrankWolfe(**options)
