"""Whatever is given to a constructor or a function, it is made or refused."""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import combgame as cg
from combgame.research.campaign import Campaign
from combgame.testing.learners import check_learner
from combgame.testing.rewards import check_rewards
from combgame.testing.rules import check_rule
from combgame.testing.stopping import check_stopping
from combgame.testing.structures import check_structure

from .case import Case
from .odd import mostly, odd, shown

EDGES = [("s", "a"), ("a", "t"), ("s", "t"), ("s", "b"), ("b", "t")]
COVARIANCE = [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
SQUARE = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]


def _pair(scores: Any) -> list[int]:
    return [0, 1]


def problem() -> cg.Problem:
    return cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(0.5), names=["a", "b", "c"])


def _instance() -> cg.Instance:
    return cg.Instance("one", problem(), (0.5, 0.25, 0.125))


def _correlated() -> cg.CorrelatedProblem:
    return cg.CorrelatedProblem(cg.Subsets(3, 2), cg.Arms(3), COVARIANCE)


def _bound(**given: Any) -> float:
    return cg.upper_bound(**given).rounds


def _quiet(**given: Any) -> None:
    """Whether a structure is what it says, without the table of what was checked."""
    with redirect_stdout(io.StringIO()):
        check_structure(**given, compiled=False)


# what is called, and values that it is meant for
KINDS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Arms": (cg.Arms, {"d": 3}),
    "Subsets": (cg.Subsets, {"d": 3, "size": 2}),
    "Partition": (cg.Partition, {"groups": [[0, 1], [2, 3]], "sizes": [1, 1]}),
    "Paths": (cg.Paths, {"edges": EDGES, "source": "s", "sink": "t"}),
    "SpanningTrees": (cg.SpanningTrees, {"edges": SQUARE}),
    "Matchings": (cg.Matchings, {"rows": 2, "columns": ["x", "y"], "size": 2, "forbidden": []}),
    "AlmostAllSets": (cg.AlmostAllSets, {"d": 4, "needle": [0, 1]}),
    "Listed": (cg.Listed, {"sets": [[0, 1], [2]], "d": 3}),
    "IntegerProgram": (
        cg.IntegerProgram,
        {"constraints": ([[1.0, 1.0, 1.0]], 0.0, 2.0), "d": 3, "exact": False, "time_limit": 1.0},
    ),
    "Oracle": (cg.Oracle, {"argmax": _pair, "d": 2, "contains": None, "covering": [[0, 1]]}),
    "grid_network": (cg.grid_network, {"n_s": 4}),
    "line_network": (cg.line_network, {"n_n": 2, "n_l": 2}),
    "Gaussian": (cg.Gaussian, {"sigma": [0.1, 0.2, 0.3], "known": True}),
    "Bounded": (cg.Bounded, {"low": 0.0, "high": 1.0}),
    "Problem": (
        cg.Problem,
        {
            "actions": cg.Subsets(3, 2),
            "answers": cg.Arms(3),
            "rewards": cg.Gaussian(0.1),
            "names": ["a", "b", "c"],
            "bounds": (0.0, 1.0),
        },
    ),
    "Hedge": (cg.Hedge, {"initial_horizon": 200.0, "horizon_factor": 2.0}),
    "OFW": (cg.OFW, {"sparsify": True}),
    "LLOO": (
        cg.LLOO,
        {
            "sparsify": True,
            "geometry": cg.PolytopeGeometry(1.0, 1.0, 1.0, True),
            "initial_horizon": 9,
            "horizon_factor": 2.0,
        },
    ),
    "CombGame": (
        cg.CombGame,
        {
            "learner": cg.LLOO(),
            "tracking": "C",
            "bonus": "stylised",
            "learner_per_answer": False,
            "initialization": "covering",
            "track_regret": False,
        },
    ),
    "FrankWolfe": (
        cg.FrankWolfe,
        {
            "sharpness": 6.0,
            "anneal_after": 1e6,
            "exploration": 1.2,
            "exploration_delay": 20.0,
            "max_rivals": 5,
        },
    ),
    "Uniform": (cg.Uniform, {"start": "covering"}),
    "GCBPE": (cg.GCBPE, {"noise_scale": 1.0}),
    "FixedAllocation": (cg.FixedAllocation, {"support": [((0, 1), 0.5), ((1, 2), 0.5)]}),
    "ProductAdaHedge": (cg.ProductAdaHedge, {"bonus": "stylised"}),
    "theory_bonus": (cg.theory_bonus, {"b": 1.0, "c": 1.0}),
    "Instance": (
        cg.Instance,
        {"name": "one", "problem": problem(), "means": (0.5, 0.25, 0.125), "x": 1.0},
    ),
    "CorrelatedProblem": (
        cg.CorrelatedProblem,
        {"actions": cg.Subsets(3, 2), "answers": cg.Arms(3), "covariance": COVARIANCE},
    ),
    "CorrelatedProblem.nearest_alternative": (
        _correlated().nearest_alternative,
        {"information": COVARIANCE, "estimates": [0.5, 0.25, 0.125]},
    ),
    "CorrelatedProblem.characteristic_time": (
        _correlated().characteristic_time,
        {"means": [0.5, 0.25, 0.125], "tolerance": 0.1, "steps": 50},
    ),
    "CorrelatedProblem.simulate": (
        _correlated().simulate,
        {"means": [0.5, 0.25, 0.125], "delta": 0.1, "runs": 1, "seed": 0, "cap": 5},
    ),
    "check_structure": (_quiet, {"structure": cg.Listed([[0, 1], [2]], 3), "trials": 2, "seed": 0}),
    # the others compile: with a seed that is none, they come to their arguments alone
    "check_rewards": (partial(check_rewards, seed=-1), {"rewards": cg.Bernoulli(), "trials": 2}),
    "check_learner": (partial(check_learner, seed=-1), {"learner": cg.LLOO(), "rounds": 2}),
    "check_rule": (
        partial(check_rule, seed=-1),
        {"rule": "lloo", "rounds": 2, "problem": problem(), "means": [0.5, 0.25, 0.125]},
    ),
    "check_stopping": (
        partial(check_stopping, seed=-1),
        {"threshold": "mixture", "problem": problem(), "means": None, "runs": 2, "rounds": 2},
    ),
    "Campaign": (Campaign, {"name": "c", "configurations": ()}),
    "Campaign.cross": (
        Campaign.cross,
        {
            "name": "c",
            "problems": [_instance()],
            "rules": ["lloo", "uniform"],
            "delta": [0.05, 0.1],
            "threshold": ["mixture"],
            "runs": 2,
            "seed": 0,
            "max_rounds": 5,
            "shuffle_arms": False,
        },
    ),
    "Study": (
        cg.Study,
        {
            "problem": problem(),
            "delta": 0.05,
            "rule": "uniform",
            "threshold": "mixture",
            "storage": None,
            "name": "study",
            "seed": 0,
            "if_exists": "error",
            "epsilon": 0.0,
            "min_replicates": 0,
            "max_rounds": 9,
            "deadline": "2030-01-31T18:00",
            "client": None,
            "engine": "python",
            "timeout": 1.0,
        },
    ),
    "simulate": (
        cg.simulate,
        {
            "problem": problem(),
            "means": [0.5, 0.25, 0.125],
            "rule": "uniform",
            "delta": [0.05, 0.1],
            "threshold": "mixture",
            "runs": 1,
            "seed": 0,
            "jobs": 1,
            "max_rounds": 3,
            "shuffle_arms": False,
            "engine": "python",
            "on_tie": "raise",
            "elimination": None,
            "epsilon": 0.0,
            "progress": False,
        },
    ),
    "compare": (
        cg.compare,
        {
            "problem": problem(),
            "means": [0.5, 0.25, 0.125],
            "rules": ["uniform", "lloo"],
            "runs": 1,
            "max_rounds": 3,
            "engine": "python",
            "progress": False,
        },
    ),
    "complexity": (
        cg.complexity,
        {"problem": problem(), "means": [0.5, 0.25, 0.125], "tolerance": 0.1, "steps": 5},
    ),
    "upper_bound": (
        _bound,
        {
            "problem": problem(),
            "means": [0.5, 0.25, 0.125],
            "rule": "lloo",
            "delta": 0.1,
            "threshold": "proved",
            "bounds": (0.0, 1.0),
            "c": 1.0,
        },
    ),
    "evidence": (
        cg.evidence,
        {
            "problem": problem(),
            "estimates": [0.5, 0.25, 0.125],
            "counts": [3, 4, 5],
            "delta": 0.1,
            "threshold": "mixture",
            "sigmas": None,
            "weights": None,
        },
    ),
    "regret": (
        cg.regret,
        {
            "problem": problem(),
            "means": [0.5, 0.25, 0.125],
            "rule": "lloo",
            "rounds": 5,
            "points": 2,
            "seed": 0,
            "run": 0,
            "engine": "python",
        },
    ),
    "plan": (
        cg.plan,
        {
            "problem": problem(),
            "means": [0.5, 0.25, 0.125],
            "delta": 0.1,
            "rules": ["uniform"],
            "thresholds": ["mixture"],
            "runs": 1,
            "seed": 0,
            "max_rounds": 3,
            "jobs": 1,
            "engine": "python",
            "gap_scales": [1.0],
            "progress": False,
            "epsilon": 0.0,
        },
    ),
}
# calls without odd values that run, which costs more than a constructor
SLOW = (
    "simulate",
    "compare",
    "complexity",
    "regret",
    "plan",
    "upper_bound",
    "evidence",
    "Campaign.cross",
    "check_structure",
    "CorrelatedProblem.nearest_alternative",
    "CorrelatedProblem.characteristic_time",
    "CorrelatedProblem.simulate",
)
# what a good call takes long with, as it was asked to
LONG = {
    "runs",
    "max_rounds",
    "rounds",
    "jobs",
    "steps",
    "engine",
    "progress",
    "points",
    "trials",
    "cap",
}


