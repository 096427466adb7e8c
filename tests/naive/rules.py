"""Twins of the sampling rules: a run in lists and dictionaries, which enumerates."""

import math
from fractions import Fraction
from itertools import cycle
from statistics import NormalDist

import numpy as np
import pytest
from scipy.optimize import linprog

from combgame.engine.state import vector
from combgame.rules._allocation import make_allocation
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER

SEED = 7


class Twin:
    """A run in lists: `choose` is what the twin of a rule has to say."""

    delta = 0.1  # where a rule has none of its own, and there is no run that says it

    def __init__(self, problem, rule, means, number=2):
        self.rule, self.means, self.d, self.number = rule, means, problem.d, number
        self.sigma = problem.rewards.sub_gaussian_scale(problem.d).tolist()
        self.sets, self.answers = problem.actions.to_list(), problem.answers.to_list()
        self.actions, self.start = problem.actions, problem.actions.covering()
        self.rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(number,)))
        self.counts, self.values = [0.0] * self.d, [[] for _ in range(self.d)]
        self.begin(problem)

    def begin(self, problem):
        pass

    def over(self):
        """What must hold after the last play."""

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
                self.values[a].append(self.means[a] + self.sigma[a] * self.rng.standard_normal())
                self.counts[a] += 1.0
            found.append(tuple(sorted(chosen)))
        return found

    def against(self, leader, rival, weight=None):
        """f_J, and the gain of a value of each arm, in closed form."""
        weight = self.counts if weight is None else weight
        arms = sorted(set(leader) ^ set(rival))
        lead = sum(self.mean[a] for a in leader) - sum(self.mean[a] for a in rival)
        spread = sum(self.sigma[a] ** 2 / weight[a] for a in arms)
        lead = max(lead, 0.0)
        gain = {a: 0.5 * (self.sigma[a] * lead / spread / weight[a]) ** 2 for a in arms}
        return lead**2 / (2.0 * spread), gain

    def nearest_alternative(self, weight=None):
        rivals = [j for j in self.answers if j != self.best]
        return min(rivals, key=lambda j: self.against(self.best, j, weight)[0])

    def forced(self):
        """The play for the arms that lack values, if there are any."""
        even = self.t * max(map(len, self.sets)) / self.d
        floor = max(
            self.rule.exploration * math.sqrt(even) * even / (even + self.rule.exploration_delay),
            0.5,
        )
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


class TopTwoTwin(Twin):
    def sample(self):
        scale = [s / math.sqrt(n) for s, n in zip(self.sigma, self.counts, strict=True)]
        return [m + x * self.rng.standard_normal() for m, x in zip(self.mean, scale, strict=True)]

    def choose(self):
        if (forced := self.forced()) is not None:
            return forced
        leader = self.best
        if self.rule.leader == "ucb":
            up = [
                m + s * math.sqrt(2.0 * math.log(self.t) / n)
                for m, s, n in zip(self.mean, self.sigma, self.counts, strict=True)
            ]
            leader = argmax(self.answers, up)
        if self.rule.leader == "sample":
            leader = argmax(self.answers, self.sample())
        rival = None
        if self.rule.challenger == "sample":
            for _ in range(self.rule.max_resamples):
                drawn = argmax(self.answers, self.sample())
                if drawn != leader:
                    rival = drawn
                    break
        if rival is None:
            rival = self.nearest_alternative() if leader == self.best else self.best
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


class CLUCBTwin(Twin):
    def radii(self, delta):
        level = math.log(4.0 * self.d * max(self.t, 1) ** 3 / delta)
        return [
            s * math.sqrt(2.0 * level / n) for s, n in zip(self.sigma, self.counts, strict=True)
        ]

    def optimist(self, delta):
        radius = self.radii(delta)
        sign = [-1.0 if a in self.best else 1.0 for a in range(self.d)]
        moved = [m + s * r for m, s, r in zip(self.mean, sign, radius, strict=True)]
        return argmax(self.answers, moved)

    def choose(self):
        delta = self.rule.delta or self.delta
        radius, other = self.radii(delta), self.optimist(delta)
        if other == self.best:
            other = self.nearest_alternative()
        arms = set(self.best) ^ set(other)
        first = max(sorted(arms), key=lambda a: (radius[a], -a))
        top = radius[first]
        score = [radius[a] / top if a in arms else 0.0 for a in range(self.d)]
        return self.certainly(first, score)


