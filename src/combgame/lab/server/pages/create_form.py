"""The form that begins a study: fields as people fill them in, read to a problem and its settings,
and what to expect of it.
"""

import csv
import io
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...._messages import safe_str
from ....errors import CombGameError, InputError
from ....problem import Problem
from ....rewards import Bernoulli, Bounded, Gaussian
from ....rewards.base import RewardsBase
from ....simulation.plan import plan as make_plan
from ....structures import Arms, Paths, SpanningTrees, StructureBase, Subsets
from ....tables.cells import NumberFormat, number
from ..settings import ServerSettings
from ..validation import problem_of, within
from .wording import PAGE

RISKS = {
    "0.1": "1 in 10: a first look",
    "0.05": "1 in 20: as in most papers",
    "0.01": "1 in 100: it matters",
    "0.001": "1 in 1,000: it matters much",
}
NOISES = {
    "unknown": "numbers; how much they vary is not known",
    "gaussian": "numbers; I know how much they vary",
    "bernoulli": "yes or no (1 or 0)",
    "bounded": "numbers between two limits, of any kind",
}
KINDS = {
    "items": "single things, such as variants",
    "path": "the best way through a network",
    "tree": "the best tree that joins all places of a network",
}
USUAL = {
    "name": "",
    "kind": "items",
    "names": "",
    "play": "1",
    "find": "1",
    "edges": "",
    "source": "",
    "sink": "",
    "noise": "unknown",
    "sigma": "",
    "low": "0",
    "high": "1",
    "goal": "maximise",
    "risk": "0.05",
    "epsilon": "",
    "min_replicates": "2",
    "max_rounds": "",
    "gap": "",
    "guess": "",
    "level": "",
}
COLUMN = ("arm", "arms", "name", "names", "variant", "variants")
# of plans: above it, it takes longer than somebody waits
PLANNED = 300
EASY = 1e-9
LEVELLED = 1.4  # times the rounds, where they have levels: 1.3 to 1.5 (docs/plates.md)


@dataclass
class StudyForm:
    """What a form says: its fields, the problem and the settings, and what is wrong with which."""

    fields: dict[str, str]
    problem: Problem | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)  # by field

    @property
    def fits(self) -> bool:
        return self.problem is not None and not self.wrong


def begun(fields: Mapping[str, str], limits: ServerSettings, file: bytes = b"") -> StudyForm:
    """file: a problem file, which says what else the form would."""
    known = {key: str(fields.get(key, usual)) for key, usual in USUAL.items()}
    made = StudyForm(known)
    read = FormFields(made)
    made.settings = {
        "delta": read.real("risk", 0.0, 1.0),
        "epsilon": read.real("epsilon", 0.0, math.inf) or 0.0,
        "min_replicates": read.count("min_replicates", 0) or 0,
        "max_rounds": read.count("max_rounds", 1),
    }
    if not known["name"].strip():
        made.wrong["name"] = "Give the study a name, such as plate-7."
    try:
        made.problem = _from_file(file, limits) if file else _problem(read, limits)
    except _Wrong:
        pass
    except CombGameError as error:
        made.wrong.setdefault("problem", error.render(PAGE))
    return made


class _Wrong(Exception):  # noqa: N818  (it never leaves this module)
    """A field is wrong, and said so."""


class FormFields:
    """Fields read one after the other, with what is wrong kept beside each."""

    def __init__(self, made: StudyForm) -> None:
        self.made = made

    def text(self, key: str) -> str:
        return self.made.fields[key].strip()

    def need(self, key: str, what: str) -> str:
        said = self.text(key)
        if not said:
            self.made.wrong[key] = what
            raise _Wrong
        return said

    def real(self, key: str, low: float, high: float) -> float | None:
        said = self.text(key)
        if not said:
            return None
        mark = "," if "," in said else "."
        try:
            value = number(key, said, NumberFormat(mark))
        except CombGameError:
            value = math.nan
        if low <= value <= high and math.isfinite(value):
            return value
        ends = f"of at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        if low == -math.inf:
            ends = "such as 0.5"
        self.made.wrong[key] = f"“{said}” is no number {ends}."
        return None

    def count(self, key: str, least: int) -> int | None:
        said = self.text(key)
        if not said:
            return None
        if not said.isdecimal() or not least <= int(said[:12]) or len(said) > 12:
            self.made.wrong[key] = f"“{said}” is no whole number of at least {least}."
            return None
        return int(said)


