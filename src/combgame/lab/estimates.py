"""Estimates at any moment: means with confidence intervals, and the lead over the nearest rival.

Statements that are proved (docs/thresholds.md, Theorem 9) and heuristics have separate names.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from .._messages import PYTHON, Message, Renderer
from ..engine.protocols import ProblemKernel
from ..engine.state import Floats, arms_of
from ..engine.statistics import Statistics
from ..problem import Problem
from ..theory.confidence import covered, intervals, lead, posterior_probability_best


class Estimate(NamedTuple):
    """The estimated mean of an arm with its confidence interval.

    The intervals of all arms hold together, at all times, with probability 1 - delta.

    Attributes
    ----------
    arm : int
        Index of the arm.
    name : str
        Name of the arm.
    n : int
        Number of values.
    mean : float or None
        Sample mean; None without values.
    low, high : float or None
        Ends of the interval; None if nothing is known yet.
    leads : bool
        True if the arm is in the leading answer.
    """

    arm: int
    name: str
    n: int
    mean: float | None
    low: float | None
    high: float | None
    leads: bool


@dataclass(frozen=True)
class LeadInterval:
    """The lead of the leader over the nearest rival, with its confidence interval.

    Attributes
    ----------
    rival : tuple of int
        Arms of the nearest rival.
    rival_name : str
        Names of these arms.
    enters : tuple of str
        Names of the arms that only the rival has.
    leaves : tuple of str
        Names of the arms that only the leader has.
    value : float
        Estimated lead in the unit of measurement.
    low, high : float or None
        Ends of the interval, which holds together with the intervals of the arms; None if not known
        yet.
    delta : float
        Error probability of the study, for the interval and for ``within`` separately.
    proved : bool
        True if the interval is proved.
    within : float or None
        No answer is better than the leader by more than this, by the theorem of the stopping rule;
        None if nothing is known or proved.
    posterior_probability : float or None
        Probability that the leader is the best answer under a flat prior (a heuristic).
    sigma_doubted : bool
        True if the values contradict the sigma on which all of this rests.
    truncated_at_zero : bool
        True if the interval itself would extend below ``low``, which is what the certificate
        states: the leader is no worse, or worse by at most epsilon. This is a separate statement,
        so ``low`` and ``high`` hold together with probability 1 - 2 delta.
    """

    rival: tuple[int, ...]
    rival_name: str
    enters: tuple[str, ...]
    leaves: tuple[str, ...]
    value: float
    low: float | None
    high: float | None
    delta: float
    proved: bool
    within: float | None = None
    posterior_probability: float | None = None
    sigma_doubted: bool = False
    truncated_at_zero: bool = False

    @property
    def exchange(self) -> Message:
        """Return a message that describes the nearest rival by its difference from the leader.

        >>> known = (0.1, None, None, 0.05, True)
        >>> print(LeadInterval((1, 2), "b, c", ("c",), ("a",), *known).exchange)
        c instead of a.
        >>> print(LeadInterval((1,), "b", ("b",), ("a",), *known).exchange)
        b.
        """
        known: dict[str, Any] = {"enters": list(self.enters), "leaves": list(self.leaves)}
        if len(self.rival) == len(self.enters) == len(self.leaves) == 1:
            return Message("exchange-arm", "{enters:list}", **known)
        if not self.enters:
            return Message("exchange-without", "the same without {leaves:list}", **known)
        if not self.leaves:
            return Message("exchange-with", "the same with {enters:list}", **known)
        return Message("exchange", "{enters:list} instead of {leaves:list}", **known)

    @property
    def sentence(self) -> Message:
        """Return a message about the lead and its interval.

        >>> print(LeadInterval((1,), "b", ("b",), ("a",), 0.1, 0.02, 0.18, 0.05, True).sentence)
        b would be worse by 0.1 (0.02 to 0.18, proved with confidence 95% at any time).
        >>> known = (0.1, 0.0, 0.18, 0.05, True, 0.0)
        >>> cut = LeadInterval((1,), "b", ("b",), ("a",), *known, truncated_at_zero=True)
        >>> print(cut.sentence)
        b would be worse by 0.1, and by 0.18 at most, proved with confidence 95% at any time (how \
        little it may be is not proved, only that b is not better).
        """
        text, sure = "{exchange} would be worse by {value:.3g}", ", heuristic"
        if self.proved:
            sure = ", proved with confidence {percent:g}% at any time"
        if self.sigma_doubted:
            sure += ", if sigma were as stated"
        if self.low is not None and self.high is not None:
            if self.truncated_at_zero:
                text += ", and by {high:.3g} at most" + sure
                text += " (how little it may be is not proved, only that {exchange} is not better"
                text += " by more than {within:g})" if self.within else ")"
            else:
                text += " ({low:.3g} to {high:.3g}" + sure + ")"
        return Message(
            "lead",
            text,
            exchange=self.exchange,
            value=self.value,
            low=self.low,
            high=self.high,
            within=self.within,
            percent=self.percent,
        )

    @property
    def percent(self) -> float:
        """Return the confidence of the interval, and of ``within``, in percent."""
        return 100.0 * (1.0 - self.delta)

    def standing(self) -> list[Message]:
        """Return all messages: the lead, a bound for what the leader lacks, the probability."""
        probability = self.likely()
        return self.leading() + ([] if probability is None else [probability])

    def leading(self) -> list[Message]:
        """Return messages about the lead, and about how much better another answer can be."""
        made = [self.sentence]
        if self.within:
            text = (
                "no answer is better than it by more than {within:g}, proved with confidence "
                "{percent:g}%"
            )
            if self.sigma_doubted:
                text += " if sigma were as stated"
            made.append(Message("lacks", text, within=self.within, percent=self.percent))
        return made

    def likely(self) -> Message | None:
        """Return a message about the probability, unless the values contradict sigma."""
        if self.posterior_probability is None or self.sigma_doubted:
            return None
        text = "the chance that it is best is "
        if self.posterior_probability > 0.99:
            text += "above 99%"
        elif self.posterior_probability < 0.01:
            text += "below 1%"
        else:
            text += "{percent:.0f}%"
        text += " (a heuristic: as if means were spread at random and nobody had looked before)"
        return Message("chance", text, percent=100.0 * self.posterior_probability)

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """Return the attributes and the messages as plain data."""
        return {
            **asdict(self),
            "exchange": self.exchange.render_inline(surface),
            "sentences": [one.to_data(surface) for one in self.standing()],
        }

    def plain(self) -> dict[str, Any]:
        """Return the attributes as JSON would represent them."""
        return {k: list(x) if isinstance(x, tuple) else x for k, x in asdict(self).items()}

    @classmethod
    def of(cls, data: dict[str, Any] | None) -> "LeadInterval | None":
        """Return the object that `plain` describes."""
        if data is None:
            return None
        plain: dict[str, Any] = {
            key: tuple(x) if isinstance(x, list) else x for key, x in data.items()
        }
        return cls(**plain)


def estimates(
    problem: Problem, kernel: ProblemKernel, stats: Statistics, best: Floats, delta: float
) -> list[Estimate]:
    """Return one `Estimate` per arm, with intervals at level ``delta``."""
    ends = intervals(problem, stats, kernel.rewards, delta)
    return [
        Estimate(
            a,
            problem.label([a]),
            int(stats.counts[a]),
            float(stats.mean[a]) if stats.counts[a] else None,
            finite(ends[0, a]) if stats.counts[a] else None,
            finite(ends[1, a]) if stats.counts[a] else None,
            bool(best[a] > 0.5 and stats.counts[a]),
        )
        for a in range(problem.d)
    ]


def margin(
    problem: Problem,
    kernel: ProblemKernel,
    stats: Statistics,
    best: Floats,
    rival: Floats,
    delta: float,
    least: float = -math.inf,
) -> LeadInterval | None:
    """Return the lead of ``best`` over ``rival``; None if an arm in which they differ has no value.

    Parameters
    ----------
    problem : Problem
        Problem in internal form, which is maximised.
    kernel : ProblemKernel
        Compiled problem.
    stats : Statistics
        Statistics of the values.
    best, rival : ndarray of shape (d,)
        Indicator vectors of the two answers.
    delta : float
        Error probability of the interval.
    least : float
        Lower bound of the lead that a certificate states.
    """
    differ = best != rival
    if not differ.any() or not rival.any() or (stats.counts[differ] == 0.0).any():
        return None
    ends = intervals(problem, stats, kernel.rewards, delta)
    value, low, high = lead(problem, stats, kernel.rewards, best, rival, delta, ends)
    return LeadInterval(
        arms_of(rival),
        problem.label(arms_of(rival)),
        tuple(problem.label([a]) for a in arms_of(rival) if best[a] < 0.5),
        tuple(problem.label([a]) for a in arms_of(best) if rival[a] < 0.5),
        value,
        finite(max(low, least)),
        finite(high),
        delta,
        covered(problem),
        None,
        posterior_probability_best(problem, kernel, stats, best),
        truncated_at_zero=low < least,
    )


def finite(x: float) -> float | None:
    """Return a number that JSON can represent; None for infinity and NaN."""
    return float(x) if math.isfinite(x) else None
