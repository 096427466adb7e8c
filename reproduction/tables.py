"""The rows of the paper's tables that are not campaigns: quantities, learners, theorems."""

from collections.abc import Callable, Iterator
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np

from combgame.problem import Problem
from combgame.research.campaign import Instance
from combgame.research.instances import alt2021 as the
from combgame.simulation.api import simulate
from combgame.simulation.regret import Regret, regret
from combgame.structures import Arms, Subsets
from combgame.structures.geometry import exact_psi, greedy_psi, needle_psi, needle_rows, tree_rows
from combgame.theory.complexity import complexity
from combgame.theory.correlated import CorrelatedProblem
from combgame.theory.upper_bound import upper_bound

from .experiments import CAP, DELTA, LEARNERS, RUNS, experiments
from .results import Rows
from .timing import times

SIZES = (5, 10, 20, 30, 40, 50)  # arms of the k = 3 instances on which costs are compared
REGRET_ARMS, REGRET_ROUNDS, REGRET_RUNS = 20, 20_000, 10  # runs at most: they have no stopping rule


def quantities(say: Callable[[str], None]) -> Rows:
    """Compute the paper's table of central quantities beside its formulas.

    The characteristic time of each instance is added.
    """
    rows = []
    for name, formula in FORMULAS.items():
        for instance in experiments()[name].instances:
            say(f"{name}, {instance.name}")
            actions = instance.problem.actions
            number = actions.n_sets() or 0
            solved = complexity(instance.problem, instance.means)
            d, size, informative, start = formula(instance)
            rows.append(
                {
                    "family": name,
                    "instance": instance.name,
                    "x": instance.x,
                    "d": actions.d,
                    "actions": number,
                    "informative": informative,
                    "share": informative / number,
                    "n_0": len(actions.covering()),
                    "paper_d": d,
                    "paper_actions": size,
                    "paper_n_0": start,
                    "characteristic_time": solved.characteristic_time,
                    "agrees": (actions.d, number, len(actions.covering())) == (d, size, start)
                    and informative == _informative(instance),
                }
            )
    return rows


def _informative(instance: Instance) -> int:
    """Count the actions that contain the best arm."""
    return sum(1 for chosen in instance.problem.actions.to_list(250_000) if 0 in chosen)