def names_of(text: str) -> list[str]:
    """Names pasted in a column: the first cell of every line, each once.

    >>> names_of("variant\\nwt\\nA12G\\t0.4\\n\\nwt\\n"), names_of("a, b, c")
    (['wt', 'A12G'], ['a', 'b', 'c'])
    """
    lines = [line for line in text.replace("\r", "\n").split("\n") if line.strip()]
    if len(lines) == 1 and "\t" not in lines[0]:
        mark = ";" if ";" in lines[0] else ","
        lines = next(csv.reader(io.StringIO(lines[0]), delimiter=mark))
    cells = [line.split("\t")[0].strip() for line in lines]
    if len(cells) > 1 and cells[0].lower() in COLUMN:
        cells = cells[1:]
    return list(dict.fromkeys(one for one in cells if one))


def edges_of(text: str) -> list[tuple[str, ...]]:
    """Edges pasted as lines: from, to and, if it has one, a name.

    >>> edges_of("s a\\na, t, the last\\n")
    [('s', 'a'), ('a', 't', 'the last')]
    """
    made: list[tuple[str, ...]] = []
    for k, line in enumerate(text.replace("\r", "\n").split("\n"), 1):
        if not line.strip():
            continue
        for mark in ("\t", ";", ",", None):
            if mark is None or mark in line:
                cells = [one.strip() for one in line.split(mark) if one.strip()]
                break
        if len(cells) not in (2, 3):
            raise InputError(
                "no-edge",
                "line {line} of the network is no edge: {said!r}",
                remedy="write from, to and, if you like, a name, with tabs or commas between",
                line=k,
                said=line[:80],
            )
        made.append(tuple(cells))
    return made


def _problem(read: FormFields, limits: ServerSettings) -> Problem:
    kind = read.text("kind")
    goal = "minimise" if read.text("goal") == "minimise" else "maximise"
    if kind in ("path", "tree"):
        edges = edges_of(read.need("edges", "Give the network: a line for every edge."))
        within(len(edges), "edges", limits.arms)
        rewards = _rewards(read)
        if kind == "tree":
            return Problem(SpanningTrees(edges), rewards=rewards, goal=goal)
        source = read.need("source", "Say where the way begins.")
        sink = read.need("sink", "Say where the way ends.")
        return Problem(Paths(edges, source, sink), rewards=rewards, goal=goal)
    names = names_of(read.need("names", "Give at least two names, one per line."))
    within(len(names), "arms", limits.arms)
    d = len(names)
    play, find = read.count("play", 1) or 1, read.count("find", 1) or 1
    if d < 2:
        read.made.wrong["names"] = "Give at least two names, one per line."
        raise _Wrong
    for key, size in (("play", play), ("find", find)):
        most = d if key == "play" else d - 1
        if size > most and key not in read.made.wrong:
            read.made.wrong[key] = f"There are {d} names, so it can be {most} at most."
    rewards = _rewards(read)
    if read.made.wrong.keys() & {"play", "find"}:
        raise _Wrong
    return Problem(_sets(d, play), _sets(d, find), rewards, names=names, goal=goal)


def _sets(d: int, size: int) -> StructureBase:
    return Arms(d) if size == 1 else Subsets(d, size)


def _rewards(read: FormFields) -> RewardsBase:
    noise = read.text("noise")
    if noise == "bernoulli":
        return Bernoulli()
    if noise == "bounded":
        low, high = (read.real(key, -math.inf, math.inf) for key in ("low", "high"))
        if low is None or high is None:
            read.made.wrong.setdefault("low", "Give both limits.")
            raise _Wrong
        return Bounded(low, high)
    level = bool(read.text("level"))
    if level and read.text("kind") == "items" and read.text("play") in ("", "1"):
        read.made.wrong["play"] = (
            "Where a round may read high or low as a whole, things are compared within rounds, so "
            "at least two must be measured at once."
        )
        raise _Wrong
    sigma = None
    if noise == "gaussian":
        read.need(
            "sigma",
            "Say by how much single values of the same thing vary (their standard deviation)"
            + (" within a round." if level else "."),
        )
        sigma = read.real("sigma", 0.0, math.inf)
        if not sigma:
            read.made.wrong.setdefault("sigma", "It must be above 0.")
            raise _Wrong
    return Gaussian(sigma, batch_effect=level)


def _from_file(file: bytes, limits: ServerSettings) -> Problem:
    """A problem file (TOML), or the same as JSON."""
    try:
        text = file.decode("utf-8-sig")
        data = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            "problem-unreadable",
            "the problem file cannot be read ({why})",
            remedy="give a file as `combgame init` writes it",
            why=str(error)[:200],
        ) from None
    return problem_of(data, limits)


