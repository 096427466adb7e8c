"""The generalised likelihood ratio: how strongly the data speak for the leading answer against its
closest rival.

The one scale on which evidence is shown to people.

A judge compares evidence less fees with ln(M/delta), each in its own way. What is shown has the
likelihood ratio against the rival on the left, never negative, and all that is asked of it on the
right: have > needed exactly where evidence > level.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..engine.likelihood_ratio import against
from ..engine.protocols import Game
from ..engine.state import Floats, View, arms_of
from ..engine.statistics import Seen
from ..engine.user_code import own_errors
from ..errors import InputError, must_be, said_by
from ..problem import Problem, check_deltas
from ..rewards import Gaussian
from ..rewards.gaussian import GaussianPart
from ..stopping.base import StoppingBase, Validity
from ..stopping.registry import make_stopping
from ..tables import is_frame, totals
from .complexity import order_of
from .stopping_time import looked


class Shown(NamedTuple):
    """The likelihood ratio (its logarithm), and what it must exceed."""

    have: float
    needed: float


def shown(
    game: Game, seen: Seen, best: Floats, rival: Floats, evidence: float, level: float
) -> Shown:
    """What a judge's evidence against a rival and its level are on this scale.

    Where the ratio is less than the evidence (spreads that are not stated are estimated), the
    evidence stands for it; so `needed` is never below the level.
    """
    if evidence == math.inf or level == math.inf:  # no rival, or a rule that never stops
        return Shown(float(max(evidence, 0.0)), float(level))
    d, nearest = best.size, np.zeros(best.size)
    arms, sign = np.zeros(d, np.int64), np.zeros(d)
    ratio = against(game.rewards, seen.mean, seen.counts, best, arms, sign, rival, nearest)
    if isinstance(game.rewards, GaussianPart) and not game.rewards.spreads.known:
        ratio = _estimated(game.rewards, seen, nearest)
    if evidence == -math.inf:  # an arm has no value, or the rival leads
        return Shown(float(max(ratio, 0.0)), float(max(ratio, 0.0) + level))
    have = float(max(ratio if ratio < math.inf else 0.0, evidence, 0.0))
    return Shown(have, float(have - (evidence - level)))


def restricted(ratio: float, degrees: float) -> float:
    """The likelihood ratio where sigma is estimated, with so many degrees of freedom: few of them
    make any ratio at the estimate look large.

    >>> round(restricted(245.9, 2), 2), round(restricted(245.9, 10**6), 1), restricted(3.0, 0)
    (5.51, 245.8, 0.0)
    """
    return 0.5 * degrees * math.log1p(2.0 * ratio / degrees) if degrees > 0.0 else 0.0


def _estimated(rewards: GaussianPart, seen: Seen, nearest: Floats) -> float:
    """The same against the means at which a rival is as good, for every sigma that is estimated."""
    spreads: Any = rewards.spreads
    alone = spreads.lean < math.inf
    ratio, degrees = np.zeros((2, nearest.size))
    for a, n in enumerate(seen.counts):
        group = a if alone else spreads.group[a]
        degrees[group] += max(n - 1.0, 0.0)
        if n > 0.0:
            ratio[group] += n * rewards.divergence(float(seen.mean[a]), float(nearest[a]), a)
    return sum(restricted(float(x), float(f)) for x, f in zip(ratio, degrees, strict=True))


class Evidence(NamedTuple):
    """The leading answer, its closest rival, and min_J inf_lambda sum_a N_a d(mean_a, lambda_a).

    `threshold` is what the value must exceed at these counts for a confidence of 1 - delta, and
    `validity` whether that is proved, and why (None if no delta was given).
    """

    answer: tuple[int, ...]
    rival: tuple[int, ...]
    value: float
    threshold: float | None = None
    validity: Validity | None = None

    @property
    def certified(self) -> bool:
        """Whether the evidence is enough. With a proved threshold, `answer` is then wrong with
        probability at most delta.
        """
        return self.threshold is not None and self.value > self.threshold

    def __str__(self) -> str:
        """
        >>> print(Evidence((0,), (1,), 1.25))
        {0} leads, the closest rival is {1}, and the evidence between them is 1.25.
        """
        sets = ["{" + ", ".join(map(str, arms)) + "}" for arms in (self.answer, self.rival)]
        text = f"{sets[0]} leads, the closest rival is {sets[1]}, and the evidence between them "
        if self.threshold is None:
            return f"{text}is {self.value:.2f}."
        enough = "enough" if self.certified else "not enough"
        return (
            f"{text}is {enough}: {self.value:.2f} of {self.threshold:.2f} needed. The threshold is "
            f"{self.validity}."
        )


def evidence(
    problem: Problem,
    estimates: Any,
    counts: Any = None,
    *,
    delta: float | None = None,
    threshold: str | StoppingBase = "mixture",
    spreads: Any = None,
    weights: Any = None,
) -> Evidence:
    """The evidence that `counts` observations per arm with means `estimates` give, exactly; with
    delta, whether it is enough.

    The guarantee holds however the data were collected, and however often you look, as long as what
    to measure next never depended on values that are not counted here. Instead of estimates and
    counts, a data frame of all values will do, with the columns arm and value, or a column per arm.
    An arm that was never
    observed has the count 0, and any estimate. spreads: the sample standard deviations (with N -
    1), for `Gaussian()` and the like: each arm's own counts then, because what arms share may only
    be used by those who saw the values one by one, as a `Study` does. weights: instead of
    counts, numbers that need not be whole, such as an allocation (`complexity(...).allocation`);
    nothing was observed then, so there is no delta.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0))
    >>> seen = cg.evidence(problem, [0.5, 0.1, 0.0], [100, 100, 100])
    >>> seen.answer, seen.rival, round(seen.value, 12)
    ((0,), (1,), 4.0)
    >>> cg.evidence(problem, [0.9, 0.1, 0.0], [200, 200, 200], delta=0.05).certified
    True
    """
    if not isinstance(problem, Problem):
        raise must_be("problem", problem, "a Problem", remedy="it comes first", of="evidence")
    if is_frame(estimates):
        if not (counts is weights is spreads is None):
            raise InputError(
                "frame-says-all",
                "a data frame of values says counts and spreads itself",
                remedy="leave them out",
            )
        estimates, counts, spreads = totals(problem, estimates)
    if delta is not None and problem.rewards.levels():
        raise InputError(
            "level-evidence",
            "evidence: where every play has a level of its own, means and counts per arm do not "
            "say which values were in the same play",
            remedy="tell the plays to a Study, which compares arms within plays",
        )
    mean, weight = problem.vector(estimates, "estimates"), _weight(problem, counts, weights, delta)
    low, high = problem.rewards.values(problem.d)
    if ((mean < low) | (mean > high)).any():
        what, rewards = "between {low} and {high} for {rewards}", str(problem.rewards)
        raise must_be("estimates", mean.tolist(), what, low=low, high=high, rewards=rewards)
    if delta is not None:
        for a, (x, n) in enumerate(zip(mean, weight, strict=True)):
            if n > 0.0 and (why := problem.coarse(a, x, n)) is not None:
                why = why.within("estimates: arm {arm}", arm=problem.label([a]))
                raise said_by(InputError, why)
    known, stated = problem.rewards.known, str(problem.rewards)
    if isinstance(problem.rewards, Gaussian) and not known:
        problem = replace(problem, rewards=replace(problem.rewards, shared=False, level=None))
    if known != (spreads is None):
        raise InputError(
            "spreads-if-unknown",
            "spreads, the sample standard deviations per arm, are for rewards whose sigma is not "
            "known, such as Gaussian(), and needed there; here the rewards are {rewards}",
            remedy="give one per arm, or leave them out",
            rewards=stated,
        )
    scatter = problem.noise() if known else problem.vector(spreads, "spreads")
    if (scatter < 0.0).any():
        raise must_be("spreads", scatter.tolist(), "sample standard deviations, 0 or more")
    mean, problem = problem.inside(mean), problem.maximised
    order = order_of(
        problem, mean, weight, scatter
    )  # an order of the values, so that the given numbers change nothing
    mine = problem.numbered(order)
    if mine is None:
        mine, order = problem, np.arange(problem.d)
    mean, weight, scatter = mean[order], weight[order], scatter[order]
    game = mine.game()
    if not known:  # the likelihood ratio at the spreads that were seen
        seen = Gaussian(np.where(scatter > 0.0, scatter, 1.0).tolist())
        game = game._replace(rewards=seen.part(np.array(mine.low), np.array(mine.high)))
    best, rival, alternative = np.zeros(problem.d), np.zeros(problem.d), np.zeros(problem.d)
    feasible = np.array([game.rewards.project(float(x), a) for a, x in enumerate(mean)])
    with own_errors():
        game.answers.argmax(feasible, best)
        value = game.answers.nearest(game.rewards, mean, weight, best, rival, alternative)
    level, validity = None, None
    # t K in the threshold bounds the number of values seen: that number itself will do
    if delta is not None:
        rounds = math.ceil(float(weight.sum()) / problem.actions.largest())
        stopping = make_stopping(threshold, mine, _one(delta))
        validity = stopping.validity
        level = stopping.threshold.level(rounds, 0)
        if stopping.watch is not None:  # the fees are part of what the value must exceed
            found = looked(stopping, mine, mean, weight, scatter, best)
            value, level = _weighed(found, best, rival, level)
    answer, other = (tuple(sorted(order[list(arms_of(one))].tolist())) for one in (best, rival))
    return Evidence(answer, other, float(value), level, validity)


def _weighed(found: tuple[Game, Seen, View], best: Floats, rival: Floats, level: float) -> Shown:
    """Against the rival that is weakest after fees, which is written."""
    game, seen, view = found
    less, other = float(view.evidence[0]), np.zeros(best.size)
    with own_errors():
        least = game.judge.weakest(game, seen, best, other, np.zeros(best.size))
    rival[:] = other if least < less else view.rival
    return shown(game, seen, best, rival, min(least, less), level)


def _weight(problem: Problem, counts: Any, weights: Any, delta: float | None) -> Floats:
    """How many values each arm has, or what stands for that."""
    if (counts is None) == (weights is None):
        raise InputError(
            "counts-or-weights",
            "evidence takes either counts, the number of values per arm, or weights",
            remedy="give one of the two",
        )
    if weights is not None:
        if delta is not None:
            raise InputError(
                "delta-without-counts",
                "evidence: whether it is enough for a delta is a question about values that were "
                "seen, and weights are none",
                remedy="give counts, or leave delta out",
            )
        shares = problem.vector(weights, "weights")
        if (shares < 0).any():
            raise must_be("weights", shares.tolist(), "0 or more")
        return shares
    numbers = problem.vector(counts, "counts")
    if (numbers < 0).any():
        raise must_be("counts", numbers.tolist(), "numbers of values seen, 0 or more")
    broken = np.flatnonzero(numbers != np.floor(numbers))
    if broken.size:
        raise InputError(
            "count-not-whole",
            "counts: arm {arm} has {count:g}, which is not a whole number of values",
            remedy="estimates come first, then counts: they may be swapped. Weights that are no "
            "counts, such as an allocation, are given as weights",
            arm=problem.label(broken[:1]),
            count=numbers[broken[0]],
        )
    return numbers


def _one(delta: Any) -> list[float]:
    deltas = check_deltas(delta)
    if len(deltas) > 1:
        what = "one number, such as 0.05"
        raise must_be("delta", delta, what, remedy="ask once for each of several", of="evidence")
    return deltas