def _matroid(i: Instance) -> tuple[int, int, int, int]:
    d, k = i.problem.d, i.problem.actions.max_size()
    return d, comb(d, k), comb(d - 1, k - 1), -(-d // k)


def _grid(i: Instance) -> tuple[int, int, int, int]:
    n = int(i.x or 0)
    return n * (n // 2 + 1), comb(n, n // 2), 1, n


def _line(width: int) -> Callable[[Instance], tuple[int, int, int, int]]:
    def formula(i: Instance) -> tuple[int, int, int, int]:
        n = int(i.x or 0)
        return 2 * width + (n - 1) * width**2, width**n, width ** (n - 2), width**2

    return formula


def _needle(i: Instance) -> tuple[int, int, int, int]:
    d = i.problem.d
    return d, 2 ** (d - 1), 1, 2


FORMULAS: dict[str, Callable[[Instance], tuple[int, int, int, int]]] = {
    "figure1": _matroid,
    "uniform-matroid-k2": _matroid,
    "grid": _grid,
    "line2": _line(2),
    "line3": _line(3),
    "almost-all": _needle,
}


def learners(say: Callable[[str], None]) -> Rows:
    """Measure cost per round and support of each learner at several d.

    They are measured after thousands of rounds of one run.
    """
    return times([the.matroid(d) for d in SIZES], list(LEARNERS), 0, say)


def regrets(say: Callable[[str], None], runs: int, seed: int) -> Iterator[tuple[str, list[Regret]]]:
    """Yield the regret of each learner over several runs of the k = 3 instance."""
    instance = the.matroid(REGRET_ARMS)
    for name in LEARNERS:
        say(f"regret of {name}")
        yield (
            name,
            [
                regret(
                    instance.problem,
                    instance.means,
                    rule=name,
                    rounds=REGRET_ROUNDS,
                    points=40,
                    seed=seed,
                    run=run,
                )
                for run in range(runs)
            ],
        )


def regret_rows(say: Callable[[str], None], runs: int = REGRET_RUNS, seed: int = 0) -> Rows:
    """Average the regrets over the runs, at each recorded round.

    The number of runs in which the bound was exceeded there is added.
    """
    rows = []
    for name, recorded in regrets(say, min(runs, REGRET_RUNS), seed):
        for k, t in enumerate(recorded[0].rounds):
            rows.append(
                {
                    "rule": name,
                    "arms": REGRET_ARMS,
                    "runs": len(recorded),
                    "t": int(t),
                    "regret": float(np.mean([one.regret[k] for one in recorded])),
                    "exceeded": sum(bool(one.regret[k] > one.bound[k]) for one in recorded),
                    "bound": float(np.mean([one.bound[k] for one in recorded])),
                    "support": float(np.mean([one.support[k] for one in recorded])),
                    "met": float(np.mean([one.met[k] for one in recorded])),
                }
            )
    return rows


def growth(t: Any, value: Any) -> float:
    """Return the exponent with which a value grows over the last decade of t.

    It is NaN if the value is not positive there.
    """
    t, value = np.asarray(t, dtype=float), np.asarray(value, dtype=float)
    late = t >= t[-1] / 10
    if np.any(value[late] <= 0.0):
        return float("nan")
    return float(np.polyfit(np.log(t[late]), np.log(value[late]), 1)[0])


def psi_rows(say: Callable[[str], None]) -> Rows:
    """Compute psi of almost all sets and of the spanning trees of small graphs.

    It is computed over all choices of rows, and greedily, as in the paper; beside the closed form.
    """
    rows = []
    for d in range(3, 9):
        say(f"psi of almost all sets, d = {d}")
        facets = needle_rows(d)
        found = {"psi": exact_psi(facets), "greedy": greedy_psi(facets)}
        rows.append({"structure": "almost all sets", "d": d, **found, "closed": needle_psi(d)})
    for nodes in (3, 4):
        say(f"psi of the spanning trees of K{nodes}")
        edges = list(combinations(range(nodes), 2))
        facets = tree_rows(nodes, edges)
        found = {"psi": exact_psi(facets), "greedy": greedy_psi(facets)}
        name = f"spanning trees of the complete graph on {nodes} nodes"
        rows.append({"structure": name, "d": len(edges), **found, "closed": None})
    return rows


BOUND_BOX, BOUND_SIZES = (0.0, 1.0), (5, 10, 20, 50)


def bound_rows(say: Callable[[str], None]) -> Rows:
    """Compute Theorem 3 and its constants on the paper's k = 3 instances."""
    rows = []
    for d in BOUND_SIZES:
        for rule in LEARNERS:
            say(f"Theorem 3, {rule}, d = {d}")
            instance = the.matroid(d)
            bound = upper_bound(instance.problem, instance.means, rule=rule, bounds=BOUND_BOX)
            t = bound.last
            rows.append(
                {
                    "x": d,
                    "rule": rule,
                    "time": bound.time,
                    "chernoff": bound.chernoff,
                    "lipschitz": bound.lipschitz,
                    "width": bound.width,
                    "constant": bound.constant,
                    "t_0": t,
                    "regret_share": bound.constant * bound.regret(t) / t,
                    "approximation_share": bound.constant * bound.approximation(t) / t,
                    "threshold_share": bound.critical_value(t) * bound.time / t,
                }
            )
    return rows


CORRELATIONS = (0.0, 0.5, 0.9)


def correlated_rows(say: Callable[[str], None], runs: int = RUNS, seed: int = 0) -> Rows:
    """Simulate the k = 3 instance with d = 5 and values equally correlated within a play."""
    rows, means = [], the.matroid_means(5)
    for rho in CORRELATIONS:
        say(f"correlation {rho:g}")
        shared = 0.01 * ((1.0 - rho) * np.eye(5) + rho * np.ones((5, 5)))
        problem = CorrelatedProblem(Subsets(5, 3), Arms(5), shared)
        solved = problem.characteristic_time(means)
        made = problem.simulate(means, delta=0.1, runs=runs, seed=seed)
        rows.append(
            {
                "rho": rho,
                "time": solved.time,
                "gap": solved.gap,
                "runs": runs,
                "mean": float(made.rounds.mean()),
                "standard_error": float(made.rounds.std(ddof=1) / runs**0.5),
                "errors": sum(answer != (0,) for answer in made.answers),
            }
        )
    return rows


DISCARDS: dict[str, str | None] = {"never": None, "every round": "always", "phases": "phases"}
ELIMINATION = ("uniform", "ofw")


def elimination_rows(say: Callable[[str], None], runs: int = RUNS, seed: int = 0) -> Rows:
    """Simulate the best of 5 and of 10 arms and the best 3 of 10, with and without elimination."""
    rows = []
    for problem, instance in (
        ("best of 5 arms", the.matroid(5)),
        ("best of 10 arms", the.matroid(10)),
        ("best 3 of 10 arms", best_action(10)),
    ):
        for threshold, rule in product(("stylised", "proved"), ELIMINATION):
            for discards, elimination in DISCARDS.items():
                say(f"{problem}, {threshold}, {rule}, discards {discards}")
                made = simulate(
                    instance.problem,
                    instance.means,
                    rule=rule,
                    delta=DELTA,
                    threshold=threshold,
                    runs=runs,
                    seed=seed,
                    max_rounds=CAP,
                    shuffle_arms=True,
                    elimination=elimination,
                )
                rows.append(
                    {
                        "problem": problem,
                        "threshold": threshold,
                        "rule": rule,
                        "discards": discards,
                        "runs": runs,
                        "mean": float(made.rounds.mean()),
                        "standard_error": float(made.rounds.std(ddof=1) / runs**0.5),
                        "errors": int((~made.correct).sum()),
                    }
                )
    return rows


def best_action(d: int) -> Instance:
    """Return the k = 3 instance whose answers are its actions."""
    usual = the.matroid(d)
    asked = Problem(usual.problem.actions, Subsets(d, 3), usual.problem.rewards)
    return Instance(f"best 3 of {d}", asked, usual.means)
