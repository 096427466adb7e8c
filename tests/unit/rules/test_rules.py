"""The field's rules, each against a twin in dictionaries, play by play; in both engines; and what
they promise.
"""

import math
from fractions import Fraction
from itertools import cycle
from statistics import NormalDist

import numpy as np
import pytest
from scipy.optimize import linprog

import combgame as cg
from combgame.game.philox import LOW, philox
from combgame.game.records import arms_of, vector
from combgame.game.round import recommend
from combgame.rules.allocation import make_allocation
from combgame.rules.base import stopping_of
from combgame.simulate.bench import make_bench
from combgame.simulate.run import Run
from combgame.stopping.base import NEVER
from combgame.study.advisor import Advisor
from combgame.study.settings import check_setting
from combgame.testing import check_rule, same
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
    run = Run(problem, rule.setup(problem), NEVER, np.array(means), 1, 7, number, "python")
    plays = []
    for t in range(1, rounds + 1):
        run.advance(t)
        plays.append(arms_of(run.view.action))
    return plays


class Twin:
    """A run in lists: `choose` is what the twin of a rule has to say."""

    delta = 0.1  # where a rule has none of its own, and there is no run that says it

    def __init__(self, problem, rule, means=MEANS, number=2):
        self.rule, self.means, self.d = rule, means, problem.d
        self.sets, self.answers = problem.actions.sets(), problem.answers.sets()
        self.actions, self.start = problem.actions, problem.actions.covering()
        self.rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(number,)))
        self.counts, self.values = [0.0] * self.d, [[] for _ in range(self.d)]
        self.begin(problem)

    def begin(self, problem):
        pass

    def plays(self, rounds):
        found = []
        for t in range(rounds):
            self.t = t
            self.mean = [math.fsum(x) / len(x) if x else 0.0 for x in self.values]
            if t < len(self.start):
                chosen = self.start[t]
            else:
                self.best = argmax(self.answers, self.mean)
                chosen = self.choose()
            for a in sorted(chosen):
                self.values[a].append(self.means[a] + SIGMA[a] * self.rng.standard_normal())
                self.counts[a] += 1.0
            found.append(tuple(sorted(chosen)))
        return found

    def against(self, leader, rival, weight=None):
        """f_J, and the gain of a value of each arm, in closed form."""
        weight = self.counts if weight is None else weight
        arms = sorted(set(leader) ^ set(rival))
        lead = sum(self.mean[a] for a in leader) - sum(self.mean[a] for a in rival)
        spread = sum(SIGMA[a] ** 2 / weight[a] for a in arms)
        lead = max(lead, 0.0)
        gain = {a: 0.5 * (SIGMA[a] * lead / spread / weight[a]) ** 2 for a in arms}
        return lead**2 / (2.0 * spread), gain

    def nearest(self, weight=None):
        rivals = [j for j in self.answers if j != self.best]
        return min(rivals, key=lambda j: self.against(self.best, j, weight)[0])

    def forced(self):
        """The play for the arms that lack values, if there are any."""
        even = self.t * max(map(len, self.sets)) / self.d
        floor = max(self.rule.explore * math.sqrt(even) * even / (even + self.rule.ease), 0.5)
        lack = [max(0.0, floor - n) for n in self.counts]
        return self.play(lack) if any(lack) else None

    def certainly(self, first, score):
        """The play with the most score among those that have the arm."""
        score = [x + 1e-9 / n**2 for x, n in zip(score, self.counts, strict=True)]
        return self.play(score, [s for s in self.sets if first in s])

    def play(self, score, sets=None):
        """The set with the largest score, exactly; of several, the one that the structure finds."""
        exact = [Fraction(float(x)) for x in score]
        value = {s: sum(exact[a] for a in s) for s in sets or self.sets}
        top = [s for s in value if value[s] == max(value.values())]
        raised = [
            x + 100.0 * (sets is not None and all(a in s for s in sets))
            for a, x in enumerate(score)
        ]
        found = tuple(sorted(self.actions.argmax(raised)))
        return found if found in top else top[0]


def argmax(sets, score):
    """Exactly; ties by index."""
    score = [Fraction(float(x)) for x in score]
    return max(sets, key=lambda s: (sum(score[a] for a in s), tuple(-a for a in sorted(s))))


# ---- top two


