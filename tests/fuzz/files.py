"""Whatever stands in a file of a problem, a campaign or a table, it is read or refused."""

import json
from pathlib import Path
from random import Random
from typing import Any

from combgame.io import from_data, problem_from, read_problem, rule_from, to_data
from combgame.lab.exports import read_sheet, write_sheet
from combgame.research.campaign import read_campaign

from .case import Case
from .constructors import EDGES, SQUARE, problem
from .odd import TEXTS, mostly, odd, shown

STRUCTURES: list[dict[str, Any]] = [
    {"kind": "arms", "arms": 3},
    {"kind": "subsets", "arms": 3, "size": 2},
    {"kind": "partition", "groups": [[0, 1], [2]], "sizes": 1},
    {"kind": "paths", "edges": [list(e) for e in EDGES], "source": "s", "sink": "t"},
    {"kind": "spanning-trees", "edges": [list(e) for e in SQUARE]},
    {"kind": "matchings", "rows": 2, "columns": ["x", "y"], "size": 1, "forbidden": [[0, "x"]]},
    {"kind": "almost-all", "arms": 3, "needle": [0, 1]},
    {"kind": "listed", "arms": 3, "sets": [[0, 1], [2]]},
    {"kind": "integer-program", "arms": 3, "A": [[1, 1, 1]], "low": 0, "high": 2},
    {"kind": "grid-network", "stages": 2},
    {"kind": "line-network", "width": 2, "layers": 2},
]
REWARDS: list[dict[str, Any]] = [
    {"kind": "gaussian", "sigma": 0.1},
    {"kind": "gaussian", "sigma": [0.1, 0.2, 0.3], "known": False},
    {"kind": "bernoulli"},
    {"kind": "bounded", "low": 0, "high": 1},
]
RULES: list[Any] = [
    "lloo",
    {"learner": "ofw", "sparsify": False},
    {"rule": "frank-wolfe", "max_rivals": 3},
    {"rule": "uniform", "start": "full", "label": "u"},
    {"learner": "lloo", "bonus": {"b": 1.0, "c": 1.0}, "initial_horizon": 9},
]


def changed(rng: Random, data: Any, chance: float = 0.06) -> Any:
    """Data with some of it changed, left out or added, at any depth."""
    if rng.random() < chance:
        return mostly(rng, data) if rng.random() < 0.5 else odd(rng, 1)
    if isinstance(data, dict):
        kept = {
            key: changed(rng, one, chance) for key, one in data.items() if rng.random() > chance / 3
        }
        if rng.random() < chance / 3:
            kept[rng.choice(TEXTS)] = odd(rng, 1)
        return kept
    return [changed(rng, one, chance / 2) for one in data] if isinstance(data, list) else data


def described(rng: Random) -> dict[str, Any]:
    """A problem as a file says it."""
    data: dict[str, Any] = {"actions": rng.choice(STRUCTURES), "rewards": rng.choice(REWARDS)}
    if rng.random() < 0.5:
        data["answers"] = {"kind": "arms"}
    if rng.random() < 0.5:
        data["names"] = ["a", "b", "c"]
    if rng.random() < 0.3:
        data["bounds"] = rng.choice([[0.0, 1.0], [[0, 1], [0, 2], [0, 3]]])
    if rng.random() < 0.5:
        means: Any = [0.3, 0.2, 0.1] if rng.random() < 0.5 else {"a": 0.1, "b": 0.2, "c": 0.3}
        data["truth"] = {"means": means}
    return data


def plain_data(rng: Random, folder: Path) -> Case:
    """Data of a problem, a rule or a description."""
    which = rng.randrange(3)
    if which == 0:
        data = changed(rng, described(rng))
        return Case(f"problem_from({shown(data)})", lambda: problem_from(data))
    if which == 1:
        data = changed(rng, rng.choice(RULES))
        return Case(f"rule_from({shown(data)})", lambda: rule_from(data))
    data = changed(rng, json.loads(json.dumps(to_data(problem()))))
    return Case(f"from_data({shown(data)})", lambda: from_data(data))


