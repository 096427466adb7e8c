"""The field's rules, each against a twin in dictionaries, play by play; in both engines; and what
they promise.
"""

import math
from functools import partial
from statistics import NormalDist

import numpy as np
import pytest

import combgame as cg
from combgame.engine.philox import LOW, philox
from combgame.engine.round import update_recommendation
from combgame.engine.state import arms_of
from combgame.lab.policy import StudyState
from combgame.lab.settings import check_setting
from combgame.rules._allocation import make_allocation
from combgame.rules.base import stopping_of
from combgame.simulation.runner import InitialState, Run, Runner, RunSpec
from combgame.stopping.base import NEVER
from combgame.testing import check_rule, same
from tests.naive.rules import (
    SEED,
    CLUCBTwin,
    CSARTwin,
    FrankWolfeTwin,
    FWSTwin,
    PFWSTwin,
    PublicCode,
    Referee,
    ThompsonTwin,
    TopTwoTwin,
    TrackingTwin,
    forced_rounds,
)
from tests.said import refused

SIGMA = (0.303, 0.3537, 0.2571, 0.3119, 0.4013, 0.2993)
MEANS = (0.5, 0.47, 0.4, 0.35, 0.2, 0.1)
GRAPH = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 3)]
NET = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("s", "t")]
CASES = {
    "single arms": (cg.Arms(6), cg.Arms(6)),
    "three of six, best arm": (cg.Subsets(6, 3), cg.Arms(6)),
    "two of six, best pair": (cg.Subsets(6, 2), cg.Subsets(6, 2)),
    "best tree": (cg.SpanningTrees(GRAPH), cg.SpanningTrees(GRAPH)),
    "best path": (cg.Paths(NET, "s", "t"), cg.Paths(NET, "s", "t")),
    "matchings, best list": (
        cg.Matchings(2, 3),
        cg.Listed([(0, 1, 2), (3, 4), (0, 4), (1,), (2, 5)], 6),
    ),
}


def problem_of(case):
    actions, answers = CASES[case]
    return cg.Problem(actions, answers, cg.Gaussian(SIGMA))


def played(problem, rule, rounds, means=MEANS, number=2):
    """What the rule plays, round by round, under the user's numbers."""
    run = Run(
        InitialState(problem, rule.bind(problem), NEVER, 1, "python"),
        np.array(means),
        SEED,
        number,
    )
    plays = []
    for t in range(1, rounds + 1):
        run.advance(t)
        plays.append(arms_of(run.state.action))
    return plays


