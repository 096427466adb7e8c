"""How much the values of a study vary, against the sigma that was stated for them.

Two e-processes at the stated sigma, averaged: one grows if the values vary less, the other if they
vary more (docs/thresholds.md, "Stated sigma against what is seen"). If the stated sigma is right,
their average ever exceeds 1/ALARM with probability at most ALARM, however often one looks. The
stopping rule has no part in it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..game.blocks import Blocks
from ..game.numerics import two_sum
from ..game.records import Floats, Seen
from ..game.round import OFTEN
from ..problem import Problem
from ..rewards import License
from ..rewards.base import claimed
from ..sentences import PYTHON, Call, Sentence, Surface

ALARM = 1e-4
FEW = 8  # degrees of freedom, below which nothing is said
# sigma^2 as a multiple of the stated one, and the stated one as a multiple of sigma^2, less 1
MORE = np.concatenate((1.25 ** np.arange(1.0, 16.0), 10.0 ** np.arange(2.0, 7.0)))
LESS = np.concatenate(([0.1, 0.25, 0.5, 1.0, 2.0, 4.0], 10.0 ** np.arange(1.0, 7.0)))


def nothing_late(d: int) -> Floats:
    """float64[4, d]: of the values after the start, per arm, how many there are, their mean, the
    squares of their deviations from it, and in how many entries they came.
    """
    return np.zeros((4, d))


def follow(late: Floats, arm: int, mean: float, n: int) -> None:
    """The mean of n more values of an arm."""
    before, off = late[0, arm], mean - late[1, arm]
    late[0, arm] += n
    late[1, arm] += off * n / (before + n)
    late[2, arm] += off * off * n * (before / (before + n))
    late[3, arm] += 1.0


def scatter_start(seen: Seen, begun: Floats, arm: int, mean: float, n: float) -> None:
    """What `game.round.scatter` says while what is played is fixed, about the mean of the values
    of the start alone, as others may have come beside them. begun: float64[3, d], of these values
    per arm how many there are, their sums, and what rounding left out.
    """
    before, group = begun[0, arm], seen.group[arm]
    if before > 0.0:
        off = mean - (begun[1, arm] + begun[2, arm]) / before
        seen.noise[0, group] += 1.0
        seen.noise[1, group] += off * off * n * (before / (before + n))
    _add(begun, arm, mean, n)


def after_start(seen: Seen, begun: Floats, arm: int, mean: float, n: float) -> None:
    """What `game.round.scatter` says of a later value that was told before all of the start, about
    the mean of the values of the start and of those before it. begun: see `scatter_start`; it is
    among them from now on.
    """
    before, group = begun[0, arm], seen.group[arm]
    if before > 0.0 and before * OFTEN >= n * seen.noise[0, group]:
        off = mean - (begun[1, arm] + begun[2, arm]) / before
        seen.noise[0, group] += 1.0
        seen.noise[1, group] += off * off * n
    _add(begun, arm, mean, n)


def _add(begun: Floats, arm: int, mean: float, n: float) -> None:
    begun[0, arm] += n
    begun[1, arm], lost = two_sum(begun[1, arm], mean * n)
    begun[2, arm] += lost


class Noise(NamedTuple):
    """The stated sigma beside the spread of the values. verdict: "fits", "too small", "too large",
    or "not enough data"; "not stated" where sigma is taken from the data.
    """

    verdict: str
    stated: float | None  # None: nobody stated it, or it is not the same for all arms
    observed: float | None  # None: too little to say, or stated sigmas differ
    ratio: float | None  # observed by stated
    degrees: int  # of freedom, of what was observed
    # ln of the e-process: the stated sigma is doubted above ln(1/ALARM)
    evidence: float = 0.0
    levels: bool = False  # plays have levels of their own, so that sigma is that within plays

    @property
    def contradicted(self) -> bool:
        return self.verdict == "too small"

    @property
    def clause(self) -> Sentence:
        """What does not fit, as part of a sentence."""
        text = (
            "the stated sigma of {stated:g} does not fit the values, which vary by {observed:.3g}"
        )
        if self.stated is None:
            text = "the stated sigmas do not fit the values, which vary {ratio:.3g} times as much"
        return Sentence("sigma-misfit", text, **self._asdict())

    @property
    def sentence(self) -> Sentence:
        about = self._asdict()
        unknown = "Gaussian(level='per play')" if self.levels else "Gaussian()"
        if self.verdict == "not stated":
            text = "Sigma is taken from the data"
            if self.observed is not None:
                text += ", which vary by {observed:.3g} ({degrees:count degree} of freedom)"
            return Sentence("sigma-estimated", text, **about)
        if self.verdict == "not enough data":
            text = (
                "There are too few values to compare how they vary with the stated sigma, which is "
                "taken on trust"
            )
            return Sentence("sigma-unchecked", text, **about)
        if self.verdict == "fits":
            text = "The values vary {ratio:.3g} times as much as stated, which fits"
            if self.stated is not None:
                text = (
                    "The values vary by {observed:.3g}, which fits the stated sigma of {stated:g}"
                )
            return Sentence("sigma-fits", text, **about)
        if self.verdict == "too small":
            remedy = "make a study with {unknown}, which takes sigma from the data"
            if not self.levels:
                remedy += ", and give it these values with {observe}"
            return Sentence(
                "sigma-too-small",
                "No confidence can rest on this sigma: {clause}",
                remedy=remedy + "; if some are mistakes, retract those first",
                clause=self.clause,
                unknown=unknown,
                observe=Call("observe"),
                **about,
            )
        return Sentence(
            "sigma-too-large",
            "The stated sigma is larger than it need be: the values vary {ratio:.2g} times as much "
            "as stated"
            + (
                ", so this takes about {times:,.0f} times the plays that would do"
                if self.ratio and self.ratio < 0.5
                else ", so this takes {times:.2g} times the plays that would do"
                if self.ratio
                else ""
            ),
            remedy="the next study may state less, or have {unknown}, which takes sigma from the "
            "data",
            times=self.ratio**-2 if self.ratio else math.inf,
            unknown=unknown,
            **about,
        )

    def to_dict(self, surface: Surface = PYTHON) -> dict[str, Any]:
        """As plain data: its fields, and what is said of it."""
        return {**self._asdict(), **self.sentence.to_data(surface)}


def log_misfit(low: tuple[float, float], high: tuple[float, float]) -> tuple[float, float]:
    """ln of the two e-processes of `sigma is as stated`: that of values that vary less, by degrees
    and squares of innovations, and that of values that vary more; squares in stated variances.
    """
    degrees, squares = low
    less = np.logaddexp.reduce(0.5 * (degrees * np.log1p(LESS) - LESS * squares)) - math.log(
        LESS.size
    )
    degrees, squares = high
    grown = 0.5 * ((1.0 - 1.0 / MORE) * squares - degrees * np.log(MORE))
    return float(less), float(np.logaddexp.reduce(grown) - math.log(MORE.size))


def noise(problem: Problem, seen: Seen, late: Floats, early: Floats) -> Noise | None:
    """What the values of a study say of its sigma; None where there is none. late: see `follow`;
    early: `Seen.noise` when the start was over.
    """
    if problem.rewards.levels():
        return within_plays(problem, seen.blocks)
    if License.NORMAL not in claimed(problem.rewards):
        return None
    known = problem.rewards.known
    sigma = problem.rewards.spread(problem.d) if known else np.ones(problem.d)
    group, unit = np.ones(seen.noise.shape[1]), sigma[0]
    group[seen.group] = sigma
    if seen.start[0]:  # nothing is said of a part of the start: it may have been chosen by looking
        early = np.zeros_like(early)
        seen = seen._replace(noise=np.zeros_like(seen.noise))
    after = float((late[2] / sigma**2).sum())
    exact = float(early[0].sum()), float((early[1] / group**2).sum())
    degrees = exact[0] + float(np.maximum(late[3] - 1.0, 0.0).sum())
    ratio = math.sqrt((exact[1] + after) / degrees) if degrees else None
    same = bool((sigma == unit).all())
    stated = float(unit) if known and same else None
    observed = ratio * float(unit) if ratio is not None and same else None
    if not known:
        if not problem.rewards.pooled or problem.rewards.groups(problem.d).any():
            observed = None
        return Noise("not stated", None, observed, None, round(degrees))
    low = float(seen.noise[0].sum()), float((seen.noise[1] / group**2).sum())
    high = exact[0] + float(late[3].sum()), exact[1] + after
    verdict, evidence = verdict_of(low, high, degrees)
    return Noise(verdict, stated, observed, ratio, round(degrees), evidence)


def verdict_of(
    low: tuple[float, float], high: tuple[float, float], degrees: float
) -> tuple[str, float]:
    """What is said of a stated sigma, and ln of the average of the two e-processes."""
    less, more = log_misfit(low, high)
    evidence = float(np.logaddexp(less, more)) - math.log(2.0)
    verdict = "fits" if degrees >= FEW else "not enough data"
    if evidence > -math.log(ALARM) and (more > less or degrees >= FEW):
        verdict = "too small" if more > less else "too large"
    return verdict, evidence


def within_plays(problem: Problem, blocks: Blocks) -> Noise:
    """The same where plays have levels: from what the least squares of complete blocks leave over,
    in stated variances.
    """
    low, high = [(float(n), float(squares)) for n, squares in blocks.noise]
    degrees = high[0] if high[0] > 0.5 * low[0] else low[0]
    ratio = math.sqrt(blocks.variance()) if degrees else None
    if not problem.rewards.known:
        return Noise("not stated", None, ratio, None, round(degrees), levels=True)
    sigma = problem.rewards.spread(problem.d)
    same = bool((sigma == sigma[0]).all())
    verdict, evidence = verdict_of(low, high, degrees)
    stated = float(sigma[0]) if same else None
    observed = ratio * float(sigma[0]) if ratio is not None and same else None
    return Noise(verdict, stated, observed, ratio, round(degrees), evidence, True)


def typical(problem: Problem, seen: Seen, far: Floats) -> float:
    """By how much the median arm varies, in what was stated, but at least 1: one value that is far
    off, in one arm, does not change it. With two arms or less, each without its farthest value
    (far: see `doubts`).
    """
    several = seen.counts > 1.0
    if not problem.rewards.known or not several.any():
        return 1.0
    squares, degrees = seen.squares, seen.counts - 1.0
    if several.sum() < 3:
        with np.errstate(all="ignore"):
            off = np.abs(far[:, 0] - seen.sums / seen.counts).max(axis=0)
            squares = squares - off * off * seen.counts / degrees  # those of the others
        degrees = degrees - 1.0
        several = degrees > 0.0
        if not several.any():
            return 1.0
    degrees, sigma = degrees[several], problem.rewards.spread(problem.d)[several]
    middle = degrees * (1.0 - 2.0 / (9.0 * degrees)) ** 3  # the median of chi^2, about
    each = np.sort(np.maximum(squares[several], 0.0) / sigma**2 / middle)
    return max(math.sqrt(float(each[(each.size - 1) // 2])), 1.0)
