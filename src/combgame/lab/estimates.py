"""An answer at any moment: estimates with intervals, the lead over the nearest rival in the unit of
measurement, and how much the leader can lack.

What is proved (docs/thresholds.md, Theorem 9) and what is a heuristic stand beside each other, each
under its own name.
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
    """An arm: how often, how much, between what. The intervals of all arms hold together, at all
    times, with probability 1 - delta; None: nothing is known yet.
    """

    arm: int
    name: str
    n: int
    mean: float | None
    low: float | None
    high: float | None
    leads: bool  # whether it is in the leading answer


@dataclass(frozen=True)
class LeadInterval:
    """By how much the leader leads the nearest rival. `low` and `high` hold together with the
    intervals of the arms; `within` by the stopping rule's own theorem; `posterior_probability_best` is a heuristic.
    Where `cut`, the interval goes below `low`, which is what the certificate says, another
    statement: `low` and `high` then hold together with probability 1 - 2 delta.
    """

    rival: tuple[int, ...]
    rival_name: str
    enters: tuple[str, ...]  # the arms that only the rival has
    leaves: tuple[str, ...]  # those that only the leader has
    value: float  # in the unit of measurement
    low: float | None  # None: not known yet
    high: float | None
    delta: float  # of the study, for the interval and for `within`, each
    proved: bool  # of the interval
    # no answer is better than the leader by more than this; None: not known, or nothing is proved
    within: float | None = None
    posterior_probability: float | None = (
        None  # heuristic: that the leader is best, as a prior has it
    )
    sigma_doubted: bool = False  # the values contradict the sigma on which all of it rests
    truncated_at_zero: bool = (
        False  # `low` is the certificate's: the leader is no worse, or not by more
    )

    @property
    def exchange(self) -> Message:
        """The nearest rival, by what is different in it.

        >>> print(LeadInterval((1, 2), "b, c", ("c",), ("a",), 0.1, None, None, 0.05, True).exchange)
        c instead of a.
        >>> print(LeadInterval((1,), "b", ("b",), ("a",), 0.1, None, None, 0.05, True).exchange)
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
        """The lead with its interval.

        >>> print(LeadInterval((1,), "b", ("b",), ("a",), 0.1, 0.02, 0.18, 0.05, True).sentence)
        b would be worse by 0.1 (0.02 to 0.18, proved with confidence 95% at any time).
        >>> known = (0.1, 0.0, 0.18, 0.05, True, 0.0)
        >>> print(LeadInterval((1,), "b", ("b",), ("a",), *known, cut=True).sentence)
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
        """The confidence of the interval, and of `within`."""
        return 100.0 * (1.0 - self.delta)

    def standing(self) -> list[Message]:
        """All that is said of it: the lead; how much the leader can lack; the chance."""
        posterior_probability_best = self.likely()
        return self.leading() + (
            [] if posterior_probability_best is None else [posterior_probability_best]
        )

    def leading(self) -> list[Message]:
        """By how much: the lead, and how much the leader can lack."""
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
        """The chance that the leader is best, unless the values contradict sigma."""
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
        """As plain data, with what is said of it."""
        return {
            **asdict(self),
            "exchange": self.exchange.render_inline(surface),
            "sentences": [one.to_data(surface) for one in self.standing()],
        }

    def plain(self) -> dict[str, Any]:
        """Its fields as JSON would carry them."""
        return {k: list(x) if isinstance(x, tuple) else x for k, x in asdict(self).items()}

    @classmethod
    def of(cls, data: dict[str, Any] | None) -> "LeadInterval | None":
        """From `plain`."""
        if data is None:
            return None
        plain: dict[str, Any] = {
            key: tuple(x) if isinstance(x, list) else x for key, x in data.items()
        }
        return cls(**plain)


def estimates(
    problem: Problem, kernel: ProblemKernel, stats: Statistics, best: Floats, delta: float
) -> list[Estimate]:
    """One `Estimate` per arm."""
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
    """The lead of `best` over `rival`; None if there is none. least: what a certificate says that
    it is at least.
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
    """A number that JSON can carry."""
    return float(x) if math.isfinite(x) else None