TOP_TWO = {
    "top-two": cg.TopTwo(),
    "beta": cg.TopTwo(beta=0.3),
    "ttucb": cg.TopTwo(leader="ucb", beta=0.5),
    "ttts": cg.TopTwo(leader="sample", challenger="sample", beta=0.5, max_resamples=20),
}
SINGLE, THREE, PAIRS, TREE, PATH, LISTS = CASES
FRANK_WOLFE = cg.FrankWolfe(sharpness=2.0, anneal_after=5.0, exploration=0.5, exploration_delay=1.0)
SOLVED = {"fws on single arms": (cg.FWS(), FWSTwin, 150, (SINGLE,))}  # z is not unique elsewhere
TWINS = SOLVED | {  # every rule on every case; of its options each on some
    "top-two": (TOP_TWO["top-two"], TopTwoTwin, 100, CASES),
    "beta": (TOP_TWO["beta"], TopTwoTwin, 100, (SINGLE, TREE)),
    "ttucb": (TOP_TWO["ttucb"], TopTwoTwin, 100, (PAIRS, LISTS)),
    "ttts": (TOP_TWO["ttts"], TopTwoTwin, 100, (THREE, PATH)),
    "clucb": (cg.CLUCB(), CLUCBTwin, 100, CASES),
    "clucb 0.999": (cg.CLUCB(0.999), CLUCBTwin, 100, (THREE, LISTS)),
    "track-and-stop C": (cg.TrackAndStop(recompute_factor=1.5), TrackingTwin, 60, CASES),
    "track-and-stop D": (
        cg.TrackAndStop(recompute_factor=1.5, tracking="D"),
        TrackingTwin,
        60,
        (PAIRS, TREE),
    ),
    "p-fws": (cg.PFWS(), PFWSTwin, 100, CASES),
    "p-fws with draws": (cg.PFWS(n_draws=6), PublicCode, 50, (SINGLE, PAIRS, TREE)),
    "fws": (cg.FWS(), Referee, 60, CASES),
    "thompson": (cg.Thompson(n_samples=1), ThompsonTwin, 100, CASES),
    "thompson, wide": (
        cg.Thompson(n_samples=1, posterior_scale=4.0),
        ThompsonTwin,
        100,
        (THREE, TREE),
    ),
    "thompson, all samples": (cg.Thompson(), ThompsonTwin, 15, (PAIRS, PATH)),
    "csar": (cg.CSAR(90), CSARTwin, 110, CASES),
    "frank-wolfe": (cg.FrankWolfe(), FrankWolfeTwin, 150, CASES),
    "frank-wolfe, other": (FRANK_WOLFE, FrankWolfeTwin, 150, (THREE, LISTS)),
    "frank-wolfe, pool of one": (cg.FrankWolfe(max_rivals=1), FrankWolfeTwin, 150, (PAIRS, TREE)),
    "frank-wolfe, pool of two": (cg.FrankWolfe(max_rivals=2), FrankWolfeTwin, 150, (THREE, LISTS)),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_rule_plays_what_its_twin_plays(name):
    rule, kind, rounds, cases = TWINS[name]
    for case in cases:
        problem = problem_of(case)
        twin = kind(problem, rule, MEANS)
        assert played(problem, rule, rounds) == twin.plays(rounds), case
        twin.over()


# ---- top two


def test_top_two_with_beta_gives_the_leader_its_share():
    problem = cg.Problem(cg.Arms(4), None, cg.Gaussian(1.0))
    plays = played(problem, cg.TopTwo(beta=0.7), 2000, (3.0, 0.0, 0.0, 0.0))
    share = sum(play == (0,) for play in plays[200:]) / len(plays[200:])
    assert abs(share - 0.7) < 0.06  # five standard errors, and forced plays


def test_top_two_takes_values_in_proportion_to_the_optimal_allocation():
    means = (1.0, 0.0, 0.0, 0.0, 0.0)
    problem = cg.Problem(cg.Arms(5), None, cg.Gaussian(1.0))
    wanted = cg.complexity(problem, means).allocation
    plays = played(problem, cg.TopTwo(), 3000, means)
    found = np.bincount([play[0] for play in plays], minlength=5) / len(plays)
    assert found[0] == pytest.approx(wanted[0], abs=0.05)


# ---- CLUCB


@pytest.mark.parametrize("case", [SINGLE, PAIRS, PATH])
def test_clucb_stops_where_its_twin_does(case):
    means, deltas = (2.1, 1.2, 1.5, 0.8, 0.2, 0.4), [0.3, 0.01]
    problem, rule = problem_of(case), cg.CLUCB(0.3)
    own = rule.stopping(problem, deltas)
    run = Run(InitialState(problem, rule.bind(problem), own, 2, "python"), np.array(means), 7, 2)
    run.advance(3000)

    class Stopped(CLUCBTwin):
        stops = [-1, -1]

        def choose(self):
            for i, delta in enumerate(deltas):
                if self.stops[i] < 0 and self.optimist(delta) == self.best:
                    self.stops[i] = self.t
            return super().choose()

        def nearest_alternative(self):  # the judge's rival: the least lead in radii
            r = {j: self.lead(j) for j in self.answers if j != self.best}
            return min(r, key=r.get)

        def lead(self, rival):
            arms = set(self.best) ^ set(rival)
            lead = sum(self.mean[a] for a in self.best) - sum(self.mean[a] for a in rival)
            return lead / sum(SIGMA[a] / math.sqrt(self.counts[a]) for a in arms)

    twin = Stopped(problem, rule, means)
    twin.plays(int(run.stopping_times.max()) + 1)
    assert run.stopping_times.tolist() == twin.stops and 0 < twin.stops[0] < twin.stops[1]


def test_clucb_brings_a_proved_stopping_rule_and_needs_known_variances():
    problem = problem_of("two of six, best pair")
    how = {"rule": "clucb", "delta": 0.1, "engine": "python"}
    sim = cg.simulate(problem, (3.0, 2.5, 1, 1, 0, 0), threshold="proved", runs=20, **how)
    assert sim.stopping.name == "clucb" and sim.validity.proved and sim.correct.all()
    unknown = cg.Problem(cg.Arms(3), None, cg.Gaussian(simulation_sigma=1.0))
    with refused("clucb-needs-variances", cg.InputError):
        cg.simulate(unknown, (1, 0, 0), rule="clucb", delta=0.1, threshold="mixture", runs=1)


# ---- Track-and-Stop


@pytest.mark.parametrize("case", [THREE, TREE, LISTS])
def test_the_allocation_of_a_rule_is_that_of_complexity(case):
    problem, rng = problem_of(case), np.random.default_rng(4)
    kernel_, kernel, best = make_allocation(problem.actions, 0.01), problem.kernel(), np.zeros(6)
    for _ in range(3):  # each begins where the last one ended
        means = rng.random(6)
        kernel.answers.argmax(means, best)
        gap = kernel_.solve(kernel, means, best)
        wanted = cg.complexity(problem, means, tolerance=1e-5)
        spare = np.zeros((2, 6))
        found = kernel.answers.nearest_alternative(
            kernel.rewards, means, kernel_.share, best, *spare
        )
        assert 0.0 <= gap <= 0.01
        assert 1.0 / 1.0101 <= found * wanted.characteristic_time <= 1.0 + 2e-5
        marginals = kernel_.share.sum()
        assert 1.0 - 1e-9 <= marginals <= problem.actions.max_size() + 1e-9


def test_an_allocation_has_room_for_actions_however_often_it_is_worked_out():
    rng, best = np.random.default_rng(5), np.zeros(16)
    problem = cg.Problem(cg.Subsets(16, 3), cg.Arms(16), cg.Gaussian(0.1))
    kernel_, kernel = make_allocation(problem.actions, 0.01), problem.kernel()
    for _ in range(12):
        means = rng.normal(0.0, 0.1, 16)
        kernel.answers.argmax(means, best)
        assert 0.0 <= kernel_.solve(kernel, means, best) <= 0.01
    assert kernel_.matrix.used[0] < kernel_.matrix.rows.shape[0] / 2


def test_track_and_stop_follows_the_optimal_allocation():
    means = (1.0, 0.0, 0.0, 0.0, 0.0)
    problem = cg.Problem(cg.Arms(5), None, cg.Gaussian(1.0))
    plays = played(problem, cg.TrackAndStop(), 2000, means)
    found = np.bincount([play[0] for play in plays], minlength=5) / len(plays)
    assert found == pytest.approx(cg.complexity(problem, means).allocation, abs=0.05)


def test_track_and_stop_refuses_plays_with_levels():
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1, batch_effect=True))
    with refused("no-allocation", cg.InputError):
        cg.TrackAndStop().bind(problem)