def toml(value: Any) -> str:
    """Data as TOML has them, as far as it has them: odd values are texts."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) > 10**4000:
        return "1" + "0" * 10_000
    if isinstance(value, int | float):
        return repr(float(value)) if isinstance(value, float) else str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(str(k))} = {toml(x)}" for k, x in value.items()) + "}"
    if type(value) in (list, tuple):
        try:
            return "[" + ", ".join(toml(one) for one in value) + "]"
        except RecursionError:
            return "[" * 500 + "]" * 500
    return _text(value) if isinstance(value, str) else _text(shown(value))


def _text(value: str) -> str:
    return json.dumps(value.encode("utf-8", "replace").decode()).replace("\x7f", "\\u007f")


def spoilt(rng: Random, raw: bytes) -> bytes:
    """Bytes with some of them changed, left out, repeated or added."""
    spoiled = bytearray(raw)
    for _ in range(rng.choice([0, 0, 0, 0, 1, 2, 5])):
        at = rng.randrange(len(spoiled) + 1)
        how = rng.randrange(4)
        if how == 0:
            spoiled[at : at + 1] = bytes([rng.randrange(256)])
        elif how == 1:
            del spoiled[at : at + rng.randrange(1, 40)]
        elif how == 2:
            spoiled[at:at] = spoiled[max(at - 30, 0) : at]
        else:
            spoiled[at:at] = rng.choice([b"\0", b"\xff", b'"', b"\n", b"[", b"=", b"\xef\xbb\xbf"])
    return bytes(spoiled)


def problem_file(rng: Random, folder: Path) -> Case:
    """The bytes of a problem file."""
    lines = [f"{key} = {toml(one)}" for key, one in changed_table(rng, described(rng)).items()]
    raw = spoilt(rng, "\n".join(lines).encode("utf-8", "replace"))
    return _file(folder, "problem.toml", raw, read_problem)


def campaign_file(rng: Random, folder: Path) -> Case:
    """The bytes of a campaign file."""
    data: dict[str, Any] = {
        "name": "c",
        "runs": 2,
        "seed": 1,
        "delta": [0.1, 0.05],
        "threshold": "mixture",
        "max_rounds": 5,
        "shuffle_arms": False,
        "rules": [rng.choice(RULES)],
        "problems": [
            {**described(rng), "truth": {"means": [0.3, 0.2, 0.1]}, "name": "p", "x": 1.0}
        ],
    }
    lines = [f"{key} = {toml(one)}" for key, one in changed_table(rng, data).items()]
    raw = spoilt(rng, "\n".join(lines).encode("utf-8", "replace"))
    return _file(folder, "campaign.toml", raw, read_campaign)


def changed_table(rng: Random, data: dict[str, Any]) -> dict[str, Any]:
    """The same keys, so that it is a file, with other values."""
    return {_key(key): changed(rng, one, 0.04) for key, one in data.items()}


def _key(key: str) -> str:
    return json.dumps(key)


def _file(folder: Path, name: str, raw: bytes, read: Any) -> Case:
    path = folder / name

    def do() -> None:
        path.write_bytes(raw)
        read(path)

    return Case(f"{read.__name__} of {raw[:600]!r}", do)


def table(rng: Random, folder: Path) -> Case:
    """The table that comes back from the bench."""
    from combgame.lab.round import Round

    rounds = [Round(k, (0, 2), ("a", "c"), (0, 2)) for k in range(1, rng.randrange(2, 6))]
    lines = write_sheet(rounds, "plates").splitlines()
    head, body = lines[0].split(","), [line.split(",") for line in lines[1:]]
    if rng.random() < 0.3:
        head, body = [*head, "n"], [[*line, rng.choice(["", "2", "1e3", "-1"])] for line in body]
    for line in body:
        line[3] = rng.choice(["0.5", "1e3", "-2", ""])
        if rng.random() < 0.1:
            line[3] = rng.choice(["nan", "inf", "1,5", "x", "9" * 5000, "1_0", "1e999", "٣"])
        if rng.random() < 0.05:
            line[rng.randrange(len(line))] = rng.choice(TEXTS)
    text = "\n".join(",".join(line) for line in [head, *body]) + "\n"
    raw = spoilt(rng, text.encode(rng.choice(["utf-8"] * 9 + ["utf-16", "latin-1"]), "replace"))
    made = problem()
    path = folder / "sheet.csv"

    def do() -> None:
        path.write_bytes(raw)
        read_sheet(path, made, "plates", rounds=rng.random() < 0.9)

    return Case(f"read_sheet of {raw[:600]!r}", do)
