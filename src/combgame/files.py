"""Problems and rules as plain data: what a TOML file holds, what JSON can carry, and 16 hex digits that identify it.

A file is read through tables: a kind -> what it makes and the keys it takes; a key -> how its value is read.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .bonuses import theory_bonus
from .errors import CombGameError, InputError
from .presets import PRESETS, make_rule
from .problem import Problem
from .protocols import Floats
from .rewards import Bernoulli, Bounded, Gaussian
from .rules import CombGame, RuleBase
from .structures import (
    AlmostAllSets,
    Arms,
    Geometry,
    IntegerProgram,
    Listed,
    Matchings,
    Partition,
    Paths,
    SpanningTrees,
    StructureBase,
    Subsets,
    grid_network,
    line_network,
)  # fmt: skip
from .structures.base import whole
from .structures.graphs import read_graph

INFINITE = {"inf": math.inf, "-inf": -math.inf}  # as texts, because JSON has no infinity


class Place(NamedTuple):
    """Where in a file a value stands, and the names that arms may have there."""

    path: str
    names: tuple[str, ...] = ()

    def at(self, key: str | int) -> "Place":
        if isinstance(key, int):
            return self._replace(path=f"{self.path}[{key}]")
        word = key if key.replace("-", "").replace("_", "").isalnum() else repr(key)
        return self._replace(path=f"{self.path}{' ' if self.path.endswith(':') else '.'}{word}")

    def wrong(self, value: object, remedy: str) -> InputError:
        text = repr(value)
        return InputError(f"{self.path} = {text if len(text) <= 80 else text[:77] + '...'} {remedy}")

    def within(self, error: Exception) -> InputError:
        """The error of a class that did not know where its values came from."""
        return InputError(f"{self.path.removesuffix(':')}: {' '.join(str(error).split()).removeprefix('Problem: ')}")


Reader = Callable[[Any, Place], Any]


class Kind(NamedTuple):
    """What a kind makes, from the values of its keys in this order; keys with a default may be left out."""

    make: Callable[..., Any]
    keys: Mapping[str, Reader]
    defaults: Mapping[str, Any] = {}


# ---- files


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The data of a TOML file, or a sentence that names the file and the line."""
    import tomllib

    try:
        raw = Path(path).read_bytes()
        return tomllib.loads(raw.decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; check the name of the file and the folder it is in.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give the TOML file in it.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check its permissions.") from None
    except UnicodeDecodeError as error:
        line, byte = raw.count(b"\n", 0, error.start) + 1, raw[error.start]
        raise InputError(f"{path} is not UTF-8: line {line} has the byte {byte:#04x}; save it with the encoding UTF-8.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}; write key = value, with texts in quotes, and each key once.") from None


def read_problem(path: str | os.PathLike[str]) -> tuple[Problem, Floats | None]:
    """The problem of a TOML file, and the true means if it has them."""
    return problem_from(read_toml(path), str(path))


# ---- values


def _list(value: Any, at: Place, of: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise at.wrong(value, f"must be a list of {of}.")
    return list(value)


def _each(read: Reader, of: str) -> Reader:
    return lambda value, at: [read(one, at.at(k)) for k, one in enumerate(_list(value, at, of))]


def _either(one: Reader, several: Reader) -> Reader:
    return lambda value, at: several(value, at) if isinstance(value, list | tuple) else one(value, at)


def _whole(value: Any, at: Place) -> int:
    return whole(at.path, value, 1)


def _number(value: Any, at: Place) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise at.wrong(value, "must be a number.")
    return value


def _bound(value: Any, at: Place) -> float:
    if isinstance(value, str) and value in INFINITE:
        return INFINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise at.wrong(value, "must be a number, inf or -inf.")
    return float(value)


def _seconds(value: Any, at: Place) -> Any:
    if not _number(value, at) > 0:
        raise at.wrong(value, "must be a positive number of seconds, such as 60.0.")
    return value


def _truth(value: Any, at: Place) -> bool:
    if not isinstance(value, bool):
        raise at.wrong(value, "must be true or false.")
    return value


def _arm(value: Any, at: Place) -> int:
    if isinstance(value, str) and value in at.names:
        return at.names.index(value)
    if isinstance(value, bool) or not isinstance(value, int):
        known = (
            f"the names are {', '.join(map(repr, at.names[:10]))}"
            if at.names
            else "there are no names, so give its number, from 0"
        )
        raise at.wrong(value, f"is not an arm; {known}.")
    return value


def _node(value: Any, at: Place) -> Hashable:
    """A text or a whole number; a list of them is a tuple."""
    if isinstance(value, list | tuple):
        return tuple(_node(one, at) for one in value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise at.wrong(value, "must be a text or a whole number.")
    return value


def _edge(value: Any, at: Place) -> tuple[Hashable, ...]:
    if not isinstance(value, list | tuple) or len(value) not in (2, 3) or not all(isinstance(x, str) for x in value[2:]):
        raise at.wrong(value, "must be an edge [tail, head] or [tail, head, name], such as ['s', 'a'].")
    return (*(_node(end, at) for end in value[:2]), *value[2:])


def _pair(value: Any, at: Place) -> tuple[Hashable, ...]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise at.wrong(value, "must be a pair [row, column].")
    return tuple(_node(end, at) for end in value)


_numbers = _each(_number, "numbers")
_bounds = _each(_bound, "numbers")
_set = _each(_arm, "arms")
_sets = _each(_set, "lists of arms, such as [[0, 1], [2]]")
_sizes = _either(lambda value, at: whole(at.path, value, 0), _each(lambda value, at: whole(at.path, value, 0), "whole numbers"))
_edges = _each(_edge, "edges [tail, head]")
_side = _either(_whole, _each(_node, "names"))
_box = _either(_bound, _each(_either(_bound, _bounds), "numbers or pairs"))
_limits = _either(_bound, _bounds)


def _programme(arms: int, matrix: list[list[float]], low: Any, high: Any, exact: bool, seconds: float) -> IntegerProgram:
    return IntegerProgram((matrix, low, high) if matrix else [], arms, exact, seconds)


# ---- kinds

STRUCTURES: dict[str, Kind] = {
    "arms": Kind(Arms, {"arms": _whole}),
    "subsets": Kind(Subsets, {"arms": _whole, "size": _whole}),
    "partition": Kind(Partition, {"groups": _sets, "sizes": _sizes}),
    "paths": Kind(Paths, {"edges": _edges, "source": _node, "sink": _node}),
    "spanning-trees": Kind(SpanningTrees, {"edges": _edges}),
    "matchings": Kind(
        Matchings,
        {"rows": _side, "columns": _side, "size": _whole, "forbidden": _each(_pair, "pairs [row, column]")},
        {"size": None, "forbidden": ()},
    ),
    "almost-all": Kind(AlmostAllSets, {"arms": _whole, "needle": _either(_arm, _set)}, {"needle": 0}),
    "listed": Kind(Listed, {"sets": _sets, "arms": _whole}),
    "integer-program": Kind(
        _programme,
        {"arms": _whole, "A": _each(_numbers, "rows of numbers"), "low": _limits, "high": _limits, "exact": _truth,
         "time_limit": _seconds},
        {"low": -math.inf, "high": math.inf, "exact": False, "time_limit": 60.0},
    ),
    "grid-network": Kind(grid_network, {"stages": _whole}),
    "line-network": Kind(line_network, {"width": _whole, "layers": _whole}),
}  # fmt: skip
REWARDS: dict[str, Kind] = {
    "gaussian": Kind(Gaussian, {"sigma": _either(_number, _numbers)}),
    "bernoulli": Kind(Bernoulli, {}),
    "bounded": Kind(Bounded, {"low": _number, "high": _number}),
}


# ---- problems: data -> problem


def _table(value: Any, at: Place, required: Iterable[str], optional: Iterable[str] = ()) -> Mapping[str, Any]:
    """A table that has the required keys, and no key beyond the optional ones."""
    required, optional = list(required), list(optional)
    known = f"the keys are {', '.join([*required, *optional])}"
    if not isinstance(value, Mapping):
        raise at._replace(path=at.path.removesuffix(":")).wrong(value, f"must be a table; {known}.")
    for key in value:
        if key not in (*required, *optional):
            raise at.at(str(key)).wrong(value[key], f"is not known; {known}.")
    for key in required:
        if key not in value:
            raise InputError(f"{at.at(key).path} is missing; {known}.")
    return value


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
    table = _table(value, at, required, [key for key in kind.keys if key in needless])
    values = [read(table[key], at.at(key)) if key in table else needless[key] for key, read in kind.keys.items()]
    try:
        return kind.make(*values)
    except CombGameError as error:
        raise at.within(error) from None


def problem_from(data: Mapping[str, Any], where: str = "problem") -> tuple[Problem, Floats | None]:
    """The problem that plain data describe, and the true means if they have them; `where` begins every error.

    >>> problem, means = problem_from({"names": ["x", "y", "z"], "actions": {"kind": "subsets", "arms": 3, "size": 2},
    ...     "answers": {"kind": "arms"}, "rewards": {"kind": "gaussian", "sigma": 0.1}, "truth": {"means": {"y": 3, "x": 2, "z": 1}}})
    >>> problem.actions, problem.answers, means
    (Subsets(3, 2), Arms(3), array([2., 3., 1.]))
    """
    root = Place(f"{where}:")
    data = _table(data, root, ["actions", "rewards"], ["answers", "names", "bounds", "truth"])
    names = None
    if "names" in data:
        names = _each(_name, "texts, one per arm")(data["names"], root.at("names"))
        root = root._replace(names=tuple(names))
    means = None
    if "truth" in data:
        truth = _table(data["truth"], root.at("truth"), ["means"])
        means = _means(truth["means"], root.at("truth").at("means"))
    bounds = _box(data["bounds"], root.at("bounds")) if "bounds" in data else None
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
        return {name: _number(mean, at.at(name)) for name, mean in value.items()}
    if not isinstance(value, list | tuple):
        raise at.wrong(value, "must be a list of numbers, one per arm, or a table of names and numbers.")
    return _numbers(value, at)


# ---- problems: problem -> data


def problem_to(problem: Problem, means: Any = None) -> dict[str, Any]:
    """Plain data from which `problem_from` makes the same problem; infinite bounds are the texts "inf" and "-inf".

    >>> problem_to(Problem(Subsets(3, 2), Arms(3), Bernoulli()), [0.1, 0.2, 0.3])["answers"]
    {'kind': 'arms', 'arms': 3}
    """
    data: dict[str, Any] = {} if problem.names is None else {"names": list(problem.names)}
    low, high = problem.rewards.range(problem.d)
    if (problem.low, problem.high) != (tuple(low.tolist()), tuple(high.tolist())):
        pairs = [[_finite(a), _finite(b)] for a, b in zip(problem.low, problem.high, strict=True)]
        data["bounds"] = pairs[0] if all(pair == pairs[0] for pair in pairs) else pairs
    data["actions"] = _structure_to(problem.actions)
    if problem.answers is not problem.actions:
        answers = _structure_to(problem.answers)
        if answers != data["actions"]:
            data["answers"] = answers
    data["rewards"] = _rewards_to(problem.rewards)
    if means is not None:
        data["truth"] = {"means": problem.means(means).tolist()}
    return data


def _finite(x: Any) -> float | str:
    return float(x) if math.isfinite(x) else str(float(x))


def _rewards_to(rewards: Any) -> dict[str, Any]:
    kind = next((name for name, kind in REWARDS.items() if kind.make is type(rewards)), None)
    if kind is None:
        raise InputError(f"{rewards!r} cannot be written as data; use Gaussian, Bernoulli or Bounded.")
    return {"kind": kind, **{key: _plain(getattr(rewards, key)) for key in REWARDS[kind].keys}}


def _structure_to(structure: StructureBase) -> dict[str, Any]:
    if type(structure) not in WRITERS:
        raise InputError(f"{structure!r} cannot be written as data, because a file cannot hold it; list its sets with Listed.")
    kind, write = WRITERS[type(structure)]
    return {"kind": kind, **write(structure)}


def _labels(nodes: Sequence[Hashable]) -> list[Any]:
    """Nodes as JSON can carry them: texts and whole numbers, tuples as lists, others as texts; different ones stay different."""

    def label(node: Any) -> Any:
        if isinstance(node, tuple):
            return [label(one) for one in node]
        return int(node) if isinstance(node, int | np.integer) else str(node)

    found: dict[str, Any] = {}
    for node in nodes:
        text = label(node)
        while repr(text) in found:
            text = f"{text}'"
        found[repr(text)] = text
    return list(found.values())


def _edges_to(ends: list[list[Any]], names: list[str], directed: bool) -> list[list[Any]]:
    """Edges with their names, unless those are the ones that they get without."""
    usual = read_graph([_edge(pair, Place("edges")) for pair in ends], "edges", directed).names
    return ends if usual == names else [[*pair, name] for pair, name in zip(ends, names, strict=True)]


def _paths_to(paths: Paths) -> dict[str, Any]:
    """`Paths` knows the nodes between source and sink; an edge that leads elsewhere gets an end of its own."""
    nodes = [paths.nodes[v] for v, ways in paths._ways.items() if ways]  # in topological order, by which _tail and _head count
    between = len(paths._leaving)
    if len(nodes) > between:  # some are not reached from the source; which ones is not remembered
        nodes = [paths.source, *(f"node {v}" for v in range(1, between - 1)), paths.sink]
    ends: list[list[int]] = []
    for pair in zip(paths._tail, paths._head, strict=True):
        ends.append([])
        for v in pair:
            ends[-1].append(v if v >= 0 else len(nodes))
            if v < 0:
                nodes.append(f"beside {len(nodes)}")
    labels = _labels(nodes)
    edges = _edges_to([[labels[u], labels[v]] for u, v in ends], paths.names, directed=True)
    return {"edges": edges, "source": labels[0], "sink": labels[between - 1]}


def _trees_to(trees: SpanningTrees) -> dict[str, Any]:
    labels = _labels(trees.nodes)
    ends = [[labels[u], labels[v]] for u, v in zip(trees.tails, trees.heads, strict=True)]
    return {"edges": _edges_to(ends, trees.names, directed=False)}


def _matchings_to(matchings: Matchings) -> dict[str, Any]:
    rows, columns = _labels(matchings.rows), _labels(matchings.columns)
    allowed = set(matchings.where)
    barred = [[r, c] for i, r in enumerate(rows) for j, c in enumerate(columns) if (i, j) not in allowed]
    sides = {"rows": _count(rows), "columns": _count(columns), "size": matchings.pairs}
    return {**sides, "forbidden": barred} if barred else sides


def _count(side: list[Any]) -> Any:
    return len(side) if side == list(range(len(side))) else side


def _programme_to(programme: IntegerProgram) -> dict[str, Any]:
    found: dict[str, list[Any]] = {"A": [], "low": [], "high": []}
    for matrix, low, high in programme._rows[:-1]:  # the last says that the empty set is left out
        for row, least, most in zip(matrix, low, high, strict=True):
            free = not row.any()  # 0 <= 0 says nothing, whatever its bounds have been scaled to
            found["A"].append(row.tolist())
            found["low"].append("-inf" if free else _finite(least))
            found["high"].append("inf" if free else _finite(most))
    return {"arms": programme.d, **found, "exact": bool(programme.exact), "time_limit": _plain(programme.time_limit)}


WRITERS: dict[type[StructureBase], tuple[str, Callable[[Any], dict[str, Any]]]] = {
    Arms: ("arms", lambda this: {"arms": this.d}),
    Subsets: ("subsets", lambda this: {"arms": this.d, "size": this.chosen}),
    Partition: ("partition", lambda this: {"groups": [list(group) for group in this.groups], "sizes": list(this.sizes)}),
    Paths: ("paths", _paths_to),
    SpanningTrees: ("spanning-trees", _trees_to),
    Matchings: ("matchings", _matchings_to),
    AlmostAllSets: ("almost-all", lambda this: {"arms": this.d, "needle": list(this.needle)}),
    Listed: ("listed", lambda this: {"sets": [list(chosen) for chosen in this.iterate()], "arms": this.d}),
    IntegerProgram: ("integer-program", _programme_to),
}


# ---- rules


def rule_from(data: str | Mapping[str, Any], where: str = "rule") -> RuleBase:
    """The rule of a preset's name, or of a table: a rule or a learner by name, with other values for their options.

    A key `label`, which is for whoever prints the rule, is left alone.

    >>> rule_from({"learner": "ofw", "tracking": "D", "sparsify": False}).learner
    OFW(sparsify=False)
    >>> rule_from({"rule": "uniform", "start": "full"})
    Uniform(start='full')
    """
    at = Place(where)
    made: RuleBase
    if isinstance(data, str):
        made = _preset(data, at, PRESETS)
        return made
    if not isinstance(data, Mapping):
        names = ", ".join(map(repr, PRESETS))
        raise at.wrong(data, f"must be one of {names}, or a table such as {{learner = 'lloo', tracking = 'D'}}.")
    learners = {name: rule.learner for name, rule in PRESETS.items() if isinstance(rule, CombGame)}
    if not {"rule", "learner"} & set(data):
        names = ", ".join(map(repr, learners))
        raise InputError(
            f"{at.at('learner').path} is missing; name a learner, one of {names}, or a rule, such as rule = 'uniform'."
        )
    rule: Any = _preset(data["rule"], at.at("rule"), PRESETS) if "rule" in data else CombGame()
    learner: Any = getattr(rule, "learner", None)
    if learner is not None and "learner" in data:
        learner = _preset(data["learner"], at.at("learner"), learners)
    own, its = _options(rule), _options(learner)
    own.pop("learner", None)
    known = ["label", "rule", *(["learner"] if learner is not None else []), *own, *(key for key in its if key not in own)]
    for key in data:
        if key not in known:
            raise at.at(str(key)).wrong(data[key], f"is not known; the keys are {', '.join(known)}.")
    changed = {key: _option(key, data[key], usual, at.at(key)) for key, usual in (its | own).items() if key in data}
    try:
        if learner is not None:
            rule = replace(rule, learner=replace(learner, **{key: changed[key] for key in changed if key not in own}))
        made = replace(rule, **{key: changed[key] for key in changed if key in own})
    except CombGameError as error:
        raise at.within(error) from None
    except TypeError as error:
        raise InputError(f"{where}: a value has the wrong type ({error}); check {', '.join(changed)}.") from None
    return made


def _preset(name: Any, at: Place, known: Mapping[str, Any]) -> Any:
    if not isinstance(name, str) or name not in known:
        raise at.wrong(name, f"is not known; use one of {', '.join(map(repr, known))}.")
    return known[name]


def _options(described: Any) -> dict[str, Any]:
    """The options of a rule or learner, with the values that they have now."""
    return {} if described is None else {item.name: getattr(described, item.name) for item in fields(described) if item.init}


def _option(key: str, value: Any, usual: Any, at: Place) -> Any:
    """A value of the type that the option has now; those that are made of several numbers are tables."""
    if key == "bonus" and isinstance(value, Mapping):
        table = _table(value, at, [], ["b", "c"])
        given = {one: _number(table[one], at.at(one)) for one in table}
        try:
            return theory_bonus(**given)
        except InputError as error:
            raise at.within(error) from None
    if key == "geometry" and isinstance(value, Mapping):
        table = _table(value, at, Geometry._fields)
        diameter, psi, phi = (float(_number(table[one], at.at(one))) for one in Geometry._fields[:3])
        return Geometry(diameter, psi, phi, _truth(table["exact"], at.at("exact")))
    if isinstance(usual, bool):
        return _truth(value, at)
    if isinstance(usual, int):
        return whole(at.path, value, 0)
    if isinstance(usual, float):
        return float(_number(value, at))
    if isinstance(usual, str) and not isinstance(value, str):
        raise at.wrong(value, f"must be a text, such as {usual!r}.")
    return tuple(value) if isinstance(value, list) else value


def rule_to(rule: str | RuleBase) -> Any:
    """A rule as data, with the options that are not as usual: the same for all ways to write the same rule.

    >>> rule_to("uniform")
    {'kind': 'Uniform'}
    >>> rule_to(CombGame(tracking="D"))
    {'kind': 'CombGame', 'learner': {'kind': 'LLOO'}, 'tracking': 'D'}
    """
    return _plain(make_rule(rule))


# ---- plain data


def _plain(value: Any) -> Any:
    """Dataclasses as tables with their kind, named tuples as lists that begin with it, NumPy's numbers as Python's."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufU":
        return _plain(value.tolist())
    if isinstance(value, float) and math.isnan(value):
        raise InputError(
            "NaN cannot be part of a description, because it does not even equal itself; give a number, or leave it out."
        )
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(one) for key, one in value.items()}
    kind = _kind(type(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [*kind.values(), *map(_plain, value)]
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if "__dataclass_fields__" not in vars(type(value)):  # one that is only inherited knows nothing of what the class adds
        raise InputError(f"{value!r} cannot be described by its options; make its class, {kind['kind']}, a frozen dataclass.")
    if set(kind) & set(_options(value)):
        raise InputError(f"{value!r} has an option of the name kind, module or qualname, which describe its class; rename it.")
    foreign = "module" in kind  # its defaults may change without a new version of this package: all is written
    for item in fields(value):
        told = _plain(_as_usual(getattr(value, item.name), item.default))
        if foreign or item.default is MISSING or told != _plain(item.default):
            kind[item.name] = told
    return kind


def _as_usual(value: Any, usual: Any) -> Any:
    """200 where 200.0 is usual is the same option."""
    return float(value) if isinstance(usual, float) and isinstance(value, int) and not isinstance(value, bool) else value


def _kind(described: type) -> dict[str, Any]:
    """The name of a class; of one that is not ours, also where it comes from."""
    name, module = described.__name__, described.__module__
    return (
        {"kind": name}
        if module.split(".")[0] == __package__
        else {"kind": name, "module": module, "qualname": described.__qualname__}
    )


def identity(data: Any) -> str:
    """16 hex digits that are the same for the same data, on every machine, whatever the order of the keys.

    >>> identity({"rule": rule_to("lloo"), "delta": 0.1}) == identity({"delta": 0.1, "rule": rule_to(CombGame())})
    True
    """
    text = json.dumps(_plain(data), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