class TopTwoTwin(Twin):
    def draw(self):
        scale = [s / math.sqrt(n) for s, n in zip(SIGMA, self.counts, strict=True)]
        return [m + x * self.rng.standard_normal() for m, x in zip(self.mean, scale, strict=True)]

    def choose(self):
        if (forced := self.forced()) is not None:
            return forced
        leader = self.best
        if self.rule.leader == "ucb":
            up = [
                m + s * math.sqrt(2.0 * math.log(self.t) / n)
                for m, s, n in zip(self.mean, SIGMA, self.counts, strict=True)
            ]
            leader = argmax(self.answers, up)
        if self.rule.leader == "sample":
            leader = argmax(self.answers, self.draw())
        rival = None
        if self.rule.challenger == "sample":
            for _ in range(self.rule.tries):
                drawn = argmax(self.answers, self.draw())
                if drawn != leader:
                    rival = drawn
                    break
        if rival is None:
            rival = self.nearest() if leader == self.best else self.best
        value, gain = self.against(leader, rival)
        if value == 0.0:
            gain = {a: 1.0 / self.counts[a] ** 2 for a in gain}
        top = max(gain.values())
        gain = {a: g / top for a, g in gain.items()}
        side = sorted(gain)
        if self.rule.beta is not None:
            mine = set(leader) if self.rng.random() < self.rule.beta else set(rival)
            side = [a for a in sorted(gain) if a in mine] or side
        share = np.cumsum([self.counts[a] * gain[a] for a in side])
        first = side[int(np.searchsorted(share, self.rng.random() * share[-1], side="right"))]
        return self.certainly(first, [gain.get(a, 0.0) for a in range(self.d)])


TOP_TWO = {
    "top-two": cg.TopTwo(),
    "beta": cg.TopTwo(beta=0.3),
    "ttucb": cg.TopTwo(leader="ucb", beta=0.5),
    "ttts": cg.TopTwo(leader="sample", challenger="sample", beta=0.5, tries=20),
}


@pytest.mark.parametrize("rule", TOP_TWO)
@pytest.mark.parametrize("case", CASES)
def test_top_two_is_its_twin(case, rule):
    problem, rule = problem_of(case), TOP_TWO[rule]
    assert played(problem, rule, 150) == TopTwoTwin(problem, rule).plays(150)


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


class CLUCBTwin(Twin):
    def radii(self, delta):
        level = math.log(4.0 * self.d * max(self.t, 1) ** 3 / delta)
        return [s * math.sqrt(2.0 * level / n) for s, n in zip(SIGMA, self.counts, strict=True)]

    def optimist(self, delta):
        radius = self.radii(delta)
        sign = [-1.0 if a in self.best else 1.0 for a in range(self.d)]
        moved = [m + s * r for m, s, r in zip(self.mean, sign, radius, strict=True)]
        return argmax(self.answers, moved)

    def choose(self):
        delta = self.rule.delta or self.delta
        radius, other = self.radii(delta), self.optimist(delta)
        if other == self.best:
            other = self.nearest()
        arms = set(self.best) ^ set(other)
        first = max(sorted(arms), key=lambda a: (radius[a], -a))
        top = radius[first]
        score = [radius[a] / top if a in arms else 0.0 for a in range(self.d)]
        return self.certainly(first, score)


@pytest.mark.parametrize("delta", [None, 0.1, 0.999])
@pytest.mark.parametrize("case", CASES)
def test_clucb_is_its_twin(case, delta):
    problem, rule = problem_of(case), cg.CLUCB(delta)
    assert played(problem, rule, 150) == CLUCBTwin(problem, rule).plays(150)


@pytest.mark.parametrize("case", CASES)
def test_clucb_stops_where_its_twin_does(case):
    means, deltas = (2.1, 1.2, 1.5, 0.8, 0.2, 0.4), [0.3, 0.01]
    problem, rule = problem_of(case), cg.CLUCB(0.3)
    own = rule.stopping(problem, deltas)
    run = Run(problem, rule.setup(problem), own, np.array(means), 2, 7, 2, "python")
    run.advance(3000)

    class Stopped(CLUCBTwin):
        stops = [-1, -1]

        def choose(self):
            for i, delta in enumerate(deltas):
                if self.stops[i] < 0 and self.optimist(delta) == self.best:
                    self.stops[i] = self.t
            return super().choose()

        def nearest(self):  # the judge's rival: the least lead in radii
            r = {j: self.lead(j) for j in self.answers if j != self.best}
            return min(r, key=r.get)

        def lead(self, rival):
            arms = set(self.best) ^ set(rival)
            lead = sum(self.mean[a] for a in self.best) - sum(self.mean[a] for a in rival)
            return lead / sum(SIGMA[a] / math.sqrt(self.counts[a]) for a in arms)

    twin = Stopped(problem, rule, means)
    twin.plays(int(run.stops.max()) + 1)
    assert run.stops.tolist() == twin.stops and 0 < twin.stops[0] < twin.stops[1]


