"""When a run stops, as one object: the likelihood ratio against beta(t, delta), a rule's own test, or evidence less a fee.

docs/thresholds.md has the theorems and their proofs. If an answer I is not best, some J is better whose difference S = I xor J is one of
M sets (`StructureBase.exchange`). For each S a supermartingale that begins at 1 bounds, with probability 1 - delta/M and for all t,

    sum over a in S of W_a d(mean_a, mu_a)  <=  ln(M / delta) + sum over a in S of fee_a,

so it is safe to stop with I once the nearest alternative at the weights W, less the largest fees that an S can have, exceeds ln(M / delta).

    mixture           W_a = N_a^2 / (N_a + c), fee_a = ln(1 + N_a/c) / 2: sub-Gaussian values (Robbins 1970)
    mixture           W_a = N_a, fee_a = the regret of the Beta(1/2, 1/2) mixture: Bernoulli values, exactly
    gaussian-counts   W_a = N_a, fee_a = 2 ln(4 + ln N_a): Theorem 2 (b) with the counts themselves
    sub-gaussian-counts   W_a = N_a, fee_a = 3 ln(1 + ln N_a): Theorem 2 (a)
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ._marks import compilable, jitable
from .complexity import Complexity, root
from .errors import InputError
from .problem import Problem
from .protocols import Floats, Game, Ints, Rewards, Seen, Structure, Threshold, blank
from .rewards.gaussian import gaussian_part
from .rules import RuleBase, Stopping
from .rules.base import copied
from .structures.eliminating import LIMIT, eliminating
from .thresholds import THRESHOLDS, Validity, c_gaussian, make_threshold, resolve, t_function, validity

PRIORS = (3.0, 30.0, 300.0, 3000.0)  # c, chosen before the data: how many values the prior of a leader's arm is worth
CHANCES = (0.25, 0.35, 0.35, 0.05)  # the weights of the mixture over c
RATIO = 4.0  # the other arms have c / RATIO: they have fewer values
SPREAD = 0.5  # the mixture for a variance: 1/variance ~ Gamma(SPREAD, SPREAD) around the true one
ASIDE = (0.0, 0.02, 0.05, 0.1, 0.2)
VARIANCE_SHARE = 0.1  # of delta, for the variances where they are not known


@compilable
class Fees(Protocol):
    """What a deviation bound charges per arm."""

    def assess(self, seen: Seen, best: Floats, rival: Floats, weight: Floats, fee: Floats) -> float:
        """Write W and the fees, all of them >= 0; return what else is to be subtracted. `rival` was the nearest a round ago."""


@compilable
class Spreads(Protocol):
    """Upper bounds on the variances."""

    @property
    def believed(self) -> Floats:
        """Those with which the rules work."""

    def bounds(self, seen: Seen) -> Floats:
        """One per arm; infinity where nothing is known yet."""


class ConstantPart(NamedTuple):
    """ln(M / delta), or what stands for it."""

    constant: Floats

    def level(self, t: int, which: int) -> float:
        return float(self.constant[which])


@compilable
class JudgePart(NamedTuple):
    """Answers as a bound with fees sees them: `nearest` is the evidence at the weights W, less the largest fees."""

    answers: Structure
    rewards: Rewards
    fees: Fees
    seen: Seen
    most: int  # how many arms two answers that are compared can differ in
    swaps: bool  # one of each side
    shift: float  # what the leader's arms are lifted by: epsilon per arm
    mean: Floats  # scratch
    weight: Floats
    fee: Floats
    rival: Floats  # the nearest of a round ago
    found: Floats  # the nearest of this round, `stamp`: looking twice changes nothing
    stamp: Ints

    def nearest(self, rewards: Rewards, mean: Floats, weight: Floats, best: Floats, rival: Floats, alternative: Floats) -> float:
        if self.seen.clock[0] != self.stamp[0]:
            self.stamp[0] = self.seen.clock[0]
            for a in range(mean.size):
                self.rival[a] = self.found[a]
        price = self.fees.assess(self.seen, best, self.rival, self.weight, self.fee)
        for a in range(mean.size):
            self.mean[a] = mean[a] + self.shift * best[a]
        value = self.answers.nearest(self.rewards, self.mean, self.weight, best, rival, alternative)
        for a in range(mean.size):
            alternative[a] -= self.shift * best[a]
            self.found[a] = rival[a]
        return float(value - price - self.dearest(best))

    def dearest(self, best: Floats) -> float:
        """The largest sum of fees that a difference can have: an arm of each side, or any `most`."""
        if self.swaps:
            inside, outside = 0.0, 0.0
            for a in range(self.fee.size):
                if best[a] > 0.5:
                    inside = max(inside, self.fee[a])
                else:
                    outside = max(outside, self.fee[a])
            return inside + outside
        ordered, total = np.sort(self.fee), 0.0
        for i in range(max(ordered.size - self.most, 0), ordered.size):  # added one by one: both engines have the same sum
            total += ordered[i]
        return total


class LoglogPart(NamedTuple):
    """scale * ln(inside + ln N_a) (Kaufmann and Koolen 2018)."""

    scale: float
    inside: float

    def assess(self, seen: Seen, best: Floats, rival: Floats, weight: Floats, fee: Floats) -> float:
        for a in range(fee.size):
            weight[a] = seen.counts[a]
            fee[a] = self.scale * math.log(self.inside + math.log(max(seen.counts[a], 1.0)))
        return 0.0


@compilable
class MixturePart(NamedTuple):
    """The Gaussian mixture, with the c of `PRIORS` that suits the last rival best: the bound holds for all of them at once."""

    spreads: Spreads
    prior: Floats  # c of the leader's arms; the others have c / RATIO
    cost: Floats  # ln 1/chance of each

    def assess(self, seen: Seen, best: Floats, rival: Floats, weight: Floats, fee: Floats) -> float:
        variance = self.spreads.bounds(seen)
        chosen = self.suit(seen, variance, best, rival)
        for a in range(fee.size):
            n, c = seen.counts[a], self.prior[chosen] if best[a] > 0.5 else self.prior[chosen] / RATIO
            weight[a] = n * n / ((n + c) * variance[a])
            fee[a] = 0.5 * math.log1p(n / c)
            seen.worth[a] = weight[a] * self.spreads.believed[a]
        return float(self.cost[chosen])

    def suit(self, seen: Seen, variance: Floats, best: Floats, rival: Floats) -> int:
        """Where the evidence against the last rival, less its fees, is largest (of free means: it is only a choice)."""
        found, most = self.prior.size // 2, -math.inf
        for k in range(self.prior.size):
            lead, blur, fees = 0.0, 0.0, self.cost[k]
            for a in range(best.size):
                if best[a] != rival[a]:
                    n, c = seen.counts[a], self.prior[k] if best[a] > 0.5 else self.prior[k] / RATIO
                    if n <= 0.0:
                        return found
                    lead += (best[a] - rival[a]) * seen.mean[a]
                    blur += (n + c) * variance[a] / (n * n)
                    fees += 0.5 * math.log1p(n / c)
            if lead <= 0.0 or not blur < math.inf:
                return found
            if 0.5 * lead * lead / blur - fees > most:
                found, most = k, 0.5 * lead * lead / blur - fees
        return found


class KnownPart(NamedTuple):
    """Variances that are known."""

    variance: Floats
    believed: Floats

    def bounds(self, seen: Seen) -> Floats:
        return self.variance


class UnknownPart(NamedTuple):
    """Upper bounds on variances, for all t at once, and the estimates with which the rules work.

    V = sum (x - mean)^2 of N values, V / variance = v, m = N - 1: exp(v/2) Gamma(h + m/2) h^h / (Gamma(h) (h + v/2)^(h + m/2)) is a
    martingale that begins at 1, so v is below the root at which it equals d / delta with probability delta / d only.
    """

    bar: float  # ln(d / delta)
    done: Floats  # N for which `least` is right
    least: Floats  # the root v
    variance: Floats
    believed: Floats  # the variances with which the rules work, and their roots
    sigma: Floats

    def bounds(self, seen: Seen) -> Floats:
        total, degrees = 0.0, 0.0
        for a in range(self.variance.size):
            if seen.counts[a] > 1.0:
                total += seen.squares[a]
                degrees += seen.counts[a] - 1.0
            if seen.counts[a] != self.done[a]:
                self.done[a] = seen.counts[a]
                self.least[a] = least_chi_square(seen.counts[a] - 1.0, self.bar)
            known = self.least[a] > 0.0 and seen.squares[a] > 0.0
            self.variance[a] = seen.squares[a] / self.least[a] if known else math.inf
        pooled = total / degrees if total > 0.0 else 1.0
        for a in range(self.variance.size):  # each arm's own, pulled to the pooled one as if by two values
            own, m = (seen.squares[a], seen.counts[a] - 1.0) if seen.counts[a] > 1.0 else (0.0, 0.0)
            self.believed[a] = (own + 2.0 * pooled) / (m + 2.0)
            self.sigma[a] = math.sqrt(self.believed[a])
        return self.variance


class PluginPart(NamedTuple):
    """No fee: the likelihood ratio at the estimated variances; an arm counts from its second value on."""

    spreads: Spreads

    def assess(self, seen: Seen, best: Floats, rival: Floats, weight: Floats, fee: Floats) -> float:
        self.spreads.bounds(seen)
        for a in range(fee.size):
            weight[a] = seen.counts[a] if seen.counts[a] > 1.0 else 0.0
            fee[a] = 0.0
        return 0.0


class BetaPart(NamedTuple):
    """The regret of the Beta(1/2, 1/2) mixture on N_a values of which s are 1: ln of (s/N)^s (1 - s/N)^(N-s) over its chance."""

    done: Floats  # N and s for which `fee` is right
    ones: Floats

    def assess(self, seen: Seen, best: Floats, rival: Floats, weight: Floats, fee: Floats) -> float:
        for a in range(fee.size):
            weight[a] = seen.counts[a]
            if seen.counts[a] != self.done[a] or seen.sums[a] != self.ones[a]:
                self.done[a], self.ones[a] = seen.counts[a], seen.sums[a]
                fee[a] = beta_regret(seen.counts[a], seen.sums[a])
        return 0.0


@jitable
def beta_regret(n: float, ones: float) -> float:
    """ln of (s/n)^s (1 - s/n)^(n - s) over B(s + 1/2, n - s + 1/2) / pi.

    >>> round(beta_regret(1.0, 1.0), 6)  # the mixture gives a first value the chance 1/2
    0.693147
    """
    if n <= 0.0:
        return 0.0
    s, f = ones, n - ones
    fit = 0.0
    if s > 0.0:
        fit += s * math.log(s / n)
    if f > 0.0:
        fit += f * math.log(f / n)
    return max(fit - (math.lgamma(s + 0.5) + math.lgamma(f + 0.5) - math.lgamma(n + 1.0) - math.log(math.pi)), 0.0)


@jitable
def least_chi_square(m: float, level: float) -> float:
    """The v below m at which the martingale of a variance passes exp(level); 0 if there is none yet, never above the root."""
    if m <= 0.0:
        return 0.0
    h = SPREAD
    constant = h * math.log(h) - math.lgamma(h) + math.lgamma(h + 0.5 * m) - level
    power = h + 0.5 * m
    if constant - power * math.log(h) <= 0.0:
        return 0.0
    v = 0.0
    for _ in range(200):  # Newton on a convex, falling function from the left: it stays on the left
        excess = 0.5 * v + constant - power * math.log(h + 0.5 * v)
        step = excess / (0.5 * power / (h + 0.5 * v) - 0.5)
        if not step > 1e-12 * v:
            break
        v += step
    return v


def _shared(problem: Problem, fees: Callable[[Game], Fees], rewards: Rewards | None, epsilon: float) -> Any:
    """How a game gets its judge."""
    exchange, d = problem.answers.exchange(), problem.d
    shift = epsilon / problem.answers.largest()

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        own = game.rewards if rewards is None else copied(rewards)
        mean, weight, fee, rival, found = np.zeros((5, d))
        part = JudgePart(
            game.answers, own, fees(game), seen, exchange.most, exchange.swaps, shift, mean, weight, fee, rival, found,
            np.full(1, -1, np.int64),
        )  # fmt: skip
        return game._replace(judge=part)

    return watch


def _log_union(problem: Problem) -> float:
    return math.log(max(problem.answers.exchange().number, 1))  # of a whole number that may be too large for a float


def mixture(problem: Problem, deltas: Sequence[float], epsilon: float = 0.0) -> Stopping:
    """The mixture threshold: proved for Gaussian rewards with known or unknown variance, for Bernoulli and for bounded rewards."""
    known, share = problem.rewards.known, 0.0
    what = "independent sub-Gaussian values"
    if problem.rewards.family == "bernoulli" and epsilon == 0.0:
        watch = _shared(problem, lambda game: BetaPart(np.zeros(problem.d), np.zeros(problem.d)), None, 0.0)
        what = "independent values 0 or 1"
    else:
        free = epsilon > 0.0
        low, high = (
            (np.full(problem.d, -np.inf), np.full(problem.d, np.inf)) if free else (np.array(problem.low), np.array(problem.high))
        )
        rewards = gaussian_part(np.ones(problem.d), low, high)
        if not known:
            share, what = VARIANCE_SHARE, "independent Gaussian values, with bounds on the unknown variances"
            _single("unknown variances need a single delta, because their bounds depend on it", deltas)
        cost = -np.log(CHANCES)
        watch = _shared(
            problem, lambda game: MixturePart(_spreads(problem, deltas, game), np.array(PRIORS), cost), rewards, epsilon
        )
    constant = ConstantPart(np.array([_log_union(problem) - math.log1p(-share) - math.log(delta) for delta in deltas]))
    within = f"; any answer within {epsilon:g} of the best counts as correct" if epsilon else ""
    why = Validity(True, f"the method of mixtures over the arms in which answers differ (docs/thresholds.md): {what}{within}")
    return Stopping("mixture", constant, watch, why, epsilon=epsilon)


def _spreads(problem: Problem, deltas: Sequence[float], game: Game) -> Spreads:
    d = problem.d
    if problem.rewards.known:
        variance = problem.rewards.spread(d) ** 2
        return KnownPart(variance, variance)
    level = math.log(d / (VARIANCE_SHARE * deltas[0]))
    return UnknownPart(level, np.zeros(d), np.zeros(d), np.full(d, math.inf), np.ones(d), game.rewards.sigma)  # type: ignore[attr-defined]


def by_counts(name: str, problem: Problem, deltas: Sequence[float]) -> Stopping:
    """Theorem 2 with the counts of the arms in question instead of their average t K / d_0, and over adjacent answers only."""
    most, log_union, gaussian = problem.answers.exchange().most, _log_union(problem), name == "gaussian-counts"
    size, function = float(most), c_gaussian if gaussian else t_function
    constant = ConstantPart(np.array([size * function((log_union - math.log(delta)) / size) for delta in deltas]))
    fees = LoglogPart(2.0, 4.0) if gaussian else LoglogPart(3.0, 1.0)
    base = validity(name.removesuffix("-counts"), problem)
    why = base._replace(reason=base.reason + "; with the counts themselves (docs/thresholds.md)")
    return Stopping(name, constant, _shared(problem, lambda game: fees, None, 0.0), why)


def plugged(problem: Problem, deltas: Sequence[float]) -> Stopping:
    """The stylised threshold with estimated variances."""
    watch = _shared(problem, lambda game: PluginPart(_spreads(problem, [0.5], game)), None, 0.0)
    why = Validity(False, "ln((1 + ln t)/delta) on the likelihood ratio at estimated variances; no theorem covers it")
    return Stopping("stylised", make_threshold("stylised", problem, deltas), watch, why)


def make_stopping(
    rule: RuleBase, threshold: str, problem: Problem, deltas: Sequence[float], eliminate: bool = False, epsilon: float = 0.0
) -> Stopping:
    """The stopping rule of a name; the rule's own, where it has one, stands for "proved"."""
    own = rule.stopping(problem, deltas) if threshold not in THRESHOLDS else None
    mine = own is not None and threshold in ("proved", own.name)
    name = own.name if own is not None and mine else resolve(threshold, problem)
    epsilon = _epsilon(epsilon)
    if epsilon and name != "mixture":
        raise InputError(f"epsilon = {epsilon:g} needs the threshold 'mixture', not {name!r}.")
    if eliminate and (mine or THRESHOLDS[name] is None or not problem.rewards.known):
        raise InputError(
            f"eliminate=True needs 'stylised', 'gaussian' or 'sub-gaussian' and known variances; here the threshold is {name!r}."
        )
    if own is not None and mine:
        return own
    if name == "mixture":
        return mixture(problem, deltas, epsilon)
    if not problem.rewards.known:
        if name != "stylised":
            raise InputError(
                f"threshold = {name!r} needs known variances; use 'mixture' (or 'stylised', a heuristic), or give Gaussian a sigma."
            )
        return plugged(problem, deltas)
    if THRESHOLDS[name] is None:
        return by_counts(name, problem, deltas)
    usual = Stopping(name, make_threshold(name, problem, deltas), None, validity(name, problem))
    return _eliminating(usual, problem, deltas) if eliminate else usual