class TrackingTwin(Twin):
    """The shares are those of the part, interpreted: what is compared is when they are asked for
    and how they are followed.
    """

    def begin(self, problem):
        self.kernel = problem.kernel()
        self.allocation = make_allocation(problem.actions, self.rule.tolerance)
        self.due, self.shares = (
            0,
            [np.mean([[a in s for a in range(self.d)] for s in self.start], 0)],
        )
        self.shares = self.shares * len(self.start)

    def choose(self):
        if self.t >= self.due:
            self.due = max(self.t + 1, math.ceil(self.rule.recompute_factor * self.t))
            best = np.array([float(a in self.best) for a in range(self.d)])
            self.allocation.solve(self.kernel, np.array(self.mean), best)
        self.shares.append(self.allocation.share.copy())
        if (forced := self.forced()) is not None:
            return forced
        if self.rule.tracking == "D":
            wanted = (self.t + 1) * self.shares[-1]
        else:
            wanted = np.sum(self.shares, axis=0)
        return self.play(wanted - np.array(self.counts))


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
            _, gain = self.against(self.best, self.nearest_alternative(weight), weight)
            for a, g in gain.items():
                total[a] += g
        return self.play(total)


class PublicCode(Twin):
    """The public code of P-FWS, step by step; the search draws from `rng`."""

    def search(self, weight, draws, rng):
        top, large = max(self.mean), max(map(len, self.answers))
        heavy = sum(self.sigma[a] ** 2 / w for a, w in enumerate(weight) if w > 1e-10)
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
            alpha = lead / sum(self.sigma[a] ** 2 / weight[a] for a in differ)
            for a in range(self.d):
                half = alpha**2 * self.sigma[a] ** 2 / (2.0 * weight[a])
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
            _, rival, alpha = self.search(weight, self.rule.n_draws, self.rng)
            for a in set(self.best) ^ set(rival):
                score[a] += 0.5 * (alpha * self.sigma[a] / share[a]) ** 2
        return self.play(score)


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

    def begin(self, problem):
        super().begin(problem)
        setup, means = self.rule.bind(problem), np.array(self.means)
        self.mine = Run(InitialState(problem, setup, NEVER, 1, "python"), means, SEED, self.number)
        self.programmes = 0  # rounds with more than one rival within r

    def over(self):
        assert self.programmes >= 3

    def solution(self, pay):
        self.mine.advance(self.t + 1)
        rule = self.mine.rule
        self.numbers = rule.table
        z = {}
        for i in range(rule.weights.size[0]):
            number = rule.weights.ids[i]
            arms = rule.table.arms[number, : rule.table.sizes[number]]
            z[tuple(arms.tolist())] = float(rule.weights.values[i])
        assert set(z) <= set(self.sets) and sum(z.values()) == pytest.approx(1.0, abs=1e-12)
        weights = np.array([z.get(s, 0.0) for s in self.sets])
        best, _ = self.best_value(pay)
        self.programmes += len(pay) > 1
        assert (pay @ weights).min() == pytest.approx(best, rel=1e-7, abs=1e-12)
        return z

    def order(self, one):
        return self.mine.rule.table.lookup(vector(one, self.d))


class ThompsonTwin(Twin):
    def choose(self):
        rule = self.rule
        delta = rule.delta or self.delta
        level = math.log(12.0 * len(self.answers) ** 2 * self.t**2 / delta)
        scale = math.sqrt(rule.posterior_scale * level) / NormalDist().inv_cdf(1.0 - rule.q)
        leads = {}
        for _ in range(rule.n_samples or math.ceil(level / rule.q)):
            drawn = [
                m + scale * s / math.sqrt(n) * self.rng.standard_normal()
                for m, s, n in zip(self.mean, self.sigma, self.counts, strict=True)
            ]
            found = argmax(self.answers, drawn)
            lead = sum(drawn[a] for a in found) - sum(drawn[a] for a in self.best)
            leads[found] = max(lead, leads.get(found, 0.0))
        rival = max(leads, key=leads.get)
        if leads[rival] <= 1e-12:
            rival = self.nearest_alternative()
        arms = set(self.best) ^ set(rival)
        first = min(sorted(arms), key=lambda a: self.counts[a])
        score = [1.0 / self.counts[a] if a in arms else 0.0 for a in range(self.d)]
        return self.certainly(first, score)


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

    def over(self):
        assert self.phase == 6 and tuple(sorted(self.accepted)) in self.answers


class FrankWolfeTwin(Twin):
    """From the description: the rivals met so far, with the round when each was last nearest."""

    def begin(self, problem):
        self.rivals, self.places = {}, self.rule.max_rivals or 16

    def choose(self):
        near = {j: self.against(self.best, j) for j in self.answers if j != self.best}
        self.rivals.pop(self.best, None)
        if (forced := self.forced()) is not None:
            return forced
        self.rivals[min(near, key=lambda j: near[j][0])] = self.t
        while len(self.rivals) > self.places:
            self.rivals.pop(min(self.rivals, key=self.rivals.get))
        rate = self.rule.sharpness / math.sqrt(1.0 + self.t / self.rule.anneal_after)
        least = min(near[j][0] for j in self.rivals)
        score = [1e-9 / n**2 for n in self.counts]
        for j in self.rivals:
            value, gain = near[j]
            for a, g in gain.items():
                score[a] += math.exp(-rate * (value - least)) * g
        return self.play(score)
