"""Plan an experiment: the number of rounds to expect for supposed means."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._display.progress import counted, waiting
from .._messages import Message
from .._validation import check_list
from ..engine.state import Floats, vector
from ..errors import (
    SEED,
    InputError,
    check_int,
    invalid_argument,
    is_real,
    missing_extra,
    to_python_scalar,
)
from ..problem import Problem, check_deltas
from ..rewards.gaussian import Gaussian
from ..rules import RuleBase
from ..rules.base import describe
from ..rules.presets import make_rule
from ..stopping.base import Stopping, StoppingBase
from ..stopping.registry import make_stopping
from ..theory.complexity import Complexity, least_time, lower_bound
from ..theory.stopping_time import oracle_stopping_time
from . import _plan_report as plans
from .cuda import simulated as on_card
from .result import Simulation, summary
from .runner import CARD, Runner, RunSpec, check_batch_sd, ordered_results


class Scenario(NamedTuple):
    """The supposed means with scaled gaps, and the results for them.

    Parameters
    ----------
    shrink : float
        The factor by which the gaps are multiplied.
    means : ndarray of float64, shape (d,)
        The scaled means.
    answer : tuple of int
        The best answer.
    complexity : Complexity
        The complexity of the instance.
    simulations : tuple of Simulation
        One per rule and threshold; empty if nothing was simulated.
    """

    shrink: float
    means: Floats
    answer: tuple[int, ...]
    complexity: Complexity
    simulations: tuple[Simulation, ...]


def at_the_end(runs: Simulation) -> dict[str, float | None]:
    """Return what runs have when they end.

    These are the share of runs whose leader is right, the share of certified runs, and the median
    and quartiles of the lead. The runs must have one delta (`Simulation.at`). If they were played
    for several, they went on until the last of them stopped, and the lead is what they had then.
    """
    leads = np.full(1, np.nan) if runs.final_leads is None else runs.final_leads
    known = leads[np.isfinite(leads)]
    low, middle, high = np.percentile(known, [25, 50, 75]) if known.size else (None, None, None)
    return {
        "right": float(runs.leader_correct.mean()),
        "certified": float(1.0 - runs.capped.mean()),
        "lead_q25": None if low is None else float(low),
        "lead": None if middle is None else float(middle),
        "lead_q75": None if high is None else float(high),
    }


@dataclass(frozen=True)
class Plan:
    """The number of rounds to expect; print it for a table and one concluding sentence.

    Attributes
    ----------
    problem : Problem
        The problem.
    deltas : tuple of float
        The confidence parameters.
    stoppings : tuple of Stopping
        The stopping rules, one per threshold.
    scenarios : tuple of Scenario
        One scenario per gap scale. The sentence, the plot and the allocation are for the first one.
    """

    problem: Problem
    deltas: tuple[float, ...]
    stoppings: tuple[Stopping, ...]
    scenarios: tuple[Scenario, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per gap scale, delta, threshold and rule.

        Returns
        -------
        list of dict
            The rule is None if nothing was simulated. The limit is None if the rule stops on
            something else.
        """
        return [row for case in self.scenarios for row in self._rows(case)]

    def _rows(self, case: Scenario) -> Iterator[dict[str, Any]]:
        for k, delta in enumerate(self.deltas):
            for sim in case.simulations:
                one = sim.at(delta)
                figures = summary(one.stopping_times[:, 0], one.correct, sim.max_rounds)
                figures["q90"] = float(np.percentile(one.rounds, 90))
                figures |= at_the_end(one)
                yield {**self._row(case, sim.stopping, k, delta), "rule": sim.rule, **figures}
            if not case.simulations:
                yield from (
                    {**self._row(case, stopping, k, delta), "rule": None}
                    for stopping in self.stoppings
                )

    def _row(self, case: Scenario, stopping: Stopping, k: int, delta: float) -> dict[str, Any]:
        time, bound = (
            case.complexity.characteristic_time,
            lower_bound(self.problem, case.complexity, delta),
        )
        if stopping.epsilon:  # the bound is for rules that must find the best answer
            bound = math.nan
        end = oracle_stopping_time(stopping, self.problem, case.means, case.complexity, k)
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
        """Return a pandas DataFrame of the rows."""
        try:
            import pandas
        except ImportError:
            raise missing_extra("to_frame()", "frames") from None
        return pandas.DataFrame(self.rows())

    def arms(self) -> list[dict[str, Any]]:
        """Return how many values of each arm the optimal proportions need.

        Returns
        -------
        list of dict
            One row per threshold, delta and arm: `values` is the number of values at the limit,
            `per_round` the number per round.
        """
        first, each = self.scenarios[0], self.scenarios[0].complexity.allocation
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
        """Return how often the optimal proportions play each action.

        Returns
        -------
        list of dict
            One row per threshold, delta and action: `share` is its share of the rounds, `plays` the
            number of its plays at the limit.
        """
        played = sorted(self.scenarios[0].complexity.support, key=lambda pair: -pair[1])
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
        """Return one row per threshold and delta; none if rounds have batch effects."""
        case = self.scenarios[0]
        if self.problem.rewards.has_batch_effect():
            return []
        return [
            {
                "threshold": s.name,
                "label": s.validity.label,
                "delta": delta,
                "limit": oracle_stopping_time(s, self.problem, case.means, case.complexity, k),
            }
            for s in self.stoppings
            for k, delta in enumerate(self.deltas)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole plan as plain data for JSON."""
        first = self.scenarios[0]
        return {
            "answer": self.problem.label(first.answer),
            "time": first.complexity.characteristic_time,
            "gap": first.complexity.duality_gap,
            "sentence": str(self.sentence),
            "rows": self.rows(),
            "arms": self.arms(),
            "support": self.support(),
            "validity": {s.name: str(s.validity) for s in self._used()},
        }

    def _used(self) -> list[Stopping]:
        """Return the distinct stopping rules."""
        met = [*(sim.stopping for sim in self.scenarios[0].simulations), *self.stoppings]
        return list({stopping.name: stopping for stopping in met}.values())

    @property
    def sentence(self) -> Message:
        """Return what to expect of the first rule with the first threshold, at every delta."""
        case = self.scenarios[0]
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
        return f"<plan for {self.problem.label(self.scenarios[0].answer)}: {self.sentence}>"

    def plot(self) -> Any:
        """Plot rounds against delta, with the limits and the bound.

        Returns
        -------
        matplotlib.figure.Figure
            One line per rule and threshold, dashed for heuristic thresholds.
        """
        proved = {s.name for s in self._used() if s.validity.proved}
        return plans.plot(list(self._rows(self.scenarios[0])), self._limits(), proved)


__all__ = ["Plan", "plan"]


def plan(
    problem: Problem,
    means: Any,
    *,
    delta: float | Sequence[float] = 0.05,
    rules: str | RuleBase | Sequence[str | RuleBase] | Mapping[str, str | RuleBase] | None = (
        "frank-wolfe",
    ),
    thresholds: str | StoppingBase | Sequence[str | StoppingBase] = ("mixture",),
    runs: int = 50,
    seed: int = 0,
    max_rounds: int = 10**6,
    jobs: int = 1,
    engine: str = "auto",
    gap_scales: float | Sequence[float] = (1.0, 0.75, 0.5),
    progress: bool | None = None,
    epsilon: float = 0.0,
    batch_sd: float = 0.0,
) -> Plan:
    """Estimate how many rounds an experiment takes if `means` are the true means.

    This is the power analysis before an experiment. By default it is for the rule and the threshold
    of a `Study`. For every delta and threshold it has a lower bound that no rule can beat, the
    round at which the optimal proportions stop without noise (the limit), and simulated runs of
    every rule.

    A scenario is a gap scale. For each scenario, threshold and rule, runs 0 to `runs` - 1 of `seed`
    are simulated, those of `simulate` with the same arguments. A run goes on until it has stopped
    at every delta, or until `max_rounds`.

    Parameters
    ----------
    problem : Problem
        The problem.
    means : array_like of float, shape (d,)
        The supposed means.
    delta : float or sequence of float, default=0.05
        The probability of a wrong answer.
    rules : str, RuleBase, sequence or mapping of these, default=("frank-wolfe",)
        The simulated rules. None simulates nothing, which takes hardly any time.
    thresholds : str, StoppingBase or sequence of these, default=("mixture",)
        The thresholds; see `simulate`.
    runs : int, default=50
        The number of runs for every gap scale, threshold and rule; 0 simulates nothing.
    seed : int, default=0
        The seed of the runs. All gap scales, thresholds and rules have the same one.
    max_rounds : int, default=10**6
        The number of rounds after which runs are capped.
    jobs : int, default=1
        The number of threads.
    engine : {"auto", "compiled", "python", "cuda"}, default="auto"
        What plays the rounds; see `simulate`.
    gap_scales : float or sequence of float, default=(1.0, 0.75, 0.5)
        The plan is repeated with the gaps multiplied by these factors. The mean of the means stays
        where it is. With Gaussian rewards, the bound grows like 1/factor^2, and the limit a little
        faster.
    progress : bool, optional
        Whether to show progress; see `simulate`.
    epsilon : float, default=0.0
        Any answer within epsilon of the best will do. It is not scaled with the gaps. No lower
        bound is known for positive values.
    batch_sd : float, default=0.0
        The standard deviation of the batch effects, if every round has one.

    Returns
    -------
    Plan
        Print it for the table.

    Raises
    ------
    InputError
        If an argument is wrong, two answers are equally good (and `epsilon` is 0), or rounds have
        batch effects and no rule is simulated.
    EngineError
        If the engine cannot play these runs.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    >>> means = [0.3, 0.29, 0.28, 0.23, 0.2]
    >>> plan = cg.plan(problem, means, delta=0.1, thresholds="stylised", rules=None)
    >>> [(row["shrink"], round(row["bound"]), round(row["limit"], -1)) for row in plan.rows()]
    [(1.0, 571, 1780.0), (0.75, 1015, 3210.0), (0.5, 2283, 7350.0)]
    """
    if not isinstance(problem, Problem):
        raise invalid_argument("problem", problem, "a Problem", remedy="it comes first", of="plan")
    truth, deltas = problem.check_means(means), list(dict.fromkeys(check_deltas(delta)))
    runs, jobs = check_int("runs", runs, 0, of="plan"), check_int("jobs", jobs, 1, of="plan")
    max_rounds, seed = (
        check_int("max_rounds", max_rounds, 1, of="plan"),
        check_int("seed", seed, 0, of="plan", most=SEED),
    )
    asked = _several(thresholds, "thresholds", "'proved'")
    inner = problem.as_maximisation
    check_batch_sd(inner, batch_sd)
    stoppings = _stoppings(asked, inner, deltas, epsilon)
    chosen = _rules(rules) if runs else {}
    if problem.rewards.has_batch_effect() and not chosen:
        raise InputError(
            "level-plan",
            "plan: where every play has a level of its own, rounds are known from simulated runs "
            "only",
            remedy="give a rule, and runs of at least 1",
        )
    prepared: list[tuple[float, Floats, Complexity, dict[tuple[str, str], Runner]]] = []
    for share in _shares(gap_scales):
        centre = float(truth.mean())
        scaled = (
            problem.check_means(centre + share * (truth - centre), f"means with gaps x {share:g}")
            if share != 1.0
            else truth
        )
        runners: dict[tuple[str, str], Runner] = {}
        with waiting("working out the limits", "worked out the limits", progress):
            solved = _complexity(problem, scaled, stoppings[0].epsilon)
        for threshold in asked:
            for name, rule in chosen.items():
                runner = Runner(
                    RunSpec(
                        problem,
                        scaled,
                        rule,
                        deltas,
                        threshold,
                        seed,
                        max_rounds,
                        engine,
                        epsilon=epsilon,
                        batch_sd=batch_sd,
                    )
                )
                runners[name, runner.stopping.name] = runner
        prepared.append((share, scaled, solved, runners))
    work = [(name, runner) for *_, runners in prepared for (name, _), runner in runners.items()]
    here = [] if engine == CARD else work
    made = counted(
        (result for _, runner in here for result in ordered_results(runner, runs, jobs)),
        runs * len(here),
        "the plan",
        progress,
    )
    simulated = iter(
        [on_card(runner, name, runs, progress) for name, runner in work]
        if engine == CARD
        else [runner.gather(name, [next(made) for _ in range(runs)]) for name, runner in work]
    )
    cases = [
        Scenario(
            share,
            scaled,
            problem.best_two(scaled)[0],
            solved,
            tuple(next(simulated) for _ in runners),
        )
        for share, scaled, solved, runners in prepared
    ]
    list(made)  # exhausts the iterator, which ends the progress line
    return Plan(problem, tuple(deltas), tuple(stoppings), tuple(cases))


def _complexity(problem: Problem, means: Floats, epsilon: float) -> Complexity:
    """Return the complexity as the stopping rule sees it.

    With epsilon, that is Gaussian rewards with unbounded means, where epsilon is added to the
    leader (`PenalisedStoppingKernel.shift`).
    """
    if not epsilon:
        return least_time(problem, means)
    means, problem = problem.to_internal(means), problem.as_maximisation
    scale = problem.rewards.sub_gaussian_scale(problem.d).tolist()
    rewards = Gaussian(scale, batch_effect=problem.rewards.has_batch_effect())
    free = Problem(problem.actions, problem.answers, rewards, problem.names)
    leader = vector(problem.best_two(means)[0], problem.d)
    return least_time(free, means + epsilon / problem.answers.max_size() * leader)


def _stoppings(
    asked: list[Any], problem: Problem, deltas: list[float], epsilon: float
) -> list[Stopping]:
    """Return the distinct stopping rules for some names and objects."""
    made = [make_stopping(one, problem, deltas, epsilon=epsilon) for one in asked]
    return list({one.name: one for one in made}.values())


def _several(given: Any, what: str, such: str) -> list[Any]:
    """Return a list of at least one item from one item or a collection."""
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    wanted = "one or more, such as [{such}]"
    items = check_list(what, given, wanted, such=such, of="plan") if several else [given]
    if not items:
        raise invalid_argument(what, given, wanted, such=such, of="plan")
    return items


def _rules(rules: Any) -> dict[str, RuleBase]:
    if rules is None:
        return {}
    if isinstance(rules, Mapping) and rules:
        return {str(name): make_rule(rule) for name, rule in rules.items()}
    return {
        rule if isinstance(rule, str) else describe(rule): make_rule(rule)
        for rule in _several(rules, "rules", "'lloo'")
    }


def _shares(gap_scales: Any) -> list[float]:
    shares = _several(gap_scales, "gap_scales", "1.0, 0.5")
    if not all(is_real(to_python_scalar(x)) and 0.0 < x < math.inf for x in shares):
        what = "one or more positive numbers, by which the gaps are multiplied, such as [1.0, 0.5]"
        raise invalid_argument("gap_scales", gap_scales, what, of="plan")
    return list(dict.fromkeys(float(x) for x in shares))