# ---- P-FWS


def test_p_fws_plays_its_covering_in_the_published_rounds():
    """With three actions in the covering: rounds 1 to 3 are the start, and then 4 and 5, 12 to 14,
    27 to 29 are forced, by hand. Elsewhere a rule that never wants arm 5 does not play it.
    """
    problem = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(SIGMA))
    start = problem.actions.covering()
    assert len(start) == 3 and forced_rounds(3, 30) == {4, 5, 12, 13, 14, 27, 28, 29}
    plays = played(problem, cg.PFWS(), 30, (9.0, 8.9, 0.0, 0.0, 0.0, -9.0))
    last = next(i for i, one in enumerate(start) if 5 in one)
    turns = [t for t in range(1, 31) if 5 in plays[t - 1]]
    in_turn = [1, 2, 3, 4, 5, 12, 13, 14, 27, 28, 29]  # the start, and forced
    assert set(in_turn[last::3]) <= set(turns)
    for i, t in enumerate(in_turn):
        assert plays[t - 1] == start[i % 3]


def test_drawn_rivals_stop_where_the_public_code_stops():
    """t F(N / sum N) > 1.001 ln((1 + ln t) / delta), with the same numbers drawn; what is said of
    single rivals is exact.
    """
    problem, rule, draws = problem_of("best tree"), cg.Uniform(), 9
    stopping = stopping_of(rule, cg.SampledAlternatives(draws), problem, [0.3])
    run = Run(
        InitialState(problem, rule.bind(problem), stopping, 1, "python"), np.array(MEANS), 7, 2
    )
    twin, seed, stopped = PublicCode(problem, rule, MEANS), 0, None
    for t in range(len(twin.start), 400):
        run.advance(t)
        twin.mean, twin.counts = run.stats.mean.tolist(), run.stats.counts.tolist()
        twin.best, share = arms_of(run.state.leader), run.stats.counts / run.stats.counts.sum()
        seed = seed or 1 + (int(abs(sum(run.stats.sums.tolist())) * 1e6) & LOW)
        value, rival, _ = twin.search(share, draws, philox(seed, t))
        assert run.state.evidence[0] == pytest.approx(t * value, rel=1e-9)
        assert arms_of(run.state.rival) == rival
        if t * value > 1.001 * math.log((1.0 + math.log(t)) / 0.3):
            stopped = t
            break
    assert stopped is not None and run.stopping_times[0] == stopped and not stopping.validity.proved
    stopping_kernel, kernel, stats = run.kernel.stopping, run.kernel, run.stats
    assert stopping_kernel.critical_value(50, 0) == pytest.approx(
        1.001 * math.log((1.0 + math.log(50)) / 0.3)
    )
    exact = twin.against(twin.best, rival)[0] * stopped / sum(twin.counts)
    assert stopping_kernel.evidence_against(
        kernel, stats, run.state.leader, run.state.rival
    ) == pytest.approx(exact)
    nearest = stopping_kernel.least_evidence(
        kernel, stats, run.state.leader, run.state.rival, run.state.alternative_means
    )
    assert nearest <= exact * (1.0 + 1e-12)