def test_clucb_brings_a_proved_stopping_rule_and_needs_known_variances():
    problem = problem_of("two of six, best pair")
    how = {"rule": "clucb", "delta": 0.1, "engine": "python"}
    sim = cg.simulate(problem, (3.0, 2.5, 1, 1, 0, 0), threshold="proved", runs=20, **how)
    assert sim.stopping.name == "clucb" and sim.validity.proved and sim.correct.all()
    unknown = cg.Problem(cg.Arms(3), None, cg.Gaussian(supposed=1.0))
    with refused("clucb-needs-variances", cg.InputError):
        cg.simulate(unknown, (1, 0, 0), rule="clucb", delta=0.1, threshold="mixture", runs=1)


# ---- Track-and-Stop


class TrackingTwin(Twin):
    """The shares are those of the part, interpreted: what is compared is when they are asked for
    and how they are followed.
    """

    def begin(self, problem):
        self.game = problem.game()
        self.allocation = make_allocation(problem.actions, self.rule.tolerance)
        self.due, self.shares = 0, [np.mean([[a in s for a in range(6)] for s in self.start], 0)]
        self.shares = self.shares * len(self.start)

    def choose(self):
        if self.t >= self.due:
            self.due = max(self.t + 1, math.ceil(self.rule.growth * self.t))
            best = np.array([float(a in self.best) for a in range(self.d)])
            self.allocation.solve(self.game, np.array(self.mean), best)
        self.shares.append(self.allocation.share.copy())
        if (forced := self.forced()) is not None:
            return forced
        if self.rule.tracking == "D":
            wanted = (self.t + 1) * self.shares[-1]
        else:
            wanted = np.sum(self.shares, axis=0)
        return self.play(wanted - np.array(self.counts))


@pytest.mark.parametrize("tracking", ["C", "D"])
@pytest.mark.parametrize("case", CASES)
def test_track_and_stop_is_its_twin(case, tracking):
    problem, rule = problem_of(case), cg.TrackAndStop(growth=1.5, tracking=tracking)
    assert played(problem, rule, 100) == TrackingTwin(problem, rule).plays(100)


@pytest.mark.parametrize("case", CASES)
def test_the_allocation_of_a_rule_is_that_of_complexity(case):
    problem, rng = problem_of(case), np.random.default_rng(4)
    part, game, best = make_allocation(problem.actions, 0.01), problem.game(), np.zeros(6)
    for _ in range(3):  # each begins where the last one ended
        means = rng.random(6)
        game.answers.argmax(means, best)
        gap = part.solve(game, means, best)
        wanted = cg.complexity(problem, means, tolerance=1e-5)
        spare = np.zeros((2, 6))
        found = game.answers.nearest(game.rewards, means, part.share, best, *spare)
        assert 0.0 <= gap <= 0.01
        assert 1.0 / 1.0101 <= found * wanted.time <= 1.0 + 2e-5
        marginals = part.share.sum()
        assert 1.0 - 1e-9 <= marginals <= problem.actions.largest() + 1e-9


def test_an_allocation_has_room_for_actions_however_often_it_is_worked_out():
    rng, best = np.random.default_rng(5), np.zeros(16)
    problem = cg.Problem(cg.Subsets(16, 3), cg.Arms(16), cg.Gaussian(0.1))
    part, game = make_allocation(problem.actions, 0.01), problem.game()
    for _ in range(40):
        means = rng.normal(0.0, 0.1, 16)
        game.answers.argmax(means, best)
        assert 0.0 <= part.solve(game, means, best) <= 0.01
    assert part.matrix.used[0] < part.matrix.rows.shape[0] / 2


def test_track_and_stop_follows_the_optimal_allocation():
    means = (1.0, 0.0, 0.0, 0.0, 0.0)
    problem = cg.Problem(cg.Arms(5), None, cg.Gaussian(1.0))
    plays = played(problem, cg.TrackAndStop(), 2000, means)
    found = np.bincount([play[0] for play in plays], minlength=5) / len(plays)
    assert found == pytest.approx(cg.complexity(problem, means).allocation, abs=0.05)


