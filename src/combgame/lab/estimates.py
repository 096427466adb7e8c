"""An answer at any moment: estimates with intervals, the lead over the nearest rival in the unit of
measurement, and how much the leader can lack.

What is proved (docs/thresholds.md, Theorem 9) and what is a heuristic stand beside each other, each
under its own name.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from .._messages import PYTHON, Sentence, Surface
from ..engine.protocols import Game
from ..engine.state import Floats, arms_of
from ..engine.statistics import Seen
from ..problem import Problem
from ..theory.confidence import chance, covered, intervals, lead


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
class Margin:
    """By how much the leader leads the nearest rival. `low` and `high` hold together with the
    intervals of the arms; `within` by the stopping rule's own theorem; `chance` is a heuristic.
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
    chance: float | None = None  # heuristic: that the leader is best, as a prior has it
    doubted: bool = False  # the values contradict the sigma on which all of it rests
    cut: bool = False  # `low` is the certificate's: the leader is no worse, or not by more

    @property
    def exchange(self) -> Sentence:
        """The nearest rival, by what is different in it.

        >>> print(Margin((1, 2), "b, c", ("c",), ("a",), 0.1, None, None, 0.05, True).exchange)
        c instead of a.
        >>> print(Margin((1,), "b", ("b",), ("a",), 0.1, None, None, 0.05, True).exchange)
        b.
        """
        known: dict[str, Any] = {"enters": list(self.enters), "leaves": list(self.leaves)}
        if len(self.rival) == len(self.enters) == len(self.leaves) == 1:
            return Sentence("exchange-arm", "{enters:list}", **known)
        if not self.enters:
            return Sentence("exchange-without", "the same without {leaves:list}", **known)
        if not self.leaves:
            return Sentence("exchange-with", "the same with {enters:list}", **known)
        return Sentence("exchange", "{enters:list} instead of {leaves:list}", **known)

    @property
    def sentence(self) -> Sentence:
        """The lead with its interval.

        >>> print(Margin((1,), "b", ("b",), ("a",), 0.1, 0.02, 0.18, 0.05, True).sentence)
        b would be worse by 0.1 (0.02 to 0.18, proved with confidence 95% at any time).
        >>> known = (0.1, 0.0, 0.18, 0.05, True, 0.0)
        >>> print(Margin((1,), "b", ("b",), ("a",), *known, cut=True).sentence)
        b would be worse by 0.1, and by 0.18 at most, proved with confidence 95% at any time (how \
little it may be is not proved, only that b is not better).
        """
        text, sure = "{exchange} would be worse by {value:.3g}", ", heuristic"
        if self.proved:
            sure = ", proved with confidence {percent:g}% at any time"
        if self.doubted:
            sure += ", if sigma were as stated"
        if self.low is not None and self.high is not None:
            if self.cut:
                text += ", and by {high:.3g} at most" + sure
                text += " (how little it may be is not proved, only that {exchange} is not better"
                text += " by more than {within:g})" if self.within else ")"
            else:
                text += " ({low:.3g} to {high:.3g}" + sure + ")"
        return Sentence(
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

    def standing(self) -> list[Sentence]:
        """All that is said of it: the lead; how much the leader can lack; the chance."""
        chance = self.likely()
        return self.leading() + ([] if chance is None else [chance])

    def leading(self) -> list[Sentence]:
        """By how much: the lead, and how much the leader can lack."""
        made = [self.sentence]
        if self.within:
            text = (
                "no answer is better than it by more than {within:g}, proved with confidence "
                "{percent:g}%"
            )
            if self.doubted:
                text += " if sigma were as stated"
            made.append(Sentence("lacks", text, within=self.within, percent=self.percent))
        return made

    def likely(self) -> Sentence | None:
        """The chance that the leader is best, unless the values contradict sigma."""
        if self.chance is None or self.doubted:
            return None
        text = "the chance that it is best is "
        if self.chance > 0.99:
            text += "above 99%"
        elif self.chance < 0.01:
            text += "below 1%"
        else:
            text += "{percent:.0f}%"
        text += " (a heuristic: as if means were spread at random and nobody had looked before)"
        return Sentence("chance", text, percent=100.0 * self.chance)

    def to_dict(self, surface: Surface = PYTHON) -> dict[str, Any]:
        """As plain data, with what is said of it."""
        return {
            **asdict(self),
            "exchange": self.exchange.spelt(surface),
            "sentences": [one.to_data(surface) for one in self.standing()],
        }

    def plain(self) -> dict[str, Any]:
        """Its fields as JSON would carry them."""
        return {k: list(x) if isinstance(x, tuple) else x for k, x in asdict(self).items()}

    @classmethod
    def of(cls, data: dict[str, Any] | None) -> "Margin | None":
        """From `plain`."""
        if data is None:
            return None
        plain: dict[str, Any] = {
            key: tuple(x) if isinstance(x, list) else x for key, x in data.items()
        }
        return cls(**plain)


def estimates(
    problem: Problem, game: Game, seen: Seen, best: Floats, delta: float
) -> list[Estimate]:
    """One `Estimate` per arm."""
    ends = intervals(problem, seen, game.rewards, delta)
    return [
        Estimate(
            a,
            problem.label([a]),
            int(seen.counts[a]),
            float(seen.mean[a]) if seen.counts[a] else None,
            finite(ends[0, a]) if seen.counts[a] else None,
            finite(ends[1, a]) if seen.counts[a] else None,
            bool(best[a] > 0.5 and seen.counts[a]),
        )
        for a in range(problem.d)
    ]


def margin(
    problem: Problem,
    game: Game,
    seen: Seen,
    best: Floats,
    rival: Floats,
    delta: float,
    least: float = -math.inf,
) -> Margin | None:
    """The lead of `best` over `rival`; None if there is none. least: what a certificate says that
    it is at least.
    """
    differ = best != rival
    if not differ.any() or not rival.any() or (seen.counts[differ] == 0.0).any():
        return None
    ends = intervals(problem, seen, game.rewards, delta)
    value, low, high = lead(problem, seen, game.rewards, best, rival, delta, ends)
    return Margin(
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
        chance(problem, game, seen, best),
        cut=low < least,
    )


def finite(x: float) -> float | None:
    """A number that JSON can carry."""
    return float(x) if math.isfinite(x) else None
