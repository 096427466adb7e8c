"""Values that are hard to believe. A heuristic for people to look at: it says so, and has no part
in stopping.

Of every arm the smallest and the largest value are kept (`far`), each with how many values it is
the mean of and its round. Each is compared with the mean of the arm's other values. Without any
mistake, and for Gaussian values, some value is doubted at a given look with probability at most
`ALARM`, whatever their number N:

    sigma known      |x - mean| > sqrt(2 ln(2 N / ALARM)) standard errors, a union bound over the
                     N values
    sigma unknown    |x - mean| > the quantile of Student's t with the others' degrees of freedom,
                     in standard errors that are estimated from the others, or, if that is more,
                     from the median arm. An arm with two values has one other: then the variance
                     is the median arm's alone, with 0.4 times all arms' degrees of freedom (the
                     median of k arms is about as likely to be far too small as a variance with half
                     of them)

Of two values that do not fit either may be wrong; the one that is far from the other arms' means,
where only one is, is named alone.

The only value of an arm has no others of its own, and its mean may be anything. It is doubted all
the same, at once, if it is more than `ALONE` times as far from the middle of what the other arms
have as these are apart, or from 0, or as sigma is large: 1e9 beside 0.4 and 0.6. If sigma is not
known, that takes `ENOUGH` other arms with values: of fewer, all may be near 0 by chance, and then
any other one looks far away. No rate is known for it.

Where plays have levels, values are compared within plays (`outliers`), with the same `ALARM`.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..game.records import Floats, Seen
from ..problem import Problem
from ..rewards import License
from ..rewards.base import claimed
from ..sentences import PYTHON, Call, Sentence, Surface
from .outliers import gathered, outliers

ENOUGH = 3
ALARM = 1e-3
SHOWN = 5
ALONE = 100.0


class Doubt(NamedTuple):
    """A value that is implausible under the model, and by how many standard errors."""

    round: int  # or the number of data from outside
    arm: int
    name: str
    value: float
    others: int  # values of the arm that it is compared with; 0: it is compared with other arms
    errors: float  # standard errors; how many times as far as others, if it is the only one
    outside: bool = False  # whether it is data from outside
    within: bool = False  # compared within its round, because rounds have levels of their own
    instead: tuple[str, ...] = ()  # arms of which a value may be the one that is off

    @property
    def sentence(self) -> Sentence:
        if self.within:
            return self._within
        text = "Data from outside, number {round}" if self.outside else "Round {round}"
        text += ", arm {name}: {value:g} is "
        if self.others:
            text += "{errors:,.3g}" if self.errors < 1000.0 else "more than 1,000"
            text += " standard errors from the "
            text += (
                "mean of the arm's {others:,} other values"
                if self.others > 1
                else ("arm's only other value")
            )
        else:
            text += "the only value of this arm, and far from the values of all others"
        text += " (a heuristic; it counts as it was told)"
        remedy = "if it is a mistake, {retract}, and "
        remedy += "observe it anew" if self.outside else "tell it anew"
        retract = Call("retract", self.round, "reason")
        return Sentence("doubtful", text, remedy=remedy, **self._asdict(), retract=retract)

    @property
    def _within(self) -> Sentence:
        """The same where rounds have levels of their own."""
        text = "Round {round}, arm {name}: {value:g} is "
        if self.others:
            text += "{errors:,.3g}" if self.errors < 1000.0 else "more than 1,000"
            text += " standard errors from what the other values of its round, and those of other "
            text += "rounds, let expect"
        else:
            text += "far from the other values of its round: values differ much less elsewhere"
        if self.instead:
            text += "; or {instead:or} is off, because nothing tells which"
        text += " (a heuristic; it counts as it was told)"
        remedy = "if it is a mistake, {retract}, and tell it anew"
        retract = Call("retract", self.round, "reason")
        known = {**self._asdict(), "instead": list(self.instead)}
        return Sentence("doubtful-within", text, remedy=remedy, **known, retract=retract)

    def said(self, surface: Surface = PYTHON) -> str:
        """What is doubted, and what to do, as a surface says it."""
        return self.sentence.said(surface)

    def to_dict(self, surface: Surface = PYTHON) -> dict[str, Any]:
        """As plain data: its fields, and what is said of it."""
        return {**self._asdict(), **self.sentence.to_data(surface)}

    def __str__(self) -> str:
        return self.said()


def nothing_far(d: int) -> Floats:
    """float64[2, 3, d]: the smallest and the largest value of each arm; of how many it is the mean;
    its round.
    """
    far = np.zeros((2, 3, d))
    far[0, 0], far[1, 0] = math.inf, -math.inf
    return far


def reach(far: Floats, arm: int, value: float, n: int, number: int) -> None:
    """One more value."""
    if value < far[0, 0, arm]:
        far[0, :, arm] = value, n, number
    if value > far[1, 0, arm]:
        far[1, :, arm] = value, n, number


def _believed(doubtful: Any, seen: Seen, value: Floats) -> Any:
    """bool[2, d]: of an arm both of whose ends are doubtful, the end that is near the other arms'
    means, if the other is ten times as far from them.
    """
    near, both = np.zeros_like(doubtful), doubtful.all(axis=0)
    for a in np.flatnonzero(both):
        rest = (seen.counts > 0.0) & (np.arange(both.size) != a)
        if rest.any():
            away = np.abs(value[:, a] - np.median(seen.sums[rest] / seen.counts[rest]))
            near[:, a] = 10.0 * away < away.max()
    return near


def _alone(problem: Problem, seen: Seen, value: Floats, only: Any) -> Floats:
    """float64[d]: how many times as far from the other arms as these are from each other; 0 for
    arms with several values. value: of arms with one; only: which they are.
    """
    times, told = np.zeros(only.size), seen.counts > 0.0
    spread = problem.rewards.spread(problem.d) if problem.rewards.known else np.zeros(only.size)
    for a in np.flatnonzero(only & told):
        rest = told & (np.arange(only.size) != a)
        if rest.sum() >= (1 if problem.rewards.known else ENOUGH):
            means = seen.sums[rest] / seen.counts[rest]
            usual = max(float(np.ptp(means)), float(np.abs(means).max()), float(spread[a]))
            away = abs(float(value[a]) - float(np.median(means)))
            times[a] = away / usual if usual > 0.0 else 0.0
    return times


def among(problem: Problem) -> str:
    """With which values each is compared: those of its "arm" or "round"; "": with none."""
    if problem.rewards.levels():
        return "round"
    return "arm" if License.NORMAL in claimed(problem.rewards) else ""


def doubts(
    problem: Problem, seen: Seen, far: Floats, most: int = SHOWN, scale: float = 1.0
) -> tuple[Doubt, ...]:
    """The values that are hard to believe, the hardest first; of an arm only the harder of its
    ends. scale: by how much values vary more than stated.
    """
    if among(problem) != "arm":
        return ()
    value, n, number = far[:, 0], far[:, 1], far[:, 2]
    others = np.where(n > 0.0, seen.counts - n, 0.0)
    total = float(seen.counts.sum())
    with np.errstate(all="ignore"):
        off = np.abs(value - (seen.sums - value * n) / others)
        if problem.rewards.known:
            sigma = scale * problem.rewards.spread(problem.d)
            errors = off / (sigma * np.sqrt(1.0 / n + 1.0 / others))
            bar = np.full(far[:, 0].shape, math.sqrt(2.0 * math.log(2.0 * max(total, 1.0) / ALARM)))
        else:
            from scipy.special import chdtri, stdtrit

            left = np.maximum(
                seen.squares - off * off * others / (others + 1.0), 1e-12 * seen.squares
            )  # of the others
            variance = np.where(others > 1.0, left / (others - 1.0), math.inf)
            low = np.sort(np.min(variance, axis=0))
            low = low[np.isfinite(low)]
            several = seen.counts > 1.0
            degrees = seen.counts[several] - 1.0
            each = np.sort(seen.squares[several] / chdtri(degrees, 0.5))
            usual = each[(each.size - 1) // 2] if each.size else math.nan
            variance = np.where(
                others > 1.0,
                np.maximum(variance, low[(low.size - 1) // 2] if low.size else 0.0),
                usual,
            )
            errors = off / np.sqrt(variance * (1.0 + 1.0 / others))
            freedom = np.where(others > 1.0, others - 1.0, 0.4 * degrees.sum())
            bar = -stdtrit(np.maximum(freedom, 0.4), 0.5 * ALARM / max(total, 1.0))
    # NaN: an arm all of whose values are equal
    errors = np.where((others > 0.0) & (errors == errors), errors, 0.0)
    doubtful = (errors > bar) & (errors >= errors.max(axis=0) * (1.0 - 1e-9))
    doubtful &= ~_believed(doubtful, seen, value)
    far_out = _alone(problem, seen, value[0], (others <= 0.0).all(axis=0))
    errors[0] = np.where(far_out > ALONE, far_out, errors[0])
    doubtful[0] |= far_out > ALONE
    order = sorted(
        zip(*np.nonzero(doubtful), strict=True), key=lambda at: (-errors[at], number[at])
    )
    return tuple(
        Doubt(
            int(number[at]),
            int(at[1]),
            problem.label([int(at[1])]),
            float(problem.inside(value[at])),
            int(others[at]),
            float(errors[at]),
        )
        for at in order[:most]
    )


def doubts_within(
    problem: Problem, plays: Mapping[int, Floats], known: bool, most: int = SHOWN
) -> tuple[Doubt, ...]:
    """The same where plays have levels. plays: see `outliers.gathered`; known: whether sigma is
    stated, and nothing contradicts it.
    """
    values, numbers = gathered(problem, plays), list(plays)
    alarm = ALARM / max(float(values.n.sum()), 1.0)
    least = 1.0 if problem.rewards.known else 0.0
    found = outliers(values, problem.d, known, least, alarm, ALONE, ENOUGH)
    sizes = np.bincount(values.play) if found else values.play
    return tuple(
        Doubt(
            numbers[values.play[one.at]],
            int(values.arm[one.at]),
            problem.label([int(values.arm[one.at])]),
            float(values.x[one.at]),
            0 if one.alone else int(sizes[values.play[one.at]] - 1),
            one.errors,
            within=True,
            instead=tuple(problem.label([int(values.arm[k])]) for k in one.instead),
        )
        for one in found[:most]
    )