def test_track_and_stop_refuses_plays_with_levels():
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1, level="per play"))
    with refused("no-allocation", cg.InputError):
        cg.TrackAndStop().setup(problem)


# ---- P-FWS


def forced_rounds(cover, last):
    """Rounds 1, 2, ... after a start of `cover` rounds in which P-FWS plays its covering: those t
    with floor(t / cover) = 1, 4, 9, ..., which are the rounds k^2 cover, ..., (k^2 + 1) cover - 1.
    """
    blocks = (range(k * k * cover, (k * k + 1) * cover) for k in range(1, last + 1))
    return {t for block in blocks for t in block if cover < t <= last}


class PFWSTwin(Twin):
    def begin(self, problem):
        self.forced, self.turns = forced_rounds(len(self.start), 1000), cycle(self.start)

    def choose(self):
        t, cover = self.t + 1, len(self.start)  # the round that is played now
        if t in self.forced:
            return next(self.turns)
        eta, total = 1.0 / (4.0 * math.sqrt(t * cover)), [0.0] * self.d
        for _ in range(math.ceil(t**0.25)):
            z = np.array([self.rng.standard_normal() for _ in range(self.d)])
            z *= self.rng.random() ** (1.0 / self.d) / np.linalg.norm(z)
            weight = [n / (t - 1) + eta * x for n, x in zip(self.counts, z, strict=True)]
            assert min(weight) > 0.0  # what forced rounds are for
            _, gain = self.against(self.best, self.nearest(weight), weight)
            for a, g in gain.items():
                total[a] += g
        return self.play(total)


@pytest.mark.parametrize("case", CASES)
def test_p_fws_is_its_twin(case):
    problem = problem_of(case)
    assert played(problem, cg.PFWS(), 200) == PFWSTwin(problem, cg.PFWS()).plays(200)


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


class PublicCode(Twin):
    """The public code of P-FWS, step by step; the search draws from `rng`."""

    def search(self, weight, draws, rng):
        top, large = max(self.mean), max(map(len, self.answers))
        heavy = sum(SIGMA[a] ** 2 / w for a, w in enumerate(weight) if w > 1e-10)
        scale = 4.0 * large**2 * self.d * top**2 * heavy
        rate = math.sqrt(self.d * (math.log(self.d) + 1.0) / (2.0 * scale**2))
        losses, least, found = np.zeros(self.d), math.inf, None
        for s in range(1, draws + 1):
            noise = np.array([-math.log(1.0 - rng.random()) for _ in range(self.d)])
            score = -(rate / math.sqrt(s) * losses + noise)
            rivals = [j for j in self.answers if j != self.best and set(self.best) - set(j)]
            rival = max(rivals, key=lambda j: sum(score[a] for a in j))
            direct = max(self.answers, key=lambda j: sum(score[a] for a in j))
            rival = rival if direct == self.best else direct
            lead = sum(self.mean[a] for a in self.best) - sum(self.mean[a] for a in rival)
            differ = set(self.best) ^ set(rival)
            alpha = lead / sum(SIGMA[a] ** 2 / weight[a] for a in differ)
            for a in range(self.d):
                half = alpha**2 * SIGMA[a] ** 2 / (2.0 * weight[a])
                losses[a] -= alpha * self.mean[a] + half * (-1.0 if a in self.best else 1.0)
            if alpha * lead / 2.0 < least:
                least, found = alpha * lead / 2.0, (rival, alpha)
        return least, *found

    def choose(self):
        total, score = sum(self.counts), [0.0] * self.d
        for _ in range(math.ceil(self.t**0.25)):
            z = np.array([self.rng.standard_normal() for _ in range(self.d)])
            z *= self.rng.random() / np.linalg.norm(z)
            share = np.array(self.counts) / total
            weight = share + z / (4.0 * math.sqrt(self.t * self.d))
            _, rival, alpha = self.search(weight, self.rule.draws, self.rng)
            for a in set(self.best) ^ set(rival):
                score[a] += 0.5 * (alpha * SIGMA[a] / share[a]) ** 2
        return self.play(score)


