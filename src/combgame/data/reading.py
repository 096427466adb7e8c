"""Data -> problem, through tables: a kind -> what it makes and the keys it takes; a key -> how its
value is read.
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import CombGameError, InputError
from ..game.records import Floats
from ..problem import Problem
from ..rewards import Bernoulli, Bounded, Gaussian
from ..structures import (
    AlmostAllSets,
    Arms,
    IntegerProgram,
    Listed,
    Matchings,
    Partition,
    Paths,
    SpanningTrees,
    Subsets,
    grid_network,
    line_network,
)
from .values import (
    Kind,
    Place,
    arm,
    arms,
    box,
    each,
    edges,
    either,
    keyed,
    limits,
    node,
    number,
    numbers,
    pair,
    positive,
    seconds,
    several_sets,
    side,
    sizes,
    truth,
)


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The data of a TOML file, or a sentence that names the file and the line."""
    import tomllib

    try:
        raw = Path(path).read_bytes()
        return tomllib.loads(raw.decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(
            f"{path} does not exist; check the name of the file and the folder it is in."
        ) from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give the TOML file in it.") from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); check its permissions."
        ) from None
    except UnicodeDecodeError as error:
        line, byte = raw.count(b"\n", 0, error.start) + 1, raw[error.start]
        raise InputError(
            f"{path} is not UTF-8: line {line} has the byte {byte:#04x}; save it with the "
            "encoding UTF-8."
        ) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is not TOML: {error}; write key = value, with texts in quotes, and each key "
            "once."
        ) from None


def read_problem(path: str | os.PathLike[str]) -> tuple[Problem, Floats | None]:
    """The problem of a TOML file, and the true means if it has them."""
    return problem_from(read_toml(path), str(path))


def _programme(
    arms: int, matrix: list[list[float]], low: Any, high: Any, exact: bool, seconds: float
) -> IntegerProgram:
    return IntegerProgram((matrix, low, high) if matrix else [], arms, exact, seconds)


STRUCTURES: dict[str, Kind] = {
    "arms": Kind(Arms, {"arms": positive}),
    "subsets": Kind(Subsets, {"arms": positive, "size": positive}),
    "partition": Kind(Partition, {"groups": several_sets, "sizes": sizes}),
    "paths": Kind(Paths, {"edges": edges, "source": node, "sink": node}),
    "spanning-trees": Kind(SpanningTrees, {"edges": edges}),
    "matchings": Kind(
        Matchings,
        {
            "rows": side,
            "columns": side,
            "size": positive,
            "forbidden": each(pair, "pairs [row, column]"),
        },
        {"size": None, "forbidden": ()},
    ),
    "almost-all": Kind(
        AlmostAllSets, {"arms": positive, "needle": either(arm, arms)}, {"needle": 0}
    ),
    "listed": Kind(Listed, {"sets": several_sets, "arms": positive}),
    "integer-program": Kind(
        _programme,
        {
            "arms": positive,
            "A": each(numbers, "rows of numbers"),
            "low": limits,
            "high": limits,
            "exact": truth,
            "time_limit": seconds,
        },
        {"low": -math.inf, "high": math.inf, "exact": False, "time_limit": 60.0},
    ),
    "grid-network": Kind(grid_network, {"stages": positive}),
    "line-network": Kind(line_network, {"width": positive, "layers": positive}),
}


REWARDS: dict[str, Kind] = {
    "gaussian": Kind(
        Gaussian, {"sigma": either(number, numbers), "known": truth}, {"sigma": None, "known": True}
    ),
    "bernoulli": Kind(Bernoulli, {}),
    "bounded": Kind(Bounded, {"low": number, "high": number}),
}


def _made(value: Any, at: Place, kinds: Mapping[str, Kind], given: Mapping[str, Any]) -> Any:
    """What a table with a kind describes; `given` stands for keys that are not there."""
    names = ", ".join(map(repr, kinds))
    if not isinstance(value, Mapping):
        raise at.wrong(value, f"must be a table with a kind, one of {names}.")
    if "kind" not in value:
        raise InputError(f"{at.at('kind').path} is missing; use one of {names}.")
    kind = kinds.get(value["kind"]) if isinstance(value["kind"], str) else None
    if kind is None:
        raise at.at("kind").wrong(value["kind"], f"is not known; use one of {names}.")
    needless = {**given, **kind.defaults}
    required = ["kind", *(key for key in kind.keys if key not in needless)]
    table = keyed(value, at, required, [key for key in kind.keys if key in needless])
    values = [
        read(table[key], at.at(key)) if key in table else needless[key]
        for key, read in kind.keys.items()
    ]
    try:
        return kind.make(*values)
    except CombGameError as error:
        raise at.within(error) from None


def problem_from(data: Mapping[str, Any], where: str = "problem") -> tuple[Problem, Floats | None]:
    """The problem that plain data describe, and the true means if they have them; `where` begins
    every error.

    >>> problem, means = problem_from({
    ...     "names": ["x", "y", "z"],
    ...     "actions": {"kind": "subsets", "arms": 3, "size": 2},
    ...     "answers": {"kind": "arms"},
    ...     "rewards": {"kind": "gaussian", "sigma": 0.1},
    ...     "truth": {"means": {"y": 3, "x": 2, "z": 1}},
    ... })
    >>> problem.actions, problem.answers, means
    (Subsets(3, 2), Arms(3), array([2., 3., 1.]))
    """
    root = Place(f"{where}:")
    data = keyed(data, root, ["actions", "rewards"], ["answers", "names", "bounds", "truth"])
    names = None
    if "names" in data:
        names = each(_name, "texts, one per arm")(data["names"], root.at("names"))
        root = root._replace(names=tuple(names))
    means = None
    if "truth" in data:
        truth = keyed(data["truth"], root.at("truth"), ["means"])
        means = _means(truth["means"], root.at("truth").at("means"))
    bounds = box(data["bounds"], root.at("bounds")) if "bounds" in data else None
    actions = _made(data["actions"], root.at("actions"), STRUCTURES, {})
    answers = None
    if "answers" in data:
        answers = _made(data["answers"], root.at("answers"), STRUCTURES, {"arms": actions.d})
    rewards = _made(data["rewards"], root.at("rewards"), REWARDS, {})
    try:
        problem = Problem(actions, answers, rewards, names, bounds)
    except CombGameError as error:
        raise root.within(error) from None
    try:
        return problem, None if means is None else problem.means(means)
    except CombGameError as error:
        raise root.at("truth").within(error) from None


def _name(value: Any, at: Place) -> str:
    if not isinstance(value, str) or not value.strip():
        raise at.wrong(value, "must be a text that is not empty: the name of an arm.")
    return value


def _means(value: Any, at: Place) -> Any:
    if isinstance(value, Mapping):
        return {name: number(mean, at.at(name)) for name, mean in value.items()}
    if not isinstance(value, list | tuple):
        raise at.wrong(
            value, "must be a list of numbers, one per arm, or a table of names and numbers."
        )
    return numbers(value, at)
