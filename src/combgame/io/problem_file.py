"""Data -> problem: each kind says what it makes and which keys it takes, each key how its value is
read.

What people write -> rules: a preset's name, or a table of options.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ..engine.state import Floats
from ..errors import CombGameError, InputError
from ..problem import GOALS, Problem
from ..rewards import Bernoulli, Bounded, Gaussian
from ..rewards.gaussian import no_longer_known
from ..rules import CombGame, RuleBase
from ..rules.bonuses import theory_bonus
from ..rules.presets import PRESETS
from ..structures import (
    AlmostAllSets,
    Arms,
    Geometry,
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
from .parsing import (
    Kind,
    Place,
    arm,
    arms,
    at_least,
    box,
    by_name,
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
    text,
    truth,
)


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The data of a TOML file, or a sentence that names the file and the line."""
    import tomllib

    try:
        raw = Path(path).read_bytes()
        return tomllib.loads(raw.decode("utf-8-sig"))
    except FileNotFoundError:
        text, remedy = "{where} does not exist", "check the name of the file and its folder"
        raise InputError("no-file-there", text, remedy=remedy, where=str(path)) from None
    except IsADirectoryError:
        text, remedy = "{where} is a folder", "give the TOML file in it"
        raise InputError("folder-given", text, remedy=remedy, where=str(path)) from None
    except OSError as error:
        text, remedy = "{where} cannot be read ({why})", "check its permissions"
        about = {"where": str(path), "why": error.strerror}
        raise InputError("unreadable", text, remedy=remedy, **about) from None
    except UnicodeDecodeError as error:
        line, byte = raw.count(b"\n", 0, error.start) + 1, raw[error.start]
        text = "{where} is not UTF-8: line {line} has the byte {byte:#04x}"
        remedy = "save it with the encoding UTF-8"
        where = str(path)
        raise InputError(
            "not-utf-8", text, remedy=remedy, where=where, line=line, byte=byte
        ) from None
    except (ValueError, RecursionError) as error:  # a number of ten thousand digits, too
        text = "{where} is not TOML: {why}"
        remedy = "write key = value, with texts in quotes, and each key once"
        about = {"where": str(path), "why": str(error)}
        raise InputError("not-toml", text, remedy=remedy, **about) from None


def read_problem(path: str | os.PathLike[str]) -> tuple[Problem, Floats | None]:
    """The problem of a TOML file, and the true means if it has them."""
    return problem_from(read_toml(path), str(path))


def _programme(
    arms: int, matrix: list[list[float]], low: Any, high: Any, exact: bool, seconds: float
) -> IntegerProgram:
    return IntegerProgram((matrix, low, high) if matrix else [], arms, exact, seconds)


def _shared(value: Any, at: Place) -> Any:
    """Whether arms share a sigma, or which do: a list of groups, or a table of them."""
    if isinstance(value, Mapping):
        return {name: arms(group, at.at(name)) for name, group in value.items()}
    return either(truth, several_sets)(value, at)


def _gaussian(
    sigma: Any, shared: Any, supposed: Any, level: str | None, known: bool | None
) -> Gaussian:
    if known is not None:
        raise no_longer_known()
    return Gaussian(sigma, shared, supposed, level)


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
        _gaussian,
        {
            "sigma": by_name(either(number, numbers)),
            "shared": _shared,
            "supposed": by_name(either(number, numbers)),
            "level": text,
            "known": truth,
        },
        {"sigma": None, "shared": True, "supposed": None, "level": None, "known": None},
    ),
    "bernoulli": Kind(Bernoulli, {}),
    "bounded": Kind(Bounded, {"low": number, "high": number}),
}


def _made(value: Any, at: Place, kinds: Mapping[str, Kind], given: Mapping[str, Any]) -> Any:
    """What a table with a kind describes; `given` stands for keys that are not there."""
    known = list(kinds)
    if not isinstance(value, Mapping):
        raise at.must_be(value, "a table with a kind, one of {known:quoted}", known=known)
    if "kind" not in value:
        raise at.missing("kind", "use one of {known:quoted}", known=known)
    kind = kinds.get(value["kind"]) if isinstance(value["kind"], str) else None
    if kind is None:
        raise at.at("kind").unknown(value["kind"], kinds)
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


def problem_from(
    data: Mapping[str, Any], where: str | Place = "problem"
) -> tuple[Problem, Floats | None]:
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
    root = where if isinstance(where, Place) else Place(where)
    data = keyed(
        data, root, ["actions", "rewards"], ["answers", "names", "bounds", "goal", "truth"]
    )
    names, given = None, {}
    if "names" in data:
        names = each(_name, "texts, one per arm")(data["names"], root.at("names"))
        root, given = root._replace(names=tuple(names)), {"arms": len(names)}
    means = None
    if "truth" in data:
        truth = keyed(data["truth"], root.at("truth"), ["means"])
        means = _means(truth["means"], root.at("truth").at("means"))
    bounds = box(data["bounds"], root.at("bounds")) if "bounds" in data else None
    goal = data.get("goal", "maximise")
    if goal not in GOALS:
        raise root.at("goal").unknown(goal, ("maximise", "minimise"))
    actions = _made(data["actions"], root.at("actions"), STRUCTURES, given)
    answers = None
    if "answers" in data:
        answers = _made(data["answers"], root.at("answers"), STRUCTURES, {"arms": actions.d})
    rewards = _made(data["rewards"], root.at("rewards"), REWARDS, {})
    try:
        problem = Problem(actions, answers, rewards, names, bounds, goal)
    except CombGameError as error:
        raise root.within(error) from None
    try:
        return problem, None if means is None else problem.means(means)
    except CombGameError as error:
        raise root.at("truth").within(error) from None