@pytest.mark.parametrize("case", ["single arms", "two of six, best pair", "best tree"])
def test_p_fws_with_draws_is_its_public_code(case):
    problem, rule = problem_of(case), cg.PFWS(draws=6)
    assert played(problem, rule, 60) == PublicCode(problem, rule).plays(60)


def test_drawn_rivals_stop_where_the_public_code_stops():
    """t F(N / sum N) > 1.001 ln((1 + ln t) / delta), with the same numbers drawn; what is said of
    single rivals is exact.
    """
    problem, rule, draws = problem_of("best tree"), cg.Uniform(), 9
    stopping = stopping_of(rule, cg.DrawnRivals(draws), problem, [0.3])
    run = Run(problem, rule.setup(problem), stopping, np.array(MEANS), 1, 7, 2, "python")
    twin, seed, stopped = PublicCode(problem, rule), 0, None
    for t in range(len(twin.start), 400):
        run.advance(t)
        twin.mean, twin.counts = run.seen.mean.tolist(), run.seen.counts.tolist()
        twin.best, share = arms_of(run.view.best), run.seen.counts / run.seen.counts.sum()
        seed = seed or 1 + (int(abs(sum(run.seen.sums.tolist())) * 1e6) & LOW)
        value, rival, _ = twin.search(share, draws, philox(seed, t))
        assert run.view.evidence[0] == pytest.approx(t * value, rel=1e-9)
        assert arms_of(run.view.rival) == rival
        if t * value > 1.001 * math.log((1.0 + math.log(t)) / 0.3):
            stopped = t
            break
    assert stopped is not None and run.stops[0] == stopped and not stopping.validity.proved
    judge, game, seen = run.game.judge, run.game, run.seen
    assert judge.level(50, 0) == pytest.approx(1.001 * math.log((1.0 + math.log(50)) / 0.3))
    exact = twin.against(twin.best, rival)[0] * stopped / sum(twin.counts)
    assert judge.versus(game, seen, run.view.best, run.view.rival) == pytest.approx(exact)
    nearest = judge.weakest(game, seen, run.view.best, run.view.rival, run.view.alternative)
    assert nearest <= exact * (1.0 + 1e-12)


def test_draws_need_gaussian_values():
    problem = cg.Problem(cg.Arms(3), None, cg.Bernoulli())
    for make in (
        lambda: cg.PFWS(draws=5).setup(problem),
        lambda: cg.DrawnRivals(5).part(problem, np.array([0.1])),
    ):
        with refused("draws-gaussian", cg.InputError, draws=5):
            make()


# ---- FWS