def test_draws_need_gaussian_values():
    problem = cg.Problem(cg.Arms(3), None, cg.Bernoulli())
    for make in (
        lambda: cg.PFWS(n_draws=5).bind(problem),
        lambda: cg.SampledAlternatives(5).kernel(problem, np.array([0.1])),
    ):
        with refused("draws-gaussian", cg.InputError, draws=5):
            make()


# ---- FWS


def test_fws_lists_answers_and_says_where_there_are_too_many():
    problem = cg.Problem(cg.Subsets(40, 4), cg.Subsets(40, 4), cg.Gaussian(0.1))
    with refused("fws-lists", cg.InputError, limit=50_000):
        cg.FWS().bind(problem)
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1, batch_effect=True))
    with refused("fws-levels", cg.InputError):
        cg.FWS().bind(problem)


def test_fws_explores_while_answers_are_tied():
    """Coins that all show the same are tied: z stays uniform, and all arms are played alike."""
    problem = cg.Problem(cg.Arms(4), None, cg.Bernoulli())
    plays = played(problem, cg.FWS(), 40, means=(1.0, 1.0, 1.0, 1.0))
    assert [plays.count((a,)) for a in range(4)] == [10] * 4


# ---- Thompson


def test_thompson_draws_normals_by_the_spread_that_is_stated():
    """1/2 for values 0 or 1; bounds on the means hold for draws too."""
    for rewards, bounds in (
        (cg.Bernoulli(), None),
        (cg.Bounded(-1, 2), None),
        (cg.Bernoulli(), (0.2, 0.6)),
        (cg.Gaussian(SIGMA), (0.2, 0.6)),
    ):
        problem = cg.Problem(cg.Arms(6), None, rewards, bounds=bounds)
        kernel = cg.Thompson(n_samples=1, delta=0.1).bind(problem).start_run(None)[0]
        run = Run(
            InitialState(problem, cg.Uniform().bind(problem), NEVER, 1, "python"),
            np.array(MEANS),
            0,
            0,
        )
        run.advance(60)
        update_recommendation(run.kernel, run.stats, run.state)
        kernel.choose(run.kernel, run.stats, run.state, np.random.default_rng(7))
        level = math.log(12.0 * 36 * 60**2 / 0.1)
        scale = math.sqrt(level) / NormalDist().inv_cdf(0.9)
        error = scale * rewards.sub_gaussian_scale(6) / np.sqrt(run.stats.counts)
        drawn = run.stats.mean + error * np.random.default_rng(7).standard_normal(6)
        here = drawn if bounds is None else np.clip(drawn, *bounds)
        assert kernel.means == pytest.approx(here), (rewards, bounds)
        assert bounds is None or (kernel.means != pytest.approx(drawn))


def test_thompson_draws_from_the_posterior_where_sigma_is_not_known():
    problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(None))
    assert not cg.Thompson().bind(problem).start_run(None)[0].stated


# ---- the delta of a run, and the unit of values


@pytest.mark.parametrize(
    "rule", [cg.CLUCB, partial(cg.Thompson, n_samples=2)], ids=["clucb", "thompson"]
)
def test_a_rule_without_a_delta_plays_by_that_of_the_run(rule):
    """Of several the smallest; one of its own stays. In `simulate`, in campaigns and in studies."""
    problem = problem_of("two of six, best pair")
    how = {"threshold": "stylised", "runs": 3, "seed": 4, "engine": "python"}

    def rounds(one, delta):
        sim = cg.simulate(problem, MEANS, rule=one, delta=delta, max_rounds=90, **how)
        return sim.final_leads.tolist()  # after 90 rounds none has stopped

    tiny = 1e-30
    assert rounds(rule(), [0.3, tiny]) == rounds(rule(delta=tiny), [0.3, tiny])
    assert rounds(rule(), [0.3, tiny]) != rounds(rule(delta=0.3), [0.3, tiny])
    runner = Runner(RunSpec(problem, MEANS, rule(), [0.3, 0.02], "stylised", 0, 90))
    assert runner.rule == rule(delta=0.02)
    five = cg.Instance("five", problem, MEANS)
    with refused("same-run", cg.InputError):
        cg.Campaign.cross("one", [five], [rule(), rule(delta=0.05)], delta=0.05)
    setting = check_setting(problem, rule(), 0.07, "stylised", 0, 0.0, 2, 1, None, None)
    assert StudyState(setting).policy.numbers.rule == rule(delta=0.07)
    assert rule() == rule(delta=None) and rule().with_deltas([0.2]).with_deltas([0.1]).delta == 0.2