def _epsilon(epsilon: Any) -> float:
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.number) or not 0.0 <= epsilon < math.inf:
        raise InputError(
            f"epsilon = {epsilon!r} must be a number of at least 0: by how much an answer may be worse than the best."
        )
    return float(epsilon)


def _single(why: str, deltas: Sequence[float]) -> None:
    if len(deltas) > 1:
        raise InputError(f"{why}; got {list(deltas)}.")


def _eliminating(usual: Stopping, problem: Problem, deltas: Sequence[float]) -> Stopping:
    number = problem.answers.size()
    if number is None or number > LIMIT:
        raise InputError(
            f"eliminate=True lists the answers, at most {LIMIT:,}, and {problem.answers!r} has {number or 'an unknown number of them'}: "
            "drop eliminate, or give the answers with Listed."
        )
    _single("eliminate=True needs a single delta, because what is discarded depends on it", deltas)

    def watch(game: Game, level: Threshold, seen: Seen) -> Game:
        left = eliminating(problem.answers, game.rewards, level, seen)
        return game._replace(answers=left, judge=left)  # nature too may only choose among those that are left

    return usual._replace(watch=watch)


def judge(stopping: Stopping, problem: Problem, mean: Floats, counts: Floats, spread: Floats, best: Floats) -> float:
    """The evidence for an answer after `counts` values per arm with these means and standard deviations."""
    seen, game, rival, alternative = blank(problem.d), problem.game(), np.zeros(problem.d), np.zeros(problem.d)
    seen.counts[:], seen.sums[:], seen.mean[:] = counts, counts * mean, mean
    seen.squares[:] = np.maximum(counts - 1.0, 0.0) * spread**2
    if stopping.watch is not None:
        game = stopping.watch(game, stopping.threshold, seen)
    for seen.clock[0] in (1, 2):  # the second time the rival is known
        value = game.judge.nearest(game.rewards, seen.mean, seen.counts, best, rival, alternative)
    return value


def limit(stopping: Stopping, problem: Problem, means: Floats, found: Complexity, which: int = 0) -> float:
    """Where a run stops that knows the means and plays the optimal allocation: t = beta(t, delta)/D_nu; NaN if the test is another.

    Fees weigh on arms with few values, which that allocation may have: with fees, a share of the covering is mixed in, the best of
    `ASIDE`.
    """
    if not stopping.likelihood:
        return math.nan
    if found.time in (0.0, math.inf):
        return found.time
    if stopping.watch is None:
        return root(lambda t: t >= stopping.threshold.level(int(t), which) * found.time)
    best, spread, aside = np.zeros(problem.d), problem.rewards.spread(problem.d), np.zeros(problem.d)
    problem.game().answers.argmax(means, best)
    rows = problem.actions.covering()
    for chosen in rows:
        aside[list(chosen)] += 1.0 / len(rows)

    def ends(share: float) -> float:
        played = (1.0 - share) * found.allocation + share * aside

        def passed(t: float) -> bool:
            return judge(stopping, problem, means, t * played, spread, best) > stopping.threshold.level(int(t), which)

        return root(passed)

    return min(map(ends, ASIDE))