class FWSTwin(Twin):
    """Plays are listed, and the linear programme is scipy's."""

    def begin(self, problem):
        self.owed, self.plays_of = dict.fromkeys(self.sets, 0.0), dict.fromkeys(self.sets, 0)
        for one in self.start:
            self.owed[one], self.plays_of[one] = 1.0, 1

    def programme(self):
        """The rivals within r as rows of payments, one per play; None: a forced round."""
        t, cover = self.t + 1, len(self.start)
        x = np.zeros(self.d)
        for one, owed in self.owed.items():
            x[list(one)] += owed / self.t
        found = {j: self.against(self.best, j, x) for j in self.answers if j != self.best}
        least = min(value for value, _ in found.values())
        if math.isqrt(t // cover) ** 2 == t // cover or least <= 0.0:
            return None
        radius = t**-0.9 / cover
        near = [(value, gain) for value, gain in found.values() if value < least + radius]
        return np.array(
            [[sum(gain.get(a, 0.0) for a in s) - value for s in self.sets] for value, gain in near]
        )

    def best_value(self, pay):
        """max over z of min over the rows of pay z, and a z."""
        scale, n = abs(pay).max(), len(self.sets)
        bound = np.c_[-pay / scale, np.ones(len(pay))]
        found = linprog(
            np.r_[np.zeros(n), -1.0],
            bound,
            np.zeros(len(pay)),
            np.r_[np.ones(n), 0.0][None],
            [1.0],
            [(0.0, None)] * n + [(None, None)],
        )
        return found.x[-1] * scale, found.x[:-1]

    def choose(self):
        pay = self.programme()
        z = dict.fromkeys(self.start, 1.0 / len(self.start))
        if pay is not None:
            z = self.solution(pay)
        for one, weight in z.items():
            self.owed[one] += weight
        some = [s for s in self.sets if self.owed[s] > 0.0]
        chosen = min(some, key=lambda s: (self.plays_of[s] / self.owed[s], self.order(s)))
        self.plays_of[chosen] += 1
        return chosen

    def solution(self, pay):
        _, z = self.best_value(pay)
        return {s: float(w) for s, w in zip(self.sets, z, strict=True) if w > 1e-9}

    def order(self, one):
        return self.sets.index(one)


class Referee(FWSTwin):
    """Takes z from the rule, after checking that it is a solution: of sets there are many."""

    def solution(self, pay):
        self.mine.advance(self.t + 1)
        rule = self.mine.rule
        self.numbers = rule.catalogue
        z = {}
        for i in range(rule.mixture.size[0]):
            number = rule.mixture.ids[i]
            arms = rule.catalogue.members[number, : rule.catalogue.length[number]]
            z[tuple(arms.tolist())] = float(rule.mixture.weight[i])
        assert set(z) <= set(self.sets) and sum(z.values()) == pytest.approx(1.0, abs=1e-12)
        weights = np.array([z.get(s, 0.0) for s in self.sets])
        best, _ = self.best_value(pay)
        self.programmes += len(pay) > 1
        assert (pay @ weights).min() == pytest.approx(best, rel=1e-7, abs=1e-12)
        return z

    def order(self, one):
        return self.mine.rule.catalogue.find(vector(one, self.d))


def test_fws_is_its_twin_on_single_arms():
    problem = problem_of("single arms")
    for number in range(4):
        twin = FWSTwin(problem, cg.FWS(), number=number)
        assert played(problem, cg.FWS(), 150, number=number) == twin.plays(150)


@pytest.mark.parametrize("case", CASES)
def test_fws_solves_its_programme_and_tracks_it(case):
    problem = problem_of(case)
    twin = Referee(problem, cg.FWS())
    twin.programmes = 0
    setup = cg.FWS().setup(problem)
    twin.mine = Run(problem, setup, NEVER, np.array(MEANS), 1, 7, 2, "python")
    assert played(problem, cg.FWS(), 80) == twin.plays(80)
    assert twin.programmes >= 3  # rounds with more than one rival within r


def test_fws_lists_answers_and_says_where_there_are_too_many():
    problem = cg.Problem(cg.Subsets(40, 4), cg.Subsets(40, 4), cg.Gaussian(0.1))
    with refused("fws-lists", cg.InputError, limit=50_000):
        cg.FWS().setup(problem)
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1, level="per play"))
    with refused("fws-levels", cg.InputError):
        cg.FWS().setup(problem)


def test_fws_explores_while_answers_are_tied():
    """Coins that all show the same are tied: z stays uniform, and all arms are played alike."""
    problem = cg.Problem(cg.Arms(4), None, cg.Bernoulli())
    plays = played(problem, cg.FWS(), 40, means=(1.0, 1.0, 1.0, 1.0))
    assert [plays.count((a,)) for a in range(4)] == [10] * 4


# ---- Thompson


class ThompsonTwin(Twin):
    def choose(self):
        rule = self.rule
        delta = rule.delta or self.delta
        level = math.log(12.0 * len(self.answers) ** 2 * self.t**2 / delta)
        scale = math.sqrt(rule.width * level) / NormalDist().inv_cdf(1.0 - rule.q)
        leads = {}
        for _ in range(rule.samples or math.ceil(level / rule.q)):
            drawn = [
                m + scale * s / math.sqrt(n) * self.rng.standard_normal()
                for m, s, n in zip(self.mean, SIGMA, self.counts, strict=True)
            ]
            found = argmax(self.answers, drawn)
            lead = sum(drawn[a] for a in found) - sum(drawn[a] for a in self.best)
            leads[found] = max(lead, leads.get(found, 0.0))
        rival = max(leads, key=leads.get)
        if leads[rival] <= 1e-12:
            rival = self.nearest()
        arms = set(self.best) ^ set(rival)
        first = min(sorted(arms), key=lambda a: self.counts[a])
        score = [1.0 / self.counts[a] if a in arms else 0.0 for a in range(self.d)]
        return self.certainly(first, score)


@pytest.mark.parametrize(("samples", "width"), [(None, 1.0), (1, 1.0), (1, 4.0)])
@pytest.mark.parametrize("case", CASES)
def test_thompson_is_its_twin(case, samples, width):
    problem, rule = problem_of(case), cg.Thompson(samples=samples, width=width)
    rounds = 25 if samples is None else 120
    assert played(problem, rule, rounds) == ThompsonTwin(problem, rule).plays(rounds)


