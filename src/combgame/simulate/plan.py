"""plan(): before an experiment, how many rounds to expect for supposed means: the bound, the limit,
and simulated rules.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, whole
from ..game.records import Floats, vector
from ..presets import make_rule
from ..problem import Problem, check_deltas
from ..report.progress import bar
from ..report.tables import aligned
from ..rewards.gaussian import Gaussian
from ..rules import RuleBase, Stopping
from ..rules.base import describe
from ..stopping.names import make_stopping, resolve
from ..theory.complexity import Complexity, complexity, lower_bound
from ..theory.evidence import best_answer
from ..theory.limit import limit
from .bench import Bench, make_bench, spread
from .result import Simulation, summary


class Case(NamedTuple):
    """The supposed means with their gaps scaled by `shrink`, and what was found for them."""

    shrink: float
    means: Floats
    answer: tuple[int, ...]  # the best one
    complexity: Complexity
    simulations: tuple[Simulation, ...]  # rules x thresholds; none if nothing was simulated


@dataclass(frozen=True)
class Plan:
    """Rounds to expect. Print it for the table and one concluding sentence."""

    problem: Problem
    deltas: tuple[float, ...]
    stoppings: tuple[Stopping, ...]  # the thresholds
    cases: tuple[
        Case, ...
    ]  # one per shrink; the first is the one that the sentence, the plot and the allocation are for

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
            raise InputError(
                "to_frame needs pandas: pip install 'combgame[frames]' (or use rows())."
            ) from None
        return pandas.DataFrame(self.rows())

    def arms(self) -> list[dict[str, Any]]:
        """Per threshold, delta and arm: how many values the optimal proportions have of it at the
        limit, `per_round` of them each round.
        """
        first, each = self.cases[0], self.cases[0].complexity.allocation
        return [
            {
                "threshold": stopping.name,
                "label": stopping.validity.label,
                "delta": delta,
                "arm": self.problem.label([a]),
                "mean": float(first.means[a]),
                "per_round": float(each[a]),
                "values": float(each[a] * end),
            }
            for stopping, k, delta, end in self._limits()
            for a in range(self.problem.d)
        ]

    def support(self) -> list[dict[str, Any]]:
        """Per threshold, delta and action of the optimal proportions: its share of the rounds, and
        its plays at the limit.
        """
        played = sorted(self.cases[0].complexity.support, key=lambda pair: -pair[1])
        return [
            {
                "threshold": stopping.name,
                "label": stopping.validity.label,
                "delta": delta,
                "action": self.problem.label(chosen),
                "share": share,
                "plays": share * end,
            }
            for stopping, k, delta, end in self._limits()
            for chosen, share in played
        ]

    def _limits(self) -> list[tuple[Stopping, int, float, float]]:
        case = self.cases[0]
        return [
            (s, k, delta, limit(s, self.problem, case.means, case.complexity, k))
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
            "sentence": self.sentence,
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
    def sentence(self) -> str:
        """What to expect, of the first rule, with the first threshold and delta."""
        row = next(self._rows(self.cases[0]))
        kind = "proved" if row["label"] == "proved" else f"{row['threshold']} ({row['label']})"
        within = f", epsilon = {row['epsilon']:g}" if row["epsilon"] else ""
        where = f"at delta = {row['delta']:g}{within} and the {kind} threshold"
        if row["rule"] is None:
            text = (
                f"Expect some {row['limit']:,.0f} rounds {where}, fewer or more: so many take "
                "the optimal proportions without noise"
            )
        else:
            half = f"half of the runs need between {row['q25']:,.0f} and {row['q75']:,.0f}"
            if row["capped"]:
                half = (
                    f"{row['capped']} of {row['runs']} runs were stopped at max_rounds = "
                    f"{self.cases[0].simulations[0].max_rounds:,}"
                )
            text = (
                f"Expect {'more than' if row['capped'] else 'about'} {row['mean']:,.0f} "
                f"rounds with {row['rule']} {where} ({half})"
            )
        if row["bound"] is None or row["bound"] < 1.0:
            return text + "."
        return text + f"; no rule can do it in fewer than {row['bound']:,.0f} on average."

    def __str__(self) -> str:
        rows, first = self.rows(), self.cases[0]
        simulated = rows[0]["rule"] is not None
        head = ["gaps", "threshold", *(["rule"] if simulated else []), "delta", "bound", "limit"]
        more = (
            ["runs", "mean", "q25", "median", "q75", "q90", "errors", "capped"] if simulated else []
        )
        text = [aligned(head + more, [_cells(row) for row in rows], left=3 if simulated else 2)]
        if first.complexity.gap > 1e-3:
            low, high = first.complexity.time / (1.0 + first.complexity.gap), first.complexity.time
            text.append(
                f"1/D_nu, the characteristic time, lies between {low:,.1f} and {high:,.1f}; "
                "limits are for the latter."
            )
        text.append(
            "bound: no rule needs fewer rounds on average (-: not known for bounded rewards, or "
            "with epsilon); "
            "limit: where the optimal proportions stop without noise (runs may need fewer or "
            "more); gaps: how the supposed ones are scaled."
        )
        text += [f"{stopping.name} is {stopping.validity}." for stopping in self._used()]
        for case in self.cases[1:]:
            if case.answer != first.answer:
                text.append(
                    f"With gaps x {case.shrink:g} another answer is best: "
                    f"{self.problem.label(case.answer)} instead of "
                    f"{self.problem.label(first.answer)}, because answers have different sizes."
                )
        stopping, _, delta, end = self._limits()[0]
        text += [
            "",
            f"The optimal proportions spend the limit's {end:,.0f} rounds ({stopping.name}, "
            f"delta = {delta:g}) so:",
        ]
        arms = sorted(self.arms()[: self.problem.d], key=lambda row: -row["values"])
        cells = [
            [row["arm"], f"{row['mean']:g}", f"{row['per_round']:.3f}", f"{row['values']:,.0f}"]
            for row in arms
        ]
        text.append(
            aligned(["arm", "mean", "per round", "values"], cells[:SHOWN])
            + _rest(len(cells), "arms")
        )
        played = self.support()[: len(first.complexity.support)]
        cells = [[row["action"], f"{row['share']:.3f}", f"{row['plays']:,.0f}"] for row in played]
        text.append(
            aligned(["action", "share", "plays"], cells[:SHOWN]) + _rest(len(cells), "actions")
        )
        return "\n".join([*text, "", self.sentence])

    def __repr__(self) -> str:
        return f"<plan for {self.problem.label(self.cases[0].answer)}: {self.sentence}>"

    def plot(self) -> Any:
        """Rounds against delta, one line per rule and threshold (heuristic ones dashed), with the
        limits and the bound.
        """
        from ..report.figures import figure, style

        made, axis = figure(width=8.4)
        first = self.cases[0]
        rows = sorted(self._rows(first), key=lambda row: row["delta"])
        rules = list(dict.fromkeys(sim.rule for sim in first.simulations))
        for sim in first.simulations:
            own = [
                row for row in rows if (row["rule"], row["threshold"]) == (sim.rule, sim.threshold)
            ]
            colour, mark = style(sim.rule, rules.index(sim.rule))
            x, line = [row["delta"] for row in own], "-" if sim.validity.proved else "--"
            axis.vlines(
                x,
                [row["q25"] for row in own],
                [row["q75"] for row in own],
                color=colour,
                linewidth=1.6,
                alpha=0.55,
            )
            axis.plot(
                x,
                [row["mean"] for row in own],
                line,
                color=colour,
                marker=mark,
                markersize=5,
                linewidth=1.2,
                label=f"{sim.rule}, {sim.threshold} ({sim.validity.label})",
            )
        for stopping in self.stoppings:
            ends = sorted((delta, end) for s, _, delta, end in self._limits() if s is stopping)
            told = f"limit, {stopping.name} ({stopping.validity.label})"
            axis.plot(
                *zip(*ends, strict=True),
                color="black",
                linewidth=1.2,
                marker=".",
                linestyle=":" if stopping.validity.proved else (0, (1, 4)),
                label=told,
            )
        bounds = [(row["delta"], row["bound"]) for row in rows if row["bound"]]
        if bounds:
            axis.plot(
                *zip(*bounds, strict=True),
                color="black",
                linestyle="-.",
                linewidth=1.2,
                marker=".",
                label="bound $\\ln(1/2.4\\delta)/D_\\nu$",
            )
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.invert_xaxis()  # more certainty to the right
        axis.set_xlabel("delta")
        axis.set_ylabel("rounds: mean, quartiles")
        made.legend(loc="outside right upper", fontsize=8, frameon=False)
        return made


SHOWN = 10  # arms, actions in the printed plan


def _rest(number: int, what: str) -> str:
    return (
        f"\n... and {number - SHOWN} more {what}: plan.{'arms' if what == 'arms' else 'support'}()"
        if number > SHOWN
        else ""
    )


def _cells(row: dict[str, Any]) -> list[str]:
    name, end = row["rule"], "-" if row["limit"] is None else f"{row['limit']:,.0f}"
    found = [
        f"x {row['shrink']:g}",
        f"{row['threshold']} ({row['label']})",
        *([] if name is None else [name]),
    ]
    found += [f"{row['delta']:g}", "-" if row["bound"] is None else f"{row['bound']:,.0f}", end]
    if name is None:
        return found
    found += [str(row["runs"]), (">= " if row["capped"] else "") + f"{row['mean']:,.0f}"]
    return (
        found
        + [f"{row[q]:,.0f}" for q in ("q25", "median", "q75", "q90")]
        + [str(row["errors"]), str(row["capped"])]
    )


def plan(
    problem: Problem,
    means: Any,
    *,
    delta: float | Sequence[float] = 0.05,
    rules: str | RuleBase | Sequence[str | RuleBase] | Mapping[str, str | RuleBase] | None = (
        "frank-wolfe",
    ),
    thresholds: str | Sequence[str] = ("mixture",),
    runs: int = 50,
    seed: int = 0,
    max_rounds: int = 10**6,
    jobs: int = 1,
    engine: str = "auto",
    shrink: float | Sequence[float] = (1.0, 0.75, 0.5),
    progress: bool | None = None,
    epsilon: float = 0.0,
) -> Plan:
    """The power analysis before an experiment: rounds to expect if `means` were the true ones.

    By default for the rule and the threshold of a `Study`. For every delta and threshold: what no
    rule can beat, where the optimal proportions stop if there is no noise, and `runs` simulated
    runs of every rule (rules=None or runs=0: none, which takes no time). shrink: all of it again
    with the gaps multiplied by these, towards the mean of the means; with Gaussian rewards rounds
    grow like 1/shrink^2. epsilon: any answer within epsilon of the best will do (it is not shrunk);
    no bound is known then.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    >>> means = [0.3, 0.29, 0.28, 0.23, 0.2]
    >>> plan = cg.plan(problem, means, delta=0.1, thresholds="stylised", rules=None)
    >>> [(row["shrink"], round(row["bound"]), round(row["limit"], -1)) for row in plan.rows()]
    [(1.0, 571, 1780.0), (0.75, 1015, 3210.0), (0.5, 2283, 7350.0)]
    """
    if not isinstance(problem, Problem):
        raise InputError(f"plan: problem = {problem!r} must be a Problem; it comes first.")
    truth, deltas = problem.means(means), list(dict.fromkeys(check_deltas(delta)))
    runs, jobs = whole("plan: runs", runs, 0), whole("plan: jobs", jobs, 1)
    max_rounds, seed = whole("plan: max_rounds", max_rounds, 1), whole("plan: seed", seed, 0)
    asked = _several(thresholds, "thresholds", "'proved'")
    names = list(dict.fromkeys(resolve(str(name), problem) for name in asked))
    stoppings = [make_stopping(name, problem, deltas, epsilon=epsilon) for name in names]
    chosen = _rules(rules) if runs else {}
    prepared: list[tuple[float, Floats, Complexity, dict[tuple[str, str], Bench]]] = []
    for share in _shares(shrink):
        centre = float(truth.mean())
        scaled = (
            problem.means(centre + share * (truth - centre), f"means with gaps x {share:g}")
            if share != 1.0
            else truth
        )
        benches: dict[tuple[str, str], Bench] = {}
        solved = _complexity(problem, scaled, stoppings[0].epsilon)
        for threshold in asked:
            for name, rule in chosen.items():
                bench = make_bench(
                    problem,
                    scaled,
                    rule,
                    deltas,
                    str(threshold),
                    seed,
                    max_rounds,
                    engine,
                    epsilon=epsilon,
                )
                benches[name, bench.stopping.name] = bench
        prepared.append((share, scaled, solved, benches))
    work = [(name, bench) for *_, benches in prepared for (name, _), bench in benches.items()]
    made = bar(
        (outcome for _, bench in work for outcome in spread(bench.one, runs, jobs)),
        runs * len(work),
        "plan",
        progress,
    )
    simulated = iter(
        [bench.gather(name, [next(made) for _ in range(runs)]) for name, bench in work]
    )
    cases = [
        Case(
            share,
            scaled,
            best_answer(problem, scaled),
            solved,
            tuple(next(simulated) for _ in benches),
        )
        for share, scaled, solved, benches in prepared
    ]
    list(made)  # lets the bar end
    return Plan(problem, tuple(deltas), tuple(stoppings), tuple(cases))


def _complexity(problem: Problem, means: Floats, epsilon: float) -> Complexity:
    """With epsilon, as the stopping rule sees it: Gaussian rewards with free means, the leader
    lifted by epsilon (`JudgePart.shift`).
    """
    if not epsilon:
        return complexity(problem, means)
    free = Problem(
        problem.actions,
        problem.answers,
        Gaussian(problem.rewards.spread(problem.d).tolist()),
        problem.names,
    )
    leader = vector(best_answer(problem, means), problem.d)
    return complexity(free, means + epsilon / problem.answers.largest() * leader)


def _several(given: Any, what: str, such: str) -> list[Any]:
    """One, or a list of at least one."""
    found = (
        list(given)
        if isinstance(given, Iterable) and not isinstance(given, str | Mapping)
        else [given]
    )
    if not found:
        raise InputError(f"plan: {what} = {given!r} must be one or more, such as [{such}].")
    return found


def _rules(rules: Any) -> dict[str, RuleBase]:
    if rules is None:
        return {}
    if isinstance(rules, Mapping) and rules:
        return {str(name): make_rule(rule) for name, rule in rules.items()}
    return {
        rule if isinstance(rule, str) else describe(rule): make_rule(rule)
        for rule in _several(rules, "rules", "'lloo'")
    }


def _shares(shrink: Any) -> list[float]:
    found = _several(shrink, "shrink", "1.0, 0.5")
    if any(
        isinstance(x, bool) or not isinstance(x, int | float | np.number) or not 0.0 < x < math.inf
        for x in found
    ):
        raise InputError(
            f"plan: shrink = {shrink!r} must be one or more positive numbers, by which the gaps "
            "are multiplied, such as [1.0, 0.5]."
        )
    return list(dict.fromkeys(float(x) for x in found))
