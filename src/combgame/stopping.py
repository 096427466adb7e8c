"""When a run stops, as one object: the likelihood ratio against beta(t, delta), a rule's own test, or evidence less a fee.

docs/thresholds.md has the theorems and their proofs. If an answer I is not best, some J is better whose difference S = I xor J is one of
M sets (`StructureBase.exchange`). For each S a supermartingale that begins at 1 bounds, with probability 1 - delta/M and for all t,

    sum over a in S of W_a d(mean_a, mu_a)  <=  ln(M / delta) + sum over a in S of fee_a,

so it is safe to stop with I once the nearest alternative at the weights W, less the largest fees that an S can have, exceeds ln(M / delta).

    mixture           W_a = N_a^2 / (N_a + c), fee_a = ln(1 + N_a/c) / 2: sub-Gaussian values (Robbins 1970); where answers differ by
                      exchanges, the mixture over c itself, one-sided, pair by pair (`judges.PairsPart`)
    mixture           W_a = N_a, fee_a = the regret of the Beta(1/2, 1/2) mixture: Bernoulli values, exactly
    gaussian-counts   W_a = N_a, fee_a = 2 ln(4 + ln N_a): Theorem 2 (b) with the counts themselves
    sub-gaussian-counts   W_a = N_a, fee_a = 3 ln(1 + ln N_a): Theorem 2 (a)
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .complexity import Complexity, root
from .errors import InputError
from .judges import (
    BetaPart,
    ConstantPart,
    Fees,
    JudgePart,
    KnownPart,
    LoglogPart,
    MixturePart,
    PairJudgePart,
    PairsPart,
    PluginPart,
    UnknownPart,
)  # fmt: skip
from .labels import labelled
from .problem import Problem
from .protocols import Floats, Game, Rewards, Seen, Threshold, blank
from .rewards.gaussian import gaussian_part
from .rules import RuleBase, Stopping
from .structures.eliminating import LIMIT, eliminating
from .thresholds import THRESHOLDS, Validity, c_gaussian, make_threshold, resolve, t_function, validity

# c, chosen before the data: how many values the prior of an arm is worth. One row per scale of the mixture: c for arms of the leading
# answer and for the others, whether their priors are one-sided, and the chance of the scale. The last two are for arms that are known far
# more precisely than others, such as a leader that is in every play, against many rivals.
SCALES = np.array([
    (3.0, 1.0, 1, 1, 0.25),
    (30.0, 10.0, 1, 1, 0.25),
    (300.0, 100.0, 1, 1, 0.25),
    (3000.0, 1000.0, 1, 1, 0.05),
    (100.0, 1.0, 0, 1, 0.17),
    (30.0, 30.0, 0, 0, 0.03),
])  # fmt: skip
ASIDE = (0.0, 0.02, 0.05, 0.1, 0.2)
VARIANCE_SHARE = 0.1  # of delta, for the variances where they are not known


def _judge(problem: Problem, game: Game, fees: Fees, rewards: Rewards, seen: Seen, epsilon: float = 0.0) -> JudgePart:
    exchange = problem.answers.exchange()
    mean, weight, fee, rival, found = np.zeros((5, problem.d))
    return JudgePart(
        game.answers, rewards, fees, seen, exchange.most, exchange.swaps, epsilon / problem.answers.largest(),
        mean, weight, fee, rival, found, np.full(1, -1, np.int64),
    )  # fmt: skip


def _charging(problem: Problem, fees: Callable[[Game], Fees]) -> Any:
    """How a game gets a judge that takes fees off its own likelihood ratio."""

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        return game._replace(judge=_judge(problem, game, fees(game), game.rewards, seen))

    return watch


def _mixing(problem: Problem, deltas: Sequence[float], epsilon: float) -> Any:
    """How a game gets the judge of the Gaussian mixture: pair by pair where answers differ by exchanges."""
    d, swaps, scales = problem.d, problem.answers.exchange().swaps, len(SCALES)
    end = np.full(d, np.inf)
    low, high = (-end, end) if epsilon > 0.0 else (np.array(problem.low), np.array(problem.high))

    def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
        spreads, rewards = _spreads(problem, deltas, game), gaussian_part(np.ones(d), low, high)
        prior, cost = SCALES[:, :2].T.copy(), -np.log(SCALES[:, 4])
        sided = SCALES[:, 2:4].T * float(problem.rewards.known)
        if not swaps:
            return game._replace(judge=_judge(problem, game, MixturePart(spreads, prior, cost), rewards, seen, epsilon))
        pairs = PairsPart(
            seen, spreads.variance, low.copy(), high.copy(), prior, cost, sided, np.full((2, d), -1.0),
            np.zeros((2, d, scales)), np.zeros((2, d, scales)), np.zeros((6, scales)), np.zeros(1),
        )  # fmt: skip
        shift, floor = epsilon / problem.answers.largest(), min(threshold.level(0, which) for which in range(len(deltas)))
        mean, weight, sign, rival, alternative = np.zeros((5, d))
        part = PairJudgePart(
            game.answers,
            rewards,
            spreads,
            pairs,
            seen,
            shift,
            floor,
            mean,
            weight,
            np.zeros(d, np.int64),
            sign,
            rival,
            alternative,
        )
        return game._replace(judge=part)

    return watch


def _log_union(problem: Problem) -> float:
    return math.log(max(problem.answers.exchange().number, 1))  # of a whole number that may be too large for a float


def mixture(problem: Problem, deltas: Sequence[float], epsilon: float = 0.0) -> Stopping:
    """The mixture threshold: proved for Gaussian rewards with known or unknown variance, for Bernoulli and for bounded rewards."""
    share, what = 0.0, "independent sub-Gaussian values"
    if problem.rewards.family == "bernoulli" and epsilon == 0.0:
        watch = _charging(problem, lambda game: BetaPart(np.zeros(problem.d), np.zeros(problem.d)))
        what = "independent values 0 or 1"
    else:
        if not problem.rewards.known:
            share, what = VARIANCE_SHARE, "independent Gaussian values, with bounds on the unknown variances"
            _single("unknown variances need a single delta, because their bounds depend on it", deltas)
        watch = _mixing(problem, deltas, epsilon)
    constant = ConstantPart(np.array([_log_union(problem) - math.log1p(-share) - math.log(delta) for delta in deltas]))
    within = f"; any answer within {epsilon:g} of the best counts as correct" if epsilon else ""
    why = Validity(True, f"the method of mixtures over the arms in which answers differ (docs/thresholds.md): {what}{within}")
    return Stopping("mixture", constant, watch, why, epsilon=epsilon)


def _spreads(problem: Problem, deltas: Sequence[float], game: Game) -> KnownPart | UnknownPart:
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
    return Stopping(name, constant, _charging(problem, lambda game: fees), why)


def plugged(problem: Problem, deltas: Sequence[float]) -> Stopping:
    """The stylised threshold with estimated variances."""
    watch = _charging(problem, lambda game: PluginPart(_spreads(problem, [0.5], game)))
    why = Validity(False, "ln((1 + ln t)/delta) on the likelihood ratio at estimated variances; no theorem covers it")
    return Stopping("stylised", make_threshold("stylised", problem, deltas), watch, why)


def make_stopping(
    rule: RuleBase, threshold: str, problem: Problem, deltas: Sequence[float], eliminate: bool = False, epsilon: float = 0.0
) -> Stopping:
    """The stopping rule of a name; the rule's own, where it has one, stands for "proved"."""
    found = _make(rule, threshold, problem, deltas, eliminate, epsilon)
    return found._replace(validity=labelled(found, problem))


def _make(rule: RuleBase, threshold: str, problem: Problem, deltas: Sequence[float], eliminate: bool, epsilon: float) -> Stopping:
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