@pytest.mark.parametrize(
    ("rewards", "bounds"),
    [
        (cg.Bernoulli(), None),
        (cg.Bounded(-1, 2), None),
        (cg.Bernoulli(), (0.2, 0.6)),
        (cg.Gaussian(SIGMA), (0.2, 0.6)),
    ],
    ids=["coins", "bounded", "coins in a box", "Gaussian in a box"],
)
def test_thompson_draws_normals_by_the_spread_that_is_stated(rewards, bounds):
    """1/2 for values 0 or 1; bounds on the means hold for draws too."""
    problem = cg.Problem(cg.Arms(6), None, rewards, bounds=bounds)
    part = cg.Thompson(samples=1, delta=0.1).setup(problem).fresh(None)[0]
    run = Run(problem, cg.Uniform().setup(problem), NEVER, np.array(MEANS), 1, 0, 0, "python")
    run.advance(60)
    recommend(run.game, run.seen, run.view)
    part.choose(run.game, run.seen, run.view, np.random.default_rng(7))
    level = math.log(12.0 * 36 * 60**2 / 0.1)
    scale = math.sqrt(level) / NormalDist().inv_cdf(0.9)
    error = scale * rewards.spread(6) / np.sqrt(run.seen.counts)
    drawn = run.seen.mean + error * np.random.default_rng(7).standard_normal(6)
    assert part.means == pytest.approx(drawn if bounds is None else np.clip(drawn, *bounds))
    assert bounds is None or (part.means != pytest.approx(drawn))


def test_thompson_draws_from_the_posterior_where_sigma_is_not_known():
    problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(None))
    assert not cg.Thompson().setup(problem).fresh(None)[0].stated


# ---- the delta of a run, and the unit of values


@pytest.mark.parametrize("rule", [cg.CLUCB, cg.Thompson], ids=["clucb", "thompson"])
def test_a_rule_without_a_delta_plays_by_that_of_the_run(rule):
    """Of several the smallest; one of its own stays. In `simulate`, in campaigns and in studies."""
    problem = problem_of("two of six, best pair")
    how = {"threshold": "stylised", "runs": 3, "seed": 4, "engine": "python"}

    def rounds(one, delta):
        sim = cg.simulate(problem, MEANS, rule=one, delta=delta, max_rounds=90, **how)
        return sim.leads.tolist()  # after 90 rounds none has stopped

    tiny = 1e-30
    assert rounds(rule(), [0.3, tiny]) == rounds(rule(delta=tiny), [0.3, tiny])
    assert rounds(rule(), [0.3, tiny]) != rounds(rule(delta=0.3), [0.3, tiny])
    bench = make_bench(problem, MEANS, rule(), [0.3, 0.02], "stylised", 0, 90)
    assert bench.rule == rule(delta=0.02)
    five = cg.Instance("five", problem, MEANS)
    with refused("same-run", cg.InputError):
        cg.Campaign.cross("one", [five], [rule(), rule(delta=0.05)], delta=0.05)
    setting = check_setting(problem, rule(), 0.07, "stylised", 0, 0.0, 2, 1, None, None)
    assert Advisor(setting).numbers.rule == rule(delta=0.07)
    assert rule() == rule(delta=None) and rule().at_deltas([0.2]).at_deltas([0.1]).delta == 0.2


SCALED = {
    **TOP_TWO,
    "clucb": cg.CLUCB(),
    "thompson": cg.Thompson(samples=2),
    "p-fws": cg.PFWS(),
    "fws": cg.FWS(),
    "track-and-stop": cg.TrackAndStop(growth=1.5),
    "frank-wolfe": cg.FrankWolfe(),
}


@pytest.mark.parametrize("factor", [1e-12, 1e12])
@pytest.mark.parametrize("name", SCALED)
def test_the_unit_of_the_values_changes_no_play(name, factor):
    """Also where an action leaves room that goes to the arms seen least. Track-and-Stop has many
    optimal allocations there, of which the last bit of a value chooses: a power of 2 keeps that.
    """
    rule, found = SCALED[name], []
    if name == "track-and-stop":
        factor = 2.0 ** round(math.log2(factor))
    for unit in (1.0, factor):
        sigma, means = (np.array(one) * unit for one in (SIGMA, MEANS))
        problem = cg.Problem(cg.Subsets(6, 4), cg.Arms(6), cg.Gaussian(sigma.tolist()))
        found.append(played(problem, rule, 120, means))
    assert found[0] == found[1]


