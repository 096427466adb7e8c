"""What a plan holds: rounds to expect, as rows."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import needs_extra
from ..game.records import Floats
from ..problem import Problem
from ..report import plans
from ..sentences import Sentence
from ..stopping.base import Stopping
from ..theory.complexity import Complexity, lower_bound
from ..theory.limit import limit
from .result import Simulation, summary


class Case(NamedTuple):
    """The supposed means with their gaps scaled by `shrink`, and what they lead to."""

    shrink: float
    means: Floats
    answer: tuple[int, ...]  # the best one
    complexity: Complexity
    simulations: tuple[Simulation, ...]  # rules x thresholds; none if nothing was simulated


def at_the_end(runs: Simulation) -> dict[str, float | None]:
    """What one has when the budget ends, or before: the share of runs whose leader is right, the
    share that is certified, and the lead that one sees, with its quartiles.
    """
    leads = np.full(1, np.nan) if runs.leads is None else runs.leads
    seen = leads[np.isfinite(leads)]
    low, middle, high = np.percentile(seen, [25, 50, 75]) if seen.size else (None, None, None)
    return {
        "right": float(runs.leads_right.mean()),
        "certified": float(1.0 - runs.capped.mean()),
        "lead_q25": None if low is None else float(low),
        "lead": None if middle is None else float(middle),
        "lead_q75": None if high is None else float(high),
    }


@dataclass(frozen=True)
class Plan:
    """Rounds to expect. Print it for the table and one concluding sentence."""

    problem: Problem
    deltas: tuple[float, ...]
    stoppings: tuple[Stopping, ...]  # the thresholds
    cases: tuple[Case, ...]  # one per shrink; sentence, plot and allocation are for the first

    def rows(self) -> list[dict[str, Any]]:
        """One row per shrink, delta, threshold and rule (None: nothing was simulated). limit None:
        the rule stops on something else.
        """
        return [row for case in self.cases for row in self._rows(case)]

    def _rows(self, case: Case) -> Iterator[dict[str, Any]]:
        for k, delta in enumerate(self.deltas):
            for sim in case.simulations:
                one = sim.at(delta)
                figures = summary(one.stops[:, 0], one.correct, sim.max_rounds)
                figures["q90"] = float(np.percentile(one.rounds, 90))
                figures |= at_the_end(one)
                yield {**self._row(case, sim.stopping, k, delta), "rule": sim.rule, **figures}
            if not case.simulations:
                yield from (
                    {**self._row(case, stopping, k, delta), "rule": None}
                    for stopping in self.stoppings
                )

    def _row(self, case: Case, stopping: Stopping, k: int, delta: float) -> dict[str, Any]:
        time, bound = case.complexity.time, lower_bound(self.problem, case.complexity, delta)
        if stopping.epsilon:  # that bound is for rules that must find the best answer
            bound = math.nan
        end = limit(stopping, self.problem, case.means, case.complexity, k)
        return {
            "shrink": case.shrink,
            "answer": self.problem.label(case.answer),
            "delta": delta,
            "threshold": stopping.name,
            "label": stopping.validity.label,
            "epsilon": stopping.epsilon,
            "time": time,
            "bound": None if math.isnan(bound) else bound,
            "limit": None if math.isnan(end) else end,
        }

    def to_frame(self) -> Any:
        """A pandas DataFrame of the rows."""
        try:
            import pandas
        except ImportError:
            raise needs_extra("to_frame()", "frames") from None
        return pandas.DataFrame(self.rows())

    def arms(self) -> list[dict[str, Any]]:
        """Per threshold, delta and arm: how many values the optimal proportions have of it at the
        limit, `per_round` of them each round.
        """
        first, each = self.cases[0], self.cases[0].complexity.allocation
        return [
            {
                "threshold": end["threshold"],
                "label": end["label"],
                "delta": end["delta"],
                "arm": self.problem.label([a]),
                "mean": float(first.means[a]),
                "per_round": float(each[a]),
                "values": float(each[a] * end["limit"]),
            }
            for end in self._limits()
            for a in range(self.problem.d)
        ]

    def support(self) -> list[dict[str, Any]]:
        """Per threshold, delta and action of the optimal proportions: its share of the rounds, and
        its plays at the limit.
        """
        played = sorted(self.cases[0].complexity.support, key=lambda pair: -pair[1])
        return [
            {
                "threshold": end["threshold"],
                "label": end["label"],
                "delta": end["delta"],
                "action": self.problem.label(chosen),
                "share": share,
                "plays": share * end["limit"],
            }
            for end in self._limits()
            for chosen, share in played
        ]

    def _limits(self) -> list[dict[str, Any]]:
        """One row per threshold and delta; none where plays have levels of their own."""
        case = self.cases[0]
        if self.problem.rewards.levels():
            return []
        return [
            {
                "threshold": s.name,
                "label": s.validity.label,
                "delta": delta,
                "limit": limit(s, self.problem, case.means, case.complexity, k),
            }
            for s in self.stoppings
            for k, delta in enumerate(self.deltas)
        ]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, which JSON can carry."""
        first = self.cases[0]
        return {
            "answer": self.problem.label(first.answer),
            "time": first.complexity.time,
            "gap": first.complexity.gap,
            "sentence": str(self.sentence),
            "rows": self.rows(),
            "arms": self.arms(),
            "support": self.support(),
            "validity": {s.name: str(s.validity) for s in self._used()},
        }

    def _used(self) -> list[Stopping]:
        """The stopping rules that occur, each once."""
        met = [*(sim.stopping for sim in self.cases[0].simulations), *self.stoppings]
        return list({stopping.name: stopping for stopping in met}.values())

    @property
    def sentence(self) -> Sentence:
        """What to expect, of the first rule, with the first threshold, at every delta."""
        case = self.cases[0]
        rows = list(self._rows(case))
        first = [
            row
            for row in rows
            if (row["rule"], row["threshold"]) == (rows[0]["rule"], rows[0]["threshold"])
        ]
        return plans.expectation(first, case.simulations[0].max_rounds if case.simulations else 0)

    def __str__(self) -> str:
        return plans.text(self.to_dict(), self._limits())

    def _repr_html_(self) -> str:
        picture = self.plot() if len(self.deltas) > 1 else None
        return plans.as_html(self.to_dict(), picture)

    def __repr__(self) -> str:
        return f"<plan for {self.problem.label(self.cases[0].answer)}: {self.sentence}>"

    def plot(self) -> Any:
        """Rounds against delta, one line per rule and threshold (heuristic ones dashed), with the
        limits and the bound.
        """
        proved = {s.name for s in self._used() if s.validity.proved}
        return plans.plot(list(self._rows(self.cases[0])), self._limits(), proved)