def constructor(rng: Random, folder: Path) -> Case:
    """A constructor or a function, with some of its arguments changed."""
    names = list(KINDS)
    name = rng.choice([n for n in names if n not in SLOW] if rng.random() < 0.7 else names)
    call, good = KINDS[name]
    given = {
        key: value if key in LONG and rng.random() < 0.9 else mostly(rng, value)
        for key, value in good.items()
    }
    for key in LONG & set(given):  # a large number is no mistake
        number = given[key]
        if isinstance(number, int | float) and number > 9:
            given[key] = good[key]
    typed = ", ".join(f"{key}={shown(value)}" for key, value in given.items())

    def do() -> None:
        made = call(**given)
        if name in SLOW or name == "Study":
            str(made)
            return
        repr(made), str(made), hash(made), made == call(**given)

    return Case(f"{name}({typed})", do)


def structure_verb(rng: Random, folder: Path) -> Case:
    """A verb of a structure or a problem, with odd arguments."""
    makers: list[Callable[[], Any]] = [
        lambda: cg.Arms(3),
        lambda: cg.Subsets(4, 2),
        lambda: cg.Partition([[0, 1], [2, 3]], 1),
        lambda: cg.Paths(EDGES, "s", "t"),
        lambda: cg.SpanningTrees(SQUARE),
        lambda: cg.Matchings(2, 2),
        lambda: cg.AlmostAllSets(4),
        lambda: cg.Listed([[0, 1], [2]], 3),
        lambda: cg.IntegerProgram(([[1.0, 1.0, 1.0]], 0.0, 2.0), 3),
    ]
    made = rng.choice(makers)()
    verb = rng.choice(["argmax", "contains", "to_list"])
    value = {"argmax": [0.1] * made.d, "contains": [0, 1], "to_list": 5}[verb]
    given = mostly(rng, value)
    return Case(f"{made}.{verb}({shown(given)})", lambda: getattr(made, verb)(given))


def problem_verb(rng: Random, folder: Path) -> Case:
    """A verb of a problem, with an odd argument."""
    made, verb = problem(), rng.choice(["arm_index", "label", "check_means"])
    value = {"arm_index": "a", "label": ["a", 1], "check_means": [0.1, 0.2, 0.3]}[verb]
    given = odd(rng) if rng.random() < 0.5 else mostly(rng, value)
    return Case(f"problem.{verb}({shown(given)})", lambda: getattr(made, verb)(given))