# ---- CSAR


class CSARTwin(Twin):
    def begin(self, problem):
        self.phase, self.accepted, self.rejected = 0, set(), set()

    def within(self, inside, outside):
        sets = [s for s in self.answers if inside <= set(s) and not outside & set(s)]
        return argmax(sets, self.mean) if sets else None

    def choose(self):
        total = sum(1.0 / i for i in range(1, self.d + 1))
        while self.phase < self.d:
            wanted = math.ceil((self.rule.budget - self.d) / (total * (self.d - self.phase)))
            left = [a for a in range(self.d) if a not in self.accepted | self.rejected]
            lack = [max(wanted - n, 0.0) * (a in left) for a, n in enumerate(self.counts)]
            if any(lack):
                tiny = [1e-9 / n**2 for n in self.counts]
                return self.play([x + y for x, y in zip(lack, tiny, strict=True)])
            best = self.within(self.accepted, self.rejected)
            gap = {}
            for a in left:
                one = {a}
                other = (
                    self.within(self.accepted, self.rejected | one)
                    if a in best
                    else self.within(self.accepted | one, self.rejected)
                )
                value = sum(self.mean[b] for b in best)
                gap[a] = math.inf if other is None else value - sum(self.mean[b] for b in other)
            chosen = max(sorted(gap), key=lambda a: round(gap[a], 12))
            (self.accepted if chosen in best else self.rejected).add(chosen)
            self.phase += 1
        return self.play([1.0 / n**2 for n in self.counts])


@pytest.mark.parametrize("case", CASES)
def test_csar_is_its_twin(case):
    problem, rule = problem_of(case), cg.CSAR(90)
    twin = CSARTwin(problem, rule)
    assert played(problem, rule, 110) == twin.plays(110)
    assert twin.phase == 6 and tuple(sorted(twin.accepted)) in twin.answers


def test_csar_spends_its_budget_on_single_arms_and_ends_with_it():
    problem, rule = cg.Problem(cg.Arms(6), None, cg.Gaussian(0.5)), cg.CSAR(120)
    run = Run(problem, rule.setup(problem), NEVER, np.array(MEANS), 1, 7, 2, "python")
    run.advance(120)
    assert run.rule.phase[0] == 6 and run.rule.decided.sum() == -4.0
    how = {"threshold": "csar", "runs": 4, "engine": "python"}
    sim = cg.simulate(problem, (3, 1, 1, 1, 0, 0), rule=rule, delta=0.1, **how)
    assert sim.rounds.tolist() == [120] * 4 and sim.correct.all() and not sim.validity.proved
    with refused("budget-too-small", cg.InputError, budget=11):
        cg.CSAR(11).setup(problem)


# ---- engines


def both(problem, rule, rounds=300, stopping=NEVER):
    runs = []
    for engine in ("python", "compiled"):
        run = Run(problem, rule.setup(problem), stopping, np.array(MEANS), 1, 3, 1, engine)
        run.advance(rounds // 3)
        run.advance(rounds)
        runs.append(run)
    a, b = runs
    assert same(tuple(a.seen), tuple(b.seen)) and same(tuple(a.view), tuple(b.view))
    assert same(a.rule, b.rule) and a.rng.bit_generator.state == b.rng.bit_generator.state


COMPILED = {
    "ttts": TOP_TWO["ttts"],
    "clucb": cg.CLUCB(),
    "track-and-stop": cg.TrackAndStop(growth=1.5),
    "fws": cg.FWS(),
    "p-fws": cg.PFWS(),
    "thompson": cg.Thompson(samples=3),
    "csar": cg.CSAR(300),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", COMPILED)
def test_both_engines_make_the_same_run(name):
    check_rule(COMPILED[name], rounds=300)


@pytest.mark.compiled
def test_both_engines_draw_the_same_rivals():
    problem, rule = problem_of("two of six, best pair"), cg.PFWS(draws=6)
    both(problem, rule, 90, stopping_of(rule, cg.DrawnRivals(6), problem, [1e-9]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clucb", "p-fws", "csar"])
def test_both_engines_make_the_same_run_on_trees(name):
    """Answers that are no arms. All six ask them for the best set and the nearest rival alone, so
    that those three will do which are quickly compiled.
    """
    both(problem_of("best tree"), COMPILED[name])