SCALED = {
    "top-two": cg.TopTwo(),
    "ttucb": TOP_TWO["ttucb"],
    "ttts": TOP_TWO["ttts"],
    "clucb": cg.CLUCB(),
    "thompson": cg.Thompson(n_samples=2),
    "p-fws": cg.PFWS(),
    "fws": cg.FWS(),
    "track-and-stop": cg.TrackAndStop(recompute_factor=1.5),
    "frank-wolfe": cg.FrankWolfe(),
}


@pytest.mark.parametrize("name", SCALED)
def test_the_unit_of_the_values_changes_no_play(name):
    """Also where an action leaves room that goes to the arms seen least. Track-and-Stop has many
    optimal allocations there, of which the last bit of a value chooses: a power of 2 keeps that.
    """
    rule, found = SCALED[name], []
    for factor in (1.0, 1e-12, 1e12):
        unit = 2.0 ** round(math.log2(factor)) if name == "track-and-stop" else factor
        sigma, means = (np.array(one) * unit for one in (SIGMA, MEANS))
        problem = cg.Problem(cg.Subsets(6, 4), cg.Arms(6), cg.Gaussian(sigma.tolist()))
        found.append(played(problem, rule, 60, means))
    assert found[0] == found[1] and found[0] == found[2]


# ---- CSAR


def test_csar_spends_its_budget_on_single_arms_and_ends_with_it():
    problem, rule = cg.Problem(cg.Arms(6), None, cg.Gaussian(0.5)), cg.CSAR(120)
    run = Run(InitialState(problem, rule.bind(problem), NEVER, 1, "python"), np.array(MEANS), 7, 2)
    run.advance(120)
    assert run.rule.phase[0] == 6 and run.rule.decided.sum() == -4.0
    how = {"threshold": "csar", "runs": 4, "engine": "python"}
    sim = cg.simulate(problem, (3, 1, 1, 1, 0, 0), rule=rule, delta=0.1, **how)
    assert sim.rounds.tolist() == [120] * 4 and sim.correct.all() and not sim.validity.proved
    with refused("budget-too-small", cg.InputError, budget=11):
        cg.CSAR(11).bind(problem)


# ---- engines


def both(problem, rule, rounds=300, stopping=NEVER):
    runs = []
    for engine in ("python", "compiled"):
        run = Run(
            InitialState(problem, rule.bind(problem), stopping, 1, engine), np.array(MEANS), 3, 1
        )
        run.advance(rounds // 3)
        run.advance(rounds)
        runs.append(run)
    a, b = runs
    assert same(tuple(a.stats), tuple(b.stats)) and same(tuple(a.state), tuple(b.state))
    assert same(a.rule, b.rule) and a.rng.bit_generator.state == b.rng.bit_generator.state


CHECKED = {
    "ttts": TOP_TWO["ttts"],
    "clucb": cg.CLUCB(),
    "track-and-stop": cg.TrackAndStop(recompute_factor=1.5),
    "fws": cg.FWS(),
    "p-fws": cg.PFWS(),
    "thompson": cg.Thompson(n_samples=3),
    "csar": cg.CSAR(300),
    "frank-wolfe": cg.FrankWolfe(),
    "product-adahedge": cg.ProductAdaHedge(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_a_rule_passes_the_conformance_check(name):
    check_rule(CHECKED[name], rounds=300)


@pytest.mark.compiled
def test_both_engines_draw_the_same_rivals():
    problem, rule = problem_of("two of six, best pair"), cg.PFWS(n_draws=6)
    both(problem, rule, 90, stopping_of(rule, cg.SampledAlternatives(6), problem, [1e-9]))


@pytest.mark.slow
def test_both_engines_make_the_same_run_on_trees():
    """CSAR asks for the best answer with some arms and without others: here answers that are no
    arms.
    """
    both(problem_of("best tree"), CHECKED["csar"])
