"""plan(): before an experiment, how many rounds to expect for supposed means: the bound, the limit,
and simulated rules.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import SEED, InputError, must_be, real, unboxed, whole
from ..game.records import Floats, vector
from ..limits import items_of
from ..presets import make_rule
from ..problem import Problem, check_deltas
from ..report.progress import counted, waiting
from ..rewards.gaussian import Gaussian
from ..rules import RuleBase
from ..rules.base import describe
from ..stopping.base import Stopping
from ..stopping.names import make_stopping
from ..stopping.own import StoppingBase
from ..theory.complexity import Complexity, least_time
from ..theory.evidence import best_answer
from .bench import CARD, Bench, check_level_sd, in_order, make_bench
from .card import simulated as on_card
from .planned import Case, Plan

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
    shrink: float | Sequence[float] = (1.0, 0.75, 0.5),
    progress: bool | None = None,
    epsilon: float = 0.0,
    level_sd: float = 0.0,
) -> Plan:
    """The power analysis before an experiment: rounds to expect if `means` were the true ones.

    By default for the rule and the threshold of a `Study`. For every delta and threshold: what no
    rule can beat, where the optimal proportions stop if there is no noise, and `runs` simulated
    runs of every rule (rules=None or runs=0: none, which takes no time). shrink: all of it again
    with the gaps multiplied by these, towards the mean of the means; with Gaussian rewards rounds
    grow like 1/shrink^2. epsilon: any answer within epsilon of the best will do (it is not shrunk);
    no bound is known then. level_sd: the standard deviation of the levels of plays, where every
    play has its own, as in `simulate`.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    >>> means = [0.3, 0.29, 0.28, 0.23, 0.2]
    >>> plan = cg.plan(problem, means, delta=0.1, thresholds="stylised", rules=None)
    >>> [(row["shrink"], round(row["bound"]), round(row["limit"], -1)) for row in plan.rows()]
    [(1.0, 571, 1780.0), (0.75, 1015, 3210.0), (0.5, 2283, 7350.0)]
    """
    if not isinstance(problem, Problem):
        raise must_be("problem", problem, "a Problem", remedy="it comes first", of="plan")
    truth, deltas = problem.means(means), list(dict.fromkeys(check_deltas(delta)))
    runs, jobs = whole("runs", runs, 0, of="plan"), whole("jobs", jobs, 1, of="plan")
    max_rounds, seed = (
        whole("max_rounds", max_rounds, 1, of="plan"),
        whole("seed", seed, 0, of="plan", most=SEED),
    )
    asked = _several(thresholds, "thresholds", "'proved'")
    inner = problem.maximised
    check_level_sd(inner, level_sd)
    stoppings = _stoppings(asked, inner, deltas, epsilon)
    chosen = _rules(rules) if runs else {}
    if problem.rewards.levels() and not chosen:
        raise InputError(
            "level-plan",
            "plan: where every play has a level of its own, rounds are known from simulated runs "
            "only",
            remedy="give a rule, and runs of at least 1",
        )
    prepared: list[tuple[float, Floats, Complexity, dict[tuple[str, str], Bench]]] = []
    for share in _shares(shrink):
        centre = float(truth.mean())
        scaled = (
            problem.means(centre + share * (truth - centre), f"means with gaps x {share:g}")
            if share != 1.0
            else truth
        )
        benches: dict[tuple[str, str], Bench] = {}
        with waiting("working out the limits", "worked out the limits", progress):
            solved = _complexity(problem, scaled, stoppings[0].epsilon)
        for threshold in asked:
            for name, rule in chosen.items():
                bench = make_bench(
                    problem,
                    scaled,
                    rule,
                    deltas,
                    threshold,
                    seed,
                    max_rounds,
                    engine,
                    epsilon=epsilon,
                    level_sd=level_sd,
                )
                benches[name, bench.stopping.name] = bench
        prepared.append((share, scaled, solved, benches))
    work = [(name, bench) for *_, benches in prepared for (name, _), bench in benches.items()]
    here = [] if engine == CARD else work
    made = counted(
        (outcome for _, bench in here for outcome in in_order(bench, runs, jobs)),
        runs * len(here),
        "the plan",
        progress,
    )
    simulated = iter(
        [on_card(bench, name, runs, progress) for name, bench in work]
        if engine == CARD
        else [bench.gather(name, [next(made) for _ in range(runs)]) for name, bench in work]
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
    list(made)  # lets the line end
    return Plan(problem, tuple(deltas), tuple(stoppings), tuple(cases))


def _complexity(problem: Problem, means: Floats, epsilon: float) -> Complexity:
    """With epsilon, as the stopping rule sees it: Gaussian rewards with free means, the leader
    lifted by epsilon (`JudgePart.shift`).
    """
    if not epsilon:
        return least_time(problem, means)
    means, problem = problem.inside(means), problem.maximised
    level = "per play" if problem.rewards.levels() else None
    rewards = Gaussian(problem.rewards.spread(problem.d).tolist(), level=level)
    free = Problem(problem.actions, problem.answers, rewards, problem.names)
    leader = vector(best_answer(problem, means), problem.d)
    return least_time(free, means + epsilon / problem.answers.largest() * leader)


def _stoppings(
    asked: list[Any], problem: Problem, deltas: list[float], epsilon: float
) -> list[Stopping]:
    """Those of some names and objects, each once."""
    made = [make_stopping(one, problem, deltas, epsilon=epsilon) for one in asked]
    return list({one.name: one for one in made}.values())


def _several(given: Any, what: str, such: str) -> list[Any]:
    """One, or a list of at least one."""
    several = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    wanted = "one or more, such as [{such}]"
    items = items_of(what, given, wanted, such=such, of="plan") if several else [given]
    if not items:
        raise must_be(what, given, wanted, such=such, of="plan")
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


def _shares(shrink: Any) -> list[float]:
    shares = _several(shrink, "shrink", "1.0, 0.5")
    if not all(real(unboxed(x)) and 0.0 < x < math.inf for x in shares):
        what = "one or more positive numbers, by which the gaps are multiplied, such as [1.0, 0.5]"
        raise must_be("shrink", shrink, what, of="plan")
    return list(dict.fromkeys(float(x) for x in shares))