def expected(made: StudyForm) -> dict[str, Any] | None:
    """The plan, if the form says what difference matters: rounds to expect, as plain data, for the
    tolerance and the budget of the form; None where nothing was supposed.
    """
    problem, read = made.problem, FormFields(made)
    gap = read.real("gap", 0.0, math.inf)
    if problem is None or not gap or gap < EASY or not isinstance(problem.answers, Arms | Subsets):
        return None
    guess = read.real("guess", 0.0, math.inf)
    if problem.rewards.variance_known:
        rewards, middle = problem.rewards, 0.0
    elif guess:
        rewards, middle = Gaussian(guess), 0.0
    else:
        made.wrong["guess"] = "To plan, say roughly by how much single values vary."
        return None
    if isinstance(rewards, Gaussian):
        rewards = Gaussian(rewards.sigma)  # without levels, of which no limit is known
    if isinstance(rewards, Bernoulli):
        middle = 0.5
    elif isinstance(rewards, Bounded):
        middle = (rewards.low + rewards.high) / 2.0
    m = problem.answers.max_size()
    if problem.d > PLANNED:
        return None
    sign = -1.0 if problem.goal == "minimise" else 1.0
    means = [middle + 0.5 * sign * gap] * m + [middle - 0.5 * sign * gap] * (problem.d - m)
    supposed = Problem(
        problem.actions, problem.answers, rewards, names=problem.names, goal=problem.goal
    )
    try:
        done = make_plan(
            supposed,
            means,
            delta=made.settings["delta"],
            rules=None,
            runs=0,
            gap_scales=(1.0, 0.5),
            progress=False,
            epsilon=made.settings["epsilon"],
        )
    except CombGameError as error:
        made.wrong["gap"] = error.render(PAGE)
        return None
    rows = done.rows()
    if any(row["limit"] is None for row in rows):
        return None
    levels, most = problem.rewards.has_batch_effect(), made.settings["max_rounds"]
    # every arm is measured so often, whatever comes out
    start = made.settings["min_replicates"] * math.ceil(problem.d / problem.actions.max_size())
    rounds, half = (max(row["limit"] * (LEVELLED if levels else 1.0), float(start)) for row in rows)
    return {
        "rounds": rounds,
        "half": half,
        "gap": gap,
        "guess": guess if not problem.rewards.variance_known else None,
        "levels": levels,
        "epsilon": made.settings["epsilon"],
        "most": most,
        "budget": "" if most is None else budget(rounds, half, most),
    }


def budget(rounds: float, half: float, most: int) -> str:
    """What a budget is good for; a plan is right to a factor of two or so.

    >>> [budget(100.0, 400.0, most) for most in (40, 150, 250, 1000)]
    ['few', 'perhaps', 'not half', 'enough']
    """
    if most < 0.5 * rounds:
        return "few"
    if most < 2.0 * rounds:
        return "perhaps"
    return "not half" if most < half else "enough"


def fields_of(problem: Problem) -> dict[str, str]:
    """The form that would make a problem, as far as it can."""
    rewards, fields = problem.rewards, dict[str, str]()
    fields["goal"] = problem.goal
    if isinstance(rewards, Bernoulli):
        fields["noise"] = "bernoulli"
    elif isinstance(rewards, Bounded):
        fields |= {"noise": "bounded", "low": f"{rewards.low:g}", "high": f"{rewards.high:g}"}
    elif isinstance(rewards, Gaussian):
        fields["level"] = "1" if rewards.has_batch_effect() else ""
        if isinstance(rewards.sigma, int | float):
            fields |= {"noise": "gaussian", "sigma": f"{rewards.sigma:g}"}
    one = problem.answers
    if isinstance(one, Paths | SpanningTrees):
        ends = one.arguments()["edges"]
        fields["edges"] = "\n".join("\t".join(map(safe_str, edge)) for edge in ends)
        fields["kind"] = "path" if isinstance(one, Paths) else "tree"
        if isinstance(one, Paths):
            fields |= {"source": safe_str(one.source), "sink": safe_str(one.sink)}
    elif isinstance(one, Arms | Subsets):
        fields["names"] = "\n".join(problem.names or map(str, range(problem.d)))
        fields |= {"find": str(one.max_size()), "play": str(problem.actions.max_size())}
    return fields