def _name(value: Any, at: Place) -> str:
    if not isinstance(value, str) or not value.strip():
        raise at.must_be(value, "a text that is not empty: the name of an arm")
    return value


def _means(value: Any, at: Place) -> Any:
    if isinstance(value, Mapping):
        return {name: number(mean, at.at(name)) for name, mean in value.items()}
    if not isinstance(value, list | tuple):
        what = "a list of numbers, one per arm, or a table of names and numbers"
        raise at.must_be(value, what)
    return numbers(value, at)


def rule_from(data: str | Mapping[str, Any], where: str | Place = "rule") -> RuleBase:
    """The rule of a preset's name, or of a table: a rule or a learner by name, with other values
    for their options.

    A key `label`, which is for whoever prints the rule, is left alone.

    >>> rule_from({"learner": "ofw", "tracking": "D", "sparsify": False}).learner
    OFW(sparsify=False)
    >>> rule_from({"rule": "uniform", "start": "full"})
    Uniform(start='full')
    """
    at = where if isinstance(where, Place) else Place(where)
    made: RuleBase
    if isinstance(data, str):
        made = _preset(data, at, PRESETS)
        return made
    if not isinstance(data, Mapping):
        what = "one of {known:quoted}, or a table such as {{learner = 'lloo', tracking = 'D'}}"
        raise at.must_be(data, what, known=list(PRESETS))
    learners = {name: rule.learner for name, rule in PRESETS.items() if isinstance(rule, CombGame)}
    if not {"rule", "learner"} & set(data):
        remedy = "name a learner, one of {known:quoted}, or a rule, such as rule = 'uniform'"
        raise at.missing("learner", remedy, known=list(learners))
    rule: Any = _preset(data["rule"], at.at("rule"), PRESETS) if "rule" in data else CombGame()
    learner: Any = getattr(rule, "learner", None)
    if learner is not None and "learner" in data:
        learner = _preset(data["learner"], at.at("learner"), learners)
    own, its = _options(rule), _options(learner)
    own.pop("learner", None)
    keys = [
        "label",
        "rule",
        *(["learner"] if learner is not None else []),
        *own,
        *(key for key in its if key not in own),
    ]
    for key in data:
        if key not in keys:
            raise at.unknown_key(key, keys)
    changed = {
        key: _option(key, data[key], usual, at.at(key))
        for key, usual in (its | own).items()
        if key in data
    }
    try:
        if learner is not None:
            rule = replace(
                rule,
                learner=replace(
                    learner, **{key: changed[key] for key in changed if key not in own}
                ),
            )
        made = replace(rule, **{key: changed[key] for key in changed if key in own})
    except CombGameError as error:
        raise at.within(error) from None
    except TypeError as error:
        text, remedy = "a value has the wrong type ({why})", "check {keys:list}"
        wrong = InputError("wrong-type", text, remedy=remedy, why=str(error), keys=list(changed))
        raise at.within(wrong) from None
    return made


def _options(described: Any) -> dict[str, Any]:
    """The options of a rule or learner, with the values that they have now."""
    return (
        {}
        if described is None
        else {item.name: getattr(described, item.name) for item in fields(described) if item.init}
    )


def _preset(name: Any, at: Place, known: Mapping[str, Any]) -> Any:
    if not isinstance(name, str) or name not in known:
        raise at.unknown(name, known)
    return known[name]


def _option(key: str, value: Any, usual: Any, at: Place) -> Any:
    """A value of the type that the option has now; those that are made of several numbers are
    tables.
    """
    if key == "bonus" and isinstance(value, Mapping):
        table = keyed(value, at, [], ["b", "c"])
        given = {one: number(table[one], at.at(one)) for one in table}
        try:
            return theory_bonus(**given)
        except InputError as error:
            raise at.within(error) from None
    if key == "geometry" and isinstance(value, Mapping):
        table = keyed(value, at, Geometry._fields)
        diameter, psi, phi = (float(number(table[one], at.at(one))) for one in Geometry._fields[:3])
        return Geometry(diameter, psi, phi, truth(table["exact"], at.at("exact")))
    if isinstance(usual, bool):
        return truth(value, at)
    if isinstance(usual, int):
        return at_least(0)(value, at)
    if isinstance(usual, float):
        return float(number(value, at))
    if isinstance(usual, str) and not isinstance(value, str):
        raise at.must_be(value, "a text, such as {usual!r}", usual=usual)
    return tuple(value) if isinstance(value, list) else value
